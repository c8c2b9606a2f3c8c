//! Prompts, stops and rules through the hidden tool that hooks call.

use crate::support::home::Home;
use crate::support::hooks::{attend, bash, by_tool_call_containing, hooked, with};
use crate::support::seen::until;
use crate::support::standin::StandIn;
use serde_json::{Value, json};

#[test]
fn the_hook_tool_is_hidden_from_the_model_and_refused_to_it() {
    let (home, gate, session) = hooked();
    assert_eq!(session.tool_names(), ["reply", "edit_message", "inbox"]);
    let arguments = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": "{}"});
    let waiting = gate.send_event("for the model's eyes");
    let refused = session.call("hook", &arguments);
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(!refused.to_string().contains("for the model's eyes"), "{refused}");
    let log = until("the attempt on the record", || {
        let log = home.run(&["log", "--json"]).ok().stdout;
        log.lines().find(|line| line.contains("\"access_denied\"")).map(str::to_owned)
    });
    assert!(log.contains("call the tool of the hooks"), "{log}");
    gate.wait_for_event(&waiting, "waiting");
}

#[test]
fn a_prompt_shows_the_whole_input_and_the_hook_returns_its_verdict() {
    let (_home, gate, session) = hooked();
    let rule = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "git push *"}],
                      "behavior": "allow", "destination": "localSettings"});
    session.hook("PreToolUse", &with(bash("git push"), "tool_use_id", "toolu_1"));
    let request = with(bash("git push"), "permission_suggestions", json!([rule]));
    let id = session.hook_later("PermissionRequest", &request);
    let ask = gate.open_ask();
    assert_eq!(
        (&ask["tool"], &ask["description"], &ask["preview"]),
        (&json!("Bash"), &json!("Do it"), &json!("git push"))
    );
    assert_eq!(ask["input"], json!({"command": "git push", "description": "Do it"}));
    assert_eq!((&ask["tool_use_id"], &ask["source"]), (&json!("toolu_1"), &json!("hook")));
    let offered: Vec<&str> =
        ask["offers"].as_array().unwrap().iter().filter_map(|offer| offer["scope"].as_str()).collect();
    assert_eq!(offered, ["session", "always"], "{ask:#}");
    gate.answer(&ask, &json!({"behavior": "allow", "scope": "always"}));
    let decision = session.hook_answer(&id)["hookSpecificOutput"]["decision"].clone();
    assert_eq!(decision, json!({"behavior": "allow", "updatedPermissions": [rule]}));
    gate.ask_when(&ask, |ask| !ask["verdict"]["carried_at"].is_null());
    session.hook("PostToolUse", &with(bash("git push"), "tool_use_id", "toolu_1"));
    let ask = gate.ask_when(&ask, |ask| ask["verdict"]["outcome"] == "ran");
    assert!(ask["verdict"]["differs"].is_null(), "{ask:#}");

    let id = session.hook_later("PermissionRequest", &bash("rm -r x"));
    let ask = gate.open_ask();
    gate.answer(&ask, &json!({"behavior": "deny", "why": "keep it", "interrupt": true}));
    let decision = session.hook_answer(&id)["hookSpecificOutput"]["decision"].clone();
    assert_eq!(decision, json!({"behavior": "deny", "message": "keep it", "interrupt": true}));
}

#[test]
fn a_call_that_runs_with_another_input_than_was_shown_is_reported() {
    let (_home, gate, session) = hooked();
    session.hook("PreToolUse", &with(bash("ls"), "tool_use_id", "toolu_1"));
    let id = session.hook_later("PermissionRequest", &bash("ls"));
    let ask = gate.open_ask();
    gate.answer(&ask, &json!({"behavior": "allow"}));
    session.hook_answer(&id);
    session.hook("PostToolUse", &with(bash("rm -r /"), "tool_use_id", "toolu_1"));
    gate.ask_when(&ask, |ask| ask["verdict"]["differs"] == true);
}

#[test]
fn a_prompt_answered_at_the_terminal_is_withdrawn_at_the_gate() {
    let (_home, gate, session) = hooked();
    let withdrawn = |ask: &Value| gate.ask_when(ask, |ask| ask["state"] == "withdrawn")["withdrawn"].clone();

    let id = session.hook_later("PermissionRequest", &bash("one"));
    let ask = gate.open_ask();
    session.notify("notifications/cancelled", Some(&json!({"requestId": id, "reason": "aborted"})));
    assert_eq!(withdrawn(&ask), "denied, interrupted or timed out at the terminal");

    let id = session.hook_later("PermissionRequest", &bash("two"));
    let ask = gate.open_ask();
    session.hook("PostToolUse", &bash("two"));
    assert_eq!(session.hook_answer(&id), json!({}), "nobody waits any more");
    assert_eq!(withdrawn(&ask), "allowed at its terminal");

    for (closing, fields, other) in [
        ("Stop", json!({"stop_hook_active": "false"}), json!({})),
        ("UserPromptSubmit", json!({"prompt": "never mind"}), json!({})),
        ("SubagentStop", json!({"agent_id": "a-1"}), json!({"agent_id": "a-1"})),
    ] {
        let mut request = bash(closing);
        request.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        let id = session.hook_later("PermissionRequest", &request);
        let ask = gate.open_ask();
        session.hook(closing, &fields);
        assert_eq!(session.hook_answer(&id), json!({}));
        withdrawn(&ask);
    }
}

#[test]
fn a_subagents_prompt_stays_open_when_the_main_conversation_goes_on() {
    let (_home, gate, session) = hooked();
    let id = session.hook_later("PermissionRequest", &with(bash("below"), "agent_id", "a-1"));
    let ask = gate.open_ask();
    assert_eq!(ask["agent_id"], "a-1");
    session.hook("Stop", &json!({}));
    session.hook("UserPromptSubmit", &json!({"prompt": "more"}));
    session.hook("UserPromptSubmit", &json!({"prompt": "<task-notification>x</task-notification>"}));
    gate.answer(&ask, &json!({"behavior": "allow"}));
    assert_eq!(session.hook_answer(&id)["hookSpecificOutput"]["decision"]["behavior"], "allow");
}

#[test]
fn an_open_prompt_survives_a_restart_of_the_gate() {
    // The session would start the next gate by itself, and perhaps before this test does.
    let home = Home::without_auto_start();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    let id = session.hook_later("PermissionRequest", &bash("ls"));
    let ask = gate.open_ask();
    let gate = home.restart(&gate);
    home.attached(1);
    let again = gate.open_ask();
    assert_eq!(again["id"], ask["id"]);
    gate.answer(&again, &json!({"behavior": "allow"}));
    assert_eq!(session.hook_answer(&id)["hookSpecificOutput"]["decision"]["behavior"], "allow");
}

#[test]
fn without_a_gate_every_hook_returns_an_empty_answer() {
    let home = Home::without_auto_start();
    home.fix("PORTCULLIS_TEST_CONNECT", 500);
    let session = StandIn::start(&home, &[]);
    for (event, fields) in [
        ("PreToolUse", bash("ls")),
        ("PostToolUse", bash("ls")),
        ("UserPromptSubmit", json!({"prompt": "hi"})),
        ("Stop", json!({})),
        ("PermissionRequest", bash("ls")),
        ("NoSuchHook", json!({})),
    ] {
        assert_eq!(session.hook(event, &fields), json!({}), "{event}");
    }
    // Nor does what nobody was asked turn up as a prompt later.
    let gate = home.serve();
    home.attached(1);
    // The gate has heard all that was said before this answer.
    session.call("inbox", &json!({}));
    let states: Vec<Value> = gate.asks().iter().map(|ask| ask["state"].clone()).collect();
    assert_eq!(states, ["withdrawn"]);
}

#[test]
fn a_stopped_session_runs_no_tool_and_is_told_who_stopped_it() {
    let (home, gate, session) = hooked();
    let id = home.attached(1)[0]["id"].as_str().unwrap().to_owned();
    let denied = |output: &Value| output["hookSpecificOutput"]["permissionDecision"] == "deny";
    let order = |place: usize| gate.get(&format!("/api/v1/sessions/{id}")).json()["orders"][place]["state"].clone();
    gate.post(&format!("/api/v1/sessions/{id}/stop"), &json!({})).expect(200);
    let output = until("a refusal", || Some(session.hook("PreToolUse", &bash("ls"))).filter(denied));
    until("the stop is done", || (order(0) == "done").then_some(()));
    assert_eq!(output["hookSpecificOutput"]["permissionDecision"], "deny");
    let reason = output["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.starts_with("owner has stopped this session"), "{reason}");
    gate.post(&format!("/api/v1/sessions/{id}/resume"), &json!({})).expect(200);
    until("no refusal", || (session.hook("PreToolUse", &bash("ls")) == json!({})).then_some(()));
    until("the resume is done", || (order(1) == "done").then_some(()));
}

#[test]
fn a_stop_denies_open_and_new_prompts_until_the_session_is_resumed() {
    let (home, gate, session) = hooked();
    let behavior = |output: &Value| output["hookSpecificOutput"]["decision"]["behavior"].clone();
    let id = home.attached(1)[0]["id"].as_str().unwrap().to_owned();
    let asked = session.hook_later("PermissionRequest", &bash("one"));
    let below = session.hook_later("PermissionRequest", &with(bash("below"), "agent_id", "a-1"));
    let asks = gate.open_asks(2);
    gate.post(&format!("/api/v1/sessions/{id}/stop"), &json!({})).expect(200);
    for asked in [asked, below] {
        let output = session.hook_answer(&asked);
        assert_eq!(behavior(&output), "deny");
        let message = output["hookSpecificOutput"]["decision"]["message"].as_str().unwrap();
        assert!(message.starts_with("owner has stopped this session"), "{message}");
    }
    for ask in asks {
        assert_eq!(gate.ask_when(&ask, |ask| ask["state"] == "withdrawn")["withdrawn"], "the session was stopped");
    }
    assert_eq!(behavior(&session.hook("PermissionRequest", &bash("two"))), "deny", "nobody is asked");
    gate.post(&format!("/api/v1/sessions/{id}/resume"), &json!({})).expect(200);
    until("no refusal", || (session.hook("PreToolUse", &bash("ls")) == json!({})).then_some(()));
    let asked = session.hook_later("PermissionRequest", &bash("three"));
    gate.answer(&gate.open_ask(), &json!({"behavior": "allow"}));
    assert_eq!(behavior(&session.hook_answer(&asked)), "allow");
}

#[test]
fn every_tool_call_is_recorded() {
    let (home, _gate, session) = hooked();
    session.hook("PostToolUse", &with(bash("ls -l"), "tool_use_id", "toolu_1"));
    session.hook("PostToolUseFailure", &with(bash("false"), "tool_use_id", "toolu_2"));
    session.hook("PermissionDenied", &with(bash("rm x"), "tool_use_id", "toolu_3"));
    let calls = called(&home, |calls| calls.len() == 3);
    let shown: Vec<&str> = calls.iter().filter_map(|call| call["outcome"].as_str()).collect();
    assert_eq!(shown, ["ran", "failed", "denied"], "{calls:#?}");
}

/// The tool calls on the record, once they are as they should be.
#[track_caller]
fn called(home: &Home, is_it: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    until("the calls on the record", || {
        let calls = home.records("called").into_iter();
        let calls: Vec<Value> =
            calls.map(|call| if call["call"].is_null() { call } else { call["call"].clone() }).collect();
        is_it(&calls).then_some(calls)
    })
}

/// The user's rules, as `portcullis rules add` would write them.
fn write_rules(home: &Home, rules: &[(&str, &str)]) {
    let text: String = rules.iter().map(|(decision, rule)| format!("[[rule]]\n{decision} = \"{rule}\"\n\n")).collect();
    std::fs::write(home.folder().join("rules.toml"), text).unwrap();
}

#[test]
fn rules_deny_or_ask_before_a_tool_runs_and_allow_only_at_a_prompt() {
    let (home, gate, session) = hooked();
    attend(&home);
    write_rules(&home, &[("deny", "Bash(git push *)"), ("ask", "Bash(make *)"), ("allow", "Bash(npm test *)")]);
    let before =
        |command: &str| session.hook("PreToolUse", &bash(command))["hookSpecificOutput"]["permissionDecision"].clone();
    assert_eq!(before("git push origin"), "deny");
    assert_eq!(before("npm test && git push origin"), "deny");
    assert_eq!(before("make install"), "ask");
    assert_eq!((before("npm test x"), before("ls")), (Value::Null, Value::Null), "never allow here");

    let suggestion = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "npm test *"}],
                             "behavior": "allow", "destination": "localSettings"}]);
    let request = |command: &str| with(bash(command), "permission_suggestions", suggestion.clone());
    let decide = |fields: &Value| session.hook("PermissionRequest", fields)["hookSpecificOutput"]["decision"].clone();
    assert_eq!(decide(&request("git push origin"))["behavior"], "deny");
    assert_eq!(decide(&request("npm test unit")), json!({"behavior": "allow"}));
    session.hook("PostToolUse", &request("npm test unit"));

    for asked in [
        request("npm test unit && rm -rf x"),
        request("npm test $(rm -rf x)"),
        with(request("npm test unit"), "permission_mode", "plan"),
        with(request("npm test unit"), "permission_suggestions", json!([])),
    ] {
        let id = session.hook_later("PermissionRequest", &asked);
        let ask = gate.open_ask();
        assert_eq!(ask["tool"], "Bash");
        gate.answer(&ask, &json!({"behavior": "deny"}));
        assert_eq!(session.hook_answer(&id)["hookSpecificOutput"]["decision"]["behavior"], "deny", "{asked}");
    }

    let id = session.hook_later("PermissionRequest", &request("make install"));
    let ask = gate.open_ask();
    let edited = json!({"behavior": "allow", "input": {"command": "git push origin"}});
    gate.answer(&ask, &edited);
    assert_eq!(session.hook_answer(&id)["hookSpecificOutput"]["decision"]["behavior"], "deny", "rules run again on it");

    let calls = called(&home, |calls| calls.iter().any(|call| call["decided_by"] == "rule Bash(npm test *)"));
    assert!(calls.iter().any(|call| call["decided_by"] == "rule Bash(git push *)" && call["outcome"] == "denied"));
}

#[test]
fn without_a_gate_rules_deny_but_never_allow() {
    let home = Home::without_auto_start();
    home.fix("PORTCULLIS_TEST_CONNECT", 500);
    write_rules(&home, &[("deny", "Bash(git push *)"), ("allow", "Bash(npm test *)")]);
    let session = StandIn::start(&home, &[]);
    let suggestion = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    let request = |command: &str| with(bash(command), "permission_suggestions", suggestion.clone());
    let before = session.hook("PreToolUse", &bash("git push origin"));
    assert_eq!(before["hookSpecificOutput"]["permissionDecision"], "deny");
    let denied = session.hook("PermissionRequest", &request("git push origin"));
    assert_eq!(denied["hookSpecificOutput"]["decision"]["behavior"], "deny");
    assert_eq!(session.hook("PermissionRequest", &request("npm test")), json!({}), "the terminal has it");
}

#[test]
fn what_an_agent_runs_cannot_lift_the_outside_guard_by_speaking_as_its_owner() {
    let (home, gate, session) = hooked();
    attend(&home);
    let decision = || {
        let call = with(bash("touch made.txt"), "permission_mode", "auto");
        session.hook("PreToolUse", &call)["hookSpecificOutput"]["permissionDecision"].clone()
    };
    assert_eq!(decision(), Value::Null);
    // This test is the agent of its stand-in, so the command runs inside of it.
    home.run(&["say", "please go on"]).ok();
    by_tool_call_containing(&session, "please go on");
    assert_eq!(decision(), "ask", "it only informs");
    gate.say("/", "the owner speaks").expect(200);
    by_tool_call_containing(&session, "the owner speaks");
    assert_eq!(decision(), Value::Null, "the owner directs");
}

#[test]
fn a_call_id_that_several_prompts_have_confirms_none_of_them() {
    let home = Home::new();
    let gate = home.serve();
    let token = |label| (label, home.token_with(&[label, "--role", "reviewer", "--label", label]));
    let tokens = ["s-3", "s-1"].map(token);
    let begin = |agent| StandIn::start_command(&home, StandIn::command_of(&home, &["--label", agent], agent));
    let sessions = ["s-1", "s-2"].map(begin);
    home.attached(2);
    std::thread::scope(|scope| {
        for session in &sessions {
            scope.spawn(|| {
                session.hook("PreToolUse", &with(bash("git push"), "tool_use_id", "toolu_1"));
                session.hook("PermissionRequest", &bash("git push"));
            });
        }
        let asks = gate.open_asks(2);
        let confirm = json!({"id": "toolu_1", "approved": true});
        let refused = gate.post("/api/confirm", &confirm).expect(409).json().to_string();
        for ask in &asks {
            assert!(refused.contains(ask["code"].as_str().unwrap()), "{refused}");
            assert_eq!(gate.ask(ask["id"].as_str().unwrap())["state"], "open");
        }
        for (label, token) in &tokens {
            let seen = gate.post_as(token, "/api/confirm", &confirm).expect(200).json();
            assert_eq!(seen, json!({"success": *label == "s-1"}), "{label} answers what is in its scope");
        }
        let left = gate.open_asks(1);
        assert_eq!(left[0]["label"], "s-2", "{left:#?}");
        assert_eq!(gate.post("/api/confirm", &confirm).expect(200).json(), json!({"success": true}));
    });
}

#[test]
fn what_an_agent_calls_its_call_is_not_taken_for_the_code_of_another_prompt() {
    let home = Home::new();
    let gate = home.serve();
    let begin = |agent| StandIn::start_command(&home, StandIn::command_of(&home, &["--label", agent], agent));
    let [honest, other] = ["s-1", "s-2"].map(begin);
    home.attached(2);
    honest.hook_later("PermissionRequest", &bash("git push"));
    let code = gate.open_asks(1)[0]["code"].as_str().unwrap().to_owned();
    other.hook("PreToolUse", &with(bash("touch evil"), "tool_use_id", code.as_str()));
    other.hook_later("PermissionRequest", &bash("touch evil"));
    gate.open_asks(2);
    let confirmed = gate.post("/api/confirm", &json!({"id": code, "approved": true})).expect(200).json();
    assert_eq!(confirmed, json!({"success": true}));
    let left = gate.open_asks(1);
    assert_eq!(left[0]["label"], "s-2", "{left:#?}");
}

#[test]
fn a_risk_without_reasons_is_shown_without_brackets() {
    let (home, gate, session) = hooked();
    attend(&home);
    session.hook_later("PermissionRequest", &bash("ls"));
    let ask = gate.open_ask();
    assert_eq!((&ask["risk"]["level"], &ask["risk"]["reasons"]), (&json!("low"), &json!([])), "{ask}");
    let shown = home.run(&["ask", "show", ask["code"].as_str().unwrap()]).ok().stdout;
    assert!(shown.lines().any(|line| line.split_whitespace().eq(["risk", "low"])) && !shown.contains("()"), "{shown}");
}

#[test]
fn a_prompt_of_the_clients_own_says_so() {
    let (home, gate, session) = hooked();
    attend(&home);
    std::fs::write(home.folder().join("rules.toml"), "[[rule]]\nallow = \"Bash(git push *)\"\n").unwrap();
    for (command, mode) in [("ls -la", "bypassPermissions"), ("git push origin", "default")] {
        let request = with(bash(command), "permission_mode", mode);
        let id = session.hook_later("PermissionRequest", &request);
        let ask = gate.open_ask();
        assert_eq!(ask["reason"], "Claude Code asks for it by itself", "{ask:#}");
        gate.answer(&ask, &json!({"behavior": "deny"}));
        session.hook_answer(&id);
    }
}

#[test]
fn a_message_whose_derived_fields_are_not_told_again_is_what_was_shown() {
    let (_home, gate, session) = hooked();
    let message = |more: &Value| {
        let mut input = json!({"to": "helper", "message": "go on"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"tool_name": "SendMessage", "tool_input": input, "tool_use_id": "toolu_1"})
    };
    let before = message(&json!({"content": "go on", "recipient": "helper", "type": "message"}));
    for (after, differs) in [(message(&json!({})), Value::Null), (message(&json!({"message": "stop"})), json!(true))] {
        session.hook("PreToolUse", &before);
        let id = session.hook_later("PermissionRequest", &before);
        let ask = gate.open_ask();
        gate.answer(&ask, &json!({"behavior": "allow"}));
        session.hook_answer(&id);
        session.hook("PostToolUse", &after);
        let ask = gate.ask_when(&ask, |ask| ask["verdict"]["outcome"] == "ran");
        assert_eq!(ask["verdict"]["differs"], differs, "{ask:#}");
    }
}
