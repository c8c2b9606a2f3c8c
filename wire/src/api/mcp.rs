//! MCP servers of the API: those that are configured for a folder, and how each is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A server as `portcullis mcp list` tells it.
#[derive(Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct McpServerView {
    pub name: String,
    /// managed, local, project, gateway, user, plugin or claude.ai
    pub layer: String,
    pub file: String,
    /// How it is reached: stdio, http, sse, ws …
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// What is started or reached, as written.
    pub endpoint: Option<String>,
    /// Of everything that decides what is started or reached.
    pub hash: Option<String>,
    /// connected, needs-auth, failed, pending, disabled, not-approved, refused, wrong or hidden
    pub state: String,
    /// The reason, in words.
    pub why: String,
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// Taken by `POST /api/v1/mcp/servers/login` and `…/approve`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedMcpServer {
    pub folder: String,
    pub name: String,
    /// The hash of the server that the person was shown, to approve it. Another one is not approved.
    pub hash: Option<String>,
}

/// Where someone signs in to a server.
#[derive(Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct McpSignInView {
    /// waiting, or connected where nobody has to sign in
    pub state: String,
    /// To be opened in a browser on the gate's own computer, which it leads back to.
    pub url: Option<String>,
}
