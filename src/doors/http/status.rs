//! The gate's own status, and its end.

use std::sync::Arc;

use axum::extract::State;
use portcullis_core::State as Known;
use portcullis_wire::api::{Status, UnaskedCallView};

use super::Door;
use super::response::{ErrorResponse, Json};

/// `GET /api/v1/status`.
pub(super) async fn status(State(door): State<Arc<Door>>) -> Result<Json<Status>, ErrorResponse> {
    let watchers = door.listeners.taken();
    let notify = door.notify.borrow().clone();
    let mut status = Status { watchers, notify, ..door.status.clone() };
    let counts = |state: &Known| {
        let attached = state.sessions().filter(|session| session.is_attached()).count();
        let unasked = state.unasked_calls().map(UnaskedCallView::from).collect();
        (attached, state.waiting_total(), state.open_asks().count(), unasked)
    };
    (status.sessions, status.waiting_events, status.open_asks, status.unasked_calls) = door.hub.look(counts).await?;
    Ok(Json(status))
}

/// `POST /api/v1/stop`: the gate writes what it has taken in, and leaves.
pub(super) async fn stop(State(door): State<Arc<Door>>) -> &'static str {
    door.stop.cancel();
    "stopping\n"
}
