//! A state as bytes, so that a gate need not replay its whole journal to start.
//!
//! The bytes hold nothing that people or agents wrote: such texts are in the journal alone, where they can be erased. A
//! state that is read back names the records that have its texts ([`State::text_records`]) and is whole when each of them
//! was given to it ([`State::put_text_back`]).

pub(super) mod codec;
mod forms;

use codec::{Saved, SavedBytes};
pub(super) use forms::saved_structs;

use super::{Limits, State};
use crate::ask::AskLife;
use crate::event::Text;
use crate::record::{Record, Subject};

/// Where each subject ends, by the revision of its last record.
pub type SubjectEnds = Vec<(Subject, u64)>;

/// Of the very sources that make a state what it is: what another program wrote means something else.
const STAMP: u64 = {
    const SOURCES: [&[u8]; 23] = [
        include_bytes!("../ask.rs"),
        include_bytes!("../connector.rs"),
        include_bytes!("../event.rs"),
        include_bytes!("../people.rs"),
        include_bytes!("../record.rs"),
        include_bytes!("../session.rs"),
        include_bytes!("../state.rs"),
        include_bytes!("../verdict.rs"),
        include_bytes!("activity.rs"),
        include_bytes!("apply.rs"),
        include_bytes!("asks.rs"),
        include_bytes!("connectors.rs"),
        include_bytes!("editors.rs"),
        include_bytes!("implied_moves.rs"),
        include_bytes!("labels.rs"),
        include_bytes!("limits.rs"),
        include_bytes!("outside.rs"),
        include_bytes!("people.rs"),
        include_bytes!("projects.rs"),
        include_bytes!("sessions.rs"),
        include_bytes!("snapshot.rs"),
        include_bytes!("snapshot/codec.rs"),
        include_bytes!("snapshot/forms.rs"),
    ];
    // FNV-1a, eight bytes at a time.
    let (mut stamp, mut file): (u64, usize) = (0xcbf2_9ce4_8422_2325, 0);
    while file < SOURCES.len() {
        let mut rest = SOURCES[file];
        while let Some((word, behind)) = rest.split_first_chunk() {
            stamp = (stamp ^ u64::from_le_bytes(*word)).wrapping_mul(0x0100_0000_01b3);
            rest = behind;
        }
        while let [byte, behind @ ..] = rest {
            stamp = (stamp ^ *byte as u64).wrapping_mul(0x0100_0000_01b3);
            rest = behind;
        }
        file += 1;
    }
    stamp
};

/// All that records make; limits and memory are the program's.
macro_rules! fields_of_records {
    ($with:ident) => {
        $with! {
            revision, last, sessions, ended, labels, events, queues, arrivals, settled_events, outside, asks,
            ask_records, open_asks, awaiting, unconfirmed, codes, settled_asks, unasked_calls, settled_texts,
            settled_bytes, joined, opened, chats, chat_order, numbered_chats, keys, key_order, misses, people, tokens,
            token_roles, default_modes, trusted_editors, pairings, pairing_misses, connectors, replies
        }
    };
}

impl State {
    /// The state as bytes, without texts, and where the subjects end that it knows.
    pub fn save(&self, ends: &[(Subject, u64)]) -> Vec<u8> {
        let mut out = Vec::new();
        STAMP.save(&mut out);
        ends.len().save(&mut out);
        ends.iter().for_each(|end| end.save(&mut out));
        macro_rules! save {
            ($($field:ident),+) => {{
                let Self { limits: _, memory: _, $($field),+ } = self;
                $($field.save(&mut out);)+
            }};
        }
        fields_of_records!(save);
        out
    }

    /// A state that was saved, still without its texts. None where the bytes were not written by this very program.
    pub fn restore(limits: Limits, saved: &[u8]) -> Option<(Self, SubjectEnds)> {
        Self::new(limits).restored(saved)
    }

    /// The same, for one that remembers as much as this one.
    pub(crate) fn restored(self, saved: &[u8]) -> Option<(Self, SubjectEnds)> {
        let from = &mut SavedBytes(saved);
        if u64::load(from)? != STAMP {
            return None;
        }
        let ends = Saved::load(from)?;
        macro_rules! load {
            ($($field:ident),+) => {
                Self { limits: self.limits, memory: self.memory, $($field: Saved::load(from)?),+ }
            };
        }
        let state = fields_of_records!(load);
        from.0.is_empty().then_some((state, ends))
    }

    /// The revisions of the records that have the texts of this state, in order.
    pub fn text_records(&self) -> Vec<u64> {
        let events = self.events.values().filter(|tracked| matches!(tracked.event.text, Text::Here(_)));
        let events = events.map(|tracked| tracked.revision);
        let asks = self.ask_records.values();
        let asks = asks.flat_map(|ask| [ask.asked].into_iter().chain(ask.votes.iter().copied()).chain(ask.answered));
        let replies = self.replies.iter().flat_map(|kept| [kept.said, kept.changed]);
        let mut records: Vec<u64> = events.chain(asks).chain(replies).collect();
        records.sort_unstable();
        records.dedup();
        records
    }

    /// Puts back what one of the [`State::text_records`] has. They are given in order. Whether it is one of them.
    pub fn put_text_back(&mut self, revision: u64, record: &Record) -> bool {
        match record {
            Record::Received { event, .. } => {
                let tracked = self.events.get_mut(&event.id).filter(|tracked| tracked.revision == revision);
                let Some(tracked) = tracked else { return false };
                // It may have been erased since.
                if let Some(queue) = self.queues.get_mut(&tracked.to) {
                    queue.bytes = queue.bytes.saturating_sub(tracked.size) + event.text.len();
                }
                (tracked.size, tracked.event) = (event.text.len(), event.clone());
                true
            }
            Record::Asked { ask } => {
                let Some((known, _)) = self.asks.get_mut(&ask.id) else { return false };
                let texts = [&known.description, &known.preview].into_iter().chain(&known.details.input);
                let were_left = texts.into_iter().any(|text| *text == Text::Away);
                *known = crate::Ask { at: known.at, ..ask.clone() };
                if were_left {
                    known.leave_texts_to_the_journal();
                }
                true
            }
            Record::Answered { ask, verdict: answer } => match self.asks.get_mut(ask) {
                Some((_, AskLife::Answered { verdict, .. })) => {
                    **verdict = answer.clone();
                    true
                }
                _ => false,
            },
            Record::Voted { ask, verdict } => {
                let Some((_, AskLife::Open { votes })) = self.asks.get_mut(ask) else { return false };
                let place =
                    self.ask_records.get(ask).and_then(|known| known.votes.iter().position(|at| *at == revision));
                let Some(vote) = place.and_then(|place| votes.get_mut(place)) else { return false };
                *vote = verdict.clone();
                true
            }
            Record::Replied { reply } => {
                let Some(kept) = self.replies.iter_mut().find(|kept| kept.said == revision) else { return false };
                kept.reply = crate::Reply { edited: kept.reply.edited, ..reply.clone() };
                true
            }
            Record::ReplyEdited { text, .. } => {
                let Some(kept) = self.replies.iter_mut().find(|kept| kept.changed == revision) else { return false };
                kept.reply.text = text.clone();
                true
            }
            _ => false,
        }
    }
}
