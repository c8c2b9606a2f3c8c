//! What the client tells of itself besides the conversation: that it makes its context smaller, and that the model's API
//! refuses it.

use agent_client_protocol::v1::schema::{CompactionStatus, CompactionUpdate, SessionUpdate};
use portcullis_core::visible;
use portcullis_wire::control::Message;

use super::Session;
use crate::mint::uuid;

/// What was told, so that it is told once.
#[derive(Default)]
pub(super) struct ToldOfClient {
    /// The compaction that goes on.
    compaction: Option<String>,
    /// A refusal of the model's API in this turn.
    refusal: bool,
}

impl Session {
    pub(super) async fn news_of_client(&mut self, message: &Message) {
        match (message.kind.as_str(), message.subtype.as_deref()) {
            ("system", Some("status")) => self.compaction(message).await,
            ("system", Some("api_retry")) => self.refused_by_api(message).await,
            ("result", _) => self.told_of_client.refusal = false,
            _ => {}
        }
    }

    async fn compaction(&mut self, message: &Message) {
        let (id, status) = match (&self.told_of_client.compaction, message.compact_result.as_str()) {
            (None, _) if message.status == "compacting" => (uuid(), CompactionStatus::InProgress),
            (Some(id), Some("success")) => (id.clone(), CompactionStatus::Completed),
            (Some(id), Some(_)) => (id.clone(), CompactionStatus::Failed),
            _ => return,
        };
        self.show_compaction(id, status).await;
    }

    /// No client goes on with it any more.
    pub(super) async fn end_compaction(&mut self) {
        if let Some(id) = self.told_of_client.compaction.clone() {
            self.show_compaction(id, CompactionStatus::Failed).await;
        }
    }

    async fn show_compaction(&mut self, id: String, status: CompactionStatus) {
        self.told_of_client.compaction = (status == CompactionStatus::InProgress).then(|| id.clone());
        if self.editor.has_compaction() {
            self.update(SessionUpdate::CompactionUpdate(CompactionUpdate::new(id, status))).await;
        }
    }

    /// The client tries again for minutes before it says so itself.
    async fn refused_by_api(&mut self, message: &Message) {
        if std::mem::replace(&mut self.told_of_client.refusal, true) {
            return;
        }
        let status = message.error_status.as_u64().map(|status| format!(" with {status}")).unwrap_or_default();
        let why = message.error.as_deref().map(|why| format!(" ({})", visible(why))).unwrap_or_default();
        let most = message.max_retries.as_u64().map(|most| format!(", up to {most} times")).unwrap_or_default();
        let text = format!("The model's API refuses the request{status}{why}. Claude Code tries it again{most}.");
        self.notice(&text).await;
    }
}
