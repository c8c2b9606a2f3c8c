//! `portcullis uninstall`: take back what `install` wrote.

use std::path::Path;
use std::process::ExitCode;

use super::install::{At, overtaken, unfit_file};
use super::report::Hinted;
use super::setup::consent;
use super::setup::entry::{self, Found};
use super::setup::file::{UserFile, Wrote};
use super::setup::place;
use super::setup::receipt::{Receipt, Receipts};
use super::{environment, log_at, paths, say};

/// Take the registration with Claude Code back
///
/// Removes what `install` wrote and leaves the rest of the file as it is; a file that `install` made and that holds
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

/// What the file becomes.
enum Change {
    Nothing,
    Text(String),
    Removed,
}

impl Uninstall {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        self.at.check()?;
        let path = self.at.file()?;
        let file = UserFile::read(&path)?;
        match self.changed(&file)? {
            Change::Nothing => {
                say(&format!("{} has no server {:?}: nothing to change.\n", file.in_words(), self.at.name));
                return Ok(ExitCode::SUCCESS);
            }
            Change::Text(after) => say(&format!("{}:\n{}", file.in_words(), consent::diff(file.text(), &after))),
            Change::Removed => say(&format!("{} holds nothing else and is removed.\n", file.in_words())),
        }
        if !consent::given("Make this change?", self.yes)? {
            say("Nothing was changed.\n");
            return Ok(ExitCode::FAILURE);
        }
        let command = self.write(&path)?;
        say(&format!("{:?} is no longer registered; sessions that run keep it until they end.\n", self.at.name));
        let copy = place::bin_folder(&environment).map(|folder| folder.join("portcullis"));
        if let Some(copy) = copy.filter(|copy| command.as_deref() == copy.to_str() && copy.exists()) {
            say(&format!("The program itself stays in {}.\n", copy.display()));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn changed(&self, file: &UserFile) -> anyhow::Result<Change> {
        let name = &self.at.name;
        let found = entry::find(file.text(), name).map_err(|unfit| unfit_file(file, &unfit))?;
        if found == Found::Nothing {
            return Ok(Change::Nothing);
        }
        if found == Found::Foreign && !self.force {
            let what = format!("the server {name:?} in {} does not start portcullis", file.in_words());
            return Err(Hinted::new(what, "name the one you mean with --name, or remove this one with --force").into());
        }
        let receipts = Receipts::load(&paths()?)?;
        let receipt = receipts.find(&file.real, name);
        let after = match receipt.and_then(|receipt| undone(receipt, file.text())) {
            Some(before) => before,
            None => {
                let servers_may_go = receipt.is_some_and(|receipt| receipt.made_servers);
                entry::take_out(file.text(), name, servers_may_go).map_err(|unfit| unfit_file(file, &unfit))?
            }
        };
        let made_by_us = receipt.is_some_and(|receipt| receipt.made_file);
        Ok(if made_by_us && entry::says_nothing(&after) { Change::Removed } else { Change::Text(after) })
    }

    /// Answers which program the entry started.
    fn write(&self, path: &Path) -> anyhow::Result<Option<String>> {
        for _ in 0..10 {
            let file = UserFile::read(path)?;
            let command = match entry::find(file.text(), &self.at.name) {
                Ok(Found::Ours { command }) => Some(command),
                _ => None,
            };
            let wrote = match self.changed(&file)? {
                Change::Nothing => Wrote::Done,
                Change::Text(after) => file.write(&after, self.at.audience())?,
                Change::Removed => file.remove()?,
            };
            if wrote == Wrote::Done {
                Receipts::load(&paths()?)?.forget(&file.real, &self.at.name)?;
                return Ok(command);
            }
        }
        Err(overtaken(path).into())
    }
}

/// The text as it was before, if what we put in is still there as we put it.
fn undone(receipt: &Receipt, text: &str) -> Option<String> {
    let before = receipt.patch.as_ref()?.undo(text)?;
    (entry::find(&before, &receipt.name) == Ok(Found::Nothing)).then_some(before)
}
