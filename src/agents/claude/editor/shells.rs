//! Bash through the editor: commands run in its terminals, under a guard of ours, and what they print comes back in part.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use portcullis_core::visible;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{EditorRequest, ExitStatus, HostState, TerminalCommand, TerminalOutput};
use crate::locks::locked;

/// How long a command may take where nobody says, and at most: then it goes on in the background. As the built-in tool.
const TIMEOUT: Duration = Duration::from_secs(120);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(600);
/// The editor keeps so many bytes of what a command prints, and the model is told the last of them.
const MOST_KEPT: u64 = 256 << 10;
const MOST_TOLD: usize = 30_000;
/// Bytes of a command that its end is told with.
const LONGEST_SHOWN: usize = 200;
/// Commands in the background, at most.
const MOST_SHELLS: usize = 32;

/// Terminals whose commands the model may look at later, by the ids that it knows.
#[derive(Default)]
pub(super) struct Shells {
    terminals: HashMap<String, String>,
    count: u64,
}

/// A command in the background that has ended.
#[derive(Debug)]
pub(in crate::agents::claude) struct EndedCommand {
    /// As the model knows it.
    pub(in crate::agents::claude) id: String,
    pub(in crate::agents::claude) line: String,
    /// In words.
    pub(in crate::agents::claude) how: String,
}

impl EndedCommand {
    /// For people.
    pub(in crate::agents::claude) fn summary(&self) -> String {
        let line = self.line.split_whitespace().collect::<Vec<_>>().join(" ");
        let (start, left) = portcullis_core::excerpt(&line, Some(LONGEST_SHOWN));
        let more = if left > 0 { "…" } else { "" };
        format!("Background command \"{start}{more}\" ended: {}", self.how)
    }

    /// For the model, as the client itself tells it of commands of its own.
    pub(in crate::agents::claude) fn notification(&self) -> String {
        // Nothing in it closes the tags.
        let summary = self.summary().replace(['<', '>'], "");
        let id = &self.id;
        format!(
            "<task-notification>\n<task-id>{id}</task-id>\n<summary>{summary}</summary>\n</task-notification>\nRead its \
             output with BashOutput, id {id}."
        )
    }
}

impl HostState {
    pub(super) async fn bash(
        &self,
        call: &str,
        folder: &Path,
        input: &Value,
        cancelled: &CancellationToken,
    ) -> Result<String, String> {
        let Some(line) = input.get("command").and_then(Value::as_str) else {
            return Err("command must be a text".to_owned());
        };
        let in_background = input.get("run_in_background") == Some(&Value::Bool(true));
        if locked(&self.shells).terminals.len() >= MOST_SHELLS {
            return Err(format!("{MOST_SHELLS} commands run in the background: end one of them with KillShell."));
        }
        let command = self.under_guard(line, folder);
        let (call, shown) = (call.to_owned(), input.clone());
        let run = |answer| EditorRequest::Run { call, input: shown, command, answer };
        let terminal = self.tools.ask(run).await.map_err(|why| format!("The editor opens no terminal: {why}"))?;
        if in_background {
            let id = self.keep(terminal, line);
            return Ok(format!(
                "Command running in background with ID: {id}. Read its output with BashOutput, end it with KillShell."
            ));
        }
        let waited = tokio::select! {
            waited = tokio::time::timeout(timeout(input), self.wait(&terminal)) => waited,
            () = cancelled.cancelled() => {
                self.release(terminal).await;
                return Err("The command was interrupted.".to_owned());
            }
        };
        let output = self.output(&terminal).await;
        match (waited, output) {
            (Ok(Ok(())), Ok(output)) => {
                self.release(terminal).await;
                said(&output)
            }
            (Err(_), Ok(output)) if output.exit.is_none() => {
                let id = self.keep(terminal, line);
                let (text, seconds) = (told(&output), timeout(input).as_secs());
                Ok(format!(
                    "{text}\nCommand did not complete within its {seconds}s timeout and goes on in the background with ID: \
                     {id}. Read its output with BashOutput, end it with KillShell. Do not start a second copy while it runs."
                ))
            }
            (Err(_), Ok(output)) => {
                self.release(terminal).await;
                said(&output)
            }
            (Ok(Err(why)), _) | (_, Err(why)) => {
                self.release(terminal).await;
                Err(format!("The editor does not say what became of the command: {why}"))
            }
        }
    }

    pub(super) async fn bash_output(&self, input: &Value) -> Result<String, String> {
        let (id, terminal) = self.shell(input)?;
        let output = self.output(&terminal).await?;
        let text = told(&output);
        let Some(exit) = &output.exit else { return Ok(format!("[running]\n{text}")) };
        self.forget(&id, terminal).await;
        Ok(format!("[{}]\n{text}", in_words(exit)))
    }

    pub(super) async fn kill_shell(&self, input: &Value) -> Result<String, String> {
        let (id, terminal) = self.shell(input)?;
        // Nobody has to tell the model of an end that it wants itself.
        locked(&self.shells).terminals.remove(&id);
        let ended = terminal.clone();
        if let Err(why) = self.tools.ask(|answer| EditorRequest::Kill { terminal: ended, answer }).await {
            locked(&self.shells).terminals.insert(id, terminal);
            return Err(why);
        }
        let output = self.output(&terminal).await;
        self.release(terminal).await;
        Ok(format!("Command {id} was ended.\n{}", output.as_ref().map(told).unwrap_or_default()))
    }

    /// Ends all that runs in the background.
    pub(super) async fn end_shells(&self) {
        let terminals: Vec<String> = locked(&self.shells).terminals.drain().map(|(_, terminal)| terminal).collect();
        futures_util::future::join_all(terminals.into_iter().map(|terminal| self.release(terminal))).await;
    }

    /// The line in a shell, below a guard: whatever it starts is known as an agent's doing, has no token of ours, and ends
    /// with the terminal and with us.
    fn under_guard(&self, line: &str, folder: &Path) -> TerminalCommand {
        let own = std::process::id().to_string();
        let arguments = ["__guard", "--terminal", &own, "--", "bash", "-c", line].map(str::to_owned).into();
        TerminalCommand {
            program: self.tools.program.clone(),
            arguments,
            environment: vec![("CLAUDECODE".to_owned(), "1".to_owned())],
            folder: folder.to_owned(),
            most_output: MOST_KEPT,
        }
    }

    async fn wait(&self, terminal: &str) -> Result<(), String> {
        let terminal = terminal.to_owned();
        self.tools.ask(|answer| EditorRequest::WaitForExit { terminal, answer }).await
    }

    async fn output(&self, terminal: &str) -> Result<TerminalOutput, String> {
        let terminal = terminal.to_owned();
        self.tools.ask(|answer| EditorRequest::Output { terminal, answer }).await
    }

    async fn release(&self, terminal: String) {
        if let Err(why) = self.tools.ask(|answer| EditorRequest::Release { terminal, answer }).await {
            tracing::debug!("a terminal was not released: {why}");
        }
    }

    fn keep(&self, terminal: String, line: &str) -> String {
        let id = {
            let mut shells = locked(&self.shells);
            shells.count += 1;
            let id = format!("shell-{}", shells.count);
            shells.terminals.insert(id.clone(), terminal.clone());
            id
        };
        self.tell_when_ended(id.clone(), terminal, line.to_owned());
        id
    }

    /// Says when a command in the background has ended, unless the model has ended it or has seen its end.
    fn tell_when_ended(&self, id: String, terminal: String, line: String) {
        let (tools, shells, on_ended) = (self.tools.clone(), Arc::clone(&self.shells), Arc::clone(&self.on_ended));
        tokio::spawn(async move {
            let of = terminal.clone();
            if tools.ask(|answer| EditorRequest::WaitForExit { terminal: of, answer }).await.is_err() {
                return;
            }
            let of = terminal.clone();
            let output = tools.ask(|answer| EditorRequest::Output { terminal: of, answer }).await;
            if locked(&shells).terminals.get(&id) == Some(&terminal) {
                let exit = output.ok().and_then(|output| output.exit);
                on_ended(EndedCommand { id, line, how: exit.as_ref().map_or("Ended".to_owned(), in_words) });
            }
        });
    }

    async fn forget(&self, id: &str, terminal: String) {
        locked(&self.shells).terminals.remove(id);
        self.release(terminal).await;
    }

    fn shell(&self, input: &Value) -> Result<(String, String), String> {
        let id = input.get("id").and_then(Value::as_str).unwrap_or_default();
        let terminal = locked(&self.shells).terminals.get(id).cloned();
        terminal
            .map(|terminal| (id.to_owned(), terminal))
            .ok_or_else(|| format!("No command {id:?} runs in the background."))
    }
}

fn timeout(input: &Value) -> Duration {
    let wanted = input.get("timeout").and_then(Value::as_u64).filter(|wanted| *wanted > 0);
    wanted.map_or(TIMEOUT, |wanted| Duration::from_millis(wanted).min(LONGEST_TIMEOUT))
}

/// What a command that has ended has printed; an error where it failed.
fn said(output: &TerminalOutput) -> Result<String, String> {
    let text = told(output);
    match &output.exit {
        None | Some(ExitStatus { code: Some(0), .. }) | Some(ExitStatus { code: None, signal: None }) => Ok(text),
        Some(exit) => Err(format!("{}\n{text}", in_words(exit))),
    }
}

fn in_words(exit: &ExitStatus) -> String {
    match exit {
        ExitStatus { code: Some(code), .. } => format!("Exit code {code}"),
        ExitStatus { signal: Some(signal), .. } => format!("Ended by signal {}", visible(signal)),
        ExitStatus { .. } => "Ended".to_owned(),
    }
}

/// The end of what was printed.
fn told(output: &TerminalOutput) -> String {
    let text = output.text.trim_end();
    let start = text.len().saturating_sub(MOST_TOLD);
    let start = (start..=text.len()).find(|place| text.is_char_boundary(*place)).unwrap_or(text.len());
    let cut = if start > 0 || output.is_cut { "[Only the end of the output is shown.]\n" } else { "" };
    format!("{cut}{}", &text[start..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_that_failed_is_an_error_with_all_that_it_printed() {
        let output = |code, text: &str| TerminalOutput {
            text: text.to_owned(),
            is_cut: false,
            exit: Some(ExitStatus { code: Some(code), signal: None }),
        };
        assert_eq!(said(&output(0, "out\n")), Ok("out".to_owned()));
        assert_eq!(said(&output(3, "out\n")), Err("Exit code 3\nout".to_owned()));
        let long = told(&output(0, &"é".repeat(MOST_TOLD)));
        assert!(long.starts_with("[Only the end") && long.len() < MOST_TOLD + 100, "{}", long.len());
    }

    #[test]
    fn a_timeout_is_within_its_limits() {
        assert_eq!(timeout(&json!({})), TIMEOUT);
        assert_eq!(timeout(&json!({"timeout": 1000})), Duration::from_secs(1));
        assert_eq!(timeout(&json!({"timeout": 1_000_000_000_000_u64})), LONGEST_TIMEOUT);
        assert_eq!(timeout(&json!({"timeout": -1})), TIMEOUT);
    }
}
