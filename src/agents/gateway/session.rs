//! One client of the gateway: its session at the gate, and the gatekeeper of its calls.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use portcullis_core::{Order, OrderOutcome, Scope, Source};

use super::catalog::ListedTool;
use super::late::LateAnswers;
use super::{AlwaysAllowed, AttachedClient};
use crate::locks::locked;
use crate::session::gatekeeper::Gatekeeper;
use crate::session::link::{Deliveries, Delivery, SessionHandle};

pub(super) struct ClientSession {
    handle: SessionHandle,
    pub(super) gatekeeper: Gatekeeper,
    always: AlwaysAllowed,
    /// What a person allowed for this session: tools, each as it was described then. Changed by verdicts.
    for_session: Mutex<HashSet<(String, Arc<str>)>>,
    pub(super) late: LateAnswers,
}

impl ClientSession {
    /// Listens to the gate for as long as the session lives.
    pub(super) fn start(attached: AttachedClient) -> Arc<Self> {
        let AttachedClient { handle, deliveries, judge, settings, always } = attached;
        let gatekeeper = Gatekeeper::new(handle.clone(), judge, settings, None);
        let session =
            Arc::new(Self { handle, gatekeeper, always, for_session: Mutex::default(), late: LateAnswers::default() });
        tokio::spawn(Arc::clone(&session).listen(deliveries));
        session
    }

    pub(super) fn handle(&self) -> SessionHandle {
        self.handle.clone()
    }

    /// For how long a person allowed this tool, as it is described now.
    pub(super) fn remembered(&self, tool: &ListedTool) -> Option<&'static str> {
        let identity = tool.identity();
        if locked(&self.for_session).contains(&(tool.full.clone(), Arc::clone(identity))) {
            return Some("allowed for the session");
        }
        (self.always.holds)(&tool.full, identity).then_some("always allowed")
    }

    /// A person allowed this tool with this scope, as it is described now.
    pub(super) fn remember(&self, tool: &ListedTool, scope: Scope) {
        let identity = tool.identity();
        match scope {
            Scope::Once => {}
            Scope::Session => drop(locked(&self.for_session).insert((tool.full.clone(), Arc::clone(identity)))),
            Scope::Always => {
                if let Err(error) = (self.always.add)(&tool.full, identity) {
                    tracing::warn!("{} is asked for again: {error:#}", tool.full);
                }
            }
        }
    }

    async fn listen(self: Arc<Self>, mut deliveries: Deliveries) {
        while let Some(delivery) = deliveries.next().await {
            match delivery {
                Delivery::Attached => self.gatekeeper.attached(),
                Delivery::Verdict { ask, source: Source::Gateway, ruling, .. } => {
                    self.gatekeeper.verdict(ask, *ruling);
                }
                Delivery::Closed { ask, source: Source::Gateway } => self.gatekeeper.closed(ask),
                Delivery::Order { id, order } => {
                    let outcome = self.ordered(order);
                    self.handle.ordered(id, outcome).await;
                }
                Delivery::Outside { sender } => self.gatekeeper.outside().restore(sender),
                Delivery::Event(frame) => tracing::warn!(sender = %frame.sender, "an event came, and nobody reads it"),
                Delivery::Line(line) => tracing::warn!(id = %line.id, "an event came, and nobody reads it"),
                Delivery::Verdict { .. } | Delivery::Closed { .. } | Delivery::TakeBack { .. } => {}
            }
        }
    }

    fn ordered(&self, order: Order) -> OrderOutcome {
        match order {
            Order::Stop { by } => self.gatekeeper.stop(by),
            Order::Resume => self.gatekeeper.resume(),
            other => {
                let why = format!("a client of the gateway cannot be told to {}", other.name());
                return OrderOutcome::Failed { why };
            }
        }
        OrderOutcome::Done
    }
}
