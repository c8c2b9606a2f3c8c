//! Events and verdicts on their way to the client: in order, whole, and confirmed only when written.

use std::sync::Arc;
use std::time::Duration;

use portcullis_core::{AskId, DeliveryWay, EventId};
use portcullis_wire::channel::{event_line, verdict_line};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::agents::claude::hooks::HookSession;
use crate::agents::mcp_stdio::SharedOutput;
use crate::session::link::{Deliveries, Delivery, SessionHandle};

/// As much as is put into one write.
const ONE_WRITE: usize = 256 << 10;

/// So long, or until so many or so many bytes have come together, the gate may wait to hear what is with the client: each
/// word of it is a record, and takes longer than an event. Well below what the gate has on its way at once.
const CONFIRM_WITHIN: Duration = Duration::from_millis(50);
/// A verdict is told sooner: until the gate hears that the client has it, another may take its place.
const CONFIRM_VERDICT_WITHIN: Duration = Duration::from_millis(5);
const CONFIRM_AT: usize = 128;
const CONFIRM_BYTES: usize = 1 << 20;

/// Writes what comes for the session, once the client is ready for it. Ends when the client no longer reads.
pub(super) async fn run(
    handle: SessionHandle,
    mut deliveries: Deliveries,
    output: Arc<SharedOutput>,
    hooks: Arc<HookSession>,
    mut is_ready: watch::Receiver<bool>,
) {
    // The client drops what comes before it has said that it is initialized.
    if is_ready.wait_for(|ready| *ready).await.is_err() {
        return;
    }
    let (mut unconfirmed, mut unconfirmed_bytes) = (0, 0);
    let mut confirm = std::pin::pin!(sleep(CONFIRM_WITHIN));
    loop {
        let next = tokio::select! {
            biased;
            next = deliveries.next() => next,
            () = &mut confirm, if unconfirmed > 0 => {
                handle.confirm().await;
                (unconfirmed, unconfirmed_bytes) = (0, 0);
                continue;
            }
        };
        let Some(first) = next else { return };
        let written = gather(first, &mut deliveries, &hooks);
        if written.bytes.is_empty() {
            continue;
        }
        if let Err(error) = output.write(&written.bytes).await {
            tracing::debug!(%error, "the client does not read");
            return;
        }
        let within = if written.verdicts.is_empty() { CONFIRM_WITHIN } else { CONFIRM_VERDICT_WITHIN };
        let due = Instant::now() + within;
        if unconfirmed == 0 || due < confirm.deadline() {
            confirm.as_mut().reset(due);
        }
        unconfirmed = handle.wrote(&written.events, Some(DeliveryWay::Channel), &written.verdicts);
        unconfirmed_bytes += written.bytes.len();
        if unconfirmed >= CONFIRM_AT || unconfirmed_bytes >= CONFIRM_BYTES {
            handle.confirm().await;
            (unconfirmed, unconfirmed_bytes) = (0, 0);
        }
    }
}

/// What goes out in one write.
#[derive(Default)]
struct OneWrite {
    bytes: Vec<u8>,
    events: Vec<EventId>,
    verdicts: Vec<AskId>,
}

/// Everything that needs no waiting for, up to what goes into one write.
fn gather(first: Delivery, deliveries: &mut Deliveries, hooks: &HookSession) -> OneWrite {
    let mut written = OneWrite::default();
    let mut next = Some(first);
    while let Some(delivery) = next {
        if let Some(delivery) = hooks.take(delivery) {
            written.add(&delivery);
        }
        next = if written.bytes.len() < ONE_WRITE { deliveries.ready() } else { None };
    }
    written
}

impl OneWrite {
    fn add(&mut self, delivery: &Delivery) {
        let line = match delivery {
            Delivery::Event(frame) => {
                self.events.extend(frame.ids());
                event_line(frame)
            }
            Delivery::Line(event) => {
                self.events.push(event.id);
                self.bytes.extend_from_slice(event.line());
                self.bytes.push(b'\n');
                return;
            }
            Delivery::Verdict { ask, origin, ruling, .. } => {
                self.verdicts.push(*ask);
                verdict_line(origin, ruling.behavior)
            }
            // The dialog at the terminal stays: the channel has no word for either.
            Delivery::Attached
            | Delivery::Closed { .. }
            | Delivery::Order { .. }
            | Delivery::Outside { .. }
            | Delivery::TakeBack { .. } => return,
        };
        match line {
            // What goes out alone, most often what is large, is not copied.
            Ok(line) if self.bytes.is_empty() => self.bytes = line,
            Ok(line) => self.bytes.extend_from_slice(&line),
            Err(error) => tracing::error!(%error, "an event could not be written as JSON"),
        }
    }
}
