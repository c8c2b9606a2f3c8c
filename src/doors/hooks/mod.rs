//! The hooks door: Claude Code's hooks of one session. They carry prompts and events where there is no channel.
//!
//! The process that is attached for the session is the one owner of what waits for it, so that an event takes exactly
//! one road and is handed out once. Every failure here is silence, and silence leaves the client to itself.

mod budget;
mod desk;
mod permission;
mod posted;
mod prompts;
mod socket;
mod wake;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use portcullis_core::{CallOutcome, ChatId, EventId, Mouth, Order, Ruling, SessionAbout, Text, ToolCall, excerpt};
use portcullis_wire::hooks::{self, HookCall, HookEvent};
use portcullis_wire::preview::preview;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::hub::{Delivery, Line};
use budget::Budget;
use desk::{Desk, Letter};
use portcullis_core::policy;
pub(crate) use posted::Posted;
use prompts::{Called, Prompts};
pub(crate) use socket::{Told, serve, tell};
pub(crate) use wake::{Announced, announce, announcement_of, forget, keep_awake};

/// What the owner may set.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// How often one sender may wake the session in an hour.
    pub(crate) wakes_per_hour: usize,
    /// Senders who are to be answered before the session stops.
    pub(crate) must_reply: Vec<String>,
}

/// What the owner's rules say of a call, as their files are now.
pub(crate) type Judge = Box<dyn Fn(&HookCall) -> policy::Ruling + Send + Sync>;

/// What a hook is answered.
#[derive(Debug, Default)]
pub(crate) struct HookAnswer {
    /// As the client reads it; null for nothing.
    pub(crate) output: Value,
    /// To be settled when the output is with the client, or is not.
    pub(crate) receipt: Option<u64>,
}

impl HookAnswer {
    fn saying(output: Value) -> Self {
        Self { output, receipt: None }
    }
}

/// The hooks of one session.
pub(crate) struct Room {
    line: Line,
    judge: Judge,
    state: Mutex<State>,
    /// Events go through hooks. A copy of what the desk says, for those who look with every event.
    takes_events: AtomicBool,
    /// Something waits, or the session has come to rest.
    stir: Notify,
}

struct State {
    desk: Desk,
    prompts: Prompts<Ruling>,
    budget: Budget,
    /// The client watches the session's wake file.
    is_watched: bool,
    /// Somebody sits at the session's terminal, as far as we were told.
    is_attended: bool,
    /// When a hook last called. A turn that was interrupted at the terminal ends without one.
    heard: Instant,
    /// Who stopped the session from outside, while it is.
    stopped_by: Option<String>,
    /// What the gate was last told of the session.
    about: SessionAbout,
    /// Conversations that wait for a reply, where their sender is one who must have one.
    owed: Vec<String>,
    settings: Settings,
}

/// As much of a call goes on the record.
const LONGEST_RECORD: usize = 4 << 10;

impl Room {
    pub(crate) fn new(line: Line, about: SessionAbout, settings: Settings, judge: Judge) -> Arc<Self> {
        let state = State {
            desk: Desk::new(),
            prompts: Prompts::new(),
            budget: Budget::new(settings.wakes_per_hour),
            is_watched: false,
            is_attended: false,
            heard: Instant::now(),
            stopped_by: None,
            about,
            owed: vec![],
            settings,
        };
        let (takes_events, stir) = (AtomicBool::new(false), Notify::new());
        Arc::new(Self { line, judge, state: Mutex::new(state), takes_events, stir })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what is for hooks. What it gives back is for the channel.
    pub(crate) fn take(&self, delivery: Delivery) -> Option<Delivery> {
        match delivery {
            Delivery::Event { ids, frame } if self.takes_events.load(Ordering::Relaxed) => {
                self.state().desk.put(Letter { ids, frame });
                self.stir.notify_one();
                None
            }
            Delivery::Event { ref ids, ref frame } => {
                self.state().desk.pushed(ids, &frame.chat);
                Some(delivery)
            }
            Delivery::Verdict { ask, mouth: Mouth::Hook, ruling, .. } => {
                self.state().prompts.answered(ask, *ruling);
                None
            }
            Delivery::Closed { ask, mouth: Mouth::Hook, .. } => {
                self.state().prompts.closed(ask);
                None
            }
            Delivery::Order(Order::Stop { by }) => {
                self.state().stopped_by = Some(by);
                None
            }
            Delivery::Order(Order::Resume) => {
                self.state().stopped_by = None;
                None
            }
            other => Some(other),
        }
    }

    /// Hooks are installed for this session, and its wake file is watched or not.
    pub(crate) async fn is_installed(&self, is_watched: bool) {
        if self.note_installed(is_watched) {
            self.describe(|about| about.connected_by = "hooks".to_owned()).await;
        }
    }

    /// The same before anything else: what waits for the session must not be pushed where nobody may be listening.
    /// True when it is news to the gate.
    pub(crate) fn note_installed(&self, is_watched: bool) -> bool {
        let mut state = self.state();
        state.is_watched |= is_watched;
        state.is_attended |= is_watched;
        state.heard = Instant::now();
        let news = state.desk.hooked() && state.desk.takes_events();
        self.takes_events.store(state.desk.takes_events(), Ordering::Relaxed);
        news
    }

    /// Tells the gate what changed, if it did.
    async fn describe(&self, change: impl FnOnce(&mut SessionAbout)) {
        let about = {
            let mut state = self.state();
            let mut about = state.about.clone();
            change(&mut about);
            if about == state.about {
                return;
            }
            state.about = about.clone();
            about
        };
        self.line.describe(about).await;
    }

    /// Somebody sits at its terminal.
    fn is_attended(&self) {
        self.state().is_attended = true;
    }

    fn has_prompts(&self) -> bool {
        self.state().prompts.are_open()
    }

    /// The model replied to a conversation.
    pub(crate) fn replied(&self, chat: &ChatId) {
        let mut state = self.state();
        state.desk.heard(|_, pushed| pushed == chat.as_str());
        state.owed.retain(|owed| owed != chat.as_str());
        self.takes_events.store(state.desk.takes_events(), Ordering::Relaxed);
    }

    /// The model opened an event.
    pub(crate) fn opened(&self, event: EventId) {
        let mut state = self.state();
        state.desk.heard(|pushed, _| pushed == event);
        self.takes_events.store(state.desk.takes_events(), Ordering::Relaxed);
    }

    /// What a hook is to be told. Waits with a prompt until it is answered, closed or taken back.
    pub(crate) async fn call(&self, call: HookCall, taken_back: &CancellationToken) -> HookAnswer {
        self.is_installed(false).await;
        if let Some(mode) = &call.permission_mode
            && call.agent_id.is_none()
        {
            self.describe(|about| about.mode = Some(mode.clone())).await;
        }
        match call.event {
            HookEvent::PermissionRequest => self.permission(call, taken_back).await,
            HookEvent::PreToolUse => self.before_tool(&call),
            HookEvent::PostToolUse | HookEvent::PostToolUseFailure => self.after_tool(&call).await,
            HookEvent::PermissionDenied => {
                self.tool_ended(&call).await;
                HookAnswer::default()
            }
            HookEvent::UserPromptSubmit => self.prompted(&call).await,
            HookEvent::Stop => self.stops(&call).await,
            HookEvent::SubagentStop => {
                let agent = call.agent_id.clone();
                self.close_prompts(|asking| asking.is_some() && asking == agent.as_deref(), "the subagent ended").await;
                HookAnswer::default()
            }
            HookEvent::SessionStart => self.starts(&call).await,
            HookEvent::SessionEnd => {
                self.close_prompts(|_| true, "the session ended").await;
                HookAnswer::default()
            }
            HookEvent::FileChanged => self.woken(),
            HookEvent::Notification => {
                if call.notification_type.as_deref() == Some("idle_prompt") {
                    self.rests();
                }
                HookAnswer::default()
            }
        }
    }

    /// Nothing runs, and only a wake brings an event before the model.
    fn rests(&self) {
        self.state().desk.pauses();
        self.stir.notify_one();
    }

    fn before_tool(&self, call: &HookCall) -> HookAnswer {
        let mut state = self.state();
        if call.agent_id.is_none() {
            state.desk.works();
        }
        state.prompts.announced(Called::of(call));
        if let Some(by) = &state.stopped_by {
            return HookAnswer::saying(hooks::refuse_tool(&format!(
                "{by} has stopped this session from outside. No tool runs until they let it go on: say so, and wait for \
                 the user."
            )));
        }
        drop(state);
        // Here rules only tighten. What the client lets through by itself never comes to a prompt.
        let ruling = (self.judge)(call);
        match ruling.rule.as_ref().map(|rule| rule.decision) {
            Some(policy::Decision::Deny) => HookAnswer::saying(hooks::refuse_tool(&ruling.why)),
            Some(policy::Decision::Ask) => HookAnswer::saying(hooks::ask_about_tool(&ruling.why)),
            Some(policy::Decision::Allow) | None => HookAnswer::default(),
        }
    }

    async fn after_tool(&self, call: &HookCall) -> HookAnswer {
        self.tool_ended(call).await;
        // What a subagent's hooks say is read by the subagent alone.
        if call.agent_id.is_some() {
            return HookAnswer::default();
        }
        self.state().desk.works();
        self.hand_out(|text| hooks::context(call.event, text))
    }

    async fn prompted(&self, call: &HookCall) -> HookAnswer {
        if call.is_notification() {
            self.state().desk.works();
            return HookAnswer::default();
        }
        self.state().desk.spoken_to();
        self.close_prompts(|asking| asking.is_none(), "the session went on to another prompt").await;
        self.hand_out(|text| hooks::context(HookEvent::UserPromptSubmit, text))
    }

    async fn stops(&self, call: &HookCall) -> HookAnswer {
        if call.agent_id.is_some() {
            return HookAnswer::default();
        }
        self.close_prompts(|asking| asking.is_none(), "the session went on without an answer").await;
        let may_go_on = self.state().desk.stops(call.stop_hook_active);
        if !may_go_on {
            self.stir.notify_one();
            return HookAnswer::default();
        }
        let answer = match self.hand_out(|text| hooks::context(HookEvent::Stop, text)) {
            answer if answer.receipt.is_some() => answer,
            _ => self.remind(),
        };
        if !answer.output.is_null() {
            self.state().desk.kept();
        }
        answer
    }

    /// Whoever must have a reply and has none: the model is told once.
    fn remind(&self) -> HookAnswer {
        let owed = std::mem::take(&mut self.state().owed);
        if owed.is_empty() {
            return HookAnswer::default();
        }
        let chats = owed.iter().map(|chat| format!("{chat:?}")).collect::<Vec<_>>().join(", ");
        let text = format!(
            "Portcullis: a message came with chat_id {chats} and its sender waits for an answer. Text in the terminal \
             does not reach them: call the tool `reply` with that chat_id, then stop."
        );
        HookAnswer::saying(hooks::context(HookEvent::Stop, &text))
    }

    async fn starts(&self, call: &HookCall) -> HookAnswer {
        if let Some(agent_session) = &call.session_id {
            self.describe(|about| about.agent_session = Some(agent_session.clone())).await;
        }
        if call.source.as_deref() != Some("compact") {
            self.state().desk.rests();
            self.close_prompts(|_| true, "the conversation began anew").await;
        }
        self.stir.notify_one();
        HookAnswer::default()
    }

    fn woken(&self) -> HookAnswer {
        self.hand_out(|text| Value::from(text))
    }

    fn hand_out(&self, say: impl FnOnce(&str) -> Value) -> HookAnswer {
        match self.state().desk.hand(&fence) {
            Some((receipt, text)) => HookAnswer { output: say(&text), receipt: Some(receipt) },
            None => HookAnswer::default(),
        }
    }

    /// The tool ran, failed or was refused: whatever was asked about it is settled.
    async fn tool_ended(&self, call: &HookCall) {
        let called = Called::of(call);
        let (open, answered) = {
            let mut state = self.state();
            (state.prompts.made(&called), state.prompts.answered_for(&called))
        };
        let outcome = match call.event {
            HookEvent::PermissionDenied => CallOutcome::Denied,
            HookEvent::PostToolUseFailure => CallOutcome::Failed,
            _ => CallOutcome::Ran,
        };
        let by_rule = self.state().prompts.allowed_by(&called);
        let decided_by = match (open, answered, by_rule) {
            (Some(_), ..) => "terminal".to_owned(),
            (None, Some(_), _) => "hook".to_owned(),
            (None, None, Some(rule)) => format!("rule {rule}"),
            // Its own rules, or its mode: it does not tell hooks which.
            (None, None, None) => "client".to_owned(),
        };
        let shown = preview(&call.tool_name, &call.tool_input);
        self.line
            .called(ToolCall {
                tool: called.tool,
                tool_use: called.tool_use,
                agent: called.agent,
                outcome,
                decided_by,
                digest: Some(called.digest),
                ask: open.or(answered),
                preview: Text::new(excerpt(&shown, Some(LONGEST_RECORD)).0),
            })
            .await;
    }

    async fn close_prompts(&self, concerns: impl Fn(Option<&str>) -> bool, why: &str) {
        let asks = self.state().prompts.went_on(concerns);
        for ask in asks {
            self.line.withdraw(ask, why).await;
        }
    }

    /// The model called what is for hooks alone.
    pub(crate) async fn forged(&self) {
        self.line.barred("call the tool of the hooks").await;
    }

    /// The output is with the client, or is not.
    pub(crate) async fn settle(&self, receipt: u64, written: bool) {
        if !written {
            self.state().desk.lost(receipt);
            self.stir.notify_one();
            return;
        }
        let handed = {
            let mut state = self.state();
            let handed = state.desk.written(receipt);
            for letter in &handed.letters {
                let owes = state.settings.must_reply.iter().any(|sender| *sender == letter.frame.sender);
                let chat = letter.frame.chat.to_string();
                if owes && !state.owed.contains(&chat) {
                    state.owed.push(chat);
                }
            }
            handed
        };
        let events: Vec<EventId> = handed.letters.into_iter().flat_map(|letter| letter.ids).collect();
        self.line.wrote(&events, handed.verdict.as_slice());
        self.line.confirm().await;
        // More may wait than went into one answer.
        self.stir.notify_one();
    }
}

/// What nobody outside can know.
fn fence() -> String {
    format!("={:016x}=", getrandom::u64().unwrap_or_default())
}
