//! What `portcullis uninstall` takes out of Claude Code's files: planned first, so that it can be shown.

use std::path::{Path, PathBuf};

use super::entry::{self, Found};
use super::file::{UserFile, Wrote};
use super::hooks;
use super::install::shown;
use super::place;
use super::receipt::{Receipt, Receipts};
use super::target::{Target, overtaken, unfit_file};
use crate::config::{Paths, environment};
use crate::failure::Failure;

/// What is going to be taken out.
pub(crate) struct UninstallPlan {
    target: Target,
    /// Remove a server of this name although it starts something else.
    force: bool,
    paths: Paths,
    parts: [(PathBuf, RemovedPart); 2],
    changes: Vec<(UserFile, FileChange)>,
}

/// What is taken out of one file.
#[derive(Clone, Copy)]
enum RemovedPart {
    Server,
    Hooks,
}

/// What the file becomes.
enum FileChange {
    Nothing,
    Text(Vec<String>),
    Removed,
}

impl UninstallPlan {
    pub(crate) fn make(target: Target, force: bool, paths: &Paths) -> anyhow::Result<Self> {
        let parts = [(target.server_file()?, RemovedPart::Server), (target.settings_file()?, RemovedPart::Hooks)];
        let mut plan = Self { target, force, paths: paths.clone(), parts, changes: vec![] };
        for (path, part) in &plan.parts {
            let file = UserFile::read(path)?;
            let change = plan.change(&file, *part)?;
            plan.changes.push((file, change));
        }
        Ok(plan)
    }

    /// Nothing of ours is there.
    pub(crate) fn is_done(&self) -> bool {
        self.changes.iter().all(|(_, change)| matches!(change, FileChange::Nothing))
    }

    /// The file in which the server would be.
    pub(crate) fn server_file(&self) -> String {
        self.changes.first().map(|(file, _)| file.in_words()).unwrap_or_default()
    }

    /// The changes, for people.
    pub(crate) fn shown(&self) -> String {
        let each = self.changes.iter().map(|(file, change)| match change {
            FileChange::Nothing => String::new(),
            FileChange::Text(steps) => format!("{}:\n{}", file.in_words(), shown(file.text(), steps)),
            FileChange::Removed => format!("{} holds nothing else and is removed.\n", file.in_words()),
        });
        each.collect()
    }

    /// Takes everything out; returns the copy of the program that `install` made, which stays.
    pub(crate) fn carry_out(&self) -> anyhow::Result<Option<PathBuf>> {
        let command = self.command()?;
        for (path, part) in &self.parts {
            self.write(path, *part)?;
        }
        let copy = place::bin_folder(&environment).map(|folder| folder.join("portcullis"));
        Ok(copy.filter(|copy| command.as_deref() == copy.to_str() && copy.exists()))
    }

    /// Which program the entry starts.
    fn command(&self) -> anyhow::Result<Option<String>> {
        let file = UserFile::read(&self.target.server_file()?)?;
        match entry::find(file.text(), &self.target.under(), &self.target.name) {
            Ok(Found::Ours { command }) => Ok(Some(command)),
            _ => Ok(None),
        }
    }

    fn change(&self, file: &UserFile, part: RemovedPart) -> anyhow::Result<FileChange> {
        let receipts = Receipts::load(&self.paths)?;
        let receipt = receipts.find(&file.real, &self.target.name);
        let (steps, is_empty) = match part {
            RemovedPart::Server => self.without_server(file, receipt)?,
            RemovedPart::Hooks => self.without_hooks(file, receipt)?,
        };
        let made_by_us = receipt.is_some_and(|receipt| receipt.made_file);
        Ok(match steps.is_empty() {
            true => FileChange::Nothing,
            false if made_by_us && is_empty => FileChange::Removed,
            false => FileChange::Text(steps),
        })
    }

    /// The text after each step, and whether the last says nothing any more.
    fn without_server(&self, file: &UserFile, receipt: Option<&Receipt>) -> anyhow::Result<(Vec<String>, bool)> {
        let (name, under) = (&self.target.name, self.target.under());
        let found = entry::find(file.text(), &under, name).map_err(|unfit| unfit_file(file, &unfit))?;
        if found == Found::Nothing {
            return Ok((vec![], false));
        }
        if found == Found::Foreign && !self.force {
            let what = format!("the server {name:?} in {} does not start portcullis", file.in_words());
            return Err(Failure::new(what, "name the one you mean with --name, or remove this one with --force").into());
        }
        let undone = receipt.and_then(|receipt| receipt.patch.as_ref()?.undo(file.text()));
        let after = match undone.filter(|before| entry::find(before, &under, name) == Ok(Found::Nothing)) {
            Some(before) => before,
            None => {
                let servers_may_go = receipt.is_some_and(|receipt| receipt.made_servers);
                entry::take_out(file.text(), &under, name, servers_may_go).map_err(|unfit| unfit_file(file, &unfit))?
            }
        };
        let is_empty = entry::says_nothing(&after);
        Ok((vec![after], is_empty))
    }

    fn without_hooks(&self, file: &UserFile, receipt: Option<&Receipt>) -> anyhow::Result<(Vec<String>, bool)> {
        let rules = receipt.map(|receipt| receipt.rules.as_slice()).unwrap_or_default();
        let is_it = |outer: &str, said: &serde_json::Value| {
            let is_rule =
                outer == "permissions" && said.as_str().is_some_and(|said| rules.iter().any(|rule| rule == said));
            is_rule || hooks::is_our_element(&self.target.name, outer, said)
        };
        let taken = hooks::take_out(file.text(), &is_it).map_err(|unfit| unfit_file(file, &unfit))?;
        let steps = receipt.and_then(|receipt| undone(receipt, file.text()));
        // What was put in may stand elsewhere by now; then it goes by what it says.
        let is_clean = |steps: &Vec<String>| {
            steps.last().is_some_and(|after| hooks::take_out(after, &is_it).is_ok_and(|left| left.is_empty()))
        };
        let steps = steps.filter(is_clean).unwrap_or(taken);
        let is_empty = steps.last().is_some_and(|after| hooks::says_nothing(after));
        Ok((steps, is_empty))
    }

    fn write(&self, path: &Path, part: RemovedPart) -> anyhow::Result<()> {
        for _ in 0..10 {
            let file = UserFile::read(path)?;
            let wrote = match self.change(&file, part)? {
                FileChange::Nothing => return Ok(()),
                FileChange::Text(steps) => {
                    file.write(steps.last().map_or(file.text(), String::as_str), self.target.audience())?
                }
                FileChange::Removed => file.remove()?,
            };
            if wrote == Wrote::Done {
                return Receipts::load(&self.paths)?.forget(&file.real, &self.target.name);
            }
        }
        Err(overtaken(path).into())
    }
}

/// Step by step back to how it was before, if what we put in is still there as we put it.
fn undone(receipt: &Receipt, text: &str) -> Option<Vec<String>> {
    let mut steps: Vec<String> = vec![];
    for patch in receipt.patches.iter().rev() {
        steps.push(patch.undo(steps.last().map_or(text, String::as_str))?);
    }
    Some(steps)
}
