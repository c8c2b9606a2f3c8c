//! The conversations of one session: which of them it is in, and which were cleared.

use std::collections::HashSet;

use portcullis_core::ConversationOrigin;
use portcullis_wire::hooks::HookCall;

use super::{CalledBy, HookAnswer, HookSession};

const MOST_REMEMBERED: usize = 256;

/// What is known of the conversations, to tell one that is new and empty from one that somebody only says is.
#[derive(Default)]
pub(super) struct Conversations {
    /// Ids under which a conversation went on, was started or was resumed: none of them is empty.
    known: HashSet<String>,
    /// The id of a conversation that was cleared, by the word of a process that may be the agent's own. It counts once the
    /// client itself uses that id.
    cleared: Option<String>,
}

impl Conversations {
    pub(super) fn with(known: Option<String>) -> Self {
        Self { known: known.into_iter().collect(), cleared: None }
    }

    fn note(&mut self, id: Option<&String>) {
        self.known.extend(id.filter(|_| self.known.len() < MOST_REMEMBERED).cloned());
    }

    /// With more conversations than are remembered, this may be one of them.
    fn may_be_new(&self, id: &String) -> bool {
        self.known.len() < MOST_REMEMBERED && !self.known.contains(id)
    }

    /// A process says how a conversation began: anew after another was cleared, or in another way.
    fn on_start(&mut self, id: Option<&String>, is_cleared: bool) {
        self.cleared = id.filter(|id| is_cleared && self.may_be_new(id)).cloned();
        if !is_cleared {
            self.note(id);
        }
    }

    /// The client itself calls from this conversation. True when it was said to be cleared, and so it is.
    fn on_client_call(&mut self, id: Option<&String>) -> bool {
        let was_cleared = self.cleared.take_if(|cleared| Some(&*cleared) == id).is_some();
        let is_new = id.is_some_and(|id| self.may_be_new(id));
        self.note(id);
        was_cleared && is_new
    }
}

impl HookSession {
    pub(super) fn session_start(&self, call: &HookCall, by: CalledBy) -> HookAnswer {
        // A conversation that was cleared goes on under another id. What only says so lifts nothing.
        let is_another = call.session_id.is_some() && call.session_id != self.session.about().agent_session;
        let is_cleared = call.source.as_deref() == Some("clear");
        let origin = match is_cleared {
            true if is_another => Some(ConversationOrigin::Cleared),
            _ if call.is_fork() => Some(ConversationOrigin::Forked),
            _ => None,
        };
        self.state().conversations.on_start(call.session_id.as_ref(), is_cleared);
        let is_doubtful = by == CalledBy::AnyProcess && is_cleared;
        self.begin_conversation(call.session_id.as_ref(), origin.filter(|_| !is_doubtful));
        if call.source.as_deref() != Some("compact") {
            let mut state = self.state();
            state.inbox.on_new_conversation();
            state.knows_instructions = false;
            drop(state);
            self.gatekeeper.withdraw_asks(|_| true, "the conversation began anew");
        }
        self.changed.notify_one();
        HookAnswer::default()
    }

    fn begin_conversation(&self, agent_session: Option<&String>, origin: Option<ConversationOrigin>) {
        let is_another = agent_session.is_some() && agent_session != self.session.about().agent_session.as_ref();
        if is_another || origin.is_some() {
            self.gatekeeper.outside().on_another_conversation(origin == Some(ConversationOrigin::Cleared));
        }
        if let Some(agent_session) = agent_session {
            self.session.describe(|about| {
                about.agent_session = Some(agent_session.clone());
                about.origin = if is_another { origin } else { origin.or(about.origin) };
            });
        }
    }

    /// The client itself goes on under the id of a conversation that someone said was cleared: it was.
    pub(super) fn confirm_cleared(&self, call: &HookCall) {
        let is_confirmed = self.state().conversations.on_client_call(call.session_id.as_ref());
        if is_confirmed {
            self.begin_conversation(call.session_id.as_ref(), Some(ConversationOrigin::Cleared));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> Option<String> {
        Some(name.to_owned())
    }

    #[test]
    fn a_conversation_is_cleared_once_the_client_goes_on_under_an_id_it_never_had() {
        let mut conversations = Conversations::with(id("first"));
        conversations.on_start(id("second").as_ref(), true);
        assert!(!conversations.on_client_call(id("first").as_ref()), "it goes on in the old one");
        assert!(conversations.on_client_call(id("second").as_ref()));
        assert!(!conversations.on_client_call(id("second").as_ref()), "told once");
    }

    #[test]
    fn no_word_makes_a_conversation_empty_that_went_on_or_was_resumed() {
        let mut conversations = Conversations::with(id("first"));
        conversations.on_start(id("x").as_ref(), false);
        conversations.on_start(id("first").as_ref(), true);
        assert!(!conversations.on_client_call(id("first").as_ref()), "it was there before");
        conversations.on_start(id("old").as_ref(), true);
        conversations.on_start(id("old").as_ref(), false);
        conversations.on_start(id("old").as_ref(), true);
        assert!(!conversations.on_client_call(id("old").as_ref()), "it was resumed");
        for number in 0..=MOST_REMEMBERED {
            conversations.on_start(id(&number.to_string()).as_ref(), false);
        }
        conversations.on_start(id("forgotten").as_ref(), true);
        assert!(!conversations.on_client_call(id("forgotten").as_ref()), "it may have been one of too many");
    }
}
