//! What a journal on disk promises beyond the story: it is still there, it is private, and what was erased is gone.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

use super::Journal;
use super::version::STEPS;
use crate::store::story::appending;
use crate::store::{Append, Durability, Entry, Payload, Refused, Seq, Store};

const BOTH: [Durability; 2] = [Durability::Process, Durability::Power];

/// A folder that cleans up after itself, and where the journal is in it.
pub(super) fn place() -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("journal.db");
    (folder, path)
}

/// Does not wait long for others.
pub(super) fn impatient(path: &Path) -> Journal {
    Journal::open_with(path, Durability::Process, STEPS, Duration::from_millis(10)).unwrap()
}

#[tokio::test]
async fn a_journal_opened_again_is_the_same() {
    for durability in BOTH {
        let (_folder, path) = place();
        let mut store = Store::sqlite(&path, durability).unwrap();
        store.append(vec![appending("ask/1", None, &["asked", "allowed"])]).await;
        let (records, head) = (store.records().page(Seq(0), 10).unwrap(), store.records().head().unwrap());
        drop(store);

        let mut store = Store::sqlite(&path, durability).unwrap();
        assert_eq!(
            (store.records().page(Seq(0), 10).unwrap(), store.records().head().unwrap()),
            (records, head.clone())
        );
        assert_eq!(store.append(vec![appending("ask/1", Some(2), &["ran"])]).await, [Ok(Seq(3))]);
        assert_eq!(store.records().verify(Some(&head)).unwrap().records, 3);
    }
}

#[tokio::test]
async fn a_closed_journal_is_one_file() {
    for durability in BOTH {
        let (folder, path) = place();
        let mut store = Store::sqlite(&path, durability).unwrap();
        store.append(vec![appending("ask/1", None, &["asked"])]).await;
        drop(store);
        let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files, [path]);
    }
}

#[tokio::test]
async fn nobody_else_may_read_the_journal_or_its_side_files() {
    let (folder, path) = place();
    drop(Store::sqlite(&path, Durability::Power).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let mut store = Store::sqlite(&path, Durability::Power).unwrap();
    store.append(vec![appending("ask/1", None, &["asked"])]).await;
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(Result::unwrap).collect();
    assert_eq!(files.len(), 3, "the journal, -wal and -shm");
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", file.path().display());
    }
}

#[test]
fn on_the_callers_thread_an_append_is_in_at_once() {
    let (_folder, path) = place();
    let mut store = Store::sqlite(&path, Durability::Process).unwrap();
    let append = pin!(store.append(vec![appending("ask/1", None, &["asked"])]));
    assert_eq!(append.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(vec![Ok(Seq(1))]));
}

#[tokio::test]
async fn an_append_nobody_waits_for_is_written_all_the_same() {
    let (_folder, path) = place();
    let mut store = Store::sqlite(&path, Durability::Power).unwrap();
    for number in 0..4 {
        let subject = format!("ask/{number}");
        let append = pin!(store.append(vec![appending(&subject, None, &["asked"])]));
        drop(append.poll(&mut Context::from_waker(Waker::noop())));
    }
    assert_eq!(store.append(vec![appending("ask/4", None, &["asked"])]).await, [Ok(Seq(5))]);
}

#[tokio::test]
async fn two_processes_on_one_journal_keep_one_chain() {
    let (_folder, path) = place();
    let mut ours = Store::sqlite(&path, Durability::Process).unwrap();
    let mut theirs = Store::sqlite(&path, Durability::Power).unwrap();
    assert_eq!(ours.append(vec![appending("ask/1", None, &["asked"])]).await, [Ok(Seq(1))]);
    assert_eq!(theirs.append(vec![appending("ask/1", Some(1), &["allowed"])]).await, [Ok(Seq(2))]);
    let late = ours.append(vec![appending("ask/1", Some(1), &["denied"]), appending("ask/2", None, &["asked"])]).await;
    assert_eq!(late, [Err(Refused::Conflict { last: Some(Seq(2)) }), Ok(Seq(3))]);
    assert_eq!(theirs.records().verify(Some(&ours.records().head().unwrap())).unwrap().records, 3);
}

#[test]
fn a_batch_that_fails_leaves_nothing_behind() {
    let (_folder, path) = place();
    let mut journal = impatient(&path);
    let pages: i64 = journal.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let allow = |journal: &Journal, pages: i64| {
        journal.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    };

    allow(&journal, pages + 1);
    let large = Entry { at: 0, body: vec![0; 100_000], payload: None };
    let large = Append { subject: "event/2".to_owned(), after: None, fresh: false, entries: vec![large] };
    let answers = journal.append(&[appending("event/1", None, &["arrived"]), large.clone()]);
    assert!(matches!(&answers[..], [Err(Refused::Failed(_)), Err(Refused::Failed(_))]), "{answers:?}");

    allow(&journal, 1_000);
    assert_eq!(journal.append(&[large]), [Ok(Seq(1))]);
    assert_eq!(journal.verify(None).unwrap().records, 1);
}

#[test]
fn an_append_that_finds_the_journal_held_fails_and_can_be_tried_again() {
    let (_folder, path) = place();
    let mut journal = impatient(&path);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let asked = [appending("ask/1", None, &["asked"])];
    let held = Refused::Failed("appending to the journal: database is locked".to_owned());
    assert_eq!(journal.append(&asked), [Err(held)]);
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(journal.append(&asked), [Ok(Seq(1))]);
}

#[tokio::test]
async fn an_erased_payload_is_nowhere_on_the_disk() {
    // Enough that SQLite would move some to other pages, were rows deleted.
    const ROUNDS: usize = 200;
    for durability in BOTH {
        let (_folder, path) = place();
        let mut store = Store::sqlite(&path, durability).unwrap();
        // Small ones share a page, large ones fill several; those of one subject lie scattered among the others.
        let secret = |subject: usize, round: usize| {
            let marker = format!("<secret {subject:02}>");
            marker.repeat(1 + subject * round % 13 + (round % 50 / 49) * 600).into_bytes()
        };
        let mut last = [None; 50];
        for round in 0..ROUNDS {
            let append = |subject: usize| {
                let entry = Entry { at: 0, body: b"arrived".to_vec(), payload: Some(secret(subject, round).into()) };
                Append { subject: format!("event/{subject}"), after: last[subject], fresh: false, entries: vec![entry] }
            };
            let answers = store.append((0..50).map(append).collect()).await;
            last = answers.into_iter().map(Result::ok).collect::<Vec<_>>().try_into().unwrap();
        }
        // In no order: what one erasure leaves must not hide from the next.
        for subject in (0..50).map(|step| step * 37 % 50).filter(|subject| subject % 5 != 0) {
            assert_eq!(store.erase(&format!("event/{subject}")).unwrap().payloads, ROUNDS);
        }

        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(fs::read(path.with_extension("db-wal")).unwrap());
        let markers = bytes.windows(10).filter(|window| window.starts_with(b"<secret "));
        // One at the end of a page may be cut there, and then has no number.
        let left: BTreeSet<usize> =
            markers.filter_map(|marker| str::from_utf8(&marker[8..]).ok()?.parse().ok()).collect();
        assert_eq!(left, (0..50).step_by(5).collect());
        assert_eq!(store.records().read("event/1").unwrap()[7].payload, Payload::Erased);
        assert_eq!(store.records().read("event/5").unwrap()[7].payload, Payload::Kept(secret(5, 7)));
        assert_eq!(store.records().verify(None).unwrap().records, 50 * ROUNDS as u64);
    }
}

#[test]
fn an_erasure_that_cannot_reach_the_log_says_so_and_can_be_tried_again() {
    let (_folder, path) = place();
    let mut journal = impatient(&path);
    journal.append(&[appending("ask/1", None, &["asked"])]);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN; SELECT count(*) FROM batch").unwrap();
    let erasure = journal.erase("ask/1").unwrap();
    assert!(erasure.payloads == 1 && erasure.left.is_some(), "{erasure:?}");
    other.execute_batch("COMMIT").unwrap();
    let erasure = journal.erase("ask/1").unwrap();
    assert!(erasure.payloads == 0 && erasure.left.is_none(), "{erasure:?}");
    assert!(!log_holds(&path, b"asked, in full"));
}

/// Of one record, erased or not.
fn log_holds(path: &std::path::Path, what: &[u8]) -> bool {
    let log = fs::read(path.with_extension("db-wal")).unwrap();
    log.windows(what.len()).any(|bytes| bytes == what)
}

#[test]
fn what_was_erased_goes_from_the_log_also_when_whoever_erased_it_was_killed_before_that() {
    for how in ["opened", "retired"] {
        let (_folder, path) = place();
        let mut journal = impatient(&path);
        journal.append(&[appending("ask/1", None, &["asked"])]);
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN; SELECT count(*) FROM batch").unwrap();
        // As far as one came who was killed then.
        assert!(journal.erase("ask/1").unwrap().left.is_some());
        assert!(log_holds(&path, b"asked, in full"));
        other.execute_batch("COMMIT").unwrap();
        match how {
            "opened" => drop(Store::sqlite(&path, Durability::Process).unwrap()),
            _ => {
                let nothing = super::Retention { not_before: 0, most_bytes: 1 << 30, keep_after: 0 };
                assert_eq!(super::retire(&path, nothing).unwrap().erased, 0);
            }
        }
        assert!(!log_holds(&path, b"asked, in full"), "{how}");
        assert!(!journal.is_unemptied(), "{how}");
    }
}

#[test]
fn a_journal_that_was_just_opened_turns_away_whoever_names_the_wrong_record() {
    let (_folder, path) = place();
    let written =
        impatient(&path).append(&[appending("ask/1", None, &["asked"]), appending("ask/2", None, &["asked"])]);
    assert_eq!(written, [Ok(Seq(1)), Ok(Seq(2))]);
    let conflict = |last: u64| Err(Refused::Conflict { last: Some(Seq(last)) });
    for (append, answer) in [
        (appending("ask/1", None, &["asked again"]), conflict(1)),
        (appending("ask/1", Some(2), &["allowed"]), conflict(1)),
        (appending("ask/3", Some(2), &["allowed"]), Err(Refused::Conflict { last: None })),
        (appending("ask/1", Some(1), &["allowed"]), Ok(Seq(3))),
        (appending("ask/3", None, &["asked"]), Ok(Seq(3))),
    ] {
        let (_elsewhere, copy) = place();
        fs::copy(&path, &copy).unwrap();
        let mut journal = impatient(&copy);
        assert_eq!(journal.last_of("ask/2").unwrap(), Some(Seq(2)));
        assert_eq!(journal.append(std::slice::from_ref(&append)), [answer], "{append:?}");
        // And once more, now that it knows its subjects.
        let [last, other] = ["ask/1", "ask/9"].map(|subject| journal.last_of(subject).unwrap());
        assert_eq!(last, Some(if append.subject == "ask/1" && append.after == Some(Seq(1)) { Seq(3) } else { Seq(1) }));
        assert_eq!(other, None);
        assert_eq!(journal.append(&[appending("ask/2", None, &["asked again"])]), [conflict(2)]);
    }
}

#[test]
fn an_event_that_is_said_to_be_new_is_taken_at_its_word_once() {
    let (_folder, path) = place();
    let mut journal = impatient(&path);
    let fresh = Append { fresh: true, ..appending("event/1", None, &["arrived"]) };
    assert_eq!(
        journal.append(&[fresh.clone(), fresh.clone()]),
        [Ok(Seq(1)), Err(Refused::Conflict { last: Some(Seq(1)) })]
    );
    assert_eq!(journal.append(&[fresh]), [Err(Refused::Conflict { last: Some(Seq(1)) })]);
}
