//! The question which revision a server speaks, with a limit of our own: old servers may leave it unanswered for ever.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::Transport;
use tokio::time::Instant;

use crate::fixed;

/// How long a server on standard streams, on a WebSocket or on server-sent events has to answer `server/discover`.
const PROBE: Duration = Duration::from_secs(3);

/// The same over HTTP, where an answer is a matter of one request.
const HTTP_PROBE: Duration = Duration::from_millis(1300);

pub(super) fn http_probe() -> Duration {
    fixed::wait("MCP_PROBE", HTTP_PROBE)
}

/// A transport that answers `server/discover` itself, as a server would that does not know it, when nobody does in time, or
/// with something else than an answer to it.
pub(super) struct Probed<T> {
    inner: T,
    /// Nobody knows yet which revision the server speaks.
    is_probing: bool,
    /// The question that is open, and until when.
    open: Option<(RequestId, Instant)>,
    /// The question that was given up: what comes for it later is not passed on.
    given_up: Option<RequestId>,
    /// Set when nobody answered in time.
    was_silent: Arc<AtomicBool>,
}

impl<T> Probed<T> {
    pub(super) fn new(inner: T, is_probing: bool, was_silent: Arc<AtomicBool>) -> Self {
        Self { inner, is_probing, open: None, given_up: None, was_silent }
    }
}

/// The id of the question, where a message is that question.
pub(super) fn asked(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::DiscoverRequest(_)) => {
            Some(&request.id)
        }
        _ => None,
    }
}

/// What an old server says to a request that it does not know.
pub(super) fn unknown_method(id: RequestId) -> ServerJsonRpcMessage {
    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, Cow::Borrowed("server/discover was not answered"), None);
    ServerJsonRpcMessage::error(error, Some(id))
}

fn answered(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

/// Some servers answer every request, with nothing or with what they had at hand.
fn answers_something_else(message: &ServerJsonRpcMessage) -> bool {
    match message {
        ServerJsonRpcMessage::Response(response) => !matches!(response.result, ServerResult::DiscoverResult(_)),
        _ => false,
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Probed<T> {
    type Error = T::Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        if let Some(id) = asked(&message).filter(|_| self.is_probing) {
            self.open = Some((id.clone(), Instant::now() + fixed::wait("MCP_PROBE", PROBE)));
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = match &self.open {
                None => self.inner.receive().await?,
                Some((id, until)) => match tokio::time::timeout_at(*until, self.inner.receive()).await {
                    Ok(message) => message?,
                    Err(_) => {
                        let id = id.clone();
                        self.open = None;
                        self.given_up = Some(id.clone());
                        self.was_silent.store(true, Ordering::Release);
                        return Some(unknown_method(id));
                    }
                },
            };
            let answers = answered(&message);
            if answers.is_some() && answers == self.given_up.as_ref() {
                continue;
            }
            if let Some((id, _)) = self.open.take_if(|(id, _)| answers == Some(&*id))
                && answers_something_else(&message)
            {
                return Some(unknown_method(id));
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}
