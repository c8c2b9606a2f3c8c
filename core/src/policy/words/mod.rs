//! Words, and what they may become. Nothing here knows what a program does with them, and nothing looks at a disk.
//!
//! - [`values`], [`setting`], [`cutting`]: what the names of a line are set to, and what a word with such a name may become
//! - [`shapes`], [`glob`]: texts of which a part is not known, and patterns
//! - [`path`], [`processes`]: paths as text, and those that lead through `/proc`
//! - [`candidates`], [`options`]: which names of files a word may hold, and how options are written

pub(super) mod candidates;
mod cutting;
pub(super) mod glob;
pub(super) mod options;
pub(super) mod path;
pub(super) mod processes;
mod setting;
pub(super) mod shapes;
pub(super) mod values;
