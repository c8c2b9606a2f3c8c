//! `portcullis rules add` and `portcullis rules remove`.

use portcullis_core::policy::{Decision, Origin, Pattern, Rule, RuleSource, covers};
use portcullis_core::visible;
use serde_json::json;

use super::super::setup::installed::{SettingsFile, settings_files};
use super::super::setup::rules::{NewRule, RulesOwner};
use super::super::{say, setup};
use super::{Loaded, no_rule, numbered};
use crate::config::{Paths, environment, nearest};
use crate::failure::Failure;
use crate::rules::{RulesFile, Written};

/// Add a rule to your file, or to the project's
///
/// Refuses a rule that would have no effect, because another one says as much or more, and a tool that is not known.
#[derive(clap::Args)]
pub(super) struct AddRule {
    /// The decision for calls that the rule matches
    #[arg(value_parser = ["allow", "ask", "deny"])]
    decision: String,
    /// Tool or Tool(specifier), such as 'Bash(npm test *)'
    rule: String,
    /// Shown with the decision
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Into .portcullis/rules.toml of this project, for everyone who works on it
    #[arg(long)]
    project: bool,
    /// Add it also if the tool is not known, or if another rule makes it pointless today
    #[arg(long)]
    force: bool,
    /// Print a JSON object: the file and the rule
    #[arg(long)]
    json: bool,
}

/// Remove a rule from your file, or from the project's
///
/// The rest of the file stays as it is, comments included.
#[derive(clap::Args)]
pub(super) struct RemoveRule {
    /// The rule as it is written, or its number in `rules list`
    #[arg(value_name = "RULE|NUMBER")]
    rule: String,
}

impl AddRule {
    pub(super) fn in_words(&self) -> String {
        format!("add the rule {} {}", self.decision, self.rule)
    }

    pub(super) fn run(self, paths: &Paths) -> anyhow::Result<()> {
        let pattern = Pattern::read(&self.rule).map_err(|why| no_rule(&why))?;
        let decision = Decision::named(&self.decision).unwrap_or(Decision::Ask);
        let folder = std::env::current_dir()?;
        let owner = if self.project { RulesOwner::Project } else { RulesOwner::User };
        self.check(&Loaded::open(paths, &folder).load()?.files(), decision, &pattern, owner)?;
        let rule = NewRule { decision, pattern: &pattern, why: self.why.as_deref() };
        let (file, warning) = setup::rules::add(paths, &folder, owner, &rule)?;
        if self.json {
            let (decision, rule) = (decision.name(), pattern.to_string());
            say(&format!("{}\n", json!({"file": file, "decision": decision, "rule": rule, "warning": warning})));
            return Ok(());
        }
        say(&visible(&format!("Added to {file}: {} {pattern}\n", decision.name())));
        if let Some(warning) = warning {
            say(&visible(&format!("warning: {warning}\n")));
        }
        if Loaded::open(paths, &folder).load()?.snapshot().denied_by_the_client().contains(&pattern.to_string())
            && lacks_copy(&folder, &pattern)
        {
            say(
                "It holds from now on. `portcullis install --hooks` also copies it to Claude Code's own settings, which \
                 keep it while Portcullis is away.\n",
            );
        }
        Ok(())
    }

    /// Refuses what would have no effect. Only an exact copy is refused with `--force` as well.
    fn check(
        &self,
        files: &[RulesFile],
        decision: Decision,
        pattern: &Pattern,
        owner: RulesOwner,
    ) -> Result<(), Failure> {
        let origin = match owner {
            RulesOwner::User => Origin::User,
            RulesOwner::Project => Origin::Project { trusted: true },
        };
        let source = RuleSource { origin, place: None, base: "/".to_owned() };
        let rule = Rule { decision, pattern: pattern.clone(), why: None, session: None, quorum: None, source };
        let of_the_same_file = |file: &RulesFile| file.origin.name() == origin.name();
        let is_copy = |written: &Written| {
            written.rule.session.is_none()
                && written.rule.quorum.is_none()
                && (written.rule.decision, &written.rule.pattern) == (decision, pattern)
        };
        let mut copies = files.iter().filter(|file| of_the_same_file(file)).flat_map(|file| &file.rules);
        if let Some(copy) = copies.find(|written| is_copy(written)) {
            return Err(Failure::usage(
                format!("the rule is there already: {}", place(copy)),
                "`portcullis rules list` shows the rules that count here",
            ));
        }
        if self.force {
            return Ok(());
        }
        if !pattern.names_a_tool() {
            return Err(unknown_tool(pattern));
        }
        if let Some(warning) = rule.warning() {
            let hint = "write the rule as it says; --force adds it as it is";
            return Err(Failure::usage(format!("the rule would have no effect: {warning}"), hint));
        }
        // What a person's own file says is theirs to repeat for everyone who works on the project.
        let counts = |file: &&RulesFile| owner == RulesOwner::User || of_the_same_file(file);
        let others = files.iter().filter(counts).flat_map(|file| &file.rules);
        let wider = others.filter(|written| covers(&written.rule, &rule)).max_by_key(|written| written.rule.decision);
        let Some(wider) = wider else { return Ok(()) };
        let (name, place) = (in_words(&wider.rule), place(wider));
        let (why, hint) = if wider.rule.decision == decision {
            (format!("{name} says it already"), "nothing needs to be added; --force adds it all the same")
        } else {
            (
                format!("{name} decides these calls, and the strictest rule wins"),
                "remove that rule first, or make it narrower; --force adds this one all the same",
            )
        };
        Err(Failure::usage(format!("the rule would have no effect: {why}, {place}"), hint))
    }
}

/// Whether Claude Code has our hooks here, and no deny rule like this.
fn lacks_copy(folder: &std::path::Path, pattern: &Pattern) -> bool {
    let settings = settings_files(folder, &environment);
    let denies = |file: &SettingsFile| {
        let denied = file.said["permissions"]["deny"].as_array().into_iter().flatten();
        denied.filter_map(serde_json::Value::as_str).any(|denied| denied == pattern.to_string())
    };
    settings.iter().any(|file| !file.hooks().is_empty()) && !settings.iter().any(denies)
}

/// The known tool that someone probably meant.
pub(super) fn nearest_tool(tool: &str) -> Option<&'static str> {
    let known = Pattern::TOOLS.map(str::to_ascii_lowercase);
    let near = nearest(&tool.to_ascii_lowercase(), known.iter().map(String::as_str))?;
    Pattern::TOOLS.into_iter().find(|known| known.eq_ignore_ascii_case(near))
}

fn unknown_tool(pattern: &Pattern) -> Failure {
    let tool = &pattern.tool;
    let hint = match nearest_tool(tool) {
        Some(known) => format!("did you mean {known}? --force takes it as it is"),
        None => "a tool is Bash, Read, Edit, WebFetch …; one of an MCP server is mcp__SERVER__TOOL. --force takes it as it is"
            .to_owned(),
    };
    Failure::usage(format!("no tool is known as {tool}"), hint)
}

impl RemoveRule {
    pub(super) fn in_words(&self) -> String {
        format!("remove the rule {}", self.rule)
    }

    pub(super) fn run(self, paths: &Paths) -> anyhow::Result<()> {
        let files = Loaded::open(paths, &std::env::current_dir()?).load()?.files();
        let (file, written) = self.find(&files)?;
        let name = in_words(&written.rule);
        if file.path == paths.config_file {
            let hint = "take it out of the list in that file with an editor";
            return Err(Failure::new(format!("{name} stands in the configuration: {}", place(written)), hint).into());
        }
        let file = setup::rules::remove(paths, &file.path, written)?;
        say(&visible(&format!("Removed from {file}: {name}\n")));
        Ok(())
    }

    fn find<'files>(&self, files: &'files [RulesFile]) -> Result<(&'files RulesFile, &'files Written), Failure> {
        let rules = numbered(files);
        let number = self.rule.parse::<usize>().ok();
        let text = self.rule.trim();
        let pattern = Pattern::read(text).ok();
        let is_meant = |rule: &Rule| Some(&rule.pattern) == pattern.as_ref() || in_words(rule) == text;
        let found: Vec<_> = match number {
            Some(number) => rules.iter().filter(|(its, ..)| *its == number).collect(),
            None => rules.iter().filter(|(_, _, written)| is_meant(&written.rule)).collect(),
        };
        match found.as_slice() {
            [(_, file, written)] => Ok((file, written)),
            [] => Err(Failure::usage(
                format!("there is no rule {}", crate::config::quoted(text)),
                "`portcullis rules list` shows the rules with their numbers",
            )),
            several => {
                let each = |(number, _, written): &&(usize, &RulesFile, &Written)| {
                    format!("{number} is {}, {}", in_words(&written.rule), place(written))
                };
                let each: Vec<String> = several.iter().map(each).collect();
                let what = format!("{} rules are written so: {}", several.len(), each.join("; "));
                Err(Failure::usage(what, "name one by its number"))
            }
        }
    }
}

/// `allow Bash(npm test *)`.
fn in_words(rule: &Rule) -> String {
    format!("{} {}", rule.decision.name(), rule.pattern)
}

/// `/home/ann/.config/portcullis/rules.toml line 4`.
fn place(written: &Written) -> String {
    let place = written.rule.source.place.as_ref();
    place.map(|(file, line)| format!("{file} line {line}")).unwrap_or_default()
}
