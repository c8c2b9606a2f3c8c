//! How Claude Code is started: found, told what it may, and given an environment without secrets of ours.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use portcullis_core::policy::OWN_TOOLS;
use tokio::process::Command;

/// The server inside our own process that carries the tools of the model.
pub(crate) const SERVER: &str = "gate";

/// What keeps Claude Code from telling and fetching anything by itself, where it is only looked at.
pub(crate) const QUIET: [&str; 5] = [
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_TELEMETRY",
];

/// What a session is started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) folder: PathBuf,
    /// Always said to the client: left out, it takes whatever its settings and the account say.
    pub(crate) mode: String,
    /// The owner has opted in to a mode in which nothing is asked.
    pub(crate) allow_bypass: bool,
    pub(crate) from: Beginning,
    pub(crate) model: Option<String>,
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) add_dir: Vec<PathBuf>,
    pub(crate) mcp_config: Vec<String>,
    pub(crate) max_turns: Option<u32>,
    /// Text comes as it is said, not when it is whole.
    pub(crate) partial: bool,
}

/// Where the conversation begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// The client chooses its own id.
    #[default]
    New,
    /// With an id that we chose.
    Named(String),
    Resumed(String),
    /// The latest in this folder.
    Continued,
}

impl Options {
    /// What the client is called with. Values stand behind `=`, since they may begin with a dash.
    fn arguments(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            ["-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose"].map(Into::into).into();
        let mut add = |name: &str, value: &std::ffi::OsStr| {
            let mut word = OsString::from(format!("--{name}="));
            word.push(value);
            words.push(word);
        };
        add("permission-prompt-tool", "stdio".as_ref());
        add("permission-mode", self.mode.as_ref());
        let ours: Vec<String> = OWN_TOOLS.iter().map(|tool| format!("mcp__{SERVER}__{tool}")).collect();
        for tool in ours.iter().chain(&self.allow) {
            add("allowedTools", tool.as_ref());
        }
        for tool in &self.deny {
            add("disallowedTools", tool.as_ref());
        }
        for folder in &self.add_dir {
            add("add-dir", folder.as_ref());
        }
        for config in &self.mcp_config {
            add("mcp-config", config.as_ref());
        }
        if let Some(model) = &self.model {
            add("model", model.as_ref());
        }
        if let Some(turns) = self.max_turns {
            add("max-turns", turns.to_string().as_ref());
        }
        match &self.from {
            Beginning::New => {}
            Beginning::Named(id) => add("session-id", id.as_ref()),
            Beginning::Resumed(id) => add("resume", id.as_ref()),
            Beginning::Continued => words.push("--continue".into()),
        }
        let switches =
            [(self.partial, "--include-partial-messages"), (self.allow_bypass, "--allow-dangerously-skip-permissions")];
        words.extend(switches.into_iter().filter(|(on, _)| *on).map(|(_, switch)| switch.into()));
        words
    }

    /// The client under its guard: `portcullis __guard -- claude …`.
    pub(crate) fn command(&self, portcullis: &Path, claude: &Path) -> Command {
        let mut command = Command::new(portcullis);
        command.arg("__guard").arg("--").arg(claude).args(self.arguments()).current_dir(&self.folder);
        // The model's shell inherits what the client has: no token of ours, and nothing that changes how it runs.
        command.env_remove("PORTCULLIS_TOKEN").env_remove("NODE_OPTIONS");
        // It says when it has nothing more to do.
        command.env("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1");
        command
    }
}

/// The program of that name, on the path; or the file, where a path is given.
pub(crate) fn find(name: &Path, path: Option<OsString>) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let is_program = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if name.components().count() > 1 {
        return std::path::absolute(name).ok().filter(is_program);
    }
    let folders = path.unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_always_said_and_values_stand_behind_their_names() {
        let options = Options {
            mode: "plan".into(),
            deny: vec!["-x".into()],
            from: Beginning::Resumed("--id".into()),
            ..Options::default()
        };
        let words: Vec<String> = options.arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let want = "-p --input-format=stream-json --output-format=stream-json --verbose --permission-prompt-tool=stdio \
            --permission-mode=plan --allowedTools=mcp__gate__reply --allowedTools=mcp__gate__edit_message --allowedTools=mcp__gate__inbox \
            --disallowedTools=-x --resume=--id";
        assert_eq!(words.join(" "), want);
    }

    #[test]
    fn a_program_is_found_on_the_path_and_a_folder_is_none() {
        let found = |name: &str| find(Path::new(name), Some("/nowhere:/bin:/usr/bin".into()));
        assert!(found("sh").is_some_and(|file| file.is_absolute()));
        assert_eq!((found("no-such-program"), found("/bin"), found("./nowhere")), (None, None, None));
        assert_eq!(found("/bin/sh"), Some("/bin/sh".into()));
    }
}
