//! One session of the editor: a task that tells the editor what happens, and has the session do what the editor wants.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    ConfigOptionUpdate, CreateElicitationResponse, CurrentModeUpdate, LoadSessionResponse, Notice, NoticeSeverity,
    PromptResponse, RequestPermissionRequest, RequestPermissionResponse, ResumeSessionResponse, SessionId,
    SessionInfoUpdate, SessionUpdate, SetSessionConfigOptionResponse, SetSessionModeResponse, StopReason,
    ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use agent_client_protocol::{Error, Responder, V1};
use portcullis_core::{AskId, AskKind, Behavior, NewAsk, Text};
use portcullis_wire::control::Message;
use portcullis_wire::front::{Command, PromptNews, Words};
use portcullis_wire::questions::how_to_allow;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use super::editor::Editor;
use super::permissions::{self, ShownPrompts, choices};
use super::servers::ServersFile;
use super::sessions::{Place, Sessions, Started};
use super::settings::{Settings, commands};
use super::turns::{Ended, Turns};
use super::updates::{Updates, said_by, words};
use super::{history, questions, tools};
use crate::agents::claude::process::Beginning;
use crate::fronts::{Launched, Told};

/// What the editor wants of a session.
pub(super) enum Wanted {
    Prompt {
        words: Words,
        prompter: Prompter,
    },
    /// The editor opens it again, although it runs.
    Open(OpenAnswer),
    Cancel,
    SetMode {
        mode: String,
        answer: Answer,
    },
    SetModel {
        model: String,
        answer: Answer,
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
pub(super) enum Answer {
    Mode(Responder<SetSessionModeResponse, V1>),
    Option(Responder<SetSessionConfigOptionResponse, V1>),
}

/// A setting that the client was asked to change.
enum Change {
    Mode(String),
    Model(String),
}

pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) settings: Settings,
    editor: Editor,
    place: Place,
    /// None while no client runs: the next prompt starts one.
    launched: Option<Launched>,
    /// What the client reads when it starts.
    servers: Option<ServersFile>,
    /// What the conversation is called, as the editor was told.
    title: Option<String>,
    /// The client has said what it offers.
    is_ready: bool,
    /// It has had a turn, so that its conversation can be gone on with.
    has_spoken: bool,
    turns: Turns<Prompter>,
    updates: Updates,
    prompts: ShownPrompts,
    /// What was asked about, until it is settled.
    open: HashMap<AskId, NewAsk>,
    /// Changes that the client was asked for, by our numbers.
    changes: HashMap<u64, (Change, Answer)>,
    count: u64,
}

impl Session {
    pub(super) fn new(
        id: SessionId,
        editor: Editor,
        place: Place,
        started: Started,
        settings: Settings,
        has_spoken: bool,
    ) -> Self {
        Self {
            id,
            settings,
            updates: Updates::new(place.folder.clone()),
            editor,
            place,
            launched: Some(started.launched),
            servers: started.servers,
            title: None,
            is_ready: false,
            has_spoken,
            turns: Turns::new(),
            prompts: ShownPrompts::default(),
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
                    Some(wanted) => self.wanted(wanted, &sessions).await,
                    None => break,
                },
            }
        }
        self.end().await;
    }

    async fn update(&mut self, update: SessionUpdate) {
        self.editor.update(&mut self.id, update).await;
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

    async fn wanted(&mut self, wanted: Wanted, sessions: &Arc<Sessions>) {
        match wanted {
            Wanted::Prompt { words, prompter } => self.prompt(words, prompter, sessions).await,
            Wanted::Open(answer) => self.show_again(answer).await,
            Wanted::Cancel => self.cancel().await,
            Wanted::SetMode { mode, answer } => self.set(Change::Mode(mode), answer).await,
            Wanted::SetModel { model, answer } => self.set(Change::Model(model), answer).await,
            Wanted::Permission { ask, chosen } => self.chosen(ask, chosen).await,
        }
    }

    /// A prompt also starts a client where the last one is gone, and goes on with the conversation there.
    async fn prompt(&mut self, words: Words, prompter: Prompter, sessions: &Arc<Sessions>) {
        if self.launched.is_none() {
            let id = self.id.to_string();
            let from = if self.has_spoken { Beginning::Resumed(id) } else { Beginning::Named(id) };
            match sessions.launch(&self.id, &self.place, from).await {
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
                history::replay(&self.editor, &self.id, self.place.folder.clone()).await;
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

    async fn set(&mut self, change: Change, answer: Answer) {
        let refusal = match &change {
            _ if self.launched.is_none() => Some("Claude Code is not running; say something first".to_owned()),
            Change::Mode(mode) if !self.settings.has_mode(mode) => Some(format!("mode {mode:?} is not offered")),
            _ => None,
        };
        if let Some(why) = refusal {
            return answer.refuse(&why);
        }
        self.count += 1;
        let request = self.count;
        let command = match &change {
            Change::Mode(mode) => Command::SetMode { request, mode: mode.clone() },
            Change::Model(model) => {
                Command::SetModel { request, model: Some(model.clone()).filter(|model| model != "default") }
            }
        };
        self.changes.insert(request, (change, answer));
        self.want(command).await;
    }

    /// What became of a change that the editor wanted.
    async fn changed(&mut self, request: u64, refused: Option<String>) {
        let Some((change, answer)) = self.changes.remove(&request) else { return };
        if let Some(why) = refused {
            return answer.refuse(&why);
        }
        let is_mode = matches!(change, Change::Mode(_));
        match change {
            Change::Mode(mode) => self.settings.mode = mode,
            Change::Model(model) => self.settings.set_model(model),
        }
        match answer {
            Answer::Mode(responder) => {
                drop(responder.respond(SetSessionModeResponse::new()));
                self.show_options().await;
            }
            Answer::Option(responder) => {
                drop(responder.respond(SetSessionConfigOptionResponse::new(self.settings.options())));
                if is_mode {
                    self.show_mode().await;
                }
            }
        }
    }

    async fn show_mode(&mut self) {
        let update = CurrentModeUpdate::new(self.settings.mode.clone());
        self.update(SessionUpdate::CurrentModeUpdate(update)).await;
    }

    async fn show_options(&mut self) {
        let update = ConfigOptionUpdate::new(self.settings.options());
        self.update(SessionUpdate::ConfigOptionUpdate(update)).await;
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
        // It has read them.
        self.servers = None;
        self.settings.ready(offered);
        self.update(commands(&offered["commands"])).await;
        self.show_options().await;
    }

    /// What the conversation is called, once it has a name.
    async fn show_title(&mut self) {
        let title = history::title(&self.id);
        if title.is_some() && title != self.title {
            self.title.clone_from(&title);
            self.update(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title))).await;
        }
    }

    async fn message(&mut self, message: &Message) {
        self.has_spoken |= matches!(message.kind.as_str(), "assistant" | "result");
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

    async fn prompt_news(&mut self, news: PromptNews, back: &mpsc::WeakSender<Wanted>) {
        match news {
            PromptNews::Asked { ask, code } => {
                let elsewhere = code.map(|code| how_to_allow(&ask.details, &code.to_string()));
                self.ask(*ask, elsewhere, back).await;
            }
            PromptNews::Ruled { ask, ruling } => {
                self.prompts.withdraw(ask);
                let Some(asked) = self.open.remove(&ask) else { return };
                if ruling.behavior == Behavior::Allow {
                    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
                    let update = ToolCallUpdate::new(call_id(&asked), fields);
                    self.update(SessionUpdate::ToolCallUpdate(update)).await;
                }
            }
            PromptNews::Withdrawn { ask, .. } => {
                self.prompts.withdraw(ask);
                self.open.remove(&ask);
            }
            PromptNews::NotTaken { fault, .. } => {
                self.update(words(&format!("\n\nThe answer was not taken: {}\n\n", fault.message))).await;
            }
        }
    }

    /// Asks the person at the editor. The call is told first: the request names it.
    async fn ask(&mut self, ask: NewAsk, elsewhere: Option<String>, back: &mpsc::WeakSender<Wanted>) {
        let input = input_of(&ask);
        let call = call_id(&ask);
        if let Some(update) = self.updates.call(&call, &ask.tool, &input) {
            self.update(update).await;
        }
        let no_answers = self.launched.as_ref().and_then(|launched| launched.no_answers.clone());
        let is_question = ask.details.kind == AskKind::Question;
        if no_answers.is_none() && is_question && self.editor.has_forms() {
            let sent = self.editor.connection.send_request(questions::form(&self.id, &call, &input));
            self.prompts.show(ask.id, sent.cancellation_handle());
            let id = ask.id;
            self.open.insert(id, ask);
            return bring_back(back, id, async move { Chosen::Form(sent.block_task().await) });
        }
        if no_answers.is_some() || is_question {
            let why = no_answers.map(|why| format!("Not answered here: {why}. ")).unwrap_or_default();
            let how = elsewhere.unwrap_or_else(|| "waiting for an answer elsewhere".to_owned());
            let mut content = tools::content(&ask.tool, &input);
            content.push(tools::plain(&format!("{why}{how}")));
            let fields = ToolCallUpdateFields::new().content(content);
            let update = ToolCallUpdate::new(call, fields);
            self.open.insert(ask.id, ask);
            return self.update(SessionUpdate::ToolCallUpdate(update)).await;
        }
        let fields = ToolCallUpdateFields::new()
            .kind(tools::kind(&ask.tool))
            .status(ToolCallStatus::Pending)
            .title(tools::title(&ask.tool, &input, &self.place.folder))
            .content(Self::asked_content(&ask, &input))
            .locations(tools::locations(&ask.tool, &input))
            .raw_input(input);
        let options = choices(&ask).iter().map(permissions::Choice::option).collect();
        let request = RequestPermissionRequest::new(self.id.clone(), ToolCallUpdate::new(call, fields), options);
        let sent = self.editor.connection.send_request(request);
        self.prompts.show(ask.id, sent.cancellation_handle());
        let id = ask.id;
        self.open.insert(id, ask);
        bring_back(back, id, async move { Chosen::Option(sent.block_task().await) });
    }

    /// What a person has to see to decide: the call, and why it asks.
    fn asked_content(ask: &NewAsk, input: &Value) -> Vec<ToolCallContent> {
        let mut content = tools::content(&ask.tool, input);
        if content.is_empty() || tools::kind(&ask.tool) != ToolKind::Edit {
            let preview = ask.preview.as_str();
            if !preview.is_empty() && ask.details.kind == AskKind::Tool {
                content.push(tools::plain(&format!("```\n{preview}\n```")));
            }
        }
        if let Some(reason) = &ask.details.reason {
            content.push(tools::plain(reason));
        }
        content
    }

    /// The person chose. Whatever was not offered is no answer, and a request that failed leaves the prompt to others.
    async fn chosen(&mut self, ask: AskId, chosen: Chosen) {
        if !self.prompts.answered(ask) {
            return;
        }
        let Some(asked) = self.open.get(&ask) else { return };
        let could_not = |error: Error| format!("the editor could not ask: {}", error.message);
        let ruling = match chosen {
            Chosen::Option(answer) => {
                answer.map_err(could_not).and_then(|answer| permissions::ruling(asked, answer.outcome))
            }
            Chosen::Form(answer) => {
                answer.map_err(could_not).and_then(|answer| questions::ruling(answer, input_of(asked)))
            }
        };
        match ruling {
            Ok(ruling) => self.want(Command::Answer { ask, ruling: Box::new(ruling) }).await,
            Err(why) => self.notice(&format!("{why}; the prompt stays open")).await,
        }
    }

    /// The client is gone without being told to. What was wanted of it fails; the next prompt starts another.
    async fn client_ended(&mut self) {
        let Some(launched) = self.launched.take() else { return };
        self.is_ready = false;
        self.servers = None;
        self.prompts.withdraw_all();
        self.open.clear();
        let updates = self.updates.forget_calls();
        self.update_all(updates).await;
        let problem = match launched.running.outcome().await {
            Ok((outcome, _)) => {
                let tail = portcullis_core::visible(&outcome.stderr_tail);
                let what = outcome.problem.unwrap_or_else(|| "Claude Code ended".to_owned());
                if tail.is_empty() { what } else { format!("{what}; it said: {tail}") }
            }
            Err(error) => format!("{error:#}"),
        };
        let ended: Ended = Err(Error::new(-32603, problem.clone()));
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

impl Answer {
    fn refuse(self, why: &str) {
        let error = Error::new(-32602, why);
        match self {
            Self::Mode(responder) => drop(responder.respond_with_error(error)),
            Self::Option(responder) => drop(responder.respond_with_error(error)),
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

/// Waits for what the editor brings back, past everything else.
fn bring_back(back: &mpsc::WeakSender<Wanted>, ask: AskId, asking: impl Future<Output = Chosen> + Send + 'static) {
    let back = back.clone();
    tokio::spawn(async move {
        let chosen = asking.await;
        if let Some(back) = back.upgrade() {
            drop(back.send(Wanted::Permission { ask, chosen }).await);
        }
    });
}

fn answer_all(ended: Vec<(Prompter, Ended)>) {
    for (prompter, ended) in ended {
        drop(prompter.responder.respond_with_result(ended.map(PromptResponse::new)));
    }
}

/// The call that a prompt is about; a prompt without one has its own id.
fn call_id(ask: &NewAsk) -> String {
    ask.details.tool_use_id.clone().unwrap_or_else(|| ask.id.to_string())
}

fn input_of(ask: &NewAsk) -> Value {
    let text = ask.details.input.as_ref().map(Text::as_str).unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}
