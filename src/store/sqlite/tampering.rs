//! Whoever changes the file behind our back is found out.

use rusqlite::Connection;

use super::tests::place;
use crate::store::chain::{self, GENESIS, Skeleton};
use crate::store::story::appending;
use crate::store::{Append, Durability, Entry, Seq, Store, Verified, VerifyError};

/// Writes five records, the fourth without a payload; lets `sql` at them; then verifies against the head noted before.
async fn verify_after(sql: &str) -> (Result<Verified, VerifyError>, Result<Verified, VerifyError>) {
    let (_folder, path) = place();
    let mut store = Store::sqlite(&path, Durability::Process).unwrap();
    let bare = Entry { at: 4, body: b"withdrawn".to_vec(), payload: None };
    let answers = store
        .append(vec![
            appending("ask/1", None, &["asked", "allowed"]),
            appending("ask/2", None, &["asked"]),
            Append { subject: "ask/3".to_owned(), after: None, entries: vec![bare] },
            appending("ask/4", None, &["asked"]),
        ])
        .await;
    assert_eq!(answers, [2, 3, 4, 5].map(|seq| Ok(Seq(seq))));
    let head = store.head().unwrap();
    drop(store);

    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let store = Store::sqlite(&path, Durability::Process).unwrap();
    (store.verify(None), store.verify(Some(&head)))
}

async fn assert_found(sql: &str, at: u64) {
    let (without_head, with_head) = verify_after(sql).await;
    for verified in [without_head, with_head] {
        assert!(matches!(verified, Err(VerifyError::Broken { seq, .. }) if seq == Seq(at)), "{sql}: {verified:?}");
    }
}

#[tokio::test]
async fn an_untouched_journal_verifies() {
    let (without_head, with_head) = verify_after("").await;
    assert_eq!(without_head.unwrap(), with_head.unwrap());
}

#[tokio::test]
async fn a_changed_record_is_found_whichever_part_was_changed() {
    for change in [
        "subject = 'ask/9'",
        "after = 7",
        "at = at + 1",
        "writer = x'00'",
        "body = x'00'",
        "body = x''",
        "digest = x'00'",
        "digest = NULL",
        "chain = x'00'",
        "chain = (SELECT chain FROM record WHERE seq = 1)",
    ] {
        assert_found(&format!("UPDATE record SET {change} WHERE seq = 2"), 2).await;
    }
}

#[tokio::test]
async fn a_changed_payload_is_found() {
    assert_found("UPDATE record SET bytes = x'00' WHERE seq = 3", 3).await;
    assert_found("UPDATE record SET salt = x'00' WHERE seq = 3", 3).await;
    assert_found("UPDATE record SET salt = NULL WHERE seq = 3", 3).await;
    assert_found("UPDATE record SET salt = x'00', bytes = x'00' WHERE seq = 4", 4).await;
}

#[tokio::test]
async fn an_erased_payload_is_told_unless_it_has_had_its_time() {
    let erase = "UPDATE record SET salt = NULL, bytes = NULL WHERE seq = 3";
    let told = |verified: Result<Verified, VerifyError>| {
        verified.unwrap().erased.into_iter().map(|erased| (erased.seq.0, erased.subject)).collect::<Vec<_>>()
    };
    let (without_head, with_head) = verify_after(erase).await;
    assert_eq!(told(without_head), [(3, "ask/2".to_owned())]);
    assert_eq!(told(with_head).len(), 1);
    let retired = "INSERT INTO meta VALUES ('retired', x'0000000000000003')";
    assert_eq!(told(verify_after(&format!("{erase}; {retired}")).await.0), []);
    // What is said to have had its time, and is of today, has not.
    let (_folder, path) = place();
    let mut store = Store::sqlite(&path, Durability::Process).unwrap();
    let at = super::retention::youngest_retired() + 3_600_000;
    let entries = vec![Entry { at, body: b"asked".to_vec(), payload: Some(b"x".to_vec().into()) }];
    store.append(vec![Append { subject: "ask/1".to_owned(), after: None, entries }]).await[0].clone().unwrap();
    drop(store);
    Connection::open(&path).unwrap().execute_batch(&format!("{}; {retired}", erase.replace("3", "1"))).unwrap();
    assert_eq!(told(Store::sqlite(&path, Durability::Process).unwrap().verify(None)).len(), 1);
}

#[tokio::test]
async fn a_record_that_another_writer_put_in_is_found() {
    let skeleton = |after| Skeleton { writer: b"eve", subject: b"ask/9", after, at: 1, body: b"{}", digest: None };
    let chain = chain::to_hex(&skeleton(0).chained_to(&GENESIS));
    let insert = |seq: u64| {
        format!("INSERT INTO record VALUES ({seq}, 'ask/9', 0, 1, x'657665', x'7b7d', NULL, x'{chain}', NULL, NULL)")
    };
    assert_found(&insert(6), 6).await;
    let make_room = "UPDATE record SET seq = -(seq + 1) WHERE seq > 2; UPDATE record SET seq = -seq WHERE seq < 0";
    assert_found(&format!("{make_room}; {}", insert(3)), 3).await;
}

#[tokio::test]
async fn a_removed_record_is_found() {
    assert_found("DELETE FROM record WHERE seq = 1", 1).await;
    assert_found("DELETE FROM record WHERE seq = 3", 3).await;
    let and_closed_the_gap = "
        DELETE FROM record WHERE seq = 3; UPDATE record SET seq = seq - 1 WHERE seq > 3";
    assert_found(and_closed_the_gap, 3).await;
}

#[tokio::test]
async fn reordered_records_are_found() {
    let swap = "
        UPDATE record SET seq = -seq WHERE seq IN (2, 3); UPDATE record SET seq = seq + 5 WHERE seq < 0";
    assert_found(swap, 2).await;
}

#[tokio::test]
async fn a_cut_tail_is_found_by_whoever_noted_the_head() {
    let (without_head, with_head) = verify_after("DELETE FROM record WHERE seq > 3").await;
    assert_eq!(without_head.unwrap().records, 3);
    assert!(matches!(with_head, Err(VerifyError::Broken { seq: Seq(4), .. })), "{with_head:?}");
}
