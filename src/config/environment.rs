//! Which variables count as the user's.
//!
//! A project can set variables for what an agent starts in it. Inside an agent, a variable that says where our things are
//! or how we work counts only as it stood in the environment with which the agent itself was started.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use crate::processes::{Ancestry, StartedWith, started_with};

/// The owner's token, as a variable.
pub(crate) const TOKEN: &str = "PORTCULLIS_TOKEN";

/// What tests set for a process.
const OF_TESTS: &str = "PORTCULLIS_TEST_";

/// Those that say where our things, or those of the user, are.
const PLACES: [&str; 5] = ["HOME", "USER", "LOGNAME", "PATH", "CLAUDE_CONFIG_DIR"];

/// Set once it is known that nobody can tell who set the variables of this process.
static NOBODYS: OnceLock<()> = OnceLock::new();

/// From now on no variable of this process is a setting of ours: nobody can tell who set them. Where our home is still
/// counts, since whoever starts a gate elsewhere has not started the user's. Returns the names of those that were set.
pub(crate) fn disregard_settings() -> Vec<String> {
    NOBODYS.get_or_init(|| ());
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter(|name| is_disregarded(name)).collect()
}

fn is_disregarded(name: &str) -> bool {
    NOBODYS.get().is_some() && is_setting(name) && name != "PORTCULLIS_HOME"
}

/// A variable, as the user set it.
pub(crate) fn environment(name: &str) -> Option<OsString> {
    match users() {
        _ if is_disregarded(name) => None,
        Users::Ours => std::env::var_os(name),
        _ if !is_ours_to_believe(name) => std::env::var_os(name),
        Users::Agents(started_with) => started_with.get(OsStr::new(name)).cloned(),
        // Places are needed; they count for what lies outside of the project.
        Users::Unknown if is_setting(name) => None,
        Users::Unknown if name == "PATH" => path_outside_of_project(),
        Users::Unknown => std::env::var_os(name),
    }
}

/// This process' own way to programs, where it may be the project that has set it: a project brings no program of its own.
fn path_outside_of_project() -> Option<OsString> {
    // Nobody's project is a whole home; which one is the user's, the project may have set as well.
    let is_home = |folder: &PathBuf| {
        let above = folder.parent().map(Path::as_os_str);
        above.is_none_or(|above| above == "/home" || above == "/Users") || folder.as_os_str() == "/root"
    };
    let projects =
        project().into_iter().chain(std::env::current_dir()).filter(|folder| !is_home(folder)).collect::<Vec<_>>();
    without_parts_in(&projects, &std::env::var_os("PATH")?)
}

/// A list of folders without those in one of these, nor those that lead from wherever one is.
fn without_parts_in(projects: &[PathBuf], path: &OsStr) -> Option<OsString> {
    // Links are followed: what counts is where programs would come from.
    let real = |folder: &Path| folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let projects: Vec<PathBuf> = projects.iter().map(|project| real(project)).collect();
    let is_elsewhere = |part: &PathBuf| {
        let (written, real) = (part.as_path(), real(part));
        part.is_absolute() && !projects.iter().any(|project| written.starts_with(project) || real.starts_with(project))
    };
    std::env::join_paths(std::env::split_paths(path).filter(is_elsewhere)).ok().filter(|path| !path.is_empty())
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
        Users::Unknown => {
            let places = std::env::vars_os().map(|(name, _)| name).filter(|name| is_place(name));
            places.filter_map(|name| Some((name.clone(), environment(name.to_str()?)?))).collect()
        }
    };
    let mut all = started;
    all.extend(set_for_claude_code());
    all.into_iter().collect()
}

/// The same, also outside of an agent with what the user's own settings of Claude Code set for what it starts.
pub(super) fn users_chosen() -> impl Fn(&str) -> Option<String> {
    let mut all: HashMap<OsString, OsString> = users_variables().into_iter().collect();
    all.extend(set_for_claude_code());
    move |name| all.get(OsStr::new(name)).and_then(|value| value.to_str()).map(str::to_owned)
}

/// Whether nobody can tell with which environment the agent was started.
pub(super) fn is_of_nobody() -> bool {
    matches!(users(), Users::Unknown)
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
    is_setting(name) || name.starts_with("XDG_") || PLACES.contains(&name)
}

/// Whether a variable is one of ours.
fn is_setting(name: &str) -> bool {
    name.starts_with("PORTCULLIS_") && !name.starts_with(OF_TESTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_to_programs_leads_through_no_project() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        std::fs::create_dir_all(project.join("bin")).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(project.join("bin"), &link).unwrap();
        let bin = |folder: &Path| folder.join("bin").display().to_string();
        let path = [&bin(&project), "/usr/bin", "bin", "", &bin(folder.path()), &link.display().to_string()].join(":");
        let left = |path: &str| without_parts_in(std::slice::from_ref(&project), OsStr::new(path));
        assert_eq!(left(&path), Some(format!("/usr/bin:{}", bin(folder.path())).into()));
        assert_eq!(left("./bin"), None, "a way that leads nowhere would lead to the folder that one is in");
    }
}
