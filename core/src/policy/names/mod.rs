//! Names of files, where a line does not say them as plain words: which commands print, hand on or make up names, and
//! which words are no names at all.
//!
//! - [`printing`], [`places`], [`sought`]: commands that print names
//! - [`handing`], [`filters`], [`origins`]: how names get from one command to another, and what becomes of them there
//! - [`implied`], [`saving`], [`templates`]: names that programs choose or put together themselves
//! - [`leaving_out`], [`messages`]: words that are patterns or texts for people
//! - [`changing`]: whether a file is changed before the line reads it

pub(super) mod changing;
pub(super) mod filters;
pub(super) mod handing;
pub(super) mod implied;
pub(super) mod leaving_out;
pub(super) mod messages;
pub(super) mod origins;
pub(super) mod places;
pub(super) mod printing;
pub(super) mod saving;
pub(super) mod sought;
pub(super) mod templates;
