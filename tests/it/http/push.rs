//! Web Push: a device is told that something waits, and nothing of what, while nobody of its person looks.

use crate::run::api;
use crate::support::PATIENCE;
use crate::support::driven::shell;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::push::{PushPeer, linked_device};
use crate::support::standin::StandIn;
use crate::support::terminal::Terminal;
use crate::support::until;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

const HTTPS: &str = "public_url = \"https://gate.example.org\"\npublic_listen = \"127.0.0.1:0\"\n";

/// A gate that pushes at once, and as often as there is something.
fn serve(home: &Home) -> Gate {
    home.write_config(HTTPS);
    home.fix("PORTCULLIS_TEST_NOTIFY_AFTER", 0);
    home.fix("PORTCULLIS_TEST_PUSH_REST", 0);
    home.serve()
}

/// A linked device that has subscribed at the peer: its id, its key, and the subscription.
fn subscribed(gate: &Gate, peer: &PushPeer) -> (String, String, Value) {
    let (id, key) = linked_device(gate);
    let push = gate.get_as(&key, "/api/v1/push").expect(200).json();
    assert_eq!(push["subscribed"], false);
    let subscription = peer.subscription(push["public_key"].as_str().unwrap());
    gate.post_as(&key, "/api/v1/push", &subscription).expect(200);
    (id, key, subscription)
}

fn is_subscribed(gate: &Gate, key: &str) -> bool {
    gate.get_as(key, "/api/v1/push").expect(200).json()["subscribed"] == true
}

#[test]
fn a_push_is_signed_and_encrypted_and_says_only_that_something_waits() {
    let home = Home::new();
    let peer = PushPeer::start(&home);
    let gate = serve(&home);
    let session = StandIn::start(&home, &["--label", "api"]);
    let (id, key, subscription) = subscribed(&gate, &peer);
    session.ask("abcde", "Bash", "Make x", "touch x");
    until("the push", || (peer.pushed(&subscription) == [r#"{"waiting":1}"#]).then_some(()));
    session.ask("fghij", "Bash", "Make y", "touch y");
    until("the next", || (peer.pushed(&subscription).len() == 2).then_some(()));
    assert_eq!(peer.pushed(&subscription)[1], r#"{"waiting":2}"#);
    for file in ["push.key".to_owned(), format!("push/{id}.json")] {
        let mode = std::fs::metadata(home.folder().join(&file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    peer.expire(&subscription);
    session.ask("klmno", "Bash", "Make z", "touch z");
    until("the end of the subscription", || (!is_subscribed(&gate, &key)).then_some(()));
    assert!(!home.folder().join(format!("push/{id}.json")).exists());
    let devices = gate.get("/api/v1/devices").expect(200).json();
    assert_eq!(devices[0]["id"], id.as_str(), "the device stays");
}

#[test]
fn an_old_address_that_is_gone_ends_neither_a_newer_one_nor_the_device() {
    let home = Home::new();
    let peer = PushPeer::start(&home);
    let gate = serve(&home);
    let session = StandIn::start(&home, &["--label", "api"]);
    let (id, key) = linked_device(&gate);
    let push = gate.get_as(&key, "/api/v1/push").expect(200).json();
    // A service that answers when this test wants it to.
    let slow = TcpListener::bind("127.0.0.1:0").unwrap();
    let old = subscription(&format!("http://{}/old", slow.local_addr().unwrap()));
    gate.post_as(&key, "/api/v1/push", &old).expect(200);
    session.ask("abcde", "Bash", "Make x", "touch x");
    slow.set_nonblocking(true).unwrap();
    let (mut under_way, _) = until("the push to the old address", || slow.accept().ok());
    under_way.set_nonblocking(false).unwrap();
    under_way.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut head = vec![];
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        under_way.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    let newer = peer.subscription(push["public_key"].as_str().unwrap());
    gate.post_as(&key, "/api/v1/push", &newer).expect(200);
    under_way.write_all(b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n").unwrap();
    until("the push to the newer address", || (peer.pushed(&newer).len() == 1).then_some(()));
    assert!(is_subscribed(&gate, &key));
    let kept = std::fs::read(home.folder().join(format!("push/{id}.json"))).unwrap();
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    assert_eq!(kept["endpoint"], newer["endpoint"]);
    assert_eq!(gate.get("/api/v1/devices").expect(200).json()[0]["id"], id.as_str(), "the device stays");
}

#[test]
fn a_gate_that_was_started_again_pushes_to_the_same_subscription() {
    let home = Home::without_auto_start();
    let peer = PushPeer::start(&home);
    let gate = serve(&home);
    let (_, key, subscription) = subscribed(&gate, &peer);
    let public_key = gate.get_as(&key, "/api/v1/push").expect(200).json()["public_key"].clone();
    let gate = home.restart(&gate);
    assert_eq!(gate.get_as(&key, "/api/v1/push").expect(200).json()["public_key"], public_key);
    let session = StandIn::start(&home, &["--label", "api"]);
    session.ask("abcde", "Bash", "Make x", "touch x");
    until("the push", || (peer.pushed(&subscription).len() == 1).then_some(()));
}

#[test]
fn nobody_is_told_whose_page_can_be_seen_until_it_no_longer_can() {
    let home = Home::new();
    let peer = PushPeer::start(&home);
    // Longer than this test.
    home.fix("PORTCULLIS_TEST_PUSH_SCREEN", 600_000);
    let gate = serve(&home);
    let (_, laptop) = linked_device(&gate);
    let (_, _, seen) = subscribed(&gate, &peer);
    let ann = home.token_for("ann", "admin");
    let session = StandIn::start(&home, &["--label", "api"]);
    let hers = gate.post_as(&ann, "/api/v1/devices/links", &json!({})).expect(200).json()["secret"].clone();
    let hers = Request::post("/api/v1/devices").json(&json!({"link": hers, "name": "hers"}));
    let hers = hers.send(&gate.target()).expect(200).json()["key"].as_str().unwrap().to_owned();
    let push = gate.get_as(&hers, "/api/v1/push").expect(200).json();
    let unseen = peer.subscription(push["public_key"].as_str().unwrap());
    gate.post_as(&hers, "/api/v1/push", &unseen).expect(200);
    let look = |visible: bool| json!({"page": "tab1", "visible": visible});
    gate.post_as(&laptop, "/api/v1/presence", &look(true)).expect(200);
    // A session is attached, and a token or the owner over the socket may not say that someone looks.
    gate.post_as(&ann, "/api/v1/presence", &look(true)).expect(422);
    gate.post("/api/v1/presence", &look(true)).expect(422);
    session.ask("abcde", "Bash", "Make x", "touch x");
    until("the push to another person", || (peer.pushed(&unseen).len() == 1).then_some(()));
    assert_eq!(peer.pushed(&seen), [""; 0]);
    gate.post_as(&laptop, "/api/v1/presence", &json!({"page": "tab2", "visible": false})).expect(200);
    session.ask("fghij", "Bash", "Make y", "touch y");
    until("the next push to another person", || (peer.pushed(&unseen).len() == 2).then_some(()));
    assert_eq!(peer.pushed(&seen), [""; 0], "another tab that is hidden hides no first one");
    gate.post_as(&laptop, "/api/v1/presence", &look(false)).expect(200);
    until("the push", || (peer.pushed(&seen) == [r#"{"waiting":2}"#]).then_some(()));
}

#[test]
fn a_revoked_device_is_told_nothing_more() {
    let home = Home::new();
    let peer = PushPeer::start(&home);
    let gate = serve(&home);
    let session = StandIn::start(&home, &["--label", "api"]);
    let (id, key, revoked) = subscribed(&gate, &peer);
    let (_, _, other) = subscribed(&gate, &peer);
    let revoke = Request::new("DELETE", &format!("/api/v1/devices/{id}")).token(home.token());
    revoke.send(&gate.target()).expect(200);
    session.ask("abcde", "Bash", "Make x", "touch x");
    until("the push to the other", || (peer.pushed(&other).len() == 1).then_some(()));
    assert_eq!(peer.pushed(&revoked), [""; 0]);
    assert!(!home.folder().join(format!("push/{id}.json")).exists());
    gate.get_as(&key, "/api/v1/push").expect(401);
}

#[test]
fn a_device_can_be_told_no_more() {
    let home = Home::new();
    let peer = PushPeer::start(&home);
    let gate = serve(&home);
    let session = StandIn::start(&home, &["--label", "api"]);
    let (_, key, stopped) = subscribed(&gate, &peer);
    let (_, _, other) = subscribed(&gate, &peer);
    Request::new("DELETE", "/api/v1/push").token(&key).send(&gate.target()).expect(200);
    session.ask("abcde", "Bash", "Make x", "touch x");
    until("the push to the other", || (peer.pushed(&other).len() == 1).then_some(()));
    assert_eq!(peer.pushed(&stopped), [""; 0]);
}

#[test]
fn a_session_that_is_quiet_on_a_device_is_not_pushed_there() {
    let home = Home::new();
    let peer = PushPeer::start(&home);
    let gate = serve(&home);
    let (quiet, loud) = (StandIn::start(&home, &["--label", "web"]), StandIn::start(&home, &["--label", "api"]));
    home.attached(2);
    let (_, key, mut muted) = subscribed(&gate, &peer);
    let (_, _, other) = subscribed(&gate, &peer);
    muted["muted"] = json!(["web"]);
    gate.post_as(&key, "/api/v1/push", &muted).expect(200);
    quiet.ask("abcde", "Bash", "Make x", "touch x");
    until("the push to the other", || (peer.pushed(&other).len() == 1).then_some(()));
    loud.ask("fghij", "Bash", "Make y", "touch y");
    until("the push", || (peer.pushed(&muted) == [r#"{"waiting":1}"#]).then_some(()));
    // No longer quiet: what still waits there is told.
    muted["muted"] = json!([]);
    gate.post_as(&key, "/api/v1/push", &muted).expect(200);
    until("the quiet one", || (peer.pushed(&muted).len() == 2).then_some(()));
    assert_eq!(peer.pushed(&muted)[1], r#"{"waiting":2}"#);
    muted["muted"] = json!(vec!["x"; 201]);
    gate.post_as(&key, "/api/v1/push", &muted).expect(400);
}

/// Keys as a browser has them, for an address of its own.
fn subscription(endpoint: &str) -> Value {
    let p256dh = "BLn9b-VR0ca83knDNZ32dCHGyjJp-1riX9ZTN40MqV8K_LpQmLqxC_DoHvqvFXO_nGdAB4W9dogZb_sM-uV4JbY";
    json!({"endpoint": endpoint, "expirationTime": null, "keys": {"p256dh": p256dh, "auth": "_ordMnz7uTCmrpBTeUV4Bw"}})
}

#[test]
fn a_device_sends_the_gate_to_no_private_address() {
    let home = Home::new();
    let gate = serve(&home);
    let session = StandIn::start(&home, &["--label", "api"]);
    let (_, key) = linked_device(&gate);
    for wrong in ["http://push.example.org/x", "https://127.0.0.1/x", "https://[::1]/x", "https://169.254.169.254/x"] {
        gate.post_as(&key, "/api/v1/push", &subscription(wrong)).expect(400);
    }
    let mut bad_key = subscription("https://push.example.org/x");
    bad_key["keys"]["p256dh"] = "AAAA".into();
    gate.post_as(&key, "/api/v1/push", &bad_key).expect(400);
    // A name may lead anywhere, and is looked at when it is connected to.
    let here = TcpListener::bind("127.0.0.1:0").unwrap();
    here.set_nonblocking(true).unwrap();
    let port = here.local_addr().unwrap().port();
    gate.post_as(&key, "/api/v1/push", &subscription(&format!("https://localhost:{port}/x"))).expect(200);
    session.ask("abcde", "Bash", "Make x", "touch x");
    until("the attempt", || gate.stderr().contains("no address outside of private networks").then_some(()));
    assert!(here.accept().is_err(), "nobody has knocked");
}

#[test]
fn without_an_https_address_nothing_is_pushed() {
    let home = Home::new();
    let gate = home.serve();
    let (_, key) = linked_device(&gate);
    let refused = gate.get_as(&key, "/api/v1/push").expect(404).json();
    assert_eq!(refused["error"], 40414);
    gate.post_as(&key, "/api/v1/push", &subscription("https://push.example.org/x")).expect(404);
    assert!(!home.folder().join("push.key").exists());
    assert_eq!(gate.get_as(&key, "/api/v1/me").expect(200).json()["pushes"], Value::Null);
}

#[test]
fn a_terminal_that_shows_the_prompt_counts_as_nobody_at_a_screen() {
    let home = Home::new();
    let peer = PushPeer::start(&home);
    home.fix("PORTCULLIS_TEST_NOTIFY_AFTER", 0);
    home.fix("PORTCULLIS_TEST_PUSH_REST", 0);
    let model = shell(&["touch one.txt", "touch two.txt"]);
    let gate = api::serve(&home, &model, HTTPS);
    gate.post("/api/v1/sessions", &json!({"label": "held"})).expect(201);
    let mut terminal = Terminal::start(home.command(&["attach", "held"]));
    terminal.until("Attached to held");
    let (_, _, subscription) = subscribed(&gate, &peer);
    // Someone sits there, and types.
    terminal.type_line("go");
    terminal.until("Allow?");
    until("the push", || (peer.pushed(&subscription) == [r#"{"waiting":1}"#]).then_some(()));
    terminal.type_line("y");
    until("the next push", || (peer.pushed(&subscription).len() == 2).then_some(()));
    terminal.until("two.txt");
    terminal.type_line("n");
}
