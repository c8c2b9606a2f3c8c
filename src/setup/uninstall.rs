//! What `portcullis uninstall` takes out of Claude Code's files: planned first, so that it can be shown.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::change::{FileChange, FutureText, look_writable};
use super::claude::project_file;
use super::entry::{self, Found};
use super::file::{Audience, UserFile, Wrote};
use super::install::counted;
use super::lock::ChangeLock;
use super::patch::{undo_all, undo_all_exactly};
use super::place;
use super::receipt::{Receipt, Receipts};
use super::settings::{self, Removal, has_own_hooks, say_the_same, says_nothing};
use super::target::{SettingsScope, Target, overtaken, unfit_file};
use crate::config::{Paths, environment};
use crate::failure::Failure;

/// What is going to be taken out.
pub(crate) struct UninstallPlan {
    /// The name of the server.
    name: String,
    /// Remove a server of this name although it starts something else.
    force: bool,
    paths: Paths,
    parts: Vec<RemovedPart>,
    /// One for each part.
    changes: Vec<FileChange>,
}

/// What is taken out of one file.
struct RemovedPart {
    path: PathBuf,
    content: RemovedContent,
}

enum RemovedContent {
    Server { under: Vec<String> },
    Settings,
}

impl UninstallPlan {
    pub(crate) fn make(target: &Target, force: bool, paths: &Paths) -> anyhow::Result<Self> {
        let server = || anyhow::Ok(server(target.server_file()?, target.under()));
        let mut parts = match target.scope {
            SettingsScope::Local | SettingsScope::User => vec![server()?, settings(target.own_settings()?)],
            SettingsScope::Project => {
                let mut parts = shared_parts(target);
                // Where hooks are installed for this user alone, the server and the rules are theirs.
                if !has_own_hooks(UserFile::read(&target.own_settings()?)?.text()) {
                    parts.extend([server()?, settings(target.own_settings()?)]);
                }
                parts
            }
        };
        parts.extend(parts_of_gone(target, paths)?);
        Self::of(parts, target.name.clone(), force, paths)
    }

    /// What an earlier release wrote into files that others pull; none where there is nothing of it.
    pub(super) fn of_shared(target: &Target, paths: &Paths) -> anyhow::Result<Option<Self>> {
        let receipts = Receipts::load(paths)?;
        let is_known = |part: &RemovedPart| {
            UserFile::read(&part.path).is_ok_and(|file| {
                let is_old = match part.content {
                    RemovedContent::Server { .. } => true,
                    // Those of this release stay, and a scope that is shared renews them.
                    RemovedContent::Settings => target.scope != SettingsScope::Project && has_own_hooks(file.text()),
                };
                is_old && receipts.find(&file.real, &target.name, part.under()).is_some()
            })
        };
        let parts: Vec<RemovedPart> = shared_parts(target).into_iter().filter(is_known).collect();
        let plan = Self::of(parts, target.name.clone(), false, paths)?;
        Ok(Some(plan).filter(|plan| !plan.is_done()))
    }

    fn of(parts: Vec<RemovedPart>, name: String, force: bool, paths: &Paths) -> anyhow::Result<Self> {
        let mut plan = Self { name, force, paths: paths.clone(), parts, changes: vec![] };
        let receipts = Receipts::load(paths)?;
        for part in &plan.parts {
            let file = UserFile::read(&part.path)?;
            let change = plan.change(file, part, &receipts)?;
            plan.changes.push(change);
        }
        Ok(plan)
    }

    /// Nothing of ours is there.
    pub(crate) fn is_done(&self) -> bool {
        self.changes.iter().all(FileChange::is_nothing)
    }

    pub(crate) fn changes(&self) -> impl Iterator<Item = &FileChange> {
        self.changes.iter()
    }

    pub(crate) fn files(&self) -> Vec<String> {
        self.changes.iter().map(|change| change.file.in_words()).collect()
    }

    /// Takes everything out; returns the copy of the program that `install` made, which stays.
    pub(crate) fn carry_out(&self) -> anyhow::Result<Option<PathBuf>> {
        let _lock = ChangeLock::take(&self.paths)?;
        look_writable(self.changes())?;
        let command = self.command()?;
        self.take_out_all()?;
        let copy = place::bin_folder(&environment).map(|folder| folder.join("portcullis"));
        Ok(copy.filter(|copy| command.as_deref() == copy.to_str() && copy.exists()))
    }

    /// The same, by whoever holds the lock.
    pub(super) fn take_out_all(&self) -> anyhow::Result<()> {
        self.parts.iter().try_for_each(|part| self.write(part))
    }

    /// Which program the entry starts.
    fn command(&self) -> anyhow::Result<Option<String>> {
        for part in &self.parts {
            let RemovedContent::Server { under } = &part.content else { continue };
            let file = UserFile::read(&part.path)?;
            if let Ok(Found::Ours { command }) = entry::find(file.text(), under, &self.name) {
                return Ok(Some(command));
            }
        }
        Ok(None)
    }

    fn change(&self, file: UserFile, part: &RemovedPart, receipts: &Receipts) -> anyhow::Result<FileChange> {
        let receipt = receipts.find(&file.real, &self.name, part.under());
        let after = match &part.content {
            RemovedContent::Server { under } => self.without_server(&file, under, receipt)?,
            RemovedContent::Settings => self.without_settings(&file, receipt)?,
        };
        let made_by_us = receipt.is_some_and(|receipt| receipt.made_file);
        let counts = match &part.content {
            RemovedContent::Server { under } => vec![match under.get(1).filter(|folder| is_gone(folder)) {
                Some(folder) => format!("the server of {folder}, which is no longer there"),
                None => "the server".to_owned(),
            }],
            RemovedContent::Settings => {
                let ((hooks, rules), (hooks_left, rules_left)) =
                    (settings::count(file.text()), settings::count(&after));
                counted(&[(hooks - hooks_left.min(hooks), "hook"), (rules - rules_left.min(rules), "rule")])
            }
        };
        let ours = receipt.map(|receipt| receipt.patches.iter().map(|patch| patch.put.clone()).collect());
        let after = match () {
            () if after == file.text() => FutureText::Same,
            () if made_by_us && says_nothing(&after) => FutureText::Removed,
            () => FutureText::Text(after),
        };
        // What is taken out of a shared file others lose as well, and git knows it already.
        let audience = Audience::OwnerAlone;
        Ok(FileChange { file, audience, after, counts, ours: ours.unwrap_or_default() })
    }

    fn without_server(
        &self,
        file: &UserFile,
        under: entry::Under<'_>,
        receipt: Option<&Receipt>,
    ) -> anyhow::Result<String> {
        let name = &self.name;
        let found = entry::find(file.text(), under, name).map_err(|unfit| unfit_file(file, &unfit))?;
        if found == Found::Nothing {
            return Ok(file.text().to_owned());
        }
        if found == Found::Foreign && !self.force {
            let what = format!("the server {name:?} in {} does not start portcullis", file.in_words());
            return Err(Failure::new(what, "name the one you mean with --name, or remove this one with --force").into());
        }
        let made = receipt.map_or(0, |receipt| receipt.made_around);
        let taken = entry::take_out(file.text(), under, name, made).map_err(|unfit| unfit_file(file, &unfit))?;
        Ok(as_it_was(receipt, file.text(), &taken).unwrap_or(taken))
    }

    fn without_settings(&self, file: &UserFile, receipt: Option<&Receipt>) -> anyhow::Result<String> {
        let added = receipt.and_then(|receipt| receipt.added.as_deref());
        let removal = Removal { server: &self.name, added };
        let taken = settings::take_out(file.text(), &removal).map_err(|unfit| unfit_file(file, &unfit))?;
        Ok(as_it_was(receipt, file.text(), &taken).unwrap_or(taken))
    }

    fn write(&self, part: &RemovedPart) -> anyhow::Result<()> {
        for _ in 0..10 {
            let receipts = Receipts::load(&self.paths)?;
            let change = self.change(UserFile::read(&part.path)?, part, &receipts)?;
            let wrote = match &change.after {
                FutureText::Same => Wrote::Done,
                FutureText::Text(text) => change.file.write(text, Audience::OwnerAlone)?,
                FutureText::Removed => change.file.remove()?,
            };
            if wrote == Wrote::Done {
                return receipts.forget(&change.file.real, &self.name, part.under());
            }
        }
        Err(overtaken(&part.path).into())
    }
}

impl RemovedPart {
    fn under(&self) -> Option<&[String]> {
        match &self.content {
            RemovedContent::Server { under } => Some(under),
            RemovedContent::Settings => None,
        }
    }
}

/// The other names under which a server of ours is registered or called by hooks in the same scope.
pub(crate) fn other_names(target: &Target) -> anyhow::Result<BTreeSet<String>> {
    let (servers, settings) = (UserFile::read(&target.server_file()?)?, UserFile::read(&target.own_settings()?)?);
    let mut names = settings::servers_called(settings.text());
    names.extend(entry::names_of_ours(servers.text(), &target.under()).unwrap_or_default());
    names.remove(&target.name);
    Ok(names)
}

fn server(path: PathBuf, under: Vec<String>) -> RemovedPart {
    RemovedPart { path, content: RemovedContent::Server { under } }
}

fn settings(path: PathBuf) -> RemovedPart {
    RemovedPart { path, content: RemovedContent::Settings }
}

/// An earlier release registered the server there, too.
fn shared_parts(target: &Target) -> Vec<RemovedPart> {
    vec![server(project_file(&target.folder), vec![]), settings(target.shared_settings())]
}

/// Where no server is registered for this folder, it may have been moved: then the entry is under its earlier name.
fn parts_of_gone(target: &Target, paths: &Paths) -> anyhow::Result<Vec<RemovedPart>> {
    let (file, under) = (UserFile::read(&target.server_file()?)?, target.under());
    let found = entry::find(file.text(), &under, &target.name);
    if target.scope == SettingsScope::User || !matches!(found, Ok(Found::Nothing)) {
        return Ok(vec![]);
    }
    let gone = |under: &[String]| under.get(1).is_some_and(|folder| is_gone(folder));
    let unders = Receipts::load(paths)?.unders_in(&file.real, &target.name).into_iter().filter(|under| gone(under));
    Ok(unders.map(|under| server(file.path.clone(), under)).collect())
}

fn is_gone(folder: &str) -> bool {
    matches!(Path::new(folder).try_exists(), Ok(false))
}

/// The text before `install`, to the byte: all of it where nobody else changed it since, else the places that we changed.
/// None where that says anything else than the text without what was added, as when others moved it.
fn as_it_was(receipt: Option<&Receipt>, text: &str, taken: &str) -> Option<String> {
    let patches = receipt?.patches.as_slice();
    let candidates = [undo_all_exactly(patches, text), undo_all(patches, text)];
    candidates.into_iter().flatten().find(|before| say_the_same(before, taken))
}
