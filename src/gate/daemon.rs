//! The gate put together: lock, journal, hub and doors, in the order that makes a second one impossible.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use portcullis_core::Limits;
use portcullis_wire::api::Status;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::VERSION;
use super::client::Client;
use super::folders::start_folders;
use super::hooks;
use super::lock::{self, About, Lock};
use super::notify;
use super::ports::{bind, bind_socket, connection_limits, raise_file_limit};
use super::reach::{self, Handed};
use super::sessions;
use crate::agents::claude::hooks::forget_ended;
use crate::config::{self, Approvals, Config, Durability, Paths, TokenHash, generate_token, kept_secret, owner_token};
use crate::doors::http::{self, Credentials, Door, NewProcess, Parts, PublicOrigin, Starter};
use crate::failure::{Exit, Failure};
use crate::files::FileStore;
use crate::fixed;
use crate::hub::{self, Hub, HubLimits, Streams, link};
use crate::push::{PushKey, PushService};
use crate::store::{self, Retention, StoreConfig};

/// A gate that was killed replays at most twice as many records when it starts.
const SNAPSHOT_AFTER: u64 = 50_000;

/// How a gate is started.
#[derive(Clone)]
pub(crate) struct GateOptions {
    pub(crate) dev_sender: Option<String>,
    pub(crate) started: Started,
}

/// Who wanted the gate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Started {
    ByPerson,
    /// Nobody can tell: a supervisor, or something that an agent has left behind.
    ByUnknown,
    /// A session that found none. It stops when a person starts one.
    ForSession,
}

/// A gate that runs. Dropping it does not stop it; [`Gate::wait`] does.
pub(crate) struct Gate {
    pub(crate) hub: Hub,
    pub(crate) status: Status,
    pub(crate) stop: CancellationToken,
    door: Arc<Door>,
    hub_task: JoinHandle<()>,
    doors: Vec<JoinHandle<()>>,
    paths: Paths,
    /// Held until everything else is gone.
    lock: Lock,
}

/// Opens the gate that a person asks for. One that a session started is stopped first; none when a person's runs.
pub(crate) async fn open_in_place(
    paths: &Paths,
    config: &Config,
    options: &GateOptions,
) -> anyhow::Result<Option<Gate>> {
    const HANDOVER_TIMEOUT: Duration = Duration::from_secs(15);
    let give_up = tokio::time::Instant::now() + HANDOVER_TIMEOUT;
    loop {
        if let Some(gate) = open(paths.clone(), config, options.clone()).await? {
            return Ok(Some(gate));
        }
        let gives_way = lock::holder(&paths.lock_file).is_none_or(|holder| holder.auto_started);
        if !gives_way || tokio::time::Instant::now() > give_up {
            return Ok(None);
        }
        // It may be gone already, or not be there yet: then there is nobody to ask, and the lock will tell.
        if let Err(error) = Client::new(paths).command("POST", "/api/v1/stop").await {
            tracing::debug!("asking the gate of a session to stop: {error:#}");
            // It does not stop for what an agent runs, however often it is asked.
            if error.downcast_ref::<Failure>().is_some_and(|failure| failure.exit() == Exit::Denied) {
                return Ok(None);
            }
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Opens the gate; none when another holds the lock.
pub(crate) async fn open(paths: Paths, config: &Config, options: GateOptions) -> anyhow::Result<Option<Gate>> {
    paths.believe_all(config::project().as_deref())?;
    paths.prepare()?;
    let Some(mut lock) = Lock::take(&paths.lock_file)? else { return Ok(None) };
    // Before anything that takes its time: whoever asks meanwhile is told of us, not of the one before.
    lock.write(&About {
        pid: std::process::id(),
        version: VERSION.to_owned(),
        socket: paths.socket.clone(),
        auto_started: options.started == Started::ForSession,
    })?;
    let token = owner_token(&paths, config.token.clone())?;
    let files = raise_file_limit();
    let (tcp, listen_problem) = bind(config.listen, options.started)?;
    let public = match config.public_url.origin() {
        None => None,
        Some(origin) => {
            let (listener, problem) = bind(config.public_listen, options.started)?;
            if let Some(problem) = problem {
                tracing::warn!("{origin} is not served: {problem}");
            }
            listener.map(|listener| (listener, PublicOrigin::new(origin)))
        }
    };
    let durability = match config.durability {
        Durability::Process => store::Durability::Process,
        Durability::Power => store::Durability::Power,
    };
    let journal = StoreConfig { path: paths.journal.clone(), durability };
    let store = journal
        .open()
        .map_err(Failure::from)
        .with_context(|| format!("opening the journal {}", paths.journal.display()))?;
    let stop = CancellationToken::new();
    let (hub, hub_task) = hub::start(store, hub_limits(config), VERSION, stop.clone()).await?;
    let socket = bind_socket(&paths.socket)?;
    forget_ended(paths.of_sessions());
    let status = Status {
        running: true,
        version: VERSION.to_owned(),
        pid: std::process::id(),
        started_at: hub::now().0,
        listen: tcp.as_ref().and_then(|listener| listener.local_addr().ok()).map(|address| address.to_string()),
        listen_problem,
        public_url: public.as_ref().map(|(_, origin)| origin.origin.clone()),
        public_listen: public
            .as_ref()
            .and_then(|(listener, _)| listener.local_addr().ok())
            .map(|address| address.to_string()),
        socket: paths.socket.display().to_string(),
        journal: paths.journal.display().to_string(),
        durability: config.durability.to_string(),
        log: log_of(&paths.log_file),
        token_file: config.token.is_none().then(|| paths.token_file.display().to_string()),
        auto_started: options.started == Started::ForSession,
        dev_sender: options.dev_sender.clone(),
        approvals: (config.approvals == Approvals::Device).then(|| "device".to_owned()),
        sessions: 0,
        waiting_events: 0,
        open_asks: 0,
        watchers: 0,
        notify: None,
        unasked_calls: vec![],
    };
    let link = link::Gate {
        hub: hub.clone(),
        program: VERSION,
        max_context: config.max_context,
        stop: stop.clone(),
        answerer: None,
        streams: Streams::default(),
        pace: link::WakePace::default(),
    };
    let owner = TokenHash::of(token.expose());
    let is_owner = Box::new(move |presented: &str| owner.matches(presented));
    let credentials = Credentials {
        is_owner,
        roster: hub.roster(),
        dev_sender: options.dev_sender,
        owner_answers: config.approvals == Approvals::Anywhere,
    };
    let (notify, notifier) = notify::start(&config.notify, &hub, &stop);
    let push = push_service(&paths, config)?;
    let make_token = || Some(generate_token().ok()?.expose().to_owned());
    let mcp_host = super::mcp_host::WatchedMcpHost::default();
    let parts = Parts {
        hub: hub.clone(),
        credentials,
        limits: door_limits(config, files),
        status: status.clone(),
        notify,
        stop: stop.clone(),
        make_token,
        starter: starter(&paths, config, options.started),
        transcripts: Arc::new(transcript_reader()),
        files: FileStore::new(&paths.state_dir),
        public: public.as_ref().map(|(_, origin)| origin.clone()),
        inspector: super::inspect::inspector(&paths, config),
        mcp: super::mcp::looks(),
        notify_after: config.notify.after,
        push: push.clone(),
        gateway: mcp_host.connect(paths.clone()),
        hooks: config.hooks.over_http.then(|| hooks::posted(link.clone(), config)),
        link,
    };
    let door = Door::new(parts);
    let mut doors = vec![tokio::spawn(http::serve_unix(socket, Arc::clone(&door), stop.clone()))];
    if let Some(tcp) = tcp {
        doors.push(tokio::spawn(http::serve_tcp(tcp, Arc::clone(&door), stop.clone())));
    }
    if let Some((listener, _)) = public {
        doors.push(tokio::spawn(http::serve_public(listener, Arc::clone(&door), stop.clone())));
    }
    doors.extend(notifier);
    if config.mcp.has_shared() {
        doors.push(tokio::spawn(mcp_host.keep(stop.clone())));
    }
    if let Some(push) = push {
        let after = fixed::wait("NOTIFY_AFTER", config.notify.after);
        doors.push(tokio::spawn(super::push::run(push, hub.clone(), after, stop.clone())));
    }
    doors.extend(super::connectors::start(&paths, config, &hub, &stop));
    doors.push(tokio::spawn(forget_old_payloads(paths.clone(), config.clone(), stop.clone())));
    Ok(Some(Gate { hub, status, stop, door, hub_task, doors, paths, lock }))
}

impl Gate {
    /// Runs until someone stops it, then lets what is under way finish.
    pub(crate) async fn wait(self) {
        let Self { stop, door, hub_task, doors, paths, lock, .. } = self;
        stop.cancelled().await;
        for door in doors {
            drop(door.await);
        }
        // From here on clients find no socket and start a gate of their own, again and again until it gets the lock.
        drop(std::fs::remove_file(&paths.socket));
        for socket in [paths.mcp_socket(), paths.shared_servers_socket()] {
            drop(std::fs::remove_file(socket));
        }
        drop(hub_task.await);
        door.finish(Duration::from_secs(1)).await;
        drop(lock);
    }
}

/// Who is told by Web Push. Browsers subscribe over https alone, and push services want to know whose gate it is.
fn push_service(paths: &Paths, config: &Config) -> anyhow::Result<Option<PushService>> {
    let Some(contact) = config.public_url.origin().filter(|origin| origin.starts_with("https://")) else {
        return Ok(None);
    };
    let secret = kept_secret(&paths.state_dir.join("push.key"), "the key for Web Push")?;
    Ok(PushKey::of(secret.expose()).map(|key| PushService::open(&paths.state_dir, key, contact)))
}

/// How the door reads the transcripts that Claude Code keeps.
fn transcript_reader() -> http::TranscriptReader {
    let transcripts = Arc::new(sessions::transcripts());
    let [for_newest, for_folder, for_words] = [(); 3].map(|()| Arc::clone(&transcripts));
    http::TranscriptReader {
        page: Box::new(move |conversation, wanted| match &*transcripts {
            Some(transcripts) => transcripts.page(conversation, wanted),
            None => Ok(None),
        }),
        newest: Box::new(move |is_wanted| {
            for_newest.iter().flat_map(|found| found.newest(is_wanted, None).conversations).collect()
        }),
        folder: Box::new(move |conversation| for_folder.as_ref().as_ref()?.folder_of(conversation)),
        words: Box::new(move |conversation| for_words.as_ref().as_ref()?.words(conversation)),
    }
}

/// Sessions over the API are `portcullis run --held`, in processes of their own that outlive this gate.
fn starter(paths: &Paths, config: &Config, started: Started) -> Starter {
    let folders = start_folders(paths, config, started);
    let spawn = |new: &NewProcess| {
        let program = reach::this_program().map_err(std::io::Error::other)?;
        let mut command = tokio::process::Command::new(program);
        command.args(["run", "--held", "--output=stream-json"]).arg(format!("--session={}", new.session));
        let given =
            [("label", &new.label), ("permission-mode", &new.mode), ("model", &new.model), ("resume", &new.resume)];
        for (name, value) in given {
            command.args(value.as_ref().map(|value| format!("--{name}={value}")));
        }
        command.args(new.channels.iter().map(|channel| format!("--channel={channel}")));
        command.arg(format!("--started-by={}", new.by));
        command.args(new.once.then_some("--once"));
        command.args(new.ask_time.map(|time| format!("--ask-seconds={}", time.as_secs())));
        // The prompt comes on standard input, where no list of processes shows it.
        command.args(new.prompt.as_ref().map(|_| "-"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env_clear().envs(reach::handed_on(Handed::All));
        command.current_dir(&new.folder).spawn()
    };
    let home = paths.clone();
    let at_home = Box::new(move |path: &Path| home.at_home(path));
    Starter::new(&folders, at_home, config.allow_bypass, config.start.ask_time, Box::new(spawn))
}

/// `files`: how many may be open.
fn door_limits(config: &Config, files: Option<usize>) -> http::HttpLimits {
    let limits = &config.limits;
    http::HttpLimits {
        body: limits.body,
        header_time: fixed::wait("HEADER", config::HEADER_TIME),
        idle_time: fixed::wait("IDLE", limits.idle_time),
        connections: connection_limits(limits.connections, files, config.public_url.origin().is_some()),
        listeners: limits.sse_listeners,
    }
}

fn hub_limits(config: &Config) -> HubLimits {
    let usual = Limits::default();
    HubLimits {
        queue: fixed::limit("QUEUE", config::QUEUE),
        queue_bytes: config::QUEUE_BYTES,
        watcher: fixed::limit("WATCHER", config::WATCHER),
        rate: config.limits.rate,
        burst: config.limits.burst,
        // More than fingers on the page do.
        device_rate: fixed::limit("DEVICE_RATE", 50),
        device_burst: fixed::limit("DEVICE_BURST", 200),
        coalesce: config.coalesce.iter().map(|(sender, seconds)| (sender.clone(), seconds * 1000)).collect(),
        snapshot_after: fixed::number("SNAPSHOT", SNAPSHOT_AFTER),
        state: Limits {
            waiting_events: config.limits.session_events,
            // A tenth; of a small queue no less than a hundred.
            waiting_of_one: (config.limits.session_events / 10).max(100),
            waiting_bytes: fixed::limit("SESSION_BYTES", config::SESSION_BYTES),
            lost_grace: fixed::number("LOST_GRACE", usual.lost_grace),
            ..usual
        },
    }
}

/// Where this process writes what happens, for people.
fn log_of(file: &Path) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let (stderr, log) = (rustix::fs::fstat(std::io::stderr()), std::fs::metadata(file));
    match (stderr, log) {
        (Ok(stderr), Ok(log)) if (stderr.st_dev, stderr.st_ino) == (log.dev(), log.ino()) => file.display().to_string(),
        _ => "standard error".to_owned(),
    }
}

/// Erases now and then what the journal no longer has to keep.
async fn forget_old_payloads(paths: Paths, config: Config, stop: CancellationToken) {
    const HOUR: u64 = 3_600_000;
    // Not at once: a gate that is just starting has people waiting for it.
    let mut pause = fixed::wait("RETIRE", Duration::from_secs(60));
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return,
        }
        pause = Duration::from_millis(HOUR);
        let now = hub::now().0;
        let retention = Retention {
            not_before: now.saturating_sub(config.retention_days as u64 * 24 * HOUR),
            most_bytes: config.retention_bytes as u64,
            // An event waits for a day at most; until then its text may be needed.
            keep_after: now.saturating_sub(fixed::number("KEEP_TEXT", 25 * HOUR)),
        };
        let (journal, files) = (paths.journal.clone(), FileStore::new(&paths.state_dir));
        let retiring = move || {
            let retired = StoreConfig::at(journal).retire(retention)?;
            // Files go with their texts, also with those that went because all were too large together.
            let than = retention.not_before.max(retired.until.saturating_add(1));
            files.forget_older(std::time::UNIX_EPOCH + Duration::from_millis(than));
            Ok::<_, store::RetireError>(retired.erased)
        };
        match tokio::task::spawn_blocking(retiring).await {
            Ok(Ok(0)) | Err(_) => {}
            Ok(Ok(erased)) => tracing::info!(erased, "old payloads were erased from the journal"),
            Ok(Err(error)) => tracing::warn!("old payloads could not be erased: {error}"),
        }
    }
}
