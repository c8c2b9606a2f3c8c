//! What people and agents wrote: kept apart from the skeleton of a record, and erased on demand.

use std::str::from_utf8;
use std::sync::Arc;

use portcullis_core::{Attribute, Details, Edited, Event, Moment, Order, Record, SentFile, Text, Verdict};
use serde::{Deserialize, Serialize};

use super::{RecordPayload, Unreadable};
use crate::as_text;
use crate::ask::{DetailsForm, is_plain};
use crate::form::{Boxed, List};
use crate::session::FileForm;

#[derive(Serialize, Deserialize)]
struct ReplyPayload {
    #[serde(with = "as_text")]
    text: Text,
    #[serde(default, with = "List::<FileForm>", skip_serializing_if = "Vec::is_empty")]
    files: Vec<SentFile>,
}

#[derive(Serialize, Deserialize)]
struct AskPayload {
    #[serde(with = "as_text")]
    description: Text,
    #[serde(with = "as_text")]
    preview: Text,
    #[serde(default, with = "Boxed::<DetailsForm>", skip_serializing_if = "is_plain")]
    details: Box<Details>,
}

#[derive(Serialize, Deserialize)]
struct VerdictPayload {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// What is to run instead of what was asked about.
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    input: Option<Text>,
}

pub(super) fn write(record: &Record) -> serde_json::Result<Option<Arc<[u8]>>> {
    match record {
        Record::Received { event, .. } => received(event).map(Some),
        Record::Replied { reply } => json(&ReplyPayload { text: reply.text.clone(), files: reply.files.clone() }),
        Record::Asked { ask } => json(&AskPayload {
            description: ask.description.clone(),
            preview: ask.preview.clone(),
            details: ask.details.clone(),
        }),
        Record::Answered { verdict, .. } | Record::Voted { verdict, .. } => {
            let input = verdict.ruling.input.as_ref().map(|edited| edited.text.clone());
            let payload = VerdictPayload { why: verdict.ruling.why.clone(), input };
            if payload.why.is_none() && payload.input.is_none() { Ok(None) } else { json(&payload) }
        }
        Record::ReplyEdited { text, .. } => Ok(Some(text.bytes())),
        Record::Called { call, .. } if !call.preview.is_empty() => Ok(Some(call.preview.bytes())),
        Record::Ordered { order: Order::Prompt { text, .. }, .. } => Ok(Some(text.bytes())),
        _ => Ok(None),
    }
}

/// An event's text is stored as it is: it may be large, and needs no wrapping. What its sender gave along is a line
/// behind it, so that it is erased together with the text.
fn received(event: &Event) -> serde_json::Result<Arc<[u8]>> {
    let given: Vec<&Attribute> = event.given().collect();
    if given.is_empty() {
        return Ok(event.text.bytes());
    }
    Ok([event.text.as_str().as_bytes(), b"\n", &serde_json::to_vec(&given)?].concat().into())
}

/// The text of such a payload, and what stands in the line behind it.
fn split_attributes(payload: &str) -> Result<(&str, Vec<Attribute>), Unreadable> {
    let (text, line) = payload.rsplit_once('\n').unwrap_or((payload, "[]"));
    Ok((text, serde_json::from_str(line)?))
}

fn json(payload: &impl Serialize) -> serde_json::Result<Option<Arc<[u8]>>> {
    Ok(Some(serde_json::to_vec(payload)?.into()))
}

/// Puts the moment and what is left of the payload into a record that was read without them.
pub(super) fn read_into(record: &mut Record, at: Moment, payload: RecordPayload<'_>) -> Result<(), Unreadable> {
    match record {
        Record::Received { event, .. } => {
            let event = Arc::make_mut(event);
            let is_attributed = event.text == Text::Away;
            (event.at, event.text) = (at, text(payload)?);
            if is_attributed && event.text != Text::Erased {
                let whole = event.text.clone();
                let (text, given) = split_attributes(whole.as_str())?;
                event.text = Text::new(text);
                event.attributes = event.attributes.iter().cloned().chain(given).collect();
            }
        }
        Record::Replied { reply } => {
            reply.at = at;
            if let RecordPayload::Kept(bytes) = payload {
                ReplyPayload { text: reply.text, files: reply.files } = serde_json::from_slice(bytes)?;
            }
        }
        Record::Asked { ask } => {
            ask.at = at;
            if let RecordPayload::Kept(bytes) = payload {
                AskPayload { description: ask.description, preview: ask.preview, details: ask.details } =
                    serde_json::from_slice(bytes)?;
            }
        }
        Record::Answered { verdict, .. } | Record::Voted { verdict, .. } => {
            verdict.at = at;
            read_verdict(verdict, payload)?;
        }
        Record::Called { call, .. } if payload != RecordPayload::None => call.preview = text(payload)?,
        Record::Ordered { order: Order::Prompt { text: prompt, .. }, .. } => *prompt = text(payload)?,
        Record::ReplyEdited { text: edited, .. } => *edited = text(payload)?,
        Record::TokenAdded { token, .. } => token.since = at,
        Record::PairingAsked { pairing } => pairing.since = at,
        _ => {}
    }
    Ok(())
}

fn read_verdict(verdict: &mut Verdict, payload: RecordPayload<'_>) -> Result<(), Unreadable> {
    let ruling = &mut verdict.ruling;
    let input = match payload {
        RecordPayload::Kept(bytes) => {
            let payload: VerdictPayload = serde_json::from_slice(bytes)?;
            ruling.why = payload.why;
            payload.input
        }
        RecordPayload::None => None,
        RecordPayload::Erased => Some(Text::Erased),
    };
    ruling.input = ruling.input.take().zip(input).map(|(edited, text)| Edited { text, ..edited });
    Ok(())
}

fn text(payload: RecordPayload<'_>) -> Result<Text, Unreadable> {
    match payload {
        RecordPayload::Kept(bytes) => Ok(Text::new(from_utf8(bytes)?)),
        RecordPayload::None | RecordPayload::Erased => Ok(Text::Erased),
    }
}
