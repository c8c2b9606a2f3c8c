//! What the client is told for each ruling.

use super::*;
use portcullis_core::Edited;
use serde_json::json;

fn call() -> CanUseTool {
    serde_json::from_value(json!({
        "tool_name": "Bash", "input": {"command": "npm run build", "description": "Build"}, "tool_use_id": "t1",
        "decision_reason": "\u{1b}[1mBecause\u{1b}[0m",
        "permission_suggestions": [
            {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "npm run *"}], "behavior": "allow", "destination": "localSettings"},
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"}],
    }))
    .unwrap()
}

fn prompt(call: CanUseTool) -> Prompt {
    Prompt::new("r1".into(), AskId::new(portcullis_core::Moment(1), 1), call)
}

fn ruling(scope: Scope) -> Ruling {
    Ruling { scope, ..Ruling::plain(Behavior::Allow) }
}

fn answered(prompt: &Prompt, ruling: &Ruling) -> Value {
    serde_json::to_value(prompt.answer(ruling)).unwrap()
}

#[test]
fn a_prompt_says_what_it_is_about_and_why() {
    let prompt = prompt(call());
    let ask = prompt.as_ask();
    assert_eq!((ask.description.as_str(), ask.preview.as_str()), ("Build", "npm run build"));
    assert_eq!(ask.details.reason.as_deref(), Some("Because"), "without colours");
    let offers: Vec<(Scope, &str)> = ask.details.offers.iter().map(|offer| (offer.scope, &*offer.words)).collect();
    let want = [
        (Scope::Session, "Bash(npm run *), for this session"),
        (Scope::Always, "Bash(npm run *), in this project's local settings"),
    ];
    assert_eq!(offers, want);
}

#[test]
fn a_span_is_taken_from_what_the_client_suggests() {
    let prompt = prompt(call());
    let once = answered(&prompt, &ruling(Scope::Once));
    assert_eq!(
        (&once["updatedPermissions"], &once["decisionClassification"]),
        (&Value::Null, &json!("user_temporary"))
    );
    let always = answered(&prompt, &ruling(Scope::Always));
    assert_eq!(always["updatedPermissions"], json!([prompt.call.permission_suggestions[0]]));
    assert_eq!(always["decisionClassification"], "user_permanent");
    let session = answered(&prompt, &ruling(Scope::Session));
    assert_eq!(session["updatedPermissions"][0]["destination"], "session");
}

#[test]
fn what_is_suppressed_is_neither_offered_nor_carried() {
    let prompt = prompt(CanUseTool { suppress_always_allow_rule: true, ..call() });
    assert!(prompt.details.offers.is_empty());
    let answer = answered(&prompt, &ruling(Scope::Always));
    assert_eq!(
        (&answer["updatedPermissions"], &answer["decisionClassification"]),
        (&Value::Null, &json!("user_temporary"))
    );
}

#[test]
fn another_input_runs_in_place_of_the_first_and_nothing_runs_in_place_of_an_unreadable_one() {
    let edit =
        |text: &str| Ruling { input: Some(Edited { text: Text::new(text), digest: [0; 32] }), ..ruling(Scope::Once) };
    let prompt = prompt(call());
    assert_eq!(answered(&prompt, &edit(r#"{"command":"ls"}"#))["updatedInput"], json!({"command": "ls"}));
    for unreadable in ["", "{", "[]", "7"] {
        assert_eq!(answered(&prompt, &edit(unreadable))["behavior"], "deny", "{unreadable}");
    }
}

#[test]
fn a_denial_says_why_and_may_end_the_turn() {
    let deny = Ruling { why: Some("not today".into()), interrupt: true, ..Ruling::plain(Behavior::Deny) };
    let want = json!({"behavior": "deny", "message": "not today", "interrupt": true, "toolUseID": "t1", "decisionClassification": "user_reject"});
    assert_eq!(answered(&prompt(call()), &deny), want);
    let plain = answered(&prompt(call()), &Ruling::plain(Behavior::Deny));
    assert_eq!((&plain["message"], &plain["interrupt"]), (&json!("A person denied this."), &Value::Null));
}
