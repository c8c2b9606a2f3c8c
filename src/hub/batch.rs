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
    pub(super) input: Option<Box<Input>>,
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
    pub(super) fn new(input: impl Into<Box<Input>>, reply: Option<ReplySender>) -> Self {
        let input = Some(input.into());
        Self { input, effects: vec![], reply, outlet: None, append: None, revision: None, attempts: 0 }
    }

    /// What is to be decided; a copy, where it may have to be decided again.
    pub(super) fn input(&mut self) -> Option<Box<Input>> {
        if self.input.as_deref().is_some_and(is_plain_chat) { self.input.take() } else { self.input.clone() }
    }

    fn is_of_call(&self) -> bool {
        matches!(self.input.as_deref(), Some(Input::Called { .. }))
    }

    /// Whether it may be decided while something before it is not yet safe: what is done about that must not show this.
    /// Plain chat makes a subject of its own, and an event is held back until it is safe; that events were written to an
    /// agent tells nobody anything before it is done.
    pub(super) fn may_run_ahead(&self) -> bool {
        self.input.as_deref().is_some_and(|input| is_plain_chat(input) || matches!(input, Input::Wrote { .. }))
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
    appends: Vec<Append>,
    /// Of each of the appends.
    subjects: Vec<Subject>,
    pub(super) pending: Vec<Pending>,
    /// Appends of before, for their room. Their payloads are gone.
    spare: Vec<Append>,
}

/// An ask comes within this after its id was drawn, but for one that a process asks again, which has lost its gate.
const DRAWN_WITHIN: u64 = 60_000;

/// Whether nobody can have written of what the record begins. The id of an event is drawn where it comes in; only with a key
/// may it come a second time. That of an ask is drawn by the process that asks, and one of just now is either new or known
/// to the state, which was asked before: to look for it in the journal each time would keep the person's question waiting.
fn is_fresh(record: &Record, at: Moment) -> bool {
    match record {
        Record::Received { event, .. } => event.idempotency_key.is_none(),
        Record::Asked { ask } => {
            let drawn = ask.id.at();
            at.since(drawn).max(drawn.since(at)) < DRAWN_WITHIN
        }
        _ => false,
    }
}

/// Appends that were kept for their room, at most, and bytes of a body in one of them.
const SPARE: usize = 128;
const SPARE_BODY: usize = 2 << 10;

/// A batch that is decided, and to be written.
pub(super) struct DecidedBatch {
    pub(super) appends: Vec<Append>,
    pub(super) subjects: Vec<Subject>,
    pub(super) pending: Vec<Pending>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether it only tells of calls that were made.
    pub(super) fn is_of_calls(&self) -> bool {
        !self.is_empty() && self.pending.iter().all(Pending::is_of_call)
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
        let unused = || Append { subject: String::new(), after: None, fresh: false, entries: vec![] };
        let mut append = self.spare.pop().unwrap_or_else(unused);
        append.entries.resize_with(records.len(), || Entry { at: 0, body: vec![], payload: None });
        for (entry, record) in append.entries.iter_mut().zip(records) {
            entry.at = at.0;
            entry.payload = portcullis_wire::record::write_into(&mut entry.body, record)?;
        }
        append.subject.clear();
        subject.put_into(&mut append.subject);
        append.after = after;
        append.fresh = records.first().is_some_and(|record| is_fresh(record, at));
        self.appends.push(append);
        self.subjects.push(subject);
        Ok(self.appends.len() - 1)
    }

    /// All that is decided. What is decided from now on makes another batch.
    pub(super) fn take(&mut self) -> DecidedBatch {
        let size = self.pending.len();
        let pending = std::mem::replace(&mut self.pending, Vec::with_capacity(size));
        DecidedBatch {
            appends: std::mem::take(&mut self.appends),
            subjects: std::mem::take(&mut self.subjects),
            pending,
        }
    }

    /// Keeps the room of what was written.
    pub(super) fn reuse(&mut self, mut appends: Vec<Append>, mut subjects: Vec<Subject>) {
        appends.truncate(SPARE.saturating_sub(self.spare.len()));
        for append in &mut appends {
            append.entries.truncate(1);
            for entry in &mut append.entries {
                // The text of an event lives as long as the event waits.
                entry.payload = None;
                entry.body.clear();
                entry.body.shrink_to(SPARE_BODY);
            }
        }
        self.spare.append(&mut appends);
        subjects.clear();
        // What is decided meanwhile, after a conflict, is in vectors of its own.
        if self.appends.is_empty() {
            (self.appends, self.subjects) = (appends, subjects);
        }
    }
}

#[cfg(test)]
mod tests {
    use portcullis_core::{Ask, AskId, Code, Details, Source, Text};

    use super::*;

    #[test]
    fn only_an_ask_whose_id_was_drawn_just_now_is_taken_for_new_at_its_word() {
        let now = 1_000 * DRAWN_WITHIN;
        let is_fresh = |drawn: u64| {
            let ask = Ask {
                id: AskId::new(Moment(drawn), 1),
                code: Code::from_entropy(1),
                session: SessionId::new(Moment(1), 1),
                source: Source::Channel,
                origin: String::new(),
                tool: "Bash".to_owned(),
                description: Text::new(""),
                preview: Text::new(""),
                details: Box::new(Details::default()),
                at: Moment(now),
            };
            let mut batch = Batch::default();
            let record = Record::Asked { ask };
            batch.add(record.subject(), None, Moment(now), &[record]).unwrap();
            batch.appends[0].fresh
        };
        assert!(is_fresh(now) && is_fresh(now - 1_000) && is_fresh(now + 1_000));
        assert!(!is_fresh(now - DRAWN_WITHIN), "a process may ask again that had lost its gate");
        assert!(!is_fresh(now + DRAWN_WITHIN), "its clock says nothing");
    }
}
