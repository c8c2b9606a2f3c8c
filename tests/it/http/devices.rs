//! Devices: what becomes of their links and downloads when they are revoked, and how fast they may be.

use crate::support::PATIENCE;
use crate::support::connection::Connection;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::{Answer, Request};
use crate::support::push::linked_device;
use crate::support::until;
use serde_json::{Value, json};

/// A link that the holder of this credential makes, for a browser that may do everything.
fn link_by(gate: &Gate, credential: &str) -> Value {
    let rights = json!({"rights": ["admin"]});
    gate.post_as(credential, "/api/v1/devices/links", &rights).expect(200).json()["secret"].clone()
}

fn show(gate: &Gate, link: &Value) -> Answer {
    Request::post("/api/v1/devices").json(&json!({"link": link, "name": "x"})).send(&gate.target())
}

#[test]
fn a_link_dies_with_what_it_was_made_with() {
    let home = Home::new();
    let gate = home.serve();
    let device = show(&gate, &link_by(&gate, home.token())).expect(200).json();
    let [token, demoted, kept] = ["ada", "bea", "cyn"].map(|name| home.token_for(name, "admin"));
    let soon = home.token_with(&["dot", "--role", "admin", "--expires", "3s"]);
    let of_soon = link_by(&gate, &soon);
    let links = [device["key"].as_str().unwrap(), &token, &demoted].map(|made_with| link_by(&gate, made_with));
    let good = [&kept, home.token()].map(|made_with| link_by(&gate, made_with));

    let revoke = Request::new("DELETE", &format!("/api/v1/devices/{}", device["id"].as_str().unwrap()));
    revoke.token(home.token()).send(&gate.target()).expect(200);
    let tokens = home.run(&["token", "list", "--json"]).ok().json();
    let hers = tokens.as_array().unwrap().iter().find(|token| token["person"] == "ada").unwrap();
    home.run(&["token", "revoke", hers["id"].as_str().unwrap()]).ok();
    home.run(&["people", "role", "bea", "reviewer"]).ok();
    until("the token to expire", || (gate.get_as(&soon, "/api/v1/me").status == 401).then_some(()));
    for link in links.iter().chain([&of_soon]) {
        assert_eq!(show(&gate, link).expect(403).json()["message"], "what that link was made with counts no longer");
    }
    assert_eq!(gate.get("/api/v1/devices").json(), json!([]), "nobody came back");
    for link in &good {
        show(&gate, link).expect(200);
    }
}

#[test]
fn a_download_breaks_off_when_its_device_is_revoked() {
    const SIZE: usize = 8 << 20;
    let home = Home::new();
    let gate = home.serve();
    let upload = Request::post("/api/v1/files?name=x").header("Content-Type", "application/octet-stream");
    let upload = upload.token(home.token()).body(vec![b'x'; SIZE]).send(&gate.target()).expect(201);
    let event = gate.post("/api/v1/events", &json!({"text": "x", "files": [upload.json()["id"]]})).expect(200).json();
    let (id, key) = linked_device(&gate);
    // The buffers of the socket are small; those of the port may take the file whole.
    let mut download = Connection::open(&gate.socket());
    let path = format!("/api/v1/events/{}/files/0", event["id"].as_str().unwrap());
    download.write(&Request::get(&path).token(&key).bytes(&gate.socket(), true));
    download.patient_for(PATIENCE);
    let head = download.read_head().unwrap();
    let length = head.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length")).unwrap();
    assert_eq!((head.status, &length.1), (200, &SIZE.to_string()));
    home.run(&["device", "revoke", &id]).ok();
    let came = download.rest(PATIENCE).unwrap().len();
    assert!(came < SIZE / 2, "{came} bytes came");
    assert_eq!(gate.get(&path).expect(200).body.len(), SIZE, "others have it whole");
    let (_, other) = linked_device(&gate);
    assert_eq!(gate.get_as(&other, &path).expect(200).body, vec![b'x'; SIZE]);
}

#[test]
fn a_device_of_the_owner_has_a_rate_and_the_owner_has_none() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_DEVICE_RATE", 1);
    home.fix("PORTCULLIS_TEST_DEVICE_BURST", 3);
    let gate = home.serve();
    let ((_, one), (_, two)) = (linked_device(&gate), linked_device(&gate));
    let send = |credential: &str| gate.post_as(credential, "/api/v1/events", &json!({"text": "x"}));
    let refused =
        (0..1000).map(|_| send(&one)).find(|answer| answer.status != 200).expect("a device that is never too fast");
    assert_eq!((refused.status, &refused.json()["error"]), (429, &json!(42902)));
    send(&two).expect(200);
    gate.get_as(&one, "/api/v1/sessions").expect(200);
    for _ in 0..20 {
        send(home.token()).expect(200);
    }
}

#[test]
fn a_device_shows_when_it_was_last_used_also_once_the_gate_was_started_anew() {
    let home = Home::new();
    let gate = home.serve();
    let (id, key) = linked_device(&gate);
    let used = |gate: &Gate| {
        let devices = gate.get("/api/v1/devices").expect(200).json();
        let device = devices.as_array().unwrap().iter().find(|device| device["id"] == id.as_str()).cloned();
        device.expect("the device")["last_used"].as_u64()
    };
    assert_eq!(used(&gate), None, "it was linked, and not used");
    assert!(home.run(&["device", "list"]).ok().stdout.contains("never"));
    gate.get_as(&key, "/api/v1/me").expect(200);
    let first = used(&gate).expect("when it was used");
    gate.get_as(&key, "/api/v1/me").expect(200);
    assert!(used(&gate).expect("when it was used") >= first);
    assert!(home.run(&["device", "list"]).ok().stdout.contains(" ago"));
    gate.kill_9();
    let gate = home.serve();
    assert!(used(&gate).is_some_and(|again| again.abs_diff(first) < 60_000), "{first}");
}
