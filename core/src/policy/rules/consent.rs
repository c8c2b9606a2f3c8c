//! Whether everything that a call does is allowed, by a rule or by the mode; and else what is not.

use super::decide::{MandatoryAsk, View};
use super::decision::Mode;
use super::matching;
use super::rule::Rule;
use crate::policy::commands::command::{Stripped, raw, whole};
use crate::policy::files::access::{Access, Action, FileAccess, Plan, Step};
use crate::policy::words::path::has_dots;

impl<'a> View<'a> {
    /// Whether everything about the call is allowed, and by which rule if not by the mode alone; else what is not.
    pub(crate) fn consent(&self, action: &Action) -> Result<Option<&'a Rule>, String> {
        if self.mode == Mode::BypassPermissions {
            return Ok(None);
        }
        match action {
            Action::Shell(_) if self.call.tool != "Bash" => self.tool().map(Some),
            Action::Shell(plan) => self.shell(plan),
            Action::File(accesses) => self.files(accesses),
            Action::Other => self.tool().map(Some),
            Action::Malformed => Err(MandatoryAsk::Malformed.to_string()),
        }
    }

    fn tool(&self) -> Result<&'a Rule, String> {
        let allows = |rule: &&Rule| matching::allows_tool(rule, self.call, self.context);
        self.rules.rules.iter().find(allows).ok_or_else(|| format!("no rule allows {}", self.call.tool))
    }

    /// A file tool. By the mode alone pass Read, Glob and Grep, and edits where they are accepted.
    fn files(&self, accesses: &[FileAccess]) -> Result<Option<&'a Rule>, String> {
        let by_mode = matches!(self.call.tool.as_str(), "Read" | "Glob" | "Grep") || self.mode == Mode::AcceptEdits;
        let mut by = None;
        for file in accesses {
            by = by.or(self.file(&self.call.tool, file, by_mode)?);
        }
        Ok(by)
    }

    fn file(&self, tool: &str, file: &FileAccess, by_mode: bool) -> Result<Option<&'a Rule>, String> {
        let Some(path) = file.path.as_deref() else { return Err("it cannot be told which file is meant".to_owned()) };
        let Some(target) = self.call.target(path) else { return Err(format!("nobody followed the links of {path}")) };
        let path = if has_dots(path) { target } else { path };
        let verb = if file.access == Access::Write { "writing" } else { "reading" };
        let inside = self.context.works_in(path) && self.context.works_in(target);
        let mode_allows = file.access != Access::Write || self.mode == Mode::AcceptEdits;
        if by_mode && inside && mode_allows {
            return Ok(None);
        }
        let allows = |rule: &&Rule| matching::allows_file(rule, tool, self.call, path, target, self.context);
        if let Some(rule) = self.rules.rules.iter().find(allows) {
            return Ok(Some(rule));
        }
        Err(match (inside, path == target) {
            (true, _) => format!("no rule allows {verb} {path}"),
            (false, true) => format!("{path} is outside the working folders"),
            (false, false) => format!("{path} leads to {target}, outside the working folders"),
        })
    }

    fn shell(&self, plan: &Plan) -> Result<Option<&'a Rule>, String> {
        if plan.steps.is_empty() {
            return Err("there is no command".to_owned());
        }
        let mut by = None;
        for step in &plan.steps {
            by = by.or(self.command(step)?);
            for file in &step.redirects {
                let is_here = || {
                    let is_free = |path: &str| self.context.works_in(path) || is_temporary(path);
                    file.names(self.call).count() > 0 && file.names(self.call).all(is_free)
                };
                if self.allows_every_line() && is_here() {
                    continue;
                }
                let tool = if file.access == Access::Write { "Edit" } else { "Read" };
                by = by.or(self.file(tool, file, true)?);
            }
        }
        Ok(by)
    }

    /// Whether a rule allows every shell line.
    pub(super) fn allows_every_line(&self) -> bool {
        self.call.tool == "Bash" && self.rules.rules.iter().any(|rule| rule.allows_every_line(self.context))
    }

    fn command(&self, step: &Step) -> Result<Option<&'a Rule>, String> {
        let allows = |rule: &&Rule| matching::allows_command(rule, step, self.context);
        if let Some(rule) = self.rules.rules.iter().find(allows) {
            // Who allows every command has allowed it with every file.
            return if rule.pattern.specifier.is_none() {
                Ok(Some(rule))
            } else {
                self.known_files(step).map(|()| Some(rule))
            };
        }
        if let Some(reads) = &step.reads {
            let mut by = None;
            for file in reads {
                let tool = if file.access == Access::Enter { "Cd" } else { "Read" };
                by = by.or(self.file(tool, file, true)?);
            }
            return Ok(by);
        }
        if self.mode == Mode::AcceptEdits && makes_files(step) {
            for file in &step.files {
                self.file(if file.access == Access::Write { "Edit" } else { "Read" }, file, true)?;
            }
            return Ok(None);
        }
        let whole = whole(&step.command);
        Err(match Stripped::of(&step.command) {
            None if self.allows_every_line() => {
                format!("the variables before it may change what it does: `{whole}`")
            }
            None if !step.command.assignments.is_empty() => {
                format!("the variables before it may change what it does, and no rule allows exactly `{whole}`")
            }
            _ => format!("no rule allows `{}`", raw(&step.command.words)),
        })
    }

    /// A rule on a command says nothing about files elsewhere, where we know that the words are files.
    fn known_files(&self, step: &Step) -> Result<(), String> {
        for file in &step.files {
            let Some(path) = file.path.as_deref() else {
                return Err("it cannot be told which file is meant".to_owned());
            };
            let target = self.call.target(path);
            if self.context.works_in(path) && target.is_some_and(|target| self.context.works_in(target)) {
                continue;
            }
            self.file(if file.access == Access::Write { "Edit" } else { "Read" }, file, true)?;
        }
        Ok(())
    }
}

/// Whether a path lies in a folder that everybody has for what is soon thrown away.
fn is_temporary(path: &str) -> bool {
    ["/tmp/", "/var/tmp/", "/private/tmp/"].iter().any(|folder| path.starts_with(folder))
}

/// A plain command that makes, copies or moves files, with no flag that would make it something else.
fn makes_files(step: &Step) -> bool {
    let Some(stripped) = Stripped::of(&step.command) else { return false };
    let flags: &[&str] = match stripped.name() {
        "mkdir" => &["-p"],
        "touch" | "cp" | "mv" => &[],
        _ => return false,
    };
    !stripped.takes_more && stripped.arguments().all(|word| !word.is_flag() || flags.contains(&word.text.as_str()))
}
