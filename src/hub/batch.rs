//! What the hub has decided and not yet written: it becomes true for others only when the journal has it.

use portcullis_core::{Effect, Input, Moment, Record, SessionId, Subject};

use super::outlets::Outlet;
use super::{ReplySender, Trouble, is_plain_chat};
use crate::store::{Append, Entry, Refused, Safety, Seq};

/// More than this is never written at once, so that nobody waits long for the first answer.
const LARGEST: usize = 512;

/// One input on its way: what it wants done, and whom to tell.
pub(super) struct Pending {
    /// Kept to decide again when someone else was faster, or when what it rests on was taken back. Plain chat is not
    /// kept: it makes a subject of its own, so nobody is faster with it.
    pub(super) input: Option<Input>,
    pub(super) effects: Vec<Effect>,
    pub(super) reply: Option<ReplySender>,
    /// The outlet that an attaching process brought.
    pub(super) outlet: Option<(SessionId, Outlet)>,
    /// Its place among the appends; none when it wrote nothing.
    pub(super) append: Option<usize>,
    /// The revision that its own record made; none when it wrote nothing.
    pub(super) revision: Option<u64>,
    pub(super) attempts: u32,
}

impl Pending {
    pub(super) fn new(input: Input, reply: Option<ReplySender>) -> Self {
        Self { input: Some(input), effects: vec![], reply, outlet: None, append: None, revision: None, attempts: 0 }
    }

    /// What is to be decided; a copy, where it may have to be decided again.
    pub(super) fn input(&mut self) -> Option<Input> {
        if self.input.as_ref().is_some_and(is_plain_chat) { self.input.take() } else { self.input.clone() }
    }

    /// Whether it may be decided while something before it is not yet safe: what is done about that must not show this.
    /// Plain chat makes a subject of its own, and an event is held back until it is safe; that events were written to an
    /// agent tells nobody anything before it is done.
    pub(super) fn may_run_ahead(&self) -> bool {
        self.input.as_ref().is_some_and(|input| is_plain_chat(input) || matches!(input, Input::Wrote { .. }))
    }

    pub(super) fn fail(self, trouble: Trouble) {
        if let Some(reply) = self.reply {
            // Whoever asked may be gone.
            drop(reply.send(Err(trouble)));
        }
    }
}

/// A batch that is written, and not yet known to be safe.
pub(super) struct WrittenBatch {
    pub(super) pending: Vec<Pending>,
    /// Of each append.
    pub(super) results: Vec<Result<Seq, Refused>>,
    pub(super) safety: Safety,
    /// How many events had arrived by then.
    pub(super) arrivals: u64,
}

#[derive(Default)]
pub(super) struct Batch {
    pub(super) appends: Vec<Append>,
    /// Of each of the appends.
    pub(super) subjects: Vec<Subject>,
    pub(super) pending: Vec<Pending>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.pending.len() >= LARGEST
    }

    /// A subject stands in a batch once: the sequence its next record follows is known only after the commit.
    pub(super) fn has(&self, subject: &Subject) -> bool {
        self.subjects.contains(subject)
    }

    pub(super) fn add(
        &mut self,
        subject: Subject,
        after: Option<Seq>,
        at: Moment,
        records: &[Record],
    ) -> serde_json::Result<usize> {
        let entries = records
            .iter()
            .map(|record| {
                let stored = portcullis_wire::record::write(record)?;
                Ok(Entry { at: at.0, body: stored.body, payload: stored.payload })
            })
            .collect::<serde_json::Result<Vec<Entry>>>()?;
        // The id of an event is drawn where it comes in; only with a key may it come a second time.
        let fresh = matches!(records.first(), Some(Record::Received { event, .. }) if event.idempotency_key.is_none());
        self.appends.push(Append { subject: subject.to_string(), after, fresh, entries });
        self.subjects.push(subject);
        Ok(self.appends.len() - 1)
    }
}
