//! The outside guard: who wrote the text from outside that is before the model, and until when that counts.

/// How much text from outside holds up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

    /// The model opens an event by itself. That arms the guard and never lifts it: the model must not find an old event of
    /// the owner to speak for them.
    pub(super) fn note_opened(&mut self, sender: &str, directs: bool) {
        if !directs {
            self.from = Some(sender.to_owned());
        }
    }

    pub(super) fn clear(&mut self) {
        self.from = None;
    }

    /// Why calls are held up, for the person who is asked.
    pub(super) fn reason(&self) -> Option<String> {
        self.from.as_ref().map(|sender| format!("this turn has read text from {sender}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_someone_who_only_informs_counts_until_someone_who_directs_speaks() {
        let mut outside = OutsideText::default();
        assert_eq!(outside.reason(), None);
        outside.note_event("ci", false);
        assert_eq!(outside.reason().as_deref(), Some("this turn has read text from ci"));
        outside.note_event("ann", true);
        assert_eq!(outside.reason(), None);
    }

    #[test]
    fn an_event_that_the_model_opens_arms_the_guard_and_never_lifts_it() {
        let mut outside = OutsideText::default();
        outside.note_opened("ann", true);
        assert_eq!(outside.reason(), None);
        outside.note_opened("ci", false);
        outside.note_opened("ann", true);
        assert!(outside.reason().is_some());
    }
}
