//! The outside guard: what may pass unasked while text from someone who may not direct the session is before the model.

use super::decide::View;
use super::decision::Mode;
use super::rule::{Origin, RuleSet};
use crate::names::names;
use crate::policy::files::access::{Access, Action};
use crate::policy::files::call::{Call, Context, Given};

/// How much text from outside holds up, once it is before the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutsidePolicy {
    /// Reads inside the working folders, edits of unprotected files there, and what the user's own rules allow pass.
    #[default]
    Guard,
    /// Only reads inside the working folders pass.
    All,
    /// Everything passes.
    Off,
}

names!(OutsidePolicy { Guard = "guard", All = "all", Off = "off" });

/// Why a call is asked for, for people.
pub fn outside_reason(sender: &str) -> String {
    format!("this turn has read text from {sender}")
}

/// Tools that only talk with people, keep a list, or start a subagent, whose own calls are judged one by one.
const HARMLESS: [&str; 11] = [
    "AskUserQuestion",
    "ExitPlanMode",
    "EnterPlanMode",
    "TodoWrite",
    "TaskCreate",
    "TaskUpdate",
    "TaskGet",
    "TaskList",
    "Task",
    "Agent",
    "ToolSearch",
];

/// The model's tools that are ours.
pub const OWN_TOOLS: [&str; 3] = ["reply", "edit_message", "inbox"];
/// What stands before the names of tools of our servers, as agents have them: that of a session, and that of a gateway where it
/// is called as we say.
pub(crate) const OWN_SERVERS: [&str; 3] = ["mcp__portcullis__", "mcp__gate__", "mcp__plugin_portcullis_portcullis__"];

/// Whether a call certainly only reads inside the working folders, edits an unprotected file there, talks with people, or
/// is allowed by a rule of the user's own.
pub fn passes_outside_guard(rules: &RuleSet, context: &Context, call: &Call, policy: OutsidePolicy) -> bool {
    let only_reads = match policy {
        OutsidePolicy::Guard => false,
        OutsidePolicy::All => true,
        OutsidePolicy::Off => return true,
    };
    let is_ours =
        OWN_SERVERS.iter().filter_map(|server| call.tool.strip_prefix(server)).any(|tool| OWN_TOOLS.contains(&tool));
    // A subagent that runs elsewhere has none of our hooks.
    let is_elsewhere = call.input.get("isolation").is_some_and(|given| *given != Given::Text("worktree".to_owned()));
    if is_ours || HARMLESS.contains(&call.tool.as_str()) && !is_elsewhere {
        return true;
    }
    let is_users = |origin: Origin| matches!(origin, Origin::User | Origin::CommandLine | Origin::Session);
    let mut own = RuleSet { rules: rules.rules.clone() };
    own.rules.retain(|rule| !only_reads && is_users(rule.source.origin));
    let action = Action::of(call, context);
    let edits_a_file = matches!(&action, Action::File(files) if files.iter().any(|file| file.access == Access::Write));
    let mode = if edits_a_file && !only_reads { Mode::AcceptEdits } else { Mode::Default };
    let view = View { rules: &own, mode, context, call };
    view.mandatory_asks(&action).is_empty() && view.consent(&action).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Decision, Given, Rule, RuleSource};

    fn rule(origin: Origin, pattern: &str) -> Rule {
        let source = RuleSource { origin, place: None, base: "/home/ann".to_owned() };
        Rule::new(Decision::Allow, pattern, source).unwrap()
    }

    fn passes(rules: Vec<Rule>, tool: &str, field: &str, value: &str, only_reads: bool) -> bool {
        let context = Context::of("/home/ann/project", Some("/home/ann"));
        let input = [(field.to_owned(), Given::Text(value.to_owned()))].into_iter().collect();
        let call = Call::new(tool, input).followed(&context, |path| Some(path.to_owned()));
        let policy = if only_reads { OutsidePolicy::All } else { OutsidePolicy::Guard };
        passes_outside_guard(&RuleSet { rules }, &context, &call, policy)
    }

    #[test]
    fn reads_and_edits_inside_the_folder_pass_and_nothing_that_runs_or_sends() {
        for (tool, field, value, guard, all) in [
            ("Read", "file_path", "/home/ann/project/a.rs", true, true),
            ("Read", "file_path", "/home/ann/.ssh/id_rsa", false, false),
            ("Bash", "command", "ls -la", true, true),
            ("Bash", "command", "cat /etc/passwd", false, false),
            ("Bash", "command", "rm -rf build", false, false),
            ("Bash", "command", "touch a", false, false),
            ("Bash", "command", "cat a | sh", false, false),
            ("Edit", "file_path", "/home/ann/project/a.rs", true, false),
            ("Write", "file_path", "/home/ann/project/.git/config", false, false),
            ("Write", "file_path", "/home/ann/other/a.rs", false, false),
            ("WebFetch", "url", "http://example.com/", false, false),
            ("mcp__github__create_issue", "title", "x", false, false),
            ("mcp__portcullis__reply", "text", "x", true, true),
            ("mcp__portcullis__hook", "text", "x", false, false),
            ("AskUserQuestion", "questions", "x", true, true),
            ("Task", "prompt", "x", true, true),
            ("Agent", "isolation", "worktree", true, true),
            ("Agent", "isolation", "remote", false, false),
            ("TodoWrite", "todos", "x", true, true),
        ] {
            assert_eq!(passes(vec![], tool, field, value, false), guard, "{tool} {value}");
            assert_eq!(passes(vec![], tool, field, value, true), all, "{tool} {value}, only reads");
        }
    }

    #[test]
    fn a_rule_of_the_users_own_lets_a_call_pass_and_one_of_the_project_does_not() {
        let run = |origin, only_reads| {
            passes(vec![rule(origin, "Bash(npm test)")], "Bash", "command", "npm test", only_reads)
        };
        assert!(run(Origin::User, false));
        assert!(!run(Origin::User, true));
        assert!(!run(Origin::Project { trusted: true }, false));
    }
}
