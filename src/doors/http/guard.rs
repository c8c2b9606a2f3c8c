//! The guard: it checks Host and Origin of every request before anything else does, and finds out who sent it.

use std::net::SocketAddr;

use axum::body::Body;
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::{Method, Request};
use portcullis_wire::error::{Fault, Kind};

use super::credentials::Credentials;
use crate::hub::{PeerProcess, TcpConnection};

/// What a connection came over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// With the address that we listen on.
    Tcp(SocketAddr, TcpConnection),
    /// The listener that a proxy or a tunnel of the owner's ends at.
    Public(TcpConnection),
    /// With the process at the other end, where the system tells.
    Socket { process: Option<PeerProcess> },
}

impl Transport {
    pub(super) fn is_public(self) -> bool {
        matches!(self, Self::Public(_))
    }
}

/// Refuses a request for another Host or from a page of another site, and adds to any other who sent it.
pub(super) fn admit(
    request: Request<Incoming>,
    transport: Transport,
    credentials: &Credentials,
    public: Option<&PublicOrigin>,
) -> Result<Request<Body>, Fault> {
    let headers = request.headers();
    check_target(&request)?;
    match transport {
        Transport::Tcp(address, _) => {
            check_host(headers, address)?;
            if !opens_the_page(&request) {
                check_origin(headers, address)?;
            }
        }
        Transport::Public(_) => {
            let public = public.ok_or_else(foreign_host)?;
            public.check_host(headers)?;
            if !opens_the_page(&request) {
                public.check_origin(headers)?;
            }
        }
        Transport::Socket { .. } => {}
    }
    let caller = credentials.caller(headers, transport);
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(caller);
    Ok(request)
}

/// Whether a browser opens the page itself in a tab of its own: by a link on another site, or by the file that `portcullis page`
/// opens. It is the same for everyone, changes nothing, and shows in nobody's frame.
fn opens_the_page<B>(request: &Request<B>) -> bool {
    let is = |name: &str, value: &str| {
        let mut values = request.headers().get_all(name).iter();
        values.next().is_some_and(|first| first == value) && values.next().is_none()
    };
    let is_navigation = is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document");
    let is_plain = request.method() == Method::GET && !request.headers().contains_key(ORIGIN);
    is_plain && is_navigation && request.uri().path() == "/" && request.uri().query().is_none()
}

/// Refuses a target that names another host than `Host` does: who reads one of them must not be told the other.
fn check_target<B>(request: &Request<B>) -> Result<(), Fault> {
    let Some(target) = request.uri().authority() else { return Ok(()) };
    let host = request.headers().get(HOST).map(HeaderValue::as_bytes);
    match host.is_some_and(|host| host.eq_ignore_ascii_case(target.as_str().as_bytes())) {
        true => Ok(()),
        false => Err(foreign_host()),
    }
}

/// Where browsers elsewhere find the gate: the Host and the Origin of their requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicOrigin {
    /// `gate.example.org`, with the port where it is not the scheme's own.
    host: String,
    /// `https://gate.example.org`
    pub(crate) origin: String,
}

impl PublicOrigin {
    /// Of a scheme, host and port.
    pub(crate) fn new(origin: &str) -> Self {
        let host = origin.split_once("://").map_or("", |(_, host)| host);
        Self { host: host.to_owned(), origin: origin.to_owned() }
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(Fault::new(Kind::BadRequest, "a request names one Host"));
        };
        if !host.as_bytes().eq_ignore_ascii_case(self.host.as_bytes()) {
            return Err(foreign_host());
        }
        Ok(())
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Fault> {
        refuse_foreign_pages(headers, |origin| origin == self.origin)
    }
}

fn foreign_host() -> Fault {
    Fault::new(Kind::ForeignHost, "this gate does not answer for that Host")
}

/// Refuses other Hosts: a page whose own name was made to resolve to this machine sends that name.
pub(super) fn check_host(headers: &HeaderMap, address: SocketAddr) -> Result<(), Fault> {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(Fault::new(Kind::BadRequest, "a request names one Host"));
    };
    if host.to_str().is_ok_and(|host| is_ours(host, address)) {
        return Ok(());
    }
    Err(foreign_host())
}

/// `localhost`, or the address itself; with our port, or without any.
pub(super) fn is_ours(host: &str, address: SocketAddr) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    };
    let ours = |port: &str| port.parse() == Ok(address.port()) && !port.starts_with(['+', '0']);
    let same_port = port.is_none_or(ours);
    let names = ["localhost", "127.0.0.1", "[::1]"];
    let same_name = names.iter().any(|known| name.eq_ignore_ascii_case(known)) || name == address.ip().to_string();
    same_port && same_name
}

/// Refuses pages of other sites. Browsers send `Origin` or `Sec-Fetch-Site`; other programs send neither.
pub(super) fn check_origin(headers: &HeaderMap, address: SocketAddr) -> Result<(), Fault> {
    refuse_foreign_pages(headers, |origin| {
        origin.strip_prefix("http://").is_some_and(|host| is_ours(host, address) && host.contains(':'))
    })
}

fn refuse_foreign_pages(headers: &HeaderMap, is_ours: impl Fn(&str) -> bool) -> Result<(), Fault> {
    let foreign_origin = headers.get_all(ORIGIN).iter().any(|origin| !origin.to_str().is_ok_and(&is_ours));
    let sites = headers.get_all("sec-fetch-site").iter().map(HeaderValue::as_bytes);
    let foreign_site = sites.into_iter().any(|site| site != b"same-origin" && site != b"none");
    if foreign_origin || foreign_site {
        return Err(Fault::new(Kind::ForeignOrigin, "the request comes from a page of another site"));
    }
    Ok(())
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
    fn the_public_listener_answers_for_its_own_host_and_pages_alone() {
        let public = PublicOrigin::new("https://gate.example.org");
        let host = ("host", "gate.example.org");
        let check = |pairs: &[(&'static str, &'static str)]| {
            let headers = headers(pairs);
            public.check_host(&headers).and_then(|()| public.check_origin(&headers))
        };
        for pairs in [
            &[host][..],
            &[("host", "GATE.example.org")],
            &[host, ("origin", "https://gate.example.org"), ("sec-fetch-site", "same-origin")],
        ] {
            assert!(check(pairs).is_ok(), "{pairs:?}");
        }
        for pairs in [
            &[][..],
            &[("host", "localhost:8789")],
            &[("host", "gate.example.org:8788")],
            &[host, ("origin", "http://gate.example.org")],
            &[host, ("origin", "https://evil.example")],
            &[host, ("sec-fetch-site", "cross-site")],
            &[host, ("sec-fetch-site", "same-site")],
        ] {
            assert!(check(pairs).is_err(), "{pairs:?}");
        }
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
}
