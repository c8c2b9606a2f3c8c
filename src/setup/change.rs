//! What becomes of one file, shown before it is done.

use serde_json::{Value, json};

use super::consent;
use super::file::{Audience, UserFile};
use super::git::Tracking;
use crate::failure::Failure;

pub(crate) struct FileChange {
    pub(crate) file: UserFile,
    /// Who reads the file.
    pub(crate) audience: Audience,
    pub(crate) after: FutureText,
    /// What is put in or taken out, for people: `12 hooks`.
    pub(crate) counts: Vec<String>,
    /// Every text that we put in or take out. What else stands on a changed line is the user's, and not shown.
    pub(crate) ours: Vec<String>,
}

pub(crate) enum FutureText {
    Same,
    Text(String),
    /// The file was made for us and holds nothing else.
    Removed,
}

impl FileChange {
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self.after, FutureText::Same)
    }

    pub(crate) fn text_after(&self) -> &str {
        match &self.after {
            FutureText::Same => self.file.text(),
            FutureText::Text(text) => text,
            FutureText::Removed => "",
        }
    }

    fn verb(&self) -> &'static str {
        match &self.after {
            FutureText::Same => "unchanged",
            FutureText::Text(_) if self.file.text.is_none() => "new",
            FutureText::Text(_) => "changed",
            FutureText::Removed => "removed",
        }
    }

    fn diff(&self) -> String {
        let path = self.file.path.display().to_string();
        let (before, after) = match &self.after {
            FutureText::Removed => (path.as_str(), "/dev/null"),
            _ if self.file.text.is_none() => ("/dev/null", path.as_str()),
            _ => (path.as_str(), path.as_str()),
        };
        format!("--- {before}\n+++ {after}\n{}", consent::diff(self.file.text(), self.text_after(), &self.ours))
    }

    fn as_json(&self) -> Value {
        json!({
            "file": self.file.path, "change": self.verb(), "what": self.counts,
            "git": Tracking::of(&self.file.real).name(), "diff": self.diff(),
        })
    }
}

/// Every file that changes can be written: one that cannot is found before another one is changed.
pub(crate) fn look_writable<'a>(mut changes: impl Iterator<Item = &'a FileChange>) -> Result<(), Failure> {
    changes.try_for_each(|change| if change.is_nothing() { Ok(()) } else { change.file.look_writable() })
}

/// Every change in one line, `2 files: …`. `done` is what becomes of what is counted: nothing is said where it is put in.
pub(crate) fn summary<'a>(changes: impl Iterator<Item = &'a FileChange>, done: &str) -> String {
    let changes: Vec<&FileChange> = changes.filter(|change| !change.is_nothing()).collect();
    let files = if changes.len() == 1 { "1 file".to_owned() } else { format!("{} files", changes.len()) };
    let mut text = format!("{files}:\n");
    for change in changes {
        let tracking = Tracking::of(&change.file.real).in_words(change.audience);
        let mut about = vec![change.verb().to_owned()];
        about.extend(change.counts.iter().map(|count| format!("{count}{done}")));
        about.extend((!tracking.is_empty()).then(|| tracking.to_owned()));
        text.push_str(&format!("  {}: {}\n", change.file.in_words(), about.join(", ")));
    }
    text
}

pub(crate) fn diffs<'a>(changes: impl Iterator<Item = &'a FileChange>) -> String {
    let diffs: String = changes.filter(|change| !change.is_nothing()).map(FileChange::diff).collect();
    diffs.lines().map(|line| consent::unfolded(line) + "\n").collect()
}

pub(crate) fn as_json<'a>(changes: impl Iterator<Item = &'a FileChange>) -> Value {
    changes.filter(|change| !change.is_nothing()).map(FileChange::as_json).collect()
}
