//! Editors: whether `portcullis acp` answers one.

use std::process::Stdio;
use std::time::Duration;

use portcullis_core::{Moment, visible};
use portcullis_wire::api::{TrustedEditorView, ago};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::finding::{Blocks, Finding};
use crate::config::{AcpTable, Approvals, Paths};
use crate::gate::inside::{AgentAround, agent_at_a_look, trusted_editors};
use crate::mint::now;
use crate::processes::{self, PeerProcess};

const CHECK: &str = "editors";
/// It answers at once, without a gate and without Claude Code.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Does what an editor does first: starts it, and asks what it can.
pub(super) async fn look(acp: &AcpTable) -> Finding {
    match tokio::time::timeout(ANSWER_TIMEOUT, initialize()).await {
        Ok(Ok(version)) => Finding::ok(CHECK, works(version, acp)),
        Ok(Err(error)) => broken(format!("`portcullis acp` does not answer: {error:#}")),
        Err(_) => broken("`portcullis acp` does not answer".to_owned()),
    }
}

/// Where the configuration cannot be read, which is a finding of its own.
pub(super) fn without_configuration() -> Finding {
    Finding::note(CHECK, "`portcullis acp` does not start before the configuration can be read")
        .blocking(Blocks::Editor)
}

/// The editors that run: those that a person has said are theirs, and what keeps people from answering prompts in the
/// others, which is the configuration, or that nobody can tell who has started them.
pub(super) async fn running(paths: &Paths, approvals: Approvals) -> Vec<Finding> {
    let mut findings = vec![];
    if approvals == Approvals::Device {
        let what = "approvals = \"device\": prompts are answered on linked devices, and in no editor of this machine";
        findings.push(Finding::note(CHECK, what).blocking(Blocks::EditorAnswers));
    }
    let editors = processes::serving_editors();
    let trusted = if editors.is_empty() { vec![] } else { trusted_editors(paths).await };
    for pid in editors {
        let process = PeerProcess::now(pid).identity();
        if let Some(TrustedEditorView { what, by, at, .. }) =
            trusted.iter().find(|editor| Some(&editor.process) == process.as_ref())
        {
            let since = ago(now().since(Moment(*at)));
            let what = format!(
                "prompts are answered in the editor of process {pid}: {by} said {since} ago that it is theirs ({what})"
            );
            findings.push(Finding::ok(CHECK, visible(&what)));
        } else if let Some(AgentAround::Unknown(gap)) = agent_at_a_look(paths, PeerProcess::now(pid)).await {
            let what = format!("prompts are not answered in the editor of process {pid}: {}", gap.in_words());
            let remedy = format!("if that editor is yours, run `portcullis acp trust {pid}` in a terminal of your own");
            findings.push(Finding::warn(CHECK, what, remedy).blocking(Blocks::EditorAnswers));
        }
    }
    findings
}

fn works(version: u64, acp: &AcpTable) -> String {
    let servers = if acp.gateway { "behind the gateway" } else { "started by Claude Code" };
    let spare = if acp.prewarm { "; a Claude Code is kept for the next session" } else { "" };
    format!(
        "`portcullis acp` answers, with ACP {version}; files and terminals go through an editor that has them \
         (--client-fs, --client-terminal); its MCP servers are {servers}{spare}"
    )
}

fn broken(what: String) -> Finding {
    Finding::fail(CHECK, what, "`portcullis acp </dev/null` says what is wrong").blocking(Blocks::Editor)
}

async fn initialize() -> anyhow::Result<u64> {
    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    command.arg("acp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        anyhow::bail!("it has no pipes");
    };
    let parameters = json!({"protocolVersion": 1, "clientCapabilities": {}});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters});
    stdin.write_all(format!("{request}\n").as_bytes()).await?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).await?;
    if line.trim().is_empty() {
        anyhow::bail!("it ended at once");
    }
    let answer: Value = serde_json::from_str(&line)?;
    // Without an editor it ends by itself.
    drop(stdin);
    child.wait().await?;
    answer["result"]["protocolVersion"].as_u64().ok_or_else(|| anyhow::anyhow!("it answered {}", line.trim()))
}
