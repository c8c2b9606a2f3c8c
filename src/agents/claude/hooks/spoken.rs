//! Whether the person at the terminal has spoken. A hook is told a prompt, and not who made it: the transcript says so, a
//! little later. Only then the outside guard ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use portcullis_wire::hooks::{HookCall, HookEvent};

use super::{CalledBy, HookSession};
use crate::agents::claude::transcript::{PromptOrigin, Transcripts};
use crate::processes::{AgentAbove, Ancestry};
use crate::session::gatekeeper::AT_THE_TERMINAL;

/// The client writes its transcript within a tenth of a second. A call is judged after that, or asked for.
const WRITTEN_WITHIN: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A prompt that may be a person's.
pub(super) struct Spoken {
    conversation: String,
    prompt: String,
    /// Where the transcript ended when it was submitted.
    from: u64,
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
        let texts = self.gatekeeper.outside().texts();
        let conversation = call.session_id.clone().unwrap_or_default();
        let at = conversation.clone();
        let from = self.look(move |transcripts| transcripts.length(&at)).await;
        match from {
            Some(from) => {
                let (prompt, was_waited_for) = (call.prompt.clone(), AtomicBool::new(false));
                self.state().spoken = Some(Arc::new(Spoken { conversation, prompt, from, texts, was_waited_for }));
            }
            // The first prompt of a conversation, and a client that keeps no transcript: nothing else tells.
            None if self.place.lets_count(PromptOrigin::Program) => {
                self.gatekeeper.outside().end_after(AT_THE_TERMINAL, texts);
            }
            None => {}
        }
    }

    /// The guard ends if the person has spoken since it was raised. A call that it would hold up waits for the transcript.
    pub(super) async fn settle_spoken(&self, event: HookEvent) {
        let holds_up = matches!(event, HookEvent::PreToolUse | HookEvent::PermissionRequest)
            && self.gatekeeper.outside().is_raised();
        let deadline = tokio::time::Instant::now() + WRITTEN_WITHIN;
        // Calls of one message come at once, and each looks.
        while let Some(spoken) = self.spoken() {
            let asked = spoken.clone();
            let origin = self.look(move |all| all.origin_of(&asked.conversation, asked.from, &asked.prompt)).await;
            if let Some(origin) = origin {
                if self.place.lets_count(origin) {
                    self.gatekeeper.outside().end_after(AT_THE_TERMINAL, spoken.texts);
                }
                // One that was submitted meanwhile stays.
                self.state().spoken.take_if(|known| Arc::ptr_eq(known, &spoken));
                continue;
            }
            if !holds_up || spoken.was_waited_for.load(Ordering::Relaxed) {
                return;
            }
            if tokio::time::Instant::now() >= deadline {
                spoken.was_waited_for.store(true, Ordering::Relaxed);
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn spoken(&self) -> Option<Arc<Spoken>> {
        self.state().spoken.clone()
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
