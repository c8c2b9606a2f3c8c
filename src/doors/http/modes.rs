//! In which mode sessions start that name none: as admins have set it for a folder, and as it is configured.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Request, State};
use portcullis_core::Input;
use portcullis_core::policy::Mode;
use portcullis_wire::api::{DefaultModeView, NewDefaultMode, SetModeView};
use portcullis_wire::error::{Fault, Kind};
use serde::Deserialize;

use super::Door;
use super::access::Permitted;
use super::body::{Params, read_json};
use super::inspect::apart;
use super::people::submit;
use super::response::{ErrorResponse, Json};

/// `GET /api/v1/modes`.
pub(super) async fn list(State(door): State<Arc<Door>>) -> Result<Json<Vec<SetModeView>>, ErrorResponse> {
    let set = door.hub.look(|state| state.default_modes().map(|(folder, set)| SetModeView::of(folder, set)).collect());
    Ok(Json(set.await?))
}

#[derive(Deserialize)]
pub(super) struct ModeOf {
    folder: PathBuf,
}

/// `GET /api/v1/modes/default?folder=PATH`.
pub(super) async fn show(
    State(door): State<Arc<Door>>,
    Params(ModeOf { folder }): Params<ModeOf>,
) -> Result<Json<DefaultModeView>, ErrorResponse> {
    let folder = resolved(&door, folder).await?;
    Ok(Json(view(&door, folder).await?))
}

/// `PUT /api/v1/modes/default`.
pub(super) async fn set(
    State(door): State<Arc<Door>>,
    Permitted { actor: by, .. }: Permitted,
    request: Request,
) -> Result<Json<DefaultModeView>, ErrorResponse> {
    let NewDefaultMode { folder, mode } = read_json(request, &door).await?;
    let unknown = |name: &String| Fault::new(Kind::BadRequest, format!("there is no mode {name:?}"));
    let mode = mode.map(|name| Mode::named(&name).ok_or_else(|| unknown(&name))).transpose()?;
    let folder = match resolved(&door, PathBuf::from(&folder)).await {
        // What was set for a folder that is gone can still be taken back.
        Err(_) if mode.is_none() => folder,
        resolved => resolved?,
    };
    submit(&door, Input::SetDefaultMode { by, folder: folder.clone(), mode }).await?;
    Ok(Json(view(&door, folder).await?))
}

async fn resolved(door: &Arc<Door>, folder: PathBuf) -> Result<String, ErrorResponse> {
    let door = Arc::clone(door);
    apart(move || (door.inspector.folder)(folder)).await.map(|Json(folder)| folder)
}

async fn view(door: &Door, folder: String) -> Result<DefaultModeView, ErrorResponse> {
    let of = folder.clone();
    let nearest = move |state: &portcullis_core::State| {
        state.nearest_default_mode(&of).map(|(folder, set)| SetModeView::of(folder, set))
    };
    let set = door.hub.look(nearest).await?;
    Ok((door.inspector.default_mode)(folder, set))
}
