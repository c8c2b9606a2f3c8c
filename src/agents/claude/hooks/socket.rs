//! Where `portcullis hook` finds the process of its session: one line there, one line back, and a word that it arrived.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use portcullis_wire::hooks::{self, HookCall, HookEvent};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::listener::{is_of_session, listener};
use super::{CalledBy, HookAnswer, HookSession};
use crate::fixed;
use crate::lines::{Line, Lines};

/// A call, and what its hook adds to it.
const LONGEST: usize = hooks::LONGEST_CALL + (64 << 10);
/// Both ends are on this machine, and the client waits for the hook.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);
/// Hooks that speak at the same time. More of them wait to be let in.
const CALLERS: usize = 16;
/// Calls that are held until people have decided. One more is refused: unanswered, it would run.
const HELD: usize = 256;
/// A session that began less than this before may not listen yet.
const STARTING: Duration = Duration::from_secs(3);

/// What a hook is to do with its answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HookOutput {
    #[serde(default)]
    pub(crate) output: Value,
}

/// Where the hooks of an agent find the process of its session.
#[derive(Clone, Copy)]
pub(crate) struct SessionSocket<'a> {
    pub(crate) path: &'a Path,
    pub(crate) agent: u32,
}

/// Listens until it is dropped, and says when it does. A socket that another process of the session still answers is left to
/// that one; anybody else's is taken away.
pub(super) async fn serve(
    session: Arc<HookSession>,
    SessionSocket { path, agent }: SessionSocket<'_>,
    ready: impl Future<Output = ()>,
) -> io::Result<()> {
    if UnixStream::connect(path).await.is_ok_and(|stream| is_of_session(listener(&stream), agent)) {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "another process of this session listens there"));
    }
    drop(std::fs::remove_file(path));
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    ready.await;
    let (callers, held) = (Arc::new(Semaphore::new(CALLERS)), Arc::new(Semaphore::new(fixed::limit("HELD", HELD))));
    loop {
        let Ok(caller) = Arc::clone(&callers).acquire_owned().await else { return Ok(()) };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Too many open files, most likely: the next hook may find one, and trying at once would burn the processor.
            Err(error) => {
                tracing::warn!(%error, "a hook could not be let in");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (session, held) = (Arc::clone(&session), Arc::clone(&held));
        tokio::spawn(async move {
            if let Err(error) = answer(&session, stream, caller, &held).await {
                tracing::debug!(%error, "a hook went away");
            }
        });
    }
}

async fn answer(
    session: &HookSession,
    stream: UnixStream,
    caller: OwnedSemaphorePermit,
    held: &Semaphore,
) -> anyhow::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = Lines::new(reader, LONGEST);
    let Line::Whole(line) = tokio::time::timeout(CONNECT_TIMEOUT, lines.next()).await?? else { return Ok(()) };
    let arguments = hooks::fields_of(&line, None);
    let call = HookCall::read(&arguments)?;
    session.is_installed(arguments["watched"] == true);
    let mut caller = Some(caller);
    let answer = match call.event {
        event if event.decides() => {
            // People may take a day, and the hooks that come meanwhile want to be let in.
            drop(caller.take());
            match held.try_acquire() {
                Ok(_held) => answer_to(session, call, &mut lines).await,
                Err(_) => too_many(call.event),
            }
        }
        _ => answer_to(session, call, &mut lines).await,
    };
    let mut bytes = serde_json::to_vec(&HookOutput { output: answer.output })?;
    bytes.push(b'\n');
    let told = async {
        writer.write_all(&bytes).await?;
        // Whatever was printed has to be read by the client before it counts; the hook says so when it has printed.
        lines.next().await
    };
    let arrived =
        tokio::time::timeout(CONNECT_TIMEOUT, told).await.is_ok_and(|said| matches!(said, Ok(Line::Whole(_))));
    // From here on it may wait for a gate that is away.
    drop(caller);
    session.settle(answer.handed_out, arrived).await;
    Ok(())
}

async fn answer_to(session: &HookSession, call: HookCall, lines: &mut Lines<OwnedReadHalf>) -> HookAnswer {
    let cancelled = CancellationToken::new();
    let answering = session.call(call, CalledBy::AnyProcess, &cancelled);
    tokio::pin!(answering);
    tokio::select! {
        answer = &mut answering => answer,
        // A hook says nothing more before it is answered, so this is its end: the client no longer waits.
        _ = lines.next() => {
            cancelled.cancel();
            answering.await
        }
    }
}

/// The client runs a call that nobody decides about before it; where it asks for permission it has a prompt of its own, or
/// denies.
fn too_many(event: HookEvent) -> HookAnswer {
    match event {
        HookEvent::PreToolUse => {
            let message = "Too many calls of this session wait for people already; try again when some are answered.";
            HookAnswer::saying(hooks::refuse_tool(message))
        }
        _ => HookAnswer::default(),
    }
}

/// How long a hook waits for its session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookWait {
    Short,
    /// Until people have decided. The client ends the hook when it no longer waits. `begun` is when the session began.
    ForPeople {
        begun: Option<SystemTime>,
    },
}

/// Why a hook has no answer of its session.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error("no process of the session listens")]
    Away(#[source] io::Error),
    /// Somebody may have stopped the session, or text from outside may be before the model: only the process knows.
    #[error("the session's process gave no answer: {0}")]
    Silent(String),
    /// What listens there is nothing that the agent has started as its server, so it is neither told nor heard. None: a
    /// process that the system does not name, or another user's.
    #[error("the session's process does not listen any more, but another one in its place")]
    Replaced { by: Option<u32> },
}

/// The hook's end: says what it was called with, and does with the answer what `use_it` does before it confirms.
pub(crate) async fn call_session(
    socket: SessionSocket<'_>,
    arguments: &Value,
    wait: HookWait,
    use_it: impl FnOnce(&HookOutput),
) -> Result<(), Unanswered> {
    let talk = async {
        let (output, mut writer) = ask_session(connect(socket, wait).await?, arguments)
            .await
            .map_err(|error| Unanswered::Silent(format!("{error:#}")))?;
        use_it(&output);
        // The process counts the answer as lost where it does not hear this.
        drop(writer.write_all(b"\n").await);
        Ok(())
    };
    match wait {
        HookWait::Short => {
            let late = |_| Err(Unanswered::Silent("it took too long".to_owned()));
            tokio::time::timeout(CONNECT_TIMEOUT, talk).await.unwrap_or_else(late)
        }
        HookWait::ForPeople { .. } => talk.await,
    }
}

async fn ask_session(stream: UnixStream, arguments: &Value) -> anyhow::Result<(HookOutput, OwnedWriteHalf)> {
    let (reader, mut writer) = stream.into_split();
    let mut bytes = serde_json::to_vec(arguments)?;
    bytes.push(b'\n');
    writer.write_all(&bytes).await?;
    let Line::Whole(line) = Lines::new(reader, LONGEST).next().await? else { anyhow::bail!("it went away") };
    Ok((serde_json::from_slice(&line)?, writer))
}

/// The client starts the session's process at the same time as the session.
async fn connect(SessionSocket { path, agent }: SessionSocket<'_>, wait: HookWait) -> Result<UnixStream, Unanswered> {
    let stream = loop {
        match (UnixStream::connect(path).await, wait) {
            (Err(_), HookWait::ForPeople { begun: Some(begun) }) if begun.elapsed().is_ok_and(|age| age < STARTING) => {
                tokio::time::sleep(PAUSE).await;
            }
            (connected, _) => break connected.map_err(unconnected)?,
        }
    };
    let by = listener(&stream);
    if is_of_session(by, agent) { Ok(stream) } else { Err(Unanswered::Replaced { by }) }
}

fn unconnected(error: io::Error) -> Unanswered {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Unanswered::Away(error),
        // So many wait to be let in that one more is not.
        _ => Unanswered::Silent(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_no_answer_is_taken_for_none() {
        for said in ["", "what?\n", "7\n", "{\"output\""] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let asking = tokio::spawn(async move { ask_session(ours, &Value::Null).await.map(|(output, _)| output) });
            let (reader, mut writer) = theirs.into_split();
            Lines::new(reader, LONGEST).next().await.unwrap();
            writer.write_all(said.as_bytes()).await.unwrap();
            drop(writer);
            assert!(asking.await.unwrap().is_err(), "{said:?}");
        }
    }
}
