//! Events through the hidden tool that hooks call: which way each takes, and when the session is told.

use crate::support::home::Home;
use crate::support::hooks::{bash, by_tool_call, context, hooked, with};
use crate::support::http::Request;
use crate::support::push::linked_device;
use crate::support::seen::until;
use crate::support::standin::StandIn;
use crate::support::stream::Stream;
use serde_json::json;

#[test]
fn events_use_the_channel_until_a_hook_is_called_and_again_once_a_reply_proves_it() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    gate.send_event("by the channel");
    let pushed = session.event_containing("by the channel");
    session.hook("UserPromptSubmit", &json!({"prompt": "hi"}));
    let event = gate.send_event("by a hook");
    let output = by_tool_call(&session);
    assert!(context(&output).contains("by a hook") && context(&output).contains("may direct this session"), "{output}");
    assert_eq!(output["systemMessage"], "owner: by a hook", "the person at the terminal sees who sent what");
    gate.wait_for_event(&event, "delivered");
    assert_eq!(session.hook("PostToolUse", &bash("ls")), json!({}), "once");

    session.call("reply", &json!({"chat_id": pushed.meta("chat_id"), "text": "read it"}));
    gate.send_event("by the channel, for sure");
    session.event_containing("for sure");
    assert_eq!(session.hook("PostToolUse", &bash("ls")), json!({}));
    assert_eq!(session.event_count(), 2);
}

#[test]
fn a_reply_in_a_conversation_shown_by_a_hook_does_not_prove_the_channel() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    gate.say("/?chat=ops", "by the channel").expect(200);
    session.event_containing("by the channel");
    session.hook("UserPromptSubmit", &json!({"prompt": "hi"}));
    for text in ["by a hook", "by a hook again"] {
        gate.say("/?chat=ops", text).expect(200);
        let output = by_tool_call(&session);
        assert!(context(&output).contains(text), "{output}");
        session.call("reply", &json!({"chat_id": "ops", "text": "read it"}));
    }
    assert_eq!(session.event_count(), 1);
}

#[test]
fn an_event_is_delivered_at_a_prompt_or_a_stop_but_never_to_a_subagent() {
    let (_home, gate, session) = hooked();
    session.hook("UserPromptSubmit", &json!({"prompt": "work"}));
    let first = gate.send_event("first");
    for _ in 0..3 {
        assert_eq!(session.hook("PostToolUse", &with(bash("ls"), "agent_id", "a-1")), json!({}));
        assert_eq!(session.hook("Stop", &json!({"agent_id": "a-1"})), json!({}));
        assert_eq!(session.hook("UserPromptSubmit", &json!({"prompt": "<task-notification>"})), json!({}));
    }
    let output = until("the event as it stops", || {
        Some(session.hook("Stop", &json!({"stop_hook_active": "false"}))).filter(|output| !context(output).is_empty())
    });
    assert!(context(&output).contains("\nfirst\n"), "{output}");
    gate.wait_for_event(&first, "delivered");
    let second = gate.send_event("second");
    let output = until("the event with the prompt", || {
        let output = session.hook("UserPromptSubmit", &json!({"prompt": "more"}));
        (!context(&output).is_empty()).then_some(output)
    });
    assert!(context(&output).contains("\nsecond\n") && !context(&output).contains("first"), "{output}");
    gate.wait_for_event(&second, "delivered");
}

#[test]
fn what_a_turn_brought_is_read_when_the_turn_ends_and_not_when_it_is_cut_off() {
    let (_home, gate, session) = hooked();
    session.hook("UserPromptSubmit", &json!({"prompt": "work"}));
    let first = gate.send_event("first");
    by_tool_call(&session);
    gate.wait_for_event(&first, "delivered");
    // The turn was interrupted, and no hook tells of that. It goes on with another prompt.
    session.hook("UserPromptSubmit", &json!({"prompt": "go on"}));
    assert_eq!(gate.event_state(&first), "delivered");
    session.hook("Stop", &json!({"agent_id": "a-1"}));
    assert_eq!(gate.event_state(&first), "delivered", "that was a subagent");
    session.hook("Stop", &json!({}));
    gate.wait_for_event(&first, "seen");
}

#[test]
fn a_session_is_kept_from_stopping_fewer_times_than_the_client_allows() {
    let (_home, gate, session) = hooked();
    session.hook("UserPromptSubmit", &json!({"prompt": "work"}));
    let stop = |number: usize| {
        gate.send_event(&format!("event {number}"));
        // The answer comes the same way as the event, and after it: then the event is with the session's process.
        session.call("inbox", &json!({}));
        let active = if number == 1 { "false" } else { "true" };
        session.hook("Stop", &json!({"stop_hook_active": active}))
    };
    // Six times; the client takes no more than eight.
    for number in 1..=6 {
        let output = stop(number);
        assert!(context(&output).contains(&format!("\nevent {number}\n")), "{output}");
    }
    assert_eq!(stop(7), json!({}));
    // It waits for the person, and comes with their next prompt.
    let output = session.hook("UserPromptSubmit", &json!({"prompt": "go on"}));
    assert!(context(&output).contains("\nevent 7\n"), "{output}");
}

#[test]
fn a_session_is_reminded_once_of_a_sender_who_must_get_a_reply() {
    let home = Home::new();
    home.write_config("[hooks]\nmust_reply = [\"owner\"]\n");
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    session.hook("UserPromptSubmit", &json!({"prompt": "work"}));
    for replies in [false, true] {
        let event = gate.send_event("is it done?");
        by_tool_call(&session);
        gate.wait_for_event(&event, "delivered");
        if replies {
            session.call("reply", &json!({"chat_id": "1", "text": "it is"}));
        }
        let output = session.hook("Stop", &json!({}));
        assert_eq!(context(&output).contains("chat_id \"1\""), !replies, "{output}");
        assert_eq!(session.hook("Stop", &json!({"stop_hook_active": "true"})), json!({}), "once");
    }
}

#[test]
fn what_was_dropped_or_sent_by_a_device_that_is_revoked_is_given_to_no_agent() {
    let (home, gate, session) = hooked();
    session.hook("UserPromptSubmit", &json!({"prompt": "work"}));
    let (id, key) = linked_device(&gate);
    let sent =
        gate.say_as(&key, "/", "from the lost phone").expect(200).header("x-event-id").expect("its id").to_owned();
    let dropped = gate.send_event("by mistake");
    let revoke = Request::new("DELETE", &format!("/api/v1/devices/{id}"));
    revoke.token(home.token()).send(&gate.target()).expect(200);
    gate.post(&format!("/api/v1/events/{dropped}/drop"), &json!({})).expect(200);
    gate.send_event("from the owner");
    // The session's process had the first two in its hands before it had the third.
    let output = by_tool_call(&session);
    let shown = context(&output);
    assert!(shown.contains("from the owner"), "{output}");
    assert!(!shown.contains("lost phone") && !shown.contains("by mistake"), "{output}");
    let view = gate.get(&format!("/api/v1/events/{sent}")).expect(200).json();
    assert_eq!(view["state"], "dropped");
    assert!(view["why"].as_str().unwrap_or_default().contains("was revoked"), "{view}");
}

#[test]
fn a_dialog_that_no_hook_tells_of_is_told_to_those_who_look_at_the_session() {
    let (home, gate, session) = hooked();
    let id = home.attached(1)[0]["id"].as_str().unwrap().to_owned();
    let mut stream = Stream::open(&gate, home.token(), &id, 0);
    let waits = json!({"notification_type": "permission_prompt"});
    session.hook_later("PermissionRequest", &bash("touch a"));
    gate.answer(&gate.open_ask(), &{
        session.hook("Notification", &waits);
        json!({"behavior": "allow"})
    });
    until("the answer", || gate.asks().iter().all(|ask| ask["state"] != "open").then_some(()));
    session.hook("PostToolUse", &bash("touch a"));
    session.hook("Notification", &waits);
    stream.until(|entry| entry["notice"]["text"].as_str().is_some_and(|text| text.contains("at its terminal")));
    let activity = || home.attached(1)[0]["activity"].clone();
    until("it waits at its terminal", || (activity() == "dialog").then_some(()));
    let status = home.run(&["status"]).ok().stdout;
    assert!(status.contains("Claude Code waits at its terminal"), "{status}");
    // An event that comes meanwhile answers no dialog.
    session.hook("FileChanged", &json!({}));
    assert_eq!(activity(), "dialog");
    session.hook("PostToolUse", &bash("touch a"));
    until("it goes on", || (activity() != "dialog").then_some(()));
    assert_eq!(stream.kinds().iter().filter(|kind| **kind == "notice").count(), 1, "an open prompt says it by itself");
}
