//! Asks that are settled, joined and, in time, forgotten.

use super::State;
use crate::ask::{AskLife, ReportedOutcome, ToolCall, UnaskedCall};
use crate::ids::{AskId, Moment, SessionId};
use crate::session::Session;
use crate::verdict::Verdict;

/// Calls that ran unasked are remembered up to this; the log has all.
const UNASKED_CALLS: usize = 32;

impl State {
    /// The channel's ask is the hook's from now on, and so is its code.
    pub(super) fn join(&mut self, preview: AskId, whole: AskId, at: Moment) {
        let Some((ask, _)) = self.asks.get(&preview) else { return };
        let code = ask.code;
        let Some((into, _)) = self.asks.get(&whole) else { return };
        let why = format!("shown whole as prompt {}", into.code);
        self.codes.insert(code, whole);
        self.joined.insert(whole, code);
        self.settle_ask(preview, AskLife::Withdrawn { at, why });
    }

    pub(super) fn settle_ask(&mut self, id: AskId, life: AskLife) {
        let Some((ask, current)) = self.asks.get_mut(&id) else { return };
        if !current.is_open() {
            return;
        }
        if matches!(life, AskLife::Answered { .. }) && ask.details.confirm_within.is_some() {
            self.awaiting.insert(id);
        }
        let is_answered = matches!(life, AskLife::Answered { .. });
        *current = life;
        let bytes = ask.bytes();
        if let Some(records) = self.ask_records.get_mut(&id) {
            records.votes.clear();
        }
        if is_answered {
            self.note_answer(id);
        }
        self.open_asks.remove(&id);
        self.settled_asks.push_back(id);
        self.settled_texts.push_back((id, bytes));
        self.settled_bytes += bytes;
        self.forget_asks();
        self.leave_texts_to_the_journal();
    }

    /// Someone answers an ask: the first, or again where the answer before has reached nobody.
    pub(super) fn answer_ask(&mut self, id: AskId, verdict: Verdict) {
        let session = self.asks.get(&id).and_then(|(ask, _)| self.session(ask.session));
        let sent = session.is_some_and(Session::is_attached);
        let verdict = Box::new(verdict);
        let agreed = match self.asks.get(&id).map(|(_, life)| life) {
            Some(AskLife::Open { votes }) => votes.iter().map(|vote| vote.by.clone()).collect(),
            _ => vec![],
        };
        let life = AskLife::Answered { verdict, agreed, sent, carried: None, outcome: None, unconfirmed: None };
        match self.asks.get_mut(&id) {
            Some((_, current)) if current.is_unconfirmed() => *current = life,
            _ => return self.settle_ask(id, life),
        }
        self.note_answer(id);
        self.unconfirmed.remove(&id);
        self.awaiting.insert(id);
    }

    /// The record that is being applied has the verdict on the ask.
    fn note_answer(&mut self, id: AskId) {
        if let Some(records) = self.ask_records.get_mut(&id) {
            records.answered = Some(self.revision);
        }
    }

    pub(super) fn called(&mut self, session: SessionId, call: &ToolCall, at: Moment) {
        if !call.unasked {
            return;
        }
        let label = self.label_of(Some(session));
        self.unasked_calls.push_back(UnaskedCall { at, session, label, tool: call.tool.clone() });
        if self.unasked_calls.len() > UNASKED_CALLS {
            self.unasked_calls.pop_front();
        }
    }

    /// A process that attaches is sent every verdict that it has not confirmed.
    pub(super) fn verdicts_sent_to(&mut self, session: SessionId) {
        for (ask, life) in self.asks.values_mut() {
            if let AskLife::Answered { sent, .. } = life
                && ask.session == session
            {
                *sent = true;
            }
        }
    }

    pub(super) fn carried(&mut self, id: AskId, at: Moment) {
        let Some((ask, life)) = self.asks.get_mut(&id) else { return };
        let AskLife::Answered { verdict, carried, outcome, unconfirmed, .. } = life else { return };
        carried.get_or_insert(at);
        if outcome.is_some() {
            return;
        }
        // The client has it at last, and has as long to tell as ever.
        *unconfirmed = None;
        self.unconfirmed.remove(&id);
        match ask.confirm_by(verdict, *carried) {
            Some(_) => self.awaiting.insert(id),
            None => self.awaiting.remove(&id),
        };
    }

    pub(super) fn outcome_reported(&mut self, id: AskId, reported: ReportedOutcome) {
        let Some((_, AskLife::Answered { outcome, .. })) = self.asks.get_mut(&id) else { return };
        outcome.get_or_insert(reported);
        self.awaiting.remove(&id);
        self.unconfirmed.remove(&id);
    }

    pub(super) fn not_confirmed(&mut self, id: AskId, at: Moment) {
        let Some((_, AskLife::Answered { unconfirmed, outcome: None, .. })) = self.asks.get_mut(&id) else { return };
        unconfirmed.get_or_insert(at);
        self.awaiting.remove(&id);
        self.unconfirmed.insert(id);
    }

    /// Of what was settled first. Who answered, and how, stays.
    fn leave_texts_to_the_journal(&mut self) {
        while self.settled_bytes > self.memory.settled_ask_bytes {
            let Some((oldest, bytes)) = self.settled_texts.pop_front() else { return };
            self.settled_bytes -= bytes;
            if let Some((ask, _)) = self.asks.get_mut(&oldest) {
                ask.leave_texts_to_the_journal();
            }
        }
    }

    /// Frees the codes of asks settled long ago.
    fn forget_asks(&mut self) {
        while let Some(oldest) = self.settled_asks.front().copied() {
            let settled = self.asks.get(&oldest).and_then(|(_, life)| life.settled_at()).unwrap_or_default();
            let young = self.last.since(settled) < self.memory.settled_ask_lifetime;
            if young && self.settled_asks.len() <= self.memory.settled_asks {
                return;
            }
            self.settled_asks.pop_front();
            if let Some((_, bytes)) = self.settled_texts.pop_front_if(|(id, _)| *id == oldest) {
                self.settled_bytes -= bytes;
            }
            self.awaiting.remove(&oldest);
            self.unconfirmed.remove(&oldest);
            self.ask_records.remove(&oldest);
            if let Some((ask, _)) = self.asks.remove(&oldest) {
                let also = self.joined.remove(&ask.id);
                for code in also.into_iter().chain([ask.code]) {
                    // A code that was handed on is forgotten with the ask that has it now.
                    if self.codes.get(&code) == Some(&ask.id) {
                        self.codes.remove(&code);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{Ask, Details, Source};
    use crate::event::Text;
    use crate::ids::{Code, SessionId};
    use crate::record::Record;
    use crate::state::{Limits, StateMemory};

    #[test]
    fn settled_prompts_hold_so_much_text_and_no_more_and_stay_known() {
        let memory = StateMemory { settled_ask_bytes: 100, ..StateMemory::default() };
        let mut state = State::with_memory(Limits::default(), memory);
        let asks: Vec<Ask> = (0..20_u8)
            .map(|n| Ask {
                id: AskId::new(Moment(0), n.into()),
                code: Code::from_entropy(n.into()),
                session: SessionId::new(Moment(0), 1),
                source: Source::Hook,
                origin: String::new(),
                tool: "Bash".into(),
                description: Text::new("0123456789"),
                preview: if n == 0 { Text::Erased } else { Text::new("0123456789") },
                details: Box::new(Details { input: Some(Text::new("0123456789")), ..Details::default() }),
                at: Moment(0),
            })
            .collect();
        for ask in &asks {
            state.apply(Moment(1), &Record::Asked { ask: ask.clone() });
        }
        let held = |state: &State| -> usize { asks.iter().map(|ask| state.ask(ask.id).unwrap().0.bytes()).sum() };
        assert_eq!(held(&state), 20 * 30 - 10, "open ones are held whole");
        for ask in &asks {
            state.apply(Moment(2), &Record::Withdrawn { ask: ask.id, why: "w".into() });
        }
        assert_eq!(held(&state), 90, "the last three");
        for ask in &asks {
            assert_eq!(state.ask_by_code(ask.code).unwrap().1.name(), "withdrawn");
        }
        let (oldest, _) = state.ask(asks[0].id).unwrap();
        assert_eq!((&oldest.description, &oldest.preview), (&Text::Away, &Text::Erased));

        let next_day = Moment(2 + state.memory.settled_ask_lifetime);
        state.apply(next_day, &Record::Asked { ask: Ask { id: AskId::new(Moment(0), 99), ..asks[0].clone() } });
        state.apply(next_day, &Record::Withdrawn { ask: AskId::new(Moment(0), 99), why: "w".into() });
        assert_eq!((state.asks().count(), state.settled_bytes, state.settled_texts.len()), (1, 20, 1));
    }
}
