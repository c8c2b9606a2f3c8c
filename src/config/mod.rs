//! What is written, what it means, where things are kept, and the secrets among them.

mod error;
mod folder;
mod owner;
mod paths;
mod raw;
mod secret;
mod setting;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use std::{fmt, fs, io};

pub(crate) use error::{ConfigError, Problem, quoted};
pub(crate) use owner::{look_at_token, owner_token};
pub(crate) use paths::Paths;
pub(crate) use secret::{Secret, TokenHash, generate_token};
pub(crate) use setting::nearest;
pub(crate) use settings::{MODES, help};

use raw::{Document, Value};
use settings::SETTINGS;

/// Looks a variable up. Passed in, so that nothing here depends on the process it runs in.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The meaning of all that was written.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) listen: Listen,
    pub(crate) durability: Durability,
    pub(crate) approvals: Approvals,
    /// How long, and how much of, what people wrote stays in the journal.
    pub(crate) retention_days: usize,
    /// Senders whose events are held for so many milliseconds and then delivered together.
    pub(crate) coalesce: HashMap<String, u64>,
    pub(crate) retention_bytes: usize,
    /// How many bytes of an event's text are put before the model; `None` puts all.
    pub(crate) max_context: Option<usize>,
    /// Claude Code's program, as it is written.
    pub(crate) claude: PathBuf,
    /// Of sessions that we start and that name none.
    pub(crate) permission_mode: String,
    /// The same for some projects: a folder and the mode in it and below. `~` is not yet resolved.
    pub(crate) project_modes: Vec<(PathBuf, String)>,
    /// The owner has opted in to a mode in which nothing is asked.
    pub(crate) allow_bypass: bool,
    pub(crate) start: Start,
    pub(crate) hooks: Hooks,
    pub(crate) limits: Limits,
    /// The owner's token where the environment gives one; see [`owner_token`].
    pub(crate) token: Option<Secret>,
}

/// Where the gate listens besides its Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listen {
    Off,
    /// Always a loopback address.
    Addr(SocketAddr),
}

/// What a record survives once its append has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The death of the gate.
    Process,
    /// A power cut as well.
    Power,
}

/// Who may answer permission prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approvals {
    /// Whoever has the right, the owner of this machine among them.
    Anywhere,
    /// Only people with credentials of their own: nothing that runs as the owner on this machine.
    Device,
}

impl fmt::Display for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anywhere => "anywhere",
            Self::Device => "device",
        })
    }
}

impl FromStr for Approvals {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "anywhere" => Ok(Self::Anywhere),
            "device" => Ok(Self::Device),
            _ => Err(format!("unknown approvals {}", quoted(text))),
        }
    }
}

/// How Claude Code's hooks are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hooks {
    /// How often one sender may wake an idle session in an hour.
    pub(crate) wakes: usize,
    /// Senders who are to be answered before a session stops.
    pub(crate) must_reply: Vec<String>,
    /// Hooks may also be posted over HTTP, by those who have the right.
    pub(crate) over_http: bool,
}

impl Default for Hooks {
    fn default() -> Self {
        Self { wakes: 30, must_reply: vec![], over_http: false }
    }
}

/// Sessions started over the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Start {
    /// Where they may work, and below; if there are none, where a person started the gate. `~` is not yet resolved.
    pub(crate) folders: Vec<PathBuf>,
    /// How long a prompt of a session of `POST /api/chat` can be answered.
    pub(crate) ask_time: Duration,
}

/// How much of everything there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The largest body of a request, in bytes.
    pub(crate) body: usize,
    /// How long a client may take to send the head of a request.
    pub(crate) header_time: Duration,
    /// How long a connection may be silent. Event streams are exempt.
    pub(crate) idle_time: Duration,
    pub(crate) connections: usize,
    pub(crate) sse_listeners: usize,
    /// Events in a second from one credential.
    pub(crate) rate: usize,
    /// Events at once from one credential after a pause.
    pub(crate) burst: usize,
    /// Events that wait for one session, by count and by bytes.
    pub(crate) session_events: usize,
    pub(crate) session_bytes: usize,
    /// Inputs that wait for the hub, by count and by bytes.
    pub(crate) queue: usize,
    pub(crate) queue_bytes: usize,
    /// Changes that wait for one watcher.
    pub(crate) watcher: usize,
}

impl Config {
    /// The mode of a session that is started in a folder and names none: that of the nearest project.
    pub(crate) fn mode_in(&self, folder: &Path, paths: &Paths) -> &str {
        let projects = self.project_modes.iter().map(|(project, mode)| (paths.at_home(project), mode));
        let above = projects.filter(|(project, _)| folder.starts_with(project));
        let nearest = above.max_by_key(|(project, _)| project.components().count());
        nearest.map_or(&self.permission_mode, |(_, mode)| mode)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: Listen::Addr(SocketAddr::from((Ipv4Addr::LOCALHOST, 8788))),
            durability: Durability::Power,
            approvals: Approvals::Anywhere,
            retention_days: 30,
            coalesce: HashMap::new(),
            retention_bytes: 1 << 30,
            max_context: Some(20_000),
            claude: "claude".into(),
            permission_mode: "default".to_owned(),
            project_modes: vec![],
            allow_bypass: false,
            start: Start { folders: vec![], ask_time: Duration::from_secs(60) },
            hooks: Hooks::default(),
            limits: Limits::default(),
            token: None,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 1 << 20,
            header_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(75),
            connections: 12_000,
            sse_listeners: 2_000,
            rate: 50,
            burst: 200,
            session_events: 10_000,
            session_bytes: 64 << 20,
            queue: 4_096,
            queue_bytes: 64 << 20,
            watcher: 1_024,
        }
    }
}

impl Config {
    /// The environment beats the file, the file beats the default. A missing file is an empty one.
    pub(crate) fn load(paths: &Paths, environment: Environment<'_>) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        config.take_file(&paths.config_file)?;
        config.take_environment(environment)?;
        Ok(config)
    }

    /// Takes what a flag says, named by its key. Flags beat everything, so they come after `load`.
    pub(crate) fn take_flag(&mut self, key: &str, text: &str) -> Result<(), ConfigError> {
        let flag = format!("--{}", key.replace(['.', '_'], "-"));
        setting::of_key(key)
            .and_then(|setting| setting.take(self, &flag, &Value::Word(text.to_owned())))
            .map_err(|problem| problem.while_doing(format!("reading {flag} from the command line")))
    }

    fn take_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let reading = || format!("reading configuration from {}", path.display());
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(ConfigError::new(reading()).because(error)),
        };
        self.take_document(&bytes).map_err(|problem| problem.while_doing(reading()))
    }

    fn take_document(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let document = Document::parse(bytes)?;
        for entry in &document.entries {
            let taken = match (setting::is_table(&entry.key), &entry.value) {
                (true, Value::Table) => Ok(()),
                (true, _) => Err(Problem::new(
                    format!("{} is a table", entry.key),
                    format!("write [{}] on a line of its own, and its keys below", entry.key),
                )),
                (false, value) => setting::of_key(&entry.key).and_then(|setting| setting.take(self, &entry.key, value)),
            };
            taken.map_err(|problem| problem.on_line(document.line_of(entry)))?;
        }
        Ok(())
    }

    fn take_environment(&mut self, environment: Environment<'_>) -> Result<(), ConfigError> {
        for setting in SETTINGS {
            let Some((variable, value)) = setting.variable().and_then(|name| Some((name, environment(name)?))) else {
                continue;
            };
            let taken = match value.into_string() {
                Ok(word) => setting.take(self, variable, &Value::Word(word)),
                Err(_) => {
                    Err(Problem::new(format!("{variable}: not UTF-8"), format!("{variable} is {}", setting.accepts())))
                }
            };
            taken.map_err(|problem| problem.while_doing(format!("reading {variable} from the environment")))?;
        }
        Ok(())
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let address: SocketAddr =
            text.parse().map_err(|_| format!("{} is not an address with a port", quoted(text)))?;
        if !address.ip().to_canonical().is_loopback() {
            return Err(format!("{address} could be reached from other machines"));
        }
        Ok(Self::Addr(address))
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Addr(address) => address.fmt(f),
        }
    }
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "process" => Ok(Self::Process),
            "power" => Ok(Self::Power),
            _ => Err(format!("unknown durability {}", quoted(text))),
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "process",
            Self::Power => "power",
        })
    }
}
pub(crate) fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

pub(crate) fn paths() -> anyhow::Result<Paths> {
    Ok(Paths::from_env(&environment)?)
}

/// What the file and the environment say, and a flag above both.
pub(crate) fn configuration(paths: &Paths, listen: Option<&str>) -> anyhow::Result<Config> {
    let mut config = Config::load(paths, &environment)?;
    if let Some(listen) = listen {
        config.take_flag("listen", listen)?;
    }
    Ok(config)
}
