//! Conversations that are open in another process: two Claude Codes would write into one transcript, and neither knows what
//! the other said.

use std::time::Duration;

use agent_client_protocol::Error;
use portcullis_core::visible;
use portcullis_wire::api::SessionView;

use crate::config::Paths;
use crate::gate::client::Client;
use crate::gate::lock;
use crate::processes;

use super::held::{HeldConversation, HeldConversations};

/// A gate that does not answer knows nothing that could be waited for.
const GATE_TIMEOUT: Duration = Duration::from_secs(1);
/// An editor that starts its agent anew opens a conversation while the old one is still ending.
const END_TIMEOUT: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Of another editor, of which the gate does not know.
const IN_ANOTHER_WINDOW: &str = "the conversation is open in another window; close it there";

/// Keeps a conversation for this process, to go on with it or to delete it. Refused where a living Claude Code of another
/// process has it, and does not leave soon.
pub(super) async fn hold(paths: &Paths, conversation: &str) -> Result<HeldConversation, Error> {
    let deadline = tokio::time::Instant::now() + END_TIMEOUT;
    loop {
        // Other editors hold it by a lock, before the gate knows of them. What `run` and terminals have the gate knows.
        let held = take(paths, conversation)?;
        let holder = holder_of(paths, conversation).await;
        let why = match (held, holder) {
            (Some(held), None) => return Ok(held),
            (_, Some(holder)) => in_words(&holder),
            (None, None) => IN_ANOTHER_WINDOW.to_owned(),
        };
        if tokio::time::Instant::now() >= deadline {
            return Err(Error::new(-32603, why));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// The same for a conversation in which nothing was said: the gate is not asked, and nothing is waited for. One that cannot
/// be kept for this process begins all the same.
pub(super) fn hold_new(paths: &Paths, conversation: &str) -> Result<Option<HeldConversation>, Error> {
    match take(paths, conversation) {
        Ok(None) => Err(Error::new(-32603, IN_ANOTHER_WINDOW)),
        Ok(held) => Ok(held),
        Err(error) => {
            tracing::warn!("{}", error.message);
            Ok(None)
        }
    }
}

fn take(paths: &Paths, conversation: &str) -> Result<Option<HeldConversation>, Error> {
    let failed = |why: String| Error::new(-32603, format!("keeping the conversation for this window: {why}"));
    paths.prepare().map_err(|error| failed(error.to_string()))?;
    HeldConversations::new(&paths.state_dir).take(conversation).map_err(|error| failed(error.to_string()))
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

fn in_words(holder: &SessionView) -> String {
    let SessionView { label, connected_by, .. } = holder;
    let pid = holder.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
    let instead = match holder.driven {
        true => format!("; close it there, or join it with `portcullis attach {label}`"),
        false => "; end it there first".to_owned(),
    };
    visible(&format!("the conversation is open in session {label} ({connected_by}{pid}){instead}"))
}
