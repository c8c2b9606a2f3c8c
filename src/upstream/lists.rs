//! What servers offer, remembered for as long as their connection lives.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::locks::locked;

/// As many lists of one kind are kept; the one that was not used for longest goes.
const KEPT: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ListKind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl ListKind {
    pub(super) const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];
}

/// When a list was read: from which connection, and after how many changes that it told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadAt {
    pub(super) connection: u64,
    pub(super) changes: u64,
}

struct KeptList {
    server: String,
    read_at: ReadAt,
    items: Arc<Vec<Value>>,
}

/// The lists of all servers, the last used first. Locked for a moment, by whoever looks.
#[derive(Default)]
pub(super) struct KeptLists([Mutex<VecDeque<KeptList>>; ListKind::ALL.len()]);

impl KeptLists {
    /// The list, if it is still what the server says.
    pub(super) fn current(&self, server: &str, kind: ListKind, read_at: ReadAt) -> Option<Arc<Vec<Value>>> {
        let mut kept = locked(&self.0[kind as usize]);
        let place = kept.iter().position(|list| list.server == server && list.read_at == read_at)?;
        let list = kept.remove(place)?;
        let items = Arc::clone(&list.items);
        kept.push_front(list);
        Some(items)
    }

    /// The list as it was, where it cannot be read anew.
    pub(super) fn last(&self, server: &str, kind: ListKind) -> Option<Arc<Vec<Value>>> {
        locked(&self.0[kind as usize]).iter().find(|list| list.server == server).map(|list| Arc::clone(&list.items))
    }

    pub(super) fn keep(&self, server: &str, kind: ListKind, read_at: ReadAt, items: Arc<Vec<Value>>) {
        let mut kept = locked(&self.0[kind as usize]);
        kept.retain(|list| list.server != server);
        kept.push_front(KeptList { server: server.to_owned(), read_at, items });
        kept.truncate(KEPT);
    }

    /// Forgets a server, whose configuration is another now.
    pub(super) fn forget(&self, server: &str) {
        for kept in &self.0 {
            locked(kept).retain(|list| list.server != server);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_counts_for_its_connection_and_twenty_are_kept() {
        let lists = KeptLists::default();
        let at = |connection, changes| ReadAt { connection, changes };
        for server in 0..21 {
            lists.keep(&server.to_string(), ListKind::Tools, at(1, 0), Arc::default());
            // The first is used all the time.
            assert!(server == 20 || lists.current("0", ListKind::Tools, at(1, 0)).is_some());
        }
        assert!(lists.current("0", ListKind::Tools, at(1, 0)).is_some());
        assert!(lists.current("1", ListKind::Tools, at(1, 0)).is_none(), "it was not used for longest");
        assert!(lists.current("2", ListKind::Prompts, at(1, 0)).is_none());
        assert!(lists.current("2", ListKind::Tools, at(2, 0)).is_none(), "the connection is another");
        assert!(lists.current("2", ListKind::Tools, at(1, 1)).is_none(), "the server said that it changed");
        assert!(lists.last("2", ListKind::Tools).is_some());
        lists.forget("2");
        assert!(lists.last("2", ListKind::Tools).is_none());
    }
}
