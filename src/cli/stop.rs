//! `portcullis stop`: stop the gate.

use std::process::ExitCode;
use std::time::Duration;

use super::client::Client;
use super::{lock, log_at, paths, say};
use crate::failure::Failure;

/// Stop the gate
///
/// Accepted events are in the journal, and sessions attach again to the next gate.
#[derive(clap::Args)]
pub(super) struct Stop {}

impl Stop {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let paths = paths()?;
        let Some(holder) = lock::holder(&paths.lock_file) else {
            say("No gate is running.\n");
            return Ok(ExitCode::SUCCESS);
        };
        let pid = holder.pid;
        let stuck = |what: String| Failure::new(what, format!("end it with `kill {pid}`; no accepted event is lost"));
        if let Err(error) = Client::new(&paths).command("POST", "/api/v1/stop").await {
            // The gate answered, and said no.
            if error.is::<Failure>() {
                return Err(error);
            }
            return Err(stuck(format!("the gate (pid {pid}) does not answer: {error:#}")).into());
        }
        for _ in 0..1000 {
            if lock::holder(&paths.lock_file).is_none_or(|now| now.pid != pid) {
                say(&format!("Stopped the gate (pid {pid}).\n"));
                return Ok(ExitCode::SUCCESS);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Err(stuck(format!("the gate (pid {pid}) was asked to stop and still runs")).into())
    }
}
