//! A tool call of Claude Code as an editor shows it: a title, a kind, the files it is about, and what it changes.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    ContentBlock, Diff, ImageContent, TextContent, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus,
    ToolCallUpdateFields, ToolKind,
};
use portcullis_core::visible;
use portcullis_wire::preview::preview;
use serde_json::Value;

/// Words of a title, at most.
const LONGEST_TITLE: usize = 120;
/// A longer file is not read for the left side of a diff.
const LONGEST_FILE: u64 = 1 << 20;
/// As much of what a tool gave back is shown.
const LONGEST_RESULT: usize = 256 << 10;

/// The call as it is told when the model makes it.
pub(super) fn call(id: &str, tool: &str, input: &Value, folder: &Path) -> ToolCall {
    ToolCall::new(id.to_owned(), title(tool, input, folder))
        .name(tool.to_owned())
        .kind(kind(tool))
        .status(ToolCallStatus::Pending)
        .locations(locations(tool, input))
        .raw_input(input.clone())
}

pub(super) fn kind(tool: &str) -> ToolKind {
    match tool {
        "Bash" | "PowerShell" | "BashOutput" | "KillShell" => ToolKind::Execute,
        "Read" | "NotebookRead" | "LS" => ToolKind::Read,
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => ToolKind::Edit,
        "Glob" | "Grep" | "ToolSearch" => ToolKind::Search,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        "Agent" | "Task" | "TodoWrite" | "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet" => ToolKind::Think,
        "EnterPlanMode" | "ExitPlanMode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// One line for people: what the tool does, to what.
pub(super) fn title(tool: &str, input: &Value, folder: &Path) -> String {
    let text = |field: &str| input[field].as_str().filter(|text| !text.is_empty());
    let file = || text("file_path").or_else(|| text("notebook_path")).map(|path| relative(path, folder));
    let whole = match tool {
        "Bash" | "PowerShell" => text("command").map(|command| format!("`{command}`")),
        "Read" | "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => file().map(|file| format!("{tool} {file}")),
        "Glob" => text("pattern").map(|pattern| format!("Find {pattern}")),
        "Grep" => text("pattern").map(|pattern| format!("Search for {pattern}")),
        "WebFetch" => text("url").map(|url| format!("Fetch {url}")),
        "WebSearch" => text("query").map(|query| format!("Search the web for {query}")),
        "Agent" | "Task" | "TaskCreate" => text("description").or_else(|| text("subject")).map(str::to_owned),
        "TodoWrite" => Some("Update the plan".to_owned()),
        "ExitPlanMode" => Some("Ready to code?".to_owned()),
        "AskUserQuestion" => input["questions"][0]["question"].as_str().map(str::to_owned),
        "Skill" => text("skill").or_else(|| text("command")).map(|skill| format!("Skill {skill}")),
        _ => None,
    };
    let whole = whole.unwrap_or_else(|| mcp_name(tool));
    let line = whole.lines().next().unwrap_or_default();
    let (start, rest) = portcullis_core::excerpt(line, Some(LONGEST_TITLE));
    let more = if rest > 0 || whole.lines().count() > 1 { "…" } else { "" };
    visible(&format!("{start}{more}"))
}

/// `db: query` for `mcp__db__query`.
fn mcp_name(tool: &str) -> String {
    match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => format!("{server}: {tool}"),
        None => tool.to_owned(),
    }
}

fn relative(path: &str, folder: &Path) -> String {
    Path::new(path).strip_prefix(folder).map_or_else(|_| path.to_owned(), |inside| inside.display().to_string())
}

/// What is shown of a call before it runs: a change as a diff, a plan, or nothing where the title says all.
pub(super) fn content(tool: &str, input: &Value) -> Vec<ToolCallContent> {
    let text = |field: &str| input[field].as_str();
    let path = || text("file_path").map(PathBuf::from);
    match tool {
        "Write" => match path().zip(text("content")) {
            Some((path, content)) => {
                let old = current(&path);
                let hidden = if old.is_none() { path.metadata().map_or(0, |about| about.len()) } else { 0 };
                let note = (hidden > 0).then(|| plain(&format!("Replaces {hidden} bytes that are not shown.")));
                std::iter::once(Diff::new(path, content).old_text(old).into()).chain(note).collect()
            }
            None => vec![],
        },
        "Edit" => path().map(|path| change(&path, input)).unwrap_or_default(),
        "MultiEdit" => {
            let edits = input["edits"].as_array().into_iter().flatten();
            path().map(|path| edits.flat_map(|edit| change(&path, edit)).collect()).unwrap_or_default()
        }
        "Bash" | "PowerShell" => text("description").map(literal).into_iter().collect(),
        // A plan is meant to be read as Markdown.
        "ExitPlanMode" => text("plan").map(|plan| plain(&visible(plan))).into_iter().collect(),
        "Agent" | "Task" => text("prompt").map(|prompt| plain(&visible(prompt))).into_iter().collect(),
        "AskUserQuestion" => vec![plain(&visible(&preview(tool, input)))],
        _ => vec![],
    }
}

/// What a file was written with, whatever it held before.
pub(super) fn written(input: &Value) -> Vec<ToolCallContent> {
    let (path, content) = (input["file_path"].as_str(), input["content"].as_str());
    path.zip(content).map(|(path, content)| Diff::new(path, content).into()).into_iter().collect()
}

/// One edit. A diff shows one place, so that an edit of every place says so.
fn change(path: &Path, edit: &Value) -> Vec<ToolCallContent> {
    let Some((old, new)) = edit["old_string"].as_str().zip(edit["new_string"].as_str()) else { return vec![] };
    let diff = Diff::new(path, new).old_text(Some(old.to_owned()).filter(|old| !old.is_empty()));
    let everywhere = (edit["replace_all"] == true).then(|| plain("Everywhere in the file, not only once."));
    std::iter::once(diff.into()).chain(everywhere).collect()
}

/// What a file holds now; none where there is none, or where it is too long or no text.
fn current(path: &Path) -> Option<String> {
    let is_shown = path.metadata().is_ok_and(|about| about.is_file() && about.len() <= LONGEST_FILE);
    is_shown.then(|| std::fs::read_to_string(path).ok())?
}

pub(super) fn plain(text: &str) -> ToolCallContent {
    ContentBlock::Text(TextContent::new(text)).into()
}

/// Text that someone decides by: every letter of it shows, and none of it is read as Markdown.
pub(super) fn literal(text: &str) -> ToolCallContent {
    plain(&fenced(&visible(text)))
}

/// The files that a call is about.
pub(super) fn locations(tool: &str, input: &Value) -> Vec<ToolCallLocation> {
    let fields = ["file_path", "notebook_path"].into_iter().chain((tool == "Grep").then_some("path"));
    let path = fields.filter_map(|field| input[field].as_str()).find(|path| Path::new(path).is_absolute());
    let line = input["offset"].as_u64().and_then(|line| u32::try_from(line).ok());
    path.map(|path| ToolCallLocation::new(path).line(line)).into_iter().collect()
}

/// What became of a call, as its result tells. `kept` is what the client keeps of it.
pub(super) fn finished(tool: &str, failed: bool, result: &Value, kept: &Value) -> ToolCallUpdateFields {
    let fields = ended(failed, result, kept);
    match (tool, failed) {
        // The diff stays; where it went is known now.
        ("Write" | "Edit" | "MultiEdit" | "NotebookEdit", false) => match changed_lines(kept) {
            lines if lines.is_empty() => fields,
            lines => fields.locations(lines),
        },
        ("TodoWrite" | "ExitPlanMode" | "TaskCreate" | "TaskUpdate", false) => fields,
        (name, _) => fields.content(result_content(name, failed, result)),
    }
}

/// A call that was made with another tool: nothing of it was done by this one, and no diff of it stays.
pub(super) fn left(words: &Value) -> ToolCallUpdateFields {
    let shown = words.as_str().map(literal).into_iter().collect::<Vec<_>>();
    ended(false, words, &Value::Null).content(shown)
}

/// The same without content: what is shown stays.
pub(super) fn ended(failed: bool, result: &Value, kept: &Value) -> ToolCallUpdateFields {
    let status = if failed { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
    ToolCallUpdateFields::new().status(status).raw_output(raw_output(result, kept))
}

fn raw_output(result: &Value, kept: &Value) -> Value {
    let whole = if kept.is_null() { result } else { kept };
    match whole.to_string().len() > LONGEST_RESULT {
        true => Value::from(portcullis_core::excerpt(&whole.to_string(), Some(LONGEST_RESULT)).0),
        false => whole.clone(),
    }
}

/// Where each change begins, as the client's own patch says. A part of it begins with lines that stay as they are.
fn changed_lines(kept: &Value) -> Vec<ToolCallLocation> {
    let Some(path) = kept["filePath"].as_str() else { return vec![] };
    let hunks = kept["structuredPatch"].as_array().into_iter().flatten();
    let starts = hunks.filter_map(|hunk| {
        let lines = hunk["lines"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let same = lines.take_while(|line| line.starts_with(' ')).count();
        u32::try_from(hunk["newStart"].as_u64()? + same as u64).ok()
    });
    starts.map(|line| ToolCallLocation::new(path).line(line)).collect()
}

fn result_content(tool: &str, failed: bool, result: &Value) -> Vec<ToolCallContent> {
    let is_fenced = failed || matches!(tool, "Bash" | "PowerShell" | "BashOutput" | "Read" | "Grep" | "Glob");
    let show = |text: &str| {
        let (start, rest) = portcullis_core::excerpt(text, Some(LONGEST_RESULT));
        let more = if rest > 0 { format!("\n[and {rest} more bytes]") } else { String::new() };
        plain(&if is_fenced { fenced(&format!("{start}{more}")) } else { format!("{start}{more}") })
    };
    match result {
        Value::String(text) if !text.is_empty() => vec![show(text)],
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| match part["type"].as_str()? {
                "text" => Some(show(part["text"].as_str()?)),
                "image" => {
                    let source = &part["source"];
                    let (data, kind) = (source["data"].as_str()?, source["media_type"].as_str()?);
                    Some(ContentBlock::Image(ImageContent::new(data, kind)).into())
                }
                _ => None,
            })
            .collect(),
        _ => vec![],
    }
}

/// The text as it is, also where it holds fences itself.
fn fenced(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_shown_by_what_it_does() {
        let folder = Path::new("/srv/api");
        for (tool, input, want) in [
            ("Bash", json!({"command": "git push\necho"}), ("`git push…", ToolKind::Execute)),
            ("Write", json!({"file_path": "/srv/api/src/a.rs", "content": ""}), ("Write src/a.rs", ToolKind::Edit)),
            ("Edit", json!({"file_path": "/etc/x"}), ("Edit /etc/x", ToolKind::Edit)),
            ("Read", json!({"file_path": "/srv/api/a"}), ("Read a", ToolKind::Read)),
            ("Grep", json!({"pattern": "fn"}), ("Search for fn", ToolKind::Search)),
            ("WebFetch", json!({"url": "http://x/"}), ("Fetch http://x/", ToolKind::Fetch)),
            ("mcp__db__query", json!({}), ("db: query", ToolKind::Other)),
            ("ExitPlanMode", json!({}), ("Ready to code?", ToolKind::SwitchMode)),
            ("Read", json!(null), ("Read", ToolKind::Read)),
        ] {
            assert_eq!((title(tool, &input, folder).as_str(), kind(tool)), want, "{tool} {input}");
        }
    }

    #[test]
    fn a_change_is_a_diff_and_its_lines_are_known_when_it_is_done() {
        let edit = json!({"file_path": "/a", "old_string": "x", "new_string": "y"});
        let shown = serde_json::to_value(content("Edit", &edit)).unwrap();
        assert_eq!(shown, json!([{"type": "diff", "path": "/a", "oldText": "x", "newText": "y"}]));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("b");
        let write = json!({"file_path": file, "content": "new"});
        let path = file.display().to_string();
        assert_eq!(
            serde_json::to_value(content("Write", &write)).unwrap(),
            json!([{"type": "diff", "path": path, "newText": "new"}])
        );
        std::fs::write(&file, "old").unwrap();
        assert_eq!(
            serde_json::to_value(content("Write", &write)).unwrap(),
            json!([{"type": "diff", "path": path, "oldText": "old", "newText": "new"}])
        );
        let patch = json!([{"newStart": 7}, {"newStart": 20, "lines": [" same", " same", "-x", "+y", " same"]}]);
        let kept = json!({"filePath": "/a", "structuredPatch": patch});
        let fields = serde_json::to_value(finished("Edit", false, &json!("done"), &kept)).unwrap();
        assert_eq!(fields["locations"], json!([{"path": "/a", "line": 7}, {"path": "/a", "line": 22}]));
        assert_eq!((&fields["status"], &fields["content"]), (&json!("completed"), &Value::Null));
    }

    #[test]
    fn a_change_says_what_its_diff_does_not_show() {
        let edit = json!({"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": true});
        let text = |tool: &str, input: &Value| {
            let shown = serde_json::to_value(content(tool, input)).unwrap();
            shown[1]["content"]["text"].as_str().map(str::to_owned)
        };
        let everywhere = Some("Everywhere in the file, not only once.".to_owned());
        assert_eq!(text("Edit", &edit), everywhere);
        assert_eq!(text("MultiEdit", &json!({"file_path": "/a", "edits": [edit]})), everywhere);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("picture");
        std::fs::write(&file, [0xff, 0xfe, 0xfd]).unwrap();
        let write = json!({"file_path": file, "content": "new"});
        assert_eq!(text("Write", &write).unwrap(), "Replaces 3 bytes that are not shown.");
    }

    #[test]
    fn what_someone_decides_by_cannot_end_its_own_fence_or_hide_letters() {
        let shown = |content: &[ToolCallContent]| {
            serde_json::to_value(content).unwrap()[0]["content"]["text"].as_str().unwrap().to_owned()
        };
        let preview = "ls\n```\n**safe**\u{202e}";
        assert_eq!(shown(&[literal(preview)]), "````\nls\n```\n**safe**\\u{202e}\n````");
        let described = json!({"command": "ls", "description": "# ```\u{1b}"});
        assert_eq!(shown(&content("Bash", &described)), "````\n# ```\\u{1b}\n````");
    }

    #[test]
    fn what_a_command_said_is_shown_as_it_is() {
        let fields = finished("Bash", false, &json!("a ```\n"), &Value::Null);
        let shown = serde_json::to_value(fields).unwrap();
        assert_eq!(shown["content"][0]["content"]["text"], "````\na ```\n````");
    }
}
