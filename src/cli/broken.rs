//! The files of the owner that cannot be read: said wherever someone may wonder why everything is asked for.

use std::path::Path;

use tracing::subscriber::{NoSubscriber, with_default};

use super::configuration;
use crate::config::Paths;
use crate::rules::Rules;

/// What is wrong with the configuration, and with the rules that count in these folders: a line each, and each once.
pub(super) fn broken_files<'a>(paths: &Paths, folders: impl IntoIterator<Item = &'a Path>) -> Vec<String> {
    // The rules stand partly in the configuration: where it is broken, they are, too.
    if let Err(error) = configuration(paths, None) {
        return vec![format!("{error:#}; no gate starts with it, and sessions ask for everything")];
    }
    let mut problems: Vec<String> = vec![];
    for folder in folders {
        // Said here, and not as a line of a log as well.
        let load = || Rules::open(paths, folder).load();
        let Err(problem) = with_default(NoSubscriber::default(), load) else { continue };
        let problem = anyhow::Error::from(problem);
        let words = format!(
            "{problem:#}; until it is repaired the rules from before count, and a new session asks for everything"
        );
        if !problems.contains(&words) {
            problems.push(words);
        }
    }
    problems
}
