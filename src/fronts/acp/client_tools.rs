//! Files and terminals of the editor, for tools that go through it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::schema::{
    ClientCapabilities, CreateTerminalRequest, EnvVariable, KillTerminalRequest, ReadTextFileRequest,
    ReleaseTerminalRequest, SessionId, SessionUpdate, Terminal, TerminalId, TerminalOutputRequest, ToolCallContent,
    ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, WaitForTerminalExitRequest,
    WriteTextFileRequest,
};
use agent_client_protocol::{Error, JsonRpcRequest};
use portcullis_core::visible;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::editor::Editor;
use super::session::Wanted;
use super::{AcpOptions, ClientUse};
use crate::agents::claude::editor::{
    ChangedAt, EditorRequest, EditorTools, ExitStatus, Reach, TerminalCommand, TerminalOutput,
};
use crate::config::{claude_folder, environment};
use crate::gate::reach;

/// What an editor does at once is done within this. A person may have to be asked whether a file is saved.
const TIMEOUT: Duration = Duration::from_secs(60);
/// A terminal that is not needed any more is waited for no longer.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
/// What tools want of the editor, at once.
const QUEUE: usize = 64;

/// The editor, as the tools of one session have it.
pub(super) struct ClientTools {
    pub(super) editor: Editor,
    pub(super) session: SessionId,
    /// The way to the session, which tells of calls before anything else names them.
    pub(super) back: mpsc::WeakSender<Wanted>,
}

impl ClientTools {
    /// What goes through the editor, by what was wanted and what it can; none where nothing does.
    pub(super) fn begin(self, options: &AcpOptions, folders: Vec<PathBuf>) -> Result<Option<EditorTools>, Error> {
        let (files, terminal) = reaches(options, &self.editor.abilities)?;
        if (files, terminal) == (Reach::Nobody, Reach::Nobody) {
            return Ok(None);
        }
        let program = reach::this_program().map_err(|error| Error::new(-32603, format!("{error:#}")))?;
        let (requests, received) = mpsc::channel(QUEUE);
        tokio::spawn(self.serve(received));
        let client_folder = claude_folder(&environment);
        Ok(Some(EditorTools { files, terminal, folders, client_folder, program, requests }))
    }

    /// Until no tool can want anything any more.
    async fn serve(self, mut requests: mpsc::Receiver<EditorRequest>) {
        let tools = Arc::new(self);
        while let Some(request) = requests.recv().await {
            tokio::spawn(Arc::clone(&tools).answer(request));
        }
    }

    async fn answer(self: Arc<Self>, request: EditorRequest) {
        let session = self.session.clone();
        // Whoever wanted it may have been interrupted.
        match request {
            EditorRequest::ReadFile { path, answer } => {
                let read = self.ask(ReadTextFileRequest::new(session, path), TIMEOUT).await;
                drop(answer.send(read.map(|read| read.content)));
            }
            EditorRequest::WriteFile { path, content, call, answer } => {
                let written = self.ask(WriteTextFileRequest::new(session, path.clone(), content), TIMEOUT).await;
                if written.is_ok() {
                    self.show_change(path, call).await;
                }
                drop(answer.send(written.map(drop)));
            }
            EditorRequest::Run { call, input, command, answer } => {
                drop(answer.send(self.run(call, input, command).await));
            }
            EditorRequest::Output { terminal, answer } => {
                let output = self.ask(TerminalOutputRequest::new(session, TerminalId::new(terminal)), TIMEOUT).await;
                drop(answer.send(output.map(|output| TerminalOutput {
                    text: output.output,
                    is_cut: output.truncated,
                    exit: output.exit_status.map(|exit| ExitStatus { code: exit.exit_code, signal: exit.signal }),
                })));
            }
            EditorRequest::WaitForExit { terminal, mut answer } => {
                let request = WaitForTerminalExitRequest::new(session, TerminalId::new(terminal));
                let sent = self.editor.connection.send_request(request);
                let withdraw = sent.cancellation_handle();
                tokio::select! {
                    ended = sent.block_task() => drop(answer.send(ended.map(drop).map_err(|error| in_words(&error)))),
                    () = answer.closed() => drop(withdraw.cancel()),
                }
            }
            EditorRequest::Kill { terminal, answer } => {
                let killed = self.ask(KillTerminalRequest::new(session, TerminalId::new(terminal)), TIMEOUT).await;
                drop(answer.send(killed.map(drop)));
            }
            EditorRequest::Release { terminal, answer } => {
                let request = ReleaseTerminalRequest::new(session, TerminalId::new(terminal));
                drop(answer.send(self.ask(request, RELEASE_TIMEOUT).await.map(drop)));
            }
        }
    }

    async fn ask<R: JsonRpcRequest>(&self, request: R, within: Duration) -> Result<R::Response, String> {
        let asking = self.editor.connection.send_request(request).block_task();
        match tokio::time::timeout(within, asking).await {
            Ok(answer) => answer.map_err(|error| in_words(&error)),
            Err(_) => Err("it does not answer".to_owned()),
        }
    }

    /// Opens a terminal and shows it with its call.
    async fn run(&self, call: String, input: Value, command: TerminalCommand) -> Result<String, String> {
        let environment = command.environment.into_iter().map(|(name, value)| EnvVariable::new(name, value)).collect();
        let request = CreateTerminalRequest::new(self.session.clone(), command.program.display().to_string())
            .args(command.arguments)
            .env(environment)
            .cwd(command.folder)
            .output_byte_limit(command.most_output);
        let terminal = self.ask(request, TIMEOUT).await?.terminal_id;
        if let Some(session) = self.back.upgrade() {
            let (told, is_told) = oneshot::channel();
            let wanted = Wanted::ShowTerminal { call: call.clone(), input, told };
            if session.send(wanted).await.is_ok() {
                drop(is_told.await);
            }
        }
        let content = vec![ToolCallContent::Terminal(Terminal::new(terminal.clone()))];
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress).content(content);
        self.update(call, fields).await;
        Ok(terminal.to_string())
    }

    /// Where a file was changed, as soon as it is.
    async fn show_change(&self, path: PathBuf, changed: ChangedAt) {
        if changed.line.is_some() {
            let locations = vec![ToolCallLocation::new(path).line(changed.line)];
            self.update(changed.call, ToolCallUpdateFields::new().locations(locations)).await;
        }
    }

    async fn update(&self, call: String, fields: ToolCallUpdateFields) {
        let update = SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call, fields));
        self.editor.update(&self.session, update).await;
    }
}

/// What the editor says went wrong, with what it adds to it.
fn in_words(error: &Error) -> String {
    let more = error.data.as_ref().map(|data| format!(" ({data})")).unwrap_or_default();
    visible(&format!("{}{more}", error.message))
}

/// Whether anything goes through an editor that can do this.
pub(super) fn are_used(options: &AcpOptions, abilities: &ClientCapabilities) -> bool {
    reaches(options, abilities).is_ok_and(|reaches| reaches != (Reach::Nobody, Reach::Nobody))
}

/// For whom files and terminals go through the editor.
fn reaches(options: &AcpOptions, abilities: &ClientCapabilities) -> Result<(Reach, Reach), Error> {
    let has_files = abilities.fs.read_text_file && abilities.fs.write_text_file;
    let files = reach_of(options.client_fs, has_files, "--client-fs on: this editor does not read and write files")?;
    let terminals = "--client-terminal on: this editor has no terminals";
    Ok((files, reach_of(options.client_terminal, abilities.terminal, terminals)?))
}

fn reach_of(wanted: ClientUse, can: bool, cannot: &str) -> Result<Reach, Error> {
    match (wanted, can) {
        (ClientUse::Off, _) | (ClientUse::Auto, false) => Ok(Reach::Nobody),
        (ClientUse::Auto, true) => Ok(Reach::MainAgent),
        (ClientUse::On, true) => Ok(Reach::Everybody),
        (ClientUse::On, false) => Err(Error::new(-32602, cannot)),
    }
}
