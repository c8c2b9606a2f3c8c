//! Whether the person at the terminal has spoken. A hook is told a prompt, and not who made it: the transcript says so, a
//! little later. Only then the outside guard ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use portcullis_wire::hooks::{HookCall, HookEvent};

use super::{CalledBy, HookSession};
use crate::agents::claude::transcript::{PromptOrigin, SubmittedPrompt, Transcripts};
use crate::mint::now;
use crate::processes::{AgentAbove, Ancestry};
use crate::session::gatekeeper::AT_THE_TERMINAL;

/// The client writes its transcript within a tenth of a second. A call is judged after that, or asked for.
const WRITTEN_WITHIN: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How many prompts wait to be found in the transcript.
const MOST_WAITING: usize = 8;
/// In milliseconds: a prompt is submitted so long after it was said, at the most, where nothing says more.
const SAID_WITHIN: u64 = 60_000;

/// A prompt that may be a person's.
pub(super) struct Spoken {
    prompt: SubmittedPrompt,
    /// How many texts from outside the model had been given. What came later it does not answer.
    texts: u64,
    /// A call has waited in vain for the transcript to tell of it. No other does.
    was_waited_for: AtomicBool,
}

/// Whose prompts the client is given, by where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientPlace {
    Person,
    /// Nobody knows who started it: what it was started with is nobody's word.
    Unknown,
    /// An agent runs it, and says what it is given.
    InsideAgent,
}

impl ClientPlace {
    /// That of the client above this process.
    pub(super) fn of_this_process() -> Self {
        let Some(AgentAbove::ClaudeCode(client)) = Ancestry::of(std::process::id()).agent() else {
            return Self::Person;
        };
        let ancestry = Ancestry::of(client);
        match (ancestry.agent(), ancestry.gap()) {
            (Some(_), _) => Self::InsideAgent,
            (None, Some(_)) => Self::Unknown,
            (None, None) => Self::Person,
        }
    }

    fn lets_count(self, origin: PromptOrigin) -> bool {
        match origin {
            PromptOrigin::Typed | PromptOrigin::Untold => self != Self::InsideAgent,
            PromptOrigin::Program => self == Self::Person,
            PromptOrigin::Client => false,
        }
    }
}

impl HookSession {
    /// A prompt is submitted.
    pub(super) async fn note_prompt(&self, call: &HookCall, by: CalledBy) {
        let may_be_spoken = {
            let scheduled = &self.state().scheduled_prompts;
            // With more prompts scheduled than are remembered, this may be one of them.
            by == CalledBy::Client
                && !call.is_notification()
                && !scheduled.is_full()
                && !scheduled.contains(&call.prompt)
        };
        if !may_be_spoken {
            return;
        }
        let outside = self.gatekeeper.outside();
        let (texts, raised) = (outside.texts(), outside.raised_at());
        let conversation = call.session_id.clone().unwrap_or_default();
        let at = conversation.clone();
        let from = self.look(move |transcripts| transcripts.length(&at)).await;
        match from {
            Some(from) => {
                let after = raised.map_or(now().0.saturating_sub(SAID_WITHIN), |raised| raised.0);
                let prompt = SubmittedPrompt { conversation, text: call.prompt.clone(), from, after };
                let spoken = Arc::new(Spoken { prompt, texts, was_waited_for: AtomicBool::new(false) });
                let waiting = &mut self.state().spoken;
                waiting.push(spoken);
                let surplus = waiting.len().saturating_sub(MOST_WAITING);
                waiting.drain(..surplus);
            }
            // The first prompt of a conversation, and a client that keeps no transcript: nothing else tells.
            None if self.place.lets_count(PromptOrigin::Program) => outside.end_after(AT_THE_TERMINAL, texts),
            None => {}
        }
    }

    /// The guard ends if the person has spoken since it was raised. What it would hold up waits for the transcript, and so
    /// does the end of a turn.
    pub(super) async fn settle_spoken(&self, event: HookEvent) {
        let waits = matches!(event, HookEvent::PreToolUse | HookEvent::PermissionRequest | HookEvent::Stop);
        let deadline = tokio::time::Instant::now() + WRITTEN_WITHIN;
        loop {
            // Calls of one message come at once, and each looks.
            let waiting = self.state().spoken.clone();
            for spoken in &waiting {
                self.look_for(spoken).await;
            }
            let is_open = |spoken: &Arc<Spoken>| !spoken.was_waited_for.load(Ordering::Relaxed);
            let is_awaited = self.state().spoken.iter().any(is_open);
            if !waits || !is_awaited || !self.gatekeeper.outside().is_raised() {
                return;
            }
            if tokio::time::Instant::now() >= deadline {
                self.state().spoken.iter().for_each(|spoken| spoken.was_waited_for.store(true, Ordering::Relaxed));
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn look_for(&self, spoken: &Arc<Spoken>) {
        let prompt = spoken.prompt.clone();
        let Some(origin) = self.look(move |transcripts| transcripts.origin_of(&prompt)).await else { return };
        if self.place.lets_count(origin) {
            self.gatekeeper.outside().end_after(AT_THE_TERMINAL, spoken.texts);
        }
        self.state().spoken.retain(|known| !Arc::ptr_eq(known, spoken));
    }

    async fn look<T: Send + 'static>(&self, at: impl FnOnce(&Transcripts) -> Option<T> + Send + 'static) -> Option<T> {
        let transcripts = self.transcripts.clone()?;
        tokio::task::spawn_blocking(move || at(&transcripts)).await.ok()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_person_speaks_for_themselves() {
        use PromptOrigin::{Client, Program, Typed, Untold};
        let counts = |place: ClientPlace| [Typed, Program, Untold, Client].map(|origin| place.lets_count(origin));
        assert_eq!(counts(ClientPlace::Person), [true, true, true, false]);
        assert_eq!(counts(ClientPlace::Unknown), [true, false, true, false]);
        assert_eq!(counts(ClientPlace::InsideAgent), [false; 4]);
    }
}
