//! Sessions that Portcullis starts itself, for `run`, the page and editors: whether this Claude Code can be driven, and what
//! of it works.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use portcullis_core::visible;

use super::finding::{Blocks, Finding};
use crate::agents::claude::control::{ProbedClient, probe};
use crate::agents::claude::process::find;
use crate::cli::{environment, reach};
use crate::config::Config;
use crate::mint::uuid;

const CHECK: &str = "driven sessions";

/// A folder that is there for as long as something is looked at.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("portcullis-doctor-{}", uuid()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left of it lies where temporary files are removed.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Starts Claude Code as a session does, and lets it go before anything is said to a model.
pub(super) async fn look(config: &Config) -> Vec<Finding> {
    let mut findings = vec![];
    if config.hooks.wakes == 0 {
        let what = "hooks.wakes = 0: no event begins a turn; it waits for the next prompt";
        findings.push(Finding::note("events", what).blocking(Blocks::IdleEvents));
    }
    let Some(claude) = find(&config.claude, environment("PATH")) else {
        // Where it is looked for as everybody does, that was found already.
        if config.claude != Path::new("claude") {
            let what = format!("{} is no program", config.claude.display());
            let remedy = "correct `claude` in the configuration, or PORTCULLIS_CLAUDE";
            findings.push(Finding::warn(CHECK, what, remedy).blocking(Blocks::Driven));
        }
        return findings;
    };
    match try_out(&claude).await {
        Ok(probed) => findings.extend(found(&probed)),
        Err(why) => {
            let what = visible(&format!("{} cannot be driven: {why}", claude.display()));
            findings.push(Finding::warn(CHECK, what, "upgrade it: `claude update`").blocking(Blocks::Driven));
        }
    }
    findings
}

async fn try_out(claude: &Path) -> Result<ProbedClient, String> {
    let program = reach::this_program().map_err(|error| format!("{error:#}"))?;
    let folder = Scratch::new().map_err(|error| format!("a folder to try it in cannot be made: {error}"))?;
    probe(&program, claude, &folder.0).await
}

/// What works, and each thing that does not.
fn found(probed: &ProbedClient) -> Vec<Finding> {
    let ProbedClient { version, takes_hooks, takes_tools, stops } = probed;
    let name = visible(&format!("Claude Code {version}"));
    let missing = [
        (*takes_hooks, "does not ask before it makes a call", Blocks::DrivenPrompts),
        (*takes_tools, "does not offer the model our tools", Blocks::DrivenReplies),
        (*stops, "cannot be interrupted", Blocks::DrivenStop),
    ];
    let missing = missing.into_iter().filter(|(is_there, _, _)| !is_there);
    let mut findings: Vec<Finding> = missing
        .map(|(_, what, blocks)| {
            let remedy = "upgrade it: `claude update`; where it is managed, its settings may forbid it";
            Finding::warn(CHECK, format!("{name} {what}"), remedy).blocking(blocks)
        })
        .collect();
    if findings.is_empty() {
        let what = format!("{name} was started and asked: it has calls judged, takes our tools and can be interrupted");
        findings.push(Finding::ok(CHECK, what));
    }
    findings
}
