//! What one command does, by its name and its words: the tables of the programs that are known.
//!
//! - [`command`], [`inert`]: what a command is called and what stands before it; those that never run what their words say
//! - [`reading`], [`readonly`]: those that change nothing: tables that let something pass
//! - [`runners`], [`environment`], [`erasing`]: what runs other programs or code, and what erases more than files
//! - [`git`], [`git_files`], [`git_places`], [`find_tests`], [`archives`], [`awk`], [`sed`], [`sed_words`], [`searching`], [`client`]:
//!   programs whose words need more than a table

pub(super) mod archives;
pub(super) mod awk;
pub(super) mod client;
pub(super) mod command;
pub(super) mod environment;
pub(super) mod erasing;
pub(super) mod find_tests;
pub(super) mod git;
pub(super) mod git_files;
pub(super) mod git_places;
pub(super) mod inert;
pub(super) mod reading;
pub(super) mod readonly;
pub(super) mod runners;
pub(super) mod searching;
pub(super) mod sed;
mod sed_words;
