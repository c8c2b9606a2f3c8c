//! The editor as a session has it: what it can show, and the way to it.

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{ClientCapabilities, SessionId, SessionNotification, SessionUpdate};

use super::transport::Backlog;

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct Editor {
    pub(super) connection: ConnectionTo<Client>,
    pub(super) abilities: ClientCapabilities,
    backlog: Backlog,
}

impl Editor {
    pub(super) fn new(connection: ConnectionTo<Client>, abilities: ClientCapabilities, backlog: Backlog) -> Self {
        Self { connection, abilities, backlog }
    }

    /// Tells the editor what happens in a session. Waits for an editor that does not read.
    pub(super) async fn update(&self, session: &SessionId, update: SessionUpdate) {
        self.backlog.add().await;
        let notification = SessionNotification::new(session.clone(), update);
        // An editor that is gone ends the process; until then there is nobody to tell.
        drop(self.connection.send_notification(notification));
    }

    /// Questions can be asked in a form.
    pub(super) fn has_forms(&self) -> bool {
        self.abilities.elicitation.as_ref().is_some_and(|elicitation| elicitation.form.is_some())
    }

    /// It shows that the context of the model is made smaller.
    pub(super) fn has_compaction(&self) -> bool {
        self.abilities.session.as_ref().is_some_and(|session| session.compaction.is_some())
    }

    /// Notices are shown apart from what the agent says.
    pub(super) fn has_notices(&self) -> bool {
        self.abilities.session.as_ref().is_some_and(|session| session.notices.is_some())
    }
}
