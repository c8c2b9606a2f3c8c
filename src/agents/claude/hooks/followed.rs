//! What hooks tell those who look at the session's stream; what the agent says comes from its transcript.

use portcullis_core::EventId;
use portcullis_wire::hooks::{HookCall, HookEvent};
use portcullis_wire::stream::EntryKind;

use super::HookSession;
use crate::agents::claude::transcript::Followed;
use crate::session::gatekeeper::AT_THE_TERMINAL;

impl HookSession {
    pub(super) fn follow(&self, call: &HookCall) {
        if let Some(conversation) = self.session.about().agent_session {
            self.follower.tell(Followed::Conversation(conversation));
        }
        let (id, agent) = (call.tool_use_id.clone(), call.agent_id.clone());
        let followed = match call.event {
            HookEvent::PreToolUse => {
                Followed::Call { id, tool: call.tool_name.clone(), input: call.tool_input.clone(), agent }
            }
            HookEvent::PostToolUse => Followed::Result { id, failed: false, agent },
            HookEvent::PostToolUseFailure | HookEvent::PermissionDenied => Followed::Result { id, failed: true, agent },
            HookEvent::UserPromptSubmit if !call.is_notification() => {
                let by = Some(AT_THE_TERMINAL.to_owned());
                Followed::Entry(EntryKind::User { text: call.prompt.clone(), by })
            }
            _ => return,
        };
        self.follower.tell(followed);
    }

    /// The turn is over, as far as it is given nothing more to do.
    pub(super) fn follow_stop(&self) {
        self.follower.tell(Followed::TurnEnd);
    }

    /// The client waits at its terminal, with a dialog that nobody else can answer.
    pub(super) fn follow_dialog(&self) {
        let text = "Claude Code waits for an answer at its terminal, to a dialog that only it can show.";
        self.follower.tell(Followed::Entry(EntryKind::Notice { text: text.to_owned() }));
    }

    /// The event is before the model.
    pub(super) fn follow_event(&self, ids: impl Iterator<Item = EventId>, sender: &str, chat: &str) {
        for id in ids {
            let (event, sender, chat) = (id.to_string(), sender.to_owned(), chat.to_owned());
            self.follower.tell(Followed::Entry(EntryKind::Event { event, sender, chat }));
        }
    }
}
