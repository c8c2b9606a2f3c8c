//! An entry as the ring keeps it. Most are events, whose texts the gate has: those take little room.

use std::sync::Arc;

use portcullis_core::EventId;
use portcullis_wire::stream::EntryKind;

/// An entry of the ring.
pub(super) struct KeptEntry {
    pub(super) n: u64,
    pub(super) at: u64,
    pub(super) bytes: usize,
    kind: KeptKind,
}

enum KeptKind {
    Event { event: EventId, names: Arc<EventNames> },
    Other(Box<EntryKind>),
}

/// Who sent an event, and in which conversation. Shared by entries that follow each other and say the same.
#[derive(PartialEq, Eq)]
struct EventNames {
    sender: Box<str>,
    chat: Box<str>,
}

impl KeptEntry {
    pub(super) fn new(n: u64, at: u64, kind: EntryKind, before: Option<&Self>) -> Self {
        let bytes = kind.size();
        Self { n, at, bytes, kind: KeptKind::of(kind, before) }
    }

    /// As it was put in.
    pub(super) fn kind(&self) -> EntryKind {
        match &self.kind {
            KeptKind::Event { event, names } => {
                let EventNames { sender, chat } = &**names;
                EntryKind::Event { event: event.to_string(), sender: sender.to_string(), chat: chat.to_string() }
            }
            KeptKind::Other(kind) => (**kind).clone(),
        }
    }

    /// Puts words behind those of the same block, up to this many bytes. False where it is no such entry.
    pub(super) fn put_together(&mut self, new: &EntryKind, longest: usize) -> bool {
        let EntryKind::Text { message, block, text, agent } = new else { return false };
        let KeptKind::Other(kept) = &mut self.kind else { return false };
        let EntryKind::Text { message: of, block: at, text: before, agent: by } = &mut **kept else { return false };
        if (&*of, &*at, &*by) != (message, block, agent) || before.len() + text.len() > longest {
            return false;
        }
        before.push_str(text);
        self.bytes += text.len();
        true
    }
}

impl KeptKind {
    fn of(kind: EntryKind, before: Option<&KeptEntry>) -> Self {
        let EntryKind::Event { event: text, sender, chat } = kind else { return Self::Other(Box::new(kind)) };
        // A transcript may name an event in any way.
        let Some(event) = text.parse().ok().filter(|event: &EventId| event.to_string() == text) else {
            return Self::Other(Box::new(EntryKind::Event { event: text, sender, chat }));
        };
        let names = EventNames { sender: sender.into(), chat: chat.into() };
        let shared = before.and_then(|before| match &before.kind {
            Self::Event { names: before, .. } if **before == names => Some(Arc::clone(before)),
            Self::Event { .. } | Self::Other(_) => None,
        });
        Self::Event { event, names: shared.unwrap_or_else(|| Arc::new(names)) }
    }
}

#[cfg(test)]
mod tests {
    use portcullis_core::Moment;

    use super::*;

    fn event(event: String, sender: &str) -> EntryKind {
        EntryKind::Event { event, sender: sender.to_owned(), chat: "7".to_owned() }
    }

    #[test]
    fn an_event_is_small_and_comes_out_as_it_was_put_in() {
        let id = |number| EventId::new(Moment(5), number).to_string();
        let first = KeptEntry::new(1, 0, event(id(1), "ci"), None);
        let second = KeptEntry::new(2, 0, event(id(2), "ci"), Some(&first));
        let third = KeptEntry::new(3, 0, event(id(3), "ann"), Some(&second));
        let strange = KeptEntry::new(4, 0, event(id(4).to_uppercase(), "ann"), Some(&third));
        assert!(size_of::<KeptEntry>() <= 64, "there are ten thousands of them");
        for (kept, was) in [
            (&first, event(id(1), "ci")),
            (&second, event(id(2), "ci")),
            (&third, event(id(3), "ann")),
            (&strange, event(id(4).to_uppercase(), "ann")),
        ] {
            assert!(kept.kind() == was && kept.bytes == was.size(), "{was:?}");
        }
        let shares = |one: &KeptEntry, other: &KeptEntry| match (&one.kind, &other.kind) {
            (KeptKind::Event { names, .. }, KeptKind::Event { names: others, .. }) => Arc::ptr_eq(names, others),
            _ => false,
        };
        assert!(shares(&first, &second) && !shares(&second, &third));
    }
}
