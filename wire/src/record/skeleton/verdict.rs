//! A verdict on an ask, flat and without what the person wrote.

use std::borrow::Cow;
use std::ops::Not;

use portcullis_core::policy::Mode;
use portcullis_core::{AskId, Behavior, Edited, IdempotencyKey, Moment, Ruling, Scope, Text, Verdict, Via};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::as_text;
use crate::ask::is_once;

#[derive(Serialize, Deserialize)]
struct VerdictSkeleton<'a> {
    #[serde(with = "as_text")]
    ask: AskId,
    by: Cow<'a, str>,
    #[serde(with = "as_text")]
    via: Via,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<Cow<'a, str>>,
    #[serde(with = "as_text")]
    behavior: Behavior,
    #[serde(default, with = "as_text", skip_serializing_if = "is_once")]
    scope: Scope,
    /// Of the input that is to run instead of the one that was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<[u8; 32]>,
    #[serde(default, skip_serializing_if = "Not::not")]
    interrupt: bool,
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    #[serde(default, alias = "key", skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_digest: Option<[u8; 32]>,
}

pub(crate) fn serialize<S: Serializer>(ask: &AskId, verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    let Verdict { ruling, by, via, device, at: _, idempotency_key: key } = verdict;
    let (idempotency_key, key_digest) = key.as_ref().map(|key| (key.key.as_str().into(), key.digest)).unzip();
    let answered = VerdictSkeleton {
        ask: *ask,
        by: by.into(),
        via: via.clone(),
        device: device.as_deref().map(Cow::from),
        behavior: ruling.behavior,
        scope: ruling.scope,
        digest: ruling.input.as_ref().map(|edited| edited.digest),
        interrupt: ruling.interrupt,
        mode: ruling.mode,
        idempotency_key,
        key_digest,
    };
    answered.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(AskId, Verdict), D::Error> {
    let skeleton = VerdictSkeleton::deserialize(deserializer)?;
    let VerdictSkeleton { ask, by, via, device, behavior, scope, digest, interrupt, mode, idempotency_key, key_digest } =
        skeleton;
    let device = device.map(Cow::into_owned);
    let input = digest.map(|digest| Edited { text: Text::Erased, digest });
    let idempotency_key =
        idempotency_key.zip(key_digest).map(|(key, digest)| IdempotencyKey { key: key.into_owned(), digest });
    let ruling = Ruling { behavior, scope, why: None, input, interrupt, mode };
    Ok((ask, Verdict { ruling, by: by.into_owned(), via, device, at: Moment::default(), idempotency_key }))
}
