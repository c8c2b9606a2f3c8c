//! Functions by which a line gives another meaning to the name of a command that is known: nothing that is certain of the
//! command is certain of the function.

use crate::policy::commands::inert::is_inert;
use crate::policy::commands::reading::{Reading, reading};
use crate::policy::shell::ShellWord;

/// Whether a text defines a function by the name of a command of which something is certain. A text in quotes may be run, so
/// it counts wherever it stands.
pub(crate) fn redefines_known(text: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '[');
    let mut words = text.split(|c: char| c.is_whitespace() || c == ';').filter(|word| !word.is_empty());
    let by_word = std::iter::from_fn(|| {
        words.find(|word| word.trim_start_matches(['\'', '"', '(']) == "function").and(words.next())
    });
    let by_word: Vec<&str> = by_word.map(|name| name.split('(').next().unwrap_or_default()).collect();
    let by_brackets = text.match_indices('(').filter_map(|(at, _)| {
        let body = text[at + 1..].trim_start_matches([' ', '\t']).strip_prefix(')')?;
        body.trim_start().starts_with(['{', '(']).then_some(())?;
        let before = text[..at].trim_end_matches([' ', '\t']);
        let name = before.rsplit(|c: char| !is_name(c)).next().unwrap_or_default();
        (!before[..before.len() - name.len()].ends_with('.')).then_some(name)
    });
    by_brackets.chain(by_word).any(is_known)
}

fn is_known(name: &str) -> bool {
    let command = [ShellWord::plain(name)];
    !name.is_empty() && (is_inert(&command) || reading(&command) != Reading::Perhaps)
}

#[cfg(test)]
mod tests {
    use super::redefines_known;

    #[test]
    fn a_function_by_the_name_of_a_known_command_is_told_from_others() {
        for text in [
            "echo() { cat \"$1\"; }; echo .env",
            "printf () { cat $1; }",
            "function sleep { cat $1; }; sleep x",
            "bash -c 'kill() { cat $1; }; kill x'",
            "f() { echo() (cat $1); }; f",
            "function printf() { touch $1; }",
        ] {
            assert!(redefines_known(text), "{text}");
        }
        for text in [
            "f() { echo x; }; f",
            "build() {\n  npm ci\n}",
            "function deploy { git push; }",
            "python -c 'print(open(\"a\").read())'",
            "node -e 'x.test() || {}'",
            "echo \"$(date)\" (x)",
            "grep -n 'function echo' src",
        ] {
            assert!(!redefines_known(text), "{text}");
        }
    }
}
