//! Prompts on their way to channel servers that relay them, and the verdicts that come back.

use std::sync::Arc;

use portcullis_core::{AskKind, Behavior, Code, NewAsk, Ruling};
use portcullis_wire::channel::{PermissionRequest, REQUEST_METHOD};
use portcullis_wire::error::Kind;
use portcullis_wire::front::PromptNews;
use portcullis_wire::text::masked_start;
use serde_json::{Value, json};

use super::{ChannelHost, HostedState};
use crate::locks::locked;
use crate::mint::random;

/// Of a prompt's description and of its input, a message in a chat shows this many bytes.
const LONGEST: usize = 1000;

impl ChannelHost {
    /// Tells channels of a prompt, once it is known under a code, and forgets it when it is answered.
    pub(in crate::agents::claude) fn prompt(&self, news: &PromptNews) {
        let Some(shared) =
            self.0.as_ref().filter(|shared| shared.channels.iter().any(|channel| channel.relays_prompts))
        else {
            return;
        };
        match news {
            PromptNews::Asked { ask, code } => shared.asked(ask, *code),
            PromptNews::Ruled { ask, .. } | PromptNews::Withdrawn { ask, .. } => {
                locked(&shared.open).retain(|_, open| open != ask);
            }
            PromptNews::NotTaken { .. } => {}
        }
    }
}

impl HostedState {
    /// A question wants more than a yes, so it is not relayed.
    fn asked(self: &Arc<Self>, ask: &NewAsk, code: Option<Code>) {
        if ask.details.kind == AskKind::Question {
            return;
        }
        // While the gate is away it has no code yet: channels know it under one that nobody else uses.
        let Some(code) = code.or_else(|| random().ok().map(Code::from_entropy)) else { return };
        locked(&self.open).insert(code, ask.id);
        let reason = ask.details.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        // Some channels show nothing else: nobody shall allow what they do not see.
        let about = Some(ask.description.as_str()).filter(|it| !it.is_empty()).unwrap_or(ask.preview.as_str());
        let request = PermissionRequest {
            request_id: code.to_string(),
            tool_name: ask.tool.clone(),
            description: masked_start(&format!("{about}{reason}"), LONGEST),
            input_preview: masked_start(ask.preview.as_str(), LONGEST),
        };
        for channel in self.channels.iter().filter(|channel| channel.relays_prompts) {
            let (shared, name, params) = (Arc::clone(self), channel.name.clone(), json!(request));
            tokio::spawn(async move {
                if let Err(failure) = shared.upstreams.notify(&name, REQUEST_METHOD, params).await {
                    tracing::warn!("the channel {name} was not told of a prompt: {}", failure.why());
                }
            });
        }
    }

    /// Someone behind a channel answered. The gate decides whether that was the first, and whether it is enough.
    pub(super) fn verdict(self: &Arc<Self>, server: &str, params: &Value) {
        let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or_default();
        let (id, said) = (text("request_id"), text("behavior"));
        if !self.channel(server).is_some_and(|channel| channel.relays_prompts) {
            return tracing::warn!("the channel {server} answered {id:?}, and may not answer prompts: dropped");
        }
        let Ok(behavior) = said.parse::<Behavior>() else {
            return tracing::warn!("the channel {server} answered {id:?} with {said:?}, which is no verdict: dropped");
        };
        let Some(ask) = Code::parse(id).and_then(|code| locked(&self.open).get(&code).copied()) else {
            return tracing::warn!("the channel {server} answered {id:?}, which is no open prompt: dropped");
        };
        let (shared, server) = (Arc::clone(self), server.to_owned());
        tokio::spawn(async move {
            match shared.gatekeeper.answer_by_channel(ask, Ruling::plain(behavior), &server).await {
                Ok(()) => {}
                Err(fault) if fault.error == Kind::Settled.entry().0 => {
                    tracing::info!("the channel {server} answered a prompt after someone else had");
                }
                Err(fault) => {
                    (shared.note)(format!("the verdict of the channel {server} does not count: {}", fault.message));
                }
            }
        });
    }
}
