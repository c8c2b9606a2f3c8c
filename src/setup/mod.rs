//! What `install`, `service`, `plugin` and `doctor` share: where things of other programs are, and how they are changed.

pub(crate) mod claude;
pub(crate) mod consent;
pub(crate) mod entry;
pub(crate) mod file;
pub(crate) mod hooks;
pub(crate) mod json;
pub(crate) mod place;
pub(crate) mod receipt;
