//! Servers over HTTP: requests with their credentials, on the same TLS as the rest of the program.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::answer::{EVENTS, EventStream, HttpAnswer, JSON, accepted, challenge, content_type, events_of};
use super::redirect::{self, HttpRedirect};
use crate::locks::locked;
use crate::upstream::auth::Bearer;

/// Descriptions of authorisation servers, and their tokens, are smaller than this.
const LARGEST_DOCUMENT: usize = 1 << 20;

/// Headers of one request.
pub(super) type Headers = HashMap<HeaderName, HeaderValue>;

/// Why an HTTP request has no answer that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HttpFailure {
    /// Nothing was sent.
    #[error("{0}")]
    Connect(String),
    /// The server answered, with a status that is an error.
    #[error("HTTP {status}{}", what_it_says(*.status, .text))]
    Status { status: u16, text: String },
    /// It was sent, and then the connection was lost.
    #[error("{0}")]
    Lost(String),
}

/// The server's own words, else what the status means.
fn what_it_says(status: u16, text: &str) -> String {
    let meaning = || StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    match text {
        "" => meaning().map(|meaning| format!(" ({meaning})")).unwrap_or_default(),
        text => format!(": {text}"),
    }
}

impl HttpFailure {
    /// Whether another try may go better.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Connect(_) | Self::Lost(_) => true,
            Self::Status { status, .. } => (500..600).contains(status),
        }
    }

    /// Whether this is what a server of the older transport says to a message that is posted to it.
    pub(crate) fn may_be_older_transport(&self) -> bool {
        matches!(self, Self::Status { status: 400 | 404 | 405 | 406 | 415, .. })
    }
}

/// Sends requests to one server.
#[derive(Clone)]
pub(crate) struct HttpClient {
    sender: HttpSender,
    /// How long a request waits for the first byte of its answer. It begins anew with each.
    pub(super) first_byte: Duration,
    /// The token of whoever signed in, for servers that take one.
    bearer: Option<Arc<Bearer>>,
    /// The credential that a helper of the entry prints, for servers that have one.
    printed: Option<Arc<PrintedCredential>>,
    /// Nobody knows yet which revision the server speaks: `server/discover` is not waited for as long as other requests.
    pub(super) is_probing: bool,
}

/// A credential that a program prints. What it prints later may be another one.
pub(crate) struct PrintedCredential {
    print: Box<dyn Fn() -> BoxFuture<'static, Option<HeaderValue>> + Send + Sync>,
    /// What was printed last. Changed when a server refused what came before.
    current: Mutex<HeaderValue>,
}

impl PrintedCredential {
    pub(crate) fn new(
        first: HeaderValue,
        print: impl Fn() -> BoxFuture<'static, Option<HeaderValue>> + Send + Sync + 'static,
    ) -> Self {
        Self { print: Box::new(print), current: Mutex::new(first) }
    }

    /// Another credential than this one, which was refused; none where the program prints the same.
    async fn another_than(&self, refused: &HeaderValue) -> Option<HeaderValue> {
        let printed = (self.print)().await.filter(|printed| printed != refused)?;
        locked(&self.current).clone_from(&printed);
        Some(printed)
    }
}

/// The address at which an answer was given, of those that the server sent the message on to.
#[derive(Clone)]
struct AnsweredAt(String);

/// A stream of events, and the address that has it.
pub(super) struct FoundEvents {
    pub(super) events: EventStream,
    pub(super) at: String,
}

/// A request that may have to be sent twice, with another token.
pub(super) struct HttpMessage<'a> {
    pub(super) method: Method,
    pub(super) url: &'a str,
    pub(super) headers: &'a Headers,
    pub(super) more: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Bytes,
    pub(super) limit: Option<Duration>,
}

impl HttpMessage<'_> {
    fn request(&self, url: &str, credential: Option<&HeaderValue>) -> HttpAnswer<Request<Full<Bytes>>> {
        let mut request = Request::builder().method(self.method.clone()).uri(url);
        for (name, value) in self.headers.iter().chain(self.more.iter().map(|(name, value)| (name, value))) {
            if credential.is_none() || *name != AUTHORIZATION {
                request = request.header(name, value);
            }
        }
        if let Some(credential) = credential {
            request = request.header(AUTHORIZATION, credential);
        }
        let wrong = |error: hyper::http::Error| StreamableHttpError::Client(HttpFailure::Connect(error.to_string()));
        request.body(Full::new(self.body.clone())).map_err(wrong)
    }
}

#[derive(Clone)]
enum HttpSender {
    /// Needs no certificates, which take a moment to read and may be missing.
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

/// Connects with TLS, by the certificates of this machine.
pub(super) fn tls() -> io::Result<HttpsConnector<HttpConnector>> {
    Ok(HttpsConnectorBuilder::new().with_native_roots()?.https_or_http().enable_http1().build())
}

impl HttpClient {
    pub(crate) fn new(url: &str, first_byte: Duration) -> io::Result<Self> {
        let builder = || Client::builder(TokioExecutor::new());
        let sender = match url.starts_with("https:") {
            true => HttpSender::Tls(builder().build(tls()?)),
            false => {
                let mut connector = HttpConnector::new();
                connector.set_nodelay(true);
                HttpSender::Plain(builder().build(connector))
            }
        };
        Ok(Self { sender, first_byte, bearer: None, printed: None, is_probing: false })
    }

    pub(crate) fn with_printed(self, printed: Option<Arc<PrintedCredential>>) -> Self {
        Self { printed, ..self }
    }

    pub(crate) fn with_bearer(self, bearer: Option<Arc<Bearer>>) -> Self {
        Self { bearer, ..self }
    }

    pub(crate) fn probing(self, is_probing: bool) -> Self {
        Self { is_probing, ..self }
    }

    /// The answer to a request that has all it needs, with its whole body.
    pub(crate) async fn whole(&self, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, HttpFailure> {
        let response = self.send(request, Some(self.first_byte)).await.map_err(|error| match error {
            StreamableHttpError::Client(failure) => failure,
            other => HttpFailure::Lost(other.to_string()),
        })?;
        let (parts, body) = response.into_parts();
        let body = tokio::time::timeout(self.first_byte, Limited::new(body, LARGEST_DOCUMENT).collect()).await;
        let body = body.map_err(|_| HttpFailure::Lost("the answer does not end".to_owned()))?;
        let body = body.map_err(|error| HttpFailure::Lost(error.to_string()))?.to_bytes();
        Ok(Response::from_parts(parts, body))
    }

    /// The answer to a message, sent with the token of whoever signed in. One that is refused is renewed, once.
    pub(super) async fn exchange(&self, message: HttpMessage<'_>) -> HttpAnswer<Response<Incoming>> {
        let has_own = message.headers.contains_key(&AUTHORIZATION);
        if let Some(printed) = self.printed.as_ref().filter(|_| has_own) {
            return self.exchange_printed(message, printed).await;
        }
        let Some(bearer) = self.bearer.as_ref().filter(|_| !has_own) else {
            return self.send_on(&message, None).await;
        };
        let no_token = |error: crate::upstream::auth::NoToken| {
            StreamableHttpError::Client(HttpFailure::Connect(error.to_string()))
        };
        let token = bearer.token().await.map_err(no_token)?;
        let bearer_of = |token: &str| {
            let wrong =
                |_| StreamableHttpError::Client(HttpFailure::Connect("the token cannot be a header".to_owned()));
            HeaderValue::from_str(&format!("Bearer {token}")).map_err(wrong)
        };
        let credential = token.as_deref().map(bearer_of).transpose()?;
        let mut response = self.send_on(&message, credential.as_ref()).await?;
        if let (StatusCode::UNAUTHORIZED, Some(refused)) = (response.status(), &token)
            && let Some(fresh) = bearer.renewed(refused.clone()).await.map_err(no_token)?
        {
            response = self.send_on(&message, Some(&bearer_of(&fresh)?)).await?;
        }
        if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            bearer.refused(&challenge(&response));
        }
        Ok(response)
    }

    /// The answer to a message with a credential that a helper printed. One that is refused is printed anew, and tried once
    /// more if it is another one.
    async fn exchange_printed(
        &self,
        message: HttpMessage<'_>,
        printed: &PrintedCredential,
    ) -> HttpAnswer<Response<Incoming>> {
        let sent = locked(&printed.current).clone();
        let response = self.send_on(&message, Some(&sent)).await?;
        if !matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Ok(response);
        }
        match printed.another_than(&sent).await {
            Some(another) => self.send_on(&message, Some(&another)).await,
            None => Ok(response),
        }
    }

    /// The answer to a message, from wherever its server sends it on to.
    async fn send_on(
        &self,
        message: &HttpMessage<'_>,
        credential: Option<&HeaderValue>,
    ) -> HttpAnswer<Response<Incoming>> {
        let mut url = Cow::Borrowed(message.url);
        let mut sent_on = 0;
        loop {
            let mut response = self.send(message.request(&url, credential)?, message.limit).await?;
            let status = response.status();
            let text = match redirect::of(&message.method, status, response.headers(), &url) {
                None => {
                    response.extensions_mut().insert(AnsweredAt(url.into_owned()));
                    return Ok(response);
                }
                Some(HttpRedirect::Follow(to)) if sent_on < redirect::MOST => {
                    sent_on += 1;
                    url = Cow::Owned(to);
                    continue;
                }
                Some(HttpRedirect::Follow(to)) => {
                    format!("it sends every message on and on, the last time to {}", redirect::shown(&to))
                }
                Some(HttpRedirect::Elsewhere(to)) => format!(
                    "it leads to {}; if that is the server that you mean, write this address into its entry",
                    redirect::shown(&to)
                ),
            };
            return Err(StreamableHttpError::Client(HttpFailure::Status { status: status.as_u16(), text }));
        }
    }

    /// The answer to a request, once its first byte is there.
    async fn send(&self, request: Request<Full<Bytes>>, limit: Option<Duration>) -> HttpAnswer<Response<Incoming>> {
        let sending = async {
            match &self.sender {
                HttpSender::Plain(client) => client.request(request).await,
                HttpSender::Tls(client) => client.request(request).await,
            }
        };
        let answered = match limit {
            None => sending.await,
            Some(limit) => tokio::time::timeout(limit, sending).await.map_err(|_| {
                StreamableHttpError::Client(HttpFailure::Lost(format!("no answer within {} s", limit.as_secs())))
            })?,
        };
        answered.map_err(|error| {
            let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
            let why = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
            StreamableHttpError::Client(if error.is_connect() {
                HttpFailure::Connect(why)
            } else {
                HttpFailure::Lost(why)
            })
        })
    }

    /// The stream of events at an address.
    pub(super) async fn events(&self, url: &str, headers: &Headers, largest: usize) -> HttpAnswer<FoundEvents> {
        let more = vec![(ACCEPT, HeaderValue::from_static(EVENTS))];
        let (method, limit) = (Method::GET, Some(self.first_byte));
        let response = self.exchange(HttpMessage { method, url, headers, more, body: Bytes::new(), limit }).await?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        let response = accepted(response, headers).await?;
        let kind = content_type(&response);
        if !kind.starts_with(EVENTS) {
            return Err(StreamableHttpError::UnexpectedContentType(Some(kind)));
        }
        let at = response.extensions().get::<AnsweredAt>().map_or(url, |at| &at.0).to_owned();
        Ok(FoundEvents { events: events_of(response.into_body(), largest), at })
    }

    /// Posts a message whose answer comes elsewhere.
    pub(super) async fn post(&self, url: &str, headers: &Headers, message: Vec<u8>) -> HttpAnswer<()> {
        let more = vec![(CONTENT_TYPE, HeaderValue::from_static(JSON))];
        let (method, limit) = (Method::POST, Some(self.first_byte));
        let response = self.exchange(HttpMessage { method, url, headers, more, body: message.into(), limit }).await?;
        accepted(response, headers).await.map(drop)
    }
}
