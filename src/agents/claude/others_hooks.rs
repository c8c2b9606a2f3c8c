//! Hooks that are not ours, of the user and of others: those for a tool of Claude Code know it by its name, and would not see
//! ours in its place. Some answer when Claude Code asks a person.

use std::path::Path;

use portcullis_wire::hooks::own::{installed_program, is_our_hook, is_shared_hook};
use serde_json::{Value, json};

/// What happens before and after a call, and where somebody is asked about it.
const OF_CALLS: [&str; 4] = ["PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"];
/// Where one that allows a call answers in the person's place.
const WHERE_ASKED: [&str; 1] = ["PermissionRequest"];
/// The plugin that we write.
const OWN_PLUGIN: &str = "portcullis";

/// Whether a hook in the settings or in a plugin is for calls of this tool. One for every tool is: it may look at the name by
/// itself. Where the client does not tell, there may be one; those of a company are counted and not shown.
pub(in crate::agents::claude) fn are_for(listed: Option<&Value>, tool: &str) -> bool {
    any(listed, &OF_CALLS, &[tool], &is_own)
}

/// Whether a hook may answer in a person's place when Claude Code asks about a call of the tool, by any of its names.
pub(in crate::agents::claude) fn may_answer(listed: Option<&Value>, names: &[&str]) -> bool {
    any(listed, &WHERE_ASKED, names, &is_surely_own)
}

/// Whether a hook in one of these files of a project may. The program that a shared hook runs is found by variables, which
/// such a file can set. Looks at the disk.
pub(in crate::agents::claude) fn may_answer_by(settings: &[Value], tool: &str) -> bool {
    let sets_variables = settings.iter().any(|settings| settings.get("env").is_some());
    let is_ours = |hook: &Value| is_surely_own(hook) || !sets_variables && is_shared_hook(config_of(hook));
    settings.iter().any(|settings| any(Some(&listing_of(settings)), &WHERE_ASKED, &[tool], &is_ours))
}

fn any(listed: Option<&Value>, events: &[&str], names: &[&str], is_ours: &dyn Fn(&Value) -> bool) -> bool {
    let hooks = listed.and_then(|listed| listed.get("hooks")?.as_array());
    let (Some(listed), Some(hooks)) = (listed, hooks) else { return true };
    let is_of_events = |hook: &&Value| events.iter().any(|event| hook["event"] == *event);
    let matcher = |hook: &Value| hook["matcher"].as_str().unwrap_or_default().to_owned();
    let is_for = |hook: &Value| !is_ours(hook) && names.iter().any(|name| matches(&matcher(hook), name));
    let has_hidden = listed["policy"]["policyHookCount"].as_u64().is_some_and(|count| count > 0);
    has_hidden || hooks.iter().filter(is_of_events).any(is_for)
}

/// The hooks in one file of settings, in the form in which a Claude Code that runs lists all of them.
fn listing_of(settings: &Value) -> Value {
    let events = settings["hooks"].as_object().into_iter().flatten();
    let groups =
        events.flat_map(|(event, groups)| groups.as_array().into_iter().flatten().map(move |group| (event, group)));
    let hooks = groups.flat_map(|(event, group)| {
        let listed = move |hook| json!({"event": event, "matcher": group["matcher"], "editable": {"config": hook}});
        group["hooks"].as_array().into_iter().flatten().map(listed)
    });
    json!({"hooks": hooks.collect::<Vec<_>>()})
}

/// Of ours: in a session that we drive they say nothing. Of a plugin's hook the client tells only the plugin's name, which
/// anybody may choose, and for which tools it is. Ours are for every tool, so one for some tools is somebody else's. One for
/// every tool in a plugin of our name passes as ours: were it not to, no tool would work through the editor of whoever has
/// installed our plugin.
fn is_own(hook: &Value) -> bool {
    let is_for_all = matches!(hook["matcher"].as_str(), None | Some("" | "*"));
    is_our_hook(config_of(hook)) || hook["pluginName"] == OWN_PLUGIN && is_for_all
}

/// A hook that only looks like ours may be anybody's: one of ours runs this very program. Anybody may give a plugin our name,
/// and of a plugin's hook the client does not tell what exactly it runs: so none of those is surely ours.
fn is_surely_own(hook: &Value) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    // Not every system follows the links in the path of a program that runs.
    let own = || std::env::current_exe().ok().and_then(|own| real(&own));
    let is_this = |program: &str| {
        let program = Path::new(program);
        program.is_absolute() && real(program).is_some_and(|real| own() == Some(real))
    };
    installed_program(config_of(hook)).is_some_and(is_this)
}

fn config_of(hook: &Value) -> &Value {
    &hook["editable"]["config"]
}

/// Whether a matcher may mean the tool: nothing or a star is every tool, names stand with `|` or commas between them, and all
/// else is a pattern, of which only those for tools of servers are known to mean none of Claude Code's own.
fn matches(matcher: &str, tool: &str) -> bool {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_|, -".contains(letter);
    let of_server = |pattern: &str| pattern.trim_start_matches('^').starts_with("mcp__");
    match matcher {
        "" | "*" => true,
        names if names.chars().all(is_name) => names.split(['|', ',']).any(|name| name.trim() == tool),
        _ if of_server(tool) => true,
        pattern => !pattern.split('|').all(of_server),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_wire::hooks::own::SHARED_LINE;

    fn listed(event: &str, matcher: &str, config: &Value) -> Value {
        let hook = json!({"event": event, "matcher": matcher, "editable": {"config": config}});
        json!({"hooks": [hook], "policy": {"policyHookCount": 0}})
    }

    #[test]
    fn a_hook_is_for_the_tools_that_its_matcher_may_mean() {
        let config = json!({"type": "command", "command": "check"});
        for (matcher, is_for) in [
            ("", true),
            ("*", true),
            ("Bash", true),
            ("Edit|Bash", true),
            ("Edit, Bash", true),
            ("Edit|Write", false),
            ("BashOutput", false),
            ("Ba.*", true),
            ("^(Bash|Edit)$", true),
            ("mcp__.*", false),
            ("^mcp__acp__.*|mcp__db__x.*", false),
            ("mcp__acp__Bash", false),
            ("mcp__.*|Bash", true),
        ] {
            assert_eq!(are_for(Some(&listed("PreToolUse", matcher, &config)), "Bash"), is_for, "{matcher}");
        }
        assert!(are_for(Some(&listed("PostToolUse", "Bash", &config)), "Bash"));
        assert!(!are_for(Some(&listed("Stop", "", &config)), "Bash"));
    }

    #[test]
    fn only_a_hook_for_questions_answers_them() {
        let config = json!({"type": "command", "command": "answer"});
        let answers =
            |event: &str, matcher: &str, names: &[&str]| may_answer(Some(&listed(event, matcher, &config)), names);
        assert!(answers("PermissionRequest", "*", &["Bash"]) && answers("PermissionRequest", "Edit|Bash", &["Bash"]));
        assert!(!answers("PreToolUse", "*", &["Bash"]) && !answers("PermissionRequest", "Edit", &["Bash"]));
        assert!(answers("PermissionRequest", "mcp__acp__Bash", &["mcp__acp__Bash", "Bash"]));
        assert!(
            answers("PermissionRequest", "mcp__db__.*", &["mcp__db__query"]),
            "a pattern may mean any tool of a server"
        );
        assert!(may_answer(None, &["Bash"]), "where the client does not tell, one may");
        assert!(!may_answer(Some(&json!({"hooks": []})), &["Bash"]));
    }

    #[test]
    fn hooks_of_a_file_are_found_there() {
        let answer = json!({"type": "command", "command": "answer"});
        let settings = |hook: &Value| json!({"hooks": {"PermissionRequest": [{"matcher": "Bash", "hooks": [hook]}]}});
        let may = |settings: &Value, tool: &str| may_answer_by(std::slice::from_ref(settings), tool);
        assert!(may(&settings(&answer), "Bash") && !may(&settings(&answer), "Edit"));
        assert!(!may(&json!({}), "Bash"));
        assert!(!may(&json!({"hooks": {"PreToolUse": [{"hooks": [answer]}]}}), "Bash"));
        assert!(may(&json!({"hooks": {"PermissionRequest": [{"hooks": [answer]}]}}), "Bash"), "it has no matcher");
    }

    #[test]
    fn what_only_looks_like_a_hook_of_ours_is_anybodys() {
        let program = std::env::current_exe().unwrap();
        let running = |program: &str, args: &[&str]| json!({"type": "command", "command": program, "args": args});
        let settings = |hook: &Value| json!({"hooks": {"PermissionRequest": [{"hooks": [hook]}]}});
        let may = |files: &[Value]| may_answer_by(files, "Bash");
        let ours = running(program.to_str().unwrap(), &["hook", "--installed", "6"]);
        assert!(!may(&[settings(&ours)]));
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("portcullis");
        std::os::unix::fs::symlink(&program, &link).unwrap();
        assert!(!may(&[settings(&running(link.to_str().unwrap(), &["hook", "--installed", "6"]))]));
        for other in [
            running("/bin/portcullis", &["hook", "--installed", "6"]),
            running("./x/portcullis", &["hook"]),
            running(program.to_str().unwrap(), &["hook", "--installed", "6", "; x"]),
            running("/bin/sh", &["-c", "x", program.to_str().unwrap(), "hook", "--installed", "6"]),
            json!({"type": "command", "command": "echo yes; if false; then portcullis hook; fi"}),
            json!({"type": "mcp_tool", "server": "x", "tool": "hook", "input": {"hook_event_name": "PermissionRequest"}}),
        ] {
            assert!(may(&[settings(&other)]), "{other}");
            assert!(may_answer(Some(&listing_of(&settings(&other))), &["Bash"]), "{other}");
        }
        let of_plugin = json!({"event": "PermissionRequest", "matcher": "", "pluginName": "portcullis"});
        assert!(may_answer(Some(&json!({"hooks": [of_plugin]})), &["Bash"]), "anybody may call a plugin so");
        let shared = settings(&json!({"type": "command", "command": SHARED_LINE}));
        assert!(!may(std::slice::from_ref(&shared)));
        assert!(may(&[shared, json!({"env": {"PATH": "/proj"}})]), "another program may be found");
    }

    #[test]
    fn hooks_of_ours_count_for_nothing_and_what_is_not_told_counts() {
        let own = json!({"type": "command", "command": "/bin/portcullis", "args": ["hook", "--installed", "6"]});
        assert!(!are_for(Some(&listed("PreToolUse", "", &own)), "Bash"));
        let of_plugin = |name: &str| json!({"hooks": [{"event": "PreToolUse", "matcher": "", "pluginName": name}]});
        assert!(!are_for(Some(&of_plugin("portcullis")), "Bash"));
        assert!(are_for(Some(&of_plugin("guard")), "Bash"));
        let namesake = json!({"hooks": [{"event": "PreToolUse", "matcher": "Bash", "pluginName": "portcullis"}]});
        assert!(are_for(Some(&namesake), "Bash"), "ours are for every tool");
        assert!(are_for(None, "Bash") && are_for(Some(&json!({})), "Bash"));
        assert!(are_for(Some(&json!({"hooks": [], "policy": {"policyHookCount": 1}})), "Bash"));
        assert!(!are_for(Some(&json!({"hooks": []})), "Bash"));
    }
}
