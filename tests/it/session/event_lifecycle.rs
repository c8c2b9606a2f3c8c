//! The life of an event: every state has a reason in words, and what was written and never answered comes again.

use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::{Answer, Request};
use crate::support::standin::StandIn;
use serde_json::{Value, json};

/// What the owner wants of an event, from elsewhere than inside its session.
#[track_caller]
fn of_event(gate: &Gate, event: &str, wish: &str) -> Answer {
    gate.post(&format!("/api/v1/events/{event}/{wish}"), &json!({}))
}

#[test]
fn every_event_shows_its_state_and_the_reason() {
    let home = Home::new();
    let gate = home.serve();
    assert_eq!(home.run(&["events", "list"]).ok().stdout, "No events.\n");
    assert_eq!(home.run(&["events", "list", "--json"]).json(), json!([]));
    let id = gate.say("/?label=api&chat=ops", "the build failed").expect(200).event_id();
    let shown = || home.run(&["events", "show", &id]).ok().stdout;
    for word in
        ["waiting: no session with label `api` is attached", "owner via http", "ops", "none yet", "build failed"]
    {
        assert!(shown().contains(word), "{word}: {}", shown());
    }
    let listed = home.run(&["events", "list"]).ok().stdout;
    assert!(listed.contains(&id) && listed.contains("waiting") && !listed.contains("build failed"), "{listed}");

    assert!(home.run(&["events", "drop", &id]).ok().stdout.starts_with("Dropped event"));
    assert!(shown().contains("dropped: dropped by owner"), "{}", shown());
    home.run(&["events", "drop", &id]).refused(1, "the event is dropped: there is nothing to do");
    assert!(home.run(&["events", "retry", &id]).ok().stdout.contains("is waiting again"));
    home.run(&["events", "retry", &id]).refused(1, "the event is waiting");

    let session = StandIn::start(&home, &["--label", "api"]);
    assert_eq!(session.next_event().content, "the build failed");
    gate.wait_for_event(&id, "delivered");
    assert!(shown().contains("ago, not confirmed: likely causes are that channels are not switched on"), "{}", shown());
    assert!(shown().contains(", by the channel\n") && !shown().contains("\nreply "), "{}", shown());
    // What the agent runs may do neither; its owner may, from elsewhere.
    home.run(&["events", "retry", &id]).refused(4, "this comes from inside session api");
    home.run(&["events", "drop", &id]).refused(4, "this comes from inside session api");
    assert!(of_event(&gate, &id, "drop").expect(409).text().contains("the event is delivered"));
    of_event(&gate, &id, "retry").expect(200);
    assert_eq!(session.next_event().meta("redelivered"), "true");
    gate.wait_for_event(&id, "delivered");

    session.call("reply", &json!({"chat_id": "ops", "text": "on it"}));
    assert!(
        shown().contains("seen: the model answered its conversation, opened it, or ended the turn that brought it"),
        "{}",
        shown()
    );
    assert!(of_event(&gate, &id, "retry").expect(409).text().contains("the event is seen"));
    let seen = home.run(&["events", "show", &id, "--json"]).json();
    assert_eq!((&seen["state"], &seen["text"]), (&json!("seen"), &json!("the build failed")));
    assert_eq!(seen["way"], "channel");
    assert!(
        seen["at"].as_u64() <= seen["delivered_at"].as_u64()
            && seen["delivered_at"].as_u64() <= seen["seen_at"].as_u64()
    );
    let told = shown();
    let line = |start: &str| told.lines().find(|line| line.starts_with(start)).map(str::to_owned);
    assert!(line("came ").is_some() && line("given ").is_some() && line("seen ").is_some(), "{told}");
    assert!(line("reply ").is_some_and(|line| line.ends_with(": on it")), "{told}");

    gate.say("/?label=nobody", "newer").expect(200);
    let list = |words: &[&str]| home.run(&[&["events", "list", "--json"], words].concat()).json();
    assert_eq!(list(&[])[1]["id"], *id, "newest first");
    assert_eq!(list(&["--state", "seen"]).as_array().unwrap().len(), 1);
    assert_eq!(list(&["--limit", "1"])[0]["state"], "waiting");
    let unknown = home.run(&["events", "list", "--state", "no such state"]);
    assert!(unknown.status.code() == Some(2) && unknown.stderr.contains("possible values: waiting"), "{unknown:?}");
}

#[test]
fn an_unknown_event_id_is_an_error_with_a_hint() {
    let home = Home::new();
    home.run(&["events", "list"]).refused(1, "no gate is running");
    let _gate = home.serve();
    for verb in ["show", "retry", "drop"] {
        for id in ["nonsense", "01m7f9jc2g75gzpa3000000004", "../status", ""] {
            home.run(&["events", verb, id]).refused(1, "");
        }
    }
}

#[test]
fn a_sender_sees_and_drops_only_their_own_events_and_a_reviewer_all() {
    let home = Home::new();
    let gate = home.serve();
    let [ann, bob, rae] =
        [("ann", "sender"), ("bob", "sender"), ("rae", "reviewer")].map(|(n, r)| home.token_for(n, r));
    let id = gate.say_as(&ann, "/?label=x", "of ann").expect(200).event_id();
    let path = format!("/api/v1/events/{id}");
    let drop_it = |token: &str| gate.post_as(token, &format!("{path}/drop"), &Value::Null);
    gate.get_as(&bob, &path).expect(404);
    drop_it(&bob).expect(404);
    assert_eq!(gate.get_as(&bob, "/api/v1/events").json(), json!([]));
    gate.get_as(&rae, &path).expect(200);
    assert_eq!(gate.get_as(&ann, "/api/v1/events").json()[0]["id"], *id);
    drop_it(&ann).expect(200);
    gate.post_as(&rae, &format!("{path}/retry"), &Value::Null).expect(200);
    drop_it(&rae).expect(200);
    assert_eq!(gate.get_as(&ann, &path).json()["why"], "dropped by rae");
}

#[test]
fn an_unanswered_event_is_redelivered_twice_and_then_dead() {
    let home = Home::new();
    let gate = home.serve();
    let start = || {
        let command = StandIn::command_of(&home, &[], "5f9d41a3-1c62-4f6e-9f0a-000000000001");
        let session = StandIn::start_command(&home, command);
        home.attached(1);
        session
    };
    let first = start();
    let answered = gate.say("/?chat=answered", "answered").expect(200).event_id();
    let unread = gate.say("/?chat=unread", "never answered").expect(200).event_id();
    assert_eq!([first.next_event().content, first.next_event().content], ["answered", "never answered"]);
    first.call("reply", &json!({"chat_id": "answered", "text": "yes"}));
    let mut session = first;
    for _ in 0..2 {
        gate.wait_for_event(&unread, "delivered");
        session.kill_9();
        home.attached(0);
        session = start();
        let event = session.next_event();
        assert_eq!((&*event.content, event.meta("redelivered")), ("never answered", "true"));
        assert_eq!(event.meta("event_id"), unread);
    }
    gate.wait_for_event(&unread, "delivered");
    session.kill_9();
    home.attached(0);
    let session = start();
    gate.wait_for_event(&unread, "dead");
    let shown = home.run(&["events", "show", &unread]).ok().stdout;
    assert!(
        shown.contains("given up: it was written to 3 processes, and each ended before the model read it"),
        "{shown}"
    );
    gate.say("/", "the next word").expect(200);
    assert_eq!(session.next_event().content, "the next word", "and nothing before it");
    assert_eq!(gate.get(&format!("/api/v1/events/{answered}")).json()["state"], "seen");

    // A person may still want it.
    of_event(&gate, &unread, "retry").expect(200);
    assert_eq!(session.next_event().content, "never answered");
    session.call("inbox", &json!({"event_id": unread}));
    gate.wait_for_event(&unread, "seen");
}

#[test]
fn events_held_by_a_killed_process_are_redelivered_to_the_next_process_of_its_session() {
    let home = Home::new();
    let gate = home.serve();
    let command = || StandIn::command_of(&home, &[], "5f9d41a3-1c62-4f6e-9f0a-000000000002");
    // It holds what it is given: whether it was written before the end, nobody could tell.
    let dies = StandIn::start_paused_command(&home, command());
    let before = home.attached(1).remove(0);
    gate.say("/", "in its hands").expect(200);
    dies.kill_9();
    home.attached(0);
    let next = StandIn::start_command(&home, command());
    let event = next.next_event();
    assert_eq!((&*event.content, event.meta("redelivered")), ("in its hands", "true"));
    assert_eq!(home.attached(1)[0]["continues"], before["id"]);
}

#[test]
fn a_session_continued_by_another_process_ends_the_first() {
    let home = Home::without_auto_start();
    let gate = home.serve();
    let start = || {
        StandIn::start_command(
            &home,
            StandIn::command_of(&home, &["--label", "api"], "5f9d41a3-1c62-4f6e-9f0a-000000000005"),
        )
    };
    let first = start();
    let before = home.attached(1).remove(0);
    gate.open_prompt(&first, "abcde");
    // Both die, so that the next gate expects the session back for a while.
    gate.kill_9();
    first.kill_9();
    let gate = home.serve();
    let next = start();
    home.attached(1);
    gate.say("/?label=api", "which of them?").expect(200);
    assert_eq!(next.next_event().content, "which of them?");
    let withdrawn = gate.ask("abcde")["withdrawn"].clone();
    assert_eq!(withdrawn, "its session ended", "its dialog is gone with its process");
    let ended = gate.get(&format!("/api/v1/sessions/{}", before["id"].as_str().unwrap())).json();
    assert_eq!(ended["state"], "ended");
}

#[test]
fn an_idempotency_key_counts_once_also_after_a_drop_a_redaction_or_a_restart() {
    let home = Home::without_auto_start();
    let gate = home.serve();
    let say = |gate: &Gate, text: &str| {
        let request = Request::post("/?label=api").token(home.token());
        request.header("Idempotency-Key", "deploy-1").body(text).send(&gate.target())
    };
    let first = say(&gate, "deployed").expect(200).event_id();
    home.run(&["events", "drop", &first]).ok();
    assert_eq!(say(&gate, "deployed").expect(200).event_id(), first, "dropped is not forgotten");
    home.run(&["log", "redact", &first]).ok();
    assert_eq!(say(&gate, "deployed").expect(200).event_id(), first, "nor is redacted");
    for _ in 0..2 {
        let gate = home.restart(&gate);
        assert_eq!(say(&gate, "deployed").expect(200).event_id(), first);
        say(&gate, "something else").expect(422);
        assert_eq!(gate.get("/api/v1/events").json().as_array().unwrap().len(), 1);
    }
}

#[test]
fn the_metrics_count_events_and_prompts_by_state() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    let [seen, delivered] =
        ["a", "b"].map(|chat| gate.say(&format!("/?label=api&chat={chat}"), "x").expect(200).event_id());
    gate.say("/?label=nobody", "waits").expect(200);
    gate.say(&format!("/?session={delivered}"), "no such session").expect(404);
    (0..2).for_each(|_| drop(session.next_event()));
    session.call("reply", &json!({"chat_id": "a", "text": "yes"}));
    gate.wait_for_event(&seen, "seen");
    gate.wait_for_event(&delivered, "delivered");
    let listener = gate.events();
    session.ask("abcde", "Bash", "Push", "git push");
    session.ask("fghij", "Bash", "Push", "git push");
    listener.containing("fghij");
    gate.say("/", "yes abcde").expect(200);
    let page = gate.get("/metrics").expect(200).text();
    for row in [
        "portcullis_events_accepted_total 3",
        "portcullis_verdicts_total 1",
        "portcullis_refused_total 1",
        "portcullis_sessions 1",
        "portcullis_events_waiting 1",
        "portcullis_asks_open 1",
        "portcullis_listeners 1",
        "portcullis_events_remembered{state=\"delivered\"} 1",
        "portcullis_events_remembered{state=\"seen\"} 1",
        "portcullis_events_remembered{state=\"dead\"} 0",
    ] {
        assert!(page.lines().any(|line| line == row), "{row}:\n{page}");
    }
    let described = |line: &&str| !line.starts_with('#');
    for row in page.lines().filter(described) {
        let name = row.split(['{', ' ']).next().unwrap();
        assert!(page.contains(&format!("# TYPE {name} ")), "{row}");
    }
}
