//! `portcullis mcp status`: the servers as they are, and with `--watch` as they become.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::super::layout::clock;
use super::super::say;
use super::super::signals::stop_on_signals;
use super::list::{self, Condition};
use super::{configuration_again as read, note_problems, upstreams};
use crate::mint::now;
use crate::report::try_say;
use crate::upstream::Upstreams;
use crate::upstream::config::{Configuration, KeptFiles};

/// How often files and states are looked at. Nobody sees a shorter time.
const LOOK: Duration = Duration::from_millis(200);
/// Tried once, and then in the background until it is there.
const TRIES: u32 = 1;

#[derive(clap::Args)]
pub(super) struct Status {
    /// Stay connected, follow the files, and print each server again when something about it changes
    #[arg(long)]
    watch: bool,
    /// Print a JSON array; with --watch a JSON object a line, one for each server that changed
    #[arg(long)]
    json: bool,
}

impl Status {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        match self.watch {
            false => list::run(self.json).await,
            true => self.follow().await,
        }
    }

    async fn follow(&self) -> anyhow::Result<ExitCode> {
        let stop = stop_on_signals()?;
        let kept = KeptFiles::default();
        let (mut files, mut configuration) = read(&kept)?;
        note_problems(&configuration);
        let mut stamp = files.stamp();
        let upstreams = Arc::new(upstreams(&configuration, TRIES).await?);
        connect(&upstreams, &configuration);
        if configuration.servers.is_empty() && !self.json {
            say("No MCP servers are configured here yet. Add one: portcullis mcp add NAME -- COMMAND\n");
        }
        let mut shown: BTreeMap<String, Value> = BTreeMap::new();
        loop {
            if self.show(&configuration, &upstreams, &mut shown).is_err() {
                // Nobody reads any more.
                break;
            }
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(LOOK) => {}
            }
            if files.stamp() != stamp {
                (files, configuration) = read(&kept)?;
                stamp = files.stamp();
                note_problems(&configuration);
                upstreams.reconcile(configuration.upstreams()).await;
                connect(&upstreams, &configuration);
            }
        }
        upstreams.close().await;
        Ok(ExitCode::SUCCESS)
    }

    /// Prints the servers that are not as they were when they were last printed.
    fn show(
        &self,
        configuration: &Configuration,
        upstreams: &Upstreams,
        shown: &mut BTreeMap<String, Value>,
    ) -> std::io::Result<()> {
        let key = |row: &Value| format!("{} {} {}", row["name"], row["layer"], row["file"]);
        let mut current = BTreeMap::new();
        for server in &configuration.servers {
            let condition = Condition::of(server, upstreams);
            let row = list::row(server, &condition);
            if shown.get(&key(&row)) != Some(&row) {
                try_say(&match self.json {
                    true => format!("{row}\n"),
                    false => format!("{}  {}", clock(now().0), list::line(server, &condition)),
                })?;
            }
            current.insert(key(&row), row);
        }
        for (_, gone) in shown.iter().filter(|(key, _)| !current.contains_key(*key)) {
            let name = gone["name"].as_str().unwrap_or_default();
            try_say(&match self.json {
                true => format!("{}\n", serde_json::json!({ "name": name, "layer": gone["layer"], "state": "gone" })),
                false => format!("{}  {name} is gone\n", clock(now().0)),
            })?;
        }
        *shown = current;
        Ok(())
    }
}

/// Connects to all servers, each by itself: one that hangs keeps nobody from seeing the others.
fn connect(upstreams: &Arc<Upstreams>, configuration: &Configuration) {
    for upstream in configuration.upstreams() {
        let (upstreams, name) = (Arc::clone(upstreams), upstream.name.clone());
        tokio::spawn(async move {
            drop(upstreams.connect(&name).await);
            // One that is down is tried until it is there, or somebody signs in.
            drop(Upstreams::recovered(Arc::downgrade(&upstreams), name).await);
        });
    }
}
