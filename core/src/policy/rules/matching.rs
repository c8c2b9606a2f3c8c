//! Whether a rule is about a call. Strict rules take every issue for a yes, allow rules take it for a no.

use super::certain::sets_plainly;
use super::decision::Decision;
use super::line::{Fit, LinePattern};
use super::rule::{Origin, PRIMARY, Pattern, Rule, has_literal_server, is_parameter};
use super::web;
use crate::policy::commands::command::{Stripped, name_of, raw, texts, whole};
use crate::policy::commands::reading::writes_by_an_option;
use crate::policy::files::access::{Access, Action, FileAccess, Plan, Step};
use crate::policy::files::call::{Call, Context};
use crate::policy::files::folders::may_work_elsewhere;
use crate::policy::files::named::is_about_files;
use crate::policy::lines::perhaps::might_run;
use crate::policy::shell::{ANY, Script, ShellWord};
use crate::policy::words::glob::{PathPattern, text_matches};
use crate::policy::words::path::{has_dots, joined};
use crate::policy::words::values::{in_words, is_literal};

/// Whether a deny or ask rule is about the call, or about any part of it.
pub(crate) fn strictly(rule: &Rule, call: &Call, action: &Action, context: &Context) -> bool {
    if !rule.is_for(context, true) || rule.is_never_consulted().is_some() {
        return false;
    }
    let Pattern { tool, specifier } = &rule.pattern;
    let about_tool = names(tool, &call.tool, true)
        || tool == "Bash" && matches!(action, Action::Shell(_))
        || (rule.decision == Decision::Deny && reads_what_is_written(tool, call));
    let Some(specifier) = specifier else {
        let redirected = |plan: &Plan| plan.redirected.iter().any(|file| file.access == Access::Write);
        return about_tool || tool == "Edit" && matches!(action, Action::Shell(plan) if redirected(plan));
    };
    if about_tool && has_parameter(call, specifier) {
        return true;
    }
    match tool.as_str() {
        "Bash" => matches!(action, Action::Shell(plan) if runs(plan, call, specifier)),
        "Read" | "Edit" | "Cd" => {
            touched(rule, action).any(|file| path_strictly(rule, specifier, file, call, context))
                || tool == "Read" && names_a_file(rule, specifier, call, action, context)
        }
        "WebFetch" => about_tool && web::strictly(specifier, call.text("url")),
        // Another tool that runs lines: its rules mean them as those for Bash do.
        _ if about_tool && is_for_lines(tool, specifier, call) => {
            matches!(action, Action::Shell(plan) if runs(plan, call, specifier))
        }
        _ => about_tool && named(tool, specifier, call),
    }
}

/// Whether a deny rule is about a command as it stands in a line. What is more than that [`strictly`] finds.
pub(crate) fn plainly(rule: &Rule, call: &Call, script: &Script, context: &Context) -> bool {
    if rule.pattern.tool != "Bash" || !rule.is_for(context, true) || rule.is_never_consulted().is_some() {
        return false;
    }
    let Some(specifier) = &rule.pattern.specifier else { return true };
    let line = LinePattern::read(specifier);
    has_parameter(call, specifier)
        || script.commands.iter().any(|command| texts(&command.words).iter().any(|text| line.matches(text)))
}

/// Whether an allow rule lets the tool through, apart from files and shell lines.
pub(crate) fn allows_tool(rule: &Rule, call: &Call, context: &Context) -> bool {
    let Pattern { tool, specifier } = &rule.pattern;
    if !rule.may_allow(context) || !names(tool, &call.tool, false) {
        return false;
    }
    match (tool.as_str(), specifier) {
        (_, None) => true,
        ("WebFetch", Some(specifier)) => web::surely(specifier, call.text("url")),
        ("Agent" | "Task" | "Skill", Some(specifier)) => named(tool, specifier, call),
        _ => false,
    }
}

/// Whether an allow rule lets a file be read or written: by its name and by where its links lead. `tool` is the one
/// that was called, or `Edit` or `Read` where a shell does it. A rule without a path means its tool alone.
pub(crate) fn allows_file(rule: &Rule, tool: &str, call: &Call, path: &str, target: &str, context: &Context) -> bool {
    if !rule.may_allow(context) || !names(&rule.pattern.tool, tool, false) {
        return false;
    }
    let Some(specifier) = &rule.pattern.specifier else { return rule.pattern.tool == call.tool };
    let patterns = path_patterns(rule, specifier, context, false);
    let spellings = context.spellings(path);
    let allows = |path: &str| patterns.iter().any(|pattern| pattern.matches(path, false));
    spellings.iter().any(|path| allows(path)) && allows(target)
}

/// Whether an allow rule approves one command of a plain script.
pub(crate) fn allows_command(rule: &Rule, step: &Step, context: &Context) -> bool {
    if !rule.may_allow(context) || rule.pattern.tool != "Bash" {
        return false;
    }
    let Some(stripped) = Stripped::of(&step.command) else {
        if rule.pattern.specifier.is_none() {
            return sets_plainly(&step.command.assignments, &step.command.words);
        }
        // Who has written the variables down with the command has allowed both.
        let exact = rule.pattern.specifier.as_deref().map(LinePattern::read).filter(LinePattern::is_exact);
        return exact.is_some_and(|line| !step.command.words.is_empty() && line.matches(&whole(&step.command)));
    };
    // Who allows every command has allowed it with every file; what is handed to it strict rules have looked at.
    let Some(specifier) = &rule.pattern.specifier else { return true };
    // Files that only come in while it runs cannot be looked at before.
    if stripped.takes_more && is_about_files(name_of(stripped.name())) {
        return false;
    }
    let line = LinePattern::read(specifier);
    if line.is_exact() {
        return !stripped.takes_more && [stripped.words, stripped.whole].iter().any(|words| line.matches(&raw(words)));
    }
    if stripped.takes_more && !line.rest {
        return false;
    }
    // Who has not written such an option down has allowed reading.
    let says_how = line.words().iter().any(|word| word.starts_with('-'));
    let is_all_of_git = line.program() == "git" && line.words().is_empty();
    if !says_how && !is_all_of_git && writes_by_an_option(stripped.words) {
        return false;
    }
    !stripped.needs_its_exact_text() && line.matches(&raw(stripped.words))
}

impl Rule {
    /// Whether the rule is meant for this session. Who has no name is meant by what is strict.
    fn is_for(&self, context: &Context, unnamed: bool) -> bool {
        match (&self.session, &context.label) {
            (None, _) => true,
            (Some(_), None) => unnamed,
            (Some(pattern), Some(label)) => text_matches(pattern, label),
        }
    }

    /// Whether the rule allows every shell line.
    pub(super) fn allows_every_line(&self, context: &Context) -> bool {
        self.pattern.tool == "Bash" && self.pattern.specifier.is_none() && self.may_allow(context)
    }

    fn may_allow(&self, context: &Context) -> bool {
        self.decision == Decision::Allow
            && self.source.origin.is_trusted()
            && self.is_for(context, false)
            && self.is_never_consulted().is_none()
    }
}

/// Whether the tool of a rule means the tool of a call.
pub(crate) fn names(pattern: &str, tool: &str, strict: bool) -> bool {
    let family: &[&str] = match pattern {
        "Edit" => &["Edit", "Write", "MultiEdit", "NotebookEdit"],
        "Read" => &["Read", "Glob", "Grep", "LS", "LSP", "Artifact", "NotebookRead", "SendUserFile", "SendUserMessage"],
        "Agent" | "Task" => &["Agent", "Task"],
        _ => &[],
    };
    if pattern == tool || family.contains(&tool) {
        return true;
    }
    // `mcp__server` means all its tools. `mcp__a__b__c` may be a tool of a server called `a__b`.
    let is_one_of = |tools: &str| strict || !tools.contains("__");
    let server = pattern.strip_prefix("mcp__").filter(|rest| !rest.is_empty() && !rest.contains('*'));
    if server.is_some() && tool.strip_prefix(pattern).and_then(|rest| rest.strip_prefix("__")).is_some_and(is_one_of) {
        return true;
    }
    let tools = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map_or("", |(_, tools)| tools);
    pattern.contains('*') && (strict || has_literal_server(pattern) && is_one_of(tools)) && text_matches(pattern, tool)
}

/// Who may not read a file may not write it either.
fn reads_what_is_written(tool: &str, call: &Call) -> bool {
    tool == "Read" && names("Edit", &call.tool, true)
}

/// `field:value` on a field of the input.
fn has_parameter(call: &Call, specifier: &str) -> bool {
    let Some((field, value)) = specifier.split_once(':') else { return false };
    let given = call.input.get(field).filter(|_| !PRIMARY.contains(&field));
    given.and_then(crate::policy::files::call::Given::scalar).is_some_and(|given| text_matches(value, given))
}

/// The name of an agent or a skill; `prefix:*` for all that begin so.
fn named(tool: &str, specifier: &str, call: &Call) -> bool {
    let name = match tool {
        "Agent" | "Task" => call.text("subagent_type"),
        // The client takes these away before it looks for the skill.
        "Skill" => call.text("skill").or_else(|| call.text("command")).map(|name| name.trim().trim_start_matches('/')),
        _ => None,
    };
    let Some(name) = name else { return false };
    match specifier.strip_suffix(":*") {
        Some(prefix) => name == prefix || name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with([':', ' '])),
        None => name == specifier,
    }
}

/// Whether anything in the line is what the specifier says.
fn runs(plan: &Plan, call: &Call, specifier: &str) -> bool {
    let line = LinePattern::read(specifier);
    let whole = call.text("command").unwrap_or_default().trim();
    let suspects = &plan.suspects;
    line.matches(whole)
        || suspects.commands.iter().filter(|suspect| !suspect.is_behind_unknown).any(|suspect| {
            texts(&suspect.words).iter().any(|text| line.matches(text))
                || line.fits(&suspect.words, suspect.takes_more, &suspects.variables) == Fit::Yes
        })
}

/// Why a deny or ask rule might be about the call, where that cannot be told for certain.
pub(crate) fn perhaps(rule: &Rule, call: &Call, action: &Action, context: &Context) -> Option<String> {
    if rule.decision == Decision::Allow || !rule.is_for(context, true) || rule.is_never_consulted().is_some() {
        return None;
    }
    let Pattern { tool, specifier } = &rule.pattern;
    match (tool.as_str(), specifier, action) {
        // `rm:*` is a command with anything behind it.
        (tool, Some(specifier), Action::Shell(plan)) if is_for_lines(tool, specifier, call) => {
            let line = LinePattern::read(specifier);
            let line = line.in_folder(context.both(&context.cwd), may_work_elsewhere(&plan.suspects));
            might_run(&line, &plan.suspects)
        }
        ("Read" | "Edit", Some(specifier), _) if !is_parameter(specifier) => {
            might_touch(rule, specifier, call, action, context)
        }
        ("WebFetch", Some(specifier), _) if specifier.starts_with("domain:") && call.tool == "WebFetch" => {
            let is_hidden = call.text("url").is_some_and(web::hides_host);
            is_hidden.then(|| "its host is written in letters that may stand for others".to_owned())
        }
        _ => None,
    }
}

/// Whether a rule means lines of a shell: those of Bash mean each tool's, and another tool's mean its own.
fn is_for_lines(tool: &str, specifier: &str, call: &Call) -> bool {
    let is_tool = tool == "Bash" || tool == call.tool && call.runs_a_line();
    is_tool && (!is_parameter(specifier) || specifier.ends_with(":*"))
}

/// Whether a word of a line is a file that a rule on reading means: whatever is given its name may read it.
fn names_a_file(rule: &Rule, specifier: &str, call: &Call, action: &Action, context: &Context) -> bool {
    let Action::Shell(plan) = action else { return false };
    let patterns = path_patterns(rule, specifier, context, true);
    let fits = |path: &str| patterns.iter().any(|pattern| pattern.matches(path, true));
    let mut words =
        plan.touched.files.iter().filter(|touch| touch.is_word && !touch.is_perhaps && is_literal(&touch.path));
    words.any(|touch| {
        let own = Some(touch.path.as_str()).filter(|path| !has_dots(path));
        own.into_iter().chain(call.target(&touch.path)).any(fits)
    })
}

/// Why a rule on files might mean one that the call has to do with.
fn might_touch(rule: &Rule, specifier: &str, call: &Call, action: &Action, context: &Context) -> Option<String> {
    let in_folder = |folder: &str| format!("it may reach a file in {folder} that the rule names");
    let patterns = path_patterns(rule, specifier, context, true);
    let folders = super::below::folders(call, action, crate::policy::commands::reading::Descent::Named);
    let all_in = |folder: &&String| patterns.iter().any(|pattern| pattern.matches(&format!("{folder}/x"), true));
    if let Some(folder) = folders.iter().find(all_in) {
        return Some(in_folder(folder));
    }
    // What may change a folder may put something into it: `cp -t gen x`, `TMPDIR=gen mktemp`.
    if let Action::Shell(plan) = action
        && rule.pattern.tool == "Edit"
    {
        let changed = plan.touched.files.iter().filter(|touch| touch.may_change && is_literal(&touch.path));
        let mut folders = changed.flat_map(|touch| {
            let own = Some(touch.path.as_str()).filter(|path| !has_dots(path));
            own.into_iter().chain(call.target(&touch.path)).map(str::to_owned)
        });
        if let Some(folder) = folders.find(|folder| all_in(&folder)) {
            return Some(in_folder(&folder));
        }
    }
    if let Some(folder) = call.below(&rule.pattern) {
        return Some(in_folder(folder));
    }
    let Action::Shell(plan) = action else { return None };
    let access = if rule.pattern.tool == "Edit" { Access::Write } else { Access::Read };
    let reaches = rule.decision == Decision::Deny && rule.pattern.tool == "Read";
    let touched = plan.touched.files.iter().find(|touch| {
        let fits = |path: &str| match is_literal(path) {
            true => patterns.iter().any(|pattern| pattern.matches(path, true)),
            false => patterns.iter().any(|pattern| pattern.may_match(path)),
        };
        let own = Some(touch.path.as_str()).filter(|path| !has_dots(path));
        (touch.may_be(access) || reaches) && own.into_iter().chain(call.target(&touch.path)).any(fits)
    })?;
    let is_any = touched.path.chars().all(|c| c == ANY);
    Some(match is_any {
        true => "which files it reads or changes cannot be told".to_owned(),
        false => format!("{} may be read or changed", in_words(&touched.path)),
    })
}

fn touched<'action>(rule: &Rule, action: &'action Action) -> impl Iterator<Item = &'action FileAccess> {
    let tool = rule.pattern.tool.clone();
    let denies = rule.decision == Decision::Deny;
    action.accesses().into_iter().filter(move |file| match (tool.as_str(), file.access) {
        ("Read", Access::Read) | ("Edit", Access::Write) | ("Cd", Access::Enter) => true,
        ("Read", Access::Write) => denies,
        _ => false,
    })
}

fn path_strictly(rule: &Rule, specifier: &str, file: &FileAccess, call: &Call, context: &Context) -> bool {
    let patterns = path_patterns(rule, specifier, context, true);
    patterns.iter().any(|pattern| file.names(call).any(|path| pattern.matches(path, true)))
}

/// Where a path of a rule begins, by each name of that folder, and what it says from there.
pub(crate) fn path_patterns(rule: &Rule, specifier: &str, context: &Context, strict: bool) -> Vec<PathPattern> {
    let mut patterns = patterns_of(rule, specifier, context, strict);
    // What denies or asks means what a shell would make of it as well.
    if strict && specifier.contains(['{', '$']) {
        let (made, _) = ShellWord::plain(specifier).unbraced();
        let places = [("$PWD/", format!("/{}/", context.cwd)), ("$HOME/", "~/".to_owned())];
        for mut one in made {
            for (name, place) in &places {
                let braced = name.replace('$', "${").replace('/', "}/");
                let behind = one.strip_prefix(name).or_else(|| one.strip_prefix(braced.as_str()));
                if let Some(behind) = behind {
                    one = format!("{place}{behind}");
                }
            }
            patterns.extend(patterns_of(rule, &one, context, strict).into_iter().filter(|_| one != specifier));
        }
    }
    patterns
}

fn patterns_of(rule: &Rule, specifier: &str, context: &Context, strict: bool) -> Vec<PathPattern> {
    let (path, anchored, folders): (&str, bool, Vec<&str>) = if let Some(path) = specifier.strip_prefix("//") {
        (path, true, vec!["/"])
    } else if let Some(path) = specifier.strip_prefix("~/") {
        (path, true, context.home.as_deref().into_iter().flat_map(|home| context.both(home)).collect())
    } else if let Some(path) = specifier.strip_prefix('/') {
        let base = match rule.source.origin {
            Origin::User | Origin::Project { .. } => &rule.source.base,
            Origin::Session | Origin::CommandLine => &context.started,
        };
        (path, true, context.both(base).collect())
    } else {
        let (path, dotted) = specifier.strip_prefix("./").map_or((specifier, false), |path| (path, true));
        let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let anchored = match segments.as_slice() {
            // Of one folder everything: where it is allowed only here, where it is not at any depth.
            [_, "**"] => !strict,
            [_] => dotted && !strict,
            _ => true,
        };
        let started = context.both(&context.started).filter(|_| strict);
        (path, anchored, context.both(&context.cwd).chain(started).collect())
    };
    let pattern = |folder| match has_dots(path) {
        true => PathPattern::new("/", joined(folder, path).trim_start_matches('/'), true),
        false => PathPattern::new(folder, path, anchored),
    };
    folders.into_iter().map(pattern).collect()
}
