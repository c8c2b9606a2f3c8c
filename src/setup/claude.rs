//! Where Claude Code keeps what we read or change. All of it seen with 2.1.325.

use std::path::{Path, PathBuf};

pub(crate) use crate::config::managed_settings;
use crate::config::{Environment, claude_folder};
use crate::failure::Failure;

/// Its files, as this environment has them.
pub(crate) struct ClaudeFiles {
    /// Servers and state of the user, and of each project for this user alone.
    pub(crate) user: PathBuf,
    /// The folder of its settings and plugins.
    pub(crate) folder: PathBuf,
}

impl ClaudeFiles {
    pub(crate) fn find(environment: Environment<'_>) -> anyhow::Result<Self> {
        let is_chosen = environment("CLAUDE_CONFIG_DIR").is_some_and(|folder| !folder.is_empty());
        let folder = claude_folder(environment).ok_or_else(|| {
            Failure::new("HOME is missing or not an absolute path", "set HOME, or use --scope project")
        })?;
        let usual = match folder.parent() {
            Some(home) if !is_chosen => home.join(".claude.json"),
            _ => folder.join(".claude.json"),
        };
        // A file from its early days, which it prefers as long as it is there.
        let early = folder.join(".config.json");
        let user = if early.exists() { early } else { usual };
        Ok(Self { user, folder })
    }
}

/// Servers that all who work in the project share.
pub(crate) fn project_file(project: &Path) -> PathBuf {
    project.join(".mcp.json")
}

/// Where an organisation puts servers; where it does, there are no others.
pub(crate) fn managed_servers() -> &'static Path {
    Path::new(if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode/managed-mcp.json"
    } else {
        "/etc/claude-code/managed-mcp.json"
    })
}

/// What they say; null where there are none.
pub(crate) fn managed_settings_said() -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(managed_settings()).unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user_file(variables: &[(&str, &Path)]) -> PathBuf {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        ClaudeFiles::find(&find).unwrap().user
    }

    #[test]
    fn the_users_file_is_where_claude_code_looks_for_it() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let chosen = home.join("chosen");
        assert_eq!(user_file(&[("HOME", home)]), home.join(".claude.json"));
        assert_eq!(user_file(&[("HOME", home), ("CLAUDE_CONFIG_DIR", Path::new(""))]), home.join(".claude.json"));
        assert_eq!(user_file(&[("HOME", home), ("CLAUDE_CONFIG_DIR", &chosen)]), chosen.join(".claude.json"));
        std::fs::create_dir_all(home.join(".claude")).unwrap();
        std::fs::write(home.join(".claude/.config.json"), "{}").unwrap();
        assert_eq!(user_file(&[("HOME", home)]), home.join(".claude/.config.json"));
    }
}
