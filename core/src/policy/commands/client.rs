//! Claude Code, started by a line: it changes its own settings, or begins a session of its own.

use super::command::name_of;
use crate::policy::shell::ShellWord;

const ANOTHER_AGENT: &str = "it starts another agent, whose calls these rules may not see";

/// The words behind the client's name, where a command starts it.
fn client(words: &[ShellWord]) -> Option<&[ShellWord]> {
    let (first, rest) = words.split_first()?;
    match name_of(&first.text) {
        "claude" | "claude-code" => Some(rest),
        // Under which it holds one: nobody else has a reason to start it.
        "portcullis" if rest.first().is_some_and(|word| word.text == "__guard") => Some(&rest[1..]),
        "npx" | "bunx" | "npm" | "pnpm" | "pnpx" | "yarn" | "bun" => {
            let at = rest.iter().position(|word| word.text.starts_with("@anthropic-ai/claude-code"))?;
            Some(&rest[at + 1..])
        }
        _ => None,
    }
}

/// Whether the client is told to change its own settings: servers, plugins, itself.
pub(crate) fn changes_settings(words: &[ShellWord]) -> bool {
    let Some(rest) = client(words) else { return false };
    let mut words = rest.iter().filter(|word| !word.is_flag()).map(|word| word.text.as_str());
    match (words.next(), words.next()) {
        (Some("mcp" | "config" | "plugin" | "plugins"), what) => !matches!(what, None | Some("list" | "get" | "help")),
        (Some("install" | "update" | "upgrade" | "setup-token" | "migrate-installer" | "login" | "logout"), _) => true,
        _ => false,
    }
}

/// Why a command may do what nobody here sees: the client that it starts may have no hooks, or other rules.
pub(crate) fn another_agent(words: &[ShellWord]) -> Option<&'static str> {
    const ONLY_TELL: [&str; 6] = ["--version", "-v", "--help", "-h", "doctor", "help"];
    let rest = client(words)?;
    let is_guard = words.get(1).is_some_and(|word| word.text == "__guard");
    let tells = rest.iter().any(|word| ONLY_TELL.contains(&word.text.as_str()))
        || rest.first().is_some_and(|word| matches!(word.text.as_str(), "mcp" | "config" | "plugin" | "plugins"));
    (is_guard || !tells && !changes_settings(words)).then_some(ANOTHER_AGENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::lines::suspects::Suspects;
    use crate::policy::shell::Script;

    #[test]
    fn a_session_of_another_agent_is_not_seen() {
        let is_seen = |line: &str| Suspects::of(&Script::read(line)).unseen.is_none();
        for line in [
            "claude -p 'go on' --dangerously-skip-permissions",
            "env -u CLAUDECODE claude --settings '{\"disableAllHooks\":true}' -p x",
            "timeout 9 /usr/local/bin/claude --setting-sources '' -p x",
            "npx -y @anthropic-ai/claude-code@latest -p x",
            "cd /tmp && claude",
            "portcullis __guard -- claude -p x --version",
            "/opt/portcullis __guard -- cc -p x | cat",
        ] {
            assert!(!is_seen(line), "{line}");
        }
        for line in ["claude --version", "claude mcp list", "which claude", "npx -y eslint .", "cat claude/notes.md"] {
            assert!(is_seen(line), "{line}");
        }
    }

    #[test]
    fn what_changes_the_clients_settings_is_known() {
        let changes = |line: &str| changes_settings(&Script::read(line).commands[0].words);
        for line in ["claude mcp remove portcullis -s local", "claude mcp add -s project evil -- id", "claude update"] {
            assert!(changes(line), "{line}");
        }
        for line in ["claude mcp list", "claude config get theme", "claude -p 'mcp add'", "git config x y"] {
            assert!(!changes(line), "{line}");
        }
    }
}
