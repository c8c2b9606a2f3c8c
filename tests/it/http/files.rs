//! Files that come with events and go with replies: who may have them, and how long they are kept.

use crate::support::PATIENCE;
use crate::support::connection::Connection;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::{Answer, Request};
use crate::support::standin::StandIn;
use crate::support::until;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

fn upload(gate: &Gate, token: &str, name: &str, bytes: &[u8]) -> Answer {
    let path = format!("/api/v1/files?name={name}");
    Request::post(&path)
        .token(token)
        .header("Content-Type", "application/octet-stream")
        .body(bytes)
        .send(&gate.target())
}

fn uploaded(gate: &Gate, token: &str, name: &str, bytes: &[u8]) -> Value {
    upload(gate, token, name, bytes).expect(201).json()["id"].clone()
}

#[test]
fn a_file_comes_with_an_event_is_named_in_its_tag_and_goes_with_its_text() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    let (ann, bob) = (home.token_for("ann", "sender"), home.token_for("bob", "sender"));
    let shot = uploaded(&gate, &ann, "..%2Fshot.png", b"not really");
    let notes = uploaded(&gate, &ann, "notes.txt", b"notes");
    let event = json!({"text": "see the files", "files": [shot, notes, shot], "chat": "c"});
    gate.post_as(&bob, "/api/v1/events", &event).expect(404);
    let accepted = gate.post_as(&ann, "/api/v1/events", &event).expect(200).json();
    let pushed = session.event_containing("see the files");
    let path = PathBuf::from(pushed.meta("file_1"));
    assert_eq!(std::fs::read(&path).unwrap(), b"not really");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(path.starts_with(home.folder().canonicalize().unwrap()) || path.starts_with(home.folder()), "{path:?}");
    assert!(pushed.meta("file_2").ends_with("notes.txt"));
    let id = accepted["id"].as_str().unwrap();
    let shown = gate.get_as(&ann, &format!("/api/v1/events/{id}")).expect(200).json();
    assert_eq!(shown["files"], json!([{"path": "_shot.png", "size": 10}, {"path": "notes.txt", "size": 5}]));
    let file = format!("/api/v1/events/{id}/files/1");
    let download = gate.get_as(&ann, &file).expect(200);
    assert_eq!(download.body, b"notes");
    assert_eq!(download.header("x-content-type-options"), Some("nosniff"));
    assert!(download.header("content-disposition").unwrap().starts_with("attachment; filename=\"notes.txt\""));
    gate.get_as(&bob, &file).expect(404);
    gate.get_as(&ann, &format!("/api/v1/events/{id}/files/2")).expect(404);
    gate.post_as(&ann, "/api/v1/events", &event).expect(404);
    home.run(&["log", "redact", id]).ok();
    assert!(!path.exists());
    gate.get_as(&ann, &file).expect(404);
}

#[test]
fn a_sender_names_no_file_that_was_not_uploaded_and_none_that_is_too_large() {
    let home = Home::new();
    let gate = home.serve();
    let ann = home.token_for("ann", "sender");
    let large = upload(&gate, &ann, "large", &vec![b'x'; (20 << 20) + 1]).expect(413).json();
    assert_eq!(large["hint"], "a file has at most 20 MiB", "no setting changes that");
    upload(&gate, "wrong", "x", b"x").expect(401);
    let pretended = json!({"text": "x", "attributes": {"file_1": "/etc/passwd"}});
    gate.post_as(&ann, "/api/v1/events", &pretended).expect(400);
    gate.say_as(&ann, "/?FILE_1=/etc/passwd", "x").expect(400);
    for wrong in [json!(["../x"]), json!(["nowhere"])] {
        gate.post_as(&ann, "/api/v1/events", &json!({"text": "x", "files": wrong})).expect(404);
    }
    let many: Vec<Value> = (0..11).map(|_| uploaded(&gate, &ann, "x", b"x")).collect();
    gate.post_as(&ann, "/api/v1/events", &json!({"text": "x", "files": many})).expect(400);
}

#[test]
fn a_file_of_a_reply_is_kept_as_it_was_for_those_who_may_see_the_reply() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    let (ann, bob) = (home.token_for("ann", "sender"), home.token_for("bob", "sender"));
    gate.say_as(&ann, "/?chat=c", "make it").expect(200);
    session.event_containing("make it");
    std::fs::write(home.project().join("made.txt"), "as it was").unwrap();
    let said = session.call("reply", &json!({"chat_id": "c", "text": "here", "files": ["made.txt"]}));
    assert!(said.to_string().contains("sent"), "{said}");
    std::fs::write(home.project().join("made.txt"), "changed").unwrap();
    let reply = gate.get_as(&ann, "/api/v1/replies").expect(200).json()[0].clone();
    let file = format!("/api/v1/replies/{}/files/0", reply["id"].as_str().unwrap());
    assert_eq!(gate.get_as(&ann, &file).expect(200).body, b"as it was");
    gate.get_as(&bob, &file).expect(404);
    home.run(&["log", "redact", &format!("session/{}", reply["session"].as_str().unwrap())]).ok();
    gate.get_as(&ann, &file).expect(404);
}

#[test]
fn an_event_with_files_that_is_sent_again_under_its_key_is_the_same_event() {
    let home = Home::new();
    let gate = home.serve();
    let ann = home.token_for("ann", "sender");
    let (one, two) = (uploaded(&gate, &ann, "one.txt", b"1"), uploaded(&gate, &ann, "two.txt", b"2"));
    let send = |files: &Value| {
        let event = json!({"text": "see the file", "files": files, "chat": "c"});
        let request = Request::post("/api/v1/events").token(&ann).header("Idempotency-Key", "k1").json(&event);
        request.send(&gate.target())
    };
    let first = send(&json!([one])).expect(200).json();
    assert_eq!(send(&json!([one])).expect(200).json()["id"], first["id"]);
    send(&json!([two])).expect(422);
    let id = first["id"].as_str().unwrap();
    assert_eq!(gate.get_as(&ann, &format!("/api/v1/events/{id}/files/0")).expect(200).body, b"1");
    gate.post_as(&ann, "/api/v1/events", &json!({"text": "the other", "files": [two]})).expect(200);
}

#[test]
fn a_number_that_is_none_is_a_file_that_is_not_there() {
    let home = Home::new();
    let gate = home.serve();
    let file = uploaded(&gate, home.token(), "one.txt", b"1");
    let event = gate.post("/api/v1/events", &json!({"text": "x", "files": [file]})).expect(200).json();
    for number in ["-1", "x", "99999999999999999999"] {
        let path = format!("/api/v1/events/{}/files/{number}", event["id"].as_str().unwrap());
        assert_eq!(gate.get(&path).expect(404).json()["error"], 40413);
    }
}

#[test]
fn nobody_fills_the_folder_alone_and_empty_files_count() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_FILES_OF_ONE", 3);
    let gate = home.serve();
    let (ann, bob) = (home.token_for("ann", "sender"), home.token_for("bob", "sender"));
    let given = uploaded(&gate, &ann, "x", b"");
    gate.post_as(&ann, "/api/v1/events", &json!({"text": "x", "files": [given]})).expect(200);
    for _ in 0..2 {
        uploaded(&gate, &ann, "x", b"");
    }
    assert_eq!(upload(&gate, &ann, "x", b"").expect(507).json()["error"], 50701);
    uploaded(&gate, &bob, "x", b"");
}

/// The most that a process has had in memory, in kB.
fn most_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn files_that_are_downloaded_many_at_once_are_not_all_read_before_they_are_refused() {
    let home = Home::new();
    let gate = home.serve();
    let ann = home.token_for("ann", "sender");
    let large = uploaded(&gate, &ann, "large", &vec![b'x'; 20 << 20]);
    let event = gate.post_as(&ann, "/api/v1/events", &json!({"text": "x", "files": [large]})).expect(200).json();
    let request = format!(
        "GET /api/v1/events/{}/files/0 HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {ann}\r\n\r\n",
        event["id"].as_str().unwrap(),
        gate.address()
    );
    let mut downloads: Vec<_> = (0..40).map(|_| Connection::open(&gate.target())).collect();
    for download in &mut downloads {
        download.write(request.as_bytes());
    }
    let statuses: Vec<u16> = downloads.iter_mut().map(|download| download.read_head().unwrap().status).collect();
    assert!(statuses.contains(&200) && statuses.contains(&429), "{statuses:?}");
    let most = most_memory(gate.pid());
    assert!(most < 300_000, "{most} kB of memory for {} downloads of 20 MiB", downloads.len());
}

/// An upload that is let in, and then does not come to its end.
fn begun(gate: &Gate, token: &str) -> Connection {
    let mut upload = Connection::open(&gate.target());
    let head = format!(
        "POST /api/v1/files?name=x HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
        gate.address()
    );
    upload.write(head.as_bytes());
    upload.is_asked_for_the_body();
    upload.write(b"12345");
    upload
}

#[test]
fn one_sender_does_not_take_all_places_for_uploads_and_gives_them_back_when_revoked() {
    let home = Home::new();
    let gate = home.serve();
    let (ann, bob) = (home.token_for("ann", "sender"), home.token_for("bob", "sender"));
    let mut slow = [begun(&gate, &ann), begun(&gate, &ann)];
    let busy = upload(&gate, &ann, "x", b"").expect(429).json();
    assert_eq!((&busy["error"], &busy["hint"]), (&json!(42903), &json!("send one after the other")));
    uploaded(&gate, &bob, "x", b"");
    uploaded(&gate, home.token(), "x", b"");
    let tokens = home.run(&["token", "list", "--json"]).ok().json();
    let hers = tokens.as_array().unwrap().iter().find(|token| token["person"] == "ann").unwrap();
    home.run(&["token", "revoke", hers["id"].as_str().unwrap()]).ok();
    for upload in &mut slow {
        upload.patient_for(PATIENCE);
        assert_eq!(upload.read_head().unwrap().status, 403, "nothing more came of it");
    }
}

#[test]
fn files_that_wait_for_their_event_are_bounded() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_FILES_STAGED", 2);
    let gate = home.serve();
    let (ann, bob) = (home.token_for("ann", "sender"), home.token_for("bob", "sender"));
    let first = uploaded(&gate, &ann, "a", b"");
    uploaded(&gate, &ann, "b", b"");
    let refused = upload(&gate, &ann, "c", b"").expect(507).json();
    assert_eq!(refused["error"], 50701);
    assert!(refused["message"].as_str().unwrap().ends_with("already wait for their event"), "{refused}");
    uploaded(&gate, &bob, "c", b"");
    gate.post_as(&ann, "/api/v1/events", &json!({"text": "x", "files": [first]})).expect(200);
    uploaded(&gate, &ann, "c", b"");
}

#[test]
fn a_file_whose_token_was_revoked_while_it_came_is_not_kept() {
    let home = Home::new();
    let gate = home.serve();
    let ann = home.token_for("ann", "sender");
    let mut upload = begun(&gate, &ann);
    home.run(&["people", "remove", "ann"]).ok();
    upload.try_write(b"67890").ok();
    upload.patient_for(PATIENCE);
    assert_eq!(upload.read_head().unwrap().status, 403);
    assert!(!home.folder().join("files/staged").exists());
}

#[test]
fn a_token_for_other_sessions_has_other_files_although_it_is_the_same_persons() {
    let home = Home::new();
    let gate = home.serve();
    let api = home.token_with(&["ann", "--role", "sender", "--label", "api"]);
    let web = home.token_with(&["ann", "--role", "sender", "--label", "web"]);
    let file = uploaded(&gate, &api, "x", b"x");
    gate.post_as(&web, "/api/v1/events", &json!({"text": "x", "label": "web", "files": [file]})).expect(404);
    gate.post_as(&api, "/api/v1/events", &json!({"text": "x", "label": "api", "files": [file]})).expect(200);
}

#[test]
fn what_the_api_answers_is_kept_by_no_cache_and_read_as_what_it_is() {
    let home = Home::new();
    let gate = home.serve();
    for answer in [gate.get("/api/v1/sessions"), gate.get_as("wrong", "/api/v1/sessions"), gate.get("/api/v1/events/x")]
    {
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer}");
    }
}

#[test]
fn a_file_without_words_is_counted_in_plain_words() {
    let home = Home::new();
    let gate = home.serve();
    for (count, words) in [(1, "[1 file without words]"), (2, "[2 files without words]")] {
        let files: Vec<Value> = (0..count).map(|_| uploaded(&gate, home.token(), "x", b"x")).collect();
        let event = gate.post("/api/v1/events", &json!({"text": " ", "files": files})).expect(200).json();
        let shown = gate.get(&format!("/api/v1/events/{}", event["id"].as_str().unwrap())).expect(200).json();
        assert_eq!(shown["text"], words);
    }
}

/// The folders of events that have files, by their events.
fn events_with_files(home: &Home) -> Vec<String> {
    let entries = std::fs::read_dir(home.folder().join("files")).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "staged").collect()
}

#[test]
fn a_client_that_does_not_wait_leaves_no_file_behind_that_belongs_to_nothing() {
    let home = Home::new();
    let gate = home.serve();
    let ids: Vec<Value> = (0..24).map(|_| uploaded(&gate, home.token(), "x", b"x")).collect();
    for id in &ids {
        let body = json!({"text": "see the file", "files": [id]}).to_string();
        let request = format!(
            "POST /api/v1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{body}",
            gate.address(),
            home.token(),
            body.len()
        );
        Connection::open(&gate.target()).write(request.as_bytes());
    }
    // The gate has looked at all of them by then: each is one's own, and is given or still staged.
    let is_event = |id: &String| gate.get(&format!("/api/v1/events/{id}")).status == 200;
    until("every file to be an event's or staged", || {
        let given = events_with_files(&home);
        let staged = std::fs::read_dir(home.folder().join("files/staged")).unwrap().count();
        (given.len() + staged == ids.len() && given.iter().all(is_event)).then_some(())
    });
}

#[test]
fn what_is_more_than_the_journal_may_keep_goes_with_its_files_and_its_record_stays() {
    let home = Home::without_auto_start();
    home.write_config("retention_bytes = 1048576\n[limits]\nbody = 2000000\n");
    home.fix("PORTCULLIS_TEST_KEEP_TEXT", 0);
    let gate = home.serve();
    let [old, new] = ["old", "new"].map(|word| {
        let file = uploaded(&gate, home.token(), "x.txt", word.as_bytes());
        let text = format!("{word} {}", "x".repeat(700 << 10));
        let event = gate.post("/api/v1/events", &json!({"text": text, "files": [file]})).expect(200).json();
        event["id"].as_str().unwrap().to_owned()
    });
    let mut both = [old.clone(), new.clone()];
    both.sort();
    let mut given = events_with_files(&home);
    given.sort();
    assert_eq!(given, both);
    home.fix("PORTCULLIS_TEST_RETIRE", 0);
    let gate = home.restart(&gate);
    until("the older file to go", || (events_with_files(&home) == [new.clone()]).then_some(()));
    let lines = home.run(&["log", "--json"]).ok().json_lines();
    let record = |id: &str| {
        let received = |line: &&Value| line["record"]["received"]["id"] == id;
        lines.iter().find(received).expect("the record stays").to_string()
    };
    assert!(record(&old).len() < 10_000 && record(&new).len() > 700_000, "{}", record(&old));
    gate.get(&format!("/api/v1/events/{old}/files/0")).expect(404);
    assert_eq!(gate.get(&format!("/api/v1/events/{new}/files/0")).expect(200).body, b"new");
}
