//! `portcullis demo`: the whole loop with a scripted agent, over the same wire Claude Code speaks.

mod agent;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use portcullis_core::{Code, excerpt, visible};
use portcullis_wire::api::{AskView, NewEvent, SessionView, Status};
use portcullis_wire::channel::PermissionRequest;
use serde_json::Value;

use super::client::Client;
use super::reach::Handed;
use super::{curl, log_at, paths, reach, say};
use crate::failure::Failure;
use agent::Agent;

const LABEL: &str = "demo";
/// How long what needs no person may take.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);

/// See the whole loop with a scripted agent, without Claude Code
///
/// Starts `portcullis channel` as Claude Code does and plays the agent: it takes your message, asks for permission to list
/// the files of this folder, does what you say, and replies. The lines to type in a second terminal are printed.
#[derive(clap::Args)]
pub(super) struct Demo {
    /// End after one message
    #[arg(long)]
    once: bool,
    /// Send the first message from here
    #[arg(long, value_name = "TEXT")]
    say: Option<String>,
    /// Give up when nobody sends or answers for so long [default: wait for ever]
    #[arg(long, value_name = "SECONDS", value_parser = super::number::<u64>)]
    timeout: Option<u64>,
}

/// What stays the same through the play.
struct Scene {
    gate: Client,
    status: Status,
    session: String,
    label: String,
    folder: std::path::PathBuf,
    patience: Option<Duration>,
}

impl Demo {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let paths = paths()?;
        let folder = std::env::current_dir().context("finding the working folder")?;
        drop(reach::reach(&paths, Handed::Little).await?);
        let gate = Client::new(&paths);
        let status = gate.status().await?;
        let mut agent =
            tokio::time::timeout(STEP_TIMEOUT, Agent::start(LABEL)).await.context("starting the channel")??;
        let (session, label) = attached(&gate).await?;
        say(&introduction(&status, &session, &label));
        if self.say.is_none() {
            say(&how_to_send(&status, &label));
        }
        say(&how_to_listen(&status));
        if let Some(text) = &self.say {
            let event = NewEvent { text: text.clone(), session: Some(session.clone()), ..NewEvent::default() };
            gate.post::<Value>("/api/v1/events", &event).await.context("sending the first message")?;
        }
        let patience = self.timeout.map(Duration::from_secs);
        let scene = Scene { gate, status, session, label, folder, patience };
        let played = tokio::select! {
            played = scene.play(&mut agent, &self) => played,
            interrupted = tokio::signal::ctrl_c() => interrupted.context("listening for signals"),
        };
        agent.end().await;
        played?;
        say("\nThe demo is over. `portcullis log` shows what was recorded; `portcullis stop` stops the gate.\n");
        Ok(ExitCode::SUCCESS)
    }
}

impl Scene {
    async fn play(&self, agent: &mut Agent, asked_for: &Demo) -> anyhow::Result<()> {
        let mut is_sent = asked_for.say.is_some();
        loop {
            say(if is_sent { "\n" } else { "\nWaiting for a message …\n" });
            let message = self.within(agent.message(), "no message came").await?;
            say(&format!("message  from {}: {}\n", shown(&message.sender), shown(&message.text)));
            let allowed = self.ask(agent).await?;
            let answer = if allowed { listing(&self.folder) } else { "You said no, so nothing was listed.".to_owned() };
            say(&format!("action   {}\n", if allowed { "lists the folder" } else { "none: it was denied" }));
            let sent = agent.reply(&message, &answer).await?;
            say(&format!("reply    {} ({})\n", indented(&answer), shown(&sent)));
            if asked_for.once {
                return Ok(());
            }
            // The next one comes from a terminal.
            if std::mem::take(&mut is_sent) {
                say(&format!("\n{}", how_to_send(&self.status, &self.label)));
            }
        }
    }

    /// Asks as Claude Code does when its permission dialog opens, and waits for what someone says.
    async fn ask(&self, agent: &mut Agent) -> anyhow::Result<bool> {
        let entropy = getrandom::u64().context("choosing a code")?;
        let request = PermissionRequest {
            request_id: Code::from_entropy(entropy).to_string(),
            tool_name: "Bash".to_owned(),
            description: "List the files in this folder".to_owned(),
            input_preview: format!("ls {}", self.folder.display()),
        };
        let (id, preview) = (request.request_id.clone(), request.input_preview.clone());
        agent.ask(request).await?;
        let code = self.code(&id).await;
        let answer = |word: &str| curl::line(&self.status, &format!("-d \"{word} {code}\""), "/");
        say(&format!(
            "prompt   {code}: may the agent run `{}`?\n         allow:  {}\n         deny:   {}\n         or:     \
             portcullis ask allow {code}, portcullis ask deny {code}\n",
            shown(&preview),
            answer("yes"),
            answer("no"),
        ));
        let allowed = self.within(agent.verdict(&id), "nobody answered the prompt").await?;
        say(&format!("verdict  {}\n", if allowed { "allow" } else { "deny" }));
        Ok(allowed)
    }

    /// The code under which people know the prompt: the gate may have had to choose another than ours.
    async fn code(&self, id: &str) -> String {
        for _ in 0..100 {
            let asks: Vec<AskView> = match self.gate.get("/api/v1/asks?state=open").await {
                Ok(asks) => asks,
                // A gate that lets only devices answer does not show its prompts here.
                Err(_) => break,
            };
            if let Some(ask) = asks.into_iter().rev().find(|ask| ask.session == self.session) {
                return ask.code;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        id.to_owned()
    }

    async fn within<T>(&self, wait: impl Future<Output = anyhow::Result<T>>, missed: &str) -> anyhow::Result<T> {
        let Some(patience) = self.patience else { return wait.await };
        tokio::time::timeout(patience, wait).await.unwrap_or_else(|_| {
            let what = format!("{missed} within {} s", patience.as_secs());
            Err(Failure::new(what, "type one of the lines above in another terminal, or leave --timeout off").into())
        })
    }
}

/// Waits until the gate knows our session; its id, and the label that the gate gave it.
async fn attached(gate: &Client) -> anyhow::Result<(String, String)> {
    let give_up = tokio::time::Instant::now() + STEP_TIMEOUT;
    loop {
        let sessions: Vec<SessionView> = gate.get("/api/v1/sessions").await?;
        let is_ours = |session: &SessionView| session.state == "attached" && session.pid == Some(std::process::id());
        if let Some(ours) = sessions.into_iter().find(is_ours) {
            return Ok((ours.id, ours.label));
        }
        if tokio::time::Instant::now() > give_up {
            return Err(
                Failure::new("the channel did not attach to the gate", "`portcullis doctor` may know why").into()
            );
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn introduction(status: &Status, session: &str, label: &str) -> String {
    let gate = status.listen.as_ref().map_or_else(|| status.socket.clone(), |address| format!("http://{address}"));
    format!(
        "This is a scripted agent, not Claude: whatever you send, it asks to list this folder. The way of your message, the \
         prompt and the reply through Portcullis is the real one.

Session {session}, label {label}, is attached to the gate at {gate}.

"
    )
}

fn how_to_send(status: &Status, label: &str) -> String {
    let send = curl::line(status, "-d \"what is here?\"", &format!("/?label={label}"));
    format!("Send it a message from a second terminal:\n  {send}\n")
}

fn how_to_listen(status: &Status) -> String {
    format!("See replies and prompts as others see them:\n  {}\n", curl::line(status, "-N", "/events"))
}

/// A fixed, harmless deed, done here and by no shell.
fn listing(folder: &Path) -> String {
    const MOST: usize = 20;
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return format!("The folder cannot be read: {error}"),
    };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    match (names.is_empty(), more) {
        (true, _) => "The folder is empty.".to_owned(),
        (false, 0) => names.join("\n"),
        (false, more) => format!("{}\nand {more} more", names.join("\n")),
    }
}

/// What came from outside, on one line and unable to draw on the terminal.
fn shown(text: &str) -> String {
    let (start, rest) = excerpt(text, Some(300));
    let start = visible(start).replace(['\n', '\t'], " ");
    if rest > 0 { format!("{start}…") } else { start }
}

fn indented(text: &str) -> String {
    text.lines().map(shown).collect::<Vec<String>>().join("\n         ")
}
