//! Which files of Claude Code the server and its hooks are written to, by scope.

use std::path::{Path, PathBuf};

use super::claude::ClaudeFiles;
use super::file::UserFile;
use super::git::home_of_project;
use super::json::Unfit;
use crate::config::environment;
use crate::failure::Failure;

/// For whom a server and its hooks are registered, in Claude Code's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingsScope {
    Project,
    Local,
    User,
}

impl SettingsScope {
    pub(crate) const NAMES: [&str; 3] = ["local", "user", "project"];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Local => "local",
            Self::User => "user",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "project" => Some(Self::Project),
            "local" => Some(Self::Local),
            "user" => Some(Self::User),
            _ => None,
        }
    }
}

/// One server's entry in one scope.
pub(crate) struct Target {
    pub(crate) scope: SettingsScope,
    /// The name of the server in Claude Code.
    pub(crate) name: String,
    /// The folder it is registered in.
    pub(crate) folder: PathBuf,
}

impl Target {
    pub(crate) fn new(scope: SettingsScope, name: String, folder: PathBuf) -> Result<Self, Failure> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            let hint = "a name has letters, digits, hyphens and underscores, at most 64";
            return Err(Failure::usage(format!("{name:?} cannot be the name of a server"), hint));
        }
        Ok(Self { scope, name, folder })
    }

    /// The file in which the server is registered: never one that is shared, as it names a path of this machine.
    pub(crate) fn server_file(&self) -> anyhow::Result<PathBuf> {
        Ok(ClaudeFiles::find(&environment)?.user)
    }

    /// The objects around `mcpServers` in that file.
    pub(crate) fn under(&self) -> Vec<String> {
        match self.scope {
            SettingsScope::User => vec![],
            SettingsScope::Project | SettingsScope::Local => {
                vec!["projects".to_owned(), home_of_project(&self.folder).display().to_string()]
            }
        }
    }

    /// The settings of the project that others pull.
    pub(crate) fn shared_settings(&self) -> PathBuf {
        self.folder.join(".claude/settings.json")
    }

    /// The settings that are for this user alone.
    pub(crate) fn own_settings(&self) -> anyhow::Result<PathBuf> {
        match self.scope {
            SettingsScope::User => Ok(ClaudeFiles::find(&environment)?.folder.join("settings.json")),
            SettingsScope::Project | SettingsScope::Local => {
                Ok(home_of_project(&self.folder).join(".claude/settings.local.json"))
            }
        }
    }
}

pub(super) fn unfit_file(file: &UserFile, unfit: &Unfit) -> Failure {
    let hint = match unfit {
        Unfit::NoJson { .. } => "repair the file by hand, then run this again; nothing was changed",
        Unfit::OddShape(_) => {
            "mcpServers, hooks and permissions are objects; each event of hooks and each kind of rule is a list; nothing was changed"
        }
    };
    Failure::new(format!("{}: {unfit}", file.in_words()), hint)
}

/// Another program writes the file faster than we can.
pub(super) fn overtaken(path: &Path) -> Failure {
    let what = format!("another program keeps writing {}", path.display());
    Failure::new(what, "end the Claude Code sessions that run, then try again")
}
