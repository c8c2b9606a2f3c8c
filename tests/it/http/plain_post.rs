//! Plain requests are answered without the HTTP server, and nobody can tell.

use crate::support::connection::Connection;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::Answer;
use serde_json::Value;

/// Sends the lines twice: as they are, and with a header that makes the server read them. Returns what both came to.
fn both_ways(gate: &Gate, lines: &str, body: &[u8]) -> [(Answer, Value); 2] {
    ["", "X-Unknown-Header: 1\r\n"].map(|more| {
        let mut connection = Connection::open(&gate.target());
        let head = format!(
            "POST / HTTP/1.1\r\nHost: {}\r\n{lines}{more}Content-Length: {}\r\n\r\n",
            gate.target().host(),
            body.len()
        );
        connection.write(&[head.as_bytes(), body].concat());
        let answer = connection.answer();
        let event = match answer.header("x-event-id") {
            Some(id) => gate.get(&format!("/api/v1/events/{id}")).json(),
            None => Value::Null,
        };
        (answer, event)
    })
}

/// All of an answer that does not differ between two events.
fn told(answer: &Answer) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let of_this_event = ["date", "x-event-id", "x-chat-id"];
    let mut headers = answer.headers.clone();
    for (name, value) in &mut headers {
        name.make_ascii_lowercase();
        if of_this_event.contains(&name.as_str()) {
            *value = "…".to_owned();
        }
    }
    headers.sort();
    (answer.status, headers, answer.body.clone())
}

#[test]
fn a_plain_post_and_one_that_the_server_reads_come_to_the_same() {
    let home = Home::new();
    let gate = home.serve();
    let (owner, ann) = (home.token().to_owned(), home.token_for("ann", "sender"));
    let bearer = |token: &str, more: &str| format!("Authorization: Bearer {token}\r\n{more}");
    for (lines, body, status) in [
        (bearer(&owner, ""), &b"main is red"[..], 200),
        (bearer(&owner, "Content-Type: application/json\r\nAccept: */*\r\n"), b"{\"a\":\"\xc3\xa4\"}", 200),
        (bearer(&ann, "X-Sender: dev\r\n"), b"hello", 200),
        (bearer(&owner, ""), b"yes abcde", 200),
        (bearer(&owner, ""), b"\xff", 400),
        (bearer(&owner, ""), b"", 400),
        (bearer("wrong-token-that-nobody-has", ""), b"hello", 403),
        (String::new(), b"hello", 403),
        (bearer(&owner, "Content-Type: image/png\r\n"), b"hello", 415),
    ] {
        let [(plain, event), (other, other_event)] = both_ways(&gate, &lines, body);
        assert_eq!(plain.status, status, "{lines}: {plain}");
        assert_eq!(told(&plain), told(&other), "{lines}");
        for name in ["text", "sender", "via", "attributes", "session", "state"] {
            assert_eq!(event[name], other_event[name], "{name} of {event}");
        }
    }
}

#[test]
fn a_connection_goes_on_after_plain_requests_whatever_comes_next() {
    let home = Home::new();
    let gate = home.serve();
    let mut connection = Connection::open(&gate.target());
    let head = |length: usize| {
        let (host, token) = (gate.target().host(), home.token());
        format!("POST / HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n")
    };
    // Two at once, then one in pieces, then one that is no event, then a plain one again.
    connection.write(format!("{}one{}two", head(3), head(3)).as_bytes());
    assert_eq!([connection.answer().status, connection.answer().status], [200, 200]);
    connection.write(head(5).as_bytes());
    connection.write(b"three");
    connection.answer().expect(200);
    connection.write(format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", gate.target().host()).as_bytes());
    assert_eq!(connection.answer().expect(200).text(), "ok\n");
    connection.write(format!("{}four", head(4)).as_bytes());
    connection.answer().expect(200);
    let events = gate.get("/api/v1/events").json();
    assert_eq!(events.as_array().map(Vec::len), Some(4), "{events}");
}

#[test]
fn an_idle_connection_is_closed_after_plain_requests_too() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_IDLE", 300);
    let gate = home.serve();
    let mut connection = Connection::open(&gate.target());
    let (host, token) = (gate.target().host(), home.token());
    connection.write(
        format!("POST / HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Length: 5\r\n\r\nhello")
            .as_bytes(),
    );
    connection.answer().expect(200);
    let rest = connection.rest(crate::support::PATIENCE).expect("it is closed");
    assert!(rest.is_empty());
}
