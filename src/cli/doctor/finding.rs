//! One finding of the doctor: what was checked, how it is, and what to do about it.

use serde::Serialize;

#[derive(Debug, Serialize, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) level: Level,
    pub(super) what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
    /// The connection that does not work because of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) blocks: Option<Blocks>,
}

/// Which connections to Claude Code a finding rules out.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Blocks {
    Hooks,
    Channel,
    /// Both: what they need is missing.
    Sessions,
    Editor,
    /// Those where Portcullis starts the session itself.
    Driven,
    /// That those have calls judged.
    DrivenPrompts,
    /// That the model answers in those.
    DrivenReplies,
    /// That those are stopped.
    DrivenStop,
    /// No gate takes part: what people at a driven session do themselves is all that works.
    Gate,
    /// That an event begins a turn.
    IdleEvents,
    /// The answers of the person at an editor; all else works there.
    EditorAnswers,
    /// All of them.
    Everything,
}

#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Ok,
    /// Neither good nor bad, or not known.
    Note,
    Warn,
    Fail,
}

impl Finding {
    pub(super) fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, what: what.into(), remedy: None, blocks: None }
    }

    pub(super) fn note(check: &'static str, what: impl Into<String>) -> Self {
        Self { level: Level::Note, ..Self::ok(check, what) }
    }

    pub(super) fn warn(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Warn, remedy: Some(remedy.into()), ..Self::ok(check, what) }
    }

    pub(super) fn fail(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Fail, remedy: Some(remedy.into()), ..Self::ok(check, what) }
    }

    pub(super) fn blocking(self, blocks: Blocks) -> Self {
        Self { blocks: Some(blocks), ..self }
    }

    /// One that has to be dealt with: it failed, or something does not work because of it.
    pub(super) fn needs_a_look(&self) -> bool {
        self.level == Level::Fail || (self.level == Level::Warn && self.remedy.is_some())
    }

    /// Says what can be done although nothing is wrong.
    pub(super) fn with(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// The finding of a check that failed with an error.
    pub(super) fn error(check: &'static str, error: &anyhow::Error) -> Self {
        let words = crate::report::in_words(error);
        let (what, hint) = words.split_once("\n  hint: ").unwrap_or((&words, ""));
        let what = what.trim_start_matches("error: ").trim_end().replace("\n  caused by: ", ": ");
        let remedy = (!hint.is_empty()).then(|| hint.trim_end().to_owned());
        Self { level: Level::Fail, remedy, ..Self::ok(check, what) }
    }

    pub(super) fn in_words(&self) -> String {
        let level = match self.level {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Warn => "warn",
            Level::Fail => "FAIL",
        };
        let mut text = format!("{level:<5} {:<17} {}\n", self.check, self.what);
        if let Some(remedy) = &self.remedy {
            text.push_str(&format!("{:<24}→ {remedy}\n", ""));
        }
        text
    }
}
