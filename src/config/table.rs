//! What `config.toml` holds, as serde reads it. Every key is explained in [`super::settings`].

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use portcullis_core::policy::Pattern;
use portcullis_wire::api::SetModeView;
use serde::{Deserialize, Serialize};

use super::connectors::ConnectorsTable;
use super::paths::Paths;
use super::public_url::PublicUrl;
use super::secret::Secret;
use super::values::{self, Approvals, Durability, Folder, Listen, Outside, PermissionMode};

/// The configuration. A connector's table is one more field here, and its settings one more block in `settings.rs`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) listen: Listen,
    pub(crate) public_url: PublicUrl,
    pub(crate) public_listen: Listen,
    pub(crate) durability: Durability,
    pub(crate) approvals: Approvals,
    pub(crate) outside: Outside,
    pub(crate) retention_days: usize,
    pub(crate) retention_bytes: usize,
    /// `None` shows the whole event to the model.
    #[serde(with = "values::bytes_or_all")]
    pub(crate) max_context: Option<usize>,
    #[serde(deserialize_with = "values::program")]
    pub(crate) claude: PathBuf,
    #[serde(deserialize_with = "values::instructions")]
    pub(crate) instructions: String,
    pub(crate) permission_mode: PermissionMode,
    pub(crate) allow_bypass: bool,
    pub(crate) start: StartTable,
    pub(crate) hooks: HooksTable,
    pub(crate) notify: NotifyTable,
    pub(crate) mcp: McpTable,
    pub(crate) acp: AcpTable,
    pub(crate) limits: LimitsTable,
    /// Seconds by sender.
    pub(crate) coalesce: BTreeMap<String, u64>,
    pub(crate) projects: BTreeMap<Folder, ProjectTable>,
    pub(crate) connectors: ConnectorsTable,
    /// Comes from the environment alone; see [`super::owner_token`].
    #[serde(skip)]
    pub(crate) token: Option<Secret>,
}

/// `[start]`: sessions started over the API.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StartTable {
    pub(crate) folders: Vec<Folder>,
    #[serde(rename = "ask_seconds", with = "values::seconds")]
    pub(crate) ask_time: Duration,
}

/// `[hooks]`: how Claude Code's hooks are served.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HooksTable {
    pub(crate) wakes: usize,
    pub(crate) must_reply: Vec<String>,
    #[serde(rename = "http", deserialize_with = "values::switch")]
    pub(crate) over_http: bool,
}

/// `[notify]`: the owner's command that is run when someone should look.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NotifyTable {
    /// A program and its arguments; none where it is empty.
    #[serde(deserialize_with = "values::command")]
    pub(crate) command: Vec<String>,
    #[serde(rename = "after_seconds", with = "values::seconds")]
    pub(crate) after: Duration,
}

/// `[acp]`: sessions of editors.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AcpTable {
    #[serde(deserialize_with = "values::switch")]
    pub(crate) gateway: bool,
    #[serde(deserialize_with = "values::switch")]
    pub(crate) prewarm: bool,
}

/// `[mcp]`: MCP servers behind the gateway.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpTable {
    #[serde(deserialize_with = "values::switch")]
    pub(crate) sampling: bool,
    pub(crate) longest_description: usize,
    /// By the server's name.
    pub(crate) servers: BTreeMap<String, McpServerTable>,
}

impl McpTable {
    /// Whether clients of the gateway share one process of this server.
    pub(crate) fn is_shared(&self, server: &str) -> bool {
        self.servers.get(server).is_some_and(|server| server.shared)
    }

    pub(crate) fn has_shared(&self) -> bool {
        self.servers.values().any(|server| server.shared)
    }
}

/// `[mcp.servers.NAME]`: one MCP server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpServerTable {
    #[serde(deserialize_with = "values::switch")]
    pub(crate) shared: bool,
}

/// `[limits]`: how much the gate takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitsTable {
    pub(crate) body: usize,
    #[serde(rename = "idle_seconds", with = "values::seconds")]
    pub(crate) idle_time: Duration,
    pub(crate) connections: usize,
    pub(crate) sse_listeners: usize,
    pub(crate) rate: usize,
    pub(crate) burst: usize,
    pub(crate) session_events: usize,
}

// Limits that are no settings.

/// How long a client may take to send the head of a request.
pub(crate) const HEADER_TIME: Duration = Duration::from_secs(10);
/// How large the events that wait for one session may be together.
pub(crate) const SESSION_BYTES: usize = 64 << 20;
/// How many inputs may wait for the hub, and how large they may be together.
pub(crate) const QUEUE: usize = 4_096;
pub(crate) const QUEUE_BYTES: usize = 64 << 20;
/// How many changes may wait for one watcher.
pub(crate) const WATCHER: usize = 1_024;

/// `[projects."FOLDER"]`: what holds for sessions in a folder and below.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProjectTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<PermissionMode>,
    /// Rules of the user for this project. Here they are only checked; `rules` reads them with their lines.
    #[serde(with = "values::patterns")]
    allow: Vec<Pattern>,
    #[serde(with = "values::patterns")]
    ask: Vec<Pattern>,
    #[serde(with = "values::patterns")]
    deny: Vec<Pattern>,
}

impl Config {
    /// The mode of a session that is started in a folder and names none: that of the nearest project that has one.
    pub(crate) fn mode_in(&self, folder: &Path, paths: &Paths) -> ConfiguredMode {
        let projects = self.projects.iter().filter_map(|(project, table)| Some((project.at_home(paths), table.mode?)));
        let above = projects.filter(|(project, _)| folder.starts_with(project));
        let nearest = above.max_by_key(|(project, _)| project.components().count());
        match nearest {
            Some((project, mode)) => ConfiguredMode { mode: mode.name(), folder: Some(project) },
            None => ConfiguredMode { mode: self.permission_mode.name(), folder: None },
        }
    }
}

/// The mode that the configuration gives to sessions in a folder that name none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfiguredMode {
    pub(crate) mode: &'static str,
    /// The project that has it; none where it is `permission_mode`.
    pub(crate) folder: Option<PathBuf>,
}

impl ConfiguredMode {
    /// What counts besides what an admin has set at the gate: that of the nearer folder, and of the same one what was set.
    pub(crate) fn unless_nearer<'a>(&'a self, set: Option<&'a SetModeView>) -> &'a str {
        let depth = |folder: &Path| folder.components().count();
        let configured = self.folder.as_deref().map_or(0, depth);
        set.filter(|set| depth(Path::new(&set.folder)) >= configured).map_or(self.mode, |set| &set.mode)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: Listen::Addr(SocketAddr::from((Ipv4Addr::LOCALHOST, 8788))),
            public_url: PublicUrl::default(),
            public_listen: Listen::Addr(SocketAddr::from((Ipv4Addr::LOCALHOST, 8789))),
            durability: Durability::Power,
            approvals: Approvals::Anywhere,
            outside: Outside::Guard,
            retention_days: 30,
            retention_bytes: 1 << 30,
            max_context: Some(20_000),
            claude: "claude".into(),
            instructions: String::new(),
            permission_mode: PermissionMode::default(),
            allow_bypass: false,
            start: StartTable::default(),
            hooks: HooksTable::default(),
            notify: NotifyTable::default(),
            mcp: McpTable::default(),
            acp: AcpTable::default(),
            limits: LimitsTable::default(),
            coalesce: BTreeMap::new(),
            projects: BTreeMap::new(),
            connectors: ConnectorsTable::default(),
            token: None,
        }
    }
}

impl Default for StartTable {
    fn default() -> Self {
        Self { folders: vec![], ask_time: Duration::from_secs(60) }
    }
}

impl Default for HooksTable {
    fn default() -> Self {
        Self { wakes: 30, must_reply: vec![], over_http: false }
    }
}

impl Default for NotifyTable {
    fn default() -> Self {
        Self { command: vec![], after: Duration::from_secs(10) }
    }
}

impl Default for McpTable {
    fn default() -> Self {
        Self { sampling: false, longest_description: 2048, servers: BTreeMap::new() }
    }
}

impl Default for LimitsTable {
    fn default() -> Self {
        Self {
            body: 1 << 20,
            idle_time: Duration::from_secs(75),
            connections: 12_000,
            sse_listeners: 2_000,
            rate: 50,
            burst: 200,
            session_events: 10_000,
        }
    }
}
