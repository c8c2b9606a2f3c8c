//! The inbox of a session: what waits for its way to the model, and how often the session may be woken for it. Decides;
//! does nothing itself.

mod budget;

use std::collections::VecDeque;
use std::time::Instant;

use portcullis_core::EventId;
use portcullis_wire::link::EventFrame;

use budget::WakeBudget;

/// What waits for one session.
pub(crate) struct Inbox {
    waiting: VecDeque<EventFrame<'static>>,
    budget: WakeBudget,
}

impl Inbox {
    /// `wakes_per_hour` is for each sender.
    pub(crate) fn new(wakes_per_hour: usize) -> Self {
        Self { waiting: VecDeque::new(), budget: WakeBudget::new(wakes_per_hour) }
    }

    pub(crate) fn put(&mut self, event: EventFrame<'static>) {
        self.waiting.push_back(event);
    }

    /// These wait again, before all others.
    pub(crate) fn put_back(&mut self, events: Vec<EventFrame<'static>>) {
        events.into_iter().rev().for_each(|event| self.waiting.push_front(event));
    }

    /// This one waits no longer, nor what was put into its text.
    pub(crate) fn take_back(&mut self, event: EventId) {
        self.waiting.retain(|frame| frame.id != event);
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Who sent what waits, each once.
    fn senders(&self) -> Vec<String> {
        let mut senders: Vec<String> = self.waiting.iter().map(|event| event.sender.to_string()).collect();
        senders.sort_unstable();
        senders.dedup();
        senders
    }

    /// When the session may be woken for what waits; none when nothing does, or never.
    pub(crate) fn next_wake(&self, now: Instant) -> Option<Instant> {
        self.budget.earliest(&self.senders(), now).filter(|_| self.has_waiting())
    }

    /// The session is woken, for all whose events wait.
    pub(crate) fn spend_wake(&mut self, now: Instant) {
        let senders = self.senders();
        self.budget.spend(&senders, now);
    }

    /// The oldest event, which stays.
    pub(crate) fn oldest(&self) -> Option<&EventFrame<'static>> {
        self.waiting.front()
    }

    /// The oldest event, which waits no longer.
    pub(crate) fn take_next(&mut self) -> Option<EventFrame<'static>> {
        self.waiting.pop_front()
    }
}
