//! Whoever changes the file behind our back is found out.

use std::path::Path;

use rusqlite::Connection;

use super::form::{self, NewRecord, RowRecords};
use super::tests::place;
use crate::store::chain::{self, GENESIS, Skeleton};
use crate::store::story::appending;
use crate::store::{Append, Durability, Entry, Seq, Store, Verified, VerifyError};

const WRITER: &str = "SELECT value FROM meta WHERE name = 'writer'";

/// A record that can be changed.
#[derive(Clone)]
struct Open {
    writer: Vec<u8>,
    subject: Vec<u8>,
    after: u64,
    at: u64,
    body: Vec<u8>,
    digest: Option<Vec<u8>>,
    chain: Vec<u8>,
    payload: Option<(Vec<u8>, Vec<u8>)>,
}

/// What someone does to the records of a journal.
type Change<'a> = &'a dyn Fn(&mut Vec<Open>);
/// What someone does to one of them.
type Edit = fn(&mut Open);

/// Writes the one row of a journal anew, as somebody would who knows its form.
fn change(path: &Path, change: Change<'_>) {
    let connection = Connection::open(path).unwrap();
    let writer: Vec<u8> = connection.query_row(WRITER, [], |row| row.get(0)).unwrap();
    let bytes: Vec<u8> = connection.query_row("SELECT bytes FROM batch", [], |row| row.get(0)).unwrap();
    let mut records: Vec<Open> = RowRecords::of(Seq(1), &bytes)
        .unwrap()
        .map(|record| {
            let found = record.unwrap().found();
            let Skeleton { writer, subject, after, at, body, digest } = found.skeleton;
            Open {
                writer: writer.to_vec(),
                subject: subject.to_vec(),
                after,
                at,
                body: body.to_vec(),
                digest: digest.map(<[u8]>::to_vec),
                chain: found.chain.to_vec(),
                payload: found.payload.map(|(salt, bytes)| (salt.to_vec(), bytes.to_vec())),
            }
        })
        .collect();
    change(&mut records);
    connection.execute("DELETE FROM batch", []).unwrap();
    // A row has one writer.
    for (place, record) in records.iter().enumerate() {
        let mut row = vec![];
        form::begin(&mut row, if record.writer.is_empty() { &writer } else { &record.writer });
        let Open { writer, subject, after, at, body, digest, chain, payload } = record;
        let skeleton = Skeleton { writer, subject, after: *after, at: *at, body, digest: digest.as_deref() };
        let payload = payload.as_ref().map(|(salt, bytes)| (salt.as_slice(), bytes.as_slice()));
        form::put(&mut row, &NewRecord { skeleton, chain, payload });
        connection.execute("INSERT INTO batch VALUES (?1, 1, ?2)", (place as i64 + 1, row)).unwrap();
    }
}

/// Writes five records, the fourth without a payload; lets `tamper` at them; then verifies against the head noted before.
async fn verify_after(tamper: impl FnOnce(&Path)) -> (Result<Verified, VerifyError>, Result<Verified, VerifyError>) {
    let (_folder, path) = place();
    let mut store = Store::sqlite(&path, Durability::Process).unwrap();
    let bare = Entry { at: 4, body: b"withdrawn".to_vec(), payload: None };
    let answers = store
        .append(vec![
            appending("ask/1", None, &["asked", "allowed"]),
            appending("ask/2", None, &["asked"]),
            Append { subject: "ask/3".to_owned(), after: None, fresh: false, entries: vec![bare] },
            appending("ask/4", None, &["asked"]),
        ])
        .await;
    assert_eq!(answers, [2, 3, 4, 5].map(|seq| Ok(Seq(seq))));
    let head = store.records().head().unwrap();
    drop(store);

    tamper(&path);
    let store = Store::sqlite(&path, Durability::Process).unwrap();
    (store.records().verify(None), store.records().verify(Some(&head)))
}

fn run(sql: &str) -> impl FnOnce(&Path) {
    move |path| Connection::open(path).unwrap().execute_batch(sql).unwrap()
}

#[track_caller]
fn is_broken_at(
    at: u64,
    what: &str,
    (without_head, with_head): &(Result<Verified, VerifyError>, Result<Verified, VerifyError>),
) {
    for verified in [without_head, with_head] {
        assert!(matches!(verified, Err(VerifyError::Broken { seq, .. }) if *seq == Seq(at)), "{what}: {verified:?}");
    }
}

async fn assert_found(at: u64, what: &str, tamper: Change<'_>) {
    is_broken_at(at, what, &verify_after(|path| change(path, tamper)).await);
}

#[tokio::test]
async fn an_untouched_journal_verifies() {
    let (without_head, with_head) = verify_after(|_| {}).await;
    assert_eq!(without_head.unwrap(), with_head.unwrap());
    // Also when its records stand in other rows than they did.
    let (without_head, with_head) = verify_after(|path| change(path, &|_| {})).await;
    assert_eq!(without_head.unwrap(), with_head.unwrap());
}

#[tokio::test]
async fn a_changed_record_is_found_whichever_part_was_changed() {
    let changes: [(&str, Edit); 9] = [
        ("subject", |record| record.subject = b"ask/9".to_vec()),
        ("after", |record| record.after = 7),
        ("at", |record| record.at += 1),
        ("writer", |record| record.writer = vec![1]),
        ("body", |record| record.body = vec![0]),
        ("no body", |record| record.body.clear()),
        ("digest", |record| record.digest = Some(vec![0; 32])),
        ("no digest", |record| (record.digest, record.payload) = (None, None)),
        ("chain", |record| record.chain = vec![0; 32]),
    ];
    for (what, change) in changes {
        assert_found(2, what, &|records| change(&mut records[1])).await;
    }
    assert_found(2, "the chain of another", &|records| records[1].chain = records[0].chain.clone()).await;
}

#[tokio::test]
async fn a_changed_payload_is_found() {
    let payload = |salt: &[u8], bytes: &[u8]| Some((salt.to_vec(), bytes.to_vec()));
    let salt = |record: &Open| record.payload.clone().unwrap().0;
    assert_found(3, "bytes", &|records| records[2].payload = payload(&salt(&records[2]), &[0])).await;
    assert_found(3, "salt", &|records| records[2].payload.as_mut().unwrap().0 = vec![0]).await;
    assert_found(3, "no salt", &|records| records[2].payload.as_mut().unwrap().0.clear()).await;
    assert_found(4, "added later", &|records| records[3].payload = payload(&[0], &[0])).await;
}

#[tokio::test]
async fn an_erased_payload_is_told_unless_it_has_had_its_time() {
    let erase: Change<'_> = &|records| records[2].payload = None;
    let told = |verified: Result<Verified, VerifyError>| {
        verified.unwrap().erased.into_iter().map(|erased| (erased.seq.0, erased.subject)).collect::<Vec<_>>()
    };
    let (without_head, with_head) = verify_after(|path| change(path, erase)).await;
    assert_eq!(told(without_head), [(3, "ask/2".to_owned())]);
    assert_eq!(told(with_head).len(), 1);
    let retired = "INSERT INTO meta VALUES ('retired', x'0000000000000003')";
    let erased_and_retired = |path: &Path| {
        change(path, erase);
        run(retired)(path);
    };
    assert_eq!(told(verify_after(erased_and_retired).await.0), []);
    // What is said to have had its time, and is of today, has not.
    let (_folder, path) = place();
    let mut store = Store::sqlite(&path, Durability::Process).unwrap();
    let at = super::retention::youngest_retired() + 3_600_000;
    let entries = vec![Entry { at, body: b"asked".to_vec(), payload: Some(b"x".to_vec().into()) }];
    let append = Append { subject: "ask/1".to_owned(), after: None, fresh: false, entries };
    store.append(vec![append]).await[0].clone().unwrap();
    drop(store);
    change(&path, &|records| records[0].payload = None);
    run(retired)(&path);
    assert_eq!(told(Store::sqlite(&path, Durability::Process).unwrap().records().verify(None)).len(), 1);
}

#[tokio::test]
async fn a_record_that_another_writer_put_in_is_found() {
    let skeleton = Skeleton { writer: b"eve", subject: b"ask/9", after: 0, at: 1, body: b"{}", digest: None };
    let of_eve = Open {
        writer: b"eve".to_vec(),
        subject: b"ask/9".to_vec(),
        after: 0,
        at: 1,
        body: b"{}".to_vec(),
        digest: None,
        chain: skeleton.chained_to(&GENESIS).to_vec(),
        payload: None,
    };
    assert_found(6, "at the end", &|records| records.push(of_eve.clone())).await;
    assert_found(3, "in between", &|records| records.insert(2, of_eve.clone())).await;
    // Under the name of the journal's own writer it does not fit the chain.
    let named = Open { writer: vec![], chain: chain::digest(b"", b"").to_vec(), ..of_eve };
    assert_found(6, "in the name of the writer", &|records| records.push(named.clone())).await;
}

#[tokio::test]
async fn a_removed_record_is_found() {
    assert_found(1, "the first", &|records| drop(records.remove(0))).await;
    assert_found(3, "one in between", &|records| drop(records.remove(2))).await;
    // With its row, and the gap left open or closed.
    let apart = |path: &Path| change(path, &|_| {});
    for gap in ["", "; UPDATE batch SET first_seq = first_seq - 1 WHERE first_seq > 3"] {
        let removed = verify_after(|path| {
            apart(path);
            run(&format!("DELETE FROM batch WHERE first_seq = 3{gap}"))(path);
        });
        is_broken_at(3, gap, &removed.await);
    }
}

#[tokio::test]
async fn reordered_records_are_found() {
    assert_found(2, "swapped", &|records| records.swap(1, 2)).await;
}

#[tokio::test]
async fn a_row_that_was_damaged_or_miscounted_is_found() {
    for (sql, at) in [
        ("UPDATE batch SET count = count - 1", 6),
        ("UPDATE batch SET count = count + 1", 6),
        ("UPDATE batch SET first_seq = 2", 1),
        ("UPDATE batch SET bytes = x''", 1),
        ("UPDATE batch SET bytes = x'0200'", 1),
        ("UPDATE batch SET bytes = substr(bytes, 1, length(bytes) - 1)", 5),
        ("UPDATE batch SET bytes = CAST(bytes || x'00' AS BLOB)", 6),
        // A row without records hides others, or the end.
        ("INSERT INTO batch VALUES (3, 0, x'0100')", 3),
        ("INSERT INTO batch VALUES (1000, 0, x'0100')", 1000),
    ] {
        is_broken_at(at, sql, &verify_after(run(sql)).await);
    }
}

#[tokio::test]
async fn a_cut_tail_is_found_by_whoever_noted_the_head() {
    let (without_head, with_head) = verify_after(|path| change(path, &|records| records.truncate(3))).await;
    assert_eq!(without_head.unwrap().records, 3);
    assert!(matches!(with_head, Err(VerifyError::Broken { seq: Seq(4), .. })), "{with_head:?}");
}
