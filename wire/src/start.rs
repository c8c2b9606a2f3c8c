//! Sessions started over the API, and the small API of a page that chats with one: `/api/chat`, `/api/pending`,
//! `/api/confirm`.

use portcullis_core::{Ask, AskLife};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// `POST /api/v1/sessions`.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewSession {
    /// What to do first; none waits for a prompt.
    pub prompt: Option<String>,
    /// Where it works; none is the first folder of `start.folders`.
    pub folder: Option<String>,
    pub label: Option<String>,
    pub mode: Option<String>,
    pub model: Option<String>,
    /// The id of a conversation to go on with.
    pub resume: Option<String>,
    /// Channel servers to run for it: names of MCP servers of its folder, or `plugin:NAME@MARKET`.
    pub channels: Vec<String>,
}

/// `POST /api/chat`.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct NewChat {
    pub prompt: String,
    /// Nothing is asked. Needs the owner's opt-in.
    pub auto_approve: bool,
    /// default, acceptEdits, plan, dontAsk, auto or bypassPermissions; the last needs the owner's opt-in.
    pub permission_mode: Option<String>,
    pub folder: Option<String>,
    pub label: Option<String>,
    pub model: Option<String>,
    pub resume: Option<String>,
}

/// `GET /api/pending`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PendingAsks {
    pub pending: Vec<PendingAsk>,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingAsk {
    pub id: String,
    pub tool_name: String,
    /// Null where only a preview is known.
    #[schema(value_type = Option<Object>)]
    pub input: Value,
    /// Milliseconds since 1970.
    pub timestamp: u64,
    pub code: String,
    pub session: String,
    pub tool_use_id: Option<String>,
    pub description: String,
    pub preview: String,
    /// open, or unconfirmed: answered, and nothing shows that the client took it
    pub state: String,
}

impl PendingAsk {
    pub fn of(ask: &Ask, life: &AskLife) -> Self {
        let input = ask.details.input.as_ref().and_then(|input| serde_json::from_str(input.as_str()).ok());
        Self {
            id: ask.id.to_string(),
            tool_name: ask.tool.clone(),
            input: input.unwrap_or_default(),
            timestamp: ask.at.0,
            code: ask.code.to_string(),
            session: ask.session.to_string(),
            tool_use_id: ask.details.tool_use_id.clone(),
            description: ask.description.as_str().to_owned(),
            preview: ask.preview.as_str().to_owned(),
            state: life.name().to_owned(),
        }
    }
}

/// `POST /api/confirm`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Confirm {
    /// Of the prompt, its code, or the client's id of the call.
    pub id: String,
    pub approved: bool,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Confirmed {
    /// Whether the answer counts: false where someone was faster, or nobody waits for it.
    pub success: bool,
}
