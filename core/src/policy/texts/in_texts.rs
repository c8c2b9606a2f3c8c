//! Commands in texts that a program may run: recipes of make, orders to an editor, what a variable or an option says, and
//! what one command prints for another that runs its input.
//!
//! Their files and removals count as those of the line's own commands do. A text that is no script costs nothing but a look:
//! words of code in another language become names of files that are not there. Where there is more than is looked at, the
//! line is unfinished, and so it is asked for.

use std::collections::BTreeSet;

use super::code::runs_its_words;
use super::dialects::read_otherwise;
use super::feeding::is_interpreter;
use super::gluing::{HandedTexts, glued, printed_words};
use crate::policy::commands::command::name_of;
use crate::policy::commands::environment::is_command;
use crate::policy::commands::find_tests::is_passed_over;
use crate::policy::commands::git::GitLine;
use crate::policy::commands::reading::{Reading, reading};
use crate::policy::lines::starts::starts;
use crate::policy::lines::suspects::{Found, Suspect, Suspects};
use crate::policy::names::handing::{inner, marks};
use crate::policy::names::implied::settings;
use crate::policy::names::leaving_out::{left_out, stops_early};
use crate::policy::shell::{ANY, OUTER, Piece, Script, ShellWord, assignment};
use crate::policy::words::values::{fills_outside_quotes, is_literal, may_be};

/// How deep a text is looked for in a text, how many there may be, and how long all of them together.
const DEEPEST: usize = 4;
const MOST: usize = 200;
const LONGEST: usize = 60_000;
const TOO_MANY: &str = "it holds more texts that may be run than are looked at";

/// What makes a text more than a name.
const CODE: [char; 13] = [' ', '\t', '\n', '<', '>', '|', '&', ';', '!', '$', '`', '*', '?'];

/// Programs of which it matters that they are the program, and not a word of another: they go to folders, remove, print
/// names or take them. The files of any other are the same whatever stands before it.
const TELLING: &str = "7z 7za 7zz alias bzip2 cd chdir chgrp chmod chown cpio dd del-cli fd find git gio gzip hash ln ls \
    mkfs mv npm parallel perl pnpm popd pushd read rimraf rm rmdir rsync ruby sed setfacl shred srm tar tee trash trash-put \
    truncate unlink wipe xargs xz yarn zip zstd";

/// The same of programs that go through the folder they are in when they are told of no other.
const SEARCHING: &str = "ack ag egrep fgrep grep rg";

/// Interpreters in whose language a name needs no quotes.
const WITHOUT_QUOTES: [&str; 3] = ["tclsh", "wish", "expect"];

impl Suspects {
    /// The same with the commands in texts, for whoever looks for files.
    pub(crate) fn with_texts(&self) -> Self {
        let mut wide = self.clone();
        let mut seen = BTreeSet::new();
        let mut length = 0;
        let mut texts: Vec<String> = self.found.iter().flat_map(|command| self.texts_of(command)).collect();
        texts.extend(self.found.iter().flat_map(|command| self.renamed(command)));
        let handed = self.handed_words();
        let mut is_cut = handed.is_cut;
        texts.extend(handed.texts);
        // A command with other words is where the command is.
        let several = |text: &String| text.trim().contains([' ', '\t', '\n']);
        let printed = HandedTexts::of(self.found.iter().flat_map(printed_words).filter(several));
        for command in &self.found {
            let mut lines = self.filled_in(command, &printed);
            lines.append(glued(command));
            is_cut |= lines.is_cut;
            for line in lines.texts {
                length += line.len();
                if length > LONGEST {
                    wide.unfinished = Some(TOO_MANY);
                    return wide;
                }
                texts.extend(wide.take_text(&line, command.is_nested));
            }
        }
        for _ in 0..DEEPEST {
            let mut next = vec![];
            for text in texts.iter().flat_map(|text| scripts_in(text)) {
                if !seen.insert(text.clone()) {
                    continue;
                }
                length += text.len();
                if seen.len() > MOST || length > LONGEST {
                    wide.unfinished = Some(TOO_MANY);
                    return wide;
                }
                next.extend(wide.take_text(&text, true));
            }
            texts = next;
        }
        if texts.iter().flat_map(|text| scripts_in(text)).any(|text| !seen.contains(&text)) {
            wide.unfinished = Some("texts that may be run are nested too deep");
        }
        // What was left out may be the very one that matters.
        wide.unfinished = wide.unfinished.or(is_cut.then_some(TOO_MANY));
        wide
    }

    /// Takes in the commands of a text, and says which texts they hold.
    fn take_text(&mut self, text: &str, is_nested: bool) -> Vec<String> {
        let script = self.told_here(&Script::read(text));
        for command in &script.commands {
            self.variables.learn_perhaps(&command.assignments, &command.words);
        }
        let mut texts = vec![];
        let sets_options = OPTIONS.iter().any(|(name, _)| text.contains(name));
        for command in &script.commands {
            let found = Found { is_nested, is_in_text: true, ..self.opened(command, &script) };
            let starts: Vec<Vec<ShellWord>> =
                starts(&found.words).into_iter().map(|start| found.words[start..].to_vec()).collect();
            let otherwise = starts.iter().find_map(|words| read_otherwise(words, &found, &[]));
            self.unfinished = self.unfinished.or(otherwise);
            self.commands.extend(starts.into_iter().map(|words| Suspect {
                words,
                takes_more: false,
                is_behind_unknown: false,
            }));
            // What is the first word here may be a text that is run.
            texts.extend(found.words.first().filter(|_| runs_its_words(&found)).and_then(code));
            texts.extend(self.texts_of(&found));
            self.found.push(found);
            if let Some(found) = self.found.last().filter(|_| sets_options) {
                texts.extend(self.renamed(found));
            }
        }
        texts
    }

    /// The commands in a command by the other names of their programs: what a variable in the place of a name holds, what
    /// an alias stands for, and what a pattern may be.
    fn renamed(&self, command: &Found) -> Vec<String> {
        let starts = starts(&command.words).into_iter();
        starts.flat_map(|start| self.renamed_from(command.words.get(start..).unwrap_or_default())).collect()
    }

    fn renamed_from(&self, words: &[ShellWord]) -> Vec<String> {
        let Some((first, rest)) = words.split_first() else { return vec![] };
        let mut names = self.variables.spellings(first);
        let meant: Vec<String> = names.iter().flat_map(|shape| programs_like(shape)).map(str::to_owned).collect();
        let aliases = self.found.iter().filter(|one| one.words.first().is_some_and(|word| word.text == "alias"));
        let stands_for = |word: &ShellWord| {
            let value = word.text.split_once('=').filter(|(name, _)| *name == first.text);
            value.map(|(_, value)| value.to_owned())
        };
        names.extend(aliases.flat_map(|alias| alias.words.iter().skip(1).filter_map(stands_for)));
        names.extend(meant);
        names.retain(|name| *name != first.text && is_literal(name) && !name.contains(OUTER));
        let words: Vec<&str> = rest.iter().map(|word| word.raw.as_str()).collect();
        let words = words.join(" ");
        let name = name_of(&first.text);
        let options = self.found.iter().flat_map(settings).filter(|(variable, _)| is_for(variable, name));
        let optioned = options.map(|(_, value)| format!("{name} {} {words}", value.script()));
        let aliased = aliased(name, rest).into_iter().chain(self.aliased_by_variables(name, rest));
        names.into_iter().map(|name| format!("{name} {words}")).chain(optioned).chain(aliased).collect()
    }

    /// The same where variables give a subcommand of git another name: `GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=config`,
    /// and `--config-env=alias.x=NAME`.
    fn aliased_by_variables(&self, name: &str, rest: &[ShellWord]) -> Vec<String> {
        let set: Vec<(String, ShellWord)> = self.found.iter().flat_map(settings).collect();
        let is_alias = |word: &ShellWord| !word.is_literal || word.text.to_ascii_lowercase().starts_with("alias.");
        let gives = set.iter().any(|(variable, value)| variable.starts_with("GIT_CONFIG_KEY_") && is_alias(value));
        let named = names_of_aliases(rest);
        let is_given = name == "git" && (gives || !named.is_empty());
        let Some(line) = GitLine::read(rest).filter(|_| is_given) else { return vec![] };
        let behind: Vec<&str> = line.words.iter().skip(1).map(|word| word.raw.as_str()).collect();
        let holds = |variable: &String| variable.starts_with("GIT_CONFIG_VALUE_") || named.contains(&variable.as_str());
        let values = set.iter().filter(|(variable, _)| holds(variable));
        values.map(|(_, value)| format!("git {} {}", value.script(), behind.join(" "))).collect()
    }

    /// What takes its words from elsewhere, with the words that the line says for it: `echo init | xargs git`.
    fn handed_words(&self) -> HandedTexts {
        let printed = || self.found.iter().flat_map(printed_words);
        let marks = marks(self);
        let mut lines = HandedTexts::default();
        for command in &self.found {
            let takes = |word: &ShellWord| matches!(name_of(&word.text), "xargs" | "parallel");
            let Some(at) = command.words.iter().position(takes) else { continue };
            let Some(inner) = inner(&command.words[at + 1..]) else { continue };
            let inner: Vec<&str> = inner.iter().map(|word| word.raw.as_str()).collect();
            let inner = inner.join(" ");
            let handed = HandedTexts::of(printed().chain(command.given.iter().cloned()));
            lines.append(handed.map(|text| {
                let put = marks.iter().fold(inner.clone(), |line, mark| line.replace(mark, text));
                if put == inner { format!("{inner} {text}") } else { put }
            }));
        }
        lines
    }

    /// A command with the words that the line prints for it in the place of one that nobody knows: `grep $(echo -r x y)`. In
    /// quotes they would be one word.
    fn filled_in(&self, command: &Found, printed: &HandedTexts) -> HandedTexts {
        let raw = |at: usize| command.words[at].raw.as_str();
        let is_open = |at: &usize| {
            let word = &command.words[*at];
            fills_outside_quotes(&word.raw) && self.variables.shapes(word).iter().any(|shape| shape.contains(ANY))
        };
        let Some(open) = (1..command.words.len()).find(is_open) else { return HandedTexts::default() };
        printed.map(|text| {
            let words = (0..command.words.len()).map(|at| if at == open { text } else { raw(at) });
            words.collect::<Vec<_>>().join(" ")
        })
    }

    /// The texts that a command may run, or hand to something that does.
    fn texts_of(&self, command: &Found) -> Vec<String> {
        let runs = runs_its_words(command);
        let prints = reading(&command.words) == Reading::Nothing && self.flow.reaches(command);
        // A pattern for what is left out is no text that anything runs.
        let left_out = left_out(&command.words, || stops_early(command, self));
        let is_taken = |at: usize| left_out.iter().all(|left| left.at != at) && !is_passed_over(&command.words, at);
        let words = command.words.iter().enumerate().skip(1).filter(|(at, _)| (runs || prints) && is_taken(*at));
        let words = words.map(|(_, word)| word);
        let exported = command.words.iter().skip(1).filter_map(assignment);
        let set = command.assignments.iter().cloned().chain(exported);
        let set = set.filter(|(name, _)| runs || is_command(name)).filter_map(|(_, value)| code(&value));
        let given = command.given.iter().filter(|_| runs || self.flow.reaches(command)).filter(|text| is_code(text));
        let texts = words.filter_map(code).chain(given.cloned());
        // Code in another language runs what stands in quotes in it, if anything.
        let is_foreign = |name: &str| is_interpreter(name) && !WITHOUT_QUOTES.iter().any(|bare| name.starts_with(bare));
        let is_foreign = runs && command.words.first().is_some_and(|word| is_foreign(name_of(&word.text)));
        let texts = texts.flat_map(|text| if is_foreign { in_quotes(&text) } else { vec![text] });
        texts.chain(set).collect()
    }
}

/// The variables in which git is told to find what an alias stands for.
fn names_of_aliases(rest: &[ShellWord]) -> Vec<&str> {
    let settings = rest.iter().enumerate().filter_map(|(at, word)| match word.text.strip_prefix("--config-env")? {
        "" => rest.get(at + 1).map(|setting| setting.text.as_str()),
        glued => glued.strip_prefix('='),
    });
    let is_alias = |(key, _): &(&str, &str)| key.to_ascii_lowercase().starts_with("alias.");
    settings.filter_map(|setting| setting.rsplit_once('=').filter(is_alias)).map(|(_, name)| name).collect()
}

/// What git makes of a subcommand that a setting right before it gives another name: `git -c alias.x=config x a b`.
fn aliased(name: &str, rest: &[ShellWord]) -> Option<String> {
    let line = GitLine::read(rest).filter(|_| name == "git")?;
    let mut words: Vec<String> = line.words.iter().map(|word| word.raw.clone()).collect();
    let mut is_aliased = false;
    // One may stand for another; the last setting of a name counts.
    for _ in 0..DEEPEST {
        let sub = words.first()?.to_ascii_lowercase();
        let meant = line.settings.iter().rev().find_map(|setting| {
            let (key, value) = setting.text.split_once('=')?;
            (key.to_ascii_lowercase().strip_prefix("alias.")? == sub).then_some(value)
        });
        let Some(meant) = meant else { break };
        is_aliased = true;
        words.splice(..1, meant.split_whitespace().map(str::to_owned));
    }
    is_aliased.then(|| format!("git {}", words.join(" ")))
}

/// Variables from which a program takes options, as if they stood among its words.
const OPTIONS: [(&str, &str); 9] = [
    ("GREP_OPTIONS", "grep"),
    ("GZIP", "gzip"),
    ("TAR_OPTIONS", "tar"),
    ("UNZIP", "unzip"),
    ("UNZIPOPT", "unzip"),
    ("XZ_DEFAULTS", "xz"),
    ("XZ_OPT", "xz"),
    ("ZIP", "zip"),
    ("ZIPOPT", "zip"),
];

fn is_for(variable: &str, program: &str) -> bool {
    OPTIONS.contains(&(variable, program))
}

/// The programs that matter and that a shape may be: a pattern for `/bin/git` is git. What only the environment knows is
/// none that the line could have chosen.
fn programs_like(shape: &str) -> Vec<&'static str> {
    let name = name_of(shape);
    if is_literal(name) || name.contains(OUTER) {
        return vec![];
    }
    TELLING.split_whitespace().chain(SEARCHING.split_whitespace()).filter(|program| may_be(name, program)).collect()
}

/// The code that a word may be. What the shell fills in is for others to judge: here it is what stands there in quotes.
fn code(word: &ShellWord) -> Option<String> {
    let is_quoted = word.pieces.iter().all(|piece| matches!(piece, Piece::Text(_)));
    Some(word.script()).filter(|text| is_quoted && is_code(text))
}

fn is_code(text: &str) -> bool {
    text.contains(CODE)
}

/// A text as the scripts that it may hold: all of it, what stands in quotes in it, and what begins with the name of a program
/// that matters, whatever stands before: `1e rm x`, `all: ; rm x`, `!rm x`, `-Irm x`.
fn scripts_in(text: &str) -> Vec<String> {
    // `$$` is what make and others make a dollar of.
    let text = text.replace("$$", "$");
    let mut scripts = in_quotes(&text);
    // With the options that are set right before its program.
    scripts.extend(OPTIONS.iter().filter_map(|(name, _)| Some(text[text.find(&format!("{name}="))?..].to_owned())));
    // What a setting says, as in `filter.x.clean=rm x`: all of it would be a variable and a command without its name.
    let is_key = |key: &str| key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let said = text.split_once('=').filter(|(key, value)| is_key(key) && is_code(value));
    scripts.extend(said.map(|(_, value)| value.to_owned()));
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut from = 0;
    for part in text.split_inclusive(|c: char| !is_name(c)) {
        let name = part.trim_end_matches(|c: char| !is_name(c));
        let behind = text[from + name.len()..].chars().next();
        let flagged = |telling: &str| name.starts_with('-') && name.len() > telling.len() && name.ends_with(telling);
        let is_called = behind.is_none_or(|c| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '"' | '\'' | '\\'));
        let begins = TELLING.split_whitespace().find(|telling| name == *telling || flagged(telling));
        if let Some(telling) = begins.filter(|_| is_called) {
            let at = from + name.len() - telling.len();
            scripts.extend((at > 0).then(|| text[at..].to_owned()));
        }
        from += part.len();
    }
    scripts.push(text);
    scripts
}

/// What stands in quotes of any kind, and looks like code.
fn in_quotes(text: &str) -> Vec<String> {
    ['"', '\'', '`'].into_iter().flat_map(|quote| quoted(text, quote)).collect()
}

/// What stands between two quotes of a kind, and looks like code.
fn quoted(text: &str, quote: char) -> Vec<String> {
    let mut texts = vec![];
    let mut inside: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, &mut inside) {
            (c, Some(said)) if c == quote => {
                texts.push(std::mem::take(said));
                inside = None;
            }
            (c, None) if c == quote => inside = Some(String::new()),
            ('\\', said) => {
                let escaped = chars.next();
                if let Some(said) = said {
                    said.extend(escaped);
                }
            }
            (c, Some(said)) => said.push(c),
            (_, None) => {}
        }
    }
    texts.retain(|text| is_code(text.trim()));
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_a_text_is_found_whatever_stands_before_it() {
        for (text, script) in [
            ("1e rm -rf x", "rm -rf x"),
            ("all: ; cd x && cat *", "cd x && cat *"),
            ("all:\n\t@find ~ -delete", "find ~ -delete"),
            ("r !find ~ -delete", "find ~ -delete"),
            ("alias.x=!cd x", "cd x"),
            ("-cIrm -rf ~", "rm -rf ~"),
            ("filter.x.clean=csplit -f .g a 1", "csplit -f .g a 1"),
            ("alias.x=!TAR_OPTIONS=--remove-files tar cf x ~", "TAR_OPTIONS=--remove-files tar cf x ~"),
            ("BEGIN { system(\"cat a b\") }", "cat a b"),
            ("print 'x' | \"cat \\\"a b\\\"\"", "cat \"a b\""),
            ("rm $${X}", "rm ${X}"),
        ] {
            assert!(scripts_in(text).iter().any(|found| found == script), "{text}: {:?}", scripts_in(text));
        }
        assert_eq!(scripts_in("the finder of alarms"), ["the finder of alarms"]);
    }

    #[test]
    fn more_texts_than_are_looked_at_leave_a_line_unfinished() {
        let of = |line: &str| Suspects::of(&Script::read(line)).with_texts();
        assert!(of("make --eval 'all: ; cat a'").unfinished.is_none());
        let long = format!("make --eval '{}'", "rm a; ".repeat(1_000));
        assert!(of(&long).unfinished.is_some());
        let many = |most: usize| (0..most).map(|at| format!("a$(echo {at})")).collect::<Vec<_>>().join(" ");
        assert!(of(&format!("rm {}", many(8))).unfinished.is_none());
        for line in [
            format!("rm {} x$(echo ' /home/ann/')p", many(40)),
            format!("rm x{}", "$(echo a)".repeat(40)),
            format!("rm x{}", "`echo a`".repeat(40)),
            format!("{} cat x$(echo ' .e')nv", (0..40).map(|at| format!("echo a {at};")).collect::<String>()),
            format!("{} echo b | xargs cat", (0..40).map(|at| format!("echo a {at};")).collect::<String>()),
        ] {
            assert!(of(&line).unfinished.is_some(), "{line}");
        }
        // The same text over and over is one, and where nothing takes them they are none.
        assert!(of(&format!("{} cat x$(echo ' .e')nv", "echo a b; ".repeat(40))).unfinished.is_none());
        let printed = (0..40).map(|at| format!("echo step {at}; ")).collect::<String>();
        assert!(of(&format!("{printed} make")).unfinished.is_none());
        let deep = "\"a 'b \\\"c d\\\"'\"".to_owned();
        assert!(of(&format!("make --eval {deep}")).unfinished.is_none());
    }
}
