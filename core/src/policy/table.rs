//! The documented semantics of rules, case by case.

use super::*;

/// `Tool argument`: a command, a path, an address or a name, as an example in a rules file says it; or
/// `Tool {field: value, …}`.
pub(super) fn call(written: &str) -> Call {
    let (tool, argument) = written.split_once(' ').unwrap_or((written, ""));
    let field = match tool {
        "Bash" => "command",
        "Read" | "Edit" | "Write" | "MultiEdit" => "file_path",
        "NotebookEdit" | "NotebookRead" => "notebook_path",
        "Glob" | "Grep" | "LS" => "path",
        "WebFetch" => "url",
        "Agent" | "Task" => "subagent_type",
        "Skill" => "skill",
        _ => "value",
    };
    let input = match argument {
        "" => Default::default(),
        argument => [(field.to_owned(), Given::Text(argument.to_owned()))].into(),
    };
    Call::new(tool, input)
}

pub(super) fn around() -> Surroundings {
    Surroundings::of("/home/ann/p", Some("/home/ann"))
}

pub(super) fn rules(written: &[&str]) -> RuleSet {
    let rule = |text: &&str| {
        let (decision, pattern) = text.split_once(' ').unwrap();
        let source = Source { origin: Origin::User, place: None, base: "/home/ann/.config/portcullis".into() };
        Rule::new(Decision::named(decision).unwrap(), pattern, source).unwrap()
    };
    RuleSet { rules: written.iter().map(rule).collect() }
}

pub(super) fn ruling(mode: Mode, written: &[&str], call: Call) -> Ruling {
    let around = around();
    let call = call.followed(&around, |path| Some(path.to_owned()));
    decide(&rules(written), mode, &around, &call)
}

/// Each case: mode (or nothing for the default), rules, call, decision.
#[track_caller]
fn check(mode: Mode, cases: &[(&[&str], &str, Decision)]) {
    let mut wrong = vec![];
    for (written, text, expected) in cases {
        let ruling = ruling(mode, written, call(text));
        if ruling.decision != *expected {
            wrong.push(format!("{written:?} {text:?}: {:?}, not {expected:?} ({})", ruling.decision, ruling.why));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

use Decision::{Allow, Ask, Deny};

#[test]
fn default_mode_lets_reading_pass_and_asks_for_the_rest() {
    check(
        Mode::Default,
        &[
            (&[], "Read a.rs", Allow),
            (&[], "Read /etc/passwd", Ask),
            (&[], "Glob", Allow),
            (&[], "Bash ls -la", Allow),
            (&[], "Bash npm test", Ask),
            (&["allow Bash(npm test *)"], "Bash npm test", Allow),
            (&["allow Bash(npm test *)"], "Bash npm test -- x", Allow),
            (&["allow Bash(npm test *)"], "Bash npm test && rm -rf x", Ask),
            (&["allow Bash(npm test *)", "deny Bash(rm *)"], "Bash npm test && (rm -rf x)", Deny),
            (&["allow Edit(src/**)"], "Write src/a.rs", Allow),
            (&["allow Edit(src/**)"], "Write other/a.rs", Ask),
        ],
    );
}
