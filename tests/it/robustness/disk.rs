//! The disk is full, fails, or lost the end of what was written: what was answered is there, and nothing else is claimed.

use crate::support::connection::{Connection, Target};
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::standin::StandIn;
use crate::support::until;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Preloaded into a gate, it makes its disk fail on demand. Linux only: it finds out there which file is meant.
struct FailingDisk {
    folder: tempfile::TempDir,
}

impl FailingDisk {
    fn build() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/failing_disk.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(folder.path().join("disk.so"))
            .arg(source)
            .arg("-ldl")
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Self { folder }
    }

    fn serve(&self, home: &Home, durability: &str) -> Gate {
        let mut command = home.command(&["serve"]);
        command.env("LD_PRELOAD", self.folder.path().join("disk.so"));
        command.env("FAILING_DISK", self.folder.path()).env("PORTCULLIS_DURABILITY", durability);
        Gate::start_command(home, command)
    }

    fn fails(&self, how: &str) {
        fs::write(self.folder.path().join(how), "").unwrap();
    }

    fn works(&self, how: &str) {
        fs::remove_file(self.folder.path().join(how)).unwrap();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_refuses_and_loses_nothing_and_all_goes_on_when_there_is_room() {
    for durability in ["process", "power"] {
        let home = Home::without_auto_start();
        let disk = FailingDisk::build();
        let gate = disk.serve(&home, durability);
        let before = gate.send_event("before");
        disk.fails("full");
        for _ in 0..3 {
            let refused = gate.say("/", "while it is full");
            assert_eq!(refused.status, 503, "{durability}: {}", refused.text());
            assert!(refused.text().contains("the journal could not be written"), "{}", refused.text());
        }
        disk.works("full");
        let after = gate.send_event("after");
        gate.kill_9();
        nothing_but(&home, &[&before, &after]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn after_a_sync_that_failed_nothing_is_accepted_until_the_gate_is_started_anew() {
    let home = Home::without_auto_start();
    let disk = FailingDisk::build();
    let gate = disk.serve(&home, "power");
    let before = gate.send_event("before");
    disk.fails("unsynced");
    let refused = gate.say("/", "never safe");
    assert_eq!(refused.status, 503, "{}", refused.text());
    // The disk says that it is well again, but what it has dropped it does not say.
    disk.works("unsynced");
    for _ in 0..2 {
        let refused = gate.say("/", "still refused");
        assert_eq!(refused.status, 503, "{}", refused.text());
        assert!(refused.text().contains("start the gate anew"), "{}", refused.text());
    }
    gate.kill_9();
    let gate = disk.serve(&home, "power");
    let after = gate.send_event("after");
    gate.kill_9();
    let ids = event_ids(&home);
    assert!([&before, &after].iter().all(|id| ids.contains(*id)), "{ids:?}");
    assert!(ids.len() <= 3, "what was refused after the failure was not written: {ids:?}");
}

#[test]
fn a_log_that_was_cut_short_at_any_place_leaves_a_whole_beginning() {
    for durability in ["process", "power"] {
        let home = Home::without_auto_start();
        home.write_config(&format!("durability = \"{durability}\"\n"));
        let gate = home.serve();
        let sent: Vec<String> = (0..40).map(|number| gate.send_event(&format!("number {number}"))).collect();
        gate.kill_9();
        let journal = home.folder().join("journal.db");
        let log = PathBuf::from(format!("{}-wal", journal.display()));
        let (journal_bytes, whole) = (fs::read(&journal).unwrap(), fs::read(&log).unwrap());
        assert!(whole.len() > 40 * 1000, "the events are in the log");
        let mut most = 0;
        for cut in (0..=6).map(|sixth| whole.len() * sixth / 6).map(|cut| cut.saturating_sub(cut % 7)) {
            fs::write(&journal, &journal_bytes).unwrap();
            fs::write(&log, &whole[..cut]).unwrap();
            drop(fs::remove_file(format!("{}-shm", journal.display())));
            let ids = event_ids(&home);
            let there = sent.iter().filter(|id| ids.contains(*id)).count();
            assert!(sent[..there].iter().all(|id| ids.contains(id)), "a beginning, and no hole in it");
            assert!(there >= most, "a longer log has no fewer");
            most = there;
        }
        assert!(most >= 38, "{most}");
    }
}

#[test]
fn a_gate_that_is_killed_again_and_again_loses_no_answered_event_in_either_durability() {
    for durability in ["process", "power"] {
        let home = Home::without_auto_start();
        home.write_config(&format!("durability = \"{durability}\"\n"));
        let mut accepted = BTreeSet::new();
        for round in 0..4 {
            let gate = home.serve();
            let target = gate.target();
            std::thread::scope(|scope| {
                let senders: Vec<_> = (0..4)
                    .map(|sender| {
                        let (target, token) = (target.clone(), home.token());
                        scope.spawn(move || send_until_gone(&target, token, &format!("{round} {sender}")))
                    })
                    .collect();
                let waiting = || (home.status()["waiting_events"].as_u64()? > 200 * (round + 1)).then_some(());
                until("events", waiting);
                gate.kill_9();
                accepted.extend(senders.into_iter().flat_map(|sender| sender.join().unwrap()));
            });
        }
        let ids = event_ids(&home);
        let lost: Vec<_> = accepted.difference(&ids).collect();
        // At each kill every sender may have one that was written and not answered.
        assert!(lost.is_empty() && accepted.len() + 4 * 4 > 800, "{durability}: {lost:?} of {}", accepted.len());
        let session = StandIn::start(&home, &[]);
        let gate = home.serve();
        let mut arrived = BTreeSet::new();
        while !accepted.is_subset(&arrived) {
            assert!(arrived.insert(session.next_event().meta("event_id").to_owned()), "each comes once");
        }
        gate.kill_9();
    }
}

/// Sends until the gate is gone; the ids of what it answered.
pub(super) fn send_until_gone(target: &Target, token: &str, text: &str) -> Vec<String> {
    let mut ids = vec![];
    let Ok(mut connection) = Connection::try_open(target) else { return ids };
    let request = Request::post("/").token(token).body(text);
    // No more than may wait, in all rounds together.
    for _ in 0..500 {
        let Ok(answer) = connection.exchange(&request, false) else { break };
        match answer.status {
            200 => ids.extend(answer.header("x-event-id").map(str::to_owned)),
            other => assert_eq!(other, 503, "{}", answer.text()),
        }
    }
    ids
}

/// The chain holds, and these are the events that were received.
#[track_caller]
fn nothing_but(home: &Home, events: &[&String]) {
    let expected: BTreeSet<String> = events.iter().map(|id| (*id).clone()).collect();
    assert_eq!(event_ids(home), expected);
}

/// Of all events in the journal, whose chain must hold. No gate may run.
#[track_caller]
fn event_ids(home: &Home) -> BTreeSet<String> {
    let verified = home.run(&["log", "verify", "--json"]).ok().json();
    assert_eq!(verified["ok"], true, "{verified}");
    let gate = home.serve();
    let received = home.records("received");
    gate.kill_9();
    received.iter().filter_map(|record| record["id"].as_str()).map(str::to_owned).collect()
}
