//! The client finds the gate, attaches, and does so again whenever the gate goes away.
//!
//! The process never notices: what it says is kept until the gate has confirmed it, and after a new attach the gate is
//! told what was written and what is still in hand, so that it sends only the rest.

mod talk;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use bytes::{BufMut, BytesMut};
use futures_util::future::BoxFuture;
use portcullis_core::{AskId, EventId, SessionAbout, SessionId};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::link::{
    Answered, AttachRequest, Greeting, LONGEST_LINE, Numbered, Opening, SessionMessage, VERSIONS, WITH_CHANNELS,
};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};

use super::{AnswerSender, Deliveries, Delivery, FinishedEvent, NoGate, SessionHandle};
use crate::fixed;
use crate::lines::{Lines, put_json};
use crate::session::ring::StreamRing;
use crate::stream::split;
use talk::write;

/// Finds the gate, starting one where none runs. On the stream it returns the gate speaks the link.
pub(crate) type Connect = Arc<dyn Fn() -> BoxFuture<'static, anyhow::Result<UnixStream>> + Send + Sync>;

/// More than the gate ever has on its way to one process.
const DELIVERIES: usize = 2048;
/// What the process may say while the gate is away.
const MESSAGES: usize = 1024;
/// Verdicts remembered, so that one that is sent again is not handed on again.
const VERDICTS: usize = 1024;
/// A gate that has not greeted by then never will.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Attaches in the background, for as long as what it returns lives.
pub(crate) fn connect(
    session: SessionId,
    about: SessionAbout,
    program: &'static str,
    connect: Connect,
) -> (SessionHandle, Deliveries) {
    attach(session, about, program, connect, EventForm::Frames)
}

/// The same for a process that pushes most events as they are.
pub(crate) fn connect_for_lines(
    session: SessionId,
    about: SessionAbout,
    program: &'static str,
    connect: Connect,
) -> (SessionHandle, Deliveries) {
    attach(session, about, program, connect, EventForm::Lines)
}

/// How the process wants its events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EventForm {
    Frames,
    /// As [`Delivery::Line`], where the gate can say all of them so.
    Lines,
}

fn attach(
    session: SessionId,
    about: SessionAbout,
    program: &'static str,
    connect: Connect,
    form: EventForm,
) -> (SessionHandle, Deliveries) {
    let (deliver, deliveries) = mpsc::channel(DELIVERIES);
    let (outgoing, messages) = mpsc::channel(MESSAGES);
    let (no_gate, knows_no_gate) = watch::channel(None);
    let handle = SessionHandle::new(session, outgoing, knows_no_gate, about.clone());
    let client = LinkClient {
        session,
        stream: Arc::clone(&handle.stream),
        about,
        program,
        form,
        deliver,
        messages,
        said: 0,
        unconfirmed: BTreeMap::new(),
        attach_number: 0,
        attached: Arc::clone(&handle.attached),
        holding: HashSet::new(),
        verdicts: VecDeque::new(),
        version: *VERSIONS.end(),
        pause: SHORTEST_PAUSE,
        complaint: String::new(),
        no_gate,
        ended: false,
    };
    tokio::spawn(client.run(connect));
    (handle, Deliveries(deliveries))
}

/// A message of the process, and where its answer goes.
type QueuedMessage = (SessionMessage, Option<AnswerSender>);

struct LinkClient {
    session: SessionId,
    stream: Arc<StreamRing>,
    about: SessionAbout,
    program: &'static str,
    form: EventForm,
    deliver: mpsc::Sender<Delivery>,
    messages: mpsc::Receiver<QueuedMessage>,
    /// How many messages there were so far: the number of the last.
    said: u64,
    /// Said, and not yet confirmed by the gate. Said again after a new attach.
    unconfirmed: BTreeMap<u64, QueuedMessage>,
    /// The number of the attach on this connection.
    attach_number: u64,
    /// As the handle has it.
    attached: Arc<AtomicBool>,
    /// Events handed to the process that it has not yet written.
    holding: HashSet<EventId>,
    /// Asks whose end was already handed to the process, oldest first, with the time of each verdict.
    verdicts: VecDeque<(AskId, Option<u64>)>,
    /// What the gate on this connection speaks.
    version: u16,
    /// How long to wait before the next attempt. Grows with every failure, and is short again after a welcome.
    pause: Duration,
    /// What was last said of a gate that could not be reached; empty again after a welcome.
    complaint: String,
    /// Why no gate can be started until somebody repairs a file.
    no_gate: watch::Sender<Option<String>>,
    /// The process said goodbye, or dropped its handles.
    ended: bool,
}

impl LinkClient {
    async fn run(mut self, connect: Connect) {
        while !self.ended {
            if let Err(error) = self.serve_connection(&connect).await {
                self.complain(&error);
            }
            if self.ended {
                return;
            }
            self.listen_for(self.pause).await;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// What keeps the process from its gate, for whoever reads its log: once, not at every attempt.
    fn complain(&mut self, error: &anyhow::Error) {
        let complaint = format!("{error:#}");
        self.no_gate.send_replace(error.downcast_ref().map(|NoGate(why)| why.clone()));
        if self.complaint != complaint {
            tracing::warn!("no gate: {complaint}");
            self.complaint = complaint;
        }
    }

    /// Waits before the next attempt, and notices meanwhile that the process is done.
    async fn listen_for(&mut self, pause: Duration) {
        let until = tokio::time::Instant::now() + pause;
        while !self.ended && self.unconfirmed.len() < MESSAGES {
            match tokio::time::timeout_at(until, self.messages.recv()).await {
                Err(_) => return,
                Ok(said) => drop(self.note(said)),
            }
            self.forget_unwanted();
        }
        tokio::time::sleep_until(until).await;
    }

    /// Takes down what the process said. Returns its number.
    fn note(&mut self, said: Option<QueuedMessage>) -> Option<u64> {
        let Some((mut message, reply)) = said else {
            self.ended = true;
            return None;
        };
        match &mut message {
            // The process knows asks; which verdict it was handed is known here.
            SessionMessage::Carried { ask, verdict_at } => {
                *verdict_at = self.verdicts.iter().find(|(handed, _)| handed == ask).and_then(|(_, at)| *at);
            }
            SessionMessage::Wrote { events, .. } => {
                for event in events {
                    self.holding.remove(event);
                }
            }
            // A new attach tells how the session is now.
            SessionMessage::Described(about) => self.about = (**about).clone(),
            SessionMessage::Bye(_) => self.ended = true,
            _ => {}
        }
        self.said += 1;
        self.unconfirmed.insert(self.said, (message, reply));
        Some(self.said)
    }

    /// Drops questions whose answers nobody waits for any more: nothing else would come of them.
    fn forget_unwanted(&mut self) {
        self.unconfirmed.retain(|_, (message, reply)| match message {
            SessionMessage::Inbox { event: None } | SessionMessage::CanWrite => {
                reply.as_ref().is_some_and(|reply| !reply.is_closed())
            }
            _ => true,
        });
    }

    /// Answers itself what the gate does not understand, because it is of an earlier release.
    fn refuse_unknown(&mut self) {
        if self.version >= WITH_CHANNELS {
            return;
        }
        let unknown = self.unconfirmed.extract_if(.., |_, (message, _)| matches!(message, SessionMessage::Received(_)));
        for (_, (_, reply)) in unknown {
            let what =
                "the gate is of an earlier release, which knows no channel servers: stop it, and this starts another";
            if let Some(reply) = reply {
                drop(reply.send(Answered::Refused(Fault::new(Kind::VersionsDoNotMeet, what))));
            }
        }
    }

    /// One connection, from attach to its end.
    async fn serve_connection(&mut self, connect: &Connect) -> anyhow::Result<()> {
        let stream = tokio::select! {
            stream = connect() => stream?,
            () = self.deliver.closed() => {
                self.ended = true;
                return Ok(());
            }
        };
        let (reader, mut writer) = split(stream)?;
        let mut lines = Lines::new(reader, LONGEST_LINE);
        let hello = Opening::Hello { min: *VERSIONS.start(), max: *VERSIONS.end(), program: self.program.into() };
        let mut bytes = BytesMut::new();
        put_json((&mut bytes).writer(), &hello)?;
        let greeting = async {
            writer.write_all_buf(&mut bytes).await?;
            lines.next_whole().await?.context("the gate closed the link before it greeted")
        };
        let within = fixed::wait("GREETING", GREETING_TIMEOUT);
        let greeting = tokio::time::timeout(within, greeting).await.context("the gate does not greet")??;
        match serde_json::from_slice(&greeting)? {
            Greeting::Welcome { version, .. } => {
                self.version = version;
                self.complaint.clear();
                self.no_gate.send_replace(None);
            }
            Greeting::HandOver { program } => {
                anyhow::bail!("the gate, portcullis {program}, leaves for a newer one")
            }
            Greeting::Refused(fault) => anyhow::bail!("{}", fault.in_words()),
        }
        self.attach(&mut bytes)?;
        let (outgoing, frames) = mpsc::channel::<BytesMut>(64);
        let writing = tokio::spawn(write(writer, frames));
        outgoing.send(bytes).await?;
        let result = self.talk(&mut lines, &outgoing).await;
        self.attached.store(false, Ordering::Relaxed);
        self.stream.forget_looks();
        drop(outgoing);
        // The writer ends when it has written what was said last, or when the gate is gone.
        drop(tokio::time::timeout(Duration::from_secs(1), writing).await);
        result
    }

    /// Says where we stand, and again whatever was not confirmed.
    fn attach(&mut self, bytes: &mut BytesMut) -> std::io::Result<()> {
        self.forget_unwanted();
        self.refuse_unknown();
        let mut wrote = vec![];
        self.unconfirmed.retain(|_, (message, _)| match message {
            SessionMessage::Wrote { events, .. } => {
                wrote.append(events);
                false
            }
            // The attach holds the newest: said after it, an older one would undo it.
            SessionMessage::Described(_) => false,
            _ => true,
        });
        let (session, about) = (self.session, self.about.clone());
        let holding = self.holding.iter().copied().collect();
        let lines = self.form == EventForm::Lines;
        let attach = AttachRequest { session, about, wrote: wrote.clone(), holding, lines };
        let attach = SessionMessage::Attach(Box::new(attach));
        self.said += 1;
        put_json(bytes.writer(), &Numbered { n: self.said, message: &attach })?;
        for (n, (message, _)) in &self.unconfirmed {
            put_json(bytes.writer(), &Numbered { n: *n, message })?;
        }
        // Until the gate has this attach in its journal, what we wrote is still to be told.
        self.unconfirmed.insert(self.said, (SessionMessage::Wrote { events: wrote, way: None }, None));
        self.attach_number = self.said;
        Ok(())
    }
}
