//! Lines that are more than plain commands, and of which it is certain all the same what they have to do with.
//!
//! This counts only where a rule allows every command. Then a pattern is certain once it was looked up on the disk, a variable
//! where the line itself says what it holds, and a text where no shell fills it in: whatever strict rules, protected names
//! and removals could mean stands there, and was looked at.

use crate::policy::commands::command::{is_safe, is_shell, name_of};
use crate::policy::commands::environment::is_command;
use crate::policy::commands::inert::is_inert;
use crate::policy::commands::reading::{Reading, builds, reading};
use crate::policy::files::access::Plan;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::names::messages::is_no_file;
use crate::policy::names::printing::prints_plainly;
use crate::policy::shell::{ANY, OUTER, Piece, ShellCommand, ShellWord, doubt};
use crate::policy::texts::feeding::is_interpreter;
use crate::policy::words::values::{is_literal, is_name};

/// The doubts that the words of a line can clear up, and those about how something is written that is read as bash does.
const CLEARED: [&str; 16] = [
    doubt::PATTERN,
    doubt::COMPOUND,
    doubt::VARIABLE,
    doubt::PRINTED,
    doubt::NUMBER,
    doubt::TEXT,
    doubt::SHELL,
    doubt::GROUP,
    doubt::BACKGROUND,
    doubt::COMMENT,
    doubt::HOME,
    doubt::BACKSLASH,
    doubt::GOES_ON,
    doubt::LINES,
    doubt::MADE_FILE,
    doubt::GIVEN,
];

/// Whether every command, every word and every file of a line is known.
pub(crate) fn is_certain(plan: &Plan) -> bool {
    let suspects = &plan.with_texts;
    // What is read may be any text.
    let reads = |command: &Found| command.words.first().is_some_and(|word| word.text == "read");
    let prints_plainly = prints_plainly(&plan.script.commands) && !suspects.found.iter().any(reads);
    let certainty = Certainty { suspects, prints_plainly };
    plan.script.is_readable()
        && plan.script.doubts.iter().all(|why| match *why {
            doubt::RECKONED => certainty.reckons(),
            doubt::BRACES => plan.script.commands.iter().all(opens_braces),
            why => CLEARED.contains(&why),
        })
        && !suspects.is_unsure
        && suspects.programs.is_empty()
        && suspects.computed.is_none()
        && suspects.unseen.is_none()
        && plan.touched.files.iter().all(|touch| certainty.is_known(&touch.path))
        && suspects.found.iter().all(|command| certainty.of(command))
}

struct Certainty<'a> {
    suspects: &'a Suspects,
    /// What commands print into words are numbers, dates and hashes: no name of a file that anybody could have chosen.
    prints_plainly: bool,
}

impl Certainty<'_> {
    /// Whether a text is what it is, and nobody has to know the environment for it.
    fn is_known(&self, shape: &str) -> bool {
        let shape =
            if self.prints_plainly && shape != ANY.to_string() { shape.replace(ANY, "") } else { shape.to_owned() };
        is_literal(&shape) && !shape.contains([ANY, OUTER])
    }

    /// Whether all names that are reckoned with hold numbers that the line says, or that commands print.
    fn reckons(&self) -> bool {
        let variables = &self.suspects.variables;
        let is_number = |value: &String| *value == ANY.to_string() || value.chars().all(|c| c.is_ascii_digit());
        let holds_number = |name: &String| {
            variables.values.get(name).is_some_and(|values| values.iter().all(is_number))
                && !variables.made.contains(name)
                && !variables.unfollowed.contains(name)
        };
        let words = self.suspects.found.iter().flat_map(|command| {
            let values = command.assignments.iter().map(|(_, value)| value);
            command.words.iter().chain(values).chain(command.redirects.iter().map(|redirect| &redirect.target))
        });
        self.prints_plainly
            && !variables.sets_any
            && !variables.has_references
            && words.flat_map(|word| names_reckoned(&word.raw)).all(|name| holds_number(&name))
    }

    fn of(&self, command: &Found) -> bool {
        let redirects_are_certain =
            command.redirects.iter().all(|redirect| redirect.target.is_known() && !has_pattern(&redirect.target));
        if !redirects_are_certain || !sets_plainly(&command.assignments, &command.words) {
            return false;
        }
        let Some((first, rest)) = command.words.split_first() else { return true };
        let is_test = matches!(first.text.as_str(), "[" | "[[");
        if !first.is_literal && !is_test {
            return false;
        }
        match first.text.as_str() {
            "export" => rest.iter().all(is_set),
            "source" | "." => rest.len() == 1 && rest[0].is_known() && !rest[0].is_made_file(),
            "set" => rest.iter().all(|word| {
                word.is_literal
                    && matches!(word.text.as_str(), "-e" | "-u" | "-x" | "-eu" | "-ex" | "-euo" | "-o" | "pipefail")
            }),
            "alias" | "bind" | "compgen" | "complete" | "declare" | "enable" | "eval" | "exec" | "fc" | "hash"
            | "let" | "local" | "mapfile" | "popd" | "pushd" | "readarray" | "readonly" | "shopt" | "trap"
            | "typeset" | "unset" => false,
            "read" => rest.iter().all(|word| word.is_literal && !word.text.contains('[')),
            // What it is given is neither a file nor run.
            _ if reading(&command.words) == Reading::Nothing && is_inert(&command.words) && !is_loop(first) => true,
            _ => (1..command.words.len()).all(|at| self.is_said(&command.words, at)) && takes_text(command),
        }
    }

    /// Whether a word is what the line says, or nothing that could matter.
    fn is_said(&self, words: &[ShellWord], at: usize) -> bool {
        let word = &words[at];
        if is_no_file(words, at) {
            return true;
        }
        let shapes = self.suspects.variables.shapes(word);
        if shapes.iter().any(|shape| shape.contains(OUTER)) {
            return false;
        }
        let is_open = word.pieces.contains(&Piece::Unknown) || shapes.iter().any(|shape| shape.contains(ANY));
        !is_open || self.is_printed(word)
    }

    /// Whether what is not known of a word is what commands print, by itself or by a name that the line sets.
    fn is_printed(&self, word: &ShellWord) -> bool {
        let variables = &self.suspects.variables;
        let is_set = |name: &str| is_name(name) && variables.values.contains_key(name);
        let is_plain = |piece: &Piece| match piece {
            Piece::Text(_) | Piece::Glob(_) | Piece::Unknown => true,
            Piece::Variable(name) => is_set(name) && name != "_",
            Piece::MadeOf(..) => false,
        };
        self.prints_plainly
            && !variables.sets_any
            && !variables.is_unfollowed(word)
            && !word.is_made_file()
            && word.pieces.iter().all(is_plain)
    }
}

/// Whether lists in braces make words of a command that are all known, and stand nowhere else in it.
fn opens_braces(command: &ShellCommand) -> bool {
    let has_none = |word: &ShellWord| !word.text.contains(['{', '}']);
    let is_open = |word: &ShellWord| {
        let (made, all) = word.unbraced();
        !word.is_quoted && all && made.iter().all(|text| !text.contains(['{', '}']))
    };
    let values = command.assignments.iter().map(|(_, value)| value);
    command.words.iter().all(|word| has_none(word) || word.is_literal || is_open(word) && word.is_known())
        && values.chain(command.redirects.iter().map(|redirect| &redirect.target)).all(has_none)
}

/// The names in `$((…))`, without those in commands that print numbers into it.
fn names_reckoned(raw: &str) -> Vec<String> {
    let mut names = vec![];
    for inside in raw.split("$((").skip(1).filter_map(|part| part.split("))").next()) {
        let parts = inside.split("$(").enumerate();
        let own = parts.map(|(at, part)| if at == 0 { part } else { part.split_once(')').map_or("", |(_, own)| own) });
        let words = own.flat_map(|part| part.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
        let is_number = |word: &&str| word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit());
        names.extend(words.filter(|word| !is_number(word)).map(str::to_owned));
    }
    names
}

/// Whether a text that a command is given is read as one in its words would be: code, a script, or nothing that is run.
fn takes_text(command: &Found) -> bool {
    let name = command.words.first().map_or("", |word| name_of(&word.text));
    let is_read =
        || is_interpreter(name) || is_shell(name) || matches!(name, "psql" | "sqlite3" | "mysql") || builds(name);
    let is_known = |text: &String| !text.contains([ANY, OUTER]);
    command.given.is_empty() || is_inert(&command.words) || is_read() && command.given.iter().all(is_known)
}

/// Whether what a command sets can neither name a program nor hide a text that something runs.
pub(super) fn sets_plainly(assignments: &[(String, ShellWord)], words: &[ShellWord]) -> bool {
    assignments.iter().all(|(name, value)| {
        // What the shell alone knows counts where it is used.
        let is_kept = words.is_empty() && !has_pattern(value);
        // What parts the words that are read, for that command alone.
        let is_read = name == "IFS" && words.first().is_some_and(|word| word.text == "read") && value.is_known();
        let is_told = holds_only_places(value) && is_plain_text(&value.text);
        is_read || is_harmless(name) && (is_kept || is_told) || tells_only(name, &value.text) && is_told
    })
}

/// `export X=y`
fn is_set(word: &ShellWord) -> bool {
    let (name, value) = word.text.split_once('=').unwrap_or((word.text.as_str(), ""));
    holds_only_places(word) && (name == "PATH" || is_harmless(name) && is_plain_text(value))
}

/// Whether a value is words, and nothing that is more than that in any language.
fn is_plain_text(value: &str) -> bool {
    value.chars().all(|c| c.is_alphanumeric() || " _-./:@=,+%?&#~$".contains(c))
}

/// Whether the options or folders in a variable start nothing but what the program would start without them.
fn tells_only(name: &str, value: &str) -> bool {
    const OPTIONS: [&str; 7] = [
        "--max-old-space-size=",
        "--experimental-vm-modules",
        "--openssl-legacy-provider",
        "--no-warnings",
        "--no-deprecation",
        "--trace-warnings",
        "--enable-source-maps",
    ];
    let is_option = |option: &str| OPTIONS.contains(&option.trim_end_matches(|c: char| c.is_ascii_digit()));
    match name {
        "NODE_OPTIONS" => value.split_whitespace().all(is_option),
        "PYTHONUNBUFFERED" | "PYTHONDONTWRITEBYTECODE" | "PYTHONHASHSEED" | "PYTHONUTF8" | "PYTHONIOENCODING" => true,
        // The text stays as it is, and is shown as it is.
        "EDITOR" | "VISUAL" | "GIT_EDITOR" | "GIT_SEQUENCE_EDITOR" => matches!(value, "true" | ":"),
        "PAGER" | "GIT_PAGER" | "MANPAGER" => value == "cat",
        // Folders of the project.
        "PYTHONPATH" => value.split(':').all(|folder| !folder.starts_with(['/', '~', '$']) && !folder.contains("..")),
        _ => false,
    }
}

/// Whether a variable is none from which programs take what they start, or how, or where.
fn is_harmless(name: &str) -> bool {
    let begins = ["LD_", "DYLD_", "GIT_", "BASH", "PYTHON", "PERL", "RUBY", "NODE_", "JAVA_", "XDG_", "npm_", "NPM_"];
    let ends = ["HOME", "PATH", "CONFIG", "DIR", "_ROOT", "OPTIONS", "OPTS", "OPT", "INIT", "RC"];
    let known =
        ["IFS", "GLOBIGNORE", "SHELLOPTS", "PWD", "OLDPWD", "LESS", "MORE", "GZIP", "ZIP", "UNZIP", "XZ_DEFAULTS"];
    is_safe(name)
        || !name.is_empty()
            && !is_command(name)
            && !begins.iter().any(|begin| name.starts_with(begin))
            && !ends.iter().any(|end| name.ends_with(end))
            && !known.contains(&name)
}

/// What a loop goes through is what its commands get.
fn is_loop(first: &ShellWord) -> bool {
    matches!(first.text.as_str(), "for" | "select" | "case" | "in")
}

fn has_pattern(word: &ShellWord) -> bool {
    word.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_)))
}

/// Whether a value is made of text, and of folders and paths that everybody has.
fn holds_only_places(word: &ShellWord) -> bool {
    word.pieces.iter().all(|piece| match piece {
        Piece::Text(_) => true,
        Piece::Variable(name) => matches!(name.as_str(), "PATH" | "PWD" | "HOME"),
        Piece::MadeOf(..) | Piece::Unknown | Piece::Glob(_) => false,
    })
}
