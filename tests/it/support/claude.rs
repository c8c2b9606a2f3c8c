//! The real Claude Code CLI, headless: its own home, a dummy key, and a scripted model on loopback.

use super::child::{Child, Stdin};
use super::home::{Home, Ran, random_hex};
use super::running::{self, Running};
use super::seen::PATIENCE;
use crate::fakes::model::Model;
use serde_json::Value;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

pub(crate) struct Claude {
    child: Child,
}

impl Claude {
    /// `claude -p PROMPT` with these MCP servers and no others.
    #[track_caller]
    pub(crate) fn headless(home: &Home, model: &Model, prompt: &str, servers: &Value, args: &[&str]) -> Self {
        Self::headless_command(home, Self::command(home, model), prompt, servers, args)
    }

    /// For one with an environment of its own.
    #[track_caller]
    pub(crate) fn headless_command(
        home: &Home,
        mut command: Command,
        prompt: &str,
        servers: &Value,
        args: &[&str],
    ) -> Self {
        let file = home.user().join(format!("mcp-{}.json", random_hex(4)));
        std::fs::write(&file, servers.to_string()).unwrap();
        // The prompt comes first: `--mcp-config` and `--allowedTools` take every word that follows them.
        command.args(["-p", prompt, "--mcp-config"]).arg(file).arg("--strict-mcp-config").args(args);
        Self { child: home.spawn(command, Stdin::Nothing) }
    }

    /// The CLI without arguments, in the project, able to reach nothing but the model.
    pub(crate) fn command(home: &Home, model: &Model) -> Command {
        let mut command = home.program(program());
        Self::confine(&mut command, home, model);
        command
    }

    /// Gives a command what keeps a Claude Code that it starts to the model.
    pub(crate) fn confine(command: &mut Command, home: &Home, model: &Model) {
        command.env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", "dummy-key-for-tests");
        // It leaves a socket behind in the temporary folder when it is killed.
        let temporary = home.user().join("tmp");
        std::fs::create_dir_all(&temporary).unwrap();
        command.env("TMPDIR", temporary);
        for switch in [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
            "DISABLE_AUTOUPDATER",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL",
        ] {
            command.env(switch, "1");
        }
    }

    /// Waits for its end and that of its output; longer than for ours, since it is a third of a gigabyte to load.
    #[track_caller]
    pub(crate) fn wait(&self) -> Ran {
        Ran::of(&self.child, PATIENCE * 3)
    }

    #[track_caller]
    pub(crate) fn kill_9(&self) -> ExitStatus {
        self.child.kill_9()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// What it has started and not ended yet, among it its MCP servers.
    pub(crate) fn children(&self) -> Vec<Running> {
        running::children_of(self.pid())
    }
}

impl Drop for Claude {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.child.story());
        }
    }
}

/// Where the CLI is. It is never skipped when missing: a check that did not run has not passed.
pub(crate) fn program() -> PathBuf {
    if let Some(given) = env::var_os("PORTCULLIS_TEST_CLAUDE") {
        return PathBuf::from(given);
    }
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let library = if cfg!(target_env = "musl") { "-musl" } else { "" };
    installed(&format!("node_modules/@anthropic-ai/claude-code-{system}-{machine}{library}/claude"))
}

/// What `./check peers` says in this variable.
pub(crate) fn peer(variable: &str) -> String {
    env::var(variable).unwrap_or_else(|_| panic!("{variable} is missing: run ./check peers"))
}

/// A file of the npm peers.
pub(crate) fn installed(inside: &str) -> PathBuf {
    let peers = cache().join("peers");
    let found = install_folders(&peers).into_iter().map(|folder| folder.join(inside)).find(|place| place.exists());
    found.unwrap_or_else(|| panic!("no {inside} below {}: run `./check peers` first", peers.display()))
}

/// `./check peers` installs into one folder per lock file, and touches the one in use: newest first.
fn install_folders(peers: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(peers).into_iter().flatten().filter_map(Result::ok);
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort_by_key(|folder| std::fs::metadata(folder).and_then(|about| about.modified()).ok());
    folders.push(peers.to_owned());
    folders.reverse();
    folders
}

fn cache() -> PathBuf {
    if let Some(given) = env::var_os("PORTCULLIS_CACHE") {
        return PathBuf::from(given);
    }
    let caches = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let caches = caches.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    caches.expect("neither PORTCULLIS_CACHE, XDG_CACHE_HOME nor HOME is set").join("portcullis-check")
}
