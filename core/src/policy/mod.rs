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
//! The decision is the strictest of the mandatory_asks (safety, and plan mode) and of what the rules say; where no rule speaks,
//! the mode does. `Judgement::is_asked_by_rule` is for auto mode, `suppress_always` and `quorum` for whoever asks, `risk`
//! for whoever is asked.

mod access;
mod archives;
mod awk;
mod below;
mod call;
mod candidates;
mod certain;
mod changing;
mod cleaning;
mod client;
mod code;
mod command;
mod conditions;
mod consent;
mod copying;
mod cover;
mod critical_places;
mod cutting;
mod decide;
mod decision;
mod dialects;
mod environment;
mod erasing;
mod feeding;
mod filling;
mod filters;
mod find_tests;
mod folders;
mod functions;
mod git;
mod git_files;
mod glob;
mod gluing;
mod handed_removal;
mod handing;
mod implied;
mod in_texts;
mod inert;
mod languages;
mod leaving;
mod leaving_out;
mod line;
mod linking;
mod matching;
mod messages;
mod named;
mod numbers;
mod options;
mod origins;
mod outside;
#[cfg(test)]
mod padding;
mod path;
mod perhaps;
mod places;
mod pouring;
mod printing;
mod processes;
#[cfg(test)]
mod properties;
mod reading;
mod readonly;
mod receivers;
mod reckoning;
mod remembered;
mod removal;
mod removers;
mod risk;
mod rule;
mod runners;
mod safety;
mod saving;
mod searching;
mod sed;
mod sed_words;
mod seen;
mod set_by_read;
mod setting;
mod shapes;
mod shell;
mod shell_options;
mod shifting;
mod skipping;
mod sought;
mod starts;
mod suspects;
#[cfg(test)]
mod table;
mod telling;
mod templates;
mod through_links;
mod tokens;
mod touching;
mod uncertain;
mod unknown_names;
mod values;
mod web;
mod written;

pub use call::{Call, Context, Disk, Given};
pub use cover::covers;
pub use decide::{Judgement, MandatoryAsk, PreparedCall, applies, decide, plainly_denied};
pub use decision::{Decision, Mode, mode_in_words};
pub use outside::{OWN_TOOLS, OutsidePolicy, outside_reason, passes_outside_guard};
pub use path::absolute;
pub use remembered::remembered;
pub use risk::{Reason, Risk, RiskLevel, risk, risk_in_words, writes};
pub use rule::{Origin, Pattern, Rule, RuleSet, RuleSource, primary_field};
pub use safety::is_protected_name;
pub use shapes::{is_any_depth, is_literal, is_part};
