//! What was decided is done, once the journal has it: sessions, watchers and connectors are told.

use std::sync::Arc;

use portcullis_core::{Answer, Effect, Input, Topic};
use portcullis_wire::link::GateMessage;

use super::super::ReplySender;
use super::super::batch::Pending;
use super::super::roster::Roster;
use super::super::watchers::Published;
use super::HubLoop;

impl HubLoop {
    /// Does what was decided, but for the answer, which it returns.
    pub(super) fn perform(&mut self, pending: Pending) -> Option<(ReplySender, Answer)> {
        match pending.input.as_deref() {
            Some(Input::Wrote { session, events, .. }) => self.outlets.confirmed(*session, events),
            // What is put back, or moves, keeps its place: it may stand before what was already sent.
            Some(Input::Ended { .. } | Input::Attached { .. } | Input::Retry { .. }) => self.outlets.look_again(),
            _ => {}
        }
        if let Some((session, mut outlet)) = pending.outlet {
            outlet.hold_together(&self.state, &self.coalesce);
            self.outlets.open(session, outlet);
        }
        let mut answer = Answer::Done;
        for effect in pending.effects {
            match effect {
                Effect::Answer(decided) => answer = decided,
                Effect::Wake(session) => self.outlets.wake(session),
                Effect::Carry { session, ask, origin, source, ruling, at } => {
                    self.outlets.carry(session, GateMessage::Verdict { ask, origin, source, ruling, at: Some(at.0) });
                }
                Effect::Close { session, ask, origin, source } => {
                    self.outlets.carry(session, GateMessage::Closed { ask, origin, source });
                }
                Effect::Order { session, id, order } => {
                    self.outlets.carry(session, GateMessage::Order { id, order });
                }
                Effect::RaiseGuard { session, sender } => {
                    self.outlets.carry(session, GateMessage::Outside { sender });
                }
                Effect::TakeBack { session, event } => self.outlets.take_back(session, event),
                Effect::Publish(topic) => self.publish(topic, pending.revision),
                Effect::Then(_) => {}
            }
        }
        pending.reply.map(|reply| (reply, answer))
    }

    /// Tells those who watch, each in their way, that something has changed.
    fn publish(&mut self, topic: Topic, revision: Option<u64>) {
        if topic == Topic::People {
            self.tell_roster.send_replace(Arc::new(Roster::of(&self.state)));
        }
        let goes_out = matches!(topic, Topic::Ask(_) | Topic::Reply(_) | Topic::People);
        if goes_out && self.outgoing.receiver_count() > 0 {
            self.outgoing.send_replace(());
        }
        if !self.watchers.is_empty()
            && let Some(notice) = self.state.notice(topic)
        {
            let revision = revision.unwrap_or(self.state.revision());
            self.watchers.publish(&Published::new(revision, notice));
        }
    }
}
