//! The guard: who is asking, and may they come in at all. The only place where that is decided.

use std::net::SocketAddr;

use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderMap, HeaderValue, ORIGIN, TRANSFER_ENCODING};
use portcullis_core::{Actor, Right, Role, Via};
use portcullis_wire::error::{Fault, Kind};

/// Where a connection came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Tcp(SocketAddr),
    Socket,
}

/// Those the gate knows.
pub(crate) struct Credentials {
    /// Whether a token is the owner's. Takes as long for a wrong one as for the right one.
    pub(crate) is_owner: Box<dyn Fn(&str) -> bool + Send + Sync>,
    /// For walking through the channel documents: `X-Sender: NAME` is a reviewer.
    pub(crate) dev_sender: Option<String>,
}

/// Who is asking. Put into every request the guard lets through.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    /// None: nobody we know.
    pub(super) actor: Option<Actor>,
    pub(super) is_owner: bool,
    /// The caller said who it is in the manner of the channel documents.
    pub(super) named_sender: bool,
}

impl Caller {
    /// The caller, if it has the right.
    pub(super) fn with(&self, right: Right) -> Result<&Actor, Fault> {
        match &self.actor {
            Some(actor) if actor.may(right) => Ok(actor),
            Some(_) => Err(Fault::of(&portcullis_core::Refusal::NeedsRight(right), crate::hub::now())),
            None => Err(Fault::new(Kind::Forbidden, "forbidden")),
        }
    }
}

/// Turns away what no handler should ever see, and says who the rest is from.
pub(super) fn admit(
    request: Request<Incoming>,
    origin: Origin,
    credentials: &Credentials,
) -> Result<Request<Body>, Fault> {
    let headers = request.headers();
    if headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH) {
        return Err(Fault::new(Kind::BadFraming, "the request has two lengths"));
    }
    if let Origin::Tcp(address) = origin {
        check_host(headers, address)?;
        check_origin(headers, address)?;
    }
    let caller = credentials.caller(headers, origin);
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(caller);
    Ok(request)
}

/// A page of another site whose name was made to point here has another Host.
fn check_host(headers: &HeaderMap, address: SocketAddr) -> Result<(), Fault> {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(Fault::new(Kind::BadRequest, "a request names one Host"));
    };
    if host.to_str().is_ok_and(|host| is_ours(host, address)) {
        return Ok(());
    }
    Err(Fault::new(Kind::ForeignHost, "this gate does not answer for that Host"))
}

/// `localhost`, or the address itself; with our port, or without any.
fn is_ours(host: &str, address: SocketAddr) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    };
    let same_port = port.is_none_or(|port| port == address.port().to_string());
    let names = ["localhost", "127.0.0.1", "[::1]"];
    let same_name = names.iter().any(|known| name.eq_ignore_ascii_case(known)) || name == address.ip().to_string();
    same_port && same_name
}

/// Browsers say where a request comes from; other programs do not.
fn check_origin(headers: &HeaderMap, address: SocketAddr) -> Result<(), Fault> {
    let ours = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        origin.strip_prefix("http://").is_some_and(|host| is_ours(host, address) && host.contains(':'))
    };
    let foreign_origin = headers.get_all(ORIGIN).iter().any(|origin| !ours(origin));
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let foreign_site = site.is_some_and(|site| site != b"same-origin" && site != b"none");
    if foreign_origin || foreign_site {
        return Err(Fault::new(Kind::ForeignOrigin, "the request comes from a page of another site"));
    }
    Ok(())
}

impl Credentials {
    fn caller(&self, headers: &HeaderMap, origin: Origin) -> Caller {
        let via = match origin {
            Origin::Tcp(_) => Via::Http,
            Origin::Socket => Via::Socket,
        };
        let owner = || Actor { name: "owner".to_owned(), rights: Role::Admin.rights(), via };
        let named_sender = headers.contains_key("x-sender");
        if let Some(presented) = bearer(headers) {
            let is_owner = presented.is_some_and(|token| (self.is_owner)(token));
            return Caller { actor: is_owner.then(owner), is_owner, named_sender };
        }
        // The socket lies in a folder that only this user can enter, and the other end is this user.
        if origin == Origin::Socket {
            return Caller { actor: Some(owner()), is_owner: true, named_sender };
        }
        let dev = self.dev_sender.as_deref().filter(|dev| self.speaks_as_dev(headers, dev));
        let actor = dev.map(|dev| Actor { name: dev.to_owned(), rights: Role::Reviewer.rights(), via });
        Caller { actor, is_owner: false, named_sender }
    }

    fn speaks_as_dev(&self, headers: &HeaderMap, dev: &str) -> bool {
        let mut senders = headers.get_all("x-sender").iter();
        matches!((senders.next(), senders.next()), (Some(sender), None) if sender.as_bytes() == dev.as_bytes())
    }

    /// With a dev sender the stream is open to whoever is no browser: `curl -N localhost:8788/events` as printed.
    pub(super) fn listener(&self, caller: &Caller, headers: &HeaderMap) -> Option<Actor> {
        if caller.actor.is_some() || headers.contains_key(AUTHORIZATION) {
            return caller.actor.clone();
        }
        let is_browser = headers.keys().any(|name| name == ORIGIN || name.as_str().starts_with("sec-fetch-"));
        let dev = self.dev_sender.as_ref().filter(|_| !is_browser && !caller.named_sender)?;
        Some(Actor { name: dev.clone(), rights: Role::Reviewer.rights(), via: Via::Http })
    }
}

/// The token presented, if any was; within, none when it cannot be one.
fn bearer(headers: &HeaderMap) -> Option<Option<&str>> {
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

    const HERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8788);

    #[test]
    fn only_our_own_names_are_ours() {
        for host in ["localhost:8788", "LOCALHOST", "127.0.0.1:8788", "127.0.0.1", "[::1]:8788", "[::1]"] {
            assert!(is_ours(host, HERE), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8788",
            "localhost:80",
            "127.0.0.1.evil.example",
            "",
            ":8788",
            "localhost.:8788",
        ] {
            assert!(!is_ours(host, HERE), "{host}");
        }
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn pages_of_other_sites_are_turned_away() {
        for pairs in [
            [("origin", "http://evil.example")],
            [("origin", "null")],
            [("origin", "http://localhost:3000")],
            [("origin", "https://localhost:8788")],
            [("sec-fetch-site", "cross-site")],
            [("sec-fetch-site", "same-site")],
        ] {
            assert!(check_origin(&headers(&pairs), HERE).is_err(), "{pairs:?}");
        }
        for pairs in [[("origin", "http://localhost:8788")], [("sec-fetch-site", "same-origin")], [("accept", "*/*")]] {
            assert!(check_origin(&headers(&pairs), HERE).is_ok(), "{pairs:?}");
        }
    }

    #[test]
    fn a_wrong_token_is_nobody_even_beside_a_dev_sender() {
        let credentials = Credentials { is_owner: Box::new(|token| token == "right"), dev_sender: Some("dev".into()) };
        let caller =
            |pairs: &[(&'static str, &'static str)]| credentials.caller(&headers(pairs), Origin::Tcp(HERE)).actor;
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
}
