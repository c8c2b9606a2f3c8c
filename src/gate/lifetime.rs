//! How long a gate runs: until a signal or a request stops it, or until nobody has used it for some time.

use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::Gate;
use crate::hub::{Hub, Usage};

/// Runs the gate until a signal or a request stops it.
pub(crate) async fn until_stopped(gate: Gate) -> anyhow::Result<()> {
    let stop = gate.stop.clone();
    let mut interrupt = signal(SignalKind::interrupt()).context("listening for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("listening for signals")?;
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = stop.cancelled() => {}
        }
        stop.cancel();
    });
    gate.wait().await;
    Ok(())
}

/// Stops a gate that was started for a session when nobody has used it for so long.
pub(crate) async fn stop_when_idle(hub: Hub, idle_time: Duration, stop: CancellationToken) {
    let mut idle_since = tokio::time::Instant::now();
    let look_every = (idle_time / 4).clamp(Duration::from_millis(100), Duration::from_secs(15));
    loop {
        tokio::select! {
            () = tokio::time::sleep(look_every) => {}
            () = stop.cancelled() => return,
        }
        let Ok(usage) = hub.usage().await else { return };
        if usage != Usage::Idle {
            idle_since = tokio::time::Instant::now();
        } else if idle_since.elapsed() >= idle_time {
            tracing::info!("nobody has used the gate for {} s; it stops", idle_time.as_secs());
            stop.cancel();
        }
    }
}
