//! Where a push may go. A browser names the address of its push service, and whoever holds the key of a device may name any:
//! the gate does not knock on the doors of its own network for them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use hyper::Uri;
use hyper_util::client::legacy::connect::dns::Name;

use crate::fixed;

/// Bytes of an address. Those of push services have a few hundred.
const LONGEST: usize = 2048;

/// Tests push to a server of their own on this machine, without TLS.
pub(super) fn may_be_here() -> bool {
    fixed::number("PUSH_HERE", 0) == 1
}

/// The address of a subscription, if pushes may go there.
pub(super) fn checked(endpoint: &str) -> Result<Uri, &'static str> {
    if endpoint.len() > LONGEST {
        return Err("the endpoint is longer than 2048 bytes");
    }
    let uri: Uri = endpoint.parse().map_err(|_| "the endpoint is no address")?;
    let is_secure = uri.scheme_str() == Some("https") || may_be_here() && uri.scheme_str() == Some("http");
    if !is_secure {
        return Err("the endpoint is not an https address");
    }
    let (Some(authority), Some(host)) = (uri.authority(), uri.host()) else { return Err("the endpoint names no host") };
    if authority.as_str().contains('@') {
        return Err("the endpoint holds a name or a password");
    }
    // A number is connected to as it is, without asking the resolver below.
    let number = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    if number.is_ok_and(|address| !is_allowed(address)) {
        return Err("the endpoint is in a private network");
    }
    Ok(uri)
}

fn is_allowed(address: IpAddr) -> bool {
    is_public(address) || may_be_here() && address.is_loopback()
}

/// Whether an address is one of the internet: not of this machine, not of a private network, and not reserved.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => is_public_v4(inner),
            // What is given out to the internet so far; of that not the addresses for documents.
            None => address.segments()[0] & 0xe000 == 0x2000 && address.segments()[..2] != [0x2001, 0xdb8],
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && b & 0xc0 == 64;
    let is_reserved = a == 0 || a >= 240 || [a, b, c] == [192, 0, 0] || (a == 198 && b & 0xfe == 18);
    let is_local = address.is_private() || address.is_loopback() || address.is_link_local();
    !(is_local || is_shared || is_reserved || address.is_multicast() || address.is_documentation())
}

/// The IPv4 address that an IPv6 one leads to: mapped, translated (64:ff9b::/96), or tunnelled (2002::/16). Teredo hides
/// its own, and counts as this machine.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let pair = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff | 0] | [0x64, 0xff9b, 0, 0, 0, 0] => Some(pair(g, h)),
        [0x2002, ..] => Some(pair(b, c)),
        [0x2001, 0, ..] => Some(Ipv4Addr::LOCALHOST),
        _ => None,
    }
}

/// Finds the addresses of a name, and hands on those that a push may go to. What is connected to is what was checked.
#[derive(Clone)]
pub(super) struct PublicNames;

impl tower::Service<Name> for PublicNames {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|address| is_allowed(address.ip())).collect();
            match allowed.is_empty() {
                false => Ok(allowed.into_iter()),
                true => Err(io::Error::other(format!("{} has no address outside of private networks", name.as_str()))),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for public in ["1.1.1.1", "8.8.8.8", "100.128.0.1", "198.20.0.1", "2606:4700::1111", "64:ff9b::101:101"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "2001:0:1::",
            "2001:db8::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }

    #[test]
    fn an_endpoint_is_https_at_a_name_or_a_public_number_and_short() {
        assert!(checked("https://push.example.org/abc?d=e").is_ok() && checked("https://1.1.1.1:8443/x").is_ok());
        for wrong in [
            "http://push.example.org/abc",
            "ftp://push.example.org/abc",
            "https://ann:secret@push.example.org/abc",
            "https://127.0.0.1/abc",
            "https://[::1]/abc",
            "https://[::ffff:10.0.0.1]/abc",
            "https://192.168.0.1:9000/",
            "/abc",
            "",
            &format!("https://push.example.org/{}", "x".repeat(LONGEST)),
        ] {
            assert!(checked(wrong).is_err(), "{wrong}");
        }
    }
}
