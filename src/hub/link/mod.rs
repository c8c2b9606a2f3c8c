//! The gate's half of the link: messages of an attached process in, inputs to the hub, and what is for the session out.

mod answers;
mod pace;
mod write;

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use portcullis_core::{AskId, Goodbye, Input, SessionId};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::link::{
    Answered, AttachRequest, ChannelEvent, GateMessage, Greeting, LONGEST_LINE, Numbered, Opening, SessionMessage,
    VERSIONS, WITH_LINES, WITH_STREAM, agree,
};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::outlets::Outlet;
use super::streams::Streams;
use super::{Hub, Peer, Trouble, Usage};
use crate::lines::{Lines, put_json};
use crate::stream::{Reader, split};
use answers::{input_of, told};
pub(crate) use pace::WakePace;
use write::{LinkForm, write};

/// A process that says nothing after it connected is not one of ours.
const HELLO_WITHIN: Duration = Duration::from_secs(10);

/// What a link needs to know of its gate.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) hub: Hub,
    pub(crate) program: &'static str,
    pub(crate) max_context: Option<usize>,
    /// Cancelled when the gate stops, and by a newer process that finds it idle.
    pub(crate) stop: CancellationToken,
    /// The process that may answer as the terminal of its session; none where nobody may. Whether it is inside an agent is
    /// looked at each time: that an editor is theirs a person may say while it runs.
    pub(crate) answerer: Option<Peer>,
    /// The streams of the sessions that are attached.
    pub(crate) streams: Streams,
    pub(crate) pace: WakePace,
}

/// A link for a session that lives in the gate's own process. Returns the session's end of it.
pub(crate) fn serve_here(gate: Gate) -> std::io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    tokio::spawn(async move {
        if let Err(error) = serve(ours, &[], gate).await {
            tracing::debug!("link of a session in this process: {error:#}");
        }
    });
    Ok(theirs)
}

/// Serves one attached process until it goes or the gate stops. `already_read` came with the upgrade.
pub(crate) async fn serve(stream: UnixStream, already_read: &[u8], gate: Gate) -> anyhow::Result<()> {
    let (reader, mut writer) = split(stream)?;
    let mut lines = Lines::new(reader, LONGEST_LINE).starting_with(already_read);
    let hello = tokio::time::timeout(HELLO_WITHIN, lines.next_whole()).await??;
    let greeting = greet(&gate, &hello.unwrap_or_default()).await;
    let mut bytes = Vec::new();
    put_json(&mut bytes, &greeting)?;
    writer.write_all(&bytes).await?;
    let version = match greeting {
        Greeting::Welcome { version, .. } => version,
        Greeting::Refused(_) => return Ok(()),
        Greeting::HandOver { .. } => {
            gate.stop.cancel();
            return Ok(());
        }
    };
    let Some(line) = tokio::time::timeout(HELLO_WITHIN, lines.next_whole()).await?? else { return Ok(()) };
    let Numbered { n, message: SessionMessage::Attach(attach) } = serde_json::from_slice(&line)? else {
        anyhow::bail!("the second line must be attach");
    };
    let AttachRequest { session, mut about, wrote, holding, lines: wants_lines } = *attach;
    // Which session goes on in another process is for the gate to find out.
    about.continues = None;
    let (outlet, outgoing) = Outlet::new(&holding);
    let number = outlet.number;
    let attached = gate.hub.attach(session, Input::Attached { session, about, wrote, holding }, outlet).await;
    let (answers, answered) = mpsc::channel(64);
    answers.send(done(n, attached.map(|answer| told(&answer)).map_err(Fault::from))).await?;
    let _stream = (version >= WITH_STREAM).then(|| gate.streams.open(session, number, answers.clone()));
    let stop = gate.stop.clone();
    let form = LinkForm { version, lines: wants_lines && version >= WITH_LINES, max_context: gate.max_context };
    let writing = tokio::spawn(write(writer, outgoing, answered, form, gate.pace.clone()));
    let reading = read(lines, &gate, session, answers);
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

async fn greet(gate: &Gate, hello: &[u8]) -> Greeting {
    let refuse = |kind, message: String| Greeting::Refused(Fault::new(kind, message));
    let Ok(Opening::Hello { min, max, program }) = serde_json::from_slice(hello) else {
        return refuse(Kind::BadRequest, "the first line must be hello".into());
    };
    let is_newer = release(&program) > release(gate.program);
    if is_newer && matches!(gate.hub.usage().await, Ok(Usage::Idle | Usage::Expected)) {
        tracing::warn!("portcullis {program} is newer than this gate and nobody uses it: leaving");
        return Greeting::HandOver { program: gate.program.to_owned() };
    }
    match agree(&VERSIONS, min, max) {
        Some(version) => Greeting::Welcome { version, program: gate.program.to_owned() },
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

/// Reads until the process says goodbye (its reason) or goes without (none).
async fn read(
    mut lines: Lines<Reader>,
    gate: &Gate,
    session: SessionId,
    answers: mpsc::Sender<GateMessage<'static>>,
) -> anyhow::Result<Option<Goodbye>> {
    let hub = &gate.hub;
    let mut pending = FuturesUnordered::new();
    loop {
        let line = tokio::select! {
            line = lines.next_whole() => line?,
            Some((n, answered)) = pending.next() => {
                answers.send(done(n, answered)).await?;
                continue;
            }
        };
        let Some(line) = line else { return Ok(None) };
        let Numbered { n, message } = serde_json::from_slice(&line)?;
        let input = match message {
            SessionMessage::Bye(goodbye) => return Ok(Some(goodbye)),
            // Bulk: past the loop, and not confirmed.
            SessionMessage::Streamed(batch) => {
                gate.streams.arrived(session, *batch);
                continue;
            }
            SessionMessage::Inbox { event } => {
                let looking = async move { (n, answers::inbox(hub, session, event).await) };
                pending.push(Box::pin(looking) as BoxFuture<'_, _>);
                continue;
            }
            SessionMessage::CanWrite => {
                pending.push(Box::pin(async move { (n, answers::can_write(hub).await) }));
                continue;
            }
            SessionMessage::Answered { ask, .. } if !may_answer(gate, session, ask).await => {
                hub.record_denied(format!("session {session}"), "answering a prompt".into()).await?;
                let fault = Fault::new(Kind::FromInside, "this prompt is not answered from there");
                answers.send(done(n, Err(fault))).await?;
                continue;
            }
            // Anything that the agent runs can attach, and say so again and again.
            SessionMessage::AccessDenied { what } => {
                hub.record_denied(format!("session {session}"), what).await?;
                answers.send(done(n, Ok(Answered::Ok))).await?;
                continue;
            }
            // What an agent runs directs no session, whatever it says of its channels.
            SessionMessage::Received(event) if !is_of_a_person(gate).await => {
                let event = ChannelEvent { directs: false, ..*event };
                answers::received(event, session)
            }
            other => match input_of(other, session) {
                Ok(input) => input,
                Err(fault) => {
                    answers.send(done(n, Err(fault))).await?;
                    continue;
                }
            },
        };
        // Into the hub now, so that the order of the link is the order of the hub; the answer may come later.
        let queued = hub.enqueue(input).await;
        pending.push(Box::pin(async move {
            let answer = match queued {
                Ok(answer) => answer.await.unwrap_or(Err(Trouble::Stopping)),
                Err(trouble) => Err(trouble),
            };
            (n, answer.map(|answer| told(&answer)).map_err(Fault::from))
        }));
    }
}

/// A terminal answers the prompts of its own session, and only from outside of any agent.
async fn may_answer(gate: &Gate, session: SessionId, ask: AskId) -> bool {
    let is_its_own =
        move |state: &portcullis_core::State| state.ask(ask).is_some_and(|(ask, _)| ask.session == session);
    is_of_a_person(gate).await && gate.hub.look(is_its_own).await.unwrap_or(false)
}

async fn is_of_a_person(gate: &Gate) -> bool {
    let Some(peer) = gate.answerer else { return false };
    matches!(gate.hub.inside_without_editors(peer).await, Ok(None))
}

fn done(n: u64, answered: Result<Answered, Fault>) -> GateMessage<'static> {
    GateMessage::Done { n, answer: answered.unwrap_or_else(Answered::Refused) }
}

/// What a session is told that looks whether a gate can write down what happens.
#[cfg(test)]
pub(super) async fn may_record(hub: &Hub) -> bool {
    answers::can_write(hub).await.is_ok()
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
