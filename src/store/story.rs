//! The contract of a store, told as one story to each kind of store.

use tempfile::tempdir;

use super::{Append, Durability, Entry, Payload, Refused, Seq, Snapshot, Store, Stored, VerifyError};

#[tokio::test]
async fn memory_keeps_the_contract() {
    story(Store::memory()).await;
}

#[tokio::test]
async fn sqlite_keeps_the_contract_on_its_callers_thread() {
    let folder = tempdir().unwrap();
    story(Store::sqlite(&folder.path().join("journal.db"), Durability::Process).unwrap()).await;
}

#[tokio::test]
async fn sqlite_keeps_the_contract_on_a_thread_of_its_own() {
    let folder = tempdir().unwrap();
    story(Store::sqlite(&folder.path().join("journal.db"), Durability::Power).unwrap()).await;
}

async fn story(mut store: Store) {
    nothing_is_in_a_new_journal(&store);
    the_first_append_wins(&mut store).await;
    only_the_subjects_last_record_can_be_followed(&mut store).await;
    one_conflict_does_not_fail_the_others(&mut store).await;
    an_append_is_taken_whole_or_not_at_all(&mut store).await;
    records_come_back_in_order(&store);
    a_snapshot_is_kept_where_the_journal_ends(&mut store);
    erasing_takes_payloads_and_leaves_skeletons(&mut store);
    the_chain_holds_up_to_a_noted_head(&mut store).await;
}

fn nothing_is_in_a_new_journal(store: &Store) {
    assert_eq!(store.records().read("ask/1").unwrap(), []);
    assert_eq!(store.records().page(Seq(0), 10).unwrap(), []);
    assert_eq!(store.records().head().unwrap(), "0".repeat(64));
    assert_eq!(store.records().verify(Some(&store.records().head().unwrap())).unwrap().records, 0);
}

async fn the_first_append_wins(store: &mut Store) {
    assert_eq!(append(store, "ask/1", None, &["asked"]).await, Ok(Seq(1)));
    assert_eq!(append(store, "ask/1", Some(1), &["allowed by ann"]).await, Ok(Seq(2)));
    assert_eq!(append(store, "ask/1", Some(1), &["denied by bob"]).await, conflict(Some(2)));
    assert_eq!(append(store, "ask/1", None, &["asked again"]).await, conflict(Some(2)));
}

async fn only_the_subjects_last_record_can_be_followed(store: &mut Store) {
    assert_eq!(append(store, "ask/2", None, &["asked"]).await, Ok(Seq(3)));
    // The last record, but of another subject.
    assert_eq!(append(store, "ask/1", Some(3), &["withdrawn"]).await, conflict(Some(2)));
    // Records that are not there.
    assert_eq!(append(store, "ask/1", Some(0), &["withdrawn"]).await, conflict(Some(2)));
    assert_eq!(append(store, "ask/1", Some(4), &["withdrawn"]).await, conflict(Some(2)));
    assert_eq!(append(store, "ask/1", Some(u64::MAX), &["withdrawn"]).await, conflict(Some(2)));
    // A subject that is not there.
    assert_eq!(append(store, "ask/3", Some(3), &["withdrawn"]).await, conflict(None));
}

async fn one_conflict_does_not_fail_the_others(store: &mut Store) {
    let answers = store
        .append(vec![
            appending("event/1", None, &["arrived"]),
            appending("ask/1", Some(1), &["denied by bob"]),
            appending("event/2", None, &["arrived"]),
            appending("event/2", None, &["arrived as well"]),
            appending("event/3", None, &[]),
        ])
        .await;
    let nothing = Err(Refused::nothing_to_append());
    assert_eq!(answers, [Ok(Seq(4)), conflict(Some(2)), Ok(Seq(5)), conflict(Some(5)), nothing]);
    assert_eq!(store.append(Vec::new()).await, []);
}

async fn an_append_is_taken_whole_or_not_at_all(store: &mut Store) {
    assert_eq!(append(store, "event/1", Some(4), &["delivered", "seen"]).await, Ok(Seq(7)));
    assert_eq!(append(store, "event/1", Some(6), &["expired", "dropped"]).await, conflict(Some(7)));
    assert_eq!(bodies(&store.records().read("event/1").unwrap()), ["arrived", "delivered", "seen"]);
    assert_eq!(append(store, "event/1", Some(7), &["kept"]).await, Ok(Seq(8)));
}

fn records_come_back_in_order(store: &Store) {
    let mut all = Vec::new();
    store.records().replay(Seq(0), &mut |stored| all.push(stored)).unwrap();
    assert_eq!(all.iter().map(|stored| stored.seq.0).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(all[1], stored(2, "ask/1", "allowed by ann", Payload::Kept(b"allowed by ann, in full".into())));

    let mut rest = Vec::new();
    store.records().replay(Seq(6), &mut |stored| rest.push(stored)).unwrap();
    assert_eq!(rest, all[6..]);

    assert_eq!(store.records().page(Seq(0), 3).unwrap(), all[..3]);
    assert_eq!(store.records().page(Seq(3), 100).unwrap(), all[3..]);
    assert_eq!(store.records().page(Seq(3), usize::MAX).unwrap(), all[3..]);
    assert_eq!(store.records().page(Seq(0), 0).unwrap(), []);
    assert_eq!(store.records().page(Seq(8), 10).unwrap(), []);
    assert_eq!(store.records().page(Seq(u64::MAX), 10).unwrap(), []);
    assert_eq!(store.records().read("ask/1").unwrap(), all[..2]);
    assert_eq!(store.records().read("ask").unwrap(), []);
}

fn a_snapshot_is_kept_where_the_journal_ends(store: &mut Store) {
    let records = store.records().page(Seq(0), 100).unwrap();
    let [second, third, last] = [&records[1], &records[2], &records[records.len() - 1]];
    let mut picked = vec![];
    let wanted = [second.seq, third.seq, last.seq, Seq(last.seq.0 + 1)];
    store.records().pick(&wanted, &mut |stored| picked.push(stored)).unwrap();
    assert_eq!(picked.iter().collect::<Vec<_>>(), [second, third, last], "those that there are");

    assert_eq!(store.records().snapshot(), None);
    assert!(!store.keep_snapshot(second.seq, b"of two".to_vec()));
    assert!(store.keep_snapshot(last.seq, b"of all".to_vec()));
    // The thread that writes it reads as well, one after the other.
    let (tell, told) = std::sync::mpsc::channel();
    store.aside(move |_| tell.send(()).unwrap());
    told.recv().unwrap();
    assert_eq!(store.records().snapshot(), Some(Snapshot { upto: last.seq, bytes: b"of all".to_vec() }));
}

fn erasing_takes_payloads_and_leaves_skeletons(store: &mut Store) {
    let head = store.records().head().unwrap();
    assert_eq!(store.erase("ask/1").unwrap().payloads, 2);
    assert_eq!(store.erase("ask/1").unwrap().payloads, 0);
    assert_eq!(store.erase("ask/99").unwrap().payloads, 0);

    let asked = stored(1, "ask/1", "asked", Payload::Erased);
    let allowed = stored(2, "ask/1", "allowed by ann", Payload::Erased);
    assert_eq!(store.records().read("ask/1").unwrap(), [asked, allowed]);
    assert_eq!(store.records().read("ask/2").unwrap()[0].payload, Payload::Kept(b"asked, in full".into()));
    assert_eq!(store.records().verify(Some(&head)).unwrap().head, head);
}

async fn the_chain_holds_up_to_a_noted_head(store: &mut Store) {
    let noted = store.records().head().unwrap();
    let entries = [None, Some([].into())].map(|payload| Entry { at: u64::MAX, body: Vec::new(), payload });
    let bare = Append { subject: String::new(), after: None, fresh: false, entries: entries.into() };
    assert_eq!(store.append(vec![bare]).await, [Ok(Seq(10))]);
    let [never, empty] = store.records().read("").unwrap().try_into().unwrap();
    assert_eq!((never.at, never.payload), (u64::MAX, Payload::None));
    assert_eq!((empty.at, empty.payload), (u64::MAX, Payload::Kept(Vec::new())));

    let verified = store.records().verify(Some(&noted)).unwrap();
    assert_eq!((verified.records, &verified.head), (10, &store.records().head().unwrap()));
    assert_ne!(verified.head, noted);
    assert_eq!(store.records().verify(Some(&format!("{}\n", noted.to_uppercase()))).unwrap(), verified);

    let foreign = "ab".repeat(32);
    assert!(matches!(store.records().verify(Some(&foreign)), Err(VerifyError::Broken { seq: Seq(11), .. })));
    for head in ["", "ab", &noted[1..], &noted.replace(char::is_numeric, "x")] {
        assert!(matches!(store.records().verify(Some(head)), Err(VerifyError::NotAHead(_))));
    }
}

async fn append(store: &mut Store, subject: &str, after: Option<u64>, bodies: &[&str]) -> Result<Seq, Refused> {
    store.append(vec![appending(subject, after, bodies)]).await.remove(0)
}

/// Each body comes with a payload that says the same at length.
pub(super) fn appending(subject: &str, after: Option<u64>, bodies: &[&str]) -> Append {
    let entry = |body: &&str| Entry {
        at: 1_700_000_000_000,
        body: body.as_bytes().to_vec(),
        payload: Some(format!("{body}, in full").into_bytes().into()),
    };
    Append {
        subject: subject.to_owned(),
        after: after.map(Seq),
        fresh: false,
        entries: bodies.iter().map(entry).collect(),
    }
}

fn stored(seq: u64, subject: &str, body: &str, payload: Payload) -> Stored {
    Stored { seq: Seq(seq), subject: subject.to_owned(), at: 1_700_000_000_000, body: body.into(), payload }
}

fn bodies(records: &[Stored]) -> Vec<&str> {
    records.iter().map(|stored| str::from_utf8(&stored.body).unwrap()).collect()
}

fn conflict(last: Option<u64>) -> Result<Seq, Refused> {
    Err(Refused::Conflict { last: last.map(Seq) })
}
