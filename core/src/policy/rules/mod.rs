//! Rules as people write them, what they mean for a call, and the ruling that comes out.
//!
//! - [`rule`], [`mod@line`], [`web`], [`decision`]: a rule and its patterns; decisions and modes
//! - [`matching`], [`certain`], [`below`]: whether a rule is about a call, in lines and in folders
//! - [`decide`], [`consent`], [`outside`]: the strictest of it all, and the outside guard
//! - [`risk`], [`remembered`], [`cover`]: what people are told and offered, and rules that say nothing new

pub(super) mod below;
mod certain;
mod consent;
pub(super) mod cover;
pub(super) mod decide;
pub(super) mod decision;
pub(super) mod line;
mod matching;
pub(super) mod outside;
pub(super) mod remembered;
pub(super) mod risk;
pub(super) mod rule;
mod web;
