//! Journals that are not as expected: older, newer, damaged, held or not ours at all.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::Journal;
use super::files::beside;
use super::tests::place;
use super::version::{STEPS, UpgradeStep};
use crate::store::chain::{self, GENESIS, Skeleton};
use crate::store::story::appending;
use crate::store::{Durability, OpenError, Payload, Seq, VerifyError};

/// A version that is still to come.
const NEXT: &[UpgradeStep] = &[
    STEPS[0],
    STEPS[1],
    STEPS[2],
    UpgradeStep::Sql("CREATE TABLE lease (name TEXT PRIMARY KEY) STRICT; DELETE FROM batch WHERE first_seq = 2"),
];

fn open(path: &Path, steps: &[UpgradeStep]) -> Result<Journal, OpenError> {
    Journal::open_with(path, Durability::Process, steps, Duration::from_millis(10))
}

fn refusal(path: &Path, steps: &[UpgradeStep]) -> OpenError {
    open(path, steps).err().unwrap()
}

fn write_one_record(path: &Path) {
    open(path, STEPS).unwrap().append(&[appending("ask/1", None, &["asked"])])[0].clone().unwrap();
}

#[test]
fn an_older_journal_is_backed_up_and_upgraded() {
    let (_folder, path) = place();
    write_one_record(&path);
    open(&path, STEPS).unwrap().append(&[appending("ask/2", None, &["asked"])]);
    let before = open(&path, STEPS).unwrap().page(Seq(0), 10).unwrap();

    let upgraded = open(&path, NEXT).unwrap();
    upgraded.connection.execute("INSERT INTO lease VALUES ('telegram')", []).unwrap();
    assert_ne!(upgraded.page(Seq(0), 10).unwrap(), before);
    upgraded.verify(None).unwrap();
    drop(upgraded);
    open(&path, NEXT).unwrap();

    let backup = path.with_extension("db.v3.backup");
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!path.with_extension("db.v3.backup.partial").exists());
    assert_eq!(open(&backup, STEPS).unwrap().page(Seq(0), 10).unwrap(), before);
}

#[test]
fn a_journal_with_payloads_apart_is_the_same_with_them_in_its_records() {
    let (_folder, path) = place();
    let apart = open(&path, &STEPS[..1]).unwrap();
    let mut previous = GENESIS;
    for (seq, payload) in (1_u64..).zip([Some("asked"), None, Some("erased"), Some("allowed")]) {
        let digest = payload.map(|payload| chain::digest(b"salt", payload.as_bytes()));
        let subject = format!("ask/{seq}");
        let skeleton = Skeleton {
            writer: &apart.writer,
            subject: subject.as_bytes(),
            after: 0,
            at: seq,
            body: b"{}",
            digest: digest.as_ref().map(<[u8; 32]>::as_slice),
        };
        previous = skeleton.chained_to(&previous);
        let record = "INSERT INTO record VALUES (?1, ?2, 0, ?1, ?3, x'7b7d', ?4, ?5)";
        apart.connection.execute(record, (seq as i64, &subject, &apart.writer, digest, previous)).unwrap();
        if payload.is_some() {
            let insert = "INSERT INTO payload VALUES (?1, x'73616c74', ?2)";
            apart.connection.execute(insert, (seq as i64, payload.map(str::as_bytes))).unwrap();
        }
    }
    apart.connection.execute("UPDATE payload SET salt = NULL, bytes = NULL WHERE seq = 3", []).unwrap();
    drop(apart);

    drop(open(&path, &STEPS[..2]).unwrap());
    assert!(path.with_extension("db.v1.backup").exists());
    let mut together = open(&path, STEPS).unwrap();
    assert_eq!(together.verify(None).unwrap().records, 4);
    let kept = |text: &str| Payload::Kept(text.into());
    let payloads: Vec<_> = together.page(Seq(0), 10).unwrap().into_iter().map(|record| record.payload).collect();
    assert_eq!(payloads, [kept("asked"), Payload::None, Payload::Erased, kept("allowed")]);
    assert_eq!(together.append(&[appending("ask/4", Some(4), &["ran"])]), [Ok(Seq(5))]);
    assert_eq!(together.verify(None).unwrap().records, 5);
    assert!(path.with_extension("db.v2.backup").exists());
}

/// A journal with a row for each record, as version 2 has it.
fn write_version_2(path: &Path, records: u64) {
    let old = open(path, &STEPS[..2]).unwrap();
    old.connection.execute_batch("BEGIN").unwrap();
    let mut previous = GENESIS;
    for seq in 1..=records {
        let (subject, payload) = (format!("ask/{seq}"), format!("{seq} ").repeat(50));
        let digest = chain::digest(b"salt", payload.as_bytes());
        let skeleton = Skeleton {
            writer: &old.writer,
            subject: subject.as_bytes(),
            after: 0,
            at: seq,
            body: b"{}",
            digest: Some(&digest),
        };
        previous = skeleton.chained_to(&previous);
        let record = "INSERT INTO record VALUES (?1, ?2, 0, ?1, ?3, x'7b7d', ?4, ?5, x'73616c74', ?6)";
        let values = (seq as i64, &subject, &old.writer, digest, previous, payload.as_bytes());
        old.connection.execute(record, values).unwrap();
    }
    old.connection.execute_batch("COMMIT").unwrap();
}

#[test]
fn an_upgrade_that_is_killed_half_way_leaves_the_journal_as_it_was() {
    let (_folder, path) = place();
    write_version_2(&path, 3_000);
    let (_elsewhere, copy) = place();
    {
        let upgrading = Connection::open(&path).unwrap();
        // So little memory that it writes to the disk before it is done.
        upgrading.execute_batch("PRAGMA journal_mode = WAL; PRAGMA cache_size = 10; BEGIN EXCLUSIVE").unwrap();
        super::packing::pack(&upgrading).unwrap();
        // What a process leaves that is killed now.
        for suffix in ["", "-wal"] {
            fs::copy(beside(&path, suffix), beside(&copy, suffix)).unwrap();
        }
        assert!(fs::metadata(beside(&copy, "-wal")).unwrap().len() > 100_000);
    }
    for journal in [&path, &copy] {
        let old: u32 =
            Connection::open(journal).unwrap().query_row("SELECT count(*) FROM record", [], |row| row.get(0)).unwrap();
        assert_eq!(old, 3_000);
        let journal = open(journal, STEPS).unwrap();
        assert_eq!(journal.verify(None).unwrap().records, 3_000);
        let rows: u32 = journal.connection.query_row("SELECT count(*) FROM batch", [], |row| row.get(0)).unwrap();
        assert!((5..100).contains(&rows), "{rows} rows");
        assert_eq!(journal.read("ask/2999").unwrap()[0].payload, Payload::Kept("2999 ".repeat(50).into()));
    }
}

#[test]
fn what_was_changed_before_an_upgrade_is_found_after_it() {
    for (sql, at) in [
        ("UPDATE record SET body = x'00' WHERE seq = 2", 2),
        ("UPDATE record SET digest = NULL WHERE seq = 2", 2),
        ("UPDATE record SET chain = x'00' WHERE seq = 2", 2),
        ("UPDATE record SET writer = x'00' WHERE seq = 2", 2),
        ("UPDATE record SET salt = NULL WHERE seq = 2", 2),
        ("UPDATE record SET bytes = x'00' WHERE seq = 2", 2),
        ("DELETE FROM record WHERE seq = 2", 2),
        ("DELETE FROM record WHERE seq = 2; UPDATE record SET seq = seq - 1 WHERE seq > 2", 2),
    ] {
        let (_folder, path) = place();
        write_version_2(&path, 4);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let verified = open(&path, STEPS).unwrap().verify(None);
        assert!(
            matches!(verified, Err(VerifyError::Broken { seq: Seq(found), .. }) if found == at),
            "{sql}: {verified:?}"
        );
    }
}

#[test]
fn an_emptied_journal_is_not_taken_for_a_new_one() {
    let (_folder, path) = place();
    write_one_record(&path);
    fs::write(&path, "").unwrap();
    let refused = refusal(&path, STEPS);
    assert!(
        matches!(refused, OpenError::Emptied { .. }) && refused.hint().contains("to start a new journal"),
        "{refused:?}"
    );
    fs::remove_file(&path).unwrap();
    assert_eq!(open(&path, STEPS).unwrap().verify(None).unwrap().records, 0);
}

#[test]
fn a_new_journal_needs_no_backup() {
    let (folder, path) = place();
    drop(open(&path, NEXT).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_upgrade_that_fails_changes_nothing() {
    let (_folder, path) = place();
    write_one_record(&path);
    let refused = refusal(
        &path,
        &[
            STEPS[0],
            STEPS[1],
            STEPS[2],
            UpgradeStep::Sql("DROP TABLE meta"),
            UpgradeStep::Sql("DROP TABLE no_such_table"),
        ],
    );
    assert!(matches!(refused, OpenError::Failed { .. }), "{refused:?}");
    assert_eq!(open(&path, STEPS).unwrap().verify(None).unwrap().records, 1);
}

#[test]
fn an_upgrade_without_a_backup_does_not_happen() {
    let (_folder, path) = place();
    write_one_record(&path);
    fs::create_dir(path.with_extension("db.v3.backup.partial")).unwrap();
    let refused = refusal(&path, NEXT);
    assert!(matches!(refused, OpenError::Backup { .. }), "{refused:?}");
    assert_eq!(open(&path, STEPS).unwrap().verify(None).unwrap().records, 1);
}

#[test]
fn a_newer_journal_is_refused_and_the_backup_named() {
    let (_folder, path) = place();
    write_one_record(&path);
    drop(open(&path, NEXT).unwrap());

    let refused = refusal(&path, STEPS);
    let there = path.with_extension("db.v3.backup");
    assert!(
        matches!(&refused, OpenError::Newer { found: 4, known: 3, backup: Some(backup), .. } if *backup == there),
        "{refused:?}"
    );
    assert!(refused.hint().contains("journal.db.v3.backup"), "{}", refused.hint());

    fs::copy(&there, &path).unwrap();
    assert_eq!(open(&path, STEPS).unwrap().verify(None).unwrap().records, 1);
}

#[test]
fn a_newer_journal_without_a_backup_is_refused_untouched() {
    let (_folder, path) = place();
    drop(open(&path, NEXT).unwrap());
    let before = fs::read(&path).unwrap();
    let refused = refusal(&path, STEPS);
    assert!(matches!(refused, OpenError::Newer { backup: None, .. }), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_damaged_journal_is_refused_and_the_backup_named() {
    let (_folder, path) = place();
    write_one_record(&path);
    drop(open(&path, NEXT).unwrap());
    let whole = fs::read(&path).unwrap();
    for damaged in [&b"a text that someone has saved over the journal"[..], &whole[..whole.len() / 2], &[0; 4096]] {
        fs::write(&path, damaged).unwrap();
        let refused = refusal(&path, NEXT);
        assert!(matches!(refused, OpenError::Corrupt { backup: Some(_), .. }), "{refused:?}");
        assert!(refused.hint().contains("journal.db.v3.backup"), "{}", refused.hint());
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
