//! How a client stops waiting for a call: it takes the call back, it gives up, or it leaves.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use hyper::http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::RequestId;
use rmcp::service::RequestContext;
use tokio::sync::Notify;

use super::http::AnswerListener;
use crate::locks::locked;

/// So many reasons are kept until whoever they are for has looked.
const MOST_REASONS: usize = 64;
/// The reason comes right after the cancellation itself; where none is given, this long afterwards nobody waits for it.
const REASON_WAIT: Duration = Duration::from_secs(1);

/// How a client stopped waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoppedWaiting {
    /// It does not want the call any more, or is gone itself.
    TookBack,
    /// It waited as long as it waits for anything. It may ask for the same again.
    GaveUp,
    /// It still waits, for a server that is another one by now than a person was shown.
    ServerChanged,
}

/// Why clients cancelled their requests. Written by the connection, read by the request that it was for.
#[derive(Default)]
pub(super) struct CancelReasons {
    kept: Mutex<VecDeque<(RequestId, String)>>,
    came: Notify,
}

impl CancelReasons {
    pub(super) fn keep(&self, request: RequestId, reason: String) {
        let mut kept = locked(&self.kept);
        kept.truncate(MOST_REASONS - 1);
        kept.push_front((request, reason));
        drop(kept);
        self.came.notify_waiters();
    }

    async fn of(&self, request: &RequestId) -> String {
        loop {
            let came = self.came.notified();
            let mut came = std::pin::pin!(came);
            came.as_mut().enable();
            let found = {
                let mut kept = locked(&self.kept);
                let place = kept.iter().position(|(id, _)| id == request);
                place.and_then(|place| kept.remove(place))
            };
            match found {
                Some((_, reason)) => return reason,
                None => came.await,
            }
        }
    }

    /// Waits until the client does not wait any more.
    pub(super) async fn stopped_waiting(&self, context: &RequestContext<RoleServer>) -> StoppedWaiting {
        let listening = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<AnswerListener>());
        let gone = async {
            match listening {
                Some(listening) => listening.gone().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = gone => return StoppedWaiting::GaveUp,
            () = context.ct.cancelled() => {}
        }
        if listening.is_some_and(AnswerListener::is_gone) {
            return StoppedWaiting::GaveUp;
        }
        match tokio::time::timeout(REASON_WAIT, self.of(&context.id)).await {
            Ok(reason) if is_out_of_time(&reason) => StoppedWaiting::GaveUp,
            _ => StoppedWaiting::TookBack,
        }
    }
}

/// The words of the common clients for it.
fn is_out_of_time(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    ["timed out", "timeout", "-32001"].iter().any(|words| reason.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reason_is_for_its_request_and_tells_who_was_out_of_time() {
        let reasons = CancelReasons::default();
        reasons.keep(RequestId::Number(1), "user pressed Esc".to_owned());
        reasons.keep(RequestId::Number(2), "McpError: MCP error -32001: Request timed out".to_owned());
        assert!(is_out_of_time(&reasons.of(&RequestId::Number(2)).await));
        assert!(!is_out_of_time(&reasons.of(&RequestId::Number(1)).await));
        for id in 0..100 {
            reasons.keep(RequestId::Number(id), String::new());
        }
        assert_eq!(locked(&reasons.kept).len(), MOST_REASONS);
    }
}
