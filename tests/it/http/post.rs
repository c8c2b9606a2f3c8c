//! `POST /`: an answer for every way to send, and an event only for the right ones.

use crate::support::PATIENCE;
use crate::support::connection::Connection;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::{Answer, Request};
use crate::support::standin::StandIn;
use crate::support::until;
use serde_json::{Value, json};

#[test]
fn an_invalid_request_is_refused_with_its_reason_and_records_no_event() {
    let home = Home::new();
    let gate = home.serve();
    let post = |path: &str| Request::post(path).token(home.token());
    let typed = |kind: &str| post("/").header("Content-Type", kind).body("hello");
    let mut chunked = format!("{:x}\r\n", 2 << 20).into_bytes();
    chunked.resize(chunked.len() + (2 << 20), b'x');
    let unknown = "01m7f9jc2g75gzpa3000000004";
    for (request, status, why) in [
        (post("/").body(b"caf\xe9".as_slice()), 400, "not UTF-8: byte 3"),
        (post("/").body(""), 400, "no text"),
        (post("/"), 400, "no text"),
        (post(&format!("/?session={unknown}&label=a")).body("hello"), 400, "not both"),
        (post("/?label=").body("hello"), 400, "label"),
        (post("/?chat=%00").body("hello"), 400, "chat"),
        (post("/?chat=%ff").body("hello"), 400, "chat"),
        (post("/").header("Idempotency-Key", &"k".repeat(256)).body("hello"), 400, "Idempotency-Key"),
        (Request::post("/").body("hello"), 403, "forbidden"),
        (Request::post("/").token("wrong").body("hello"), 403, "forbidden"),
        (post(&format!("/?session={unknown}")).body("hello"), 404, "no session"),
        (post("/?session=nonsense").body("hello"), 404, "no session"),
        (post("/").body(vec![b'x'; (1 << 20) + 1]), 413, "larger than 1048576 bytes"),
        (post("/").without("Content-Length").header("Transfer-Encoding", "chunked").body(chunked), 413, "larger than"),
        (typed("application/octet-stream"), 415, "octet-stream"),
        (typed("multipart/form-data; boundary=x"), 415, "multipart/form-data"),
        (typed("image/png"), 415, "image/png"),
        (typed("text/plain").header("Content-Encoding", "gzip"), 415, "compressed"),
    ] {
        let answer = request.send(&gate.target());
        assert_eq!(answer.status, status, "{request}: {answer}");
        assert!(answer.text().contains(why), "{request}: {answer}");
    }
    assert_eq!(events(&gate), json!([]));
}

#[test]
fn only_a_post_to_a_free_path_makes_an_event() {
    let home = Home::new();
    let gate = home.serve();
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        for path in ["/", "/ci/github"] {
            let answer = Request::new(method, path).token(home.token()).body("hello").send(&gate.target());
            assert_eq!(answer.status, 405, "{method} {path}: {answer}");
        }
    }
    for (method, path) in
        [("GET", "/ci/github"), ("HEAD", "/ci"), ("POST", "/api/typo"), ("POST", "/api"), ("POST", "/in/x")]
    {
        let answer = Request::new(method, path).token(home.token()).body("hello").send(&gate.target());
        assert_eq!(answer.status, 404, "{method} {path}: {answer}");
    }
    for path in ["/healthz", "/events", "/api/v1/verdicts", "/link"] {
        Request::post(path).token(home.token()).body("hello").send(&gate.target()).expect(405);
    }
    assert_eq!(events(&gate), json!([]));
    gate.say("/apiary", "bees").expect(200);
    assert_eq!(events(&gate)[0]["bytes"], 4);
}

#[test]
fn an_idempotency_key_counts_once_for_each_sender() {
    let home = Home::new();
    let gate = home.serve_with(&["--dev-sender", "dev"]);
    let session = StandIn::start(&home, &[]);
    let send = |who: (&str, &str), body: &str| {
        Request::post("/").header(who.0, who.1).header("Idempotency-Key", "build-17").body(body).send(&gate.target())
    };
    let bearer = format!("Bearer {}", home.token());
    let (owner, dev) = (("Authorization", &*bearer), ("X-Sender", "dev"));
    let id = |answer: Answer| answer.expect(200).event_id();
    let first = id(send(owner, "failed"));
    assert_eq!(id(send(owner, "failed")), first);
    let other = send(owner, "passed").expect(422);
    assert!(other.text().contains(&first), "{other}");
    assert_ne!(id(send(dev, "passed")), first, "a key is the sender's own");
    let said: Vec<String> = (0..2).map(|_| session.next_event().content).collect();
    assert_eq!(said, ["failed", "passed"]);

    gate.kill_9();
    home.wait_for_gate();
    let again = Request::post("/").header("Idempotency-Key", "build-17").body("failed").send(&home.socket());
    assert_eq!(id(again), first, "a key is remembered by the journal");
}

#[test]
fn with_several_sessions_the_sender_must_name_one() {
    let home = Home::new();
    let gate = home.serve();
    let _sessions = ["api", "web", "web"].map(|label| StandIn::start(&home, &["--label", label]));
    home.attached(3);
    let answer = gate.say("/", "hello").expect(409);
    assert!(answer.text().contains("api, web, web-2"), "it lists the labels: {answer}");
    gate.say("/?label=api", "hello").expect(200);
    gate.say("/?label=web", "hello").expect(200);
    assert_eq!(events(&gate).as_array().unwrap().len(), 2);
}

#[test]
fn guessing_codes_is_stopped_but_the_id_of_the_prompt_still_works() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    gate.open_prompt(&session, "abcde");
    for guess in ["zzzza", "zzzzb", "zzzzc", "zzzzd"] {
        let answer = gate.say("/", &format!("yes {guess}")).expect(200);
        assert!(answer.text().contains(&format!("no open prompt has the code {guess}")), "{answer}");
    }
    gate.verdict("zzzze", &json!({"behavior": "allow"})).expect(404);
    for text in ["yes zzzzf", "yes abcde"] {
        let answer = gate.say("/", text).expect(429);
        assert!(answer.header("retry-after").unwrap().parse::<u64>().unwrap() <= 600, "{answer}");
    }
    assert_eq!(gate.say("/", "I give up").expect(200).text(), "ok", "chat goes on");
    let ask = gate.ask("abcde")["id"].as_str().unwrap().to_owned();
    gate.verdict(&ask, &json!({"behavior": "deny"})).expect(200);
    assert_eq!(session.next_verdict().behavior, "deny");
}

#[test]
fn a_sender_has_a_rate_limit_and_the_owner_has_none() {
    let home = Home::new();
    home.write_config("[limits]\nrate = 1\nburst = 3\n");
    let gate = home.serve_with(&["--dev-sender", "dev"]);
    let dev = Request::post("/").header("X-Sender", "dev").body("hello");
    let answers: Vec<Answer> = (0..30).map(|_| dev.send(&gate.target())).collect();
    let refused = answers.iter().find(|answer| answer.status == 429).expect("thirty within a burst of three");
    assert_eq!(refused.header("retry-after"), Some("1"));
    let taken = answers.iter().filter(|answer| answer.status == 200).count();
    assert!((3..30).contains(&taken), "{taken}");
    (0..10).for_each(|_| drop(gate.say("/", "hello").expect(200)));
}

#[test]
fn a_full_queue_answers_503_and_keeps_its_events() {
    let home = Home::new();
    home.write_config("[limits]\nsession_events = 2\n");
    let gate = home.serve();
    gate.say("/", "one").expect(200);
    gate.say("/", "two").expect(200);
    let full = gate.say("/", "three").expect(503);
    assert!(full.header("retry-after").is_some(), "{full}");
    let session = StandIn::start(&home, &[]);
    assert_eq!([session.next_event().content, session.next_event().content], ["one", "two"]);
}

#[test]
fn slow_requests_are_cut_off_and_a_strangers_body_is_not_read() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_HEADER", 500);
    home.fix("PORTCULLIS_TEST_IDLE", 500);
    let gate = home.serve();
    let head =
        |credential: &str| format!("POST / HTTP/1.1\r\nHost: localhost\r\n{credential}Content-Length: 1000000\r\n\r\n");

    let mut stranger = Connection::open(&gate.target());
    stranger.write(head("").as_bytes());
    assert_eq!(stranger.answer().expect(403).text().lines().next(), Some("forbidden"), "before the body has come");

    let mut slow_body = Connection::open(&gate.target());
    slow_body.write(head(&format!("Authorization: Bearer {}\r\n", home.token())).as_bytes());
    slow_body.write(b"never finished");
    assert!(slow_body.answer().expect(408).text().contains("in time"));

    let mut slow_head = Connection::open(&gate.target());
    slow_head.write(b"GET /healthz HTTP/1.1\r\nHost: local");
    slow_head.rest(PATIENCE).expect("it is closed");
    assert_eq!(events(&gate), json!([]));
}

#[test]
fn programs_are_answered_in_json_and_errors_are_numbered() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    let attached = home.attached(1);
    let post = |path: &str, body: &str| {
        let request = Request::post(path).token(home.token()).header("Accept", "application/json").body(body);
        request.send(&gate.target())
    };
    let taken = post("/?chat=ops", "hello").expect(200).json();
    let event = session.next_event();
    assert_eq!((taken["id"].as_str(), taken["chat_id"].as_str()), (Some(event.meta("event_id")), Some("ops")));
    assert_eq!(taken["session"], attached[0]["id"]);

    gate.open_prompt(&session, "abcde");
    assert!(post("/", "no worry").expect(200).json()["note"].as_str().unwrap().contains("not taken as a verdict"));
    let recorded = post("/", "yes abcde").expect(200).json();
    assert_eq!((&recorded["code"], &recorded["behavior"]), (&json!("abcde"), &json!("allow")));
    let settled = post("/", "no abcde").expect(409).json();
    assert_eq!(settled["error"], 40902);
    assert!(settled["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{settled}");
    assert_eq!(post("/", "").expect(400).json()["error"], 40001);
}

fn events(gate: &Gate) -> Value {
    gate.get("/api/v1/events").expect(200).json()
}

#[test]
fn bodies_that_do_not_come_to_their_end_take_no_more_memory_than_there_is() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_BODY_BYTES", 1 << 20);
    let gate = home.serve();
    let [ann, bob] = ["ann", "bob"].map(|name| home.token_for(name, "sender"));
    let begun: Vec<Connection> = (0..2)
        .map(|_| {
            let mut connection = Connection::open(&gate.target());
            let head = format!(
                "POST / HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {ann}\r\nContent-Length: {}\r\n\r\n",
                gate.address(),
                200 << 10
            );
            connection.write(head.as_bytes());
            connection.write(&[b'x'; 100]);
            connection
        })
        .collect();
    let large = "x".repeat(200 << 10);
    let refused =
        until("the memory to be taken", || Some(gate.say_as(&ann, "/", &large)).filter(|said| said.status != 200));
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("5")), "{}", refused.text());
    assert!(refused.text().contains("of this sender that are not whole"), "{}", refused.text());
    gate.say_as(&ann, "/", "what is small is not counted").expect(200);
    gate.say_as(&bob, "/", &large).expect(200);
    gate.say("/", &large).expect(200);
    drop(begun);
    until("the memory to be given back", || (gate.say_as(&ann, "/", &large).status == 200).then_some(()));
}
