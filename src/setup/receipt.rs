//! What `install` wrote, kept so that `uninstall` can take back exactly that, to the byte.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::{Audience, UserFile};
use crate::config::Paths;
use crate::failure::Failure;

/// One entry in one file.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// Without links.
    pub(crate) file: PathBuf,
    pub(crate) name: String,
    /// There was no such file before.
    pub(crate) made_file: bool,
    /// There was no `mcpServers` before.
    pub(crate) made_servers: bool,
    /// How the text was changed, where nothing of the user's was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) patch: Option<Patch>,
    /// How hooks were put in, place by place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) patches: Vec<Patch>,
    /// Rules that went with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) rules: Vec<String>,
}

impl Receipt {
    pub(crate) fn new(file: &Path, name: &str) -> Self {
        let (file, name) = (file.to_owned(), name.to_owned());
        Self { file, name, made_file: false, made_servers: false, patch: None, patches: vec![], rules: vec![] }
    }
}

/// One place in a text, before and after.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Patch {
    pub(crate) put: String,
    /// Blank space or nothing.
    pub(crate) instead_of: String,
}

impl Patch {
    /// None when more than blank space had to go: what belongs to the user is not kept here.
    pub(crate) fn between(before: &str, after: &str) -> Option<Self> {
        let (start, end) = common_ends(before, after);
        let instead_of = &before[start..before.len() - end];
        let put = &after[start..after.len() - end];
        instead_of.trim().is_empty().then(|| Self { put: put.to_owned(), instead_of: instead_of.to_owned() })
    }

    /// The text as it was, when what was put in is still there as it was put, once.
    pub(crate) fn undo(&self, text: &str) -> Option<String> {
        let at = text.find(&self.put).filter(|at| text.rfind(&self.put) == Some(*at))?;
        Some([&text[..at], &self.instead_of, &text[at + self.put.len()..]].concat())
    }
}

/// How many bytes two texts have in common at their starts, and then at their ends.
pub(crate) fn common_ends(one: &str, other: &str) -> (usize, usize) {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other);
    let start: usize = same.map(|(letter, _)| letter.len_utf8()).sum();
    let same = one[start..].chars().rev().zip(other[start..].chars().rev()).take_while(|(one, other)| one == other);
    let end = same.map(|(letter, _)| letter.len_utf8()).sum();
    (start, end)
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
            Some(text) => serde_json::from_str(text).map_err(|error| {
                let what = format!("reading what was installed from {}: {error}", file.path.display());
                Failure::new(
                    what,
                    format!("remove {}; `uninstall` then takes out the entry alone", file.path.display()),
                )
            })?,
            None => vec![],
        };
        Ok(Self { file, list })
    }

    pub(crate) fn find(&self, file: &Path, name: &str) -> Option<&Receipt> {
        self.list.iter().find(|receipt| receipt.file == file && receipt.name == name)
    }

    pub(crate) fn keep(mut self, receipt: Receipt) -> anyhow::Result<()> {
        self.list.retain(|other| (&other.file, &other.name) != (&receipt.file, &receipt.name));
        self.list.push(receipt);
        self.save()
    }

    pub(crate) fn forget(mut self, file: &Path, name: &str) -> anyhow::Result<()> {
        let before = self.list.len();
        self.list.retain(|receipt| (receipt.file.as_path(), receipt.name.as_str()) != (file, name));
        if self.list.len() == before {
            return Ok(());
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_was_put_in_is_found_again_although_the_rest_has_changed() {
        let patch = Patch::between("{\n}", "{\n  \"a\": 1\n}").unwrap();
        assert_eq!(patch, Patch { put: "  \"a\": 1\n".into(), instead_of: String::new() });
        assert_eq!(patch.undo("{\n  \"a\": 1\n}\n// mine").unwrap(), "{\n}\n// mine");
        assert_eq!(patch.undo("{\n  \"a\": 2\n}"), None);
        assert_eq!(patch.undo("{  \"a\": 1\n  \"a\": 1\n}"), None, "which of the two?");
    }

    #[test]
    fn what_belongs_to_the_user_is_not_kept() {
        assert_eq!(Patch::between("{\"x\": \"secret\"}", "{\"x\": 1}"), None);
    }

    proptest! {
        #[test]
        fn any_addition_can_be_undone(start in "[a-cä\n ]{0,6}", put in "[a-cä\n ]{1,6}", end in "[a-cä\n ]{0,6}") {
            let (before, after) = ([start.as_str(), &end].concat(), [start.as_str(), &put, &end].concat());
            let patch = Patch::between(&before, &after).unwrap();
            if let Some(undone) = patch.undo(&after) {
                prop_assert_eq!(undone, before);
            }
        }
    }
}
