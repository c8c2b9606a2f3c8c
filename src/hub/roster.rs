//! Who is let in, as those need it who check credentials: a picture of the state, made anew whenever it changes.

use std::collections::HashMap;

use portcullis_core::{Identity, Moment, Rights, Role, State, TokenId, TokenScope};

/// Someone known by a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) token: TokenId,
    pub(crate) name: String,
    pub(crate) rights: Rights,
    /// What it is called, where it is the key of a linked browser.
    pub(crate) device: Option<String>,
    pub(crate) scope: TokenScope,
    pub(crate) expires: Option<Moment>,
}

#[derive(Debug, Default)]
pub(crate) struct Roster {
    by_hash: HashMap<[u8; 32], Known>,
    by_identity: HashMap<Identity, (String, Role)>,
}

impl Roster {
    pub(super) fn of(state: &State) -> Self {
        let known = state.tokens().map(|token| {
            let (rights, device) = (state.rights_of(token), token.device.as_ref().map(|device| device.called.clone()));
            let (name, scope) = (token.person.clone(), token.scope.clone());
            (token.hash, Known { token: token.id, name, rights, device, scope, expires: token.expires })
        });
        let identities = state.people().flat_map(|(name, person)| {
            person.identities.iter().map(move |identity| (identity.clone(), (name.clone(), person.role)))
        });
        Self { by_hash: known.collect(), by_identity: identities.collect() }
    }

    /// Who has this identity, and their role; nobody when it was never linked, or is no more.
    pub(crate) fn who_is(&self, identity: &Identity) -> Option<(&str, Role)> {
        self.by_identity.get(identity).map(|(name, role)| (name.as_str(), *role))
    }

    /// Whose token has this hash, if it still counts. Found by its hash, so that no time taken tells anything of a token.
    pub(crate) fn find(&self, hash: &[u8; 32], now: Moment) -> Option<&Known> {
        self.by_hash.get(hash).filter(|known| known.expires.is_none_or(|expires| expires > now))
    }

    /// Whether what someone was let in by still counts.
    pub(crate) fn still_knows(&self, known: &Known, now: Moment) -> bool {
        let same = |other: &&Known| other.token == known.token && other.rights == known.rights;
        self.by_hash.values().find(same).is_some_and(|known| known.expires.is_none_or(|expires| expires > now))
    }
}
