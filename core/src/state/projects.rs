//! What holds for sessions in a folder, as the records tell it.

use std::path::Path;

use super::State;
use crate::ids::Moment;
use crate::policy::Mode;

/// The mode in which sessions start in a folder and below that name none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultMode {
    pub mode: Mode,
    pub by: String,
    pub at: Moment,
}

impl State {
    pub(super) fn set_default_mode(&mut self, folder: &str, mode: Option<Mode>, by: &str, at: Moment) {
        if let Some(mode) = mode {
            self.default_modes.insert(folder.to_owned(), DefaultMode { mode, by: by.to_owned(), at });
        } else {
            self.default_modes.remove(folder);
        }
    }

    /// Those that were set, by folder.
    pub fn default_modes(&self) -> impl ExactSizeIterator<Item = (&String, &DefaultMode)> {
        self.default_modes.iter()
    }

    /// What was set for exactly this folder.
    pub fn default_mode(&self, folder: &str) -> Option<&DefaultMode> {
        self.default_modes.get(folder)
    }

    /// What was set for this folder, or for the nearest one above it.
    pub fn nearest_default_mode(&self, folder: &str) -> Option<(&String, &DefaultMode)> {
        let mut above = Path::new(folder).ancestors().filter_map(Path::to_str);
        above.find_map(|folder| self.default_modes.get_key_value(folder))
    }
}
