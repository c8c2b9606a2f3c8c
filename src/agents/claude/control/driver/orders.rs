//! What is wanted of a running session: by whoever started it, and by people at the gate.

use std::sync::Arc;

use portcullis_core::Order;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{Command, Driver, Word};
use crate::agents::claude::control::requests::REQUEST_TIMEOUT;

impl Driver {
    pub(super) fn commanded(&mut self, command: Command) {
        match command {
            Command::Prompt(text) => self.user(&text),
            Command::Answer { ask, ruling } => {
                let gatekeeper = Arc::clone(&self.gatekeeper);
                tokio::spawn(async move { gatekeeper.answer_here(ask, ruling).await });
            }
            Command::Interrupt => self.interrupt(),
            Command::Finish => self.start.once = true,
            Command::End => self.ends_now = true,
        }
    }

    pub(super) fn ordered(&mut self, order: Order) {
        match order {
            Order::Prompt { text, by } => {
                self.notice(format!("{by} says: {}", text.as_str()));
                self.user(text.as_str());
            }
            Order::Interrupt => self.interrupt(),
            Order::Mode(mode) => self.set_mode(mode),
            Order::Model(model) => self.ask_client("set_model", "model", json!(model)),
            Order::Stop { by } => self.gatekeeper.stop(by),
            Order::Resume => self.gatekeeper.resume(),
            Order::End => {
                self.interrupt_if_busy();
                self.start.once = true;
                self.ending = Some(Instant::now());
            }
        }
    }

    fn interrupt(&mut self) {
        self.interrupted = self.is_busy;
        let asking = self.control.request("interrupt", Map::new(), REQUEST_TIMEOUT);
        tokio::spawn(async move {
            if let Err(error) = asking.await {
                tracing::warn!(%error, "interrupting the turn");
            }
        });
    }

    fn interrupt_if_busy(&mut self) {
        if self.is_busy {
            self.interrupt();
        }
    }

    /// The owner opts in to a mode without prompts in the configuration; nobody switches to it otherwise.
    fn set_mode(&mut self, mode: String) {
        if mode == "bypassPermissions" && !self.start.allow_bypass {
            return self.notice("mode bypassPermissions needs `allow_bypass = true` in your configuration".to_owned());
        }
        let asking = self.control.request("set_permission_mode", one("mode", json!(mode)), REQUEST_TIMEOUT);
        let words = self.words.clone();
        tokio::spawn(async move {
            let word = match asking.await {
                Ok(_) => Word::ModeIs(mode),
                Err(error) => Word::Notice(format!("the mode stays as it is: {error}")),
            };
            words.send(word).await
        });
    }

    fn ask_client(&self, subtype: &'static str, field: &str, value: Value) {
        let asking = self.control.request(subtype, one(field, value), REQUEST_TIMEOUT);
        let words = self.words.clone();
        tokio::spawn(async move {
            if let Err(error) = asking.await {
                drop(words.send(Word::Notice(format!("{subtype}: {error}"))).await);
            }
        });
    }
}

fn one(field: &str, value: Value) -> Map<String, Value> {
    [(field.to_owned(), value)].into_iter().collect()
}
