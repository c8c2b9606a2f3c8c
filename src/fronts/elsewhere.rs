//! Conversations that are open in another process: two Claude Codes would write into one transcript, and neither knows what
//! the other said.

use std::path::{Path, PathBuf};
use std::time::Duration;

use portcullis_core::{shell_words, visible};
use portcullis_wire::api::SessionView;

use super::held::{HeldConversation, HeldConversations};
use crate::agents::claude::process::Beginning;
use crate::agents::claude::transcript::is_conversation;
use crate::config::Paths;
use crate::failure::Failure;
use crate::gate::client::Client;
use crate::gate::lock;
use crate::gate::sessions::transcripts;
use crate::processes;

/// A gate that does not answer knows nothing that could be waited for.
const GATE_TIMEOUT: Duration = Duration::from_secs(1);
/// An editor that starts its agent anew opens a conversation while the old one is still ending.
const END_TIMEOUT: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Keeps the conversation that a Claude Code is about to begin or to go on with for this process.
pub(super) async fn hold(paths: &Paths, from: &Beginning, folder: &Path) -> Result<Option<HeldConversation>, Failure> {
    match from {
        Beginning::New => Ok(None),
        Beginning::Named(conversation) => hold_new(paths, conversation),
        // Claude Code says itself what it makes of what is no id.
        Beginning::Resumed(conversation) if !is_conversation(conversation) => Ok(None),
        Beginning::Resumed(conversation) => hold_kept(paths, conversation).await.map(Some),
        Beginning::Continued => match latest(folder.to_owned()).await {
            Some(conversation) => hold_kept(paths, &conversation).await.map(Some),
            None => Ok(None),
        },
    }
}

/// Keeps a conversation for this process, to go on with it or to delete it. Refused where a living Claude Code of another
/// process has it, and does not leave soon.
pub(super) async fn hold_kept(paths: &Paths, conversation: &str) -> Result<HeldConversation, Failure> {
    let deadline = tokio::time::Instant::now() + END_TIMEOUT;
    loop {
        // What we start holds it by a lock, before the gate knows of it. What terminals have the gate knows.
        let held = take(paths, conversation)?;
        let holder = holder_of(paths, conversation).await;
        let refused = match (held, holder) {
            (Some(held), None) => return Ok(held),
            (_, Some(holder)) => open_in(&holder),
            (None, None) => open_elsewhere(),
        };
        if tokio::time::Instant::now() >= deadline {
            return Err(refused);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// The same for a conversation in which nothing was said: the gate is not asked, and nothing is waited for. One that cannot
/// be kept for this process begins all the same.
fn hold_new(paths: &Paths, conversation: &str) -> Result<Option<HeldConversation>, Failure> {
    match take(paths, conversation) {
        Ok(None) => Err(open_elsewhere()),
        Ok(held) => Ok(held),
        Err(error) => {
            tracing::warn!("{:#}", anyhow::Error::from(error));
            Ok(None)
        }
    }
}

fn take(paths: &Paths, conversation: &str) -> Result<Option<HeldConversation>, Failure> {
    paths.prepare()?;
    let taken = HeldConversations::new(&paths.state_dir).take(conversation);
    let hint = "look at the state folder: `portcullis doctor`";
    taken.map_err(|error| Failure::new("keeping the conversation for this process", hint).because(error))
}

/// The conversation that Claude Code goes on with when it is told to take the latest one in the folder.
async fn latest(folder: PathBuf) -> Option<String> {
    let looking = tokio::task::spawn_blocking(move || transcripts()?.latest_in(&folder));
    looking.await.ok().flatten()
}

/// The session that has the conversation, as the gate knows it. One whose process is gone has nothing any more.
async fn holder_of(paths: &Paths, conversation: &str) -> Option<SessionView> {
    lock::holder(&paths.lock_file)?;
    let gate = Client::new(paths);
    let asking = gate.get::<Vec<SessionView>>("/api/v1/sessions");
    let sessions = tokio::time::timeout(GATE_TIMEOUT, asking).await.ok()?.ok()?;
    let has_it = |session: &SessionView| {
        session.agent_session.as_deref() == Some(conversation)
            && session.state != "ended"
            && session.pid.is_some_and(processes::is_alive)
    };
    sessions.into_iter().find(has_it)
}

fn open_in(holder: &SessionView) -> Failure {
    let SessionView { label, connected_by, .. } = holder;
    let pid = holder.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
    let instead = match holder.driven {
        true => format!("close it there, or join it with `portcullis attach {}`", shell_words(&[label])),
        false => "end it there first".to_owned(),
    };
    let what = format!("the conversation is open in session {label} ({connected_by}{pid})");
    Failure::new(visible(&what), visible(&instead))
}

/// Of another process that the gate does not know.
fn open_elsewhere() -> Failure {
    Failure::new("the conversation is open in another window or terminal", "close it there")
}
