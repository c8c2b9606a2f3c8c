//! Which labels are taken: those of living sessions, and for a day those of ended sessions that others could be taken for.

use std::collections::BTreeMap;

use super::State;
use crate::event::Label;
use crate::ids::{Moment, SessionId};
use crate::people::TokenScope;
use crate::session::{Session, SessionAbout};

/// The labels of sessions that ended, and when. People still have such a name in their heads and in their scripts.
pub(super) type LabelMemory = BTreeMap<Label, Moment>;

/// How long the label of an ended session is given to no other that lives next to one who wanted it too.
const KEPT_FOR: u64 = 24 * 60 * 60_000;
/// So many labels of ended sessions are remembered.
const MOST: usize = 10_000;

impl State {
    /// The label for a session that attaches: the one it has or goes on with, else the one it wants if that is free, else
    /// that one with a number. One that had ended and comes back may find its label with another.
    pub(crate) fn label_for(&self, session: SessionId, about: &SessionAbout, now: Moment) -> Label {
        let has_it_still = |known: &&Session| !known.has_ended() || !self.is_lived_by(&known.label, &[session]);
        if let Some(known) = self.session(session).filter(has_it_still) {
            return known.label.clone();
        }
        self.inherited_label(session, about).unwrap_or_else(|| self.free_label(session, about, now))
    }

    /// The label of the session that this one goes on with, unless the user chose another.
    pub(crate) fn inherited_label(&self, session: SessionId, about: &SessionAbout) -> Option<Label> {
        let before = self.session(about.continues?)?;
        let wants_it = !about.label_chosen || about.label == before.about.label;
        let others = [session, before.id];
        (wants_it && !self.is_lived_by(&before.label, &others)).then(|| before.label.clone())
    }

    fn free_label(&self, session: SessionId, about: &SessionAbout, now: Moment) -> Label {
        let is_living = |label: &Label| self.is_lived_by(label, &[session]);
        let is_kept = |label: &Label| self.labels.get(label).is_some_and(|ended| now.since(*ended) < KEPT_FOR);
        // What the user chose goes before the memory of a session that is gone. So does what no living session wanted: this
        // one alone is meant by that label, whichever it is given.
        let is_wanted = || self.sessions_labelled(&about.label).any(|other| other.id != session);
        if !is_living(&about.label) && (about.label_chosen || !is_kept(&about.label) || !is_wanted()) {
            return about.label.clone();
        }
        let numbered = (2..=u64::MAX).filter_map(|number| numbered(&about.label, number));
        let mut free =
            numbered.filter(|label| !is_living(label) && !is_kept(label) && !self.is_named_by_a_token(label));
        free.next().unwrap_or_else(|| about.label.clone())
    }

    /// Whether a session that has not ended has the label, other than these.
    fn is_lived_by(&self, label: &Label, but: &[SessionId]) -> bool {
        self.sessions_labelled(label).any(|other| other.label == *label && !but.contains(&other.id))
    }

    /// Whether a token is limited to the label: as a number that we give, it would look like the session of that token.
    fn is_named_by_a_token(&self, label: &Label) -> bool {
        self.tokens().any(|token| matches!(&token.scope, TokenScope::Labels(labels) if labels.contains(label)))
    }

    /// Whether a sender who names `wanted` means a session with this label, which itself wanted `about.label`: it has just
    /// the label they name; or it wanted that one, and no living session has it, not counting `gone`. To a sender with a
    /// scope there are no sessions but those within it.
    pub(crate) fn is_meant(
        &self,
        (label, about): (&Label, &SessionAbout),
        (wanted, scope): (&Label, &TokenScope),
        gone: Option<SessionId>,
    ) -> bool {
        let others = self.sessions_labelled(wanted).filter(|other| other.label == *wanted);
        let mut others = others.filter(|other| Some(other.id) != gone && scope.covers(&other.about.label));
        let is_meant = label == wanted || about.label == *wanted && others.next().is_none();
        is_meant && scope.covers(&about.label)
    }

    pub(super) fn keep_label(&mut self, label: Label, at: Moment) {
        self.labels.insert(label, at);
        if self.labels.len() > MOST {
            self.labels.retain(|_, ended| at.since(*ended) < KEPT_FOR);
        }
        while self.labels.len() > MOST {
            let oldest = self.labels.iter().min_by_key(|(_, ended)| **ended).map(|(label, _)| label.clone());
            let Some(oldest) = oldest else { return };
            self.labels.remove(&oldest);
        }
    }
}

/// `api-2`; a label that would be too long loses letters before the number.
fn numbered(label: &Label, number: u64) -> Option<Label> {
    let mut stem = label.as_str();
    loop {
        if let Some(label) = Label::new(&format!("{stem}-{number}")) {
            return Some(label);
        }
        stem = &stem[..stem.char_indices().next_back()?.0];
    }
}
