//! What the gate is told of a session: soon, or not by the hook that knew of it. The client waits for its hooks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use portcullis_core::{AskId, ToolCall};

use super::Room;

/// While the gate is away, what it is told waits in a queue. IdempotencyKey that is full, a hook waits only so long for a place.
const PATIENCE: Duration = Duration::from_millis(100);

/// How much the gate was not told, since this was last said.
#[derive(Default)]
pub(super) struct Telling {
    untold: AtomicUsize,
}

impl Telling {
    /// False when it was dropped, because the queue is full.
    pub(super) async fn tell(&self, saying: impl Future<Output = ()>) -> bool {
        let is_told = tokio::time::timeout(PATIENCE, saying).await.is_ok();
        match is_told {
            true => self.admit(),
            false => drop(self.untold.fetch_add(1, Ordering::Relaxed)),
        }
        is_told
    }

    /// IdempotencyKey for all that were dropped in a row.
    fn admit(&self) {
        let untold = self.untold.swap(0, Ordering::Relaxed);
        if untold > 0 {
            tracing::warn!(
                "the gate was away for too long: {untold} tool calls or changes of the session are not on its record"
            );
        }
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.admit();
    }
}

impl Room {
    pub(super) async fn record(&self, call: ToolCall) {
        let ask = call.ask;
        let is_told = self.telling.tell(self.line.called(call)).await;
        if let Some(ask) = ask.filter(|_| !is_told) {
            self.withdraw(ask, "its call was made or refused").await;
        }
    }

    /// The same, where the client is answered first.
    pub(super) fn record_later(&self, call: ToolCall) {
        let (line, telling) = (self.line.clone(), Arc::clone(&self.telling));
        tokio::spawn(async move { telling.tell(line.called(call)).await });
    }

    /// A prompt is no longer asked. This is never dropped, for somebody may answer it; there are no more of these than
    /// there were prompts.
    pub(super) async fn withdraw(&self, ask: AskId, why: &str) {
        if tokio::time::timeout(PATIENCE, self.line.withdraw(ask, why)).await.is_err() {
            let (line, why) = (self.line.clone(), why.to_owned());
            tokio::spawn(async move { line.withdraw(ask, why).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    #[tokio::test(start_paused = true)]
    async fn what_finds_no_place_is_dropped_and_counted_and_no_hook_waits_for_it() {
        let (say, mut said) = mpsc::channel(1);
        let telling = Telling::default();
        let put = async |what: u8| telling.tell(async { say.send(what).await.unwrap() }).await;
        assert!(put(1).await);
        assert!(!put(2).await && !put(3).await, "the queue is full");
        assert_eq!(telling.untold.load(Ordering::Relaxed), 2);
        assert_eq!(said.recv().await, Some(1));
        assert!(put(4).await);
        assert_eq!(telling.untold.load(Ordering::Relaxed), 0, "said once");
        assert_eq!(said.recv().await, Some(4), "what was dropped does not come later");
    }
}
