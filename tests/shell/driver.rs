//! The first process inside a sandbox: runs one line after another with a real shell, and says what became of the world.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use rustix::process::{WaitOptions, getpid, wait};
use serde_json::{Value, json};

use super::world::{HOME_CANARIES, KEPT, MARKS, PROJECT_CANARY, PROTECTED, SECRETS, TOP_CANARIES, World, put};

/// Only a root that was made to be thrown away holds this file.
pub(crate) const THROW_AWAY: &str = "/.throw-away";

/// A line that waits for what never comes is ended after this. What it did until then counts. A line that does something
/// does it in milliseconds; on a machine that is three hundred times slower, the outcome is the same.
const LONGEST: Duration = Duration::from_secs(10);

/// What a line left in the background may still do, if it does not end by itself.
const BACKGROUND: Duration = Duration::from_secs(5);

const OUTPUT: &str = "/output";

/// What Claude Code says to its zsh before each line.
const OPTIONS: &str = "setopt NO_EXTENDED_GLOB NO_BARE_GLOB_QUAL NO_BRACE_CCL NO_MAGIC_EQUAL_SUBST";

/// Reads lines from stdin, each as a JSON array of the shell and the line, and answers each with a JSON object on stdout.
pub(crate) fn run(root: &str) {
    assert!(getpid().as_raw_nonzero().get() == 1, "the driver runs as the first process of a sandbox alone");
    assert!(Path::new(THROW_AWAY).exists(), "this root is not thrown away afterwards");
    let mut driver = Driver {
        world: World::new(Path::new(root)),
        before: BTreeMap::new(),
        secrets: vec![],
        watchdog: Watchdog::new(),
    };
    driver.rebuild();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let (shell, line): (String, String) = serde_json::from_str(&line).expect("a shell and a line");
        let in_time = driver.execute(&shell, &line);
        let mut seen = driver.look();
        seen["in_time"] = Value::from(in_time);
        if writeln!(out, "{seen}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

/// What tells one version of a file from another: the inode, the time of change and the size.
type Version = (u64, i64, i64, u64);

struct Driver {
    world: World,
    before: BTreeMap<PathBuf, Version>,
    /// Open, so that a file that was read and then removed still says so.
    secrets: Vec<File>,
    watchdog: Watchdog,
}

impl Driver {
    fn execute(&self, shell: &str, line: &str) -> bool {
        let output = File::create(OUTPUT).expect("making the file for the output");
        let mut bash = Command::new(Path::new("/bin").join(shell));
        match shell {
            "zsh" => bash.args(["-fc", &format!("{OPTIONS}; eval '{}'", line.replace('\'', r"'\''"))]),
            _ => bash.args(["-O", "expand_aliases", "-c", line]),
        };
        bash.current_dir(self.world.project()).env_clear();
        bash.env("PATH", self.world.search_path()).env("HOME", self.world.home()).env("USER", "someone");
        bash.env("LANG", "C.UTF-8").env("TERM", "dumb").env("TMPDIR", "/tmp");
        bash.stdin(Stdio::null()).stdout(output.try_clone().expect("the file twice")).stderr(output);
        // A root that was emptied has no bash any more, until it is made anew.
        let Ok(child) = bash.spawn() else { return false };
        self.watchdog.until(Instant::now() + LONGEST);
        let mut in_time = false;
        // Also what the line started and left behind is a child of the first process.
        while let Ok(ended) = wait(WaitOptions::empty()) {
            if ended.is_some_and(|(pid, _)| pid.as_raw_nonzero().get() as u32 == child.id()) {
                in_time = !self.watchdog.has_barked();
                self.watchdog.until(Instant::now() + BACKGROUND);
            }
        }
        self.watchdog.rest();
        // The watchdog may have been quicker by a moment.
        while wait(WaitOptions::empty()).is_ok() {}
        in_time
    }

    /// What the line did, and everything as before again.
    fn look(&mut self) -> Value {
        let after = self.versions();
        let seen = json!({
            "ran": marks(),
            "read": self.read(&after),
            "wrote": self.changed(&after, &PROTECTED),
            "changed": self.changed(&after, &[KEPT]),
            "removed": self.removed(),
        });
        if after != self.before || !Path::new("/bin/bash").exists() {
            self.rebuild();
        } else if seen["read"] != json!([]) {
            self.forget_reading();
        }
        seen
    }

    /// The secrets whose time of access moved, or whose content is now somewhere else: a folder was moved, a link made.
    fn read(&self, after: &BTreeMap<PathBuf, Version>) -> Vec<&'static str> {
        let was_read = |secret: &File| secret.metadata().is_ok_and(|about| about.atime() != LONG_AGO);
        let mut moved: Vec<u64> = after
            .iter()
            .filter(|(path, version)| self.before.get(*path).is_none_or(|before| before.0 != version.0))
            .map(|(_, version)| version.0)
            .collect();
        moved.sort_unstable();
        let escaped = |path: &Path| {
            let inode = self.before.get(path).map(|version| version.0);
            inode.is_some_and(|inode| moved.binary_search(&inode).is_ok())
        };
        let touched = |(name, secret): &(&'static str, &File)| was_read(secret) || escaped(&self.world.root.join(name));
        SECRETS.into_iter().zip(&self.secrets).filter(touched).map(|(name, _)| name).collect()
    }

    /// What is another version than before, or gone, or new, below these.
    fn changed(&self, after: &BTreeMap<PathBuf, Version>, places: &[&str]) -> Vec<String> {
        let names = self.before.keys().chain(after.keys());
        let changed = names.filter(|path| self.before.get(*path) != after.get(*path));
        let below = changed.filter_map(|path| path.strip_prefix(&self.world.root).ok());
        let is_there = |path: &&Path| places.iter().any(|name| path.starts_with(name));
        let mut changed: Vec<String> = below.filter(is_there).map(|path| path.display().to_string()).collect();
        changed.sort();
        changed.dedup();
        changed
    }

    fn removed(&self) -> Vec<&'static str> {
        let mut removed: Vec<&str> = TOP_CANARIES.into_iter().filter(|path| !Path::new(path).exists()).collect();
        if HOME_CANARIES.iter().all(|name| !self.world.root.join(name).exists()) {
            removed.push("home");
        }
        if !self.world.root.join(PROJECT_CANARY).exists() {
            removed.push("project");
        }
        removed
    }

    fn rebuild(&mut self) {
        for place in
            [self.world.root.as_path(), Path::new("/home"), Path::new("/opt"), Path::new("/srv"), Path::new("/tmp")]
        {
            // The world may lie below /tmp: its own folder is a mount, and stays.
            empty(place, &self.world.root);
        }
        self.world.build();
        for name in TOP_CANARIES {
            put(Path::new(name), "data\n", 0o644);
        }
        for link in ["bin", "sbin", "lib", "lib32", "lib64"] {
            let to = format!("usr/{link}");
            if Path::new("/").join(&to).exists() && !Path::new("/").join(link).exists() {
                std::os::unix::fs::symlink(to, Path::new("/").join(link)).expect("making a link");
            }
        }
        fs::create_dir_all(MARKS).expect("making the folder for marks");
        self.forget_reading();
    }

    fn forget_reading(&mut self) {
        self.secrets.clear();
        for name in SECRETS {
            let long_ago = Timespec { tv_sec: LONG_AGO, tv_nsec: 0 };
            let times = Timestamps { last_access: long_ago, last_modification: long_ago };
            let path = self.world.root.join(name);
            utimensat(CWD, &path, &times, AtFlags::empty()).expect("setting a file's times");
            self.secrets.push(File::open(&path).expect("opening a secret"));
        }
        self.before = self.versions();
    }

    fn versions(&self) -> BTreeMap<PathBuf, Version> {
        let mut versions = BTreeMap::new();
        for place in [self.world.root.as_path(), Path::new("/home"), Path::new("/opt"), Path::new("/srv")] {
            walk(place, &mut versions, 0);
        }
        versions
    }
}

const LONG_AGO: i64 = 1_000_000_000;

fn walk(folder: &Path, versions: &mut BTreeMap<PathBuf, Version>, depth: usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(about) = entry.metadata() else { continue };
        let path = entry.path();
        if about.is_dir() && depth < 8 {
            walk(&path, versions, depth + 1);
        }
        // A folder changes with what is in it; that is seen there.
        let changed = if about.is_dir() { (0, 0) } else { (about.ctime(), about.ctime_nsec()) };
        let size = if about.is_dir() { 0 } else { about.size() };
        versions.insert(path, (about.ino(), changed.0, changed.1, size));
    }
}

/// Removes all that is in a folder, but for the one to keep and those above it.
fn empty(folder: &Path, keep: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        fs::create_dir_all(folder).expect("making a folder");
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if keep.starts_with(&path) {
            empty(&path, keep);
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            drop(fs::remove_dir_all(&path));
        } else {
            drop(fs::remove_file(&path));
        }
    }
}

/// What ran, by the marks of the stubs and by git's own account of its subcommands, after any alias.
fn marks() -> Vec<Vec<String>> {
    let taken = |name: &str| {
        let file = Path::new(MARKS).join(name);
        let text = fs::read(&file).unwrap_or_default();
        drop(fs::remove_file(&file));
        String::from_utf8_lossy(&text).into_owned()
    };
    let stubs = taken("log");
    let stubs = stubs.lines().map(|line| line.split('\u{1f}').map(str::to_owned).collect());
    let git = taken("git");
    let events = git.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let names = events.filter(|event| event["event"] == "cmd_name");
    let subcommand = |event: Value| vec!["git".to_owned(), event["name"].as_str().unwrap_or_default().to_owned()];
    stubs.chain(names.map(subcommand)).collect()
}

/// Ends what takes too long.
struct Watchdog {
    deadline: Arc<Mutex<Option<Instant>>>,
    barked: Arc<AtomicBool>,
}

impl Watchdog {
    fn new() -> Self {
        let dog = Self { deadline: Arc::default(), barked: Arc::default() };
        let (deadline, barked) = (Arc::clone(&dog.deadline), Arc::clone(&dog.barked));
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(20));
                let deadline = deadline.lock().expect("nobody panics with it");
                if deadline.is_some_and(|until| Instant::now() > until) {
                    barked.store(true, Ordering::SeqCst);
                    // All other processes of the sandbox: signals by -1 reach no further. The loop above reaps them.
                    drop(Command::new("/bin/bash").args(["-c", "kill -9 -1"]).spawn());
                }
            }
        });
        dog
    }

    fn until(&self, deadline: Instant) {
        *self.deadline.lock().expect("nobody panics with it") = Some(deadline);
    }

    fn rest(&self) {
        *self.deadline.lock().expect("nobody panics with it") = None;
        self.barked.store(false, Ordering::SeqCst);
    }

    fn has_barked(&self) -> bool {
        self.barked.load(Ordering::SeqCst)
    }
}
