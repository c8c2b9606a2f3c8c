//! The tools as the model is told of them.

use serde_json::{Value, json};

use super::EditorTools;
use super::interface::Reach;

/// What the model is told of the server.
pub(super) const INSTRUCTIONS: &str = "\
The user works in an editor. Read, Write, Edit and Bash of this server work through it: they see changes that the user has \
not saved yet, and commands run in a terminal that the user sees. Use them instead of the built-in tools of the same names, \
which refuse such files. Files outside of the working folders, images, PDFs and notebooks stay with the built-in tools, and \
so does everything for subagents. Where a tool refuses a call and names the other one, use the other one for such calls from \
then on.";

pub(super) fn tools(tools: &EditorTools) -> Vec<Value> {
    let has = |reach| reach != Reach::Nobody;
    let files = [read(), write(), edit()].into_iter().filter(|_| has(tools.files));
    let shells = [bash(), bash_output(), kill_shell()].into_iter().filter(|_| has(tools.terminal));
    files.chain(shells).map(always_loaded).collect()
}

/// Otherwise the model would have to search for it first.
fn always_loaded(mut tool: Value) -> Value {
    tool["_meta"] = json!({"anthropic/alwaysLoad": true});
    tool["inputSchema"]["type"] = "object".into();
    tool["inputSchema"]["additionalProperties"] = false.into();
    tool
}

fn path() -> Value {
    json!({"type": "string", "description": "The absolute path of the file"})
}

fn read() -> Value {
    json!({
        "name": "Read",
        "description": "Reads a text file of the working folders through the user's editor, with changes that are not saved \
            yet. Lines come with their numbers, the first 2000 of them unless offset and limit say otherwise.",
        "annotations": {"readOnlyHint": true},
        "inputSchema": {"properties": {
            "file_path": path(),
            "offset": {"type": "integer", "minimum": 1, "description": "The line to begin with"},
            "limit": {"type": "integer", "minimum": 1, "description": "How many lines to read"},
        }, "required": ["file_path"]},
    })
}

fn write() -> Value {
    json!({
        "name": "Write",
        "description": "Writes a text file of the working folders through the user's editor, and saves it. A file that is \
            there must have been read with Read of this server before; prefer Edit for it.",
        "inputSchema": {"properties": {
            "file_path": path(),
            "content": {"type": "string", "description": "The whole new text of the file"},
        }, "required": ["file_path", "content"]},
    })
}

fn edit() -> Value {
    json!({
        "name": "Edit",
        "description": "Replaces an exact text in a file of the working folders through the user's editor, and saves it. The \
            file must have been read with Read of this server before, whose line numbers are no part of the text. \
            old_string must be there once, unless replace_all is true.",
        "inputSchema": {"properties": {
            "file_path": path(),
            "old_string": {"type": "string", "description": "The text to replace"},
            "new_string": {"type": "string", "description": "The text to put in its place"},
            "replace_all": {"type": "boolean", "description": "Replace every occurrence (default false)"},
        }, "required": ["file_path", "old_string", "new_string"]},
    })
}

fn bash() -> Value {
    json!({
        "name": "Bash",
        "description": "Runs a shell command in a terminal of the user's editor, in the working folder: each command begins \
            there, and `cd` holds for its own line alone. Its input is empty. What it leaves running ends with it; for a server \
            use run_in_background.",
        "inputSchema": {"properties": {
            "command": {"type": "string", "description": "The command"},
            "description": {"type": "string", "description": "What it does, in a few words"},
            "timeout": {"type": "number", "description": "Milliseconds after which it goes on in the background (default 120000, at most 600000)"},
            "run_in_background": {"type": "boolean", "description": "Do not wait for it; see BashOutput"},
        }, "required": ["command"]},
    })
}

fn bash_output() -> Value {
    json!({
        "name": "BashOutput",
        "description": "What a command in the background has printed, and whether it still runs.",
        "annotations": {"readOnlyHint": true},
        "inputSchema": {"properties": {"id": {"type": "string", "description": "The ID that Bash has told"}}, "required": ["id"]},
    })
}

fn kill_shell() -> Value {
    json!({
        "name": "KillShell",
        "description": "Ends a command in the background.",
        "inputSchema": {"properties": {"id": {"type": "string", "description": "The ID that Bash has told"}}, "required": ["id"]},
    })
}
