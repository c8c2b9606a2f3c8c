//! A journal with a record that nobody can read: the owner still hears of what comes after it.

use portcullis_core::{Goodbye, Label, SessionAbout, SessionId};

use super::*;
use crate::hub::{HubLimits, mint};
use crate::store::{Append, Durability, Entry, Store};

fn about() -> SessionAbout {
    SessionAbout::new(Label::new("api").unwrap(), "test")
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_passed_over_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let open = || Store::sqlite(&path, Durability::Process).unwrap();
    let limits = HubLimits {
        queue: 8,
        queue_bytes: 1 << 20,
        watcher: 4,
        rate: 50,
        burst: 200,
        device_rate: 50,
        device_burst: 200,
        coalesce: Default::default(),
        state: Default::default(),
        snapshot_after: 100_000,
    };
    let stop = CancellationToken::new();
    let (hub, _task) = crate::hub::start(open(), limits, "1", stop.clone()).await.unwrap();
    let table = NotifyTable { command: vec!["true".to_owned()], after: Duration::ZERO };
    let (mut view, _notifier) = start(&table, &hub, &stop);
    let session = mint(SessionId::new);
    // Once it has told of the first, it has begun to follow.
    for (round, session) in [session, mint(SessionId::new)].into_iter().enumerate() {
        if round == 1 {
            let junk = Entry { at: 1, body: b"{\"of_tomorrow\":{}}".to_vec(), payload: None };
            let append = Append { subject: "of/tomorrow".to_owned(), after: None, fresh: false, entries: vec![junk] };
            open().append(vec![append]).await.remove(0).unwrap();
        }
        hub.submit(Input::Attached { session, about: about(), wrote: vec![], holding: vec![] }).await.unwrap();
        hub.submit(Input::Ended { session, goodbye: Goodbye::because("done") }).await.unwrap();
        let sent = round as u64 + 1;
        view.wait_for(|view| view.as_ref().is_some_and(|view| view.sent == sent)).await.unwrap();
    }
    let why = view.borrow().as_ref().and_then(|view| view.last_failure.clone()).unwrap();
    assert!(why.contains("of/tomorrow"), "{why}");
    stop.cancel();
}
