//! The loop: take what has come, decide, write it down in one commit, then do what was decided.
//!
//! Decisions of one batch build on each other, so each is applied to the loop's own state before the batch is written.
//! Nobody sees that state until the journal has the batch; if the journal refuses, the state is thrown away and read
//! anew. So what others see never runs ahead of the journal.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use portcullis_core::{Answer, Effect, Event, EventId, Input, Moment, Record, Session, State, Subject, Topic, decide};
use portcullis_wire::link::GateMessage;
use portcullis_wire::record::{self, RecordPayload};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::batch::{Batch, Pending};
use super::heads::Heads;
use super::outlets::{Outlets, Pumping};
use super::rate::Rates;
use super::roster::Roster;
use super::watchers::{Published, Watchers};
use super::{Hub, HubCommand, HubLimits, ReplySender, Trouble, Usage, now};
use crate::store::{self, Refused, Seq, Store, Stored};

/// Room in the reserved lane. Its senders wait for a place; there is one a connection.
const RESERVED: usize = 1024;
/// How often an input is decided again when another writer was faster.
const ATTEMPTS: u32 = 5;

/// Reads the journal and starts the loop. It ends after `stop`, when everything taken in has been written.
pub(crate) async fn start(
    store: Store,
    limits: HubLimits,
    version: &str,
    stop: CancellationToken,
) -> anyhow::Result<(Hub, tokio::task::JoinHandle<()>)> {
    let (events, event_queue) = mpsc::channel(limits.queue);
    let (reserved, reserved_queue) = mpsc::channel(RESERVED);
    let queued_bytes = Arc::new(AtomicUsize::new(0));
    let (tell_roster, roster) = watch::channel(Arc::default());
    let outgoing = Arc::new(watch::Sender::new(()));
    let (appended, followed) = (Arc::new(watch::Sender::new(())), Arc::new(watch::Sender::new(())));
    let hub = Hub {
        events,
        reserved,
        queued_bytes: Arc::clone(&queued_bytes),
        queue_bytes: limits.queue_bytes,
        roster,
        outgoing: Arc::clone(&outgoing),
        appended: Arc::clone(&appended),
        followed: Arc::clone(&followed),
        rates: Arc::new(Rates::new(limits.rate, limits.burst)),
    };
    let mut hub_loop = HubLoop {
        state: State::new(limits.state.clone()),
        store,
        heads: Heads::default(),
        outlets: Outlets::default(),
        watchers: Watchers::new(limits.watcher),
        batch: Batch::default(),
        queued_bytes,
        tell_roster,
        outgoing,
        appended,
        followed,
        coalesce: limits.coalesce,
        held_until: None,
        broken: None,
        is_refusing: false,
    };
    hub_loop.reload().context("reading the journal")?;
    let (reply, opened) = oneshot::channel();
    hub_loop.take(Pending::new(Input::Started { version: version.to_owned() }, Some(reply))).await;
    hub_loop.commit().await;
    opened.await.context("opening the journal")?.context("opening the journal")?;
    let task = tokio::spawn(hub_loop.run(event_queue, reserved_queue, stop));
    Ok((hub, task))
}

/// Everything the loop owns. Nobody else touches it.
struct HubLoop {
    state: State,
    store: Store,
    heads: Heads,
    outlets: Outlets,
    watchers: Watchers,
    batch: Batch,
    queued_bytes: Arc<AtomicUsize>,
    tell_roster: watch::Sender<Arc<Roster>>,
    outgoing: Arc<watch::Sender<()>>,
    appended: Arc<watch::Sender<()>>,
    followed: Arc<watch::Sender<()>>,
    coalesce: HashMap<String, u64>,
    /// Why the state does not stand for the journal at the moment.
    broken: Option<String>,
    /// The journal refused what it was last given to write.
    is_refusing: bool,
    /// When something that an outlet holds back comes due.
    held_until: Option<Moment>,
}

impl HubLoop {
    async fn run(
        mut self,
        mut events: mpsc::Receiver<HubCommand>,
        mut reserved: mpsc::Receiver<HubCommand>,
        stop: CancellationToken,
    ) {
        let mut stopped = std::pin::pin!(stop.cancelled());
        let mut timer = std::pin::pin!(tokio::time::sleep(self.until_deadline()));
        loop {
            // One that rings too early does no harm, so it is only ever set to something earlier, or when it has rung.
            let due = Instant::now() + self.until_deadline();
            if due < timer.deadline() || timer.is_elapsed() {
                timer.as_mut().reset(due);
            }
            let command = tokio::select! {
                biased;
                () = &mut stopped => break,
                command = reserved.recv() => command,
                command = events.recv() => command,
                () = &mut timer => {
                    self.take(Pending::new(Input::Ticked, None)).await;
                    None
                }
            };
            if let Some(command) = command {
                self.handle(command).await;
            }
            // Whoever has something to say by now says it before the commit, and not after.
            tokio::task::yield_now().await;
            while !self.batch.is_full()
                && let Ok(command) = reserved.try_recv().or_else(|_| events.try_recv())
            {
                self.handle(command).await;
            }
            self.commit().await;
            self.pump();
        }
        // What was taken in before the stop is still written; what comes now is told that we are stopping.
        reserved.close();
        events.close();
        while let Ok(command) = reserved.try_recv().or_else(|_| events.try_recv()) {
            self.handle(command).await;
        }
        self.commit().await;
    }

    fn pump(&mut self) {
        let now = now();
        if self.held_until.is_some_and(|due| due <= now) {
            self.held_until = None;
            self.outlets.look_again();
        }
        let Self { state, store, coalesce, .. } = self;
        let due = self.outlets.pump(&Pumping { state, store, coalesce, now });
        self.held_until = self.held_until.into_iter().chain(due).min();
    }

    fn until_deadline(&self) -> Duration {
        let longest = Duration::from_secs(60);
        let due = self.state.next_deadline().into_iter().chain(self.held_until).min();
        let due = due.map(|due| Duration::from_millis(due.since(now())));
        due.map_or(longest, |due| due.min(longest))
    }

    async fn handle(&mut self, command: HubCommand) {
        match command {
            HubCommand::Submit { input, reply, bytes } => {
                self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
                self.take(Pending::new(input, Some(reply))).await;
            }
            HubCommand::Attach { input, session, outlet, reply } => {
                let mut pending = Pending::new(input, Some(reply));
                pending.outlet = Some((session, outlet));
                self.take(pending).await;
            }
            HubCommand::Detach { session, outlet, goodbye } => {
                // An attach that is still in the batch must take its place first.
                self.commit().await;
                if self.outlets.close(session, outlet) {
                    let input = match goodbye {
                        Some(goodbye) => Input::Ended { session, goodbye },
                        None => Input::Lost { session },
                    };
                    self.take(Pending::new(input, None)).await;
                }
            }
            HubCommand::Usage(reply) => {
                self.commit().await;
                self.watchers.sweep();
                let _ = reply.send(self.usage());
            }
            HubCommand::CanWrite(reply) => {
                self.commit().await;
                let _ = reply.send(self.broken.is_none() && !self.is_refusing);
            }
            HubCommand::Look(look) => {
                self.commit().await;
                // What the journal refused is nobody's to see; dropping the question answers it.
                if self.broken.is_none() {
                    look(&self.state);
                }
            }
            HubCommand::Watch(first, reply) => {
                self.commit().await;
                let first = first(&self.state);
                // If the watcher is gone already, the next publication drops its sender.
                drop(reply.send(self.watchers.add(self.state.revision(), first)));
            }
            HubCommand::Read(event, reply) => {
                self.commit().await;
                drop(reply.send(read_event(&self.store, event)));
            }
            HubCommand::Page(after, limit, reply) => {
                self.commit().await;
                drop(reply.send(self.store.page(after, limit).map_err(journal)));
            }
            HubCommand::Story(subject, reply) => {
                self.commit().await;
                drop(reply.send(self.store.read(&subject.to_string()).map_err(journal)));
            }
            HubCommand::Erase(subject, reply) => {
                self.commit().await;
                let erased = self.store.erase(&subject.to_string());
                // What waits, asks and was replied is in memory as well.
                self.reload_or_break();
                drop(reply.send(erased.map_err(journal)));
            }
        }
    }

    fn usage(&self) -> Usage {
        let state = &self.state;
        let is_followed = !self.watchers.is_empty() || self.followed.receiver_count() > 0;
        let is_heard = is_followed || self.outgoing.receiver_count() > 0;
        if is_heard || state.prompts_are_open() || state.sessions().any(Session::is_attached) {
            Usage::InUse
        } else if state.sessions().next().is_some() || state.waiting_total() > 0 {
            Usage::Expected
        } else {
            Usage::Idle
        }
    }

    /// Decides an input and what follows from it, and puts it all into the batch.
    async fn take(&mut self, first: Pending) {
        let mut follow = VecDeque::new();
        let mut next = Some(first);
        if let Some(Moment(was)) = self.state.was_ahead_of(now()) {
            tracing::warn!(was, "the clock went back: from now on it is believed");
            follow.extend(next.replace(Pending::new(Input::ClockSet { was }, None)));
        }
        while let Some(mut pending) = next.take().or_else(|| follow.pop_front()) {
            if self.broken.is_some() {
                self.reload_or_break();
            }
            if let Some(why) = self.broken.clone() {
                pending.fail(Trouble::Journal(why));
                continue;
            }
            let Some(input) = pending.input() else {
                pending.fail(Trouble::Busy);
                continue;
            };
            let at = self.state.no_earlier(now());
            let (records, mut effects) = decide(&self.state, at, input);
            if let Some(record) = records.first() {
                let subject = record.subject();
                if !is_new(record) && self.batch.has(&subject) {
                    // The commit may fail and take back what this decision rests on, so it is taken again after it.
                    Box::pin(self.commit()).await;
                    next = Some(pending);
                    continue;
                }
                match self.add(subject, at, &records) {
                    Ok(place) => {
                        pending.append = Some(place);
                        pending.revision = Some(self.state.revision());
                    }
                    Err(trouble) => {
                        pending.fail(trouble);
                        continue;
                    }
                }
            }
            for effect in effects.extract_if(.., |effect| matches!(effect, Effect::Then(_))) {
                if let Effect::Then(input) = effect {
                    follow.push_back(Pending::new(input, None));
                }
            }
            pending.effects = effects;
            self.batch.pending.push(pending);
        }
    }

    fn add(&mut self, subject: Subject, at: Moment, records: &[Record]) -> Result<usize, Trouble> {
        let after = if is_new(&records[0]) { None } else { self.head(&subject)? };
        let place = self.batch.add(subject, after, at, records).map_err(journal)?;
        for record in records {
            self.state.apply(at, record);
        }
        Ok(place)
    }

    /// What the next record of a subject follows, as far as this state knows. Looked up only where the state knows
    /// nothing: else a record of another writer that the state has not seen would go unnoticed.
    fn head(&mut self, subject: &Subject) -> Result<Option<Seq>, Trouble> {
        if let Some(seq) = self.heads.get(subject) {
            return Ok(Some(seq));
        }
        let stored = self.store.read(&subject.to_string()).map_err(journal)?;
        Ok(stored.last().map(|record| record.seq))
    }

    /// Writes the batch, then does what it decided. Those who asked are answered last: the sessions, which have further
    /// to carry it, need not wait for that.
    async fn commit(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let mut answers = vec![];
        // What is decided anew after a conflict makes another batch.
        while !self.batch.is_empty() {
            let mut batch = std::mem::take(&mut self.batch);
            let appends = std::mem::take(&mut batch.appends);
            let results = if appends.is_empty() { vec![] } else { self.store.append(appends).await };
            for (subject, result) in batch.subjects.into_iter().zip(&results) {
                if let Ok(seq) = result {
                    self.heads.moved(subject, *seq, &self.state);
                }
            }
            let taken_back = results.iter().any(Result::is_err);
            if !results.is_empty() {
                self.is_refusing = results.iter().any(|result| matches!(result, Err(Refused::Failed(_))));
            }
            if taken_back {
                self.reload_or_break();
            }
            for pending in batch.pending {
                match pending.append.map(|place| &results[place]) {
                    Some(Ok(_)) => answers.extend(self.perform(pending)),
                    // It wrote nothing itself, but may rest on what has just been taken back.
                    None if taken_back && pending.attempts < ATTEMPTS => self.again(pending).await,
                    None if taken_back => pending.fail(Trouble::Busy),
                    None => answers.extend(self.perform(pending)),
                    Some(Err(Refused::Conflict { .. })) if pending.attempts < ATTEMPTS => self.again(pending).await,
                    Some(Err(Refused::Conflict { .. })) => pending.fail(Trouble::Busy),
                    Some(Err(Refused::Failed(why))) => {
                        tracing::error!(%why, "the journal refused a record");
                        pending.fail(Trouble::Journal(why.clone()));
                    }
                }
            }
        }
        self.pump();
        for ring in [&self.appended, &self.followed] {
            if ring.receiver_count() > 0 {
                ring.send_replace(());
            }
        }
        for (reply, answer) in answers {
            // Whoever asked may be gone.
            drop(reply.send(Ok(answer)));
        }
    }

    /// The state held what the journal refused. Until it has been read anew nothing may rest on it.
    fn reload_or_break(&mut self) {
        self.broken = self.reload().err().map(|error| format!("{error:#}"));
        if let Some(why) = &self.broken {
            tracing::error!(%why, "the journal cannot be read again");
        }
    }

    /// Another writer was first: its records are in the state by now, so the same input meets a new answer.
    async fn again(&mut self, pending: Pending) {
        let Pending { input: Some(input), reply, outlet, attempts, .. } = pending else {
            return pending.fail(Trouble::Busy);
        };
        Box::pin(self.take(Pending { outlet, attempts: attempts + 1, ..Pending::new(input, reply) })).await;
    }

    /// Does what was decided, but for the answer, which it returns.
    fn perform(&mut self, pending: Pending) -> Option<(ReplySender, Answer)> {
        match &pending.input {
            Some(Input::Wrote { session, events, .. }) => self.outlets.confirmed(*session, events),
            // What is put back, or moves, keeps its place: it may stand before what was already sent.
            Some(Input::Ended { .. } | Input::Attached { .. } | Input::Retry { .. }) => self.outlets.look_again(),
            _ => {}
        }
        if let Some((session, outlet)) = pending.outlet {
            self.outlets.open(session, outlet);
        }
        let mut answer = Answer::Done;
        for effect in pending.effects {
            match effect {
                Effect::Answer(decided) => answer = decided,
                Effect::Wake(session) => self.outlets.wake(session),
                Effect::Carry { session, ask, origin, source, ruling, at } => {
                    let (ruling, at) = (Box::new(ruling), Some(at.0));
                    self.outlets.carry(session, GateMessage::Verdict { ask, origin, source, ruling, at });
                }
                Effect::Close { session, ask, origin, source } => {
                    self.outlets.carry(session, GateMessage::Closed { ask, origin, source });
                }
                Effect::Order { session, id, order } => {
                    self.outlets.carry(session, GateMessage::Order { id, order });
                }
                Effect::RaiseGuard { session, sender } => {
                    self.outlets.carry(session, GateMessage::Outside { sender });
                }
                Effect::Publish(topic) => self.publish(topic, pending.revision),
                Effect::Then(_) => {}
            }
        }
        pending.reply.map(|reply| (reply, answer))
    }

    /// Tells those who watch, each in their way, that something has changed.
    fn publish(&mut self, topic: Topic, revision: Option<u64>) {
        if topic == Topic::People {
            self.tell_roster.send_replace(Arc::new(Roster::of(&self.state)));
        }
        let goes_out = matches!(topic, Topic::Ask(_) | Topic::Reply(_) | Topic::People);
        if goes_out && self.outgoing.receiver_count() > 0 {
            self.outgoing.send_replace(());
        }
        if !self.watchers.is_empty()
            && let Some(notice) = self.state.notice(topic)
        {
            let revision = revision.unwrap_or(self.state.revision());
            self.watchers.publish(&Published::new(revision, notice));
        }
    }

    /// Makes the state anew from the journal.
    fn reload(&mut self) -> anyhow::Result<()> {
        let mut state = State::new(self.state.limits().clone());
        let mut unreadable = None;
        let mut heads = Heads::default();
        self.store.replay(Seq(0), &mut |stored| match read_record(&stored) {
            Ok(record) => {
                state.apply(Moment(stored.at), &record);
                heads.moved(record.subject(), stored.seq, &state);
            }
            Err(error) => drop(unreadable.get_or_insert(error)),
        })?;
        match unreadable {
            Some(error) => Err(error),
            None => {
                self.state = state;
                self.heads = heads;
                self.tell_roster.send_replace(Arc::new(Roster::of(&self.state)));
                Ok(())
            }
        }
    }
}

/// An event and an ask are new by their ids; every other subject may have a past.
fn is_new(record: &Record) -> bool {
    matches!(record, Record::Received { .. } | Record::Asked { .. })
}

fn journal(error: impl std::fmt::Display) -> Trouble {
    Trouble::Journal(error.to_string())
}

/// An event whole, as it was received.
pub(super) fn read_event(store: &Store, event: EventId) -> Result<Option<Arc<Event>>, Trouble> {
    let stored = store.read(&Subject::Event(event).to_string()).map_err(journal)?;
    let Some(first) = stored.first() else { return Ok(None) };
    match read_record(first).map_err(|error| Trouble::Journal(format!("{error:#}")))? {
        Record::Received { event, .. } => Ok(Some(event)),
        _ => Ok(None),
    }
}

pub(crate) fn read_record(stored: &Stored) -> anyhow::Result<Record> {
    let payload = match &stored.payload {
        store::Payload::None => RecordPayload::None,
        store::Payload::Kept(bytes) => RecordPayload::Kept(bytes),
        store::Payload::Erased => RecordPayload::Erased,
    };
    let at = Moment(stored.at);
    record::read(at, &stored.body, payload).with_context(|| format!("record {} of {}", stored.seq.0, stored.subject))
}
