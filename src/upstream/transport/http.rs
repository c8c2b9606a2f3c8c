//! Servers over HTTP: the client that rmcp's streamable transport sends by, on the same TLS as the rest of the program.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt as _};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::{LARGEST_MESSAGE, mend};
use crate::locks::locked;
use crate::upstream::auth::Bearer;
use crate::upstream::probe;

const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// How long a session is given to end on the server's side.
const DELETE: Duration = Duration::from_secs(5);
/// As much of the text of an error is shown.
const SHOWN: usize = 500;
/// Descriptions of authorisation servers, and their tokens, are smaller than this.
const LARGEST_DOCUMENT: usize = 1 << 20;

/// Headers of one request.
pub(super) type Headers = HashMap<HeaderName, HeaderValue>;
/// What is sent and comes back here.
type HttpAnswer<T> = Result<T, StreamableHttpError<HttpFailure>>;
type EventStream = BoxStream<'static, Result<Sse, sse_stream::Error>>;

/// Why an HTTP request has no answer that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HttpFailure {
    /// Nothing was sent.
    #[error("{0}")]
    Connect(String),
    /// The server answered, with a status that is an error.
    #[error("HTTP {status}: {text}")]
    Status { status: u16, text: String },
    /// It was sent, and then the connection was lost.
    #[error("{0}")]
    Lost(String),
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
    first_byte: Duration,
    /// The token of whoever signed in, for servers that take one.
    bearer: Option<Arc<Bearer>>,
    /// The credential that a helper of the entry prints, for servers that have one.
    printed: Option<Arc<PrintedCredential>>,
    /// Nobody knows yet which revision the server speaks: `server/discover` is not waited for as long as other requests.
    is_probing: bool,
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

/// A request that may have to be sent twice, with another token.
struct HttpMessage<'a> {
    method: Method,
    url: &'a str,
    headers: &'a Headers,
    more: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    limit: Option<Duration>,
}

impl HttpMessage<'_> {
    fn request(&self, credential: Option<&HeaderValue>) -> HttpAnswer<Request<Full<Bytes>>> {
        let mut request = Request::builder().method(self.method.clone()).uri(self.url);
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
            false => HttpSender::Plain(builder().build_http()),
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
    async fn exchange(&self, message: HttpMessage<'_>) -> HttpAnswer<Response<Incoming>> {
        let has_own = message.headers.contains_key(&AUTHORIZATION);
        if let Some(printed) = self.printed.as_ref().filter(|_| has_own) {
            return self.exchange_printed(message, printed).await;
        }
        let Some(bearer) = self.bearer.as_ref().filter(|_| !has_own) else {
            return self.send(message.request(None)?, message.limit).await;
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
        let mut response = self.send(message.request(credential.as_ref())?, message.limit).await?;
        if let (StatusCode::UNAUTHORIZED, Some(refused)) = (response.status(), &token)
            && let Some(fresh) = bearer.renewed(refused).await.map_err(no_token)?
        {
            response = self.send(message.request(Some(&bearer_of(&fresh)?))?, message.limit).await?;
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
        let response = self.send(message.request(Some(&sent))?, message.limit).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        match printed.another_than(&sent).await {
            Some(another) => self.send(message.request(Some(&another))?, message.limit).await,
            None => Ok(response),
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
    pub(super) async fn events(&self, url: &str, headers: &Headers, largest: usize) -> HttpAnswer<EventStream> {
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
        Ok(events_of(response.into_body(), largest))
    }

    /// Posts a message whose answer comes elsewhere.
    pub(super) async fn post(&self, url: &str, headers: &Headers, message: Vec<u8>) -> HttpAnswer<()> {
        let more = vec![(CONTENT_TYPE, HeaderValue::from_static(JSON))];
        let (method, limit) = (Method::POST, Some(self.first_byte));
        let response = self.exchange(HttpMessage { method, url, headers, more, body: message.into(), limit }).await?;
        accepted(response, headers).await.map(drop)
    }
}

/// What a server says on how to be let in.
fn challenge(response: &Response<Incoming>) -> String {
    let said = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    said.unwrap_or_default().to_owned()
}

fn session_header(session: &str) -> Option<(HeaderName, HeaderValue)> {
    Some((HeaderName::from_static(SESSION), HeaderValue::from_str(session).ok()?))
}

fn content_type(response: &Response<Incoming>) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.unwrap_or_default().to_ascii_lowercase()
}

/// The response, unless it is an error. Whoever configured a credential that is refused is not asked to sign in.
async fn accepted(response: Response<Incoming>, headers: &Headers) -> HttpAnswer<Response<Incoming>> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    if !headers.contains_key(&AUTHORIZATION) {
        let challenge = challenge(&response);
        match status {
            StatusCode::UNAUTHORIZED => {
                return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)));
            }
            StatusCode::FORBIDDEN => {
                let needs = InsufficientScopeError::new(challenge, None);
                return Err(StreamableHttpError::InsufficientScope(needs));
            }
            _ => {}
        }
    }
    let text = read(response).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).chars().take(SHOWN).collect();
    Err(StreamableHttpError::Client(HttpFailure::Status { status: status.as_u16(), text }))
}

async fn read(response: Response<Incoming>) -> Result<Bytes, HttpFailure> {
    let body = Limited::new(response.into_body(), LARGEST_MESSAGE).collect().await;
    body.map(http_body_util::Collected::to_bytes).map_err(|error| HttpFailure::Lost(error.to_string()))
}

/// Events with a limit on each. What rmcp would refuse in them is mended.
fn events_of(body: Incoming, largest: usize) -> EventStream {
    let (mut since, mut last) = (0_usize, 0_u8);
    let limited = body.into_data_stream().map(move |chunk| {
        let chunk = chunk.map_err(io::Error::other)?;
        for byte in chunk.iter().filter(|byte| **byte != b'\r') {
            since = if *byte == b'\n' && last == b'\n' { 0 } else { since + 1 };
            last = *byte;
        }
        if since > largest { Err(io::Error::other("an event is too large")) } else { Ok(chunk) }
    });
    let mended =
        |event: Result<Sse, sse_stream::Error>| event.map(|event| Sse { data: event.data.map(mend::text), ..event });
    SseStream::from_bytes_stream(limited).map(mended).boxed()
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpFailure;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> HttpAnswer<StreamableHttpPostResponse> {
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            LARGEST_MESSAGE,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: Headers,
        largest: usize,
    ) -> HttpAnswer<StreamableHttpPostResponse> {
        let wants_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        let question = probe::asked(&message).filter(|_| self.is_probing).cloned();
        let mut more = vec![
            (CONTENT_TYPE, HeaderValue::from_static(JSON)),
            (ACCEPT, HeaderValue::from_static("application/json, text/event-stream")),
        ];
        more.extend(session_id.as_deref().and_then(session_header));
        let limit = Some(if question.is_some() { probe::http_probe() } else { self.first_byte });
        let (method, url, headers, body) = (Method::POST, &*uri, &custom_headers, serde_json::to_vec(&message)?.into());
        let sent = self.exchange(HttpMessage { method, url, headers, more, body, limit }).await;
        let response = match (sent, &question) {
            (Ok(response), _) => response,
            (Err(StreamableHttpError::Client(HttpFailure::Lost(_))), Some(id)) => {
                return Ok(StreamableHttpPostResponse::Json(probe::unknown_method(id.clone()), None));
            }
            (Err(error), _) => return Err(error),
        };
        if response.status() == StatusCode::NOT_FOUND && session_id.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let response = match (accepted(response, &custom_headers).await, question) {
            (Ok(response), _) => response,
            // What an older server says to a question that it does not know; a newer one says it as JSON.
            (Err(StreamableHttpError::Client(HttpFailure::Status { text, .. })), Some(id)) => {
                let said = match mend::message(text.as_bytes()) {
                    Some(ServerJsonRpcMessage::Error(error)) => ServerJsonRpcMessage::error(error.error, Some(id)),
                    _ => probe::unknown_method(id),
                };
                return Ok(StreamableHttpPostResponse::Json(said, None));
            }
            (Err(error), _) => return Err(error),
        };
        if matches!(response.status(), StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = response.headers().get(SESSION).and_then(|session| session.to_str().ok()).map(str::to_owned);
        let kind = content_type(&response);
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events_of(response.into_body(), largest), session));
        }
        let body = read(response).await.map_err(StreamableHttpError::Client)?;
        match mend::message(&body) {
            Some(said) if kind.starts_with(JSON) => Ok(StreamableHttpPostResponse::Json(said, session)),
            _ if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            _ if kind.starts_with(JSON) => {
                Err(StreamableHttpError::UnexpectedServerResponse("it is no message".into()))
            }
            _ => Err(StreamableHttpError::UnexpectedContentType(Some(kind))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> HttpAnswer<()> {
        let (method, url, headers, limit) = (Method::DELETE, &*uri, &custom_headers, Some(DELETE));
        let more = session_header(&session_id).into_iter().collect();
        let response = self.exchange(HttpMessage { method, url, headers, more, body: Bytes::new(), limit }).await?;
        match response.status() {
            // It ends sessions by itself, or has done so.
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND => Ok(()),
            _ => accepted(response, &custom_headers).await.map(drop),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> HttpAnswer<EventStream> {
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            LARGEST_MESSAGE,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        mut custom_headers: Headers,
        largest: usize,
    ) -> HttpAnswer<EventStream> {
        let mut put = |name: &'static str, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                custom_headers.insert(HeaderName::from_static(name), value);
            }
        };
        if let Some(session) = &session_id {
            put(SESSION, session);
        }
        if let Some(last) = &last_event_id {
            put(LAST_EVENT, last);
        }
        self.events(&uri, &custom_headers, largest).await
    }
}
