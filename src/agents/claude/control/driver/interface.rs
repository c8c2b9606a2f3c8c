//! What goes in and out of a driven session, and what comes back to it from other tasks.

use std::collections::VecDeque;
use std::path::PathBuf;

use bytes::Bytes;
use portcullis_core::OrderId;
use portcullis_wire::control::{ClientNotice, Message};
use portcullis_wire::front::PromptNews;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::agents::claude::control::requests::NoAnswer;
use crate::agents::claude::editor::{EditorTools, EndedCommand};
use crate::agents::claude::hosted::StartedChannels;
use crate::agents::claude::process::StderrTail;
use crate::session::gatekeeper::{GatekeeperSettings, Judge};

/// What a session starts with, besides the client.
pub(crate) struct Start {
    pub(crate) folder: PathBuf,
    /// What the person at the front that started it is called.
    pub(crate) front: &'static str,
    /// What to say first.
    pub(crate) prompt: Option<String>,
    /// Who says it; none: the person at that front.
    pub(crate) prompt_by: Option<String>,
    /// The session ends when there is nothing more to do.
    pub(crate) once: bool,
    /// The owner has opted in to a mode in which nothing is asked.
    pub(crate) allow_bypass: bool,
    pub(crate) gatekeeper: GatekeeperSettings,
    /// How often one sender may begin a turn of an idle session in an hour.
    pub(crate) wakes_per_hour: usize,
    /// What the owner says about messages from outside.
    pub(crate) instructions: String,
    pub(crate) judge: Judge,
    /// Channel servers that are for the session.
    pub(crate) channels: Option<StartedChannels>,
    /// Prompts may be answered through them.
    pub(crate) channels_answer: bool,
    /// What goes through the editor at the front that starts it.
    pub(crate) editor: Option<EditorTools>,
}

/// What whoever started the session is told.
#[derive(Debug)]
pub(crate) enum Told {
    Message {
        line: Bytes,
        message: Box<Message>,
    },
    Prompt(PromptNews),
    /// Someone else than this front put words before the model.
    Said {
        by: String,
        text: String,
        /// The same as a note at a terminal.
        note: String,
    },
    /// What the client itself tells the person.
    Client {
        notice: ClientNotice,
        /// The same as a note at a terminal.
        note: String,
    },
    /// The client is ready, and says what it offers: commands, models. Only the front that started the session is told.
    Ready(Box<Value>),
    /// What became of a request of the front that started the session: why it was refused, where it was.
    Answered {
        request: u64,
        refused: Option<String>,
    },
    /// The client has nothing to do.
    Idle,
    Notice(String),
}

/// What a front was told and has not taken, in its order.
#[derive(Debug, Default)]
pub(crate) struct Untold(VecDeque<Told>);

/// A front that takes nothing is not told more than this of what people say elsewhere. While there is any of it the client
/// is not read, so prompts stay few.
const MOST_UNTOLD: usize = 1024;

impl Untold {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where it is full the oldest goes that is no prompt: someone has to answer those.
    pub(crate) fn push(&mut self, told: Told) {
        let is_full = self.0.len() >= MOST_UNTOLD;
        if is_full && let Some(place) = self.0.iter().position(|told| !matches!(told, Told::Prompt(_))) {
            self.0.remove(place);
        }
        self.0.push_back(told);
    }

    /// The front takes the next. May be dropped while waiting.
    pub(crate) async fn pass_on(&mut self, front: &mpsc::Sender<Told>) {
        match (front.reserve().await, self.0.pop_front()) {
            (Ok(place), Some(told)) => place.send(told),
            // Nobody listens any more: the session goes on without.
            _ => self.0.clear(),
        }
    }

    /// The front takes what it has room for.
    pub(super) fn pass_on_at_once(&mut self, front: &mpsc::Sender<Told>) {
        while let Ok(place) = front.try_reserve()
            && let Some(told) = self.0.pop_front()
        {
            place.send(told);
        }
        if front.is_closed() {
            self.0.clear();
        }
    }
}

/// How a session ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The client's own id of the conversation, once it has had a turn.
    pub(crate) agent_session: Option<String>,
    /// The client's last `result`.
    pub(crate) result: Option<(Bytes, Message)>,
    /// Someone interrupted the last turn.
    pub(crate) interrupted: bool,
    /// Someone denied a call and ended the last turn with it.
    pub(crate) denied: bool,
    pub(crate) stderr_tail: StderrTail,
    /// Why it had to end, where something went wrong.
    pub(crate) problem: Option<String>,
}

/// Who wants a session to change, and is told what became of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wants {
    /// The front that started it, by its number of the request.
    Front(u64),
    Gate(Option<OrderId>),
}

/// What comes back to the session from other tasks.
pub(super) enum TaskMessage {
    Initialized(Result<Value, NoAnswer>),
    /// A request of the client has its answer.
    Answered {
        request: String,
        /// The answer was a denial that ends the turn.
        ends_turn: bool,
    },
    /// The client has taken the mode that someone wanted.
    ModeIs(String),
    /// What became of a change that someone wanted.
    Set {
        wants: Wants,
        answer: Result<(), String>,
    },
    Notice(String),
    /// A command that the model left in the background of the editor has ended.
    CommandEnded(EndedCommand),
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::{AskId, Moment};

    #[test]
    fn a_front_that_takes_nothing_is_still_told_of_every_prompt_and_of_little_else() {
        let mut untold = Untold::default();
        let prompt =
            |number| Told::Prompt(PromptNews::Withdrawn { ask: AskId::new(Moment(number), 0), why: "x".to_owned() });
        untold.push(prompt(1));
        for number in 0..5000 {
            untold.push(Told::Notice(number.to_string()));
        }
        untold.push(prompt(2));
        assert_eq!(untold.0.len(), MOST_UNTOLD);
        assert_eq!(untold.0.iter().filter(|told| matches!(told, Told::Prompt(_))).count(), 2);
    }
}
