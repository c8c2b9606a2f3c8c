//! The hub by itself, with journals in memory and on disk.

use std::path::Path;
use std::time::Duration;

use portcullis_core::{
    Actor, Address, Answer, AskId, Behavior, ChatId, Details, Input, Label, NewAsk, Notice, Refusal, Role, Ruling,
    SessionAbout, SessionId, Source, Target, Text, TokenScope, Via,
};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::store::{Durability, Store};

fn limits() -> HubLimits {
    HubLimits {
        queue: 8,
        queue_bytes: 1 << 20,
        watcher: 4,
        coalesce: HashMap::from([("noisy".to_owned(), 50)]),
        state: Limits::default(),
    }
}

async fn hub_on(store: Store) -> (Hub, CancellationToken, tokio::task::JoinHandle<()>) {
    let stop = CancellationToken::new();
    let (hub, task) = start(store, limits(), "1", stop.clone()).await.unwrap();
    (hub, stop, task)
}

fn disk(path: &Path) -> Store {
    Store::sqlite(path, Durability::Process).unwrap()
}

fn ann() -> Actor {
    Actor { name: "ann".into(), rights: Role::Reviewer.rights(), via: Via::Http, scope: TokenScope::Everything }
}

fn said(text: &str) -> Input {
    Input::Said {
        id: mint(EventId::new),
        by: ann(),
        text: Text::new(text),
        address: Address::Open,
        chat: ChatId::new("room"),
        attributes: vec![],
        idempotency_key: None,
    }
}

fn about() -> SessionAbout {
    SessionAbout {
        label: Label::new("api").unwrap(),
        connected_by: "test".into(),
        pid: None,
        runs_commands: false,
        folder: None,
        agent_session: None,
        continues: None,
        mode: None,
        driven: false,
    }
}

fn asked(session: SessionId) -> (AskId, Input) {
    let id = mint(AskId::new);
    let (origin, tool, entropy) = ("abcde".to_owned(), "Bash".to_owned(), 1);
    let (description, preview) = (Text::new("d"), Text::new("p"));
    let (source, details) = (Source::Channel, Details::default());
    let ask = Box::new(NewAsk { id, source, origin, tool, description, preview, details });
    (id, Input::Asked { session, ask, entropy })
}

#[tokio::test]
async fn an_event_reaches_the_session_and_is_delivered_only_when_written() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let session = mint(SessionId::new);
    let mut attachment = link::attach_here(&hub, session, about(), None).await.unwrap();
    let Ok(Answer::Accepted { event, to, .. }) = hub.submit(said("hello")).await else { panic!() };
    assert_eq!(to, Some(session));
    let Some(Delivery::Event { ids, frame }) = attachment.next().await else { panic!() };
    assert_eq!((ids, frame.text), (vec![event], "hello".into()));
    let life = |hub: Hub| async move { hub.look(move |state| state.event(event).unwrap().life.name()).await.unwrap() };
    assert_eq!(life(hub.clone()).await, "waiting");
    attachment.line.wrote(&[event], &[]);
    attachment.line.confirm().await;
    assert_eq!(life(hub.clone()).await, "delivered");
    assert_eq!(attachment.line.open(event).await.unwrap().1, "hello");
    assert_eq!(life(hub).await, "seen");
}

#[tokio::test]
async fn what_a_stopped_hub_took_in_is_there_after_the_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let (hub, stop, task) = hub_on(disk(&path)).await;
    let answers =
        futures_util::future::join_all((0..8).map(|number| hub.submit(said(&format!("event {number}"))))).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Answer::Accepted { .. }))));
    stop.cancel();
    task.await.unwrap();
    assert_eq!(hub.submit(said("too late")).await, Err(Trouble::Stopping));
    let (again, ..) = hub_on(disk(&path)).await;
    assert_eq!(again.look(portcullis_core::State::waiting_total).await, Ok(8));
}

#[tokio::test]
async fn a_full_queue_says_busy_and_verdicts_still_get_through() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let session = mint(SessionId::new);
    let _attachment = link::attach_here(&hub, session, about(), None).await.unwrap();
    let (ask, input) = asked(session);
    hub.submit(input).await.unwrap();
    // Nothing of this is handled before the first await below gives the loop its turn.
    let mut waiting: Vec<_> = (0..9).map(|number| Box::pin(hub.submit(said(&format!("event {number}"))))).collect();
    let ninth = waiting.pop().unwrap();
    let verdict = hub.submit(Input::Answered {
        by: ann(),
        target: Target::Id(ask),
        ruling: Ruling::plain(Behavior::Deny),
        idempotency_key: None,
    });
    let (eight, ninth, verdict) = tokio::join!(futures_util::future::join_all(waiting), ninth, verdict);
    assert!(eight.iter().all(Result::is_ok));
    assert_eq!(ninth, Err(Trouble::Busy));
    assert!(matches!(verdict, Ok(Answer::Recorded { .. })));
}

#[tokio::test]
async fn of_two_gates_on_one_journal_the_loser_is_told_who_was_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let (one, ..) = hub_on(disk(&path)).await;
    let session = mint(SessionId::new);
    let _attachment = link::attach_here(&one, session, about(), None).await.unwrap();
    let (ask, input) = asked(session);
    one.submit(input).await.unwrap();
    // The second reads the journal now, and then does not hear of what the first writes.
    let (two, ..) = hub_on(disk(&path)).await;
    let answer = |behavior| Input::Answered {
        by: ann(),
        target: Target::Id(ask),
        ruling: Ruling::plain(behavior),
        idempotency_key: None,
    };
    assert!(matches!(one.submit(answer(Behavior::Deny)).await, Ok(Answer::Recorded { .. })));
    let Ok(Answer::Refused(Refusal::Settled { life, .. })) = two.submit(answer(Behavior::Allow)).await else {
        panic!("the second verdict counted");
    };
    assert_eq!(life.name(), "answered");
}

#[tokio::test]
async fn a_watcher_that_cannot_keep_up_is_cut_off_and_others_are_not() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let mut slow = hub.watch(|_| vec![]).await.unwrap();
    for number in 0..3 {
        hub.submit(said(&format!("event {number}"))).await.unwrap();
    }
    let mut late = hub
        .watch(|state| state.events().map(|held| (0, Notice::Event { event: held.clone(), label: None })).collect())
        .await
        .unwrap();
    assert_eq!(late.first.len(), 3);
    for number in 3..6 {
        hub.submit(said(&format!("event {number}"))).await.unwrap();
    }
    let mut seen = 0;
    while slow.changes.recv().await.is_some() {
        seen += 1;
    }
    assert_eq!(seen, 4, "its queue holds four, then it ends");
    for _ in 0..3 {
        let waited = tokio::time::timeout(Duration::from_secs(5), late.changes.recv()).await;
        assert!(waited.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_process_that_takes_the_place_of_another_gets_what_was_not_written() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let session = mint(SessionId::new);
    let mut first = link::attach_here(&hub, session, about(), None).await.unwrap();
    let Ok(Answer::Accepted { event: one, .. }) = hub.submit(said("one")).await else { panic!() };
    let Ok(Answer::Accepted { event: two, .. }) = hub.submit(said("two")).await else { panic!() };
    assert!(matches!(first.next().await, Some(Delivery::Event { ids, .. }) if ids == [one]));
    first.line.wrote(&[one], &[]);
    first.line.confirm().await;
    let mut second = link::attach_here(&hub, session, about(), None).await.unwrap();
    assert!(matches!(second.next().await, Some(Delivery::Event { ids, .. }) if ids == [two]));
    // The goodbye of the first no longer counts: it does not carry for the session any more.
    first.line.clone().bye(Goodbye::because("late")).await;
    assert_eq!(hub.look(move |state| state.session(session).unwrap().is_attached()).await, Ok(true));
}

#[tokio::test]
async fn a_noisy_sender_is_heard_once_and_others_are_not_kept_waiting() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let mut attachment = link::attach_here(&hub, mint(SessionId::new), about(), None).await.unwrap();
    let from = |name: &str, text: &str| {
        let Input::Said { id, text, address, attributes, .. } = said(text) else { panic!() };
        let by = Actor { name: name.into(), ..ann() };
        Input::Said { id, by, text, address, chat: None, attributes, idempotency_key: None }
    };
    let mut noisy = vec![];
    for text in ["one", "two", "three"] {
        let Ok(Answer::Accepted { event, .. }) = hub.submit(from("noisy", text)).await else { panic!() };
        noisy.push(event);
    }
    let Ok(Answer::Accepted { event: calm, .. }) = hub.submit(from("calm", "hello")).await else { panic!() };
    let Some(Delivery::Event { ids, .. }) = attachment.next().await else { panic!() };
    assert_eq!(ids, [calm]);
    let Some(Delivery::Event { ids, frame }) = attachment.next().await else { panic!() };
    assert_eq!(ids, noisy);
    let places: Vec<_> = ["one", "two", "three"].iter().map(|text| frame.text.unquoted().find(text)).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{:?}", frame.text);
    attachment.line.wrote(&ids, &[]);
    attachment.line.confirm().await;
    assert_eq!(hub.look(portcullis_core::State::waiting_total).await, Ok(1));
}

#[tokio::test]
async fn a_process_that_went_while_an_event_was_sent_to_it_does_not_stay_attached() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let session = mint(SessionId::new);
    let attachment = link::attach_here(&hub, session, about(), None).await.unwrap();
    let line = attachment.line.clone();
    drop(attachment);
    hub.submit(said("nobody takes this")).await.unwrap();
    line.bye(Goodbye::because("gone")).await;
    assert_eq!(hub.look(move |state| state.session(session).unwrap().is_attached()).await, Ok(false));
    assert_eq!(hub.look(|state| state.waiting_size(None).0).await, Ok(1), "it waits for the next");
}
