//! `portcullis install`: tell Claude Code about the channel.

use std::path::PathBuf;
use std::process::ExitCode;

use portcullis_core::Label;

use super::channel::working_folder;
use super::report::Hinted;
use super::setup::claude::{ClaudeFiles, project_file};
use super::setup::consent;
use super::setup::entry::{self, Entry, Found};
use super::setup::file::{Audience, UserFile, Wrote};
use super::setup::json::Unfit;
use super::setup::place::{self, Place};
use super::setup::receipt::{Patch, Receipt, Receipts};
use super::{environment, log_at, paths, say};

/// Register `portcullis channel` with Claude Code
///
/// Shows the change to Claude Code's own file, asks, and makes it. Other entries and the way the file is written stay as
/// they are, and doing it twice changes nothing. `portcullis uninstall` takes it back.
///
/// What is registered is a path that stays: a program in a build or temporary folder is first copied to
/// ~/.local/bin (or $XDG_BIN_HOME).
#[derive(clap::Args)]
pub(super) struct Install {
    #[command(flatten)]
    at: At,
    /// What people call the sessions started so [default: the name of their folder]
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Make the change without asking
    #[arg(long)]
    yes: bool,
    /// Replace an entry of this name that starts something else
    #[arg(long)]
    force: bool,
}

/// Which entry in which file.
#[derive(clap::Args)]
pub(super) struct At {
    /// For whom: all who work in the project of this folder (.mcp.json), or you in every folder (~/.claude.json)
    #[arg(long, value_name = "SCOPE", value_enum, default_value_t = Scope::Project)]
    scope: Scope,
    /// The name of the server in Claude Code
    #[arg(long, value_name = "NAME", default_value = "portcullis")]
    pub(super) name: String,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Scope {
    Project,
    User,
}

impl Install {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let entry = self.entry()?;
        let place = place::choose(&place::this_program()?, &environment)?;
        let entry = Entry { command: place.path().display().to_string(), ..entry };
        let path = self.at.file()?;
        let file = UserFile::read(&path)?;
        let after = self.changed(&file, &entry)?;
        let is_there = file.text() == after;
        if is_there && matches!(place, Place::There(_)) {
            say(&format!("{} has it already: nothing to change.\n", file.in_words()));
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(announcement) = place.announcement() {
            say(&announcement);
        }
        if !is_there {
            say(&format!("{}:\n{}", file.in_words(), consent::diff(file.text(), &after)));
        }
        if !consent::given("Make this change?", self.yes)? {
            say("Nothing was changed.\n");
            return Ok(ExitCode::FAILURE);
        }
        place.settle()?;
        self.write(&path, &entry)?;
        say(&self.farewell(&place, entry::is_plain_json(&after)));
        Ok(ExitCode::SUCCESS)
    }

    /// All of the entry but the path of the program.
    fn entry(&self) -> anyhow::Result<Entry> {
        self.at.check()?;
        let mut args = vec!["channel".to_owned()];
        if let Some(label) = &self.label {
            if Label::new(label).is_none() {
                let hint = "a label has 1 to 64 bytes, all of them visible letters";
                return Err(Hinted::new(format!("{label:?} is no label"), hint).into());
            }
            args.extend(["--label".to_owned(), label.clone()]);
        }
        Ok(Entry { name: self.at.name.clone(), command: String::new(), args })
    }

    fn changed(&self, file: &UserFile, entry: &Entry) -> anyhow::Result<String> {
        let found = entry::find(file.text(), &entry.name).map_err(|unfit| unfit_file(file, &unfit))?;
        if found == Found::Foreign && !self.force {
            let what = format!("{} has a server {:?} that starts something else", file.in_words(), entry.name);
            let hint = "choose another name with --name, or replace that one with --force";
            return Err(Hinted::new(what, hint).into());
        }
        Ok(entry::put(file.text(), entry).map_err(|unfit| unfit_file(file, &unfit))?)
    }

    /// Claude Code writes its file too, whenever it likes: then the change is made anew, to what it wrote.
    fn write(&self, path: &std::path::Path, entry: &Entry) -> anyhow::Result<()> {
        let paths = paths()?;
        paths.prepare()?;
        for _ in 0..10 {
            let file = UserFile::read(path)?;
            let after = self.changed(&file, entry)?;
            if file.text() == after {
                return Ok(());
            }
            let receipts = Receipts::load(&paths)?;
            let receipt = receipt(&file, &after, entry, &receipts);
            if file.write(&after, self.at.audience())? == Wrote::Done {
                return receipts.keep(receipt);
            }
        }
        Err(overtaken(path).into())
    }

    fn farewell(&self, place: &Place, is_plain: bool) -> String {
        let name = &self.at.name;
        let mut text = match self.at.scope {
            Scope::Project => format!(
                "Registered as {name:?} for this project. Start `claude` in this folder and approve the server when it \
                 asks.\n"
            ),
            Scope::User => format!("Registered as {name:?} for you, in every folder, from the next session on.\n"),
        };
        text.push_str(&format!(
            "Events come in through the channel where your account has it: claude --dangerously-load-development-channels \
             server:{name}\n`portcullis doctor` says what works for you.\n"
        ));
        if !is_plain {
            text.push_str(
                "Note: this file has comments or a comma too many. They were kept, but Claude Code reads plain JSON only \
                 and passes over the whole file.\n",
            );
        }
        if let Place::Copied { to, .. } = place
            && let Some(folder) = to.parent()
            && !place::is_on_path(folder, &environment)
        {
            text.push_str(&format!("Note: {} is not on your PATH.\n", folder.display()));
        }
        text
    }
}

impl At {
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(fits) {
            let hint = "a name has letters, digits, hyphens and underscores, at most 64";
            return Err(Hinted::new(format!("{:?} is no name for a server", self.name), hint).into());
        }
        Ok(())
    }

    pub(super) fn file(&self) -> anyhow::Result<PathBuf> {
        match self.scope {
            Scope::Project => Ok(project_file(&working_folder()?)),
            Scope::User => Ok(ClaudeFiles::find(&environment)?.user),
        }
    }

    pub(super) fn audience(&self) -> Audience {
        match self.scope {
            Scope::Project => Audience::Everyone,
            Scope::User => Audience::OwnerAlone,
        }
    }
}

pub(super) fn unfit_file(file: &UserFile, unfit: &Unfit) -> Hinted {
    let hint = match unfit {
        Unfit::NoJson { .. } => "repair the file by hand, then run this again; nothing was changed",
        Unfit::OddShape(_) => "\"mcpServers\" has to be one object with a name for each server; nothing was changed",
    };
    Hinted::new(format!("{}: {unfit}", file.in_words()), hint)
}

pub(super) fn overtaken(path: &std::path::Path) -> Hinted {
    let what = format!("{} is being written by someone else all the time", path.display());
    Hinted::new(what, "end the Claude Code sessions that run, then try again")
}

/// What `uninstall` has to know to take back no more and no less.
fn receipt(file: &UserFile, after: &str, entry: &Entry, receipts: &Receipts) -> Receipt {
    let found = entry::find(file.text(), &entry.name);
    let earlier = receipts.find(&file.real, &entry.name).filter(|_| found != Ok(Found::Nothing));
    let mut receipt = Receipt {
        file: file.real.clone(),
        name: entry.name.clone(),
        made_file: false,
        made_servers: false,
        patch: None,
    };
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
            receipt.made_servers = !entry::has_servers(file.text());
        }
        // It was there before us, in some form: then only the entry goes.
        None => {}
    }
    receipt
}
