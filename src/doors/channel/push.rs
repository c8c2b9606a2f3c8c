//! Events and verdicts on their way to the client: in order, whole, and confirmed only when written.

use std::sync::Arc;

use portcullis_wire::channel::{event_line, verdict_line};
use tokio::sync::watch;

use super::transport::Output;
use crate::hub::{Attachment, Delivery};

/// As much as is put into one write.
const ONE_WRITE: usize = 256 << 10;

/// Writes what comes for the session, once the client is ready for it. Ends when the client no longer reads.
pub(super) async fn run(mut attachment: Attachment, output: Arc<Output>, mut is_ready: watch::Receiver<bool>) {
    // The client drops what comes before it has said that it is initialized.
    if is_ready.wait_for(|ready| *ready).await.is_err() {
        return;
    }
    while let Some(first) = attachment.next().await {
        let (mut bytes, mut events, mut asks) = (Vec::new(), vec![], vec![]);
        let mut next = Some(first);
        while let Some(delivery) = next {
            let line = match &delivery {
                Delivery::Event { ids, frame } => {
                    events.extend(ids);
                    event_line(frame)
                }
                Delivery::Verdict { ask, origin, behavior } => {
                    asks.push(*ask);
                    verdict_line(origin, *behavior)
                }
            };
            match line {
                Ok(line) => bytes.extend_from_slice(&line),
                Err(error) => tracing::error!(%error, "an event could not be written as JSON"),
            }
            next = if bytes.len() < ONE_WRITE { attachment.ready() } else { None };
        }
        if let Err(error) = output.write(&bytes).await {
            tracing::debug!(%error, "the client does not read");
            return;
        }
        if !events.is_empty() {
            attachment.line.wrote(events).await;
        }
        for ask in asks {
            attachment.line.carried(ask).await;
        }
    }
}
