//! Folders that a call goes into, and what deny and ask rules mean in them.

use std::collections::BTreeSet;

use super::decision::Decision;
use super::matching::path_patterns;
use super::rule::RuleSet;
use crate::policy::commands::reading::Descent;
use crate::policy::critical::checking_out::checked_out;
use crate::policy::critical::cleaning::cleaned;
use crate::policy::critical::pouring::poured;
use crate::policy::critical::safety::is_protected;
use crate::policy::critical::unpacking::unpacked;
use crate::policy::files::access::{Access, Action};
use crate::policy::files::call::{Call, Context, Disk};
use crate::policy::files::skipping::{Ignores, is_ignore_file};
use crate::policy::files::touching::Touch;
use crate::policy::names::sought::{fixed_folder, sought};
use crate::policy::shell::{ONE, STAR};
use crate::policy::words::glob::PathPattern;

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

/// The folders of which a call removes or changes all, whatever else in the line reads there.
fn emptied_folders(call: &Call, action: &Action) -> BTreeSet<String> {
    let Action::Shell(plan) = action else { return BTreeSet::new() };
    let emptying = plan.touched.files.iter().filter(|touch| touch.descent == Descent::Changed);
    let paths = emptying.flat_map(|touch| call.target(&touch.path).into_iter().chain([touch.path.as_str()]));
    paths.map(str::to_owned).collect()
}

/// Of the folders that it goes into the ones in which something may be changed.
fn changed_folders(call: &Call, action: &Action) -> BTreeSet<String> {
    let Action::Shell(plan) = action else { return BTreeSet::new() };
    let changing = plan.touched.files.iter().filter(|touch| touch.descent >= Descent::All && touch.may_change);
    let paths = changing.flat_map(|touch| call.target(&touch.path).into_iter().chain([touch.path.as_str()]));
    paths.map(str::to_owned).collect()
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
pub(crate) fn protected(call: &Call, action: &Action, context: &Context, disk: &dyn Disk) -> Option<String> {
    let Action::Shell(plan) = action else { return None };
    let mut found = poured(&plan.told_here, call, context, disk);
    found = found.or_else(|| cleaned(&plan.with_texts, call, context, disk));
    found = found.or_else(|| unpacked(&plan.told_here, call, context));
    found = found.or_else(|| checked_out(&plan.told_here, call, context, disk));
    let changed: Vec<_> =
        sought(&plan.with_texts, call, context).into_iter().filter(|sought| sought.may_change).collect();
    let mut places: Vec<_> =
        changed.iter().flat_map(|one| one.folders.iter().map(move |folder| (one, folder))).collect();
    // Where one works first: there is an end to what is looked at, and `/` would take all of it.
    places.sort_by_key(|(_, folder)| !context.works_in(folder));
    for (sought, folder) in places {
        let complete = disk.walk(folder, &mut |path| {
            if found.is_none() && sought.is_called(path) && is_protected(path, context) {
                found = Some(path.to_owned());
            }
        });
        if !complete && found.is_none() && !sought.is_picky() {
            found = Some(folder.clone());
        }
    }
    found
}

/// Each folder with the rules that mean something in it, or may do so where there is too much to look at.
pub(crate) fn found(
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
    let entered = folders(call, action, Descent::All);
    // What is removed there nobody reads: a rule on reading counts where it names the folder itself.
    let meant: Vec<_> = rules.iter().filter(|(rule, _)| rule.starts_with("Edit")).collect();
    for folder in emptied_folders(call, action).iter().filter(|_| !meant.is_empty()) {
        let complete = disk.walk(folder, &mut |path| {
            let here = meant.iter().filter(|(_, patterns)| patterns.iter().any(|pattern| pattern.matches(path, true)));
            found.extend(here.map(|(rule, _)| (folder.clone(), rule.clone())));
        });
        // In folders with too much to look at (`node_modules`) a name that may lie anywhere is not looked for.
        let reach = |patterns: &[PathPattern]| patterns.iter().any(|pattern| pattern.surely_reaches_into(folder));
        let near = meant.iter().filter(|(_, patterns)| !complete && reach(patterns));
        found.extend(near.map(|(rule, _)| (folder.clone(), rule.clone())));
    }
    let changed = changed_folders(call, action);
    let entered = entered.into_iter().map(|folder| (folder, None));
    for (folder, sought) in entered.chain(sought) {
        let (mut here, mut ignore_files) = (vec![], vec![]);
        // A rule on editing is nothing to what only reads there.
        let may_change = sought.map_or_else(|| changed.contains(&folder), |sought| sought.may_change);
        let rules = || rules.iter().filter(move |(rule, _)| may_change || !rule.starts_with("Edit"));
        let complete = disk.walk(&folder, &mut |path| {
            if sought.is_some_and(|sought| !sought.is_called(path)) {
                return;
            }
            if is_ignore_file(path) {
                ignore_files.push(path.to_owned());
            }
            for (rule, patterns) in rules() {
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
            let near = rules().filter(|(_, patterns)| reach(patterns));
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
