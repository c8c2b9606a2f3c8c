//! What can be read of a file with a mistake in it: the rules that deny and ask.
//!
//! A session that starts with such a file holds to them. What the file allows does not count, since a rule that cannot be
//! read may deny it. Nothing here is an error: the mistake itself is said by whoever wanted the whole file.

use std::path::Path;

use portcullis_core::policy::{Decision, Origin, Rule, RuleSource};
use toml::de::DeTable;

use super::file::{MOST_RULES, quorum, text};
use super::projects::ProjectRules;
use crate::config::Folder;

/// What counts of a file that cannot be taken.
const TIGHTENING: [Decision; 2] = [Decision::Ask, Decision::Deny];

/// How many people an ask rule wants at least, where it says a number that cannot be read.
const LEAST_QUORUM: u32 = 2;

/// The rules of a rules file.
pub(super) fn rules(path: &Path, whole: &str, origin: Origin, base: &str) -> Vec<Rule> {
    let source =
        |line: usize| RuleSource { origin, place: Some((path.display().to_string(), line)), base: base.to_owned() };
    let mut rules = vec![];
    for (line, part) in parts(whole) {
        let Ok(table) = DeTable::parse(&part) else { continue };
        let entries = table.get_ref().values().filter_map(|value| value.get_ref().as_array()).flatten();
        for entry in entries.filter_map(|entry| entry.get_ref().as_table()) {
            rules.extend(TIGHTENING.into_iter().filter_map(|decision| rule(entry, decision, source(line))));
        }
    }
    rules.truncate(MOST_RULES);
    rules
}

/// What a table denies or asks for. What else it says counts where it can be read.
fn rule(table: &DeTable<'_>, decision: Decision, source: RuleSource) -> Option<Rule> {
    let mut rule = Rule::new(decision, text(decision.name(), table.get(decision.name())?).ok()?, source).ok()?;
    let said = |key: &str| text(key, table.get(key)?).ok().map(str::to_owned);
    (rule.why, rule.session) = (said("why"), said("session"));
    let number = table.get("quorum").filter(|_| decision == Decision::Ask);
    rule.quorum = number.map(|number| quorum(number, decision).unwrap_or(LEAST_QUORUM));
    Some(rule)
}

/// The user's rules for the session's project in a configuration.
pub(super) fn rules_of_projects(path: &Path, whole: &str, wanted: &ProjectRules) -> Vec<Rule> {
    let mut rules = vec![];
    for (line, part) in parts(whole) {
        let Ok(table) = DeTable::parse(&part) else { continue };
        let projects = table.get_ref().get("projects").and_then(|projects| projects.get_ref().as_table());
        for (folder, lists) in projects.into_iter().flatten() {
            let folder = Folder::try_from(folder.get_ref().to_string()).ok();
            let Some(project) = folder.and_then(|folder| wanted.holding(&folder)) else { continue };
            for decision in TIGHTENING {
                let list = lists.get_ref().as_table().and_then(|lists| lists.get(decision.name()));
                let patterns = list.and_then(|list| list.get_ref().as_array()).into_iter().flatten();
                let place = Some((path.display().to_string(), line));
                let source = RuleSource { origin: Origin::User, place, base: project.display().to_string() };
                let read = |pattern: &str| Rule::new(decision, pattern, source.clone()).ok();
                rules.extend(patterns.filter_map(|pattern| pattern.get_ref().as_str().and_then(read)));
            }
        }
    }
    rules.truncate(MOST_RULES);
    rules
}

/// A text table by table, each with the line it begins on. Of one that is no TOML, the lines that are.
fn parts(whole: &str) -> Vec<(usize, String)> {
    let mut parts: Vec<(usize, String)> = vec![(1, String::new())];
    for (at, line) in whole.lines().enumerate() {
        if is_header(line) {
            parts.push((at + 1, String::new()));
        }
        if let Some((_, part)) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    for (_, part) in &mut parts {
        if DeTable::parse(part).is_err() {
            *part = part.lines().filter(|line| DeTable::parse(line).is_ok()).map(|line| format!("{line}\n")).collect();
        }
    }
    parts
}

/// `[[rule]]` and `[projects."x"]`.
fn is_header(line: &str) -> bool {
    let inside = line.trim_start().trim_start_matches('[');
    line.trim_start().starts_with('[') && inside.starts_with(|c: char| c.is_ascii_alphabetic())
}
