//! What servers say has changed. Each thing is told at once, and then once in a while: a server that says so all the time
//! keeps no client busy with reading the same list again. That something has changed since it was last told is never lost.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::fixed;
use crate::locks::locked;
use crate::upstream::ListKind;

/// The same is told no more often than this.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Resources of which a client is told in this time. Changes of more are dropped, as all that it does not take.
const MOST_RESOURCES: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ServerChange {
    List(ListKind),
    /// At this address, of this server.
    Resource {
        server: String,
        uri: String,
    },
}

/// What became of a change that a client was told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TellOutcome {
    Taken,
    /// It takes nothing at the moment.
    Later,
    /// It is gone.
    Never,
}

/// What one client was told of a moment ago.
#[derive(Clone, Default)]
pub(super) struct PacedChanges(Arc<Mutex<ToldChanges>>);

#[derive(Default)]
struct ToldChanges {
    /// Told so short a while ago that it is not told again yet.
    recent: HashSet<ServerChange>,
    /// Of these, those that have changed since.
    again: HashSet<ServerChange>,
}

impl PacedChanges {
    /// Has `tell` say it now, or once more when it may be told again.
    pub(super) fn tell(&self, change: ServerChange, tell: impl Fn() -> TellOutcome + Send + 'static) {
        {
            let mut told = locked(&self.0);
            if told.recent.contains(&change) {
                told.again.insert(change);
                return;
            }
            if matches!(change, ServerChange::Resource { .. }) && told.recent.len() >= MOST_RESOURCES {
                return tracing::debug!("a client is not told of another changed resource");
            }
            told.recent.insert(change.clone());
        }
        let mut told = tell();
        let changes = self.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(fixed::wait("MCP_CHANGES", AGAIN_AFTER)).await;
                if changes.is_over(&change, told) {
                    return;
                }
                told = tell();
            }
        });
    }

    /// Whether there is no more to tell of it. Then it is told at once when it changes.
    fn is_over(&self, change: &ServerChange, told: TellOutcome) -> bool {
        let mut changes = locked(&self.0);
        let has_changed = changes.again.remove(change);
        let is_over = told == TellOutcome::Never || told == TellOutcome::Taken && !has_changed;
        if is_over {
            changes.recent.remove(change);
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    #[tokio::test(start_paused = true)]
    async fn a_change_is_told_at_once_then_once_a_second_and_the_last_is_never_lost() {
        let (changes, told) = (PacedChanges::default(), Arc::new(AtomicUsize::new(0)));
        let takes = Arc::new(AtomicBool::new(true));
        let say = |change: &ServerChange| {
            let (told, takes) = (Arc::clone(&told), Arc::clone(&takes));
            changes.tell(change.clone(), move || {
                if !takes.load(Ordering::Relaxed) {
                    return TellOutcome::Later;
                }
                told.fetch_add(1, Ordering::Relaxed);
                TellOutcome::Taken
            });
        };
        let count = || told.load(Ordering::Relaxed);
        let tools = ServerChange::List(ListKind::Tools);
        for _ in 0..1000 {
            say(&tools);
        }
        assert_eq!(count(), 1);
        tokio::time::sleep(AGAIN_AFTER + AGAIN_AFTER / 2).await;
        assert_eq!(count(), 2, "it has changed since it was told");
        tokio::time::sleep(3 * AGAIN_AFTER).await;
        assert_eq!(count(), 2, "and not since then");
        takes.store(false, Ordering::Relaxed);
        say(&tools);
        say(&ServerChange::List(ListKind::Prompts));
        tokio::time::sleep(5 * AGAIN_AFTER).await;
        assert_eq!(count(), 2);
        takes.store(true, Ordering::Relaxed);
        tokio::time::sleep(2 * AGAIN_AFTER).await;
        assert_eq!(count(), 4, "a client that took nothing for a while is told of each");
        assert!(locked(&changes.0).recent.is_empty() && locked(&changes.0).again.is_empty());
        for number in 0..1000 {
            say(&ServerChange::Resource { server: "s".to_owned(), uri: number.to_string() });
        }
        assert_eq!(count(), 4 + MOST_RESOURCES);
        say(&tools);
        assert_eq!(count(), 5 + MOST_RESOURCES, "lists are told of all the same");
    }
}
