//! Lines that are made long or deep so that nobody gets to the end of judging them.

use super::table::{call, rules, ruling};
use super::*;

/// What a line is filled up with, again and again.
const FILLINGS: [&str; 48] = [
    "a=(",
    "a=($(",
    "a=(\"$(",
    "a=(<(",
    "a=(`",
    "a=(${b:-$(",
    "a[=(",
    "a+=(",
    "a=(b ",
    "$(",
    "${",
    "${a:-",
    "$((",
    "((",
    "(",
    "{ ",
    "{",
    "<(",
    ">(",
    "\"$(",
    "\"${",
    "`",
    "[[ ",
    "[ ",
    "@(",
    "+(",
    "!(",
    "env ",
    "git ",
    "sudo ",
    "eval ",
    "bash -c ",
    "xargs ",
    "find . -exec ",
    "for i in ",
    "cd a;",
    "a\n",
    "rm\n",
    "case a in ",
    "if ",
    "while ",
    "f() ",
    "<<a ",
    "\\",
    "'",
    "\"",
    "=(",
    "!",
];

fn filled(filling: &str) -> String {
    format!("Bash rm -f x\n{}", filling.repeat(9_900 / filling.len()))
}

#[test]
fn a_denial_that_stands_in_a_line_takes_one_reading_whatever_follows() {
    let rules = rules(&["allow Bash", "deny Bash(rm *)"]);
    for filling in FILLINGS {
        let denied = plainly_denied(&rules, &Context::of("/p", None), &call(&filled(filling)));
        assert_eq!(denied.map(|denied| denied.decision), Some(Decision::Deny), "{filling}");
    }
}

#[test]
fn lists_in_lists_are_unreadable_and_cost_no_more_than_their_length() {
    let rules = rules(&["allow Bash", "deny Bash(rm *)"]);
    for filling in ["a=(", "a+=(", "a=(b=(c "] {
        assert_eq!(
            ruling(Mode::BypassPermissions, &rules, call(&filled(filling))).decision,
            Decision::Deny,
            "{filling}"
        );
        let without = call(&format!("Bash {}", filling.repeat(1000)));
        let asked = ruling(Mode::BypassPermissions, &rules, without);
        assert!(matches!(asked.mandatory_asks[..], [MandatoryAsk::Unreadable(_), ..]), "{asked:?}");
    }
    // Bash refuses the first line and runs the second.
    for line in ["Bash a=(b=(c))\nrm -f x", "Bash a=(b=(\"c\") d)\necho\nrm -f x"] {
        assert_eq!(ruling(Mode::Default, &rules, call(line)).decision, Decision::Deny, "{line}");
    }
    let closed = format!("Bash rm -f x\n{}ls{}", "a=($(".repeat(24), "))".repeat(24));
    assert_eq!(ruling(Mode::Default, &rules, call(&closed)).decision, Decision::Deny);
    let one = ruling(Mode::Default, &rules, call("Bash a=(x y); echo ${a[0]}"));
    assert!(!one.mandatory_asks.iter().any(|ask| matches!(ask, MandatoryAsk::Unreadable(_))), "{one:?}");
}

#[test]
fn a_prefix_of_one_word_may_be_meant_where_the_program_is_not_certain() {
    for written in ["deny Bash(rm *)", "deny Bash(rm:*)"] {
        let asked = ruling(Mode::BypassPermissions, &rules(&[written]), call("Bash /bin/r? -r notes"));
        assert_eq!(asked.decision, Decision::Ask, "{written}");
    }
}
