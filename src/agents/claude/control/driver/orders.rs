//! What is wanted of a running session: by whoever started it, and by people at the gate.

use std::sync::Arc;

use portcullis_core::policy::Mode;
use portcullis_core::{Order, OrderId, OrderOutcome};
use portcullis_wire::front::Command;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{Driver, TaskMessage, Told, Wants};
use crate::agents::claude::control::requests::{NoAnswer, REQUEST_TIMEOUT};

impl Driver {
    pub(super) fn commanded(&mut self, command: Command) {
        match command {
            Command::Prompt(words) => self.user(self.front, words, None),
            Command::Answer { ask, ruling } => {
                let gatekeeper = Arc::clone(&self.gatekeeper);
                tokio::spawn(async move { gatekeeper.answer_here(ask, *ruling).await });
            }
            Command::Interrupt => self.interrupt(None),
            Command::SetMode { request, mode } => self.set_mode(Wants::Front(request), mode),
            Command::SetModel { request, model } => self.set_model(Wants::Front(request), model.as_deref()),
            Command::Withdraw { uuid } => self.withdraw(&uuid),
            Command::Finish => self.once = true,
            Command::End => self.ends_now = true,
        }
    }

    pub(super) fn ordered(&mut self, id: Option<OrderId>, order: Order) {
        match order {
            Order::Prompt { text, by } => {
                let text = text.as_str().to_owned();
                let note = format!("{by} says: {text}");
                self.tell(Told::Said { by: by.clone(), text: text.clone(), note });
                self.user(&by, text.into(), id);
            }
            Order::Interrupt => self.interrupt(id),
            Order::Mode(mode) => self.set_mode(Wants::Gate(id), mode),
            Order::Model(model) => self.set_model(Wants::Gate(id), model.as_deref()),
            Order::Stop { by } => {
                self.gatekeeper.stop(by);
                self.report(id, OrderOutcome::Done);
            }
            Order::Resume => {
                self.gatekeeper.resume();
                self.report(id, OrderOutcome::Done);
            }
            Order::End => {
                if self.is_busy {
                    self.interrupt(None);
                }
                self.once = true;
                self.ending = Some(Instant::now());
                self.end_orders.extend(id);
            }
        }
    }

    /// Tells the gate what became of an order.
    pub(super) fn report(&self, order: Option<OrderId>, outcome: OrderOutcome) {
        let gate = self.gate.clone();
        tokio::spawn(async move { gate.ordered(order, outcome).await });
    }

    fn interrupt(&mut self, order: Option<OrderId>) {
        self.interrupted = self.is_busy;
        // Nothing of it has reached the client yet.
        if !self.is_ready && !self.waiting.is_empty() {
            self.waiting.clear();
            self.set_busy(false);
        }
        let asking = self.control.request("interrupt", Map::new(), REQUEST_TIMEOUT);
        let gate = self.gate.clone();
        tokio::spawn(async move {
            let answer = asking.await;
            if let Err(error) = &answer {
                tracing::warn!(%error, "interrupting the turn");
            }
            gate.ordered(order, outcome_of(&answer)).await;
        });
    }

    /// The client forgets words that it has not taken yet. What becomes of them it tells by their id.
    fn withdraw(&self, uuid: &str) {
        let asking = self.control.request("cancel_async_message", one("message_uuid", json!(uuid)), REQUEST_TIMEOUT);
        tokio::spawn(async move {
            if let Err(error) = asking.await {
                tracing::debug!(%error, "taking words back");
            }
        });
    }

    /// The owner opts in to a mode without prompts in the configuration; nobody switches to it otherwise.
    fn set_mode(&mut self, wants: Wants, mode: String) {
        if mode == Mode::BypassPermissions.name() && !self.allow_bypass {
            let why = "mode bypassPermissions needs `allow_bypass = true` in your configuration";
            return self.answer(wants, Err(why.to_owned()));
        }
        let asking = self.control.request("set_permission_mode", one("mode", json!(mode)), REQUEST_TIMEOUT);
        let messages = self.task_messages.clone();
        tokio::spawn(async move {
            let answer = match asking.await {
                Ok(_) => {
                    drop(messages.send(TaskMessage::ModeIs(mode)).await);
                    Ok(())
                }
                Err(error) => Err(format!("the mode stays as it is: {error}")),
            };
            messages.send(TaskMessage::Set { wants, answer }).await
        });
    }

    fn set_model(&self, wants: Wants, model: Option<&str>) {
        let asking = self.control.request("set_model", one("model", json!(model)), REQUEST_TIMEOUT);
        let messages = self.task_messages.clone();
        tokio::spawn(async move {
            let answer = asking.await.map(drop).map_err(|error| format!("the model stays as it is: {error}"));
            messages.send(TaskMessage::Set { wants, answer }).await
        });
    }

    /// Tells whoever wanted it what became of a change of the session.
    pub(super) fn answer(&mut self, wants: Wants, answer: Result<(), String>) {
        match wants {
            Wants::Front(request) => self.tell(Told::Answered { request, refused: answer.err() }),
            Wants::Gate(order) => {
                let outcome = match &answer {
                    Ok(()) => OrderOutcome::Done,
                    Err(why) => OrderOutcome::Failed { why: why.clone() },
                };
                self.report(order, outcome);
                if let Err(why) = answer {
                    self.notice(why);
                }
            }
        }
    }
}

/// What the client's answer to a request makes of the order behind it.
fn outcome_of(answer: &Result<Value, NoAnswer>) -> OrderOutcome {
    match answer {
        Ok(_) => OrderOutcome::Done,
        Err(error) => OrderOutcome::Failed { why: error.to_string() },
    }
}

fn one(field: &str, value: Value) -> Map<String, Value> {
    [(field.to_owned(), value)].into_iter().collect()
}
