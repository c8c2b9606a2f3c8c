//! What went wrong while reading paths, settings or secrets, and what to do about it.

use std::error::Error;

/// Displays as what we were doing; its source says what went wrong, its hint what to do.
#[derive(Debug, thiserror::Error)]
#[error("{doing}")]
pub(crate) struct ConfigError {
    doing: String,
    #[source]
    cause: Option<Box<dyn Error + Send + Sync>>,
    hint: Option<String>,
}

impl ConfigError {
    pub(crate) fn new(doing: impl Into<String>) -> Self {
        Self { doing: doing.into(), cause: None, hint: None }
    }

    pub(crate) fn because(self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// One sentence that says what to do, where we know.
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// What is wrong with one thing that was written, before anyone says where it was written.
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

    pub(crate) fn while_doing(self, doing: impl Into<String>) -> ConfigError {
        ConfigError::new(doing).because(self.what).with_hint(self.hint)
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
    use super::*;

    /// The error as the command line will print it.
    pub(in crate::config) fn report(error: &ConfigError) -> String {
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
        let error = Problem::new("too long", "make it shorter").on_line(7).while_doing("reading a letter");
        assert_eq!(report(&error), "error: reading a letter\n  caused by: line 7: too long\n  hint: make it shorter");
    }

    #[test]
    fn what_someone_wrote_cannot_draw_on_the_terminal_nor_fill_it() {
        assert_eq!(quoted("\u{1b}[2J"), r#""\u{1b}[2J""#);
        assert!(quoted(&"ä".repeat(10_000)).chars().count() < 70);
    }
}
