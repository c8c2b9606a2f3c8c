//! Sessions that a person has cleared, so that one which is opened again goes on where it was.

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_client_protocol::v1::schema::SessionId;

use crate::agents::claude::transcript::is_conversation;
use crate::files::make_folder;

/// The client writes a conversation down only once something is said in it.
const NOT_WRITTEN_YET: Duration = Duration::from_secs(24 * 3600);

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
        let kept = self.file(&first).and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        let later = kept.lines().filter(|line| is_conversation(line)).map(str::to_owned);
        std::iter::once(first).chain(later).collect()
    }

    /// The person has cleared the session, and the client goes on in this conversation.
    pub(super) fn note(&self, session: &SessionId, conversation: &str) -> std::io::Result<()> {
        use std::io::Write as _;
        let Some(file) = self.file(&session.to_string()).filter(|_| is_conversation(conversation)) else {
            return Ok(());
        };
        make_folder(&self.folder)?;
        let mut file = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(file)?;
        writeln!(file, "{conversation}")
    }

    pub(super) fn forget(&self, session: &SessionId) {
        if let Some(file) = self.file(&session.to_string()) {
            drop(fs::remove_file(file));
        }
    }

    /// Forgets sessions of which the client has kept nothing: their conversations were deleted, here or there.
    pub(super) fn forget_gone(&self, is_kept: impl Fn(&str) -> bool) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok) {
            let age = entry.metadata().and_then(|about| about.modified()).ok().and_then(|at| at.elapsed().ok());
            let name = entry.file_name();
            let session = name.to_str().filter(|name| is_conversation(name)).map(SessionId::new);
            if let Some(session) = session.filter(|_| age.is_some_and(|age| age > NOT_WRITTEN_YET))
                && !self.of(&session).iter().any(|conversation| is_kept(conversation))
            {
                self.forget(&session);
            }
        }
    }

    fn file(&self, session: &str) -> Option<PathBuf> {
        is_conversation(session).then(|| self.folder.join(session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

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
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&cleared.folder), mode(&cleared.folder.join(&ids[0]))), (0o700, 0o600));
        cleared.forget(&session);
        assert_eq!(cleared.of(&session), ids[..1]);
    }

    #[test]
    fn sessions_whose_conversations_are_gone_are_forgotten_but_for_new_ones() {
        let folder = tempfile::tempdir().unwrap();
        let cleared = ClearedConversations::new(folder.path());
        let ids = ["1", "2", "3", "4"].map(|digit| format!("{}-{}", digit.repeat(8), "0".repeat(27)));
        for session in &ids[..3] {
            cleared.note(&SessionId::new(session.clone()), &ids[3]).unwrap();
        }
        for old in &ids[..2] {
            let file = fs::File::options().append(true).open(cleared.folder.join(old)).unwrap();
            file.set_modified(std::time::SystemTime::now() - 2 * NOT_WRITTEN_YET).unwrap();
        }
        cleared.forget_gone(|conversation| conversation == ids[0]);
        let is_known = |id: &String| cleared.folder.join(id).exists();
        assert_eq!(ids[..3].iter().map(is_known).collect::<Vec<_>>(), [true, false, true]);
        cleared.forget_gone(|conversation| conversation == ids[3]);
        assert!(is_known(&ids[0]), "what came after is there");
    }
}
