//! What a front of ours is told of the prompts, and what an answer that was given there counts.

use std::time::Duration;

use portcullis_core::{AskId, Behavior, Code, Ruling};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::front::PromptNews;

use super::Gatekeeper;

/// A gate that is there answers within this.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// The person at a front of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Front {
    /// Nobody is there.
    #[default]
    None,
    /// They see prompts. Only answers of those who may answer come from there.
    Answers,
}

impl Gatekeeper {
    pub(super) fn show(&self, ask: AskId, code: Option<Code>) {
        let new = {
            let mut state = self.state();
            let Some(open) = state.calls.ask(ask) else { return };
            open.is_registered |= code.is_some();
            if std::mem::replace(&mut open.is_shown, true) {
                return;
            }
            open.new.clone()
        };
        self.tell(PromptNews::Asked { ask: Box::new(new), code });
    }

    pub(super) fn withdrawn(&self, ask: AskId, why: &str) {
        self.tell(PromptNews::Withdrawn { ask, why: why.to_owned() });
    }

    /// Someone at a front of ours answered. The gate decides whether that was the first, and whether it is enough; while
    /// it is away, a denial counts at once, and an allow where nobody else can have spoken.
    pub(crate) async fn answer_here(&self, ask: AskId, ruling: Ruling) {
        let mut answering = std::pin::pin!(self.session.answer(ask, ruling.clone(), None));
        let answered = match tokio::time::timeout(ANSWER_TIMEOUT, &mut answering).await {
            Ok(answered) => answered,
            Err(_) => {
                self.count_here(ask, ruling);
                // It is on its way to the gate all the same, and comes on record there.
                match answering.await {
                    // Whoever was faster is named by their own verdict.
                    Err(fault) if fault.error == Kind::Settled.entry().0 => Ok(()),
                    answered => answered,
                }
            }
        };
        if let Err(fault) = answered {
            self.tell(PromptNews::NotTaken { ask, fault });
        }
    }

    /// Someone behind a channel server answered. Only the gate can tell whether it counts: while it is away, this waits.
    pub(crate) async fn answer_by_channel(&self, ask: AskId, ruling: Ruling, channel: &str) -> Result<(), Fault> {
        self.session.answer(ask, ruling, Some(channel.to_owned())).await
    }

    fn count_here(&self, ask: AskId, ruling: Ruling) {
        let why = {
            let mut state = self.state();
            let Some(open) = state.calls.ask(ask) else { return };
            why_not_alone(self.settings.front, open.new.details.quorum, open.is_registered, ruling.behavior)
        };
        match why {
            None => self.verdict(ask, ruling),
            Some(why) => {
                let fault = Fault::new(Kind::Stopping, format!("the gate does not answer, and {why}"));
                self.tell(PromptNews::NotTaken { ask, fault });
            }
        }
    }

    pub(super) fn tell(&self, news: PromptNews) {
        if let Some(listener) = &self.news {
            // Whoever listens may be gone; the session goes on without.
            drop(listener.send(news));
        }
    }
}

/// What keeps an answer given at a front from counting without the gate. A denial is safe whatever others have said.
pub(super) fn why_not_alone(front: Front, quorum: u8, is_registered: bool, behavior: Behavior) -> Option<String> {
    if front != Front::Answers {
        return Some("prompts are not answered here".to_owned());
    }
    if behavior == Behavior::Deny {
        return None;
    }
    let passed_on = "yours counts there once it is back; a no counts at once";
    match quorum {
        2.. => Some(format!("this wants {quorum} people; {passed_on}")),
        _ if is_registered => Some(format!("someone may have answered there; {passed_on}")),
        _ => None,
    }
}
