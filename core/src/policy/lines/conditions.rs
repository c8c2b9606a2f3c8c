//! Conditions in `[[ … ]]` that go on behind `&&` and `||`: what stands there is compared, and is no command.
//!
//! This is for the line itself, which bash or zsh reads. To a shell without `[[` the rest is a command, so texts in quotes
//! stay as they were read.

use crate::policy::shell::{Script, ShellCommand, ShellWord};

/// The line with each part of such a condition as a test of its own, where it begins with something that is filled in.
pub(crate) fn parted(script: &Script) -> Script {
    let mut parted = script.clone();
    let first = |command: &ShellCommand| command.words.first().map_or("", |word| word.text.as_str()).to_owned();
    // The patterns of a `case` may be brackets, too.
    if parted.commands.iter().any(|command| matches!(first(command).as_str(), "case" | "in")) {
        return parted;
    }
    let mut is_open = false;
    for command in parted.commands.iter_mut().filter(|command| !command.is_nested) {
        let is_plain = command.assignments.is_empty() && command.redirects.is_empty();
        if is_open && is_plain && command.words.first().is_some_and(|word| !word.is_literal) {
            command.words.insert(0, ShellWord::plain("[["));
        } else {
            let begins = command.words.first().is_some_and(|word| word.text == "[[" && !word.is_quoted);
            is_open = begins && is_plain || is_open && is_plain && command.words.first().is_some_and(is_operator);
        }
        is_open &= !command.words.iter().any(|word| word.text == "]]");
    }
    parted
}

/// `-f` and its like, behind which the condition goes on.
fn is_operator(word: &ShellWord) -> bool {
    word.is_literal && word.text.len() == 2 && word.text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins(line: &str) -> Vec<String> {
        let script = parted(&Script::read(line));
        script.commands.iter().map(|command| command.words[0].text.clone()).collect()
    }

    #[test]
    fn what_is_compared_is_no_command() {
        assert_eq!(begins("[[ $n -gt 1 && $n -lt 5 ]] && echo x"), ["[[", "[[", "echo"]);
        assert_eq!(begins("[[ -n $a || $b == c || $d == e ]]; $x"), ["[[", "[[", "[[", "$x"]);
        assert_eq!(begins("[[ -f a && -d b && $c == d ]]"), ["[[", "-d", "[["]);
    }

    #[test]
    fn a_command_is_not_taken_for_a_part_of_a_condition() {
        for line in ["[[ a ]] && $x", "X=1 [[ a || $x ]]", "'[[' a || $x ]]", "[ a ] || $x ]]", "[[ a || rm ]]"] {
            assert_ne!(begins(line).last().map(String::as_str), Some("[["), "{line}");
        }
        assert!(begins("case $y in\n[[ ) :;; *) $x;; esac").iter().all(|first| first != "[["));
    }
}
