//! What people and programs send: text for a session, or a verdict in words.

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use hyper::HeaderMap;
use hyper::header::HeaderValue;
use portcullis_core::{
    Actor, Address, Answer, ChatId, EventId, IdempotencyKey, Input, Label, NotAVerdict, Right, Text, TokenScope,
    parse_verdict,
};
use portcullis_wire::api::{Accepted, EventView, NewEvent, Recorded};
use portcullis_wire::error::{Fault, Kind};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::Door;
use super::answer::{Refused, not_found, refuse, refuse_in_words, wants_json};
use super::body::{Params, check_type, read_json, read_params, read_text};
use super::credentials::Caller;
use super::metrics::Counters;
use crate::hub::{fault_of, mint, now};

/// Whom the text is for. Other keys of the query are the sender's own business.
#[derive(Default, Deserialize)]
pub(super) struct To {
    session: Option<String>,
    label: Option<String>,
    chat: Option<String>,
}

/// `POST /`: the body is the text.
pub(super) async fn say(State(door): State<Arc<Door>>, request: Request) -> Response {
    let in_json = wants_json(request.headers());
    match take(&door, request).await {
        Ok(answer) => answered(&answer, in_json),
        Err((fault, _)) if in_json => refuse(&fault),
        // The channel documents print this one word.
        Err((fault, true)) if fault.error == Kind::Forbidden.entry().0 => {
            (hyper::StatusCode::FORBIDDEN, "forbidden").into_response()
        }
        Err((fault, _)) => refuse_in_words(&fault),
    }
}

/// The answer, or the fault and whether the sender spoke in the manner of the channel documents.
async fn take(door: &Door, request: Request) -> Result<Answer, (Fault, bool)> {
    let caller = request.extensions().get::<Caller>().cloned();
    let named = caller.as_ref().is_some_and(|caller| caller.named_sender);
    let taken = async {
        // Who it is comes before what they say: nobody unknown makes us read a body.
        let caller = caller.ok_or_else(|| Fault::new(Kind::Forbidden, "forbidden"))?;
        let actor = caller.with(Right::Talk)?.clone();
        check_type(request.headers())?;
        let key = idempotency_key(request.headers())?;
        let to: To = read_params(request.uri())?;
        let attributes = vec![
            ("path".to_owned(), request.uri().path().to_owned()),
            ("method".to_owned(), request.method().as_str().to_owned()),
        ];
        let text = read_text(request, door).await?;
        limit_rate(door, &caller, &actor)?;
        if parse_verdict(&text).is_some() {
            caller.outside_with(Right::Talk, door, "answering a prompt").await?;
        }
        submit(door, actor, &to, text, attributes, key).await
    };
    taken.await.map_err(|fault| (fault, named))
}

/// `POST /api/v1/events`: the same as JSON.
pub(super) async fn post(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Refused> {
    let actor = caller.with(Right::Talk)?.clone();
    let key = idempotency_key(request.headers())?;
    let NewEvent { text, session, label, chat } = read_json(request, &door).await?;
    limit_rate(&door, &caller, &actor)?;
    let to = To { session, label, chat };
    if parse_verdict(&text).is_some() {
        caller.outside_with(Right::Talk, &door, "answering a prompt").await?;
    }
    let answer = submit(&door, actor, &to, text, vec![], key).await?;
    Ok(answered(&answer, true))
}

fn limit_rate(door: &Door, caller: &Caller, actor: &Actor) -> Result<(), Fault> {
    if caller.is_owner {
        return Ok(());
    }
    let too_fast = |seconds| Fault::new(Kind::TooFast, "too many events a second").retry_after(seconds);
    door.rate.take(&actor.name, Instant::now()).map_err(too_fast)
}

async fn submit(
    door: &Door,
    by: Actor,
    to: &To,
    text: String,
    attributes: Vec<(String, String)>,
    key: Option<String>,
) -> Result<Answer, Fault> {
    if text.is_empty() {
        return Err(Fault::new(Kind::BadRequest, "the event has no text"));
    }
    let bad = |what: &str| {
        Fault::new(
            Kind::BadRequest,
            format!("{what} is not valid: it is empty, too long, not UTF-8, or has invisible letters"),
        )
    };
    let address = match (&to.session, &to.label) {
        (Some(_), Some(_)) => return Err(Fault::new(Kind::BadRequest, "name a session or a label, not both")),
        (Some(session), None) => {
            let unknown = |_| Fault::new(Kind::NoSuchSession, format!("no session {session:?}"));
            Address::Session(session.parse().map_err(unknown)?)
        }
        (None, Some(label)) => Address::Label(Label::new(label).ok_or_else(|| bad("the label"))?),
        (None, None) => Address::Open,
    };
    let chat = to.chat.as_deref().map(|chat| ChatId::new(chat).ok_or_else(|| bad("the chat"))).transpose()?;
    let idempotency_key = key.map(|key| IdempotencyKey { key, digest: digest(to, &text) });
    let (id, text) = (mint(EventId::new), Text::new(text));
    let input = Input::Said { id, by, text, address, chat, attributes, idempotency_key };
    let (counter, answered) = match door.hub.submit(input).await? {
        Answer::Refused(refusal) => (&door.counters.refused, Err(fault_of(&refusal))),
        answer @ Answer::Recorded { .. } => (&door.counters.verdicts, Ok(answer)),
        answer => (&door.counters.accepted, Ok(answer)),
    };
    Counters::count(counter);
    answered
}

fn digest(to: &To, text: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [&to.session, &to.label, &to.chat] {
        let part = part.as_deref().unwrap_or_default();
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update(text);
    hash.finalize().into()
}

fn answered(answer: &Answer, in_json: bool) -> Response {
    let (event, chat, to, note) = match answer {
        Answer::Accepted { event, chat, to, not_a_verdict, .. } => (event, chat, to, not_a_verdict.map(in_words)),
        Answer::Recorded { ask, code, behavior, missing } if in_json => {
            let (ask, code, behavior) = (ask.to_string(), code.to_string(), behavior.name().to_owned());
            return Json(Recorded { ask, code, behavior, missing: *missing }).into_response();
        }
        _ => return "verdict recorded".into_response(),
    };
    let mut response = if in_json {
        let (id, chat_id, session) = (event.to_string(), chat.to_string(), to.map(|to| to.to_string()));
        Json(Accepted { id, chat_id, session, note }).into_response()
    } else {
        note.map_or_else(|| "ok".to_owned(), |note| format!("ok\n{note}\n")).into_response()
    };
    let headers = response.headers_mut();
    for (name, value) in [("x-event-id", event.to_string()), ("x-chat-id", chat.to_string())] {
        // A chat may be named in letters that a header cannot hold; then there is no header.
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    response
}

fn in_words(why: NotAVerdict) -> String {
    match why {
        NotAVerdict::NoSuchCode(code) => format!("not taken as a verdict: no open prompt has the code {code}"),
        NotAVerdict::BadGrammar => "not taken as a verdict: write yes or no and the prompt's five letters".to_owned(),
    }
}

pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Fault> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    match key.to_str() {
        Ok(key) if !key.is_empty() && key.len() <= 255 => Ok(Some(key.to_owned())),
        _ => Err(Fault::new(Kind::BadRequest, "an Idempotency-Key has 1 to 255 visible letters")),
    }
}

#[derive(Deserialize)]
pub(super) struct Page {
    limit: Option<usize>,
    state: Option<String>,
    session: Option<String>,
}

/// `GET /api/v1/events`: newest first. Those who may not review see their own.
pub(super) async fn list(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Params(page): Params<Page>,
) -> Result<Json<Vec<EventView>>, Refused> {
    let actor = caller.with(Right::Talk)?.clone();
    let limit = page.limit.unwrap_or(100).min(1000);
    let events = door.hub.look(move |state| {
        let mine = state
            .events()
            .rev()
            .filter(|held| may_see(&actor, &held.event.sender, state.label_of(held.to).as_ref()))
            .map(|held| EventView::of(held, now()));
        let wanted = mine.filter(|view| {
            page.state.as_ref().is_none_or(|state| *state == view.state)
                && page.session.as_ref().is_none_or(|session| view.session.as_ref() == Some(session))
        });
        wanted.take(limit).collect()
    });
    Ok(Json(events.await?))
}

/// One's own, and for reviewers those of the sessions they have to do with.
fn may_see(actor: &Actor, sender: &str, label: Option<&Label>) -> bool {
    let covered = match (&actor.scope, label) {
        (TokenScope::Everything, _) => true,
        (scope, Some(label)) => scope.covers(label),
        (_, None) => false,
    };
    actor.name == sender || actor.may(Right::Review) && covered
}

/// `GET /api/v1/events/{id}`: one event with its text.
pub(super) async fn show(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<EventView>, Refused> {
    let actor = caller.with(Right::Talk)?.clone();
    let unknown = || not_found(Kind::NoSuchEvent, format!("no event {id}"));
    let event: EventId = id.parse().map_err(|_| unknown())?;
    let remembered = door.hub.look(move |state| {
        let held = state.event(event)?;
        Some((EventView::of(held, now()), state.label_of(held.to)))
    });
    let (view, label) = remembered.await?.unzip();
    let Some(whole) = door.hub.read(event).await? else { return Err(unknown()) };
    if !may_see(&actor, &whole.sender, label.flatten().as_ref()) {
        return Err(unknown());
    }
    // The gate remembers the latest; the journal has them all, but not what became of them in one place.
    let mut view = view.unwrap_or_else(|| EventView {
        id: whole.id.to_string(),
        state: "settled".to_owned(),
        why: "settled long ago".to_owned(),
        via: whole.via.name().to_owned(),
        sender: whole.sender.clone(),
        chat_id: whole.chat.to_string(),
        session: None,
        bytes: whole.text.len(),
        at: whole.at.0,
        redelivered: false,
        text: None,
    });
    view.text = Some(whole.text.as_str().to_owned());
    Ok(Json(view))
}

/// `POST /api/v1/events/{id}/retry`: back on its queue.
pub(super) async fn retry(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<&'static str, Refused> {
    let by = caller.with(Right::Talk)?.clone();
    let event = id.parse().map_err(|_| not_found(Kind::NoSuchEvent, format!("no event {id}")))?;
    change(&door, Input::Retry { by, event }).await
}

/// `POST /api/v1/events/{id}/drop`: off its queue.
pub(super) async fn drop_event(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<&'static str, Refused> {
    let by = caller.with(Right::Talk)?.clone();
    let event = id.parse().map_err(|_| not_found(Kind::NoSuchEvent, format!("no event {id}")))?;
    change(&door, Input::Drop { by, event }).await
}

async fn change(door: &Door, input: Input) -> Result<&'static str, Refused> {
    match door.hub.submit(input).await? {
        Answer::Refused(refusal) => Err(fault_of(&refusal).into()),
        _ => Ok("done\n"),
    }
}
