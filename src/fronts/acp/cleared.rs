//! Sessions that a person has cleared, so that one which is opened again goes on where it was.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::SessionId;

/// Which conversations a session of an editor has had: when the person clears it, the client goes on in another one, and the
/// editor keeps the id of the first. One small file for each session that was cleared.
pub(super) struct ClearedConversations {
    folder: PathBuf,
}

impl ClearedConversations {
    pub(super) fn new(state_dir: &Path) -> Self {
        Self { folder: state_dir.join("acp-cleared") }
    }

    /// The conversations of a session, oldest first. The last is the one that goes on.
    pub(super) fn of(&self, session: &SessionId) -> Vec<String> {
        let first = session.to_string();
        let kept = self.file(&first).and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        let later = kept.lines().filter(|line| is_id(line)).map(str::to_owned);
        std::iter::once(first).chain(later).collect()
    }

    /// The person has cleared the session, and the client goes on in this conversation.
    pub(super) fn note(&self, session: &SessionId, conversation: &str) -> std::io::Result<()> {
        use std::io::Write as _;
        let Some(file) = self.file(&session.to_string()).filter(|_| is_id(conversation)) else { return Ok(()) };
        std::fs::create_dir_all(&self.folder)?;
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
        writeln!(file, "{conversation}")
    }

    pub(super) fn forget(&self, session: &SessionId) {
        if let Some(file) = self.file(&session.to_string()) {
            drop(std::fs::remove_file(file));
        }
    }

    fn file(&self, session: &str) -> Option<PathBuf> {
        is_id(session).then(|| self.folder.join(session))
    }
}

/// Whether this is the id of a conversation, and no path.
fn is_id(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|letter| letter.is_ascii_hexdigit() || letter == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_was_cleared_is_all_its_conversations_and_no_path_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let cleared = ClearedConversations::new(folder.path());
        let ids = ["1", "2", "3"].map(|digit| format!("{}-{}", digit.repeat(8), "0".repeat(27)));
        let session = SessionId::new(ids[0].clone());
        assert_eq!(cleared.of(&session), ids[..1]);
        cleared.note(&session, &ids[1]).unwrap();
        cleared.note(&session, &ids[2]).unwrap();
        cleared.note(&session, "../../somewhere").unwrap();
        cleared.note(&SessionId::new("../x"), &ids[1]).unwrap();
        assert_eq!(cleared.of(&session), ids);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        cleared.forget(&session);
        assert_eq!(cleared.of(&session), ids[..1]);
    }
}
