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
use portcullis_wire::hooks::{HookCall, HookEvent, LONGEST_CALL, decides_perhaps, fields_of, mark_unreadable, refuse};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::Door;
use super::access::Permitted;
use super::body::read_beginning;
use super::response::ErrorResponse;
use super::sse::Pass;

/// Answers a posted hook, for sessions in the scope, until the token is cancelled because the client has gone. It may take as
/// long as a person needs.
pub(crate) type HookHandler = Box<
    dyn Fn(HookCall, TokenScope, CancellationToken) -> BoxFuture<'static, Result<HookResponse, Fault>> + Send + Sync,
>;

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
    let (event, call) = match read_call(request, &door).await? {
        PostedCall::Call(call) => (call.event, *call),
        PostedCall::Perhaps(event, why) => return Ok(say(&refuse(event, &why), None)),
    };
    let (who, tool) = (permitted.actor.name.clone(), call.tool_name.clone());
    let cancel = CancellationToken::new();
    // Dropped with this future when the client closes its end.
    let _cancel_when_gone = cancel.clone().drop_guard();
    let pass = Pass::of(&door, &permitted);
    let answering = tokio::spawn(handler(call, permitted.actor.scope, cancel));
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
            let noted = door.hub.record_denied(who, format!("a call of {tool}: {}", fault.message)).await;
            noted.unwrap_or_else(|trouble| tracing::warn!(?trouble, "a refused call is not in the log"));
            Ok(say(&refuse(event, &unjudged(&fault.message)), None))
        }
        Err(fault) => Err(fault.into()),
    }
}

const REVOKED: &str = "the token by which this session posts its hooks counts no longer";

fn unjudged(why: &str) -> String {
    format!("portcullis could not judge this call, so it is denied: {why}")
}

/// What was posted.
enum PostedCall {
    Call(Box<HookCall>),
    /// Not even the name of the hook can be read, and it may be this one, which decides: why it cannot.
    Perhaps(HookEvent, String),
}

/// Reads a call as far as it can be read: one that is too long, or nested too deep, is refused and not passed over.
async fn read_call(request: Request, door: &Door) -> Result<PostedCall, Fault> {
    let (text, problem) = read_beginning(request.into_body(), LONGEST_CALL, door.limits.idle_time).await;
    let problem = problem.map(|broken| broken.fault(LONGEST_CALL));
    let mut fields = fields_of(&text);
    if let Some(fault) = &problem {
        mark_unreadable(&mut fields, &fault.message);
    }
    match (HookCall::read(&fields), decides_perhaps(&text)) {
        (Ok(call), _) => Ok(PostedCall::Call(Box::new(call))),
        (Err(error), Some(event)) => Ok(PostedCall::Perhaps(event, unjudged(&error.to_string()))),
        (Err(error), None) => Err(problem.unwrap_or_else(|| Fault::new(Kind::BadRequest, error.to_string()))),
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
