//! Commands of a line that zsh knows and bash does not, or that do more in zsh.

use crate::policy::lines::suspects::Found;
use crate::policy::shell::{Script, SessionShell, ShellCommand, ShellWord, changes_shell, has_meaning};
use crate::policy::words::values::Variables;

const OWN: &str = "it holds a command of zsh that changes how the line is read, or runs something";

/// How deep an `eval` is looked for in an `eval`.
const DEEPEST: usize = 4;

/// Why nobody can tell what these commands do where zsh runs them.
pub(crate) fn own_to_zsh(found: &[Found], variables: &Variables) -> Option<&'static str> {
    // An alias ends with the shell: with nothing behind it that is read later it is nobody's.
    let sets_alias = |command: &Found| command.words.first().is_none_or(|word| word.text == "alias");
    if found.iter().all(sets_alias) {
        return None;
    }
    found.iter().find_map(|command| of_words(&command.words, Some(variables), 0))
}

fn of_words(words: &[ShellWord], variables: Option<&Variables>, depth: usize) -> Option<&'static str> {
    let at = words.iter().position(|word| !is_before(word))?;
    let (first, rest) = (&words[at], &words[at + 1..]);
    // Those before it are words of zsh as well.
    if words[..=at].iter().any(|word| changes_shell(&word.text)) {
        return Some(OWN);
    }
    let becomes = |variables: &Variables| variables.shapes(first).iter().any(|shape| changes_shell(shape));
    if !first.is_literal && variables.is_some_and(becomes) {
        return Some(OWN);
    }
    let letters = || rest.iter().take_while(|word| is_option(word)).flat_map(|word| word.text.chars().skip(1));
    let operands = || rest.iter().filter(|word| !is_option(word));
    let is_odd = match first.text.as_str() {
        "eval" | "trap" => {
            let text = rest.iter().map(ShellWord::script).collect::<Vec<_>>().join(" ");
            return of_text(&text, depth + 1);
        }
        "alias" => operands().next().is_some(),
        "hash" => rest.iter().any(|word| word.text.contains('=') || !word.is_known()) || letters().any(|c| c != 'r'),
        "print" => letters().any(|c| matches!(c, 'v' | 'P' | 's' | 'S' | 'z' | 'p' | 'm' | 'x' | 'X')),
        "set" => rest.iter().any(|word| is_option(word) && !is_plain_set(&word.text)) || follows_o(rest),
        "read" => {
            letters().any(|c| !matches!(c, 'r' | 's' | 't' | 'd' | 'u' | 'p' | 'n' | '0'..='9'))
                || operands().any(|word| has_meaning(&word.text) || word.text.contains('?'))
        }
        "typeset" | "declare" | "local" | "export" | "readonly" => {
            letters().any(|c| !matches!(c, 'a' | 'A' | 'g' | 'i' | 'r' | 'x' | 'p' | 'l' | 'u' | 'f' | 'F' | 'n' | '-'))
                || operands().any(|word| has_meaning(word.text.split(['=', '[']).next().unwrap_or_default()))
        }
        // `cd old new` puts new in the place of old, and a name may stand for the folder that it holds.
        "cd" | "pushd" => {
            let is_name = |word: &ShellWord| variables.is_some_and(|known| known.values.contains_key(&word.text));
            operands().count() > 1 || operands().any(is_name) || letters().any(|c| !matches!(c, 'L' | 'P' | '-'))
        }
        _ => false,
    };
    is_odd.then_some(OWN)
}

fn of_text(text: &str, depth: usize) -> Option<&'static str> {
    if depth > DEEPEST {
        return Some(OWN);
    }
    let script = Script::read_in(text, SessionShell::MayBeZsh);
    let own = |command: &ShellCommand| of_words(&command.words, None, depth);
    script.otherwise.or_else(|| script.commands.iter().find_map(own))
}

/// Words behind which the command still begins.
fn is_before(word: &ShellWord) -> bool {
    matches!(word.text.as_str(), "!" | "-" | "builtin" | "command" | "exec" | "noglob" | "nocorrect" | "time" | "-p")
}

fn is_option(word: &ShellWord) -> bool {
    word.text.len() > 1 && word.text.starts_with(['-', '+']) || !word.is_known() && word.text.starts_with('-')
}

/// Options of `set` that mean the same to both.
fn is_plain_set(word: &str) -> bool {
    word == "--" || word.chars().skip(1).all(|c| matches!(c, 'e' | 'u' | 'x' | 'v' | 'n' | 'o' | 'f' | 'E'))
}

/// Whether `set -o` names an option that bash has not got.
fn follows_o(rest: &[ShellWord]) -> bool {
    const ALIKE: [&str; 9] =
        ["pipefail", "errexit", "nounset", "xtrace", "verbose", "noglob", "allexport", "noexec", "noclobber"];
    rest.windows(2)
        .any(|pair| is_option(&pair[0]) && pair[0].text.ends_with('o') && !ALIKE.contains(&pair[1].text.as_str()))
}
