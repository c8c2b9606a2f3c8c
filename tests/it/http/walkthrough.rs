//! The walk-through of the channel documents: as printed, with curl; and line by line, with a token.

use crate::support::PATIENCE;
use crate::support::child::{Child, Stdin};
use crate::support::gate::Gate;
use crate::support::home::{Home, Ran};
use crate::support::http::Request;
use crate::support::sse::Events;
use crate::support::standin::StandIn;
use serde_json::json;

#[test]
fn the_walk_through_works_as_it_is_printed() {
    let home = Home::new();
    let gate = home.serve_with(&["--dev-sender", "dev"]);
    let session = StandIn::start(&home, &[]);
    let (here, stream) = (format!("localhost:{}", gate.port()), format!("localhost:{}/events", gate.port()));

    let listening = curl(&home, &["-N", &stream]);
    listening.line(PATIENCE, |line| line == ": connected");

    let sent = curl(&home, &["-d", "list the files in this directory", "-H", "X-Sender: dev", &here]);
    assert_eq!(Ran::of(&sent, PATIENCE).ok().stdout, "ok");
    let event = session.next_event();
    assert_eq!(event.content, "list the files in this directory");
    assert_eq!((event.meta("chat_id"), event.meta("path"), event.meta("sender")), ("1", "/", "dev"));

    session.ask("abcde", "Bash", "List the files", "ls -la");
    for line in ["Claude wants to run Bash: List the files", "ls -la"] {
        listening.line(PATIENCE, |shown| shown == format!("data: {line}"));
    }
    listening.line(PATIENCE, |shown| shown.ends_with(r#"Reply "yes abcde" or "no abcde""#));

    let answered = curl(&home, &["-d", "yes abcde", "-H", "X-Sender: dev", &here]);
    assert_eq!(Ran::of(&answered, PATIENCE).ok().stdout, "verdict recorded");
    let verdict = session.next_verdict();
    assert_eq!((&*verdict.request_id, &*verdict.behavior), ("abcde", "allow"));

    session.call("reply", &json!({"chat_id": "1", "text": "README.md\nsrc"}));
    listening.line(PATIENCE, |shown| shown == "data: Reply to 1: README.md");
    listening.line(PATIENCE, |shown| shown == "data: src");
}

#[test]
fn an_unknown_sender_is_refused_and_reaches_no_session() {
    let home = Home::new();
    let gate = home.serve_with(&["--dev-sender", "dev"]);
    let session = StandIn::start(&home, &[]);
    let here = format!("localhost:{}", gate.port());
    for header in ["X-Sender: eve", "X-Sender:", "X-Sender: DEV", "Authorization: Bearer dev"] {
        let sent = curl(&home, &["-w", " %{http_code}", "-d", "let me in", "-H", header, &here]);
        let said = Ran::of(&sent, PATIENCE).ok().stdout;
        assert!(said.starts_with("forbidden") && said.ends_with(" 403"), "{header}: {said}");
    }
    let named = curl(&home, &["-d", "let me in", "-H", "X-Sender: eve", &here]);
    assert_eq!(Ran::of(&named, PATIENCE).ok().stdout, "forbidden", "one word, as in the documents");
    through(&gate, &session);
    assert_eq!(session.event_count(), 1, "only what the owner sent");
}

#[test]
fn an_event_carries_its_sender_conversation_path_and_method() {
    let walk = Walk::new();
    let answer = walk.gate.say("/ci/github?build=17", "build failed: \"ünïcode\"\nline 2").expect(200);
    assert_eq!(answer.text(), "ok");
    let event = walk.session.next_event();
    assert_eq!(event.content, "build failed: \"ünïcode\"\nline 2");
    let meta = |key: &str| event.meta(key).to_owned();
    assert_eq!(Some(&*meta("event_id")), answer.header("x-event-id"));
    assert_eq!(Some(&*meta("chat_id")), answer.header("x-chat-id"));
    let rest = ["via", "sender", "path", "method"].map(meta);
    assert_eq!(rest, ["http", "owner", "/ci/github", "POST"]);
    assert_eq!(event.raw["params"]["meta"].as_object().unwrap().len(), event.meta.len(), "no key is dropped");
}

#[test]
fn every_post_opens_a_conversation_unless_it_names_one() {
    let walk = Walk::new();
    let chats: Vec<String> = ["/", "/", "/?chat=ops%20room", "/?chat=ops%20room"]
        .iter()
        .map(|path| {
            walk.gate.say(path, "hello").expect(200);
            walk.session.next_event().meta("chat_id").to_owned()
        })
        .collect();
    assert_eq!(chats, ["1", "2", "ops room", "ops room"]);
}

#[test]
fn a_reply_reaches_listeners_and_cannot_forge_a_field_of_the_stream() {
    let walk = Walk::new();
    walk.gate.say("/", "hello").expect(200);
    walk.session.next_event();
    let forged = "one\rid: 1\revent: forged\r\n\r\ndata: two\nretry: 1\n: comment";
    let result = walk.session.call("reply", &json!({"chat_id": "1", "text": forged}));
    assert_ne!(result["isError"], true, "{result}");
    let told = walk.events.next(PATIENCE);
    assert_eq!(told.data, "Reply to 1: one\nid: 1\nevent: forged\n\ndata: two\nretry: 1\n: comment");
    assert_eq!((told.event, told.retry, told.unknown), (None, None, vec![]));
    assert_ne!(told.id.as_deref(), Some("1"));

    walk.session.call("reply", &json!({"chat_id": "1", "text": "\u{1b}[2J\u{202e}bye"}));
    assert_eq!(walk.events.next(PATIENCE).data, "Reply to 1: \\u{1b}[2J\\u{202e}bye", "terminals are not deceived");
}

#[test]
fn the_first_answer_settles_a_prompt_and_the_second_is_told_whose_it_was() {
    let walk = Walk::new();
    walk.session.ask("abcde", "Bash", "Push", "git push");
    let shown = walk.events.next(PATIENCE).data;
    assert_eq!(
        shown,
        "Claude wants to run Bash: Push\n\ngit push\n\nSession project. Reply \"yes abcde\" or \"no abcde\""
    );
    assert_eq!(walk.gate.say("/", "  YES \t ABCDE\r\n").expect(200).text(), "verdict recorded");
    assert_eq!(walk.events.next(PATIENCE).data, "Prompt abcde: allowed by owner over http");
    for late in ["yes abcde", "no abcde"] {
        let answer = walk.gate.say("/", late).expect(409);
        assert!(answer.text().contains("allowed by owner over http"), "{answer}");
    }
    through(&walk.gate, &walk.session);
    assert_eq!(walk.session.verdict_count(), 1);
    assert_eq!(walk.session.next_verdict().behavior, "allow");
    assert_eq!(walk.session.event_count(), 1, "a verdict is no chat");

    walk.session.ask("fghij", "Write", "Change a file", "+ line");
    walk.events.containing("fghij");
    assert_eq!(walk.gate.say("/", "n fghij").expect(200).text(), "verdict recorded");
    let verdict = walk.session.next_verdict();
    assert_eq!((&*verdict.request_id, &*verdict.behavior), ("fghij", "deny"));
}

#[test]
fn chat_that_only_looks_like_a_verdict_stays_chat() {
    let walk = Walk::new();
    const NOTE: &str = "\nnot taken as a verdict: no prompt is open; the text went to the agent as a message\n";
    for (text, note) in [("no worry", NOTE), ("yes abcd3", NOTE), ("yes", ""), ("yes, do it", "")] {
        assert_eq!(walk.gate.say("/", text).expect(200).text(), format!("ok{note}"), "{text}");
        assert_eq!(walk.session.next_event().content, text);
    }
    // Who may not answer prompts is told nothing of them.
    let made = walk.gate.post("/api/v1/tokens", &json!({"person": "ci", "role": "sender"})).json();
    let ci = made["token"].as_str().unwrap();
    assert_eq!(walk.gate.say_as(ci, "/", "yes abcde").expect(200).text(), "ok");
    assert_eq!(walk.session.next_event().content, "yes abcde");
    walk.session.ask("abcde", "Bash", "Push", "git push");
    walk.events.containing("abcde");
    let mistyped = ["allow abcde", "ok abcde", "deny abcde", "nope: ABCDE", "abcde yes", "abcde", "yess abcde"];
    for text in ["no worry", "yes, do it", "yes abcde please", "no abcdl"].into_iter().chain(mistyped) {
        let answer = walk.gate.say("/", text).expect(200);
        assert!(answer.text().starts_with("ok\nnot taken as a verdict"), "{text}: {answer}");
        assert_eq!(walk.session.next_event().content, text);
    }
    for text in ["how is it going?", "allow bcdef"] {
        assert_eq!(walk.gate.say("/", text).expect(200).text(), "ok", "{text}");
    }
    assert_eq!(walk.gate.say_as(ci, "/", "allow abcde").expect(200).text(), "ok");
    through(&walk.gate, &walk.session);
    assert_eq!(walk.session.verdict_count(), 0);
}

#[test]
fn a_late_listener_is_shown_open_prompts_and_missed_replies() {
    let walk = Walk::new();
    walk.gate.say("/", "hello").expect(200);
    walk.session.next_event();
    let reply = |text: &str| walk.session.call("reply", &json!({"chat_id": "1", "text": text}));
    reply("before");
    let last = walk.events.containing("before").id.unwrap();
    walk.session.ask("abcde", "Bash", "Push", "git push");
    walk.session.ask("fghij", "Bash", "Pull", "git pull");
    walk.events.containing("fghij");
    walk.gate.say("/", "no fghij").expect(200);
    reply("missed one");
    reply("missed two");

    let late = walk.gate.events();
    let prompt = late.next(PATIENCE).data;
    assert!(prompt.contains("git push") && prompt.contains("yes abcde"), "{prompt}");

    let listen_after = |id: &str| {
        let token = format!("Bearer {}", walk.home.token());
        Events::open(&walk.gate.target(), "/events", &[("Authorization", &token), ("Last-Event-ID", id)])
    };
    let back = listen_after(&last);
    let missed = back.next(PATIENCE);
    assert_eq!(missed.data, "Reply to 1: missed one");
    assert_eq!(back.next(PATIENCE).data, "Reply to 1: missed two");
    assert!(back.next(PATIENCE).data.contains("yes abcde"));

    let cut_off_again = listen_after(&missed.id.unwrap());
    assert_eq!(cut_off_again.next(PATIENCE).data, "Reply to 1: missed two", "only the rest, and all of it");
    reply("now");
    for listener in [&late, &back, &cut_off_again] {
        listener.containing("Reply to 1: now");
    }
}

#[test]
fn the_stream_needs_credentials_and_is_refused_to_web_pages() {
    let home = Home::new();
    let gate = home.serve_with(&["--dev-sender", "dev"]);
    let get = || Request::get("/events");
    for refused in [
        get().header("Origin", "http://evil.example"),
        get().header("Sec-Fetch-Mode", "cors"),
        get().header("X-Sender", "eve"),
        get().header("Authorization", "Bearer wrong"),
    ] {
        let answer = refused.send(&gate.target());
        assert_eq!(answer.status, 403, "{answer}");
    }
    gate.stop();
    let gate = home.serve();
    get().send(&gate.target()).expect(403);
    get().header("X-Sender", "dev").send(&gate.target()).expect(403);
    gate.events();
}

/// A gate, a session of it, and the owner listening.
struct Walk {
    home: Home,
    gate: Gate,
    session: StandIn,
    events: Events,
}

impl Walk {
    #[track_caller]
    fn new() -> Self {
        let home = Home::new();
        let gate = home.serve();
        let session = StandIn::start(&home, &[]);
        home.attached(1);
        let events = gate.events();
        Self { home, gate, session, events }
    }
}

/// Whatever was on its way to the session before this call has arrived after it.
#[track_caller]
fn through(gate: &Gate, session: &StandIn) {
    gate.say("/", "the last word").expect(200);
    session.event_containing("the last word");
}

fn curl(home: &Home, args: &[&str]) -> Child {
    let mut command = home.program("curl");
    command.arg("-sS").args(args);
    home.spawn(command, Stdin::Nothing)
}
