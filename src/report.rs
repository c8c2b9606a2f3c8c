//! Errors as people read them: what we were doing, why it failed, and what to do.

use std::fmt;
use std::process::ExitCode;
use std::sync::Arc;

use crate::config::ConfigError;
use crate::gate::client::Refused;
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

/// Something that may not be done, with what to do instead.
#[derive(Debug)]
pub(crate) struct Denied(Hinted);

impl Denied {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self(Hinted::new(what, hint))
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Denied {}

/// Something that was written wrongly on the command line, which clap cannot know.
#[derive(Debug)]
pub(crate) struct Usage(Hinted);

impl Usage {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self(Hinted::new(what, hint))
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Usage {}

const USAGE: u8 = 2;
const CONFIGURATION: u8 = 3;
const DENIED: u8 = 4;

/// Prints an error to standard error and says with which code to exit.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    use std::io::Write as _;
    // If standard error is closed there is nobody left to tell.
    drop(std::io::stderr().write_all(in_words(error).as_bytes()));
    let code = error.chain().find_map(|cause| {
        let refused = cause.downcast_ref::<Refused>().is_some_and(|refused| refused.0.status() == 403);
        let is_denied = refused || cause.is::<Denied>();
        let codes = [
            (is_denied, DENIED),
            (cause.is::<Usage>(), USAGE),
            (cause.is::<ConfigError>() || cause.is::<Arc<ConfigError>>(), CONFIGURATION),
        ];
        codes.into_iter().find(|(is, _)| *is).map(|(_, code)| code)
    });
    ExitCode::from(code.unwrap_or(1))
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
    if let Some(denied) = cause.downcast_ref::<Denied>() {
        return Some(denied.0.hint.clone());
    }
    if let Some(refused) = cause.downcast_ref::<Refused>() {
        return Some(refused.0.hint.clone());
    }
    if let Some(usage) = cause.downcast_ref::<Usage>() {
        return Some(usage.0.hint.clone());
    }
    let shared = cause.downcast_ref::<Arc<ConfigError>>().map(|error| &**error);
    if let Some(error) = cause.downcast_ref::<ConfigError>().or(shared) {
        return error.hint().map(str::to_owned);
    }
    cause.downcast_ref::<OpenError>().map(|error| error.hint().to_string())
}

/// Prints to standard output. The reader may have gone away; that is no error of ours.
pub(crate) fn say(text: &str) {
    drop(try_say(text));
}

/// The same, for those who go on only while someone reads.
pub(crate) fn try_say(text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
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
