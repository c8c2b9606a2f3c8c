//! Our part of Claude Code's settings: hooks, and the rules that go with them.

use std::path::Path;

use portcullis_core::policy::OWN_TOOLS;
use portcullis_wire::hooks::own::{INSTALLED, SHARED_LINE, is_our_hook, is_shared_line};
use portcullis_wire::hooks::{HOOKS_VERSION, HookEvent};

use super::json::Node;
use super::settings::Addition;

/// How long the client waits for a prompt to be answered, and for anything else.
const PROMPT_SECONDS: u64 = 24 * 3600;
const OTHER_SECONDS: u64 = 10;
const WAKE_SECONDS: u64 = 60;

/// Shown at the terminal while a call is held: nothing else there says why it waits. Esc ends it.
const HELD_MESSAGE: &str = "portcullis: a person is asked, `portcullis watch` shows and answers it";

/// Runs the program that stands behind it, and says nothing where there is none. The client blocks a call whose hook before
/// it fails, and goes on by itself once the program was deleted.
///
/// The variables of a project's settings get here. Those by which a shell runs nothing, or something else first, are taken
/// away; and all of its words are special builtins, in whose place no function of a project's comes.
const GUARDED: [&str; 12] = [
    "/usr/bin/env",
    "-u",
    "SHELLOPTS",
    "-u",
    "BASHOPTS",
    "-u",
    "BASH_ENV",
    "-u",
    "ENV",
    "/bin/sh",
    "-c",
    r#"trap 'exit 0' 0; : <"$0"; trap - 0; exec "$0" "$@""#,
];

/// Who is to be called by the hooks.
pub(crate) struct Callee<'a> {
    /// The server's name as hooks want it.
    pub(crate) server: String,
    /// A path that stays.
    pub(crate) program: &'a Path,
}

/// All hooks, one group for each.
pub(crate) fn hooks(callee: &Callee<'_>) -> Vec<(&'static str, Node)> {
    let hook = |event: HookEvent| match event.is_by_tool() {
        true => tool_hook(event, &callee.server),
        false => command_hook(event, call_of(event, callee.program)),
    };
    HookEvent::ALL.iter().map(|event| (event.name(), group(hook(*event)))).collect()
}

/// The hooks as a file of their own, for a plugin.
pub(crate) fn file(callee: &Callee<'_>) -> String {
    let hooks = hooks(callee).into_iter().map(|(event, group)| (event, Node::Array(vec![group])));
    Node::Object(vec![("hooks", Node::Object(hooks.collect()))]).written()
}

/// The hooks of one scope that is not shared.
pub(crate) fn own_hooks(callee: &Callee<'_>) -> Vec<Addition> {
    hooks(callee).into_iter().map(|(event, node)| Addition { list: ["hooks", event], node }).collect()
}

/// The hooks of a file that others pull. They name no path, run the program of whoever works there, and say nothing
/// where there is none.
pub(crate) fn shared_hooks() -> Vec<Addition> {
    let hook = |event: &HookEvent| group(command_hook(*event, vec![("command", Node::Text(SHARED_LINE.to_owned()))]));
    HookEvent::ALL.iter().map(|event| Addition { list: ["hooks", event.name()], node: hook(event) }).collect()
}

/// The rules that go with the hooks. `denied` are rules of ours that the client is to keep also while we are away.
pub(crate) fn rules(server: &str, denied: &[String]) -> Vec<Addition> {
    let rule = |list, rule: String| Addition { list: ["permissions", list], node: Node::Text(rule) };
    let own = rules_of_tools(server).into_iter().map(|(list, text)| rule(list, text));
    own.chain(denied.iter().map(|denied| rule("deny", denied.clone()))).collect()
}

/// The rules about our own tools, with the list of each.
pub(crate) fn rules_of_tools(server: &str) -> Vec<(&'static str, String)> {
    let allowed = OWN_TOOLS.iter().map(|tool| ("allow", own_rule(server, tool)));
    allowed.chain([("deny", own_rule(server, "hook"))]).collect()
}

fn own_rule(server: &str, tool: &str) -> String {
    format!("mcp__{server}__{tool}")
}

fn group(hook: Node) -> Node {
    Node::Object(vec![("hooks", Node::Array(vec![hook]))])
}

fn tool_hook(event: HookEvent, server: &str) -> Node {
    let told = ["session_id", "agent_id"].into_iter().chain(event.fields().iter().copied());
    let mut input = vec![("hook_event_name", Node::Text(event.name().to_owned()))];
    input.extend(told.map(|field| (field, Node::Text(format!("${{{field}}}")))));
    input.push(("hooks_version", Node::Text(HOOKS_VERSION.to_string())));
    Node::Object(vec![
        ("type", Node::Text("mcp_tool".to_owned())),
        ("server", Node::Text(server.to_owned())),
        ("tool", Node::Text("hook".to_owned())),
        ("timeout", Node::Whole(seconds(event))),
        ("input", Node::Object(input)),
    ])
}

/// People may have to be asked at two of the moments.
fn seconds(event: HookEvent) -> u64 {
    match event {
        event if event.decides() => PROMPT_SECONDS,
        HookEvent::FileChanged => WAKE_SECONDS,
        _ => OTHER_SECONDS,
    }
}

fn call_of(event: HookEvent, program: &Path) -> Vec<(&'static str, Node)> {
    let before = if blocks(event) { GUARDED.map(str::to_owned).to_vec() } else { vec![] };
    let call = [program.display().to_string(), "hook".to_owned(), INSTALLED.to_owned(), HOOKS_VERSION.to_string()];
    let mut words = before.into_iter().chain(call);
    vec![("command", Node::Text(words.next().unwrap_or_default())), ("args", Node::List(words.collect()))]
}

/// Whether a call does not run when its hook is ended before it has answered. Never where people are asked beside a dialog:
/// there the client takes even silence for a failure, and would deny everything.
fn blocks(event: HookEvent) -> bool {
    event == HookEvent::PreToolUse
}

fn command_hook(event: HookEvent, call: Vec<(&'static str, Node)>) -> Node {
    let mut hook = vec![("type", Node::Text("command".to_owned()))];
    hook.extend(call);
    if event == HookEvent::FileChanged {
        // What the hook says then begins a turn of an idle session.
        hook.push(("asyncRewake", Node::Yes));
    }
    if blocks(event) {
        hook.push(("statusMessage", Node::Text(HELD_MESSAGE.to_owned())));
        hook.push(("onFailure", Node::Text("block".to_owned())));
    }
    hook.push(("timeout", Node::Whole(seconds(event))));
    Node::Object(hook)
}

/// The server whose tool a group calls; null where it runs a program.
pub(super) fn server_of(group: &serde_json::Value) -> &serde_json::Value {
    &group["hooks"][0]["server"]
}

/// A group with one hook that calls us.
pub(crate) fn is_ours(group: &serde_json::Value) -> bool {
    group["hooks"].as_array().is_some_and(|hooks| matches!(hooks.as_slice(), [hook] if is_our_hook(hook)))
}

/// A group from a file that others pull.
pub(crate) fn is_shared(group: &serde_json::Value) -> bool {
    group["hooks"][0]["command"].as_str().is_some_and(is_shared_line)
}

/// The version of the release that wrote a group of our hooks. None where the group has no place for it.
pub(crate) fn version_of(group: &serde_json::Value) -> Option<u32> {
    let hook = &group["hooks"][0];
    let version = match hook["input"].as_object() {
        Some(input) => input.get("hooks_version").and_then(serde_json::Value::as_str),
        None => {
            let args = hook["args"].as_array()?;
            let at = args.iter().position(|arg| arg == INSTALLED)?;
            args.get(at + 1).and_then(serde_json::Value::as_str)
        }
    };
    Some(version.and_then(|version| version.parse().ok()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::settings::put;
    use portcullis_wire::hooks::own::program_of;

    fn callee() -> Callee<'static> {
        Callee { server: "portcullis".to_owned(), program: Path::new("/usr/bin/portcullis") }
    }

    #[test]
    fn what_is_put_in_is_what_the_client_reads() {
        let mut additions = rules("portcullis", &["Bash(rm *)".to_owned()]);
        additions.extend(own_hooks(&callee()));
        let text = put("", &additions).unwrap().text.unwrap();
        let settings: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(settings["permissions"]["deny"], serde_json::json!(["mcp__portcullis__hook", "Bash(rm *)"]));
        for event in ["PermissionRequest", "PreToolUse"] {
            let hook = &settings["hooks"][event][0]["hooks"][0];
            assert_eq!((&hook["type"], &hook["timeout"]), (&"command".into(), &86400.into()), "{event}");
            assert_eq!(program_of(hook), Some("/usr/bin/portcullis"), "{event}");
            assert_eq!(version_of(&settings["hooks"][event][0]), Some(HOOKS_VERSION), "{event}");
        }
        let after = &settings["hooks"]["PostToolUse"][0]["hooks"][0];
        assert_eq!((&after["server"], &after["input"]["tool_input"]), (&"portcullis".into(), &"${tool_input}".into()));
        assert_eq!(settings["hooks"]["FileChanged"][0]["hooks"][0]["asyncRewake"], true);
        assert_eq!(settings["hooks"].as_object().unwrap().len(), HookEvent::ALL.len());
        assert!(put(&text, &additions).unwrap().text.is_none(), "a second time changes nothing");
    }

    #[test]
    fn a_call_is_blocked_by_the_end_of_its_hook_and_by_no_other() {
        let (own, shared) = (put("", &own_hooks(&callee())).unwrap(), put("", &shared_hooks()).unwrap());
        for text in [own.text.unwrap(), shared.text.unwrap(), file(&callee())] {
            let settings: serde_json::Value = serde_json::from_str(&text).unwrap();
            for event in HookEvent::ALL {
                let on_failure = &settings["hooks"][event.name()][0]["hooks"][0]["onFailure"];
                let is_before = *event == HookEvent::PreToolUse;
                assert_eq!(on_failure.as_str(), is_before.then_some("block"), "{event:?} in {text}");
            }
        }
    }

    #[test]
    fn no_variable_of_a_project_keeps_the_hook_before_a_call_from_running() {
        use std::process::Command;
        let folder = tempfile::tempdir().unwrap();
        let first = folder.path().join("first");
        std::fs::write(&first, "exit 0\n").unwrap();
        // Some systems have another shell by that name than this one.
        let bash = folder.path().join("sh");
        std::os::unix::fs::symlink("/bin/bash", &bash).unwrap();
        let run = |shell: &str, (name, value): (&str, &str), program: &str| {
            let words = GUARDED.map(|word| if word == "/bin/sh" { shell } else { word });
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).args([program, "it runs"]).env(name, value);
            let ran = command.output().unwrap();
            (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
        };
        for shell in ["/bin/sh", bash.to_str().unwrap()] {
            for variable in [
                ("NODE_ENV", "test"),
                ("SHELLOPTS", "noexec"),
                ("SHELLOPTS", "errexit:noexec:posix"),
                ("BASHOPTS", "extdebug"),
                ("BASH_ENV", first.to_str().unwrap()),
                ("ENV", first.to_str().unwrap()),
                ("POSIXLY_CORRECT", "1"),
                ("BASH_FUNC_[%%", "() { return 1; }"),
                ("BASH_FUNC_:%%", "() { exit 0; }"),
                ("BASH_FUNC_trap%%", "() { exit 0; }"),
                ("BASH_FUNC_exec%%", "() { exit 0; }"),
                ("BASH_FUNC_exit%%", "() { :; }"),
            ] {
                assert_eq!(
                    run(shell, variable, "/bin/echo"),
                    (Some(0), "it runs\n".to_owned()),
                    "{shell} {variable:?}"
                );
            }
            assert_eq!(run(shell, ("A", "b"), "/no/such/program"), (Some(0), String::new()), "{shell}");
            let (code, _) = run(shell, ("A", "b"), first.to_str().unwrap());
            assert!(code.is_some_and(|code| code != 0), "{shell}: one that cannot be run is a failure");
        }
    }

    #[test]
    fn the_hooks_of_earlier_releases_are_known_as_ours() {
        let version_4 = serde_json::json!({"hooks": [
            {"type": "command", "command": "/x/portcullis", "args": ["hook", "--installed", "4"], "timeout": 86400},
        ]});
        assert!(is_ours(&version_4) && version_of(&version_4) == Some(4));
        let version_5 = serde_json::json!({"hooks": [{"type": "command", "command": "/bin/sh", "args": [
            "-c", "if [ -x \"$0\" ]; then exec \"$0\" \"$@\"; fi", "/x/portcullis", "hook", "--installed", "5",
        ]}]});
        assert!(is_ours(&version_5) && version_of(&version_5) == Some(5));
        let other = serde_json::json!({"hooks": [
            {"type": "command", "command": "/bin/sh", "args": ["-c", "exec \"$0\"", "/x/other", "hook"]},
        ]});
        assert!(!is_ours(&other));
    }

    #[test]
    fn what_others_pull_names_no_path_and_no_server() {
        let text = put("", &shared_hooks()).unwrap().text.unwrap();
        assert!(!text.contains("mcp_tool") && !text.contains("/usr/bin"), "{text}");
        let settings: serde_json::Value = serde_json::from_str(&text).unwrap();
        for event in HookEvent::ALL {
            let group = &settings["hooks"][event.name()][0];
            assert!(is_ours(group) && is_shared(group), "{group}");
        }
        assert_eq!(settings["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"], 86400);
    }
}
