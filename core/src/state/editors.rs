//! Editors that a person has said are theirs, as the records tell it.

use super::State;
use crate::ids::Moment;

/// More editors than anyone has open. The oldest is forgotten first: its person says it again.
const MOST_EDITORS: usize = 64;

/// A process that answers prompts as its person, although the system does not tell who started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedEditor {
    /// Which process it is: no other one is ever named so.
    pub process: String,
    /// What it is, for people.
    pub what: String,
    pub by: String,
    pub at: Moment,
}

impl State {
    pub(super) fn trust_editor(&mut self, process: &str, what: &str, by: &str, at: Moment) {
        if self.trusted_editors.len() >= MOST_EDITORS {
            self.trusted_editors.pop_front();
        }
        let (process, what, by) = (process.to_owned(), what.to_owned(), by.to_owned());
        self.trusted_editors.push_back(TrustedEditor { process, what, by, at });
    }

    /// Whether a person has said that this process is their editor.
    pub fn is_trusted_editor(&self, process: &str) -> bool {
        self.trusted_editors.iter().any(|editor| editor.process == process)
    }

    /// Those that are remembered, oldest first.
    pub fn trusted_editors(&self) -> impl ExactSizeIterator<Item = &TrustedEditor> {
        self.trusted_editors.iter()
    }
}
