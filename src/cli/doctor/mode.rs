//! The permission mode of each session, and of those that are started here.

use std::path::Path;

use portcullis_wire::api::SessionView;

use super::finding::Finding;
use crate::cli::environment;
use crate::cli::setup::installed::settings_files;

const CHECK: &str = "mode";
const ASK_ANYWAY: &str = "`portcullis rules add ask Bash` asks about commands in every mode";

pub(super) fn look(sessions: &[SessionView], project: &Path) -> Vec<Finding> {
    let attached = sessions.iter().filter(|session| session.state == "attached");
    let of_session = |session: &SessionView| {
        let mode = session.mode.as_deref()?;
        Some(finding(format!("session {} is in {mode} mode", session.label), mode))
    };
    let mut findings: Vec<Finding> = attached.filter_map(of_session).collect();
    // The nearest file decides.
    let settings = settings_files(project, &environment);
    let default = settings
        .iter()
        .rev()
        .find_map(|settings| Some((settings.said["permissions"]["defaultMode"].as_str()?, settings.file.display())));
    findings.push(match default {
        Some((mode, file)) => finding(format!("sessions start in {mode} mode, by {file}"), mode),
        None => Finding::note(
            CHECK,
            "sessions start in auto mode unless told otherwise: Claude Code decides most calls itself",
        )
        .with(ASK_ANYWAY),
    });
    findings
}

fn finding(what: String, mode: &str) -> Finding {
    match mode {
        "default" | "plan" => Finding::ok(CHECK, what),
        "auto" => Finding::note(CHECK, format!("{what}: Claude Code decides most calls itself")).with(ASK_ANYWAY),
        "acceptEdits" => {
            Finding::note(CHECK, format!("{what}: edits in the folder are not asked for")).with(ASK_ANYWAY)
        }
        "bypassPermissions" => Finding::note(CHECK, format!("{what}: Claude Code asks for nothing")).with(ASK_ANYWAY),
        "dontAsk" => Finding::note(CHECK, format!("{what}: what would be asked is denied")).with(ASK_ANYWAY),
        _ => Finding::note(CHECK, what),
    }
}
