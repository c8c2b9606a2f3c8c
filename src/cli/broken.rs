//! The files of the owner that cannot be read: said wherever someone may wonder why everything is asked for.

use std::path::Path;

use tracing::subscriber::{NoSubscriber, with_default};

use super::configuration;
use crate::config::Paths;
use crate::rules::Rules;

/// What is wrong with the configuration, and with the rules that count in these folders: a line each, and each once.
pub(super) fn broken_files<'a>(paths: &Paths, folders: impl IntoIterator<Item = &'a Path>) -> Vec<String> {
    // Said here, and not as a line of a log as well.
    let load = |folder: &Path| with_default(NoSubscriber::default(), || Rules::open(paths, folder).load());
    if let Err(error) = configuration(paths, None) {
        // Some rules stand in the configuration, too. They may be readable where the rest is not.
        let then = match folders.into_iter().chain([Path::new("/")]).all(|folder| load(folder).is_ok()) {
            true => {
                "sessions go on by the rules; Claude Code asks at its own dialog, and what would have to be held is denied"
            }
            false => {
                "a new session asks for everything that the rules which can be read do not deny, and that is denied where \
                 nobody can be asked"
            }
        };
        return vec![format!("{error:#}; no gate starts with it: {then}")];
    }
    let mut problems: Vec<String> = vec![];
    for folder in folders {
        let Err(problem) = load(folder) else { continue };
        let problem = anyhow::Error::from(problem);
        let words = format!(
            "{problem:#}; until it is repaired the rules from before count, and a new session asks for everything that the \
             rules which can be read do not deny"
        );
        if !problems.contains(&words) {
            problems.push(words);
        }
    }
    problems
}
