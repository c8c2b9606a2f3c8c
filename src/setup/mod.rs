//! Files of other programs that we change, and take back: Claude Code's settings, a plugin, a service unit.

pub(crate) mod adopted;
pub(crate) mod change;
pub(crate) mod claude;
pub(crate) mod consent;
pub(crate) mod entry;
pub(crate) mod file;
pub(crate) mod git;
pub(crate) mod hooks;
pub(crate) mod install;
pub(crate) mod installed;
pub(crate) mod json;
pub(crate) mod lock;
pub(crate) mod patch;
pub(crate) mod place;
pub(crate) mod plugin;
pub(crate) mod receipt;
pub(crate) mod rules;
pub(crate) mod servers;
pub(crate) mod service;
pub(crate) mod settings;
pub(crate) mod target;
pub(crate) mod uninstall;
