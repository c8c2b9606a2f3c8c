//! Claude Code's hooks of one session: they carry prompts and events where there is no channel.
//!
//! The process that is attached for the session is the one owner of what waits for it, so that an event takes exactly one
//! way and is handed out once. Every failure here is silence, and silence leaves the client to itself.

mod calls;
mod conversations;
mod followed;
mod held;
mod inbox;
mod listen;
mod listener;
mod posted;
mod scheduled;
mod socket;
mod spoken;
mod tool;
mod wake;

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Instant;

use portcullis_core::{ChatId, ConversationOrigin, EventId, Moment, Order, OrderId, OrderOutcome, Source};
use portcullis_wire::link::{EventFrame, LineHead};
use serde_json::Value;
use tokio::sync::Notify;

use crate::agents::claude::transcript::{Follower, Transcripts};
use crate::locks::locked;
use crate::session::gatekeeper::{Gatekeeper, GatekeeperSettings, Judge};
use crate::session::inbox::Inbox;
use crate::session::link::{Delivery, SessionHandle};
use crate::session::tools::Briefing;
pub(crate) use calls::CalledBy;
use conversations::Conversations;
pub(crate) use held::{HeldHooks, listens};
pub(crate) use inbox::HandedOut;
use inbox::HookInbox;
pub(crate) use listen::{HookFiles, Listening};
pub(crate) use posted::PostedHooks;
use scheduled::ScheduledPrompts;
pub(crate) use socket::{HookOutput, HookWait, SessionSocket, Unanswered, call_session};
use spoken::{ClientPlace, Spoken};
pub(crate) use tool::judge_alone;
pub(crate) use wake::{Announced, announce, announcement_of, forget, forget_ended};

/// What the owner may set.
#[derive(Clone, Debug)]
pub(crate) struct HookSettings {
    /// How often one sender may wake the session in an hour.
    pub(crate) wakes_per_hour: usize,
    /// Senders who are to be answered before the session stops.
    pub(crate) must_reply: Vec<String>,
    /// The hooks are posted over HTTP, as the user wrote them down, and not by `install`.
    pub(crate) is_posted: bool,
    /// What the model is told of messages from outside, besides what we say.
    pub(crate) instructions: String,
    pub(crate) gatekeeper: GatekeeperSettings,
    /// Where Claude Code keeps its transcripts.
    pub(crate) transcripts: Option<Transcripts>,
}

#[cfg(test)]
impl HookSettings {
    pub(crate) fn of_tests() -> Self {
        Self {
            wakes_per_hour: 30,
            must_reply: vec![],
            is_posted: false,
            instructions: String::new(),
            gatekeeper: GatekeeperSettings::default(),
            transcripts: None,
        }
    }
}

/// What a hook is answered.
#[derive(Debug, Default)]
pub(crate) struct HookAnswer {
    /// As the client reads it; null for nothing.
    pub(crate) output: Value,
    /// To be settled when the output is with the client, or is not.
    pub(crate) handed_out: HandedOut,
}

impl HookAnswer {
    fn saying(output: Value) -> Self {
        Self { output, handed_out: HandedOut::default() }
    }
}

/// One session, as its hooks see it.
pub(crate) struct HookSession {
    session: SessionHandle,
    gatekeeper: Gatekeeper,
    /// Tells those who look at the session's stream.
    follower: Follower,
    /// The hooks are posted over HTTP, as the user wrote them down.
    is_posted: bool,
    place: ClientPlace,
    transcripts: Option<Transcripts>,
    /// Held for short looks and changes, never while something is awaited.
    state: Mutex<HookState>,
    /// Something waits, or the session has become idle.
    changed: Notify,
}

struct HookState {
    inbox: HookInbox,
    /// The client watches the session's wake file.
    is_watched: bool,
    /// Somebody sits at the session's terminal, as far as we were told.
    is_attended: bool,
    /// When a hook last called. A turn that was interrupted at the terminal ends without one.
    last_call: Instant,
    /// When a prompt or a call was last begun. An interruption that is older is none of this turn.
    begun: Moment,
    /// The client tells when all calls of a message are over.
    tells_batches: bool,
    /// Orders that hold as soon as a hook shows that hooks are installed.
    unconfirmed_orders: Vec<OrderId>,
    /// The client is to call a hook, for that.
    wants_call: bool,
    /// Conversations that wait for a reply, where their sender is one who must have one.
    owed_replies: Vec<String>,
    must_reply: Vec<String>,
    /// What the owner says about messages from outside, where it goes with an event.
    instructions: Option<String>,
    /// The model has been told so in this conversation.
    knows_instructions: bool,
    conversations: Conversations,
    /// Prompts of which the transcript has not told yet who made them, oldest first.
    spoken: Vec<Arc<Spoken>>,
    /// Prompts that the client makes by itself when their time has come.
    scheduled_prompts: ScheduledPrompts,
    /// Who sent what the last wake brought, until the person at the terminal is shown it.
    wake_notice: Option<String>,
}

impl HookState {
    /// Whether an event wakes the session while it is idle. None: nobody knows whether the model reads what the channel
    /// pushes.
    fn wakes(&self) -> Option<bool> {
        if self.inbox.hooks_take_events() {
            Some(self.is_watched)
        } else {
            self.inbox.is_read_from_channel().then_some(true)
        }
    }
}

impl HookSession {
    pub(crate) fn new(session: SessionHandle, settings: HookSettings, judge: Judge) -> Arc<Self> {
        let is_posted = settings.is_posted;
        // Where no server of ours tells the model, it comes with the first event.
        let briefing = Briefing::new(&settings.instructions);
        let instructions = if is_posted { briefing.of_owner() } else { briefing.left_out() };
        let state = HookState {
            inbox: HookInbox::new(Inbox::new(settings.wakes_per_hour)),
            is_watched: false,
            is_attended: false,
            last_call: Instant::now(),
            begun: Moment(0),
            tells_batches: false,
            unconfirmed_orders: vec![],
            wants_call: false,
            conversations: Conversations::with(session.about().agent_session),
            spoken: vec![],
            owed_replies: vec![],
            must_reply: settings.must_reply,
            instructions,
            knows_instructions: false,
            scheduled_prompts: ScheduledPrompts::default(),
            wake_notice: None,
        };
        let gatekeeper = Gatekeeper::new(session.clone(), judge, settings.gatekeeper, None);
        let transcripts = settings.transcripts;
        let (state, changed) = (Mutex::new(state), Notify::new());
        let place = ClientPlace::of_this_process();
        Arc::new_cyclic(|hooks: &Weak<Self>| {
            let hooks = hooks.clone();
            let interrupted = move |at| hooks.upgrade().into_iter().for_each(|hooks| hooks.note_interrupted(at));
            let follower = Follower::start(session.clone(), transcripts.clone(), interrupted);
            Self { session, gatekeeper, follower, is_posted, place, transcripts, state, changed }
        })
    }

    fn state(&self) -> MutexGuard<'_, HookState> {
        locked(&self.state)
    }

    /// Takes what is for hooks. What it gives back is for the channel.
    pub(crate) fn take(&self, delivery: Delivery) -> Option<Delivery> {
        match delivery {
            Delivery::Attached => {
                self.gatekeeper.attached();
                None
            }
            Delivery::Event(frame) => {
                let mut state = self.state();
                if state.inbox.hooks_take_events() {
                    state.inbox.put(frame);
                    self.changed.notify_one();
                    return None;
                }
                state.inbox.note_pushed(frame.ids(), &frame.chat);
                drop(state);
                self.note_pushed(frame.ids(), (&frame.sender, &frame.chat), frame.directs);
                Some(Delivery::Event(frame))
            }
            Delivery::Line(line) => {
                let mut state = self.state();
                if state.inbox.hooks_take_events()
                    && let Some(frame) = line.frame()
                {
                    state.inbox.put(frame);
                    self.changed.notify_one();
                    return None;
                }
                if let Some(LineHead { id, chat, sender, directs }) = line.head() {
                    state.inbox.note_pushed(std::iter::once(id), chat);
                    drop(state);
                    self.note_pushed(std::iter::once(id), (sender, chat), directs);
                }
                Some(Delivery::Line(line))
            }
            Delivery::Verdict { ask, source: Source::Hook, ruling, .. } => {
                self.gatekeeper.verdict(ask, *ruling);
                None
            }
            Delivery::Closed { ask, source: Source::Hook, .. } => {
                self.gatekeeper.closed(ask);
                None
            }
            Delivery::Order { id, order: Order::Stop { by } } => {
                self.gatekeeper.stop(by);
                self.await_hook(id);
                None
            }
            Delivery::Order { id, order: Order::Resume } => {
                self.gatekeeper.resume();
                self.await_hook(id);
                None
            }
            Delivery::Outside { sender } => {
                self.gatekeeper.outside().restore(sender);
                None
            }
            Delivery::TakeBack { event } => {
                self.state().inbox.take_back_event(event);
                None
            }
            other => Some(other),
        }
    }

    /// The channel pushes these. Nobody knows that the model reads them, so that lifts nothing.
    fn note_pushed(&self, ids: impl Iterator<Item = EventId>, (sender, chat): (&str, &str), directs: bool) {
        self.follow_event(ids, sender, chat);
        self.gatekeeper.outside().note_opened(sender, directs);
    }

    /// Keeps an order until a hook calls: only then is it known that the hooks by which it holds are still installed. The
    /// client is made to call one, where it watches the wake file.
    fn await_hook(&self, order: Option<OrderId>) {
        let mut state = self.state();
        // A standing order is told again at each attach.
        if let Some(order) = order.filter(|order| !state.unconfirmed_orders.contains(order)) {
            state.unconfirmed_orders.push(order);
        }
        state.wants_call = true;
        drop(state);
        self.changed.notify_one();
    }

    /// A hook has called, so the orders hold.
    fn confirm_orders(&self, state: &mut HookState) {
        state.wants_call = false;
        for id in std::mem::take(&mut state.unconfirmed_orders) {
            let session = self.session.clone();
            tokio::spawn(async move { session.ordered(Some(id), OrderOutcome::Done).await });
        }
    }

    /// The rules of the session.
    pub(crate) fn judge(&self) -> Judge {
        self.gatekeeper.judge()
    }

    /// Hooks are installed for this session, and its wake file is watched or not.
    pub(crate) fn is_installed(&self, is_watched: bool) {
        let is_news = self.note_installed(is_watched);
        let wakes = self.state().wakes();
        self.session.describe(|about| {
            if is_news {
                about.connected_by = "hooks".to_owned();
            }
            about.wakes = wakes;
        });
    }

    /// The same, as the wake file tells it.
    pub(crate) fn is_announced(&self, announced: Announced) {
        self.is_installed(announced.is_watched);
        if announced.is_forked {
            self.session.describe(|about| about.origin = about.origin.or(Some(ConversationOrigin::Forked)));
        }
    }

    /// The same before anything else: what waits for the session must not be pushed where nobody may be listening.
    /// True when it is news to the gate.
    pub(crate) fn note_installed(&self, is_watched: bool) -> bool {
        let mut state = self.state();
        state.is_watched |= is_watched;
        state.is_attended |= is_watched;
        state.last_call = Instant::now();
        let is_news = state.inbox.note_hooks() && state.inbox.hooks_take_events();
        self.confirm_orders(&mut state);
        is_news
    }

    fn mark_attended(&self) {
        self.state().is_attended = true;
    }

    fn has_open_asks(&self) -> bool {
        self.gatekeeper.has_open_asks()
    }

    /// The model replied to a conversation.
    pub(crate) fn note_reply(&self, chat: &ChatId) {
        let mut state = self.state();
        state.inbox.note_read(|_, pushed| pushed == chat.as_str());
        state.owed_replies.retain(|owed| owed != chat.as_str());
        drop(state);
        self.tell_whether_it_wakes();
    }

    /// The model opened an event.
    pub(crate) fn note_opened(&self, event: EventId, sender: &str, directs: bool) {
        self.gatekeeper.outside().note_opened(sender, directs);
        self.state().inbox.note_read(|pushed, _| pushed == event);
        self.tell_whether_it_wakes();
    }

    fn tell_whether_it_wakes(&self) {
        let wakes = self.state().wakes();
        self.session.describe(|about| about.wakes = wakes);
    }

    /// The model called the tool that is for hooks alone.
    pub(crate) async fn note_forged(&self) {
        self.session.report_denied("call the tool of the hooks").await;
    }

    /// The output is with the client, or is not.
    pub(crate) async fn settle(&self, handed_out: HandedOut, written: bool) {
        if handed_out.is_empty() {
            return;
        }
        if !written {
            let mut state = self.state();
            state.knows_instructions &= !handed_out.with_instructions;
            state.inbox.take_back(handed_out);
            drop(state);
            self.changed.notify_one();
            return;
        }
        self.gatekeeper.outside().note_arrived(&handed_out.events);
        for frame in &handed_out.events {
            self.follow_event(frame.ids(), &frame.sender, &frame.chat);
            let mut state = self.state();
            let owes = state.must_reply.iter().any(|sender| *sender == frame.sender);
            let chat = frame.chat.to_string();
            if owes && !state.owed_replies.contains(&chat) {
                state.owed_replies.push(chat);
            }
        }
        let events: Vec<EventId> = handed_out.events.iter().flat_map(EventFrame::ids).collect();
        self.state().inbox.note_given(&events, handed_out.way);
        self.session.wrote(&events, handed_out.way, handed_out.verdict.as_slice());
        self.session.confirm().await;
        // More may wait than went into one answer.
        self.changed.notify_one();
    }
}
