//! A real Chromium that shows the page, told what to do by the same script as in the tests.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::machine::peer;

pub(crate) struct Browser {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Browser {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let playwright = peer("PORTCULLIS_TEST_PLAYWRIGHT")?;
        let modules = playwright.parent().and_then(|bin| bin.parent()).context("the folder of playwright")?;
        let mut node = Command::new("node");
        node.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/it/page/browser.mjs")).arg(modules);
        node.arg(peer("PORTCULLIS_TEST_CHROMIUM")?).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = node.spawn().context("starting node")?;
        let stdin = child.stdin.take().context("its input")?;
        let stdout = BufReader::new(child.stdout.take().context("its output")?);
        Ok(Self { child, stdin, stdout })
    }

    /// Does something to its only page, and says what came of it.
    pub(crate) fn tell(&mut self, what: &str, mut more: Value) -> anyhow::Result<Value> {
        more["what"] = what.into();
        more["page"] = "page".into();
        writeln!(self.stdin, "{more}")?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let mut answer: Value = serde_json::from_str(&line).with_context(|| format!("{what}: {line:?}"))?;
        ensure!(answer.get("ok").is_some(), "{what}: {}", answer["failed"]);
        Ok(answer["ok"].take())
    }

    pub(crate) fn run(&mut self, script: &str) -> anyhow::Result<Value> {
        self.tell("run", json!({"script": script}))
    }

    /// Waits until it is there.
    pub(crate) fn see(&mut self, at: &str) -> anyhow::Result<()> {
        self.tell("see", json!({"at": at})).map(drop)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
