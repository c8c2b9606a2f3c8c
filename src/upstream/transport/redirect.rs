//! Where a server sends a message on to, or wants messages: only to another address of the same server.

use hyper::header::{HeaderMap, LOCATION};
use hyper::{Method, StatusCode, Uri};

/// A message is sent on so often; a server that sends it on more often goes round in a circle.
pub(crate) const MOST: usize = 5;

/// What a server says to a message that it does not take at this address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HttpRedirect {
    /// The same message goes there.
    Follow(String),
    /// It leads there, and a message with our credentials does not go along.
    Elsewhere(String),
}

/// What an answer says about where to go; nothing where it is no redirection.
pub(crate) fn of(method: &Method, status: StatusCode, headers: &HeaderMap, asked: &str) -> Option<HttpRedirect> {
    if !status.is_redirection() {
        return None;
    }
    let to = resolved(headers.get(LOCATION)?.to_str().ok()?, asked)?;
    // Others may make a GET of it.
    let keeps_message =
        matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) || *method == Method::GET;
    Some(match keeps_message && within(&to, asked).is_some() {
        true => HttpRedirect::Follow(to),
        false => HttpRedirect::Elsewhere(to),
    })
}

/// The address that a server names, as seen from `asked`, if it is one of the same server: credentials go nowhere else.
pub(crate) fn within(named: &str, asked: &str) -> Option<String> {
    resolved(named, asked).filter(|found| origin(found) == origin(asked))
}

/// An address for people, without what may be secret in it: who asks, the query, and long parts of its path.
pub(crate) fn shown(address: &str) -> String {
    const LONGEST_PART: usize = 20;
    let Ok(uri) = address.parse::<Uri>() else { return "an address that is none".to_owned() };
    let scheme = uri.scheme_str().map(|scheme| format!("{scheme}://")).unwrap_or_default();
    let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    let part = |part: &str| if part.len() > LONGEST_PART { "…".to_owned() } else { part.to_owned() };
    let path = uri.path().split('/').map(part).collect::<Vec<_>>().join("/");
    let query = if uri.query().is_some() { "?…" } else { "" };
    format!("{scheme}{}{port}{path}{query}", uri.host().unwrap_or_default())
}

/// The address that a header means, as seen from `asked`.
fn resolved(location: &str, asked: &str) -> Option<String> {
    let location = location.split('#').next().unwrap_or_default();
    let base: Uri = asked.parse().ok()?;
    let (scheme, authority) = (base.scheme_str()?, base.authority()?);
    let is_scheme = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    let found = if location.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme)) {
        location.to_owned()
    } else if let Some(rest) = location.strip_prefix("//") {
        format!("{scheme}://{rest}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else {
        let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{location}")
    };
    found.parse::<Uri>().is_ok().then_some(found)
}

/// Scheme, host and port.
fn origin(address: &str) -> Option<(String, String, u16)> {
    let uri: Uri = address.parse().ok()?;
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
    Some((scheme, uri.host()?.to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn at(status: u16, location: &'static str) -> Option<HttpRedirect> {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, HeaderValue::from_static(location));
        of(&Method::POST, StatusCode::from_u16(status).unwrap(), &headers, "http://a.example/x/mcp")
    }

    #[test]
    fn only_the_same_message_to_the_same_server_is_sent_on() {
        let follow = |to: &str| Some(HttpRedirect::Follow(to.to_owned()));
        let elsewhere = |to: &str| Some(HttpRedirect::Elsewhere(to.to_owned()));
        assert_eq!(at(307, "/x/mcp/"), follow("http://a.example/x/mcp/"));
        assert_eq!(at(308, "sse?y#z"), follow("http://a.example/x/sse?y"));
        assert_eq!(at(308, "HTTP://A.example:80/m"), follow("HTTP://A.example:80/m"));
        let login = "/login?next=https://b.example/";
        assert_eq!(at(307, login), follow("http://a.example/login?next=https://b.example/"));
        assert_eq!(at(307, "//b.example/m"), elsewhere("http://b.example/m"));
        assert_eq!(at(307, "https://a.example/x/mcp"), elsewhere("https://a.example/x/mcp"));
        assert_eq!(at(307, "http://a.example:81/x/mcp"), elsewhere("http://a.example:81/x/mcp"));
        assert_eq!(at(302, "/x/mcp/"), elsewhere("http://a.example/x/mcp/"), "a POST may become a GET");
        assert_eq!(at(200, "/x/mcp/"), None);
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, HeaderValue::from_static("/doc"));
        let document = of(&Method::GET, StatusCode::FOUND, &headers, "https://a.example/x");
        assert_eq!(document, follow("https://a.example/doc"), "a GET stays one");
    }

    #[test]
    fn messages_are_posted_to_the_same_server_only() {
        let found = |named| within(named, "http://a.org:8080/mcp/sse");
        assert_eq!(found("/message?id=1").as_deref(), Some("http://a.org:8080/message?id=1"));
        assert_eq!(found("message").as_deref(), Some("http://a.org:8080/mcp/message"));
        assert_eq!(found("http://A.org:8080/x").as_deref(), Some("http://A.org:8080/x"));
        for elsewhere in ["http://b.org/x", "https://a.org:8080/x", "//b.org/x", "http://a.org/x"] {
            assert_eq!(found(elsewhere), None, "{elsewhere}");
        }
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_secret_in_it() {
        let address = "https://ann:word@mcp.example:8443/mcp/s/c2VjcmV0LXRoYXQtaXMtbG9uZw/?apiKey=SECRET";
        assert_eq!(shown(address), "https://mcp.example:8443/mcp/s/…/?…");
        assert_eq!(shown("http://a.example/x/mcp/"), "http://a.example/x/mcp/");
    }
}
