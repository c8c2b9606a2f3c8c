//! The gate's end of a link: frames in, inputs to the hub, and what is for the session out.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use portcullis_core::{AskId, ChatId, Goodbye, Input, NewAsk, SessionAbout, SessionId, Source, Text};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::link::{Answered, BadFrame, EventFrame, FromGate, ToGate, VERSIONS, agree, read_id, read_ids};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::super::outlets::{Outlet, Parcel};
use super::super::{Hub, Trouble};
use super::{LONGEST_LINE, Saying, answer, input_of, tell};
use crate::lines::{Line, Lines};
use crate::stream::{Reader, Writer, split};

/// A process that says nothing after it connected is not one of ours.
const HELLO_WITHIN: Duration = Duration::from_secs(10);

/// Room that is kept for what is written together.
const ROOM: usize = 64 << 10;

/// What a link needs to know of its gate.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) hub: Hub,
    pub(crate) program: &'static str,
    pub(crate) max_context: Option<usize>,
    /// Cancelled when the gate stops, and by a newer process that finds it idle.
    pub(crate) stop: CancellationToken,
    /// The process may answer as the terminal of its session.
    pub(crate) answers: bool,
}

/// Serves one attached process until it goes or the gate stops. `already_read` came with the upgrade.
pub(crate) async fn serve(stream: UnixStream, already_read: &[u8], gate: Gate) -> anyhow::Result<()> {
    let (reader, mut writer) = split(stream)?;
    let mut lines = Lines::new(reader, LONGEST_LINE).starting_with(already_read);
    let hello = tokio::time::timeout(HELLO_WITHIN, lines.next()).await??;
    let greeting = greet(&gate, &hello).await;
    let welcome = matches!(greeting, FromGate::Welcome { .. });
    let mut bytes = Vec::new();
    put(&mut bytes, &greeting)?;
    writer.write_all(&bytes).await?;
    if matches!(greeting, FromGate::HandOver { .. }) {
        gate.stop.cancel();
    }
    if !welcome {
        return Ok(());
    }
    let first = tokio::time::timeout(HELLO_WITHIN, lines.next()).await??;
    let Some((n, session, about, wrote, holding)) = read_attach(&first)? else { return Ok(()) };
    let (outlet, parcels) = Outlet::new(&holding);
    let number = outlet.number;
    let input = Input::Attached { session, about, wrote, holding };
    let attached = gate.hub.attach(session, input, outlet).await;
    let (frames, outgoing) = mpsc::channel(64);
    let answered = attached.map_or_else(|trouble| Answered::Refused(trouble.into()), |answer| tell(&answer));
    frames.send(FromGate::Done { n, answer: answered }).await?;
    let stop = gate.stop.clone();
    let writing = tokio::spawn(write(writer, parcels, outgoing, gate.max_context));
    let reading = read(lines, &gate, session, frames);
    let why = tokio::select! {
        why = reading => why,
        () = stop.cancelled() => return Ok(()),
    };
    writing.abort();
    let (why, result) = match why {
        Ok(why) => (why, Ok(())),
        Err(error) => (None, Err(error)),
    };
    gate.hub.detach(session, number, why).await;
    result
}

async fn greet(gate: &Gate, hello: &Line) -> FromGate<'static> {
    let refuse = |kind, message: String| FromGate::Refused(Fault::new(kind, message));
    let Line::Whole(line) = hello else {
        return refuse(Kind::BadRequest, "the first line must be hello".into());
    };
    let Ok(ToGate::Hello { min, max, program }) = serde_json::from_slice(line) else {
        return refuse(Kind::BadRequest, "the first line must be hello".into());
    };
    let is_newer = release(&program) > release(gate.program);
    if is_newer && is_idle(&gate.hub).await {
        tracing::warn!("portcullis {program} is newer than this gate and nobody uses it: making room");
        return FromGate::HandOver { program: gate.program.to_owned() };
    }
    match agree(&VERSIONS, min, max) {
        Some(version) => FromGate::Welcome { version, program: gate.program.to_owned() },
        None => refuse(
            Kind::VersionsDoNotMeet,
            format!(
                "the gate is portcullis {}, this process is portcullis {program}: they have no link version in common",
                gate.program
            ),
        ),
    }
}

/// `1.2.3` as numbers; what does not read as one counts as old.
fn release(program: &str) -> [u64; 3] {
    let mut parts = program.split(['.', '-', '+']).map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

async fn is_idle(hub: &Hub) -> bool {
    let busy = |state: &portcullis_core::State| {
        state.sessions().any(portcullis_core::Session::is_attached) || state.prompts_are_open()
    };
    !hub.look(busy).await.unwrap_or(true)
}

type Attach = (u64, SessionId, SessionAbout, Vec<portcullis_core::EventId>, Vec<portcullis_core::EventId>);

fn read_attach(line: &Line) -> anyhow::Result<Option<Attach>> {
    let line = match line {
        Line::Whole(line) => line,
        Line::TooLong => anyhow::bail!("a line of the link is too long"),
        Line::End => return Ok(None),
    };
    let ToGate::Attach { n, session, about, wrote, holding } = serde_json::from_slice(line)? else {
        anyhow::bail!("the second line must be attach");
    };
    let session = read_id("session", &session)?;
    Ok(Some((n, session, about, read_ids(&wrote)?, read_ids(&holding)?)))
}

/// Reads until the process says goodbye (its reason) or goes without (none).
async fn read(
    mut lines: Lines<Reader>,
    gate: &Gate,
    session: SessionId,
    frames: mpsc::Sender<FromGate<'static>>,
) -> anyhow::Result<Option<Goodbye>> {
    let hub = &gate.hub;
    let mut answers = FuturesUnordered::new();
    loop {
        let line = tokio::select! {
            line = lines.next() => line?,
            Some((n, answered)) = answers.next() => {
                frames.send(done(n, answered)).await?;
                continue;
            }
        };
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong => anyhow::bail!("a line of the link is too long"),
            Line::End => return Ok(None),
        };
        let (n, saying) = match read_saying(&line)? {
            (_, Saying::Bye(goodbye)) => return Ok(Some(goodbye)),
            (n, Saying::Answered { ask, .. }) if !may_answer(gate, session, ask).await => {
                hub.submit(Input::AccessDenied {
                    who: format!("session {session}"),
                    what: "answering a prompt".into(),
                })
                .await?;
                let fault = Fault::new(Kind::FromInside, "this prompt is not answered from there");
                frames.send(done(n, Err(fault))).await?;
                continue;
            }
            other => other,
        };
        match input_of(saying.clone(), session) {
            // Into the hub now, so that the order of the link is the order of the hub; the answer may come later.
            Some(input) => {
                let pending = hub.enqueue(input).await;
                answers.push(Box::pin(async move {
                    let answer = match pending {
                        Ok(answer) => answer.await.unwrap_or(Err(Trouble::Stopping)),
                        Err(trouble) => Err(trouble),
                    };
                    (n, answer.map(|answer| tell(&answer)).map_err(Fault::from))
                }) as futures_util::future::BoxFuture<'_, _>);
            }
            None => answers.push(Box::pin(async move { (n, answer(hub, session, saying).await) })),
        }
    }
}

/// A terminal answers the prompts of its own session, and only from outside of any agent.
async fn may_answer(gate: &Gate, session: SessionId, ask: AskId) -> bool {
    let is_its_own =
        move |state: &portcullis_core::State| state.ask(ask).is_some_and(|(ask, _)| ask.session == session);
    gate.answers && gate.hub.look(is_its_own).await.unwrap_or(false)
}

fn done(n: u64, answered: Result<Answered, Fault>) -> FromGate<'static> {
    FromGate::Done { n, answer: answered.unwrap_or_else(Answered::Refused) }
}

fn read_saying(line: &[u8]) -> anyhow::Result<(u64, Saying)> {
    Ok(match serde_json::from_slice(line)? {
        ToGate::Wrote { n, events } => (n, Saying::Wrote(read_ids(&events)?)),
        ToGate::Carried { n, ask } => (n, Saying::Carried(read_id("ask", &ask)?)),
        ToGate::Asked { n, id, source, origin, tool, description, preview, details } => {
            let source = Source::named(&source).ok_or_else(|| BadFrame::new("source", &source))?;
            let (id, details) = (read_id("ask", &id)?, *details);
            let (description, preview) = (Text::new(description), Text::new(preview));
            let ask = NewAsk { id, source, origin, tool, description, preview, details };
            (n, Saying::Asked(Box::new(ask)))
        }
        ToGate::Withdrawn { n, ask, why } => (n, Saying::Withdrawn { ask: read_id("ask", &ask)?, why }),
        ToGate::Answered { n, ask, ruling } => {
            (n, Saying::Answered { ask: read_id("ask", &ask)?, ruling: Box::new(ruling) })
        }
        ToGate::Called { n, call } => (n, Saying::Called(Box::new(call))),
        ToGate::Described { n, about } => (n, Saying::Described(Box::new(about))),
        ToGate::Barred { n, what } => (n, Saying::Barred { what }),
        ToGate::Replied { n, id, chat, text, files } => {
            let chat = ChatId::new(&chat).ok_or_else(|| BadFrame::new("chat", &chat))?;
            (n, Saying::Replied { id: read_id("reply", &id)?, chat, text, files })
        }
        ToGate::Inbox { n, event } => {
            (n, Saying::Inbox(event.as_deref().map(|event| read_id("event", event)).transpose()?))
        }
        ToGate::Bye { why, untouched } => (0, Saying::Bye(Goodbye { why, untouched })),
        ToGate::Hello { .. } | ToGate::Attach { .. } => anyhow::bail!("hello and attach come first and once"),
    })
}

/// Writes what is for the session, as much in one write as has come together.
async fn write(
    mut writer: Writer,
    mut parcels: mpsc::Receiver<Parcel>,
    mut frames: mpsc::Receiver<FromGate<'static>>,
    max_context: Option<usize>,
) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    loop {
        tokio::select! {
            parcel = parcels.recv() => match parcel {
                Some(parcel) => put_parcel(&mut bytes, &parcel, max_context)?,
                // The hub let go of this process: it fell behind, or another took its place.
                None => break,
            },
            Some(frame) = frames.recv() => put(&mut bytes, &frame)?,
        }
        while bytes.len() < 1 << 20
            && let Ok(parcel) = parcels.try_recv()
        {
            put_parcel(&mut bytes, &parcel, max_context)?;
        }
        while let Ok(frame) = frames.try_recv() {
            put(&mut bytes, &frame)?;
        }
        writer.write_all(&bytes).await?;
        bytes.clear();
        // What one large event needed is not kept for the small ones.
        bytes.shrink_to(ROOM);
    }
    writer.shutdown().await?;
    Ok(())
}

fn put_parcel(bytes: &mut Vec<u8>, parcel: &Parcel, max_context: Option<usize>) -> serde_json::Result<()> {
    match parcel {
        Parcel::Event(held, also) => {
            let also = also.iter().map(ToString::to_string).collect();
            // About what it takes in quotes, so that what is large need not move while it is written.
            let size = held.event.text.len().min(max_context.unwrap_or(usize::MAX));
            bytes.reserve(size + size / 8 + 512);
            put(bytes, &FromGate::Event(EventFrame { also, ..EventFrame::of(held, max_context) }))
        }
        Parcel::Verdict { ask, origin, source, ruling } => put(
            bytes,
            &FromGate::Verdict {
                ask: ask.to_string(),
                origin: origin.clone(),
                source: source.name().to_owned(),
                ruling: (**ruling).clone(),
            },
        ),
        Parcel::Closed { ask, origin, source } => put(
            bytes,
            &FromGate::Closed { ask: ask.to_string(), origin: origin.clone(), source: source.name().to_owned() },
        ),
        Parcel::Order(order) => put(bytes, &FromGate::Order(order.clone())),
    }
}

fn put(bytes: &mut Vec<u8>, frame: &FromGate<'_>) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *bytes, frame)?;
    bytes.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::release;

    #[test]
    fn releases_compare_as_numbers() {
        assert!(release("0.10.0") > release("0.9.9"));
        assert!(release("1.0.0") > release("0.99.0-rc1"));
        assert_eq!(release("0.1.0"), release("0.1"));
        assert_eq!(release("nonsense"), [0, 0, 0]);
    }
}
