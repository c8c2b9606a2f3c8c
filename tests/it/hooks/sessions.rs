//! One session through `/clear`, compaction and resumption, and a plan that is approved from afar.

use crate::support::hooks::{bash, command_hook, hooked};
use crate::support::seen::until;
use serde_json::{Value, json};

#[test]
fn a_session_stays_the_same_through_clear_compact_and_resume() {
    let (home, gate, session) = hooked();
    let before = gate.get("/api/v1/sessions").json()[0].clone();
    let the_session = |agent: &str| {
        until("the session under its agent's new name", || {
            let sessions = gate.get("/api/v1/sessions").json();
            assert_eq!(sessions.as_array().unwrap().len(), 1, "{sessions}");
            (sessions[0]["agent_session"] == agent).then(|| sessions[0].clone())
        })
    };
    for (source, agent, closes) in [("compact", "s-1", false), ("resume", "s-1", true), ("clear", "s-2", true)] {
        session.hook_later("PermissionRequest", &bash("git push"));
        let ask = gate.open_ask();
        let started = json!({"hook_event_name": "SessionStart", "session_id": agent, "source": source});
        command_hook(&home, &started, true).ok();
        assert_eq!(the_session(agent)["id"], before["id"], "{source}");
        if closes {
            gate.ask_when(&ask, |ask| ask["state"] == "withdrawn");
        } else {
            assert_eq!(gate.ask_when(&ask, |_| true)["state"], "open", "{source} asks on");
            gate.answer(&ask, &json!({"behavior": "deny"}));
        }
    }
}

#[test]
fn a_plan_is_approved_or_sent_back_over_the_api() {
    let (_home, gate, session) = hooked();
    let plan = json!({"tool_name": "ExitPlanMode", "tool_input": {"plan": "1. Read\n2. Write"}});
    for (verdict, behavior) in
        [(json!({"behavior": "deny", "why": "read more first"}), "deny"), (json!({"behavior": "allow"}), "allow")]
    {
        let id = session.hook_later("PermissionRequest", &plan);
        let ask = gate.open_ask();
        assert_eq!((&ask["kind"], &ask["input"]["plan"]), (&json!("plan"), &json!("1. Read\n2. Write")), "{ask:#}");
        gate.answer(&ask, &verdict);
        let decision = session.hook_answer(&id)["hookSpecificOutput"]["decision"].clone();
        assert_eq!(decision["behavior"], behavior, "{decision}");
        assert_eq!(decision["message"], verdict.get("why").cloned().unwrap_or(Value::Null), "{decision}");
    }
}
