//! `portcullis hook`: what Claude Code runs when a session starts, ends or is woken, and before each tool call; in a
//! project whose hooks are shared also for everything else.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use portcullis_core::{Label, SessionAbout, visible};
use portcullis_wire::hooks::{
    HOOKS_VERSION, HookCall, HookEvent, LONGEST_CALL, NoHook, fields_of, refuse, refuse_tool, watch,
};
use serde_json::Value;

use super::broken::broken_files;
use super::channel::working_folder;
use super::setup::installed::{HarmfulVariables, Namesake, has_hooks_of_own};
use super::{environment, log_at, paths, say};
use crate::agents::claude::hooks::{self, Announced, HookOutput, HookWait, SessionSocket, Unanswered};
use crate::config::Paths;
use crate::gate::sessions::judge;
use crate::processes;

/// What Claude Code's hooks run when a session starts, ends or is woken, and before each tool call
///
/// Hooks that a project shares (`portcullis install --hooks --scope project`) run it at every moment.
///
/// Reads one hook call as JSON on standard input. `portcullis install --hooks` registers it. Where the session's process
/// does not answer, a call is judged by the rules alone: what they deny, and what a person must decide where nobody can be
/// asked, is denied. Where not even that can be found out, a call that is about to run is denied. Whatever else goes wrong,
/// it says nothing and exits with 0, so that Claude Code goes on by itself.
#[derive(clap::Args)]
pub(super) struct Hook {
    /// The version of the hooks that run this; those that a project shares do not tell it
    #[arg(long, value_name = "VERSION")]
    installed: Option<u32>,
}

/// Claude Code shows the model what a hook says on standard error when it exits so.
const FOR_THE_MODEL: u8 = 2;

impl Hook {
    pub(super) async fn run(self) -> ExitCode {
        log_at("error");
        let (text, problem) = read_call();
        let arguments = fields_of(&text, problem.as_deref());
        // What does not even say which hook it is may be the one before a call. Any other takes this answer for a mistake of
        // ours, and goes on.
        let event = match HookCall::read(&arguments) {
            Ok(call) => Some(call.event),
            Err(no_hook) => no_hook.is_unnamed().then_some(HookEvent::PreToolUse),
        };
        self.answer(arguments).await.unwrap_or_else(|error| {
            tracing::debug!("{error:#}");
            if let Some(event @ HookEvent::PreToolUse) = event {
                let why = match error.downcast_ref::<NoHook>() {
                    Some(_) => "what the hook was told does not say which call it is about".to_owned(),
                    None => format!("{error:#}"),
                };
                let why = format!(
                    "portcullis could not judge this call, so it is denied: {why}. Try again; if it happens again, \
                     `portcullis doctor` says what is wrong"
                );
                show(&HookOutput { output: refuse(event, &visible(&why)) });
            }
            ExitCode::SUCCESS
        })
    }

    async fn answer(self, mut arguments: Value) -> anyhow::Result<ExitCode> {
        let call = HookCall::read(&arguments)?;
        // A session that `portcullis run` holds is served by its holder.
        let (agent, paths) = (agent(), paths()?);
        if is_held(&paths, agent).await {
            return Ok(ExitCode::SUCCESS);
        }
        let (path, file) = (paths.session_socket(agent), paths.wake_file(agent));
        let socket = SessionSocket { path: &path, agent };
        let mut code = ExitCode::SUCCESS;
        match call.event {
            HookEvent::SessionStart => {
                let announced = Announced { is_watched: is_attended(), is_forked: call.is_fork() };
                let is_there = announce(&paths, &file, &call, announced).is_ok();
                let watched = is_there && announced.is_watched;
                if watched {
                    let project = call.cwd.as_ref().map_or_else(working_folder, |cwd| Ok(cwd.into()))?;
                    let namesake = Namesake::find(&project, &environment).map(|namesake| namesake.in_words());
                    let broken = broken_files(&paths, [project.as_path()]).into_iter();
                    let broken = broken.map(|problem| visible(&problem));
                    let harmful = HarmfulVariables::find(&project, &environment).into_iter();
                    let harmful = harmful.map(|found| format!("{}; {}", found.in_words(), HarmfulVariables::REMEDY));
                    let warnings: Vec<String> = namesake.into_iter().chain(harmful).chain(broken).collect();
                    let warning = Some(warnings.join("\n")).filter(|warning| !warning.is_empty());
                    say(&format!("{}\n", watch(&[file.display().to_string()], warning.as_deref())));
                }
                arguments["watched"] = Value::Bool(watched);
                hooks::call_session(socket, &arguments, HookWait::Short, |_| {}).await?;
            }
            HookEvent::SessionEnd => {
                if call.reason.as_deref() != Some("clear") {
                    hooks::forget(&file);
                }
                hooks::call_session(socket, &arguments, HookWait::Short, |_| {}).await?;
            }
            HookEvent::FileChanged if arguments["file_path"].as_str() == file.to_str() => {
                let show = |told: &HookOutput| {
                    if let Some(text) = told.output.as_str() {
                        let mut stderr = std::io::stderr().lock();
                        // Claude Code may be gone; then so is the session, and the event goes to the next.
                        if stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).is_ok() {
                            code = ExitCode::from(FOR_THE_MODEL);
                        }
                    }
                };
                hooks::call_session(socket, &arguments, HookWait::Short, show).await?;
            }
            HookEvent::FileChanged => {}
            _ if self.installed.is_none() && has_hooks_of_own(&working_folder()?, &environment) => {}
            event => {
                // Hooks that a project shares run whatever program is there.
                arguments["hooks_version"] = self.installed.unwrap_or(HOOKS_VERSION).to_string().into();
                let wait = if event.decides() { HookWait::ForPeople { begun: begun(&file) } } else { HookWait::Short };
                match hooks::call_session(socket, &arguments, wait, show).await {
                    Err(error) if event.decides() => {
                        tracing::debug!("{error:#}");
                        show(&without_session(&error, &paths, call).await);
                    }
                    called => called?,
                }
            }
        }
        Ok(code)
    }
}

/// The call, as far as it can be read, and why not all of it is.
fn read_call() -> (Vec<u8>, Option<String>) {
    let (mut text, mut stdin) = (Vec::new(), std::io::stdin().lock());
    let limit = u64::try_from(LONGEST_CALL).unwrap_or(u64::MAX);
    let read = stdin.by_ref().take(limit).read_to_end(&mut text);
    // Claude Code writes all of it before it reads the answer.
    let rest = read.and_then(|_| std::io::copy(&mut stdin, &mut std::io::sink()));
    let problem = match rest {
        Ok(0) => None,
        Ok(_) => Some(format!("it is larger than {LONGEST_CALL} bytes")),
        Err(error) => Some(format!("it could not be read: {error}")),
    };
    (text, problem)
}

fn show(told: &HookOutput) {
    if !told.output.is_null() {
        say(&format!("{}\n", told.output));
    }
}

/// What is answered where the session's process does not. One that is there and says nothing may have a stop or a guard to
/// hold: nothing runs past it.
async fn without_session(error: &Unanswered, paths: &Paths, call: HookCall) -> HookOutput {
    match (error, call.event) {
        (Unanswered::Silent(_), HookEvent::PreToolUse) => {
            HookOutput { output: refuse_tool("The session's own portcullis process gave no answer: try again.") }
        }
        (Unanswered::Replaced { by }, HookEvent::PreToolUse) => HookOutput { output: refuse_tool(&replaced(*by)) },
        _ => judge_alone(paths, call).await,
    }
}

/// For the person who is shown it. Trying again does not help.
fn replaced(by: Option<u32>) -> String {
    let by = by.map_or_else(|| "a process".to_owned(), |pid| format!("process {pid}"));
    format!(
        "Denied: {by} has taken the place of the session's own portcullis process, and is not asked. Something that runs \
         here may have put it there, to answer in a person's name. A person should look what it is, end it, and start \
         Claude Code again. If it is a portcullis of another version or from another place, `portcullis install` gives \
         the session and its hooks the same one."
    )
}

/// No process of the session answers: Claude Code has not started it, or a server of the project has its name. Nobody can
/// be asked then, and the rules hold all the same.
async fn judge_alone(paths: &Paths, call: HookCall) -> HookOutput {
    let folder = call.cwd.clone().or_else(|| Some(working_folder().ok()?.display().to_string()));
    let label = Label::of_folder(Path::new(folder.as_deref().unwrap_or_default()));
    let about = SessionAbout { folder, ..SessionAbout::new(label, "hooks") };
    HookOutput { output: hooks::judge_alone(&judge(paths, &about, vec![]), call, is_attended()).await }
}

/// When the session began, as the file tells that its first hook made.
fn begun(wake_file: &Path) -> Option<SystemTime> {
    wake_file.metadata().and_then(|file| file.modified()).ok()
}

/// The agent that runs this hook. What it says in the environment counts only for a process above this one: the settings of
/// a project can set any variable.
fn agent() -> u32 {
    let parent = std::os::unix::process::parent_id();
    let is_above = |said: &u32| processes::lineage(parent).any(|pid| pid == *said);
    number("CLAUDE_PID").filter(is_above).unwrap_or_else(|| processes::agent_above(parent))
}

/// Whether the agent's holder serves it: it is known by where it listens. That a guard is above it says nothing, for anyone
/// may start one.
pub(super) async fn is_held(paths: &Paths, agent: u32) -> bool {
    let Some((guard, holder)) = processes::guard_of(agent) else { return false };
    hooks::listens(holder, &paths.session_socket(guard)).await
}

fn announce(paths: &Paths, file: &Path, call: &HookCall, announced: Announced) -> anyhow::Result<()> {
    paths.prepare()?;
    Ok(hooks::announce(file, call.session_id.as_deref().unwrap_or_default(), announced)?)
}

/// Nobody waits at a terminal where Claude Code runs for a script: there a wake would hold it up.
fn is_attended() -> bool {
    environment("CLAUDE_CODE_SESSION_ATTENDED").is_some_and(|value| value == "1")
}

fn number(variable: &str) -> Option<u32> {
    environment(variable)?.to_str()?.parse().ok()
}
