//! What stands in a rules file: its mistakes in words, its examples, and any text at all.

use expect_test::expect;
use proptest::prelude::*;

use super::*;

/// The error as a person reads it, for each file.
fn refusals(files: &[&str]) -> String {
    let refusal = |text: &&str| {
        let path = Path::new("rules.toml");
        let read = RulesFile::read(path, Some(text), Origin::User, "/base", Some(Path::new("/home/ann")));
        let error = read.expect_err(text);
        format!("{}\n  hint: {}\n", in_words(&error), error.hint().unwrap_or("none"))
    };
    files.iter().map(refusal).collect()
}

#[test]
fn a_mistake_is_named_with_its_line_and_what_to_do() {
    let shown = refusals(&[
        "[[rule]]\nalow = \"Bash\"\n",
        "[[rule]]\nwhy = \"x\"\n",
        "[[rule]]\nallow = \"Bash\"\ndeny = \"Read\"\n",
        "[[rule]]\nallow = \"Bash(x\"\n",
        "[[rule]]\nallow = 1\n",
        "[rule]\nallow = \"Bash\"\n",
        "[[rules]]\nallow = \"Bash\"\n",
        "rule = [1]\n",
        "[[rule]]\nallow = \"Bash\"\nmatch = \"x\"\n",
        "[[rule]]\nallow = \"Bash\"\nmatch = [1]\n",
        "[[rule]]\nallow = \"Bash\"\nquorum = 2\n",
        "[[rule]]\nask = \"Bash\"\nquorum = 1\n",
        "\n\n[[rule]]\nallow = \"Bash(npm test *)\"\nmatch = [\n  \"npm test\",\n  \"npm run\",\n]\nno_match = [\"npm test x\"]\n",
        "[[rule]\n",
    ]);
    expect![[r#"
        reading rules from rules.toml: line 2: unknown key "alow"
          hint: did you mean allow?
        reading rules from rules.toml: line 1: the rule decides nothing
          hint: write one of allow, ask and deny, such as allow = "Bash(npm test *)"
        reading rules from rules.toml: line 3: a rule has one decision
          hint: write a rule of its own for each of allow, ask and deny
        reading rules from rules.toml: line 2: "Bash(x" is no rule: the bracket is not closed
          hint: a rule is Tool or Tool(specifier), such as Bash(npm test *)
        reading rules from rules.toml: line 2: allow is not text
          hint: put what stands behind allow in quotes
        reading rules from rules.toml: line 1: rule is not a list
          hint: write [[rule]], with two brackets
        reading rules from rules.toml: line 1: unknown key "rules"
          hint: did you mean rule?
        reading rules from rules.toml: line 1: a rule is a table
          hint: write [[rule]] on a line of its own
        reading rules from rules.toml: line 3: match is not a list
          hint: write match = ["…"]
        reading rules from rules.toml: line 3: this is no example
          hint: an example is text, such as "npm test", or { tool = "Bash", input = { command = "npm test" } }
        reading rules from rules.toml: line 3: quorum on a rule that says allow
          hint: only ask rules have a quorum
        reading rules from rules.toml: line 3: quorum is out of range
          hint: quorum is how many people must allow what is asked for: a whole number from 2 to 20
        reading rules from rules.toml: line 7: the allow rule Bash(npm test *) does not match "npm run"
          and: line 9: the allow rule Bash(npm test *) matches "npm test x"
          hint: change the rule, or move the example to no_match
        reading rules from rules.toml: line 1: unclosed array table, expected `]`
          hint: the file is TOML: [[rule]] on a line, and below it allow = "Bash(npm test *)"
    "#]]
    .assert_eq(&shown);
}

#[test]
fn examples_speak_in_the_manner_of_their_tool() {
    let text = r#"
        [[rule]]
        allow = "Edit(src/**)"
        match = ["src/a", "src/b/c", { tool = "Write", input = { file_path = "src/x" } }]
        no_match = ["a", "../src/a", { tool = "Read", input = { file_path = "src/x" } }]
        [[rule]]
        deny = "Read(~/.ssh/**)"
        match = ["~/.ssh/id", { tool = "Bash", input = { command = "cat ~/.ssh/id" } }]
        [[rule]]
        allow = "WebFetch(domain:example.com)"
        match = ["https://example.com/x"]
        no_match = ["https://example.com.evil.org/"]
        [[rule]]
        ask = "mcp__*__delete*"
        match = ["mcp__db__delete_all"]
        no_match = ["mcp__db__get", "Bash"]
        [[rule]]
        deny = "Bash(run_in_background:true)"
        match = [{ input = { command = "ls", run_in_background = true } }]
        no_match = ["ls"]
        [[rule]]
        allow = "Skill(db:*)"
        match = ["db:migrate"]
        session = "ci-*"
    "#;
    let file =
        RulesFile::read(Path::new("r"), Some(text), Origin::Project { trusted: false }, "/p", Some(Path::new("/h")));
    let examples: Vec<usize> = file.unwrap().rules.iter().map(|written| written.examples).collect();
    assert_eq!(examples, [6, 2, 2, 3, 2, 1]);
}

#[test]
fn the_rules_of_the_guide_load_and_their_examples_hold() {
    let page = include_str!("../../../docs/guide/rules.md");
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let file = RulesFile::read(Path::new("guide"), Some(text), Origin::User, "/p", Some(Path::new("/h"))).unwrap();
    assert!(file.rules.len() == 4 && file.warnings().is_empty(), "{:?}", file.warnings());
}

#[test]
fn an_added_rule_reads_back_whatever_is_in_it() {
    for (pattern, why) in [("Bash(echo \"a\" 'b' \\ *)", Some("line\nbreak \"quoted\"")), ("Read(//x/ü)", None)] {
        let text = block(Decision::Deny, pattern, why);
        let file = RulesFile::read(Path::new("r"), Some(&text), Origin::User, "/", None).unwrap();
        let rule = &file.rules[0].rule;
        assert_eq!((rule.pattern.to_string().as_str(), rule.why.as_deref()), (pattern, why), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_as_a_rules_file_never_panics(text in "\\PC{0,200}") {
        drop(RulesFile::read(Path::new("r"), Some(&text), Origin::User, "/", None));
    }

    #[test]
    fn anything_that_looks_like_a_rule_never_panics(
        decision in "allow|ask|deny|x", pattern in "\\PC{0,30}", key in "why|match|no_match|session|quorum|y", value in "\\PC{0,20}",
    ) {
        let text = format!("[[rule]]\n{decision} = {pattern:?}\n{key} = {value}\n");
        drop(RulesFile::read(Path::new("r"), Some(&text), Origin::User, "/", None));
        let text = format!("[[rule]]\n{decision} = {pattern:?}\n{key} = [{value:?}]\n");
        drop(RulesFile::read(Path::new("r"), Some(&text), Origin::User, "/", None));
    }
}
