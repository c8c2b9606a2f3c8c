//! `portcullis acp` beside the npm adapter, both with the same Claude Code and the same model, and that Claude Code alone.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Run;
use crate::machine::{peer, resident};
use crate::session::Session;
use crate::table::{ACP_BUDGET, ACP_START_BUDGET, Table};

const NAMES: [&str; 3] = ["npm adapter", "portcullis acp", "claude alone"];
const NPM: usize = 0;
const OURS: usize = 1;
const CLAUDE: usize = 2;

/// Has a table of its own: the baseline is another one.
pub(crate) fn acp(run: &mut Run) -> anyhow::Result<()> {
    let mut table = Table::new(run.table.pick());
    let mut world = World::new()?;
    world.start_gate(&run.program)?;
    for _ in 0..run.rounds {
        for contender in [NPM, OURS] {
            world
                .agent(contender, &run.program, &mut table)
                .with_context(|| format!("measuring {}", NAMES[contender]))?;
        }
        world.claude_alone(&mut table).context("measuring claude alone")?;
    }
    let names = NAMES.map(str::to_owned);
    table.print(&names, Some(NPM));
    table.print_budget(&names, NPM, ACP_BUDGET);
    table.print_budget(&names, CLAUDE, ACP_START_BUDGET);
    Ok(())
}

/// A home, a model and a gate for all of them.
struct World {
    folder: TempDir,
    model: SocketAddr,
    gate: Option<std::process::Child>,
}

impl World {
    fn new() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("acp.").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        for name in ["home", "gate", "project", "tmp"] {
            fs::create_dir(folder.path().join(name))?;
        }
        Ok(Self { folder, model: crate::model::start()?, gate: None })
    }

    /// Runs before what is measured, as it does on a machine where someone works.
    fn start_gate(&mut self, program: &Path) -> anyhow::Result<()> {
        let mut command = self.command(program);
        let gate = command.arg("serve").stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let gate = self.gate.insert(gate);
        crate::contenders::ready(gate.stdout.take().context("the gate's output")?)?;
        Ok(())
    }

    /// A program that reaches the model and the gate, and nobody else.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let inside = |name: &str| self.folder.path().join(name);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(inside("project"));
        command.env("HOME", inside("home")).env("TMPDIR", inside("tmp")).env("PORTCULLIS_HOME", inside("gate"));
        command.env("PORTCULLIS_LISTEN", "127.0.0.1:0").env("PORTCULLIS_LOG", "warn");
        command.env("ANTHROPIC_BASE_URL", format!("http://{}", self.model)).env("ANTHROPIC_API_KEY", "dummy-key");
        for switch in [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
            "DISABLE_AUTOUPDATER",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL",
        ] {
            command.env(switch, "1");
        }
        command
    }

    /// From the start of an agent to the first word of its answer to a prompt.
    fn agent(&self, contender: usize, program: &Path, table: &mut Table) -> anyhow::Result<()> {
        let claude = peer("PORTCULLIS_TEST_CLAUDE")?;
        let mut command = match contender {
            NPM => {
                let mut command = self.command(&peer("PORTCULLIS_TEST_NODE24")?);
                command.arg(peer("PORTCULLIS_TEST_ACP_ADAPTER")?).env("CLAUDE_CODE_EXECUTABLE", claude);
                command
            }
            _ => {
                let mut command = self.command(program);
                command.arg("acp").env("PORTCULLIS_CLAUDE", claude);
                command
            }
        };
        command.stderr(Stdio::null());
        let mut note =
            |row: &str, start: Instant| table.note(row, "ms", contender, start.elapsed().as_secs_f64() * 1e3);

        let start = Instant::now();
        let mut agent = Session::spawn(&mut command)?;
        let initialize = agent.request("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}))?;
        result(&mut agent, initialize)?;
        note("initialize", start);

        let start = Instant::now();
        // One agent waits for its Claude Code in `session/new`, the other in the first prompt: a person waits for both.
        let begun = start;
        let cwd = self.folder.path().join("project");
        let created = agent.request("session/new", &json!({"cwd": cwd, "mcpServers": []}))?;
        let session = result(&mut agent, created)?["sessionId"].clone();
        note("session/new", start);

        let start = Instant::now();
        let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "ping"}]});
        let prompt = agent.request("session/prompt", &prompt)?;
        let is_word = |frame: &Value| frame["params"]["update"]["sessionUpdate"] == "agent_message_chunk";
        until(&mut agent, is_word)?;
        note("prompt to first update", start);
        note("new session to first update", begun);
        result(&mut agent, prompt)?;
        table.note("memory of the agent", "MB", contender, resident(agent.pid()).unwrap_or(f64::NAN));
        Ok(())
    }

    /// From the start of Claude Code to its answer to `initialize`, as the agents start it.
    fn claude_alone(&self, table: &mut Table) -> anyhow::Result<()> {
        let mut command = self.command(&peer("PORTCULLIS_TEST_CLAUDE")?);
        command.args(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]);
        command.args(["--permission-prompt-tool", "stdio", "--permission-mode", "default"]).stderr(Stdio::null());
        let start = Instant::now();
        let mut claude = Session::spawn(&mut command)?;
        claude.say(&json!({"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}}))?;
        until(&mut claude, |frame| frame["type"] == "control_response")?;
        table.note("session/new", "ms", CLAUDE, start.elapsed().as_secs_f64() * 1e3);
        Ok(())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(gate) = &mut self.gate {
            // It may have ended by itself.
            gate.kill().ok();
            gate.wait().ok();
        }
    }
}

/// The next frame that fits; what comes before is not measured.
fn until(session: &mut Session, wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
    loop {
        let frame: Value = serde_json::from_slice(&session.line()?)?;
        if wanted(&frame) {
            return Ok(frame);
        }
    }
}

fn result(session: &mut Session, id: u64) -> anyhow::Result<Value> {
    let mut response = until(session, |frame| frame["id"] == id && frame.get("method").is_none())?;
    ensure!(response.get("result").is_some(), "it was answered {response}");
    Ok(response["result"].take())
}
