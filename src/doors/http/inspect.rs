//! What is looked up on the disk when someone asks: the rules of a folder, what they say of a call, the journal's chain.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Request, State};
use portcullis_wire::api::{ChainView, DefaultModeView, NewCheck, RuleView, RulingView, SetModeView};
use portcullis_wire::error::{Fault, Kind};
use serde::Deserialize;

use super::Door;
use super::body::{Params, read_json};
use super::response::{ErrorResponse, Json};

/// A question that takes a look at the disk.
pub(crate) type DiskLook<Q, A> = Box<dyn Fn(Q) -> Result<A, Fault> + Send + Sync>;

pub(crate) struct Inspector {
    /// The rules that count in a folder.
    pub(crate) rules: DiskLook<PathBuf, Vec<RuleView>>,
    /// What they say of a call.
    pub(crate) check: DiskLook<NewCheck, RulingView>,
    /// A folder as it is known by: there is one, and symbolic links are resolved.
    pub(crate) folder: DiskLook<PathBuf, String>,
    /// In which mode a session starts there that names none, with what was set for the folder or one above.
    pub(crate) default_mode: Box<dyn Fn(String, Option<SetModeView>) -> DefaultModeView + Send + Sync>,
    /// Whether the journal is as it was written.
    pub(crate) chain: DiskLook<(), ChainView>,
}

#[derive(Deserialize)]
pub(super) struct RulesOf {
    folder: PathBuf,
}

/// `GET /api/v1/rules?folder=PATH`.
pub(super) async fn rules(
    State(door): State<Arc<Door>>,
    Params(RulesOf { folder }): Params<RulesOf>,
) -> Result<Json<Vec<RuleView>>, ErrorResponse> {
    apart(move || (door.inspector.rules)(folder)).await
}

/// `POST /api/v1/rules/check`.
pub(super) async fn check(State(door): State<Arc<Door>>, request: Request) -> Result<Json<RulingView>, ErrorResponse> {
    let new: NewCheck = read_json(request, &door).await?;
    apart(move || (door.inspector.check)(new)).await
}

/// `GET /api/v1/log/chain`.
pub(super) async fn chain(State(door): State<Arc<Door>>) -> Result<Json<ChainView>, ErrorResponse> {
    apart(move || (door.inspector.chain)(())).await
}

/// On a thread of its own: a disk may take its time, and the gate has one thread for everybody.
pub(super) async fn apart<A: Send + 'static>(
    look: impl FnOnce() -> Result<A, Fault> + Send + 'static,
) -> Result<Json<A>, ErrorResponse> {
    let looked = tokio::task::spawn_blocking(look).await;
    Ok(Json(looked.unwrap_or_else(|_| Err(Fault::new(Kind::Internal, "the look at the disk was cut off")))?))
}
