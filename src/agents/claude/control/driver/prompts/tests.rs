//! What the client is told for each decision.

use super::*;

fn call() -> CanUseTool {
    serde_json::from_value(json!({
        "tool_name": "Bash", "input": {"command": "npm run build", "description": "Build"}, "tool_use_id": "t1",
        "decision_reason": "\u{1b}[1mBecause\u{1b}[0m", "matched_ask_rule": {"tool_name": "Bash", "rule_content": "npm *"},
    }))
    .unwrap()
}

fn told(decision: Decision) -> Value {
    serde_json::to_value(result(decision, &call())).unwrap()
}

fn allow(input: Option<Value>, scope: Scope, by: DecidedBy) -> Value {
    told(Decision::Allow { input, remember: vec![json!({"type": "addRules"})], scope, by })
}

#[test]
fn the_reason_of_the_client_has_no_colours_and_names_its_rule() {
    assert_eq!(reason(&call()).as_deref(), Some("Because; the rule Bash(npm *) says to ask"));
}

#[test]
fn an_allow_carries_the_input_what_to_remember_and_who_decided() {
    let once = allow(None, Scope::Once, DecidedBy::Person);
    assert_eq!((&once["updatedInput"], &once["toolUseID"]), (&call().input, &json!("t1")));
    assert_eq!(once["decisionClassification"], "user_temporary");
    let always = allow(Some(json!({"command": "ls"})), Scope::Always, DecidedBy::Person);
    assert_eq!(always["updatedInput"], json!({"command": "ls"}));
    assert_eq!(always["updatedPermissions"], json!([{"type": "addRules"}]));
    assert_eq!(always["decisionClassification"], "user_permanent");
    assert_eq!(allow(None, Scope::Once, DecidedBy::Gatekeeper)["decisionClassification"], Value::Null);
}

#[test]
fn a_denial_says_why_and_may_end_the_turn() {
    let deny = |interrupt, by| told(Decision::Deny { message: "not today".into(), interrupt, by });
    let want = json!({"behavior": "deny", "message": "not today", "interrupt": true, "toolUseID": "t1", "decisionClassification": "user_reject"});
    assert_eq!(deny(true, DecidedBy::Person), want);
    let rule = deny(false, DecidedBy::Gatekeeper);
    assert_eq!((&rule["interrupt"], &rule["decisionClassification"]), (&Value::Null, &Value::Null));
}

#[test]
fn no_decision_is_no_permission() {
    assert_eq!(told(Decision::NoDecision)["behavior"], "deny");
}
