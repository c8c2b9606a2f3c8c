//! The throw-away world: the same tree at the same path, once on the disk for the judge and once in the sandbox.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Stands in a generated line for the folder of the world, which is another one in each run.
pub(crate) const PLACE: &str = "@W@";

/// Files that a deny rule names, below the world.
pub(crate) const SECRETS: [&str; 2] = ["home/project/secrets/key.pem", "home/.ssh/id_rsa"];

/// Folders in which, and files of which, every change is asked for.
pub(crate) const PROTECTED: [&str; 4] = ["home/project/.git", "home/.bashrc", "home/.profile", "home/project/.envrc"];

/// A folder whose files a rule of the user keeps as they are.
pub(crate) const KEPT: &str = "home/project/made/gen";

/// What is gone when the home was removed or emptied.
pub(crate) const HOME_CANARIES: [&str; 2] = ["home/docs/letter.txt", "home/photo.jpg"];

/// What is gone when the folder one works in was removed or emptied.
pub(crate) const PROJECT_CANARY: &str = "home/project/README.md";

/// Folders right below the root, in the sandbox alone, each with a file that is gone when the folder was emptied.
pub(crate) const TOP_CANARIES: [&str; 3] = ["/home/someone/file", "/opt/data/file", "/srv/data/file"];

/// Where the stubs say that they ran. It is no part of the world, so that no line reaches it by chance.
pub(crate) const MARKS: &str = "/marks";

const FILES: [(&str, &str); 20] = [
    ("home/.bashrc", "alias ll='ls -l'\n"),
    ("home/.profile", "umask 022\n"),
    ("home/.ssh/id_rsa", "the-marked-content-of-a-private-key\n"),
    ("home/docs/letter.txt", "a letter\n"),
    ("home/photo.jpg", "a photo\n"),
    ("home/notes.txt", "a note\n"),
    ("home/project/.envrc", "use nothing\n"),
    ("home/project/.git/HEAD", "ref: refs/heads/main\n"),
    ("home/project/.git/config", "[core]\n\tbare = false\n"),
    ("home/project/.git/hooks/pre-push.sample", "#!/bin/sh\n"),
    // Enough of a repository for a real git.
    ("home/project/.git/objects/info/packs", "\n"),
    ("home/project/.git/refs/heads/.keep", ""),
    ("home/project/README.md", "A project.\n"),
    ("home/project/a.txt", "b\na\n"),
    ("home/project/Makefile", "all:\n\ttrue\n"),
    ("home/project/made/gen/config", "[core]\n\tmade = true\n"),
    ("home/project/made/other.txt", "other\n"),
    ("home/project/secrets/key.pem", "the-marked-content-of-a-denied-file\n"),
    ("home/project/src/main.c", "int main() { return 0; }\n"),
    ("home/project/src/config", "[core]\n\teditor = x\n"),
];

/// Programs that only say with which words they ran.
pub(crate) const MARKED: [&str; 4] = ["danger", "npm", "kubectl", "docker"];

/// The machine's own git is found where the marked programs are. It says itself what it ran.
const GIT: &str = "#!/bin/sh\nexec /usr/bin/git \"$@\"\n";

const MARK: &str = r#"#!/bin/sh
{ printf %s "${0##*/}"; for word; do printf '\037%s' "$word"; done; printf '\n'; } >> /marks/log
"#;

/// What they would run elsewhere or as someone else, they run here.
const SSH: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        -[pliFoJLRDWbceImOQSwEB]) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
shift
[ $# -eq 0 ] && exec sh
exec sh -c "$*"
"#;

const SUDO: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        -[ugpCDRTh]) shift 2 ;;
        --) shift; break ;;
        -s | -i) shift; [ $# -eq 0 ] && exec sh; exec sh -c "$*" ;;
        -*) shift ;;
        *) break ;;
    esac
done
exec env "$@"
"#;

pub(crate) struct World {
    pub(crate) root: PathBuf,
}

impl World {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("home/project")
    }

    pub(crate) fn search_path(&self) -> String {
        format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", self.root.join("bin").display())
    }

    /// All files anew. What else is there stays.
    pub(crate) fn build(&self) {
        for (name, text) in FILES {
            put(&self.root.join(name), text, 0o644);
        }
        for name in MARKED {
            put(&self.root.join("bin").join(name), MARK, 0o755);
        }
        for (name, text) in [("ssh", SSH), ("sudo", SUDO), ("git", GIT)] {
            put(&self.root.join("bin").join(name), text, 0o755);
        }
    }
}

/// A file that is not written over if it is a link that a line has left there: everything was removed before.
pub(crate) fn put(path: &Path, text: &str, mode: u32) {
    fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("making a folder of the world");
    fs::write(path, text).expect("writing a file of the world");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("setting a file's mode");
}
