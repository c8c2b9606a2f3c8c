//! `POST /claude/hooks`: Claude Code's http hooks, where the owner has switched them on.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures_util::future::BoxFuture;
use futures_util::stream;
use hyper::header::CONTENT_TYPE;
use portcullis_core::TokenScope;
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::hooks::{HookCall, HookEvent, deny, refuse_tool};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::Door;
use super::access::Permitted;
use super::body::read_json;
use super::response::ErrorResponse;
use super::sse::Pass;

/// Answers a posted hook: its body, for sessions in the scope, until the token is cancelled because the client has gone.
/// It may take as long as a person needs.
pub(crate) type HookHandler =
    Box<dyn Fn(Value, TokenScope, CancellationToken) -> BoxFuture<'static, Result<HookResponse, Fault>> + Send + Sync>;

pub(crate) struct HookResponse {
    /// As the client reads it; null for nothing.
    pub(crate) output: Value,
    /// Told when the client has taken the output, and dropped when it has not.
    pub(crate) written: oneshot::Sender<()>,
}

pub(super) async fn post(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let Some(handler) = &door.hooks else {
        return Err(Fault::new(Kind::NoSuchRoute, "hooks over HTTP are off: hooks.http in the configuration").into());
    };
    let body: Value = read_json(request, &door).await?;
    let cancel = CancellationToken::new();
    // Dropped with this future when the client closes its end.
    let _cancel_when_gone = cancel.clone().drop_guard();
    let pass = Pass::of(&door, &permitted);
    let event = HookCall::read(&body).ok().map(|call| call.event);
    let answering = tokio::spawn(handler(body, permitted.actor.scope, cancel));
    let HookResponse { output, written } = tokio::select! {
        answered = answering => answered.map_err(|_| Fault::new(Kind::Internal, "the hook could not be answered"))??,
        // An error would let the call run: whoever lost the right to ask gets a no.
        () = pass.ended() => HookResponse { output: no_longer(event), written: oneshot::channel().0 },
    };
    let text = if output.is_null() { "{}".to_owned() } else { output.to_string() };
    // Whoever asks for what comes after the text has taken the text.
    let body = stream::unfold((Some(text), Some(written)), |(text, written)| async move {
        match text {
            Some(text) => Some((Ok::<_, std::convert::Infallible>(text), (None, written))),
            None => {
                // Nobody may want to know any more.
                written.and_then(|written| written.send(()).ok());
                None
            }
        }
    });
    Ok(([(CONTENT_TYPE, "application/json")], Body::from_stream(body)).into_response())
}

/// The answer to a hook whose token was revoked while people were asked.
fn no_longer(event: Option<HookEvent>) -> Value {
    const WHY: &str = "the token by which this session posts its hooks counts no longer";
    match event {
        Some(HookEvent::PreToolUse) => refuse_tool(WHY),
        Some(HookEvent::PermissionRequest) => deny(Some(WHY), false),
        _ => Value::Null,
    }
}
