//! One place in a text, before and after, so that it can be put back as it was.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Patch {
    pub(crate) put: String,
    /// Blank space, nothing, or something of ours.
    pub(crate) instead_of: String,
    /// Where it was put, in bytes. Missing in receipts of release 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<usize>,
    /// The digest of the whole text with it. Missing in receipts of release 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

impl Patch {
    /// Replaces a part of the text, and says how.
    pub(super) fn make(text: &mut String, start: usize, end: usize, put: &str) -> Self {
        let instead_of = text[start..end].to_owned();
        text.replace_range(start..end, put);
        Self { put: put.to_owned(), instead_of, at: Some(start), after: Some(digest(text)) }
    }

    /// The text as it was, to the byte, if this is the very text that was written.
    fn undo_exactly(&self, text: &str) -> Option<String> {
        let at = self.at.filter(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(&self.put)))?;
        self.after.as_ref().filter(|after| **after == digest(text))?;
        Some([&text[..at], &self.instead_of, &text[at + self.put.len()..]].concat())
    }

    /// The text as it was at this place, when what was put in is still there as it was put, once.
    pub(crate) fn undo(&self, text: &str) -> Option<String> {
        self.undo_exactly(text).or_else(|| {
            let at = text.find(&self.put).filter(|at| text.rfind(&self.put) == Some(*at))?;
            Some([&text[..at], &self.instead_of, &text[at + self.put.len()..]].concat())
        })
    }
}

/// The text before all of the patches, if nobody else has changed it since, nor between them.
pub(crate) fn undo_all_exactly(patches: &[Patch], text: &str) -> Option<String> {
    let undone = patches.iter().rev().try_fold(text.to_owned(), |text, patch| patch.undo_exactly(&text));
    undone.filter(|_| !patches.is_empty())
}

/// The text without what the patches put in, each wherever it stands by now.
pub(crate) fn undo_all(patches: &[Patch], text: &str) -> Option<String> {
    let undone = patches.iter().rev().try_fold(text.to_owned(), |text, patch| patch.undo(&text));
    undone.filter(|_| !patches.is_empty())
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_was_put_in_is_found_again_although_the_rest_has_changed() {
        let mut text = "{\n}".to_owned();
        let patch = Patch::make(&mut text, 2, 2, "  \"a\": 1\n");
        assert_eq!(text, "{\n  \"a\": 1\n}");
        assert_eq!(patch.undo(&text).unwrap(), "{\n}");
        assert_eq!(patch.undo("{\n  \"a\": 1\n}\n// mine").unwrap(), "{\n}\n// mine");
        assert_eq!(patch.undo("{\n  \"a\": 2\n}"), None);
        assert_eq!(patch.undo("{  \"a\": 1\n  \"a\": 1\n}"), None, "which of the two?");
    }

    proptest! {
        #[test]
        fn any_replacement_can_be_undone(start in "[a-cä\n ]{0,6}", old in "[a-cä\n ]{0,4}", put in "[a-cä\n ]{0,6}", end in "[a-cä\n ]{0,6}") {
            let before = [start.as_str(), &old, &end].concat();
            let mut after = before.clone();
            let patch = Patch::make(&mut after, start.len(), start.len() + old.len(), &put);
            prop_assert_eq!(undo_all_exactly(&[patch], &after), Some(before));
        }
    }
}
