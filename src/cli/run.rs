//! `portcullis run`: Claude Code without a terminal of its own, and its prompts answered wherever someone is.

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use portcullis_core::{AskTimeout, Label, OnTimeout, SessionAbout, SessionId};
use tokio::sync::mpsc;

use super::{VERSION, configuration, environment, log_at, paths, reach, starting};
use crate::agents::claude::control::{self as claude, Outcome, Start};
use crate::agents::claude::process::{Beginning, Holder, Options, find};
use crate::config::{Approvals, Config, MODES, Paths};
use crate::failure::Failure;
use crate::fronts::terminal::{Front, Output, print_line};
use crate::mint::mint;
use crate::rules::Rules;
use crate::session::gatekeeper::Judge;
use crate::session::link;

/// Claude Code without a terminal of its own: prompts are answered here, or from anywhere
///
/// Starts Claude Code, gives it the prompt, and shows what it says and does. When it asks for permission, whoever is
/// first answers: you at this terminal, or a reviewer at the gate (`portcullis ask allow`, the API). What the session is
/// sent over the gate reaches the model, marked as not from you, and its replies go back.
#[derive(clap::Args)]
#[command(after_help = "Exit codes:
  0    done
  1    an error, also one that Claude Code reports
  2    wrong usage
  3    wrong configuration
  4    denied: a call was denied and the turn ended with it, or the mode is not allowed
  130  interrupted

Ctrl-C interrupts the turn; twice, it ends the session.")]
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
    /// With --held: leave when there is nothing more to do
    #[arg(long, hide = true, requires = "held")]
    once: bool,
    /// With --held: how long a prompt can be answered, and then it is denied
    #[arg(long, hide = true, requires = "held", value_name = "SECONDS")]
    ask_seconds: Option<u64>,
}

impl Run {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        if self.held {
            // The gate may go, and its terminal with it.
            rustix::process::setsid().ok();
        }
        let at_terminal = !self.held && std::io::stdin().is_terminal();
        if self.prompt.is_none() && !at_terminal && !self.held {
            let hint = "give it as an argument, or `-` to read it from standard input";
            return Err(Failure::usage("there is no prompt", hint).into());
        }
        let paths = paths()?;
        let config = configuration(&paths, None)?;
        let claude = self.program(&config)?;
        let options = self.options(&config, &paths)?;
        let prompt = self.read_prompt()?;
        let session = match &self.session {
            Some(id) => id.parse().map_err(|_| Failure::new(format!("{id:?} is no session"), "leave --session off"))?,
            None => mint(SessionId::new),
        };
        let program = reach::this_program()?;
        let held = Holder::start(&claude, options.command(&program, &claude), &session.to_string())?;
        let about = self.about(&options, held.holder.pid())?;
        let rules = Rules::open(&paths, &options.folder);
        let judge = Judge::new(rules, options.folder.clone(), options.add_dir.clone(), about.label.to_string());
        let gate = link::connect(session, about.clone(), VERSION, starting::connect(paths));
        let start = Start {
            about,
            folder: options.folder.clone(),
            once: if self.held { self.once } else { prompt.is_some() },
            prompt,
            timeout: self
                .ask_seconds
                .map(|seconds| AskTimeout { milliseconds: seconds.saturating_mul(1000), then: OnTimeout::Deny }),
            attended: at_terminal,
            answers_here: config.approvals == Approvals::Anywhere,
            allow_bypass: config.allow_bypass,
            wakes_per_hour: config.hooks.wakes,
            judge: Arc::new(judge),
        };
        let talks = start.prompt.is_none() && at_terminal;
        let (tell, told) = mpsc::channel(256);
        let (command, commands) = mpsc::channel(16);
        let driving = tokio::spawn(claude::drive(held, gate, start, tell, commands));
        let interrupted = Front::new(self.output, at_terminal, talks, self.held, command).run(told).await?;
        let outcome = driving.await.context("driving Claude Code")?;
        self.finish(outcome, interrupted).await
    }

    async fn finish(&self, outcome: Outcome, ended_by_person: bool) -> anyhow::Result<ExitCode> {
        if let (Output::Json, Some((line, _))) = (self.output, &outcome.result) {
            print_line(line).await;
        }
        if ended_by_person || outcome.interrupted {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        if outcome.denied {
            return Ok(ExitCode::from(DENIED));
        }
        if let Some(problem) = outcome.problem {
            return Err(failed(&problem, &outcome.stderr_tail).into());
        }
        match outcome.result {
            Some((_, result)) if !result.is_error => Ok(ExitCode::SUCCESS),
            Some(_) => Ok(ExitCode::FAILURE),
            None if self.prompt.is_none() => Ok(ExitCode::SUCCESS),
            None => Err(failed("Claude Code ended without a result", &outcome.stderr_tail).into()),
        }
    }

    /// Where Claude Code is.
    fn program(&self, config: &Config) -> anyhow::Result<PathBuf> {
        let name = self.claude.as_deref().unwrap_or(&config.claude);
        let found = find(name, environment("PATH"));
        found.ok_or_else(|| no_claude(name).into())
    }

    fn options(&self, config: &Config, paths: &Paths) -> anyhow::Result<Options> {
        let folder = std::env::current_dir().context("finding the working folder")?;
        let mode = self.permission_mode.clone().unwrap_or_else(|| config.mode_in(&folder, paths).to_owned());
        if mode == BYPASS {
            may_bypass(config)?;
        }
        let from = match &self.resume {
            Some(id) => Beginning::Resumed(id.clone()),
            None if self.r#continue => Beginning::Continued,
            None => Beginning::Named(claude::uuid()),
        };
        Ok(Options {
            folder,
            mode,
            // As root the client would refuse to start with it, whatever the mode.
            allow_bypass: config.allow_bypass && may_bypass(config).is_ok(),
            from,
            model: self.model.clone(),
            allow: self.allow.clone(),
            deny: self.deny.clone(),
            add_dir: self.add_dir.clone(),
            mcp_config: self.mcp_config.clone(),
            max_turns: self.max_turns,
            partial: self.output == Output::Text,
        })
    }

    fn about(&self, options: &Options, pid: u32) -> anyhow::Result<SessionAbout> {
        let agent_session = match &options.from {
            Beginning::Named(id) | Beginning::Resumed(id) => Some(id.clone()),
            Beginning::New | Beginning::Continued => None,
        };
        Ok(SessionAbout {
            label: label(self.label.as_deref(), &options.folder)?,
            connected_by: "run".to_owned(),
            pid: Some(pid),
            runs_commands: true,
            folder: Some(options.folder.display().to_string()),
            agent_session,
            continues: None,
            mode: Some(options.mode.clone()),
            driven: true,
        })
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

const INTERRUPTED: u8 = 130;
const DENIED: u8 = 4;
const BYPASS: &str = "bypassPermissions";
const LONGEST_PROMPT: u64 = 8 << 20;

pub(super) fn no_claude(name: &Path) -> Failure {
    let what = match name.components().count() {
        1 => format!("Claude Code was not found: there is no program `{}` on the PATH", name.display()),
        _ => format!("Claude Code was not found: {} is no program", name.display()),
    };
    Failure::new(
        what,
        "install it with `npm install -g @anthropic-ai/claude-code`, or say where it is: --claude PATH, \
         PORTCULLIS_CLAUDE, or `claude = \"PATH\"` in the configuration",
    )
}

/// Whether nothing may be asked: the owner's own configuration says so, and Claude Code itself will.
fn may_bypass(config: &Config) -> anyhow::Result<()> {
    if !config.allow_bypass {
        let hint = "add `allow_bypass = true` to your own configuration if you mean it; `portcullis serve --help` says \
                    where that is";
        return Err(Failure::denied("mode bypassPermissions is not allowed here: nothing would be asked", hint).into());
    }
    let in_sandbox = environment("IS_SANDBOX").is_some_and(|value| value == "1");
    if rustix::process::geteuid().is_root() && !in_sandbox {
        let hint = "run it as another user; in a sandbox that holds nothing of worth, set IS_SANDBOX=1 yourself";
        return Err(Failure::denied("Claude Code does not run in mode bypassPermissions as root", hint).into());
    }
    Ok(())
}

/// The label that was given, else the folder's name.
pub(super) fn label(given: Option<&str>, folder: &Path) -> anyhow::Result<Label> {
    let Some(given) = given else {
        let name = folder.file_name().and_then(|name| Label::new(&name.to_string_lossy()));
        return name.or_else(|| Label::new("session")).context("naming the session");
    };
    Label::new(given).ok_or_else(|| {
        Failure::new(format!("{given:?} is no label"), "a label has 1 to 64 bytes, all of them visible letters").into()
    })
}

fn failed(problem: &str, stderr_tail: &str) -> Failure {
    let stderr_tail = portcullis_core::visible(stderr_tail);
    let what = if stderr_tail.is_empty() { problem.to_owned() } else { format!("{problem}; it said:\n{stderr_tail}") };
    Failure::new(what, "`claude --version` shows whether it runs at all; `portcullis doctor` looks at the rest")
}
