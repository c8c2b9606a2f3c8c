//! What channel servers say by themselves: events for a session, and verdicts on its prompts.

use portcullis_wire::channel::{EVENT_METHOD, VERDICT_METHOD};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc;

use super::handler::ClientSide;

/// What a channel server says, in its order.
#[derive(Debug)]
pub(crate) struct FromChannel {
    pub(crate) server: String,
    pub(crate) said: ChannelSaid,
}

#[derive(Debug)]
pub(crate) enum ChannelSaid {
    Event(Value),
    Verdict(Value),
    /// It has other tools now.
    ToolsChanged,
    /// Its connection has ended, and nothing more comes by it.
    Gone,
}

/// A transport that takes in what a server tells, message by message, before rmcp is given it. What a channel server says for
/// a session is taken out. While whoever hears that is behind, the server is not read.
pub(super) struct Tapped<T> {
    inner: T,
    side: ClientSide,
    tap: Option<ChannelTap>,
    /// Read, and not yet handed on: what waits for a place here may be dropped.
    waiting: Option<ChannelSaid>,
    /// The connection has ended, which is said once.
    has_ended: bool,
}

#[derive(Clone)]
pub(super) struct ChannelTap {
    pub(super) server: String,
    pub(super) hears: mpsc::Sender<FromChannel>,
}

impl<T> Tapped<T> {
    pub(super) fn new(inner: T, side: ClientSide) -> Self {
        Self { inner, tap: side.tap(), side, waiting: None, has_ended: false }
    }

    /// Hands on what was read. May be dropped while waiting.
    async fn hand_on(&mut self) {
        let Some(tap) = &self.tap else { return };
        if self.waiting.is_some()
            && let Ok(place) = tap.hears.reserve().await
            && let Some(said) = self.waiting.take()
        {
            place.send(FromChannel { server: tap.server.clone(), said });
        }
        // Nobody hears it any more.
        self.waiting = None;
    }
}

fn said_for_session(message: &mut ServerJsonRpcMessage) -> Option<ChannelSaid> {
    let ServerJsonRpcMessage::Notification(notification) = message else { return None };
    let ServerNotification::CustomNotification(custom) = &mut notification.notification else { return None };
    let mut params = || custom.params.take().unwrap_or_default();
    match custom.method.as_str() {
        EVENT_METHOD => Some(ChannelSaid::Event(params())),
        VERDICT_METHOD => Some(ChannelSaid::Verdict(params())),
        _ => None,
    }
}

fn has_changed_tools(message: &ServerJsonRpcMessage) -> bool {
    matches!(message, ServerJsonRpcMessage::Notification(told)
        if matches!(told.notification, ServerNotification::ToolListChangedNotification(_)))
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Tapped<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        mut message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.side.sends(&mut message);
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            self.hand_on().await;
            if self.has_ended {
                return None;
            }
            let Some(mut message) = self.inner.receive().await else {
                self.has_ended = true;
                self.waiting = Some(ChannelSaid::Gone);
                continue;
            };
            if self.tap.is_some() {
                if let Some(said) = said_for_session(&mut message) {
                    self.waiting = Some(said);
                    continue;
                }
                self.waiting = has_changed_tools(&message).then_some(ChannelSaid::ToolsChanged);
            }
            self.side.heard(&message);
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::service::TxJsonRpcMessage;
    use serde_json::json;
    use std::collections::VecDeque;
    use std::time::Duration;

    struct Script(VecDeque<ServerJsonRpcMessage>);

    impl Transport<RoleClient> for Script {
        type Error = std::io::Error;
        fn send(
            &mut self,
            _: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = Result<(), std::io::Error>> + Send + 'static {
            std::future::ready(Ok(()))
        }
        async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
            self.0.pop_front()
        }
        async fn close(&mut self) -> Result<(), std::io::Error> {
            Ok(())
        }
    }

    fn notification(method: &str, number: usize) -> ServerJsonRpcMessage {
        let params = json!({"content": number.to_string()});
        serde_json::from_value(json!({"jsonrpc": "2.0", "method": method, "params": params})).unwrap()
    }

    #[tokio::test]
    async fn nothing_is_lost_and_everything_keeps_its_order_while_nobody_has_time_to_hear() {
        let (hears, mut heard) = mpsc::channel(1);
        let events = (0..5).map(|number| notification(EVENT_METHOD, number));
        let others = [notification("notifications/x", 9), notification("notifications/tools/list_changed", 9)];
        let script = events.chain(others).collect();
        let mut tapped = Tapped::new(Script(script), ClientSide::new("s", None).heard_by(Some(hears)));
        let mut numbers = vec![];
        loop {
            // Whoever reads is stopped again and again, as rmcp does whenever something is to be sent.
            if let Ok(message) = tokio::time::timeout(Duration::from_millis(1), tapped.receive()).await {
                let Some(message) = message else { break };
                assert!(matches!(message, ServerJsonRpcMessage::Notification(_)), "others are passed on");
            } else if let Ok(FromChannel { said: ChannelSaid::Event(params), .. }) = heard.try_recv() {
                numbers.push(params["content"].as_str().unwrap().to_owned());
            }
        }
        assert_eq!(numbers, ["0", "1", "2", "3", "4"]);
        assert!(matches!(heard.recv().await, Some(FromChannel { said: ChannelSaid::Gone, .. })));
    }

    #[tokio::test]
    async fn a_channel_whose_tools_changed_says_so_in_its_place() {
        let (hears, mut heard) = mpsc::channel(8);
        let methods = [EVENT_METHOD, "notifications/tools/list_changed", EVENT_METHOD];
        let script = methods.into_iter().enumerate().map(|(number, method)| notification(method, number)).collect();
        let side = ClientSide::new("s", None).heard_by(Some(hears));
        let mut tapped = Tapped::new(Script(script), side.clone());
        assert!(tapped.receive().await.is_some(), "rmcp is given it as well");
        assert!(tapped.receive().await.is_none());
        let mut order = vec![];
        while let Ok(FromChannel { said, .. }) = heard.try_recv() {
            order.push(matches!(said, ChannelSaid::ToolsChanged));
        }
        assert_eq!(order, [false, true, false, false]);
        assert_eq!(side.changes(crate::upstream::ListKind::Tools), 1, "the list is read anew");
    }
}
