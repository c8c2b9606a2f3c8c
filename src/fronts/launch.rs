//! Starts an agent and holds it: found, started under its guard, attached to the gate, driven, and shared by fronts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::FutureExt as _;
use portcullis_core::policy::Mode;
use portcullis_core::{AskTimeout, Label, OnTimeout, SessionAbout, SessionId};
use portcullis_wire::api::{DefaultModeView, SetModeView};
use portcullis_wire::front::{Command, Welcome};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::Told;
use super::elsewhere;
use super::fanout::{Fanout, FrontChange, OWN};
use super::held::HeldConversation;
use super::listen::{Joining, listen, refused, serve};
use super::standing::Standings;
use crate::agents::claude::control::{Outcome, Start, drive};
use crate::agents::claude::editor::EditorTools;
use crate::agents::claude::hooks::{HeldHooks, forget_ended};
use crate::agents::claude::hosted::StartedChannels;
use crate::agents::claude::process::{Beginning, HeldProcess, Holder, Options, find};
use crate::config::{Config, Paths, environment};
use crate::failure::Failure;
use crate::files::FileStore;
use crate::gate::client::{Client, is_not_found, segment};
use crate::gate::reach::Handed;
use crate::gate::{VERSION, reach, sessions, starting};
use crate::mint::{mint, uuid};
use crate::processes::PeerProcess;
use crate::session::gatekeeper::{Front, GatekeeperSettings};
use crate::session::link;

/// Whoever starts a session waits so long for a gate that is slow; one that has to be started first is there within it.
const MODE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long fronts may take to read that the session has ended.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(1);

/// What someone wants to be started.
pub(crate) struct LaunchOptions {
    /// By what command, as it is shown with the session.
    pub(crate) connected_by: &'static str,
    /// None: a fresh one.
    pub(crate) session: Option<SessionId>,
    /// None: the folder's name.
    pub(crate) label: Option<String>,
    /// None: as configured.
    pub(crate) claude: Option<PathBuf>,
    /// Without a mode: as set or configured for the folder.
    pub(crate) claude_options: Options,
    /// What to say first.
    pub(crate) prompt: Option<String>,
    /// Who says it; none: the person at the terminal.
    pub(crate) prompt_by: Option<String>,
    /// The session ends when there is nothing more to do.
    pub(crate) once: bool,
    /// How long a prompt can be answered before it is denied.
    pub(crate) ask_limit: Option<Duration>,
    /// Someone is at the front that starts it.
    pub(crate) attended: bool,
    /// What that person is called.
    pub(crate) front: &'static str,
    /// Channel servers that were started for it.
    pub(crate) channels: Option<StartedChannels>,
    /// What goes through the editor at that front.
    pub(crate) editor: Option<EditorTools>,
    /// One that was started before, for a session like this.
    pub(crate) spare: Option<SpareAgent>,
}

/// A Claude Code that runs before anybody wants it. It is no session yet, and the gate does not know of it.
pub(crate) struct SpareAgent {
    claude: PathBuf,
    options: Options,
    held: HeldAgent,
}

/// A Claude Code that runs under its guard.
struct HeldAgent {
    session: SessionId,
    process: HeldProcess,
    /// Tells hooks of any copy of this program that they are served here.
    hooks: Option<HeldHooks>,
}

impl SpareAgent {
    /// Starts one.
    pub(crate) async fn start(
        paths: &Paths,
        config: &Config,
        claude: Option<&Path>,
        claude_options: Options,
    ) -> anyhow::Result<Self> {
        let claude = found(claude.unwrap_or(&config.claude))?;
        let options = options(paths, config, claude_options).await?;
        let held = hold(paths, &claude, &options, mint(SessionId::new))?;
        Ok(Self { claude, options, held })
    }

    /// Its process, if it runs and was started as is wanted now.
    fn if_it_fits(mut self, claude: &Path, options: &Options) -> Result<HeldAgent, Box<Self>> {
        let is_alike = self.claude == claude && self.options == *options;
        match is_alike && self.held.process.holder.gone().now_or_never().is_none() {
            true => Ok(self.held),
            false => Err(Box::new(self)),
        }
    }

    /// Nobody wants it. Returns when nothing of it is left.
    pub(crate) async fn end(self) {
        self.held.process.holder.end().await;
    }
}

/// A session that runs, as the front that started it has it.
pub(crate) struct Launched {
    pub(crate) told: mpsc::Receiver<Told>,
    pub(crate) command: mpsc::Sender<Command>,
    /// Why the person at this front cannot answer prompts, as it was when the session began.
    pub(crate) no_answers: Option<String>,
    /// The same, at any time.
    pub(super) standings: Standings,
    /// The mode that it starts in.
    pub(crate) mode: String,
    pub(crate) running: Running,
}

/// The tasks of a session that runs.
pub(crate) struct Running {
    driving: JoinHandle<Outcome>,
    sharing: JoinHandle<bool>,
    listening: Option<JoinHandle<()>>,
    writers: TaskTracker,
    /// Goes with the session.
    held_hooks: Option<HeldHooks>,
    /// Until then nobody else goes on with the conversation.
    held_conversation: Option<HeldConversation>,
}

impl Running {
    /// How the session ended, and whether a front ended it. The front that started it has been told everything by then.
    pub(crate) async fn outcome(self) -> anyhow::Result<(Outcome, bool)> {
        let ended_by_front = self.sharing.await.context("telling the fronts")?;
        let outcome = self.driving.await.context("driving Claude Code")?;
        self.writers.close();
        drop(tokio::time::timeout(LAST_LINES_TIMEOUT, self.writers.wait()).await);
        drop(self.held_hooks);
        // Its socket goes with it.
        if let Some(listening) = self.listening {
            listening.abort();
            drop(listening.await);
        }
        drop(self.held_conversation);
        Ok((outcome, ended_by_front))
    }
}

/// Starts the session. It runs in this process until it ends; whoever drops the ends does not end it.
pub(crate) async fn launch(paths: &Paths, config: &Config, wanted: LaunchOptions) -> anyhow::Result<Launched> {
    let claude = found(wanted.claude.as_deref().unwrap_or(&config.claude))?;
    let mut options = options(paths, config, wanted.claude_options).await?;
    options.mcp_config.extend(wanted.channels.as_ref().map(StartedChannels::client_config));
    options.allow.extend(wanted.editor.iter().flat_map(|_| EditorTools::allowed()));
    let label = label(wanted.label.as_deref(), &options.folder)?;
    let held_conversation = elsewhere::hold(paths, &options.from, &options.folder).await?;
    let HeldAgent { session, process, hooks } = match wanted.spare.map(|spare| spare.if_it_fits(&claude, &options)) {
        Some(Ok(taken)) => taken,
        unfit => {
            if let Some(Err(unfit)) = unfit {
                // The conversation has its id.
                unfit.end().await;
            }
            hold(paths, &claude, &options, wanted.session.unwrap_or_else(|| mint(SessionId::new)))?
        }
    };
    let label_chosen = wanted.label.is_some();
    let about = about(wanted.connected_by, &options, label.clone(), process.holder.pid());
    let about = SessionAbout { label_chosen, ..about };
    let judge = sessions::judge(paths, &about, options.add_dir.clone());
    // Whoever sees the session at the gate finds its socket.
    let listening = listen(paths, session);
    let (gate, deliveries) = link::connect(session, about, VERSION, starting::connect(paths.clone(), Handed::All));
    let gate = gate.keeping_files(FileStore::new(&paths.state_dir));
    let standings = Standings::new(paths.clone(), config, wanted.front, gate.clone());
    let no_answers = standings.no_answers_here().await.map(|no_answers| no_answers.why);
    let start = Start {
        folder: options.folder.clone(),
        once: wanted.once,
        front: wanted.front,
        prompt: wanted.prompt.clone(),
        prompt_by: wanted.prompt_by,
        gatekeeper: GatekeeperSettings {
            outside: sessions::outside(config),
            ask_limit: wanted.ask_limit.map(deny_after),
            // Whether they may answer is asked each time that they do (`pass_on`): it changes while the session runs.
            front: if wanted.attended { Front::Answers } else { Front::None },
        },
        allow_bypass: config.allow_bypass,
        wakes_per_hour: config.hooks.wakes,
        instructions: config.instructions.clone(),
        judge,
        channels: wanted.channels,
        channels_answer: no_answers.is_none(),
        editor: wanted.editor,
    };
    let (tell, driver_told) = mpsc::channel(256);
    let (driver_command, commands) = mpsc::channel(16);
    let driving = tokio::spawn(drive(process, (gate, deliveries), start, tell, commands));

    let (own, told) = mpsc::channel(256);
    let (command, own_commands) = mpsc::channel(16);
    let (changes, changed) = mpsc::channel(64);
    let fanout = Fanout::new(driver_command, own, wanted.prompt.as_deref());
    let sharing = tokio::spawn(fanout.run(driver_told, changed));
    tokio::spawn(pass_on(own_commands, changes.clone(), standings.clone()));
    let folder = options.folder.display().to_string();
    let welcome = Welcome { version: 0, program: VERSION.to_owned(), session, label, folder };
    let joining = Arc::new(Joining::new(welcome, standings.clone(), changes));
    let writers = joining.writers.clone();
    // A session that nobody can join is a session all the same.
    let listening = match listening {
        Ok(listening) => Some(tokio::spawn(serve(listening, joining))),
        Err(error) => {
            tracing::warn!("`portcullis attach` cannot reach this session: {error:#}");
            None
        }
    };
    Ok(Launched {
        told,
        command,
        no_answers,
        standings,
        mode: options.mode,
        running: Running { driving, sharing, listening, writers, held_hooks: hooks, held_conversation },
    })
}

/// The mode that a session will begin in, unless another was set at the gate; or why none can be started at all. Nobody is
/// asked.
pub(crate) fn expected_mode(
    paths: &Paths,
    config: &Config,
    claude: Option<&Path>,
    options: &Options,
) -> anyhow::Result<String> {
    found(claude.unwrap_or(&config.claude))?;
    let mode = match options.mode.as_str() {
        "" => config.mode_in(&options.folder, paths).mode.to_owned(),
        mode => mode.to_owned(),
    };
    if mode == Mode::BypassPermissions.name() {
        may_bypass(config)?;
    }
    Ok(mode)
}

fn found(name: &Path) -> anyhow::Result<PathBuf> {
    Ok(find(name, environment("PATH")).ok_or_else(|| no_claude(name))?)
}

fn hold(paths: &Paths, claude: &Path, options: &Options, session: SessionId) -> anyhow::Result<HeldAgent> {
    let process = Holder::start(claude, options.command(&reach::this_program()?, claude), &session.to_string())?;
    // Before Claude Code has begun to start its hooks and servers.
    let listened = paths.prepare().map_err(anyhow::Error::from).and_then(|()| {
        forget_ended(paths.of_sessions());
        let socket = paths.session_socket(process.holder.pid());
        HeldHooks::listen(socket).map_err(anyhow::Error::from)
    });
    let hooks = listened.inspect_err(|error| tracing::warn!("hooks of another copy may take part: {error:#}")).ok();
    Ok(HeldAgent { session, process, hooks })
}

/// What the front that started the session wants. It directs the session in any case, but answers only where it may.
async fn pass_on(mut commands: mpsc::Receiver<Command>, changes: mpsc::Sender<FrontChange>, standings: Standings) {
    while let Some(command) = commands.recv().await {
        let refusal = match &command {
            Command::Answer { .. } => standings.refusal(Some(PeerProcess::ours()), &command).await,
            _ => None,
        };
        let change = match refusal {
            None => FrontChange::Wants { front: OWN, command },
            Some(fault) => FrontChange::Tell { front: OWN, told: refused(&command, fault) },
        };
        if changes.send(change).await.is_err() {
            return;
        }
    }
}

fn deny_after(limit: Duration) -> AskTimeout {
    AskTimeout { milliseconds: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX), then: OnTimeout::Deny }
}

async fn options(paths: &Paths, config: &Config, mut options: Options) -> anyhow::Result<Options> {
    if options.mode.is_empty() {
        let set = mode_set_at_the_gate(paths, &options.folder).await;
        config.mode_in(&options.folder, paths).unless_nearer(set.as_ref()).clone_into(&mut options.mode);
    }
    if options.mode == Mode::BypassPermissions.name() {
        may_bypass(config)?;
    }
    if matches!(options.from, Beginning::New) {
        options.from = Beginning::Named(uuid());
    }
    // As root the client would refuse to start with it, whatever the mode.
    options.allow_bypass = may_bypass(config).is_ok();
    Ok(options)
}

/// What an admin has set for the folder. Without an answer the session starts as configured, and its user is told.
async fn mode_set_at_the_gate(paths: &Paths, folder: &Path) -> Option<SetModeView> {
    let asking = async {
        drop(reach::reach(paths, Handed::All).await?);
        let path = format!("/api/v1/modes/default?folder={}", segment(&folder.display().to_string()));
        Client::new(paths).get::<DefaultModeView>(&path).await
    };
    let asked = tokio::time::timeout(MODE_TIMEOUT, asking).await;
    match asked.unwrap_or_else(|_| Err(anyhow::anyhow!("it did not answer in time"))) {
        Ok(DefaultModeView { set, .. }) => set,
        // A gate of an earlier release, which has no such records.
        Err(error) if is_not_found(&error) => None,
        Err(error) => {
            tracing::warn!(
                "the mode is as configured: the gate could not be asked for this folder's default: {error:#}"
            );
            None
        }
    }
}

fn about(connected_by: &str, options: &Options, label: Label, pid: u32) -> SessionAbout {
    let agent_session = match &options.from {
        Beginning::Named(id) | Beginning::Resumed(id) => Some(id.clone()),
        Beginning::New | Beginning::Continued => None,
    };
    SessionAbout {
        pid: Some(pid),
        runs_commands: true,
        folder: Some(options.folder.display().to_string()),
        agent_session,
        mode: Some(options.mode.clone()),
        driven: true,
        wakes: Some(true),
        ..SessionAbout::new(label, connected_by)
    }
}

fn no_claude(name: &Path) -> Failure {
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
        let hint = "add `allow_bypass = true` to your own configuration if you mean it; `portcullis help settings` \
                    says where that is";
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
pub(crate) fn label(given: Option<&str>, folder: &Path) -> anyhow::Result<Label> {
    let Some(given) = given else { return Ok(Label::of_folder(folder)) };
    Ok(Label::new(given).ok_or_else(|| Failure::new(format!("{given:?} is no label"), Label::HINT))?)
}
