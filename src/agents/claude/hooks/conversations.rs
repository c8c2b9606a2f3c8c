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
    /// The id of a conversation that began empty, by the word of a process that may be the agent's own, and how many texts
    /// from outside the model had been given when that was first said. It counts once the client itself uses that id.
    cleared: Option<(String, u64)>,
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
    fn on_start(&mut self, id: Option<&String>, is_cleared: bool, texts: u64) {
        if is_cleared && self.cleared.as_ref().is_some_and(|(cleared, _)| Some(cleared) == id) {
            return;
        }
        // Who says it of one after the other must not make the first empty again, later.
        let before = self.cleared.take().map(|(before, _)| before);
        self.note(before.as_ref());
        self.cleared = id.filter(|id| is_cleared && self.may_be_new(id)).map(|id| (id.clone(), texts));
        if !is_cleared {
            self.note(id);
        }
    }

    /// The client itself calls from this conversation. Where it was said to have begun empty, it did, after so many texts.
    fn on_client_call(&mut self, id: Option<&String>) -> Option<u64> {
        let cleared = self.cleared.take_if(|(cleared, _)| Some(&*cleared) == id);
        let is_new = id.is_some_and(|id| self.may_be_new(id));
        self.note(id);
        cleared.map(|(_, texts)| texts).filter(|_| is_new)
    }
}

impl HookSession {
    pub(super) fn session_start(&self, call: &HookCall, by: CalledBy) -> HookAnswer {
        // A conversation that was cleared goes on under another id. What only says so lifts nothing.
        let is_another = call.session_id.is_some() && call.session_id != self.session.about().agent_session;
        // What has woken the session and was part of no turn yet will be part of the next one: then it is not empty.
        let is_cleared = call.source.as_deref() == Some("clear") && !self.state().inbox.has_woken();
        let origin = match is_cleared {
            true if is_another => Some(ConversationOrigin::Cleared),
            _ if call.is_fork() => Some(ConversationOrigin::Forked),
            _ => None,
        };
        let texts = self.gatekeeper.outside().texts();
        self.state().conversations.on_start(call.session_id.as_ref(), is_cleared, texts);
        let is_doubtful = by == CalledBy::AnyProcess && is_cleared;
        self.begin_conversation(call.session_id.as_ref(), origin.filter(|_| !is_doubtful), texts);
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

    /// `texts` is how many texts from outside the model had been given when the conversation began.
    fn begin_conversation(&self, agent_session: Option<&String>, mut origin: Option<ConversationOrigin>, texts: u64) {
        let is_another = agent_session.is_some() && agent_session != self.session.about().agent_session.as_ref();
        let outside = self.gatekeeper.outside();
        // Text that went to the model since then is in the new conversation.
        if origin == Some(ConversationOrigin::Cleared) && !outside.on_cleared(texts) {
            origin = None;
        }
        if is_another && origin != Some(ConversationOrigin::Cleared) || origin == Some(ConversationOrigin::Forked) {
            outside.on_another_conversation();
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
        let began_empty = self.state().conversations.on_client_call(call.session_id.as_ref());
        if let Some(texts) = began_empty {
            self.begin_conversation(call.session_id.as_ref(), Some(ConversationOrigin::Cleared), texts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 7;

    fn id(name: &str) -> Option<String> {
        Some(name.to_owned())
    }

    impl Conversations {
        fn says(&mut self, name: &str, is_cleared: bool, at: u64) {
            self.on_start(id(name).as_ref(), is_cleared, at);
        }

        fn client_calls(&mut self, name: &str) -> Option<u64> {
            self.on_client_call(id(name).as_ref())
        }
    }

    #[test]
    fn a_conversation_is_cleared_once_the_client_goes_on_under_an_id_it_never_had() {
        let mut conversations = Conversations::with(id("first"));
        conversations.says("second", true, AT);
        assert_eq!(conversations.client_calls("first"), None, "it goes on in the old one");
        assert_eq!(conversations.client_calls("second"), Some(AT));
        assert_eq!(conversations.client_calls("second"), None, "told once");
    }

    #[test]
    fn it_is_empty_since_that_was_first_said() {
        let later = 9;
        let mut conversations = Conversations::with(id("first"));
        conversations.says("second", true, AT);
        conversations.says("second", true, later);
        assert_eq!(conversations.client_calls("second"), Some(AT));
        conversations.says("third", true, AT);
        conversations.says("other", true, AT);
        conversations.says("third", true, later);
        assert_eq!(conversations.client_calls("third"), None, "said a second time, after another");
    }

    #[test]
    fn no_word_makes_a_conversation_empty_that_went_on_or_was_resumed() {
        let mut conversations = Conversations::with(id("first"));
        conversations.says("x", false, AT);
        conversations.says("first", true, AT);
        assert_eq!(conversations.client_calls("first"), None, "it was there before");
        conversations.says("old", true, AT);
        conversations.says("old", false, AT);
        conversations.says("old", true, AT);
        assert_eq!(conversations.client_calls("old"), None, "it was resumed");
        for number in 0..=MOST_REMEMBERED {
            conversations.says(&number.to_string(), false, AT);
        }
        conversations.says("forgotten", true, AT);
        assert_eq!(conversations.client_calls("forgotten"), None, "it may have been one of too many");
    }
}
