//! Why a server could not be reached, and what is known of a call that failed.

use std::error::Error;
use std::io;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError, StreamableHttpError};
use serde_json::Value;

use super::transport::http::HttpFailure;
use super::transport::mend::UNREADABLE;

/// The error of a server whose call needs a person to open an address first. Nothing was done yet.
pub(crate) const ADDRESS_FIRST: i32 = -32042;

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectFailure {
    /// The server wants someone to sign in.
    NeedsAuth,
    /// In words, with the end of what the server said on standard error.
    Failed { why: String, stderr: String, is_passing: bool },
}

impl ConnectFailure {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self::Failed { why: why.into(), stderr: String::new(), is_passing: false }
    }

    /// The reason in words.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::NeedsAuth => "the server wants you to sign in".to_owned(),
            Self::Failed { why, stderr, .. } if stderr.is_empty() => why.clone(),
            Self::Failed { why, stderr, .. } => format!("{why}; it said: {stderr}"),
        }
    }

    pub(super) fn of(error: &ClientInitializeError) -> Self {
        if error.is_authorization_required() || causes(error_of(error)).any(wants_sign_in) {
            return Self::NeedsAuth;
        }
        let is_passing = causes(error_of(error)).any(|cause| http_failure(cause).is_some_and(HttpFailure::is_passing));
        let why = match error {
            ClientInitializeError::ConnectionClosed(_) => "the server ended before it answered".to_owned(),
            ClientInitializeError::JsonRpcError(error) => format!("the server refused: {}", error.message),
            ClientInitializeError::TransportError { error, .. } if is_broken_pipe(error.error.as_ref()) => {
                "the server ended before it answered".to_owned()
            }
            ClientInitializeError::TransportError { error, .. } => in_words(error.error.as_ref()),
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => return Self::of(fallback),
            ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
                format!("the server speaks only revisions that we do not: {server_supported:?}")
            }
            ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
                "the server answered something else when it was asked who it is".to_owned()
            }
            other => other.to_string().chars().take(500).collect(),
        };
        Self::Failed { why, stderr: String::new(), is_passing }
    }

    pub(super) fn of_http(failure: &HttpFailure) -> Self {
        match failure {
            HttpFailure::Status { status: 401 | 403, .. } => Self::NeedsAuth,
            other => Self::Failed { why: other.to_string(), stderr: String::new(), is_passing: other.is_passing() },
        }
    }

    pub(super) fn of_sending(error: &StreamableHttpError<HttpFailure>) -> Self {
        match error {
            StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => Self::NeedsAuth,
            StreamableHttpError::Client(failure) => {
                Self::Failed { why: failure.to_string(), stderr: String::new(), is_passing: failure.is_passing() }
            }
            other => Self::new(in_words(other)),
        }
    }
}

/// Whether a server refused as one of the older transport does.
pub(super) fn may_be_older_transport(error: &ClientInitializeError) -> bool {
    causes(error_of(error)).any(|cause| http_failure(cause).is_some_and(HttpFailure::may_be_older_transport))
}

/// Whether a server that we started is gone.
pub(super) fn has_ended(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::ConnectionClosed(_) => true,
        ClientInitializeError::TransportError { error, .. } => is_broken_pipe(error.error.as_ref()),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => has_ended(fallback),
        _ => false,
    }
}

fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    let is_it = |cause: &(dyn Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    causes(Some(error)).any(is_it)
}

fn error_of(error: &ClientInitializeError) -> Option<&(dyn Error + 'static)> {
    match error {
        ClientInitializeError::TransportError { error, .. } => Some(error.error.as_ref()),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => error_of(fallback),
        _ => None,
    }
}

/// What is known of a call that has no result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallFailure {
    /// There was no connection, so the server knows nothing of the call.
    NoConnection(ConnectFailure),
    /// It never left us: it may be tried again.
    NotSent(String),
    /// The server answered with an error.
    Refused {
        code: i32,
        message: String,
        data: Option<Value>,
    },
    /// The server does not know our session any more, and did nothing.
    SessionExpired,
    NeedsAuth,
    /// The call was sent, and nobody knows whether it was carried out. It is never repeated by us.
    UnknownOutcome(String),
    /// The client behind us took it back, and the server was told.
    TakenBack,
    /// The server answered, and nobody can read what.
    Unreadable,
    /// The server answered what is no answer to a call.
    Nonsense(String),
}

impl CallFailure {
    /// The reason in words.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::NoConnection(failure) => failure.why(),
            Self::NotSent(why) => format!("the call was not sent: {why}"),
            Self::Refused { code, message, .. } => format!("the server refused ({code}): {message}"),
            Self::SessionExpired => "the server ended the session, and again at once".to_owned(),
            Self::NeedsAuth => ConnectFailure::NeedsAuth.why(),
            Self::TakenBack => "the client took the call back".to_owned(),
            Self::UnknownOutcome(why) => format!("unknown outcome: the call was sent, and {why}"),
            Self::Unreadable => format!("unknown outcome: it was sent, and {UNREADABLE}"),
            Self::Nonsense(what) => format!("the server's answer makes no sense: {what}"),
        }
    }

    /// Whether someone has to sign in first.
    pub(crate) fn is_needs_auth(&self) -> bool {
        matches!(self, Self::NeedsAuth | Self::NoConnection(ConnectFailure::NeedsAuth))
    }

    /// Whether another try may go better, of a request that may be sent twice.
    pub(super) fn is_passing(&self) -> bool {
        self.is_terminal() || matches!(self, Self::Refused { code: 500..600, .. })
    }

    /// Whether the connection is to blame: three of these in a row, and a new one is made.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::NotSent(_) | Self::UnknownOutcome(_))
    }

    pub(super) fn of(error: &ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) if error.message == UNREADABLE => Self::Unreadable,
            ServiceError::McpError(error) => {
                Self::Refused { code: error.code.0, message: error.message.to_string(), data: error.data.clone() }
            }
            ServiceError::TransportSend(error) => Self::of_sending(error.error.as_ref()),
            ServiceError::TransportClosed => Self::UnknownOutcome("the server went away before it answered".to_owned()),
            ServiceError::Cancelled { reason } => {
                Self::UnknownOutcome(format!("it was cancelled: {}", reason.as_deref().unwrap_or("no reason given")))
            }
            ServiceError::Timeout { timeout } => {
                Self::UnknownOutcome(format!("the server did not answer within {} s", timeout.as_secs()))
            }
            ServiceError::UnexpectedResponse => Self::Nonsense("it is no answer to this request".to_owned()),
            other => Self::Nonsense(other.to_string()),
        }
    }

    fn of_sending(error: &(dyn Error + 'static)) -> Self {
        for cause in causes(Some(error)) {
            if wants_sign_in(cause) {
                return Self::NeedsAuth;
            }
            if matches!(cause.downcast_ref(), Some(StreamableHttpError::<HttpFailure>::SessionExpired)) {
                return Self::SessionExpired;
            }
            match http_failure(cause) {
                Some(HttpFailure::Connect(why)) => return Self::NotSent(why.clone()),
                Some(HttpFailure::Status { status, text }) => {
                    return Self::Refused { code: i32::from(*status), message: text.clone(), data: None };
                }
                Some(other) => return Self::UnknownOutcome(other.to_string()),
                None => {}
            }
        }
        if is_broken_pipe(error) {
            return Self::NotSent("the server had ended".to_owned());
        }
        Self::UnknownOutcome(in_words(error))
    }
}

/// Whether the server answered 401 or 403 to whoever has no header for it.
fn wants_sign_in(cause: &(dyn Error + 'static)) -> bool {
    let is_it = |error: &StreamableHttpError<HttpFailure>| {
        matches!(error, StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_))
    };
    cause.is::<AuthRequiredError>() || cause.is::<InsufficientScopeError>() || cause.downcast_ref().is_some_and(is_it)
}

fn http_failure<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a HttpFailure> {
    match cause.downcast_ref() {
        Some(StreamableHttpError::<HttpFailure>::Client(failure)) => Some(failure),
        Some(_) => None,
        None => cause.downcast_ref(),
    }
}

fn causes<'a>(error: Option<&'a (dyn Error + 'static)>) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error, |error: &&'a (dyn Error + 'static)| (*error).source())
}

/// The words of one error; the SDK shows what it holds as a Rust value.
fn said_by(cause: &(dyn Error + 'static)) -> String {
    match cause.downcast_ref() {
        Some(StreamableHttpError::<HttpFailure>::UnexpectedContentType(Some(kind))) => {
            format!("the server answered with {kind}, which is no MCP message")
        }
        Some(StreamableHttpError::<HttpFailure>::UnexpectedContentType(None)) => {
            "the server answered with something that is no MCP message".to_owned()
        }
        _ => cause.to_string(),
    }
}

/// The error with what caused it, each once.
fn in_words(error: &(dyn Error + 'static)) -> String {
    let mut words: Vec<String> = vec![];
    for cause in causes(Some(error)) {
        let text = http_failure(cause).map_or_else(|| said_by(cause), ToString::to_string);
        if !words.iter().any(|known| known.contains(&text)) {
            words.push(text);
        }
    }
    words.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_no_message_is_told_in_words() {
        let answered = |kind: Option<&str>| {
            let error = StreamableHttpError::<HttpFailure>::UnexpectedContentType(kind.map(str::to_owned));
            in_words(&error)
        };
        assert_eq!(answered(Some("text/html")), "the server answered with text/html, which is no MCP message");
        assert_eq!(answered(None), "the server answered with something that is no MCP message");
        let failed = |status, text: &str| HttpFailure::Status { status, text: text.to_owned() }.to_string();
        assert_eq!(failed(500, ""), "HTTP 500 (Internal Server Error)");
        assert_eq!(failed(500, "no database"), "HTTP 500: no database");
        assert_eq!(failed(599, ""), "HTTP 599");
    }
}
