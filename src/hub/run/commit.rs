//! From an input to the journal: decided on the loop's own state, written with its batch, and decided again where another
//! writer was faster.

use std::collections::VecDeque;
use std::future;
use std::time::Instant;

use portcullis_core::{Effect, Input, Moment, Record, Subject, decide};

use super::super::batch::{DecidedBatch, Pending, WrittenBatch};
use super::super::{Trouble, now};
use super::{HubLoop, journal};
use crate::store::{Refused, Safety, Seq, WrittenAppends};

/// How often an input is decided again when another writer was faster.
const ATTEMPTS: u32 = 5;

/// So many batches may be written and not yet safe. The disk falls behind only so far.
const AHEAD: usize = 8;

impl HubLoop {
    /// Decides an input and what follows from it, and puts it all into the batch.
    pub(super) async fn take(&mut self, first: Pending) {
        let mut follow = VecDeque::new();
        let mut next = Some(first);
        if let Some(Moment(was)) = self.state.was_ahead_of(now()) {
            tracing::warn!(was, "the clock went back: from now on it is believed");
            follow.extend(next.replace(Pending::new(Input::ClockSet { was }, None)));
        }
        while let Some(mut pending) = next.take().or_else(|| follow.pop_front()) {
            // First, as it may show that the state holds what the disk did not keep.
            let may_run_ahead = pending.may_run_ahead();
            if !self.written.is_empty() && !may_run_ahead {
                Box::pin(self.settle()).await;
            }
            if self.broken.is_some() {
                self.reload_or_break();
            }
            if let Some(why) = self.broken.clone() {
                pending.fail(Trouble::Journal(why));
                continue;
            }
            let Some(input) = pending.input() else {
                pending.fail(Trouble::Busy);
                continue;
            };
            let at = self.state.no_earlier(now());
            // An event waits no longer than its time; that one was written puts off a deadline at most.
            let expiry = at.plus(self.state.limits().event_expiry);
            self.due = self.due.filter(|_| may_run_ahead).map(|due| Some(due.map_or(expiry, |due| due.min(expiry))));
            let (records, mut effects) = decide(&self.state, at, *input);
            if let Some(record) = records.first() {
                let subject = record.subject();
                if !is_new(record) && self.batch.has(&subject) {
                    // The commit may fail and take back what this decision rests on, so it is taken again after it.
                    Box::pin(self.commit()).await;
                    next = Some(pending);
                    continue;
                }
                match self.add(subject, at, &records) {
                    Ok(place) => {
                        pending.append = Some(place);
                        pending.revision = Some(self.state.revision());
                    }
                    Err(trouble) => {
                        pending.fail(trouble);
                        continue;
                    }
                }
            }
            for effect in effects.extract_if(.., |effect| matches!(effect, Effect::Then(_))) {
                if let Effect::Then(input) = effect
                    && let Some(input) = self.worth_a_record(*input)
                {
                    follow.push_back(Pending::new(input, None));
                }
            }
            pending.effects = effects;
            self.batch.pending.push(pending);
        }
    }

    /// What follows, but for refusals of which enough are written down.
    fn worth_a_record(&self, input: Input) -> Option<Input> {
        match input {
            Input::AccessDenied { who, what } => {
                let what = self.denials.words_of(&who, what, Instant::now())?;
                Some(Input::AccessDenied { who, what })
            }
            other => Some(other),
        }
    }

    fn add(&mut self, subject: Subject, at: Moment, records: &[Record]) -> Result<usize, Trouble> {
        let after = if is_new(&records[0]) { None } else { self.head(&subject)? };
        let place = self.batch.add(subject, after, at, records).map_err(journal)?;
        for record in records {
            self.state.apply(at, record);
        }
        Ok(place)
    }

    /// What the next record of a subject follows, as far as this state knows. Looked up only where the state knows
    /// nothing: else a record of another writer that the state has not seen would go unnoticed.
    fn head(&mut self, subject: &Subject) -> Result<Option<Seq>, Trouble> {
        if let Some(seq) = self.heads.get(subject) {
            return Ok(Some(seq));
        }
        self.store.last_of(&subject.to_string()).map_err(journal)
    }

    /// Writes the batch, and returns when it and all before it are safe and what they decided is done.
    pub(super) async fn commit(&mut self) {
        self.write().await;
        self.settle().await;
    }

    /// Writes the batch. What it decided is done when it is safe, which may be now.
    pub(super) async fn write(&mut self) {
        // What is decided anew after a conflict makes another batch.
        while !self.batch.is_empty() {
            let DecidedBatch { appends, mut subjects, pending } = self.batch.take();
            let WrittenAppends { answers: results, safety } = if appends.is_empty() {
                WrittenAppends { answers: vec![], safety: Safety::Now }
            } else {
                self.store.write(&appends)
            };
            for (subject, result) in subjects.drain(..).zip(&results) {
                if let Ok(seq) = result {
                    self.heads.moved(subject, *seq, &self.state);
                }
            }
            self.batch.reuse(appends, subjects);
            if !results.is_empty() {
                self.note_refusal(results.iter().find_map(|result| match result {
                    Err(Refused::Failed(why)) => Some(why.as_str()),
                    _ => None,
                }));
            }
            let taken_back = results.iter().any(Result::is_err);
            let last = results.iter().rev().find_map(|result| result.as_ref().ok());
            // Where another writer was there in between, the state lacks its records.
            if taken_back || last.is_some_and(|last| last.0 != self.state.revision()) {
                self.reload_or_break();
            }
            let arrivals = self.state.arrivals();
            self.written.push_back(WrittenBatch { pending, results, safety, arrivals });
            // Those who were refused are decided again on what is safe, and nothing is written before.
            while self.written.front().is_some_and(|oldest| oldest.safety.is_now())
                || taken_back && !self.written.is_empty()
                || self.written.len() > AHEAD
            {
                let safe = reached(&mut self.written).await;
                self.finish(safe).await;
            }
        }
    }

    /// Said once, however much is refused until the journal takes a record again: the log may be on the disk that is full.
    fn note_refusal(&mut self, why: Option<&str>) {
        match why {
            Some(why) if !self.is_refusing => tracing::error!(%why, "the journal refuses records"),
            None if self.is_refusing => tracing::info!("the journal takes records again"),
            _ => {}
        }
        self.is_refusing = why.is_some();
    }

    /// Waits until all that is written is safe and done.
    pub(super) async fn settle(&mut self) {
        while !self.written.is_empty() {
            let safe = reached(&mut self.written).await;
            self.finish(safe).await;
        }
    }

    /// Does what the oldest written batch decided, now that it is safe. Those who asked are answered last: the sessions,
    /// which have further to carry it, need not wait for that.
    pub(super) async fn finish(&mut self, safe: Result<(), String>) {
        let Some(WrittenBatch { pending, results, arrivals, .. }) = self.written.pop_front() else { return };
        // What wrote nothing itself may rest on what was written before it, and is lost with that.
        let safe = match self.store.failure() {
            Some(why) if results.is_empty() => Err(why.to_owned()),
            _ => safe,
        };
        if let Err(why) = safe {
            // The state holds what may never be: nothing rests on it any more.
            self.is_refusing = true;
            self.reload_or_break();
            pending.into_iter().for_each(|pending| pending.fail(Trouble::Journal(why.clone())));
            return;
        }
        self.safe = arrivals;
        let taken_back = results.iter().any(Result::is_err);
        let mut answers = vec![];
        for pending in pending {
            match pending.append.map(|place| &results[place]) {
                Some(Ok(_)) => answers.extend(self.perform(pending)),
                // It wrote nothing itself, but may rest on what has just been taken back.
                None if taken_back && pending.attempts < ATTEMPTS => self.again(pending).await,
                None if taken_back => pending.fail(Trouble::Busy),
                None => answers.extend(self.perform(pending)),
                Some(Err(Refused::Conflict { .. })) if pending.attempts < ATTEMPTS => self.again(pending).await,
                Some(Err(Refused::Conflict { .. })) => pending.fail(Trouble::Busy),
                Some(Err(Refused::Failed(why))) => pending.fail(Trouble::Journal(why.clone())),
            }
        }
        self.pump();
        for ring in [&self.appended, &self.followed] {
            if ring.receiver_count() > 0 {
                ring.send_replace(());
            }
        }
        for (reply, answer) in answers {
            // Whoever asked may be gone.
            drop(reply.send(Ok(answer)));
        }
    }

    /// Another writer was first: its records are in the state by now, so the same input meets a new answer.
    async fn again(&mut self, pending: Pending) {
        let Pending { input: Some(input), reply, outlet, attempts, .. } = pending else {
            return pending.fail(Trouble::Busy);
        };
        Box::pin(self.take(Pending { outlet, attempts: attempts + 1, ..Pending::new(input, reply) })).await;
    }
}

/// An event and an ask are new by their ids; every other subject may have a past.
fn is_new(record: &Record) -> bool {
    matches!(record, Record::Received { .. } | Record::Asked { .. })
}

/// Waits until the oldest written batch is safe. For ever, when there is none.
pub(super) async fn reached(written: &mut VecDeque<WrittenBatch>) -> Result<(), String> {
    match written.front_mut() {
        Some(oldest) => oldest.safety.reached().await,
        None => future::pending().await,
    }
}
