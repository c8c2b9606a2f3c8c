//! Commands that print names of files, and what is done to the files that they find.

use super::call::{Call, Context};
use super::candidates::patterns_in;
use super::command::name_of;
use super::folders::Folders;
use super::git_files::handles_files;
use super::path::{absolute, joined};
use super::reading::{Reading, builds, does_more, reading};
use super::shell::{Joint, ShellWord};
use super::suspects::{Found, Suspects};
use super::values::{is_literal, may_be};

/// Folders through which find looks for files that something else is then done to.
pub(crate) struct Sought {
    pub(crate) folders: Vec<String>,
    /// What is done to them may be more than reading.
    pub(crate) may_change: bool,
    /// What the files are called; none for all.
    names: Vec<String>,
    /// The pattern that their whole paths are like; its stars stand for folders as well.
    shape: Option<String>,
}

impl Sought {
    pub(crate) fn is_called(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
        let is_named =
            self.names.is_empty() || self.names.iter().any(|pattern| super::glob::segment_matches(pattern, &name));
        is_named && self.shape.as_deref().is_none_or(|shape| may_be(shape, path))
    }
}

pub(crate) fn sought(suspects: &Suspects, call: &Call, context: &Context) -> Vec<Sought> {
    let is_find = |word: &ShellWord| matches!(name_of(&word.text), "find" | "fd");
    let hands_on = suspects.found.iter().any(|command| {
        let name = command.words.first().map_or("", |word| name_of(&word.text));
        matches!(name, "xargs" | "parallel" | "while" | "read")
            && reading(command.words.get(1..).unwrap_or_default()) == Reading::Perhaps
    });
    let consumed = suspects
        .found
        .iter()
        .any(|command| command.joint == Joint::Pipe && reading(&command.words) == Reading::Perhaps);
    let mut all = vec![];
    for command in suspects.found.iter().filter(|command| command.words.first().is_some_and(is_find)) {
        let words = &command.words[1..];
        let executed = words.iter().position(|word| does_more(&word.text));
        let runs = executed.map(|at| words.get(at + 1..).unwrap_or_default());
        let changes = runs.is_some_and(|runs| {
            words[executed.unwrap_or_default()].text == "-delete" || reading(runs) == Reading::Perhaps
        });
        let is_read = executed.is_some() || command.is_nested || consumed;
        if !changes && !hands_on && !is_read {
            continue;
        }
        let roots = words.iter().take_while(|word| !word.text.starts_with(['-', '(', '!']) || word.text.len() == 2);
        let roots: Vec<String> = roots.filter(|word| !word.is_flag()).map(|word| word.text.clone()).collect();
        let roots = if roots.is_empty() { vec![".".to_owned()] } else { roots };
        let folders = Folders::of(suspects, call, context).all;
        let seen = folders
            .iter()
            .flat_map(|folder| roots.iter().filter_map(|root| absolute(root, folder, context.home.as_deref())));
        let named = |word: &&ShellWord| matches!(word.text.as_str(), "-name" | "-iname");
        let count = |names: &[&str]| words.iter().filter(|word| names.contains(&word.text.as_str())).count();
        let either = count(&["-o", "-or", ","]) > count(&["-prune"]);
        let not = |at: usize| at.checked_sub(1).is_some_and(|at| matches!(words[at].text.as_str(), "!" | "-not"));
        let names = (0..words.len()).filter(|at| named(&&words[*at]) && !not(*at)).filter_map(|at| words.get(at + 1));
        let names = if either { vec![] } else { names.map(|name| name.text.to_lowercase()).collect() };
        all.push(Sought { folders: seen.collect(), may_change: changes || hands_on, names, shape: None });
    }
    all.extend(picked(suspects, call, context));
    all
}

/// What programs pick themselves, by patterns that stand in quotes for the shell.
fn picked(suspects: &Suspects, call: &Call, context: &Context) -> Vec<Sought> {
    let mut all = vec![];
    for command in &suspects.found {
        let may_change = reading(&command.words) == Reading::Perhaps;
        let mut patterns = own_patterns(command, suspects);
        patterns.retain(|name| !is_literal(name));
        if patterns.is_empty() {
            continue;
        }
        for folder in Folders::of(suspects, call, context).all {
            let seen = patterns.iter().filter_map(|pattern| absolute(pattern, &folder, context.home.as_deref()));
            all.extend(seen.map(|shape| Sought {
                folders: vec![fixed_folder(&shape)],
                may_change,
                names: vec![],
                shape: Some(shape),
            }));
        }
    }
    all
}

/// What a program makes of patterns that stand in quotes for the shell, where it may take them for some.
pub(super) fn own_patterns(command: &Found, suspects: &Suspects) -> Vec<String> {
    let Some((first, rest)) = command.words.split_first() else { return vec![] };
    let name = name_of(&first.text);
    let is_git = name == "git" && handles_files(&command.words);
    if !is_git && (reading(&command.words) != Reading::Perhaps || builds(name)) {
        return vec![];
    }
    let shapes = |word: &ShellWord| suspects.variables.spellings(word);
    rest.iter().flat_map(|word| shapes(word).into_iter().flat_map(|shape| patterns_in(word, &shape))).collect()
}

/// The folder in which all lies that a pattern stands for.
pub(crate) fn fixed_folder(shape: &str) -> String {
    let mut fixed: Vec<&str> = shape.split('/').take_while(|part| is_literal(part)).collect();
    if fixed.len() == shape.split('/').count() {
        fixed.pop();
    }
    joined("/", &fixed.join("/"))
}
