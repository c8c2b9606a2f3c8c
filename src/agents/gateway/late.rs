//! Answers of people that come when the client has given up. One counts once, for the next call of the same client, tool
//! and arguments; it has a few minutes for that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::fixed;
use crate::locks::locked;
use crate::session::gatekeeper::GatekeeperAnswer;

/// A person has so long to answer after the client gave up, and the client as long again to come back.
const LATE: Duration = Duration::from_secs(300);
/// Of one client. What is more is taken back.
const MOST_LATE: usize = 64;
/// A call whose server wants something first is made again so often by one answer, as by the command line. That nothing was
/// done yet is the server's word alone.
const MOST_AGAIN: u32 = 3;

/// What makes two calls of one client the same: the tool as it is described now, and what it is called with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SameCall {
    pub(super) tool: String,
    pub(super) identity: Arc<str>,
    pub(super) arguments: Value,
    /// What the client says beside them, and the server is told.
    pub(super) meta: Map<String, Value>,
}

/// A call that the gatekeeper looks at, or has decided about. Dropped, what is open is withdrawn.
pub(super) struct PendingAnswer {
    pub(super) answer: JoinHandle<GatekeeperAnswer>,
    withdraw: DropGuard,
    /// How often the call was made by this answer, each time for nothing.
    pub(super) made: u32,
}

impl PendingAnswer {
    /// `ask` waits for the answer, until the token is cancelled.
    pub(super) fn begin<F>(ask: impl FnOnce(CancellationToken) -> F) -> Self
    where
        F: Future<Output = GatekeeperAnswer> + Send + 'static,
    {
        let withdraw = CancellationToken::new();
        Self { answer: tokio::spawn(ask(withdraw.clone())), withdraw: withdraw.drop_guard(), made: 0 }
    }

    /// One that is known, and for which the call was made so often. None where that is often enough.
    pub(super) fn again(answer: GatekeeperAnswer, made: u32) -> Option<Self> {
        (made <= MOST_AGAIN).then(|| Self { made, ..Self::begin(|_| std::future::ready(answer)) })
    }

    /// Takes the call back, and waits until that is done.
    pub(super) async fn withdraw(self) {
        let Self { answer, withdraw, made: _ } = self;
        drop(withdraw);
        drop(answer.await);
    }
}

/// What a client may come back for.
#[derive(Clone, Default)]
pub(super) struct LateAnswers(Arc<Mutex<Vec<LateAnswer>>>);

struct LateAnswer {
    of: SameCall,
    pending: PendingAnswer,
    number: u64,
}

/// No two have the same: the time of one that was taken does not end another.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

impl LateAnswers {
    /// Keeps it for the next such call, and takes it back when none comes.
    pub(super) fn keep(&self, of: SameCall, pending: PendingAnswer) {
        // Nobody has to answer any more where the call was made already.
        let waits = if pending.made > 0 { &[false][..] } else { &[true, false] };
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        {
            let mut kept = locked(&self.0);
            if kept.len() >= MOST_LATE {
                return;
            }
            kept.push(LateAnswer { of, pending, number });
        }
        let late = fixed::wait("MCP_LATE", LATE);
        let kept = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            for may_stay in waits {
                tokio::time::sleep(late).await;
                let Some(kept) = kept.upgrade() else { return };
                let mut kept = locked(&kept);
                let Some(place) = kept.iter().position(|late| late.number == number) else { return };
                if !(*may_stay && kept[place].pending.answer.is_finished()) {
                    kept.swap_remove(place);
                    return;
                }
            }
        });
    }

    /// The client is gone for good.
    pub(super) fn clear(&self) {
        let kept = std::mem::take(&mut *locked(&self.0));
        drop(kept);
    }

    pub(super) fn take(&self, call: &SameCall) -> Option<PendingAnswer> {
        let mut kept = locked(&self.0);
        let place = kept.iter().position(|late| late.of == *call)?;
        Some(kept.remove(place).pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::gatekeeper::Decision;
    use serde_json::json;

    fn call(number: u64) -> SameCall {
        SameCall { tool: "t".to_owned(), identity: "i".into(), arguments: json!({"n": number}), meta: Map::new() }
    }

    fn open() -> (PendingAnswer, CancellationToken) {
        let seen = CancellationToken::new();
        let told = seen.clone();
        let pending = PendingAnswer::begin(|withdrawn| async move {
            withdrawn.cancelled().await;
            told.cancel();
            Decision::NoDecision.into()
        });
        (pending, seen)
    }

    fn known() -> PendingAnswer {
        PendingAnswer::begin(|_| std::future::ready(Decision::NoDecision.into()))
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_for_which_a_call_was_made_already_counts_three_times_more_and_five_minutes_each() {
        let again = |made| PendingAnswer::again(Decision::NoDecision.into(), made);
        assert!(again(MOST_AGAIN).is_some() && again(MOST_AGAIN + 1).is_none());
        let late = LateAnswers::default();
        late.keep(call(1), again(2).unwrap());
        assert_eq!(late.take(&call(1)).map(|pending| pending.made), Some(2));
        late.keep(call(1), again(1).unwrap());
        tokio::time::sleep(LATE + Duration::from_secs(1)).await;
        assert!(late.take(&call(1)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_answers_is_withdrawn_and_an_answer_counts_once_for_the_same_call() {
        let late = LateAnswers::default();
        let (pending, withdrawn) = open();
        late.keep(call(1), pending);
        late.keep(call(2), known());
        assert!(late.take(&call(3)).is_none());
        let meta = json!({"mode": "raw"}).as_object().unwrap().clone();
        assert!(late.take(&SameCall { meta, ..call(2) }).is_none(), "it says more than was shown");
        assert!(late.take(&call(2)).is_some() && late.take(&call(2)).is_none(), "once");
        late.keep(call(2), known());
        tokio::time::sleep(LATE + Duration::from_secs(1)).await;
        assert!(late.take(&call(1)).is_none());
        withdrawn.cancelled().await;
        let answered = late.take(&call(2)).expect("the client has as long again");
        late.keep(call(2), answered);
        tokio::time::sleep(2 * LATE + Duration::from_secs(1)).await;
        assert!(late.take(&call(2)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_gives_up_a_second_time_has_as_long_as_the_first_time() {
        let late = LateAnswers::default();
        late.keep(call(1), open().0);
        tokio::time::sleep(LATE / 2).await;
        let again = late.take(&call(1)).unwrap();
        late.keep(call(1), again);
        tokio::time::sleep(LATE / 2 + Duration::from_secs(1)).await;
        assert!(late.take(&call(1)).is_some(), "the time of the first is over, and not of this one");
    }

    #[tokio::test]
    async fn no_client_keeps_more_than_so_many_and_none_outlives_it() {
        let late = LateAnswers::default();
        for number in 0..MOST_LATE as u64 {
            late.keep(call(number), open().0);
        }
        let (pending, withdrawn) = open();
        late.keep(call(1000), pending);
        withdrawn.cancelled().await;
        let (pending, withdrawn) = open();
        drop(late.take(&call(7)));
        late.keep(call(7), pending);
        drop(late);
        withdrawn.cancelled().await;
    }
}
