//! `portcullis stop`: stop the gate.

use std::process::ExitCode;
use std::time::Duration;

use portcullis_wire::api::SessionView;

use super::client::{Client, is_away};
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
        let sessions: Vec<SessionView> = Client::new(&paths).get("/api/v1/sessions").await.unwrap_or_default();
        let is_there = |session: &SessionView| session.state == "attached";
        let again = match sessions.iter().filter(|session| is_there(session)).count() {
            0 => "",
            _ => " A session that is still open starts another when it needs one.",
        };
        let stuck = |what: String| Failure::new(what, format!("end it with `kill {pid}`; no accepted event is lost"));
        if let Err(error) = Client::new(&paths).command("POST", "/api/v1/stop").await {
            // The gate answered, and said no.
            if error.is::<Failure>() && !is_away(&error) {
                return Err(error);
            }
            return Err(stuck(format!("the gate (pid {pid}) does not answer: {error:#}")).into());
        }
        for _ in 0..1000 {
            if lock::holder(&paths.lock_file).is_none_or(|now| now.pid != pid) {
                say(&format!("Stopped the gate (pid {pid}).{again}\n"));
                return Ok(ExitCode::SUCCESS);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Err(stuck(format!("the gate (pid {pid}) was asked to stop and still runs")).into())
    }
}
