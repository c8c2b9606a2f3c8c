//! The real Claude Code CLI as a person has it: interactive, in a terminal of tmux, with hooks installed and no channel.

use super::claude::Claude;
use super::home::Home;
use super::seen::PATIENCE;
use crate::fakes::model::Model;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Everything that is waited for here takes longer than elsewhere: it is a third of a gigabyte to load.
const LONG: Duration = Duration::from_secs(60);
/// The CLI takes no key for a second after a dialog has opened, so a key is pressed again when nothing came of it.
const BETWEEN_KEYS: Duration = Duration::from_millis(1200);
const LOOK: Duration = Duration::from_millis(30);
/// Columns and rows of a terminal where nothing depends on them.
const SIZE: (u16, u16) = (170, 50);

pub(crate) struct Interactive {
    tmux: Tmux,
}

impl Interactive {
    /// `portcullis install --hooks` in the project, then `claude` there, ready for a prompt.
    #[track_caller]
    pub(crate) fn start(home: &Home, model: &Model, args: &[&str]) -> Self {
        install(home, &[]);
        Self::start_as_it_is(home, model, args)
    }

    /// With whatever is installed.
    #[track_caller]
    pub(crate) fn start_as_it_is(home: &Home, model: &Model, args: &[&str]) -> Self {
        settle_in(home);
        let claude = Claude::command(home, model);
        let mut command = home.program("tmux");
        command.envs(claude.get_envs().filter_map(|(name, value)| Some((name, value?))));
        // As root it refuses to bypass permissions otherwise.
        command.env("IS_SANDBOX", "1");
        command.env_remove("PORTCULLIS_TOKEN").env("LANG", "C.UTF-8").env("TERM", "xterm-256color");
        let log = home.user().join("claude-debug.log");
        let mut words = vec![claude.get_program().to_string_lossy().into_owned()];
        words.extend(["--debug-file".to_owned(), log.display().to_string()]);
        if !args.contains(&"--permission-mode") {
            words.extend(["--permission-mode", "default"].map(str::to_owned));
        }
        words.extend(args.iter().map(|word| (*word).to_owned()));
        let tmux = Tmux::start(command, &words, home.user().join("tmp"), log, SIZE);
        tmux.wait("an empty prompt", |screen| screen.lines().any(|line| line.trim_end() == "❯"));
        Self { tmux }
    }

    #[track_caller]
    pub(crate) fn until(&self, text: &str) -> String {
        self.tmux.until(text)
    }

    #[track_caller]
    pub(crate) fn until_gone(&self, text: &str) {
        self.tmux.wait(&format!("the end of {text:?}"), |screen| !screen.contains(text));
    }

    /// Types a line and sends it. What came of it shows at the model, or on the screen.
    #[track_caller]
    pub(crate) fn say(&self, line: &str) {
        self.tmux.keys(&["-l", line]);
        self.tmux.until(line);
        self.tmux.press_until("Enter", |screen| {
            !screen.lines().any(|shown| shown.trim_end() == format!("❯ {line}")) || {
                // What was sent stands above, what was not is the last line that begins so.
                let last = screen.lines().rev().find(|shown| shown.starts_with('❯'));
                last.is_some_and(|last| {
                    last.trim_end() != format!("❯\u{a0}{line}") && last.trim_end() != format!("❯ {line}")
                })
            }
        });
    }

    /// Types without sending.
    pub(crate) fn type_text(&self, text: &str) {
        self.tmux.keys(&["-l", text]);
    }

    /// Presses a key, again if nothing came of it, until the screen shows `text`.
    #[track_caller]
    pub(crate) fn press_until(&self, key: &str, text: &str) {
        self.tmux.press_until(key, |screen| screen.contains(text));
    }

    /// Presses a key, again if nothing came of it, until the screen no longer shows `text`.
    #[track_caller]
    pub(crate) fn press_until_gone(&self, key: &str, text: &str) {
        self.tmux.press_until(key, |screen| !screen.contains(text));
    }
}

/// Registers server and hooks, as a person would.
#[track_caller]
pub(crate) fn install(home: &Home, args: &[&str]) {
    home.run(&[&["install", "--hooks", "--yes", "--label", "real"], args].concat()).ok();
}

/// What the CLI would otherwise ask at its first start: who you are, whether the key and the folder are right.
fn settle_in(home: &Home) {
    let file = home.user().join(".claude.json");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let mut state: Value = serde_json::from_str(&text).unwrap_or(json!({}));
    state["hasCompletedOnboarding"] = json!(true);
    state["theme"] = json!("dark");
    state["bypassPermissionsModeAccepted"] = json!(true);
    state["customApiKeyResponses"] = json!({"approved": ["dummy-key-for-tests"], "rejected": []});
    let project = home.project().canonicalize().unwrap().display().to_string();
    state["projects"][&project]["hasTrustDialogAccepted"] = json!(true);
    state["projects"][&project]["hasCompletedProjectOnboarding"] = json!(true);
    fs::write(&file, state.to_string()).unwrap();
    if home.project().join(".mcp.json").exists() {
        fs::create_dir_all(home.project().join(".claude")).unwrap();
        let local = home.project().join(".claude/settings.local.json");
        let mut settings: Value =
            serde_json::from_str(&fs::read_to_string(&local).unwrap_or_default()).unwrap_or(json!({}));
        settings["enabledMcpjsonServers"] = json!(["portcullis"]);
        fs::write(local, settings.to_string()).unwrap();
    }
}

/// How many servers this test has started.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// One terminal in a tmux server of its own.
pub(crate) struct Tmux {
    name: String,
    folder: PathBuf,
    log: PathBuf,
    /// The server's number, and that of what runs in it.
    pids: Vec<i32>,
}

impl Tmux {
    /// A command of ours, as a person at a terminal has it.
    #[track_caller]
    pub(crate) fn running(home: &Home, command: &Command) -> Self {
        Self::running_at(home, command, SIZE)
    }

    /// The same on a terminal of so many columns and rows.
    #[track_caller]
    pub(crate) fn running_at(home: &Home, command: &Command, size: (u16, u16)) -> Self {
        fs::create_dir_all(home.user().join("tmp")).unwrap();
        let mut tmux = home.program("tmux");
        tmux.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        tmux.env("LANG", "C.UTF-8").env("TERM", "xterm-256color");
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        Self::start(tmux, &words, home.user().join("tmp"), home.user().join("none.log"), size)
    }

    /// Types a line and sends it.
    pub(crate) fn type_line(&self, line: &str) {
        self.keys(&["-l", line]);
        self.keys(&["Enter"]);
    }

    #[track_caller]
    fn start(
        mut command: Command,
        words: &[String],
        folder: PathBuf,
        log: PathBuf,
        (columns, rows): (u16, u16),
    ) -> Self {
        // Its socket goes with the home, and its path has to be short. One that ends is not joined by the next.
        let name = format!("t{}", STARTED.fetch_add(1, Ordering::Relaxed));
        command.env("TMUX_TMPDIR", &folder).env_remove("TMUX");
        command.args(["-L", &name, "-f", "/dev/null", "new-session", "-d"]);
        command.args(["-x", &columns.to_string(), "-y", &rows.to_string()]).args(words);
        let started = command.output().expect("tmux is there: `./check` brings it");
        assert!(started.status.success(), "tmux: {started:?}");
        let mut tmux = Self { name, folder, log, pids: vec![] };
        let pids = tmux.run(&["display-message", "-p", "#{pid} #{pane_pid}"]);
        tmux.pids = pids.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        tmux
    }

    pub(crate) fn run(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.env("TMUX_TMPDIR", &self.folder).args(["-L", &self.name]).args(args);
        let ran = command.output().expect("tmux is there");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    pub(crate) fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    pub(crate) fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    #[track_caller]
    pub(crate) fn until(&self, text: &str) -> String {
        self.wait(&format!("{text:?}"), |screen| screen.contains(text))
    }

    #[track_caller]
    pub(crate) fn wait(&self, what: &str, mut is_it: impl FnMut(&str) -> bool) -> String {
        let deadline = Instant::now() + LONG;
        loop {
            let screen = self.screen();
            if is_it(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "waiting for {what} on the screen:\n{screen}\n{}", self.story());
            std::thread::sleep(LOOK);
        }
    }

    #[track_caller]
    fn press_until(&self, key: &str, mut is_it: impl FnMut(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.keys(&[key]);
            let pressed = Instant::now();
            while pressed.elapsed() < BETWEEN_KEYS {
                if is_it(&self.screen()) {
                    return;
                }
                std::thread::sleep(LOOK);
            }
            assert!(Instant::now() < deadline, "{key} changed nothing:\n{}\n{}", self.screen(), self.story());
        }
    }

    /// What the CLI said of hooks and servers, for a failure message.
    fn story(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> =
            log.lines().filter(|line| line.contains("portcullis") || line.contains("Hook")).collect();
        let told =
            lines[lines.len().saturating_sub(60)..].iter().map(|line| line.chars().take(300).collect::<String>());
        told.collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the screen:\n{}\n--- its log:\n{}", self.screen(), self.story());
        }
        self.run(&["kill-server"]);
        // tmux hangs up on it; it may take its time, and the home must not go before. Where the home has gone already, with
        // the socket in it, the server is ended by its number as well.
        let is_ours = |pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(self.folder.to_string_lossy().as_ref())
        };
        for pid in self.pids.iter().filter(|pid| is_ours(pid)).filter_map(|pid| rustix::process::Pid::from_raw(*pid)) {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
        }
    }
}
