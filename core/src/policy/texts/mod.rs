//! Commands in texts that something else may run: code, scripts for other shells, inputs, and what a shell reckons with.
//! Where nobody can read such a text in the line, it may be any.
//!
//! - [`receivers`], [`feeding`], [`written`]: which words, inputs and files are run
//! - [`code`], [`dialects`], [`in_texts`], [`gluing`], [`uncertain`]: the commands in such texts, and programs without a certain
//!   name
//! - [`reckoning`], [`numbers`], [`set_by_read`]: values that a shell reads once more

mod code;
pub(super) mod dialects;
pub(super) mod feeding;
mod gluing;
mod in_texts;
mod numbers;
pub(super) mod receivers;
pub(super) mod reckoning;
pub(super) mod set_by_read;
mod uncertain;
mod written;
pub(crate) mod zsh_words;
