//! `/mcp`: the gateway over HTTP. Requests are passed on to the process that holds the MCP servers, and its answers back.

use std::collections::HashMap;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::{Full, Limited};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, COOKIE, HOST, HeaderName, HeaderValue, ORIGIN, TRANSFER_ENCODING};
use hyper::{Method, Uri};
use hyper_util::rt::TokioIo;
use portcullis_core::{Rights, TokenId};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::routes::{MCP_CAN_WRITE, MCP_CLIENT, MCP_TOKEN, MCP_TOKEN_ENDED};
use tokio::net::UnixStream;

use super::Door;
use super::access::Permitted;
use super::body::collect;
use super::response::ErrorResponse;
use super::seats::Seat;
use super::sse::{self, Pass};
use crate::locks::locked;
use crate::turns::within_turns;

/// As long a message may be as on standard streams.
const LARGEST_MESSAGE: usize = 16 << 20;
/// Connections that are kept for the next request.
const MOST_IDLE: usize = 16;

/// A request waits no longer to hear whether the journal takes records, for the disk may hang: then the other end asks, where
/// it has to know.
const SAID_WITHIN: Duration = Duration::from_millis(20);
/// A loop that is not busy says it in its next turns, and no clock is set for it.
const SAID_WITHIN_TURNS: usize = 4;

/// Connects to the process that holds the servers, starting it where it does not run.
pub(crate) type McpConnect = Box<dyn Fn() -> BoxFuture<'static, anyhow::Result<UnixStream>> + Send + Sync>;

/// How requests come to the process that holds the servers.
pub(crate) struct McpPassage {
    connect: McpConnect,
    /// Connections whose last answer was read to its end.
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
    /// Changed by requests, and when a token no longer counts.
    tokens: Mutex<WatchedTokens>,
}

/// The tokens whose requests were passed on, each with its own number while it counts and its rights stay the same.
#[derive(Default)]
struct WatchedTokens {
    numbers: HashMap<TokenId, (u64, Rights)>,
    last: u64,
}

impl McpPassage {
    pub(crate) fn new(connect: McpConnect) -> Arc<Self> {
        Arc::new(Self { connect, idle: Mutex::default(), tokens: Mutex::default() })
    }

    /// The number under which the other end knows the token. It is told when that no longer counts.
    fn number_of(self: &Arc<Self>, door: &Door, permitted: &Permitted) -> u64 {
        // The owner is not let in without a token.
        let Some(known) = &permitted.token else { return 0 };
        let number = {
            let mut tokens = locked(&self.tokens);
            if let Some((number, _)) = tokens.numbers.get(&known.token).filter(|(_, rights)| *rights == known.rights) {
                return *number;
            }
            tokens.last += 1;
            let number = tokens.last;
            tokens.numbers.insert(known.token, (number, known.rights));
            number
        };
        let (passage, token, stop) = (Arc::clone(self), known.token, door.stop.clone());
        let pass = Pass::of(door, permitted);
        tokio::spawn(async move {
            tokio::select! {
                () = pass.ended() => passage.end(token, number).await,
                // The other end stops as well.
                () = stop.cancelled() => {}
            }
        });
        number
    }

    /// Has the other end close all that was begun with this token.
    async fn end(&self, token: TokenId, number: u64) {
        {
            let mut tokens = locked(&self.tokens);
            if tokens.numbers.get(&token).is_some_and(|(current, _)| *current == number) {
                tokens.numbers.remove(&token);
            }
        }
        let mut request = hyper::Request::new(Full::default());
        *request.method_mut() = Method::DELETE;
        *request.uri_mut() = Uri::from_static(MCP_TOKEN_ENDED);
        request.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
        request.headers_mut().insert(HeaderName::from_static(MCP_TOKEN), HeaderValue::from(number));
        if let Err(error) = self.send(request).await {
            tracing::warn!("sessions of a token that no longer counts: {error:#}");
        }
    }

    /// Sends a request on. What was not sent over an old connection is over a new one.
    async fn send(
        &self,
        mut request: hyper::Request<Full<Bytes>>,
    ) -> anyhow::Result<(hyper::Response<Incoming>, SendRequest<Full<Bytes>>)> {
        loop {
            let kept = locked(&self.idle).pop();
            let is_kept = kept.is_some();
            let mut sender = match kept {
                Some(sender) => sender,
                None => self.open().await?,
            };
            if let Err(error) = sender.ready().await {
                anyhow::ensure!(is_kept, error);
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok((response, sender)),
                Err(mut error) => match error.take_message().filter(|_| is_kept) {
                    Some(unsent) => request = unsent,
                    None => return Err(error.into_error().into()),
                },
            }
        }
    }

    async fn open(&self) -> anyhow::Result<SendRequest<Full<Bytes>>> {
        let stream = (self.connect)().await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    fn keep(&self, sender: SendRequest<Full<Bytes>>) {
        let mut idle = locked(&self.idle);
        if idle.len() < MOST_IDLE {
            idle.push(sender);
        }
    }
}

pub(super) async fn pass(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let place = sse::take_place(&door, &permitted)?;
    let (mut head, body) = request.into_parts();
    let length = head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let mut share = door.unfinished.share(Some(&permitted));
    let body = Limited::new(body, LARGEST_MESSAGE);
    let body =
        collect(body, length.filter(|length| *length <= LARGEST_MESSAGE), &mut share, door.limits.idle_time).await;
    let body = body.map_err(|broken| broken.fault(LARGEST_MESSAGE))?;
    // A token that was revoked while the body came lets nobody in any more.
    if permitted.token.as_ref().is_some_and(|token| !door.credentials.still_counts(token)) {
        return Err(Fault::new(Kind::Forbidden, "forbidden").for_agents().into());
    }
    // The other end has nothing to do with the secret, nor with the address that it was reached by.
    for name in [AUTHORIZATION, COOKIE, ORIGIN, CONTENT_LENGTH, TRANSFER_ENCODING] {
        head.headers.remove(name);
    }
    head.headers.insert(HOST, HeaderValue::from_static("localhost"));
    let name = HeaderValue::from_str(&permitted.actor.name).unwrap_or(HeaderValue::from_static("client"));
    head.headers.insert(HeaderName::from_static(MCP_CLIENT), name);
    let number = door.gateway.number_of(&door, &permitted);
    head.headers.insert(HeaderName::from_static(MCP_TOKEN), HeaderValue::from(number));
    // Said here, the other end need not come back and ask before it makes a call that a rule allows.
    head.headers.remove(MCP_CAN_WRITE);
    if head.method == Method::POST && could_write(&door).await {
        head.headers.insert(HeaderName::from_static(MCP_CAN_WRITE), HeaderValue::from_static("1"));
    }
    head.extensions.clear();
    let sent = door.gateway.send(hyper::Request::from_parts(head, Full::new(body))).await;
    drop(share);
    let away = |error: anyhow::Error| Fault::new(Kind::StartFailed, format!("the MCP servers: {error:#}"));
    let (response, sender) = sent.map_err(away)?;
    let (head, body) = response.into_parts();
    let kept = Some((Arc::clone(&door.gateway), sender));
    let passed = PassedBody { body, kept, ended: ending(&door, Pass::of(&door, &permitted)), _place: place };
    Ok(Response::from_parts(head, Body::new(passed.keeping_what_is_read())))
}

/// Whether the journal is known to take records.
async fn could_write(door: &Door) -> bool {
    let mut asking = pin!(async { door.hub.can_write().await.unwrap_or(false) });
    match within_turns(SAID_WITHIN_TURNS, &mut asking).await {
        Some(said) => said,
        None => tokio::time::timeout(SAID_WITHIN, asking).await.unwrap_or(false),
    }
}

/// Is ready when nobody may listen any more: the token was revoked, or the gate stops.
fn ending(door: &Door, pass: Pass) -> BoxFuture<'static, ()> {
    let stop = door.stop.clone();
    Box::pin(async move {
        tokio::select! {
            () = pass.ended() => {}
            () = stop.cancelled() => {}
        }
    })
}

/// An answer on its way to the client. Once all of it is read its connection is kept for the next request: whoever writes
/// an answer of a known length looks no further than to its last byte.
struct PassedBody {
    body: Incoming,
    /// None when it was kept.
    kept: Option<(Arc<McpPassage>, SendRequest<Full<Bytes>>)>,
    ended: BoxFuture<'static, ()>,
    _place: Seat,
}

impl PassedBody {
    fn keeping_what_is_read(mut self) -> Self {
        if self.body.is_end_stream() {
            self.keep();
        }
        self
    }

    fn keep(&mut self) {
        if let Some((passage, sender)) = self.kept.take() {
            passage.keep(sender);
        }
    }
}

impl hyper::body::Body for PassedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.ended.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.keep();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
