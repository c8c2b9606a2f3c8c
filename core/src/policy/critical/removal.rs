//! Removals that cannot be made good: of the root and what is right below it, of the home, of the working folder and those
//! above it, and of what only a variable or another command names.

use super::critical_places::RemovalView;
use super::handed_removal::handed_removals;
use super::removers::{
    is_own, names_remover, orders_removal, removed, removed_by_tools, removes_no_folder, takes_the_folder,
};
use super::removers_of_versions::{cleaned, removed_by_git, removed_worktrees};
use crate::policy::commands::command::name_of;
use crate::policy::commands::erasing::{changes_all, codes, erases, is_disk};
use crate::policy::commands::inert::is_inert;
use crate::policy::files::access::Action;
use crate::policy::files::call::{Call, Context};
use crate::policy::files::folders::Folders;
use crate::policy::files::leaving::is_lost;
use crate::policy::files::linking::led_to_anywhere;
use crate::policy::lines::starts::runs_elsewhere;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::names::implied::settings;
use crate::policy::names::sought::picks;
use crate::policy::shell::{STAR, ShellWord, Way};
use crate::policy::words::candidates::names_in;
use crate::policy::words::path::lies_in;
use crate::policy::words::values::{in_words, is_literal, may_be};

/// What a command would remove, or move away, that is never removed unasked.
pub(crate) fn critical(call: &Call, action: &Action, context: &Context) -> Option<String> {
    let Action::Shell(plan) = action else { return None };
    let suspects = &plan.with_texts;
    if let Some(path) = &call.removed_through_links {
        return Some(format!("what a link leads to, {path}"));
    }
    if let Some(disk) = plan.touched.files.iter().find(|touch| is_disk(touch)) {
        return Some(format!("what is on {}", in_words(&disk.path)));
    }
    if let Some(suspect) = suspects.commands.iter().find(|suspect| erases(&suspect.words)) {
        return Some(format!("what {} removes", suspect.words[0].text));
    }
    let (removals, handed) = (removals(suspects), handed_removals(suspects));
    if removals.is_empty() && handed.is_empty() {
        return None;
    }
    let Folders { all: folders, is_complete } = Folders::of(suspects, call, context);
    if !is_complete {
        return Some("something in one of many folders".to_owned());
    }
    if is_lost(suspects) {
        return Some("something in a folder that another program names".to_owned());
    }
    let holds_home = |folder: &String| {
        let leads = call.target(folder).into_iter().chain([folder.as_str()]);
        leads.into_iter().any(|folder| context.home.as_deref().is_some_and(|home| lies_in(home, folder)))
    };
    let view = |removal: &RemovingCommand| RemovalView {
        call,
        context,
        suspects,
        is_own: removal.is_own,
        spares_here: removal.spares_here,
        is_guess: removal.is_guess,
    };
    for (removal, names) in &handed {
        let Some(shapes) = names.shapes(suspects, call, context) else {
            return Some("what another program names".to_owned());
        };
        let is_critical = |shape: &&String| {
            folders.iter().any(|folder| view(removal).is_critical_shape(shape, &ShellWord::plain(shape), folder))
        };
        if let Some(shape) = shapes.iter().find(is_critical) {
            return Some(in_words(shape));
        }
    }
    removals.into_iter().find_map(|removal| {
        let is_top = |folder: &String| {
            let is_here =
                [&context.cwd, &context.started].into_iter().any(|here| context.both(here).any(|it| it == folder));
            folder.matches('/').count() == 1 && !is_here
        };
        if removal.takes_here && folders.iter().any(is_top) {
            return Some("what lies right below the root".to_owned());
        }
        if removal.takes_here && folders.iter().any(holds_home) {
            return Some("what lies in your home".to_owned());
        }
        if removal.takes_any {
            return Some("what xargs is given".to_owned());
        }
        let is_end = |word: &&ShellWord| {
            let name = word.text.trim_matches('/');
            let mut here = [&context.cwd, &context.started].into_iter().flat_map(|here| context.both(here));
            !name.is_empty() && here.any(|here| here.ends_with(&format!("/{name}")))
        };
        if let Some(word) = removal.words.iter().filter(|_| removal.by_its_end).find(is_end) {
            return Some(word.raw.clone());
        }
        let view = view(&removal);
        let is_critical = |word: &&ShellWord| folders.iter().any(|folder| view.is_critical(word, folder));
        removal.words.iter().find(is_critical).map(|word| word.raw.clone())
    })
}

/// Something that removes, with the words that may name what.
#[derive(Default)]
pub(super) struct RemovingCommand {
    pub(crate) words: Vec<ShellWord>,
    /// Nothing but removal is meant, so what only the environment knows counts as anything.
    pub(crate) is_own: bool,
    /// What is in the folder that it is in goes, as far as git and its like know it, or do not.
    takes_here: bool,
    pub(super) takes_any: bool,
    /// What it does in the folder one works in is what people do there.
    spares_here: bool,
    /// A folder is meant by the last parts of its path as well.
    by_its_end: bool,
    /// A program that is not known is told to remove something: what its words name may be that.
    is_guess: bool,
}

/// Everything in a line that may remove something.
fn removals(suspects: &Suspects) -> Vec<RemovingCommand> {
    let mut removals: Vec<RemovingCommand> =
        suspects.commands.iter().filter_map(|suspect| removal(&suspect.words)).collect();
    for command in &suspects.found {
        let runs = !is_inert(&command.words) || suspects.flow.reaches(command);
        let first = command.words.first();
        // Wherever a remover stands among words that are run, and whatever it is called.
        if runs {
            let is_elsewhere = first.is_some_and(|word| runs_elsewhere(name_of(&word.text)));
            let counts = |words: &&[ShellWord]| !is_elsewhere || !changes_all(words);
            let behind = (1..command.words.len()).map(|at| &command.words[at..]);
            removals.extend(behind.filter(counts).filter_map(removal));
            removals.extend(ordered(command, suspects, is_elsewhere));
        }
        let may_be_remover = |word: &ShellWord| {
            let shapes = suspects.variables.spellings(word);
            let may_be_rm = |shape: &String| shape != &word.text && may_be(name_of(shape), "rm");
            !word.is_literal && (shapes.iter().any(may_be_rm) || suspects.variables.is_unfollowed(word))
        };
        if first.is_some_and(may_be_remover) {
            removals.push(RemovingCommand {
                words: command.words[1..].to_vec(),
                is_own: true,
                ..RemovingCommand::default()
            });
        }
        let texts = command.words.iter().filter(|_| runs).map(ShellWord::script);
        let values = command.assignments.iter().map(|(_, value)| value.script());
        for text in texts.chain(values).chain(command.given.iter().cloned()).filter(|text| text.contains([' ', '\n'])) {
            removals.extend(in_text(&text));
            // What sed runs stands between slashes.
            if first.is_some_and(|word| name_of(&word.text) == "sed") {
                removals.extend(in_text(&text.replace('/', " / ")));
            }
        }
    }
    removals.extend(codes(suspects).into_iter().map(|code| RemovingCommand {
        words: code.words,
        spares_here: code.spares_here,
        ..RemovingCommand::default()
    }));
    removals.extend(emptied(suspects));
    // What a variable tells cargo to clean.
    let cleans = |command: &Found| command.words.iter().any(|word| word.text == "clean");
    if suspects.found.iter().any(cleans) {
        let set = suspects
            .found
            .iter()
            .flat_map(settings)
            .filter(|(name, _)| matches!(name.as_str(), "CARGO_TARGET_DIR" | "CARGO_BUILD_TARGET_DIR"));
        let words = set.map(|(_, value)| value).collect();
        removals.push(RemovingCommand { words, ..RemovingCommand::default() });
    }
    let removes = |word: &ShellWord| is_own(name_of(&word.text)) || word.text == "-delete";
    let has = |named: &dyn Fn(&ShellWord) -> bool| suspects.found.iter().any(|command| command.words.iter().any(named));
    let hands_on =
        |word: &ShellWord| matches!(name_of(&word.text), "xargs" | "parallel" | "read" | "hash" | "alias" | "ln");
    if has(&removes) && has(&hands_on) {
        // The words of one command are what another one removes, but for the folder in which something is looked for.
        let words = suspects.found.iter().flat_map(|command| command.words.iter().skip(1));
        let words = words.filter(|word| !word.is_flag() && !matches!(word.text.as_str(), "." | "./"));
        let links = led_to_anywhere(&suspects.found).into_iter().map(|name| ShellWord::plain(&name));
        let words = words.cloned().chain(links).collect();
        removals.push(RemovingCommand { words, ..RemovingCommand::default() });
    }
    removals
}

/// What a program of which nothing is known may remove, as it is told to: `hugo --cleanDestinationDir -d ~`.
fn ordered(command: &Found, suspects: &Suspects, is_elsewhere: bool) -> Option<RemovingCommand> {
    let first = command.words.first()?;
    let name = name_of(&first.text);
    let is_known = matches!(name, "git" | "cargo") || removes_no_folder(name) || removal(&command.words).is_some();
    let orders = if is_elsewhere { names_remover } else { orders_removal };
    if is_known || !command.words[1..].iter().any(orders) {
        return None;
    }
    // What only the environment knows is what people give their tools: `docker rm $(docker ps -q)`.
    let literal = |word: &ShellWord| suspects.variables.shapes(word).into_iter().filter(|shape| is_literal(shape));
    let names = command.words[1..].iter().flat_map(|word| {
        // Of what is run elsewhere only the folders that it is given are of this machine: `-v /:/h`.
        let is_given = word.text.contains([':', ',']);
        let shapes = literal(word).filter(|_| !is_elsewhere || is_given);
        let names = match is_elsewhere {
            true => shapes.map(|shape| given_folder(&shape)).collect::<Vec<_>>(),
            false => shapes.flat_map(|shape| names_in(&shape)).collect(),
        };
        names.into_iter().filter(|_| !word.text.split_once('=').is_some_and(|(name, _)| is_target(name)))
    });
    let set = suspects.found.iter().flat_map(settings).filter(|(name, _)| !is_target(name) && !is_elsewhere);
    let set = set.flat_map(|(_, value)| literal(&value).collect::<Vec<_>>());
    // What is in `/tmp` everybody may throw away.
    let words = names.chain(set).filter(|name| name != "/tmp").map(|name| ShellWord::plain(&name)).collect();
    Some(RemovingCommand { words, is_guess: true, ..RemovingCommand::default() })
}

/// `make clean DESTDIR=/` means where something was put, and not what it removes there.
fn is_target(name: &str) -> bool {
    matches!(name.to_ascii_uppercase().as_str(), "DESTDIR" | "HOME" | "PATH" | "PREFIX" | "SHELL" | "SYSROOT")
}

/// The folder of this machine in `/:/h` and in `type=bind,source=/,target=/h`, whatever option it is glued to.
fn given_folder(shape: &str) -> String {
    let value = match shape.strip_prefix('-') {
        Some(long) if long.starts_with('-') => long.split_once('=').map_or(long, |(_, value)| value),
        Some(letters) => letters.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start_matches('='),
        None => shape,
    };
    let named = value.split(',').find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")));
    named.or_else(|| value.split(':').next()).unwrap_or_default().to_owned()
}

/// What is removed in a text that something may run.
fn in_text(text: &str) -> Vec<RemovingCommand> {
    let is_end = |c: char| matches!(c, '"' | '\'' | '`' | ';' | '|' | '&' | '(' | ')' | '{' | '}' | '\n' | '!' | '#');
    let mut removals = vec![];
    for part in text.split(is_end) {
        let words: Vec<ShellWord> = part.split_whitespace().map(ShellWord::read).collect();
        for (at, word) in words.iter().enumerate() {
            let name = word.text.rsplit(['/', '=', '@', '\t']).next().unwrap_or_default();
            if is_own(name) {
                let words: Vec<ShellWord> =
                    std::iter::once(ShellWord::plain(name)).chain(words[at + 1..].iter().cloned()).collect();
                removals.extend(removal(&words));
            }
        }
    }
    removals
}

/// What a command removes, or moves away.
pub(super) fn removal(words: &[ShellWord]) -> Option<RemovingCommand> {
    let (first, rest) = words.split_first()?;
    let recursive = |word: &ShellWord| word.is_flag() && word.text.contains(['r', 'R']);
    let removes = |word: &ShellWord| matches!(name_of(&word.text), "rm" | "rmdir");
    let name = name_of(&first.text);
    if name == "xargs" && rest.iter().any(removes) && rest.iter().any(recursive) {
        return Some(RemovingCommand { takes_any: true, ..RemovingCommand::default() });
    }
    if let Some(words) = cleaned(name, rest) {
        return Some(RemovingCommand { takes_here: true, words, ..RemovingCommand::default() });
    }
    if name == "git"
        && let Some((takes_here, words)) = removed_by_git(rest)
    {
        return Some(RemovingCommand { takes_here, words, ..RemovingCommand::default() });
    }
    if name == "git"
        && let Some(words) = removed_worktrees(rest)
    {
        return Some(RemovingCommand { words, is_own: true, by_its_end: true, ..RemovingCommand::default() });
    }
    if is_powershells(name) {
        let words: Vec<ShellWord> = rest.iter().filter(|word| !word.is_flag()).cloned().collect();
        // Without a name it removes what it is given.
        let removes = ["remove-item", "ri", "rd", "erase", "del"].iter().any(|known| known.eq_ignore_ascii_case(name));
        let takes_any = words.is_empty() && removes;
        return Some(RemovingCommand { takes_any, words, is_own: true, ..RemovingCommand::default() });
    }
    if changes_all(words) {
        let words = rest.iter().filter(|word| !word.is_flag()).cloned().collect();
        return Some(RemovingCommand { words, spares_here: true, ..RemovingCommand::default() });
    }
    if let Some(removed) = removed_by_tools(name, rest) {
        return Some(RemovingCommand { words: removed, ..RemovingCommand::default() });
    }
    let removed = removed(words)?;
    let here = removed.is_empty() && takes_the_folder(words);
    let words = if here { vec![ShellWord::plain(".")] } else { removed.into_iter().cloned().collect() };
    let is_own = is_own(name) || name == "find" && !picks(rest);
    Some(RemovingCommand { words, is_own, ..RemovingCommand::default() })
}

/// Whether PowerShell removes or moves what stands behind this word, in any letter case.
fn is_powershells(name: &str) -> bool {
    let known = ["remove-item", "move-item", "clear-content", "ri", "rd", "erase", "del", "mi", "clc"];
    known.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Patterns that stand for all that is in a folder, and of which each file is emptied by `>`.
fn emptied(suspects: &Suspects) -> Option<RemovingCommand> {
    let redirects = suspects.found.iter().flat_map(|command| &command.redirects);
    let is_pattern = |word: &ShellWord| suspects.variables.shapes(word).iter().any(|shape| shape.contains(STAR));
    let words = redirects.filter(|redirect| redirect.way == Way::Out && is_pattern(&redirect.target));
    let words: Vec<ShellWord> = words.map(|redirect| redirect.target.clone()).collect();
    (!words.is_empty()).then(|| RemovingCommand { words, spares_here: true, ..RemovingCommand::default() })
}
