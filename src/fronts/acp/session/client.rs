//! The Claude Code of a session: started, ready, gone, and ended with the session.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::StopReason;
use portcullis_core::visible;
use portcullis_wire::front::Command;
use serde_json::Value;

use super::super::servers::EditorServers;
use super::super::sessions::StartedClient;
use super::super::settings::commands;
use super::super::turns::PromptEnd;
use super::super::updates::words;
use super::Session;
use super::prompting::answer_all;
use crate::fronts::Launched;

impl Session {
    /// What became of the client that was started for a session which the editor knows already. Where there is none the
    /// next prompt tries it again.
    pub(in crate::fronts::acp) async fn started(&mut self, started: Result<StartedClient, Error>) {
        match started {
            Ok(started) => {
                if self.take(started) {
                    self.show_mode().await;
                    self.show_options().await;
                }
            }
            Err(error) => {
                let problem = format!("{}. Your next prompt tries it again", visible(&error.message));
                self.update(words(&format!("\n\n{problem}\n\n"))).await;
            }
        }
    }

    /// The client that the session has from now on. Whether it begins in another mode than the session was in.
    pub(in crate::fronts::acp) fn take(&mut self, started: StartedClient) -> bool {
        let is_other = started.launched.mode != self.settings.mode;
        self.settings.set_mode(started.launched.mode.clone());
        self.launched = Some(started.launched);
        self.servers = started.servers;
        is_other
    }

    pub(super) async fn ready(&mut self, offered: &Value) {
        self.is_ready = true;
        self.servers.were_read();
        self.settings.ready(offered);
        self.update(commands(&offered["commands"])).await;
        self.show_options().await;
    }

    /// The client is gone without being told to. What was wanted of it fails; the next prompt starts another.
    pub(super) async fn client_ended(&mut self) {
        let Some(launched) = self.launched.take() else { return };
        self.is_ready = false;
        self.servers = EditorServers::default();
        self.prompts.withdraw_all();
        self.open.clear();
        let updates = self.updates.client_ends();
        self.update_all(updates).await;
        self.end_compaction().await;
        let outcome = launched.running.outcome().await;
        let problem = match outcome {
            Ok((outcome, _)) => {
                let tail = visible(&outcome.stderr_tail);
                let what = outcome.problem.unwrap_or_else(|| "Claude Code ended".to_owned());
                if tail.is_empty() { what } else { format!("{what}; it said: {tail}") }
            }
            Err(error) => format!("{error:#}"),
        };
        let problem = format!("{problem}. Your next prompt goes on with the conversation in a new one");
        let ended: PromptEnd = Err(Error::new(-32603, problem.clone()));
        for (_, answer) in self.changes.drain().map(|(_, change)| change) {
            answer.refuse(&problem);
        }
        if !self.turns.is_open() {
            self.update(words(&format!("\n\n{problem}\n\n"))).await;
        }
        answer_all(self.turns.fail(&ended));
    }

    pub(super) async fn end(mut self) {
        self.prompts.withdraw_all();
        answer_all(self.turns.fail(&Ok(StopReason::Cancelled)));
        let Some(Launched { told, command, running, .. }) = self.launched.take() else { return };
        drop(command.send(Command::End).await);
        drop(told);
        if let Err(error) = running.outcome().await {
            tracing::warn!("ending a session: {error:#}");
        }
    }
}
