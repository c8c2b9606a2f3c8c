//! What a session's process is given of the owner's configuration and rules, whatever the agent.

use std::path::PathBuf;

use portcullis_core::SessionAbout;
use portcullis_core::policy::OutsidePolicy;

use crate::agents::claude::hooks::HookSettings;
use crate::agents::claude::transcript::Transcripts;
use crate::config::{Config, Outside, Paths, claude_folder, environment};
use crate::rules::Rules;
use crate::session::gatekeeper::{GatekeeperSettings, Judge};

/// What the owner's configuration says of hooks.
pub(crate) fn hook_settings(config: &Config) -> HookSettings {
    HookSettings {
        wakes_per_hour: config.hooks.wakes,
        must_reply: config.hooks.must_reply.clone(),
        is_posted: false,
        instructions: config.instructions.clone(),
        gatekeeper: GatekeeperSettings { outside: outside(config), ..GatekeeperSettings::default() },
        transcripts: transcripts(),
    }
}

/// Where Claude Code keeps its transcripts.
pub(crate) fn transcripts() -> Option<Transcripts> {
    Some(Transcripts::in_folder(&claude_folder(&environment)?))
}

/// What the owner's configuration says of text from outside.
pub(crate) fn outside(config: &Config) -> OutsidePolicy {
    match config.outside {
        Outside::Guard => OutsidePolicy::Guard,
        Outside::All => OutsidePolicy::All,
        Outside::Off => OutsidePolicy::Off,
    }
}

/// The rules of the user and of the session's project. The session may also work in the folders `added`.
pub(crate) fn judge(paths: &Paths, about: &SessionAbout, added: Vec<PathBuf>) -> Judge {
    let folder = PathBuf::from(about.folder.clone().unwrap_or_else(|| "/".to_owned()));
    Judge::new(Rules::open(paths, &folder), folder, added, about.label.to_string())
}
