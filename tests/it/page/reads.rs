//! What the page says of a session that it cannot know better: how far a pause holds, and when a message will be read.

use super::site::Site;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::mcp::gateway::Client;
use crate::support::browser::{Browser, CHINESE_PHONE, DESKTOP};
use crate::support::home::Home;
use crate::support::until;
use serde_json::json;

#[test]
fn a_pause_that_nothing_enforces_is_said_to_be_none() {
    let site = Site::new();
    let session = site.session();
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    page.click("[data-action=pause]");
    page.see_text(".head .warning", "nothing enforces it");
    page.see_text(".head .warning", "portcullis install --hooks");
    assert_eq!(page.text(".head .badge"), "idle", "it is not paused");
    // The next message is read as before, and what it leads to is asked for.
    page.fill(".composer textarea", "go on");
    page.click("[data-action=send]");
    session.event_containing("go on");
    page.click(".back");
    page.see_text(".session .badge", "idle");
    page.click(".session");
    page.click("[data-action=goOn]");
    page.gone(".head .warning");
    page.see("[data-action=pause]");
}

#[test]
fn a_pause_of_a_session_with_hooks_holds_when_a_hook_has_called() {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    let gate = home.serve();
    let token = home.token_for("claude", "agent");
    let call = |event: &str| {
        let hook = json!({"hook_event_name": event, "session_id": "s-1", "cwd": home.project(), "prompt": "x"});
        gate.post_as(&token, "/claude/hooks", &hook).expect(200);
    };
    call("SessionStart");
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.click(".session");
    page.click("[data-action=pause]");
    page.see_text(".head .warning", "has not confirmed it yet");
    assert_eq!(page.count(".head .badge.paused"), 0);
    call("UserPromptSubmit");
    page.see_text(".head .warning", "Paused by owner: no tool runs");
    page.see(".head .badge.paused");
}

#[test]
fn beside_the_box_stands_when_a_message_is_read_as_far_as_that_is_known() {
    let model = Model::start(vec![Rule::on_text("first").say("one")]);
    let site = Site::with(&model);
    let page = site.page(&[], DESKTOP);
    let when = ".composer .row .hint";
    // A channel that nothing was answered through.
    let session = site.session();
    page.click(".session:has-text(\"api\")");
    page.see_text(when, "Whether it reads it is known when it answers");
    page.fill(".composer textarea", "are you there?");
    page.click("[data-action=send]");
    let chat = session.event_containing("are you there?").meta("chat_id").to_owned();
    session.call("reply", &json!({"chat_id": chat, "text": "yes"}));
    page.see_text(when, "It wakes the session");
    // One that is driven.
    site.gate.post("/api/v1/sessions", &json!({"prompt": "first", "label": "held"})).expect(201);
    page.click(".back");
    page.click(".session:has-text(\"held\")");
    page.see_text(when, "It wakes the session");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn a_session_whose_hooks_are_posted_is_not_said_to_be_woken() {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    let gate = home.serve();
    let token = home.token_for("claude", "agent");
    let hook = json!({"hook_event_name": "SessionStart", "session_id": "s-1", "cwd": home.project()});
    gate.post_as(&token, "/claude/hooks", &hook).expect(200);
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], CHINESE_PHONE);
    page.click(".session");
    page.see_text(".composer .row .hint", "没有办法唤醒它");
}

#[test]
fn an_mcp_client_is_given_no_box_to_write_in() {
    let site = Site::new();
    let client = Client::start(&site.home, &[]);
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    page.see_text(".composer .hint", "takes no messages");
    page.gone(".composer textarea");
    drop(client);
    until("its end", || (page.text(".head .badge") == "ended").then_some(()));
}
