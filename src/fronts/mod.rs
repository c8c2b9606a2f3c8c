//! The person beside a session that we drive.

pub(crate) mod terminal;
