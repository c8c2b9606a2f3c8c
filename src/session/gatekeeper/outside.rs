//! The outside guard: who wrote the text from outside that is before the model, and until when that counts.

/// How much text from outside holds up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(dead_code, reason = "the setting comes with the configuration")]
pub(crate) enum OutsidePolicy {
    /// Reads inside the working folders, edits of unprotected files there, and what the user's own rules allow pass.
    #[default]
    Guard,
    /// Only reads inside the working folders pass.
    All,
    Off,
}

/// Whether text from someone who may not direct this session is before the model.
#[derive(Debug, Default)]
pub(super) struct OutsideText {
    /// Who sent it last. Cleared when a person who may direct the session has spoken, and with the conversation.
    from: Option<String>,
}

impl OutsideText {
    /// Text of an event goes before the model.
    pub(super) fn note_event(&mut self, sender: &str, directs: bool) {
        self.from = if directs { None } else { Some(sender.to_owned()) };
    }

    pub(super) fn clear(&mut self) {
        self.from = None;
    }

    /// Why calls are held up, for the person who is asked.
    pub(super) fn reason(&self) -> Option<String> {
        self.from.as_ref().map(|sender| format!("this turn has read text from {sender}"))
    }
}
