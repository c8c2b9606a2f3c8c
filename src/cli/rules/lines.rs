//! `portcullis rules check --lines`: what would be decided about each of many inputs.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use anyhow::Context as _;
use portcullis_core::policy::Context;
use portcullis_core::visible;

use super::Check;
use crate::cli::say;
use crate::config::Paths;
use crate::failure::Failure;
use crate::rules::{RealDisk, Rules};

impl Check {
    /// Says a line for every line and mode, in their order, so that a program can hold one against the other.
    pub(super) fn run_lines(&self, paths: &Paths, rules: &Rules, context: &Context, file: &Path) -> anyhow::Result<()> {
        let reading = || format!("reading {}", file.display());
        let lines: Box<dyn BufRead> = if file == Path::new("-") {
            Box::new(io::stdin().lock())
        } else {
            let opened = File::open(file).map_err(|error| {
                Failure::usage(reading(), "name a file that can be read, or - for stdin").because(error)
            })?;
            Box::new(BufReader::new(opened))
        };
        // Many lines are about few files. What lies where is looked up once for all of them.
        let disk = RealDisk::new();
        for line in lines.lines() {
            let line = line.with_context(reading)?;
            // A command of several lines is written in JSON, as one string.
            let text = serde_json::from_str::<String>(&line).unwrap_or(line);
            let input = self.input(&text).or_else(|problem| self.as_text(&text).ok_or(problem))?;
            for (mode, ruling) in self.modes.iter().zip(self.rulings(paths, rules, context, &input, &disk)?) {
                say(&if self.json {
                    format!("{}\n", self.in_json(*mode, &ruling))
                } else {
                    let (decision, why) = (ruling.decision.name(), visible(&ruling.why));
                    format!("{}{decision}: {} ({why})\n", self.in_mode(*mode), visible(&text).replace('\n', "\\n"))
                });
            }
        }
        Ok(())
    }
}
