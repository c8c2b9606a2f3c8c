//! Prompts of the editor: begun, taken back, and answered when their turns have ended.

use std::sync::Arc;

use agent_client_protocol::v1::schema::{PromptResponse, StopReason};
use portcullis_wire::front::{Command, PromptWords};
use tokio::sync::mpsc;

use super::super::client_tools::ClientTools;
use super::super::history;
use super::super::sessions::{Sessions, Wish};
use super::super::turns::PromptEnd;
use super::{Prompter, Session, Wanted};

impl Session {
    /// A prompt also starts a client where the last one is gone, and goes on with the conversation there.
    pub(super) async fn prompt(
        &mut self,
        words: PromptWords,
        prompter: Prompter,
        sessions: &Arc<Sessions>,
        back: &mpsc::WeakSender<Wanted>,
    ) {
        if self.launched.is_none() {
            let from = history::gone_on_with(self.conversation().to_owned());
            let (mode, model) = (self.settings.settled_mode(), self.settings.chosen_model());
            let tools = ClientTools { editor: self.editor.clone(), session: self.id.clone(), back: back.clone() };
            let prepared = sessions.prepare(&self.place, Wish { from, mode, model }, tools, None);
            let started = match prepared {
                Ok(prepared) => sessions.launch(prepared).await,
                Err(error) => Err(error),
            };
            match started {
                Ok(started) => {
                    if self.take(started) {
                        self.show_mode().await;
                        self.show_options().await;
                    }
                }
                Err(error) => return drop(prompter.responder.respond_with_error(error)),
            }
        }
        self.turns.begin(words.uuid.clone().unwrap_or_default(), prompter);
        self.want(Command::Prompt(words)).await;
    }

    pub(super) async fn cancel(&mut self) {
        let waiting = self.turns.cancel();
        if !self.is_ready {
            // The client has taken nothing yet, and will not.
            self.want(Command::Interrupt).await;
            return answer_all(self.turns.fail(&Ok(StopReason::Cancelled)));
        }
        for uuid in waiting {
            self.want(Command::Withdraw { uuid }).await;
        }
        self.want(Command::Interrupt).await;
    }

    /// A prompt that waits is only taken back; one that the client works on ends with its turn.
    pub(super) async fn cancel_prompt(&mut self, uuid: String) {
        if !self.turns.has(&uuid) {
            return;
        }
        match self.is_ready && self.turns.withdraw(&uuid) {
            true => self.want(Command::Withdraw { uuid }).await,
            false => self.cancel().await,
        }
    }
}

pub(super) fn answer_all(ended: Vec<(Prompter, PromptEnd)>) {
    for (prompter, ended) in ended {
        drop(prompter.responder.respond_with_result(ended.map(PromptResponse::new)));
    }
}
