//! What `portcullis install` writes into Claude Code's files: planned first, so that it can be shown, and then written.

use std::path::{Path, PathBuf};

use portcullis_core::Label;

use super::consent;
use super::entry::{self, Entry, Found};
use super::file::{UserFile, Wrote};
use super::hooks::{self, Addition, Callee};
use super::json::Unfit;
use super::place::{self, Place};
use super::receipt::{Patch, Receipt, Receipts};
use super::target::{SettingsScope, Target, overtaken, unfit_file};
use crate::config::{Paths, environment};
use crate::failure::Failure;
use crate::rules::Rules;

pub(crate) struct InstallOptions {
    pub(crate) target: Target,
    /// Hooks as well, and the rules that go with them.
    pub(crate) hooks: bool,
    pub(crate) label: Option<String>,
    /// Replace a server of this name that starts something else.
    pub(crate) force: bool,
}

/// What is going to be written.
pub(crate) struct InstallPlan {
    options: InstallOptions,
    paths: Paths,
    /// Where the program is, or is copied to.
    pub(crate) place: Place,
    parts: Vec<(PathBuf, Part)>,
    /// Each file with its text after each step; no steps where all is there.
    changes: Vec<(UserFile, Vec<String>)>,
}

/// What is put into one file.
enum Part {
    Server { entry: Entry, under: Vec<String> },
    Hooks { additions: Vec<Addition>, rules: Vec<String> },
}

impl InstallPlan {
    pub(crate) fn make(options: InstallOptions, paths: &Paths) -> anyhow::Result<Self> {
        let place = place::choose(&place::this_program()?, &environment)?;
        let mut plan = Self {
            parts: parts(&options, place.path(), paths)?,
            options,
            paths: paths.clone(),
            place,
            changes: vec![],
        };
        for (path, part) in &plan.parts {
            let file = UserFile::read(path)?;
            let steps = plan.steps(&file, part)?;
            plan.changes.push((file, steps));
        }
        Ok(plan)
    }

    /// Nothing has to be changed.
    pub(crate) fn is_done(&self) -> bool {
        self.changes.iter().all(|(_, steps)| steps.is_empty()) && matches!(self.place, Place::There(_))
    }

    pub(crate) fn files(&self) -> Vec<String> {
        self.changes.iter().map(|(file, _)| file.in_words()).collect()
    }

    /// The changes, for people.
    pub(crate) fn shown(&self) -> String {
        let changed = self.changes.iter().filter(|(_, steps)| !steps.is_empty());
        let diffs = changed.map(|(file, steps)| format!("{}:\n{}", file.in_words(), shown(file.text(), steps)));
        self.place.announcement().into_iter().chain(diffs).collect()
    }

    /// Claude Code will be able to read every file.
    pub(crate) fn is_plain(&self) -> bool {
        let after = |(file, steps): &(UserFile, Vec<String>)| {
            entry::is_plain_json(steps.last().map_or(file.text(), String::as_str))
        };
        self.changes.iter().all(after)
    }

    /// A folder that the program is copied to and that is not on the PATH.
    pub(crate) fn folder_off_path(&self) -> Option<&Path> {
        let Place::Copied { to, .. } = &self.place else { return None };
        to.parent().filter(|folder| !place::is_on_path(folder, &environment))
    }

    pub(crate) fn carry_out(&self) -> anyhow::Result<()> {
        self.place.settle()?;
        self.paths.prepare()?;
        self.parts.iter().try_for_each(|(path, part)| self.write(path, part))
    }

    /// The text after each step; none when all is there.
    fn steps(&self, file: &UserFile, part: &Part) -> anyhow::Result<Vec<String>> {
        let unfit = |unfit: Unfit| unfit_file(file, &unfit);
        let (entry, under) = match part {
            Part::Hooks { additions, .. } => return Ok(hooks::put(file.text(), additions).map_err(unfit)?),
            Part::Server { entry, under } => (entry, under),
        };
        let found = entry::find(file.text(), under, &entry.name).map_err(unfit)?;
        if found == Found::Foreign && !self.options.force {
            let what = format!("{} has a server {:?} that starts something else", file.in_words(), entry.name);
            let hint = "choose another name with --name, or replace that one with --force";
            return Err(Failure::new(what, hint).into());
        }
        let after = entry::put(file.text(), under, entry).map_err(unfit)?;
        Ok(if after == file.text() { vec![] } else { vec![after] })
    }

    /// Claude Code writes its file too, whenever it likes: then the change is made anew, to what it wrote.
    fn write(&self, path: &Path, part: &Part) -> anyhow::Result<()> {
        for _ in 0..10 {
            let file = UserFile::read(path)?;
            let steps = self.steps(&file, part)?;
            let Some(after) = steps.last() else { return Ok(()) };
            let receipts = Receipts::load(&self.paths)?;
            let receipt = match part {
                Part::Server { entry, under } => server_receipt(&file, after, under, entry, &receipts),
                Part::Hooks { rules, .. } => hooks_receipt(&file, &self.options.target.name, &steps, rules, &receipts),
            };
            if file.write(after, self.options.target.audience())? == Wrote::Done {
                return receipts.keep(receipt);
            }
        }
        Err(overtaken(path).into())
    }
}

fn parts(options: &InstallOptions, program: &Path, paths: &Paths) -> anyhow::Result<Vec<(PathBuf, Part)>> {
    let target = &options.target;
    let mut args = vec!["channel".to_owned()];
    if let Some(label) = &options.label {
        if Label::new(label).is_none() {
            let hint = "a label has 1 to 64 bytes, all of them visible letters";
            return Err(Failure::new(format!("{label:?} cannot be a label"), hint).into());
        }
        args.extend(["--label".to_owned(), label.clone()]);
    }
    let entry = Entry { name: target.name.clone(), command: program.display().to_string(), args };
    let mut parts = vec![(target.server_file()?, Part::Server { entry, under: target.under() })];
    if options.hooks {
        let callee = Callee { server: target.name.clone(), program };
        let rules = deny_rules(target, paths)?;
        let additions = hooks::additions(&callee, &rules);
        parts.push((target.settings_file()?, Part::Hooks { additions, rules }));
    }
    Ok(parts)
}

/// Deny rules of ours that Claude Code is to keep also while no gate runs. For every folder those of the user alone.
fn deny_rules(target: &Target, paths: &Paths) -> anyhow::Result<Vec<String>> {
    let rules = match target.scope {
        SettingsScope::User => Rules::named(paths, &paths.rules_file),
        SettingsScope::Project | SettingsScope::Local => Rules::open(paths, &target.folder),
    };
    Ok(rules.load()?.snapshot().denied_by_the_client())
}

/// All at once where it is one place; else place by place, so that nothing between them is shown.
pub(super) fn shown(before: &str, steps: &[String]) -> String {
    let Some(after) = steps.last() else { return String::new() };
    if Patch::between(before, after).is_some() {
        return consent::diff(before, after);
    }
    let each = std::iter::once(before).chain(steps.iter().map(String::as_str)).zip(steps);
    each.map(|(before, after)| consent::diff(before, after)).collect::<Vec<_>>().join("    …\n")
}

/// What `uninstall` has to know to take back no more and no less.
fn server_receipt(
    file: &UserFile,
    after: &str,
    under: entry::Under<'_>,
    entry: &Entry,
    receipts: &Receipts,
) -> Receipt {
    let found = entry::find(file.text(), under, &entry.name);
    let earlier = receipts.find(&file.real, &entry.name).filter(|_| found != Ok(Found::Nothing));
    let mut receipt = Receipt::new(&file.real, &entry.name);
    match earlier {
        Some(earlier) => {
            let before = earlier.patch.as_ref().and_then(|patch| patch.undo(file.text()));
            receipt.patch = before.and_then(|before| Patch::between(&before, after));
            receipt.made_file = earlier.made_file;
            receipt.made_servers = earlier.made_servers;
        }
        None if found == Ok(Found::Nothing) => {
            receipt.patch = Patch::between(file.text(), after);
            receipt.made_file = file.text.is_none();
            receipt.made_servers = !entry::has_servers(file.text(), under);
        }
        // It was there before us, in some form: then only the entry goes.
        None => {}
    }
    receipt
}

/// Every step can be taken back by itself, as long as what it put in is still there as it was put.
fn hooks_receipt(file: &UserFile, name: &str, steps: &[String], rules: &[String], receipts: &Receipts) -> Receipt {
    let earlier = receipts.find(&file.real, name);
    let before = std::iter::once(file.text()).chain(steps.iter().map(String::as_str));
    let patches = before.zip(steps).filter_map(|(before, after)| Patch::between(before, after));
    let known = earlier.map(|earlier| earlier.patches.clone()).unwrap_or_default();
    let mut all_rules = earlier.map(|earlier| earlier.rules.clone()).unwrap_or_default();
    all_rules.extend(rules.iter().filter(|rule| !all_rules.contains(rule)).cloned().collect::<Vec<_>>());
    Receipt {
        made_file: earlier.map_or(file.text.is_none(), |earlier| earlier.made_file),
        patches: known.into_iter().chain(patches).collect(),
        rules: all_rules,
        ..Receipt::new(&file.real, name)
    }
}
