//! MCP servers of a folder: how each is, and what a person does about it.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Request, State};
use portcullis_wire::api::{McpServerView, McpSignInView, NamedMcpServer};
use serde::Deserialize;

use super::Door;
use super::body::{Params, read_json};
use super::inspect::{DiskLook, apart};
use super::response::{ErrorResponse, Json};

/// What is looked up, or done, by a process apart.
pub(crate) struct McpLooks {
    pub(crate) servers: DiskLook<PathBuf, Vec<McpServerView>>,
    /// Approves a server of a project as it was shown.
    pub(crate) approve: DiskLook<NamedMcpServer, ()>,
    pub(crate) sign_in: DiskLook<NamedMcpServer, McpSignInView>,
}

#[derive(Deserialize)]
pub(super) struct ServersOf {
    folder: PathBuf,
}

/// `GET /api/v1/mcp/servers?folder=PATH`.
pub(super) async fn servers(
    State(door): State<Arc<Door>>,
    Params(ServersOf { folder }): Params<ServersOf>,
) -> Result<Json<Vec<McpServerView>>, ErrorResponse> {
    apart(move || (door.mcp.servers)(folder)).await
}

/// `POST /api/v1/mcp/servers/approve`.
pub(super) async fn approve(State(door): State<Arc<Door>>, request: Request) -> Result<&'static str, ErrorResponse> {
    let named: NamedMcpServer = read_json(request, &door).await?;
    apart(move || (door.mcp.approve)(named)).await?;
    Ok("approved")
}

/// `POST /api/v1/mcp/servers/login`.
pub(super) async fn sign_in(
    State(door): State<Arc<Door>>,
    request: Request,
) -> Result<Json<McpSignInView>, ErrorResponse> {
    let named: NamedMcpServer = read_json(request, &door).await?;
    apart(move || (door.mcp.sign_in)(named)).await
}
