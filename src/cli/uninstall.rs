//! `portcullis uninstall`: take back what `install` wrote.

use std::path::Path;
use std::process::ExitCode;

use super::install::{At, overtaken, shown, unfit_file};
use super::setup::consent;
use super::setup::entry::{self, Found};
use super::setup::file::{UserFile, Wrote};
use super::setup::hooks;
use super::setup::place;
use super::setup::receipt::{Receipt, Receipts};
use super::{environment, log_at, paths, say};
use crate::failure::Failure;

/// Take the registration with Claude Code back, and the hooks
///
/// Removes what `install` wrote and leaves the rest of the files as it is; a file that `install` made and that holds
/// nothing else is removed. The journal, the token and the program itself stay.
#[derive(clap::Args)]
pub(super) struct Uninstall {
    #[command(flatten)]
    at: At,
    /// Make the change without asking
    #[arg(long)]
    yes: bool,
    /// Remove an entry of this name although it starts something else
    #[arg(long)]
    force: bool,
}

/// What is taken out of one file.
#[derive(Clone, Copy)]
enum Part {
    Server,
    Hooks,
}

/// What the file becomes.
enum Change {
    Nothing,
    Text(Vec<String>),
    Removed,
}

impl Uninstall {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        self.at.check()?;
        let parts = [(self.at.file()?, Part::Server), (self.at.settings()?, Part::Hooks)];
        let (mut is_there, mut files) = (false, vec![]);
        for (path, part) in &parts {
            let file = UserFile::read(path)?;
            let change = self.changed(&file, *part)?;
            match &change {
                Change::Nothing => {}
                Change::Text(steps) => say(&format!("{}:\n{}", file.in_words(), shown(file.text(), steps))),
                Change::Removed => say(&format!("{} holds nothing else and is removed.\n", file.in_words())),
            }
            is_there |= !matches!(change, Change::Nothing);
            files.push(file.in_words());
        }
        if !is_there {
            say(&format!("{} has no server {:?}: nothing to change.\n", files.remove(0), self.at.name));
            return Ok(ExitCode::SUCCESS);
        }
        if !consent::given("Make this change?", self.yes)? {
            say("Nothing was changed.\n");
            return Ok(ExitCode::FAILURE);
        }
        let command = self.command(&parts[0].0)?;
        for (path, part) in &parts {
            self.write(path, *part)?;
        }
        say(&format!("{:?} is no longer registered; sessions that run keep it until they end.\n", self.at.name));
        let copy = place::bin_folder(&environment).map(|folder| folder.join("portcullis"));
        if let Some(copy) = copy.filter(|copy| command.as_deref() == copy.to_str() && copy.exists()) {
            say(&format!("The program itself stays in {}.\n", copy.display()));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Which program the entry starts.
    fn command(&self, path: &Path) -> anyhow::Result<Option<String>> {
        match entry::find(UserFile::read(path)?.text(), &self.at.under()?, &self.at.name) {
            Ok(Found::Ours { command }) => Ok(Some(command)),
            _ => Ok(None),
        }
    }

    fn changed(&self, file: &UserFile, part: Part) -> anyhow::Result<Change> {
        let receipts = Receipts::load(&paths()?)?;
        let receipt = receipts.find(&file.real, &self.at.name);
        let (steps, is_empty) = match part {
            Part::Server => self.without_server(file, receipt)?,
            Part::Hooks => self.without_hooks(file, receipt)?,
        };
        let made_by_us = receipt.is_some_and(|receipt| receipt.made_file);
        Ok(match steps.is_empty() {
            true => Change::Nothing,
            false if made_by_us && is_empty => Change::Removed,
            false => Change::Text(steps),
        })
    }

    /// The text after each step, and whether the last says nothing any more.
    fn without_server(&self, file: &UserFile, receipt: Option<&Receipt>) -> anyhow::Result<(Vec<String>, bool)> {
        let (name, under) = (&self.at.name, self.at.under()?);
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
            is_rule || hooks::is_our_element(&self.at.name, outer, said)
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

    fn write(&self, path: &Path, part: Part) -> anyhow::Result<()> {
        for _ in 0..10 {
            let file = UserFile::read(path)?;
            let wrote = match self.changed(&file, part)? {
                Change::Nothing => return Ok(()),
                Change::Text(steps) => {
                    file.write(steps.last().map_or(file.text(), String::as_str), self.at.audience())?
                }
                Change::Removed => file.remove()?,
            };
            if wrote == Wrote::Done {
                return Receipts::load(&paths()?)?.forget(&file.real, &self.at.name);
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
