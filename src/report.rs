//! What people read: errors with their causes, hint and exit code on standard error, answers on standard output.

use std::process::ExitCode;

use crate::failure::{Exit, Failure};

/// Prints an error to standard error and says with which code to exit.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    use std::io::Write as _;
    // If standard error is closed there is nobody left to tell.
    drop(std::io::stderr().write_all(in_words(error).as_bytes()));
    ExitCode::from(exit(error) as u8)
}

fn exit(error: &anyhow::Error) -> Exit {
    failures(error).next().map_or(Exit::Failed, Failure::exit)
}

pub(crate) fn in_words(error: &anyhow::Error) -> String {
    let mut text = format!("error: {error}\n");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("  caused by: {cause}\n"));
    }
    if let Some(hint) = failures(error).find_map(Failure::hint) {
        text.push_str(&format!("  hint: {hint}\n"));
    }
    text
}

fn failures(error: &anyhow::Error) -> impl Iterator<Item = &Failure> {
    error.chain().filter_map(|cause| cause.downcast_ref())
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

/// Prints a line to standard error, for a person; a program that reads the answer does not see it.
pub(crate) fn note(text: &str) {
    use std::io::Write as _;
    // If standard error is closed there is nobody left to tell.
    drop(writeln!(std::io::stderr(), "{}", portcullis_core::visible(text)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_why_and_what_to_do() {
        let error = anyhow::Error::new(Failure::new("port 1 is taken", "choose another")).context("starting the gate");
        let want = "error: starting the gate\n  caused by: port 1 is taken\n  hint: choose another\n";
        assert_eq!(in_words(&error), want);
    }

    #[test]
    fn the_exit_code_is_that_of_the_failure_however_deep_it_is() {
        let exits = [
            (anyhow::anyhow!("anything"), Exit::Failed),
            (Failure::new("a", "b").into(), Exit::Failed),
            (Failure::usage("a", "b").into(), Exit::Usage),
            (Failure::configuration("a").because("b").into(), Exit::Configuration),
            (anyhow::Error::new(Failure::denied("a", "b")).context("c").context("d"), Exit::Denied),
        ];
        for (error, expected) in exits {
            assert_eq!(exit(&error), expected, "{error:#}");
        }
    }
}
