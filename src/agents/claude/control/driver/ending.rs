//! When a driven session has nothing more to do, and when it must be over.

use std::time::Duration;

use tokio::time::Instant;

use super::{Driver, LAST_LINES};

/// A line of input that was written so shortly before the client said it is idle may not have been read.
const UNREAD: Duration = Duration::from_millis(500);
/// How long the client may go on talking after its input was closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

impl Driver {
    /// When to look again, where that is not said by anybody.
    pub(super) fn wake(&self) -> Option<Instant> {
        let look = self.wrote_at.filter(|_| self.closing.is_none() && self.is_done()).map(|wrote| wrote + UNREAD);
        [self.deadline(), look, self.next_feed()].into_iter().flatten().min()
    }

    /// When the client must have said its last word.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let closed = self.closing.or(self.ending).map(|closing| closing + CLOSE_TIMEOUT);
        let gone = self.gone.map(|gone| gone + LAST_LINES);
        [closed, gone].into_iter().flatten().min()
    }

    fn is_done(&self) -> bool {
        self.once && self.is_ready && !self.is_busy && self.pending.is_empty()
    }

    /// The client's input is closed only when it has nothing to do: a prompt that opens later could not be answered.
    pub(super) fn close_when_done(&mut self) {
        let is_read = self.wrote_at.is_none_or(|wrote| wrote.elapsed() >= UNREAD);
        if self.is_done() && is_read && self.closing.is_none() {
            self.closing = Some(Instant::now());
            self.control.close();
        }
    }
}
