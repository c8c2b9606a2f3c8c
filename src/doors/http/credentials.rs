//! Who is asking: the owner, someone with a token, the dev sender, or nobody we know.

use std::sync::Arc;

use hyper::header::{AUTHORIZATION, HeaderMap, ORIGIN};
use portcullis_core::{Actor, Input, Label, OWNER, Right, Rights, Role, TokenScope, Via};
use portcullis_wire::error::{Fault, Kind};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::Door;
use super::guard::Origin;
use crate::hub::{Known, Roster, now};
use crate::processes;

/// Those the gate knows.
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

/// Who is asking. Put into every request the guard lets through.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    /// None: nobody we know.
    pub(super) actor: Option<Actor>,
    pub(super) is_owner: bool,
    /// Let in by a token that may be revoked.
    pub(super) known: Option<Known>,
    /// The caller said who it is in the manner of the channel documents.
    pub(super) named_sender: bool,
    /// The process at the other end of the socket, where the system tells.
    peer: Option<u32>,
}

impl Caller {
    /// The caller, if it has the right.
    pub(super) fn with(&self, right: Right) -> Result<&Actor, Fault> {
        match &self.actor {
            Some(actor) if actor.may(right) => Ok(actor),
            Some(_) => Err(Fault::of(&portcullis_core::Refusal::NeedsRight(right), now())),
            None => Err(Fault::new(Kind::Forbidden, "forbidden")),
        }
    }

    /// The caller, if it has the right and does not speak from inside an agent: what an agent runs may not answer its
    /// prompts, let people in, or change the record. Such an attempt is written down.
    pub(super) async fn outside_with(&self, right: Right, door: &Door, what: &str) -> Result<&Actor, Fault> {
        let actor = self.with(right)?;
        let Some((peer, label)) = self.inside(door).await? else { return Ok(actor) };
        tracing::warn!(peer, %label, what, "refused: it comes from inside a session");
        let note = format!("{what}, by process {peer} inside session {label}");
        door.hub.submit(Input::AccessDenied { who: actor.name.clone(), what: note }).await?;
        Err(Fault::new(Kind::FromInside, format!("refused: this comes from inside session {label}")))
    }

    /// The calling process and the session inside of which it runs, if it does.
    pub(super) async fn inside(&self, door: &Door) -> Result<Option<(u32, Label)>, Fault> {
        let Some(peer) = self.peer else { return Ok(None) };
        // The agent itself is nobody's child here: only what it runs is turned away.
        let line = processes::lineage(peer).split_off(1);
        let agents = move |state: &portcullis_core::State| {
            let above = state.all_sessions().filter(|session| session.about.runs_commands);
            let above = above.filter_map(|session| Some((session.about.pid?, session)));
            let above = above.filter(|(pid, _)| line.contains(pid));
            above.map(|(pid, session)| (pid, session.has_ended(), session.about.label.clone())).collect::<Vec<_>>()
        };
        let agents = door.hub.look(agents).await?;
        // A session that is away, and one that ended while its agent goes on, are no way out. A number that another
        // process has by now is.
        let still_there = |(pid, has_ended, _): &(u32, bool, Label)| !has_ended || processes::is_claude_code(*pid);
        Ok(agents.into_iter().find(still_there).map(|(_, _, label)| (peer, label)))
    }
}

impl Credentials {
    pub(super) fn caller(&self, headers: &HeaderMap, origin: Origin) -> Caller {
        let (via, peer) = match origin {
            Origin::Tcp(_) => (Via::Http, None),
            Origin::Socket { peer } => (Via::Socket, peer),
        };
        let named_sender = headers.contains_key("x-sender");
        let nobody = Caller { actor: None, is_owner: false, known: None, named_sender, peer };
        let owner = || Caller { actor: Some(self.owner(via)), is_owner: true, ..nobody.clone() };
        if let Some(presented) = bearer(headers) {
            return match presented {
                Some(token) if (self.is_owner)(token) => owner(),
                Some(token) => self.someone(token, via).map_or(nobody.clone(), |(actor, known)| Caller {
                    actor: Some(actor),
                    known: Some(known),
                    ..nobody
                }),
                None => nobody,
            };
        }
        // The socket lies in a folder that only this user can enter, and the other end is this user.
        if via == Via::Socket {
            return owner();
        }
        let dev = self.dev_sender.as_deref().filter(|dev| speaks_as(headers, dev));
        Caller { actor: dev.map(dev_actor), ..nobody }
    }

    fn owner(&self, via: Via) -> Actor {
        let rights = if self.owner_answers {
            Role::Admin.rights()
        } else {
            Rights::of(&[Right::Talk, Right::Start, Right::Admin])
        };
        Actor { name: OWNER.to_owned(), rights, via, scope: TokenScope::Everything }
    }

    fn someone(&self, token: &str, via: Via) -> Option<(Actor, Known)> {
        let hash: [u8; 32] = Sha256::digest(token).into();
        let known = self.roster.borrow().find(&hash, now())?.clone();
        let (name, rights, scope) = (known.name.clone(), known.role.rights(), known.scope.clone());
        Some((Actor { name, rights, via, scope }, known))
    }

    /// Whether what the caller was let in by still counts: it may have been taken back since.
    pub(super) fn still_count(&self, caller: &Caller) -> bool {
        caller.known.as_ref().is_none_or(|known| self.roster.borrow().still_knows(known, now()))
    }

    /// With a dev sender the stream is open to whoever is no browser: `curl -N localhost:8788/events` as printed.
    pub(super) fn listener(&self, caller: &Caller, headers: &HeaderMap) -> Option<Actor> {
        if caller.actor.is_some() || headers.contains_key(AUTHORIZATION) {
            return caller.actor.clone();
        }
        let is_browser = headers.keys().any(|name| name == ORIGIN || name.as_str().starts_with("sec-fetch-"));
        let dev = self.dev_sender.as_deref().filter(|_| !is_browser && !caller.named_sender)?;
        Some(dev_actor(dev))
    }
}

fn dev_actor(name: &str) -> Actor {
    Actor { name: name.to_owned(), rights: Role::Reviewer.rights(), via: Via::Http, scope: TokenScope::Everything }
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
    let Some((scheme, token)) = first.to_str().ok().and_then(|value| value.split_once(' ')) else { return Some(None) };
    Some(scheme.eq_ignore_ascii_case("bearer").then_some(token.trim()))
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

    fn tcp() -> Origin {
        Origin::Tcp("127.0.0.1:8788".parse().unwrap())
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
            credentials(owner_answers).caller(&HeaderMap::new(), Origin::Socket { peer: None }).actor.unwrap()
        };
        assert!(over_the_socket(true).may(Right::Review));
        assert!(!over_the_socket(false).may(Right::Review));
        assert!(over_the_socket(false).may(Right::Admin));
    }
}
