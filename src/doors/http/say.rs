//! What people and programs say to a session: an event, or a verdict in words.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use hyper::header::HeaderValue;
use portcullis_core::{
    Address, Answer, Attribute, Behavior, ChatId, Code, EventId, IdempotencyKey, Input, Inside, InsideAgent, Label,
    SaidText, check_attributes, is_of_query,
};
use portcullis_wire::api::{Accepted, NewEvent, Recorded};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::routes::Operation;
use portcullis_wire::text;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::task::JoinError;

use super::Door;
use super::access::Permitted;
use super::body::{check_type, idempotency_key, read_json, read_params, read_text};
use super::files::{not_kept, on_disk, staged};
use super::metrics::Counters;
use super::response::{ErrorResponse, ErrorStyle, Json, wants_json};
use crate::files::{FileStore, MOST_FILES};
use crate::hub::{Peer, fault_of, find_session, mint, now};

/// Whom the text is for. Other keys of the query are attributes of the event.
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
pub(super) struct SayTarget {
    pub(super) session: Option<String>,
    pub(super) label: Option<String>,
    pub(super) chat: Option<String>,
    pub(super) reply_to: Option<String>,
}

/// `POST /`: the body is the text.
pub(super) async fn say(State(door): State<Arc<Door>>, permitted: Permitted, request: Request) -> Response {
    let in_json = wants_json(request.headers());
    let style = ErrorStyle::of(Operation::Say.route(), request.headers());
    match take(&door, permitted, request).await {
        Ok(taken) => answered(&taken, in_json),
        Err(fault) => style.refuse(&fault),
    }
}

/// The same from a request that says nothing but its text and, perhaps, the label of a session.
pub(super) async fn say_plainly(
    door: &Door,
    permitted: Permitted,
    label: Option<&str>,
    text: &str,
) -> Result<Taken, Fault> {
    static KNOWN: LazyLock<Arc<[Attribute]>> = LazyLock::new(|| known("/", "POST").into());
    let to = SayTarget { label: label.map(str::to_owned), ..SayTarget::default() };
    submit(door, permitted, &to, text.into(), Arc::clone(&KNOWN), None, mint(EventId::new)).await
}

/// What a request says of an event besides its text.
fn known(path: &str, method: &str) -> Vec<Attribute> {
    vec![("path".to_owned(), path.to_owned()), ("method".to_owned(), method.to_owned())]
}

async fn take(door: &Door, permitted: Permitted, request: Request) -> Result<Taken, Fault> {
    check_type(request.headers())?;
    let key = idempotency_key(request.headers())?;
    let to: SayTarget = read_params(request.uri())?;
    let query: Vec<Attribute> = read_params(request.uri())?;
    let given = query.into_iter().filter(|(name, _)| !is_of_query(name)).collect();
    let attributes = Attributes {
        known: known(request.uri().path(), request.method().as_str()),
        given: checked(given)?,
        files: vec![],
    };
    let text = read_text(request, door).await?;
    submit_keyed(door, permitted, &to, text, attributes, key, mint(EventId::new)).await
}

/// `POST /api/v1/events`: the same as JSON.
pub(super) async fn post_event(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let key = idempotency_key(request.headers())?;
    let NewEvent { text, session, label, chat, reply_to, attributes, mut files } = read_json(request, &door).await?;
    // One that is named again is the same file, and goes along once.
    let mut named = HashSet::new();
    files.retain(|id| named.insert(id.clone()));
    let to = SayTarget { session, label, chat, reply_to };
    let text = match files.len() {
        1 if text.trim().is_empty() => "[1 file without words]".to_owned(),
        count @ 2.. if text.trim().is_empty() => format!("[{count} files without words]"),
        _ => text,
    };
    if files.len() > MOST_FILES {
        return Err(Fault::new(Kind::BadRequest, format!("an event has at most {MOST_FILES} files")).into());
    }
    let given = checked(attributes)?;
    let attributes = Attributes { known: vec![], given, files };
    let id = mint(EventId::new);
    let is_without = attributes.files.is_empty() || is_repeated(&door, &permitted, key.as_deref()).await?;
    if is_without {
        return Ok(answered(&submit_keyed(&door, permitted, &to, text, attributes, key, id).await?, true));
    }
    // Done to its end, also where the client does not wait for it: else files would stay behind that belong to nothing.
    let submitting = async move { submit_with_files(&door, permitted, &to, text, attributes, key, id).await };
    let broken_down = |error: JoinError| Fault::new(Kind::Internal, format!("the event was not taken: {error}"));
    Ok(answered(&tokio::spawn(submitting).await.map_err(broken_down)??, true))
}

async fn submit_with_files(
    door: &Door,
    permitted: Permitted,
    to: &SayTarget,
    text: String,
    mut attributes: Attributes,
    key: Option<String>,
    id: EventId,
) -> Result<Taken, Fault> {
    let (event, sender, ids) = (id.to_string(), permitted.sender(), attributes.files.clone());
    let giving = on_disk(door, move |files| {
        let staged = staged(files, &sender, &ids)?;
        // There before the event is: the session may read them as soon as it has it.
        let given = files.give(&event, &sender, &staged).map_err(|error| not_kept("the files", &error))?;
        Ok::<_, Fault>((staged, given))
    });
    let (staged, given) = giving.await??;
    let paths = given.iter().map(|file| file.path.display().to_string());
    attributes.known.extend((1..).zip(paths).map(|(number, path)| (format!("file_{number}"), path)));
    let taken = submit_keyed(door, permitted, to, text, attributes, key, id).await;
    let answer = taken.as_ref().map(|taken| &taken.answer);
    let is_new = matches!(answer, Ok(Answer::Accepted { event, .. }) if *event == id);
    // Where it is a verdict, an event of before, or nothing, they wait for another.
    let tidying = move |files: &FileStore| if is_new { files.unstage(&staged) } else { files.erase(&id.to_string()) };
    on_disk(door, tidying).await?;
    taken
}

/// Whether the sender has sent an event under this key: its files are that event's by now.
async fn is_repeated(door: &Door, permitted: &Permitted, key: Option<&str>) -> Result<bool, Fault> {
    let Some(key) = key.map(str::to_owned) else { return Ok(false) };
    let inside = agent_of(door, permitted, None).await?;
    let name = inside.map_or_else(|| permitted.actor.name.clone(), |inside| inside.agent_name());
    Ok(door.hub.look(move |state| state.knows_key(&name, &key, now())).await?)
}

/// What is said about an event besides its text.
struct Attributes {
    /// By the request.
    known: Vec<Attribute>,
    /// By its sender.
    given: Vec<Attribute>,
    /// The ids of uploaded files that go with it.
    files: Vec<String>,
}

fn checked(given: Vec<Attribute>) -> Result<Vec<Attribute>, Fault> {
    check_attributes(given).map_err(|wrong| Fault::new(Kind::BadAttribute, wrong.to_string()))
}

/// A key counts for the whole request that it came with.
async fn submit_keyed(
    door: &Door,
    permitted: Permitted,
    to: &SayTarget,
    text: String,
    attributes: Attributes,
    key: Option<String>,
    id: EventId,
) -> Result<Taken, Fault> {
    let key = key.map(|key| IdempotencyKey { key, digest: digest(to, &attributes, &text) });
    let attributes = attributes.known.into_iter().chain(attributes.given).collect();
    submit(door, permitted, to, text.into(), attributes, key, id).await
}

async fn submit(
    door: &Door,
    permitted: Permitted,
    to: &SayTarget,
    text: Arc<str>,
    attributes: Arc<[Attribute]>,
    idempotency_key: Option<IdempotencyKey>,
    id: EventId,
) -> Result<Taken, Fault> {
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
            let (wanted, scope) = (session.clone(), permitted.actor.scope.clone());
            let found = door.hub.look(move |state| find_session(state, &wanted, &scope)).await?;
            Address::Session(found.inspect_err(|_| Counters::count(&door.counters.refused))?)
        }
        (None, Some(label)) => Address::Label(Label::new(label).ok_or_else(|| bad("the label"))?),
        (None, None) => Address::Open,
    };
    let chat = to.chat.as_deref().map(|chat| ChatId::new(chat).ok_or_else(|| bad("the chat"))).transpose()?;
    let unknown = |_| Fault::new(Kind::NoSuchMessage, "reply_to is not the id of a message");
    let reply_to = to.reply_to.as_deref().map(str::parse).transpose().map_err(unknown)?;
    let text = SaidText::new(text);
    // What an agent runs answers no prompt and directs no session, although it has its owner's credential.
    let inside = agent_of(door, &permitted, text.verdict()).await?;
    let origin = inside.as_ref().and_then(unknown_origin);
    let by = permitted.actor;
    let input = Input::Said { id, by, inside, text, address, chat, attributes, reply_to, idempotency_key };
    let (counter, answered) = match door.hub.submit(input).await? {
        Answer::Refused(refusal) => (&door.counters.refused, Err(fault_of(&refusal))),
        answer @ Answer::Recorded { .. } => (&door.counters.verdicts, Ok(answer)),
        answer => (&door.counters.accepted, Ok(answer)),
    };
    Counters::count(counter);
    answered.map(|answer| Taken { answer, origin })
}

/// The agent that the sender runs in. Over TCP only a verdict is worth the look at all processes of this machine.
async fn agent_of(
    door: &Door,
    permitted: &Permitted,
    verdict: Option<(Behavior, Code)>,
) -> Result<Option<Inside>, Fault> {
    match permitted.peer {
        Peer::OwnerOverTcp(_) if verdict.is_none() => Ok(None),
        peer => Ok(door.hub.inside(peer).await?),
    }
}

/// Something that was said and taken.
pub(super) struct Taken {
    pub(super) answer: Answer,
    /// Why it goes out as somebody else than who sent it.
    pub(super) origin: Option<String>,
}

/// What the owner has to know whose own words are not taken for theirs.
fn unknown_origin(inside: &Inside) -> Option<String> {
    let InsideAgent::Unknown(why) = inside.agent else { return None };
    Some(format!(
        "sent as {}, who only informs: it may come from inside a session that runs commands, for {why}; {}",
        inside.agent_name(),
        Fault::new(Kind::UnknownOrigin, "").hint
    ))
}

fn digest(to: &SayTarget, said: &Attributes, text: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    // Keys of yesterday still count: what is new is part of the digest where there is any.
    let target = [&to.session, &to.label, &to.chat].map(|part| part.as_deref().unwrap_or_default());
    let given = said.given.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]);
    // No attribute is called so.
    let files = said.files.iter().flat_map(|file| ["file:", file]);
    for part in target.into_iter().chain(to.reply_to.as_deref()).chain(given).chain(files) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update(text);
    hash.finalize().into()
}

pub(super) fn answered(taken: &Taken, in_json: bool) -> Response {
    let (event, chat, to, unclear) = match &taken.answer {
        Answer::Accepted { event, chat, to, not_a_verdict, .. } => {
            (event, chat, to, not_a_verdict.map(|why| text::taken_as_chat(why, *to)))
        }
        Answer::Recorded { ask, code, behavior, missing } if in_json => {
            let (ask, code, behavior) = (ask.to_string(), code.to_string(), behavior.name().to_owned());
            return Json(Recorded { ask, code, behavior, missing: *missing }).into_response();
        }
        _ => return "verdict recorded".into_response(),
    };
    let notes: Vec<String> = unclear.into_iter().chain(taken.origin.clone()).collect();
    let note = Some(notes.join("\n")).filter(|note| !note.is_empty());
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
