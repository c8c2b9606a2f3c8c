//! Where git puts the files of a version: the work tree that it is told, and the folders that its words name.

use super::command::name_of;
use super::git::GitLine;
use super::inert::started;
use crate::policy::shell::ShellWord;
use crate::policy::words::options;

/// Subcommands that put nothing into the work tree: they read it, or handle what git keeps. What they remove, and what
/// their words name, is looked at as with any program.
const KEEPING_OUT: &str = "add annotate archive blame branch bugreport bundle cat-file check-attr check-ignore \
    check-mailmap check-ref-format cherry clean commit commit-graph commit-tree config count-objects credential describe \
    diagnose diff diff-files diff-index diff-tree fast-export fast-import fetch fetch-pack fmt-merge-msg for-each-ref \
    format-patch fsck gc get-tar-commit-id grep gui hash-object help init init-db interpret-trailers log ls-files ls-remote \
    ls-tree maintenance merge-base merge-tree mktag mktree multi-pack-index name-rev notes pack-objects pack-refs patch-id \
    prune prune-packed push range-diff reflog refs remote repack replace request-pull rerere rev-list rev-parse rm \
    send-email shortlog show show-branch show-index show-ref stage status stripspace symbolic-ref tag update-index update-ref \
    update-server-info var verify-commit verify-pack verify-tag version whatchanged write-tree";

/// The folders into which a command puts files that git keeps, and whose names the line does not say.
#[derive(Debug, Default)]
pub(crate) struct GitPlaces {
    /// Folders that it goes to one after the other, each seen from the one before.
    pub(crate) goes_to: Vec<ShellWord>,
    /// Where it puts files in the folder in which it is then: that folder itself.
    pub(crate) fills_tree: bool,
    /// Other folders, seen from there.
    pub(crate) named: Vec<ShellWord>,
}

impl GitPlaces {
    /// `takes_more`: more words come from elsewhere. None where it puts no files anywhere.
    pub(crate) fn of(words: &[ShellWord], takes_more: bool) -> Option<Self> {
        let (first, rest) = started(words).split_first()?;
        match name_of(&first.text) {
            "git" => Self::of_git(rest, takes_more),
            "gh" | "hg" | "svn" | "jj" => {
                let loads = ["clone", "checkout", "co", "export"];
                let at = rest.iter().take(3).position(|word| loads.contains(&word.text.as_str()))?;
                Some(Self { named: operands(&rest[at + 1..]), ..Self::default() })
            }
            _ => None,
        }
    }

    fn of_git(rest: &[ShellWord], takes_more: bool) -> Option<Self> {
        let mut places = Self::default();
        let mut words = rest;
        // What stands before the subcommand, whether all of it is known or not.
        let words = loop {
            words = match words {
                [flag, folder, more @ ..] if flag.text == "-C" => {
                    places.goes_to.push(folder.clone());
                    more
                }
                [flag, folder, more @ ..] if flag.text == "--work-tree" => {
                    places.named.push(folder.clone());
                    more
                }
                [flag, _, more @ ..] if takes_a_value(&flag.text) => more,
                [flag, more @ ..] if flag.is_flag() => {
                    let folder = flag.text.strip_prefix("--work-tree=").map(ShellWord::read);
                    places.named.extend(folder);
                    more
                }
                words => break words,
            };
        };
        let Some((sub, words)) = words.split_first() else {
            places.fills_tree = true;
            return takes_more.then_some(places);
        };
        let is_own = GitLine::read(rest).is_some_and(|line| line.is_own());
        match sub.text.as_str() {
            "clone" | "worktree" if is_own => places = Self { named: operands(words), ..places.without_tree() },
            name if is_own && KEEPING_OUT.split_whitespace().any(|one| one == name) => return None,
            "checkout-index" => {
                places.fills_tree = true;
                places.named.extend(prefixes(words).iter().filter_map(|prefix| folder_of(prefix)));
            }
            _ => {
                places.fills_tree = true;
                // It may be another name for a clone.
                places.named.extend(operands(words).into_iter().filter(|_| !is_own));
            }
        }
        Some(places)
    }

    /// What is made has a place of its own.
    fn without_tree(self) -> Self {
        Self { goes_to: self.goes_to, ..Self::default() }
    }
}

fn takes_a_value(flag: &str) -> bool {
    matches!(flag, "-c" | "--config-env" | "--git-dir" | "--namespace" | "--super-prefix" | "--attr-source")
}

fn operands(words: &[ShellWord]) -> Vec<ShellWord> {
    words.iter().filter(|word| !word.is_flag()).cloned().collect()
}

/// What `--prefix` puts before each name: `--prefix=../x/` and `--prefix ../x/a`.
pub(crate) fn prefixes(words: &[ShellWord]) -> Vec<String> {
    let said = words.iter().enumerate().filter_map(|(at, word)| match options::value(&word.text, "", &["--prefix"])? {
        "" => words.get(at + 1).map(|word| word.text.clone()),
        value => Some(value.to_owned()),
    });
    said.collect()
}

/// The folder in which names lie that begin so, where it is another one.
pub(crate) fn folder_of(prefix: &str) -> Option<ShellWord> {
    prefix.rfind('/').map(|end| ShellWord::read(&prefix[..=end]))
}
