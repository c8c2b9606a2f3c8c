//! Which files a call may touch. The disk itself is handed in with the call.
//!
//! - [`call`]: a call, the place it is made in, and what was found on the disk for it
//! - [`access`], [`named`], [`copying`]: which files a call says that it reads and writes
//! - [`touching`], [`unknown_names`], [`seen`]: every file that its words might name
//! - [`folders`], [`leaving`], [`linking`]: the folders a line may run in, and the links that it makes
//! - [`skipping`]: what searches pass over

pub(super) mod access;
pub(super) mod call;
mod copying;
pub(super) mod folders;
pub(super) mod leaving;
pub(super) mod linking;
pub(super) mod named;
mod seen;
pub(super) mod skipping;
pub(super) mod touching;
mod unknown_names;
