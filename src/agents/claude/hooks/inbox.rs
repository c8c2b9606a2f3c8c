//! Events of a session with hooks: which way each takes to the model, and who was handed what.

use std::collections::VecDeque;

use portcullis_core::{AskId, DeliveryWay, EventId};
use portcullis_wire::envelope::{THROUGH_HOOKS, envelope};
use portcullis_wire::link::EventFrame;

use crate::session::inbox::Inbox;

/// Claude Code takes 10,000 characters from one hook and puts what is more into a file.
const LONGEST_HOOK_ANSWER: usize = 9_500;
/// Claude Code goes on after a stop at most eight times; what a hook says at the ninth nobody reads.
const MOST_CONTINUATIONS: u8 = 6;
/// Pushes remembered until the model shows that it read one of them.
const REMEMBERED_PUSHES: usize = 64;

/// Events given to the model and remembered until their turn ends: more than fit into the hooks of one turn.
const REMEMBERED_GIVEN: usize = 1024;
/// Events taken back and remembered, for an answer that was on its way with them: more than any answer holds. The oldest is
/// forgotten, and would at worst be given once more.
const REMEMBERED_TAKEN_BACK: usize = 1024;

/// What went into one answer to a hook: confirmed when the client has it, else taken back.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct HandedOut {
    pub(crate) events: Vec<EventFrame<'static>>,
    /// The way the events go.
    pub(crate) way: Option<DeliveryWay>,
    pub(crate) verdict: Option<AskId>,
    /// What the owner says about messages from outside went with the events.
    pub(crate) with_instructions: bool,
}

impl HandedOut {
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.verdict.is_none()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Nothing runs: only a wake brings an event before the model.
    Idle,
    Busy,
}

/// What waits for a session with hooks, and how it goes to the model.
pub(super) struct HookInbox {
    pub(super) queue: Inbox,
    /// A hook has called: hooks are installed for this session.
    has_hooks: bool,
    /// The model has answered or opened an event that the channel had pushed.
    channel_is_proven: bool,
    /// What the channel pushed while nobody knew whether it arrives, and whose conversation hooks have not spoken of
    /// since.
    pushed: VecDeque<(EventId, String)>,
    turn: Turn,
    /// Events that a wake brought. The client has them, and no turn that they are part of has been seen.
    woken: Vec<EventId>,
    /// Events that are part of the turn.
    of_turn: Vec<EventId>,
    /// What the gate has taken back and not sent again: an answer to a hook may be on its way with it.
    taken_back: VecDeque<EventId>,
    /// How often the session was kept from stopping since a person spoke.
    continuations: u8,
}

impl HookInbox {
    pub(super) fn new(queue: Inbox) -> Self {
        Self {
            queue,
            has_hooks: false,
            channel_is_proven: false,
            pushed: VecDeque::new(),
            turn: Turn::Idle,
            woken: vec![],
            of_turn: vec![],
            taken_back: VecDeque::new(),
            continuations: 0,
        }
    }

    /// Whether events go through hooks: not where the channel is proven, nor where there are none.
    pub(super) fn hooks_take_events(&self) -> bool {
        self.has_hooks && !self.channel_is_proven
    }

    /// Whether the model has shown that it reads what the channel pushes.
    pub(super) fn is_read_from_channel(&self) -> bool {
        self.channel_is_proven
    }

    /// Hooks are installed. True when that is news.
    pub(super) fn note_hooks(&mut self) -> bool {
        !std::mem::replace(&mut self.has_hooks, true)
    }

    /// Hooks take this one.
    pub(super) fn put(&mut self, event: EventFrame<'static>) {
        self.taken_back.retain(|taken_back| !event.ids().any(|id| id == *taken_back));
        self.queue.put(event);
    }

    /// The gate takes this one back: it waits no longer, nor does it wait again when an answer that holds it is lost.
    pub(super) fn take_back_event(&mut self, event: EventId) {
        self.queue.take_back(event);
        self.taken_back.push_back(event);
        let surplus = self.taken_back.len().saturating_sub(REMEMBERED_TAKEN_BACK);
        self.taken_back.drain(..surplus);
    }

    /// The channel takes this one.
    pub(super) fn note_pushed(&mut self, ids: impl Iterator<Item = EventId>, chat: &str) {
        if self.channel_is_proven {
            return;
        }
        self.pushed.extend(ids.map(|id| (id, chat.to_owned())));
        let surplus = self.pushed.len().saturating_sub(REMEMBERED_PUSHES);
        self.pushed.drain(..surplus);
    }

    /// The model answered a conversation or opened an event. That proves the channel, if the model can know of it by the
    /// channel alone.
    pub(super) fn note_read(&mut self, is_it: impl Fn(EventId, &str) -> bool) {
        if self.pushed.iter().any(|(event, chat)| is_it(*event, chat)) {
            self.channel_is_proven = true;
            self.pushed.clear();
        }
    }

    /// The client has events that no turn has shown yet.
    pub(super) fn has_woken(&self) -> bool {
        !self.woken.is_empty()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.turn == Turn::Idle
    }

    /// Something of a turn was seen.
    pub(super) fn mark_busy(&mut self) {
        self.turn = Turn::Busy;
        self.of_turn.append(&mut self.woken);
    }

    /// The client has these. What a wake brought becomes part of the next turn, or of the next tool result.
    pub(super) fn note_given(&mut self, events: &[EventId], way: Option<DeliveryWay>) {
        let given = if way == Some(DeliveryWay::Wake) { &mut self.woken } else { &mut self.of_turn };
        given.extend_from_slice(events);
        // The oldest are in turns that ended without a hook.
        let surplus = given.len().saturating_sub(REMEMBERED_GIVEN);
        given.drain(..surplus);
    }

    /// The turn ended as turns do: what was part of it the model has read.
    pub(super) fn take_read(&mut self) -> Vec<EventId> {
        std::mem::take(&mut self.of_turn)
    }

    /// The turn ended, perhaps without a word, as when it was interrupted.
    pub(super) fn mark_idle(&mut self) {
        self.turn = Turn::Idle;
    }

    /// A person spoke.
    pub(super) fn note_person(&mut self) {
        self.mark_busy();
        self.continuations = 0;
    }

    /// The session wants to stop. True when it may be kept from it once more.
    pub(super) fn on_stop(&mut self, was_continued: bool) -> bool {
        if !was_continued {
            self.continuations = 0;
        }
        self.turn = Turn::Idle;
        self.continuations < MOST_CONTINUATIONS
    }

    /// The session goes on instead of stopping.
    pub(super) fn note_continuation(&mut self) {
        self.turn = Turn::Busy;
        self.continuations += 1;
    }

    /// A new conversation began in the same process.
    pub(super) fn on_new_conversation(&mut self) {
        self.turn = Turn::Idle;
        self.continuations = 0;
        self.woken.clear();
        self.of_turn.clear();
    }

    /// As many events as fit into one answer to a hook, of which so many bytes are taken, each in its envelope, oldest
    /// first.
    pub(super) fn hand_out(&mut self, fence: &dyn Fn() -> Option<String>, taken: usize) -> Option<(HandedOut, String)> {
        let mut handed_out = HandedOut::default();
        let mut text = String::new();
        while let Some(event) = self.queue.oldest() {
            let Some(fence) = fence() else { break };
            let enveloped = envelope(event, &fence, Some(THROUGH_HOOKS.saturating_sub(taken)));
            if !text.is_empty() && taken + text.len() + enveloped.len() > LONGEST_HOOK_ANSWER {
                break;
            }
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&enveloped);
            // From here on the model may know of this conversation by hooks: what it says there proves no channel. Now, and
            // not when the answer is confirmed, for one that seems lost may have been read.
            self.pushed.retain(|(_, chat)| *chat != event.chat);
            handed_out.events.extend(self.queue.take_next());
        }
        (!handed_out.events.is_empty()).then_some((handed_out, text))
    }

    /// The answer may or may not be with the client: what it held waits again, in its place, marked as redelivered. Not what
    /// was taken back meanwhile, nor a text that has such an event in it: its others are sent again.
    pub(super) fn take_back(&mut self, handed_out: HandedOut) {
        let mut events = handed_out.events;
        events.retain(|event| !event.ids().any(|id| self.taken_back.contains(&id)));
        events.iter_mut().for_each(|event| event.redelivered = true);
        self.queue.put_back(events);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::Moment;

    fn event(number: u8, text: &str) -> EventFrame<'static> {
        EventFrame {
            id: EventId::new(Moment(u64::from(number)), u128::from(number)),
            via: "http".into(),
            sender: format!("sender{}", number % 2).into(),
            directs: false,
            chat: "1".into(),
            attributes: vec![].into(),
            reply_to: None,
            text: text.to_owned().into(),
            rest: 0,
            redelivered: false,
            also: vec![],
        }
    }

    fn fence() -> Option<String> {
        Some("fence".to_owned())
    }

    #[test]
    fn without_a_fence_that_nobody_can_know_events_wait() {
        let mut inbox = HookInbox::new(Inbox::new(30));
        inbox.queue.put(event(1, "x"));
        assert!(inbox.hand_out(&|| None, 0).is_none());
        assert!(inbox.queue.has_waiting() && inbox.hand_out(&fence, 0).is_some());
    }

    #[test]
    fn an_event_takes_the_proven_channel_then_hooks_then_the_channel() {
        let mut inbox = HookInbox::new(Inbox::new(30));
        assert!(!inbox.hooks_take_events(), "nobody knows of hooks");
        let first = event(1, "x");
        inbox.note_pushed(first.ids(), &first.chat);
        assert!(inbox.note_hooks() && !inbox.note_hooks());
        assert!(inbox.hooks_take_events(), "the channel is not proven");
        inbox.note_read(|_, chat| chat == "2");
        assert!(inbox.hooks_take_events(), "that was about something else");
        inbox.note_read(|event, _| event == first.id);
        assert!(!inbox.hooks_take_events(), "the model read what was pushed");
    }

    #[test]
    fn a_reply_proves_no_channel_where_hooks_spoke_of_the_same_conversation() {
        for arrives in [true, false] {
            let mut inbox = HookInbox::new(Inbox::new(30));
            inbox.note_pushed([event(1, "by the channel").id].into_iter(), "1");
            inbox.note_pushed([event(2, "by the channel").id].into_iter(), "2");
            inbox.note_hooks();
            inbox.queue.put(event(3, "by a hook"));
            let (answer, _) = inbox.hand_out(&fence, 0).unwrap();
            if !arrives {
                inbox.take_back(answer);
            }
            inbox.note_read(|_, chat| chat == "1");
            assert!(inbox.hooks_take_events(), "it may know of chat 1 by the hook");
            inbox.note_read(|_, chat| chat == "2");
            assert!(!inbox.hooks_take_events(), "it knows of chat 2 by the channel alone");
        }
    }

    #[test]
    fn what_was_handed_is_confirmed_once_or_waits_again_in_its_place() {
        let mut inbox = HookInbox::new(Inbox::new(30));
        for number in 1..=3 {
            inbox.queue.put(event(number, "x"));
        }
        let (answer, text) = inbox.hand_out(&fence, 0).unwrap();
        assert_eq!(text.matches("<channel ").count(), 3);
        assert!(inbox.hand_out(&fence, 0).is_none(), "each once");
        inbox.queue.put(event(4, "x"));
        inbox.take_back(answer);
        let (handed, text) = inbox.hand_out(&fence, 0).unwrap();
        assert_eq!(text.matches("redelivered=\"true\"").count(), 3);
        let ids: Vec<EventId> = handed.events.iter().flat_map(EventFrame::ids).collect();
        assert_eq!(ids, (1..=4).map(|number| event(number, "x").id).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_taken_back_while_an_answer_is_on_its_way_does_not_wait_again() {
        let mut inbox = HookInbox::new(Inbox::new(30));
        let [first, mut second] = [1, 2].map(|number| event(number, "x"));
        second.also = vec![event(3, "x").id];
        inbox.put(first.clone());
        inbox.put(second.clone());
        let (answer, _) = inbox.hand_out(&fence, 0).unwrap();
        inbox.take_back_event(first.id);
        inbox.take_back_event(second.also[0]);
        inbox.take_back(answer);
        assert!(!inbox.queue.has_waiting(), "nor what has it in its text");

        inbox.put(first.clone());
        let (answer, _) = inbox.hand_out(&fence, 0).unwrap();
        inbox.take_back(answer);
        assert!(inbox.queue.has_waiting(), "it was given to the session again");
    }

    #[test]
    fn what_is_taken_back_is_remembered_no_longer_than_there_is_room() {
        let mut inbox = HookInbox::new(Inbox::new(30));
        for number in 0..2000 {
            inbox.take_back_event(EventId::new(Moment(number), u128::from(number)));
        }
        assert_eq!(inbox.taken_back.len(), REMEMBERED_TAKEN_BACK);
    }

    #[test]
    fn what_a_wake_brought_is_read_by_the_turn_that_it_begins_and_not_by_the_one_before() {
        let mut inbox = HookInbox::new(Inbox::new(30));
        let [first, second] = [1, 2].map(|number| event(number, "x").id);
        inbox.note_person();
        inbox.note_given(&[first], Some(DeliveryWay::ToolCall));
        inbox.note_given(&[second], Some(DeliveryWay::Wake));
        assert_eq!(inbox.take_read(), [first], "the client has not begun with the second");
        inbox.mark_busy();
        assert_eq!(inbox.take_read(), [second]);
        inbox.note_given(&[first], Some(DeliveryWay::Prompt));
        inbox.on_new_conversation();
        assert_eq!(inbox.take_read(), []);
    }

    #[test]
    fn an_answer_is_never_longer_than_the_client_takes() {
        let mut inbox = HookInbox::new(Inbox::new(30));
        for number in 1..=3 {
            inbox.queue.put(event(number, &"ä".repeat(20_000)));
        }
        for _ in 1..=3 {
            let (_, text) = inbox.hand_out(&fence, 0).unwrap();
            assert!(text.len() < 10_000 && text.contains("more bytes were left off"), "{}", text.len());
        }
        assert!(!inbox.queue.has_waiting());
    }

    #[test]
    fn a_session_is_kept_from_stopping_only_so_often_until_a_person_speaks() {
        let mut inbox = HookInbox::new(Inbox::new(30));
        inbox.note_person();
        let mut kept = 0;
        while inbox.on_stop(kept > 0) {
            inbox.note_continuation();
            kept += 1;
        }
        assert!(kept < 8 && inbox.is_idle());
        inbox.note_person();
        assert!(inbox.on_stop(true));
    }
}
