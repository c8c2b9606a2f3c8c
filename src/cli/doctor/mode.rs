//! The permission mode of each session, and of those that are started here.

use std::path::Path;

use portcullis_core::policy::mode_in_words;
use portcullis_wire::api::SessionView;

use super::finding::Finding;
use crate::cli::environment;
use crate::cli::setup::installed::settings_files;

const CHECK: &str = "mode";

pub(super) fn look(sessions: &[SessionView], project: &Path) -> Vec<Finding> {
    let attached = sessions.iter().filter(|session| session.state == "attached");
    let of_session = |session: &SessionView| {
        let words = session.standing_in_words()?;
        Some(finding(format!("session {}: {words}", session.label), session.mode.as_deref().unwrap_or_default()))
    };
    let mut findings: Vec<Finding> = attached.filter_map(of_session).collect();
    // The nearest file decides.
    let settings = settings_files(project, &environment);
    let default = settings
        .iter()
        .rev()
        .find_map(|settings| Some((settings.said["permissions"]["defaultMode"].as_str()?, settings.file.display())));
    findings.push(match default {
        Some((mode, file)) => finding(format!("sessions start in {}, by {file}", mode_in_words(mode)), mode),
        None => Finding::note(CHECK, format!("unless told otherwise, sessions start in {}", mode_in_words("auto"))),
    });
    findings
}

/// In these modes Claude Code asks about commands by itself.
fn finding(what: String, mode: &str) -> Finding {
    match mode {
        "default" | "manual" | "plan" => Finding::ok(CHECK, what),
        _ => Finding::note(CHECK, what),
    }
}
