//! What servers say by themselves, on its way to the client that it is for.

use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use portcullis_core::CallOutcome;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken, ServerNotification, ServerRequest};
use rmcp::service::{Peer, RequestContext, ServiceError, SubscriptionContext};
use serde_json::{Value, json};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::changes::{PacedChanges, ServerChange, TellOutcome};
use super::session::ClientSession;
use crate::fixed;
use crate::locks::locked;
use crate::upstream::{FromServer, ListKind, RefusedRequest, ServerSaid};

const RESOURCE_CHANGED: &str = "notifications/resources/updated";
/// What a server may say before a client has taken it.
pub(super) const MOST_SAID: usize = 256;
/// A client that gave a token hears of a call so often, also while a person is asked: many give up otherwise.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// The first comes earlier: people shall see why a call does not go on.
const FIRST_BEAT: Duration = Duration::from_secs(2);
/// So small that whatever a server reports is further.
const HEARTBEAT_STEP: f64 = 1e-6;

/// The calls that a client has under way. What a server says meanwhile belongs to the newest with it.
#[derive(Clone)]
pub(super) struct ClientCalls {
    under_way: Arc<Mutex<Vec<CallUnderWay>>>,
    /// What has changed, for those that listen to that alone.
    changes: broadcast::Sender<ListKind>,
    /// What it was told of a moment ago.
    paced: PacedChanges,
    /// Whose journal has what servers ask. Set once, when the client has said who it is.
    session: Arc<OnceLock<Weak<ClientSession>>>,
}

impl Default for ClientCalls {
    fn default() -> Self {
        let changes = broadcast::Sender::new(MOST_SAID);
        Self { under_way: Arc::default(), changes, paced: PacedChanges::default(), session: Arc::default() }
    }
}

struct CallUnderWay {
    server: String,
    said: mpsc::Sender<ServerSaid>,
}

impl ClientCalls {
    /// Takes what a server says. A call that is under way tells its part by itself, so that it comes before the answer to
    /// that very request; what belongs to no call goes to `others`. Of what nobody takes, the rest is dropped.
    pub(super) fn take(&self, FromServer { server, said }: FromServer, others: &mpsc::Sender<ServerSaid>) {
        match self.recorded(&server, said) {
            ServerSaid::Changed(kind) => {
                let (calls, others) = (self.clone(), others.clone());
                self.paced.tell(ServerChange::List(kind), move || {
                    calls.told_of_change(kind);
                    told(&others.try_send(ServerSaid::Changed(kind)))
                });
            }
            ServerSaid::Notification { method, params } if method == RESOURCE_CHANGED => {
                let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default().to_owned();
                let (calls, others) = (self.clone(), others.clone());
                self.paced.tell(ServerChange::Resource { server: server.clone(), uri }, move || {
                    let said = ServerSaid::Notification { method: method.clone(), params: params.clone() };
                    told(&calls.hand_on(&server, said, &others))
                });
            }
            said => {
                if self.hand_on(&server, said, others).is_err() {
                    tracing::debug!("the client does not take what a server says");
                }
            }
        }
    }

    fn hand_on(
        &self,
        server: &str,
        said: ServerSaid,
        others: &mpsc::Sender<ServerSaid>,
    ) -> Result<(), TrySendError<ServerSaid>> {
        let said = match self.newest(server) {
            Some(call) => match call.try_send(said) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(said) | TrySendError::Closed(said)) => said,
            },
            None => said,
        };
        others.try_send(said)
    }

    pub(super) fn recorded_by(&self, session: &Arc<ClientSession>) {
        self.session.get_or_init(|| Arc::downgrade(session));
    }

    /// A question to the client's person or model goes into the journal with its answer.
    fn recorded(&self, server: &str, said: ServerSaid) -> ServerSaid {
        let ServerSaid::Request { method: method @ ("elicitation/create" | "sampling/createMessage"), params, answer } =
            said
        else {
            return said;
        };
        let (ours, answered) = oneshot::channel::<Result<Value, RefusedRequest>>();
        let (session, server, asked) = (self.session.get().cloned(), server.to_owned(), params.clone());
        tokio::spawn(async move {
            let Ok(answered) = answered.await else { return };
            let outcome = match &answered {
                // A person may decline.
                Ok(result) if result.get("action").is_none_or(|action| action == "accept") => CallOutcome::Ran,
                Ok(_) => CallOutcome::Denied,
                Err(_) => CallOutcome::Failed,
            };
            if let Some(session) = session.and_then(|session| session.upgrade()) {
                session.noted((method, &server), &asked, outcome, "client");
            }
            drop(answer.send(answered));
        });
        ServerSaid::Request { method, params, answer: ours }
    }

    /// Tells those that listen to a stream of changes. There may be none.
    pub(super) fn told_of_change(&self, kind: ListKind) {
        self.changes.send(kind).ok();
    }

    /// Tells one that listens to a stream of changes, until it leaves (2026-07-28).
    pub(super) async fn tell_of_changes(&self, subscription: &SubscriptionContext) {
        let mut changes = self.changes.subscribe();
        loop {
            let kind = tokio::select! {
                change = changes.recv() => match change {
                    Ok(kind) => kind,
                    Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                () = subscription.cancelled() => return,
            };
            let method = match kind {
                ListKind::Tools => "notifications/tools/list_changed",
                ListKind::Resources | ListKind::Templates => "notifications/resources/list_changed",
                ListKind::Prompts => "notifications/prompts/list_changed",
            };
            if let Ok(notification) = serde_json::from_value(json!({"method": method})) {
                // What it did not ask for is not sent.
                drop(subscription.sink().send(notification).await);
            }
        }
    }

    fn newest(&self, server: &str) -> Option<mpsc::Sender<ServerSaid>> {
        locked(&self.under_way).iter().rfind(|call| call.server == server).map(|call| call.said.clone())
    }

    /// Waits for the end of a request to `server`. Meanwhile the client is told what the server says, and how it goes on.
    pub(super) async fn during<T>(
        &self,
        server: &str,
        context: &RequestContext<RoleServer>,
        mut progress: mpsc::Receiver<Value>,
        request: impl Future<Output = T>,
    ) -> T {
        let (said, mut hears) = mpsc::channel(MOST_SAID);
        let _entry = self.enter(server, said);
        let token = context.meta.get_progress_token();
        let (mut telling, mut beats) = (FuturesUnordered::new(), 0.0);
        let every = fixed::wait("MCP_HEARTBEAT", HEARTBEAT);
        let mut heartbeat = tokio::time::interval_at(tokio::time::Instant::now() + every.min(FIRST_BEAT), every);
        let mut request = std::pin::pin!(request);
        let end = loop {
            tokio::select! {
                // The end before all that is still to be told: a server that never stops talking does not hide it.
                biased;
                end = &mut request => break end,
                Some(reported) = progress.recv() => report(context, token.as_ref(), reported).await,
                Some(said) = hears.recv() => match said {
                    // An answer may take long, and nothing waits for it here.
                    question @ ServerSaid::Request { .. } => telling.push(tell(&context.peer, question)),
                    said => tell(&context.peer, said).await,
                },
                Some(()) = telling.next() => {}
                _ = heartbeat.tick(), if token.is_some() => {
                    beats += HEARTBEAT_STEP;
                    let waits = json!({"progress": beats, "message": "waiting for a person (portcullis ask list), or for the server"});
                    report(context, token.as_ref(), waits).await;
                }
            }
        };
        // What the server said before its result is told before it; what it says meanwhile is of no call any more.
        let (reports, words) = (progress.len(), hears.len());
        for reported in std::iter::from_fn(|| progress.try_recv().ok()).take(reports) {
            report(context, token.as_ref(), reported).await;
        }
        for said in std::iter::from_fn(|| hears.try_recv().ok()).take(words) {
            if !matches!(said, ServerSaid::Request { .. }) {
                tell(&context.peer, said).await;
            }
        }
        end
    }

    fn enter(&self, server: &str, said: mpsc::Sender<ServerSaid>) -> Entry {
        locked(&self.under_way).push(CallUnderWay { server: server.to_owned(), said: said.clone() });
        Entry { calls: self.clone(), said }
    }
}

/// Tells the client what servers say outside of its calls, for as long as they do.
pub(super) async fn relay(peer: Peer<RoleServer>, mut of_no_call: mpsc::Receiver<ServerSaid>) {
    while let Some(said) = of_no_call.recv().await {
        match said {
            question @ ServerSaid::Request { .. } => {
                let peer = peer.clone();
                tokio::spawn(async move { tell(&peer, question).await });
            }
            said => tell(&peer, said).await,
        }
    }
}

/// The place of one call, until it is dropped.
struct Entry {
    calls: ClientCalls,
    said: mpsc::Sender<ServerSaid>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        locked(&self.calls.under_way).retain(|call| !call.said.same_channel(&self.said));
    }
}

/// Under the client's own token.
async fn report(context: &RequestContext<RoleServer>, token: Option<&ProgressToken>, mut reported: Value) {
    let Some(token) = token else { return };
    reported["progressToken"] = json!(token);
    if let Ok(params) = serde_json::from_value::<ProgressNotificationParam>(reported) {
        drop(context.peer.notify_progress(params).await);
    }
}

async fn tell(peer: &Peer<RoleServer>, said: ServerSaid) {
    match said {
        ServerSaid::Changed(kind) => drop(changed(peer, kind).await),
        ServerSaid::Notification { method, params } => {
            let notification = match params {
                Value::Null => json!({"method": method}),
                params => json!({"method": method, "params": params}),
            };
            if let Ok(notification) = serde_json::from_value::<ServerNotification>(notification) {
                drop(peer.send_notification(notification).await);
            }
        }
        ServerSaid::Request { method, params, answer } => {
            let answered = match serde_json::from_value::<ServerRequest>(json!({"method": method, "params": params})) {
                Ok(request) => match peer.send_request(request).await {
                    Ok(result) => Ok(serde_json::to_value(result).unwrap_or_default()),
                    Err(ServiceError::McpError(error)) => {
                        Err(RefusedRequest { code: error.code.0, message: error.message.to_string() })
                    }
                    Err(error) => Err(refused(error.to_string())),
                },
                Err(error) => Err(refused(error.to_string())),
            };
            drop(answer.send(answered));
        }
    }
}

fn told(sent: &Result<(), TrySendError<ServerSaid>>) -> TellOutcome {
    match sent {
        Ok(()) => TellOutcome::Taken,
        Err(TrySendError::Full(_)) => TellOutcome::Later,
        Err(TrySendError::Closed(_)) => TellOutcome::Never,
    }
}

fn refused(message: String) -> RefusedRequest {
    const INTERNAL: i32 = -32603;
    RefusedRequest { code: INTERNAL, message }
}

pub(super) async fn changed(peer: &Peer<RoleServer>, kind: ListKind) -> Result<(), ServiceError> {
    match kind {
        ListKind::Tools => peer.notify_tool_list_changed().await,
        ListKind::Resources | ListKind::Templates => peer.notify_resource_list_changed().await,
        ListKind::Prompts => peer.notify_prompt_list_changed().await,
    }
}
