//! `portcullis ask`: permission prompts, seen and answered from the command line.

use std::process::ExitCode;

use clap::Subcommand;
use portcullis_core::{Behavior, mask, visible};
use portcullis_wire::api::{AskView, NewVerdict, Recorded, ago};

use super::client::Client;
use super::{confirm, log_at, say};
use crate::hub::now;

/// See and answer permission prompts
#[derive(clap::Args)]
pub(super) struct Ask {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the prompts that are open, with secrets masked
    List {
        /// Also those settled in the last 24 hours
        #[arg(long)]
        all: bool,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show one prompt whole, as it will run: nothing in it is masked
    Show {
        /// The prompt's five letters, or its id
        ask: String,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Allow what a prompt asks for, once
    Allow(Verdict),
    /// Deny what a prompt asks for
    Deny(Verdict),
}

#[derive(clap::Args)]
struct Verdict {
    /// The prompt's five letters, or its id
    ask: String,
    /// A word for the record
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
}

impl Ask {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let gate = Client::of_the_gate()?;
        match self.what {
            What::List { all, json } => {
                let asks: Vec<AskView> = gate.get(if all { "/api/v1/asks" } else { "/api/v1/asks?state=open" }).await?;
                say(&if json { format!("{}\n", serde_json::to_string(&asks)?) } else { list(&asks, all) });
            }
            What::Show { ask, json } => {
                let ask: AskView = gate.get(&format!("/api/v1/asks/{}", super::client::segment(&ask))).await?;
                say(&if json { format!("{}\n", serde_json::to_string(&ask)?) } else { whole(&ask) });
            }
            What::Allow(verdict) => answer(&gate, verdict, Behavior::Allow).await?,
            What::Deny(verdict) => answer(&gate, verdict, Behavior::Deny).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn answer(gate: &Client, verdict: Verdict, behavior: Behavior) -> anyhow::Result<()> {
    let Verdict { ask, why } = verdict;
    confirm(&format!("{} prompt {ask}", behavior.name())).await?;
    let path = format!("/api/v1/asks/{}/verdict", super::client::segment(&ask));
    let recorded: Recorded = gate.post(&path, &NewVerdict { behavior: behavior.name().to_owned(), why }).await?;
    say(&format!("{}: {} is on the record.\n", recorded.code, recorded.behavior));
    Ok(())
}

fn list(asks: &[AskView], all: bool) -> String {
    if asks.is_empty() {
        return if all { "No prompts in the last 24 hours.\n" } else { "No prompts are open.\n" }.to_owned();
    }
    let row = |ask: &AskView| {
        let since = ago(now().since(portcullis_core::Moment(ask.at)));
        let (first, _) = mask(ask.description.lines().next().unwrap_or_default());
        format!("{}  {:<9} {:>6} ago  {}: {first}\n", ask.code, ask.state, since, ask.tool)
    };
    visible(&asks.iter().map(row).collect::<String>())
}

fn whole(ask: &AskView) -> String {
    let settled = match (&ask.verdict, &ask.withdrawn) {
        (Some(verdict), _) => {
            let carried =
                if verdict.carried_at.is_some() { "handed to the session" } else { "not yet handed to the session" };
            format!("{} by {} over {}, {carried}", verdict.behavior, verdict.by, verdict.via)
        }
        (None, Some(why)) => format!("withdrawn: {why}"),
        (None, None) => format!("open; answer with `portcullis ask allow {0}` or `portcullis ask deny {0}`", ask.code),
    };
    visible(&format!("{} {}: {}\n\n{}\n\n{settled}\n", ask.code, ask.tool, ask.description, ask.preview))
}
