//! A rule as people write it: a decision on `Tool` or `Tool(specifier)`.

use std::fmt;

use super::decision::Decision;
use crate::policy::words::path::absolute;

/// Longer specifiers are refused: nobody writes them, and each costs time at every call.
const LONGEST: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub decision: Decision,
    pub pattern: Pattern,
    /// Shown with the decision.
    pub why: Option<String>,
    /// Only for sessions whose label fits; `*` stands for anything.
    pub session: Option<String>,
    /// How many people must allow before it counts. One deny is enough.
    pub quorum: Option<u32>,
    pub source: RuleSource,
}

/// Where a rule was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSource {
    pub origin: Origin,
    /// The file and the line, for people.
    pub place: Option<(String, usize)>,
    /// What `/x` in the rule is relative to.
    pub base: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    User,
    /// A file in the project. What it allows counts only when a person has trusted this very file.
    Project {
        trusted: bool,
    },
    /// Said in the session, by someone with the right.
    Session,
    CommandLine,
}

impl Origin {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project { .. } => "project",
            Self::Session => "session",
            Self::CommandLine => "command line",
        }
    }

    /// Whether it may loosen anything.
    pub fn is_trusted(self) -> bool {
        self != Self::Project { trusted: false }
    }
}

/// `Tool` or `Tool(specifier)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub tool: String,
    pub specifier: Option<String>,
}

impl Pattern {
    /// The tools of Claude Code that rules can name, those of MCP servers aside. Older names stay.
    pub const TOOLS: [&'static str; 43] = [
        "Agent",
        "AskUserQuestion",
        "Bash",
        "BashOutput",
        "Cd",
        "CronCreate",
        "CronDelete",
        "CronList",
        "Edit",
        "EnterPlanMode",
        "EnterWorktree",
        "ExitPlanMode",
        "ExitWorktree",
        "Glob",
        "Grep",
        "KillBash",
        "KillShell",
        "LS",
        "LSP",
        "ListMcpResourcesTool",
        "Monitor",
        "MultiEdit",
        "NotebookEdit",
        "NotebookRead",
        "PowerShell",
        "Read",
        "ReadMcpResourceTool",
        "SendMessage",
        "Skill",
        "SlashCommand",
        "Task",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskOutput",
        "TaskStop",
        "TaskUpdate",
        "TodoRead",
        "TodoWrite",
        "ToolSearch",
        "WebFetch",
        "WebSearch",
        "Write",
    ];

    /// Reads `Tool(specifier)`. What comes back as an error ends the sentence "this is no rule: …".
    pub fn read(written: &str) -> Result<Self, String> {
        let written = written.trim();
        let (tool, specifier) = match written.split_once('(') {
            Some((tool, rest)) => {
                let inside = rest.strip_suffix(')').ok_or("the bracket is not closed")?;
                (tool, Some(unescaped(inside)))
            }
            None => (written, None),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*' | ':');
        if tool.is_empty() || !tool.chars().all(is_name) {
            return Err(format!("{tool:?} is no name of a tool"));
        }
        let specifier = match specifier.as_deref().map(str::trim) {
            Some("") => return Err(format!("nothing stands in the brackets; write {tool} for all of it")),
            Some(text) if text.chars().count() > LONGEST => {
                return Err(format!("it is longer than {LONGEST} characters"));
            }
            Some("*") | None => None,
            Some(text) => Some(text.to_owned()),
        };
        Ok(Self { tool: tool.to_owned(), specifier })
    }
}

fn unescaped(text: &str) -> String {
    text.replace("\\(", "(").replace("\\)", ")")
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.specifier {
            Some(specifier) => write!(f, "{}({specifier})", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

impl Rule {
    pub fn new(decision: Decision, written: &str, source: RuleSource) -> Result<Self, String> {
        Ok(Self { decision, pattern: Pattern::read(written)?, why: None, session: None, quorum: None, source })
    }

    /// Why the rule has no effect, or surely not the one that was meant: such rules load with a warning, as they do in
    /// Claude Code.
    pub fn warning(&self) -> Option<String> {
        self.is_never_consulted().or_else(|| self.seems_mistaken())
    }

    /// What is probably not meant so. The rule still counts.
    fn seems_mistaken(&self) -> Option<String> {
        let Pattern { tool, specifier } = &self.pattern;
        if let Some(known) = nearest_tool(tool) {
            return Some(format!("no tool is known as {tool}; is {known} meant?"));
        }
        let text = specifier.as_deref().filter(|text| tool == "WebFetch" && !is_parameter(text))?;
        let Some(host) = text.strip_prefix("domain:") else { return Some("WebFetch takes domain:HOST".to_owned()) };
        let takes_a_host = "domain: takes the name of a host alone, without https://, a port or a path";
        host.contains([':', '/', '?', '@']).then(|| takes_a_host.to_owned())
    }

    /// Why the rule counts for nothing, if so.
    pub(crate) fn is_never_consulted(&self) -> Option<String> {
        let Pattern { tool, specifier } = &self.pattern;
        let allows = self.decision == Decision::Allow;
        match (tool.as_str(), specifier) {
            ("Write" | "NotebookEdit" | "MultiEdit" | "Glob" | "Grep" | "LS" | "NotebookRead", Some(text))
                if !allows && is_parameter(text) =>
            {
                None
            }
            ("Write" | "NotebookEdit" | "MultiEdit", Some(path)) => {
                Some(format!("{tool}(…) is never consulted; write Edit({path}), which covers every way of writing"))
            }
            ("Glob" | "Grep" | "LS" | "NotebookRead", Some(path)) => {
                Some(format!("{tool}(…) is never consulted; write Read({path}), which covers every way of reading"))
            }
            ("WebFetch", Some(text)) if allows && !text.starts_with("domain:") => {
                Some("WebFetch takes domain:HOST".to_owned())
            }
            (tool, _) if allows && tool.contains('*') && !has_literal_server(tool) => Some(format!(
                "an allow rule takes * in a tool's name only behind a server's, as in mcp__server__*; {tool} allows nothing"
            )),
            (tool, Some(_)) if allows && tool.starts_with("mcp__") => {
                Some(format!("an allow rule takes no brackets behind {tool}; it allows nothing"))
            }
            (tool, Some(text)) if allows && !takes_specifier(tool) => {
                Some(format!("an allow rule for {tool} takes no brackets; {tool}({text}) allows nothing"))
            }
            _ => None,
        }
    }

    /// The rule as Claude Code takes it in `permissions`, wherever its own file lies.
    pub(crate) fn exported(&self) -> Pattern {
        let mut pattern = self.pattern.clone();
        let is_path = matches!(pattern.tool.as_str(), "Read" | "Edit" | "Cd");
        if let Some(path) =
            pattern.specifier.as_mut().filter(|path| is_path && path.starts_with('/') && !path.starts_with("//"))
            && let Some(base) = absolute(&self.source.base, "/", None)
        {
            *path = format!("/{}{path}", base.trim_end_matches('/'));
        }
        pattern
    }
}

/// Fields that a specifier speaks about in its own way, and never as `field:value`.
pub(crate) const PRIMARY: [&str; 5] = ["command", "file_path", "path", "notebook_path", "url"];

/// The field that text for this tool goes to: a command, a path, an address or a name. None for tools of others.
pub fn primary_field(tool: &str) -> Option<&'static str> {
    Some(match tool {
        "Bash" => "command",
        "Read" | "Edit" | "Write" | "MultiEdit" => "file_path",
        "NotebookEdit" | "NotebookRead" => "notebook_path",
        "Glob" | "Grep" | "LS" => "path",
        "WebFetch" => "url",
        "Agent" | "Task" => "subagent_type",
        "Skill" => "skill",
        _ => return None,
    })
}

/// `field:value`, for a field of the input.
pub(crate) fn is_parameter(specifier: &str) -> bool {
    let Some((field, value)) = specifier.split_once(':') else { return false };
    let is_name = !field.is_empty() && field.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name && field != "domain" && !value.starts_with("//") && !PRIMARY.contains(&field)
}

/// The tool that was probably meant by a name that is none's.
fn nearest_tool(name: &str) -> Option<&'static str> {
    if Pattern::TOOLS.contains(&name) || name.contains(['*', '_']) {
        return None;
    }
    let same = |known: &&&str| known.eq_ignore_ascii_case(name);
    let near = |known: &&&str| known.len() > 3 && is_one_letter_off(known, name);
    Pattern::TOOLS.iter().find(same).or_else(|| Pattern::TOOLS.iter().find(near)).copied()
}

/// One letter is missing, too many or another.
fn is_one_letter_off(known: &str, name: &str) -> bool {
    let (known, name) = (known.as_bytes(), name.as_bytes());
    let (short, long) = if known.len() < name.len() { (known, name) } else { (name, known) };
    let same = short.iter().zip(long).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
    match long.len() - short.len() {
        0 => same < long.len() && short[same + 1..].eq_ignore_ascii_case(&long[same + 1..]),
        1 => short[same..].eq_ignore_ascii_case(&long[same + 1..]),
        _ => false,
    }
}

fn takes_specifier(tool: &str) -> bool {
    matches!(tool, "Bash" | "Read" | "Edit" | "WebFetch" | "Agent" | "Task" | "Skill" | "Cd")
}

/// `mcp__server__` with no star in it, before whatever follows.
pub(crate) fn has_literal_server(tool: &str) -> bool {
    let server = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map(|(server, _)| server);
    server.is_some_and(|server| !server.is_empty() && !server.contains('*'))
}

/// The rules of one project, user and session together. Their order means nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSet {
    pub rules: Vec<Rule>,
}

impl RuleSet {
    /// Our deny rules as Claude Code's own `permissions.deny` takes them: they hold also when no gate is there.
    /// Rules for some sessions only are left out, since the client does not know our labels.
    pub fn denied_by_the_client(&self) -> Vec<String> {
        let denies = |rule: &&Rule| {
            rule.decision == Decision::Deny && rule.session.is_none() && rule.is_never_consulted().is_none()
        };
        let mut denied: Vec<String> =
            self.rules.iter().filter(denies).map(|rule| rule.exported().to_string()).collect();
        denied.sort();
        denied.dedup();
        denied
    }
}
