//! `portcullis __guard`: holds a child for another process of ours. Nobody calls it by hand.

use std::process::ExitCode;

use crate::agents::claude::process::guard::{self, WantedBy};

/// Runs a command, and kills all of it when whoever started this is gone
#[derive(clap::Args)]
pub(super) struct Guard {
    /// In a terminal that an editor has opened
    #[arg(long)]
    terminal: bool,
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Guard {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let Some((program, arguments)) = self.command.split_first() else { return Ok(ExitCode::from(2)) };
        let wanted_by = if self.terminal { WantedBy::Terminal } else { WantedBy::Socket };
        Ok(ExitCode::from(guard::run(program, arguments, wanted_by)?))
    }
}
