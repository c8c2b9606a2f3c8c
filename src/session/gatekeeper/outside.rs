//! The outside guard: who wrote the text from outside that is before the model, and until when that counts. The gate is told,
//! so that the guard holds in the next process of the same conversation as well.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use portcullis_core::{EventId, Moment, policy};
use portcullis_wire::link::EventFrame;
use tokio::sync::watch;

use crate::locks::locked;
use crate::mint::now;
use crate::session::link::SessionHandle;

/// A client that waits for its hook waits so long for the gate to write down that the guard is up.
const REPORT_TIMEOUT: Duration = Duration::from_millis(100);

/// In milliseconds: how long the gate need not be told of further texts of the same sender.
const TOLD_AGAIN: u64 = 1000;

/// Whether text from someone who may not direct this session is before the model.
pub(crate) struct OutsideGuard {
    /// Held for short looks and changes.
    state: Mutex<GuardState>,
    /// How many texts of those who only inform went before the model.
    texts: AtomicU64,
    /// The last change, and how many there were. The task that tells the gate takes the newest.
    change: watch::Sender<(u64, GuardChange)>,
    /// How many of the changes the gate has been told.
    told: watch::Receiver<u64>,
}

enum GuardState {
    /// Nothing was decided here yet about this conversation: the gate may know of text that another process has read.
    Undecided,
    /// `at` is when the last such text went before the model, `told` when the gate was last told of one.
    Raised { sender: String, at: Moment, told: Moment },
    /// By a person who may direct the session, or with the conversation.
    Ended { by: String },
}

/// What the gate is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
enum GuardChange {
    None,
    Read { sender: String },
    Ended { by: String },
}

impl OutsideGuard {
    pub(super) fn new(session: SessionHandle) -> Self {
        let (change, mut changes) = watch::channel((0, GuardChange::None));
        let (tell, told) = watch::channel(0);
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let (number, change) = changes.borrow_and_update().clone();
                let answer = match change {
                    GuardChange::None => continue,
                    GuardChange::Read { sender } => session.outside_read(sender).await,
                    GuardChange::Ended { by } => session.outside_ended(by).await,
                };
                if let Err(fault) = answer {
                    tracing::warn!("the gate was not told about text from outside: {}", fault.message);
                }
                tell.send_replace(number);
            }
        });
        Self { state: Mutex::new(GuardState::Undecided), texts: AtomicU64::new(0), change, told }
    }

    fn state(&self) -> MutexGuard<'_, GuardState> {
        locked(&self.state)
    }

    /// Texts of events go before the model together: one of someone who only informs is enough to raise the guard. Those of
    /// a person who may direct the session end it, if they were said after the other text went before the model.
    pub(crate) fn note_events<'a>(&self, frames: impl IntoIterator<Item = &'a EventFrame<'static>> + Clone) {
        self.note_sent(frames.clone());
        self.note_arrived(frames);
    }

    /// The texts are on their way to the model, and may never arrive: they raise the guard, and do not end it yet.
    pub(crate) fn note_sent<'a>(&self, frames: impl IntoIterator<Item = &'a EventFrame<'static>>) {
        if let Some(frame) = frames.into_iter().filter(|frame| !frame.directs).last() {
            self.raise(&frame.sender);
        }
    }

    /// The texts that were sent together are with the client.
    pub(crate) fn note_arrived<'a>(&self, frames: impl IntoIterator<Item = &'a EventFrame<'static>>) {
        let mut last = None;
        for frame in frames {
            if !frame.directs {
                return;
            }
            last = Some(frame);
        }
        let Some(frame) = last else { return };
        let said = frame.ids().map(EventId::at).max().unwrap_or_default();
        let mut state = self.state();
        let is_late = matches!(&*state, GuardState::Raised { at, .. } if said < *at);
        if !is_late {
            self.end_in(&mut state, &frame.sender);
        }
    }

    /// The model opens an event by itself, or may be shown one that nobody knows it reads. That raises the guard and never
    /// ends it: the model must not find an old event of the owner to speak for them.
    pub(crate) fn note_opened(&self, sender: &str, directs: bool) {
        if !directs {
            self.raise(sender);
        }
    }

    /// The gate knows that another process of the conversation has read such text. What was decided here since counts more.
    pub(crate) fn restore(&self, sender: String) {
        let mut state = self.state();
        match &*state {
            GuardState::Undecided => *state = GuardState::Raised { sender, at: now(), told: now() },
            GuardState::Raised { .. } => {}
            GuardState::Ended { by } => self.note(GuardChange::Ended { by: by.clone() }),
        }
    }

    fn raise(&self, sender: &str) {
        let mut state = self.state();
        self.texts.fetch_add(1, Ordering::Relaxed);
        let at = now();
        // Another process of the conversation may have ended the guard there meanwhile: the gate is told again, now and then.
        let told = match &*state {
            GuardState::Raised { sender: known, told, .. } if known == sender && at.since(*told) < TOLD_AGAIN => *told,
            _ => {
                self.note(GuardChange::Read { sender: sender.to_owned() });
                at
            }
        };
        *state = GuardState::Raised { sender: sender.to_owned(), at, told };
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.raised_at().is_some()
    }

    /// When text from outside last went before the model, while that counts.
    pub(crate) fn raised_at(&self) -> Option<Moment> {
        match &*self.state() {
            GuardState::Raised { at, .. } => Some(*at),
            GuardState::Undecided | GuardState::Ended { .. } => None,
        }
    }

    /// A person who may direct the session has spoken, after so many texts. What came later they have not seen.
    pub(crate) fn end_after(&self, by: &str, texts: u64) {
        let mut state = self.state();
        if self.texts() == texts {
            self.end_in(&mut state, by);
        }
    }

    /// A person who may direct the session has spoken.
    pub(crate) fn end(&self, by: &str) {
        self.end_in(&mut self.state(), by);
    }

    fn end_in(&self, state: &mut GuardState, by: &str) {
        let before = std::mem::replace(state, GuardState::Ended { by: by.to_owned() });
        if !matches!(before, GuardState::Ended { .. }) {
            self.note(GuardChange::Ended { by: by.to_owned() });
        }
    }

    /// The session is in another conversation, of which the gate may know more. It decides by itself what becomes of the
    /// guard there.
    pub(crate) fn on_another_conversation(&self) {
        let mut state = self.state();
        if !matches!(*state, GuardState::Raised { .. }) {
            *state = GuardState::Undecided;
        }
    }

    pub(crate) fn texts(&self) -> u64 {
        self.texts.load(Ordering::Relaxed)
    }

    /// The session is in a conversation that began empty after so many texts. True when no other went there since.
    pub(crate) fn on_cleared(&self, texts: u64) -> bool {
        let mut state = self.state();
        if matches!(*state, GuardState::Raised { .. }) && self.texts() != texts {
            return false;
        }
        *state = GuardState::Ended { by: "/clear".to_owned() };
        true
    }

    /// Called under the lock: the gate hears of changes in the order in which they were made.
    fn note(&self, change: GuardChange) {
        self.change.send_modify(|(number, last)| {
            *number += 1;
            *last = change;
        });
    }

    /// Ends when the gate knows whether text from outside is before the model, or is not to be reached at once.
    pub(crate) async fn reported(&self) {
        let number = self.change.borrow().0;
        let mut told = self.told.clone();
        drop(tokio::time::timeout(REPORT_TIMEOUT, told.wait_for(|told| *told >= number)).await);
    }

    /// Why calls are held up, for the person who is asked.
    pub(super) fn reason(&self) -> Option<String> {
        match &*self.state() {
            GuardState::Raised { sender, .. } => Some(policy::outside_reason(sender)),
            GuardState::Undecided | GuardState::Ended { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> OutsideGuard {
        let (change, _) = watch::channel((0, GuardChange::None));
        OutsideGuard {
            state: Mutex::new(GuardState::Undecided),
            texts: AtomicU64::new(0),
            change,
            told: watch::channel(0).1,
        }
    }

    const BEFORE: Moment = Moment(1);
    const LATER: Moment = Moment(1 << 47);

    fn event(sender: &'static str, directs: bool, said: Moment) -> EventFrame<'static> {
        EventFrame {
            id: EventId::new(said, 1),
            via: "http".into(),
            sender: sender.into(),
            directs,
            chat: "1".into(),
            attributes: vec![].into(),
            text: "x".into(),
            rest: 0,
            redelivered: false,
            reply_to: None,
            also: vec![],
        }
    }

    fn change(guard: &OutsideGuard) -> GuardChange {
        guard.change.borrow().1.clone()
    }

    #[test]
    fn text_of_someone_who_only_informs_counts_until_someone_who_directs_speaks() {
        let guard = guard();
        assert_eq!(guard.reason(), None);
        guard.note_events(&[event("ci", false, BEFORE)]);
        assert_eq!(guard.reason().as_deref(), Some("this turn has read text from ci"));
        guard.note_events(&[event("ci", false, BEFORE), event("ann", true, LATER)]);
        assert!(guard.reason().is_some(), "both are before the model");
        guard.note_events(&[event("ann", true, LATER)]);
        assert_eq!((guard.reason(), change(&guard)), (None, GuardChange::Ended { by: "ann".into() }));
    }

    #[test]
    fn words_said_before_the_text_went_before_the_model_do_not_end_the_guard() {
        let guard = guard();
        guard.note_events(&[event("ci", false, BEFORE)]);
        guard.note_events(&[event("ann", true, BEFORE)]);
        assert!(guard.reason().is_some());
    }

    #[test]
    fn an_event_that_the_model_opens_raises_the_guard_and_never_ends_it() {
        let guard = guard();
        guard.note_opened("ann", true);
        assert_eq!(guard.reason(), None);
        guard.note_opened("ci", false);
        guard.note_opened("ann", true);
        assert!(guard.reason().is_some());
    }

    #[test]
    fn what_the_gate_remembers_counts_until_something_was_decided_here() {
        let fresh = guard();
        fresh.restore("ci".into());
        assert!(fresh.reason().is_some());
        assert_eq!(change(&fresh), GuardChange::None, "the gate knows");
        let spoken_to = guard();
        spoken_to.end("terminal");
        assert_eq!(change(&spoken_to), GuardChange::Ended { by: "terminal".into() }, "the gate may have it up");
        spoken_to.restore("ci".into());
        assert_eq!(spoken_to.reason(), None);
        assert_eq!(spoken_to.change.borrow().0, 2, "the gate is told again");
        spoken_to.on_another_conversation();
        spoken_to.restore("ci".into());
        assert!(spoken_to.reason().is_some(), "that of the other conversation");
        let texts = spoken_to.texts();
        spoken_to.note_opened("ci", false);
        assert!(!spoken_to.on_cleared(texts), "the text went there after it was cleared");
        assert!(spoken_to.reason().is_some());
        assert!(spoken_to.on_cleared(spoken_to.texts()));
        assert_eq!(spoken_to.reason(), None);
    }
}
