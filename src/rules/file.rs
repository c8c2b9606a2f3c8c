//! A rules file: `[[rule]]` after `[[rule]]`, each understood or refused with its line and a hint.

use std::path::{Path, PathBuf};

use portcullis_core::policy::{Decision, Origin, Rule, RuleSource};
use portcullis_wire::api::RuleView;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::example::{self, Example};
use crate::config::{Problem, nearest, quoted};
use crate::failure::Failure;

const KEYS: [&str; 8] = ["allow", "ask", "deny", "why", "match", "no_match", "session", "quorum"];
/// More would make every decision slow.
pub(super) const MOST_RULES: usize = 2_000;
const MOST_EXAMPLES: usize = 100;

/// A file as it was taken, or that there is none.
#[derive(Clone, Debug)]
pub(crate) struct RulesFile {
    pub(crate) path: PathBuf,
    pub(crate) exists: bool,
    pub(crate) origin: Origin,
    pub(crate) rules: Vec<Written>,
}

#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) rule: Rule,
    pub(crate) line: usize,
    pub(crate) examples: usize,
}

impl RulesFile {
    /// Takes a file's text, all of it or nothing.
    pub(crate) fn read(
        path: &Path,
        text: Option<&str>,
        origin: Origin,
        base: &str,
        home: Option<&Path>,
    ) -> Result<Self, Failure> {
        let doing = || format!("reading rules from {}", path.display());
        let mut reader = RulesReader { path, origin, base, home, wrong: vec![] };
        let read = reader.rules(text.unwrap_or_default());
        let mut wrong = reader.wrong.into_iter();
        match (read, wrong.next()) {
            (Err(problem), _) | (Ok(_), Some(problem)) => Err(problem.and(wrong).while_doing(doing())),
            (Ok(rules), None) => Ok(Self { path: path.to_owned(), exists: text.is_some(), origin, rules }),
        }
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let warning = |written: &Written| Some(format!("line {}: {}", written.line, written.rule.warning()?));
        self.rules.iter().filter_map(warning).collect()
    }
}

/// How many rules and examples a text has, without a look at what they say. None that count where it is no TOML.
pub(super) fn count(text: &str) -> (usize, usize) {
    let Ok(table) = DeTable::parse(text) else { return (0, 0) };
    let rules = || table.get_ref().values().filter_map(|value| value.get_ref().as_array()).flatten();
    let fields = rules().filter_map(|rule| rule.get_ref().as_table()).flatten();
    let examples = fields.filter(|(key, _)| matches!(&**key.get_ref(), "match" | "no_match"));
    let examples = examples.filter_map(|(_, list)| list.get_ref().as_array()).map(|list| list.iter().count()).sum();
    (rules().count(), examples)
}

/// A rule as text for the end of a file.
pub(crate) fn block(decision: Decision, pattern: &str, why: Option<&str>) -> String {
    let text = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let why = why.map(|why| format!("why = {}\n", text(why))).unwrap_or_default();
    format!("[[rule]]\n{} = {}\n{why}", decision.name(), text(pattern))
}

struct RulesReader<'a> {
    path: &'a Path,
    origin: Origin,
    base: &'a str,
    home: Option<&'a Path>,
    /// Examples that do not hold. All are looked at, so that one sees them together.
    wrong: Vec<Problem>,
}

impl RulesReader<'_> {
    fn rules(&mut self, text: &str) -> Result<Vec<Written>, Problem> {
        let ends: Vec<usize> = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        let line_at = |at: usize| 1 + ends.partition_point(|end| *end < at);
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(text.len(), |span| span.start);
            let hint = "the file is TOML: [[rule]] on a line, and below it allow = \"Bash(npm test *)\"";
            Problem::new(error.message(), hint).on_line(line_at(at))
        })?;
        let mut rules = vec![];
        for (key, value) in table.get_ref() {
            let line = line_at(key.span().start);
            if key.get_ref() != "rule" {
                return Err(unknown(key.get_ref(), &["rule"]).on_line(line));
            }
            let DeValue::Array(array) = value.get_ref() else {
                return Err(Problem::new("rule is not a list", "write [[rule]], with two brackets").on_line(line));
            };
            for entry in array {
                let line = line_at(entry.span().start);
                let DeValue::Table(table) = entry.get_ref() else {
                    return Err(Problem::new("a rule is a table", "write [[rule]] on a line of its own").on_line(line));
                };
                rules.push(self.rule(table, line, &line_at)?);
            }
        }
        if rules.len() > MOST_RULES {
            return Err(Problem::new(format!("there are {} rules", rules.len()), format!("keep at most {MOST_RULES}")));
        }
        Ok(rules)
    }

    fn rule(&mut self, table: &DeTable<'_>, line: usize, line_at: &dyn Fn(usize) -> usize) -> Result<Written, Problem> {
        let mut said: Option<(Decision, &Spanned<DeValue<'_>>)> = None;
        for (key, value) in table {
            let line = line_at(key.span().start);
            if !KEYS.contains(&&**key.get_ref()) {
                return Err(unknown(key.get_ref(), &KEYS).on_line(line));
            }
            if let Some(decision) = Decision::named(key.get_ref())
                && said.replace((decision, value)).is_some()
            {
                let hint = "write a rule of its own for each of allow, ask and deny";
                return Err(Problem::new("a rule has one decision", hint).on_line(line));
            }
        }
        let Some((decision, pattern)) = said else {
            let hint = "write one of allow, ask and deny, such as allow = \"Bash(npm test *)\"";
            return Err(Problem::new("the rule decides nothing", hint).on_line(line));
        };
        let line = line_at(pattern.span().start);
        let written = text(decision.name(), pattern).map_err(|problem| problem.on_line(line))?;
        let place = Some((self.path.display().to_string(), line));
        let source = RuleSource { origin: self.origin, place, base: self.base.to_owned() };
        let mut rule = Rule::new(decision, written, source).map_err(|why| no_rule(written, &why).on_line(line))?;
        let mut examples = vec![];
        for (key, value) in table {
            let taken = match &**key.get_ref() {
                "why" => text("why", value).map(|why| rule.why = Some(why.to_owned())),
                "session" => text("session", value).map(|label| rule.session = Some(label.to_owned())),
                "quorum" => quorum(value, decision).map(|number| rule.quorum = Some(number)),
                side @ ("match" | "no_match") => list(side, value).map(|list| examples.push((side == "match", list))),
                _ => Ok(()),
            };
            taken.map_err(|problem| problem.on_line(line_at(value.span().start)))?;
        }
        let mut count = 0;
        for (fits, example) in examples.iter().flat_map(|(fits, list)| list.iter().map(move |example| (*fits, example)))
        {
            let checked = self.check(&rule, fits, example);
            self.wrong.extend(checked.err().map(|problem| problem.on_line(line_at(example.span().start))));
            count += 1;
        }
        Ok(Written { rule, line, examples: count })
    }

    fn check(&self, rule: &Rule, fits: bool, example: &Spanned<DeValue<'_>>) -> Result<(), Problem> {
        let example = Example::read(&rule.pattern.tool, example)?;
        example::check(rule, fits, &example, self.base, self.home)
    }
}

pub(super) fn no_rule(written: &str, why: &str) -> Problem {
    Problem::new(
        format!("{} is no rule: {why}", quoted(written)),
        "a rule is Tool or Tool(specifier), such as Bash(npm test *)",
    )
}

fn unknown(key: &str, known: &[&'static str]) -> Problem {
    let hint = match nearest(key, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("the keys are {}", known.join(", ")),
    };
    Problem::new(format!("unknown key {}", quoted(key)), hint)
}

pub(super) fn text<'value>(key: &str, value: &'value Spanned<DeValue<'_>>) -> Result<&'value str, Problem> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text),
        _ => Err(Problem::new(format!("{key} is not text"), format!("put what stands behind {key} in quotes"))),
    }
}

pub(super) fn quorum(value: &Spanned<DeValue<'_>>, decision: Decision) -> Result<u32, Problem> {
    const MOST: u32 = 20;
    let number = match value.get_ref() {
        DeValue::Integer(digits) => u32::from_str_radix(digits.as_str(), digits.radix()).ok(),
        _ => None,
    };
    let hint = format!("quorum is how many people must allow what is asked for: a whole number from 2 to {MOST}");
    let Some(number) = number.filter(|number| (2..=MOST).contains(number)) else {
        return Err(Problem::new("quorum is out of range", hint));
    };
    match decision {
        Decision::Ask => Ok(number),
        _ => {
            Err(Problem::new(format!("quorum on a rule that says {}", decision.name()), "only ask rules have a quorum"))
        }
    }
}

fn list<'value, 'text>(
    key: &str,
    value: &'value Spanned<DeValue<'text>>,
) -> Result<Vec<&'value Spanned<DeValue<'text>>>, Problem> {
    match value.get_ref() {
        DeValue::Array(array) if array.iter().count() <= MOST_EXAMPLES => Ok(array.iter().collect()),
        DeValue::Array(_) => Err(Problem::new("too many examples", format!("keep at most {MOST_EXAMPLES} in a list"))),
        _ => Err(Problem::new(format!("{key} is not a list"), format!("write {key} = [\"…\"]"))),
    }
}
/// Each rule with the number by which `rules remove` knows it.
pub(crate) fn rule_views(files: &[RulesFile]) -> Vec<RuleView> {
    let rules = files.iter().flat_map(|file| file.rules.iter().map(move |written| (file, written)));
    let view = |(index, (file, written)): (usize, (&RulesFile, &Written))| {
        RuleView::of(index + 1, &written.rule, file.path.display().to_string(), written.line, written.examples)
    };
    rules.enumerate().map(view).collect()
}
