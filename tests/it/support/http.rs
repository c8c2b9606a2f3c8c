//! A small blocking HTTP client that sends exactly what it is told.

use super::connection::{Connection, Target};
use super::seen::OrFail;
use serde_json::Value;
use std::fmt;
use std::io;

#[derive(Debug, Clone)]
pub(crate) struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    /// Names of the headers a client would add by itself that this one must not.
    left_out: Vec<String>,
    body: Option<Vec<u8>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), headers: Vec::new(), left_out: Vec::new(), body: None }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn post(path: &str) -> Self {
        Self::new("POST", path)
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// Added as it is; a second one of the same name is sent as a second line.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves out `Host`, `Content-Length` or `Connection`, which are written otherwise.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.left_out.push(name.to_owned());
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json").body(body.to_string())
    }

    /// On a connection of its own, closed afterwards.
    #[track_caller]
    pub(crate) fn send(&self, target: &Target) -> Answer {
        self.try_send(target).or_fail(|error| format!("{self} to {target:?}: {error}"))
    }

    pub(crate) fn try_send(&self, target: &Target) -> io::Result<Answer> {
        Connection::try_open(target)?.exchange(self, true)
    }

    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    pub(crate) fn bytes(&self, target: &Target, last: bool) -> Vec<u8> {
        let mut lines = vec![format!("{} {} HTTP/1.1", self.method, self.path)];
        let mut by_default = |name: &str, value: String| {
            let given = self.headers.iter().map(|(given, _)| given).chain(&self.left_out);
            if !given.into_iter().any(|given| given.eq_ignore_ascii_case(name)) {
                lines.push(format!("{name}: {value}"));
            }
        };
        by_default("Host", target.host());
        if let Some(body) = &self.body {
            by_default("Content-Length", body.len().to_string());
        }
        if last {
            by_default("Connection", "close".to_owned());
        }
        lines.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        let mut bytes = lines.join("\r\n").into_bytes();
        bytes.extend_from_slice(b"\r\n\r\n");
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).or_fail(|error| format!("no JSON ({error}): {self}"))
    }

    /// The id of the event that was accepted.
    #[track_caller]
    pub(crate) fn event_id(&self) -> String {
        self.header("x-event-id").ok_or(()).or_fail(|()| format!("no event was accepted: {self}")).to_owned()
    }

    /// Fails with the whole answer when the status is another.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self}");
        self
    }
}

impl fmt::Display for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.method, self.path)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {:?}\n{}", self.status, self.headers, self.text())
    }
}
