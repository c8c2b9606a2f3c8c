//! One session of the editor: a task that tells the editor what happens, and has the session do what the editor wants.

mod asking;
mod changing;
mod telling;

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    CreateElicitationResponse, LoadSessionResponse, Notice, NoticeSeverity, PromptResponse, RequestPermissionResponse,
    ResumeSessionResponse, SessionId, SessionInfoUpdate, SessionUpdate, SetSessionConfigOptionResponse,
    SetSessionModeResponse, StopReason,
};
use agent_client_protocol::{Error, Responder, V1};
use portcullis_core::AskId;
use portcullis_wire::control::Message;
use portcullis_wire::front::{Command, PromptWords};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::DropGuard;

use super::client_tools::ClientTools;
use super::editor::Editor;
use super::history;
use super::permissions::ShownPrompts;
use super::servers::EditorServers;
use super::sessions::{Place, Sessions, StartedClient, Wish};
use super::settings::{Settings, commands};
use super::turns::{PromptEnd, Turns};
use super::updates::{Updates, said_by, words};
use crate::agents::claude::process::Beginning;
use crate::fronts::{Launched, Told};
use asking::OpenPrompt;
use changing::SettingChange;
use telling::ToldOfClient;

/// What the editor wants of a session.
pub(super) enum Wanted {
    Prompt {
        words: PromptWords,
        prompter: Prompter,
    },
    /// The editor opens it again, although it runs.
    Open(OpenAnswer),
    Cancel,
    /// The editor takes back the request of one prompt.
    CancelPrompt {
        uuid: String,
    },
    SetMode {
        mode: String,
        answer: SettingResponder,
    },
    SetModel {
        model: String,
        answer: SettingResponder,
    },
    /// A command runs in a terminal of the editor: its call is told first.
    ShowTerminal {
        call: String,
        input: Value,
        told: oneshot::Sender<()>,
    },
    /// The person has answered a prompt, or the editor cannot ask them.
    Permission {
        ask: AskId,
        chosen: Chosen,
    },
}

/// Who wants an answer to a prompt. While there is one, the editor may cancel its request.
pub(super) struct Prompter {
    pub(super) responder: Responder<PromptResponse, V1>,
    pub(super) _is_waiting: DropGuard,
}

/// What the editor brought back from the person.
pub(super) enum Chosen {
    Option(Result<RequestPermissionResponse, Error>),
    Form(Result<CreateElicitationResponse, Error>),
}

/// To whom it is answered that a session is open again; whoever loads it is shown what was said.
pub(super) enum OpenAnswer {
    Load(Responder<LoadSessionResponse, V1>),
    Resume(Responder<ResumeSessionResponse, V1>),
}

impl OpenAnswer {
    pub(super) fn refuse(self, error: Error) {
        match self {
            Self::Load(responder) => drop(responder.respond_with_error(error)),
            Self::Resume(responder) => drop(responder.respond_with_error(error)),
        }
    }
}

/// To whom it is answered that a setting has changed.
pub(super) enum SettingResponder {
    Mode(Responder<SetSessionModeResponse, V1>),
    Option(Responder<SetSessionConfigOptionResponse, V1>),
}

pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) settings: Settings,
    editor: Editor,
    place: Place,
    /// The client's own id of the conversation, which changes when the person clears it.
    conversation: String,
    /// None while no client runs: the next prompt starts one.
    launched: Option<Launched>,
    /// What the client reads when it starts.
    servers: EditorServers,
    /// What the conversation is called, as the editor was told.
    title: Option<String>,
    /// The client has said what it offers.
    is_ready: bool,
    turns: Turns<Prompter>,
    updates: Updates,
    prompts: ShownPrompts,
    told_of_client: ToldOfClient,
    /// What was asked about, until it is settled.
    open: HashMap<AskId, OpenPrompt>,
    /// Changes that the client was asked for, by our numbers.
    changes: HashMap<u64, (SettingChange, SettingResponder)>,
    count: u64,
}

impl Session {
    pub(super) fn new(id: SessionId, editor: Editor, place: Place, started: StartedClient, settings: Settings) -> Self {
        Self {
            settings,
            updates: Updates::new(place.folder.clone()),
            editor,
            place,
            conversation: id.to_string(),
            id,
            launched: Some(started.launched),
            servers: started.servers,
            title: None,
            is_ready: false,
            turns: Turns::new(),
            prompts: ShownPrompts::default(),
            told_of_client: ToldOfClient::default(),
            open: HashMap::new(),
            changes: HashMap::new(),
            count: 0,
        }
    }

    /// Until the editor no longer wants the session. `back` is how its answers to prompts come back here.
    pub(super) async fn run(
        mut self,
        sessions: Arc<Sessions>,
        mut wants: mpsc::Receiver<Wanted>,
        back: mpsc::WeakSender<Wanted>,
    ) {
        loop {
            tokio::select! {
                told = told(&mut self.launched) => match told {
                    Some(told) => self.told(told, &back).await,
                    None => self.client_ended().await,
                },
                wanted = wants.recv() => match wanted {
                    Some(wanted) => self.wanted(wanted, &sessions, &back).await,
                    None => break,
                },
            }
        }
        self.end().await;
    }

    async fn update(&mut self, update: SessionUpdate) {
        self.editor.update(&self.id, update).await;
    }

    async fn update_all(&mut self, updates: Vec<SessionUpdate>) {
        for update in updates {
            self.update(update).await;
        }
    }

    async fn want(&mut self, command: Command) {
        if let Some(launched) = &self.launched {
            // The client may have ended meanwhile; then there is nothing to want.
            drop(launched.command.send(command).await);
        }
    }

    async fn wanted(&mut self, wanted: Wanted, sessions: &Arc<Sessions>, back: &mpsc::WeakSender<Wanted>) {
        match wanted {
            Wanted::Prompt { words, prompter } => self.prompt(words, prompter, sessions, back).await,
            Wanted::Open(answer) => self.show_again(answer).await,
            Wanted::Cancel => self.cancel().await,
            Wanted::CancelPrompt { uuid } => self.cancel_prompt(uuid).await,
            Wanted::SetMode { mode, answer } => self.set(SettingChange::Mode(mode), answer).await,
            Wanted::SetModel { model, answer } => self.set(SettingChange::Model(model), answer).await,
            Wanted::Permission { ask, chosen } => self.chosen(ask, chosen, back).await,
            Wanted::ShowTerminal { call, input, told } => {
                let update = self.updates.terminal(&call, &input);
                self.update_all(update.into_iter().collect()).await;
                // Whoever waits for it may have been interrupted.
                let _unheard = told.send(());
            }
        }
    }

    /// A prompt also starts a client where the last one is gone, and goes on with the conversation there.
    async fn prompt(
        &mut self,
        words: PromptWords,
        prompter: Prompter,
        sessions: &Arc<Sessions>,
        back: &mpsc::WeakSender<Wanted>,
    ) {
        if self.launched.is_none() {
            // The client keeps a conversation from its first line on, whether or not anything was answered.
            let id = self.conversation.clone();
            let from = if history::is_kept(&id) { Beginning::Resumed(id) } else { Beginning::Named(id) };
            // As it was, so that a plan stays one.
            let (mode, model) = (Some(self.settings.mode.clone()), self.settings.chosen_model());
            let tools = ClientTools { editor: self.editor.clone(), session: self.id.clone(), back: back.clone() };
            match sessions.launch(&self.place, Wish { from, mode, model }, tools, None).await {
                Ok(started) => {
                    self.launched = Some(started.launched);
                    self.servers = started.servers;
                }
                Err(error) => return drop(prompter.responder.respond_with_error(error)),
            }
        }
        self.turns.begin(words.uuid.clone().unwrap_or_default(), prompter);
        self.want(Command::Prompt(words)).await;
    }

    /// Shows the session, and what was said in it where that is wanted. What happens from now on follows.
    pub(super) async fn show_again(&mut self, answer: OpenAnswer) {
        let (modes, options) = (self.settings.mode_state(), self.settings.options());
        match answer {
            OpenAnswer::Load(responder) => {
                let folder = self.place.folder.clone();
                history::replay(&self.editor, &self.id, &self.conversation, folder, &self.updates).await;
                drop(responder.respond(LoadSessionResponse::new().modes(modes).config_options(options)));
            }
            OpenAnswer::Resume(responder) => {
                drop(responder.respond(ResumeSessionResponse::new().modes(modes).config_options(options)));
            }
        }
    }

    async fn cancel(&mut self) {
        let waiting = self.turns.cancel();
        if !self.is_ready {
            // The client has taken nothing yet, and will not.
            self.want(Command::Interrupt).await;
            return answer_all(self.turns.fail(&Ok(StopReason::Cancelled)));
        }
        for uuid in waiting {
            self.want(Command::Withdraw { uuid }).await;
        }
        self.want(Command::Interrupt).await;
    }

    /// A prompt that waits is only taken back; one that the client works on ends with its turn.
    async fn cancel_prompt(&mut self, uuid: String) {
        if !self.turns.has(&uuid) {
            return;
        }
        match self.is_ready && self.turns.withdraw(&uuid) {
            true => self.want(Command::Withdraw { uuid }).await,
            false => self.cancel().await,
        }
    }

    async fn told(&mut self, told: Told, back: &mpsc::WeakSender<Wanted>) {
        match told {
            Told::Message { message, .. } => self.message(&message).await,
            Told::Prompt(news) => self.prompt_news(news, back).await,
            Told::Said { by, text, .. } => self.update(said_by(&by, &text)).await,
            Told::Ready(offered) => self.ready(&offered).await,
            Told::Answered { request, refused } => self.changed(request, refused).await,
            Told::Idle => {
                answer_all(self.turns.idle());
                self.show_title().await;
            }
            Told::Notice(text) => self.notice(&text).await,
        }
    }

    async fn ready(&mut self, offered: &Value) {
        self.is_ready = true;
        self.servers.were_read();
        self.settings.ready(offered);
        self.update(commands(&offered["commands"])).await;
        self.show_options().await;
    }

    /// What the conversation is called, once it has a name.
    async fn show_title(&mut self) {
        let title = history::title(&self.conversation);
        if title.is_some() && title != self.title {
            self.title.clone_from(&title);
            self.update(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title))).await;
        }
    }

    async fn message(&mut self, message: &Message) {
        if message.is("system", "init")
            && let Some(conversation) = &message.session_id
        {
            self.conversation.clone_from(conversation);
        }
        let updates = self.updates.of(message);
        self.update_all(updates).await;
        if message.is("system", "commands_changed") && message.commands.is_array() {
            self.update(commands(&message.commands)).await;
        }
        let is_about_mode = message.kind == "system" && matches!(message.subtype.as_deref(), Some("init" | "status"));
        if let Some(mode) = message.permission_mode.as_ref().filter(|_| is_about_mode)
            && *mode != self.settings.mode
        {
            mode.clone_into(&mut self.settings.mode);
            self.show_mode().await;
            self.show_options().await;
        }
        self.news_of_client(message).await;
        if self.turns.is_taken_too_late(message) {
            self.cancel().await;
        }
        answer_all(self.turns.note(message));
    }

    /// What is no word of the model. An editor that shows notices has a place for them.
    async fn notice(&mut self, text: &str) {
        if self.editor.has_notices() {
            let notice = Notice::new(NoticeSeverity::Info, text);
            return self.update(SessionUpdate::Notice(notice)).await;
        }
        tracing::info!("{text}");
    }

    /// The client is gone without being told to. What was wanted of it fails; the next prompt starts another.
    async fn client_ended(&mut self) {
        let Some(launched) = self.launched.take() else { return };
        self.is_ready = false;
        self.servers = EditorServers::default();
        self.prompts.withdraw_all();
        self.open.clear();
        let updates = self.updates.forget_calls();
        self.update_all(updates).await;
        self.end_compaction().await;
        let problem = match launched.running.outcome().await {
            Ok((outcome, _)) => {
                let tail = portcullis_core::visible(&outcome.stderr_tail);
                let what = outcome.problem.unwrap_or_else(|| "Claude Code ended".to_owned());
                if tail.is_empty() { what } else { format!("{what}; it said: {tail}") }
            }
            Err(error) => format!("{error:#}"),
        };
        let problem = format!("{problem}. Your next prompt goes on with the conversation in a new one");
        let ended: PromptEnd = Err(Error::new(-32603, problem.clone()));
        for (_, answer) in self.changes.drain().map(|(_, change)| change) {
            answer.refuse(&problem);
        }
        if !self.turns.is_open() {
            self.update(words(&format!("\n\n{problem}\n\n"))).await;
        }
        answer_all(self.turns.fail(&ended));
    }

    async fn end(mut self) {
        self.prompts.withdraw_all();
        answer_all(self.turns.fail(&Ok(StopReason::Cancelled)));
        let Some(Launched { told, command, running, .. }) = self.launched.take() else { return };
        drop(command.send(Command::End).await);
        drop(told);
        if let Err(error) = running.outcome().await {
            tracing::warn!("ending a session: {error:#}");
        }
    }
}

/// The next that is told; waits for ever where no client runs.
async fn told(launched: &mut Option<Launched>) -> Option<Told> {
    match launched {
        Some(launched) => launched.told.recv().await,
        None => std::future::pending().await,
    }
}

fn answer_all(ended: Vec<(Prompter, PromptEnd)>) {
    for (prompter, ended) in ended {
        drop(prompter.responder.respond_with_result(ended.map(PromptResponse::new)));
    }
}
