//! The loop: take what has come, decide, write it down in one commit, then do what was decided.
//!
//! Decisions of one batch build on each other, so each is applied to the loop's own state before the batch is written.
//! Nobody sees that state until the journal has the batch; if the journal refuses, the state is thrown away and read
//! anew. So what others see never runs ahead of the journal.
//!
//! While the disk makes a batch safe the loop decides and writes the next ones, as far as they may run ahead.

mod commit;
mod perform;
mod replay;
mod snapshot;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use portcullis_core::{Input, Moment, Session, State};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::batch::{Batch, Pending, WrittenBatch};
use super::denials::Denials;
use super::heads::Heads;
use super::outlets::{Outlets, Pumping};
use super::rate::Rates;
use super::roster::Roster;
use super::watchers::Watchers;
use super::{Hub, HubCommand, HubLimits, Trouble, Usage, now};
use crate::store::Store;
use commit::reached;
pub(super) use replay::read_event;
pub(crate) use replay::{knows_agents, read_record};

/// Room in the reserved lane. Its senders wait for a place; there is one a connection.
const RESERVED: usize = 1024;

/// Nobody waits for the record of a call that was made. Its result may be on its way through this process, and needs so many
/// turns of the other tasks to be out.
const TURNS: usize = 2;

/// A deadline whose record was refused stays due, and is tried again after this. Whoever submits something is not kept
/// waiting by it.
const RETRY_REFUSED: Duration = Duration::from_secs(1);

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
    let denials: Arc<Denials> = Arc::default();
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
        device_rates: Arc::new(Rates::new(limits.device_rate, limits.device_burst)),
        denials: Arc::clone(&denials),
        outsiders: Arc::default(),
    };
    let mut hub_loop = HubLoop {
        state: State::new(limits.state.clone()),
        store,
        heads: Heads::default(),
        outlets: Outlets::default(),
        watchers: Watchers::new(limits.watcher),
        batch: Batch::default(),
        written: VecDeque::new(),
        safe: 0,
        queued_bytes,
        tell_roster,
        outgoing,
        appended,
        followed,
        denials,
        coalesce: limits.coalesce,
        held_until: None,
        due: None,
        broken: None,
        is_refusing: false,
        version: version.to_owned(),
        snapshot_after: limits.snapshot_after,
        snapshot_at: 0,
    };
    hub_loop.reload().context("reading the journal")?;
    hub_loop.safe = hub_loop.state.arrivals();
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
    /// Oldest first. What they decided is done as each becomes safe.
    written: VecDeque<WrittenBatch>,
    /// How many events had arrived when the last batch became safe.
    safe: u64,
    queued_bytes: Arc<AtomicUsize>,
    tell_roster: watch::Sender<Arc<Roster>>,
    outgoing: Arc<watch::Sender<()>>,
    appended: Arc<watch::Sender<()>>,
    followed: Arc<watch::Sender<()>>,
    denials: Arc<Denials>,
    coalesce: HashMap<String, u64>,
    /// Why the state does not stand for the journal at the moment.
    broken: Option<String>,
    /// The journal refused what it was last given to write.
    is_refusing: bool,
    /// When something that an outlet holds back comes due.
    held_until: Option<Moment>,
    /// The state's next deadline, or an earlier moment. None after what may have changed it in another way than events
    /// that come and go do: then all sessions, queues and prompts are looked at.
    due: Option<Option<Moment>>,
    /// Of this program.
    version: String,
    /// After so many records a snapshot is made, however busy the loop is.
    snapshot_after: u64,
    /// The revision of the last snapshot.
    snapshot_at: u64,
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
            // A tick comes once a minute at least, and then fewer records are worth a snapshot.
            let mut worthwhile = self.snapshot_after;
            let command = tokio::select! {
                biased;
                () = &mut stopped => break,
                safe = reached(&mut self.written) => {
                    self.finish(safe).await;
                    continue;
                }
                command = reserved.recv() => command,
                command = events.recv() => command,
                () = &mut timer => {
                    worthwhile /= 4;
                    self.take(Pending::new(Input::Ticked, None)).await;
                    None
                }
            };
            if let Some(command) = command {
                self.handle(command).await;
            }
            // Whoever has something to say by now says it before the commit, and not after.
            tokio::task::yield_now().await;
            for _ in 0..if self.batch.is_of_calls() { TURNS } else { 0 } {
                tokio::task::yield_now().await;
            }
            while !self.batch.is_full()
                && let Ok(command) = reserved.try_recv().or_else(|_| events.try_recv())
            {
                self.handle(command).await;
            }
            self.write().await;
            if self.is_snapshot_overdue() {
                self.settle().await;
            }
            // An event goes to no session by a record that is not safe yet; once it is, `finish` hands it out.
            if self.written.is_empty() {
                self.pump();
                self.keep_snapshot(worthwhile);
            }
        }
        // What was taken in before the stop is still written; what comes now is told that we are stopping.
        reserved.close();
        events.close();
        while let Ok(command) = reserved.try_recv().or_else(|_| events.try_recv()) {
            self.handle(command).await;
        }
        self.commit().await;
        self.keep_snapshot(self.snapshot_after / 50);
        // The process is about to end: to free each event by itself would only take time.
        std::mem::forget(self.state);
    }

    fn pump(&mut self) {
        if self.broken.is_some() {
            return;
        }
        let now = now();
        if self.held_until.is_some_and(|due| due <= now) {
            self.held_until = None;
            self.outlets.look_again();
        }
        let Self { state, store, coalesce, safe, .. } = self;
        let due = self.outlets.pump(&Pumping { state, store, coalesce, safe: *safe, now });
        self.held_until = self.held_until.into_iter().chain(due).min();
    }

    fn until_deadline(&mut self) -> Duration {
        let longest = Duration::from_secs(60);
        let deadline = *self.due.get_or_insert_with(|| self.state.next_deadline());
        let due = deadline.into_iter().chain(self.held_until).min();
        let due = due.map(|due| Duration::from_millis(due.since(now())));
        let due = due.map_or(longest, |due| due.min(longest));
        if self.is_refusing || self.broken.is_some() { due.max(RETRY_REFUSED) } else { due }
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
                // What it is asked for writes its own record later, which waits for the disk with all that is before it.
                self.write().await;
                let takes_records = self.broken.is_none() && !self.is_refusing && self.store.failure().is_none();
                let _ = reply.send(takes_records);
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
                // As with `Look`.
                if self.broken.is_some() {
                    return;
                }
                let first = first(&self.state);
                // If the watcher is gone already, the next publication drops its sender.
                drop(reply.send(self.watchers.add(self.state.revision(), first)));
            }
            HubCommand::Read(event, reply) => {
                self.commit().await;
                self.store.aside(move |records| drop(reply.send(read_event(records, event))));
            }
            HubCommand::Page(after, limit, reply) => {
                self.commit().await;
                self.store.aside(move |records| drop(reply.send(records.page(after, limit).map_err(journal))));
            }
            HubCommand::Story(subject, reply) => {
                self.commit().await;
                let subject = subject.to_string();
                self.store.aside(move |records| drop(reply.send(records.read(&subject).map_err(journal))));
            }
            HubCommand::Erase(subject, reply) => {
                self.commit().await;
                // Nothing is erased where the record that says so could not be written.
                if let Some(why) = self.broken.clone() {
                    drop(reply.send(Err(Trouble::Journal(why))));
                    return;
                }
                let erased = self.store.erase(&subject.to_string()).map_err(journal);
                // What waits, asks and was replied is in memory as well.
                self.reload_or_break();
                drop(reply.send(erased));
            }
        }
    }

    fn usage(&self) -> Usage {
        let state = &self.state;
        let is_followed = !self.watchers.is_empty() || self.followed.receiver_count() > 0;
        let is_heard = is_followed || self.outgoing.receiver_count() > 0;
        if is_heard || state.open_asks().next().is_some() || state.sessions().any(Session::is_attached) {
            Usage::InUse
        } else if state.sessions().next().is_some() || state.waiting_total() > 0 {
            Usage::Expected
        } else {
            Usage::Idle
        }
    }
}

fn journal(error: impl std::fmt::Display) -> Trouble {
    Trouble::Journal(error.to_string())
}
