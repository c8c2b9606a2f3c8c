//! A conversation that is opened again: what was said and done in it, from its transcript.

use std::path::{Path, PathBuf};

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{ListSessionsResponse, SessionId, SessionInfo, SessionUpdate};

use super::cleared::ClearedConversations;
use super::editor::Editor;
use super::updates::{Updates, chunk, said_by};
use crate::agents::claude::editor::left_as_kept;
use crate::agents::claude::process::Beginning;
use crate::agents::claude::transcript::{ConversationPlace, NewestConversations, Replayed};
use crate::gate::sessions::transcripts;

/// Tells the editor the end of a conversation: as much as an editor shows without trouble. Line by line, at the pace of the
/// editor. `live` knows the calls that go on: the others have ended with their client.
pub(super) async fn replay(
    editor: &Editor,
    session: &SessionId,
    conversations: &[String],
    folder: PathBuf,
    live: &Updates,
) {
    let Some(transcripts) = transcripts() else { return };
    let mut updates = Updates::of_the_past(folder);
    // One after another: each ended where the person cleared it.
    for line in transcripts.replay(conversations) {
        let told = match line {
            Replayed::Said { by: Some(by), text } => vec![said_by(&by, &text)],
            Replayed::Said { by: None, text } => vec![SessionUpdate::UserMessageChunk(chunk(&text))],
            Replayed::Message(mut message) => {
                message.settle_results(|_, result| left_as_kept(result.as_str()?));
                updates.of(&message)
            }
        };
        for update in told {
            editor.update(session, update).await;
        }
    }
    updates.go_on_with(live);
    for update in updates.client_ends() {
        editor.update(session, update).await;
    }
}

/// What the conversation is called.
pub(super) fn title(conversation: &str) -> Option<String> {
    transcripts()?.words(conversation)?.title
}

/// How a client goes on with a conversation. It keeps one from its first line on, whether or not anything was answered: one
/// in which nothing was said begins under its id.
pub(super) fn gone_on_with(conversation: String) -> Beginning {
    match is_kept(&conversation) {
        true => Beginning::Resumed(conversation),
        false => Beginning::Named(conversation),
    }
}

/// Whether there is such a conversation.
pub(super) fn is_kept(conversation: &str) -> bool {
    transcripts().is_some_and(|transcripts| transcripts.open(conversation).is_some())
}

/// The newest conversations, of this folder where one is named; with a cursor, those that follow.
pub(super) async fn list(folder: Option<PathBuf>, cursor: Option<String>) -> Result<ListSessionsResponse, Error> {
    let no_cursor = || Error::new(-32602, "this cursor was not given here");
    let after = cursor.map(|cursor| place(&cursor).ok_or_else(no_cursor)).transpose()?;
    let listing = tokio::task::spawn_blocking(move || {
        // A conversation knows its folder without the links that lead there.
        let folder = folder.map(|folder| folder.canonicalize().unwrap_or(folder));
        let is_wanted = |place: &Path| folder.as_ref().is_none_or(|folder| folder == place);
        transcripts().map(|transcripts| transcripts.newest(&is_wanted, after.as_ref())).unwrap_or_default()
    });
    let NewestConversations { conversations, next } = listing.await.map_err(Error::into_internal_error)?;
    let next = next.map(|(at, id)| format!("{}:{id}", at.0));
    let info = |conversation: portcullis_wire::stream::ConversationView| {
        let at = i64::try_from(conversation.at).ok().and_then(chrono::DateTime::from_timestamp_millis);
        SessionInfo::new(conversation.id, conversation.folder)
            .title(conversation.title)
            .updated_at(at.map(|at| at.to_rfc3339()))
    };
    Ok(ListSessionsResponse::new(conversations.into_iter().map(info).collect::<Vec<_>>()).next_cursor(next))
}

fn place(cursor: &str) -> Option<ConversationPlace> {
    let (at, id) = cursor.split_once(':')?;
    Some((std::cmp::Reverse(at.parse().ok()?), id.to_owned()))
}

/// Removes the transcript of a conversation that the person no longer wants. None left is as good. What came after it was
/// cleared is listed as a session of its own, and stays.
pub(super) async fn delete(cleared: ClearedConversations, session: SessionId) -> Result<(), Error> {
    let deleting = tokio::task::spawn_blocking(move || {
        let Some(transcripts) = transcripts() else { return Ok(()) };
        transcripts.delete(&session.to_string())?;
        cleared.forget(&session);
        Ok(())
    });
    let deleted = deleting.await.map_err(Error::into_internal_error)?;
    deleted.map_err(|error: std::io::Error| Error::new(-32603, format!("deleting the conversation: {error}")))
}
