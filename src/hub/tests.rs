//! The hub by itself, with journals in memory and on disk.

use std::sync::Arc;

use std::path::Path;
use std::time::Duration;

use portcullis_core::{
    Actor, Address, Answer, AskId, Behavior, ChatId, Details, Input, InsideAgent, Label, NewAsk, Notice, Refusal, Role,
    Ruling, SaidText, SessionAbout, SessionId, Source, Text, TokenScope, VerdictTarget, Via,
};
use portcullis_wire::link::GateMessage;
use tokio_util::sync::CancellationToken;

use super::outlets::ToSession;
use super::*;
use crate::processes::PeerProcess;
use crate::store::{Durability, Refused, Store, Syncs};

fn limits() -> HubLimits {
    HubLimits {
        queue: 8,
        queue_bytes: 1 << 20,
        watcher: 4,
        rate: 50,
        burst: 200,
        device_rate: 50,
        device_burst: 200,
        coalesce: HashMap::from([("noisy".to_owned(), 50)]),
        state: Limits::default(),
        snapshot_after: 20,
    }
}

pub(super) async fn hub_on(store: Store) -> (Hub, CancellationToken, tokio::task::JoinHandle<()>) {
    let stop = CancellationToken::new();
    let (hub, task) = start(store, limits(), "1", stop.clone()).await.unwrap();
    (hub, stop, task)
}

fn disk(path: &Path) -> Store {
    Store::sqlite(path, Durability::Process).unwrap()
}

pub(super) fn ann() -> Actor {
    Actor {
        name: "ann".into(),
        rights: Role::Reviewer.rights(),
        via: Via::Http,
        scope: TokenScope::Everything,
        device: None,
    }
}

pub(super) fn said(text: &str) -> Input {
    Input::Said {
        id: mint(EventId::new),
        by: ann(),
        inside: None,
        text: SaidText::new(text),
        address: Address::Open,
        chat: ChatId::new("room"),
        attributes: Arc::default(),
        reply_to: None,
        idempotency_key: None,
    }
}

/// Has these said by someone, in conversations of their own.
pub(super) async fn send(hub: &Hub, name: &str, texts: &[&str]) -> Vec<EventId> {
    let mut events = vec![];
    for text in texts {
        let Input::Said { id, text, address, attributes, .. } = said(text) else { panic!() };
        let by = Actor { name: name.into(), ..ann() };
        let (inside, chat, reply_to, idempotency_key) = (None, None, None, None);
        let said = Input::Said { id, by, inside, text, address, chat, attributes, reply_to, idempotency_key };
        let Ok(Answer::Accepted { event, .. }) = hub.submit(said).await else { panic!() };
        events.push(event);
    }
    events
}

fn about() -> SessionAbout {
    SessionAbout::new(Label::new("api").unwrap(), "test")
}

/// The hub's idea of an attached process.
pub(super) struct Process {
    session: SessionId,
    number: u64,
    outgoing: mpsc::Receiver<ToSession>,
}

impl Process {
    pub(super) async fn attach(hub: &Hub, session: SessionId) -> Self {
        Self::attach_holding(hub, session, vec![]).await
    }

    pub(super) async fn attach_holding(hub: &Hub, session: SessionId, holding: Vec<EventId>) -> Self {
        let (outlet, outgoing) = Outlet::new(&holding);
        let number = outlet.number;
        let input = Input::Attached { session, about: about(), wrote: vec![], holding };
        hub.attach(session, input, outlet).await.unwrap();
        Self { session, number, outgoing }
    }

    /// The ids that came as one, and their text.
    pub(super) async fn next_event(&mut self) -> (Vec<EventId>, String) {
        let Some(ToSession::Event(held, also)) = self.outgoing.recv().await else { panic!("no event") };
        let ids = [held.event.id].into_iter().chain(also).collect();
        (ids, held.event.text.to_string())
    }

    /// The event that the process is not to hand on.
    pub(super) async fn next_taken_back(&mut self) -> EventId {
        let next = self.outgoing.recv().await;
        match next {
            Some(ToSession::Message(message)) if let GateMessage::TakeBack { event } = *message => event,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn wrote(&self, hub: &Hub, events: Vec<EventId>) {
        hub.submit(Input::Wrote { session: self.session, events, way: None }).await.unwrap();
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
    let mut process = Process::attach(&hub, session).await;
    let Ok(Answer::Accepted { event, to, .. }) = hub.submit(said("hello")).await else { panic!() };
    assert_eq!(to, Some(session));
    assert_eq!(process.next_event().await, (vec![event], "hello".to_owned()));
    let life = |hub: Hub| async move { hub.look(move |state| state.event(event).unwrap().life.name()).await.unwrap() };
    assert_eq!(life(hub.clone()).await, "waiting");
    process.wrote(&hub, vec![event]).await;
    assert_eq!(life(hub.clone()).await, "delivered");
    assert_eq!(hub.submit(Input::Opened { session, event }).await, Ok(Answer::Done));
    assert_eq!(hub.read(event).await.unwrap().unwrap().text.as_str(), "hello");
    assert_eq!(life(hub).await, "seen");
}

#[tokio::test]
async fn who_is_gone_is_inside_while_a_session_runs_commands() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let gone = |shows_token| Peer::Process { process: Some(PeerProcess::now(child.id())), shows_token };
    let unnamed = Peer::Process { process: None, shows_token: false };
    assert_eq!(hub.inside(gone(false)).await, Ok(None), "nobody runs commands");
    let session = mint(SessionId::new);
    let about = SessionAbout { runs_commands: true, ..about() };
    let (outlet, _outgoing) = Outlet::new(&[]);
    hub.attach(session, Input::Attached { session, about, wrote: vec![], holding: vec![] }, outlet).await.unwrap();
    for peer in [gone(false), unnamed] {
        let inside = hub.inside(peer).await.unwrap().expect("it may be anybody's");
        assert!(matches!(inside.agent, InsideAgent::Unknown(_)), "{inside:?}");
    }
    assert_eq!(hub.inside(gone(true)).await, Ok(None), "a token says who it is");
    assert_eq!(hub.inside(Peer::Network).await, Ok(None));
    assert!(hub.refuse_inside(unnamed, "owner", "answering a prompt").await.unwrap_err().hint.contains("token"));
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
    let _process = Process::attach(&hub, session).await;
    let (ask, input) = asked(session);
    hub.submit(input).await.unwrap();
    // Nothing of this is handled before the first await below gives the loop its turn.
    let mut waiting: Vec<_> = (0..9).map(|number| Box::pin(hub.submit(said(&format!("event {number}"))))).collect();
    let ninth = waiting.pop().unwrap();
    let verdict = hub.submit(Input::Answered {
        by: ann(),
        target: VerdictTarget::Id(ask),
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
    let _process = Process::attach(&one, session).await;
    let (ask, input) = asked(session);
    one.submit(input).await.unwrap();
    // The second reads the journal now, and then does not hear of what the first writes.
    let (two, ..) = hub_on(disk(&path)).await;
    let answer = |behavior| Input::Answered {
        by: ann(),
        target: VerdictTarget::Id(ask),
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
async fn what_another_gate_wrote_is_known_with_the_next_record_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let (one, ..) = hub_on(disk(&path)).await;
    let (two, ..) = hub_on(disk(&path)).await;
    let Ok(Answer::Accepted { event, .. }) = two.submit(said("theirs")).await else { panic!() };
    assert!(one.look(move |state| state.event(event).is_none()).await.unwrap());
    one.submit(said("ours")).await.unwrap();
    assert!(one.look(move |state| state.event(event).is_some()).await.unwrap());
}

#[tokio::test]
async fn a_watcher_that_cannot_keep_up_is_cut_off_and_others_are_not() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let mut slow = hub.watch(|_| vec![]).await.unwrap();
    for number in 0..3 {
        hub.submit(said(&format!("event {number}"))).await.unwrap();
    }
    let mut late = hub
        .watch(|state| {
            state.events().map(|held| (0, Notice::Event { event: held.clone(), wanted_label: None })).collect()
        })
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
    let mut first = Process::attach(&hub, session).await;
    let Ok(Answer::Accepted { event: one, .. }) = hub.submit(said("one")).await else { panic!() };
    let Ok(Answer::Accepted { event: two, .. }) = hub.submit(said("two")).await else { panic!() };
    assert_eq!(first.next_event().await.0, [one]);
    first.wrote(&hub, vec![one]).await;
    let mut second = Process::attach(&hub, session).await;
    assert_eq!(second.next_event().await.0, [two]);
    // The goodbye of the first no longer counts: it does not carry for the session any more.
    hub.detach(session, first.number, Some(Goodbye::because("late"))).await;
    assert_eq!(hub.look(move |state| state.session(session).unwrap().is_attached()).await, Ok(true));
}

#[tokio::test]
async fn a_session_that_withdrew_more_prompts_than_its_outlet_takes_attaches_again() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let session = mint(SessionId::new);
    let first = Process::attach(&hub, session).await;
    for _ in 0..1100 {
        let (ask, input) = asked(session);
        hub.submit(input).await.unwrap();
        hub.submit(Input::Withdrawn { ask, by: Some(session), why: "answered at its terminal".into() }).await.unwrap();
    }
    hub.detach(session, first.number, None).await;
    let mut second = Process::attach(&hub, session).await;
    let Ok(Answer::Accepted { event, .. }) = hub.submit(said("hello")).await else { panic!() };
    let mut closed = 0;
    loop {
        match second.outgoing.recv().await.expect("the link stays") {
            ToSession::Event(held, _) => break assert_eq!(held.event.id, event),
            ToSession::Message(message) => {
                assert!(matches!(*message, GateMessage::Closed { .. }), "{message:?}");
                closed += 1;
            }
        }
    }
    assert_eq!(closed, Limits::default().open_asks);
}

#[tokio::test]
async fn a_noisy_sender_is_heard_once_and_others_are_not_kept_waiting() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let mut process = Process::attach(&hub, mint(SessionId::new)).await;
    let noisy = send(&hub, "noisy", &["one", "two", "three"]).await;
    let calm = send(&hub, "calm", &["hello"]).await[0];
    assert_eq!(process.next_event().await.0, [calm]);
    let (ids, text) = process.next_event().await;
    assert_eq!(ids, noisy);
    let places: Vec<_> = ["one", "two", "three"].iter().map(|part| text.find(part)).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{text:?}");
    process.wrote(&hub, ids).await;
    assert_eq!(hub.look(portcullis_core::State::waiting_total).await, Ok(1));
}

#[tokio::test]
async fn a_process_that_went_while_an_event_was_sent_to_it_does_not_stay_attached() {
    let (hub, ..) = hub_on(Store::memory()).await;
    let session = mint(SessionId::new);
    let Process { number, outgoing, .. } = Process::attach(&hub, session).await;
    drop(outgoing);
    hub.submit(said("nobody takes this")).await.unwrap();
    hub.detach(session, number, Some(Goodbye::because("gone"))).await;
    assert_eq!(hub.look(move |state| state.session(session).unwrap().is_attached()).await, Ok(false));
    assert_eq!(hub.look(|state| state.waiting_size(None).0).await, Ok(1), "it waits for the next");
}

#[tokio::test]
async fn what_rests_on_a_record_that_the_journal_keeps_refusing_is_refused_as_well() {
    let refusal = Arc::default();
    let (hub, ..) = hub_on(Store::memory_refusing(&refusal)).await;
    let session = mint(SessionId::new);
    let _process = Process::attach(&hub, session).await;
    let (_, input) = asked(session);
    *refusal.lock().unwrap() = Some(Refused::Conflict { last: None });
    // The second finds the ask of the first, in the same batch, and has nothing to write itself.
    let both = tokio::join!(hub.submit(input.clone()), hub.submit(input));
    assert_eq!(both, (Err(Trouble::Busy), Err(Trouble::Busy)));
}

#[tokio::test]
async fn a_journal_that_refused_a_record_cannot_be_written_until_it_takes_one() {
    let refusal = Arc::default();
    let (hub, ..) = hub_on(Store::memory_refusing(&refusal)).await;
    let session = mint(SessionId::new);
    let _process = Process::attach(&hub, session).await;
    assert!(link::may_record(&hub).await);
    *refusal.lock().unwrap() = Some(Refused::Failed("the disk is full".to_owned()));
    let (_, input) = asked(session);
    assert!(hub.submit(input.clone()).await.is_err());
    assert!(!link::may_record(&hub).await, "nothing can be allowed by a rule now");
    *refusal.lock().unwrap() = None;
    hub.submit(input).await.unwrap();
    assert!(link::may_record(&hub).await);
}

#[tokio::test]
async fn a_deadline_whose_record_the_journal_refuses_is_tried_again_after_a_while_and_kept_up_with() {
    let (refusal, refused) = (Arc::default(), Arc::default());
    let limits = HubLimits { state: Limits { event_expiry: 50, ..Limits::default() }, ..limits() };
    let store = Store::memory_counting(&refusal, &refused);
    let (hub, _task) = start(store, limits, "1", CancellationToken::new()).await.unwrap();
    hub.submit(said("nobody takes this in time")).await.unwrap();
    *refusal.lock().unwrap() = Some(Refused::Failed("the disk is full".to_owned()));
    tokio::time::sleep(Duration::from_millis(1500)).await;
    // Each time the loop decides it anew as often as it would where another writer was faster.
    let refused = refused.load(std::sync::atomic::Ordering::Relaxed);
    assert!((1..=30).contains(&refused), "{refused} records were refused in a second and a half");
    *refusal.lock().unwrap() = None;
    for _ in 0..100 {
        if hub.look(portcullis_core::State::waiting_total).await == Ok(0) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the event has not expired since the disk has room");
}

/// Whoever waits to be safe next.
async fn next_sync(syncs: &Syncs) -> oneshot::Sender<Result<(), String>> {
    loop {
        if let Ok(waits) = syncs.try_recv() {
            return waits;
        }
        tokio::task::yield_now().await;
    }
}

/// Lets everybody do what they can do.
async fn rest() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn events_are_written_while_the_disk_works_and_nothing_is_done_about_them_before_they_are_safe() {
    let (store, syncs) = Store::memory_syncing();
    let starting = tokio::spawn(hub_on(store));
    next_sync(&syncs).await.send(Ok(())).unwrap();
    let (hub, ..) = starting.await.unwrap();
    let (attaching, session) = (hub.clone(), mint(SessionId::new));
    let attaching = tokio::spawn(async move { Process::attach(&attaching, session).await });
    next_sync(&syncs).await.send(Ok(())).unwrap();
    let mut process = attaching.await.unwrap();
    let say = |text: &'static str| {
        let hub = hub.clone();
        tokio::spawn(async move { hub.submit(said(text)).await })
    };

    let first = say("one");
    let first_sync = next_sync(&syncs).await;
    let second = say("two");
    let second_sync = next_sync(&syncs).await;
    rest().await;
    assert!(!first.is_finished() && !second.is_finished(), "nobody is answered");
    assert!(process.outgoing.try_recv().is_err(), "nothing is sent");

    first_sync.send(Ok(())).unwrap();
    assert!(matches!(first.await.unwrap(), Ok(Answer::Accepted { .. })));
    assert_eq!(process.next_event().await.1, "one");
    let looking = hub.clone();
    let looking = tokio::spawn(async move { looking.look(State::waiting_total).await });
    rest().await;
    assert!(process.outgoing.try_recv().is_err(), "the second is not safe yet");
    assert!(!second.is_finished() && !looking.is_finished(), "and nobody sees it");

    second_sync.send(Ok(())).unwrap();
    assert!(matches!(second.await.unwrap(), Ok(Answer::Accepted { .. })));
    assert_eq!(looking.await.unwrap(), Ok(2));
    assert_eq!(process.next_event().await.1, "two");

    // What others are shown is decided only on what is safe.
    let third = say("three");
    let third_sync = next_sync(&syncs).await;
    let (asking, (_, input)) = (hub.clone(), asked(session));
    let asking = tokio::spawn(async move { asking.submit(input).await });
    rest().await;
    assert!(syncs.try_recv().is_err(), "the prompt is not written yet");
    third_sync.send(Ok(())).unwrap();
    next_sync(&syncs).await.send(Ok(())).unwrap();
    third.await.unwrap().unwrap();
    asking.await.unwrap().unwrap();

    let refused = [say("four"), say("five")];
    next_sync(&syncs).await.send(Err("the disk is gone".to_owned())).unwrap();
    for refused in refused {
        assert_eq!(refused.await.unwrap(), Err(Trouble::Journal("the disk is gone".to_owned())));
    }
}

#[tokio::test]
async fn a_load_that_never_pauses_is_paused_for_a_snapshot() {
    let (store, syncs) = Store::memory_syncing();
    let starting = tokio::spawn(hub_on(store));
    next_sync(&syncs).await.send(Ok(())).unwrap();
    let (hub, ..) = starting.await.unwrap();
    let (mut saying, mut pauses) = (vec![], vec![]);
    // A batch is safe only when the next one is written.
    let mut on_its_way: Option<oneshot::Sender<Result<(), String>>> = None;
    for number in 1..=100 {
        let hub = hub.clone();
        saying.push(tokio::spawn(async move { hub.submit(said("more")).await }));
        rest().await;
        let next = syncs.try_recv();
        if let Some(before) = on_its_way.take() {
            before.send(Ok(())).unwrap();
        }
        on_its_way = Some(match next {
            Ok(next) => next,
            Err(_) => {
                pauses.push(number);
                next_sync(&syncs).await
            }
        });
    }
    on_its_way.unwrap().send(Ok(())).unwrap();
    for said in saying {
        assert!(matches!(said.await.unwrap(), Ok(Answer::Accepted { .. })));
    }
    // After twice the number of records after which one is made at the latest, and then again.
    assert_eq!(pauses, [40, 80]);
}
