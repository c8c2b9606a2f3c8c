//! Credentials: they say who sent a request: the owner, someone with a token, the dev sender, or nobody we know.

use std::sync::Arc;

use hyper::header::{AUTHORIZATION, HeaderMap, ORIGIN};
use portcullis_core::{Actor, OWNER, Right, Rights, Role, TokenScope, Via};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::guard::Transport;
use crate::hub::{Known, Peer, Roster, TcpConnection, now};

/// What the gate knows people by.
pub(crate) struct Credentials {
    /// Whether a token is the owner's. Takes as long for a wrong one as for the right one.
    pub(crate) is_owner: Box<dyn Fn(&str) -> bool + Send + Sync>,
    /// People with tokens of their own, as of now.
    pub(crate) roster: watch::Receiver<Arc<Roster>>,
    /// For walking through the channel documents: `X-Sender: NAME` is a reviewer.
    pub(crate) dev_sender: Option<String>,
    /// The owner answers prompts from this machine. Otherwise only people with tokens of their own do.
    pub(crate) owner_answers: bool,
}

/// Who sent a request, as the guard found out. Nobody, unless something says otherwise.
#[derive(Clone, Debug, Default)]
pub(super) struct Caller {
    /// None: nobody we know.
    pub(super) actor: Option<Actor>,
    /// Let in by a token that may be revoked.
    pub(super) token: Option<Known>,
    /// The other end of the connection.
    pub(super) peer: Peer,
}

impl Credentials {
    pub(super) fn caller(&self, headers: &HeaderMap, transport: Transport) -> Caller {
        let shows_token = bearer(headers).is_some();
        let process = match transport {
            Transport::Tcp(_, connection) | Transport::Public(connection) => match bearer(headers) {
                Some(Some(token)) => return self.caller_by_token(token, connection),
                Some(None) => return Caller::default(),
                None if transport.is_public() => return Caller::default(),
                None => {
                    let dev = self.dev_sender.as_deref().filter(|dev| speaks_as(headers, dev));
                    return Caller { actor: dev.map(dev_actor), ..Caller::default() };
                }
            },
            Transport::Socket { process } => process,
        };
        let (actor, token) = match bearer(headers) {
            Some(Some(token)) => self.bearer_of(token, Via::Socket),
            Some(None) => (None, None),
            // The socket lies in a folder that only this user can enter, and the other end is this user.
            None => (Some(self.owner(Via::Socket)), None),
        };
        Caller { actor, token, peer: Peer::Process { process, shows_token } }
    }

    /// Who shows this token over the network.
    pub(super) fn caller_by_token(&self, token: &str, connection: TcpConnection) -> Caller {
        match self.bearer_of(token, Via::Http) {
            (Some(_), None) => self.caller_as_owner(connection),
            (actor, token) => Caller { actor, token, peer: Peer::Network },
        }
    }

    /// Someone who has shown the owner's token before: it is the same for as long as the gate runs.
    pub(super) fn caller_as_owner(&self, connection: TcpConnection) -> Caller {
        Caller { actor: Some(self.owner(Via::Http)), token: None, peer: Peer::OwnerOverTcp(connection) }
    }

    fn bearer_of(&self, token: &str, via: Via) -> (Option<Actor>, Option<Known>) {
        if (self.is_owner)(token) { (Some(self.owner(via)), None) } else { self.someone(token, via).unzip() }
    }

    fn owner(&self, via: Via) -> Actor {
        let rights = if self.owner_answers {
            Role::Admin.rights()
        } else {
            Rights::of(&[Right::Talk, Right::Start, Right::Admin])
        };
        Actor { name: OWNER.to_owned(), rights, via, scope: TokenScope::Everything, device: None }
    }

    fn someone(&self, token: &str, via: Via) -> Option<(Actor, Known)> {
        let hash: [u8; 32] = Sha256::digest(token).into();
        let known = self.roster.borrow().find(&hash, now())?.clone();
        let (name, rights, scope) = (known.name.clone(), known.rights, known.scope.clone());
        let device = known.device.clone();
        let via = if device.is_some() { Via::Device } else { via };
        Some((Actor { name, rights, via, scope, device }, known))
    }

    /// Whether a token that let someone in still does: it may have been revoked since.
    pub(super) fn still_counts(&self, token: &Known) -> bool {
        self.roster.borrow().still_knows(token, now())
    }

    /// On a gate with a dev sender, whoever is no browser and says nothing of who they are counts as the dev sender:
    /// `curl -N localhost:8788/events` as the channel documents print it.
    pub(super) fn with_dev_sender(&self, caller: Caller, headers: &HeaderMap) -> Caller {
        let is_browser = headers.keys().any(|name| name == ORIGIN || name.as_str().starts_with("sec-fetch-"));
        let says_who = headers.contains_key(AUTHORIZATION) || headers.contains_key("x-sender");
        if caller.actor.is_some() || is_browser || says_who {
            return caller;
        }
        Caller { actor: self.dev_sender.as_deref().map(dev_actor), ..caller }
    }
}

fn dev_actor(name: &str) -> Actor {
    Actor {
        name: name.to_owned(),
        rights: Role::Reviewer.rights(),
        via: Via::Http,
        scope: TokenScope::Everything,
        device: None,
    }
}

fn speaks_as(headers: &HeaderMap, dev: &str) -> bool {
    let mut senders = headers.get_all("x-sender").iter();
    matches!((senders.next(), senders.next()), (Some(sender), None) if sender.as_bytes() == dev.as_bytes())
}

/// The token presented, if any was; within, none when it cannot be one.
pub(super) fn bearer(headers: &HeaderMap) -> Option<Option<&str>> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let first = values.next()?;
    if values.next().is_some() {
        return Some(None);
    }
    Some(first.to_str().ok().and_then(token_in))
}

/// The token in the value of `Authorization`.
pub(super) fn token_in(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    fn credentials(owner_answers: bool) -> Credentials {
        let (_, roster) = watch::channel(Arc::default());
        let is_owner = Box::new(|token: &str| token == "right");
        Credentials { is_owner, roster, dev_sender: Some("dev".into()), owner_answers }
    }

    fn tcp() -> Transport {
        let address = "127.0.0.1:8788".parse().unwrap();
        Transport::Tcp(address, TcpConnection::new(address, "127.0.0.1:40000".parse().unwrap()))
    }

    #[test]
    fn a_wrong_token_is_nobody_even_beside_a_dev_sender() {
        let credentials = credentials(true);
        let caller = |pairs: &[(&'static str, &'static str)]| credentials.caller(&headers(pairs), tcp()).actor;
        assert_eq!(caller(&[("authorization", "Bearer right")]).unwrap().name, "owner");
        assert_eq!(caller(&[("x-sender", "dev")]).unwrap().name, "dev");
        assert!(!caller(&[("x-sender", "dev")]).unwrap().may(Right::Admin));
        for pairs in [
            &[("authorization", "Bearer wrong"), ("x-sender", "dev")][..],
            &[("authorization", "Basic right")],
            &[("authorization", "right")],
            &[("x-sender", "eve")],
            &[],
        ] {
            assert!(caller(pairs).is_none(), "{pairs:?}");
        }
    }

    #[test]
    fn where_devices_answer_the_owner_of_the_machine_does_not() {
        let over_the_socket = |owner_answers| {
            credentials(owner_answers).caller(&HeaderMap::new(), Transport::Socket { process: None }).actor.unwrap()
        };
        assert!(over_the_socket(true).may(Right::Review));
        assert!(!over_the_socket(false).may(Right::Review));
        assert!(over_the_socket(false).may(Right::Admin));
    }
}
