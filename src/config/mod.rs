//! What is written in the configuration, what it means, where things are kept, and the secrets among them.

mod belief;
mod connectors;
mod current;
mod environment;
mod error;
mod folder;
mod keys;
mod old;
mod owner;
mod paths;
mod public_url;
mod read;
mod secret;
mod session_shell;
mod setting;
mod settings;
mod table;
#[cfg(test)]
mod tests;
mod values;

use std::ffi::OsString;

use crate::failure::Failure;
pub(crate) use current::{CurrentSetting, SettingOrigin, current_settings};
pub(crate) use environment::{
    TOKEN, claude_folder, disregard_settings, environment, managed_settings, project, runs_inside_an_agent,
    users_texts, users_variable, users_variables, variables,
};
pub(crate) use error::{Problem, quoted};
pub(crate) use keys::nearest;
pub(crate) use owner::{kept_secret, look_at_token, owner_token};
pub(crate) use paths::Paths;
pub(crate) use read::Environment;
pub(crate) use secret::{TokenHash, generate_token};
pub(crate) use session_shell::session_shell;
pub(crate) use table::{AcpTable, Config, HEADER_TIME, NotifyTable, QUEUE, QUEUE_BYTES, SESSION_BYTES, WATCHER};
pub(crate) use values::{Approvals, Durability, Folder, Listen, MODES, Outside};

impl Config {
    /// The configuration of one home. A flag is named by the key of its setting.
    pub(crate) fn load(paths: &Paths, environment: Environment<'_>, flags: &[read::Flag<'_>]) -> Result<Self, Failure> {
        read::read(&paths.config_file, environment, flags)
    }
}

/// What is wrong with the names of variables that are meant for us: a sentence for each that nobody reads.
pub(crate) fn unknown_variables(names: impl Iterator<Item = OsString>) -> Vec<String> {
    // The last is what the guide calls the token of posted hooks.
    const OTHERS: [&str; 5] =
        ["PORTCULLIS_HOME", "PORTCULLIS_LOG", "PORTCULLIS_DRIVEN", "PORTCULLIS_CLAUDE_AI_SERVERS", "PORTCULLIS_AGENT"];
    let known = || settings::SETTINGS.iter().filter_map(setting::Setting::variable).chain(OTHERS);
    fn short(name: &str) -> &str {
        name.trim_start_matches("PORTCULLIS_")
    }
    let ours = names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with("PORTCULLIS_"));
    // Those of the tests are no settings.
    let unknown = ours.filter(|name| !name.starts_with("PORTCULLIS_TEST_") && !known().any(|known| known == name));
    let mut told: Vec<String> = unknown
        .map(|name| match nearest(short(&name), known().map(short)) {
            Some(near) => format!("nothing reads the variable {name}: did you mean PORTCULLIS_{near}?"),
            None => format!("nothing reads the variable {name}"),
        })
        .collect();
    told.sort();
    told
}

pub(crate) fn paths() -> anyhow::Result<Paths> {
    Ok(Paths::from_env(&environment)?)
}

/// The configuration of this process, with the flag `--listen` where it has one.
pub(crate) fn configuration(paths: &Paths, listen: Option<&str>) -> anyhow::Result<Config> {
    paths.believe(&paths.config_file, project().as_deref())?;
    let flags: Vec<_> = listen.map(|listen| ("listen", listen)).into_iter().collect();
    Ok(Config::load(paths, &environment, &flags)?)
}
