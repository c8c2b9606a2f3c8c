//! Where each subject ends, as the state knows it: what a new record of the subject must follow.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use portcullis_core::{State, Subject, SubjectEnds};

use crate::store::Seq;

/// Fewer than this are never worth sorting out.
const FEW: usize = 20_000;

#[derive(Default)]
pub(super) struct Heads {
    last: HashMap<Subject, Seq, RandomState>,
    /// How many were left when those the state had forgotten were last dropped.
    kept: usize,
}

impl Heads {
    pub(super) fn of(ends: SubjectEnds) -> Self {
        let last: HashMap<Subject, Seq, RandomState> =
            ends.into_iter().map(|(subject, seq)| (subject, Seq(seq))).collect();
        Self { kept: last.len(), last }
    }

    /// Without those that the state has forgotten.
    pub(super) fn known_to(&self, state: &State) -> SubjectEnds {
        let known = self.last.iter().filter(|(subject, _)| state.knows(subject));
        known.map(|(subject, seq)| (subject.clone(), seq.0)).collect()
    }

    pub(super) fn get(&self, subject: &Subject) -> Option<Seq> {
        self.last.get(subject).copied()
    }

    /// The subject now ends at `seq`. What `state` no longer knows is forgotten here too, now and then.
    pub(super) fn moved(&mut self, subject: Subject, seq: Seq, state: &State) {
        self.last.insert(subject, seq);
        if self.last.len() > FEW + 2 * self.kept {
            self.last.retain(|subject, _| state.knows(subject));
            self.kept = self.last.len();
        }
    }
}
