//! Claude Code's end of a channel server: starts it, greets it as the real client does, and keeps all that it says.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

/// Longer than any single wait of any contender; a server that takes so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Session {
    child: Child,
    stdin: UnixStream,
    pub(crate) stdout: UnixStream,
    /// What was read and not yet taken as a line.
    unread: Vec<u8>,
    requests: u64,
}

impl Session {
    /// Starts the server. Node and Bun give their children sockets, so this one gets sockets too.
    pub(crate) fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        let (stdin, its_stdin) = UnixStream::pair()?;
        let (stdout, its_stdout) = UnixStream::pair()?;
        command.stdin(Stdio::from(OwnedFd::from(its_stdin)));
        command.stdout(Stdio::from(OwnedFd::from(its_stdout)));
        let child = command.spawn().with_context(|| format!("starting {command:?}"))?;
        // Ours must be the only ends, or there would never be an end of file.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        stdout.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { child, stdin, stdout, unread: vec![], requests: 0 })
    }

    /// The greeting of Claude Code: a probe for another protocol, then `initialize`. Returns when that is answered.
    pub(crate) fn greet(&mut self) -> anyhow::Result<()> {
        let refused = self.ask("server/discover", &json!({}))?;
        ensure!(refused["error"]["code"] == -32601, "server/discover was answered {refused}");
        let client = json!({"name": "claude-code", "version": "2.1.325"});
        let greeting = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let answer = self.ask("initialize", &greeting)?;
        let offered = &answer["result"]["capabilities"]["experimental"];
        ensure!(offered["claude/channel"].is_object(), "initialize was answered {answer}");
        Ok(())
    }

    /// From here on the server may send events.
    pub(crate) fn initialized(&mut self) -> anyhow::Result<()> {
        self.tell("notifications/initialized", &json!({}))
    }

    pub(crate) fn tell(&mut self, method: &str, params: &Value) -> anyhow::Result<()> {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let id = self.request(method, params)?;
        let line = self.line()?;
        let answer: Value = serde_json::from_slice(&line)?;
        ensure!(answer["id"] == id, "{method} was answered {}", String::from_utf8_lossy(&line));
        Ok(answer)
    }

    /// Sends a request whose answer is read elsewhere. Returns its id.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        self.requests += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}))?;
        Ok(self.requests)
    }

    pub(crate) fn say(&mut self, message: &Value) -> anyhow::Result<()> {
        let mut line = message.to_string();
        line.push('\n');
        self.stdin.write_all(line.as_bytes()).context("writing to the server")
    }

    /// The next line, without its end.
    pub(crate) fn line(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.unread[searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.unread.split_off(searched + end + 1);
                let mut line = std::mem::replace(&mut self.unread, rest);
                line.pop();
                return Ok(line);
            }
            searched = self.unread.len();
            let mut chunk = [0; 64 << 10];
            let count = self.stdout.read(&mut chunk).context("waiting for the server to say something")?;
            ensure!(count > 0, "the server ended");
            self.unread.extend_from_slice(&chunk[..count]);
        }
    }

    /// What the server says about itself, for a server that was started so.
    pub(crate) fn take_stderr(&mut self) -> anyhow::Result<ChildStderr> {
        self.child.stderr.take().context("the server's standard error")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the server's input. Returns how long it then took to end; none when it does not.
    pub(crate) fn close(mut self, patience: Duration) -> anyhow::Result<Option<Duration>> {
        let start = Instant::now();
        self.stdin.shutdown(Shutdown::Write)?;
        self.stdout.set_read_timeout(Some(patience))?;
        let mut rest = [0; 4096];
        loop {
            match self.stdout.read(&mut rest) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => bail!("waiting for the end: {error}"),
            }
        }
        self.child.wait()?;
        Ok(Some(start.elapsed()))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
