//! `portcullis mcp call`: one call of one tool.

use std::process::ExitCode;
use std::time::Duration;

use portcullis_core::{shell_words, visible};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::super::{paths, say};
use super::answers::{CallAnswers, is_web_address};
use super::offers::no_such_tool;
use super::{configuration, note_problems, upstreams};
use crate::config::users_texts;
use crate::failure::Failure;
use crate::mint::now;
use crate::report::note;
use crate::upstream::config::{Configuration, ServerStanding, Upstream};
use crate::upstream::shape::{self, ResultFiles};
use crate::upstream::{ADDRESS_FIRST, CallFailure, ListKind, PassedRequest, Upstreams};

/// Tried as often as Claude Code does when it starts.
const TRIES: u32 = 3;

#[derive(clap::Args)]
pub(super) struct McpCall {
    /// The name of the server
    pub(super) server: String,
    /// The tool, by the name that the server gives it
    pub(super) tool: String,
    /// The arguments, as one JSON object
    #[arg(default_value = "{}")]
    arguments: String,
    /// What to answer where the server asks for a form, as one JSON object; fields that are left out have their defaults
    #[arg(long, value_name = "JSON")]
    form: Option<String>,
    /// Agree to open addresses that the server names: they are printed, and the call goes on when the server says so
    #[arg(long)]
    visit: bool,
    /// Print the server's result as JSON, as it came
    #[arg(long)]
    json: bool,
}

/// As often a call is made anew after an address was opened.
const MOST_VISITS: usize = 3;
/// A call that wants more answers than this goes round in a circle.
const MOST_ROUNDS: u32 = 10;
/// A call that is asked for again without a question waits so long, and then twice as long each time.
const ROUND: Duration = Duration::from_millis(100);
/// Steps of progress that may wait to be shown.
const STEPS: usize = 64;

impl McpCall {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let arguments = object(&self.arguments, "the arguments are no JSON object")?;
        let form =
            self.form.as_deref().map(|form| object(form, "the answers for a form are no JSON object")).transpose()?;
        let (_, configuration) = configuration()?;
        note_problems(&configuration);
        ready(&configuration, &self.server)?;
        let (answers, client) = CallAnswers::start(form, self.visit);
        let upstreams = upstreams(&configuration, TRIES).await?;
        upstreams.serve(client);
        let called = self.call(&upstreams, arguments, &answers).await;
        let about_tool = match &called {
            Ok(result) if result.get("isError") == Some(&Value::Bool(true)) => Some(self.hint(&upstreams).await),
            Err(CallFailure::Refused { .. }) => Some(self.hint(&upstreams).await),
            _ => None,
        };
        upstreams.close().await;
        let result = called.map_err(|failure| {
            let hint = match &failure {
                failure if failure.is_needs_auth() => {
                    format!("sign in: portcullis mcp login {}", shell_words(&[&self.server]))
                }
                CallFailure::Refused { code: ADDRESS_FIRST, .. } if self.visit => {
                    "the server wants an address opened again and again, or one that is none of the web: ask whoever runs it"
                        .to_owned()
                }
                CallFailure::Refused { code: ADDRESS_FIRST, .. } => {
                    "the server wants you to open an address first: run this again with --visit".to_owned()
                }
                CallFailure::NoConnection(_) | CallFailure::NotSent(_) => {
                    "see how it is: portcullis mcp list".to_owned()
                }
                CallFailure::UnknownOutcome(_) | CallFailure::Unreadable => {
                    "look at what it did before you call it again: nobody knows whether this was carried out".to_owned()
                }
                _ => about_tool.clone().unwrap_or_else(|| "see how it is: portcullis mcp list".to_owned()),
            };
            Failure::new(format!("calling {} of {}: {}", self.tool, self.server, failure.why()), hint)
        })?;
        let has_failed = result.get("isError").and_then(Value::as_bool).unwrap_or_default();
        if self.json {
            say(&format!("{}\n", serde_json::to_string(&result)?));
        } else {
            let variable = users_texts();
            let tokens = variable("MAX_MCP_OUTPUT_TOKENS").and_then(|tokens| tokens.parse().ok());
            let folder = shape::folder(&paths()?.state_dir);
            let wanted = variable("ENABLE_MCP_LARGE_OUTPUT_FILES");
            let files = ResultFiles::new(folder, &self.server, &self.tool, now().0);
            let mut files = files.keeping_whole(wanted.as_deref());
            let text = shape::shaped(&result, &self.tool, tokens.unwrap_or(shape::USUAL_TOKENS), &mut files)?;
            say(&format!("{}\n", visible(&text)));
        }
        if let Some(hint) = about_tool {
            note(&format!("  hint: {hint}"));
        }
        Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// What to look at when the server does not take the call: whether it has such a tool, or what that takes.
    async fn hint(&self, upstreams: &Upstreams) -> String {
        let tools = upstreams.list(&self.server, ListKind::Tools).await.unwrap_or_default();
        match tools.iter().any(|tool| tool["name"] == self.tool.as_str()) {
            true => {
                format!("see what it takes: portcullis mcp tools {}", shell_words(&[&self.server, &self.tool]))
            }
            false => no_such_tool(tools.iter(), &self.tool, &self.server),
        }
    }

    /// Calls, and calls again after addresses that the server wanted to be opened first.
    async fn call(
        &self,
        upstreams: &Upstreams,
        arguments: Map<String, Value>,
        answers: &CallAnswers,
    ) -> Result<Value, CallFailure> {
        let (progress, mut steps) = mpsc::channel(STEPS);
        let params = [("name".to_owned(), self.tool.clone().into()), ("arguments".to_owned(), arguments.into())];
        let mut passed = PassedRequest {
            of_client: serde_json::Map::new(),
            progress: Some(progress),
            takes_input_required: true,
            ..PassedRequest::plain("tools/call", params.into_iter().collect())
        };
        let shown = tokio::spawn(async move {
            while let Some(step) = steps.recv().await {
                note(&progress_in_words(&step));
            }
        });
        let (mut visits, mut rounds) = (0, 0);
        let called = loop {
            let called = upstreams.request(&self.server, &passed).await;
            match &called {
                Ok(wanted) if wanted.get("resultType").and_then(Value::as_str) == Some("input_required") => {
                    if rounds >= MOST_ROUNDS {
                        break Err(CallFailure::Nonsense(format!("it wants answers more than {MOST_ROUNDS} times")));
                    }
                    answers.provide(&self.server, wanted, &mut passed.params);
                    if !passed.params.contains_key("inputResponses") {
                        tokio::time::sleep(ROUND * 2_u32.pow(rounds)).await;
                    }
                    rounds += 1;
                    continue;
                }
                Err(CallFailure::Refused { code: ADDRESS_FIRST, data: Some(data), .. })
                    if self.visit && visits < MOST_VISITS && has_only_web_addresses(data) =>
                {
                    visit(data, answers).await;
                }
                _ => break called,
            }
            visits += 1;
        };
        drop(passed);
        drop(shown.await);
        called
    }
}

fn wanted_addresses(data: &Value) -> impl Iterator<Item = &Value> {
    data.get("elicitations").and_then(Value::as_array).into_iter().flatten()
}

/// A person opens what they are shown: no address that runs something in their browser, or starts another program.
fn has_only_web_addresses(data: &Value) -> bool {
    wanted_addresses(data).all(|wanted| wanted.get("url").and_then(Value::as_str).is_some_and(is_web_address))
}

/// Shows each address, and waits until the server says that it is done with.
async fn visit(data: &Value, answers: &CallAnswers) {
    for wanted in wanted_addresses(data) {
        let text = |key: &str| wanted.get(key).and_then(Value::as_str).unwrap_or_default();
        note(&format!("open this: {}: {}", visible(text("url")), visible(text("message"))));
        answers.visited(text("elicitationId")).await;
    }
}

fn progress_in_words(step: &Value) -> String {
    let number = |key: &str| step.get(key).and_then(Value::as_f64).map(|number| number.to_string());
    let total = number("total").map(|total| format!(" of {total}")).unwrap_or_default();
    let message = step.get("message").and_then(Value::as_str).map(|text| format!(": {}", visible(text)));
    format!("progress {}{total}{}", number("progress").unwrap_or_default(), message.unwrap_or_default())
}

fn object(text: &str, wrong: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::usage(wrong, r#"write them so: '{"text": "hello"}'"#).because(error))
}

/// The server of this name, if it may be used.
pub(super) fn ready<'a>(configuration: &'a Configuration, name: &str) -> Result<&'a Upstream, Failure> {
    let Some(server) = configuration.find(name) else {
        let known: Vec<&str> = configuration.servers.iter().map(|server| server.name.as_str()).collect();
        let hint = match crate::config::nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => "see what is configured: portcullis mcp list".to_owned(),
        };
        return Err(Failure::usage(format!("no MCP server is called {name:?}"), hint));
    };
    let refused =
        |why: &str, hint: String| Err(Failure::denied(format!("the MCP server {name:?} cannot be used: {why}"), hint));
    match &server.standing {
        ServerStanding::Ready(upstream) => Ok(upstream),
        ServerStanding::Unapproved => refused(
            "nobody approved it as it stands in this project",
            format!(
                "look at it in {}, then run: portcullis mcp approve {}",
                server.file.display(),
                shell_words(&[name])
            ),
        ),
        ServerStanding::Disabled(by) => refused(by, format!("portcullis mcp enable {}", shell_words(&[name]))),
        ServerStanding::Refused(why) => refused(why, "change the list in Claude Code's settings".to_owned()),
        ServerStanding::Bad(wrong) => refused(wrong, format!("mend it in {}", server.file.display())),
        ServerStanding::Hidden(_) => {
            refused("another layer has a server of this name", "portcullis mcp list".to_owned())
        }
    }
}
