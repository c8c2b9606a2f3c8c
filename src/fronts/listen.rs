//! The socket on which the process of a driven session listens for fronts that join it.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use portcullis_core::SessionId;
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::front::{Command, FromFront, Joined, LONGEST_LINE, PromptNews, ToFront, VERSIONS, Welcome};
use portcullis_wire::link::agree;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::task::TaskTracker;

use super::Told;
use super::fanout::{FrontChange, FrontOutlet, Inlet};
use super::frames::line_of;
use super::standing::Standings;
use crate::config::Paths;
use crate::lines::Lines;
use crate::processes::PeerProcess;
use crate::stream::{Reader, Writer, split};

/// Fronts that may join one session at the same time.
const MOST: usize = 16;
/// Both ends are on this machine.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a front that was cut off may take to read the rest.
const CUT_OFF_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// Everything that a connection of a front needs.
pub(super) struct Joining {
    pub(super) welcome: Welcome,
    pub(super) standings: Standings,
    pub(super) changes: mpsc::Sender<FrontChange>,
    /// Writes what fronts are told; waited for when the session has ended.
    pub(super) writers: TaskTracker,
    places: Arc<Semaphore>,
    /// The number of the next front; 0 is the one that started the session.
    next: AtomicU64,
}

impl Joining {
    pub(super) fn new(welcome: Welcome, standings: Standings, changes: mpsc::Sender<FrontChange>) -> Self {
        let (writers, places) = (TaskTracker::new(), Arc::new(Semaphore::new(MOST)));
        Self { welcome, standings, changes, writers, places, next: AtomicU64::new(1) }
    }
}

/// A socket that is there while this is.
pub(super) struct FrontListener {
    listener: UnixListener,
    path: PathBuf,
}

impl Drop for FrontListener {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}

/// Listens for fronts of this session, and removes what dead processes have left behind.
pub(super) fn listen(paths: &Paths, session: SessionId) -> anyhow::Result<FrontListener> {
    paths.prepare()?;
    for (path, _) in paths.front_sockets() {
        remove_if_dead(&path);
    }
    let path = paths.front_socket(&session.to_string());
    // It gets its name when it listens: whoever finds a socket under such a name that refuses them may remove it.
    let fresh = path.with_extension("new");
    let listener = UnixListener::bind(&fresh)?;
    let listening = FrontListener { listener, path };
    std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(fresh, &listening.path)?;
    Ok(listening)
}

/// Removes a socket on which nobody listens any more.
pub(super) fn remove_if_dead(path: &Path) {
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    if std::os::unix::net::UnixStream::connect(path).is_err_and(refused) {
        drop(std::fs::remove_file(path));
    }
}

/// Lets fronts join until it is dropped.
pub(super) async fn serve(listening: FrontListener, joining: Arc<Joining>) {
    let us = rustix::process::geteuid().as_raw();
    loop {
        let stream = match listening.listener.accept().await {
            Ok((stream, _)) => stream,
            // Too many open files, most likely: trying again at once would only burn the processor.
            Err(error) => {
                tracing::warn!(%error, "a front could not be let in");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let process = match stream.peer_cred() {
            Ok(peer) if peer.uid() == us => PeerProcess::connected(peer.pid()),
            Ok(peer) => {
                tracing::warn!(uid = peer.uid(), "another user tried the socket for fronts");
                continue;
            }
            Err(_) => continue,
        };
        let joining = Arc::clone(&joining);
        tokio::spawn(async move {
            if let Err(error) = converse(&joining, stream, process).await {
                tracing::debug!("a front went away: {error:#}");
            }
        });
    }
}

/// One front, from its hello to its end.
async fn converse(joining: &Joining, stream: UnixStream, process: Option<PeerProcess>) -> anyhow::Result<()> {
    let (reader, mut writer) = split(stream)?;
    let mut lines = Lines::new(reader, LONGEST_LINE);
    let Some(hello) = tokio::time::timeout(HELLO_TIMEOUT, next(&mut lines)).await?? else { return Ok(()) };
    let greeting = greeting(&joining.welcome, hello);
    writer.write_all(&line_of(&greeting)).await?;
    if !matches!(greeting, ToFront::Welcome(_)) {
        return Ok(());
    }
    // One that only wanted to know which session this is goes now.
    match tokio::time::timeout(HELLO_TIMEOUT, next(&mut lines)).await?? {
        Some(FromFront::Join) => {}
        Some(_) => anyhow::bail!("the second line must be join"),
        None => return Ok(()),
    }
    let Ok(place) = Arc::clone(&joining.places).try_acquire_owned() else {
        let what = format!("{MOST} terminals are attached to this session");
        let fault = Fault { hint: "leave one of them".into(), ..Fault::new(Kind::Busy, what) };
        return Ok(writer.write_all(&line_of(&ToFront::Refused(fault))).await?);
    };
    let standing = joining.standings.of(process).await;
    let standing = Joined {
        no_answers: standing.no_answers.map(|fault| fault.message),
        no_orders: standing.no_orders.map(|fault| fault.message),
    };
    let front = joining.next.fetch_add(1, Ordering::Relaxed);
    let (outlet, inlet) = FrontOutlet::new();
    joining.changes.send(FrontChange::Joined { front, outlet, standing }).await?;
    joining.writers.spawn(write(writer, inlet));
    let result = hear(joining, &mut lines, front, process).await;
    drop(joining.changes.send(FrontChange::Left(front)).await);
    drop(place);
    result
}

fn greeting(welcome: &Welcome, hello: FromFront) -> ToFront<'static> {
    let refuse =
        |kind, what: String, hint: &str| ToFront::Refused(Fault { hint: hint.to_owned(), ..Fault::new(kind, what) });
    let FromFront::Hello { min, max, program } = hello else {
        return refuse(Kind::BadRequest, "the first line must be hello".into(), "use `portcullis attach`");
    };
    match agree(&VERSIONS, min, max) {
        Some(version) => ToFront::Welcome(Box::new(Welcome { version, ..welcome.clone() })),
        None => refuse(
            Kind::VersionsDoNotMeet,
            format!("the session was started by portcullis {}, this is portcullis {program}", welcome.program),
            "attach with the portcullis that started the session",
        ),
    }
}

/// Takes what the front wants, until it goes.
async fn hear(
    joining: &Joining,
    lines: &mut Lines<Reader>,
    front: u64,
    process: Option<PeerProcess>,
) -> anyhow::Result<()> {
    while let Some(frame) = next(lines).await? {
        let FromFront::Wants(command) = frame else { anyhow::bail!("hello and join come first and once") };
        let change = match joining.standings.refusal(process, &command).await {
            None => FrontChange::Wants { front, command },
            Some(fault) => FrontChange::Tell { front, told: refused(&command, fault) },
        };
        joining.changes.send(change).await?;
    }
    Ok(())
}

/// How a front is told that what it wants is refused.
pub(super) fn refused(command: &Command, fault: Fault) -> Told {
    match command {
        Command::Answer { ask, .. } => Told::Prompt(PromptNews::NotTaken { ask: *ask, fault }),
        _ => Told::Notice(format!("refused: {}", fault.message)),
    }
}

/// Writes what the front is told. One that was cut off is told so, if it reads soon.
async fn write(mut writer: Writer, mut inlet: Inlet) -> io::Result<()> {
    let cut_off = inlet.cut_off.clone();
    let writing = async {
        while let Some(line) = inlet.next().await {
            writer.write_all(&line).await?;
        }
        if inlet.cut_off.is_cancelled() {
            writer.write_all(&line_of(&ToFront::CutOff)).await?;
        }
        writer.shutdown().await
    };
    tokio::select! {
        written = writing => written,
        () = async { cut_off.cancelled().await; tokio::time::sleep(CUT_OFF_TIMEOUT).await } => {
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

async fn next(lines: &mut Lines<Reader>) -> anyhow::Result<Option<FromFront>> {
    Ok(lines.next_whole().await?.map(|line| serde_json::from_slice(&line)).transpose()?)
}
