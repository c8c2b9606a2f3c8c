//! The hooks door: Claude Code's hooks of one session. They carry prompts and events where there is no channel.
//!
//! The process that is attached for the session is the one owner of what waits for it, so that an event takes exactly
//! one road and is handed out once. Every failure here is silence, and silence leaves the client to itself.

mod budget;
mod calls;
mod desk;
mod permission;
mod posted;
mod prompts;
mod socket;
mod telling;
mod wake;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use portcullis_core::{ChatId, EventId, Order, OrderId, OrderOutcome, Ruling, SessionAbout, Source, policy};
use portcullis_wire::hooks::HookCall;
use serde_json::Value;
use tokio::sync::Notify;

use crate::session::link::{Delivery, SessionHandle};
use budget::Budget;
use desk::{Desk, Letter};
pub(crate) use posted::Posted;
use prompts::Prompts;
pub(crate) use socket::{Told, serve, tell};
use telling::Telling;
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
pub(crate) type Judge = Box<dyn Fn(&HookCall) -> policy::Judgement + Send + Sync>;

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
    line: SessionHandle,
    telling: Arc<Telling>,
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
    /// Orders that hold only once hooks are installed.
    unconfirmed_orders: Vec<OrderId>,
    /// What the gate was last told of the session.
    about: SessionAbout,
    /// It may not have heard it.
    about_is_untold: bool,
    /// Conversations that wait for a reply, where their sender is one who must have one.
    owed: Vec<String>,
    settings: Settings,
}

impl State {
    /// Why no tool runs, while the session is stopped.
    fn stopped(&self) -> Option<String> {
        let by = self.stopped_by.as_ref()?;
        Some(format!(
            "{by} has stopped this session from outside. No tool runs until they let it go on: say so, and wait for the \
             user."
        ))
    }
}

impl Room {
    pub(crate) fn new(line: SessionHandle, about: SessionAbout, settings: Settings, judge: Judge) -> Arc<Self> {
        let state = State {
            desk: Desk::new(),
            prompts: Prompts::new(),
            budget: Budget::new(settings.wakes_per_hour),
            is_watched: false,
            is_attended: false,
            heard: Instant::now(),
            stopped_by: None,
            unconfirmed_orders: vec![],
            about,
            about_is_untold: false,
            owed: vec![],
            settings,
        };
        let (takes_events, stir) = (AtomicBool::new(false), Notify::new());
        Arc::new(Self { line, telling: Arc::default(), judge, state: Mutex::new(state), takes_events, stir })
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
            Delivery::Verdict { ask, source: Source::Hook, ruling, .. } => {
                self.state().prompts.answered(ask, *ruling);
                None
            }
            Delivery::Closed { ask, source: Source::Hook, .. } => {
                self.state().prompts.closed(ask);
                None
            }
            Delivery::Order { id, order: Order::Stop { by } } => {
                let mut state = self.state();
                state.stopped_by = Some(by);
                // The client would ask on at its terminal, or run what it asks about once it is allowed there.
                state.prompts.stopped();
                self.confirm_order(&mut state, id);
                None
            }
            Delivery::Order { id, order: Order::Resume } => {
                let mut state = self.state();
                state.stopped_by = None;
                self.confirm_order(&mut state, id);
                None
            }
            other => Some(other),
        }
    }

    /// Says that an order is done: now, or as soon as a hook shows that it can be.
    fn confirm_order(&self, state: &mut State, id: Option<OrderId>) {
        state.unconfirmed_orders.extend(id);
        if !state.desk.has_hooks() {
            return;
        }
        for id in std::mem::take(&mut state.unconfirmed_orders) {
            let handle = self.line.clone();
            tokio::spawn(async move { handle.ordered(Some(id), OrderOutcome::Done).await });
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
        self.confirm_order(&mut state, None);
        self.takes_events.store(state.desk.takes_events(), Ordering::Relaxed);
        news
    }

    /// Tells the gate what changed, if it did.
    async fn describe(&self, change: impl FnOnce(&mut SessionAbout)) {
        let about = {
            let mut state = self.state();
            let mut about = state.about.clone();
            change(&mut about);
            if about == state.about && !state.about_is_untold {
                return;
            }
            state.about = about.clone();
            state.about_is_untold = false;
            about
        };
        if !self.telling.tell(self.line.describe(about)).await {
            self.state().about_is_untold = true;
        }
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
