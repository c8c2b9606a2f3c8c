//! Which calls go through the editor, and which stay with the tools of Claude Code.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use portcullis_core::policy::Mode;
use serde_json::Value;

use super::paths::real;
use super::{EditorHost, EditorTools, HostState, PREFIX, Reach, built_in};
use crate::locks::locked;

/// Calls whose results the client has yet to tell; it has a dozen at most.
const MOST_REDIRECTED: usize = 256;
/// A longer file is not sent to and fro: Claude Code reads it itself, in parts.
const LONGEST_FILE: u64 = 2 << 20;
/// So much of a file is looked at to tell whether it is text.
const LOOKED_AT: usize = 8 << 10;
/// Files that Claude Code shows the model as images or pages, or changes by their cells.
const NO_TEXT: [&str; 7] = ["gif", "ipynb", "jpeg", "jpg", "pdf", "png", "webp"];

/// A call that a model wants to make.
#[derive(Clone, Debug)]
pub(in crate::agents::claude) struct ModelCall {
    /// The client's id of it, where it tells one.
    pub(in crate::agents::claude) id: Option<String>,
    /// As the client names it.
    pub(in crate::agents::claude) tool: String,
    pub(in crate::agents::claude) input: Value,
    /// The client says that it is for a server inside our process.
    pub(in crate::agents::claude) for_us: bool,
    /// The subagent that makes it.
    pub(in crate::agents::claude) agent: Option<String>,
    pub(in crate::agents::claude) mode: Option<String>,
}

impl EditorHost {
    /// The tool that a call stands for, where it is one of ours.
    pub(in crate::agents::claude) fn stands_for(&self, call: &ModelCall) -> Option<&'static str> {
        self.0.as_ref().filter(|_| call.for_us).and_then(|_| built_in(&call.tool))
    }

    /// Why the call is to be made with another tool; none where this one is right. `sandboxed` asks the client whether it
    /// runs commands in a sandbox, `hooked` whether the user has hooks for its own tool.
    pub(in crate::agents::claude) async fn other_tool(
        &self,
        call: ModelCall,
        sandboxed: impl Future<Output = bool>,
        hooked: impl Future<Output = bool>,
    ) -> Option<String> {
        let state = self.0.as_ref()?;
        let own = self.stands_for(&call);
        // The client lets all tools of this name through.
        if own.is_none() && call.tool.starts_with(PREFIX) {
            return Some(format!("No other server may have tools named {PREFIX}…: rename it."));
        }
        let name = own.or_else(|| super::TOOLS.into_iter().find(|tool| *tool == call.tool))?;
        let (id, is_wanted) = (call.id.clone(), state.is_wanted(name, &call));
        // Those of commands in the background have none of Claude Code's that would be called in their place.
        let has_hooks = async { !matches!(name, "BashOutput" | "KillShell") && hooked.await };
        let is_through_editor = is_wanted && state.is_possible(name, call.input, sandboxed).await && !has_hooks.await;
        if own.is_some() == is_through_editor {
            return None;
        }
        let (why, instead) = left(name, is_through_editor);
        state.note_redirected(id, instead);
        Some(why)
    }
}

/// What the model is told of a call that is to be made with the other tool of this name, and what people are.
fn left(name: &str, to_editor: bool) -> (String, &'static str) {
    match to_editor {
        false => (
            format!("This call does not go through the editor: use the tool {name}."),
            "Left to Claude Code's own tool: it does not go through the editor.",
        ),
        true => (
            format!("Use the tool {PREFIX}{name} here: it works through the user's editor."),
            "Left to the tool that works through the editor.",
        ),
    }
}

/// What people are told of a call that was left to another tool, by its result as Claude Code keeps it.
pub(crate) fn left_as_kept(result: &str) -> Option<&'static str> {
    let (_, told) = result.strip_prefix("PreToolUse:")?.split_once(" hook error: ")?;
    let all = super::TOOLS.into_iter().flat_map(|name| [left(name, false), left(name, true)]);
    all.into_iter().find(|(why, _)| why == told).map(|(_, instead)| instead)
}

impl HostState {
    fn note_redirected(&self, call: Option<String>, instead: &'static str) {
        let mut redirected = locked(&self.redirected);
        if redirected.len() >= MOST_REDIRECTED {
            redirected.clear();
        }
        redirected.extend(call.map(|call| (call, instead)));
    }

    /// Whether whoever makes the call has the editor's tools at all.
    fn is_wanted(&self, name: &str, call: &ModelCall) -> bool {
        let is_for = match self.tools.reach(name) {
            Reach::Nobody => false,
            Reach::MainAgent => call.agent.is_none(),
            Reach::Everybody => call.agent.is_none() || call.for_us,
        };
        // There Claude Code's own check decides about calls, which it does not know of tools that are not its own.
        is_for && call.mode.as_deref().and_then(Mode::named) != Some(Mode::Auto)
    }

    pub(super) async fn is_possible(
        &self,
        name: &'static str,
        input: Value,
        sandboxed: impl Future<Output = bool>,
    ) -> bool {
        match name {
            "Read" | "Write" | "Edit" => {
                let tools = self.tools.clone();
                let looking = tokio::task::spawn_blocking(move || has_file(&tools, &input));
                looking.await.unwrap_or(false)
            }
            "Bash" => !*self.sandboxed.get_or_init(|| sandboxed).await,
            // Of commands that were started here.
            _ => true,
        }
    }
}

/// Whether the file is one of the editor's: text in a folder of the session.
fn has_file(tools: &EditorTools, input: &Value) -> bool {
    let path = input.get("file_path").and_then(Value::as_str).map(Path::new);
    let Some((path, file)) = path.and_then(|path| Some((path, real(path)?))) else { return false };
    let is_in = |folder: &Path| real(folder).is_some_and(|folder| file.starts_with(folder));
    let is_of_client = tools.client_folder.as_deref().is_some_and(is_in);
    let has_cells = |path: &Path| {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        ending.is_some_and(|ending| NO_TEXT.contains(&ending.as_str()))
    };
    tools.folders.iter().any(|folder| is_in(folder))
        && !is_of_client
        && !has_cells(path)
        && !has_cells(&file)
        && is_text(&file)
}

/// Whether a file is text of moderate length, or is not there yet.
fn is_text(file: &Path) -> bool {
    let Ok(about) = file.metadata() else { return true };
    let mut start = Vec::with_capacity(LOOKED_AT);
    let mut read = || File::open(file).and_then(|file| file.take(LOOKED_AT as u64).read_to_end(&mut start));
    about.is_file() && about.len() <= LONGEST_FILE && read().is_ok() && !start.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::tools;
    use super::*;
    use serde_json::json;
    use std::fs;

    async fn other(host: &EditorHost, tool: &str, input: Value, agent: Option<&str>, mode: &str) -> Option<String> {
        let (agent, mode) = (agent.map(str::to_owned), Some(mode.to_owned()));
        let call = ModelCall {
            id: Some("t".to_owned()),
            for_us: tool.starts_with(PREFIX),
            tool: tool.to_owned(),
            input,
            agent,
            mode,
        };
        host.other_tool(call, async { false }, async { false }).await
    }

    #[tokio::test]
    async fn text_in_the_folder_goes_through_the_editor_and_the_rest_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (host, _requests) = tools(&root);
        fs::write(root.join("a.txt"), "text").unwrap();
        fs::write(root.join("binary"), [1, 0, 2]).unwrap();
        fs::write(root.join("long"), vec![b'x'; (2 << 20) + 1]).unwrap();
        fs::create_dir_all(root.join("client/plans")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("leads-out")).unwrap();
        for (file, is_editors) in [
            ("a.txt", true),
            ("new/b.txt", true),
            ("binary", false),
            ("long", false),
            ("", false),
            ("client/plans/p.md", false),
            ("leads-out", false),
            ("image.png", false),
            ("../a.txt", false),
        ] {
            let input = json!({"file_path": root.join(file), "content": ""});
            let (built_in, ours) = (
                other(&host, "Write", input.clone(), None, "default").await,
                other(&host, "mcp__acp__Write", input, None, "default").await,
            );
            assert_eq!((built_in.is_some(), ours.is_none()), (is_editors, is_editors), "{file}: {built_in:?} {ours:?}");
        }
    }

    #[tokio::test]
    async fn subagents_and_auto_mode_keep_the_tools_of_claude_code() {
        let folder = tempfile::tempdir().unwrap();
        let (host, _requests) = tools(folder.path());
        let input = json!({"command": "ls"});
        for (agent, mode, is_editors) in
            [(None, "default", true), (Some("a1"), "default", false), (None, "auto", false)]
        {
            let built_in = other(&host, "Bash", input.clone(), agent, mode).await;
            let ours = other(&host, "mcp__acp__Bash", input.clone(), agent, mode).await;
            assert_eq!((built_in.is_some(), ours.is_none()), (is_editors, is_editors), "{agent:?} {mode}");
        }
        assert_eq!(other(&host, "Glob", json!({}), None, "default").await, None);
        assert!(host.made_instead("t").is_some() && host.made_instead("another").is_none());
    }

    #[test]
    fn a_call_that_was_left_is_known_by_the_result_that_claude_code_keeps() {
        for (to_editor, instead) in [(true, "Left to the tool"), (false, "Left to Claude Code's own tool")] {
            let kept = format!("PreToolUse:Write hook error: {}", left("Write", to_editor).0);
            assert!(left_as_kept(&kept).unwrap().starts_with(instead));
        }
        for other in ["PreToolUse:Write hook error: denied", "Use the tool Write here", ""] {
            assert_eq!(left_as_kept(other), None);
        }
    }

    #[tokio::test]
    async fn commands_of_a_sandbox_and_calls_with_hooks_stay_and_no_other_server_has_our_names() {
        let folder = tempfile::tempdir().unwrap();
        let call = |tool: &str, for_us| ModelCall {
            id: None,
            tool: tool.to_owned(),
            input: json!({"command": "ls"}),
            for_us,
            agent: None,
            mode: None,
        };
        // Whether there is a sandbox is asked once in a session.
        let other = async |call, sandboxed, hooked| {
            let (host, _requests) = tools(folder.path());
            host.other_tool(call, async move { sandboxed }, async move { hooked }).await
        };
        assert_eq!(other(call("Bash", false), false, true).await, None, "a hook of the user's is for it");
        assert!(other(call("mcp__acp__Bash", true), false, true).await.is_some());
        assert_eq!(other(call("mcp__acp__BashOutput", true), false, true).await, None);
        assert_eq!(other(call("Bash", false), true, false).await, None);
        assert!(other(call("mcp__acp__Bash", true), true, false).await.is_some());
        assert!(other(call("mcp__acp__Bash", false), true, false).await.unwrap().contains("rename"));
    }
}
