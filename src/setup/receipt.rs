//! What `install` wrote, kept so that `uninstall` can take back exactly that, to the byte.

use std::path::{Path, PathBuf};

use portcullis_wire::hooks::HookEvent;
use serde::{Deserialize, Serialize};

use super::entry::SERVERS;
use super::file::{Audience, UserFile};
use super::hooks;
use super::patch::Patch;
use super::settings::{AddedElement, Made};
use crate::config::Paths;
use crate::failure::Failure;

/// What was added to one file.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// Without links.
    pub(crate) file: PathBuf,
    pub(crate) name: String,
    /// The objects around `mcpServers`: one file holds the servers of the user and of every project. None in receipts of
    /// release 0.1, and for settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) under: Option<Vec<String>>,
    /// There was no such file before.
    pub(crate) made_file: bool,
    /// There was no `mcpServers` before.
    pub(crate) made_servers: bool,
    /// How many of the objects around the entry were made for it, `mcpServers` included.
    #[serde(default)]
    pub(crate) made_around: usize,
    /// How the text was changed, in this order. Nothing of the user's is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) patches: Vec<Patch>,
    /// What was not in the settings before. None in receipts of release 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) added: Option<Vec<AddedElement>>,
    /// Release 0.1: how an entry of a server was put in.
    #[serde(default, skip_serializing)]
    patch: Option<Patch>,
    /// Release 0.1: the rules that had to be there, whether they were added or not.
    #[serde(default, skip_serializing)]
    rules: Vec<String>,
}

impl Receipt {
    pub(crate) fn new(file: &Path, name: &str, under: Option<&[String]>) -> Self {
        Self {
            file: file.to_owned(),
            name: name.to_owned(),
            under: under.map(<[String]>::to_vec),
            made_file: false,
            made_servers: false,
            made_around: 0,
            patches: vec![],
            added: None,
            patch: None,
            rules: vec![],
        }
    }

    /// A receipt of release 0.1 in today's words. It named the rules that it wanted; those that it added are in what it
    /// put in.
    fn renewed(mut self) -> Self {
        self.patches.extend(self.patch.take());
        self.made_around = self.made_around.max(usize::from(self.made_servers));
        if self.added.is_none() && self.under.is_none() {
            let puts: Vec<&str> = self.patches.iter().map(|patch| patch.put.as_str()).collect();
            let put = |text: &str| puts.iter().any(|put| put.contains(text));
            let quoted = |text: &str| serde_json::Value::from(text).to_string();
            let made = |[outer, inner]: [&str; 2]| match () {
                () if put(&format!("{}:", quoted(outer))) => Made::Object,
                () if put(&format!("{}:", quoted(inner))) => Made::List,
                () => Made::Nothing,
            };
            let rules = self.rules.iter().map(|rule| ("deny", rule.clone()));
            let rules =
                hooks::rules_of_tools(&self.name).into_iter().chain(rules).filter(|(_, rule)| put(&quoted(rule)));
            let rules = rules.map(|(list, rule)| (["permissions", list], Some(rule)));
            let hooks = HookEvent::ALL.iter().map(|event| (["hooks", event.name()], None));
            let element = |(list, rule): ([&str; 2], Option<String>)| AddedElement {
                list: list.map(str::to_owned),
                rule,
                made: made(list),
            };
            self.added = Some(rules.chain(hooks).map(element).collect());
        }
        self
    }
}

impl Receipt {
    /// The objects around an entry, from the outside.
    fn around(&self) -> Option<impl Iterator<Item = &str>> {
        Some(self.under.as_ref()?.iter().map(String::as_str).chain([SERVERS]))
    }

    /// Lists of settings that were made for another server go with this one, if they are empty then.
    fn take_over_lists(&mut self, other: &Self) {
        let (Some(ours), Some(theirs)) = (&mut self.added, &other.added) else { return };
        let made = theirs.iter().filter(|added| added.made > Made::Nothing);
        ours.extend(made.map(|added| AddedElement { list: added.list.clone(), rule: None, made: added.made }));
    }

    /// Objects that were made for another entry and that hold this one as well were made for this one.
    fn take_over_objects(&mut self, other: &Self) {
        let (Some(ours), Some(theirs)) = (self.around(), other.around()) else { return };
        let shared = ours.zip(theirs).take_while(|(one, other)| one == other).count();
        let depth = |receipt: &Self| receipt.under.as_ref().map_or(0, |under| under.len() + 1);
        let first_made = depth(other) - other.made_around.min(depth(other));
        if first_made < shared {
            self.made_around = self.made_around.max(depth(self) - first_made);
        }
    }
}

/// All receipts of this home.
pub(crate) struct Receipts {
    file: UserFile,
    list: Vec<Receipt>,
}

impl Receipts {
    pub(crate) fn load(paths: &Paths) -> anyhow::Result<Self> {
        let file = UserFile::read(&paths.state_dir.join("installed.json"))?;
        let list = match &file.text {
            Some(text) => serde_json::from_str::<Vec<Receipt>>(text).map_err(|error| {
                let what = format!("reading what was installed from {}: {error}", file.path.display());
                Failure::new(
                    what,
                    format!("remove {}; `uninstall` then takes out the entry alone", file.path.display()),
                )
            })?,
            None => vec![],
        };
        let list = list.into_iter().map(Receipt::renewed).collect();
        Ok(Self { file, list })
    }

    /// `under` is None for settings.
    pub(crate) fn find(&self, file: &Path, name: &str, under: Option<&[String]>) -> Option<&Receipt> {
        self.list.get(self.place(file, name, under)?)
    }

    /// One that says where the entry is comes before one of release 0.1, which does not.
    fn place(&self, file: &Path, name: &str, under: Option<&[String]>) -> Option<usize> {
        let position = |under: Option<&[String]>| {
            let is_it =
                |receipt: &Receipt| receipt.file == file && receipt.name == name && receipt.under.as_deref() == under;
            self.list.iter().position(is_it)
        };
        position(under).or_else(|| position(None))
    }

    /// The objects around each entry of this name in a file.
    pub(crate) fn unders_in(&self, file: &Path, name: &str) -> Vec<Vec<String>> {
        let there = self.list.iter().filter(|receipt| receipt.file == file && receipt.name == name);
        there.filter_map(|receipt| receipt.under.clone()).collect()
    }

    pub(crate) fn keep(mut self, receipt: Receipt) -> anyhow::Result<()> {
        if let Some(place) = self.place(&receipt.file, &receipt.name, receipt.under.as_deref()) {
            self.list.remove(place);
        }
        self.list.push(receipt);
        self.save()
    }

    pub(crate) fn forget(mut self, file: &Path, name: &str, under: Option<&[String]>) -> anyhow::Result<()> {
        let Some(place) = self.place(file, name, under) else { return Ok(()) };
        let forgotten = self.list.remove(place);
        // What was made for this one goes with the last that is in it: the file, and the objects that both are in.
        for other in self.list.iter_mut().filter(|other| other.file == file) {
            other.made_file |= forgotten.made_file;
            other.take_over_objects(&forgotten);
            other.take_over_lists(&forgotten);
        }
        if self.list.is_empty() {
            return self.file.remove().map(drop);
        }
        self.save()
    }

    fn save(&self) -> anyhow::Result<()> {
        let text = format!("{}\n", serde_json::to_string_pretty(&self.list)?);
        self.file.write(&text, Audience::OwnerAlone).map(drop)
    }
}
