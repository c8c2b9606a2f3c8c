//! What a rule approves, given to a real shell: it runs the program of the rule and nothing else.

use std::fs;
use std::process::Command;

use portcullis_core::policy::{Call, Context, Decision, Given, Mode, Origin, Rule, RuleSet, RuleSource, decide};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

fn is_approved(command: &str) -> bool {
    let source = RuleSource { origin: Origin::User, place: None, base: "/".to_owned() };
    let rules = RuleSet { rules: vec![Rule::new(Decision::Allow, "Bash(good *)", source).unwrap()] };
    let around = Context::of("/home/ann/project", Some("/home/ann"));
    let input = [("command".to_owned(), Given::Text(command.to_owned()))].into();
    let call = Call::new("Bash", input).followed(&around, |path| Some(path.to_owned()));
    decide(&rules, Mode::Default, &around, &call).decision == Decision::Allow
}

/// Runs the command where there is nothing but `good`, and says whatever else it tried.
fn did_else(command: &str) -> Option<String> {
    const AROUND: &str = "PATH=/nowhere TIMEFORMAT=\ngood() { :; }\ncommand_not_found_handle() { echo \"ran $*\"; }\n";
    let folder = tempfile::tempdir().unwrap();
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-c", &format!("{AROUND}{command}")]);
    let output = bash
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .current_dir(folder.path())
        .output()
        .unwrap();
    let made = fs::read_dir(folder.path()).unwrap().count();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    // To read a file that is not there was approved as well.
    let said: Vec<&str> = said.lines().filter(|line| !line.ends_with("No such file or directory")).collect();
    let said = said.join("\n");
    (made > 0 || !said.is_empty()).then(|| format!("{made} files; {said}"))
}

/// No letters that make a dangerous word: what slips through finds no program, in an empty folder.
fn any_command() -> impl Strategy<Value = String> {
    let parts = vec![
        "good",
        "good a",
        "good",
        "bad",
        "a",
        "b=c",
        "=bad",
        "'",
        "'",
        "\"",
        "\"",
        "'a b'",
        "\"a b\"",
        " ",
        " ",
        " ",
        "\t",
        ";",
        "&&",
        "||",
        "|",
        "|&",
        "&",
        "\n",
        "$",
        "$(bad)",
        "`bad`",
        "\\",
        "\\\n",
        "{bad,a}",
        "{",
        "}",
        "(",
        ")",
        "<(bad)",
        ">",
        "<",
        ">&",
        "2>&1",
        ">/dev/null",
        "<<a",
        "<<<a",
        "*",
        "?",
        "#",
        "!",
        "~",
        "%",
        "^",
        "@",
        "+",
        "-",
        ",",
        ":",
        ".",
        "=",
        "[",
        "]",
        "$'\\x62ad'",
        "$\"bad\"",
        "\r",
        "\u{a0}",
        "é",
        "if",
        "then",
        "fi",
        "time",
        "b() { bad; }",
    ];
    let more = prop::collection::vec(select(parts), 0..8).prop_map(|parts| parts.concat());
    prop_oneof![more.clone().prop_map(|more| format!("good {more}")), more]
}

#[test]
fn bash_runs_nothing_but_the_approved_program() {
    assert!(is_approved("good a 'b c'") && did_else("good a 'b c'").is_none());
    assert!(did_else("bad a").is_some() && did_else("good > made").is_some(), "what slips through is seen");
    // The same cases each time; another number looks at others.
    let seed = std::env::var("PORTCULLIS_SAMPLE").ok().and_then(|number| number.parse().ok()).unwrap_or(0_u8);
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let config = Config { cases: 3_000, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, random);
    let ran = runner.run(&any_command(), |command| {
        if is_approved(&command) {
            let did = did_else(&command);
            prop_assert!(did.is_none(), "{:?}: {}", command, did.unwrap_or_default());
        }
        Ok(())
    });
    ran.unwrap();
    for command in
        ["good", "good a", "good a; good b", "good a | good b && good", "good 'a;b' \"c|d\"", "good a^b %c @d"]
    {
        assert!(is_approved(command), "{command}");
        assert_eq!(did_else(command), None, "{command}");
    }
}
