//! What a Claude Code does for whoever drives it, found out without a session: it is started as one is, in a folder that is
//! thrown away, and nothing is said to a model.

use std::path::Path;
use std::time::Duration;

use portcullis_core::policy::Mode;
use portcullis_wire::control::{FromClient, Request, error_line, read, request_line, success_line};
use serde_json::{Map, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, ChildStdout};

use super::driver::wanted_hooks;
use super::mcp::described;
use crate::agents::claude::in_process::{answer, no_such_method};
use crate::agents::claude::process::{Beginning, HeldProcess, Holder, Options, QUIET, SERVER};
use crate::lines::{Line, Lines};
use crate::mint::uuid;
use crate::session::tools::Briefing;

/// It loads a great deal before it answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
const LONGEST_LINE: usize = 4 << 20;
/// Our requests, by their ids.
const INITIALIZE: &str = "initialize";
const INTERRUPT: &str = "interrupt";

/// What it would ask a model with. Nothing is asked, so it needs none of it.
const KEYS: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/// What was found out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbedClient {
    /// What it calls itself.
    pub(crate) version: String,
    /// It asks us before it makes a call.
    pub(crate) takes_hooks: bool,
    /// It offers the model the tools that we have for it.
    pub(crate) takes_tools: bool,
    /// A turn can be ended.
    pub(crate) stops: bool,
}

/// Starts `claude` in the empty folder, which it may fill as it likes. Else why it cannot be driven.
pub(crate) async fn probe(portcullis: &Path, claude: &Path, folder: &Path) -> Result<ProbedClient, String> {
    let (mode, from) = (Mode::Default.name().to_owned(), Beginning::Named(uuid()));
    let options = Options { folder: folder.to_owned(), mode, from, ..Options::default() };
    let mut command = options.command(portcullis, claude);
    // Nothing of the user's is read or changed, and nothing leaves the machine. Nobody listens on that port.
    command.env("CLAUDE_CONFIG_DIR", folder).env("TMPDIR", folder).env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    for key in KEYS {
        command.env_remove(key);
    }
    for switch in QUIET {
        command.env(switch, "1");
    }
    let held = Holder::start(claude, command, &uuid()).map_err(|error| format!("{error:#}"))?;
    let HeldProcess { holder, stdin, stdout } = held;
    let mut probing = Probing::default();
    let in_time = tokio::time::timeout(ANSWER_TIMEOUT, probing.ask(stdin, stdout)).await;
    // Its input is closed by now.
    let tail = if in_time.is_ok() { holder.close().await } else { holder.end().await };
    match probing.refused {
        None if probing.is_initialized => Ok(probing.found),
        None if tail.trim().is_empty() => Err("it does not answer".to_owned()),
        None => Err(format!("it does not answer; it said: {}", tail.trim())),
        Some(why) => Err(why),
    }
}

#[derive(Default)]
struct Probing {
    found: ProbedClient,
    is_initialized: bool,
    refused: Option<String>,
}

impl Probing {
    /// Until all is found out, or the client ends.
    async fn ask(&mut self, mut stdin: ChildStdin, stdout: ChildStdout) {
        let mut fields = Map::new();
        fields.insert("hooks".into(), wanted_hooks());
        fields.insert("sdkMcpServers".into(), json!([SERVER]));
        let mut says = Some(request_line(INITIALIZE, "initialize", fields));
        let mut lines = Lines::new(stdout, LONGEST_LINE);
        loop {
            if let Some(line) = says.take()
                && stdin.write_all(&line).await.is_err()
            {
                return;
            }
            let found = &self.found;
            if self.refused.is_some() || found.takes_tools && found.stops {
                return;
            }
            says = match lines.next().await {
                Ok(Line::Whole(line)) => match read(&line) {
                    Ok(heard) => self.hear(heard).await,
                    Err(_) => None,
                },
                Ok(Line::TooLong) => None,
                Ok(Line::End) | Err(_) => return,
            };
        }
    }

    /// What is said to it.
    async fn hear(&mut self, heard: FromClient) -> Option<Vec<u8>> {
        match heard {
            FromClient::Response { id, answer: Ok(answer) } if id == INITIALIZE => {
                self.is_initialized = true;
                self.found.version = answer["claude_code_version"].as_str().unwrap_or_default().to_owned();
                // Earlier ones do not say it, and have them.
                self.found.takes_hooks = answer["hooks_applied"] != false;
                Some(request_line(INTERRUPT, "interrupt", Map::new()))
            }
            FromClient::Response { id, answer: Err(why) } if id == INITIALIZE => {
                self.refused = Some(why);
                None
            }
            FromClient::Response { id, answer } => {
                self.found.stops |= id == INTERRUPT && answer.is_ok();
                None
            }
            FromClient::Request { id, request: Request::Mcp(mcp) } if mcp.server_name == SERVER => {
                self.found.takes_tools |= mcp.message["method"] == "tools/list";
                let answering = answer(&mcp.message, |request| async move {
                    described(&Briefing::default(), &request).ok_or_else(|| no_such_method(request.method))
                });
                Some(success_line(&id, &json!({"mcp_response": answering.await})))
            }
            FromClient::Request { id, .. } => Some(error_line(&id, "not while it is looked at")),
            FromClient::Cancel { .. } | FromClient::Message(_) | FromClient::Noise => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn response(id: &str, answer: Result<Value, String>) -> FromClient {
        FromClient::Response { id: id.to_owned(), answer }
    }

    #[tokio::test]
    async fn what_has_no_answer_is_not_found() {
        let mut probing = Probing::default();
        let answer = json!({"claude_code_version": "2.1.325", "hooks_applied": false});
        assert!(probing.hear(response(INITIALIZE, Ok(answer))).await.is_some(), "it is interrupted next");
        probing.hear(response(INTERRUPT, Err("Unsupported control request".to_owned()))).await;
        assert_eq!(probing.found, ProbedClient { version: "2.1.325".to_owned(), ..ProbedClient::default() });
        probing.hear(response(INTERRUPT, Ok(json!({})))).await;
        assert!(probing.found.stops && !probing.found.takes_tools);
        probing.hear(response(INITIALIZE, Err("no".to_owned()))).await;
        assert_eq!(probing.refused.as_deref(), Some("no"));
    }
}
