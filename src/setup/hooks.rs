//! Our part of Claude Code's settings: hooks, and the rules that go with them. Found, put in, taken out.

use std::path::Path;

use jsonc_parser::ast::{Array, Value};
use portcullis_wire::hooks::{HOOKS_VERSION, HookEvent};

use super::json::{Document, Node, Unfit};

/// How long the client waits for a prompt to be answered, and for anything else.
const PROMPT_SECONDS: u64 = 24 * 3600;
const OTHER_SECONDS: u64 = 10;
const WAKE_SECONDS: u64 = 60;

/// Who is to be called by the hooks.
pub(crate) struct Callee<'a> {
    /// The server's name as hooks want it.
    pub(crate) server: String,
    /// A path that stays.
    pub(crate) program: &'a Path,
}

/// One element that has to stand in one list of the settings.
pub(crate) struct Addition {
    /// The two keys that lead to the list.
    pub(crate) list: [&'static str; 2],
    pub(crate) node: Node,
}

/// All hooks, one group for each.
pub(crate) fn hooks(callee: &Callee<'_>) -> Vec<(&'static str, Node)> {
    let hook = |event: HookEvent| match event.is_by_tool() {
        true => tool_hook(event, &callee.server),
        false => command_hook(event, callee.program),
    };
    HookEvent::ALL.iter().map(|event| (event.name(), group(hook(*event)))).collect()
}

/// The hooks as a file of their own, for a plugin.
pub(crate) fn file(callee: &Callee<'_>) -> String {
    let hooks = hooks(callee).into_iter().map(|(event, group)| (event, Node::Array(vec![group])));
    Node::Object(vec![("hooks", Node::Object(hooks.collect()))]).written()
}

/// The tools that the model may call without being asked.
const TOOLS: [&str; 3] = ["reply", "edit_message", "inbox"];

/// Everything that `install --hooks` puts into the settings of one scope. `denied` are rules of ours that the client is
/// to keep also while we are away.
pub(crate) fn additions(callee: &Callee<'_>, denied: &[String]) -> Vec<Addition> {
    let rule = |list, rule: String| Addition { list: ["permissions", list], node: Node::Text(rule) };
    let own = |tool: &str| own_rule(&callee.server, tool);
    let mut additions: Vec<Addition> = TOOLS.iter().map(|tool| rule("allow", own(tool))).collect();
    additions.push(rule("deny", own("hook")));
    additions.extend(denied.iter().map(|denied| rule("deny", denied.clone())));
    additions.extend(hooks(callee).into_iter().map(|(event, node)| Addition { list: ["hooks", event], node }));
    additions
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
    // People may have to be asked at both moments.
    let decides = matches!(event, HookEvent::PermissionRequest | HookEvent::PreToolUse);
    let seconds = if decides { PROMPT_SECONDS } else { OTHER_SECONDS };
    Node::Object(vec![
        ("type", Node::Text("mcp_tool".to_owned())),
        ("server", Node::Text(server.to_owned())),
        ("tool", Node::Text("hook".to_owned())),
        ("timeout", Node::Whole(seconds)),
        ("input", Node::Object(input)),
    ])
}

fn command_hook(event: HookEvent, program: &Path) -> Node {
    let mut hook = vec![
        ("type", Node::Text("command".to_owned())),
        ("command", Node::Text(program.display().to_string())),
        ("args", Node::List(vec!["hook".to_owned()])),
    ];
    if event == HookEvent::FileChanged {
        // What the hook says then begins a turn of an idle session.
        hook.extend([("asyncRewake", Node::Yes), ("timeout", Node::Whole(WAKE_SECONDS))]);
    } else {
        hook.push(("timeout", Node::Whole(OTHER_SECONDS)));
    }
    Node::Object(hook)
}

/// The text after each step, one for each addition that was missing or different. None: all is there.
pub(crate) fn put(text: &str, additions: &[Addition]) -> Result<Vec<String>, Unfit> {
    let mut steps: Vec<String> = vec![];
    for addition in additions {
        let before = steps.last().map_or(text, String::as_str);
        let after = put_one(before, addition)?;
        if after != before {
            steps.push(after);
        }
    }
    Ok(steps)
}

fn put_one(text: &str, addition: &Addition) -> Result<String, Unfit> {
    let document = Document::parse(text)?;
    let [outer, inner] = addition.list;
    let list = || match &addition.node {
        Node::Text(rule) => Node::List(vec![rule.clone()]),
        node => Node::Array(vec![node.clone()]),
    };
    let nested = || Node::Single(inner.to_owned(), Box::new(list()));
    let Some(root) = document.root()? else { return Ok(document.with(document.begin(outer, nested()))) };
    let Some(part) = root.get(outer) else { return Ok(document.with(document.insert(root, outer, &nested()))) };
    let part = part.value.as_object().ok_or_else(|| Unfit::OddShape(format!("{outer:?} is no object")))?;
    let Some(there) = part.get(inner) else { return Ok(document.with(document.insert(part, inner, &list()))) };
    let there = there.value.as_array().ok_or_else(|| Unfit::OddShape(format!("{inner:?} is no list")))?;
    let wanted = addition.node.said();
    let elements = || there.elements.iter().map(|element| (element, document.said_by(element)));
    if elements().any(|(_, said)| said == wanted) {
        return Ok(text.to_owned());
    }
    let older = elements().find(|(_, said)| outer == "hooks" && server_of(said) == server_of(&wanted) && is_ours(said));
    Ok(document.with(match older {
        Some((element, _)) => vec![document.replace_element(element, &addition.node)],
        None => document.append(there, &addition.node),
    }))
}

/// The server whose tool a group calls; null where it calls a program.
fn server_of(group: &serde_json::Value) -> &serde_json::Value {
    &group["hooks"][0]["server"]
}

/// A group of hooks that calls us: our tool with what `install` has it told, or the program itself.
pub(crate) fn is_ours(group: &serde_json::Value) -> bool {
    let Some([hook]) = group["hooks"].as_array().map(Vec::as_slice) else { return false };
    let by_tool = hook["type"] == "mcp_tool" && hook["tool"] == "hook" && hook["input"]["hook_event_name"].is_string();
    let program = hook["command"].as_str().unwrap_or_default();
    let by_command =
        hook["type"] == "command" && program.rsplit('/').next() == Some("portcullis") && hook["args"][0] == "hook";
    by_tool || by_command
}

/// The version of the release that wrote a group of our hooks. None where the group has no place for it.
pub(crate) fn version_of(group: &serde_json::Value) -> Option<u32> {
    let input = group["hooks"][0]["input"].as_object()?;
    let version = input.get("hooks_version").and_then(serde_json::Value::as_str);
    Some(version.and_then(|version| version.parse().ok()).unwrap_or(1))
}

/// The text after each step on the way to one without what `is_it` says is ours, and without lists and objects that are
/// then empty. None: there is nothing of ours.
pub(crate) fn take_out(text: &str, is_it: &dyn Fn(&str, &serde_json::Value) -> bool) -> Result<Vec<String>, Unfit> {
    let mut steps: Vec<String> = vec![];
    while let Some(shorter) = take_one(steps.last().map_or(text, String::as_str), is_it)? {
        steps.push(shorter);
    }
    Ok(steps)
}

fn take_one(text: &str, is_it: &dyn Fn(&str, &serde_json::Value) -> bool) -> Result<Option<String>, Unfit> {
    let document = Document::parse(text)?;
    let Some(root) = document.root()? else { return Ok(None) };
    for outer in ["permissions", "hooks"] {
        let Some(part) = root.get(outer) else { continue };
        let Some(lists) = part.value.as_object() else { continue };
        for property in &lists.properties {
            let Some(list) = property.value.as_array() else { continue };
            let Some(ours) = ours_in(&document, list, outer, is_it) else { continue };
            let is_last = list.elements.len() == 1 && !document.has_comments_in(list.range);
            let is_all = is_last && lists.properties.len() == 1 && !document.has_comments_in(lists.range);
            return Ok(Some(document.with(if is_all {
                document.remove(root, part)
            } else if is_last {
                document.remove(lists, property)
            } else {
                document.remove_element(list, ours)
            })));
        }
    }
    Ok(None)
}

fn ours_in<'a, 'b>(
    document: &Document<'a>,
    list: &'b Array<'a>,
    outer: &str,
    is_it: &dyn Fn(&str, &serde_json::Value) -> bool,
) -> Option<&'b Value<'a>> {
    list.elements.iter().find(|element| is_it(outer, &document.said_by(element)))
}

/// Whether an element is ours by what it says: hooks that call us, and the rules about our own tools.
pub(crate) fn is_our_element(server: &str, outer: &str, said: &serde_json::Value) -> bool {
    match outer {
        "hooks" => is_ours(said) && (server_of(said).is_null() || server_of(said) == server),
        _ => TOOLS.iter().chain(&["hook"]).any(|tool| *said == own_rule(server, tool)),
    }
}

/// Whether a text holds nothing but an empty object.
pub(crate) fn says_nothing(text: &str) -> bool {
    Document::parse(text).is_ok_and(|document| {
        !document.has_comments() && document.root().is_ok_and(|root| root.is_none_or(|root| root.properties.is_empty()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn callee() -> Callee<'static> {
        Callee { server: "portcullis".to_owned(), program: Path::new("/usr/bin/portcullis") }
    }

    fn installed(text: &str) -> String {
        put(text, &additions(&callee(), &["Bash(rm *)".to_owned()])).unwrap().pop().unwrap_or_else(|| text.to_owned())
    }

    fn uninstalled(text: &str) -> String {
        let is_it = |outer: &str, said: &serde_json::Value| {
            is_our_element("portcullis", outer, said) || (outer == "permissions" && said == "Bash(rm *)")
        };
        take_out(text, &is_it).unwrap().pop().unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn what_is_put_in_is_what_the_client_reads_and_a_second_time_changes_nothing() {
        let text = installed("");
        let settings: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(settings["permissions"]["deny"], serde_json::json!(["mcp__portcullis__hook", "Bash(rm *)"]));
        let prompt = &settings["hooks"]["PermissionRequest"][0]["hooks"][0];
        assert_eq!((&prompt["timeout"], &prompt["input"]["tool_input"]), (&86400.into(), &"${tool_input}".into()));
        assert_eq!(settings["hooks"]["FileChanged"][0]["hooks"][0]["asyncRewake"], true);
        assert_eq!(settings["hooks"].as_object().unwrap().len(), 13);
        assert_eq!(installed(&text), text);
        assert_eq!(uninstalled(&text).trim(), "{}");
    }

    #[test]
    fn what_the_user_has_stays_to_the_byte() {
        for text in [
            "{\n  \"permissions\": {\n    \"deny\": [\"Read(.env)\"],\n    \"allow\": [\n      \"Bash(ls)\"\n    ]\n  },\n  \"env\": {\"A\": \"1\"}\n}\n",
            "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"say done\"}]}]}}",
            "{\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\"matcher\": \"Bash\", \"hooks\": []} // mine\n\t\t]\n\t}\n}",
        ] {
            let after = installed(text);
            assert_ne!(after, text);
            assert_eq!(uninstalled(&after), text, "{after}");
        }
    }

    #[test]
    fn a_program_that_moved_is_called_at_its_new_place() {
        let before = installed("{}");
        let moved = Callee { program: Path::new("/opt/portcullis"), ..callee() };
        let after = put(&before, &additions(&moved, &[])).unwrap().pop().unwrap();
        assert!(!after.contains("/usr/bin/portcullis") && after.contains("\"/opt/portcullis\""), "{after}");
        assert_eq!(after.matches("asyncRewake").count(), 1);
    }

    #[test]
    fn an_odd_file_is_left_alone() {
        for odd in ["[]", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": {}}}", "{\"permissions\": 7}", "{"] {
            assert!(put(odd, &additions(&callee(), &[])).is_err(), "{odd}");
        }
    }

    proptest! {
        #[test]
        fn any_settings_keep_all_they_say(
            deny in prop::collection::vec("[a-z]{1,4}", 0..3),
            command in "[a-z ]{0,6}",
            pretty: bool,
        ) {
            let settings = serde_json::json!({
                "permissions": {"deny": deny},
                "hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]},
                "other": {"x": [1, 2]},
            });
            let text = if pretty { format!("{settings:#}") } else { settings.to_string() };
            let after = installed(&text);
            let said: serde_json::Value = serde_json::from_str(&after).unwrap();
            prop_assert_eq!(&said["other"], &settings["other"]);
            let taken: serde_json::Value = serde_json::from_str(&uninstalled(&after)).unwrap();
            prop_assert_eq!(&taken["hooks"], &settings["hooks"]);
            prop_assert_eq!(&installed(&after), &after);
        }
    }
}
