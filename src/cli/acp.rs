//! `portcullis acp`: what an editor starts to have Claude Code in it.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use super::signals::stop_on_signals;
use super::{configuration, log_at, paths};
use crate::config::MODES;
use crate::failure::Failure;
use crate::fronts::acp::{self, AcpOptions, ClientUse};

/// Claude Code in an editor, and its prompts answered there or anywhere else
///
/// Speaks the Agent Client Protocol (ACP) on standard input and output: an editor starts it, and it starts a Claude Code for
/// each session there. When Claude Code asks for permission, whoever is first answers: you in the editor, or a reviewer at
/// the gate (the page, a phone, `portcullis ask allow`). What a session is sent over the gate reaches the model, and is shown
/// in the editor as a message of its sender. The sessions end with the editor.
#[derive(clap::Args)]
#[command(after_help = "In Zed, in settings.json:
  \"agent_servers\": {
    \"Claude Code\": { \"type\": \"custom\", \"command\": \"portcullis\", \"args\": [\"acp\"], \"env\": {} }
  }

Other editors take the same: the program `portcullis` with the argument `acp`. Nothing has to be running before: a gate is \
started where there is none. `portcullis doctor` says what works for you.")]
pub(super) struct Acp {
    /// What is asked in new sessions: default, acceptEdits, plan, dontAsk, auto or bypassPermissions [default: as configured]
    #[arg(long, value_name = "MODE", value_parser = clap::builder::PossibleValuesParser::new(MODES), hide_possible_values = true)]
    permission_mode: Option<String>,
    /// The model of new sessions, by its name or alias
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Claude Code's program [default: as configured, else `claude` on the PATH]
    #[arg(long, value_name = "PATH")]
    claude: Option<PathBuf>,
    /// Whether files are read and written through the editor, with changes that are not saved: auto (where it can, for
    /// all but subagents), on (for these as well) or off [default: auto]
    #[arg(long, value_name = "USE", default_value = "auto", hide_default_value = true, hide_possible_values = true)]
    client_fs: Use,
    /// Whether commands run in terminals of the editor: auto, on or off [default: auto]
    #[arg(long, value_name = "USE", default_value = "auto", hide_default_value = true, hide_possible_values = true)]
    client_terminal: Use,
    /// For editors, which open a terminal for it: sign in to Claude Code
    #[arg(long)]
    login: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Use {
    Auto,
    On,
    Off,
}

impl From<Use> for ClientUse {
    fn from(wanted: Use) -> Self {
        match wanted {
            Use::Auto => Self::Auto,
            Use::On => Self::On,
            Use::Off => Self::Off,
        }
    }
}

impl Acp {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        // Standard output belongs to the editor.
        log_at("warn");
        if self.login {
            let config = configuration(&paths()?, None)?;
            return Err(acp::sign_in(self.claude.as_deref().unwrap_or(&config.claude)));
        }
        if std::io::stdin().is_terminal() {
            let hint = "name it in the settings of your editor; `portcullis acp --help` shows how, and \
                        `portcullis run` starts a session in this terminal";
            return Err(Failure::usage("`portcullis acp` is started by an editor, and talks to it", hint).into());
        }
        let stop = stop_on_signals()?;
        let paths = paths()?;
        let config = configuration(&paths, None)?;
        let options = AcpOptions {
            claude: self.claude,
            mode: self.permission_mode,
            model: self.model,
            client_fs: self.client_fs.into(),
            client_terminal: self.client_terminal.into(),
        };
        acp::run(paths, config, options, stop).await?;
        Ok(ExitCode::SUCCESS)
    }
}
