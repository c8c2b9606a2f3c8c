//! The link of an attached process with the hub: the same handle in-process and over the socket.

mod client;
mod server;

use portcullis_core::{
    Actor, Answer, AskId, ChatId, Code, EventId, Goodbye, Input, NewAsk, OWNER, Order, ReplyId, Role, Ruling, SentFile,
    SessionAbout, SessionId, Source, Target, Text, TokenScope, ToolCall, Via,
};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::link::{Answered, EventFrame, InboxItem};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

pub(crate) use client::{Connect, connect};
pub(crate) use server::{Gate, serve};

use super::outlets::{Outlet, Parcel};
use super::{Hub, fault_of, mint};

/// A line of the link is at most this long: an event of 16 MiB with every byte escaped still fits.
const LONGEST_LINE: usize = 128 << 20;

/// What comes to an attached process.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// One event, or several of one sender in one.
    Event {
        ids: Vec<EventId>,
        frame: EventFrame<'static>,
    },
    Verdict {
        ask: AskId,
        /// As the asking process named it.
        origin: String,
        source: Source,
        ruling: Box<Ruling>,
    },
    /// No verdict is coming: nobody answered in time, or it was settled elsewhere.
    Closed {
        ask: AskId,
        source: Source,
    },
    Order(Order),
}

/// An attached session, seen from its own process.
pub(crate) struct Attachment {
    incoming: Incoming,
    pub(crate) line: Line,
}

/// How long a process that ends waits for the gate to hear of it.
const GOODBYE: Duration = Duration::from_millis(300);

enum Incoming {
    Local { parcels: mpsc::Receiver<Parcel>, max_context: Option<usize> },
    Remote(mpsc::Receiver<Delivery>),
}

impl Attachment {
    /// The next event or verdict; none when there will be no more.
    pub(crate) async fn next(&mut self) -> Option<Delivery> {
        match &mut self.incoming {
            Incoming::Remote(deliveries) => deliveries.recv().await,
            Incoming::Local { parcels, max_context } => parcels.recv().await.map(|parcel| unpack(parcel, *max_context)),
        }
    }

    /// One that needs no waiting for, if there is one.
    pub(crate) fn ready(&mut self) -> Option<Delivery> {
        match &mut self.incoming {
            Incoming::Remote(deliveries) => deliveries.try_recv().ok(),
            Incoming::Local { parcels, max_context } => {
                parcels.try_recv().ok().map(|parcel| unpack(parcel, *max_context))
            }
        }
    }
}

fn unpack(parcel: Parcel, max_context: Option<usize>) -> Delivery {
    match parcel {
        Parcel::Event(held, also) => {
            let ids = [held.event.id].into_iter().chain(also.iter().copied()).collect();
            let also = also.iter().map(ToString::to_string).collect();
            Delivery::Event { ids, frame: owned(EventFrame { also, ..EventFrame::of(&held, max_context) }) }
        }
        Parcel::Verdict { ask, origin, source, ruling } => Delivery::Verdict { ask, origin, source, ruling },
        Parcel::Closed { ask, source, .. } => Delivery::Closed { ask, source },
        Parcel::Order(order) => Delivery::Order(order),
    }
}

fn owned(frame: EventFrame<'_>) -> EventFrame<'static> {
    EventFrame {
        id: frame.id.into_owned().into(),
        via: frame.via.into_owned().into(),
        sender: frame.sender.into_owned().into(),
        chat: frame.chat.into_owned().into(),
        attributes: frame.attributes.into_owned().into(),
        text: frame.text.into_owned(),
        rest: frame.rest,
        redelivered: frame.redelivered,
        also: frame.also,
    }
}

/// What an attached process says. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Line {
    road: Road,
    /// With the agent, while the gate is not yet told. Shared by all clones: whatever one of them says goes after it.
    written: Arc<Mutex<Written>>,
}

#[derive(Clone)]
enum Road {
    Local { hub: Hub, session: SessionId, outlet: u64 },
    Remote(mpsc::Sender<Said>),
}

/// What was written to the agent.
#[derive(Default)]
struct Written {
    events: Vec<EventId>,
    verdicts: Vec<AskId>,
}

/// Something said over the link, and where its answer goes.
pub(crate) struct Said {
    what: Saying,
    reply: Option<oneshot::Sender<Result<Answered, Fault>>>,
}

/// Everything an attached process can say.
#[derive(Clone, Debug)]
enum Saying {
    Wrote(Vec<EventId>),
    Carried(AskId),
    Asked(Box<NewAsk>),
    Withdrawn {
        ask: AskId,
        why: String,
    },
    /// At the session's own terminal.
    Answered {
        ask: AskId,
        ruling: Box<Ruling>,
    },
    Called(Box<ToolCall>),
    Described(Box<SessionAbout>),
    Barred {
        what: String,
    },
    Replied {
        id: ReplyId,
        chat: ChatId,
        text: String,
        files: Vec<SentFile>,
    },
    Inbox(Option<EventId>),
    Bye(Goodbye),
}

impl Line {
    fn new(road: Road) -> Self {
        Self { road, written: Arc::default() }
    }

    /// These are with the agent. The gate hears of it by [`Line::confirm`], or before anything else that is said.
    /// Returns how many it has not heard of.
    pub(crate) fn wrote(&self, events: &[EventId], verdicts: &[AskId]) -> usize {
        let mut written = self.written();
        written.events.extend_from_slice(events);
        written.verdicts.extend_from_slice(verdicts);
        written.events.len() + written.verdicts.len()
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the gate what is with the agent.
    pub(crate) async fn confirm(&self) {
        let written = std::mem::take(&mut *self.written());
        if !written.events.is_empty() {
            self.put(Saying::Wrote(written.events)).await;
        }
        for ask in written.verdicts {
            self.put(Saying::Carried(ask)).await;
        }
    }

    /// The session ends on purpose. Returns when the gate was told, or is not to be reached.
    pub(crate) async fn bye(self, goodbye: Goodbye) {
        self.confirm().await;
        self.put(Saying::Bye(goodbye)).await;
        if let Road::Remote(outgoing) = self.road {
            drop(tokio::time::timeout(GOODBYE, outgoing.closed()).await);
        }
    }

    /// The agent asks for permission. Returns the code that people answer with. While the gate is away this waits, and
    /// the ask is put to the next one under the same id.
    pub(crate) async fn ask_for(&self, ask: NewAsk) -> Result<Code, Fault> {
        match self.ask(Saying::Asked(Box::new(ask))).await? {
            Answered::Asked { code, .. } => Code::parse(&code).ok_or_else(unexpected),
            other => Err(fault_in(other)),
        }
    }

    /// Someone at the session's own terminal answered. The verdict comes back as any other does, if it was the first.
    pub(crate) async fn answer(&self, ask: AskId, ruling: Ruling) -> Result<(), Fault> {
        match self.ask(Saying::Answered { ask, ruling: Box::new(ruling) }).await? {
            Answered::Ok => Ok(()),
            other => Err(fault_in(other)),
        }
    }

    /// The ask was settled where the gate cannot see it, or is no longer asked.
    pub(crate) async fn withdraw(&self, ask: AskId, why: impl Into<String>) {
        self.put(Saying::Withdrawn { ask, why: why.into() }).await;
    }

    /// A tool of the agent ran, or was kept from it. Confirms the verdict on its ask, where there was one.
    pub(crate) async fn called(&self, call: ToolCall) {
        self.put(Saying::Called(Box::new(call))).await;
    }

    /// What is known of the session has changed.
    pub(crate) async fn describe(&self, about: SessionAbout) {
        self.put(Saying::Described(Box::new(about))).await;
    }

    /// Something was refused here that only an attacker or a confused agent would try.
    pub(crate) async fn barred(&self, what: impl Into<String>) {
        self.put(Saying::Barred { what: what.into() }).await;
    }

    pub(crate) async fn reply(&self, chat: ChatId, text: String, files: Vec<SentFile>) -> Result<(), Fault> {
        match self.ask(Saying::Replied { id: mint(ReplyId::new), chat, text, files }).await? {
            Answered::Ok => Ok(()),
            other => Err(fault_in(other)),
        }
    }

    /// The events of this session, newest last.
    pub(crate) async fn inbox(&self) -> Result<Vec<InboxItem>, Fault> {
        match self.ask(Saying::Inbox(None)).await? {
            Answered::Inbox { events } => Ok(events),
            other => Err(fault_in(other)),
        }
    }

    /// One event of this session, whole.
    pub(crate) async fn open(&self, event: EventId) -> Result<(InboxItem, String), Fault> {
        match self.ask(Saying::Inbox(Some(event))).await? {
            Answered::Event { event, text } => Ok((event, text)),
            other => Err(fault_in(other)),
        }
    }

    /// Returns when the word is on its way, in the order it was said.
    async fn put(&self, what: Saying) {
        match &self.road {
            Road::Remote(outgoing) => drop(outgoing.send(Said { what, reply: None }).await),
            Road::Local { hub, session, outlet } => match what {
                Saying::Bye(goodbye) => hub.detach(*session, *outlet, Some(goodbye)).await,
                told => {
                    if let Some(input) = input_of(told, *session) {
                        drop(hub.enqueue(input).await);
                    }
                }
            },
        }
    }

    async fn ask(&self, what: Saying) -> Result<Answered, Fault> {
        self.confirm().await;
        match &self.road {
            Road::Remote(outgoing) => {
                let (reply, answer) = oneshot::channel();
                let gone = || Fault::new(Kind::Stopping, "the link to the gate has ended");
                outgoing.send(Said { what, reply: Some(reply) }).await.map_err(|_| gone())?;
                answer.await.map_err(|_| gone())?
            }
            Road::Local { hub, session, .. } => answer(hub, *session, what).await,
        }
    }
}

fn unexpected() -> Fault {
    Fault::new(Kind::Internal, "the gate gave an answer that does not fit the question")
}

fn fault_in(answered: Answered) -> Fault {
    match answered {
        Answered::Refused(fault) => fault,
        _ => unexpected(),
    }
}

/// The input that a saying stands for; `Inbox` and `Bye` are not inputs of their own.
fn input_of(what: Saying, session: SessionId) -> Option<Input> {
    Some(match what {
        Saying::Wrote(events) => Input::Wrote { session, events },
        Saying::Carried(ask) => Input::Carried { ask, session },
        Saying::Asked(ask) => Input::Asked { session, ask, entropy: getrandom::u64().unwrap_or_default() },
        Saying::Withdrawn { ask, why } => Input::Withdrawn { ask, by: Some(session), why },
        Saying::Answered { ask, ruling } => {
            Input::Answered { by: at_the_terminal(), target: Target::Id(ask), ruling: *ruling, idempotency_key: None }
        }
        Saying::Called(call) => Input::Called { session, call: *call },
        Saying::Described(about) => Input::Described { session, about: *about },
        Saying::Barred { what } => Input::AccessDenied { who: format!("session {session}"), what },
        Saying::Replied { id, chat, text, files } => Input::Replied { id, session, chat, text: Text::new(text), files },
        Saying::Inbox(_) | Saying::Bye(_) => return None,
    })
}

/// Whoever sits where the session was started: its owner.
fn at_the_terminal() -> Actor {
    let rights = Role::Admin.rights();
    Actor { name: OWNER.to_owned(), rights, via: Via::Terminal, scope: TokenScope::Everything }
}

/// Does what was said in the hub, and puts the outcome as the link tells it.
async fn answer(hub: &Hub, session: SessionId, what: Saying) -> Result<Answered, Fault> {
    let event = match what {
        Saying::Inbox(None) => {
            let mine = move |state: &portcullis_core::State| {
                let events = state.events().rev().filter(|held| held.to == Some(session)).take(100);
                events.map(InboxItem::from).collect::<Vec<_>>()
            };
            let mut events = hub.look(mine).await?;
            events.reverse();
            return Ok(Answered::Inbox { events });
        }
        Saying::Inbox(Some(event)) => event,
        said => {
            let Some(input) = input_of(said, session) else { return Ok(Answered::Ok) };
            return Ok(tell(&hub.submit(input).await?));
        }
    };
    if let Answer::Refused(refusal) = hub.submit(Input::Opened { session, event }).await? {
        return Ok(Answered::Refused(fault_of(&refusal)));
    }
    let item = hub.look(move |state| state.event(event).map(InboxItem::from)).await?;
    match (item, hub.read(event).await?) {
        (Some(item), Some(event)) => Ok(Answered::Event { event: item, text: event.text.as_str().to_owned() }),
        _ => Ok(Answered::Refused(fault_of(&portcullis_core::Refusal::NoSuchEvent))),
    }
}

fn tell(answer: &Answer) -> Answered {
    match answer {
        Answer::Asked { ask, code } => Answered::Asked { ask: ask.to_string(), code: code.to_string() },
        Answer::Refused(refusal) => Answered::Refused(fault_of(refusal)),
        Answer::Done | Answer::Accepted { .. } | Answer::Recorded { .. } | Answer::Pairing { .. } => Answered::Ok,
    }
}

/// Attaches in the hub's own process.
pub(crate) async fn attach_here(
    hub: &Hub,
    session: SessionId,
    about: SessionAbout,
    max_context: Option<usize>,
) -> Result<Attachment, Fault> {
    let (outlet, parcels) = Outlet::new(&[]);
    let line = Line::new(Road::Local { hub: hub.clone(), session, outlet: outlet.number });
    let input = Input::Attached { session, about, wrote: vec![], holding: vec![] };
    hub.attach(session, input, outlet).await?;
    Ok(Attachment { incoming: Incoming::Local { parcels, max_context }, line })
}
