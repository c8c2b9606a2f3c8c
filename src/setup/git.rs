//! What git knows of the files that are changed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::file::Audience;

/// Whether others get a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracking {
    Tracked,
    Ignored,
    /// `git add` would take it.
    Untracked,
    /// It lies in no repository, or there is no git.
    Outside,
}

impl Tracking {
    pub(crate) fn of(file: &Path) -> Self {
        let Some(folder) = file.ancestors().skip(1).find(|folder| folder.is_dir()) else { return Self::Outside };
        let says_yes = |words: &[&str]| {
            let mut git = Command::new("git");
            // A repository may name programs that git is to run.
            git.arg("-C").arg(folder).args(["-c", "core.fsmonitor=false"]).args(words).arg(file);
            git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|ran| ran.success())
        };
        match () {
            () if repository(folder).is_none() => Self::Outside,
            () if says_yes(&["ls-files", "--error-unmatch", "--"]) => Self::Tracked,
            () if says_yes(&["check-ignore", "--quiet", "--"]) => Self::Ignored,
            () => Self::Untracked,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tracked => "tracked",
            Self::Ignored => "ignored",
            Self::Untracked => "untracked",
            Self::Outside => "outside",
        }
    }

    /// For people; nothing where git has no part in it.
    pub(crate) fn in_words(self, audience: Audience) -> &'static str {
        match (self, audience) {
            (Self::Tracked, _) => "tracked by git: others get it",
            (Self::Ignored, Audience::OwnerAlone) => "ignored by git",
            (Self::Ignored, Audience::Everyone) => "ignored by git: others do not get it",
            (Self::Untracked, Audience::OwnerAlone) => {
                "not tracked by git, and not ignored (a line in .git/info/exclude keeps it yours alone)"
            }
            (Self::Untracked, Audience::Everyone) => "not tracked by git yet: others get it once you commit it",
            (Self::Outside, _) => "",
        }
    }
}

/// The folder under which Claude Code keeps what is for you alone in this project: that of the repository, and for a
/// worktree that of the repository it belongs to (seen with 2.1.325).
pub(crate) fn home_of_project(folder: &Path) -> PathBuf {
    repository(folder).unwrap_or_else(|| folder.to_owned())
}

fn repository(folder: &Path) -> Option<PathBuf> {
    let root = folder.ancestors().find(|above| above.join(".git").exists())?;
    let Ok(pointer) = std::fs::read_to_string(root.join(".git")) else { return Some(root.to_owned()) };
    let of_worktree = pointer.trim().strip_prefix("gitdir: ").and_then(|gitdir| {
        let folder = root.join(gitdir);
        let git = folder
            .ancestors()
            .nth(2)
            .filter(|git| git.ends_with(".git") && folder.parent() == Some(&git.join("worktrees")))?;
        git.parent().map(Path::to_owned)
    });
    Some(of_worktree.unwrap_or_else(|| root.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subfolder_and_a_worktree_belong_to_their_repository() {
        let place = tempfile::tempdir().unwrap();
        let (main, tree, alone) = (place.path().join("main"), place.path().join("tree"), place.path().join("alone"));
        for folder in [main.join(".git/worktrees/tree"), main.join("sub"), tree.clone(), alone.clone()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let pointer = format!("gitdir: {}\n", main.join(".git/worktrees/tree").display());
        std::fs::write(tree.join(".git"), pointer).unwrap();
        assert_eq!(home_of_project(&main.join("sub")), main);
        assert_eq!(home_of_project(&tree), main);
        assert_eq!(home_of_project(&alone), alone);
        std::fs::write(tree.join(".git"), "gitdir: ../main/.git/modules/tree\n").unwrap();
        assert_eq!(home_of_project(&tree), tree, "a submodule is a project of its own");
    }
}
