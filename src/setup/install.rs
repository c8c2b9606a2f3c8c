//! What `portcullis install` writes into Claude Code's files: planned first, so that it can be shown, and then written.

use std::path::{Path, PathBuf};

use portcullis_core::Label;

use super::change::{FileChange, FutureText, look_writable};
use super::entry::{self, Entry, Found};
use super::file::{Audience, UserFile, Wrote};
use super::hooks::{self, Callee};
use super::json::Unfit;
use super::lock::ChangeLock;
use super::place::{self, Place};
use super::receipt::{Receipt, Receipts};
use super::settings::{self, Addition, PutIn};
use super::target::{SettingsScope, Target, overtaken, unfit_file};
use super::uninstall::UninstallPlan;
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
    parts: Vec<Part>,
    /// One for each part.
    changes: Vec<FileChange>,
    /// What an earlier release wrote into files that others pull, with a path of this machine.
    moved: Option<UninstallPlan>,
}

/// What is put into one file.
struct Part {
    path: PathBuf,
    audience: Audience,
    content: Content,
}

enum Content {
    Server { entry: Entry, under: Vec<String> },
    Settings(Vec<Addition>),
}

/// A file as it is to become, and what the receipt has to say of it.
struct Planned {
    after: String,
    receipt: Receipt,
    /// What is put in, for people.
    counts: Vec<String>,
}

impl InstallPlan {
    pub(crate) fn make(options: InstallOptions, paths: &Paths) -> anyhow::Result<Self> {
        let place = place::choose(&place::this_program()?, &environment)?;
        let parts = parts(&options, place.path(), paths)?;
        let moved = UninstallPlan::of_shared(&options.target, paths)?;
        let mut plan = Self { options, paths: paths.clone(), place, parts, changes: vec![], moved };
        let receipts = Receipts::load(paths)?;
        for part in &plan.parts {
            let file = UserFile::read(&part.path)?;
            let planned = plan.planned(&file, part, &receipts)?;
            let (after, counts, ours) = match planned {
                None => (FutureText::Same, vec![], vec![]),
                Some(planned) => {
                    let ours = planned.receipt.patches.iter().map(|patch| patch.put.clone()).collect();
                    (FutureText::Text(planned.after), planned.counts, ours)
                }
            };
            plan.changes.push(FileChange { file, audience: part.audience, after, counts, ours });
        }
        Ok(plan)
    }

    /// Nothing has to be changed.
    pub(crate) fn is_done(&self) -> bool {
        self.changes().all(FileChange::is_nothing) && matches!(self.place, Place::There(_))
    }

    /// The entry of the server changes, so that every session has to be started again.
    pub(crate) fn changes_server(&self) -> bool {
        let mut changes = self.parts.iter().zip(&self.changes);
        changes.any(|(part, change)| matches!(part.content, Content::Server { .. }) && !change.is_nothing())
    }

    /// Whether a server that runs with this command line is the one that is registered.
    pub(crate) fn starts_server_as(&self, words: &[String]) -> bool {
        self.parts.iter().any(|part| match &part.content {
            Content::Server { entry, .. } => std::iter::once(&entry.command).chain(&entry.args).eq(words),
            Content::Settings(_) => false,
        })
    }

    pub(crate) fn changes(&self) -> impl Iterator<Item = &FileChange> {
        self.moved.iter().flat_map(UninstallPlan::changes).chain(&self.changes)
    }

    /// What an earlier release shared is taken back.
    pub(crate) fn moves(&self) -> bool {
        self.moved.is_some()
    }

    pub(crate) fn files(&self) -> Vec<String> {
        self.changes.iter().map(|change| change.file.in_words()).collect()
    }

    /// The files that Claude Code will not be able to read.
    pub(crate) fn unreadable_files(&self) -> Vec<String> {
        let unreadable = self.changes.iter().filter(|change| !entry::is_plain_json(change.text_after()));
        unreadable.map(|change| change.file.in_words()).collect()
    }

    /// A folder that the program is copied to and that is not on the PATH.
    pub(crate) fn folder_off_path(&self) -> Option<&Path> {
        let Place::Copied { to, .. } = &self.place else { return None };
        to.parent().filter(|folder| !place::is_on_path(folder, &environment))
    }

    pub(crate) fn carry_out(&self) -> anyhow::Result<()> {
        let _lock = ChangeLock::take(&self.paths)?;
        look_writable(self.changes())?;
        self.place.settle()?;
        if let Some(moved) = &self.moved {
            moved.take_out_all()?;
        }
        self.parts.iter().try_for_each(|part| self.write(part))
    }

    /// None when all is there.
    fn planned(&self, file: &UserFile, part: &Part, receipts: &Receipts) -> anyhow::Result<Option<Planned>> {
        let unfit = |unfit: Unfit| unfit_file(file, &unfit);
        let name = &self.options.target.name;
        let (entry, under) = match &part.content {
            Content::Settings(additions) => {
                let put_in = settings::put(file.text(), additions).map_err(unfit)?;
                return Ok(settings_planned(file, name, put_in, receipts));
            }
            Content::Server { entry, under } => (entry, under),
        };
        let found = entry::find(file.text(), under, &entry.name).map_err(unfit)?;
        if found == Found::Foreign && !self.options.force {
            let what = format!("{} has a server {:?} that starts something else", file.in_words(), entry.name);
            let hint = "choose another name with --name, or replace that one with --force";
            return Err(Failure::new(what, hint).into());
        }
        let edited = entry::put(file.text(), under, entry).map_err(unfit)?;
        if edited.text == file.text() {
            return Ok(None);
        }
        let earlier = receipts.find(&file.real, name, Some(under)).filter(|_| found != Found::Nothing);
        let mut receipt = earlier.cloned().unwrap_or_else(|| Receipt::new(&file.real, name, Some(under)));
        receipt.under = Some(under.clone());
        if found == Found::Nothing {
            receipt.made_file = file.text.is_none();
            receipt.made_around = entry::missing_around(file.text(), under).map_err(unfit)?;
        }
        // What belongs to the user is not kept: then only the entry goes.
        match found {
            Found::Foreign => receipt.patches.clear(),
            Found::Nothing | Found::Ours { .. } => receipt.patches.extend(edited.patches),
        }
        Ok(Some(Planned { after: edited.text, receipt, counts: vec!["the server".to_owned()] }))
    }

    /// Claude Code writes its file too, whenever it likes: then the change is made anew, to what it wrote.
    fn write(&self, part: &Part) -> anyhow::Result<()> {
        for _ in 0..10 {
            let file = UserFile::read(&part.path)?;
            let receipts = Receipts::load(&self.paths)?;
            let Some(planned) = self.planned(&file, part, &receipts)? else { return Ok(()) };
            if file.write(&planned.after, part.audience)? == Wrote::Done {
                return receipts.keep(planned.receipt);
            }
        }
        Err(overtaken(&part.path).into())
    }
}

fn settings_planned(file: &UserFile, name: &str, put_in: PutIn, receipts: &Receipts) -> Option<Planned> {
    let after = put_in.text?;
    let earlier = receipts.find(&file.real, name, None);
    let mut receipt = earlier.cloned().unwrap_or_else(|| Receipt::new(&file.real, name, None));
    receipt.patches.extend(put_in.patches);
    receipt.made_file = earlier.map_or(file.text.is_none(), |earlier| earlier.made_file);
    let rules = put_in.added.iter().filter(|added| added.rule.is_some()).count();
    let hooks = put_in.added.len() - rules;
    receipt.added.get_or_insert_default().extend(put_in.added);
    let counts = counted(&[(hooks, "hook"), (put_in.renewed, "renewed hook"), (rules, "rule")]);
    Some(Planned { after, receipt, counts })
}

/// `12 hooks`, `1 rule`; nothing for what there is none of.
pub(super) fn counted(counts: &[(usize, &str)]) -> Vec<String> {
    let there = counts.iter().filter(|(count, _)| *count > 0);
    there.map(|(count, what)| format!("{count} {what}{}", if *count == 1 { "" } else { "s" })).collect()
}

fn parts(options: &InstallOptions, program: &Path, paths: &Paths) -> anyhow::Result<Vec<Part>> {
    let target = &options.target;
    let mut args = vec!["channel".to_owned()];
    if let Some(label) = &options.label {
        if Label::new(label).is_none() {
            return Err(Failure::new(format!("{label:?} cannot be a label"), Label::HINT).into());
        }
        args.extend(["--label".to_owned(), label.clone()]);
    }
    let entry = Entry { name: target.name.clone(), command: program.display().to_string(), args };
    let own = |path: PathBuf, content: Content| Part { path, audience: Audience::OwnerAlone, content };
    let mut parts = vec![own(target.server_file()?, Content::Server { entry, under: target.under() })];
    if !options.hooks {
        if target.scope == SettingsScope::Project {
            let what = "nothing of the server alone can be shared: its entry names a path of this machine";
            let hint = "use --scope local or --scope user; with --hooks the project gets hooks that everyone can use";
            return Err(Failure::new(what, hint).into());
        }
        return Ok(parts);
    }
    let rules = hooks::rules(&target.name, &deny_rules(target, paths)?);
    match target.scope {
        SettingsScope::Project => {
            let shared = Content::Settings(hooks::shared_hooks());
            parts.push(own(target.own_settings()?, Content::Settings(rules)));
            parts.push(Part { path: target.shared_settings(), audience: Audience::Everyone, content: shared });
        }
        SettingsScope::Local | SettingsScope::User => {
            let callee = Callee { server: target.name.clone(), program };
            let all = rules.into_iter().chain(hooks::own_hooks(&callee)).collect();
            parts.push(own(target.own_settings()?, Content::Settings(all)));
        }
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
