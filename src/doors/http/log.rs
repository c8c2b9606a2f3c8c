//! The log: the journal's records for people to read, and the erasing of what people wrote.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use portcullis_core::{Input, Subject, excerpt};
use portcullis_wire::api::{LogLine, NewRedaction, Redacted, ToldLine, Tried};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::sentence::{Names, Sentence, Weight, sentence};
use serde::Deserialize;

use super::access::Permitted;
use super::body::{Params, read_json};
use super::files::on_disk;
use super::response::{ErrorResponse, Json};
use super::{Door, sse};
use crate::hub::{Erasure, Payload, Seq, Stored};

/// Bytes kept of the description of what was tried.
const MAX_TRIED: usize = 200;

#[derive(Deserialize)]
pub(super) struct LogPage {
    #[serde(default)]
    after: u64,
    limit: Option<usize>,
    last: Option<usize>,
    #[serde(default)]
    wait: u64,
    #[serde(default)]
    words: bool,
}

/// Nobody waits longer than this for a record: whoever follows the log asks again.
const LONGEST_WAIT: u64 = 30;

/// `GET /api/v1/log[?after=SEQ&limit=N&last=N&wait=SECONDS]`: oldest first. Whoever asks again after the last sequence it
/// got, with `wait`, follows the log: over restarts of the gate too, and with no record lost or told twice.
pub(super) async fn page(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    Params(page): Params<LogPage>,
) -> Result<Json<Vec<LogLine>>, ErrorResponse> {
    let (limit, mut after) = (page.limit.unwrap_or(500).clamp(1, 1000), page.after);
    if let Some(last) = page.last {
        // A record's sequence is its number.
        let records = door.hub.look(portcullis_core::State::revision).await?;
        after = after.max(records.saturating_sub(last.min(limit) as u64));
    }
    let mut appended = door.hub.follow();
    appended.mark_unchanged();
    let mut records = door.hub.page(Seq(after), limit).await?;
    if records.is_empty() && page.wait > 0 {
        let _place = sse::take_place(&door, &permitted)?;
        let ended = sse::Pass::of(&door, &permitted).ended();
        tokio::pin!(ended);
        let give_up = tokio::time::Instant::now() + Duration::from_secs(page.wait.min(LONGEST_WAIT));
        while records.is_empty() {
            tokio::select! {
                changed = appended.changed() => if changed.is_err() { break },
                () = tokio::time::sleep_until(give_up) => break,
                () = door.stop.cancelled() => break,
                () = &mut ended => return Err(Fault::new(Kind::Unauthorized, "the token no longer counts").into()),
            }
            records = door.hub.page(Seq(after), limit).await?;
        }
    }
    let mut lines: Vec<LogLine> = records.into_iter().map(line).collect();
    if page.words {
        let mut names = door.hub.look(known_names).await?;
        lines.iter_mut().for_each(|line| tell(line, &mut names));
    }
    Ok(Json(lines))
}

fn line(stored: Stored) -> LogLine {
    let (payload, erased) = match stored.payload {
        Payload::None => (None, false),
        Payload::Kept(bytes) => (Some(String::from_utf8_lossy(&bytes).into_owned()), false),
        Payload::Erased => (None, true),
    };
    let mut record = serde_json::from_slice(&stored.body).unwrap_or_default();
    hide_hashes(&mut record);
    LogLine { seq: stored.seq.0, at: stored.at, subject: stored.subject, record, payload, erased, told: None }
}

/// The names of what is still known; those of older records are learned from the page itself.
fn known_names(state: &portcullis_core::State) -> Names {
    let mut names = Names::default();
    state.sessions().for_each(|session| names.learn_label(session.id, &session.label));
    names
}

/// Says the record in words, in place of what people wrote: the words hold its beginning, with secrets masked.
fn tell(line: &mut LogLine, names: &mut Names) {
    let read = line.read();
    line.payload = None;
    let kind = line.record.as_object().and_then(|record| record.keys().next().cloned());
    line.record = serde_json::json!({});
    line.told = Some(match read {
        Ok(record) => {
            let Sentence { words, label, weight, .. } = sentence(names, &record);
            ToldLine { words, label, weight: weight.name().to_owned() }
        }
        // Of a kind that only a later release can read.
        Err(_) => ToldLine { words: kind.unwrap_or_default(), label: None, weight: Weight::Detail.name().to_owned() },
    });
}

/// Removes hashes of tokens: nobody who reads the log needs them.
fn hide_hashes(record: &mut serde_json::Value) {
    if let Some(token) = record.get_mut("token_added").and_then(serde_json::Value::as_object_mut) {
        token.remove("hash");
    }
}

/// `POST /api/v1/log/barred`: the command line kept an agent from something by itself, and puts it on the record.
pub(super) async fn barred(
    State(door): State<Arc<Door>>,
    Permitted { actor, peer, .. }: Permitted,
    request: Request,
) -> Result<&'static str, ErrorResponse> {
    let Tried { what } = read_json(request, &door).await?;
    let (what, _) = excerpt(&what, Some(MAX_TRIED));
    match door.hub.inside(peer).await? {
        Some(inside) => door.hub.record_refusal(&inside, &actor.name, what).await?,
        None => {
            let what = format!("{what}, by a process that says it runs inside Claude Code");
            door.hub.record_denied(actor.name, what).await?;
        }
    }
    Ok("noted\n")
}

/// `POST /api/v1/log/redact`: erases what people wrote about a subject. That it happened stays.
pub(super) async fn redact(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    request: Request,
) -> Result<Json<Redacted>, ErrorResponse> {
    let NewRedaction { subject } = read_json(request, &door).await?;
    let unknown = || Fault::new(Kind::BadRequest, format!("{subject:?} is none of event/ID, ask/ID and session/ID"));
    let (kind, id) = subject.split_once('/').unwrap_or(("", &subject));
    let candidates: Vec<Subject> = match kind {
        "event" => vec![Subject::Event(id.parse().map_err(|_| unknown())?)],
        "ask" => vec![Subject::Ask(id.parse().map_err(|_| unknown())?)],
        "session" => vec![Subject::Session(id.parse().map_err(|_| unknown())?)],
        "" => {
            let event = id.parse().map(Subject::Event).map_err(|_| unknown())?;
            vec![event, id.parse().map(Subject::Ask).map_err(|_| unknown())?]
        }
        _ => return Err(unknown().into()),
    };
    for subject in candidates {
        let Erasure { payloads: erased, left } = door.hub.erase(subject.clone()).await?;
        if erased > 0 {
            // Erasing leaves no trace in what was erased, so it leaves one here, whatever else goes wrong.
            door.hub.submit(Input::Redacted { what: subject.to_string(), by: actor.clone() }).await?;
        }
        let owner = match &subject {
            Subject::Event(event) => Some(event.to_string()),
            Subject::Session(session) => Some(session.to_string()),
            _ => None,
        };
        if let Some(owner) = owner {
            on_disk(&door, move |files| files.erase(&owner)).await?;
        }
        if let Some(why) = left {
            let words = format!("copies may be left in the journal's write-ahead log until it is opened anew: {why}");
            return Err(Fault::new(Kind::JournalFailed, words).into());
        }
        if erased > 0 {
            return Ok(Json(Redacted { subject: subject.to_string(), erased }));
        }
    }
    Ok(Json(Redacted { subject, erased: 0 }))
}
