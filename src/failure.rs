//! The one error that people read: what went wrong, why, what to do, and with which code the program exits.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Displays as what went wrong. Its source says why, its hint what to do.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    what: String,
    cause: Option<Arc<dyn Error + Send + Sync>>,
    hint: Option<String>,
    exit: Exit,
    /// There is nothing of the name that was asked for.
    is_not_found: bool,
    /// The gate cannot do it now, and may later.
    is_unavailable: bool,
}

/// The exit codes besides 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Failed = 1,
    /// Something on the command line is wrong that clap cannot know.
    Usage = 2,
    Configuration = 3,
    Denied = 4,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            cause: None,
            hint: Some(hint.into()),
            exit: Exit::Failed,
            is_not_found: false,
            is_unavailable: false,
        }
    }

    /// Something on the command line is wrong.
    pub(crate) fn usage(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, ..Self::new(what, hint) }
    }

    /// There is nothing of that name.
    pub(crate) fn not_found(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { is_not_found: true, ..Self::new(what, hint) }
    }

    /// It cannot be done now, and may be later.
    pub(crate) fn unavailable(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { is_unavailable: true, ..Self::new(what, hint) }
    }

    /// Something may not be done.
    pub(crate) fn denied(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { exit: Exit::Denied, ..Self::new(what, hint) }
    }

    /// Paths, settings, secrets or rules cannot be used. `doing` is what we were doing.
    pub(crate) fn configuration(doing: impl Into<String>) -> Self {
        Self { hint: None, exit: Exit::Configuration, ..Self::new(doing, "") }
    }

    pub(crate) fn because(self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: Some(Arc::from(cause.into())), ..self }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// One sentence that says what to do, where we know.
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.is_not_found
    }

    pub(crate) fn is_unavailable(&self) -> bool {
        self.is_unavailable
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_ref().map(|cause| cause.as_ref() as &(dyn Error + 'static))
    }
}
