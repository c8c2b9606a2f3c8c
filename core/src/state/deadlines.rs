//! Deadlines of sessions, events and asks.

use super::{Queue, State, only};
use crate::ask::{Ask, AskLife, Source};
use crate::decide::joins::{JOIN_WITHIN, may_be_one};
use crate::ids::{AskId, EventId, Moment};
use crate::session::{Presence, Session};

impl State {
    /// The next moment at which something is due.
    pub fn next_deadline(&self) -> Option<Moment> {
        let sessions = self.sessions().filter_map(|session| self.session_deadline(session));
        let events = self.queues.values().filter_map(|queue| self.oldest_expiry(queue));
        let asks = self.open_asks().filter_map(|ask| self.ask_deadline(ask));
        let pairs = self.pairs().map(|(_, _, due)| due);
        let confirmations = self.confirmations().map(|(_, due)| due);
        sessions.chain(events).chain(asks).chain(pairs).chain(confirmations).min()
    }

    /// Until when an ask can be answered.
    pub fn ask_deadline(&self, ask: &Ask) -> Option<Moment> {
        let due = ask.at.plus(ask.details.timeout?.milliseconds);
        Some(if ask.at < self.opened { due.max(self.opened.plus(self.limits.restart_grace)) } else { due })
    }

    /// Verdicts whose source has yet to tell what came of them, each with the moment by which it should have.
    pub(crate) fn confirmations(&self) -> impl Iterator<Item = (AskId, Moment)> {
        self.awaiting.iter().filter_map(|id| {
            let (ask, AskLife::Answered { verdict, carried, .. }) = self.asks.get(id)? else { return None };
            // Nobody is left who could tell, or be told again.
            self.session(ask.session).filter(|session| session.is_present())?;
            let due = ask.confirm_by(verdict, *carried)?;
            let grace = self.opened.plus(self.limits.restart_grace);
            Some((*id, if verdict.at < self.opened { due.max(grace) } else { due }))
        })
    }

    /// Pairs of open asks that are surely one: of each kind there is just one that it could be. With the moment from
    /// which on no other can come.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (AskId, AskId, Moment)> {
        let previews = self.open_asks().filter(|ask| ask.source == Source::Channel);
        previews.filter_map(move |preview| {
            // Most have none. Those that were settled may be many.
            self.open_asks().find(|whole| may_be_one(preview, whole))?;
            let whole = only(self.unpaired(preview.at).filter(|whole| may_be_one(preview, whole)))?;
            only(self.unpaired(whole.at).filter(|other| may_be_one(other, whole)))?;
            let is_open = self.open_asks.contains(&whole.id);
            is_open.then(|| (preview.id, whole.id, preview.at.max(whole.at).plus(JOIN_WITHIN)))
        })
    }

    /// Asks that were joined with no other: the open ones, and those settled so late that one of this time may be theirs.
    /// What is left when the others have been answered is not one prompt for that.
    fn unpaired(&self, at: Moment) -> impl Iterator<Item = &Ask> {
        let settled = self.settled_asks.iter().rev().map_while(move |id| {
            let (ask, life) = self.asks.get(id)?;
            (life.settled_at()?.plus(JOIN_WITHIN) >= at).then_some(ask)
        });
        // The code of a preview that was joined is that of the whole.
        let is_joined = |ask: &&Ask| self.joined.contains_key(&ask.id) || self.codes.get(&ask.code) != Some(&ask.id);
        self.open_asks().chain(settled).filter(move |ask| !is_joined(ask))
    }

    pub(crate) fn session_deadline(&self, session: &Session) -> Option<Moment> {
        match session.presence {
            Presence::Attached | Presence::Ended { .. } => None,
            Presence::Expected { since } => Some(since.plus(self.limits.restart_grace)),
            Presence::Lost { since } => Some(since.plus(self.limits.lost_grace)),
        }
    }

    fn oldest_expiry(&self, queue: &Queue) -> Option<Moment> {
        let oldest = self.events.get(queue.events.values().next()?)?;
        Some(oldest.queued.plus(self.limits.event_expiry))
    }

    /// Waiting events whose time is over, a bounded number at a time.
    pub(crate) fn overdue_events(&self, now: Moment) -> Vec<EventId> {
        let waiting = self.queues.values().flat_map(|queue| queue.events.values());
        let overdue = |id: &&EventId| {
            self.events.get(id).is_some_and(|tracked| now.since(tracked.queued) >= self.limits.event_expiry)
        };
        waiting.filter(overdue).take(256).copied().collect()
    }
}
