//! Files that commands write without a word that names them: settings, and what a variable of theirs names.

use crate::policy::commands::client::changes_settings;
use crate::policy::commands::command::name_of;
use crate::policy::commands::git::{GitLine, names_code};
use crate::policy::commands::inert::started;
use crate::policy::commands::reading::{Descent, Reading, reading};
use crate::policy::files::folders::GIT_FOLDER;
use crate::policy::files::touching::Touch;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::shell::{ANY, OUTER, ShellWord, set_by_word};
use crate::policy::words::options;
use crate::policy::words::values::may_be;

/// The protected files that a command writes by what it is.
pub(crate) fn written(words: &[ShellWord], suspects: &Suspects) -> Option<&'static str> {
    let (first, rest) = started(words).split_first()?;
    match name_of(&first.text) {
        "git" => written_by_git(rest, suspects),
        "npm" | "pnpm" | "yarn" => {
            // Its commands may be shortened, and options with values may stand before them.
            let words: Vec<&str> = rest.iter().filter(|word| !word.is_flag()).map(|word| word.text.as_str()).collect();
            let is_config = |word: &str| word == "c" || word.len() > 2 && "config".starts_with(word);
            let changes = |word: &str| matches!(word, "set" | "edit" | "delete" | "rm" | "del" | "fix");
            let at = words.iter().position(|word| is_config(word));
            let sets = at.is_some_and(|at| words[at + 1..].iter().any(|word| changes(word)));
            (sets || sets_alone(rest)).then_some("~/.npmrc")
        }
        "scalar" => {
            let sets = |word: &ShellWord| matches!(word.text.as_str(), "clone" | "register" | "reconfigure" | "run");
            rest.iter().any(sets).then_some(".git/config")
        }
        _ => changes_settings(started(words)).then_some("~/.claude.json"),
    }
}

/// Whether npm is told to `set` without `config`: what stands before it are options, and perhaps values of theirs.
fn sets_alone(rest: &[ShellWord]) -> bool {
    let is_sub = |at: usize| !rest[at].is_flag() && (at == 0 || !rest[at - 1].is_flag());
    let at = (0..rest.len()).find(|at| is_sub(*at) || rest[*at].text == "set");
    at.is_some_and(|at| rest[at].text == "set")
}

/// The hooks of git, and where it keeps all that is its own.
const HOOKS: &str = ".git/hooks";

/// Subcommands that make the folder in which git keeps what is its own.
const MAKING: [&str; 3] = ["clone", "init", "init-db"];

fn written_by_git(rest: &[ShellWord], suspects: &Suspects) -> Option<&'static str> {
    let line = GitLine::read(rest)?;
    let copies = |setting: &&ShellWord| setting.text.to_ascii_lowercase().contains("init.templatedir");
    if line.settings.iter().any(copies) {
        return Some(HOOKS);
    }
    let (sub, words) = line.words.split_first()?;
    // What is put together may be any word of the line.
    let is_made = words.iter().any(|word| suspects.variables.spellings(word).iter().any(|shape| shape.contains(ANY)));
    let others = || suspects.found.iter().flat_map(|command| &command.words).filter(|_| is_made);
    let has = |begin: &str| words.iter().chain(others()).any(|word| word.text.starts_with(begin));
    let says = |said: &[&str]| words.iter().chain(others()).any(|word| said.contains(&word.text.as_str()));
    let shapes = suspects.variables.spellings(sub).into_iter().map(|shape| shape.replace(OUTER, &ANY.to_string()));
    let shapes: Vec<String> = shapes.collect();
    let may_make = MAKING.iter().any(|name| shapes.iter().any(|shape| may_be(shape, name)));
    match sub.text.as_str() {
        "config" => sets_code(words).then_some(".git/config"),
        _ if may_make && has("--sep") => Some(GIT_FOLDER),
        _ if may_make => {
            // What it copies there, a file of settings may say.
            let is_read = |name: &str| matches!(name, "GIT_TEMPLATE_DIR" | "HOME" | "XDG_CONFIG_HOME");
            let is_set = || sets(suspects, |name| is_read(name) || name.starts_with("GIT_CONFIG"));
            (has("--te") || line.code().next().is_some() || sets_for_clone(words) || is_set()).then_some(HOOKS)
        }
        "submodule" => says(&["add"]).then_some(".gitmodules"),
        "lfs" => says(&["install", "update"]).then_some(HOOKS),
        "maintenance" => says(&["start", "register"]).then_some("~/.gitconfig"),
        // It may be another name for one of these.
        _ if !line.is_own() && sets(suspects, |name| name == "GIT_TEMPLATE_DIR") => Some(HOOKS),
        _ => None,
    }
}

/// Whether a clone gets settings that name a program.
fn sets_for_clone(words: &[ShellWord]) -> bool {
    let is_one = |at: usize| match options::value(&words[at].text, "c", &["--config"]) {
        Some("") => words.get(at + 1).is_none_or(|word| names_code(&word.text)),
        Some(setting) => names_code(setting.trim_start_matches('=')),
        None => false,
    };
    (0..words.len()).any(is_one)
}

/// Whether the line sets a variable to something that may be a file, or another one of its words may do so.
fn sets(suspects: &Suspects, is_one: impl Fn(&str) -> bool) -> bool {
    let variables = &suspects.variables;
    let is_file = |value: &String| !value.is_empty() && value != "/dev/null";
    let is_set = variables.values.iter().any(|(name, values)| is_one(name) && values.iter().any(is_file));
    let said = |text: &String| text.split('=').next().is_some_and(&is_one) && text.contains('=');
    let words = suspects.found.iter().flat_map(|command| command.words.iter().map(|word| &word.text));
    is_set || variables.sets_any || variables.unfollowed.iter().any(|name| is_one(name)) || words.into_iter().any(said)
}

/// The variables that a command sets: for itself, and for those behind it.
pub(crate) fn settings(command: &Found) -> Vec<(String, ShellWord)> {
    let words = command.words.iter().filter_map(set_by_word);
    command.assignments.iter().cloned().chain(words).collect()
}

/// Whether `git config` may set something that names a program. What only says how something looks or is stored does not.
fn sets_code(words: &[ShellWord]) -> bool {
    let has = |begins: &[&str]| words.iter().any(|word| begins.iter().any(|begin| word.text.starts_with(begin)));
    let is_value = |at: usize| at.checked_sub(1).is_some_and(|at| takes_a_value(&words[at].text));
    let names: Vec<&ShellWord> =
        words.iter().enumerate().filter(|(at, word)| !word.is_flag() && !is_value(*at)).map(|(_, word)| word).collect();
    let (reads, names) = match names.as_slice() {
        [sub, names @ ..] if matches!(sub.text.as_str(), "get" | "list" | "get-all" | "get-regexp") => (true, names),
        [sub, names @ ..] if matches!(sub.text.as_str(), "set" | "unset" | "edit") => (false, names),
        names => (has(&["--get", "--li", "-l"]) || names.len() == 1 && !has(&["--un", "--add", "--rep"]), names),
    };
    let edits = has(&["-e", "--ed", "--rename", "--remove"]) || words.iter().any(|word| word.text == "edit");
    edits || !reads && names.first().is_some_and(|key| !key.is_known() || names_code(&key.text))
}

fn takes_a_value(flag: &str) -> bool {
    matches!(flag, "-f" | "--file" | "--blob" | "--type" | "-t" | "--default" | "--comment" | "--value" | "--url")
}

/// What variables of a command's own name: a file that it may write, and what may be done to it.
pub(crate) fn in_environment(command: &Found) -> Vec<(ShellWord, Touch)> {
    let exports = ["export", "env", "declare", "typeset", "local", "readonly"];
    let exports = command.words.first().is_some_and(|word| exports.contains(&word.text.as_str()));
    let counts = |name: &str| match command.words.is_empty() {
        // The shell itself, and what it starts, know these already.
        true => is_of_git(name) || matches!(name, "TMPDIR" | "TMP" | "TEMP" | "HISTFILE" | "LESSHISTFILE"),
        false => !is_only_read(name),
    };
    let only_reads = !command.words.is_empty() && reading(&command.words) == Reading::Only;
    let touch = |name: &str| Touch {
        may_change: !(only_reads && matches!(name, "GIT_DIR" | "GIT_WORK_TREE")),
        // A folder that git is told to work in is meant as a whole.
        descent: if is_of_git(name) { Descent::Named } else { Descent::No },
        ..Touch::default()
    };
    let words = command.words.iter().filter(|_| exports).filter_map(set_by_word);
    let set = command.assignments.iter().cloned().chain(words).filter(|(name, _)| counts(name));
    let named = set.map(|(name, value)| (value, touch(&name)));
    // A folder in which a program looks for names that stand elsewhere.
    let searched = command.assignments.iter().filter(|(name, _)| name.ends_with("PATH") && name != "PATH");
    let searched = searched.map(|(_, value)| (value.clone(), Touch { descent: Descent::Named, ..Touch::default() }));
    // A file with settings is read, and may be shown.
    let read = command.assignments.iter().filter(|(name, _)| name.ends_with("CONFIG") && !is_of_git(name));
    let read = read.flat_map(|(_, value)| value.text.split(':').map(|file| (ShellWord::read(file), Touch::default())));
    named.chain(searched).chain(read.filter(|_| !command.words.is_empty())).collect()
}

/// Variables by which git is told where it works, and where it keeps what is its own.
pub(super) fn is_of_git(name: &str) -> bool {
    name.starts_with("GIT_") && !matches!(name, "GIT_EXEC_PATH")
}

/// Variables with folders that a program has for itself, and what is only read.
fn is_only_read(name: &str) -> bool {
    let is_own = ["HOME", "PATH", "CONFIG", "_DIR", "_ROOT"].iter().any(|end| name.ends_with(end));
    !is_of_git(name) && (is_own && !matches!(name, "TMPDIR" | "GNUPGHOME") || matches!(name, "PWD" | "VIRTUAL_ENV"))
}

/// Whether git is told to run what is in a folder. `/dev/null` is none.
pub(crate) fn runs_a_folder(command: &Found) -> bool {
    let says = |text: &str| {
        let setting = text.split_once('=');
        setting.is_some_and(|(key, value)| key.eq_ignore_ascii_case("core.hookspath") && value != "/dev/null")
    };
    let sets = |(name, value): &(String, ShellWord)| {
        name == "GIT_EXEC_PATH" || name.starts_with("GIT_CONFIG") && value.text.to_lowercase().contains("hookspath")
    };
    command.words.iter().any(|word| says(&word.text)) || settings(command).iter().any(sets)
}
