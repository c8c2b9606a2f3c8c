//! Responses: JSON for programs, a line or two for people with curl, and one way to say no.

use axum::response::{IntoResponse, Response};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{HeaderMap, StatusCode};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::routes::Route;
use serde::Serialize;

/// A value as JSON, with the line break that a person at a terminal wants.
pub(super) struct Json<T>(pub(super) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(mut line) => {
                line.push(b'\n');
                ([(CONTENT_TYPE, "application/json")], line).into_response()
            }
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
        }
    }
}

/// A fault as JSON: number, message, hint.
pub(super) fn refuse(fault: &Fault) -> Response {
    with_headers(fault, (status(fault), Json(fault)).into_response())
}

/// How a route tells its errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorStyle {
    Json,
    /// A sentence and a hint, for people.
    Words,
    /// The same, but that the channel documents print one word for a sender they do not know.
    ChannelWords,
}

impl ErrorStyle {
    pub(super) fn of(route: &Route, headers: &HeaderMap) -> Self {
        if !route.errors_in_words || wants_json(headers) {
            Self::Json
        } else {
            Self::in_words(headers.contains_key("x-sender"))
        }
    }

    /// For people, who may have sent the header of the channel documents.
    pub(super) fn in_words(names_sender: bool) -> Self {
        if names_sender { Self::ChannelWords } else { Self::Words }
    }

    pub(super) fn refuse(self, fault: &Fault) -> Response {
        let is_forbidden = fault.error == Kind::Forbidden.entry().0;
        match self {
            Self::Json => refuse(fault),
            Self::ChannelWords if is_forbidden => (StatusCode::FORBIDDEN, "forbidden").into_response(),
            Self::Words | Self::ChannelWords => {
                with_headers(fault, (status(fault), format!("{}\n", fault.in_words())).into_response())
            }
        }
    }
}

fn status(fault: &Fault) -> StatusCode {
    StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

fn with_headers(fault: &Fault, mut response: Response) -> Response {
    if fault.status() == 401 {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"portcullis\""));
    }
    if let Some(seconds) = fault.retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    // What was not read of a refused request would be taken for the next one.
    if matches!(fault.status(), 408 | 413) {
        response.headers_mut().insert(hyper::header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

pub(super) fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(hyper::header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("application/json"))
}

/// The error of a handler, as JSON.
#[derive(Debug)]
pub(super) struct ErrorResponse(pub(super) Fault);

impl<T: Into<Fault>> From<T> for ErrorResponse {
    fn from(fault: T) -> Self {
        Self(fault.into())
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        refuse(&self.0)
    }
}

pub(super) fn not_found(kind: Kind, message: impl Into<String>) -> ErrorResponse {
    ErrorResponse(Fault::new(kind, message))
}

/// A body of server-sent events.
pub(super) fn event_stream(body: axum::body::Body) -> Response {
    let headers = [(CONTENT_TYPE, "text/event-stream"), (hyper::header::CACHE_CONTROL, "no-cache")];
    (headers, body).into_response()
}
