//! A front's end of the socket: finds the process of a session and joins it.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use futures_util::future::join_all;
use portcullis_core::{Label, shell_word, visible};
use portcullis_wire::api::SessionView;
use portcullis_wire::front::{Command, FromFront, Joined, LONGEST_LINE, ToFront, VERSIONS, Welcome};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Told;
use super::frames::{line_of, told_by};
use super::listen::remove_if_dead;
use crate::config::Paths;
use crate::failure::Failure;
use crate::gate::VERSION;
use crate::gate::client::{Client, is_away, is_not_found, segment};
use crate::lines::Lines;
use crate::stream::{Reader, Writer, split};

/// The process of a session answers at once, unless it hangs.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// A session whose process answers.
pub(crate) struct FoundSession {
    pub(crate) welcome: Welcome,
    lines: Lines<Reader>,
    writer: Writer,
}

/// A session that this process is a front of.
pub(crate) struct Attached {
    pub(crate) standing: Joined,
    pub(crate) told: mpsc::Receiver<Told>,
    pub(crate) command: mpsc::Sender<Command>,
    pub(crate) ending: JoinHandle<Ending>,
}

/// Why nothing more is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    SessionEnded,
    /// This front did not read.
    CutOff,
    /// The connection broke: the process of the session is gone, or has given up on this front.
    Lost,
}

/// The driven session of this id or label, or the only one that begins so. The gate knows the labels; without one, what the
/// sessions' own processes say has to do: the labels that they wanted.
pub(crate) async fn find(paths: &Paths, wanted: &str) -> anyhow::Result<FoundSession> {
    let known = match Client::of_the_gate() {
        Ok(_) => Client::new(paths).get::<SessionView>(&format!("/api/v1/sessions/{}", segment(wanted))).await,
        Err(_) => return find_process(paths, wanted).await,
    };
    match known {
        Ok(session) => {
            let mut found = find_process(paths, &session.id).await?;
            if let Some(label) = Label::new(&session.label) {
                found.welcome.label = label;
            }
            Ok(found)
        }
        Err(error) if is_away(&error) || is_not_found(&error) => find_process(paths, wanted).await,
        // It names those that are called so, by the labels they have.
        Err(error) => Err(error),
    }
}

async fn find_process(paths: &Paths, wanted: &str) -> anyhow::Result<FoundSession> {
    let sockets = paths.front_sockets();
    let all = join_all(sockets.iter().map(|(path, _)| greet(path))).await;
    let mut found = vec![];
    // A process that refuses us is told of only if it is the one that is wanted.
    let mut refused = None;
    for ((_, session), greeted) in sockets.iter().zip(all) {
        match greeted {
            Ok(greeted) => found.push(greeted),
            Err(error) if is_id(session, wanted) => refused = Some(error),
            Err(error) => tracing::debug!("session {session} cannot be attached to: {error:#}"),
        }
    }
    let kinds: [&dyn Fn(&FoundSession) -> bool; 3] = [
        &|found| found.welcome.session.to_string().eq_ignore_ascii_case(wanted),
        &|found| found.welcome.label.as_str() == wanted,
        &|found| is_id(&found.welcome.session.to_string(), wanted),
    ];
    for is_wanted in kinds {
        let mut these: Vec<usize> = (0..found.len()).filter(|index| is_wanted(&found[*index])).collect();
        match (these.pop(), these.is_empty()) {
            (Some(only), true) => return Ok(found.swap_remove(only)),
            (Some(last), false) => {
                these.push(last);
                let ids: Vec<String> = these.iter().map(|index| found[*index].welcome.session.to_string()).collect();
                let what = format!("several sessions are called {wanted}: {}", ids.join(", "));
                return Err(Failure::new(what, "name one by its id").into());
            }
            (None, _) => {}
        }
    }
    Err(refused.unwrap_or(why_not(paths, wanted).await))
}

fn is_id(session: &str, wanted: &str) -> bool {
    !wanted.is_empty() && session.starts_with(&wanted.to_ascii_lowercase())
}

/// Why there is no such session, as the gate knows it.
async fn why_not(paths: &Paths, wanted: &str) -> anyhow::Error {
    let hinted = |what: String, hint: String| Failure::new(visible(&what), hint).into();
    let gate = match Client::of_the_gate() {
        Ok(_) => Client::new(paths),
        Err(_) => {
            let what = format!("no session {wanted} is running under Portcullis, and no gate is running");
            return hinted(what, "start a session with `portcullis run`, or a gate with `portcullis up`".to_owned());
        }
    };
    let sessions: Vec<SessionView> = match gate.get("/api/v1/sessions?all=true").await {
        Ok(sessions) => sessions,
        Err(error) => return error,
    };
    let is_it = |session: &&SessionView| session.label == wanted || is_id(&session.id, wanted);
    let (ended, running): (Vec<_>, Vec<_>) =
        sessions.iter().filter(is_it).partition(|session| session.state == "ended");
    if let Some(session) = running.iter().find(|session| !session.driven) {
        let hint = "use that terminal; `portcullis ask list` shows its prompts, and `portcullis say` talks to it";
        let what = format!("session {} has a terminal of its own, and cannot be attached to", session.label);
        return hinted(what, hint.to_owned());
    }
    if let Some(session) = running.first() {
        let hint = "try again; if it was started by an older portcullis, use `portcullis session`";
        return hinted(format!("the process of session {} does not answer", session.label), hint.to_owned());
    }
    if let Some(session) = ended.last() {
        let hint = match &session.agent_session {
            Some(id) => format!("`portcullis run --resume {}` goes on with its conversation", shell_word(id)),
            None => "start another with `portcullis run`".to_owned(),
        };
        return hinted(format!("session {} has ended", session.label), visible(&hint));
    }
    hinted(format!("no session {wanted}"), "`portcullis session list` lists them".to_owned())
}

/// Asks who is there.
async fn greet(path: &Path) -> anyhow::Result<FoundSession> {
    let greeting = async {
        let stream = match UnixStream::connect(path).await {
            Ok(stream) => stream,
            Err(error) => {
                remove_if_dead(path);
                return Err(error).with_context(|| format!("connecting to {}", path.display()));
            }
        };
        let (reader, mut writer) = split(stream)?;
        let hello = FromFront::Hello { min: *VERSIONS.start(), max: *VERSIONS.end(), program: VERSION.to_owned() };
        writer.write_all(&line_of(&hello)).await?;
        let mut lines = Lines::new(reader, LONGEST_LINE);
        let line = next(&mut lines).await?;
        match serde_json::from_slice(&line)? {
            ToFront::Welcome(welcome) => Ok(FoundSession { welcome: *welcome, lines, writer }),
            ToFront::Refused(fault) => Err(Failure::from(fault).into()),
            other => anyhow::bail!("the session greeted with {other:?}"),
        }
    };
    tokio::time::timeout(HELLO_TIMEOUT, greeting).await.context("the session's process does not answer")?
}

impl FoundSession {
    /// From now on this process is told what the session does.
    pub(crate) async fn join(mut self) -> anyhow::Result<Attached> {
        self.writer.write_all(&line_of(&FromFront::Join)).await?;
        let line = tokio::time::timeout(HELLO_TIMEOUT, next(&mut self.lines)).await;
        let line = line.context("the session's process does not answer")??;
        let standing = match serde_json::from_slice(&line)? {
            ToFront::Joined(standing) => standing,
            ToFront::Refused(fault) => return Err(Failure::from(fault).into()),
            other => anyhow::bail!("the session let this terminal in with {other:?}"),
        };
        let (tell, told) = mpsc::channel(256);
        let (command, commands) = mpsc::channel(16);
        tokio::spawn(write(self.writer, commands));
        let ending = tokio::spawn(read(self.lines, tell));
        Ok(Attached { standing, told, command, ending })
    }
}

/// Tells the front what the session does; waits for the front.
async fn read(mut lines: Lines<Reader>, tell: mpsc::Sender<Told>) -> Ending {
    loop {
        let Ok(line) = next(&mut lines).await else { return Ending::Lost };
        let told = match serde_json::from_slice(&line) {
            Ok(ToFront::Ended) => return Ending::SessionEnded,
            Ok(ToFront::CutOff) => return Ending::CutOff,
            Ok(frame) => told_by(frame),
            // A newer session may say what this program does not know.
            Err(error) => {
                tracing::debug!(%error, "a line of the session could not be read");
                None
            }
        };
        if let Some(told) = told
            && tell.send(told).await.is_err()
        {
            return Ending::Lost;
        }
    }
}

async fn write(mut writer: Writer, mut commands: mpsc::Receiver<Command>) -> std::io::Result<()> {
    while let Some(command) = commands.recv().await {
        writer.write_all(&line_of(&FromFront::Wants(command))).await?;
    }
    Ok(())
}

async fn next(lines: &mut Lines<Reader>) -> anyhow::Result<Bytes> {
    lines.next_whole().await?.context("the session's process closed the connection")
}
