//! Which client a request is of. One of 2026-07-28 has no session, and makes a connection for each request: what we know of
//! it is kept by its token and by what it calls itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use hyper::http::request::Parts;
use hyper::{HeaderMap, Uri};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::time::Instant;

use super::most_of_one;
use super::owners::{EndedTokens, FromGate, RequestOwner};
use super::sessions::BegunClient;
use crate::agents::gateway::core::GatewayCore;
use crate::agents::gateway::{Gateway, ReadServers, WantedOffer};
use crate::locks::locked;

/// What is known of a client without a session is kept so long after its last request.
const IDLE: Duration = Duration::from_secs(600);

/// The servers of clients over HTTP.
pub(crate) struct HostedServers {
    /// Makes the gateway of a client that came with a token of this person, and wants this.
    pub(crate) make: MakeGateway,
    /// Reads those that every client is offered.
    pub(crate) read: ReadServers,
}

pub(crate) type MakeGateway = Box<dyn Fn(&str, WantedOffer) -> Gateway + Send + Sync>;

pub(super) struct StatelessClients {
    make: MakeGateway,
    /// How the names of servers are read, and those that were last.
    names: Mutex<(ReadServers, Vec<String>)>,
    from_gate: FromGate,
    ended: Arc<EndedTokens>,
    /// Every client that is there, with its token. Changed by requests.
    all: Mutex<Vec<(String, Weak<GatewayCore>)>>,
    /// Changed by requests and by the sweep.
    kept: Mutex<HashMap<ClientKey, KeptClient>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ClientKey {
    owner: RequestOwner,
    client: String,
    offer: WantedOffer,
}

struct KeptClient {
    core: Arc<GatewayCore>,
    last: Instant,
}

impl StatelessClients {
    pub(super) fn new(servers: HostedServers, from_gate: FromGate, ended: Arc<EndedTokens>) -> Self {
        let HostedServers { make, read } = servers;
        Self {
            make,
            names: Mutex::new((read, vec![])),
            from_gate,
            ended,
            all: Mutex::default(),
            kept: Mutex::default(),
        }
    }

    /// The core of the client that calls itself so, for this request.
    pub(super) fn core(&self, client: &str, context: &RequestContext<RoleServer>) -> Arc<GatewayCore> {
        let parts = context.extensions.get::<Parts>();
        let owner = self.from_gate.owner(parts.map_or(&HeaderMap::new(), |parts| &parts.headers));
        let offer = parts.map(|parts| wanted(&parts.uri)).unwrap_or_default();
        let make = || {
            let core = Arc::new(GatewayCore::new((self.make)(&owner.person, offer.clone())));
            let mut all = locked(&self.all);
            all.retain(|(_, core)| core.strong_count() > 0);
            all.push((owner.token.clone(), Arc::downgrade(&core)));
            drop(all);
            if let Some(begun) = parts.and_then(|parts| parts.extensions.get::<BegunClient>()) {
                begun.note(&core);
            }
            // The token may have been revoked meanwhile.
            if self.ended.has(&owner) {
                core.end();
            }
            core
        };
        if context.protocol_version().is_none_or(|version| version.has_initialize()) {
            return make();
        }
        let key = ClientKey { owner: owner.clone(), client: client.to_owned(), offer: offer.clone() };
        let mut kept = locked(&self.kept);
        if self.ended.has(&owner) {
            return make();
        }
        // Dropped when the lock is free again.
        let _surplus = if kept.contains_key(&key) { None } else { take_surplus(&mut kept, &owner.person) };
        let known = kept.entry(key).or_insert_with(|| KeptClient { core: make(), last: Instant::now() });
        known.last = Instant::now();
        let core = Arc::clone(&known.core);
        drop(kept);
        core
    }

    /// The token no longer counts.
    pub(super) fn end(&self, token: &str) {
        let of_token = |(owner, core): &(String, Weak<GatewayCore>)| (owner == token).then(|| core.upgrade()).flatten();
        let cores: Vec<Arc<GatewayCore>> = locked(&self.all).iter().filter_map(of_token).collect();
        cores.iter().for_each(|core| core.end());
        // Dropped when the lock is free again.
        let ended: Vec<_> = locked(&self.kept).extract_if(|key, _| key.owner.token == token).collect();
        drop(ended);
    }

    /// The server that is wanted and not offered, and those that are. Whoever may ask may list them all.
    pub(super) fn unknown_server(&self, uri: &Uri) -> Option<(String, Vec<String>)> {
        let wanted = wanted(uri).server?;
        let mut known = locked(&self.names);
        let (read, names) = &mut *known;
        if let Some(found) = read() {
            *names = found.into_iter().map(|upstream| upstream.name).collect();
        }
        (!names.contains(&wanted)).then(|| (wanted, names.clone()))
    }

    pub(super) fn forget_idle(&self) {
        let now = Instant::now();
        let is_idle = |_: &ClientKey, client: &mut KeptClient| {
            Arc::strong_count(&client.core) == 1 && now.duration_since(client.last) >= IDLE
        };
        // Dropped when the lock is free again.
        let idle: Vec<_> = locked(&self.kept).extract_if(is_idle).collect();
        drop(idle);
    }
}

/// Makes place for another client of a person who has as many as one may have: the one goes that was not heard of for longest.
/// Whoever calls itself otherwise at each request has servers started each time.
fn take_surplus(kept: &mut HashMap<ClientKey, KeptClient>, person: &str) -> Option<KeptClient> {
    let of_person = || kept.iter().filter(|(key, _)| key.owner.person == person);
    if of_person().count() < most_of_one() {
        return None;
    }
    let is_idle = |(_, client): &(&ClientKey, &KeptClient)| Arc::strong_count(&client.core) == 1;
    let oldest = of_person().filter(is_idle).min_by_key(|(_, client)| client.last)?.0.clone();
    kept.remove(&oldest)
}

/// `/mcp` is everything, `/mcp/NAME` one server; `?search` offers three tools in place of all.
pub(super) fn wanted(uri: &Uri) -> WantedOffer {
    let server = uri.path().strip_prefix("/mcp/").filter(|name| !name.is_empty());
    let decoded = server.map(percent_decoded);
    let has_search =
        uri.query().is_some_and(|query| query.split('&').any(|part| part == "search" || part == "search=true"));
    WantedOffer { server: decoded, has_search }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        let escaped = (first == b'%').then(|| others.get(..2)).flatten();
        let byte = escaped.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &others[2..] } else { others };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_says_what_is_wanted() {
        let wanted = |uri: &'static str| {
            let WantedOffer { server, has_search } = super::wanted(&Uri::from_static(uri));
            (server, has_search)
        };
        assert_eq!(wanted("/mcp"), (None, false));
        assert_eq!(wanted("/mcp?search"), (None, true));
        assert_eq!(wanted("/mcp/git%20hub%?x=1&search=true"), (Some("git hub%".to_owned()), true));
    }
}
