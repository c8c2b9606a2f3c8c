//! `portcullis ask`: permission prompts, seen and answered from the command line.

use std::process::ExitCode;

use clap::Subcommand;
use portcullis_core::{Behavior, mask, visible};
use portcullis_wire::api::{AskView, NewVerdict, Recorded, ago};
use portcullis_wire::questions::{GivenAnswers, Questions};

use super::client::Client;
use super::{confirm, log_at, say};
use crate::failure::Failure;
use crate::hub::now;

/// See and answer permission prompts
#[derive(clap::Args)]
pub(super) struct Ask {
    #[command(subcommand)]
    what: AskCommand,
}

#[derive(Subcommand)]
enum AskCommand {
    /// List the prompts that are open, with secrets masked
    List {
        /// Also those settled in the last 24 hours
        #[arg(long)]
        all: bool,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show the whole input of one prompt, as it will run, with nothing masked
    Show {
        /// The prompt's five letters, or its id
        ask: String,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Allow what a prompt asks for, once
    Allow {
        /// The prompt's five letters, or its id
        ask: String,
        /// The reason, kept in the log
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
        /// Once, for this session or always: `ask show` says what the prompt offers
        #[arg(long, value_name = "SCOPE", value_parser = ["once", "session", "always"])]
        scope: Option<String>,
        /// Run with this input instead: the whole JSON object
        #[arg(long, value_name = "JSON", conflicts_with = "answers")]
        input: Option<String>,
        /// Answer the agent's question with a label, the number of an option or your own words
        ///
        /// Where there are several questions, repeat it as QUESTION=LABEL; a question may be named by its number.
        #[arg(long = "answer", value_name = "[QUESTION=]LABEL")]
        answers: Vec<String>,
        /// The mode that follows a plan: `ask show` says which the prompt offers
        #[arg(long, value_name = "MODE")]
        mode: Option<String>,
    },
    /// Deny what a prompt asks for
    Deny {
        /// The prompt's five letters, or its id
        ask: String,
        /// The reason, told to the agent and kept in the log
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
        /// End the agent's turn as well
        #[arg(long)]
        interrupt: bool,
    },
}

impl Ask {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let gate = Client::of_the_gate()?;
        match self.what {
            AskCommand::List { all, json } => {
                let asks: Vec<AskView> = gate.get(if all { "/api/v1/asks" } else { "/api/v1/asks?state=open" }).await?;
                say(&if json { format!("{}\n", serde_json::to_string(&asks)?) } else { list(&asks, all) });
            }
            AskCommand::Show { ask, json } => {
                let ask: AskView = gate.get(&format!("/api/v1/asks/{}", super::client::segment(&ask))).await?;
                say(&if json { format!("{}\n", serde_json::to_string(&ask)?) } else { whole(&ask) });
            }
            AskCommand::Allow { ask, why, scope, input, answers, mode } => {
                let input = input.map(|input| serde_json::from_str(&input)).transpose();
                let input = input.map_err(|error| {
                    Failure::new(format!("--input is not a JSON object: {error}"), "`ask show --json` prints the input")
                })?;
                let answers = Some(answers).filter(|answers| !answers.is_empty()).map(GivenAnswers::Typed);
                let behavior = Behavior::Allow.name().to_owned();
                answer(&gate, &ask, NewVerdict { behavior, why, scope, input, answers, interrupt: false, mode })
                    .await?;
            }
            AskCommand::Deny { ask, why, interrupt } => {
                let behavior = Behavior::Deny.name().to_owned();
                let verdict =
                    NewVerdict { behavior, why, scope: None, input: None, answers: None, interrupt, mode: None };
                answer(&gate, &ask, verdict).await?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn answer(gate: &Client, ask: &str, verdict: NewVerdict) -> anyhow::Result<()> {
    confirm(&format!("{} prompt {ask}", verdict.behavior)).await?;
    let path = format!("/api/v1/asks/{}/verdict", super::client::segment(ask));
    let recorded: Recorded = gate.post(&path, &verdict).await?;
    let code = recorded.code;
    say(&match (recorded.missing, verdict.behavior == Behavior::Deny.name()) {
        (0, false) => format!("Allowed {code}.\n"),
        (0, true) => format!("Denied {code}.\n"),
        (1, _) => format!("Your allow of {code} is recorded. One more person must allow it.\n"),
        (missing, _) => format!("Your allow of {code} is recorded. {missing} more people must allow it.\n"),
    });
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
    let mut text = format!("{} {}: {}\n\n{}\n\n", ask.code, ask.tool, ask.description, ask.preview);
    let mut line = |words: String| text.push_str(&format!("{words}\n"));
    match &ask.input {
        Some(input) => line(format!("input: {input:#}")),
        None => line("Only a preview is known: the call may do more than it shows.".to_owned()),
    }
    if let Some(risk) = &ask.risk {
        line(format!("risk: {}", risk.in_words()));
    }
    if let Some(reason) = &ask.reason {
        line(format!("asked because: {reason}"));
    }
    if let Some(quorum) = ask.quorum {
        line(format!("{quorum} people must allow it; so far: {}", ask.allowed_by.join(", ")));
    }
    for offer in &ask.offers {
        line(format!("--scope {}: {}", offer.scope, offer.words));
    }
    if ask.held {
        line("held before it runs: without an answer it is denied".to_owned());
    }
    if let Some(until) = ask.answer_by {
        let left = portcullis_core::Moment(until).since(now());
        let otherwise = ask.otherwise.as_deref().unwrap_or_default();
        line(format!("can be answered for {} more; then: {otherwise}", ago(left)));
    }
    if let [first, ..] = ask.modes.as_slice() {
        line(format!("--mode {}: the mode that follows; without it: {first}", ask.modes.join("|")));
    } else if ask.kind == "plan" {
        line("the mode that follows is the client's to choose: the one it had before it planned".to_owned());
    }
    line(settled(ask));
    visible(&text)
}

fn settled(ask: &AskView) -> String {
    match (&ask.verdict, &ask.withdrawn, ask.state.as_str()) {
        (Some(verdict), ..) => {
            let carried = match verdict.confirmation.as_str() {
                "not_confirmed" => "NOT CONFIRMED: nothing shows that the session took it; it can be answered again",
                _ if verdict.carried_at.is_some() => "handed to the session",
                _ => "not yet handed to the session",
            };
            let outcome = verdict.outcome.as_ref().map_or(String::new(), |outcome| format!(", then it {outcome}"));
            let differs = if verdict.differs { "; WARNING: what ran is not what was shown" } else { "" };
            format!("{} by {} over {}, {carried}{outcome}{differs}", verdict.behavior, verdict.by, verdict.via)
        }
        (None, Some(why), _) => format!("withdrawn: {why}"),
        (None, None, "open") if ask.kind == "question" => {
            let questions = Questions::of(&ask.input.clone().unwrap_or_default());
            format!("open; answer with {}, or `portcullis ask deny {}`", questions.how_to_answer(&ask.code), ask.code)
        }
        (None, None, "open") => {
            format!("open; answer with `portcullis ask allow {0}` or `portcullis ask deny {0}`", ask.code)
        }
        (None, None, state) => state.to_owned(),
    }
}
