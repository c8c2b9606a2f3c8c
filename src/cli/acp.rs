//! `portcullis acp`: what an editor starts to have Claude Code in it.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use portcullis_core::visible;
use portcullis_wire::api::{NewTrustedEditor, TrustedEditorView, ago};

use super::client::Client;
use super::inside::{InsideAnAgent, refused};
use super::signals::stop_on_signals;
use super::{configuration, log_at, paths, say};
use crate::config::MODES;
use crate::failure::Failure;
use crate::fronts::acp::{self, AcpOptions, ClientUse};
use crate::fronts::unasked;
use crate::processes::EditorProcess;
use crate::setup::consent;

/// Claude Code in an editor, and its prompts answered there or anywhere else
///
/// Speaks the Agent Client Protocol (ACP) on standard input and output: an editor starts it, and it starts a Claude Code for
/// each session there. When Claude Code asks for permission, whoever is first answers: you in the editor, or a reviewer at
/// the gate (the page, a phone, `portcullis ask allow`). What a session is sent over the gate reaches the model, and is shown
/// in the editor as a message of its sender. The sessions end with the editor.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "In Zed, in settings.json:
  \"agent_servers\": {
    \"Claude Code\": { \"type\": \"custom\", \"command\": \"portcullis\", \"args\": [\"acp\"], \"env\": {} }
  }

Other editors take the same: the program `portcullis` with the argument `acp`. Nothing has to be running before: a gate is \
started where there is none. `portcullis doctor` says what works for you."
)]
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
    #[command(subcommand)]
    action: Option<AcpCommand>,
}

#[derive(clap::Subcommand)]
enum AcpCommand {
    /// Let an editor answer prompts of which nobody can tell who has started it
    ///
    /// While agents run, and for a day afterwards, a process that was left behind by its parent and has no terminal may be
    /// something that an agent has started: it answers no prompt. An editor that was opened from a desktop looks the same. It
    /// shows this command with the first prompt that it cannot answer. You see what the process is before you are asked.
    /// What you say here holds for that one process of `portcullis acp`, until it ends, and is written down; `portcullis
    /// doctor` lists it.
    Trust {
        /// The number of the process, as the editor shows it
        #[arg(value_name = "PID")]
        pid: u32,
        /// Do not ask. Where an agent may be around, a typed `yes` is wanted all the same
        #[arg(long)]
        yes: bool,
    },
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
    /// As `run`. What nobody can tell to be an agent's may be an editor from a desktop: that one is told at its first
    /// session what its person has to say.
    pub(super) fn inside(&self) -> InsideAnAgent {
        if self.action.is_some() {
            return refused("trust an editor");
        }
        let what = unasked(self.permission_mode.as_deref(), &[(self.claude.is_some(), "--claude")]);
        what.map_or(InsideAnAgent::AsksPeople, InsideAnAgent::RefusedToAgents)
    }

    /// All else is for editors.
    pub(super) fn is_for_people(&self) -> bool {
        self.action.is_some()
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(AcpCommand::Trust { pid, yes }) = self.action {
            return trust(pid, yes).await;
        }
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

/// Lets the editor answer, once its person has seen which process that is.
async fn trust(pid: u32, yes: bool) -> anyhow::Result<ExitCode> {
    let gate = Client::of_the_gate()?;
    let hint =
        "the editor shows the number with the first prompt that it cannot answer; `portcullis doctor` lists them";
    let editor = EditorProcess::of(pid).map_err(|why| Failure::new(format!("process {pid} {why}"), hint))?;
    say(&shown(&editor));
    if !consent::given("Is this your editor, and may it answer the prompts of its sessions?", yes)? {
        say("Nothing was changed.\n");
        return Ok(ExitCode::FAILURE);
    }
    let trusted: TrustedEditorView = gate.post("/api/v1/editors", &NewTrustedEditor { pid }).await?;
    say(&visible(&format!("Prompts are answered there until it ends: {}", trusted.what)));
    say("\n");
    Ok(ExitCode::SUCCESS)
}

/// The process, a line for each thing that the system tells of it.
fn shown(editor: &EditorProcess) -> String {
    let EditorProcess { what, program, arguments, folder, age, .. } = editor;
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let age = age.map(|age| format!("{} ago", ago(u64::try_from(age.as_millis()).unwrap_or(u64::MAX))));
    let rows = [
        ("process", Some(what.clone())),
        ("program", path(program)),
        ("called as", Some(arguments.join(" "))),
        ("in", path(folder)),
        ("started", age),
    ];
    let row = |(name, value): (&str, Option<String>)| value.map(|value| format!("  {name:<10} {}\n", visible(&value)));
    rows.into_iter().filter_map(row).collect()
}
