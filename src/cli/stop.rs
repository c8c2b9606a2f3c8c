//! `portcullis stop`: stop the gate.

use std::process::ExitCode;
use std::time::Duration;

use portcullis_core::visible;
use portcullis_wire::api::SessionView;

use super::client::{Client, is_away};
use super::{lock, log_at, paths, say};
use crate::failure::Failure;

/// Stop the gate
///
/// Accepted events are in the journal, and sessions attach again to the next gate. A session that is still open starts one
/// at once, and is named: end it first where none is to run.
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
        let open: Vec<&SessionView> = sessions.iter().filter(|session| starts_a_gate(session)).collect();
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
                say(&format!("Stopped the gate (pid {pid}).\n{}", still_open(&open)));
                return Ok(ExitCode::SUCCESS);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Err(stuck(format!("the gate (pid {pid}) was asked to stop and still runs")).into())
    }
}

/// So many open sessions are named.
const MOST_NAMED: usize = 10;

/// Whether its own process is there and comes back to a gate. A client of the gateway goes with the gate.
fn starts_a_gate(session: &SessionView) -> bool {
    session.state == "attached" && session.connected_by != "gateway"
}

/// Which sessions start another gate, and what ends them. `portcullis session end` needs a gate, and finds theirs.
fn still_open(sessions: &[&SessionView]) -> String {
    if sessions.is_empty() {
        return String::new();
    }
    let named = sessions.iter().take(MOST_NAMED).map(|session| {
        let end = match session.driven {
            true => format!("`portcullis session end {}`", session.label),
            false => "end Claude Code in its terminal".to_owned(),
        };
        visible(&format!("  {} ({}): {end}\n", session.label, session.connected_by))
    });
    let more = match sessions.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!("  and {more} more: `portcullis session list`\n"),
    };
    format!(
        "Another gate starts at once, because of sessions that are still open. For none to run, end them and stop again:\n{}{more}",
        named.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(label: &str, connected_by: &str, driven: bool) -> SessionView {
        let view = serde_json::json!({
            "id": "1", "label": label, "state": "attached", "connected_by": connected_by, "since": 0, "driven": driven, "waiting": 0,
            "asks": 0
        });
        serde_json::from_value(view).unwrap()
    }

    #[test]
    fn each_open_session_is_named_with_what_ends_it_up_to_a_bound() {
        let sessions = [session("api", "hooks", false), session("web", "run", true), session("mcp", "gateway", false)];
        let open: Vec<&SessionView> = sessions.iter().filter(|session| starts_a_gate(session)).collect();
        let said = still_open(&open);
        assert!(said.contains("  api (hooks): end Claude Code in its terminal\n"), "{said}");
        assert!(said.ends_with("  web (run): `portcullis session end web`\n"), "{said}");
        let many: Vec<&SessionView> = std::iter::repeat_n(&sessions[0], 12).collect();
        let said = still_open(&many);
        assert!(
            said.matches("(hooks)").count() == 10 && said.ends_with("and 2 more: `portcullis session list`\n"),
            "{said}"
        );
        assert_eq!(still_open(&[]), "");
    }
}
