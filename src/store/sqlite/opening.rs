//! Journals that are not as expected: older, newer, damaged, held or not ours at all.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::Journal;
use super::tests::place;
use super::version::STEPS;
use crate::store::story::appending;
use crate::store::{Durability, OpenError, Seq};

/// A version that is still to come.
const TWO_STEPS: &[&str] = &[STEPS[0], "CREATE TABLE lease (name TEXT PRIMARY KEY) STRICT; DELETE FROM payload"];

fn open(path: &Path, steps: &[&str]) -> Result<Journal, OpenError> {
    Journal::open_with(path, Durability::Process, steps, Duration::from_millis(10))
}

fn refusal(path: &Path, steps: &[&str]) -> OpenError {
    open(path, steps).err().unwrap()
}

fn write_one_record(path: &Path) {
    open(path, STEPS).unwrap().append(&[appending("ask/1", None, &["asked"])]);
}

#[test]
fn an_older_journal_is_backed_up_and_upgraded() {
    let (_folder, path) = place();
    write_one_record(&path);
    let before = open(&path, STEPS).unwrap().page(Seq(0), 10).unwrap();

    let upgraded = open(&path, TWO_STEPS).unwrap();
    upgraded.connection.execute("INSERT INTO lease VALUES ('telegram')", []).unwrap();
    assert_ne!(upgraded.page(Seq(0), 10).unwrap(), before);
    upgraded.verify(None).unwrap();
    drop(upgraded);
    open(&path, TWO_STEPS).unwrap();

    let backup = path.with_extension("db.v1.backup");
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!path.with_extension("db.v1.backup.partial").exists());
    assert_eq!(open(&backup, STEPS).unwrap().page(Seq(0), 10).unwrap(), before);
}

#[test]
fn a_new_journal_needs_no_backup() {
    let (folder, path) = place();
    drop(open(&path, TWO_STEPS).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_upgrade_that_fails_changes_nothing() {
    let (_folder, path) = place();
    write_one_record(&path);
    let refused = refusal(&path, &[STEPS[0], "DROP TABLE payload", "DROP TABLE no_such_table"]);
    assert!(matches!(refused, OpenError::Failed { .. }), "{refused:?}");
    assert_eq!(open(&path, STEPS).unwrap().verify(None).unwrap().records, 1);
}

#[test]
fn an_upgrade_without_a_backup_does_not_happen() {
    let (_folder, path) = place();
    write_one_record(&path);
    fs::create_dir(path.with_extension("db.v1.backup.partial")).unwrap();
    let refused = refusal(&path, TWO_STEPS);
    assert!(matches!(refused, OpenError::Backup { .. }), "{refused:?}");
    assert_eq!(open(&path, STEPS).unwrap().verify(None).unwrap().records, 1);
}

#[test]
fn a_newer_journal_is_refused_and_the_backup_named() {
    let (_folder, path) = place();
    write_one_record(&path);
    drop(open(&path, TWO_STEPS).unwrap());

    let refused = refusal(&path, STEPS);
    let there = path.with_extension("db.v1.backup");
    assert!(
        matches!(&refused, OpenError::Newer { found: 2, known: 1, backup: Some(backup), .. } if *backup == there),
        "{refused:?}"
    );
    assert!(refused.hint().contains("journal.db.v1.backup"), "{}", refused.hint());

    fs::copy(&there, &path).unwrap();
    assert_eq!(open(&path, STEPS).unwrap().verify(None).unwrap().records, 1);
}

#[test]
fn a_newer_journal_without_a_backup_is_refused_untouched() {
    let (_folder, path) = place();
    drop(open(&path, TWO_STEPS).unwrap());
    let before = fs::read(&path).unwrap();
    let refused = refusal(&path, STEPS);
    assert!(matches!(refused, OpenError::Newer { backup: None, .. }), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_damaged_journal_is_refused_and_the_backup_named() {
    let (_folder, path) = place();
    write_one_record(&path);
    drop(open(&path, TWO_STEPS).unwrap());
    let whole = fs::read(&path).unwrap();
    for damaged in [&b"a text that someone has saved over the journal"[..], &whole[..whole.len() / 2], &[0; 4096]] {
        fs::write(&path, damaged).unwrap();
        let refused = refusal(&path, TWO_STEPS);
        assert!(matches!(refused, OpenError::Corrupt { backup: Some(_), .. }), "{refused:?}");
        assert!(refused.hint().contains("journal.db.v1.backup"), "{}", refused.hint());
        assert_eq!(fs::read(&path).unwrap(), damaged);
    }
}

#[test]
fn the_database_of_another_program_is_left_alone() {
    let (_folder, path) = place();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE cookies (name TEXT)").unwrap();
    let before = fs::read(&path).unwrap();
    let refused = refusal(&path, STEPS);
    assert!(matches!(refused, OpenError::Foreign { .. }), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_journal_held_by_another_process_is_refused() {
    let (_folder, path) = place();
    write_one_record(&path);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let refused = refusal(&path, STEPS);
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused:?}");
}

#[test]
fn a_path_that_cannot_be_a_journal_is_refused() {
    let (folder, path) = place();
    let before = fs::metadata(folder.path()).unwrap().permissions();
    for path in [folder.path(), &path.join("no/such/folder")] {
        let refused = refusal(path, STEPS);
        assert!(matches!(refused, OpenError::Unreadable { .. }), "{refused:?}");
    }
    assert_eq!(fs::metadata(folder.path()).unwrap().permissions(), before);
}
