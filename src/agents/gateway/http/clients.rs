//! Which client a request is of. One of 2026-07-28 has no session, and makes a connection for each request: what we know of
//! it is kept by its token and by what it calls itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Uri;
use hyper::http::request::Parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::time::Instant;

use super::OwnHeaders;
use crate::agents::gateway::core::GatewayCore;
use crate::agents::gateway::{Gateway, WantedOffer};
use crate::locks::locked;

/// What is known of a client without a session is kept so long after its last request.
const IDLE: Duration = Duration::from_secs(600);

/// Makes the gateway of a client that came with the token of this name, and wants this.
pub(crate) type MakeGateway = Box<dyn Fn(&str, WantedOffer) -> Gateway + Send + Sync>;

pub(super) struct StatelessClients {
    make: MakeGateway,
    headers: OwnHeaders,
    /// Changed by requests and by the sweep.
    kept: Mutex<HashMap<ClientKey, KeptClient>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ClientKey {
    whose: String,
    client: String,
    offer: WantedOffer,
}

struct KeptClient {
    core: Arc<GatewayCore>,
    last: Instant,
}

impl StatelessClients {
    pub(super) fn new(make: MakeGateway, headers: OwnHeaders) -> Self {
        Self { make, headers, kept: Mutex::default() }
    }

    /// The core of the client that calls itself so, for this request.
    pub(super) fn core(&self, client: &str, context: &RequestContext<RoleServer>) -> Arc<GatewayCore> {
        let parts = context.extensions.get::<Parts>();
        let whose = parts.and_then(|parts| parts.headers.get(self.headers.client)?.to_str().ok());
        let whose = whose.unwrap_or("client").to_owned();
        let offer = parts.map(|parts| wanted(&parts.uri)).unwrap_or_default();
        let make = || Arc::new(GatewayCore::new((self.make)(&whose, offer.clone())));
        if context.protocol_version().is_none_or(|version| version.has_initialize()) {
            return make();
        }
        let key = ClientKey { whose: whose.clone(), client: client.to_owned(), offer: offer.clone() };
        let mut kept = locked(&self.kept);
        let known = kept.entry(key).or_insert_with(|| KeptClient { core: make(), last: Instant::now() });
        known.last = Instant::now();
        Arc::clone(&known.core)
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

/// `/mcp` is everything, `/mcp/NAME` one server; `?search` offers three tools in place of all.
fn wanted(uri: &Uri) -> WantedOffer {
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
