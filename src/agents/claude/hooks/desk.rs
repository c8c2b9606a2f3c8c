//! What waits for the session, which road it takes, and who was handed what. Decides; does nothing itself.

use std::collections::{HashMap, VecDeque};

use portcullis_core::{AskId, EventId};
use portcullis_wire::envelope::{THROUGH_HOOKS, envelope};
use portcullis_wire::link::EventFrame;

/// The client takes 10,000 letters from one hook and puts what is more into a file.
const ONE_ANSWER: usize = 9_500;
/// The client goes on after a stop at most eight times; what we say at the ninth nobody reads.
const CONTINUATIONS: u8 = 6;
/// Pushes remembered until the model shows that it read one of them.
const PUSHES: usize = 64;

/// An event on its way through hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) ids: Vec<EventId>,
    pub(super) frame: EventFrame<'static>,
}

/// What was given to one hook, to be confirmed when its answer is with the client.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Handed {
    pub(super) letters: Vec<Letter>,
    pub(super) verdict: Option<AskId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Nothing runs: only a wake brings an event before the model.
    Idle,
    Busy,
}

pub(super) struct Desk {
    /// A hook has called: they are installed for this session.
    has_hooks: bool,
    /// The model has answered or opened an event that the channel had pushed.
    channel_is_proven: bool,
    /// What the channel pushed while nobody knew whether it arrives, and whose conversation hooks have not spoken of
    /// since.
    pushed: VecDeque<(EventId, String)>,
    waiting: VecDeque<Letter>,
    /// By the number of the answer they went into.
    handed: HashMap<u64, Handed>,
    answers: u64,
    turn: Turn,
    /// How often the session was kept from stopping since a person spoke.
    continuations: u8,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self {
            has_hooks: false,
            channel_is_proven: false,
            pushed: VecDeque::new(),
            waiting: VecDeque::new(),
            handed: HashMap::new(),
            answers: 0,
            turn: Turn::Idle,
            continuations: 0,
        }
    }

    /// The channel once proven, else hooks where there are any, else the channel.
    pub(super) fn takes_events(&self) -> bool {
        self.has_hooks && !self.channel_is_proven
    }

    pub(super) fn has_hooks(&self) -> bool {
        self.has_hooks
    }

    /// Hooks are installed. True when that is news.
    pub(super) fn hooked(&mut self) -> bool {
        !std::mem::replace(&mut self.has_hooks, true)
    }

    /// The channel takes this one.
    pub(super) fn pushed(&mut self, ids: &[EventId], chat: &str) {
        if self.channel_is_proven {
            return;
        }
        for id in ids {
            self.pushed.push_back((*id, chat.to_owned()));
        }
        while self.pushed.len() > PUSHES {
            self.pushed.pop_front();
        }
    }

    /// The model answered a conversation or opened an event: proof, if it can know of it by the channel alone.
    pub(super) fn heard(&mut self, is_it: impl Fn(EventId, &str) -> bool) {
        if self.pushed.iter().any(|(event, chat)| is_it(*event, chat)) {
            self.channel_is_proven = true;
            self.pushed.clear();
        }
    }

    pub(super) fn put(&mut self, letter: Letter) {
        self.waiting.push_back(letter);
    }

    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.turn == Turn::Idle
    }

    /// Who sent what waits, each once.
    pub(super) fn senders(&self) -> Vec<String> {
        let mut senders: Vec<String> = self.waiting.iter().map(|letter| letter.frame.sender.to_string()).collect();
        senders.sort_unstable();
        senders.dedup();
        senders
    }

    /// Something of a turn was seen.
    pub(super) fn works(&mut self) {
        self.turn = Turn::Busy;
    }

    /// A person spoke.
    pub(super) fn spoken_to(&mut self) {
        self.turn = Turn::Busy;
        self.continuations = 0;
    }

    /// The session wants to stop. True when it may be kept from it once more.
    pub(super) fn stops(&mut self, was_kept: bool) -> bool {
        if !was_kept {
            self.continuations = 0;
        }
        self.turn = Turn::Idle;
        self.continuations < CONTINUATIONS
    }

    /// It goes on instead.
    pub(super) fn kept(&mut self) {
        self.turn = Turn::Busy;
        self.continuations += 1;
    }

    /// The turn ended without a word, as when it was interrupted.
    pub(super) fn pauses(&mut self) {
        self.turn = Turn::Idle;
    }

    /// A new conversation in the same process.
    pub(super) fn rests(&mut self) {
        self.turn = Turn::Idle;
        self.continuations = 0;
    }

    /// As many letters as fit into one answer, each in its envelope, oldest first.
    pub(super) fn hand(&mut self, fence: &dyn Fn() -> String) -> Option<(u64, String)> {
        let mut handed = Handed::default();
        let mut text = String::new();
        while let Some(letter) = self.waiting.front() {
            let enveloped = envelope(&letter.frame, &fence(), Some(THROUGH_HOOKS));
            if !text.is_empty() && text.len() + enveloped.len() > ONE_ANSWER {
                break;
            }
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&enveloped);
            // From here on the model may know of this conversation by hooks: what it says there proves no channel. Now, and
            // not when the answer is confirmed, for one that seems lost may have been read.
            self.pushed.retain(|(_, chat)| *chat != letter.frame.chat);
            handed.letters.extend(self.waiting.pop_front());
        }
        (!handed.letters.is_empty()).then(|| (self.keep(handed), text))
    }

    /// A verdict goes into an answer.
    pub(super) fn hand_verdict(&mut self, ask: AskId) -> u64 {
        self.keep(Handed { letters: vec![], verdict: Some(ask) })
    }

    fn keep(&mut self, handed: Handed) -> u64 {
        self.answers += 1;
        self.handed.insert(self.answers, handed);
        self.answers
    }

    /// The answer is with the client.
    pub(super) fn written(&mut self, answer: u64) -> Handed {
        self.handed.remove(&answer).unwrap_or_default()
    }

    /// It may or may not be: what it held waits again, in its place, and says so.
    pub(super) fn lost(&mut self, answer: u64) {
        for mut letter in self.written(answer).letters.into_iter().rev() {
            letter.frame.redelivered = true;
            self.waiting.push_front(letter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::Moment;

    fn letter(number: u8, text: &str) -> Letter {
        let id = EventId::new(Moment(u64::from(number)), u128::from(number));
        let frame = EventFrame {
            id,
            via: "http".into(),
            sender: format!("sender{}", number % 2).into(),
            chat: "1".into(),
            attributes: vec![].into(),
            text: text.to_owned().into(),
            rest: 0,
            redelivered: false,
            also: vec![],
        };
        Letter { ids: vec![id], frame }
    }

    fn fence() -> String {
        "fence".to_owned()
    }

    #[test]
    fn an_event_takes_the_proven_channel_then_hooks_then_the_channel() {
        let mut desk = Desk::new();
        assert!(!desk.takes_events(), "nobody knows of hooks");
        let first = letter(1, "x");
        desk.pushed(&first.ids, "1");
        assert!(desk.hooked() && !desk.hooked());
        assert!(desk.takes_events(), "the channel is not proven");
        desk.heard(|_, chat| chat == "2");
        assert!(desk.takes_events(), "that was about something else");
        desk.heard(|event, _| event == first.ids[0]);
        assert!(!desk.takes_events(), "the model read what was pushed");
    }

    #[test]
    fn a_reply_proves_no_channel_where_hooks_spoke_of_the_same_conversation() {
        for arrives in [true, false] {
            let mut desk = Desk::new();
            let (pushed, elsewhere) = (letter(1, "by the channel"), letter(2, "by the channel"));
            desk.pushed(&pushed.ids, "1");
            desk.pushed(&elsewhere.ids, "2");
            desk.hooked();
            desk.put(letter(3, "by a hook"));
            let (answer, _) = desk.hand(&fence).unwrap();
            match arrives {
                true => drop(desk.written(answer)),
                false => desk.lost(answer),
            }
            desk.heard(|_, chat| chat == "1");
            assert!(desk.takes_events(), "it may know of chat 1 by the hook");
            desk.heard(|_, chat| chat == "2");
            assert!(!desk.takes_events(), "it knows of chat 2 by the channel alone");
        }
    }

    #[test]
    fn what_was_handed_is_confirmed_once_or_waits_again_in_its_place() {
        let mut desk = Desk::new();
        for number in 1..=3 {
            desk.put(letter(number, "x"));
        }
        let (answer, text) = desk.hand(&fence).unwrap();
        assert_eq!(text.matches("<channel ").count(), 3);
        assert!(desk.hand(&fence).is_none(), "each once");
        desk.put(letter(4, "x"));
        desk.lost(answer);
        let (again, text) = desk.hand(&fence).unwrap();
        assert_eq!(text.matches("redelivered=\"true\"").count(), 3);
        let handed = desk.written(again);
        let ids: Vec<EventId> = handed.letters.iter().flat_map(|letter| letter.ids.clone()).collect();
        assert_eq!(ids, (1..=4).flat_map(|number| letter(number, "x").ids).collect::<Vec<_>>());
        assert_eq!(desk.written(again), Handed::default());
    }

    #[test]
    fn an_answer_is_never_longer_than_the_client_takes() {
        let mut desk = Desk::new();
        for number in 1..=3 {
            desk.put(letter(number, &"ä".repeat(20_000)));
        }
        for _ in 1..=3 {
            let (_, text) = desk.hand(&fence).unwrap();
            assert!(text.len() < 10_000 && text.contains("more bytes were left off"), "{}", text.len());
        }
        assert!(!desk.waits());
    }

    #[test]
    fn a_session_is_kept_from_stopping_only_so_often_until_a_person_speaks() {
        let mut desk = Desk::new();
        desk.spoken_to();
        let mut kept = 0;
        while desk.stops(kept > 0) {
            desk.kept();
            kept += 1;
        }
        assert!(kept < 8 && desk.is_idle());
        desk.spoken_to();
        assert!(desk.stops(true));
    }
}
