//! What is no word of the model: what this program tells the person, and what the client itself does.

use agent_client_protocol::v1::schema::{CompactionStatus, CompactionUpdate, Notice, NoticeSeverity, SessionUpdate};
use portcullis_core::visible;
use portcullis_wire::control::ClientNotice;

use super::super::updates::said_by;
use super::Session;
use crate::agents::claude::CLIENT;
use crate::mint::uuid;

/// Who says what is neither the model's nor the client's.
pub(super) const PROGRAM: &str = "Portcullis";

/// A notice is a line with more below it. A first line that is longer has nothing below it.
const LONGEST_TITLE: usize = 256;

impl Session {
    /// A compaction is one thing with a beginning and an end in an editor that shows it as such.
    pub(super) async fn told_by_client(&mut self, notice: &ClientNotice) {
        let status = match notice {
            ClientNotice::Compacting => Some(CompactionStatus::InProgress),
            ClientNotice::Compacted { .. } => Some(CompactionStatus::Completed),
            ClientNotice::NotCompacted { .. } => Some(CompactionStatus::Failed),
            ClientNotice::Said { .. } | ClientNotice::Retrying { .. } => None,
        };
        if let Some(status) = status.filter(|_| self.editor.has_compaction()) {
            self.show_compaction(status).await;
            // It does not say why one has failed.
            if !notice.is_warning() {
                return;
            }
        }
        let severity = if notice.is_warning() { NoticeSeverity::Warning } else { NoticeSeverity::Info };
        self.notice(CLIENT, &notice.text(), severity).await;
    }

    /// An editor that has no place for notices shows it as a message of whoever says it.
    pub(super) async fn notice(&mut self, by: &str, text: &str, severity: NoticeSeverity) {
        let update = match self.editor.has_notices() {
            true => notice(text, severity),
            false => said_by(by, text),
        };
        self.update(update).await;
    }

    /// No client goes on with it any more.
    pub(super) async fn end_compaction(&mut self) {
        if self.compaction.is_some() {
            self.show_compaction(CompactionStatus::Failed).await;
        }
    }

    async fn show_compaction(&mut self, status: CompactionStatus) {
        let id = self.compaction.take().unwrap_or_else(uuid);
        self.compaction = (status == CompactionStatus::InProgress).then(|| id.clone());
        self.update(SessionUpdate::CompactionUpdate(CompactionUpdate::new(id, status))).await;
    }
}

fn notice(text: &str, severity: NoticeSeverity) -> SessionUpdate {
    let text = visible(text.trim());
    let notice = match text.split_once('\n') {
        Some((title, rest)) if title.len() <= LONGEST_TITLE => {
            Notice::new(severity, title).description(rest.trim().to_owned())
        }
        _ => Notice::new(severity, text),
    };
    SessionUpdate::Notice(notice)
}
