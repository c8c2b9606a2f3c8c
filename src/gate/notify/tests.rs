//! A journal with a record that nobody can read: the owner still hears of what comes after it.

use portcullis_core::{Goodbye, Label, Moves, SessionAbout, SessionId};
use portcullis_wire::record::write;

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
    let session = mint(SessionId::new);
    hub.submit(Input::Attached { session, about: about(), wrote: vec![], holding: vec![] }).await.unwrap();
    let attached = hub.look(|state| Seq(state.revision())).await.unwrap();
    // A later release wrote both; this hub writes nothing more, or it would have to understand them.
    let ended = Record::Ended { session, goodbye: Goodbye::because("done"), moves: Moves::default() };
    let append = |subject: String, after, body| {
        let entries = vec![Entry { at: now().0, body, payload: None }];
        Append { subject, after, fresh: false, entries }
    };
    let unreadable = append("of/tomorrow".to_owned(), None, b"{\"of_tomorrow\":{}}".to_vec());
    let readable = append(ended.subject().to_string(), Some(attached), write(&ended).unwrap().body);
    for append in [unreadable, readable] {
        open().append(vec![append]).await.remove(0).unwrap();
    }
    let table = NotifyTable { command: vec!["true".to_owned()], after: Duration::ZERO };
    let (mut view, _notifier) = start(&table, &hub, &stop);
    view.wait_for(|view| view.as_ref().is_some_and(|view| view.sent == 1)).await.unwrap();
    let why = view.borrow().as_ref().and_then(|view| view.last_failure.clone()).unwrap();
    assert!(why.contains("of/tomorrow"), "{why}");
    stop.cancel();
}
