//! The user's own rules for one project: `allow`, `ask` and `deny` of `[projects."FOLDER"]` in the configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use portcullis_core::policy::{Decision, Origin, Rule, RuleSource};
use serde::Deserialize;
use toml::Spanned;

use super::disk::resolved;
use super::file::{MOST_RULES, RulesFile, Written, no_rule};
use crate::config::{Folder, Paths, Problem};
use crate::failure::Failure;

/// Which configuration, and the folder of the session that its rules are wanted for.
pub(super) struct ProjectRules {
    pub(super) paths: Paths,
    pub(super) folder: PathBuf,
}

/// Only what is needed here: a mistake elsewhere in the file is the gate's to report.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ConfigFile {
    projects: BTreeMap<Folder, Lists>,
}

/// A misspelt list would be a rule that silently does not hold, so unknown keys are errors here, too.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Lists {
    /// Of no concern here.
    #[serde(rename = "mode")]
    _mode: Option<toml::Value>,
    allow: Vec<Spanned<String>>,
    ask: Vec<Spanned<String>>,
    deny: Vec<Spanned<String>>,
}

impl ProjectRules {
    /// The rules of every project that the folder lies in. They count like those of the user's own rules file.
    pub(super) fn read(&self, path: &Path, text: Option<&str>) -> Result<RulesFile, Failure> {
        let rules = self.rules(path, text.unwrap_or_default());
        let rules = rules.map_err(|problem| problem.while_doing(format!("reading rules from {}", path.display())))?;
        Ok(RulesFile { path: path.to_owned(), exists: !rules.is_empty(), origin: Origin::User, rules })
    }

    fn rules(&self, path: &Path, text: &str) -> Result<Vec<Written>, Problem> {
        let ends: Vec<usize> = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        let line_at = |at: usize| 1 + ends.partition_point(|end| *end < at);
        let file: ConfigFile = toml::from_str(text).map_err(|error| {
            let hint = "write [projects.\"~/code\"] on a line, and below it allow = [\"Bash(make *)\"]";
            Problem::new(error.message(), hint).on_line(line_at(error.span().map_or(text.len(), |span| span.start)))
        })?;
        let mut rules = vec![];
        for (project, lists) in file.projects {
            let Some(project) = self.holding(&project) else { continue };
            let lists = [(Decision::Allow, lists.allow), (Decision::Ask, lists.ask), (Decision::Deny, lists.deny)];
            for (decision, pattern) in
                lists.into_iter().flat_map(|(decision, list)| list.into_iter().map(move |pattern| (decision, pattern)))
            {
                let line = line_at(pattern.span().start);
                let place = Some((path.display().to_string(), line));
                let source = RuleSource { origin: Origin::User, place, base: project.display().to_string() };
                let rule = Rule::new(decision, pattern.get_ref(), source);
                let rule = rule.map_err(|why| no_rule(pattern.get_ref(), &why).on_line(line))?;
                rules.push(Written { rule, line, examples: 0 });
            }
        }
        match rules.len() {
            ..=MOST_RULES => Ok(rules),
            many => Err(Problem::new(format!("there are {many} rules"), format!("keep at most {MOST_RULES}"))),
        }
    }

    /// The project, where the session's folder lies in it.
    pub(super) fn holding(&self, project: &Folder) -> Option<PathBuf> {
        let project = resolved(&project.at_home(&self.paths));
        resolved(&self.folder).starts_with(&project).then_some(project)
    }
}
