//! The servers that are offered, as the files of the configuration say at any time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;

use super::catalog::Late;
use crate::fixed;
use crate::locks::locked;
use crate::upstream::config::Upstream;
use crate::upstream::{ListKind, Upstreams};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// Reads the configuration; none where nothing of it has changed since the last time.
pub(crate) type ReadServers = Box<dyn FnMut() -> Option<Vec<Upstream>> + Send>;

/// The names of the servers that are offered.
pub(crate) struct OfferedServers {
    /// Changed when the files have changed.
    names: Arc<Mutex<Arc<[String]>>>,
    /// Taken by the task that follows the files.
    read: Mutex<Option<ReadServers>>,
}

impl OfferedServers {
    /// Of those that `read` gives at first, and whenever they change.
    pub(crate) fn following(upstreams: &Upstreams, mut read: ReadServers) -> Self {
        let first = read().unwrap_or_default();
        upstreams.begin(&first);
        Self { names: Arc::new(Mutex::new(names(&first))), read: Mutex::new(Some(read)) }
    }

    pub(super) fn names(&self) -> Arc<[String]> {
        Arc::clone(&locked(&self.names))
    }

    /// Follows the files until the client is gone, and tells it through `late`. A call on a server that stayed the same
    /// goes on.
    pub(super) fn follow(&self, upstreams: &Arc<Upstreams>, late: &Late) {
        let Some(read) = locked(&self.read).take() else { return };
        let (upstreams, late, names) = (Arc::downgrade(upstreams), late.clone(), Arc::clone(&self.names));
        tokio::spawn(async move {
            let mut read = read;
            let mut looks = tokio::time::interval(fixed::wait("MCP_LOOK", LOOK));
            looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                looks.tick().await;
                let Some(upstreams) = upstreams.upgrade() else { return };
                let looked = tokio::task::spawn_blocking(move || {
                    let found = read();
                    (read, found)
                });
                let Ok((next, found)) = looked.await else { return };
                read = next;
                let Some(found) = found else { continue };
                *locked(&names) = self::names(&found);
                upstreams.reconcile(found.iter()).await;
                tell(&late);
            }
        });
    }
}

fn names(upstreams: &[Upstream]) -> Arc<[String]> {
    upstreams.iter().map(|upstream| upstream.name.clone()).collect()
}

/// A client that takes nothing is not told.
fn tell(late: &mpsc::Sender<ListKind>) {
    for kind in [ListKind::Tools, ListKind::Resources, ListKind::Prompts] {
        late.try_send(kind).ok();
    }
}
