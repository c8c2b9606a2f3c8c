//! Shells that read some texts in another way than bash does: zsh, fish, csh and their like.
//!
//! A text for one of them is read here as bash would read it. That says what it does only where both read it alike: plain
//! words, quotes, lists and pipes, and for zsh patterns and plain variables. With anything else in it nobody can tell, so it
//! is asked for.

use super::feeding::prints_text;
use crate::policy::commands::command::name_of;
use crate::policy::lines::suspects::Found;
use crate::policy::names::implied::settings;
use crate::policy::shell::{Joint, Script, ShellWord, Way};

const READ_OTHERWISE: &str = "another shell than bash runs a text in it, which may read it in another way";

/// How much of what bash reads a shell reads alike.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alike {
    /// The language of zsh and ksh: all but what they have for themselves.
    Most,
    /// Plain words, lists and pipes.
    Words,
    Nothing,
}

/// Words of these shells that change what others mean, run a text, or do what a program of another name does.
const OWN_WORDS: &str = "- abbr alias argv autoload bind cdpath disable emulate enable end eval fc foreach fpath function \
    functions hash limit module_path nocorrect onintr path repeat sched setenv setopt string switch sysopen sysread sysseek \
    syswrite trap unalias unhash unsetopt vared zcompile zcp zle zln zmodload zmv zparseopts zpty zselect zsocket zstyle \
    zsystem ztcp";

/// Options of zsh and ksh that do not change what a text means.
const PLAIN_OPTIONS: &str = "cdefilnsux";

fn alike(program: &str) -> Option<Alike> {
    let name = name_of(program);
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-'));
    match name {
        "ksh" | "ksh93" | "mksh" | "pdksh" | "oksh" | "lksh" | "yash" | "osh" | "rzsh" => Some(Alike::Most),
        "fish" | "csh" | "tcsh" | "rc" | "es" => Some(Alike::Words),
        "nu" | "pwsh" | "powershell" | "xonsh" | "elvish" | "ion" | "ysh" => Some(Alike::Nothing),
        name => name.strip_prefix("zsh").is_some_and(is_version).then_some(Alike::Most),
    }
}

/// Why a command may run a text that bash would read in another way. It stands in the words, or is what the command reads.
pub(crate) fn read_otherwise(words: &[ShellWord], command: &Found, all: &[Found]) -> Option<&'static str> {
    let (first, rest) = words.split_first()?;
    let alike = alike(&first.text)?;
    let is_text = |text: &String| alike != Alike::Nothing || text.contains([' ', '(', ';', '|']);
    let mut texts: Vec<String> = rest.iter().map(ShellWord::script).filter(is_text).collect();
    texts.extend(command.given.iter().cloned());
    let is_written = || all.iter().flat_map(|one| &one.redirects).any(|redirect| redirect.way == Way::Out);
    if command.joint == Joint::Pipe || command.is_grouped || is_written() {
        texts.extend(all.iter().flat_map(prints_text));
    }
    let is_read = |text: &String| match alike {
        Alike::Most => reads_as_zsh(text) && !says_own_words(text),
        Alike::Words => reads_as_words(text) && !says_own_words(text),
        Alike::Nothing => false,
    };
    let is_odd = |word: &ShellWord| {
        let letters = word.text.trim_start_matches(['-', '+']);
        let is_plain =
            matches!(letters, "version" | "help" | "login") || letters.chars().all(|c| PLAIN_OPTIONS.contains(c));
        alike == Alike::Most && word.text.starts_with(['-', '+']) && !is_plain
            || alike == Alike::Nothing && is_encoded(&word.text)
    };
    // PowerShell has options with values, and more behind them.
    let is_last = |at: usize| if alike == Alike::Nothing { is_behind_script(rest, at) } else { !is_option(&rest[at]) };
    let options = rest.iter().enumerate().take_while(|(at, _)| !is_last(*at)).map(|(_, word)| word);
    (options.into_iter().any(is_odd) || texts.iter().any(|text| !is_read(text))).then_some(READ_OTHERWISE)
}

fn is_option(word: &ShellWord) -> bool {
    word.text.starts_with(['-', '+'])
}

/// What PowerShell takes for the beginning of an option.
const DASHES: [char; 5] = ['-', '/', '\u{2013}', '\u{2014}', '\u{2015}'];

/// Whether a word is the script that PowerShell is to run, or stands behind it: the first that is no option and no value of
/// one.
fn is_behind_script(rest: &[ShellWord], at: usize) -> bool {
    let is_dashed = |at: usize| rest[at].text.starts_with(DASHES) || !rest[at].is_known();
    let is_file = |at: usize| matches!(rest[at].text.to_ascii_lowercase().as_str(), "-f" | "-file");
    (0..=at).any(|at| !is_dashed(at) && (at == 0 || !is_dashed(at - 1) || is_file(at - 1)))
}

/// Whether an option of PowerShell says that a text behind it is written in base64.
fn is_encoded(option: &str) -> bool {
    let Some(option) = option.strip_prefix(DASHES) else { return false };
    let option = option.trim_start_matches(DASHES).to_ascii_lowercase();
    matches!(option.as_str(), "ec" | "ea")
        || !option.is_empty() && "encodedcommand".starts_with(&option)
        || option.starts_with("encoded")
}

/// Why a tool that runs its lines by another shell than bash may read one in another way.
pub(crate) fn tool_reads_otherwise(tool: &str, line: &str) -> Option<&'static str> {
    let tool = tool.to_ascii_lowercase();
    let is_other = tool.contains("powershell") || tool.contains("pwsh");
    (is_other && (says_own_words(line) || !reads_as_words(line))).then_some(READ_OTHERWISE)
}

/// Why programs that start a shell for a text may start another one than bash.
pub(crate) fn changes_shell(found: &[Found]) -> Option<&'static str> {
    let sets =
        |(name, value): (String, ShellWord)| name == "SHELL" && (!value.is_known() || alike(&value.text).is_some());
    found.iter().flat_map(settings).any(sets).then_some(READ_OTHERWISE)
}

/// Why a line may start such a shell, where nobody can tell for certain what in it is text and what is a command.
pub(crate) fn may_start_another(found: &[Found]) -> Option<&'static str> {
    let names = |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|name| alike(name).is_some());
    let mut texts = found.iter().flat_map(|command| command.words.iter().map(|word| &word.raw).chain(&command.given));
    texts.any(|text| names(text)).then_some(READ_OTHERWISE)
}

/// Whether a command in a text, or what it sets, is something of these shells' own.
fn says_own_words(text: &str) -> bool {
    let is_own = |word: &str| word.starts_with("zf_") || OWN_WORDS.split_whitespace().any(|own| own == word);
    Script::read(text).commands.iter().any(|command| {
        let sets = command.assignments.iter().any(|(name, _)| is_own(name));
        let Some((first, rest)) = command.words.split_first() else { return sets };
        let behind = rest.iter().take(2).filter(|_| starts_others(first));
        let changes = first.text == "set" && rest.iter().any(|word| !is_plain_set(&word.text));
        sets || changes || !first.is_known() || is_own(&first.text) || behind.into_iter().any(|word| is_own(&word.text))
    })
}

/// Words of `set` that change nothing about how a text is read.
fn is_plain_set(word: &str) -> bool {
    let letters = word.strip_prefix('-');
    word == "pipefail" || letters.is_some_and(|letters| letters.chars().all(|c| matches!(c, 'e' | 'u' | 'x' | 'o')))
}

fn starts_others(word: &ShellWord) -> bool {
    matches!(word.text.as_str(), "command" | "builtin" | "noglob" | "exec" | "time" | "and" | "or" | "not" | "begin")
}

/// Whether all in a text means the same to fish, csh and bash.
fn reads_as_words(text: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    for c in text.chars() {
        let is_plain = match quote {
            Some('\'') => c != '\\' && c != '!',
            Some(_) => !matches!(c, '\\' | '$' | '`' | '!' | '('),
            None => {
                c.is_alphanumeric()
                    || matches!(c, '_' | '-' | '.' | '/' | ':' | ',' | '+' | '@' | ' ' | '\n' | ';' | '|' | '\'' | '"')
                    || c == '*' && before != '*'
                    || matches!(c, '&' | '>')
                    || c == '<' && before != '<'
                    || c == '=' && !before.is_whitespace()
                    || c == '~' && before.is_whitespace()
            }
        };
        if !is_plain {
            return false;
        }
        quote = match quote {
            Some(open) if open == c => None,
            None if matches!(c, '\'' | '"') => Some(c),
            quote => quote,
        };
        before = c;
    }
    quote.is_none()
}

/// Whether all in a text means the same to zsh, ksh and bash.
fn reads_as_zsh(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    // What is open: `"` and `$(`.
    let mut open: Vec<char> = vec![];
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        let before = if at == 0 { ' ' } else { chars[at - 1] };
        let begins = before.is_whitespace() || matches!(before, ';' | '|' | '&' | '(' | '`');
        let in_quotes = open.last() == Some(&'"');
        at += 1;
        match c {
            '\\' => at += 1,
            '"' if in_quotes => drop(open.pop()),
            '"' => open.push('"'),
            '$' if next == '(' && chars.get(at + 1) != Some(&'(') => {
                open.push('(');
                at += 1;
            }
            '$' => match behind_dollar(&chars[at..]) {
                Some(length) => at += length,
                None => return false,
            },
            _ if in_quotes => {}
            '\'' => match chars[at..].iter().position(|c| *c == '\'') {
                Some(length) => at += length + 1,
                None => return false,
            },
            ')' if open.last() == Some(&'(') => drop(open.pop()),
            '(' | ')' | '^' | '#' => return false,
            '=' if begins => return false,
            '~' if !begins || !(next.is_whitespace() || matches!(next, '/' | ';' | '&' | '|' | ')')) => return false,
            '!' if !begins || !next.is_whitespace() => return false,
            '<' if next.is_ascii_digit() || next == '-' => return false,
            '>' if before == '>' && matches!(next, '|' | '!' | '&') => return false,
            '&' if before == '>' && matches!(next, '|' | '!') || next == '|' => return false,
            ';' if matches!(next, '|' | '&') => return false,
            '*' if before == '*' && next == '*' => return false,
            _ => {}
        }
    }
    open.is_empty()
}

/// How long what stands behind `$` is, where it is the plain value of a name.
fn behind_dollar(rest: &[char]) -> Option<usize> {
    let is_name = |c: &&char| c.is_ascii_alphanumeric() || **c == '_';
    let first = *rest.first()?;
    let length = match first {
        '{' => {
            let name = rest[1..].iter().take_while(is_name).count();
            (name > 0 && rest.get(name + 1) == Some(&'}')).then_some(name + 2)?
        }
        '?' | '$' | '@' | '*' => 1,
        first if first.is_ascii_digit() => 1,
        first if first.is_ascii_alphabetic() || first == '_' => rest.iter().take_while(is_name).count(),
        _ => return None,
    };
    // `$x[1]` is a part of it, and so is `$x:h`.
    let is_cut = match rest.get(length) {
        Some('[') => true,
        Some(':') => rest.get(length + 1).is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '#' | '&')),
        _ => false,
    };
    (!is_cut).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::lines::suspects::Suspects;

    #[test]
    fn a_text_for_another_shell_counts_as_read_where_both_read_it_alike() {
        let is_read = |line: &str| Suspects::of(&Script::read(line)).unseen.is_none();
        for line in [
            "zsh -c 'npm test && git status'",
            "zsh -c 'cat src/*.rs | head -3 > out.txt 2>&1'",
            "zsh -lc 'echo \"(a) ^b\" \"$HOME/x\" ~/y $(git log --oneline)'",
            "zsh -c 'export PATH=$HOME/bin:$PATH; make'",
            "zsh x.zsh",
            "zsh --version",
            "fish -c 'npm test; and git status'",
            "fish -c 'ls ~/x | head'",
            "tcsh -c 'make all >& log'",
            "pwsh x.ps1",
            "pwsh x.ps1 -e prod",
            "pwsh -File x.ps1 -e prod",
            "pwsh -NoProfile -ExecutionPolicy Bypass -File x.ps1 -e prod",
        ] {
            assert!(is_read(line), "{line}");
        }
        for line in [
            "zsh -c 'cat (s)ecrets/key'",
            "zsh -c \"cat (s)ecrets/key\"",
            "env zsh -fc 'setopt extendedglob; cat a'",
            "zsh <<<'cat ^src/key'",
            "echo 'cat (a|b)/key' | zsh",
            "zsh -c 'zmodload zsh/files'",
            "zsh -c 'zf_rm -rf x'",
            "zsh -c 'echo x >! y'",
            "zsh -c 'cat $x[1,2]'",
            "zsh -c 'cat $x:h'",
            "zsh -c 'cat ${(e)x}'",
            "zsh -c '=rm x'",
            "zsh -c '- rm x'",
            "zsh -c 'repeat 2 rm x'",
            "zsh -c 'eval \"cat (s)ecrets/key\"'",
            "zsh -c 'cat <1-9>'",
            "zsh -c 'path=bin; x'",
            "ksh -c 'cat ~(E)s.*/key'",
            "fish -c 'cat (echo x)/key'",
            "fish -c 'set x y; cat $x'",
            "nu -c 'open x'",
            "pwsh -c 'gc x'",
            "pwsh -EncodedCommand ZABhAG4AZwBlAHIA",
            "pwsh -NoProfile -enc ZABhAG4AZwBlAHIA",
            "powershell -e ZABhAG4AZwBlAHIA",
            "pwsh -ExecutionPolicy Bypass -EncodedCommand ZABhAG4AZwBlAHIA",
            "pwsh -wd . -f. --enc ZABhAG4AZwBlAHIA",
            "pwsh -NoProfile /enc ZABhAG4AZwBlAHIA",
            "pwsh -NoProfile \u{2013}enc ZABhAG4AZwBlAHIA",
            "pwsh -wd a $x -enc ZABhAG4AZwBlAHIA",
            "echo 'cat (s)ecrets/key' > t; zsh t",
            "make SHELL=zsh a",
            "SHELL=/bin/fish script -qc x y",
            r"echo ': $(case x in x) zsh -fc '\''b/(d)anger'\'';; esac)' | bash",
            r": ${none:+'}'}$(exec bash -c 'zsh -fc '\''b/(d)anger'\''')",
        ] {
            assert!(!is_read(line), "{line}");
        }
    }
}
