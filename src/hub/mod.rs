//! The hub: one loop that decides, writes down, and only then acts. Everything else talks to it through [`Hub`].

mod admission;
mod answers;
mod batch;
mod denials;
mod editors;
mod heads;
mod line_rate;
pub(crate) mod link;
mod names;
pub(crate) mod outbox;
mod outlets;
mod rate;
mod roster;
mod run;
mod streams;
#[cfg(test)]
mod tests;
mod watchers;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use portcullis_core::{Answer, Event, EventId, Goodbye, Input, Limits, Moment, Notice, SessionId, State, Subject};
use portcullis_wire::error::{Fault, Kind};
use tokio::sync::{mpsc, oneshot, watch};

pub(crate) use admission::{Peer, PeerProcess, TcpConnection};
#[cfg(test)]
pub(crate) use answers::named_in_full;
pub(crate) use line_rate::LineRate;
pub(crate) use names::{find_ask_to_show, find_event, find_session, find_token};
pub(crate) use roster::{Known, Roster};
pub(crate) use run::{knows_agents, read_record, start};
pub(crate) use streams::{StreamLook, Streams};
pub(crate) use watchers::{Changes, Published, Watcher};

use crate::mint::random;
pub(crate) use crate::mint::{mint, now};
pub(crate) use crate::store::{Erasure, Payload, Seq, Stored};
use outlets::Outlet;

/// How much the hub takes in before it says that it is busy.
#[derive(Clone, Debug)]
pub(crate) struct HubLimits {
    pub(crate) queue: usize,
    pub(crate) queue_bytes: usize,
    pub(crate) watcher: usize,
    /// Events a second for each person but the owner, and how many at once.
    pub(crate) rate: usize,
    pub(crate) burst: usize,
    /// The same for what one device asks to be done.
    pub(crate) device_rate: usize,
    pub(crate) device_burst: usize,
    /// Senders whose events are held for so many milliseconds and then delivered together.
    pub(crate) coalesce: HashMap<String, u64>,
    pub(crate) state: Limits,
    /// After so many records a snapshot is made at the latest.
    pub(crate) snapshot_after: u64,
}

/// Why the hub did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("the gate is busy")]
    Busy,
    #[error("the gate is stopping")]
    Stopping,
    #[error("the journal could not be written: {0}")]
    Journal(String),
}

impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Self {
        let kind = match trouble {
            Trouble::Busy => Kind::Busy,
            Trouble::Stopping => Kind::Stopping,
            Trouble::Journal(_) => Kind::JournalFailed,
        };
        Self::new(kind, trouble.to_string()).retry_after(1)
    }
}

/// Who would miss the gate if it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    /// A session that is attached, an open prompt, someone who watches, a connector.
    InUse,
    /// Nobody at the moment: events wait, or a session is away. The journal has them for the next gate.
    Expected,
    Idle,
}

type ReplySender = oneshot::Sender<Result<Answer, Trouble>>;

/// Something to be done with the state as the journal has it.
type Look<T> = Box<dyn FnOnce(&State) -> T + Send>;

/// What the loop is asked to do.
enum HubCommand {
    Submit {
        input: Box<Input>,
        reply: ReplySender,
        bytes: usize,
    },
    /// The input is always [`Input::Attached`]; from now on the outlet carries what is for that session.
    Attach {
        input: Box<Input>,
        session: SessionId,
        outlet: Outlet,
        reply: ReplySender,
    },
    /// The process behind an outlet is gone. Ignored when another has attached since.
    Detach {
        session: SessionId,
        outlet: u64,
        goodbye: Option<Goodbye>,
    },
    Look(Look<()>),
    Watch(Look<Vec<(u64, Notice)>>, oneshot::Sender<Watcher>),
    Usage(oneshot::Sender<Usage>),
    CanWrite(oneshot::Sender<bool>),
    /// Events whole, as the journal has them.
    Read(EventId, oneshot::Sender<Result<Option<Arc<Event>>, Trouble>>),
    /// The journal itself: records after a sequence, at most so many.
    Page(Seq, usize, oneshot::Sender<Result<Vec<Stored>, Trouble>>),
    /// All records of one subject.
    Story(Subject, oneshot::Sender<Result<Vec<Stored>, Trouble>>),
    /// Erases what people wrote about a subject.
    Erase(Subject, oneshot::Sender<Result<Erasure, Trouble>>),
}

/// A handle on the hub. Cheap to clone; all clones speak to the same loop.
#[derive(Clone)]
pub(crate) struct Hub {
    /// Chat: as much as fits, then `Busy`.
    events: mpsc::Sender<HubCommand>,
    /// Verdicts, attached processes and questions: a lane of their own, so that a flood of chat never delays them.
    reserved: mpsc::Sender<HubCommand>,
    /// Bytes of text in the events lane. Added to here, taken off by the loop.
    queued_bytes: Arc<AtomicUsize>,
    queue_bytes: usize,
    roster: watch::Receiver<Arc<Roster>>,
    /// Rings for connectors when there may be something to go out. The loop rings only where somebody listens.
    outgoing: Arc<watch::Sender<()>>,
    /// Rings when the journal has new records. The loop rings only where somebody listens.
    appended: Arc<watch::Sender<()>>,
    /// The same for people who follow the log: while they do, the gate is in use.
    followed: Arc<watch::Sender<()>>,
    /// How fast each person sends, whichever door they come to.
    rates: Arc<rate::Rates>,
    device_rates: Arc<rate::Rates>,
    /// How many refusals of each agent are written down.
    denials: Arc<denials::Denials>,
    /// Who showed the owner's token over TCP and is no agent. Changed by those who look, and when a session begins.
    outsiders: Arc<admission::Outsiders>,
}

impl Hub {
    /// Hands over an input. Once this has been polled the input is in, even if the caller goes away.
    pub(crate) async fn submit(&self, input: Input) -> Result<Answer, Trouble> {
        let (reply, answer) = oneshot::channel();
        // Large as it is, it moves once.
        let input = Box::new(input);
        if is_chat(&input) {
            self.take_event(input, reply)?;
        } else {
            self.send(HubCommand::Submit { input, reply, bytes: 0 }).await?;
        }
        answer.await.map_err(|_| Trouble::Stopping)?
    }

    /// Puts an input of an attached process in its place; the answer comes when it comes.
    async fn enqueue(&self, input: Input) -> Result<oneshot::Receiver<Result<Answer, Trouble>>, Trouble> {
        let (reply, answer) = oneshot::channel();
        self.send(HubCommand::Submit { input: Box::new(input), reply, bytes: 0 }).await?;
        Ok(answer)
    }

    fn take_event(&self, input: Box<Input>, reply: ReplySender) -> Result<(), Trouble> {
        let bytes = match &*input {
            Input::Said { text, .. } => text.len(),
            _ => 0,
        };
        let before = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        // One event always fits, however large: the door has checked its size.
        let fits = before == 0 || before + bytes <= self.queue_bytes;
        let sent = if fits {
            self.events.try_send(HubCommand::Submit { input, reply, bytes })
        } else {
            return self.give_back(bytes, Trouble::Busy);
        };
        match sent {
            Ok(()) => Ok(()),
            Err(mpsc::error::TrySendError::Full(_)) => self.give_back(bytes, Trouble::Busy),
            Err(mpsc::error::TrySendError::Closed(_)) => self.give_back(bytes, Trouble::Stopping),
        }
    }

    fn give_back(&self, bytes: usize, trouble: Trouble) -> Result<(), Trouble> {
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        Err(trouble)
    }

    async fn send(&self, command: HubCommand) -> Result<(), Trouble> {
        self.reserved.send(command).await.map_err(|_| Trouble::Stopping)
    }

    /// Looks at the state as the journal has it.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<T, Trouble> {
        let (send, seen) = oneshot::channel();
        self.send(HubCommand::Look(Box::new(move |state| drop(send.send(look(state)))))).await?;
        seen.await.map_err(|_| Trouble::Stopping)
    }

    /// The state first, as `first` tells it, then every change.
    pub(crate) async fn watch(
        &self,
        first: impl FnOnce(&State) -> Vec<(u64, Notice)> + Send + 'static,
    ) -> Result<Watcher, Trouble> {
        let (send, watcher) = oneshot::channel();
        self.send(HubCommand::Watch(Box::new(first), send)).await?;
        watcher.await.map_err(|_| Trouble::Stopping)
    }

    /// An event with its text, from the journal.
    pub(crate) async fn read(&self, event: EventId) -> Result<Option<Arc<Event>>, Trouble> {
        let (send, found) = oneshot::channel();
        self.send(HubCommand::Read(event, send)).await?;
        found.await.map_err(|_| Trouble::Stopping)?
    }

    /// What tells a person who follows the journal page by page that it has new records. Whoever marks it as seen before
    /// reading a page misses none.
    pub(crate) fn follow(&self) -> watch::Receiver<()> {
        self.followed.subscribe()
    }

    /// The same for a part of the gate itself, which keeps no gate from leaving.
    pub(crate) fn appended(&self) -> watch::Receiver<()> {
        self.appended.subscribe()
    }

    /// Records after a sequence, at most `limit`, oldest first.
    pub(crate) async fn page(&self, after: Seq, limit: usize) -> Result<Vec<Stored>, Trouble> {
        let (send, page) = oneshot::channel();
        self.send(HubCommand::Page(after, limit, send)).await?;
        page.await.map_err(|_| Trouble::Stopping)?
    }

    /// All records of a subject, oldest first.
    async fn story(&self, subject: Subject) -> Result<Vec<Stored>, Trouble> {
        let (send, story) = oneshot::channel();
        self.send(HubCommand::Story(subject, send)).await?;
        story.await.map_err(|_| Trouble::Stopping)?
    }

    /// Erases what people wrote about a subject; that it happened stays.
    pub(crate) async fn erase(&self, subject: Subject) -> Result<Erasure, Trouble> {
        let (send, erased) = oneshot::channel();
        self.send(HubCommand::Erase(subject, send)).await?;
        erased.await.map_err(|_| Trouble::Stopping)?
    }

    /// Who is let in, now and after every change.
    pub(crate) fn roster(&self) -> watch::Receiver<Arc<Roster>> {
        self.roster.clone()
    }

    /// Whether anyone would miss the gate.
    pub(crate) async fn usage(&self) -> Result<Usage, Trouble> {
        let (send, seen) = oneshot::channel();
        self.send(HubCommand::Usage(send)).await?;
        seen.await.map_err(|_| Trouble::Stopping)
    }

    /// Whether the journal took what it was last given to write.
    pub(crate) async fn can_write(&self) -> Result<bool, Trouble> {
        let (send, seen) = oneshot::channel();
        self.send(HubCommand::CanWrite(send)).await?;
        seen.await.map_err(|_| Trouble::Stopping)
    }

    /// Attaches a process for a session. `input` is an [`Input::Attached`] for it.
    async fn attach(&self, session: SessionId, input: Input, outlet: Outlet) -> Result<Answer, Trouble> {
        let (reply, answer) = oneshot::channel();
        self.send(HubCommand::Attach { input: Box::new(input), session, outlet, reply }).await?;
        let attached = answer.await.map_err(|_| Trouble::Stopping)?;
        self.outsiders.session_has_begun();
        attached
    }

    /// The process behind an outlet has gone: with a word the session has ended, without one it was lost.
    async fn detach(&self, session: SessionId, outlet: u64, goodbye: Option<Goodbye>) {
        // When the hub is gone there is nobody left to tell.
        drop(self.send(HubCommand::Detach { session, outlet, goodbye }).await);
    }
}

/// What nobody can foresee, for codes that people type.
pub(crate) fn entropy() -> Result<u64, Fault> {
    random().map_err(|error| Fault::new(Kind::Internal, format!("there are no random numbers to be had: {error}")))
}

/// Text for a session, and no verdict.
fn is_chat(input: &Input) -> bool {
    matches!(input, Input::Said { text, .. } if text.verdict().is_none())
}

/// The same, and not a repetition of anything.
fn is_plain_chat(input: &Input) -> bool {
    matches!(input, Input::Said { idempotency_key: None, .. }) && is_chat(input)
}

/// A refusal as it is told: what it says of times is as seen from now.
pub(crate) fn fault_of(refusal: &portcullis_core::Refusal) -> Fault {
    let at: Moment = now();
    Fault::of(refusal, at)
}
