//! What a whole line may run: its own commands, those that they start, and those in texts. What is found here is what all
//! rules are held against.
//!
//! - [`suspects`], [`starts`]: every command that a line may run, and where in the words of one another begins
//! - [`filling`], [`tokens`], [`perhaps`]: words with their values in place, and whether a strict rule might mean one of them
//! - [`conditions`], [`functions`], [`shell_options`], [`shifting`]: what gives the rest of a line another meaning
//! - [`telling`]: what is done on another machine, and not here

mod conditions;
mod filling;
pub(super) mod functions;
pub(super) mod perhaps;
mod shell_options;
mod shifting;
pub(super) mod starts;
pub(super) mod suspects;
mod telling;
mod tokens;
