//! Those who are measured, and how each is started, fresh and with nothing shared.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail, ensure};
use tempfile::TempDir;

use crate::baseline::Baseline;
use crate::session::Session;

/// The owner's token of every gate measured. The baseline believes the other header, and all get both.
pub(crate) const TOKEN: &str = "benchmark-owner-token";

#[derive(Clone, Debug)]
pub(crate) struct Contender {
    /// As the table names it.
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// `portcullis channel` with its gate in another process.
    Gate {
        binary: PathBuf,
        durability: &'static str,
        /// A program that runs the gate and counts what it does; most often none.
        under: Vec<OsString>,
    },
    Bun(Baseline),
    /// This same program, see `bare.rs`.
    Bare,
}

impl Contender {
    pub(crate) fn is_baseline(&self) -> bool {
        matches!(self.kind, Kind::Bun(_))
    }

    /// Starts everything but the session, which `Stage::attach` adds.
    pub(crate) fn set(&self) -> anyhow::Result<Stage> {
        let home = tempfile::Builder::new().prefix("bench.").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let mut stage = Stage { kind: self.kind.clone(), gate: None, address: None, home };
        if matches!(self.kind, Kind::Gate { .. }) {
            stage.open_gate()?;
        }
        Ok(stage)
    }

    /// A server with one greeted session.
    pub(crate) fn start(&self) -> anyhow::Result<Server> {
        let mut stage = self.set()?;
        let mut session = stage.spawn("bench")?;
        session.greet()?;
        session.initialized()?;
        Ok(Server { address: stage.address(&mut session)?, session, stage })
    }
}

/// A server that runs, and Claude Code's end of it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) session: Session,
    pub(crate) stage: Stage,
}

impl Server {
    /// All processes that work for it.
    pub(crate) fn pids(&self) -> Vec<u32> {
        [self.session.pid()].into_iter().chain(self.stage.gate_pid()).collect()
    }
}

/// The place where a contender runs: its home, and its gate if that is a process of its own.
pub(crate) struct Stage {
    kind: Kind,
    gate: Option<Child>,
    /// Known at once for a gate, for the others only when their session runs.
    address: Option<SocketAddr>,
    home: TempDir,
}

impl Stage {
    pub(crate) fn gate_pid(&self) -> Option<u32> {
        self.gate.as_ref().map(Child::id)
    }

    /// Starts the gate on this home and waits until it is ready.
    pub(crate) fn open_gate(&mut self) -> anyhow::Result<()> {
        let Kind::Gate { binary, durability, under } = &self.kind else { bail!("this contender has no gate") };
        let mut words = under.iter().map(OsString::as_os_str).chain([binary.as_os_str()]);
        let mut command = portcullis(words.next().context("no program")?, self.home.path(), durability);
        let mut gate = command.args(words).arg("serve").stdout(Stdio::piped()).stdin(Stdio::null()).spawn()?;
        let stdout = gate.stdout.take().context("the gate's output")?;
        self.gate = Some(gate);
        self.address = Some(ready(stdout)?);
        Ok(())
    }

    pub(crate) fn close_gate(&mut self) -> anyhow::Result<()> {
        let Some(mut gate) = self.gate.take() else { return Ok(()) };
        let pid = i32::try_from(gate.id()).ok().and_then(rustix::process::Pid::from_raw).context("the gate's pid")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let status = gate.wait()?;
        ensure!(status.success(), "the gate ended with {status}");
        Ok(())
    }

    /// Makes the journal look as if nobody had written to it for days. A gate is not started on one of today by a process
    /// whose parents are gone and that has no terminal: an agent may have left it behind. Such is a benchmark that runs by
    /// itself.
    pub(crate) fn put_journal_back(&self) -> anyhow::Result<()> {
        let journal = File::options().write(true).open(self.home.path().join("journal.db"))?;
        Ok(journal.set_modified(SystemTime::now() - Duration::from_secs(2 * 24 * 3600))?)
    }

    /// Starts a session's process, without a word said to it.
    pub(crate) fn spawn(&mut self, label: &str) -> anyhow::Result<Session> {
        let mut command = match &self.kind {
            Kind::Gate { binary, durability, .. } => {
                let mut command = portcullis(binary.as_os_str(), self.home.path(), durability);
                command.args(["channel", "--label", label]);
                command
            }
            Kind::Bun(baseline) => {
                let mut command = Command::new(&baseline.bun);
                command.arg(&baseline.server).env("PORT", "0").stderr(Stdio::piped());
                command
            }
            Kind::Bare => {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg(crate::bare::ARGUMENT).stderr(Stdio::piped());
                command
            }
        };
        Session::spawn(&mut command)
    }

    /// Where the greeted session can be reached.
    pub(crate) fn address(&mut self, session: &mut Session) -> anyhow::Result<SocketAddr> {
        if let Some(address) = self.address {
            return Ok(address);
        }
        let address = ready(session.take_stderr()?)?;
        self.address = Some(address);
        Ok(address)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(gate) = &mut self.gate {
            // It may have ended by itself.
            gate.kill().ok();
            gate.wait().ok();
        }
    }
}

fn portcullis(program: &OsStr, home: &Path, durability: &str) -> Command {
    let mut command = Command::new(program);
    command.env("PORTCULLIS_HOME", home).env("PORTCULLIS_TOKEN", TOKEN).env("PORTCULLIS_LISTEN", "127.0.0.1:0");
    command.env("PORTCULLIS_MAX_CONTEXT", "0").env("PORTCULLIS_DURABILITY", durability);
    command.env("PORTCULLIS_LOG", "warn").env_remove("CLAUDE_PROJECT_DIR").current_dir(home);
    command
}

/// The address in a line such as `ready http://127.0.0.1:8788`.
pub(crate) fn ready(output: impl std::io::Read) -> anyhow::Result<SocketAddr> {
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let address = line.trim().strip_prefix("ready http://").with_context(|| format!("it said {line:?}, not ready"))?;
    Ok(address.parse()?)
}
