//! What is wrong with something that was written, until it is known where it was written.

use crate::failure::Failure;

/// What is wrong with one thing that was written. [`Problem::while_doing`] makes a [`Failure`] of it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) what: String,
    pub(crate) hint: String,
}

impl Problem {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }

    pub(crate) fn on_line(self, line: usize) -> Self {
        Self { what: format!("line {line}: {}", self.what), ..self }
    }

    /// This one and others found with it. The hint is the first one's.
    pub(crate) fn and(self, others: impl Iterator<Item = Self>) -> Self {
        let all = others.fold(self.what, |all, other| format!("{all}\n  and: {}", other.what));
        Self { what: all, ..self }
    }

    pub(crate) fn while_doing(self, doing: impl Into<String>) -> Failure {
        Failure::configuration(doing).because(self.what).with_hint(self.hint)
    }
}

/// Shows what someone wrote inside a message: escaped, so that it cannot draw on the terminal, and never long.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::error::Error as _;

    use super::*;

    /// The error as the command line will print it.
    pub(in crate::config) fn report(error: &Failure) -> String {
        let mut text = format!("error: {error}");
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(&format!("\n  caused by: {error}"));
            cause = error.source();
        }
        if let Some(hint) = error.hint() {
            text.push_str(&format!("\n  hint: {hint}"));
        }
        text
    }

    #[test]
    fn an_error_says_what_we_did_what_went_wrong_and_what_to_do() {
        let error = Problem::new("too long", "make it shorter").on_line(7).while_doing("reading a file");
        assert_eq!(report(&error), "error: reading a file\n  caused by: line 7: too long\n  hint: make it shorter");
    }

    #[test]
    fn what_someone_wrote_cannot_draw_on_the_terminal_nor_fill_it() {
        assert_eq!(quoted("\u{1b}[2J"), r#""\u{1b}[2J""#);
        assert!(quoted(&"ä".repeat(10_000)).chars().count() < 70);
    }
}
