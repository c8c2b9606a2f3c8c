//! What agents said back, listed for whom it concerns; and the document that describes the whole API.

use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::standin::StandIn;
use serde_json::{Value, json};

#[test]
fn replies_are_listed_oldest_first_and_only_to_those_they_concern() {
    let home = Home::new();
    let gate = home.serve();
    let tom = home.token_for("tom", "sender");
    let session = StandIn::start(&home, &[]);
    home.attached(1);
    let as_tom = |query: &str| {
        Request::get(&format!("/api/v1/replies{query}")).token(&tom).send(&gate.target()).expect(200).json()
    };
    assert_eq!(replies(&gate, ""), json!([]));
    gate.say("/?chat=ops", "hello").expect(200);
    Request::post("/?chat=toms").token(&tom).body("hello").send(&gate.target()).expect(200);
    session.next_event();
    session.next_event();
    for (chat, text) in [("ops", "one"), ("toms", "two"), ("ops", "three")] {
        session.call("reply", &json!({"chat_id": chat, "text": text}));
    }

    let all = replies(&gate, "");
    assert_eq!(texts(&all), ["one", "two", "three"]);
    assert_eq!((&all[1]["chat_id"], &all[1]["session"]), (&json!("toms"), &home.attached(1)[0]["id"]));
    assert_eq!(texts(&replies(&gate, "?chat=ops")), ["one", "three"]);
    let (first, last) = (all[0]["id"].as_str().unwrap(), all[2]["at"].as_u64().unwrap());
    assert_eq!(texts(&replies(&gate, &format!("?since={first}"))), ["two", "three"]);
    assert_eq!(texts(&replies(&gate, &format!("?since={first}&chat=ops"))), ["three"]);
    assert_eq!(texts(&replies(&gate, &format!("?since={last}"))).last(), Some(&"three"), "what was said at it is in");
    assert_eq!(replies(&gate, &format!("?since={}", last + 1)), json!([]));
    assert_eq!(texts(&replies(&gate, "?since=01m7zzzzzzzzzzzzzzzzzzzzzz")).len(), 3, "a reply that nobody remembers");
    gate.get("/api/v1/replies?since=yesterday").expect(400);

    assert_eq!(texts(&as_tom("")), ["two"]);
    assert_eq!(as_tom("?chat=ops"), json!([]));
    Request::get("/api/v1/replies").send(&gate.target()).expect(401);
}

#[test]
fn the_openapi_document_is_public_and_contains_nothing_of_this_gate() {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    let gate = home.serve();
    let plain = |path: &str| Request::get(path).send(&gate.target());
    let answer = plain("/api/openapi.json").expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(!answer.text().contains(&*home.folder().to_string_lossy()) && !answer.text().contains(home.token()));
    let document = answer.json();
    assert_eq!(Request::get("/api/openapi.json").send(&gate.socket()).expect(200).json(), document);
    Request::get("/api/openapi.json").header("Host", "evil.example").send(&gate.target()).expect(403);

    // What it says about rights is so: without credentials nothing that needs some is answered.
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let path = path.replace("{order}", "stop").replace(['{', '}'], "");
            let answer = Request::new(&method.to_uppercase(), &path).body("{}").send(&gate.target());
            let is_open = operation["security"] == json!([]);
            assert_eq!(!matches!(answer.status, 401 | 403), is_open, "{method} {path}: {answer}");
        }
    }
}

fn replies(gate: &Gate, query: &str) -> Value {
    gate.get(&format!("/api/v1/replies{query}")).expect(200).json()
}

fn texts(replies: &Value) -> Vec<&str> {
    replies.as_array().unwrap().iter().map(|reply| reply["text"].as_str().unwrap()).collect()
}
