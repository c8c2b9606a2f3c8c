//! `GET /api/openapi.json`: the API for programs. It tells nothing of this gate, so it needs no credentials.

use axum::response::{IntoResponse as _, Response};
use hyper::header::CONTENT_TYPE;

pub(super) async fn document() -> Response {
    ([(CONTENT_TYPE, "application/json")], portcullis_wire::openapi::document().to_string()).into_response()
}
