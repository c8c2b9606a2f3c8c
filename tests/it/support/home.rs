//! A home of its own for one test: every file, process and secret of it is fresh, and gone afterwards.

use super::child::{Child, Handle, Stdin};
use super::connection::Target;
use super::gate::Gate;
use super::http::Request;
use super::running::{self, Running};
use super::seen::{OrFail, PATIENCE, until};
use super::sse::Events;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// What keeps sessions from starting a gate.
const NO_AUTO_START: &str = "PORTCULLIS_TEST_NO_AUTO_START";

pub(crate) struct Home {
    /// Holds `gate`, `project` and `user`; removed when the home is.
    root: TempDir,
    /// `PORTCULLIS_HOME`.
    folder: PathBuf,
    token: String,
    /// What this home's processes are told to wait or hold instead of what is fixed in the product.
    fixed: Mutex<Vec<(&'static str, u64)>>,
    /// Everything started here, ended again when the home goes, whoever holds it then.
    started: Mutex<Vec<Handle>>,
}

/// What a command that has ended left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::with_gate_in("gate")
    }

    /// Its sessions find a gate that runs, but may not start one.
    pub(crate) fn without_auto_start() -> Self {
        let home = Self::new();
        home.fix(NO_AUTO_START, 1);
        home
    }

    /// It lies inside of the project.
    pub(crate) fn in_its_project() -> Self {
        Self::with_gate_in("project/gate")
    }

    fn with_gate_in(place: &str) -> Self {
        // A short path: a Unix socket's name has room for about a hundred bytes.
        let root = tempfile::Builder::new().prefix("pc").tempdir().expect("making a folder for the test");
        for name in ["project", "user", place] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        let folder = root.path().join(place);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        Self { root, folder, token: random_hex(32), fixed: Mutex::default(), started: Mutex::default() }
    }

    /// `PORTCULLIS_HOME`.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// Where the session works, beside the home and never above it.
    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// `HOME`.
    pub(crate) fn user(&self) -> PathBuf {
        self.root.path().join("user")
    }

    /// The owner's token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn socket(&self) -> Target {
        Target::Unix(self.folder().join("gate.sock"))
    }

    pub(crate) fn write_config(&self, text: &str) {
        fs::write(self.folder().join("config.toml"), text).unwrap();
    }

    /// The variables that make a `portcullis` use this home.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let fixed = self.fixed.lock().unwrap_or_else(PoisonError::into_inner);
        let usual = [
            // Whoever runs the tests, and inside of which agent, is nothing to what they start.
            ("PORTCULLIS_TEST_TOP_PROCESS", std::os::unix::process::parent_id().to_string()),
            ("PORTCULLIS_TEST_TESTER", std::process::id().to_string()),
            ("PORTCULLIS_HOME", self.folder().to_string_lossy().into_owned()),
            ("PORTCULLIS_LISTEN", "127.0.0.1:0".to_owned()),
            ("PORTCULLIS_TOKEN", self.token.clone()),
        ];
        usual.into_iter().chain(fixed.iter().map(|(name, value)| (*name, value.to_string()))).collect()
    }

    /// Sets a wait (in milliseconds) or a limit that is fixed in the product, for everything started from now on.
    pub(crate) fn fix(&self, variable: &'static str, value: u64) {
        self.fixed.lock().unwrap_or_else(PoisonError::into_inner).push((variable, value));
    }

    /// Any program, in the project, with an environment that has nothing of ours in it.
    pub(crate) fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment()).env("HOME", self.user()).env("RUST_BACKTRACE", "1");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(self.project());
        command
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_portcullis"));
        command.args(args);
        command
    }

    /// An entry for `--mcp-config`: the channel as a person would configure it, bound to this home.
    pub(crate) fn mcp_config(&self, server: &str, args: &[&str]) -> Value {
        let words: Vec<&str> = std::iter::once("channel").chain(args.iter().copied()).collect();
        let environment: serde_json::Map<String, Value> =
            self.environment().into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
        let program = env!("CARGO_BIN_EXE_portcullis");
        json!({ "mcpServers": { server: { "command": program, "args": words, "env": environment } } })
    }

    /// Starts it and remembers it, so that it ends with the home at the latest.
    #[track_caller]
    pub(crate) fn spawn(&self, command: Command, stdin: Stdin) -> Child {
        self.keep(Child::spawn(command, stdin))
    }

    pub(crate) fn keep(&self, child: Child) -> Child {
        self.started.lock().unwrap_or_else(PoisonError::into_inner).push(child.handle());
        child
    }

    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&self.spawn(self.command(args), Stdin::Nothing), PATIENCE)
    }

    /// A token for someone in this role, as the owner makes one.
    #[track_caller]
    pub(crate) fn token_for(&self, name: &str, role: &str) -> String {
        self.token_with(&[name, "--role", role])
    }

    #[track_caller]
    pub(crate) fn token_with(&self, args: &[&str]) -> String {
        self.run(&[&["token", "add"], args].concat()).ok().stdout.trim_end().to_owned()
    }

    #[track_caller]
    pub(crate) fn serve(&self) -> Gate {
        Gate::start(self, &[])
    }

    /// Kills the gate and starts another. Sessions that are there must not be faster: they start none.
    #[track_caller]
    pub(crate) fn restart(&self, gate: &Gate) -> Gate {
        let fixed = self.fixed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert!(fixed.iter().any(|(name, _)| *name == NO_AUTO_START), "a home for this is made by without_auto_start");
        gate.kill_9();
        self.serve()
    }

    #[track_caller]
    pub(crate) fn serve_with(&self, args: &[&str]) -> Gate {
        Gate::start(self, args)
    }

    #[track_caller]
    pub(crate) fn status(&self) -> Value {
        self.run(&["status", "--json"]).json()
    }

    /// The records of this kind in the log, oldest first.
    #[track_caller]
    pub(crate) fn records(&self, kind: &str) -> Vec<Value> {
        let lines = self.run(&["log", "--json"]).ok().json_lines();
        lines.iter().map(|line| line["record"][kind].clone()).filter(|record| !record.is_null()).collect()
    }

    /// Waits until a gate answers on the socket, whoever started it.
    #[track_caller]
    pub(crate) fn wait_for_gate(&self) {
        let answers = || Request::get("/healthz").try_send(&self.socket()).ok().filter(|answer| answer.status == 200);
        until("a gate that answers", answers);
    }

    /// Where the gate that runs now, whoever started it, listens.
    #[track_caller]
    pub(crate) fn listening(&self) -> Target {
        let status = self.status();
        let listen = status["listen"].as_str().ok_or(()).or_fail(|()| format!("no `listen` in {status}"));
        let address = listen.strip_prefix("http://").unwrap_or(listen).trim_end_matches('/');
        Target::Tcp(address.parse().or_fail(|error| format!("`listen` in {status}: {error}")))
    }

    /// Waits until this many sessions are attached to the gate that runs now, and returns them as the API tells them.
    #[track_caller]
    pub(crate) fn attached(&self, count: usize) -> Vec<Value> {
        let watch = until("a gate that answers", || Events::try_open(&self.socket(), "/api/v1/watch", &[]).ok());
        let mut sessions: BTreeMap<String, Value> = BTreeMap::new();
        let mut is_ready = false;
        loop {
            let now: Vec<Value> = sessions.values().filter(|session| session["state"] == "attached").cloned().collect();
            if is_ready && now.len() == count {
                return now;
            }
            let change: Value = serde_json::from_str(&watch.next(PATIENCE).data).unwrap();
            is_ready |= change["ready"].is_object();
            if let Some(id) = change["session"]["id"].as_str() {
                sessions.insert(id.to_owned(), change["session"].clone());
            }
        }
    }

    /// The process that says in `gate.lock` that it is the gate; a stale file may name a stranger.
    pub(crate) fn pid_in_lock(&self) -> Option<u32> {
        let text = fs::read(self.folder().join("gate.lock")).ok()?;
        let lock: Value = serde_json::from_slice(&text).ok()?;
        lock["pid"].as_u64()?.try_into().ok()
    }

    /// Kills the gate that runs now, whoever started it, and waits until it is gone.
    #[track_caller]
    pub(crate) fn kill_gate(&self, signal: Signal) {
        let gate = until("a gate", || {
            let is_gate = |process: &Running| Some(process.pid) == self.pid_in_lock();
            running::portcullis_of(&self.folder).into_iter().find(is_gate)
        });
        running::signal(&gate, signal);
        running::wait_gone(&[gate], PATIENCE);
    }

    /// Asks the gate that runs now to go, as its owner. Over the port: on the socket the parent of a session is taken
    /// for the agent, which may not.
    #[track_caller]
    pub(crate) fn stop_gate(&self) {
        Request::post("/api/v1/stop").token(&self.token).send(&self.listening()).expect(200);
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder().join("gate.log")).unwrap_or_default()
    }

    /// Everything the gate keeps on disk, by name.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(&self.folder).unwrap().filter_map(Result::ok);
        let read = |entry: fs::DirEntry| Some((entry.file_name().into_string().ok()?, fs::read(entry.path()).ok()?));
        entries.filter_map(read).collect()
    }

    fn print_log(&self) {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let skipped = lines.len().saturating_sub(200);
        eprintln!("--- gate.log, the first {skipped} lines left out");
        eprintln!("{}", lines[skipped..].join("\n"));
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        for handle in self.started.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            handle.end();
        }
        // A gate that was started by itself is nobody's child here. It is found by its home, never by name alone;
        // the pid in the lock is not enough, since it may be another process's by now.
        // Looked for twice: one that is being started at this very moment shows neither arguments nor environment.
        running::end(&running::portcullis_of(&self.folder));
        std::thread::sleep(Duration::from_millis(5));
        running::end(&running::portcullis_of(&self.folder));
        if std::thread::panicking() {
            self.print_log();
        }
    }
}

impl Ran {
    /// Waits for its end and the end of its output.
    #[track_caller]
    pub(crate) fn of(child: &Child, within: Duration) -> Self {
        let status = child.wait_exit(within);
        child.wait_output(PATIENCE);
        Self { status, stdout: child.stdout(), stderr: child.stderr() }
    }

    /// Fails with all of its output unless it succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert!(self.status.success(), "{self:#?}");
        self
    }

    /// Fails unless it ended with this code, and said on stderr why and what to do.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, why: &str) {
        let is_refused = self.status.code() == Some(code);
        assert!(is_refused && self.stderr.contains(why) && self.stderr.contains("hint: "), "{self:#?}");
    }

    /// Fails unless the command line was not understood.
    #[track_caller]
    pub(crate) fn refused_usage(&self) {
        assert_eq!(self.status.code(), Some(2), "{self:#?}");
    }

    /// Its output, a JSON value in each line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let read = |line: &str| serde_json::from_str(line).or_fail(|error| format!("no JSON ({error}): {line}"));
        self.stdout.lines().map(read).collect()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).or_fail(|error| format!("no JSON ({error}): {self:#?}"))
    }
}

/// Fresh bytes of the system, as text.
pub(crate) fn random_hex(bytes: usize) -> String {
    let mut fresh = vec![0; bytes];
    fs::File::open(Path::new("/dev/urandom")).and_then(|mut file| file.read_exact(&mut fresh)).unwrap();
    fresh.iter().map(|byte| format!("{byte:02x}")).collect()
}
