//! Which variables count as the user's.
//!
//! A project can set variables for what an agent starts in it. Inside an agent, a variable that says where our things are
//! or how we work counts only as it stood in the environment with which the agent itself was started.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

use serde_json::Value;

use crate::processes::{Ancestry, StartedWith, started_with};

/// The owner's token, as a variable.
pub(crate) const TOKEN: &str = "PORTCULLIS_TOKEN";

/// What tests set for a process.
const OF_TESTS: &str = "PORTCULLIS_TEST_";

/// Those that say where our things, or those of the user, are.
const PLACES: [&str; 5] = ["HOME", "USER", "LOGNAME", "PATH", "CLAUDE_CONFIG_DIR"];

/// A variable, as the user set it.
pub(crate) fn environment(name: &str) -> Option<OsString> {
    match users() {
        Users::Ours => std::env::var_os(name),
        _ if !is_ours_to_believe(name) => std::env::var_os(name),
        Users::Agents(started_with) => started_with.get(OsStr::new(name)).cloned(),
        // Places are needed; they count for what lies outside of the project.
        Users::Unknown if name.starts_with("PORTCULLIS_") => None,
        Users::Unknown => std::env::var_os(name),
    }
}

/// Every variable that is there, as the user set it.
pub(crate) fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    let agents = match users() {
        Users::Agents(started_with) => started_with.keys().cloned().collect(),
        Users::Ours | Users::Unknown => vec![],
    };
    let names = std::env::vars_os().map(|(name, _)| name).filter(move |name| !agents.contains(name));
    let agents = match users() {
        Users::Agents(started_with) => started_with.keys().cloned().collect(),
        Users::Ours | Users::Unknown => vec![],
    };
    let value = |name: OsString| Some((name.clone(), name.to_str().and_then(environment)?));
    names.chain(agents).filter_map(value)
}

/// A variable for what is the user's own: their servers, and the programs that these are. Inside an agent it counts as it
/// stood in the environment with which the agent was started, or as the user's own settings of Claude Code set it: what a
/// project adds chooses no program and no address.
pub(crate) fn users_variable(name: &str) -> Option<OsString> {
    users_variables().into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// Those that are text, read once for all that is looked up.
pub(crate) fn users_texts() -> impl Fn(&str) -> Option<String> {
    // Of two with one name the first counts.
    let all: HashMap<OsString, OsString> = users_variables().into_iter().rev().collect();
    move |name| all.get(OsStr::new(name)).and_then(|value| value.to_str()).map(str::to_owned)
}

/// All of those.
pub(crate) fn users_variables() -> Vec<(OsString, OsString)> {
    let started: StartedWith = match users() {
        Users::Ours => return std::env::vars_os().collect(),
        Users::Agents(started_with) => started_with.clone(),
        Users::Unknown => std::env::vars_os().filter(|(name, _)| is_place(name)).collect(),
    };
    let mut all = started;
    all.extend(set_for_claude_code());
    all.into_iter().collect()
}

fn is_place(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| PLACES.contains(&name) || matches!(name, "SHELL" | "TERM" | "LANG" | "TMPDIR"))
}

/// What the user's own settings of Claude Code, and those of their organisation, set for what it starts.
fn set_for_claude_code() -> Vec<(OsString, OsString)> {
    let own = claude_folder(&environment).map(|folder| folder.join("settings.json"));
    let files = own.into_iter().chain([managed_settings().to_path_buf()]);
    let set = files.filter_map(|file| {
        let settings: Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        let env = settings.get("env")?.as_object()?.clone();
        Some(
            env.into_iter().filter_map(|(name, value)| Some((name.into(), value.as_str()?.into()))).collect::<Vec<_>>(),
        )
    });
    set.flatten().collect()
}

/// Whether this process has a Claude Code among its ancestors.
pub(crate) fn runs_inside_an_agent() -> bool {
    !matches!(users(), Users::Ours)
}

/// The folder of the project that an agent works in, where it says so.
pub(crate) fn project() -> Option<std::path::PathBuf> {
    environment("CLAUDE_PROJECT_DIR").filter(|folder| !folder.is_empty()).map(std::path::PathBuf::from)
}

/// The folder in which Claude Code keeps what is the user's.
pub(crate) fn claude_folder(environment: super::Environment<'_>) -> Option<std::path::PathBuf> {
    let chosen = environment("CLAUDE_CONFIG_DIR").filter(|folder| !folder.is_empty());
    match chosen {
        Some(folder) => std::path::absolute(folder).ok(),
        None => {
            let home = environment("HOME").map(std::path::PathBuf::from).filter(|home| home.is_absolute())?;
            Some(home.join(".claude"))
        }
    }
}

/// Where an organisation puts settings of Claude Code that its people cannot change.
pub(crate) fn managed_settings() -> &'static std::path::Path {
    std::path::Path::new(if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode/managed-settings.json"
    } else {
        "/etc/claude-code/managed-settings.json"
    })
}

enum Users {
    /// No agent is above this process: its environment is the user's.
    Ours,
    /// That of the agent which the user started.
    Agents(StartedWith),
    /// An agent is above, and the system does not show its environment.
    Unknown,
}

fn users() -> &'static Users {
    static USERS: OnceLock<Users> = OnceLock::new();
    USERS.get_or_init(|| match Ancestry::of(std::process::id()).outermost_claude_code() {
        None => Users::Ours,
        Some(agent) => started_with(agent).map_or(Users::Unknown, Users::Agents),
    })
}

fn is_ours_to_believe(name: &str) -> bool {
    let is_ours = name.starts_with("PORTCULLIS_") && !name.starts_with(OF_TESTS);
    is_ours || name.starts_with("XDG_") || PLACES.contains(&name)
}
