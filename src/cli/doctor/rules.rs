//! The rules files: whether each of them can be taken.

use std::path::Path;

use super::finding::Finding;
use crate::config::Paths;
use crate::rules::Rules;

const CHECK: &str = "rules";

/// The user's rules, and those of the project. What cannot be read asks for everything and allows nothing.
pub(super) fn look(paths: &Paths, project: &Path) -> Vec<Finding> {
    let own = Rules::named(paths, &paths.rules_file).load();
    let all = Rules::open(paths, project).load();
    match (own, all) {
        (Err(problem), _) | (Ok(_), Err(problem)) => {
            let mut finding = Finding::error(CHECK, &problem.into());
            finding.remedy = Some(match finding.remedy {
                Some(hint) => format!("{hint}; then `portcullis rules list`"),
                None => "repair the file; then `portcullis rules list`".to_owned(),
            });
            vec![finding]
        }
        (Ok(_), Ok(rules)) => {
            let count = rules.snapshot().rules.len();
            vec![Finding::ok(
                CHECK,
                match count {
                    0 => "none: Claude Code asks as its mode says".to_owned(),
                    1 => "1 rule, all of it readable".to_owned(),
                    count => format!("{count} rules, all of them readable"),
                },
            )]
        }
    }
}
