//! `public_url`: where browsers that are not on this machine find the page.

use std::net::Ipv6Addr;

use serde::{Deserialize, Serialize};

use super::error::quoted;

/// Where browsers elsewhere find the page: scheme, host and port, and nothing behind them; or nowhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct PublicUrl {
    /// As a browser sends it: in small letters, without the scheme's own port.
    origin: Option<String>,
}

const OFF: &str = "off";

impl PublicUrl {
    pub(crate) fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }
}

impl TryFrom<String> for PublicUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text == OFF {
            return Ok(Self::default());
        }
        let wrong = |why: &str| format!("{} {why}", quoted(&text));
        let small = text.trim_end_matches('/').to_ascii_lowercase();
        let Some((scheme, authority)) = small.split_once("://") else {
            return Err(wrong("names no scheme and host"));
        };
        if authority.contains(['/', '?', '#', '@']) {
            return Err(wrong("is more than scheme, host and port"));
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, Some(port.parse::<u16>().map_err(|_| wrong("has a port that is none"))?))
            }
            _ => (authority, None),
        };
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-');
        let is_ipv6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).map(str::parse::<Ipv6Addr>);
        if !is_ipv6.map_or(!host.is_empty() && host.chars().all(is_name), |parsed| parsed.is_ok()) {
            return Err(wrong("names no host"));
        }
        let is_here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
        let usual = match scheme {
            "https" => 443,
            "http" if is_here => 80,
            "http" => return Err(wrong("has no TLS: keys and prompts could be read on the way")),
            _ => return Err(wrong("is neither https nor http")),
        };
        let port = port.filter(|port| *port != usual);
        let origin = port.map_or(format!("{scheme}://{host}"), |port| format!("{scheme}://{host}:{port}"));
        Ok(Self { origin: Some(origin) })
    }
}

impl From<PublicUrl> for String {
    fn from(url: PublicUrl) -> Self {
        url.origin.unwrap_or_else(|| OFF.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_kept_as_browsers_send_it() {
        for (written, origin) in [
            ("https://gate.example.org", "https://gate.example.org"),
            ("https://Gate.Example.org/", "https://gate.example.org"),
            ("https://gate.example.org:443", "https://gate.example.org"),
            ("https://gate.example.org:8443", "https://gate.example.org:8443"),
            ("http://localhost:9000", "http://localhost:9000"),
            ("http://127.0.0.1:80", "http://127.0.0.1"),
            ("https://[fd7a::1]:8443", "https://[fd7a::1]:8443"),
            ("http://[::1]", "http://[::1]"),
        ] {
            let url = PublicUrl::try_from(written.to_owned()).unwrap();
            assert_eq!(url.origin(), Some(origin), "{written}");
        }
    }

    #[test]
    fn nobody_elsewhere_finds_it_unless_someone_says_so() {
        let off = PublicUrl::try_from(OFF.to_owned()).unwrap();
        assert_eq!((off.origin(), String::from(off.clone())), (None, OFF.to_owned()));
        assert_eq!(off, PublicUrl::default());
    }

    #[test]
    fn an_address_without_tls_elsewhere_or_with_more_than_a_host_is_refused() {
        for bad in [
            "",
            "gate.example.org",
            "http://gate.example.org",
            "ftp://gate.example.org",
            "https://",
            "https://:443",
            "https://a b",
            "https://ann@gate.example.org",
            "https://gate.example.org/page",
            "https://gate.example.org?x",
            "https://gate.example.org#x",
            "https://gate.example.org:x",
            "https://gate.example.org:70000",
            "https://[fd7a::1",
            "https://[gate]",
        ] {
            assert!(PublicUrl::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
