//! The API for programs: sessions, events, prompts, verdicts, and a watch that tells the state first.

use crate::support::connection::Connection;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::sse::Events;
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, until};
use serde_json::{Value, json};

#[test]
fn sessions_are_listed_while_attached_and_kept_after_they_end() {
    let home = Home::new();
    let gate = home.serve();
    assert_eq!(get(&gate, "sessions"), json!([]));
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    let about = get(&gate, "sessions")[0].clone();
    assert_eq!((&about["state"], &about["label"]), (&json!("attached"), &json!("api")));
    assert_eq!(about["folder"].as_str(), home.project().to_str());
    assert_eq!((&about["connected_by"], &about["pid"]), (&json!("channel"), &json!(std::process::id())));
    assert_eq!((&about["waiting"], &about["asks"]), (&json!(0), &json!(0)));
    let id = about["id"].as_str().unwrap();
    assert_eq!(get(&gate, &format!("sessions/{id}")), about);

    session.close_stdin();
    session.wait_exit(PATIENCE);
    assert_eq!(get(&gate, "sessions"), json!([]));
    let ended = get(&gate, "sessions?all=true")[0].clone();
    assert_eq!((&ended["id"], &ended["state"]), (&about["id"], &json!("ended")));
    for unknown in ["nonsense", "01m7f9jc2g75gzpa3000000004"] {
        gate.get(&format!("/api/v1/sessions/{unknown}")).expect(404);
    }
    gate.say(&format!("/?session={id}"), "too late").expect(404);
}

#[test]
fn an_event_is_followed_from_waiting_to_seen() {
    let home = Home::new();
    let gate = home.serve();
    let posted = gate.post("/api/v1/events", &json!({"text": "build failed", "chat": "ci"})).expect(200).json();
    assert_eq!((&posted["chat_id"], &posted["session"]), (&json!("ci"), &Value::Null));
    let path = format!("events/{}", posted["id"].as_str().unwrap());
    let event = get(&gate, &path);
    assert_eq!((&event["state"], &event["text"]), (&json!("waiting"), &json!("build failed")));
    assert_eq!(event["why"], "no session is attached");
    assert_eq!(get(&gate, "events")[0]["text"], Value::Null, "lists are without texts");

    let watch = gate.watch();
    let session = StandIn::start(&home, &[]);
    session.next_event();
    change(&watch, "event", |event| event["state"] == "delivered");
    assert_eq!(get(&gate, &path)["text"], "build failed", "the journal still has it");
    session.call("reply", &json!({"chat_id": "ci", "text": "on it"}));
    change(&watch, "event", |event| event["state"] == "seen");
    let reply = change(&watch, "reply", |_| true);
    assert_eq!((&reply["chat_id"], &reply["text"]), (&json!("ci"), &json!("on it")));

    let second = gate.post("/api/v1/events", &json!({"text": "again"})).expect(200).json();
    assert_eq!(get(&gate, "events")[0]["id"], second["id"], "newest first");
    assert_eq!(get(&gate, "events?state=seen").as_array().unwrap().len(), 1);
    assert_eq!(get(&gate, "events?limit=1").as_array().unwrap().len(), 1);
    let of_session = format!("events?session={}", home.attached(1)[0]["id"].as_str().unwrap());
    assert_eq!(get(&gate, &of_session).as_array().unwrap().len(), 2);
    gate.get("/api/v1/events/nonsense").expect(404);
    for wrong in [json!({}), json!({"text": ""}), json!({"text": "x", "to": "me"}), json!({"text": 5}), json!([])] {
        gate.post("/api/v1/events", &wrong).expect(400);
    }
}

#[test]
fn a_prompt_is_answered_once_by_id_or_code_and_recorded() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    let watch = gate.watch();
    session.ask("abcde", "Bash", "Push", "git push --force");
    let ask = change(&watch, "ask", |_| true);
    assert_eq!(get(&gate, "asks?state=open"), json!([ask]));
    assert_eq!(get(&gate, "asks/abcde"), ask);
    let id = ask["id"].as_str().unwrap();
    assert_eq!(get(&gate, &format!("asks/{id}")), ask);
    let told = ["state", "code", "source", "tool", "description", "preview"].map(|key| ask[key].as_str().unwrap());
    assert_eq!(told, ["open", "abcde", "channel", "Bash", "Push", "git push --force"]);

    let verdict = |which: &str, body: Value| gate.verdict(which, &body);
    for wrong in [
        json!({}),
        json!({"behavior": "maybe"}),
        json!({"behavior": "allow", "scope": "for now"}),
        json!({"behavior": "allow", "mood": "fine"}),
        json!({"behavior": "allow", "input": {}, "answers": {}}),
    ] {
        verdict(id, wrong).expect(400);
    }
    // The channel has no way to say any of this.
    for more in [
        json!({"behavior": "allow", "scope": "always"}),
        json!({"behavior": "allow", "input": {"command": "git push"}}),
        json!({"behavior": "deny", "interrupt": true}),
    ] {
        verdict(id, more).expect(422);
    }
    assert_eq!(ask["preview_only"], true);
    verdict("zzzzz", json!({"behavior": "allow"})).expect(404);
    verdict("nonsense", json!({"behavior": "allow"})).expect(404);
    assert_eq!(get(&gate, "verdicts"), json!([]));

    let recorded = verdict("ABCDE", json!({"behavior": "deny", "why": "not on a Friday"})).expect(200).json();
    assert_eq!(recorded, json!({"ask": id, "code": "abcde", "behavior": "deny"}));
    assert_eq!(session.next_verdict().behavior, "deny");
    let late = verdict(id, json!({"behavior": "allow"})).expect(409).json();
    assert!(late["message"].as_str().unwrap().contains("denied by owner over http"), "{late}");

    change(&watch, "ask", |ask| ask["verdict"]["carried_at"].is_u64());
    let on_record = get(&gate, "verdicts")[0].clone();
    let told = ["ask", "code", "behavior", "by", "via", "why"].map(|key| on_record[key].as_str().unwrap());
    assert_eq!(told, [id, "abcde", "deny", "owner", "http", "not on a Friday"]);
    assert!(on_record["carried_at"].as_u64() >= on_record["at"].as_u64(), "{on_record}");
    assert_eq!(get(&gate, "asks?state=open"), json!([]));
    assert_eq!(get(&gate, "asks/abcde")["verdict"], on_record);
}

#[test]
fn a_watch_sends_the_state_then_ready_then_changes() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "one"]);
    home.attached(1);
    gate.open_prompt(&session, "abcde");
    gate.say("/?label=two", "for later").expect(200);

    let watch = Events::open(&gate.socket(), "/api/v1/watch", &[]);
    let first: Vec<Value> = (0..4).map(|_| serde_json::from_str(&watch.next(PATIENCE).data).unwrap()).collect();
    assert_eq!((&first[0]["session"]["label"], &first[0]["session"]["asks"]), (&json!("one"), &json!(1)));
    assert_eq!(first[1]["ask"]["code"], "abcde");
    assert_eq!((&first[2]["event"]["state"], &first[2]["event"]["text"]), (&json!("waiting"), &Value::Null));
    assert!(first[3]["ready"]["revision"].is_u64(), "{first:?}");

    session.kill_9();
    change(&watch, "session", |session| session["state"] == "lost");
}

#[test]
fn a_watcher_that_does_not_read_is_disconnected_and_told_to_resync() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_WATCHER", 4);
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    home.attached(1);
    let mut stuck = Connection::open(&gate.socket());
    stuck.write(b"GET /api/v1/watch HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let quick = gate.watch();
    // Together far more than a socket holds.
    for number in 0..20 {
        session.ask(&format!("ask {number}"), "Write", "Change a file", &"x".repeat(100_000));
        change(&quick, "ask", |_| true);
    }
    let told = String::from_utf8(stuck.rest(PATIENCE).unwrap()).unwrap();
    let asks = told.matches("\"ask\":{").count();
    assert!(asks < 20, "it was told of {asks} prompts and kept {} bytes", told.len());
    assert!(told[told.len() - 200..].contains("resync"), "{}", &told[told.len() - 200..]);
    until("one watcher", || (get(&gate, "status")["watchers"] == 1).then_some(()));
}

#[test]
fn the_status_counts_sessions_prompts_and_events() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    home.attached(1);
    let listener = gate.events();
    session.ask("abcde", "Bash", "Push", "git push");
    listener.containing("abcde");
    gate.say("/?label=nobody", "hello").expect(200);
    // Those who watched before may only just have gone.
    let status = until("one watcher", || Some(get(&gate, "status")).filter(|status| status["watchers"] == 1));
    let counts = ["sessions", "open_asks", "waiting_events"].map(|key| status[key].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 1], "{status}");
    assert_eq!((&status["pid"], &status["token_file"]), (&json!(gate.pid()), &Value::Null));
    assert_eq!(status["listen"].as_str(), Some(&*gate.address().to_string()));
    let mut told = home.status();
    assert_eq!(told["attached"][0]["label"], "project", "the command line adds the sessions: {told}");
    assert_eq!(told["broken"], json!([]), "and the files that cannot be read: {told}");
    told.as_object_mut().unwrap().retain(|key, _| key != "attached" && key != "broken");
    assert_eq!(told, status);
    let words = home.run(&["status"]).ok().stdout;
    for word in ["1 open", "1 waiting", "from PORTCULLIS_TOKEN", "project  attached"] {
        assert!(words.contains(word), "{words}");
    }
}

#[track_caller]
fn get(gate: &Gate, what: &str) -> Value {
    gate.get(&format!("/api/v1/{what}")).expect(200).json()
}

/// The next change of this kind that fits.
#[track_caller]
fn change(watch: &Events, kind: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let read = |data: &str| serde_json::from_str::<Value>(data).unwrap_or_default()[kind].clone();
    let found = watch.wait_for(|event| {
        let change = read(&event.data);
        !change.is_null() && fits(&change)
    });
    read(&found.data)
}
