//! The client side of the channel contract, as Claude Code plays it over real stdio.

pub(crate) mod inbox;
mod talk;

use super::child::{Child, Stdin};
use super::home::{Home, random_hex};
use super::seen::Missed;
use inbox::Inbox;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::process::{Command, ExitStatus};
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

pub(crate) struct StandIn {
    child: Child,
    inbox: Inbox,
    next_id: AtomicU64,
    discover: Option<(Value, Duration)>,
    /// The result of `initialize`.
    server: Value,
    tools: Value,
}

/// A secret as Claude Code leaves it in its children's environment; it may turn up nowhere.
pub(crate) const SECRET: &str = "sk-ant-stand-in-must-not-leak";

impl StandIn {
    /// Starts `portcullis channel` and goes through the whole greeting.
    #[track_caller]
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::start_command(home, Self::command(home, args))
    }

    #[track_caller]
    pub(crate) fn start_command(home: &Home, command: Command) -> Self {
        let mut standin = Self::start_paused_command(home, command);
        standin.initialized();
        standin
    }

    /// Stops before `notifications/initialized`; until then the server may send nothing by itself.
    #[track_caller]
    pub(crate) fn start_paused(home: &Home, args: &[&str]) -> Self {
        Self::start_paused_command(home, Self::command(home, args))
    }

    #[track_caller]
    pub(crate) fn start_paused_command(home: &Home, command: Command) -> Self {
        let mut standin = Self::spawn(home, command);
        standin.probe();
        standin.initialize();
        standin
    }

    /// The channel's command with what Claude Code adds to its environment.
    pub(crate) fn command(home: &Home, args: &[&str]) -> Command {
        let words: Vec<&str> = std::iter::once("channel").chain(args.iter().copied()).collect();
        let mut command = home.command(&words);
        let hex = random_hex(16);
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        command.env("CLAUDE_CODE_SESSION_ID", parts.join("-"));
        command.env("CLAUDE_PROJECT_DIR", home.project()).env("CLAUDECODE", "1").env("ANTHROPIC_API_KEY", SECRET);
        command.env("CLAUDE_CODE_MESSAGING_TOKEN", SECRET);
        command
    }

    /// The same for an agent whose session has this id: with an id that was there before, one that goes on.
    pub(crate) fn command_of(home: &Home, args: &[&str], agent_session: &str) -> Command {
        let mut command = Self::command(home, args);
        command.env("CLAUDE_CODE_SESSION_ID", agent_session);
        command
    }

    /// The same, started by a process that is not this one. The gate takes it for the agent, and this test for an
    /// outsider, as a person at another terminal is. A signal reaches that process, not the channel.
    #[track_caller]
    pub(crate) fn start_under_an_agent(home: &Home, args: &[&str]) -> Self {
        Self::start_command(home, Self::command_under_an_agent(home, args))
    }

    pub(crate) fn command_under_an_agent(home: &Home, args: &[&str]) -> Command {
        let channel = Self::command(home, args);
        let mut agent = home.program("find");
        agent.args(["/", "-maxdepth", "0", "-exec"]).arg(channel.get_program()).args(channel.get_args()).arg(";");
        agent.envs(channel.get_envs().filter_map(|(name, value)| Some((name, value?))));
        agent
    }

    /// Starts it and says nothing yet.
    #[track_caller]
    pub(crate) fn spawn(home: &Home, command: Command) -> Self {
        let inbox = Inbox::new();
        let (sorted, root) = (inbox.clone(), format!("file://{}", home.project().display()));
        let child = home.keep(Child::spawn_reading(command, Stdin::Open, move |line, input| match line {
            Some(line) => sorted.sort(line, input, &root),
            None => sorted.end(),
        }));
        let next_id = AtomicU64::new(0);
        Self { child, inbox, next_id, discover: None, server: Value::Null, tools: Value::Null }
    }

    /// Asks for the revision a channel must not speak, as the real client does first of all.
    #[track_caller]
    pub(crate) fn probe(&mut self) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": client(),
            "io.modelcontextprotocol/clientCapabilities": capabilities(),
        });
        let asked = Instant::now();
        let id = "server-discover-probe-1";
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "server/discover", "params": {"_meta": meta}});
        let answer = self.call_raw(&request);
        self.discover = Some((answer, asked.elapsed()));
    }

    #[track_caller]
    pub(crate) fn initialize(&mut self) {
        if let Some((answer, _)) = &self.discover
            && answer.get("result").is_some()
        {
            panic!("it answered server/discover, so the real client would not take it for a channel: {answer}");
        }
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities(), "clientInfo": client()});
        self.server = self.request("initialize", &params);
    }

    /// Ends the greeting, and asks for the tools when there are any.
    #[track_caller]
    pub(crate) fn initialized(&mut self) {
        self.notify("notifications/initialized", None);
        if self.capabilities().get("tools").is_some() {
            self.tools = self.request("tools/list", &json!({}))["tools"].clone();
        }
    }

    /// The whole answer to the probe.
    #[track_caller]
    pub(crate) fn discover(&self) -> &Value {
        &self.discover.as_ref().expect("there was no probe").0
    }

    #[track_caller]
    pub(crate) fn discover_took(&self) -> Duration {
        self.discover.as_ref().expect("there was no probe").1
    }

    pub(crate) fn server_info(&self) -> &Value {
        &self.server["serverInfo"]
    }

    pub(crate) fn capabilities(&self) -> &Value {
        &self.server["capabilities"]
    }

    /// Whether the server declared this experimental capability. `false` is a value a client must tolerate there; it
    /// declares nothing.
    pub(crate) fn declares(&self, capability: &str) -> bool {
        let value = &self.capabilities()["experimental"][capability];
        !value.is_null() && *value != false
    }

    pub(crate) fn instructions(&self) -> &str {
        self.server["instructions"].as_str().unwrap_or_default()
    }

    /// The tools as listed, whole.
    pub(crate) fn tools(&self) -> &[Value] {
        self.tools.as_array().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn tool_names(&self) -> Vec<&str> {
        self.tools().iter().filter_map(|tool| tool["name"].as_str()).collect()
    }

    /// What is left of a client that was killed: nothing but the end of stdin.
    pub(crate) fn close_stdin(&self) {
        self.child.close_stdin();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.child.signal(signal);
    }

    #[track_caller]
    pub(crate) fn kill_9(&self) -> ExitStatus {
        self.child.kill_9()
    }

    #[track_caller]
    pub(crate) fn wait_exit(&self, within: Duration) -> ExitStatus {
        self.child.wait_exit(within)
    }

    pub(crate) fn has_exited(&self) -> bool {
        self.child.has_exited()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Waits for a line of its log with this in it.
    #[track_caller]
    pub(crate) fn complaint(&self, about: &str) -> String {
        self.child.complaint(about)
    }

    pub(crate) fn stdout(&self) -> String {
        self.child.stdout()
    }

    pub(crate) fn stderr(&self) -> String {
        self.child.stderr()
    }

    fn story(&self, what: &str, missed: Missed) -> String {
        format!("waiting for {what}: {missed}\n{}", self.child.story())
    }
}

fn client() -> Value {
    json!({"name": "claude-code", "title": "Claude Code", "version": "2.1.325"})
}

fn capabilities() -> Value {
    json!({"roots": {"listChanged": true}, "elicitation": {"form": {}, "url": {}}})
}
