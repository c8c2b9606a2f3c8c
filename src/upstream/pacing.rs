//! How fast a server is read: one that says something all the time keeps nobody else waiting, and one that asks more than
//! anybody answers is not read meanwhile.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::Transport;
use tokio::sync::Notify;

use crate::locks::locked;

/// Requests of a server that have no answer yet. rmcp makes a task of each, and keeps each answer until it is written.
const MOST_OPEN: usize = 256;

/// So many messages of a server are read before others have their turn: each of theirs may be one of many that a call needs.
const AT_ONCE: u8 = 8;

/// A transport whose reader gives way to others after some messages: rmcp reads on for as long as there is something.
pub(super) struct Paced<T> {
    inner: T,
    open: OpenRequests,
    turns: ReadingTurns,
}

/// For whoever reads a server.
#[derive(Default)]
pub(super) struct ReadingTurns {
    read: u8,
}

impl ReadingTurns {
    /// Before each message. May be dropped while waiting.
    pub(super) async fn give_way(&mut self) {
        self.read += 1;
        if self.read >= AT_ONCE {
            self.read = 0;
            tokio::task::yield_now().await;
        }
    }
}

/// What the server has asked and was not answered. Changed by its reader and by whoever writes to it.
#[derive(Clone, Default)]
struct OpenRequests {
    ids: Arc<Mutex<HashSet<RequestId>>>,
    fewer: Arc<Notify>,
}

impl OpenRequests {
    fn closed(&self, id: &RequestId) {
        locked(&self.ids).remove(id);
        self.fewer.notify_one();
    }

    /// Waits until there are not too many. May be dropped while waiting.
    async fn not_too_many(&self) {
        while locked(&self.ids).len() >= MOST_OPEN {
            self.fewer.notified().await;
        }
    }

    fn note(&self, message: &ServerJsonRpcMessage) {
        match message {
            ServerJsonRpcMessage::Request(request) => drop(locked(&self.ids).insert(request.id.clone())),
            // rmcp answers no request that was taken back.
            ServerJsonRpcMessage::Notification(told) => {
                if let ServerNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.closed(id);
                }
            }
            _ => {}
        }
    }
}

impl<T> Paced<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, open: OpenRequests::default(), turns: ReadingTurns::default() }
    }
}

fn answered(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Response(response) => Some(response.id.clone()),
        ClientJsonRpcMessage::Error(error) => error.id.clone(),
        _ => None,
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Paced<T> {
    type Error = T::Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let answered = answered(&message);
        let (sending, open) = (self.inner.send(message), self.open.clone());
        async move {
            let sent = sending.await;
            if let Some(id) = answered {
                open.closed(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.turns.give_way().await;
        self.open.not_too_many().await;
        let message = self.inner.receive().await?;
        self.open.note(&message);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use serde_json::{Value, json};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A server that always has something to say.
    struct Talker<F>(F, usize);

    impl<F: Fn(usize) -> Value + Send> Transport<RoleClient> for Talker<F> {
        type Error = std::io::Error;
        fn send(
            &mut self,
            _: ClientJsonRpcMessage,
        ) -> impl Future<Output = Result<(), std::io::Error>> + Send + 'static {
            std::future::ready(Ok(()))
        }
        async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
            self.1 += 1;
            let mut message = (self.0)(self.1);
            message["jsonrpc"] = "2.0".into();
            serde_json::from_value(message).ok()
        }
        async fn close(&mut self) -> Result<(), std::io::Error> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn who_reads_a_server_that_never_stops_gives_way_to_others() {
        let log = |_| json!({"method": "notifications/message", "params": {"level": "info", "data": "x"}});
        let read = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&read);
        let reading = tokio::spawn(async move {
            let mut paced = Paced::new(Talker(log, 0));
            while paced.receive().await.is_some() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        // On one thread this comes to its turn only because the other gives way.
        tokio::task::yield_now().await;
        assert!((1..100).contains(&read.load(Ordering::Relaxed)), "{read:?}");
        reading.abort();
    }

    #[tokio::test]
    async fn a_server_that_asks_more_than_is_answered_is_read_again_when_something_is() {
        let question = |number| json!({"id": number, "method": "ping"});
        let mut paced = Paced::new(Talker(question, 0));
        for _ in 0..MOST_OPEN {
            paced.receive().await.unwrap();
        }
        assert!(paced.receive().now_or_never().is_none());
        let answer = json!({"jsonrpc": "2.0", "id": 7, "result": {}});
        paced.send(serde_json::from_value(answer).unwrap()).await.unwrap();
        assert!(paced.receive().await.is_some());
        assert!(paced.receive().now_or_never().is_none());
        let taken_back = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 8}});
        paced.open.note(&serde_json::from_value(taken_back).unwrap());
        assert!(paced.receive().await.is_some());
    }
}
