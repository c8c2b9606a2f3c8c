//! `portcullis ask`: permission prompts, seen and answered from the command line.

mod show;

use std::process::ExitCode;

use clap::Subcommand;
use portcullis_core::{Behavior, shell_word, visible};
use portcullis_wire::api::{AskView, NewVerdict, Recorded};
use portcullis_wire::questions::GivenAnswers;
use serde_json::{Map, Value};

use super::client::{Client, segment};
use super::inside::{InsideAnAgent, refused};
use super::{log_at, say};
use crate::failure::Failure;
use show::{answers, list, whole};

/// See and answer permission prompts
#[derive(clap::Args)]
pub(super) struct Ask {
    #[command(subcommand)]
    what: AskCommand,
}

#[derive(Subcommand)]
enum AskCommand {
    /// List the prompts that are open, with session, risk and what would run, secrets masked
    List {
        /// Also those settled in the last 24 hours, with who said what
        #[arg(long)]
        all: bool,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show the whole input of one prompt, as it will run, with nothing masked
    Show {
        /// The prompt's five letters, its id, or the beginning of one
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
        /// Run with this input instead: the whole JSON object, or for Bash the command alone
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
        /// Print a JSON object: the prompt as it is then
        #[arg(long)]
        json: bool,
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
        /// Print a JSON object: the prompt as it is then
        #[arg(long)]
        json: bool,
    },
}

impl Ask {
    pub(super) fn inside(&self) -> InsideAnAgent {
        match &self.what {
            AskCommand::List { .. } | AskCommand::Show { .. } => InsideAnAgent::Allowed,
            AskCommand::Allow { ask, .. } => refused(format!("allow prompt {ask}")),
            AskCommand::Deny { ask, .. } => refused(format!("deny prompt {ask}")),
        }
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let gate = Client::of_the_gate()?;
        match self.what {
            AskCommand::List { all, json } => {
                let asks: Vec<AskView> = gate.get(if all { "/api/v1/asks" } else { "/api/v1/asks?state=open" }).await?;
                say(&if json { format!("{}\n", serde_json::to_string(&asks)?) } else { list(&asks, all) });
            }
            AskCommand::Show { ask, json } => {
                let ask: AskView = gate.get(&format!("/api/v1/asks/{}", segment(&ask))).await?;
                say(&if json { format!("{}\n", serde_json::to_string(&ask)?) } else { whole(&ask) });
            }
            AskCommand::Allow { ask, why, scope, input, answers, mode, json } => {
                let input = match input {
                    Some(text) => Some(edited(&gate, &ask, &text).await?),
                    None => None,
                };
                let answers = Some(answers).filter(|answers| !answers.is_empty()).map(GivenAnswers::Typed);
                let behavior = Behavior::Allow.name().to_owned();
                let verdict = NewVerdict { behavior, why, scope, input, answers, interrupt: false, mode };
                say(&answer(&gate, &ask, verdict, json).await?);
            }
            AskCommand::Deny { ask, why, interrupt, json } => {
                let behavior = Behavior::Deny.name().to_owned();
                let verdict =
                    NewVerdict { behavior, why, scope: None, input: None, answers: None, interrupt, mode: None };
                say(&answer(&gate, &ask, verdict, json).await?);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Another input: the whole of it as JSON, or for a shell the command alone.
async fn edited(gate: &Client, code: &str, text: &str) -> anyhow::Result<Map<String, Value>> {
    let error = match serde_json::from_str(text) {
        Ok(edited) => return Ok(edited),
        Err(error) => error,
    };
    let ask: AskView = gate.get(&format!("/api/v1/asks/{}", segment(code))).await?;
    match ask.input {
        Some(Value::Object(mut input)) if ask.tool == "Bash" && !text.trim_start().starts_with('{') => {
            input.insert("command".to_owned(), text.into());
            Ok(input)
        }
        _ => {
            let hint =
                "`ask show --json` prints the input; for Bash the command alone is enough, as in --input 'npm test'";
            Err(Failure::new(format!("--input is not a JSON object: {error}"), hint).into())
        }
    }
}

/// What the one who allowed a call has to know of it. Answers are shown as they were understood: one that is no label of
/// the question counts as free words, and a typing error should be seen.
async fn allowed(gate: &Client, code: &str) -> String {
    let ask: Option<AskView> = gate.get(&format!("/api/v1/asks/{code}")).await.ok();
    let caveat = ask.as_ref().and_then(AskView::caveat);
    let caveat = caveat
        .map(|caveat| format!(" But {caveat}: `portcullis ask show {code}` says what becomes of it."))
        .unwrap_or_default();
    match ask.as_ref().and_then(answers) {
        Some(answers) => visible(&format!("Answered {code}.{caveat}\n{answers}\n")),
        None => format!("Allowed {code}.{caveat}\n"),
    }
}

/// Gives the verdict, and says what became of it.
async fn answer(gate: &Client, ask: &str, verdict: NewVerdict, json: bool) -> anyhow::Result<String> {
    let path = format!("/api/v1/asks/{}/verdict", segment(ask));
    let recorded: Recorded = gate.post(&path, &verdict).await.map_err(|error| about(error, ask))?;
    if json {
        let ask: AskView = gate.get(&format!("/api/v1/asks/{}", segment(&recorded.ask))).await?;
        return Ok(format!("{}\n", serde_json::to_string(&ask)?));
    }
    let code = recorded.code;
    Ok(match (recorded.missing, verdict.behavior == Behavior::Deny.name()) {
        (0, false) => allowed(gate, &code).await,
        (0, true) => format!("Denied {code}.\n"),
        (1, _) => format!("Your allow of {code} is recorded. One more person must allow it.\n"),
        (missing, _) => format!("Your allow of {code} is recorded. {missing} more people must allow it.\n"),
    })
}

/// The same error, with this prompt where its hint has a place for a code.
fn about(error: anyhow::Error, ask: &str) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(failure) => {
            let hint = failure.hint().map(|hint| hint.replace("CODE", &shell_word(ask)));
            hint.map_or_else(|| failure.clone().into(), |hint| failure.clone().with_hint(hint).into())
        }
        Err(error) => error,
    }
}
