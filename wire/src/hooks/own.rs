//! Hooks of ours, as they stand in the settings of Claude Code.

use serde_json::Value;

/// The option of `portcullis hook` by which hooks that `install` wrote tell their version.
pub const INSTALLED: &str = "--installed";

/// The program on the PATH of whoever works there, or where `install` copies it to.
pub const SHARED_LINE: &str =
    r#"p=$(command -v portcullis || echo "$HOME/.local/bin/portcullis"); if [ -x "$p" ]; then exec "$p" hook; fi"#;

/// A hook that calls our tool with what `install` has it told, or runs the program.
pub fn is_our_hook(hook: &Value) -> bool {
    let by_tool = hook["type"] == "mcp_tool" && hook["tool"] == "hook" && hook["input"]["hook_event_name"].is_string();
    let is_shared = || hook["command"].as_str().is_some_and(is_shared_line);
    by_tool || (hook["type"] == "command" && (program_of(hook).is_some() || is_shared()))
}

/// The program that a hook of one's own runs: by itself, or behind a shell that looks whether it is there.
pub fn program_of(hook: &Value) -> Option<&str> {
    let args = hook["args"].as_array().into_iter().flatten();
    let words: Vec<&str> = hook["command"].as_str().into_iter().chain(args.filter_map(Value::as_str)).collect();
    // Of any release: the shell stood there alone before.
    let shell = words.iter().position(|word| *word == "/bin/sh").filter(|at| words.get(at + 1) == Some(&"-c"));
    let call = shell.and_then(|at| words.get(at + 3..)).unwrap_or(&words);
    let [program, "hook", ..] = call else { return None };
    (program.rsplit('/').next() == Some("portcullis")).then_some(program)
}

/// The program of a hook that is to the letter what `install` writes for a moment at which people are asked.
pub fn installed_program(hook: &Value) -> Option<&str> {
    let args: Vec<_> = hook["args"].as_array()?.iter().filter_map(Value::as_str).collect();
    let ["hook", INSTALLED, version] = args[..] else { return None };
    let is_version = !version.is_empty() && version.bytes().all(|digit| digit.is_ascii_digit());
    (hook["type"] == "command" && is_version).then(|| hook["command"].as_str()).flatten()
}

/// Whether a hook is to the letter what `install` writes for others who pull the project.
pub fn is_shared_hook(hook: &Value) -> bool {
    hook["type"] == "command" && hook["command"] == SHARED_LINE && hook.get("args").is_none()
}

/// A line that others pull with their project. Ours, also as a later or an earlier release writes it.
pub fn is_shared_line(line: &str) -> bool {
    line.contains("portcullis") && line.trim_end().ends_with(" hook; fi")
}
