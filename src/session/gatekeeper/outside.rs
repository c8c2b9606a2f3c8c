//! The outside guard: who wrote the text from outside that is before the model, and until when that counts. The gate is told,
//! so that the guard holds in the next process of the same conversation as well.

use std::time::Duration;

use portcullis_core::{EventId, Moment, policy};
use portcullis_wire::link::EventFrame;
use tokio::sync::watch;

use crate::session::link::SessionHandle;

/// A client that waits for its hook waits so long for the gate to write down that the guard is up.
const REPORT_TIMEOUT: Duration = Duration::from_millis(100);

/// Whether text from someone who may not direct this session is before the model.
pub(super) struct OutsideGuard {
    state: GuardState,
    /// The last change, and how many there were. The task that tells the gate takes the newest.
    change: watch::Sender<(u64, GuardChange)>,
    /// How many of the changes the gate has been told.
    told: watch::Receiver<u64>,
}

enum GuardState {
    /// Nothing was decided here yet about this conversation: the gate may know of text that another process has read.
    Undecided,
    /// `at` is when the last such text went before the model.
    Raised { sender: String, at: Moment },
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
        Self { state: GuardState::Undecided, change, told }
    }

    /// Texts of events go before the model together: one of someone who only informs is enough to raise the guard. Those of
    /// a person who may direct the session end it, if they were said after the other text went before the model.
    pub(super) fn note_events<'a>(
        &mut self,
        frames: impl IntoIterator<Item = &'a EventFrame<'static>> + Clone,
        now: Moment,
    ) {
        self.note_sent(frames.clone(), now);
        self.note_arrived(frames);
    }

    /// The texts are on their way to the model, and may never arrive: they raise the guard, and do not end it yet.
    pub(super) fn note_sent<'a>(&mut self, frames: impl IntoIterator<Item = &'a EventFrame<'static>>, now: Moment) {
        if let Some(frame) = frames.into_iter().filter(|frame| !frame.directs).last() {
            self.raise(frame.sender.to_string(), now);
        }
    }

    /// The texts that were sent are with the client.
    pub(super) fn note_arrived<'a>(&mut self, frames: impl IntoIterator<Item = &'a EventFrame<'static>>) {
        let mut last = None;
        for frame in frames {
            if !frame.directs {
                return;
            }
            last = Some(frame);
        }
        let Some(frame) = last else { return };
        let said = frame.ids().map(EventId::at).max().unwrap_or_default();
        let is_late = matches!(&self.state, GuardState::Raised { at, .. } if said < *at);
        if !is_late {
            self.end(&frame.sender);
        }
    }

    /// The model opens an event by itself. That raises the guard and never ends it: the model must not find an old event of
    /// the owner to speak for them.
    pub(super) fn note_opened(&mut self, sender: &str, directs: bool, now: Moment) {
        if !directs {
            self.raise(sender.to_owned(), now);
        }
    }

    /// The gate knows that another process of the conversation has read such text. What was decided here since counts more.
    pub(super) fn restore(&mut self, sender: String, now: Moment) {
        match &self.state {
            GuardState::Undecided => self.state = GuardState::Raised { sender, at: now },
            GuardState::Raised { .. } => {}
            GuardState::Ended { by } => self.note(GuardChange::Ended { by: by.clone() }),
        }
    }

    fn raise(&mut self, sender: String, at: Moment) {
        let is_known = matches!(&self.state, GuardState::Raised { sender: known, .. } if *known == sender);
        self.state = GuardState::Raised { sender: sender.clone(), at };
        if !is_known {
            self.note(GuardChange::Read { sender });
        }
    }

    /// A person who may direct the session has spoken.
    pub(super) fn end(&mut self, by: &str) {
        let before = std::mem::replace(&mut self.state, GuardState::Ended { by: by.to_owned() });
        if !matches!(before, GuardState::Ended { .. }) {
            self.note(GuardChange::Ended { by: by.to_owned() });
        }
    }

    /// The conversation is another one. An empty one has nothing before the model; of any other the gate may know more.
    /// The gate decides by itself what becomes of the guard there.
    pub(super) fn on_another_conversation(&mut self, is_empty: bool) {
        if is_empty {
            self.state = GuardState::Ended { by: "/clear".to_owned() };
        } else if !matches!(self.state, GuardState::Raised { .. }) {
            self.state = GuardState::Undecided;
        }
    }

    fn note(&self, change: GuardChange) {
        self.change.send_modify(|(number, last)| {
            *number += 1;
            *last = change;
        });
    }

    /// Ends when the gate has been told, or is not to be reached at once.
    pub(super) fn reported(&self) -> impl Future<Output = ()> + Send + use<> {
        let number = self.change.borrow().0;
        let mut told = self.told.clone();
        async move {
            drop(tokio::time::timeout(REPORT_TIMEOUT, told.wait_for(|told| *told >= number)).await);
        }
    }

    /// Why calls are held up, for the person who is asked.
    pub(super) fn reason(&self) -> Option<String> {
        match &self.state {
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
        OutsideGuard { state: GuardState::Undecided, change, told: watch::channel(0).1 }
    }

    fn event(sender: &'static str, directs: bool, said: u64) -> EventFrame<'static> {
        EventFrame {
            id: EventId::new(Moment(said), 1),
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
        let mut guard = guard();
        assert_eq!(guard.reason(), None);
        guard.note_events(&[event("ci", false, 1)], Moment(2));
        assert_eq!(guard.reason().as_deref(), Some("this turn has read text from ci"));
        guard.note_events(&[event("ci", false, 3), event("ann", true, 4)], Moment(5));
        assert!(guard.reason().is_some(), "both are before the model");
        guard.note_events(&[event("ann", true, 6)], Moment(7));
        assert_eq!((guard.reason(), change(&guard)), (None, GuardChange::Ended { by: "ann".into() }));
    }

    #[test]
    fn words_said_before_the_text_went_before_the_model_do_not_end_the_guard() {
        let mut guard = guard();
        guard.note_events(&[event("ci", false, 1)], Moment(10));
        guard.note_events(&[event("ann", true, 9)], Moment(11));
        assert!(guard.reason().is_some());
    }

    #[test]
    fn an_event_that_the_model_opens_raises_the_guard_and_never_ends_it() {
        let mut guard = guard();
        guard.note_opened("ann", true, Moment(1));
        assert_eq!(guard.reason(), None);
        guard.note_opened("ci", false, Moment(2));
        guard.note_opened("ann", true, Moment(3));
        assert!(guard.reason().is_some());
    }

    #[test]
    fn what_the_gate_remembers_counts_until_something_was_decided_here() {
        let mut fresh = guard();
        fresh.restore("ci".into(), Moment(1));
        assert!(fresh.reason().is_some());
        assert_eq!(change(&fresh), GuardChange::None, "the gate knows");
        let mut spoken_to = guard();
        spoken_to.end("terminal");
        assert_eq!(change(&spoken_to), GuardChange::Ended { by: "terminal".into() }, "the gate may have it up");
        spoken_to.restore("ci".into(), Moment(1));
        assert_eq!(spoken_to.reason(), None);
        assert_eq!(spoken_to.change.borrow().0, 2, "the gate is told again");
        spoken_to.on_another_conversation(false);
        spoken_to.restore("ci".into(), Moment(2));
        assert!(spoken_to.reason().is_some(), "that of the other conversation");
        spoken_to.on_another_conversation(true);
        assert_eq!(spoken_to.reason(), None);
    }
}
