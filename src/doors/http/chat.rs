//! The small API of a page that chats with a session: a prompt answered with the stream of its messages, the prompts
//! that wait, and yes or no to one of them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use portcullis_core::policy::Mode;
use portcullis_core::{
    Answer, Ask, Behavior, Code, Input, Ruling, SessionId, State as Known, TokenScope, UnknownName, VerdictTarget,
};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::start::{Confirm, Confirmed, NewChat, PendingAsk, PendingAsks};
use tokio::sync::mpsc;

use super::Door;
use super::access::Permitted;
use super::answers::reserved;
use super::asks::size_in_answer;
use super::body::read_json;
use super::response::{ErrorResponse, Json, event_stream};
use super::seats::Seat;
use super::sse::{Pass, data, heartbeat, heartbeat_time, take_place};
use super::start::{NewProcess, RunningProcess, begin, folder};
use crate::hub::mint;

/// `POST /api/chat`: starts a session for one prompt and answers with its messages, one event each, until it is over.
/// The session goes on when the client closes the stream.
pub(super) async fn chat(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let NewChat { prompt, auto_approve, permission_mode, folder: wanted, label, model, resume } =
        read_json(request, &door).await?;
    if prompt.trim().is_empty() {
        return Err(Fault::new(Kind::BadRequest, "prompt is empty").into());
    }
    let mode = mode(auto_approve, permission_mode.as_deref())?;
    if auto_approve && !door.starter.allow_bypass {
        let what = "autoApprove is not allowed here: nothing would be asked";
        return Err(Fault::new(Kind::BypassNotAllowed, what).into());
    }
    let place = take_place(&door, &permitted)?;
    let pass = Pass::of(&door, &permitted);
    let new = NewProcess {
        session: mint(SessionId::new),
        folder: folder(&door, wanted.as_deref(), resume.as_deref()).await?,
        prompt: Some(prompt),
        label,
        mode: mode.map(|mode| mode.name().to_owned()),
        model,
        by: permitted.actor.name,
        resume,
        channels: vec![],
        once: true,
        ask_time: Some(door.starter.ask_time),
    };
    let RunningProcess { view, lines } = begin(&door, new).await?;
    let first = serde_json::json!({"type": "portcullis", "subtype": "started", "session": view});
    let first = Some(data(first.to_string().as_bytes()));
    let streaming = Streaming { first, lines, pass: Box::pin(pass.ended()), _place: place };
    Ok(event_stream(Body::from_stream(stream::unfold(streaming, Streaming::next))))
}

/// The permission mode that was asked for, in one way or the other.
fn mode(auto_approve: bool, named: Option<&str>) -> Result<Option<Mode>, Fault> {
    let bad = |what: String| Fault::new(Kind::BadRequest, what);
    let unknown = |error: UnknownName| bad(format!("permissionMode: {error}"));
    match (auto_approve, named.map(str::parse).transpose().map_err(unknown)?) {
        (true, Some(mode)) if mode != Mode::BypassPermissions => Err(bad(format!(
            "autoApprove is the mode bypassPermissions, and permissionMode says {mode}: send one of them"
        ))),
        (true, _) => Ok(Some(Mode::BypassPermissions)),
        (false, mode) => Ok(mode),
    }
}

struct Streaming {
    first: Option<Bytes>,
    lines: mpsc::Receiver<Bytes>,
    /// Is ready when the token no longer counts by which the stream was opened.
    pass: BoxFuture<'static, ()>,
    /// Given back when the connection closes.
    _place: Seat,
}

impl Streaming {
    async fn next(mut self) -> Option<(Result<Bytes, std::convert::Infallible>, Self)> {
        if let Some(first) = self.first.take() {
            return Some((Ok(first), self));
        }
        let bytes = tokio::select! {
            biased;
            () = &mut self.pass => return None,
            line = tokio::time::timeout(heartbeat_time(), self.lines.recv()) => match line {
                Ok(line) => data(&line?),
                Err(_) => heartbeat(),
            },
        };
        Some((Ok(bytes), self))
    }
}

/// `GET /api/pending`: the prompts that are open.
pub(super) async fn pending(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
) -> Result<Json<PendingAsks>, ErrorResponse> {
    let (counted_as, actor, counting) = (permitted.counted_as(), permitted.actor, Arc::clone(&door));
    let open = door.hub.look(move |state| {
        let listed = || state.listed_asks().filter(|(ask, _)| state.is_in_scope(Some(ask.session), &actor.scope));
        let room = reserved(&counting, counted_as.as_deref(), listed().map(|(ask, _)| size_in_answer(ask)).sum())?;
        Ok::<_, Fault>((listed().map(|(ask, life)| PendingAsk::of(ask, life)).collect(), room))
    });
    let (pending, _room) = open.await??;
    Ok(Json(PendingAsks { pending }))
}

/// `POST /api/confirm`: yes or no.
pub(super) async fn confirm(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    request: Request,
) -> Result<Json<Confirmed>, ErrorResponse> {
    let Confirm { id, approved } = read_json(request, &door).await?;
    let scope = actor.scope.clone();
    let target = match door.hub.look(move |state| targets(state, &id, &scope)).await?.as_slice() {
        [] => return Ok(Json(Confirmed { success: false })),
        [(target, _)] => target.clone(),
        several => {
            let codes: Vec<String> = several.iter().filter_map(|(_, code)| Some(code.as_ref()?.to_string())).collect();
            let what = format!("several prompts are about this call: {}", codes.join(", "));
            return Err(Fault::new(Kind::Ambiguous, what).into());
        }
    };
    let ruling = Ruling::plain(if approved { Behavior::Allow } else { Behavior::Deny });
    match door.hub.submit(Input::Answered { by: actor, target, ruling, idempotency_key: None }).await? {
        Answer::Recorded { .. } => Ok(Json(Confirmed { success: true })),
        Answer::Refused(_) => Ok(Json(Confirmed { success: false })),
        other => Err(Fault::new(Kind::Internal, format!("the hub answered {other:?}")).into()),
    }
}

/// By the prompt's id, its code, or the client's id of the call, in this order: what a client calls its call is its own
/// choice, and is never taken for another prompt's code. Several prompts of the sessions in this scope may be about one call.
fn targets(state: &Known, id: &str, scope: &TokenScope) -> Vec<(VerdictTarget, Option<Code>)> {
    if let Ok(id) = id.parse() {
        return vec![(VerdictTarget::Id(id), None)];
    }
    let code = Code::parse(id);
    let has_code = |ask: &Ask| Some(ask.code) == code && state.is_in_scope(Some(ask.session), scope);
    if let Some(code) = code.filter(|_| state.listed_asks().any(|(ask, _)| has_code(ask))) {
        return vec![(VerdictTarget::Code(code), None)];
    }
    let is_of_call =
        |ask: &&Ask| ask.details.tool_use_id.as_deref() == Some(id) && state.is_in_scope(Some(ask.session), scope);
    let of_call = state.listed_asks().map(|(ask, _)| ask).filter(is_of_call);
    let of_call: Vec<_> = of_call.map(|ask| (VerdictTarget::Id(ask.id), Some(ask.code))).collect();
    if of_call.is_empty() { code.map(|code| (VerdictTarget::Code(code), None)).into_iter().collect() } else { of_call }
}
