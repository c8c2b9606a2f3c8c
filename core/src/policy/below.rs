//! Folders that a call goes into, and what deny and ask rules mean in them.

use std::collections::BTreeSet;

use super::access::{Access, Action};
use super::call::{Call, Context, Disk};
use super::cleaning::cleaned;
use super::command::name_of;
use super::decision::Decision;
use super::folders::Folders;
use super::glob::PathPattern;
use super::inert::started;
use super::matching::path_patterns;
use super::options;
use super::path::absolute;
use super::reading::Descent;
use super::rule::RuleSet;
use super::safety::is_protected;
use super::shell::{ONE, STAR, ShellWord};
use super::skipping::{Ignores, is_ignore_file};
use super::sought::{fixed_folder, sought};
use super::suspects::Suspects;
use super::touching::Touch;
use super::values::is_literal;

/// The folders that a call goes into at least so far, and where their links lead.
pub(crate) fn folders(call: &Call, action: &Action, descent: Descent) -> BTreeSet<String> {
    let paths: Vec<&str> = match action {
        Action::Shell(plan) => plan
            .touched
            .files
            .iter()
            .filter(|touch| touch.descent >= descent)
            .map(|touch| touch.path.as_str())
            .collect(),
        Action::File(accesses) if call.tool == "Grep" => {
            accesses.iter().filter(|file| file.access == Access::Read).filter_map(|file| file.path.as_deref()).collect()
        }
        Action::File(_) | Action::Other | Action::Malformed => vec![],
    };
    let targets = paths.iter().filter_map(|path| call.target(path));
    paths.iter().copied().chain(targets).map(str::to_owned).collect()
}

/// Whether all that goes into folders passes over hidden and ignored files.
fn surely_passes_over(action: &Action) -> bool {
    let Action::Shell(plan) = action else { return false };
    let mut entered = plan.touched.files.iter().filter(|touch| touch.descent == Descent::All);
    entered.all(|touch| touch.passed_over.ignored)
}

/// Whether all that goes into a folder passes over a file in it. A folder that holds others may be one of those.
fn is_passed_over(path: &str, folder: &str, call: &Call, action: &Action) -> bool {
    let Action::Shell(plan) = action else { return false };
    let goes_there = |touch: &&Touch| {
        touch.descent == Descent::All && (touch.path == folder || call.target(&touch.path) == Some(folder))
    };
    let mut entering = plan.touched.files.iter().filter(goes_there).peekable();
    entering.peek().is_some() && entering.all(|touch| touch.passed_over.has(path, folder))
}

/// A protected file that find would find and hand to something that may change it, or the folder in which one may be
/// where there is too much to look at.
pub(super) fn protected(call: &Call, action: &Action, context: &Context, disk: &dyn Disk) -> Option<String> {
    let Action::Shell(plan) = action else { return None };
    let mut found = poured(&plan.with_texts, call, context, disk);
    found = found.or_else(|| cleaned(&plan.with_texts, call, context, disk));
    for sought in sought(&plan.with_texts, call, context).into_iter().filter(|sought| sought.may_change) {
        for folder in &sought.folders {
            let complete = disk.walk(folder, &mut |path| {
                if found.is_none() && sought.is_called(path) && is_protected(path, context) {
                    found = Some(path.to_owned());
                }
            });
            if !complete && found.is_none() && !sought.is_picky() {
                found = Some(folder.clone());
            }
        }
    }
    found
}

/// A protected file that lands in a folder one works in, or in the home, as what is in another folder is copied there.
fn poured(suspects: &Suspects, call: &Call, context: &Context, disk: &dyn Disk) -> Option<String> {
    let pouring = suspects.commands.iter().filter_map(|suspect| poured_words(&suspect.words)).collect::<Vec<_>>();
    if pouring.is_empty() {
        return None;
    }
    let folders = Folders::of(suspects, call, context).all;
    let paths = |word: &ShellWord| {
        let shapes = suspects.variables.spellings(word).into_iter().filter(|shape| is_literal(shape));
        let seen = shapes.flat_map(|shape| {
            folders.iter().filter_map(|folder| absolute(&shape, folder, context.home.as_deref())).collect::<Vec<_>>()
        });
        seen.collect::<BTreeSet<_>>()
    };
    let works_there = |folder: &String| context.folders.contains(folder) || context.home.as_ref() == Some(folder);
    for (sources, into) in pouring {
        for target in paths(into).into_iter().filter(|into| *into == context.cwd || works_there(into)) {
            for source in sources.iter().flat_map(|word| paths(word)).filter(|source| *source != target) {
                let mut landed = None;
                let complete = disk.walk(&source, &mut |path| {
                    let rest = path.strip_prefix(source.trim_end_matches('/')).unwrap_or_default();
                    // Deeper ones are those of parts of a project.
                    let own = rest.trim_start_matches('/').split('/').next().unwrap_or_default();
                    if landed.is_none() && !own.is_empty() && is_protected(&format!("{target}/{own}"), context) {
                        landed = Some(format!("{target}/{own}"));
                    }
                });
                if landed.is_some() || !complete {
                    return landed.or(Some(target));
                }
            }
        }
    }
    None
}

/// The folders whose content a command copies, and where to.
fn poured_words(words: &[ShellWord]) -> Option<(Vec<&ShellWord>, &ShellWord)> {
    let (first, rest) = started(words).split_first()?;
    let name = name_of(&first.text);
    let has = |letters: &str, longs: &[&str]| options::has(rest.iter().map(|word| word.text.as_str()), letters, longs);
    let is_whole = has("T", &["--no-target-directory"]);
    let is_content = |text: &str| match name {
        "rsync" => text.ends_with('/') || text.ends_with("/.") || matches!(text, "." | ".."),
        "cp" => is_whole || text.ends_with("/.") || matches!(text, "." | "./" | ".."),
        "mv" => is_whole,
        _ => false,
    };
    let mut operands: Vec<&ShellWord> = rest.iter().filter(|word| !word.is_flag()).collect();
    let into = operands.pop()?;
    operands.retain(|word| is_content(&word.text));
    (!operands.is_empty()).then_some((operands, into))
}

/// Each folder with the rules that mean something in it, or may do so where there is too much to look at.
pub(super) fn found(
    call: &Call,
    action: &Action,
    rules: &RuleSet,
    context: &Context,
    disk: &dyn Disk,
) -> BTreeSet<(String, String)> {
    let is_about_files = |tool: &str| matches!(tool, "Read" | "Edit");
    let strict =
        rules.rules.iter().filter(|rule| rule.decision != Decision::Allow && is_about_files(&rule.pattern.tool));
    let rules: Vec<(String, Vec<PathPattern>)> = strict
        .filter_map(|rule| {
            let specifier = rule.pattern.specifier.as_deref()?;
            Some((rule.pattern.to_string(), path_patterns(rule, specifier, context, true)))
        })
        .collect();
    if rules.is_empty() {
        return BTreeSet::new();
    }
    let mut found = BTreeSet::new();
    let sought = match action {
        Action::Shell(plan) => sought(&plan.with_texts, call, context),
        Action::File(_) | Action::Other | Action::Malformed => vec![],
    };
    let sought = sought.iter().flat_map(|one| one.folders.iter().map(move |folder| (folder.clone(), Some(one))));
    let entered = folders(call, action, Descent::All).into_iter().map(|folder| (folder, None));
    for (folder, sought) in entered.chain(sought) {
        let (mut here, mut ignore_files) = (vec![], vec![]);
        let complete = disk.walk(&folder, &mut |path| {
            if sought.is_some_and(|sought| !sought.is_called(path)) {
                return;
            }
            if is_ignore_file(path) {
                ignore_files.push(path.to_owned());
            }
            for (rule, patterns) in &rules {
                if patterns.iter().any(|pattern| pattern.matches(path, true)) {
                    here.push((path.to_owned(), rule));
                }
            }
        });
        if sought.is_none() {
            here.retain(|(path, _)| !is_passed_over(path, &folder, call, action));
        }
        if sought.is_none() && !here.is_empty() && surely_passes_over(action) {
            let ignores = Ignores::of(&folder, &ignore_files, disk);
            here.retain(|(path, _)| !ignores.hide(path, &folder));
        }
        found.extend(here.into_iter().map(|(_, rule)| (folder.clone(), rule.clone())));
        // Links may lead anywhere; where there is too much to look at, what may lie there counts.
        if !complete {
            let reach = |patterns: &[PathPattern]| patterns.iter().any(|pattern| pattern.may_reach_into(&folder));
            let near = rules.iter().filter(|(_, patterns)| reach(patterns));
            found.extend(near.map(|(rule, _)| (folder.clone(), rule.clone())));
        }
    }
    // Patterns of the line itself that stand for too many files.
    let shapes = action.patterns().into_iter().filter(|shape| shape.contains([STAR, ONE]));
    for shape in shapes.filter(|shape| call.expansion(shape).is_none()) {
        let folder = fixed_folder(&shape);
        let near = rules.iter().filter(|(_, patterns)| patterns.iter().any(|one| one.may_reach_into(&folder)));
        found.extend(near.map(|(rule, _)| (folder.clone(), rule.clone())));
    }
    found
}
