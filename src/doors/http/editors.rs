//! Editors whose origin the system does not tell, and that a person has said are theirs.

use std::sync::Arc;

use axum::extract::{Request, State};
use portcullis_wire::api::{NewTrustedEditor, TrustedEditorView};

use super::Door;
use super::access::Permitted;
use super::body::read_json;
use super::response::{ErrorResponse, Json};

/// `GET /api/v1/editors`.
pub(super) async fn list(State(door): State<Arc<Door>>) -> Result<Json<Vec<TrustedEditorView>>, ErrorResponse> {
    let known = door.hub.look(|state| state.trusted_editors().map(TrustedEditorView::from).collect());
    Ok(Json(known.await?))
}

/// `POST /api/v1/editors`.
pub(super) async fn trust(
    State(door): State<Arc<Door>>,
    Permitted { actor: by, .. }: Permitted,
    request: Request,
) -> Result<Json<TrustedEditorView>, ErrorResponse> {
    let NewTrustedEditor { pid } = read_json(request, &door).await?;
    Ok(Json(TrustedEditorView::from(&door.hub.trust_editor(by, pid).await?)))
}
