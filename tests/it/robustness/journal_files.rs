//! A journal that cannot be used stops the gate with words that say what to do, and is never changed.

use crate::support::home::Home;
use crate::support::standin::StandIn;
use std::fs;
use std::path::Path;

/// Where SQLite keeps these numbers in the first page, big-endian.
const USER_VERSION: usize = 60;
const APPLICATION_ID: usize = 68;

#[test]
fn a_journal_of_a_newer_portcullis_is_refused_and_its_backup_is_named() {
    let home = with_a_journal();
    let file = home.folder().join("journal.db");
    let ours = patch(&file, USER_VERSION, 99);
    refused(&home, "has version 99", "install the newer portcullis again; or move ");
    fs::write(home.folder().join("journal.db.v1.backup"), "").unwrap();
    refused(&home, "has version 99", "and copy ");
    patch(&file, USER_VERSION, ours);
    let gate = home.serve();
    assert_eq!(gate.get("/api/v1/events").json()[0]["bytes"], 4, "nothing was changed");
}

#[test]
fn a_journal_that_is_damaged_is_refused_and_can_be_moved_aside() {
    let home = with_a_journal();
    let file = home.folder().join("journal.db");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, [&b"no SQLite header here"[..], &whole[21..]].concat()).unwrap();
    refused(&home, "is damaged, or is not a journal", "move ");
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    refused(&home, "is damaged, or is not a journal", "move ");
    fs::rename(&file, home.folder().join("journal.db.damaged")).unwrap();
    home.serve();
}

#[test]
fn a_database_of_another_program_is_not_touched() {
    let home = with_a_journal();
    let file = home.folder().join("journal.db");
    patch(&file, APPLICATION_ID, 0x1234_5678);
    let before = fs::read(&file).unwrap();
    refused(&home, "is the database of another program", "move it elsewhere");
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn a_journal_that_cannot_be_opened_is_refused_with_a_hint_about_its_owner() {
    let home = Home::new();
    fs::create_dir(home.folder().join("journal.db")).unwrap();
    refused(&home, "cannot be opened for reading and writing", "must belong to the user");
}

#[test]
fn a_session_reports_why_no_gate_can_start() {
    let home = with_a_journal();
    patch(&home.folder().join("journal.db"), USER_VERSION, 99);
    let session = StandIn::start(&home, &[]);
    session.complaint("has version 99");
}

/// A home whose gate took one event in and stopped.
fn with_a_journal() -> Home {
    let home = Home::new();
    let gate = home.serve();
    gate.say("/", "kept").expect(200);
    gate.stop();
    assert!(!home.folder().join("journal.db-wal").exists(), "a gate that stops leaves one file");
    home
}

#[track_caller]
fn refused(home: &Home, why: &str, hint: &str) {
    for subcommand in ["serve", "up"] {
        let ran = home.run(&[subcommand]);
        assert_eq!(ran.status.code(), Some(1), "{ran:#?}");
        let hints = ran.stderr.lines().any(|line| line.trim_start().starts_with("hint: ") && line.contains(hint));
        assert!(ran.stderr.contains(why) && hints, "{ran:#?}");
        assert!(ran.stderr.contains(&*home.folder().join("journal.db").to_string_lossy()), "{ran:#?}");
    }
}

/// Puts a number there, and returns the one it takes the place of.
fn patch(file: &Path, place: usize, number: u32) -> u32 {
    let mut bytes = fs::read(file).unwrap();
    let before = u32::from_be_bytes(bytes[place..place + 4].try_into().unwrap());
    bytes[place..place + 4].copy_from_slice(&number.to_be_bytes());
    fs::write(file, bytes).unwrap();
    before
}
