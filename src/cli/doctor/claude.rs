//! Claude Code: whether it is installed, its version, and where the channel is registered.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use portcullis_core::{shell_word, shell_words};
use serde_json::Value;

use super::finding::{Blocks, Finding};
use crate::agents::claude::process::{QUIET, find};
use crate::cli::environment;
use crate::cli::setup::claude::{ClaudeFiles, project_file};
use crate::cli::setup::git::home_of_project;
use crate::cli::setup::installed::settings_files;

const VERSION_TIMEOUT: Duration = Duration::from_secs(10);
/// The first that takes events from a channel, and the first that relays prompts to one, by the vendor's documents.
const TAKES_EVENTS: [u64; 3] = [2, 1, 80];
const RELAYS_PROMPTS: [u64; 3] = [2, 1, 81];

pub(super) struct ClaudeFindings {
    pub(super) findings: Vec<Finding>,
    /// Claude Code is logged in at claude.ai, as far as its file says.
    pub(super) has_login: bool,
    /// What `--channels` and its sister call the channel: `server:NAME`, `plugin:NAME@MARKET`.
    pub(super) names: Vec<String>,
}

const SHARED: &str = "in .mcp.json of this project";
const LOCAL: &str = "for you in this project";

/// One place that makes Claude Code start the channel.
struct Registration {
    place: &'static str,
    name: String,
    /// Not known of a plugin.
    command: Option<String>,
    undo: String,
}

pub(super) async fn look(project: &Path, configured: &Path) -> ClaudeFindings {
    let mut findings = vec![program(configured).await];
    let (registrations, notes, has_login) = registrations(project);
    findings.extend(notes);
    findings.extend(registrations.iter().map(Registration::finding));
    if registrations.is_empty() {
        let remedy = "`portcullis install --hooks` for you in this project; with `--scope user` in all";
        let missing = Finding::warn("registered", format!("nothing is registered for {}", project.display()), remedy);
        findings.push(missing.blocking(Blocks::Sessions));
    }
    // Of two servers with one name Claude Code starts the first.
    let names: BTreeSet<&str> = registrations.iter().map(|registration| registration.name.as_str()).collect();
    if let ([first, .., second], true) = (registrations.as_slice(), names.len() > 1) {
        let places: Vec<&str> = registrations.iter().map(|registration| registration.place).collect();
        let what = format!("{} times ({}): a session may attach twice", registrations.len(), places.join(", "));
        let remedy = format!("keep one: `{}` or `{}`", first.undo, second.undo);
        findings.push(Finding::warn("registered", what, remedy));
    }
    let names = registrations.iter().map(|registration| registration.name.clone()).collect();
    ClaudeFindings { findings, has_login, names }
}

/// The one that people start, else the one that is configured for sessions that Portcullis starts.
async fn program(configured: &Path) -> Finding {
    const CHECK: &str = "Claude Code";
    let path = environment("PATH");
    let found = find(Path::new("claude"), path.clone()).or_else(|| find(configured, path));
    let Some(program) = found else {
        let remedy = "install it, or try Portcullis without it: `portcullis demo`";
        return Finding::warn(CHECK, "there is no `claude` on the PATH", remedy).blocking(Blocks::Everything);
    };
    let shown = program.display();
    match version(&program).await {
        None => Finding::warn(CHECK, format!("{shown} does not print its version"), format!("try `{shown} --version`")),
        Some((version, text)) if version < TAKES_EVENTS => {
            let what = format!("{text}, {shown}: channels need 2.1.80 or later");
            Finding::warn(CHECK, what, "upgrade it: `claude update`")
        }
        Some((version, text)) if version < RELAYS_PROMPTS => {
            let what = format!("{text}, {shown}: prompts over the channel need 2.1.81 or later");
            Finding::warn(CHECK, what, "upgrade it: `claude update`")
        }
        Some((_, text)) => Finding::ok(CHECK, format!("{text}, {shown}")),
    }
}

/// Asked without a network: it only has to print a line.
async fn version(program: &Path) -> Option<([u64; 3], String)> {
    let mut command = tokio::process::Command::new(program);
    command.arg("--version").stdin(Stdio::null()).kill_on_drop(true);
    for switch in QUIET {
        command.env(switch, "1");
    }
    let output = tokio::time::timeout(VERSION_TIMEOUT, command.output()).await.ok()?.ok()?;
    let line = String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned();
    let line: String = line.chars().filter(|c| !c.is_control()).take(60).collect();
    let mut numbers = line.split_whitespace().next()?.split('.').map(str::parse);
    let version = [numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?];
    Some((version, line))
}

impl Registration {
    fn finding(&self) -> Finding {
        const CHECK: &str = "registered";
        let what = format!("{} as {}", self.place, self.name);
        match &self.command {
            None => Finding::ok(CHECK, what),
            Some(command) if command.contains('/') && !Path::new(command).is_file() => {
                Finding::fail(CHECK, format!("{what}, but {command} does not exist"), "run `portcullis install` again")
                    .blocking(Blocks::Sessions)
            }
            Some(command) => Finding::ok(CHECK, format!("{what}: {command}")),
        }
    }
}

/// In the order in which Claude Code lets one hide the other; what is wrong with them; and whether there is a login.
fn registrations(project: &Path) -> (Vec<Registration>, Vec<Finding>, bool) {
    let mut notes = vec![];
    let mut read = |path: PathBuf| match std::fs::read_to_string(&path) {
        Err(_) => Value::Null,
        Ok(text) => serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_else(|error| {
            if !text.trim().is_empty() {
                let what = format!("{} is not plain JSON, so Claude Code ignores it: {error}", path.display());
                let remedy = "repair it: comments and trailing commas are not allowed";
                notes.push(Finding::warn("registered", what, remedy));
            }
            Value::Null
        }),
    };
    let mut found = vec![];
    let user = ClaudeFiles::find(&environment).map_or(Value::Null, |files| read(files.user));
    let local = &user["projects"][home_of_project(project).to_string_lossy().as_ref()];
    found.extend(servers(&local["mcpServers"], LOCAL, |name| format!("portcullis uninstall{name}")));
    let shared = read(project_file(project));
    found.extend(servers(&shared["mcpServers"], SHARED, |name| format!("portcullis uninstall --scope project{name}")));
    found.extend(servers(&user["mcpServers"], "for you in every folder", |name| {
        format!("portcullis uninstall --scope user{name}")
    }));
    let settings = settings_files(project, &environment);
    for settings in &settings {
        // Only to say so where it cannot be read.
        read(settings.file.clone());
        found.extend(settings.plugins().map(|name| Registration {
            place: "by the plugin",
            name: format!("plugin:{name}"),
            command: None,
            undo: format!("claude plugin uninstall {}", shell_words(&[name])),
        }));
    }
    let mut seen = vec![];
    found.retain(|one: &Registration| {
        let key = (one.place, one.name.clone());
        !seen.contains(&key) && {
            seen.push(key);
            true
        }
    });
    let is_named = |one: &Registration, name: &str| one.name == format!("server:{name}");
    let declined = settings.iter().map(|settings| &settings.said).chain([local]);
    let declined: BTreeSet<&str> = declined.flat_map(|said| words(&said["disabledMcpjsonServers"])).collect();
    for name in declined {
        if found.iter().any(|one| one.place == SHARED && is_named(one, name)) {
            let what = format!("{SHARED} as server:{name}, but you declined it when Claude Code asked");
            let remedy = "`claude mcp reset-project-choices` makes Claude Code ask again";
            notes.push(Finding::warn("registered", what, remedy).blocking(Blocks::Sessions));
        }
    }
    for name in words(&local["disabledMcpServers"]) {
        if found.iter().any(|one| is_named(one, name)) {
            let what = format!("server:{name} is switched off in this project");
            let remedy = format!("type `/mcp enable {name}` in Claude Code");
            notes.push(Finding::warn("registered", what, remedy).blocking(Blocks::Sessions));
        }
    }
    (found, notes, user["oauthAccount"].is_object())
}

fn words(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Those that start `portcullis channel`, whatever they are called. `undo` is handed the name as its command wants it.
fn servers(servers: &Value, place: &'static str, undo: impl Fn(&str) -> String) -> Vec<Registration> {
    let ours = servers.as_object().into_iter().flatten().filter_map(|(name, server)| {
        let command = server["command"].as_str()?;
        let is_ours = command.rsplit('/').next() == Some("portcullis") && server["args"][0] == "channel";
        let flag = match name.as_str() {
            "portcullis" => String::new(),
            name => format!(" --name {}", shell_word(name)),
        };
        is_ours.then(|| Registration {
            place,
            name: format!("server:{name}"),
            command: Some(command.to_owned()),
            undo: undo(&flag),
        })
    });
    ours.collect()
}
