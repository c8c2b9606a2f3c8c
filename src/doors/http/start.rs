//! Sessions started over the API. Each is a process of its own that holds its Claude Code: it outlives the gate, and the
//! gate only reads what it prints.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hyper::StatusCode;
use portcullis_core::policy::Mode;
use portcullis_core::{Label, Notice, SessionId, visible};
use portcullis_wire::api::SessionView;
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::start::NewSession;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::Door;
use super::access::Permitted;
use super::body::read_json;
use super::response::{ErrorResponse, Json};
use crate::hub::{Watcher, mint};
use crate::lines::{Line, Lines};

/// Sessions started over the API that may run at once.
const MAX_SESSIONS: usize = 32;
/// How long a session may take until it is attached: Claude Code loads a great deal.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes kept of the end of a session's standard error.
const STDERR_TAIL: usize = 4096;
/// The longest line of a session's output that is read.
const LONGEST_LINE: usize = 64 << 20;

/// Starts sessions, as the configuration says.
pub(crate) struct Starter {
    /// A session may work in these folders and below them; symbolic links are resolved.
    folders: Vec<PathBuf>,
    /// A path as people write it, with `~` for the folder of the user.
    at_home: AtHome,
    pub(super) allow_bypass: bool,
    /// How long a prompt of a session started by `POST /api/chat` can be answered.
    pub(super) ask_time: Duration,
    /// Starts the process with piped standard input, output and error.
    spawn: Spawn,
    places: Arc<Semaphore>,
}

pub(crate) type Spawn = Box<dyn Fn(&NewProcess) -> std::io::Result<Child> + Send + Sync>;

pub(crate) type AtHome = Box<dyn Fn(&Path) -> PathBuf + Send + Sync>;

/// The process of a session that is to be started.
pub(crate) struct NewProcess {
    pub(crate) session: SessionId,
    pub(crate) folder: PathBuf,
    /// Written to standard input.
    pub(crate) prompt: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) model: Option<String>,
    /// Who wants it: the prompt is theirs.
    pub(crate) by: String,
    pub(crate) resume: Option<String>,
    pub(crate) channels: Vec<String>,
    /// The session ends when the prompt is done.
    pub(crate) once: bool,
    pub(crate) ask_time: Option<Duration>,
}

/// The process of a session that has attached, and what it prints.
pub(super) struct RunningProcess {
    pub(super) view: SessionView,
    pub(super) lines: mpsc::Receiver<Bytes>,
}

impl Starter {
    pub(crate) fn new(
        folders: &[PathBuf],
        at_home: AtHome,
        allow_bypass: bool,
        ask_time: Duration,
        spawn: Spawn,
    ) -> Self {
        let folders = folders.iter().filter_map(|folder| at_home(folder).canonicalize().ok()).collect();
        Self { folders, at_home, allow_bypass, ask_time, spawn, places: Arc::new(Semaphore::new(MAX_SESSIONS)) }
    }

    /// Where sessions may be started.
    pub(super) fn folders(&self) -> Vec<String> {
        self.folders.iter().map(|folder| folder.display().to_string()).collect()
    }

    /// The folder that was asked for, if sessions may work there; without one, the first that is configured.
    fn folder(&self, wanted: Option<&str>) -> Result<PathBuf, Fault> {
        let not_allowed = |what: String| Fault::new(Kind::FolderNotAllowed, what);
        let not_there = |what: String| Fault {
            hint: "look at how it is written, or make it first".to_owned(),
            ..not_allowed(what)
        };
        let Some(first) = self.folders.first() else {
            return Err(not_allowed("no folder is configured in which sessions may be started".to_owned()));
        };
        let Some(wanted) = wanted else { return Ok(first.clone()) };
        let wanted = &(self.at_home)(Path::new(wanted));
        let is_below = || self.folders.iter().any(|allowed| wanted.starts_with(allowed));
        // Only of what is allowed it is said whether it is there.
        let fault = || match is_below() && !wanted.components().any(|part| part == Component::ParentDir) {
            true => not_there(format!("there is no folder {}", wanted.display())),
            false => {
                not_allowed(format!("sessions may not be started in {wanted:?}, but in {}", self.folders().join(", ")))
            }
        };
        self.allowed(wanted).ok_or_else(fault)
    }

    fn allowed(&self, wanted: &Path) -> Option<PathBuf> {
        let folder = wanted.canonicalize().ok().filter(|folder| folder.is_dir());
        folder.filter(|folder| self.folders.iter().any(|allowed| folder.starts_with(allowed)))
    }

    /// Whether sessions may be started in this folder.
    pub(super) fn covers(&self, folder: &Path) -> bool {
        self.allowed(folder).is_some()
    }
}

/// `POST /api/v1/sessions`: starts a session, which stays until it is ended.
pub(super) async fn start(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let new: NewSession = read_json(request, &door).await?;
    let process = NewProcess {
        session: mint(SessionId::new),
        folder: folder(&door, new.folder.as_deref(), new.resume.as_deref()).await?,
        // Words of nothing but spaces would be a turn about nothing: the session waits for its first message instead.
        prompt: new.prompt.filter(|prompt| !prompt.trim().is_empty()),
        label: new.label,
        mode: new.mode,
        model: new.model,
        by: actor.name,
        resume: new.resume,
        channels: new.channels,
        once: false,
        ask_time: None,
    };
    let RunningProcess { view, mut lines } = begin(&door, process).await?;
    // Nobody listens; what it does is told by the gate.
    tokio::spawn(async move { while lines.recv().await.is_some() {} });
    Ok((StatusCode::CREATED, Json(view)).into_response())
}

/// The folder for a session. A conversation goes on where it was, unless another folder is named; and only if sessions may
/// be started where it was, since whoever goes on with it reads it.
pub(super) async fn folder(door: &Arc<Door>, wanted: Option<&str>, resumed: Option<&str>) -> Result<PathBuf, Fault> {
    let Some(conversation) = resumed else { return door.starter.folder(wanted) };
    let (reader, id) = (Arc::clone(&door.transcripts), conversation.to_owned());
    let reading = tokio::task::spawn_blocking(move || (reader.folder)(&id)).await;
    let began = reading.map_err(|error| Fault::new(Kind::Internal, format!("the transcript: {error}")))?;
    let unknown = || Fault::new(Kind::NoSuchConversation, format!("there is no conversation {conversation:?}"));
    let began = began.ok_or_else(unknown)?;
    let began = door.starter.folder(Some(&began.to_string_lossy()))?;
    wanted.map_or(Ok(began), |wanted| door.starter.folder(Some(wanted)))
}

/// What no session can be called or begun in is refused before a process is started that would refuse it.
fn check(new: &NewProcess) -> Result<(), Fault> {
    let bad = |what: String| Fault::new(Kind::BadRequest, what);
    if let Some(label) = new.label.as_deref().filter(|label| Label::new(label).is_none()) {
        return Err(Fault { hint: Label::HINT.to_owned(), ..bad(format!("{label:?} is no label")) });
    }
    let unknown = new.mode.as_deref().map(str::parse::<Mode>).and_then(Result::err);
    unknown.map_or(Ok(()), |error| Err(bad(format!("mode: {error}"))))
}

/// Starts the process and waits until its session is attached, or until it has failed.
pub(super) async fn begin(door: &Arc<Door>, new: NewProcess) -> Result<RunningProcess, Fault> {
    check(&new)?;
    if new.mode.as_deref() == Some(Mode::BypassPermissions.name()) && !door.starter.allow_bypass {
        return Err(Fault::new(Kind::BypassNotAllowed, "mode bypassPermissions is not allowed here"));
    }
    let full = |_| Fault::new(Kind::TooManySessions, format!("{MAX_SESSIONS} sessions run that were started here"));
    let place = Arc::clone(&door.starter.places).try_acquire_owned().map_err(full)?;
    let mut watcher = door.hub.watch(|_| vec![]).await?;
    let failed = |what: String| not_started(&what);
    let mut child = (door.starter.spawn)(&new).map_err(|error| failed(error.to_string()))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
        return Err(failed("it has no pipes".to_owned()));
    };
    let prompt = new.prompt.unwrap_or_default();
    tokio::spawn(async move { stdin.write_all(prompt.as_bytes()).await });
    let (send, lines) = mpsc::channel(64);
    tokio::spawn(read(stdout, send));
    let (ended, words) = tokio::sync::oneshot::channel();
    let unwanted = CancellationToken::new();
    tokio::spawn(reap(child, stderr, place, unwanted.clone(), ended));
    // Whoever is told that it failed, or hangs up, may try again: what was started must not come up after all.
    let unless_attached = unwanted.drop_guard();
    let attached = attached(&mut watcher, new.session);
    tokio::select! {
        view = attached => match view {
            Some(view) => {
                unless_attached.disarm();
                Ok(RunningProcess { view, lines })
            }
            // It stops, or has cut us off because we did not keep up.
            None => Err(Fault::new(Kind::Stopping, "the gate could not tell whether the session came up, and has ended it")),
        },
        words = words => Err(failed(words.unwrap_or_default())),
        () = tokio::time::sleep(ATTACH_TIMEOUT) => Err(failed(format!("it did not attach within {} s, and was ended", ATTACH_TIMEOUT.as_secs()))),
    }
}

/// Why a session did not come up, by what its process said at its end: what went wrong, why, and what to do.
fn not_started(words: &str) -> Fault {
    let part = |name: &'static str| words.lines().filter_map(move |line| line.trim().strip_prefix(name)).map(str::trim);
    let said = part("error:").chain(part("caused by:")).collect::<Vec<_>>();
    let what = match said.is_empty() {
        true => words.split_whitespace().collect::<Vec<_>>().join(" "),
        false => said.join(": "),
    };
    let fault = Fault::new(Kind::StartFailed, format!("the session could not be started: {what}"));
    match part("hint:").next() {
        Some(hint) => Fault { hint: hint.to_owned(), ..fault },
        None => fault,
    }
}

async fn attached(watcher: &mut Watcher, wanted: SessionId) -> Option<SessionView> {
    loop {
        let change = watcher.changes.recv().await?;
        if let Notice::Session { session, waiting, asks } = &change.notice
            && session.id == wanted
            && session.is_attached()
        {
            return Some(SessionView::of(session, *waiting, *asks));
        }
    }
}

/// Reads the session's standard output to its end, also when nobody listens: the session must never block on it.
async fn read(stdout: ChildStdout, send: mpsc::Sender<Bytes>) {
    let mut lines = Lines::new(stdout, LONGEST_LINE);
    loop {
        match lines.next().await {
            Ok(Line::Whole(line)) => drop(send.send(line).await),
            Ok(Line::TooLong) => {}
            Ok(Line::End) | Err(_) => return,
        }
    }
}

/// Waits until the process has ended, or kills it when `unwanted` is cancelled, and sends the end of its standard error.
/// The guard process ends whatever the session has started.
async fn reap(
    mut child: Child,
    stderr: ChildStderr,
    place: OwnedSemaphorePermit,
    unwanted: CancellationToken,
    ended: tokio::sync::oneshot::Sender<String>,
) {
    let mut words: Vec<u8> = vec![];
    tokio::select! {
        () = read_tail(stderr, &mut words) => {}
        () = unwanted.cancelled() => {}
    }
    let is_unwanted = tokio::select! {
        _ = child.wait() => false,
        () = unwanted.cancelled() => true,
    };
    if is_unwanted && let Err(error) = child.kill().await {
        tracing::warn!(%error, "ending a session that did not come up");
    }
    drop(place);
    let words = visible(String::from_utf8_lossy(&words).trim());
    tracing::debug!("a session that was started here has ended: {words}");
    drop(ended.send(words));
}

async fn read_tail(mut stderr: ChildStderr, words: &mut Vec<u8>) {
    let mut piece = [0; 1024];
    while let Ok(read @ 1..) = stderr.read(&mut piece).await {
        words.extend_from_slice(&piece[..read]);
        let surplus = words.len().saturating_sub(STDERR_TAIL);
        words.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn what_a_process_says_at_its_end_is_one_sentence_and_one_hint() {
        let told = |words: &str| (not_started(words).message, not_started(words).hint);
        let (message, hint) =
            told("warning: x\nerror: it does not run\n  caused by: no such file\n  hint: install it\n");
        assert_eq!(message, "the session could not be started: it does not run: no such file");
        assert_eq!(hint, "install it");
        let (message, hint) = told("Killed\n by signal 9");
        assert_eq!(message, "the session could not be started: Killed by signal 9");
        assert_eq!(hint, Kind::StartFailed.entry().1);
    }

    /// It closes standard error or keeps it open, says so, and stays for ever.
    #[tokio::test]
    async fn a_session_that_nobody_waits_for_any_more_is_ended_and_leaves_its_place() {
        for script in ["echo up; exec sleep 3600 >/dev/null", "exec 2>&-; echo up; exec sleep 3600 >/dev/null"] {
            let mut command = tokio::process::Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
            let places = Arc::new(Semaphore::new(1));
            let place = Arc::clone(&places).try_acquire_owned().unwrap();
            let (unwanted, (ended, words)) = (CancellationToken::new(), tokio::sync::oneshot::channel());
            tokio::spawn(reap(child, stderr, place, unwanted.clone(), ended));
            assert!(
                matches!(Lines::new(stdout, LONGEST_LINE).next().await.unwrap(), Line::Whole(line) if line == "up")
            );
            drop(unwanted.drop_guard());
            words.await.unwrap();
            assert_eq!(places.available_permits(), 1);
        }
    }
}
