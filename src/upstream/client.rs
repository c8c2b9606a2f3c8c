//! A client behind us: what servers tell it, what they ask of it, and what it asks of them.

use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::lists::ListKind;

/// Whoever uses the connections, as servers see it. Without one they are offered nothing but to be listened to.
pub(crate) struct ClientBehind {
    /// What it can do, in the words of the protocol.
    pub(crate) capabilities: Value,
    /// Takes what servers say, in their order, and never waits: it is called before what came later is read. What it does
    /// not take is dropped.
    pub(crate) said: Box<dyn Fn(FromServer) + Send + Sync>,
}

/// What a server says by itself.
#[derive(Debug)]
pub(crate) struct FromServer {
    pub(crate) server: String,
    pub(crate) said: ServerSaid,
}

#[derive(Debug)]
pub(crate) enum ServerSaid {
    Changed(ListKind),
    Notification { method: String, params: Value },
    Request { method: &'static str, params: Value, answer: oneshot::Sender<Result<Value, RefusedRequest>> },
}

/// The client's own error.
#[derive(Debug)]
pub(crate) struct RefusedRequest {
    pub(crate) code: i32,
    pub(crate) message: String,
}

/// One request of the client to a server.
pub(crate) struct PassedRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Map<String, Value>,
    /// Where what the server says of its progress goes.
    pub(crate) progress: Option<mpsc::Sender<Value>>,
    /// The client no longer wants it: the server is told.
    pub(crate) cancelled: Option<&'a CancellationToken>,
    /// The client can be asked for more by the result (2026-07-28).
    pub(crate) takes_input_required: bool,
    /// What the client says of itself in just this request, for servers of 2026-07-28.
    pub(crate) of_client: Map<String, Value>,
    /// The hash of the server's configuration that this was allowed for: it goes to no other.
    pub(crate) configuration: Option<&'a str>,
}

impl<'a> PassedRequest<'a> {
    /// A request that nobody watches.
    pub(crate) fn plain(method: &'a str, params: Map<String, Value>) -> Self {
        let of_client = Map::new();
        Self {
            method,
            params,
            progress: None,
            cancelled: None,
            takes_input_required: false,
            of_client,
            configuration: None,
        }
    }
}
