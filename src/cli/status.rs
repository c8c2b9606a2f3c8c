//! `portcullis status`: whether a gate runs, where it listens, and which sessions are attached.

use std::path::Path;
use std::process::ExitCode;

use portcullis_core::{Moment, shell_word, visible};
use portcullis_wire::api::{SessionView, Status as GateStatus, ago};
use portcullis_wire::notify::NotifyView;
use portcullis_wire::text::one_line;

use super::broken::broken_files;
use super::client::Client;
use super::layout::{Colour, Layout, clock};
use super::setup::installed::files_with_hooks;
use super::table::{Cell, Table};
use super::{lock, log_at, paths, say, session};
use crate::config::{Paths, environment};
use crate::failure::Failure;
use crate::hub::now;

/// A call that ran unasked is shown for a day, in milliseconds.
const ALARM_SHOWN: u64 = 24 * 3_600_000;
/// A session with hooks that works and tells nothing for so long is named, in milliseconds.
const SILENT: u64 = 5 * 60_000;

/// Show whether a gate runs, where it listens, and which sessions are attached
///
/// Exits with 1 when no gate runs.
#[derive(clap::Args)]
pub(super) struct Status {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Status {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let paths = paths()?;
        let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
        let Some(status) = find(&paths).await? else {
            let broken = broken_files(&paths, [here.as_path()]);
            if self.json {
                let shown = serde_json::json!({"running": false, "socket": paths.socket, "broken": broken});
                say(&format!("{shown}\n"));
            } else {
                say("No gate is running. `portcullis up` starts one.\n");
                broken.iter().for_each(|problem| say(&format!("broken     {}\n", visible(problem))));
            }
            return Ok(ExitCode::FAILURE);
        };
        let sessions: Vec<SessionView> = Client::new(&paths).get("/api/v1/sessions").await?;
        let folders = sessions.iter().filter_map(|session| session.folder.as_deref()).map(Path::new);
        let broken = broken_files(&paths, [here.as_path()].into_iter().chain(folders));
        if self.json {
            let mut shown = serde_json::to_value(&status)?;
            shown["attached"] = serde_json::to_value(&sessions)?;
            shown["broken"] = broken.into();
            say(&format!("{shown}\n"));
            return Ok(ExitCode::SUCCESS);
        }
        say(&in_words(&status, &sessions, &broken));
        Ok(ExitCode::SUCCESS)
    }
}

/// The status, or none when no gate runs. A gate that holds the lock and does not answer is an error.
async fn find(paths: &Paths) -> anyhow::Result<Option<GateStatus>> {
    let error = match Client::new(paths).status().await {
        Ok(status) => return Ok(Some(status)),
        Err(error) => error,
    };
    match lock::holder(&paths.lock_file) {
        None => Ok(None),
        Some(holder) => {
            let pid = holder.pid;
            let what =
                format!("process {pid} holds the lock {} and does not answer: {error:#}", paths.lock_file.display());
            let hint = format!("if this does not change, end it with `kill {pid}`; no accepted event is lost");
            Err(Failure::new(what, hint).into())
        }
    }
}

fn in_words(status: &GateStatus, sessions: &[SessionView], broken: &[String]) -> String {
    let mut rows = vec![
        ("gate", format!("portcullis {}, pid {}", status.version, status.pid)),
        (
            "listening",
            status.listen.as_ref().map_or("only on the Unix socket".to_owned(), |address| format!("http://{address}")),
        ),
        ("socket", status.socket.clone()),
        ("journal", format!("{} (survives {})", status.journal, survives(&status.durability))),
        ("log", status.log.clone()),
        ("token", status.token_file.clone().unwrap_or_else(|| "from PORTCULLIS_TOKEN".to_owned())),
        ("prompts", format!("{} open", status.open_asks)),
        ("events", format!("{} waiting", status.waiting_events)),
        ("listeners", format!("{} (pages, `up` in its terminal, `watch`, `/events`)", status.watchers)),
    ];
    if let Some(problem) = &status.listen_problem {
        rows.insert(2, ("", problem.clone()));
    }
    if let Some(notify) = &status.notify {
        rows.push(("notify", notified(notify)));
    }
    if let Some(dev) = &status.dev_sender {
        rows.push(("dev", format!("X-Sender: {dev} may send and answer")));
    }
    rows.extend(status.unasked_calls.iter().filter(|call| now().since(Moment(call.at)) < ALARM_SHOWN).map(|call| {
        let label = call.label.as_deref().unwrap_or(&call.session);
        let what = format!("{} {label} ran {} although a person had to be asked", clock(call.at), call.tool);
        ("ALARM", format!("{what}: `portcullis log --session={}`", shell_word(label)))
    }));
    if status.approvals.as_deref() == Some("device") {
        rows.push((
            "approvals",
            "device: prompts are answered with a reviewer's token, and not on this machine".to_owned(),
        ));
    }
    rows.extend(broken.iter().map(|problem| ("broken", problem.clone())));
    let mut text: String = rows.iter().map(|(name, value)| format!("{name:<10} {value}\n")).collect();
    if sessions.is_empty() {
        text.push_str("sessions   none attached\n");
    }
    let old: Vec<&str> =
        sessions.iter().filter(|session| session.has_old_hooks()).map(|session| session.label.as_str()).collect();
    if !old.is_empty() {
        let labels = old.join(", ");
        text.push_str(&format!(
            "hooks      of an older release in {labels}: run `portcullis install --hooks` there, then start it again\n"
        ));
    }
    let bare: Vec<&str> =
        sessions.iter().filter(|session| has_lost_hooks(session)).map(|it| it.label.as_str()).collect();
    if !bare.is_empty() {
        text.push_str(&format!(
            "hooks      in no settings any more for {}: no rule, prompt or stop holds there, unless it was started with \
             settings of its own; `portcullis install --hooks` puts them back\n",
            bare.join(", ")
        ));
    }
    let mut text = visible(&text);
    if !sessions.is_empty() {
        text.push_str(&format!("\n{}", table(sessions)));
        for session in sessions {
            let standing = session.standing_in_words().map(|words| format!("{}: {words}", session.label));
            let silent = silence(session, now()).map(|words| format!("{}: {words}", session.label));
            let lines = standing.into_iter().chain(silent);
            text.extend(lines.map(|words| format!("{}\n", Layout::of_stdout().wrapped(&one_line(&words), 2))));
        }
    }
    text
}

/// What is said of a session that should work and has told nothing for long: Claude Code has dialogs of which no hook tells.
fn silence(session: &SessionView, now: Moment) -> Option<String> {
    let silent = now.since(Moment(session.last_active));
    let should_tell = session.state == "attached" && session.connected_by == "hooks" && session.asks == 0;
    let is_working = session.activity.as_deref() == Some("working");
    (should_tell && is_working && session.last_active > 0 && silent >= SILENT).then(|| {
        format!(
            "working, and nothing was heard of it for {}: a long call, or a dialog at its terminal that no hook tells of",
            ago(silent)
        )
    })
}

/// Whether hooks that called earlier stand in none of the settings that Claude Code reads in the session's folder.
fn has_lost_hooks(session: &SessionView) -> bool {
    let Some(folder) = session.folder.as_deref().filter(|_| session.connected_by == "hooks") else { return false };
    session.hooks_version.is_some() && files_with_hooks(Path::new(folder), &environment).is_empty()
}

fn table(sessions: &[SessionView]) -> String {
    let mut table = Table::new(&["SESSION", "STATE", "MODE", "BY", "FOLDER"]);
    for session in sessions {
        table.row([
            Cell::painted(&session.label, Colour::Name),
            session::state(session),
            Cell::from(session.mode.as_deref().unwrap_or("-")),
            Cell::from(&session.connected_by),
            Cell::from(session.folder.as_deref().unwrap_or("-")),
        ]);
    }
    table.print()
}

/// `curl: 12 sent, 1 failed (at 15:16:07: curl: exit status: 7)`.
fn notified(notify: &NotifyView) -> String {
    let mut text = format!("{}: {} sent, {} failed", notify.command, notify.sent, notify.failed);
    if let (Some(why), Some(at)) = (&notify.last_failure, notify.failed_at) {
        text.push_str(&format!(" (at {}: {why})", clock(at)));
    }
    if notify.coalesced > 0 {
        text.push_str(&format!(", {} told together because too many came at once", notify.coalesced));
    }
    text
}

fn survives(durability: &str) -> &'static str {
    if durability == "power" { "a power cut" } else { "the death of the gate" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::{Label, Presence, Session, SessionAbout, SessionId};

    #[test]
    fn a_session_that_works_and_tells_nothing_for_long_is_named() {
        let mut about = SessionAbout::new(Label::new("api").unwrap(), "hooks");
        about.is_working = Some(true);
        let (since, label) = (Moment(1_000), about.label.clone());
        let (id, presence) = (SessionId::new(since, 1), Presence::Attached);
        let session =
            Session { id, label, about, presence, since, active: since, stopped: None, orders: vec![], outside: None };
        let view = |asks| SessionView::of(&session, 0, asks);
        let at = |minutes: u64| Moment(1_000 + minutes * 60_000);
        assert_eq!(silence(&view(0), at(4)), None);
        let words = silence(&view(0), at(7)).unwrap();
        assert!(words.starts_with("working, and nothing was heard of it for 7 min"), "{words}");
        assert_eq!(silence(&view(1), at(7)), None, "it waits for a person, which is said already");
    }
}
