//! Lines of the real client read and written, and any bytes at all.

use super::*;
use proptest::prelude::*;

const ASK: &str = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash",
    "display_name":"Bash","input":{"command":"mkdir a"},"permission_suggestions":[
    {"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"mkdir *"},{"toolName":"Read"}],"behavior":"allow","destination":"localSettings"},
    {"type":"somethingNew","x":1},
    {"type":"addDirectories","directories":["/w"],"destination":"session"},
    {"type":"setMode","mode":"acceptEdits","destination":"session"}],
    "blocked_path":"/w/a","tool_use_id":"toolu_1","default_to_no":true,"new_field":[1]}}"#;

fn ask(line: &str) -> (String, CanUseTool) {
    match read(line.as_bytes()).unwrap() {
        FromClient::Request { id, request: Request::CanUseTool(ask) } => (id, *ask),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_prompt_is_read_with_what_we_know_of_it() {
    let (id, ask) = ask(ASK);
    assert_eq!((&*id, &*ask.tool_name, &*ask.tool_use_id), ("r1", "Bash", "toolu_1"));
    assert_eq!(ask.input, json!({"command": "mkdir a"}));
    assert!(ask.default_to_no && !ask.suppress_always_allow_rule && !ask.requires_user_interaction);
    assert_eq!(ask.permission_suggestions.len(), 4);
    assert!(
        self::ask(&ASK.replace("\"input\"", "\"permission_suggestions\":null,\"input\"").replacen(
            "\"permission_suggestions\":[",
            "\"x\":[",
            1
        ))
        .1
        .permission_suggestions
        .is_empty()
    );
}

#[test]
fn an_answer_is_written_as_the_client_wants_it() {
    let (_, ask) = ask(ASK);
    let allow = PermissionResult::Allow {
        updated_input: ask.input,
        updated_permissions: ask.permission_suggestions[..1].to_vec(),
        tool_use_id: ask.tool_use_id.clone(),
        decision_classification: Some(Classification::UserPermanent),
    };
    let written: Value = serde_json::from_slice(&success_line("r1", &allow)).unwrap();
    let want = json!({"type": "control_response", "response": {"subtype": "success", "request_id": "r1", "response": {
        "behavior": "allow", "updatedInput": {"command": "mkdir a"}, "toolUseID": "toolu_1",
        "updatedPermissions": [{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "mkdir *"}, {"toolName": "Read"}],
            "behavior": "allow", "destination": "localSettings"}],
        "decisionClassification": "user_permanent"}}});
    assert_eq!(written, want);
    let deny = PermissionResult::Deny {
        message: "no".into(),
        interrupt: true,
        tool_use_id: ask.tool_use_id,
        decision_classification: Some(Classification::UserReject),
    };
    let want = json!({"behavior": "deny", "message": "no", "interrupt": true, "toolUseID": "toolu_1",
        "decisionClassification": "user_reject"});
    assert_eq!(serde_json::to_value(deny).unwrap(), want);
}

#[test]
fn each_kind_of_line_is_told_apart() {
    let kind = |line: &str| match read(line.as_bytes()).unwrap() {
        FromClient::Request { request: Request::Unknown(subtype), .. } => format!("unknown {subtype}"),
        FromClient::Request { request: Request::Mcp(mcp), .. } => format!("mcp {}", mcp.message["method"]),
        FromClient::Request { request: Request::Hook(hook), .. } => format!("hook {}", hook.callback_id),
        FromClient::Request { request: Request::Dialog, .. } => "dialog".into(),
        FromClient::Request { id, request: Request::Unreadable(_) } => format!("unreadable {id}"),
        FromClient::Request { .. } => "ask".into(),
        FromClient::Response { id, answer } => format!("response {id} {answer:?}"),
        FromClient::Cancel { id } => format!("cancel {id}"),
        FromClient::Message(message) => format!("message {}", message.kind),
        FromClient::Noise => "noise".into(),
    };
    for (line, want) in [
        (r#"{"type":"control_request","request_id":"1","request":{"subtype":"elicitation"}}"#, "unknown elicitation"),
        (
            r#"{"type":"control_request","request_id":"1","request":{"subtype":"mcp_message","message":{"method":"ping"}}}"#,
            "mcp \"ping\"",
        ),
        (
            r#"{"type":"control_request","request_id":"1","request":{"subtype":"hook_callback","callback_id":"pre"}}"#,
            "hook pre",
        ),
        (r#"{"type":"control_request","request_id":"1","request":{"subtype":"request_user_dialog"}}"#, "dialog"),
        (
            r#"{"type":"control_response","response":{"subtype":"success","request_id":"7","response":{"a":1}}}"#,
            "response 7 Ok(Object {\"a\": Number(1)})",
        ),
        (
            r#"{"type":"control_response","response":{"subtype":"error","request_id":"7","error":"no"}}"#,
            "response 7 Err(\"no\")",
        ),
        (r#"{"type":"control_cancel_request","request_id":"9"}"#, "cancel 9"),
        (r#"{"type":"keep_alive"}"#, "message keep_alive"),
        (r#"{"type":"assistant","tool_result_meta":7,"message":{}}"#, "message assistant"),
        ("[SandboxDebug] on", "noise"),
        ("", "noise"),
    ] {
        assert_eq!(kind(line), want, "{line}");
    }
}

#[test]
fn what_was_decided_on_a_call_is_read_from_its_result() {
    let line = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"x","is_error":true}]},
        "tool_result_meta":[{"id":"t1","non_execution_kind":"permission-rule","permission_decision":{"decision":"reject","source":"user_reject"}}]}"#;
    let FromClient::Message(message) = read(line.as_bytes()).unwrap() else { panic!() };
    assert_eq!(message.blocks(), [Block::ToolResult { id: "t1", is_error: true, content: &json!("x") }]);
    let decision = message.tool_result_meta[0].permission_decision.as_ref().unwrap();
    assert_eq!((&*decision.decision, decision.source.as_deref()), ("reject", Some("user_reject")));
}

#[test]
fn open_prompts_are_found_by_initializing_again() {
    let found = pending_permissions(&json!({"pending_permission_requests": [
        {"type": "control_request", "request_id": "a", "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}},
        {"request_id": "b", "tool_name": "Write", "input": {}},
        {"no": "id"}]}));
    let found: Vec<(&str, &str)> = found.iter().map(|(id, ask)| (&**id, &*ask.tool_name)).collect();
    assert_eq!(found, [("a", "Bash"), ("b", "Write")]);
    assert!(pending_permissions(&Value::Null).is_empty());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(line: Vec<u8>) {
        drop(read(&line));
        drop(read(&[b"{\"type\":".as_slice(), &line].concat()));
    }

    #[test]
    fn any_values_in_any_place_are_read_or_refused(
        place in 0..8_usize,
        value in prop_oneof![Just("null"), Just("7"), Just("\"x\""), Just("[[]]"), Just("{\"a\":{}}"), Just("true")],
    ) {
        let fields = ["type", "request_id", "request", "response", "message", "tool_result_meta", "event", "subtype"];
        for kind in ["control_request", "control_response", "control_cancel_request", "user", "result"] {
            drop(read(format!(r#"{{"type":"{kind}","{}":{value}}}"#, fields[place]).as_bytes()));
        }
        for subtype in ["can_use_tool", "hook_callback", "mcp_message"] {
            let names = ["input", "tool_name", "permission_suggestions", "mcp_server", "callback_id", "message", "default_to_no", "agent_id"];
            let request = format!(r#"{{"subtype":"{subtype}","{}":{value}}}"#, names[place]);
            drop(read(format!(r#"{{"type":"control_request","request_id":"1","request":{request}}}"#).as_bytes()));
        }
    }

    #[test]
    fn what_is_said_is_one_line(text: String, id: String) {
        for line in [user_line(&id, &text, Speaker::Outside), error_line(&id, &text), success_line(&id, &text),
            request_line(&id, &text, Map::new()), cancel_line(&id)] {
            prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            prop_assert!(serde_json::from_slice::<Value>(&line).is_ok());
        }
    }
}

#[test]
fn an_image_goes_behind_the_text_and_what_is_none_does_not() {
    let png = [&[0x89, b'P', b'N', b'G'][..], b"abcd"].concat();
    let line = user_line_with("u", "look", &[png, b"#!/bin/sh".to_vec()], Speaker::User);
    let line: Value = serde_json::from_slice(&line).unwrap();
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBOR2FiY2Q="});
    let image = json!({"type": "image", "source": source});
    assert_eq!(line["message"]["content"], json!([{"type": "text", "text": "look"}, image]));
    for (bytes, want) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
        assert_eq!(base64(bytes.as_bytes()), want);
    }
}
