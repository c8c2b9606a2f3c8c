//! What holds for any command and any rules.

use proptest::prelude::*;
use proptest::sample::select;

use super::table::{call, rule, rules, ruling};
use super::*;

/// Rules that have to do with the calls below.
pub(super) fn any_rule() -> impl Strategy<Value = Rule> {
    let patterns = vec![
        "Bash",
        "Bash(npm test *)",
        "Bash(npm *)",
        "Bash(rm *)",
        "Bash(* x)",
        "Bash(ls)",
        "Bash(x:*)",
        "Read",
        "Read(.env)",
        "Read(src/**)",
        "Read(//**)",
        "Edit",
        "Edit(src/**)",
        "Edit(**)",
        "Edit(*.md)",
        "Write",
        "WebFetch(domain:a.test)",
        "WebFetch",
        "mcp__srv",
        "mcp__srv__get",
        "mcp__*",
        "*",
        "Agent(x)",
        "Skill(a:*)",
        "Bash(run_in_background:true)",
    ];
    (select(vec!["allow", "ask", "deny"]), select(patterns), any::<bool>()).prop_map(|(decision, pattern, trusted)| {
        let mut rule = rule(&format!("{decision} {pattern}"));
        rule.source.origin = Origin::Project { trusted };
        rule
    })
}

fn any_command() -> impl Strategy<Value = String> {
    let parts = vec![
        "npm test",
        "npm",
        "rm",
        "-rf",
        "x",
        "ls",
        "cat",
        "src/a",
        ".env",
        "..",
        "/",
        "~",
        " ",
        " ",
        " ",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "\n",
        "$(",
        ")",
        "`",
        "'",
        "\"",
        "\\",
        "$",
        "{",
        "}",
        ",",
        ">",
        "<",
        "<<",
        "EOF",
        "(",
        "*",
        "?",
        "#",
        "!",
        "=",
        "PATH=.",
        "NODE_ENV=a",
        "timeout 5",
        "xargs",
        "sudo",
        "bash -c",
        "eval",
        "if",
        "then",
        "fi",
        "do",
        "done",
        "case",
        "in",
        "esac",
        "\r",
        "\u{a0}",
        "2>&1",
        "/dev/null",
        "cd",
        "git status",
        "$'",
        "\\x72",
        "[[",
        "]]",
        "function",
        "é",
        "\u{200b}",
        "\0",
    ];
    prop::collection::vec(select(parts), 0..12).prop_map(|parts| parts.concat())
}

pub(super) fn any_call() -> impl Strategy<Value = Call> {
    let others = vec![
        "Read .env",
        "Read src/a",
        "Read ../x",
        "Read",
        "Write src/a",
        "Write .git/x",
        "Write a.md",
        "Edit ~/x",
        "Glob",
        "Grep ..",
        "WebFetch https://a.test/",
        "WebFetch https://b.test/",
        "WebFetch x",
        "mcp__srv__get x",
        "mcp__srv__set",
        "Agent x",
        "Skill a:b",
        "AskUserQuestion",
        "Unheard of",
    ];
    prop_oneof![any_command().prop_map(|command| call(&format!("Bash {command}"))), select(others).prop_map(call),]
}

fn any_mode() -> impl Strategy<Value = Mode> {
    select(Mode::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn adding_a_deny_rule_never_makes_an_answer_more_permissive(
        before in prop::collection::vec(any_rule(), 0..6), one in any_rule(), call in any_call(), mode in any_mode(),
    ) {
        let one = Rule { decision: Decision::Deny, ..one };
        let without = ruling(mode, &RuleSet { rules: before.clone() }, call.clone()).decision;
        let with = ruling(mode, &RuleSet { rules: [before, vec![one]].concat() }, call).decision;
        prop_assert!(with >= without);
    }

    #[test]
    fn adding_an_ask_rule_never_makes_an_answer_more_permissive(
        before in prop::collection::vec(any_rule(), 0..6), one in any_rule(), call in any_call(), mode in any_mode(),
    ) {
        let one = Rule { decision: Decision::Ask, ..one };
        let without = ruling(mode, &RuleSet { rules: before.clone() }, call.clone()).decision;
        let with = ruling(mode, &RuleSet { rules: [before, vec![one]].concat() }, call).decision;
        prop_assert!(with >= without);
    }

    #[test]
    fn what_is_plainly_denied_is_denied(
        rules in prop::collection::vec(any_rule(), 1..6), call in any_call(), mode in any_mode(),
    ) {
        let rules = RuleSet { rules };
        if plainly_denied(&rules, &Context::of("/home/dev/project", None), &call).is_some() {
            prop_assert_eq!(ruling(mode, &rules, call).decision, Decision::Deny);
        }
    }

    #[test]
    fn no_allow_rule_undoes_a_deny_rule_or_an_ask_rule(
        before in prop::collection::vec(any_rule(), 0..6), one in any_rule(), call in any_call(), mode in any_mode(),
    ) {
        let one = Rule { decision: Decision::Allow, ..one };
        let allows_all = one.pattern.tool == "Bash" && one.pattern.specifier.is_none();
        let without = ruling(mode, &RuleSet { rules: before.clone() }, call.clone());
        let with = ruling(mode, &RuleSet { rules: [before, vec![one]].concat() }, call);
        if without.rule.is_some_and(|rule| rule.decision != Decision::Allow) {
            prop_assert_eq!(with.decision, without.decision);
        }
        // Who allows every command is not asked for how a line is written, where all of it is certain.
        let is_about_form =
            |ask: &MandatoryAsk| matches!(ask, MandatoryAsk::NotPlain(_) | MandatoryAsk::FolderAndFiles);
        let kept = |asks: &[MandatoryAsk]| {
            asks.iter().filter(|ask| !allows_all || !is_about_form(ask)).cloned().collect::<Vec<_>>()
        };
        prop_assert_eq!(kept(&with.mandatory_asks), kept(&without.mandatory_asks));
    }

    #[test]
    fn the_order_of_rules_means_nothing(
        rules in prop::collection::vec(any_rule(), 0..6), call in any_call(), mode in any_mode(),
    ) {
        let reversed = rules.iter().rev().cloned().collect();
        let one = ruling(mode, &RuleSet { rules }, call.clone()).decision;
        prop_assert_eq!(one, ruling(mode, &RuleSet { rules: reversed }, call).decision);
    }

    #[test]
    fn what_is_not_trusted_changes_no_decision_to_allow(
        before in prop::collection::vec(any_rule(), 0..4), more in prop::collection::vec(any_rule(), 1..6),
        call in any_call(), mode in any_mode(),
    ) {
        let untrusted = |rule: Rule| {
            let source = RuleSource { origin: Origin::Project { trusted: false }, ..rule.source };
            Rule { source, ..rule }
        };
        let without = ruling(mode, &RuleSet { rules: before.clone() }, call.clone()).decision;
        let rules = before.into_iter().chain(more.into_iter().map(untrusted)).collect();
        let with = ruling(mode, &RuleSet { rules }, call).decision;
        prop_assert!(with >= without);
    }

    #[test]
    fn plan_mode_never_lets_more_pass_than_default_mode(
        rules in prop::collection::vec(any_rule(), 0..6), call in any_call(),
    ) {
        let rules = RuleSet { rules };
        let (plan, default) = (ruling(Mode::Plan, &rules, call.clone()), ruling(Mode::Default, &rules, call));
        prop_assert!(plan.decision >= default.decision);
    }

    #[test]
    fn any_bytes_as_a_command_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), mode in any_mode()) {
        let command = String::from_utf8_lossy(&bytes);
        ruling(mode, &rules(&["allow Bash(npm test *)", "deny Bash(rm *)"]), call(&format!("Bash {command}")));
    }

    #[test]
    fn any_text_as_a_rule_or_a_path_never_panics(rule in "\\PC*", path in "\\PC*", command in any_command()) {
        let source = RuleSource { origin: Origin::User, place: None, base: "/base".into() };
        for decision in Decision::ALL {
            for written in [rule.clone(), format!("Read({rule})"), format!("Edit({rule})"), format!("Bash({rule})")] {
                let Ok(rule) = Rule::new(decision, &written, source.clone()) else { continue };
                let rules = RuleSet { rules: vec![rule] };
                for text in [format!("Read {path}"), format!("Bash {command}"), format!("WebFetch {path}")] {
                    ruling(Mode::Default, &rules, call(&text));
                }
                rules.denied_by_the_client();
            }
        }
    }

    /// Judged by a reader that knows nothing of shells: it looks for the characters that could do harm.
    #[test]
    fn a_rule_for_one_program_approves_no_other(parts in prop::collection::vec(select(vec![
        "npm test", "npm test", "npm", "test", "x", "rm", " ", " ", " ", ";", "&&", "||", "|", "&", "\n", "$(", "$", ")", "`",
        "\\", "{", "}", ",", "(", "*", "?", "#", "!", "~", "=", "PATH=.", "-", "a", "\r", "\u{a0}", "\t", "[", "]", "<(", ">(",
    ]), 1..10)) {
        let command = format!("npm test{}", parts.concat());
        if ruling(Mode::Default, &rules(&["allow Bash(npm test *)"]), call(&format!("Bash {command}"))).decision == Decision::Allow {
            // Before a blank it is a word, which a shell takes as it stands.
            let said = command.replace("! ", " ").replace("!\t", " ").replace("!\n", "\n");
            let harmless = !said.contains(['$', '`', '\\', '{', '}', '(', ')', '*', '?', '#', '!', '[', ']', '<', '>', '\r', '\u{a0}']);
            prop_assert!(harmless, "{:?}", command);
            for part in command.split([';', '|', '&', '\n']).map(str::trim).filter(|part| !part.is_empty()) {
                let words: Vec<&str> = part.split_whitespace().take(2).collect();
                prop_assert_eq!(words, ["npm", "test"], "{:?}", command);
            }
        }
    }
}
