//! What someone probably meant whose command line cannot be read, where clap does not say it.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::config::nearest;

/// One sentence that says what to type instead.
pub(super) fn hint(command: &Command, error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let words: Vec<&str> = arguments.iter().skip(1).filter_map(|word| word.to_str()).collect();
    match error.kind() {
        ErrorKind::InvalidSubcommand if error.get(ContextKind::SuggestedSubcommand).is_none() => {
            let (path, wrong) = place_of(command, &words)?;
            // Who is let in by what is told in two places.
            match (path.as_slice(), wrong) {
                (["people"], "add") => {
                    return Some("`portcullis token add NAME --role ROLE` lets someone in".to_owned());
                }
                (["people"], "admit" | "approve") => return Some("did you mean `portcullis people pair`?".to_owned()),
                _ => {}
            }
            let at = path.iter().try_fold(command, |at, word| at.find_subcommand(word))?;
            let known = at.get_subcommands().filter(|known| !known.is_hide_set()).map(Command::get_name);
            let meant = nearest(wrong, known)?;
            Some(format!("did you mean `{}`?", [&["portcullis"], path.as_slice(), &[meant]].concat().join(" ")))
        }
        ErrorKind::InvalidValue if error.get(ContextKind::SuggestedValue).is_none() => {
            let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidValue) else { return None };
            let Some(ContextValue::Strings(known)) = error.get(ContextKind::ValidValue) else { return None };
            let meant = nearest(wrong, known.iter().map(String::as_str))?;
            Some(format!("did you mean {meant}?"))
        }
        // All lists take it.
        ErrorKind::UnknownArgument if words.first() == Some(&"run") && is_about(error, "--json") => {
            Some("did you mean --output=json?".to_owned())
        }
        ErrorKind::MissingRequiredArgument if words.first() == Some(&"say") => Some(
            "`portcullis say 'the build is red'`; `portcullis say -` reads the text from standard input".to_owned(),
        ),
        ErrorKind::UnknownArgument => {
            // Without the sign, the text after it would be taken for a time.
            let after_wait = words.iter().zip(words.iter().skip(1)).find(|(word, _)| **word == "--wait");
            let time =
                after_wait.map(|(_, next)| *next).filter(|next| next.starts_with(|c: char| c.is_ascii_digit()))?;
            Some(format!("did you mean --wait={time}?"))
        }
        _ => None,
    }
}

fn is_about(error: &clap::Error, argument: &str) -> bool {
    matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(wrong)) if wrong == argument)
}

/// The subcommands up to the word that is none.
fn place_of<'a>(command: &Command, words: &[&'a str]) -> Option<(Vec<&'a str>, &'a str)> {
    let (mut at, mut path) = (command, vec![]);
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        match at.find_subcommand(word) {
            Some(next) => at = next,
            None => return Some((path, word)),
        }
        path.push(*word);
    }
    None
}
