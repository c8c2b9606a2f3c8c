//! Rules: may this call be made, must someone be asked, or is it denied?
//!
//! ```
//! use portcullis_core::policy::{Call, Decision, Given, Mode, Origin, Rule, RuleSet, RuleSource, Context, decide};
//!
//! let source = RuleSource { origin: Origin::User, place: None, base: "/home/ann/.config/portcullis".into() };
//! let rules = RuleSet { rules: vec![Rule::new(Decision::Allow, "Bash(npm test *)", source).unwrap()] };
//! let context = Context::of("/home/ann/project", Some("/home/ann"));
//!
//! // From JSON a call is made by `portcullis_wire::tools::call`. Whoever can look at a disk follows its links.
//! let input = [("command".to_owned(), Given::Text("npm test && rm -rf build".into()))].into();
//! let call = Call::new("Bash", input).followed(&context, |path| Some(path.to_owned()));
//!
//! let ruling = decide(&rules, Mode::Default, &context, &call);
//! assert_eq!(ruling.decision, Decision::Ask);
//! assert_eq!(ruling.why, "no rule allows `rm -rf build`");
//! ```
//!
//! The decision is the strictest of the mandatory asks (safety, and plan mode) and of what the rules say; where no rule speaks,
//! the mode does. `Judgement::is_asked_by_rule` is for auto mode, `suppress_always` and `quorum` for whoever asks, `risk`
//! for whoever is asked.
//!
//! The rooms, in the order in which they are read; each uses those before it, and of those behind it only a few modules:
//!
//! 1. `shell`: a line as its commands and words
//! 2. `words`: what a word may become, and patterns, paths and options as text
//! 3. `commands`: what one command does, by its name and its words
//! 4. `lines`: everything that a line may run
//! 5. `names`: names of files that stand in a line in another way than as plain words
//! 6. `languages`: programs with a language of their own
//! 7. `texts`: commands in texts that something else may run
//! 8. `files`: every file that a call may touch
//! 9. `critical`: what is asked for in every mode
//! 10. `rules`: rules, what they are about, and the ruling

mod commands;
mod critical;
mod files;
mod languages;
mod lines;
mod names;
#[cfg(test)]
mod padding;
#[cfg(test)]
mod properties;
mod rules;
mod shell;
#[cfg(test)]
mod table;
mod texts;
mod words;

pub use critical::safety::is_protected_name;
pub use files::call::{Call, Context, Disk, Given};
pub use rules::cover::covers;
pub use rules::decide::{Judgement, MandatoryAsk, PreparedCall, applies, decide, plainly_denied};
pub use rules::decision::{Decision, Mode, mode_in_words};
pub(crate) use rules::outside::OWN_SERVERS;
pub use rules::outside::{OWN_TOOLS, OutsidePolicy, outside_reason, passes_outside_guard};
pub use rules::remembered::remembered;
pub use rules::risk::{Reason, Risk, RiskLevel, risk, risk_in_words, writes};
pub use rules::rule::{Origin, Pattern, Rule, RuleSet, RuleSource, primary_field};
pub use shell::SessionShell;
pub use words::path::absolute;
pub use words::shapes::{is_any_depth, is_literal, is_part};
