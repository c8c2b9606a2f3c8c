//! Verdicts in the journal: who said what for ever, and their own words as long as nobody erases them.

use std::borrow::Cow;
use std::sync::Arc;

use portcullis_core::{AskId, Edited, IdempotencyKey, Moment, Ruling as CoreRuling, Text, Verdict};
use serde::{Deserialize, Serialize};

use super::{Payload, Unreadable, ask_of, json, via_of};
use crate::ask::Ruling;

/// A verdict but for what the person wrote.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct VerdictBody<'a> {
    ask: String,
    by: Cow<'a, str>,
    via: Cow<'a, str>,
    #[serde(flatten)]
    ruling: Ruling,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_digest: Option<[u8; 32]>,
}

/// What the person wrote, and what is to run instead of what was asked about.
#[derive(Serialize, Deserialize)]
struct VerdictPayload<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<Cow<'a, str>>,
}

pub(super) fn verdict_payload(verdict: &Verdict) -> serde_json::Result<Option<Arc<[u8]>>> {
    let why = verdict.ruling.why.as_deref().map(Cow::Borrowed);
    let input = verdict.ruling.input.as_ref().map(|edited| edited.text.as_str().into());
    if why.is_none() && input.is_none() {
        return Ok(None);
    }
    json(&VerdictPayload { why, input }).map(Some)
}

pub(super) fn verdict_body<'a>(ask: &AskId, verdict: &'a Verdict) -> VerdictBody<'a> {
    let ruling = Ruling { why: None, input: None, ..(&verdict.ruling).into() };
    let (key, key_digest) = verdict.once.as_ref().map(|once| (once.key.as_str().into(), once.digest)).unzip();
    let (ask, by, via) = (ask.to_string(), verdict.by.as_str().into(), verdict.via.name().into());
    VerdictBody { ask, by, via, ruling, key, key_digest }
}

pub(super) fn verdict_of(
    at: Moment,
    body: VerdictBody<'_>,
    payload: Payload<'_>,
) -> Result<(AskId, Verdict), Unreadable> {
    let VerdictBody { ask, by, via, ruling, key, key_digest } = body;
    let (why, input) = match payload {
        Payload::Kept(bytes) => {
            let payload: VerdictPayload<'_> = serde_json::from_slice(bytes)?;
            (payload.why.map(Cow::into_owned), payload.input.map(|input| Text::new(input.as_ref())))
        }
        Payload::None => (None, None),
        Payload::Erased => (None, Some(Text::Erased)),
    };
    let input = ruling.digest.zip(input).map(|(digest, text)| Edited { text, digest });
    let ruling: CoreRuling = ruling.try_into().map_err(|_| Unreadable::Field("ruling"))?;
    let ruling = CoreRuling { why, input, ..ruling };
    let once = key.zip(key_digest).map(|(key, digest)| IdempotencyKey { key: key.into_owned(), digest });
    Ok((ask_of(&ask)?, Verdict { ruling, by: by.into_owned(), via: via_of(&via)?, at, once }))
}
