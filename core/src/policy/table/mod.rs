//! The documented semantics of rules, case by case. Most were also seen with the real CLI.

mod bash;
mod certainty;
mod commands;
mod elsewhere;
mod files;
mod guarded;
mod languages;
mod modes;
mod on_disk;
mod places;
mod tools;
mod zsh;

use super::*;

/// `Tool argument`: a command, a path, an address or a name, as an example in a rules file says it.
pub(super) fn call(written: &str) -> Call {
    let (tool, argument) = written.split_once(' ').unwrap_or((written, ""));
    let field = primary_field(tool).unwrap_or("value");
    let input = match argument {
        "" => Default::default(),
        argument => [(field.to_owned(), Given::Text(argument.to_owned()))].into(),
    };
    Call::new(tool, input)
}

pub(super) fn context() -> Context {
    Context::of("/home/ann/p", Some("/home/ann"))
}

pub(super) fn rule(text: &str) -> Rule {
    let (decision, pattern) = text.split_once(' ').unwrap();
    let source = RuleSource { origin: Origin::User, place: None, base: "/home/ann/.config/portcullis".into() };
    Rule::new(Decision::named(decision).unwrap(), pattern, source).unwrap()
}

pub(super) fn rules(written: &[&str]) -> RuleSet {
    RuleSet { rules: written.iter().map(|text| rule(text)).collect() }
}

pub(super) fn ruling(mode: Mode, rules: &RuleSet, call: Call) -> Judgement {
    let context = context();
    let call = call.followed(&context, |path| Some(path.to_owned()));
    decide(rules, mode, &context, &call)
}

/// Rules, one call and its decision in each row.
#[track_caller]
fn check(mode: Mode, cases: &[(&[&str], &str, Decision)]) {
    let mut wrong = vec![];
    for (written, text, expected) in cases {
        let ruling = ruling(mode, &rules(written), call(text));
        if ruling.decision != *expected {
            wrong.push(format!("{written:?} {text:?}: {:?}, not {expected:?} ({})", ruling.decision, ruling.why));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same rules for many calls.
#[track_caller]
fn check_each(mode: Mode, written: &[&str], cases: &[(&str, Decision)]) {
    let rows: Vec<(&[&str], &str, Decision)> =
        cases.iter().map(|(text, expected)| (written, *text, *expected)).collect();
    check(mode, &rows);
}
