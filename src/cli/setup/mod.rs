//! What `install`, `service`, `plugin` and `doctor` share: where things of other programs are, and how they are changed.

pub(super) mod claude;
pub(super) mod consent;
pub(super) mod entry;
pub(super) mod file;
pub(super) mod hooks;
pub(super) mod json;
pub(super) mod place;
pub(super) mod receipt;
