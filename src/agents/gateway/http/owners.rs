//! Whose a request is, as the gate says, and the tokens that no longer count.

use std::collections::HashSet;
use std::sync::Mutex;

use hyper::HeaderMap;
use tokio::time::Instant;

use crate::locks::locked;

/// What the gate says to us beside what a client sends, and no client can.
#[derive(Clone, Copy)]
pub(crate) struct FromGate {
    /// The header with the name of the person whose token a request has.
    pub(crate) client: &'static str,
    /// The header with the gate's own number of that token. It has another when its rights change.
    pub(crate) token: &'static str,
    /// The header with which a request has the gate's word that its journal takes records.
    pub(crate) can_write: &'static str,
    /// DELETE of this path says that the token no longer counts.
    pub(crate) ended: &'static str,
}

/// When a request came for which the gate has said that its journal takes records.
#[derive(Clone, Copy, Debug)]
pub(in crate::agents::gateway) struct CouldWrite(pub(in crate::agents::gateway) Instant);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RequestOwner {
    pub(super) person: String,
    pub(super) token: String,
}

impl FromGate {
    pub(super) fn owner(self, headers: &HeaderMap) -> RequestOwner {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let person = text(self.client).unwrap_or_else(|| "client".to_owned());
        RequestOwner { person, token: text(self.token).unwrap_or_default() }
    }

    pub(super) fn could_write(self, headers: &HeaderMap) -> Option<CouldWrite> {
        headers.contains_key(self.can_write).then(|| CouldWrite(Instant::now()))
    }
}

/// A request may be on its way when its token is revoked: what comes afterwards begins nothing. There is one for each token
/// that was revoked while the gate runs.
#[derive(Default)]
pub(super) struct EndedTokens(Mutex<HashSet<String>>);

impl EndedTokens {
    pub(super) fn add(&self, token: &str) {
        locked(&self.0).insert(token.to_owned());
    }

    pub(super) fn has(&self, owner: &RequestOwner) -> bool {
        locked(&self.0).contains(&owner.token)
    }
}
