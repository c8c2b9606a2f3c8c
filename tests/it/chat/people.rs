//! Who someone on a platform is: a stranger until the owner says otherwise, then a person with a person's rights.

use crate::fakes::bridge::{Bridge, Then};
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::standin::StandIn;
use serde_json::{Value, json};

struct Platform {
    home: Home,
    bridge: Bridge,
    gate: Gate,
    session: StandIn,
}

/// A gate with a connector, a session, ann who may review, and tom who may only talk.
fn platform(settings: &str) -> Platform {
    let home = Home::new();
    let bridge = Bridge::of(&home, settings);
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    home.attached(1);
    bridge.pair(&home, "1", "ann", "reviewer");
    bridge.pair(&home, "2", "tom", "sender");
    Platform { home, bridge, gate, session }
}

#[track_caller]
fn error(answer: &Value) -> u64 {
    answer["error"]["error"].as_u64().unwrap_or_else(|| panic!("no error: {answer}"))
}

#[test]
fn a_stranger_is_shown_a_code_and_let_in_by_the_owner() {
    let home = Home::new();
    let bridge = Bridge::of(&home, "");
    let _gate = home.serve();
    let answer = bridge.said("42", "hello?");
    let code = answer["pairing"]["code"].as_str().unwrap().to_owned();
    assert!(
        answer["pairing"]["text"].as_str().unwrap().contains(&format!("portcullis people pair {code} --name NAME"))
    );
    assert_eq!(bridge.said("42", "hello??")["pairing"]["code"], *code, "the same code until it has run out");
    let among_others = bridge.asked("said", json!({"user": "43", "chat": "group", "text": "hello all"}));
    assert_eq!(error(&among_others), 40301, "no code is shown where others read it");
    let listed = home.run(&["people", "list"]).ok().stdout;
    assert!(listed.contains("(waiting)") && listed.contains("User 42 on ops") && !listed.contains(&code), "{listed}");

    home.run(&["people", "pair", &code, "--name", "ann", "--role", "reviewer"]).ok();
    let told = bridge.item("paired", "You are ann now, a reviewer.");
    assert_eq!(told["user"], "42");
    assert!(home.run(&["people", "list"]).ok().stdout.contains("ops:42"));
    assert_eq!(home.run(&["people", "list", "--json"]).json()["people"][0]["identities"], json!(["ops:42"]));

    let event = bridge.said("42", "now I am someone")["event"]["id"].as_str().unwrap().to_owned();
    let shown = home.run(&["events", "show", &event, "--json"]).json();
    assert_eq!((&shown["sender"], &shown["via"], &shown["chat_id"]), (&json!("ann"), &json!("ops"), &json!("ops:42")));

    home.run(&["people", "unlink", "ops:42"]).ok();
    assert!(bridge.said("42", "and now?")["pairing"]["code"].is_string(), "a stranger again");
    home.run(&["people", "unlink", "ops:42"]).refused(1, "nobody has that identity");
    home.run(&["people", "unlink", "ops"]).refused(1, "nobody has that identity");
    for record in ["pairing_asked", "paired", "identity_linked", "identity_unlinked"] {
        assert!(!home.records(record).is_empty(), "{record}");
    }
}

#[test]
fn a_reviewers_verdict_counts_in_words_and_by_button_and_a_senders_does_not() {
    let Platform { home: _home, bridge, gate, session } = platform("");
    gate.open_prompt(&session, "abcde");
    let prompt = bridge.item("prompt", "Claude wants to run Bash: Push\n\ngit push");
    assert_eq!(
        (&prompt["user"], &prompt["ask"]["code"], &prompt["ask"]["state"]),
        (&json!("1"), &json!("abcde"), &json!("open"))
    );
    assert_eq!(prompt["ask"]["scopes"], json!(["once"]));

    assert_eq!(error(&bridge.said("2", "yes abcde")), 40302, "tom may not review");
    let button = |user: &str, behavior: &str| {
        bridge
            .asked("answer", json!({"user": user, "ask": "abcde", "verdict": {"behavior": behavior}, "message": "b1"}))
    };
    assert_eq!(error(&button("2", "allow")), 40302);
    let named =
        |message: &str| json!({"user": "1", "ask": "abcde", "verdict": {"behavior": "allow"}, "message": message});
    assert_eq!(error(&bridge.asked("answer", named(&"m".repeat(129)))), 40001, "its name is bounded");
    assert_eq!(error(&bridge.asked("answer", named(""))), 40001);
    assert_eq!(error(&button("9", "allow")), 40301, "a stranger is nobody");
    let stranger = bridge.said("9", "yes abcde");
    assert!(stranger["pairing"].is_object(), "{stranger}");
    assert_eq!(session.verdict_count(), 0);

    let verdict = bridge.said("1", "Yes ABCDE")["verdict"].clone();
    assert_eq!((&verdict["behavior"], &verdict["code"]), (&json!("allow"), &json!("abcde")));
    assert_eq!(session.next_verdict().behavior, "allow");
    let settled = bridge.item("progress", "Prompt abcde: allowed by ann over ops");
    assert_eq!((&settled["user"], &settled["ask"]["state"]), (&json!("1"), &json!("answered")));
    assert_eq!(
        settled["message"],
        format!("m-{}", prompt["id"].as_str().unwrap()),
        "by which the prompt can be changed"
    );
    assert_eq!(gate.ask("abcde")["verdict"]["via"], "ops");

    gate.open_prompt(&session, "bcdef");
    assert_eq!(button("1", "deny")["error"]["error"], 40902, "it was settled");
    let denied =
        json!({"user": "1", "ask": "bcdef", "verdict": {"behavior": "deny", "why": "not now"}, "message": "b2"});
    assert_eq!(bridge.asked("answer", denied.clone())["verdict"]["behavior"], "deny");
    assert_eq!(bridge.asked("answer", denied)["verdict"]["behavior"], "deny", "told twice it counts once");
    assert_eq!(session.next_verdict().behavior, "deny");
    assert!(
        bridge.items().iter().all(|item| item["kind"] == "paired" || item["user"] == "1"),
        "prompts are for reviewers"
    );
}

#[test]
fn who_was_removed_is_refused_and_is_told_nothing_more() {
    let Platform { home, bridge, gate, session } = platform("");
    for user in ["1", "2"] {
        assert!(bridge.said(user, "hello")["event"].is_object());
        session.next_event();
    }
    let reply = |chat: &str, text: &str| session.call("reply", &json!({"chat_id": chat, "text": text}));
    reply("ops:1", "hello ann");
    assert_eq!(bridge.item("reply", "hello ann")["chat"], "1");
    home.run(&["people", "remove", "ann"]).ok();

    assert!(bridge.said("1", "hello again")["pairing"].is_object(), "a stranger again");
    let in_a_group = json!({"user": "1", "chat": "group", "text": "hello again"});
    assert_eq!(error(&bridge.asked("said", in_a_group)), 40301);
    gate.open_prompt(&session, "abcde");
    let verdict = json!({"user": "1", "ask": "abcde", "verdict": {"behavior": "allow"}});
    assert_eq!(error(&bridge.asked("answer", verdict)), 40301);
    reply("ops:1", "for ann alone");
    reply("ops:2", "for tom");
    bridge.item("reply", "for tom");
    let told: Vec<Value> = bridge.items().iter().map(|item| item["text"].clone()).collect();
    assert!(!told.iter().any(|text| text == "for ann alone" || text.as_str().unwrap().contains("abcde")), "{told:#?}");
    assert_eq!((gate.ask("abcde")["state"].clone(), session.verdict_count()), (json!("open"), 0));
}

#[test]
fn a_conversation_of_a_platform_is_written_in_from_there_and_replies_go_back() {
    let Platform { home, bridge, gate, session } = platform("");
    let group = |user: &str, text: &str, message: &str| {
        bridge.asked(
            "said",
            json!({"user": user, "chat": "-100", "text": text, "message": message, "attributes": {"topic": "ci"}}),
        )
    };
    let first = group("2", "is CI green?", "m1");
    let event = session.next_event();
    assert_eq!((event.meta("chat_id"), event.meta("sender"), event.meta("user_id")), ("ops:-100", "tom", "2"));
    assert_eq!((event.meta("message_id"), event.meta("topic"), event.meta("via")), ("m1", "ci", "ops"));
    assert_eq!(group("2", "is CI green?", "m1")["event"]["id"], first["event"]["id"], "told twice it counts once");
    assert_eq!(error(&group("2", "something else", "m1")), 42201);
    assert!(group("1", "I wonder, too", "m2")["event"].is_object(), "who is in a group is the platform's business");
    let eve = home.token_for("eve", "sender");
    gate.say_as(&eve, "/?chat=ops:-100", "let me in").expect(403);
    gate.say_as(&eve, "/?chat=ops:new", "nobody opens it from elsewhere").expect(403);

    let id = &first["event"]["id"];
    session.call("reply", &json!({"chat_id": "ops:-100", "text": "it is green", "reply_to": id}));
    let reply = bridge.item("reply", "it is green");
    assert_eq!(&reply["reply_to"], id);
    let thanks = json!({"user": "2", "chat": "-100", "text": "thanks", "reply_to": reply["reply"]});
    bridge.asked("said", thanks);
    assert_eq!(session.event_containing("thanks").meta("reply_to"), reply["reply"].as_str().unwrap());
    assert_eq!((&reply["chat"], &reply["user"], &reply["text"]), (&json!("-100"), &Value::Null, &json!("it is green")));
    session.call("edit_message", &json!({"message_id": reply["reply"], "text": "it is red again"}));
    let edit = bridge.item("edit", "it is red again");
    assert_eq!((&edit["chat"], &edit["reply"]), (&json!("-100"), &reply["reply"]));
    assert_eq!(edit["message"], format!("m-{}", reply["id"].as_str().unwrap()));
    let note = bridge.said("1", "yes, please");
    assert_eq!(note["event"]["note"], Value::Null, "no prompt is open");
    gate.open_prompt(&session, "abcde");
    let note = bridge.said("1", "yes, please")["event"]["note"].clone();
    assert!(note.as_str().unwrap().starts_with("not taken as a verdict"), "{note}");
}

#[test]
fn where_only_devices_answer_a_program_on_this_machine_shows_prompts_and_answers_none() {
    let home = Home::new();
    let bridge = Bridge::of(&home, "approvals = \"device\"\n");
    let _gate = home.serve();
    bridge.pair(&home, "1", "ann", "reviewer");
    let session = StandIn::start_under_an_agent(&home, &[]);
    session.ask("abcde", "Bash", "Push", "git push");
    bridge.item("prompt", "git push");
    assert_eq!(error(&bridge.said("1", "yes abcde")), 40302);
    let verdict = json!({"user": "1", "ask": "abcde", "verdict": {"behavior": "allow"}});
    assert_eq!(error(&bridge.asked("answer", verdict)), 40302);
    assert!(bridge.said("1", "hello")["event"].is_object(), "talking is another matter");
    assert_eq!(session.verdict_count(), 0);
}

#[test]
fn a_program_that_an_agent_started_does_not_speak_for_anybody() {
    let home = Home::new();
    // The agent of this session is this test: a gate of another home, started by it, listens on a socket as a program
    // would that the agent had started in the place of the owner's.
    let elsewhere = Home::new();
    let _other = elsewhere.serve();
    let socket = elsewhere.folder().join("gate.sock");
    home.write_config(&format!("[connectors.socket.ops]\naddress = \"{}\"\n", socket.display()));
    let _session = StandIn::start(&home, &[]);
    home.attached(1);
    let barred = crate::support::until("an attempt on the record", || home.records("access_denied").into_iter().next());
    let what = barred["what"].as_str().unwrap();
    assert!(what.starts_with("speaking for connector ops, by process "), "{what}");
}

#[test]
fn a_program_that_talks_nonsense_is_told_so_and_goes_on() {
    let Platform { home: _home, bridge, gate: _gate, session: _session } = platform("");
    bridge.change(|_| Then::Wait);
    for nonsense in [json!("x"), json!({"taken": {"id": "x"}}), json!({"said": {"n": 1}}), json!({"dance": {}})] {
        assert!(bridge.write(&nonsense));
    }
    assert!(bridge.write(&json!({"taken": {"id": "999999"}})), "what nobody waits for is no matter");
    let long = json!({"said": {"n": 7, "user": "1", "chat": "1", "text": "x".repeat(3 << 20)}});
    assert!(bridge.write(&long));
    let bad = bridge.asked("said", json!({"user": "1", "chat": "\u{200b}", "text": "x"}));
    assert_eq!(error(&bad), 40001);
    assert_eq!(error(&bridge.asked("said", json!({"user": "", "chat": "1", "text": "x"}))), 40001);
    assert_eq!(error(&bridge.asked("said", json!({"user": "1", "chat": "1", "text": ""}))), 40001);
    let ghost = json!({"user": "1", "ask": "zzzzz", "verdict": {"behavior": "allow"}});
    assert_eq!(error(&bridge.asked("answer", ghost)), 40403);
    assert!(bridge.said("1", "still there?")["event"].is_object());
    assert_eq!((bridge.complaints().len(), bridge.connections()), (5, 1), "{:?}", bridge.complaints());
}

#[test]
fn verdicts_by_button_count_against_the_rate_of_their_person() {
    let Platform { home: _home, bridge, gate: _gate, session: _session } = platform("[limits]\nrate = 1\nburst = 3\n");
    let ghost = json!({"user": "1", "ask": "zzzzz", "verdict": {"behavior": "allow"}});
    let errors: Vec<u64> = (0..20).map(|_| error(&bridge.asked("answer", ghost.clone()))).collect();
    assert_eq!(errors[0], 40403, "{errors:?}");
    assert!(errors.contains(&42902), "{errors:?}");
}
