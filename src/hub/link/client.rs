//! An attached process's end of a link: finds the gate, attaches, and does so again whenever the gate goes away.
//!
//! The process never notices: what it says is kept until the gate has confirmed it, and after a new attach the gate is
//! told what was written and what is still in hand, so that it sends only the rest.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::{BufMut, BytesMut};
use futures_util::future::BoxFuture;
use portcullis_core::{AskId, EventId, NewAsk, SessionAbout, SessionId, Source};
use portcullis_wire::error::Fault;
use portcullis_wire::link::{Answered, FromGate, ToGate, VERSIONS, read_id, read_ids};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};

use super::{Attachment, Delivery, Incoming, LONGEST_LINE, Line as Handle, Road, Said, Saying, owned};
use crate::lines::{Line, Lines};
use crate::stream::{Reader, Writer, split};

/// Finds the gate's socket, starting a gate where none runs.
pub(crate) type Connect = Arc<dyn Fn() -> BoxFuture<'static, anyhow::Result<UnixStream>> + Send + Sync>;

/// More than the gate ever has on its way to one process.
const DELIVERIES: usize = 2048;
/// What the process may say while the gate is away.
const SAYINGS: usize = 1024;
/// Verdicts remembered, so that one that is sent again is not handed on again.
const VERDICTS: usize = 1024;
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Attaches in the background, for as long as the returned handles live.
pub(crate) fn connect(session: SessionId, about: SessionAbout, program: &'static str, connect: Connect) -> Attachment {
    let (deliver, deliveries) = mpsc::channel(DELIVERIES);
    let (say, sayings) = mpsc::channel(SAYINGS);
    let client = Client {
        session,
        about,
        program,
        deliver,
        sayings,
        said: 0,
        unconfirmed: BTreeMap::new(),
        holding: HashSet::new(),
        verdicts: VecDeque::new(),
        pause: SHORTEST_PAUSE,
        complaint: String::new(),
        ended: false,
    };
    tokio::spawn(client.run(connect));
    Attachment { incoming: Incoming::Remote(deliveries), line: Handle::new(Road::Remote(say)) }
}

type Reply = oneshot::Sender<Result<Answered, Fault>>;

struct Client {
    session: SessionId,
    about: SessionAbout,
    program: &'static str,
    deliver: mpsc::Sender<Delivery>,
    sayings: mpsc::Receiver<Said>,
    /// How many things were said so far; numbers the frames.
    said: u64,
    /// Said, and not yet confirmed by the gate. Said again after a new attach.
    unconfirmed: BTreeMap<u64, (Saying, Option<Reply>)>,
    /// Events handed to the process that it has not yet written.
    holding: HashSet<EventId>,
    /// Verdicts already handed to the process, oldest first.
    verdicts: VecDeque<AskId>,
    /// How long to wait before the next attempt. Grows with every failure, and is short again after a welcome.
    pause: Duration,
    /// What was last said of a gate that could not be reached; empty again after a welcome.
    complaint: String,
    /// The process said goodbye, or dropped its handles.
    ended: bool,
}

impl Client {
    async fn run(mut self, connect: Connect) {
        while !self.ended {
            if let Err(error) = self.session(&connect).await {
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
        if self.complaint != complaint {
            tracing::warn!("no gate: {complaint}");
            self.complaint = complaint;
        }
    }

    /// Waits before the next attempt, and notices meanwhile that the process is done.
    async fn listen_for(&mut self, pause: Duration) {
        let until = tokio::time::Instant::now() + pause;
        while !self.ended && self.unconfirmed.len() < SAYINGS {
            match tokio::time::timeout_at(until, self.sayings.recv()).await {
                Err(_) => return,
                Ok(said) => drop(self.note(said)),
            }
        }
        tokio::time::sleep_until(until).await;
    }

    /// Takes down what the process said. Returns its number.
    fn note(&mut self, said: Option<Said>) -> Option<u64> {
        let Some(Said { what, reply }) = said else {
            self.ended = true;
            return None;
        };
        match &what {
            Saying::Wrote(events) => self.holding.retain(|event| !events.contains(event)),
            // A new attach tells how the session is now.
            Saying::Described(about) => self.about = (**about).clone(),
            Saying::Bye(_) => self.ended = true,
            _ => {}
        }
        self.said += 1;
        self.unconfirmed.insert(self.said, (what, reply));
        Some(self.said)
    }

    /// One connection, from attach to its end.
    async fn session(&mut self, connect: &Connect) -> anyhow::Result<()> {
        let stream = tokio::select! {
            stream = connect() => stream?,
            () = self.deliver.closed() => {
                self.ended = true;
                return Ok(());
            }
        };
        let (reader, mut writer) = upgrade(stream).await?;
        let mut lines = Lines::new(reader, LONGEST_LINE);
        let hello = ToGate::Hello { min: *VERSIONS.start(), max: *VERSIONS.end(), program: self.program.into() };
        let mut bytes = BytesMut::new();
        put(&mut bytes, &hello)?;
        writer.write_all_buf(&mut bytes).await?;
        match serde_json::from_slice(&next(&mut lines).await?)? {
            FromGate::Welcome { .. } => {
                self.pause = SHORTEST_PAUSE;
                self.complaint.clear();
            }
            FromGate::HandOver { program } => {
                anyhow::bail!("the gate, portcullis {program}, makes room for a newer one")
            }
            FromGate::Refused(fault) => anyhow::bail!("{}", fault.in_words()),
            other => anyhow::bail!("the gate greeted with {other:?}"),
        }
        self.attach(&mut bytes)?;
        let (outgoing, frames) = mpsc::channel::<BytesMut>(64);
        let writing = tokio::spawn(write(writer, frames));
        outgoing.send(bytes).await?;
        let result = self.talk(&mut lines, &outgoing).await;
        drop(outgoing);
        // The writer ends when it has written what was said last, or when the gate is gone.
        drop(tokio::time::timeout(Duration::from_secs(1), writing).await);
        result
    }

    /// Says where we stand, and again whatever was not confirmed.
    fn attach(&mut self, bytes: &mut BytesMut) -> anyhow::Result<()> {
        let mut wrote = vec![];
        self.unconfirmed.retain(|_, (saying, _)| match saying {
            Saying::Wrote(events) => {
                wrote.extend(events.iter().map(ToString::to_string));
                false
            }
            _ => true,
        });
        self.said += 1;
        // Until the gate has this attach in its journal, what we wrote is still to be told.
        let told = wrote.iter().filter_map(|event| event.parse().ok()).collect();
        self.unconfirmed.insert(self.said, (Saying::Wrote(told), None));
        let attach = ToGate::Attach {
            n: self.said,
            session: self.session.to_string(),
            about: self.about.clone(),
            wrote,
            holding: self.holding.iter().map(ToString::to_string).collect(),
        };
        put(bytes, &attach)?;
        let mut again = self.unconfirmed.iter().filter(|(n, _)| **n != self.said);
        again.try_for_each(|(n, (saying, _))| put(bytes, &frame(*n, saying)))?;
        Ok(())
    }

    async fn talk(&mut self, lines: &mut Lines<Reader>, outgoing: &mpsc::Sender<BytesMut>) -> anyhow::Result<()> {
        while !self.ended {
            tokio::select! {
                line = next(lines) => {
                    self.hear(&line?)?;
                    while let Some(Line::Whole(line)) = lines.buffered() {
                        self.hear(&line)?;
                    }
                }
                said = self.sayings.recv(), if self.unconfirmed.len() < SAYINGS => {
                    let mut bytes = BytesMut::new();
                    self.say(&mut bytes, said)?;
                    while let Ok(said) = self.sayings.try_recv() {
                        self.say(&mut bytes, Some(said))?;
                    }
                    outgoing.send(bytes).await.context("the gate went away")?;
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, bytes: &mut BytesMut, said: Option<Said>) -> serde_json::Result<()> {
        let Some(n) = self.note(said) else { return Ok(()) };
        match self.unconfirmed.get(&n) {
            Some((saying, _)) => put(bytes, &frame(n, saying)),
            None => Ok(()),
        }
    }

    fn hear(&mut self, line: &[u8]) -> anyhow::Result<()> {
        match serde_json::from_slice(line)? {
            FromGate::Event(frame) => {
                let mut ids: Vec<EventId> = vec![read_id("event", &frame.id)?];
                ids.extend(read_ids(&frame.also)?);
                self.holding.extend(&ids);
                self.deliver.try_send(Delivery::Event { ids, frame: owned(frame) }).context("handing on an event")?;
            }
            FromGate::Verdict { ask, origin, source, ruling } => {
                let (ask, source) = (read_id("ask", &ask)?, read_source(&source)?);
                let ruling = Box::new(ruling);
                self.settled(ask, Delivery::Verdict { ask, origin, source, ruling })?;
            }
            FromGate::Closed { ask, source, .. } => {
                let (ask, source) = (read_id("ask", &ask)?, read_source(&source)?);
                self.settled(ask, Delivery::Closed { ask, source })?;
            }
            FromGate::Order(order) => {
                self.deliver.try_send(Delivery::Order(order)).context("handing on an order")?;
            }
            FromGate::Done { n, answer } => self.confirmed(n, answer)?,
            FromGate::Refused(fault) => anyhow::bail!("{}", fault.in_words()),
            FromGate::Welcome { .. } | FromGate::HandOver { .. } => anyhow::bail!("the gate greeted twice"),
        }
        Ok(())
    }
}

impl Client {
    /// What settles an ask is handed on once, however often it is sent.
    fn settled(&mut self, ask: AskId, delivery: Delivery) -> anyhow::Result<()> {
        if self.verdicts.contains(&ask) {
            return Ok(());
        }
        self.verdicts.push_back(ask);
        if self.verdicts.len() > VERDICTS {
            self.verdicts.pop_front();
        }
        self.deliver.try_send(delivery).context("handing on a verdict")
    }

    fn confirmed(&mut self, n: u64, answer: Answered) -> anyhow::Result<()> {
        match (self.unconfirmed.remove(&n), answer) {
            // Nobody waits for it, so nobody would say it again: keep it, and attach anew.
            (Some((saying, None)), Answered::Refused(fault)) => {
                self.unconfirmed.insert(n, (saying, None));
                anyhow::bail!("{}", fault.in_words());
            }
            (Some((_, Some(reply))), answer) => drop(reply.send(Ok(answer))),
            _ => {}
        }
        Ok(())
    }
}

fn frame(n: u64, saying: &Saying) -> ToGate<'static> {
    match saying.clone() {
        Saying::Wrote(events) => ToGate::Wrote { n, events: events.iter().map(ToString::to_string).collect() },
        Saying::Carried(ask) => ToGate::Carried { n, ask: ask.to_string() },
        Saying::Asked(ask) => {
            let NewAsk { id, source, origin, tool, description, preview, details } = *ask;
            ToGate::Asked {
                n,
                id: id.to_string(),
                source: source.name().to_owned(),
                origin,
                tool,
                description: description.as_str().to_owned(),
                preview: preview.as_str().to_owned(),
                details: Box::new(details),
            }
        }
        Saying::Withdrawn { ask, why } => ToGate::Withdrawn { n, ask: ask.to_string(), why },
        Saying::Answered { ask, ruling } => ToGate::Answered { n, ask: ask.to_string(), ruling: *ruling },
        Saying::Called(call) => ToGate::Called { n, call: *call },
        Saying::Described(about) => ToGate::Described { n, about: *about },
        Saying::Barred { what } => ToGate::Barred { n, what },
        Saying::Replied { id, chat, text, files } => {
            ToGate::Replied { n, id: id.to_string(), chat: chat.to_string(), text, files }
        }
        Saying::Inbox(event) => ToGate::Inbox { n, event: event.map(|event| event.to_string()) },
        Saying::Bye(goodbye) => ToGate::Bye { why: goodbye.why, untouched: goodbye.untouched },
    }
}

fn read_source(name: &str) -> anyhow::Result<Source> {
    Source::named(name).with_context(|| format!("no such source: {name:?}"))
}

fn put(bytes: &mut BytesMut, frame: &ToGate<'_>) -> serde_json::Result<()> {
    serde_json::to_writer(bytes.writer(), frame)?;
    bytes.put_u8(b'\n');
    Ok(())
}

async fn write(mut writer: Writer, mut frames: mpsc::Receiver<BytesMut>) -> std::io::Result<()> {
    while let Some(mut bytes) = frames.recv().await {
        while let Ok(more) = frames.try_recv() {
            bytes.unsplit(more);
        }
        writer.write_all_buf(&mut bytes).await?;
    }
    writer.shutdown().await
}

async fn next(lines: &mut Lines<Reader>) -> anyhow::Result<bytes::Bytes> {
    match lines.next().await? {
        Line::Whole(line) => Ok(line),
        Line::TooLong => anyhow::bail!("a line of the link is too long"),
        Line::End => anyhow::bail!("the gate closed the link"),
    }
}

/// Asks the gate's HTTP server for the link.
async fn upgrade(mut stream: UnixStream) -> anyhow::Result<(Reader, Writer)> {
    const REQUEST: &[u8] =
        b"GET /link HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: portcullis-link\r\n\r\n";
    stream.write_all(REQUEST).await?;
    // The gate says nothing after its head until we have said hello, so nothing is read too far.
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        anyhow::ensure!(head.len() < 8192, "the gate's answer has no end");
        head.push(stream.read_u8().await.context("the gate closed the connection")?);
    }
    anyhow::ensure!(head.starts_with(b"HTTP/1.1 101"), "the gate gave no link: {}", String::from_utf8_lossy(&head));
    Ok(split(stream)?)
}
