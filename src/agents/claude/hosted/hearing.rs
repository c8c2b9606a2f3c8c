//! What channel servers say, one after another: events for the gate, verdicts for the gatekeeper.

use std::time::Duration;

use portcullis_core::{
    Attribute, CHANNEL_SENDER, ChatId, EventId, MOST_ATTRIBUTES, excerpt, is_identifier, is_kept_from_channels,
};
use portcullis_wire::error::Kind;
use portcullis_wire::link::ChannelEvent;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{ChannelHost, HostedState};
use crate::fixed;
use crate::mint::mint;
use crate::upstream::{ChannelSaid, FromChannel, UpstreamState};

/// A session that takes no more events is asked again after this.
const AGAIN: Duration = Duration::from_secs(1);
/// A server that ended is started again after this.
const RESTART: Duration = Duration::from_secs(1);
/// Bytes of an attribute's value.
const LONGEST_VALUE: usize = 256;

impl ChannelHost {
    /// Hears the servers until they are closed.
    pub(super) async fn hear(self, mut heard: mpsc::Receiver<FromChannel>) {
        let Some(shared) = self.0 else { return };
        while let Some(FromChannel { server, said }) = heard.recv().await {
            match said {
                ChannelSaid::Event(params) => shared.event(&server, &params).await,
                ChannelSaid::Verdict(params) => shared.verdict(&server, &params),
                ChannelSaid::ToolsChanged => shared.changed.add(&server),
                ChannelSaid::Gone => {
                    let shared = std::sync::Arc::clone(&shared);
                    tokio::spawn(async move { shared.start_again(&server).await });
                }
            }
        }
    }
}

impl HostedState {
    /// Gives an event to the gate, which keeps it. Waits while the session has as many waiting as it may.
    async fn event(&self, server: &str, params: &Value) {
        let Some(content) = params.get("content").and_then(Value::as_str) else {
            return tracing::warn!("the channel {server} sent an event without \"content\": dropped");
        };
        let attributes = attributes(params);
        let directs = self.channel(server).is_some_and(|channel| channel.relays_prompts);
        let event = ChannelEvent {
            id: mint(EventId::new),
            channel: server.to_owned(),
            directs,
            chat: chat(server, &attributes),
            attributes,
            text: content.to_owned(),
        };
        loop {
            match self.gate.received(event.clone()).await {
                Ok(()) => return,
                Err(fault) if fault.error == Kind::SessionFull.entry().0 => {
                    tokio::time::sleep(fixed::wait("CHANNEL_AGAIN", AGAIN)).await;
                }
                Err(fault) => {
                    return (self.note)(format!("an event of the channel {server} is lost: {}", fault.message));
                }
            }
        }
    }

    async fn start_again(&self, server: &str) {
        (self.note)(format!("the channel {server} ended; it is started again"));
        tokio::time::sleep(fixed::wait("CHANNEL_RESTART", RESTART)).await;
        match self.upstreams.connect(server).await {
            Some(UpstreamState::Failed(why)) => (self.note)(format!("the channel {server} is not there: {why}")),
            Some(UpstreamState::NeedsAuth) => (self.note)(format!("the channel {server} wants you to sign in")),
            // It may be another program by now.
            Some(UpstreamState::Connected(_)) => self.changed.add(server),
            // None: this session is ending.
            Some(UpstreamState::Pending) | None => {}
        }
    }
}

/// What the server says of the event besides its text. Names that a tag cannot have are left out, as Claude Code does.
fn attributes(params: &Value) -> Vec<Attribute> {
    let meta = params.get("meta").and_then(Value::as_object).into_iter().flatten();
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    meta.filter(|(name, _)| is_identifier(name) && name.len() <= 64 && !is_kept_from_channels(name))
        .filter_map(|(name, value)| {
            let value = text(value)?;
            let (start, rest) = excerpt(&value, Some(LONGEST_VALUE));
            Some((name.clone(), if rest > 0 { format!("{start}…") } else { value.clone() }))
        })
        .take(MOST_ATTRIBUTES)
        .collect()
}

/// The gate's name for a conversation of a channel server: the server's own name for it, where it gives one.
fn chat(server: &str, attributes: &[Attribute]) -> Option<ChatId> {
    let own = attributes.iter().find(|(name, _)| name == "chat_id").map(|(_, value)| value);
    let of = |text: String| ChatId::new(&text);
    let own = own.and_then(|own| of(format!("{CHANNEL_SENDER}{server}:{own}")));
    own.or_else(|| of(format!("{CHANNEL_SENDER}{server}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn attributes_are_those_that_a_tag_can_have_and_conversations_are_named_after_their_server() {
        let long = "x".repeat(300);
        let meta = json!({"chat_id": 7, "bad-key": "x", "event_id": "1", "directs": "true", "long": long, "list": []});
        let found = attributes(&json!({"content": "", "meta": meta}));
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["chat_id", "long"]);
        assert_eq!(found[1].1.len(), LONGEST_VALUE + "…".len());
        assert_eq!(chat("hook", &found), ChatId::new("channel:hook:7"));
        assert_eq!(chat("hook", &[]), ChatId::new("channel:hook"));
        assert_eq!(chat(&"h".repeat(200), &[]), None, "the gate finds one");
    }
}
