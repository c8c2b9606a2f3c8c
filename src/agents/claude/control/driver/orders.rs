//! What is wanted of a running session: by whoever started it, and by people at the gate.

use std::sync::Arc;

use portcullis_core::policy::Mode;
use portcullis_core::{Order, OrderId, OrderOutcome};
use portcullis_wire::front::Command;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{Driver, TaskMessage, Told};
use crate::agents::claude::control::requests::{NoAnswer, REQUEST_TIMEOUT};
use crate::session::gatekeeper::AT_THE_TERMINAL;

impl Driver {
    pub(super) fn commanded(&mut self, command: Command) {
        match command {
            Command::Prompt { text } => self.user(AT_THE_TERMINAL, &text, None),
            Command::Answer { ask, ruling } => {
                let gatekeeper = Arc::clone(&self.gatekeeper);
                tokio::spawn(async move { gatekeeper.answer_here(ask, *ruling).await });
            }
            Command::Interrupt => self.interrupt(None),
            Command::Finish => self.once = true,
            Command::End => self.ends_now = true,
        }
    }

    pub(super) fn ordered(&mut self, id: Option<OrderId>, order: Order) {
        match order {
            Order::Prompt { text, by } => {
                self.tell(Told::Notice(format!("{by} says: {}", text.as_str())));
                self.user(&by, text.as_str(), id);
            }
            Order::Interrupt => self.interrupt(id),
            Order::Mode(mode) => self.set_mode(id, mode),
            Order::Model(model) => self.set_model(id, model.as_deref()),
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

    /// The owner opts in to a mode without prompts in the configuration; nobody switches to it otherwise.
    fn set_mode(&mut self, order: Option<OrderId>, mode: String) {
        if mode == Mode::BypassPermissions.name() && !self.allow_bypass {
            let why = "mode bypassPermissions needs `allow_bypass = true` in your configuration";
            self.report(order, OrderOutcome::Failed { why: why.to_owned() });
            return self.notice(why.to_owned());
        }
        let asking = self.control.request("set_permission_mode", one("mode", json!(mode)), REQUEST_TIMEOUT);
        let (messages, gate) = (self.task_messages.clone(), self.gate.clone());
        tokio::spawn(async move {
            let answer = asking.await;
            let message = match &answer {
                Ok(_) => TaskMessage::ModeIs { mode, order },
                Err(error) => {
                    gate.ordered(order, outcome_of(&answer)).await;
                    TaskMessage::Notice(format!("the mode stays as it is: {error}"))
                }
            };
            messages.send(message).await
        });
    }

    fn set_model(&self, order: Option<OrderId>, model: Option<&str>) {
        let asking = self.control.request("set_model", one("model", json!(model)), REQUEST_TIMEOUT);
        let (messages, gate) = (self.task_messages.clone(), self.gate.clone());
        tokio::spawn(async move {
            let answer = asking.await;
            gate.ordered(order, outcome_of(&answer)).await;
            if let Err(error) = answer {
                drop(messages.send(TaskMessage::Notice(format!("the model stays as it is: {error}"))).await);
            }
        });
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
