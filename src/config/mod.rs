//! What is written in the configuration, what it means, where things are kept, and the secrets among them.

mod connectors;
mod current;
mod error;
mod folder;
mod keys;
mod old;
mod owner;
mod paths;
mod read;
mod secret;
mod setting;
mod settings;
mod table;
#[cfg(test)]
mod tests;
mod values;

use std::ffi::OsString;

use crate::failure::Failure;
pub(crate) use current::{CurrentSetting, SettingOrigin, current_settings};
pub(crate) use error::{Problem, quoted};
pub(crate) use keys::nearest;
pub(crate) use owner::{look_at_token, owner_token};
pub(crate) use paths::Paths;
pub(crate) use read::Environment;
pub(crate) use secret::{TokenHash, generate_token};
pub(crate) use table::{Config, HEADER_TIME, NotifyTable, QUEUE, QUEUE_BYTES, SESSION_BYTES, WATCHER};
pub(crate) use values::{Approvals, Durability, Folder, Listen, MODES, Outside};

impl Config {
    /// The configuration of one home. A flag is named by the key of its setting.
    pub(crate) fn load(paths: &Paths, environment: Environment<'_>, flags: &[read::Flag<'_>]) -> Result<Self, Failure> {
        read::read(&paths.config_file, environment, flags)
    }
}

/// The environment of this process.
pub(crate) fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

pub(crate) fn paths() -> anyhow::Result<Paths> {
    Ok(Paths::from_env(&environment)?)
}

/// The configuration of this process, with the flag `--listen` where it has one.
pub(crate) fn configuration(paths: &Paths, listen: Option<&str>) -> anyhow::Result<Config> {
    let flags: Vec<_> = listen.map(|listen| ("listen", listen)).into_iter().collect();
    Ok(Config::load(paths, &environment, &flags)?)
}
