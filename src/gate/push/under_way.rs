//! Pushes on their way: whose each is, whatever becomes of its task.

use std::collections::HashMap;

use portcullis_core::TokenId;
use tokio::task::{Id, JoinSet};

use crate::push::PushOutcome;

#[derive(Default)]
pub(super) struct PushesUnderWay {
    tasks: JoinSet<PushOutcome>,
    /// The device and the address of each task.
    whose: HashMap<Id, (TokenId, String)>,
}

impl PushesUnderWay {
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn start(
        &mut self,
        device: TokenId,
        endpoint: String,
        sending: impl Future<Output = PushOutcome> + Send + 'static,
    ) {
        let task = self.tasks.spawn(sending).id();
        self.whose.insert(task, (device, endpoint));
    }

    /// The next that is finished, and how; none while there is none. A task that broke down is a push that failed: its
    /// device is told again.
    pub(super) async fn next(&mut self) -> Option<(TokenId, String, PushOutcome)> {
        let (task, outcome) = match self.tasks.join_next_with_id().await? {
            Ok(finished) => finished,
            Err(error) => (error.id(), PushOutcome::Failed { why: error.to_string(), after: None }),
        };
        let (device, endpoint) = self.whose.remove(&task)?;
        Some((device, endpoint, outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::Moment;

    #[tokio::test]
    async fn a_push_whose_task_breaks_down_has_failed_for_its_device() {
        let mut under_way = PushesUnderWay::default();
        let device = TokenId::new(Moment(1), 1);
        under_way.start(device, "https://push.example.org/1".to_owned(), async { panic!("broken") });
        let (whose, endpoint, outcome) = under_way.next().await.unwrap();
        assert_eq!((whose, endpoint.as_str()), (device, "https://push.example.org/1"));
        assert!(matches!(outcome, PushOutcome::Failed { .. }), "{outcome:?}");
        assert!(under_way.next().await.is_none() && under_way.whose.is_empty());
    }
}
