//! `portcullis __guard`: holds a child for another process of ours. Nobody calls it by hand.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::agents::claude::process::guard::{self, WantedBy};

/// Runs the command that stands behind `__guard [--terminal PID] --`, and kills all of it when whoever started this is gone. None
/// where the command line is another. There is one guard for each server and each agent, so it is read before all that the
/// other commands need: half of a guard's memory would be the tree of commands.
pub(super) fn run(arguments: &[OsString]) -> Option<anyhow::Result<ExitCode>> {
    let words: Vec<&str> = arguments.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let (wanted_by, command) = match words.as_slice() {
        ["__guard", "--terminal", agent, "--", command @ ..] => {
            (WantedBy::Terminal { agent: agent.parse().ok()? }, command)
        }
        ["__guard", "--", command @ ..] => (WantedBy::Socket, command),
        _ => return None,
    };
    let (program, arguments) = command.split_first()?;
    let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
    Some(guard::run(program, &arguments, wanted_by).map(ExitCode::from))
}
