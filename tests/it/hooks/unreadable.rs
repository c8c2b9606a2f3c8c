//! Calls that cannot be read whole: they do not run, and they are on the record.

use crate::fakes::model::Model;
use crate::support::driven::calls;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::hooks::{bash, command_hook, headless, hooked};
use crate::support::http::Request;
use crate::support::seen::until;
use serde_json::{Value, json};
use std::fs;

pub(super) fn posting(rules: &str) -> (Home, Gate, String) {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    fs::write(home.folder().join("rules.toml"), rules).unwrap();
    let gate = home.serve();
    let token = home.token_for("claude", "agent");
    (home, gate, token)
}

/// A call of a tool whose input has so many levels.
fn nested(event: &str, levels: usize) -> String {
    let (open, close) = ("{\"a\":".repeat(levels), "}".repeat(levels));
    format!(
        r#"{{"hook_event_name":"{event}","session_id":"s-9","cwd":"/","tool_name":"mcp__x__y","tool_input":{open}1{close},"tool_use_id":"deep"}}"#
    )
}

/// A call with more input than is read. Like Claude Code, it says first which hook and session it is of.
fn large(event: &str) -> Value {
    let mut call = json!({"hook_event_name": event, "session_id": "s-9"});
    for (key, value) in bash("touch made.txt").as_object().into_iter().flatten() {
        call[key] = value.clone();
    }
    call["tool_input"]["description"] = "x".repeat(17 << 20).into();
    call
}

fn decision(output: &Value) -> &Value {
    let specific = &output["hookSpecificOutput"];
    if specific["permissionDecision"].is_null() {
        &specific["decision"]["behavior"]
    } else {
        &specific["permissionDecision"]
    }
}

/// The record of a refused call whose tool has this name.
#[track_caller]
fn refused(home: &Home, tool: &str, count: usize) -> Value {
    let refused = until("the record of the refused call", || {
        let calls =
            home.records("called").into_iter().filter(|call| call["tool"] == tool && call["outcome"] == "denied");
        let calls: Vec<Value> = calls.collect();
        (calls.len() == count).then_some(calls)
    });
    refused.last().cloned().unwrap()
}

/// Settings of the project by which the real CLI posts what it is about to do, and what it did.
pub(super) fn post_hooks(home: &Home, gate: &Gate, token: &str) {
    let hook = json!([{"hooks": [{"type": "http", "url": format!("http://{}/claude/hooks", gate.address()),
               "timeout": 600, "headers": {"Authorization": format!("Bearer {token}")}}]}]);
    let hooks = json!({"PreToolUse": hook, "PostToolUse": hook});
    fs::create_dir_all(home.project().join(".claude")).unwrap();
    fs::write(home.project().join(".claude/settings.json"), json!({"hooks": hooks}).to_string()).unwrap();
}

#[test]
fn a_real_call_with_a_large_input_is_judged_over_http() {
    let (home, gate, token) = posting("[[rule]]\ndeny = \"Bash(touch *)\"\n");
    post_hooks(&home, &gate, &token);
    let input = json!({"command": "touch made.txt", "description": "x".repeat(1_100_000)});
    let model: Model = calls("Bash", &input);
    headless(&home, &model, "bypassPermissions", || {});
    assert!(!home.project().join("made.txt").exists(), "the rule holds for a call of a megabyte");
    assert_eq!(refused(&home, "Bash", 1)["decided_by"], "rule Bash(touch *)");
}

#[test]
fn a_posted_call_that_cannot_be_read_is_denied_and_recorded() {
    let (home, gate, token) = posting("");
    let post = |body: Vec<u8>| Request::post("/claude/hooks").token(&token).body(body).send(&gate.target());
    for event in ["PreToolUse", "PermissionRequest"] {
        let answer = post(large(event).to_string().into_bytes()).expect(200).json();
        assert_eq!(decision(&answer), "deny", "{event}: {answer}");
    }
    // The client's dialog and the call before it are one call.
    let record = refused(&home, "Bash", 1);
    assert_eq!(record["decided_by"], "unreadable");
    // Each further one is another, although nothing tells them apart.
    for count in [2, 3] {
        post(large("PreToolUse").to_string().into_bytes()).expect(200);
        refused(&home, "Bash", count);
    }
    let deep = post(nested("PreToolUse", 200).into_bytes()).expect(200).json();
    assert_eq!(decision(&deep), "deny", "{deep}");
    let record = refused(&home, "mcp__x__y", 1);
    assert_eq!((&record["decided_by"], &record["tool_use_id"]), (&json!("unreadable"), &json!("deep")));
    let garbage = post(b"[\"PreToolUse\"".to_vec()).expect(200).json();
    assert_eq!(decision(&garbage), "deny", "{garbage}");
    let denied = home.records("access_denied").last().cloned().unwrap_or_default();
    let what = denied["what"].as_str().unwrap_or_default();
    assert!(what.starts_with("a call of an unknown tool: it cannot be read: EOF"), "{denied}");
    let nameless =
        post(br#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#.to_vec())
            .expect(200)
            .json();
    assert_eq!(decision(&nameless), "deny", "no session: {nameless}");
    let denied = home.records("access_denied").last().cloned().unwrap_or_default();
    assert_eq!(denied["what"], "a call of Bash: session_id is missing", "{denied}");
    assert!(gate.asks().is_empty());
}

#[test]
fn a_command_hook_denies_and_records_what_it_cannot_read() {
    let (home, gate, _session) = hooked();
    let answer = command_hook(&home, &large("PreToolUse"), true).ok().json();
    assert_eq!(decision(&answer), "deny", "{answer}");
    refused(&home, "Bash", 1);
    let answer = command_hook(&home, &r#"{"x":"PreToolUse","tool_use_id":"#, true).ok().json();
    assert_eq!(decision(&answer), "deny", "the name of the hook cannot be read: {answer}");
    refused(&home, "an unknown tool", 1);
    // As deep as a reader of JSON goes, and deeper.
    for (count, levels) in [110, 126, 200].into_iter().enumerate() {
        let call = nested("PermissionRequest", levels).replace("\"deep\"", &format!("\"deep-{levels}\""));
        let answer = command_hook(&home, &call, true).ok().json();
        assert_eq!(decision(&answer), "deny", "{levels} levels: {answer}");
        refused(&home, "mcp__x__y", count + 1);
    }
    let listed = home.run(&["ask", "list", "--all"]).ok().stdout;
    assert!(listed.contains("no prompt") || listed.contains("No prompt"), "{listed}");
    let log = home.run(&["log"]).ok().stdout;
    assert!(log.contains("was kept from mcp__x__y") && log.contains("(decided by unreadable)"), "{log}");
    assert!(gate.asks().is_empty());
}

/// Also where nothing says that it is about a call: it may have been.
#[test]
fn what_is_no_call_at_all_is_never_nothing() {
    let (home, _gate, _session) = hooked();
    for garbage in ["", "null", "[]", "{}", "7", "{\"tool_name\": \"Bash\"}", "{\"hook_event_name\": 7}", "\u{1}\u{2}"]
    {
        let answer = command_hook(&home, &garbage, true).ok().json();
        assert_eq!(decision(&answer), "deny", "{garbage:?}: {answer}");
        let reason = answer["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
        assert!(reason.contains("portcullis doctor"), "{reason}");
    }
    for (field, odd) in [("tool_input", json!(["ls"])), ("tool_name", json!(7)), ("cwd", json!({}))] {
        let mut call = bash("ls");
        call["hook_event_name"] = "PreToolUse".into();
        call[field] = odd;
        let answer = command_hook(&home, &call, true).ok().json();
        assert_eq!(decision(&answer), "deny", "{field}: {answer}");
    }
    // A hook that says which it is, and is none of ours.
    let other = command_hook(&home, &json!({"hook_event_name": "MessageDisplay"}), true).ok();
    assert_eq!(other.stdout, "");
}
