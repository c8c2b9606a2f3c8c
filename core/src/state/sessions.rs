//! The sessions that a state knows, and which of them a label may mean.

use std::collections::BTreeMap;

use super::snapshot::codec::{Saved, SavedBytes};
use crate::event::Label;
use crate::ids::SessionId;
use crate::session::Session;

/// All sessions by id, and the living ones by their labels: each event that names a label is given to one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KnownSessions {
    by_id: BTreeMap<SessionId, Session>,
    /// Those that have not ended, by the label they have and by the one they wanted, in the order of their ids. Follows
    /// from `by_id`, so a snapshot does not hold it.
    by_label: BTreeMap<Label, Vec<SessionId>>,
}

impl KnownSessions {
    pub(super) fn get(&self, id: SessionId) -> Option<&Session> {
        self.by_id.get(&id)
    }

    /// For changes that leave its labels as they are, and whether it has ended: those go through [`KnownSessions::change`].
    pub(super) fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.by_id.get_mut(&id)
    }

    /// The same, for all of them.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Session> {
        self.by_id.values_mut()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Session> {
        self.by_id.values()
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// The living sessions that have the label or wanted it.
    pub(super) fn labelled(&self, label: &Label) -> impl Iterator<Item = &Session> {
        self.by_label.get(label).into_iter().flatten().filter_map(|id| self.by_id.get(id))
    }

    /// Changes a session in any way.
    pub(super) fn change(&mut self, id: SessionId, change: impl FnOnce(&mut Session)) {
        if let Some(mut session) = self.remove(id) {
            change(&mut session);
            self.insert(session);
        }
    }

    pub(super) fn insert(&mut self, session: Session) {
        self.remove(session.id);
        if !session.has_ended() {
            for label in labels_of(&session) {
                let same = self.by_label.entry(label.clone()).or_default();
                same.insert(same.partition_point(|other| *other < session.id), session.id);
            }
        }
        self.by_id.insert(session.id, session);
    }

    pub(super) fn remove(&mut self, id: SessionId) -> Option<Session> {
        let session = self.by_id.remove(&id)?;
        for label in labels_of(&session) {
            if let Some(same) = self.by_label.get_mut(label) {
                same.retain(|other| *other != id);
                if same.is_empty() {
                    self.by_label.remove(label);
                }
            }
        }
        Some(session)
    }
}

/// The label that it has, and the one that it wanted if that is another.
fn labels_of(session: &Session) -> impl Iterator<Item = &Label> {
    let wanted = Some(&session.about.label).filter(|wanted| **wanted != session.label);
    std::iter::once(&session.label).chain(wanted)
}

impl Saved for KnownSessions {
    fn save(&self, out: &mut Vec<u8>) {
        self.by_id.save(out);
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        let by_id = BTreeMap::<SessionId, Session>::load(from)?;
        let mut sessions = Self::default();
        by_id.into_values().for_each(|session| sessions.insert(session));
        Some(sessions)
    }
}
