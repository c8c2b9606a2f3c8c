//! Snapshots make a start fast and nothing else: what a gate knows is what its journal says.

use super::disk::send_until_gone;
use crate::support::home::Home;
use crate::support::standin::StandIn;
use crate::support::until;
use rusqlite::Connection;
use serde_json::Value;
use std::fs;

/// What a gate tells of everything that it knows.
fn told(home: &Home) -> Vec<Value> {
    let gate = home.serve();
    let lists = ["/api/v1/events", "/api/v1/sessions?all=true", "/api/v1/asks", "/api/v1/people"];
    let told = lists.iter().map(|list| gate.get(list).expect(200).json()).collect();
    gate.kill_9();
    told
}

#[test]
fn a_gate_that_was_killed_at_any_moment_starts_with_a_snapshot_as_without_one() {
    let home = Home::without_auto_start();
    home.fix("PORTCULLIS_TEST_SNAPSHOT", 20);
    // However long the test takes, time alone changes nothing.
    home.fix("PORTCULLIS_TEST_LOST_GRACE", 3_600_000);
    let snapshot = home.folder().join("journal.db.snapshot");
    for round in 0..4 {
        let gate = home.serve();
        if round == 0 {
            // Later this would run inside a session.
            home.token_for("ann", "reviewer");
        }
        let session = StandIn::start(&home, &[]);
        home.attached(1);
        let first = gate.send_event(&format!("secret, round {round}"));
        gate.wait_for_event(&first, "delivered");
        drop(session);
        std::thread::scope(|scope| {
            scope.spawn(|| send_until_gone(&gate.target(), home.token(), &format!("secret {round}")));
            // Somewhere between one snapshot and the next.
            until("events", || (home.status()["waiting_events"].as_u64()? > 25 + 40 * round).then_some(()));
            until("a snapshot", || snapshot.exists().then_some(()));
            gate.kill_9();
        });
        let kept = fs::read(&snapshot).expect("one was made");
        assert!(!kept.windows(7).any(|bytes| bytes == b"secret "), "it holds no text");

        let files = ["journal.db", "journal.db-wal"].map(|name| home.folder().join(name));
        let before = files.each_ref().map(|file| fs::read(file).unwrap());
        let with = told(&home);
        for (file, bytes) in files.iter().zip(&before) {
            fs::write(file, bytes).unwrap();
        }
        drop(fs::remove_file(home.folder().join("journal.db-shm")));
        fs::remove_file(&snapshot).unwrap();
        let without = told(&home);
        assert_eq!(with, without, "round {round}");
    }
    home.run(&["log", "verify"]).ok();
}

#[test]
fn an_erasure_that_leaves_copies_in_the_log_is_recorded_and_made_good_later() {
    let home = Home::without_auto_start();
    let gate = home.serve();
    let event = gate.send_event("a password");
    let reader = Connection::open(home.folder().join("journal.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM batch").unwrap();
    let refused = home.run(&["log", "redact", &format!("event/{event}")]);
    assert!(refused.stderr.contains("write-ahead log"), "{}", refused.stderr);
    assert_eq!(home.records("redacted").len(), 1, "it was erased from the journal, and that is told");
    reader.execute_batch("COMMIT").unwrap();
    drop(reader);
    gate.kill_9();
    let gate = home.serve();
    let holds = |bytes: &[u8]| bytes.windows(10).any(|window| window == b"a password");
    let left: Vec<String> = home.files().into_iter().filter(|(_, bytes)| holds(bytes)).map(|(name, _)| name).collect();
    assert!(left.is_empty(), "{left:?}");
    gate.kill_9();
    home.run(&["log", "verify"]).ok();
}
