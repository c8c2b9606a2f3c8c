//! `portcullis rules`: list, try, test, add, remove and trust rules.

mod change;
mod lines;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use portcullis_core::policy::{
    Context, Decision, Judgement, Mode, Origin, OutsidePolicy, Rule, RuleSource, SessionShell, primary_field,
};
use portcullis_core::visible;
use portcullis_wire::api::{RulingView, as_told};
use portcullis_wire::tools;
use serde_json::{Value, json};

use super::inside::{InsideAnAgent, refused_here};
use super::setup::consent;
use super::setup::rules::TrustPlan;
use super::{configuration, log_at, paths, say};
use crate::config::Paths;
use crate::failure::Failure;
use crate::rules::{RealDisk, Rules as Loaded, RulesFile, Written, rule_views};

/// List, try, add, remove and trust the rules that decide about tool calls
#[derive(clap::Args)]
pub(super) struct Rules {
    #[command(subcommand)]
    what: RulesCommand,
}

#[derive(Subcommand)]
enum RulesCommand {
    /// List the rules that count here, with file and number
    List {
        #[command(flatten)]
        place: RulesPlace,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Say what would be decided about one tool call, and why
    Check(Check),
    /// Check the rules against the examples in their files
    Test {
        #[command(flatten)]
        place: RulesPlace,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    Add(change::AddRule),
    Remove(change::RemoveRule),
    /// Let the allow rules of a project's file count, as the file is now
    ///
    /// Its ask and deny rules always count. A file that changes has to be trusted again.
    Trust {
        /// The file; this project's by default
        file: Option<PathBuf>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

#[derive(clap::Args)]
struct RulesPlace {
    /// Only the rules of this file, which counts as trusted
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// The folder of the session [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Check {
    #[command(flatten)]
    place: RulesPlace,
    /// The permission mode of the session: default, acceptEdits, plan, dontAsk, auto or bypassPermissions; may be given
    /// several times, for an answer in each
    #[arg(long = "mode", value_name = "MODE", default_value = "default", value_parser = mode)]
    modes: Vec<Mode>,
    /// The session's label, for rules that are meant for some sessions only
    #[arg(long, value_name = "LABEL")]
    session: Option<String>,
    /// Another folder the session works in; may be given several times
    #[arg(long = "add-dir", value_name = "DIR")]
    added: Vec<PathBuf>,
    /// Also with this allow rule; may be given several times
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// The same with an ask rule
    #[arg(long, value_name = "RULE")]
    ask: Vec<String>,
    /// The same with a deny rule
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    /// The shell that runs lines: bash or zsh [default: the one that Claude Code would take here]
    #[arg(long, value_name = "SHELL", value_parser = shell)]
    shell: Option<SessionShell>,
    /// As after text from someone who may not direct the session: by the setting `outside`, or as said here
    #[arg(long, value_name = "guard|all", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = outside)]
    outside: Option<OutsideCheck>,
    /// Decide about many inputs: each line of this file (- for stdin) is an INPUT, or one in JSON quotes, and gets a line
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    lines: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    /// The tool, such as Bash
    #[arg(value_name = "TOOL")]
    tool: String,
    /// The command for Bash, the path for Read, Edit and Write, the address for WebFetch; or the whole input as JSON, such
    /// as '{"command": "npm test"}'
    #[arg(value_name = "INPUT", required_unless_present = "lines")]
    input: Option<String>,
}

fn mode(name: &str) -> Result<Mode, String> {
    let names = || Mode::ALL.map(Mode::name).join(", ");
    Mode::named(name).ok_or_else(|| format!("the modes are {}", names()))
}

fn shell(name: &str) -> Result<SessionShell, String> {
    match name {
        "bash" => Ok(SessionShell::Bash),
        "zsh" => Ok(SessionShell::MayBeZsh),
        _ => Err("Claude Code runs lines with bash or zsh".to_owned()),
    }
}

/// Which policy `--outside` means: none is that of the configuration.
#[derive(Clone, Copy)]
struct OutsideCheck(Option<OutsidePolicy>);

fn outside(name: &str) -> Result<OutsideCheck, String> {
    if name.is_empty() {
        return Ok(OutsideCheck(None));
    }
    let known = OutsidePolicy::named(name).filter(|policy| *policy != OutsidePolicy::Off);
    known.map(|policy| OutsideCheck(Some(policy))).ok_or_else(|| "it is guard or all".to_owned())
}

impl Rules {
    pub(super) fn inside(&self) -> InsideAnAgent {
        match &self.what {
            RulesCommand::List { .. } | RulesCommand::Check(_) | RulesCommand::Test { .. } => InsideAnAgent::Allowed,
            RulesCommand::Add(add) => refused_here(add.in_words()),
            RulesCommand::Remove(remove) => refused_here(remove.in_words()),
            RulesCommand::Trust { file: Some(file), .. } => refused_here(format!("trust {}", file.display())),
            RulesCommand::Trust { file: None, .. } => refused_here("trust the rules of this project"),
        }
    }

    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        log_at("error");
        let paths = paths()?;
        match self.what {
            RulesCommand::List { place, json } => list(&place.load(&paths)?, json),
            RulesCommand::Check(check) => check.run(&paths)?,
            RulesCommand::Test { place, json } => test(&place.load(&paths)?, json),
            RulesCommand::Add(add) => add.run(&paths)?,
            RulesCommand::Remove(remove) => remove.run(&paths)?,
            RulesCommand::Trust { file, yes } => trust(&paths, file, yes)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl RulesPlace {
    fn folder(&self) -> anyhow::Result<PathBuf> {
        let folder = self.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
        if !folder.is_dir() {
            let problem = format!("there is no folder {}", folder.display());
            return Err(Failure::usage(problem, "name a folder that is there").into());
        }
        Ok(std::path::absolute(folder)?)
    }

    fn load(&self, paths: &Paths) -> anyhow::Result<Loaded> {
        let Some(file) = &self.rules else { return Ok(Loaded::open(paths, &self.folder()?).load()?) };
        if !file.exists() {
            return Err(
                Failure::usage(format!("there is no file {}", file.display()), "name a file that is there").into()
            );
        }
        Ok(Loaded::named(paths, &std::path::absolute(file)?).load()?)
    }
}

impl Check {
    fn run(self, paths: &Paths) -> anyhow::Result<()> {
        let rules = self.place.load(paths)?;
        let more = [(Decision::Allow, &self.allow), (Decision::Ask, &self.ask), (Decision::Deny, &self.deny)];
        for (decision, written) in
            more.into_iter().flat_map(|(decision, list)| list.iter().map(move |rule| (decision, rule)))
        {
            let source = RuleSource { origin: Origin::CommandLine, place: None, base: String::new() };
            rules.add(Rule::new(decision, written, source).map_err(|why| no_rule(&why))?);
        }
        let cwd = self.place.folder()?;
        let folder_name = || cwd.file_name().map(|name| name.to_string_lossy().into_owned());
        let label = self.session.clone().or_else(folder_name);
        let added = self.added.iter().map(std::path::absolute).collect::<Result<Vec<_>, _>>()?;
        let shell = self.shell.unwrap_or_else(|| rules.session_shell(&cwd));
        let around = rules.around(&cwd, &added, label.as_deref(), shell);
        if let Some(file) = &self.lines {
            return self.run_lines(paths, &rules, &around, file);
        }
        let input = self.input(self.input.as_deref().unwrap_or_default())?;
        for (mode, ruling) in self.modes.iter().zip(self.rulings(paths, &rules, &around, &input, &RealDisk::new())?) {
            let trusted = rules.decide_if_trusted(*mode, &around, tools::call(&self.tool, &input));
            // A project's rules let nothing pass after text from outside, trusted or not.
            let trusted = trusted.filter(|_| self.outside.is_none()).map(|trusted| as_told(trusted, *mode));
            let left = match (ruling.decision, mode) {
                _ if ruling.is_left_to_client(*mode) => LEFT_TO_CLIENT,
                (Decision::Allow, Mode::DontAsk) => DENIED_BY_CLIENT,
                _ => "",
            };
            say(&if self.json {
                let mut shown = self.in_json(*mode, &ruling);
                if left == LEFT_TO_CLIENT {
                    shown["left_to_client"] = json!(true);
                }
                shown["if_trusted"] = trusted.as_ref().map_or(Value::Null, in_json);
                shown["not_looked_at"] = json!(["claude_settings"]);
                format!("{shown}\n")
            } else {
                let ruling = in_words(&ruling) + &trusted.as_ref().map(if_trusted).unwrap_or_default();
                self.in_mode(*mode) + &ruling + left + NOT_LOOKED_AT
            });
        }
        Ok(())
    }

    /// What is decided in each mode.
    fn rulings(
        &self,
        paths: &Paths,
        rules: &Loaded,
        around: &Context,
        input: &Value,
        disk: &RealDisk,
    ) -> anyhow::Result<Vec<Judgement>> {
        let mut rulings = rules.decide_in_each(&self.modes, around, tools::call(&self.tool, input), disk);
        if let Some(OutsideCheck(policy)) = self.outside {
            let policy = match policy {
                Some(policy) => policy,
                None => crate::gate::sessions::outside(&configuration(paths, None)?),
            };
            let passes = rules.passes_outside_guard(around, tools::call(&self.tool, input), policy);
            for ruling in rulings.iter_mut().filter(|ruling| !passes && ruling.decision != Decision::Deny) {
                ruling.decision = Decision::Ask;
                ruling.why = format!("after text from outside this is asked for (outside = {:?})", policy.name());
            }
        }
        Ok(rulings.into_iter().zip(&self.modes).map(|(ruling, mode)| as_told(ruling, *mode)).collect())
    }

    /// Where several modes are asked about, each answer says its own.
    fn in_mode(&self, mode: Mode) -> String {
        if self.modes.len() > 1 { format!("{}: ", mode.name()) } else { String::new() }
    }

    fn in_json(&self, mode: Mode, ruling: &Judgement) -> Value {
        let mut shown = in_json(ruling);
        if self.modes.len() > 1 {
            shown["mode"] = json!(mode.name());
        }
        shown
    }

    /// A JSON object as it stands, and other text as what the tool is mainly given.
    fn input(&self, whole: &str) -> anyhow::Result<Value> {
        let text = whole.trim();
        let field = primary_field(&self.tool);
        if is_json_object(text) || field.is_none() {
            let meant = change::nearest_tool(&self.tool).filter(|known| *known != self.tool);
            let hint = meant.map_or_else(
                || "write the input of the tool as a JSON object, such as '{\"command\": \"npm test\"}'".to_owned(),
                |known| format!("did you mean the tool {known}? Of others the input is a JSON object"),
            );
            let input: Value = serde_json::from_str(text)
                .map_err(|error| Failure::usage(format!("the input is not a JSON object: {error}"), &hint))?;
            if !input.is_object() {
                return Err(Failure::usage("the input is not a JSON object", hint).into());
            }
            if let Some(field) = tools::lacks(&self.tool, &input) {
                let hint = format!("{} is given a text as {field:?}, or write it without JSON: '…'", self.tool);
                return Err(
                    Failure::usage(format!("the input has no {field:?}, and {} needs one", self.tool), hint).into()
                );
            }
            return Ok(input);
        }
        if text.is_empty() {
            let hint = "write what the tool is given: for Bash the command, as in rules check Bash 'npm test'";
            return Err(Failure::usage("the input is empty", hint).into());
        }
        Ok(self.as_text(whole).unwrap_or_default())
    }

    /// The input of a tool that is mainly given a text: this one.
    fn as_text(&self, whole: &str) -> Option<Value> {
        let field = primary_field(&self.tool).filter(|_| !whole.trim().is_empty())?;
        Some(json!({ field: whole }))
    }
}

/// Whether a text is meant as a JSON object. A command may begin with a brace as well: `{ ls; }`.
fn is_json_object(text: &str) -> bool {
    let rest = text.strip_prefix('{').map(str::trim_start);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['"', '}']))
}

/// In mode auto.
const LEFT_TO_CLIENT: &str = "no rule asks: in auto mode Claude Code's own check decides, and perhaps asks nobody\n";

/// In mode dontAsk: the client never gets to ask, which is when an allow rule of ours answers.
const DENIED_BY_CLIENT: &str = "in dontAsk mode Claude Code itself denies what it would ask for: only a rule in its own settings lets such a call run\n";

/// A call that passes here may still be asked for or denied there, and the other way round.
const NOT_LOOKED_AT: &str = "not looked at: the permission rules in Claude Code's own settings\n";

fn no_rule(why: &str) -> Failure {
    Failure::usage(format!("not a rule: {why}"), "a rule is Tool or Tool(specifier), such as 'Bash(npm test *)'")
}

fn in_json(ruling: &Judgement) -> Value {
    json!(RulingView::of(ruling, None))
}

fn in_words(ruling: &Judgement) -> String {
    let mut text = format!("{}: {}\n", ruling.decision.name(), ruling.why);
    if let Some(rule) = &ruling.rule {
        let place = rule.source.place.as_ref().map(|(file, line)| format!(", {file} line {line}")).unwrap_or_default();
        text.push_str(&format!("rule: {} {}{place}\n", rule.decision.name(), rule.pattern));
    }
    if let Some(quorum) = ruling.quorum.filter(|_| ruling.decision == Decision::Ask) {
        text.push_str(&format!("quorum: {quorum} people must allow it\n"));
    }
    text.push_str(&format!("risk: {}; a label for people that decides nothing\n", ruling.risk.in_words()));
    for reason in &ruling.risk.reasons {
        text.push_str(&format!("  {}: it {}\n", reason.name(), reason.meaning()));
    }
    visible(&text)
}

/// What a project's rule would decide if its file were trusted.
fn if_trusted(ruling: &Judgement) -> String {
    let rule = ruling.rule.as_ref();
    let by =
        rule.map_or("a rule of this project".to_owned(), |rule| format!("{} {}", rule.decision.name(), rule.pattern));
    let place = rule.and_then(|rule| rule.source.place.as_ref());
    let place = place.map(|(file, line)| format!(" ({file} line {line})")).unwrap_or_default();
    let decision = ruling.decision.name();
    visible(&format!(
        "not trusted: {by}{place} would {decision} it, and does not count; `portcullis rules trust` shows the file and trusts it\n"
    ))
}

fn list(rules: &Loaded, json: bool) {
    let files = rules.files();
    if json {
        return say(&format!("{}\n", json!(rule_views(&files))));
    }
    if files.iter().all(|file| file.rules.is_empty()) {
        return say("There are no rules. Add one with `portcullis rules add allow 'Bash(npm test *)'`.\n");
    }
    let mut text = String::new();
    let mut number = 0;
    for file in &files {
        let untrusted =
            if file.origin.is_trusted() { "" } else { "  (allow rules do not count: `portcullis rules trust`)" };
        text.push_str(&format!("{}{untrusted}\n", file.path.display()));
        for written in &file.rules {
            let rule = &written.rule;
            let why = rule.why.as_ref().map(|why| format!("  # {why}")).unwrap_or_default();
            let session = rule.session.as_ref().map(|label| format!("  (sessions {label})")).unwrap_or_default();
            let quorum = rule.quorum.map(|quorum| format!("  ({quorum} people)")).unwrap_or_default();
            number += 1;
            text.push_str(&format!(
                "{number:>3}  {:<5} {}{session}{quorum}{why}\n",
                rule.decision.name(),
                rule.pattern
            ));
        }
        text.extend(file.warnings().iter().map(|warning| format!("  warning: {warning}\n")));
    }
    say(&visible(&text));
}

/// Each rule with the number by which `rules remove` knows it.
fn numbered(files: &[RulesFile]) -> Vec<(usize, &RulesFile, &Written)> {
    let rules = files.iter().flat_map(|file| file.rules.iter().map(move |written| (file, written)));
    rules.enumerate().map(|(index, (file, written))| (index + 1, file, written)).collect()
}

/// A file with an example that does not hold is not taken, so what is here holds.
fn test(rules: &Loaded, json: bool) {
    let files = rules.files();
    let examples = |file: &RulesFile| file.rules.iter().map(|written| written.examples).sum::<usize>();
    if json {
        let row = |file: &RulesFile| json!({"file": file.path.display().to_string(), "rules": file.rules.len(), "examples": examples(file), "warnings": file.warnings()});
        return say(&format!("{}\n", Value::Array(files.iter().map(row).collect())));
    }
    if files.is_empty() {
        return say("There is no rules file.\n");
    }
    for file in &files {
        let (rules, examples) = (several(file.rules.len(), "rule"), several(examples(file), "example"));
        say(&visible(&format!("{}: {rules}, {examples}, all hold\n", file.path.display())));
        for warning in file.warnings() {
            say(&visible(&format!("  warning: {warning}\n")));
        }
    }
}

/// `1 rule`, `2 rules`.
fn several(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn trust(paths: &Paths, file: Option<PathBuf>, yes: bool) -> anyhow::Result<()> {
    let plan = TrustPlan::make(paths, &std::env::current_dir()?, file)?;
    let allows: String = plan.allows.iter().map(|pattern| format!("  allow {pattern}\n")).collect();
    say(&visible(&format!("{} would allow these without asking:\n{allows}", plan.file.in_words())));
    if !consent::given("Trust this file as it is now?", yes)? {
        say("Nothing was changed.\n");
        return Ok(());
    }
    plan.carry_out(paths)?;
    say("Trusted. When the file changes, its allow rules do not count until it is trusted again.\n");
    Ok(())
}
