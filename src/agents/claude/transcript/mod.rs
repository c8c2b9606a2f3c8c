//! The transcripts that Claude Code keeps of its conversations: found by the conversation's id, and read, never written.
//!
//! Only a regular file of the owner's, in a folder of Claude Code's own, counts as one. What a hook or a session says
//! of a path is not used: a name that somebody chose must not make us show another file.

mod follow;
mod lines;
mod list;
mod origin;
mod pages;
mod replay;

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::entries::Entries;
pub(super) use follow::{Followed, Follower};
pub(crate) use list::{ConversationPlace, NewestConversations};
pub(super) use origin::{PromptOrigin, SubmittedPrompt};
pub(crate) use replay::Replayed;

/// Longer names are no ids of conversations.
const LONGEST_ID: usize = 64;

/// The folder in which Claude Code keeps the transcripts, a folder for each project.
#[derive(Clone, Debug)]
pub(crate) struct Transcripts {
    projects: PathBuf,
}

impl Transcripts {
    /// `claude` is Claude Code's own folder.
    pub(crate) fn in_folder(claude: &Path) -> Self {
        Self { projects: claude.join("projects") }
    }

    /// The transcript of the conversation with this id; none where there is none that counts.
    pub(crate) fn open(&self, conversation: &str) -> Option<File> {
        let is_id = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-';
        if conversation.is_empty() || conversation.len() > LONGEST_ID || !conversation.bytes().all(is_id) {
            return None;
        }
        let name = format!("{conversation}.jsonl");
        let folders = std::fs::read_dir(&self.projects).ok()?.filter_map(Result::ok);
        folders
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .find_map(|entry| open_own(&entry.path().join(&name)))
    }
}

/// Whether this is the id of a conversation that can be continued, and no path. Subagents have other ids.
pub(crate) fn is_conversation(id: &str) -> bool {
    id.len() == 36 && id.bytes().all(|letter| letter.is_ascii_hexdigit() || letter == b'-')
}

/// Opens a regular file of the owner's. A link is not followed, and a pipe does not make us wait.
fn open_own(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let about = file.metadata().ok()?;
    let is_ours = about.uid() == rustix::process::geteuid().as_raw();
    (is_ours && about.is_file()).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_in_claude_codes_own_folder_is_a_transcript() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("projects/-home-ann-api");
        std::fs::create_dir_all(&project).unwrap();
        std::fs::write(project.join("a-1.jsonl"), "{}").unwrap();
        std::fs::write(home.path().join("secret.jsonl"), "secret").unwrap();
        std::os::unix::fs::symlink(home.path().join("secret.jsonl"), project.join("b-2.jsonl")).unwrap();
        std::os::unix::fs::symlink(home.path(), home.path().join("projects/linked")).unwrap();
        std::fs::create_dir(project.join("c-3.jsonl")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(project.join("d-4.jsonl")).status().unwrap().success());
        let transcripts = Transcripts::in_folder(home.path());
        assert!(transcripts.open("a-1").is_some());
        for wrong in ["b-2", "c-3", "d-4", "secret", "../../secret", "", "a-1.jsonl", "nowhere", &"a".repeat(65)] {
            assert!(transcripts.open(wrong).is_none(), "{wrong}");
        }
    }
}
