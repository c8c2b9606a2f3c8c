//! A rule's pattern for command lines: a program, words and stars; and whether a command is what it says.

use crate::policy::commands::command::name_of;
use crate::policy::commands::git::{self, GitLine, Subcommand};
use crate::policy::shell::{ANY, OUTER, ShellWord};
use crate::policy::words::glob::text_matches;
use crate::policy::words::values::{Variables, fills_outside_quotes, is_literal, may_be};

/// Whether a command is what a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    No,
    /// It depends on what nobody knows.
    Perhaps,
    Yes,
}

/// What a rule for Bash says about a line.
pub(crate) struct LinePattern<'rule> {
    pattern: &'rule str,
    /// It ends with ` *` or `:*`: the pattern alone, or with more words behind it.
    pub(crate) rest: bool,
    words: Vec<&'rule str>,
    /// The folder that `$(pwd)` and its like print is one word, however it is written.
    is_in_plain_folder: bool,
}

impl<'rule> LinePattern<'rule> {
    pub(crate) fn read(specifier: &'rule str) -> Self {
        let rest = specifier.strip_suffix(":*").or_else(|| specifier.strip_suffix(" *"));
        let pattern = rest.unwrap_or(specifier).trim_end();
        Self { pattern, rest: rest.is_some(), words: pattern.split_whitespace().collect(), is_in_plain_folder: false }
    }

    /// The same for a line in a folder, by all its names, without a blank in any of them.
    pub(crate) fn in_folder<'name>(self, mut names: impl Iterator<Item = &'name str>, leaves_it: bool) -> Self {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | '+' | '@');
        Self { is_in_plain_folder: !leaves_it && names.all(|folder| folder.chars().all(is_plain)), ..self }
    }

    pub(crate) fn is_exact(&self) -> bool {
        !self.rest && !self.pattern.contains('*')
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        if text_matches(self.pattern, text) {
            return true;
        }
        self.rest && (text_matches(&format!("{} *", self.pattern), text))
    }

    /// The name of the program it speaks of; it may hold stars.
    pub(crate) fn program(&self) -> &'rule str {
        self.words.first().map_or("*", |word| name_of(word))
    }

    /// The words behind the program.
    pub(crate) fn words(&self) -> &[&'rule str] {
        self.words.get(1..).unwrap_or_default()
    }

    pub(crate) fn shown(&self) -> &'rule str {
        self.pattern
    }

    /// Whether a command is what the rule says, also with options in other places: the subcommands stand in their order,
    /// with nothing but options and what may belong to them between them, and the options stand anywhere.
    pub(crate) fn fits(&self, words: &[ShellWord], takes_more: bool, variables: &Variables) -> Fit {
        let Some((first, rest)) = words.split_first() else { return Fit::No };
        // A pattern within is for the whole text of a command.
        if self.words.is_empty() || self.pattern.contains('*') || !first.is_known() {
            return Fit::No;
        }
        let (flags, subs): (Vec<&str>, Vec<&str>) = self.words().iter().partition(|word| word.starts_with('-'));
        let name = name_of(&first.text);
        if let Some(sub) = self.glued(name, subs.is_empty()) {
            let words: Vec<ShellWord> =
                [self.program(), sub].into_iter().map(ShellWord::plain).chain(rest.iter().cloned()).collect();
            return self.fits(&words, takes_more, variables);
        }
        if name != self.program() && !name.eq_ignore_ascii_case(self.program()) {
            return Fit::No;
        }
        let of_git = GitLine::read(rest);
        if name == "git" && of_git.is_none() && !subs.is_empty() {
            return Fit::Perhaps;
        }
        let words = of_git.filter(|_| name == "git").map_or(rest, |line| line.words);
        // What is printed outside of quotes for the value of an option before the subcommand may be more words than one.
        let options = &rest[..rest.len() - words.len()];
        if !subs.is_empty() && options.iter().any(|word| self.may_be_words(word, variables)) {
            return Fit::Perhaps;
        }
        let rest = words;
        if let (Some(wanted), Some(word), true) = (subs.first(), rest.first(), name == "git")
            && !word.is_flag()
            && git::subcommand(rest, wanted) == Subcommand::Unknown
        {
            return Fit::Perhaps;
        }
        let in_order = self.in_order(&subs, rest, takes_more, variables);
        let may_be_unknown =
            |flag: &str| takes_more || rest.iter().any(|word| !word.is_known() && may_be_option(word, flag, variables));
        let flagged = |flag: &&str| match rest.iter().any(|word| is_flag(flag, word)) || has_letters(flag, rest) {
            true => Fit::Yes,
            false if may_be_unknown(flag) || may_be_said(flag, rest) => Fit::Perhaps,
            false => Fit::No,
        };
        flags.iter().map(flagged).fold(in_order, Fit::min)
    }

    /// The subcommand in the name of a program: `git-push` is `git push`.
    fn glued<'name>(&self, name: &'name str, is_alone: bool) -> Option<&'name str> {
        let sub = name.strip_prefix(self.program())?.strip_prefix('-')?;
        (!sub.is_empty() && (self.program() == "git" || !is_alone)).then_some(sub)
    }

    fn in_order(&self, subs: &[&str], rest: &[ShellWord], takes_more: bool, variables: &Variables) -> Fit {
        let mut wanted = subs.iter();
        let mut next = wanted.next();
        let mut after_flag = false;
        let mut sure = Fit::Yes;
        for word in rest {
            let Some(sub) = next else {
                // What means one line means no longer one.
                let more = !self.rest && !word.is_flag();
                if more {
                    return Fit::No;
                }
                continue;
            };
            let shapes = variables.spellings(word);
            if *sub == "publish" && word.text == "approve" && rest.iter().any(|word| is_stage(&word.text)) {
                return Fit::Perhaps;
            }
            if shapes.iter().any(|shape| shape == sub) {
                next = wanted.next();
            } else if shapes
                .iter()
                .any(|shape| !is_literal(shape) && (may_be(shape, sub) || !word.is_quoted && shape.contains(ANY)))
            {
                return Fit::Perhaps;
            } else if !word.is_flag() && !after_flag && !self.is_before_a_subcommand(&word.text) {
                // Some programs know a subcommand by its beginning, and what it is may stand in the environment.
                let is_short = |shape: &String| !shape.is_empty() && sub.starts_with(shape.as_str());
                let is_outer = |shape: &String| may_be(&shape.replace(OUTER, &ANY.to_string()), sub);
                let may = |shape: &String| is_short(shape) || shape.contains(OUTER) && is_outer(shape);
                return if shapes.iter().any(may) { Fit::Perhaps } else { Fit::No };
            }
            after_flag = word.is_flag() && !word.text.contains('=');
        }
        if next.is_some() {
            sure = if takes_more { Fit::Perhaps } else { Fit::No };
        }
        sure
    }
}

impl LinePattern<'_> {
    /// Whether the line itself may make several words of one.
    fn may_be_words(&self, word: &ShellWord, variables: &Variables) -> bool {
        // What these print is the folder that one works in, or one above it.
        const PRINT_FOLDERS: [&str; 2] = ["$(git rev-parse --show-toplevel)", "$(pwd)"];
        let printed = PRINT_FOLDERS.iter().find(|command| word.raw.contains(*command));
        let rest = printed.filter(|_| self.is_in_plain_folder).map(|command| word.raw.replacen(command, "", 1));
        let several = |shape: &String| shape.contains([ANY, ' ', '\t', '\n']);
        fills_outside_quotes(rest.as_ref().unwrap_or(&word.raw)) && variables.spellings(word).iter().any(several)
    }

    /// A word that only says what kind of thing a subcommand is about, as in `docker container run` and `cargo +nightly x`.
    fn is_before_a_subcommand(&self, word: &str) -> bool {
        match self.program() {
            "docker" | "podman" => matches!(word, "container" | "image"),
            "cargo" => word.starts_with('+'),
            "npm" | "pnpm" => is_stage(word),
            _ => false,
        }
    }
}

/// What npm publishes in two steps: `npm stage publish`, and `npm stage approve`. A beginning that no other one has will do.
fn is_stage(word: &str) -> bool {
    matches!(word, "stag" | "stage")
}

/// Whether a word that is not certain may be this option, or hold it among others.
fn may_be_option(word: &ShellWord, flag: &str, variables: &Variables) -> bool {
    let is_one = !fills_outside_quotes(&word.raw);
    let may = |shape: &String| {
        let open = |c: char| !is_literal(&c.to_string()) || c == OUTER;
        // What is one word and begins as no option does is none, and neither is one with more than letters in it.
        let begins = shape.starts_with('-') || shape.starts_with(open);
        let is_short = !flag.starts_with("--");
        let fits = shape.chars().all(|c| open(c) || c.is_ascii_alphanumeric() || c == '-');
        !is_one || begins && (!is_short || fits)
    };
    variables.shapes(word).iter().any(may)
}

/// Whether a word is this option, or a beginning of its long name.
fn is_flag(flag: &str, word: &ShellWord) -> bool {
    let name = word.text.split('=').next().unwrap_or_default();
    word.text == flag || name == flag || name.len() > 3 && flag.starts_with("--") && flag.starts_with(name)
}

/// Whether all letters of `-rf` are among the short options, together or apart.
fn has_letters(flag: &str, rest: &[ShellWord]) -> bool {
    let short = |text: &str| text.strip_prefix('-').filter(|letters| !letters.starts_with('-')).map(str::to_owned);
    // Longer ones are names, as `-delete` is.
    let is_letters = |letters: &String| letters.len() <= 3 && letters.chars().all(char::is_alphanumeric);
    let Some(letters) = short(flag).filter(is_letters) else { return false };
    let given: String = rest.iter().filter_map(|word| short(&word.text)).collect();
    letters.chars().all(|letter| given.contains(letter))
}

/// Whether the options may mean what another one says: a letter, and a long name that begins with it. A `+` before what
/// is pushed is its `--force`.
fn may_be_said(flag: &str, rest: &[ShellWord]) -> bool {
    let given = |wanted: char| {
        rest.iter().any(|word| match word.text.strip_prefix("--") {
            Some(long) => long.starts_with(wanted),
            None => word.is_flag() && word.text.chars().skip(1).any(|letter| letter.eq_ignore_ascii_case(&wanted)),
        })
    };
    match flag.strip_prefix("--") {
        Some(long) => {
            let letter = long.chars().next().unwrap_or_default();
            let short =
                |word: &ShellWord| word.is_flag() && !word.text.starts_with("--") && word.text[1..].contains(letter);
            rest.iter().any(short) || long == "force" && rest.iter().any(|word| word.text.starts_with('+'))
        }
        None => {
            let letters = &flag[1..];
            letters.len() <= 3
                && letters.chars().all(|letter| letter.is_ascii_alphanumeric() && given(letter.to_ascii_lowercase()))
        }
    }
}
