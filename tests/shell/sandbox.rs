//! Sandboxes from the outside: a root of copied programs, and a driver in namespaces of its own.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use tempfile::TempDir;

use super::world::World;

/// Programs that lines use. One that the machine has not got makes its lines do nothing, which is seen and counted.
const PROGRAMS: &str = "bash sh dash zsh fish env cat tac rev head tail nl sort uniq cut paste tr fold fmt od hexdump xxd base32 base64 \
    md5sum sha256sum cksum sum wc comm diff cmp join split csplit tee dd cp mv rm rmdir ln mkdir mkfifo touch truncate \
    install chmod stat ls find xargs grep egrep fgrep sed awk mawk perl ed ex vim vi view vimdiff openssl curl wget tar gzip gunzip \
    zcat bzip2 xz zip unzip cpio ar strings file less more column pr expand unexpand iconv shuf tsort ptx numfmt \
    flock nice nohup timeout stdbuf setsid ionice taskset chrt prlimit setpriv unshare nsenter script time strace ltrace \
    chroot runuser su watch true false echo printf test expr sleep seq yes kill date basename dirname realpath readlink \
    make jq yq sqlite3 rsync scp sftp busybox tclsh m4 bc dc patch printenv id hostname mktemp getopt pidof \
    run-parts start-stop-daemon parallel coreutils lua ruby php gawk nc ncat socat python3 logger look rename sponge xmllint git";

/// What git starts that is no part of its own file.
const GIT_HELPERS: [&str; 7] = [
    "git-sh-setup",
    "git-sh-i18n",
    "git-remote-ext",
    "git-difftool--helper",
    "git-mergetool--lib",
    "git-push",
    "git-upload-pack",
];

/// git says in its own file, which no line can change, which subcommand really ran, whatever it was called.
const GIT_CONFIG: &str = "[trace2]\n\teventTarget = /marks/git\n[user]\n\tname = someone\n\temail = someone@here\n";

/// What a line did.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Seen {
    /// The words of every marked program that ran.
    pub(crate) ran: Vec<Vec<String>>,
    pub(crate) read: Vec<String>,
    pub(crate) wrote: Vec<String>,
    pub(crate) changed: Vec<String>,
    pub(crate) removed: Vec<String>,
    pub(crate) in_time: bool,
    /// It ended its sandbox, and nobody knows what else it did.
    #[serde(default)]
    pub(crate) has_ended_it: bool,
}

/// What all sandboxes of a run share.
pub(crate) struct Prepared {
    folder: TempDir,
    driver: PathBuf,
    pub(crate) world: World,
    _world: TempDir,
}

impl Prepared {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("pcs").tempdir().expect("making a folder for the sandbox");
        let place = tempfile::Builder::new().prefix("pcw").tempdir().expect("making a folder for the world");
        let root = place.path().canonicalize().expect("a folder that is there");
        let world = World::new(&root);
        world.build();
        copy_programs(folder.path());
        copy_git(folder.path());
        copy_zsh(folder.path());
        let driver = std::env::current_exe().expect("this program has a file");
        copy_libraries(&driver, folder.path(), &mut BTreeSet::new());
        Self { folder, driver, world, _world: place }
    }

    /// A sandbox that has shown that it sees what lines do.
    pub(crate) fn start_proven(&self) -> Sandbox {
        let mut sandbox = self.start();
        sandbox.prove();
        sandbox
    }

    fn start(&self) -> Sandbox {
        let root =
            tempfile::Builder::new().prefix("root").tempdir_in(self.folder.path()).expect("a folder for the root");
        let mut unshare = Command::new("unshare");
        unshare.args([
            "--user",
            "--map-root-user",
            "--mount",
            "--net",
            "--pid",
            "--ipc",
            "--uts",
            "--fork",
            "--kill-child",
        ]);
        unshare.args(["bash", "-c", include_str!("sandbox.sh"), "sandbox"]);
        unshare.args([root.path(), self.folder.path(), &self.driver, &self.world.root]);
        let errors = self.folder.path().join(format!("errors-{}", root.path().file_name().expect("a name").display()));
        unshare.stdin(Stdio::piped()).stdout(Stdio::piped());
        unshare.stderr(fs::File::create(&errors).expect("making a file for errors"));
        let mut child = unshare.spawn().unwrap_or_else(|error| no_namespaces(&error.to_string()));
        let input = child.stdin.take().expect("stdin is piped");
        let output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Sandbox { child, input: Some(input), output, errors, _root: root }
    }
}

/// The check fails where it cannot look: a line that never ran proves nothing.
fn no_namespaces(why: &str) -> ! {
    let is_container = ["/.dockerenv", "/run/.containerenv"].iter().any(|file| Path::new(file).exists())
        || std::env::var_os("container").is_some()
        || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let hint = if is_container {
        "this is a container: start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
         --security-opt systempaths=unconfined (Docker; Podman says unmask=ALL for the last), or with seccompProfile \
         Unconfined and procMount Unmasked (Kubernetes), or run the check on the machine itself"
    } else {
        "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1 on Debian, \
         kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu, user.max_user_namespaces above 0 elsewhere), or run \
         the check where they are allowed"
    };
    panic!(
        "generated shell lines run in namespaces of their own (unshare of util-linux), and none can be made here: {why}\n\
         hint: {hint}"
    );
}

pub(crate) struct Sandbox {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    errors: PathBuf,
    _root: TempDir,
}

impl Sandbox {
    /// Runs one line with a shell. None when the sandbox did not survive it.
    pub(crate) fn run(&mut self, shell: &str, line: &str) -> Option<Seen> {
        let input = self.input.as_mut()?;
        writeln!(input, "{}", serde_json::json!([shell, line])).ok()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer).ok()?;
        if answer.is_empty() {
            return None;
        }
        Some(serde_json::from_str(&answer).unwrap_or_else(|error| panic!("the sandbox said {answer:?}: {error}")))
    }

    /// A line whose outcome is known, before any other is trusted.
    pub(crate) fn prove(&mut self) {
        let seen = self.run("bash", "danger a; cat secrets/key.pem; echo x > .git/config; rm -rf ~");
        let whole = seen.as_ref().is_some_and(|seen| {
            !seen.ran.is_empty() && !seen.read.is_empty() && !seen.wrote.is_empty() && !seen.removed.is_empty()
        });
        if !whole {
            let errors = fs::read_to_string(&self.errors).unwrap_or_default();
            no_namespaces(&format!("{seen:?}\n{errors}"));
        }
        let seen = self.run("bash", "true");
        let quiet = seen.as_ref().is_some_and(|seen| {
            seen.ran.is_empty() && seen.read.is_empty() && seen.wrote.is_empty() && seen.removed.is_empty()
        });
        assert!(quiet, "the sandbox is not as before after a line: {seen:?}");
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn copy_programs(into: &Path) {
    let bin = into.join("usr/bin");
    fs::create_dir_all(&bin).expect("making a folder");
    let mut copied = BTreeSet::new();
    for name in PROGRAMS.split_whitespace().chain(super::programs::names()) {
        let places =
            ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"].map(|folder| Path::new(folder).join(name));
        let Some(real) = places.iter().find_map(|path| path.canonicalize().ok()) else { continue };
        let text = fs::read(&real).unwrap_or_default();
        // A script of the machine needs what this root has not got.
        if !text.starts_with(b"\x7fELF") && !text.starts_with(b"#!/bin/sh") && !text.starts_with(b"#!/bin/bash") {
            continue;
        }
        fs::copy(&real, bin.join(name)).expect("copying a program");
        copy_libraries(&real, into, &mut copied);
    }
    fs::create_dir_all(into.join("usr/sbin")).expect("making a folder");
    drop(fs::copy("/etc/ld.so.cache", into.join("ld.so.cache")));
}

/// What git needs beyond its program, where git itself says that it looks.
fn copy_git(into: &Path) {
    fs::write(into.join("gitconfig"), GIT_CONFIG).expect("writing git's configuration");
    let said = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).env_remove("GIT_CONFIG_SYSTEM").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        text.trim().strip_prefix("/usr/").map(|below| into.join("usr").join(below))
    };
    if let Some(file) = said(&["var", "GIT_CONFIG_SYSTEM"]) {
        fs::create_dir_all(file.parent().expect("a file lies in a folder")).expect("making a folder");
        fs::write(file, GIT_CONFIG).expect("writing git's configuration");
    }
    let Some(folder) = said(&["--exec-path"]) else { return };
    fs::create_dir_all(&folder).expect("making a folder");
    let from = Path::new("/").join(folder.strip_prefix(into).expect("it lies there"));
    for name in GIT_HELPERS {
        // Another release of git may have fewer.
        drop(fs::copy(from.join(name), folder.join(name)));
        if from.join(name).exists() {
            copy_libraries(&from.join(name), into, &mut BTreeSet::new());
        }
    }
}

/// What zsh loads when it is told to, where zsh itself says that it lies.
fn copy_zsh(into: &Path) {
    let said = Command::new("zsh").args(["-fc", "print -r -- $module_path[1]"]).output();
    let Some(from) = said.ok().and_then(|said| String::from_utf8(said.stdout).ok()) else { return };
    let Some(below) = from.trim().strip_prefix("/usr/") else { return };
    let to = into.join("usr").join(below).join("zsh");
    fs::create_dir_all(&to).expect("making a folder");
    for name in ["files.so", "system.so", "mapfile.so", "stat.so", "parameter.so", "zutil.so", "zpty.so"] {
        drop(fs::copy(Path::new(from.trim()).join("zsh").join(name), to.join(name)));
    }
}

/// Libraries keep their places; where the machine has /lib apart from /usr/lib, the root has not.
fn copy_libraries(program: &Path, into: &Path, copied: &mut BTreeSet<PathBuf>) {
    let ran = Command::new("ldd").arg(program).output().expect("running ldd");
    for word in String::from_utf8_lossy(&ran.stdout).split_whitespace().filter(|word| word.starts_with('/')) {
        let from = PathBuf::from(word);
        if !copied.insert(from.clone()) {
            continue;
        }
        let below = word.strip_prefix("/usr").unwrap_or(word);
        let to = into.join("usr").join(below.trim_start_matches('/'));
        fs::create_dir_all(to.parent().expect("a library lies in a folder")).expect("making a folder");
        drop(fs::copy(&from, &to));
    }
}
