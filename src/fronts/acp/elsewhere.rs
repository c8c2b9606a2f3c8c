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

/// A gate that does not answer knows nothing that could be waited for.
const GATE_TIMEOUT: Duration = Duration::from_secs(1);
/// An editor that starts its agent anew opens a conversation while the old one is still ending.
const END_TIMEOUT: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Refuses to go on with a conversation, or to delete one, that a living Claude Code of another process has, and does not leave soon.
pub(super) async fn refuse_if_open(paths: &Paths, conversation: &str) -> Result<(), Error> {
    let deadline = tokio::time::Instant::now() + END_TIMEOUT;
    loop {
        let Some(holder) = holder_of(paths, conversation).await else { return Ok(()) };
        if tokio::time::Instant::now() >= deadline {
            return Err(Error::new(-32603, in_words(&holder)));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
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
