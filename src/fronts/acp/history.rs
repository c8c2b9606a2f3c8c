//! A conversation that is opened again: what was said and done in it, from its transcript.

use std::path::{Path, PathBuf};

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{SessionId, SessionInfo, SessionUpdate};

use super::editor::Editor;
use super::updates::{Updates, chunk, said_by};
use crate::agents::claude::transcript::Replayed;
use crate::gate::sessions::transcripts;

/// Tells the editor the end of a conversation: as much as an editor shows without trouble. Line by line, at the pace of the
/// editor. `live` knows the calls that go on: the others have ended with their client.
pub(super) async fn replay(editor: &Editor, session: &SessionId, conversation: &str, folder: PathBuf, live: &Updates) {
    let Some(transcript) = transcripts().and_then(|transcripts| transcripts.replay(conversation)) else {
        return;
    };
    let mut updates = Updates::of_the_past(folder);
    for line in transcript {
        let told = match line {
            Replayed::Said { by: Some(by), text } => vec![said_by(&by, &text)],
            Replayed::Said { by: None, text } => vec![SessionUpdate::UserMessageChunk(chunk(&text))],
            Replayed::Message(message) => updates.of(&message),
        };
        for update in told {
            editor.update(session, update).await;
        }
    }
    updates.go_on_with(live);
    for update in updates.forget_calls() {
        editor.update(session, update).await;
    }
}

/// What the conversation is called.
pub(super) fn title(conversation: &str) -> Option<String> {
    transcripts()?.words(conversation)?.title
}

/// Whether there is such a conversation.
pub(super) fn is_kept(conversation: &str) -> bool {
    transcripts().is_some_and(|transcripts| transcripts.open(conversation).is_some())
}

/// The newest conversations, of this folder where one is named.
pub(super) async fn list(folder: Option<PathBuf>) -> Result<Vec<SessionInfo>, Error> {
    let listing = tokio::task::spawn_blocking(move || {
        let is_wanted = |place: &Path| folder.as_ref().is_none_or(|folder| folder == place);
        transcripts().map(|transcripts| transcripts.newest(&is_wanted)).unwrap_or_default()
    });
    let conversations = listing.await.map_err(Error::into_internal_error)?;
    let info = |conversation: portcullis_wire::stream::ConversationView| {
        let at = i64::try_from(conversation.at).ok().and_then(chrono::DateTime::from_timestamp_millis);
        SessionInfo::new(conversation.id, conversation.folder)
            .title(conversation.title)
            .updated_at(at.map(|at| at.to_rfc3339()))
    };
    Ok(conversations.into_iter().map(info).collect())
}

/// Removes the transcript of a conversation that the person no longer wants. None left is as good.
pub(super) async fn delete(session: SessionId) -> Result<(), Error> {
    let deleting = tokio::task::spawn_blocking(move || match transcripts() {
        Some(transcripts) => transcripts.delete(&session.to_string()),
        None => Ok(()),
    });
    let deleted = deleting.await.map_err(Error::into_internal_error)?;
    deleted.map_err(|error| Error::new(-32603, format!("deleting the conversation: {error}")))
}
