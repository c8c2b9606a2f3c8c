//! `portcullis run`: Claude Code without a terminal of its own, and its prompts answered wherever someone is.

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::builder::PossibleValue;
use portcullis_core::shell_word;

use super::broken::broken_files;
use super::inside::{InsideAnAgent, refused_here};
use super::{configuration, log_as_notes, log_at, note, paths};
use crate::agents::claude::control::Outcome;
use crate::agents::claude::process::{Beginning, Options};
use crate::config::MODES;
use crate::failure::Failure;
use crate::fronts::terminal::{FrontPlace, Output, Setup, TerminalFront, print_line};
use crate::fronts::{LaunchOptions, Launched, launch, unasked};
use crate::session::gatekeeper::AT_THE_TERMINAL;

/// Start a Claude Code session here, and answer its prompts from anywhere
///
/// Starts Claude Code, gives it the prompt, and shows what it says and does. When it asks for permission, whoever is
/// first answers: you at this terminal, or a reviewer at the gate (`portcullis ask allow`, the API). What the session is
/// sent over the gate reaches the model, marked as not from you, and its replies go back.
#[derive(clap::Args)]
#[command(after_help = "Exit codes:
  0    done; where you talk line by line, also after /exit and Ctrl-D
  1    an error: Claude Code did not start, failed, or reports an error as its result
  2    wrong usage
  3    wrong configuration
  4    denied: a call was denied and the turn ended with it, or the mode is not allowed
  130  interrupted: by Ctrl-C, by SIGTERM, or ended by someone elsewhere

Ctrl-C interrupts the turn. Where you talk line by line the session goes on, and a second Ctrl-C ends it; a run with one \
prompt ends with its turn. The last line on standard error names the conversation for --resume. `portcullis attach` opens \
another terminal on the session.")]
pub(super) struct Run {
    /// What to do; `-` reads it from standard input. Without it, at a terminal, you talk line by line
    prompt: Option<String>,
    /// What is printed: text as it is said, the final result as JSON, or every message as a line of JSON
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// What is asked: default, acceptEdits, plan, dontAsk, auto or bypassPermissions [default: as configured]
    #[arg(long, value_name = "MODE", value_parser = clap::builder::PossibleValuesParser::new(MODES), hide_possible_values = true)]
    permission_mode: Option<String>,
    /// Go on with the conversation of this id
    #[arg(long, value_name = "ID", conflicts_with = "continue")]
    resume: Option<String>,
    /// Go on with the latest conversation in this folder
    #[arg(long)]
    r#continue: bool,
    /// The model, by its name or alias
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Let calls through that this rule of Claude Code matches, such as "Bash(npm test *)"
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Deny calls that this rule matches
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    /// Another folder that it may work in
    #[arg(long, value_name = "FOLDER")]
    add_dir: Vec<PathBuf>,
    /// MCP servers, as a file or as JSON
    #[arg(long, value_name = "FILE")]
    mcp_config: Vec<String>,
    /// Run this channel server for the session: its events reach the model, and prompts go to it; may be given several times
    ///
    /// The name of an MCP server that is configured here, or plugin:NAME@MARKET. The session stays for its events, until it
    /// is ended.
    #[arg(long, value_name = "SERVER")]
    channel: Vec<String>,
    /// How many turns of the model at most
    #[arg(long, value_name = "NUMBER")]
    max_turns: Option<u32>,
    /// What people call this session [default: the name of its folder]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Claude Code's program [default: as configured, else `claude` on the PATH]
    #[arg(long, value_name = "PATH")]
    claude: Option<PathBuf>,
    /// For the gate, which starts sessions in this way: no terminal, and orders from the gate alone
    #[arg(long, hide = true)]
    held: bool,
    /// With --held: the session's id, as the gate chose it
    #[arg(long, hide = true, requires = "held")]
    session: Option<String>,
    /// With --held: who wants it
    #[arg(long, hide = true, requires = "held", value_name = "NAME")]
    started_by: Option<String>,
    /// With --held: leave when there is nothing more to do
    #[arg(long, hide = true, requires = "held")]
    once: bool,
    /// With --held: how long a prompt can be answered, and then it is denied
    #[arg(long, hide = true, requires = "held", value_name = "SECONDS")]
    ask_seconds: Option<u64>,
}

/// The values of `--output`.
impl clap::ValueEnum for Output {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Text, Self::Json, Self::StreamJson]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Text => PossibleValue::new("text").help("What the model says, as it says it"),
            Self::Json => PossibleValue::new("json").help("The final result"),
            Self::StreamJson => PossibleValue::new("stream-json").help("Every message, one a line"),
        })
    }
}

impl Run {
    /// It asks people, and never whoever started it: so that one does not say either what needs no asking.
    pub(super) fn inside(&self) -> InsideAnAgent {
        let given = [
            (!self.allow.is_empty(), "--allow"),
            (!self.add_dir.is_empty(), "--add-dir"),
            (!self.mcp_config.is_empty(), "--mcp-config"),
            (self.claude.is_some(), "--claude"),
        ];
        let Some(what) = unasked(self.permission_mode.as_deref(), &given) else { return InsideAnAgent::AsksPeople };
        match self.held {
            true => InsideAnAgent::RefusedButToGates(what),
            false => refused_here(what),
        }
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        if self.held {
            log_at("warn");
            // The gate may go, and its terminal with it.
            rustix::process::setsid().ok();
        } else {
            log_as_notes();
        }
        let at_terminal = !self.held && std::io::stdin().is_terminal();
        if self.prompt.is_none() && !at_terminal && !self.held && self.channel.is_empty() {
            let hint = "give it as an argument, or `-` to read it from standard input";
            return Err(Failure::usage("there is no prompt", hint).into());
        }
        let mut options = self.options(at_terminal)?;
        if options.prompt.as_ref().is_some_and(|prompt| prompt.trim().is_empty()) && !self.held {
            let hint = "say what to do: portcullis run \"make the tests pass\"; without a prompt you talk line by line";
            return Err(Failure::usage("the prompt is empty", hint).into());
        }
        let paths = paths()?;
        let config = configuration(&paths, None)?;
        if !self.held {
            let broken = broken_files(&paths, [options.claude_options.folder.as_path()]);
            broken.iter().for_each(|problem| note(&format!("note: {problem}")));
        }
        options.channels = super::mcp::channels::start(&self.channel).await?;
        let talks = options.prompt.is_none() && at_terminal;
        let place = if self.held { FrontPlace::Held } else { FrontPlace::Own };
        let Launched { told, command, no_answers, running, .. } = launch(&paths, &config, options).await?;
        let setup = Setup { output: self.output, place, at_terminal, talks, no_answers };
        TerminalFront::new(setup, command).run(told).await?;
        let (outcome, ended_by_person) = running.outcome().await?;
        if !self.held && self.output == Output::Text {
            note_resume(outcome.agent_session.as_deref());
        }
        self.finish(outcome, ended_by_person, talks).await
    }

    fn options(&self, attended: bool) -> anyhow::Result<LaunchOptions> {
        let prompt = self.read_prompt()?;
        let session = self.session.as_deref().map(str::parse).transpose().map_err(|_| {
            let id = self.session.as_deref().unwrap_or_default();
            Failure::new(format!("{id:?} is no session"), "leave --session off")
        })?;
        let claude_options = Options {
            folder: std::env::current_dir().context("finding the working folder")?,
            mode: self.permission_mode.clone().unwrap_or_default(),
            allow_bypass: false,
            from: match &self.resume {
                Some(id) => Beginning::Resumed(id.clone()),
                None if self.r#continue => Beginning::Continued,
                None => Beginning::New,
            },
            model: self.model.clone(),
            allow: self.allow.clone(),
            deny: self.deny.clone(),
            add_dir: self.add_dir.clone(),
            mcp_config: self.mcp_config.clone(),
            max_turns: self.max_turns,
            // For those who look at its stream, also where this front prints whole messages.
            partial: true,
        };
        Ok(LaunchOptions {
            claude_options,
            connected_by: "run",
            session,
            label: self.label.clone(),
            claude: self.claude.clone(),
            // What comes through a channel may come at any time.
            once: if self.held { self.once } else { prompt.is_some() && self.channel.is_empty() },
            prompt,
            prompt_by: self.started_by.clone(),
            ask_limit: self.ask_seconds.map(Duration::from_secs),
            attended,
            front: AT_THE_TERMINAL,
            channels: None,
            editor: None,
            spare: None,
        })
    }

    async fn finish(&self, outcome: Outcome, ended_by_person: bool, talks: bool) -> anyhow::Result<ExitCode> {
        if let (Output::Json, Some((line, _))) = (self.output, &outcome.result) {
            print_line(line).await;
        }
        if ended_by_person || outcome.interrupted && !talks {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        if outcome.denied && !talks {
            return Ok(ExitCode::from(DENIED));
        }
        if let Some(problem) = outcome.problem {
            let told = outcome.result.iter().flat_map(|(_, result)| &result.errors).filter_map(|error| error.as_str());
            let was_told = told.into_iter().any(|error| outcome.stderr_tail.contains(error));
            if self.output == Output::Text && was_told {
                // What it said stands there already, as the result of its turn.
                note(&format!("  hint: {}", self.hint()));
                return Ok(ExitCode::FAILURE);
            }
            return Err(failed(&problem, &outcome.stderr_tail, self.hint()).into());
        }
        match outcome.result {
            // Whoever talks has seen how each turn went, and left when they liked.
            _ if talks => Ok(ExitCode::SUCCESS),
            Some((_, result)) if !result.is_error => Ok(ExitCode::SUCCESS),
            Some(_) => Ok(ExitCode::FAILURE),
            None if self.prompt.is_none() => Ok(ExitCode::SUCCESS),
            None => Err(failed("Claude Code ended without a result", &outcome.stderr_tail, self.hint()).into()),
        }
    }

    /// What to look at when Claude Code did not start.
    fn hint(&self) -> &'static str {
        match self.resume {
            Some(_) => "`claude --resume` in this folder shows its conversations; --continue takes the latest",
            None => "`claude --version` shows whether it runs at all; `portcullis doctor` looks at the rest",
        }
    }

    fn read_prompt(&self) -> anyhow::Result<Option<String>> {
        if self.prompt.as_deref() != Some("-") {
            return Ok(self.prompt.clone());
        }
        let mut text = String::new();
        let mut stdin = std::io::stdin().lock().take(LONGEST_PROMPT + 1);
        stdin.read_to_string(&mut text).context("reading the prompt from standard input")?;
        anyhow::ensure!(text.len() as u64 <= LONGEST_PROMPT, "the prompt is longer than {LONGEST_PROMPT} bytes");
        Ok(Some(text))
    }
}

/// Says how to go on with the conversation, on standard error: the model's words alone are on standard output.
fn note_resume(agent_session: Option<&str>) {
    if let Some(id) = agent_session {
        note(&format!("To go on with this conversation: portcullis run --resume {}", shell_word(id)));
    }
}

const INTERRUPTED: u8 = 130;
const DENIED: u8 = 4;
const LONGEST_PROMPT: u64 = 8 << 20;

fn failed(problem: &str, stderr_tail: &str, hint: &str) -> Failure {
    let stderr_tail = portcullis_core::visible(stderr_tail);
    let what = if stderr_tail.is_empty() { problem.to_owned() } else { format!("{problem}; it said:\n{stderr_tail}") };
    Failure::new(what, hint)
}
