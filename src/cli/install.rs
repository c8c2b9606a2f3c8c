//! `portcullis install`: tell Claude Code about the channel, and about the hooks.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use portcullis_core::Label;

use super::channel::working_folder;
use super::setup::claude::{ClaudeFiles, project_file};
use super::setup::consent;
use super::setup::entry::{self, Entry, Found};
use super::setup::file::{Audience, UserFile, Wrote};
use super::setup::hooks::{self, Addition, Callee};
use super::setup::json::Unfit;
use super::setup::place::{self, Place};
use super::setup::receipt::{Patch, Receipt, Receipts};
use super::{environment, log_at, paths, say};
use crate::failure::Failure;
use crate::rules::Rules;

/// Register `portcullis channel` with Claude Code, and with --hooks its hooks
///
/// Shows the change to Claude Code's own files, asks, and makes it. Other entries and the way the files are written stay
/// as they are, and doing it twice changes nothing. `portcullis uninstall` takes it back.
///
/// With --hooks permission prompts are answered from anywhere and events reach the session, also where the account does
/// not have the channel preview.
///
/// What is registered is a path that stays: a program in a build or temporary folder is first copied to
/// ~/.local/bin (or $XDG_BIN_HOME).
#[derive(clap::Args)]
pub(super) struct Install {
    #[command(flatten)]
    at: At,
    /// Write hooks and the rules that go with them into the settings, too
    #[arg(long)]
    hooks: bool,
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
    /// For whom: all who work in the project of this folder (.mcp.json and .claude/settings.json), you in this project
    /// alone, or you in every folder (~/.claude.json and ~/.claude/settings.json)
    #[arg(long, value_name = "SCOPE", value_enum, default_value_t = SettingsScope::Project)]
    scope: SettingsScope,
    /// The name of the server in Claude Code
    #[arg(long, value_name = "NAME", default_value = "portcullis")]
    pub(super) name: String,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SettingsScope {
    Project,
    Local,
    User,
}

/// What is put into one file.
enum Part {
    Server { entry: Entry, under: Vec<String> },
    Hooks { additions: Vec<Addition>, rules: Vec<String> },
}

impl Install {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let entry = self.entry()?;
        let place = place::choose(&place::this_program()?, &environment)?;
        let entry = Entry { command: place.path().display().to_string(), ..entry };
        let parts = self.parts(entry, place.path())?;
        let mut changes = vec![];
        let mut is_plain = true;
        for (path, part) in &parts {
            let file = UserFile::read(path)?;
            let steps = self.steps(&file, part)?;
            is_plain &= entry::is_plain_json(steps.last().map_or(file.text(), String::as_str));
            changes.push((file, steps));
        }
        let is_there = changes.iter().all(|(_, steps)| steps.is_empty());
        if is_there && matches!(place, Place::There(_)) {
            let files: Vec<String> = changes.iter().map(|(file, _)| file.in_words()).collect();
            let have = if files.len() == 1 { "has" } else { "have" };
            say(&format!("{} {have} it already: nothing to change.\n", files.join(" and ")));
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(announcement) = place.announcement() {
            say(&announcement);
        }
        for (file, steps) in changes.iter().filter(|(_, steps)| !steps.is_empty()) {
            say(&format!("{}:\n{}", file.in_words(), shown(file.text(), steps)));
        }
        if !consent::given("Make this change?", self.yes)? {
            say("Nothing was changed.\n");
            return Ok(ExitCode::FAILURE);
        }
        place.settle()?;
        for (path, part) in &parts {
            self.write(path, part)?;
        }
        say(&self.farewell(&place, is_plain));
        Ok(ExitCode::SUCCESS)
    }

    /// All of the entry but the path of the program.
    fn entry(&self) -> anyhow::Result<Entry> {
        self.at.check()?;
        let mut args = vec!["channel".to_owned()];
        if let Some(label) = &self.label {
            if Label::new(label).is_none() {
                let hint = "a label has 1 to 64 bytes, all of them visible letters";
                return Err(Failure::new(format!("{label:?} is no label"), hint).into());
            }
            args.extend(["--label".to_owned(), label.clone()]);
        }
        Ok(Entry { name: self.at.name.clone(), command: String::new(), args })
    }

    fn parts(&self, entry: Entry, program: &Path) -> anyhow::Result<Vec<(PathBuf, Part)>> {
        let mut parts = vec![(self.at.file()?, Part::Server { entry, under: self.at.under()? })];
        if self.hooks {
            let callee = Callee { server: self.at.name.clone(), program };
            let rules = self.denied_by_us()?;
            let additions = hooks::additions(&callee, &rules);
            parts.push((self.at.settings()?, Part::Hooks { additions, rules }));
        }
        Ok(parts)
    }

    /// Rules of ours that the client is to keep also while we are away. For every folder that is the user's alone.
    fn denied_by_us(&self) -> anyhow::Result<Vec<String>> {
        let paths = paths()?;
        let rules = match self.at.scope {
            SettingsScope::User => Rules::named(&paths, &paths.rules_file),
            SettingsScope::Project | SettingsScope::Local => Rules::open(&paths, &working_folder()?),
        };
        let rules = rules.load().map_err(|problem| anyhow::anyhow!(problem))?;
        Ok(rules.snapshot().denied_by_the_client())
    }

    /// The text after each step; none when all is there.
    fn steps(&self, file: &UserFile, part: &Part) -> anyhow::Result<Vec<String>> {
        let unfit = |unfit: Unfit| unfit_file(file, &unfit);
        let Part::Server { entry, under } = part else {
            let Part::Hooks { additions, .. } = part else { return Ok(vec![]) };
            return Ok(hooks::put(file.text(), additions).map_err(unfit)?);
        };
        let found = entry::find(file.text(), under, &entry.name).map_err(unfit)?;
        if found == Found::Foreign && !self.force {
            let what = format!("{} has a server {:?} that starts something else", file.in_words(), entry.name);
            let hint = "choose another name with --name, or replace that one with --force";
            return Err(Failure::new(what, hint).into());
        }
        let after = entry::put(file.text(), under, entry).map_err(unfit)?;
        Ok(if after == file.text() { vec![] } else { vec![after] })
    }

    /// Claude Code writes its file too, whenever it likes: then the change is made anew, to what it wrote.
    fn write(&self, path: &Path, part: &Part) -> anyhow::Result<()> {
        let paths = paths()?;
        paths.prepare()?;
        for _ in 0..10 {
            let file = UserFile::read(path)?;
            let steps = self.steps(&file, part)?;
            let Some(after) = steps.last() else { return Ok(()) };
            let receipts = Receipts::load(&paths)?;
            let receipt = match part {
                Part::Server { entry, under } => receipt(&file, after, under, entry, &receipts),
                Part::Hooks { rules, .. } => self.hooks_receipt(&file, &steps, rules, &receipts),
            };
            if file.write(after, self.at.audience())? == Wrote::Done {
                return receipts.keep(receipt);
            }
        }
        Err(overtaken(path).into())
    }

    /// Every step can be taken back by itself, as long as what it put in is still there as it was put.
    fn hooks_receipt(&self, file: &UserFile, steps: &[String], rules: &[String], receipts: &Receipts) -> Receipt {
        let earlier = receipts.find(&file.real, &self.at.name);
        let before = std::iter::once(file.text()).chain(steps.iter().map(String::as_str));
        let patches = before.zip(steps).filter_map(|(before, after)| Patch::between(before, after));
        let known =
            |list: fn(&Receipt) -> &Vec<Patch>| earlier.map(|earlier| list(earlier).clone()).unwrap_or_default();
        let mut all_rules = earlier.map(|earlier| earlier.rules.clone()).unwrap_or_default();
        all_rules.extend(rules.iter().filter(|rule| !all_rules.contains(rule)).cloned().collect::<Vec<_>>());
        Receipt {
            made_file: earlier.map_or(file.text.is_none(), |earlier| earlier.made_file),
            patches: known(|earlier| &earlier.patches).into_iter().chain(patches).collect(),
            rules: all_rules,
            ..Receipt::new(&file.real, &self.at.name)
        }
    }

    fn farewell(&self, place: &Place, is_plain: bool) -> String {
        let name = &self.at.name;
        let mut text = match self.at.scope {
            SettingsScope::Project => format!(
                "Registered as {name:?} for this project. Start `claude` in this folder and approve the server when it \
                 asks.\n"
            ),
            SettingsScope::Local => {
                format!("Registered as {name:?} for you in this project, from the next session on.\n")
            }
            SettingsScope::User => {
                format!("Registered as {name:?} for you, in every folder, from the next session on.\n")
            }
        };
        if self.hooks {
            text.push_str(
                "Prompts are answered from anywhere and events come in through hooks: see `portcullis ask list` and \
                 `portcullis say`.\n",
            );
        } else {
            text.push_str(&format!(
                "Events come in through the channel where your account has it: claude \
                 --dangerously-load-development-channels server:{name}\nWith --hooks they come in everywhere.\n"
            ));
        }
        text.push_str("`portcullis doctor` says what works for you.\n");
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

/// All at once where it is one place; else place by place, so that nothing between them is shown.
pub(super) fn shown(before: &str, steps: &[String]) -> String {
    let Some(after) = steps.last() else { return String::new() };
    if Patch::between(before, after).is_some() {
        return consent::diff(before, after);
    }
    let each = std::iter::once(before).chain(steps.iter().map(String::as_str)).zip(steps);
    each.map(|(before, after)| consent::diff(before, after)).collect::<Vec<_>>().join("    …\n")
}

impl At {
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(fits) {
            let hint = "a name has letters, digits, hyphens and underscores, at most 64";
            return Err(Failure::new(format!("{:?} is no name for a server", self.name), hint).into());
        }
        Ok(())
    }

    /// Where the server is registered.
    pub(super) fn file(&self) -> anyhow::Result<PathBuf> {
        match self.scope {
            SettingsScope::Project => Ok(project_file(&working_folder()?)),
            SettingsScope::Local | SettingsScope::User => Ok(ClaudeFiles::find(&environment)?.user),
        }
    }

    /// The objects around `mcpServers` in that file.
    pub(super) fn under(&self) -> anyhow::Result<Vec<String>> {
        match self.scope {
            SettingsScope::Project | SettingsScope::User => Ok(vec![]),
            SettingsScope::Local => Ok(vec!["projects".to_owned(), working_folder()?.display().to_string()]),
        }
    }

    /// Where the hooks go.
    pub(super) fn settings(&self) -> anyhow::Result<PathBuf> {
        match self.scope {
            SettingsScope::Project => Ok(working_folder()?.join(".claude/settings.json")),
            SettingsScope::Local => Ok(working_folder()?.join(".claude/settings.local.json")),
            SettingsScope::User => Ok(ClaudeFiles::find(&environment)?.folder.join("settings.json")),
        }
    }

    pub(super) fn audience(&self) -> Audience {
        match self.scope {
            SettingsScope::Project => Audience::Everyone,
            SettingsScope::Local | SettingsScope::User => Audience::OwnerAlone,
        }
    }
}

pub(super) fn unfit_file(file: &UserFile, unfit: &Unfit) -> Failure {
    let hint = match unfit {
        Unfit::NoJson { .. } => "repair the file by hand, then run this again; nothing was changed",
        Unfit::OddShape(_) => {
            "servers are one object with a name for each, hooks and rules are lists; nothing was changed"
        }
    };
    Failure::new(format!("{}: {unfit}", file.in_words()), hint)
}

pub(super) fn overtaken(path: &Path) -> Failure {
    let what = format!("{} is being written by someone else all the time", path.display());
    Failure::new(what, "end the Claude Code sessions that run, then try again")
}

/// What `uninstall` has to know to take back no more and no less.
fn receipt(file: &UserFile, after: &str, under: entry::Under<'_>, entry: &Entry, receipts: &Receipts) -> Receipt {
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
