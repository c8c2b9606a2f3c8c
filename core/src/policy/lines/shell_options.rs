//! Options of a shell that change what the words of a line mean: which files a pattern finds, which words set variables, and
//! whether earlier lines come again. The patterns and words of a line are read here as without them.

use crate::policy::commands::command::{is_shell, name_of};
use crate::policy::shell::ShellWord;

const CHANGED: &str = "it changes how its words are read";
const EARLIER: &str = "it may run an earlier line again, changed";

/// Options that stop a script, or tell what it does, and change no word of it.
const PLAIN: &str = "allexport errexit errtrace functrace ignoreeof monitor noclobber noexec noglob notify nounset onecmd \
    pipefail privileged verbose xtrace";

/// Options of `shopt` that concern neither patterns nor words.
const PLAIN_OF_SHOPT: &str = "checkhash checkjobs checkwinsize cmdhist histappend histreedit histverify huponexit \
    inherit_errexit lithist mailwarn no_empty_cmd_completion progcomp shift_verbose xpg_echo";

/// Options of a shell's own that stand before its script and have nothing to do with words.
const PLAIN_LONGS: [&str; 9] =
    ["--help", "--login", "--noediting", "--noprofile", "--norc", "--posix", "--restricted", "--verbose", "--version"];

/// Why the command that begins with these words has the shell read others in another way.
pub(super) fn changes_reading(words: &[ShellWord], given: &[String]) -> Option<&'static str> {
    let (first, rest) = words.split_first()?;
    match name_of(&first.text) {
        "shopt" => changes_by_shopt(rest).then_some(CHANGED),
        "set" => changes_by_set(rest).then_some(CHANGED),
        // Without a word behind it, it only says what was typed, and a script has nothing of that.
        "fc" if !rest.is_empty() => Some(EARLIER),
        "history" if rest.iter().any(|word| !word.text.starts_with(|c: char| c.is_ascii_digit())) => Some(EARLIER),
        // Its `\_` is a space, and its `${X}` a variable.
        "env" if splits_text(rest) => Some("env takes its text apart in a way of its own"),
        "find" if rest.iter().any(|word| matches!(word.text.as_str(), "-execdir" | "-okdir")) => {
            Some("find runs something in folders that are not said")
        }
        // Its options are words, and its texts are asked for.
        "pwsh" | "powershell" => None,
        name if is_shell(name) => changes_at_start(rest, given),
        _ => None,
    }
}

/// `env -S 'a\_b'`
fn splits_text(rest: &[ShellWord]) -> bool {
    let is_flag = |text: &str| text.starts_with("--s") || !text.starts_with("--") && text.contains('S');
    let splits = rest.iter().any(|word| word.is_flag() && is_flag(&word.text));
    splits && rest.iter().any(|word| word.text.contains(['\\', '$']))
}

fn is_in(list: &str, name: &ShellWord) -> bool {
    name.is_literal && list.split_whitespace().any(|known| known == name.text)
}

fn changes_by_shopt(rest: &[ShellWord]) -> bool {
    let sets = rest.iter().any(|word| !word.is_literal || word.is_flag() && word.text.contains(['s', 'u']));
    let names = rest.iter().filter(|word| !word.is_flag());
    // With `-o` it has the names of `set -o`.
    sets && names.into_iter().any(|name| !is_in(PLAIN_OF_SHOPT, name) && !is_in(PLAIN, name))
}

fn changes_by_set(rest: &[ShellWord]) -> bool {
    let mut words = rest.iter().take_while(|word| word.text.starts_with(['-', '+']) && word.text != "--");
    let mut at = 0;
    words.any(|word| {
        at += 1;
        let named = word.text.ends_with('o');
        changes_by_letters(&word.text) || named && rest.get(at).is_some_and(|name| !is_in(PLAIN, name))
    })
}

/// `k` makes each word with a `=` a variable, `H` brings earlier lines back, and with `P` a `..` is above where a link leads.
fn changes_by_letters(flag: &str) -> bool {
    flag.contains(['k', 'H', 'P']) && !flag.starts_with("--")
}

fn changes_at_start(rest: &[ShellWord], given: &[String]) -> Option<&'static str> {
    let mut before = "";
    for word in rest {
        let text = word.text.as_str();
        if before.ends_with('o') && !before.starts_with("--") {
            if !is_in(PLAIN, word) {
                return Some(CHANGED);
            }
            before = "";
            continue;
        }
        if !text.starts_with(['-', '+']) {
            break;
        }
        let is_long = text.starts_with("--") && text.len() > 2;
        if !is_long && (text.contains('O') || changes_by_letters(text)) {
            return Some(CHANGED);
        }
        let is_interactive = !is_long && text.contains('i');
        let recalls = |text: &str| text.contains(['!', '^']);
        if is_interactive && (given.iter().any(|text| recalls(text)) || rest.iter().any(|word| recalls(&word.text))) {
            return Some(EARLIER);
        }
        before = if PLAIN_LONGS.contains(&text) { "" } else { text };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::suspects::Suspects;
    use crate::policy::shell::Script;

    fn is_seen(line: &str) -> bool {
        Suspects::of(&Script::read(line)).unseen.is_none()
    }

    #[test]
    fn options_that_change_what_words_mean_make_a_line_uncertain() {
        for line in [
            "shopt -s dotglob; cat ?env",
            "builtin shopt -s dotglob; cat ?env",
            "command shopt -qs extglob; cat x",
            "shopt -u sourcepath; x",
            "shopt -so keyword; x",
            "shopt $x dotglob; x",
            "f() { shopt -s dotglob; }; f; cat ?env",
            "eval 'shopt -s dotglob'; cat ?env",
            "trap 'shopt -s nullglob' DEBUG",
            "bash -O dotglob -c 'cat ?env'",
            "bash -e -O extglob -c 'cat x'",
            "bash -o keyword -c 'git status A=b'",
            "bash -ko errexit x.sh",
            "set -k; git status A=b",
            "set -eo keyword; git status A=b",
            "set -o history; echo a",
            "set -eH; echo a",
            "fc -s a=b",
            "history -s 'danger'",
            "bash -i <<< '!!'",
            "env -S 'cat\\_.env'",
            "timeout 5 /usr/bin/env -iS 'git\\_push'",
            "env --split-string='cat\\_.env'",
            "find src -execdir cat ../x {} +",
            "GLOBIGNORE=x; cat ?env",
            "for GLOBIGNORE in x; do cat ?env; done",
            ": ${GLOBIGNORE:=x}; cat ?env",
            "read GLOBIGNORE <<< x; cat ?env",
            "env BASHOPTS=dotglob bash -c 'cat ?env'",
            "BASH_ARGV0=x; cat $0",
            "function x { cat $FUNCNAME; }; x",
            "trap '${BASH_COMMAND#: }' DEBUG; : danger",
            "bash -c 'cat @(x)/key'",
            "bash -c 'cat $\\\nHOME'",
        ] {
            assert!(!is_seen(line), "{line}");
        }
    }

    #[test]
    fn options_that_stop_or_tell_change_nothing() {
        for line in [
            "set -euo pipefail; npm test",
            "set -eux; npm test",
            "set +e; npm test",
            "set -o pipefail; a | b",
            "set -a; . x.sh; set +a",
            "set -- a -k b; echo $1",
            "set -x -o errexit; a",
            "shopt -s inherit_errexit; a",
            "shopt dotglob",
            "bash -e x.sh -k -O",
            "bash --norc -eo pipefail -c 'npm test'",
            "bash -ic 'npm test'",
            "sh -x build.sh",
            "history 20",
            "env -S 'node --test' x.js",
            "env A=b npm test",
            "find src -exec wc -l {} +",
        ] {
            assert!(is_seen(line), "{line}");
        }
    }
}
