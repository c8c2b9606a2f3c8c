//! One session of the editor: a task that tells the editor what happens, and has the session do what the editor wants.

mod asking;
mod changing;
mod client;
mod prompting;
mod telling;
mod wanted;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    LoadSessionResponse, NoticeSeverity, ResumeSessionResponse, SessionId, SessionInfoUpdate, SessionUpdate,
};
use portcullis_core::AskId;
use portcullis_wire::control::Message;
use portcullis_wire::front::Command;
use tokio::sync::mpsc;

use super::cleared::ClearedConversations;
use super::editor::Editor;
use super::history;
use super::permissions::ShownPrompts;
use super::servers::EditorServers;
use super::sessions::{Place, Sessions};
use super::settings::{Settings, commands};
use super::turns::Turns;
use super::updates::{Updates, said_by};
use crate::fronts::{Launched, Told};
use asking::{OpenPrompt, SecondLook};
use changing::SettingChange;
use prompting::answer_all;
use telling::PROGRAM;
pub(super) use wanted::{Chosen, OpenAnswer, Prompter, SettingResponder, Wanted};

pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) settings: Settings,
    editor: Editor,
    place: Place,
    /// The client's own ids of the conversation, which changes when the person clears it; the last goes on.
    conversations: Vec<String>,
    cleared: ClearedConversations,
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
    /// The compaction that goes on, as the editor knows it.
    compaction: Option<String>,
    /// What was asked about, until it is settled.
    open: HashMap<AskId, OpenPrompt>,
    /// What nobody needs an answer to any more: one that is under way is nothing to tell.
    withdrawn: HashSet<AskId>,
    second_look: SecondLook,
    /// Changes that the client was asked for, by our numbers.
    changes: HashMap<u64, (SettingChange, SettingResponder)>,
    count: u64,
}

impl Session {
    /// One without a client.
    pub(super) fn new(
        id: SessionId,
        editor: Editor,
        place: Place,
        settings: Settings,
        cleared: ClearedConversations,
    ) -> Self {
        let conversations = cleared.of(&id);
        Self {
            settings,
            updates: Updates::new(place.folder.clone()),
            editor,
            place,
            conversations,
            cleared,
            id,
            launched: None,
            servers: EditorServers::default(),
            title: None,
            is_ready: false,
            turns: Turns::new(),
            prompts: ShownPrompts::default(),
            compaction: None,
            open: HashMap::new(),
            withdrawn: HashSet::new(),
            second_look: SecondLook::default(),
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

    /// The one that goes on.
    fn conversation(&self) -> &str {
        self.conversations.last().map(String::as_str).unwrap_or_default()
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
            Wanted::SetMode { mode, answer } => self.set(SettingChange::Mode(mode), answer, sessions).await,
            Wanted::SetModel { model, answer } => self.set(SettingChange::Model(model), answer, sessions).await,
            Wanted::Standing { ask, no_answers } => self.standing(ask, no_answers, back).await,
            Wanted::Permission { ask, chosen } => self.chosen(ask, chosen, back).await,
            Wanted::ShowTerminal { call, input, told } => {
                let update = self.updates.terminal(&call, &input);
                self.update_all(update.into_iter().collect()).await;
                // Whoever waits for it may have been interrupted.
                let _unheard = told.send(());
            }
        }
    }

    /// Shows the session, and what was said in it where that is wanted. What happens from now on follows.
    pub(super) async fn show_again(&mut self, answer: OpenAnswer) {
        let (modes, options) = (self.settings.mode_state(), self.settings.options());
        match answer {
            OpenAnswer::Load(responder) => {
                let folder = self.place.folder.clone();
                history::replay(&self.editor, &self.id, &self.conversations, folder, &self.updates).await;
                drop(responder.respond(LoadSessionResponse::new().modes(modes).config_options(options)));
            }
            OpenAnswer::Resume(responder) => {
                drop(responder.respond(ResumeSessionResponse::new().modes(modes).config_options(options)));
            }
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
            Told::Client { notice, .. } => self.told_by_client(&notice).await,
            Told::Notice(text) => self.notice(PROGRAM, &text, NoticeSeverity::Info).await,
        }
    }

    /// What the conversation is called, once it has a name.
    async fn show_title(&mut self) {
        let title = history::title(self.conversation());
        if title.is_some() && title != self.title {
            self.title.clone_from(&title);
            self.update(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title))).await;
        }
    }

    async fn message(&mut self, message: &Message) {
        if message.is("system", "init")
            && let Some(conversation) = message.session_id.as_ref().filter(|id| *id != self.conversation())
        {
            self.conversations.push(conversation.clone());
            if let Err(error) = self.cleared.note(&self.id, conversation) {
                tracing::warn!("a cleared conversation will be shown as it was before: {error}");
            }
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
            self.settings.set_mode(mode.clone());
            self.show_mode().await;
            self.show_options().await;
        }
        if message.is("system", "init")
            && let Some((mode, model)) = message.permission_mode.as_ref().zip(message.model.as_ref())
            && self.settings.turn_begins(mode, model)
        {
            self.show_options().await;
        }
        if let Some(("model", model)) = message.command_run()
            && self.settings.model_is_chosen(model)
        {
            self.show_options().await;
        }
        if self.turns.is_taken_too_late(message) {
            self.cancel().await;
        }
        answer_all(self.turns.note(message));
    }
}

/// The next that is told; waits for ever where no client runs.
async fn told(launched: &mut Option<Launched>) -> Option<Told> {
    match launched {
        Some(launched) => launched.told.recv().await,
        None => std::future::pending().await,
    }
}
