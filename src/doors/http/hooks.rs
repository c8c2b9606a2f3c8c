//! `POST /claude/hooks`: Claude Code's http hooks, where the owner has switched them on.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures_util::future::BoxFuture;
use futures_util::stream;
use hyper::header::CONTENT_TYPE;
use portcullis_core::Actor;
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::hooks::{HookCall, LONGEST_CALL, fields_of, refuse};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use super::Door;
use super::access::Permitted;
use super::body::{Broken, read_beginning};
use super::call_memory::CallShare;
use super::response::ErrorResponse;
use super::sse::Pass;

/// Answers a posted hook, for sessions that the actor opened, until the token is cancelled because the client has gone. It may take as
/// long as a person needs.
pub(crate) type HookHandler =
    Box<dyn Fn(HookCall, Actor, CancellationToken) -> BoxFuture<'static, Result<HookResponse, Fault>> + Send + Sync>;

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
    let mut share = door.call_memory.share(&permitted.sender());
    let call = read_call(request, &door, &mut share).await?;
    let event = call.event;
    // A token that was revoked while the body came lets nobody in any more.
    if permitted.token.as_ref().is_some_and(|token| !door.credentials.still_counts(token)) {
        return if event.decides() { Ok(say(&refuse(event, REVOKED), None)) } else { Err(forbidden().into()) };
    }
    let (who, tool, unreadable) = (permitted.actor.name.clone(), call.tool_name.clone(), call.unreadable.clone());
    let cancel = CancellationToken::new();
    // Dropped with this future when the client closes its end.
    let _cancel_when_gone = cancel.clone().drop_guard();
    let pass = Pass::of(&door, &permitted);
    let handling = handler(call, permitted.actor, cancel);
    let answering = tokio::spawn(async move {
        let answered = handling.await;
        drop(share);
        answered
    });
    let answered = tokio::select! {
        answered = answering => {
            answered.unwrap_or_else(|_| Err(Fault::new(Kind::Internal, "the hook could not be answered")))
        }
        // Whoever lost the right to ask gets a no.
        () = pass.ended() => return Ok(say(&refuse(event, REVOKED), None)),
    };
    match answered {
        Ok(HookResponse { output, written }) => Ok(say(&output, Some(written))),
        // An error would let the call run.
        Err(fault) if event.decides() => {
            let why = unreadable.unwrap_or(fault.message);
            let tool = if tool.is_empty() { "an unknown tool" } else { &tool };
            let noted = door.hub.record_denied(who, format!("a call of {tool}: {why}")).await;
            noted.unwrap_or_else(|trouble| tracing::warn!(?trouble, "a refused call is not in the log"));
            Ok(say(&refuse(event, &unjudged(&why)), None))
        }
        Err(fault) => Err(fault.into()),
    }
}

const REVOKED: &str = "the token by which this session posts its hooks counts no longer";

fn unjudged(why: &str) -> String {
    format!("portcullis could not judge this call, so it is denied: {why}")
}

fn forbidden() -> Fault {
    Fault::new(Kind::Forbidden, "forbidden")
}

/// A longer text is read on a thread of its own: nobody else waits meanwhile.
const READ_AT_ONCE: usize = 64 << 10;

/// Reads a call as far as it can be read: one that decides and is too long, nested too deep, or finds no memory, is refused and
/// not passed over.
async fn read_call(request: Request, door: &Door, share: &mut CallShare) -> Result<HookCall, Fault> {
    let broken_down = |error: JoinError| Fault::new(Kind::Internal, format!("the call could not be read: {error}"));
    let (text, problem) = read_beginning(request.into_body(), share, door.limits.idle_time).await;
    let is_full = matches!(problem, Some(Broken::Full(_)));
    let problem = problem.map(|broken| broken.fault(LONGEST_CALL));
    let why = problem.as_ref().map(|fault| fault.message.clone());
    let is_short = text.len() <= READ_AT_ONCE;
    let read = move || HookCall::read(&fields_of(&text, why.as_deref()));
    let read = if is_short { read() } else { tokio::task::spawn_blocking(read).await.map_err(broken_down)? };
    match (read, problem) {
        (Ok(call), Some(fault)) if is_full && !call.event.decides() => Err(fault),
        (Ok(call), _) => Ok(call),
        (Err(_), Some(fault)) => Err(fault),
        (Err(error), None) => Err(Fault::new(Kind::BadRequest, error.to_string())),
    }
}

/// The answer, and who is told when the client has taken it.
fn say(output: &Value, written: Option<oneshot::Sender<()>>) -> Response {
    let text = if output.is_null() { "{}".to_owned() } else { output.to_string() };
    // Whoever asks for what comes after the text has taken the text.
    let body = stream::unfold((Some(text), written), |(text, written)| async move {
        match text {
            Some(text) => Some((Ok::<_, std::convert::Infallible>(text), (None, written))),
            None => {
                // Nobody may want to know any more.
                written.and_then(|written| written.send(()).ok());
                None
            }
        }
    });
    ([(CONTENT_TYPE, "application/json")], Body::from_stream(body)).into_response()
}
