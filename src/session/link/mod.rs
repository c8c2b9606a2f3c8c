//! The session's half of the link: what a session's process says to its gate, and what is delivered to it.

mod client;
mod upgrade;

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use portcullis_core::{
    AskId, ChatId, Code, DeliveryWay, EventId, Goodbye, NewAsk, Order, OrderId, OrderOutcome, ReplyId, Ruling,
    SentFile, SessionAbout, SessionId, Source, ToolCall,
};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::link::{Answered, ChannelEvent, EventFrame, InboxItem, LineHead, SessionMessage, read_frame};
use tokio::sync::{mpsc, oneshot, watch};

pub(crate) use client::{Connect, connect, connect_for_lines};
pub(crate) use upgrade::upgrade;

use super::ring::StreamRing;
use crate::files::{FileStore, StoredFile};
use crate::locks::locked;

/// What comes to an attached process.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// The gate has taken the attach. What stands for the session, such as a stop, has come before.
    Attached,
    /// One event, or several of one sender in one.
    Event(EventFrame<'static>),
    /// One event, as the client reads it. Only for those who attached by [`connect_for_lines`].
    Line(FinishedEvent),
    Verdict {
        ask: AskId,
        /// As the asking process named it.
        origin: String,
        source: Source,
        ruling: Box<Ruling>,
    },
    /// No verdict is coming: nobody answered in time, or it was settled elsewhere.
    Closed { ask: AskId, source: Source },
    Order {
        /// What to confirm it with, by [`SessionHandle::ordered`].
        id: Option<OrderId>,
        order: Order,
    },
    /// Another process of the same conversation has put text of this sender before the model, who may not direct it.
    Outside { sender: String },
    /// This event is no longer for the agent.
    TakeBack { event: EventId },
}

/// An event as the client reads it.
#[derive(Debug)]
pub(crate) struct FinishedEvent {
    pub(crate) id: EventId,
    line: Bytes,
}

impl FinishedEvent {
    /// Without its newline.
    pub(crate) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Whose it is. It was read once already, when it came.
    pub(crate) fn head(&self) -> Option<LineHead<'_>> {
        std::str::from_utf8(&self.line).ok().and_then(LineHead::read)
    }

    /// Its parts. None where it is no line after all: then it is only to be pushed.
    pub(crate) fn frame(&self) -> Option<EventFrame<'static>> {
        let line = std::str::from_utf8(&self.line).ok()?;
        read_frame(line).ok().map(EventFrame::into_owned)
    }
}

/// What is for the session, in its order. One task of the process takes it.
pub(crate) struct Deliveries(mpsc::Receiver<Delivery>);

impl Deliveries {
    /// The next one; none when there will be no more.
    pub(crate) async fn next(&mut self) -> Option<Delivery> {
        self.0.recv().await
    }

    /// One that needs no waiting for, if there is one.
    pub(crate) fn ready(&mut self) -> Option<Delivery> {
        self.0.try_recv().ok()
    }
}

/// No gate can be started until somebody repairs a file: why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NoGate(pub(crate) String);

/// How long a process that ends waits for the gate to hear of it.
const BYE_TIMEOUT: Duration = Duration::from_millis(300);

/// Where the answer to a message goes.
type AnswerSender = oneshot::Sender<Answered>;

/// What an attached process says to its gate. Cheap to clone.
///
/// While the gate is away a message waits, and goes to the next gate.
#[derive(Clone)]
pub(crate) struct SessionHandle {
    outgoing: mpsc::Sender<(SessionMessage, Option<AnswerSender>)>,
    /// What the agent says and does, for those who look.
    stream: Arc<StreamRing>,
    /// Where files are kept that come with events and go with replies.
    files: Option<FileStore>,
    /// Why no gate can be started until somebody repairs a file; none while one may be.
    no_gate: watch::Receiver<Option<String>>,
    session: SessionId,
    /// Shared by all clones.
    state: Arc<Mutex<HandleState>>,
    /// Whether a gate has taken the attach, and its link has not ended since. Changed by the link's client.
    attached: Arc<AtomicBool>,
}

struct HandleState {
    /// With the agent, while the gate is not yet told: it is before it is asked anything.
    written: DeliveryReceipt,
    /// What is known of the session. The gate has been told, or is told of it by a message that is on its way.
    about: SessionAbout,
    /// There was no place for that message. A task waits for one.
    about_waits: bool,
}

/// Written to the agent, and not yet told to the gate.
#[derive(Default)]
struct DeliveryReceipt {
    events: Vec<(EventId, Option<DeliveryWay>)>,
    verdicts: Vec<AskId>,
}

impl DeliveryReceipt {
    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.verdicts.is_empty()
    }

    /// The events that went one way in one message, then each verdict in its own.
    fn next_message(&mut self) -> Option<SessionMessage> {
        if let Some((_, way)) = self.events.first().copied() {
            let (same, rest) = std::mem::take(&mut self.events).into_iter().partition(|(_, other)| *other == way);
            self.events = rest;
            let same: Vec<_> = same;
            return Some(SessionMessage::Wrote { events: same.into_iter().map(|(event, _)| event).collect(), way });
        }
        (!self.verdicts.is_empty()).then(|| SessionMessage::Carried { ask: self.verdicts.remove(0), verdict_at: None })
    }
}

impl SessionHandle {
    fn new(
        session: SessionId,
        outgoing: mpsc::Sender<(SessionMessage, Option<AnswerSender>)>,
        no_gate: watch::Receiver<Option<String>>,
        about: SessionAbout,
    ) -> Self {
        let state = HandleState { written: DeliveryReceipt::default(), about, about_waits: false };
        let (stream, state) = (Arc::new(StreamRing::new()), Arc::new(Mutex::new(state)));
        Self { outgoing, stream, files: None, no_gate, session, state, attached: Arc::default() }
    }

    /// Returns when no gate can be started, and why: a file is broken, so that waiting for one would not help.
    pub(crate) async fn without_gate(&self) -> String {
        let mut no_gate = self.no_gate.clone();
        let why = no_gate.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        match why {
            Some(why) => why,
            None => std::future::pending().await,
        }
    }

    /// This handle, and its clones from now on, know where files are kept.
    pub(crate) fn keeping_files(self, files: FileStore) -> Self {
        Self { files: Some(files), ..self }
    }

    /// The files that came with an event.
    pub(crate) fn files_of(&self, event: EventId) -> Vec<StoredFile> {
        self.files.as_ref().map(|files| files.of_event(&event.to_string())).unwrap_or_default()
    }

    /// Keeps a copy of each open file that goes with a reply, as it is now. None where files are not kept.
    pub(crate) fn copy_files(&self, reply: ReplyId, files: Vec<(SentFile, File)>) -> std::io::Result<Vec<SentFile>> {
        let place = (self.session.to_string(), reply.to_string());
        let copied = files.into_iter().enumerate().map(|(number, (sent, open))| {
            if let Some(store) = &self.files {
                let name = sent.path.rsplit('/').next().unwrap_or_default();
                store.copy((&place.0, &place.1), number, name, open)?;
            }
            Ok(sent)
        });
        copied.collect()
    }

    /// What the agent says and does is put in here.
    pub(crate) fn stream(&self) -> &StreamRing {
        &self.stream
    }

    /// These are with the agent. The gate hears of it by [`SessionHandle::confirm`], or before it is asked anything. Returns
    /// how many it has not heard of.
    pub(crate) fn wrote(&self, events: &[EventId], way: Option<DeliveryWay>, verdicts: &[AskId]) -> usize {
        let mut state = self.state();
        let written = &mut state.written;
        written.events.extend(events.iter().map(|event| (*event, way)));
        written.verdicts.extend_from_slice(verdicts);
        written.events.len() + written.verdicts.len()
    }

    fn state(&self) -> MutexGuard<'_, HandleState> {
        locked(&self.state)
    }

    /// Tells the gate what is with the agent.
    pub(crate) async fn confirm(&self) {
        // A place first: whoever gives up waiting for one must not take the confirmations with them.
        while !self.state().written.is_empty()
            && let Ok(place) = self.outgoing.reserve().await
        {
            let message = self.state().written.next_message();
            if let Some(message) = message {
                place.send((message, None));
            }
        }
    }

    /// The session ends on purpose. Returns when the gate was told, or is not to be reached.
    pub(crate) async fn bye(self, goodbye: Goodbye) {
        // What the agent said last is gone with this process.
        self.stream.drained().await;
        let saying = async {
            self.confirm().await;
            self.put(SessionMessage::Bye(goodbye)).await;
            self.outgoing.closed().await;
        };
        drop(tokio::time::timeout(BYE_TIMEOUT, saying).await);
    }

    /// The agent asks for permission. Returns the code that people answer with. While the gate is away this waits, and
    /// the ask is put to the next one under the same id.
    pub(crate) async fn ask_for(&self, ask: NewAsk) -> Result<Code, Fault> {
        match self.ask(SessionMessage::Asked(Box::new(ask))).await? {
            Answered::Asked { code } => Ok(code),
            other => Err(fault_in(other)),
        }
    }

    /// Someone at the session's own terminal answered, or behind the channel server of this name. The verdict comes back
    /// as any other does, if it was the first.
    pub(crate) async fn answer(&self, ask: AskId, ruling: Ruling, channel: Option<String>) -> Result<(), Fault> {
        self.ask_plainly(SessionMessage::Answered { ask, ruling: Box::new(ruling), channel }).await
    }

    /// A channel server that this process runs has an event for the session. It comes back as any other event does.
    pub(crate) async fn received(&self, event: ChannelEvent) -> Result<(), Fault> {
        self.ask_plainly(SessionMessage::Received(Box::new(event))).await
    }

    /// The ask was settled where the gate cannot see it, or is no longer asked.
    pub(crate) async fn withdraw(&self, ask: AskId, why: impl Into<String>) {
        self.put(SessionMessage::Withdrawn { ask, why: why.into() }).await;
    }

    /// A tool of the agent ran, or was kept from it. Confirms the verdict on its ask, where there was one. False when there
    /// was no place for it, and the gate is not told.
    pub(crate) fn try_called(&self, call: ToolCall) -> bool {
        self.outgoing.try_send((SessionMessage::Called(Box::new(call)), None)).is_ok()
    }

    /// The turn in which the agent was given these events has ended. False when there was no place for it, and the gate is
    /// not told.
    pub(crate) fn try_read(&self, events: Vec<EventId>) -> bool {
        self.outgoing.try_send((SessionMessage::Read { events }, None)).is_ok()
    }

    /// What is known of the session.
    pub(crate) fn about(&self) -> SessionAbout {
        self.state().about.clone()
    }

    /// Changes what is known of the session, and tells the gate if that is news. Never waits: where there is no place, the
    /// gate is told what is newest once there is one.
    pub(crate) fn describe(&self, change: impl FnOnce(&mut SessionAbout)) {
        let mut state = self.state();
        let before = state.about.clone();
        change(&mut state.about);
        if state.about == before || state.about_waits {
            return;
        }
        // Under the lock: the gate hears of changes in the order in which they were made.
        let sent = self.outgoing.try_send((described(&state.about), None));
        if matches!(sent, Err(mpsc::error::TrySendError::Full(_))) {
            state.about_waits = true;
            let handle = self.clone();
            tokio::spawn(async move {
                let Ok(place) = handle.outgoing.reserve().await else { return };
                let mut state = handle.state();
                state.about_waits = false;
                place.send((described(&state.about), None));
            });
        }
    }

    /// Text from this sender, who may not direct the session, is before the model. Returns when the gate has written it
    /// down.
    pub(crate) async fn outside_read(&self, sender: String) -> Result<(), Fault> {
        self.ask_plainly(SessionMessage::OutsideRead { sender }).await
    }

    /// A person who may direct the session has spoken.
    pub(crate) async fn outside_ended(&self, by: String) -> Result<(), Fault> {
        self.ask_plainly(SessionMessage::OutsideEnded { by }).await
    }

    /// What became of an order. One without an id is nobody's to confirm.
    pub(crate) async fn ordered(&self, id: Option<OrderId>, outcome: OrderOutcome) {
        if let Some(order) = id {
            self.put(SessionMessage::Ordered { order, outcome }).await;
        }
    }

    /// Something was refused here that only an attacker or a confused agent would try.
    pub(crate) async fn report_denied(&self, what: impl Into<String>) {
        self.put(SessionMessage::AccessDenied { what: what.into() }).await;
    }

    /// The agent says something back to a conversation. It may edit it later by its id.
    pub(crate) async fn reply(
        &self,
        id: ReplyId,
        chat: ChatId,
        reply_to: Option<EventId>,
        text: String,
        files: Vec<SentFile>,
    ) -> Result<(), Fault> {
        self.ask_plainly(SessionMessage::Replied { id, reply_to, chat, text, files }).await
    }

    /// The agent puts another text in the place of one of its replies.
    pub(crate) async fn edit(&self, id: ReplyId, text: String) -> Result<(), Fault> {
        self.ask_plainly(SessionMessage::Edited { id, text }).await
    }

    /// Whether what is said now goes to a gate at once.
    pub(crate) fn is_attached(&self) -> bool {
        self.attached.load(Ordering::Relaxed)
    }

    /// Whether there is a gate that can write down what happens.
    pub(crate) async fn can_record(&self) -> bool {
        self.ask_plainly(SessionMessage::CanWrite).await.is_ok()
    }

    /// The events of this session, newest last.
    pub(crate) async fn inbox(&self) -> Result<Vec<InboxItem>, Fault> {
        match self.ask(SessionMessage::Inbox { event: None }).await? {
            Answered::Inbox { events } => Ok(events),
            other => Err(fault_in(other)),
        }
    }

    /// One event of this session, whole.
    pub(crate) async fn open(&self, event: EventId) -> Result<(InboxItem, String), Fault> {
        match self.ask(SessionMessage::Inbox { event: Some(event) }).await? {
            Answered::Event { event, text } => Ok((event, text)),
            other => Err(fault_in(other)),
        }
    }

    /// Returns when the message is on its way, in the order it was said.
    async fn put(&self, message: SessionMessage) {
        // The client ends only together with the session: then nobody is left to tell.
        drop(self.outgoing.send((message, None)).await);
    }

    async fn ask(&self, message: SessionMessage) -> Result<Answered, Fault> {
        self.confirm().await;
        let (reply, answer) = oneshot::channel();
        let ended = || Fault::new(Kind::Stopping, "the link to the gate has ended");
        self.outgoing.send((message, Some(reply))).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())
    }

    async fn ask_plainly(&self, message: SessionMessage) -> Result<(), Fault> {
        match self.ask(message).await? {
            Answered::Ok => Ok(()),
            other => Err(fault_in(other)),
        }
    }
}

fn described(about: &SessionAbout) -> SessionMessage {
    SessionMessage::Described(Box::new(about.clone()))
}

fn fault_in(answered: Answered) -> Fault {
    match answered {
        Answered::Refused(fault) => fault,
        _ => Fault::new(Kind::Internal, "the gate gave an answer that does not fit the question"),
    }
}
