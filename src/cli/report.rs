//! Errors as people read them: what we were doing, why it failed, and what to do.

use std::fmt;
use std::process::ExitCode;

use crate::config::ConfigError;
use crate::store::OpenError;

/// An error that knows what to do about it.
#[derive(Debug)]
pub(crate) struct Hinted {
    what: String,
    hint: String,
}

impl Hinted {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Hinted {}

const CONFIGURATION: u8 = 3;

/// Prints an error to standard error and says with which code to exit.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    use std::io::Write as _;
    // If standard error is closed there is nobody left to tell.
    drop(std::io::stderr().write_all(in_words(error).as_bytes()));
    let is_configuration = error.chain().any(|cause| cause.is::<ConfigError>());
    ExitCode::from(if is_configuration { CONFIGURATION } else { 1 })
}

pub(crate) fn in_words(error: &anyhow::Error) -> String {
    let mut text = format!("error: {error}\n");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("  caused by: {cause}\n"));
    }
    if let Some(hint) = error.chain().find_map(hint) {
        text.push_str(&format!("  hint: {hint}\n"));
    }
    text
}

fn hint(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    if let Some(error) = cause.downcast_ref::<Hinted>() {
        return Some(error.hint.clone());
    }
    if let Some(error) = cause.downcast_ref::<ConfigError>() {
        return error.hint().map(str::to_owned);
    }
    cause.downcast_ref::<OpenError>().map(|error| error.hint().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_why_and_what_to_do() {
        let error = anyhow::Error::new(Hinted::new("port 1 is taken", "choose another")).context("starting the gate");
        let want = "error: starting the gate\n  caused by: port 1 is taken\n  hint: choose another\n";
        assert_eq!(in_words(&error), want);
    }
}
