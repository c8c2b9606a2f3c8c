//! A Claude Code that is kept for the next session of an editor, where the owner wants one.

use std::sync::Arc;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::ClientCapabilities;

use super::client_tools;
use super::servers::EditorServers;
use super::sessions::{Place, Sessions, Wish, in_words};
use crate::agents::claude::editor::EditorTools;
use crate::agents::claude::process::Beginning;
use crate::fronts::SpareAgent;
use crate::locks::locked;
use crate::mint::uuid;

/// A Claude Code for the next session in this place.
pub(super) struct Spare {
    pub(super) place: Place,
    pub(super) conversation: String,
    pub(super) agent: SpareAgent,
    pub(super) servers: EditorServers,
}

impl Sessions {
    /// A Claude Code that was started for a session like this, where there is one.
    pub(super) fn take_spare(&self, place: &Place) -> Option<Spare> {
        locked(&self.spare).take_if(|spare| spare.place == *place)
    }

    /// It was not needed after all.
    pub(super) fn put_back(&self, spare: Spare) {
        let left = locked(&self.spare).replace(spare);
        if let Some(left) = left {
            tokio::spawn(left.agent.end());
        }
    }

    /// Starts a Claude Code for the next session in this place, if the owner wants that.
    pub(super) fn keep_spare(self: &Arc<Self>, place: Place, abilities: &ClientCapabilities) {
        if !self.config.acp.prewarm {
            return;
        }
        let (sessions, uses_editor) = (Arc::clone(self), client_tools::are_used(&self.options, abilities));
        tokio::spawn(async move {
            match sessions.start_spare(place, uses_editor).await {
                Ok(spare) => {
                    let last = locked(&sessions.spare).replace(spare);
                    if let Some(last) = last {
                        last.agent.end().await;
                    }
                }
                Err(error) => tracing::warn!("no Claude Code is kept for the next session: {}", error.message),
            }
        });
    }

    async fn start_spare(&self, place: Place, uses_editor: bool) -> Result<Spare, Error> {
        self.refuse_inside(self.unasked(&place).as_deref()).await?;
        let conversation = uuid();
        let servers = self.write_servers(&place)?;
        let wish = Wish { from: Beginning::Named(conversation.clone()), mode: None, model: None };
        let mut options = self.claude_options(&place, wish, &servers);
        if uses_editor {
            options.allow.extend(EditorTools::allowed());
        }
        let starting = SpareAgent::start(&self.paths, &self.config, self.options.claude.as_deref(), options);
        let agent = starting.await.map_err(|error| in_words(&error))?;
        Ok(Spare { place, conversation, agent, servers })
    }
}
