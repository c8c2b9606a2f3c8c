//! Events on their way into a driven session: folded into a running turn at once, and into an idle one as the budget allows.

use portcullis_wire::control::{Speaker, image_type, user_line_with};
use portcullis_wire::envelope::{envelope, notice};
use portcullis_wire::link::EventFrame;
use portcullis_wire::stream::EntryKind;
use tokio::time::Instant;

use super::{Driver, Told};
use crate::agents::claude::editor::EndedCommand;
use crate::mint::{fence, uuid};

/// A model takes no larger image.
const LARGEST_IMAGE: u64 = 5 << 20;
/// Who speaks where this program has something to tell the model.
const PROGRAM: &str = "Portcullis";

impl Driver {
    /// Writes what waits, unless that would wake an idle session more often than its owner wants.
    pub(super) fn feed(&mut self) {
        if !self.is_ready || self.closing.is_some() {
            return;
        }
        let now = std::time::Instant::now();
        if !self.is_busy {
            if self.inbox.next_wake(now).is_none_or(|at| at > now) {
                return;
            }
            self.inbox.spend_wake(now);
        }
        // An event without a fence would be taken for other words: it waits.
        let fenced = std::iter::from_fn(|| fence().and_then(|fence| Some((fence, self.inbox.take_next()?))));
        let events: Vec<(String, EventFrame<'static>)> = fenced.collect();
        self.gatekeeper.outside().note_events(events.iter().map(|(_, frame)| frame));
        for (fence, frame) in events {
            let text = envelope(&frame, &fence, None);
            let speaker = if frame.directs { Speaker::User } else { Speaker::Outside };
            for id in frame.ids() {
                let (event, sender, chat) = (id.to_string(), frame.sender.to_string(), frame.chat.to_string());
                self.gate.stream().push(EntryKind::Event { event, sender, chat });
            }
            let (by, said) = (frame.sender.to_string(), frame.text.unquoted().to_string());
            self.tell(Told::Said { by, text: said, note: notice(&frame) });
            self.wrote();
            self.of_turn.extend(frame.ids());
            let line = user_line_with(&uuid(), &text, &self.images(&frame), speaker);
            self.control.say_of(line, frame.ids().collect(), vec![]);
        }
    }

    /// Tells the model that a command has ended which it left in the background, as the client does with its own.
    pub(super) fn command_ended(&mut self, command: &EndedCommand) {
        if !self.is_ready || self.closing.is_some() {
            return;
        }
        let text = command.summary();
        self.gate.stream().push(EntryKind::Notice { text: text.clone() });
        self.tell(Told::Said { by: PROGRAM.to_owned(), note: format!("{PROGRAM}: {text}"), text });
        self.wrote();
        self.control.say(user_line_with(&uuid(), &command.notification(), &[], Speaker::Outside));
    }

    /// The images that came with an event. Other files are named in its tag.
    fn images(&self, frame: &EventFrame<'_>) -> Vec<Vec<u8>> {
        let files = frame.ids().flat_map(|event| self.gate.files_of(event));
        let small = files.filter(|file| file.size <= LARGEST_IMAGE);
        small.filter_map(|file| std::fs::read(file.path).ok()).filter(|bytes| image_type(bytes).is_some()).collect()
    }

    /// When an idle session may be woken for what waits.
    pub(super) fn next_feed(&self) -> Option<Instant> {
        let may_feed = self.is_ready && self.closing.is_none() && !self.is_busy;
        self.inbox.next_wake(std::time::Instant::now()).filter(|_| may_feed).map(Instant::from_std)
    }

    /// Whether someone stopped the turn, and did not only deny something in it.
    pub(super) fn was_stopped(&self) -> bool {
        self.interrupted || self.ended_by_denial
    }

    /// The client is idle. Where its turn ended by itself, the model has read what was written for it; where someone
    /// interrupted it, they want nothing more of it.
    fn note_turn_end(&mut self) {
        let is_whole = self.result.as_ref().is_some_and(|(_, result)| !result.is_error);
        let read = std::mem::take(&mut self.of_turn);
        if (is_whole || self.was_stopped()) && !read.is_empty() && !self.gate.try_read(read) {
            tracing::debug!("the gate is not told which events were read");
        }
    }

    /// The client works, or has nothing to do.
    pub(super) fn set_busy(&mut self, is_busy: bool) {
        self.is_busy = is_busy;
        self.gate.describe(|about| about.is_working = Some(is_busy));
        if !is_busy {
            self.note_turn_end();
            self.turn_is_explained = false;
            self.tell(Told::Idle);
        }
        self.feed();
    }
}
