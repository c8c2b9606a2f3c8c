//! What the front that has the editor is asked to do there.

use std::path::PathBuf;

use tokio::sync::{mpsc, oneshot};

use super::{PREFIX, TOOLS};

/// Who has tools through the editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Nobody,
    /// The agent that the person talks to. Its subagents have the tools of Claude Code.
    MainAgent,
    Everybody,
}

/// What goes through the editor in a session, and the way to it.
#[derive(Clone, Debug)]
pub(crate) struct EditorTools {
    pub(crate) files: Reach,
    pub(crate) terminal: Reach,
    /// Where the editor's files are: the folders of the session.
    pub(crate) folders: Vec<PathBuf>,
    /// Where Claude Code keeps its own files, which are none of the editor's.
    pub(crate) client_folder: Option<PathBuf>,
    /// This program, under whose guard commands run in a terminal.
    pub(crate) program: PathBuf,
    pub(crate) requests: mpsc::Sender<EditorRequest>,
}

impl EditorTools {
    /// The tools that the client lets through by itself: we make their calls, and only those that the gatekeeper passed.
    pub(crate) fn allowed() -> impl Iterator<Item = String> {
        TOOLS.into_iter().map(|tool| format!("{PREFIX}{tool}"))
    }

    pub(super) fn reach(&self, tool: &str) -> Reach {
        match tool {
            "Read" | "Write" | "Edit" => self.files,
            _ => self.terminal,
        }
    }

    /// Has the editor do something. An editor that is gone has not done it.
    pub(super) async fn ask<T>(&self, request: impl FnOnce(EditorAnswer<T>) -> EditorRequest) -> Result<T, String> {
        let (answer, answered) = oneshot::channel();
        let gone = || "the editor is gone".to_owned();
        self.requests.send(request(answer)).await.map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }
}

type EditorAnswer<T> = oneshot::Sender<Result<T, String>>;

/// What the editor is to do. An error is in its own words.
#[derive(Debug)]
pub(crate) enum EditorRequest {
    /// A file as the editor has it, with changes that are not saved.
    ReadFile {
        path: PathBuf,
        answer: EditorAnswer<String>,
    },
    /// Replaces a file and saves it.
    WriteFile {
        path: PathBuf,
        content: String,
        call: ChangedAt,
        answer: EditorAnswer<()>,
    },
    /// Runs a command in a terminal, which is shown with its call.
    Run {
        call: String,
        input: serde_json::Value,
        command: TerminalCommand,
        answer: EditorAnswer<String>,
    },
    Output {
        terminal: String,
        answer: EditorAnswer<TerminalOutput>,
    },
    WaitForExit {
        terminal: String,
        answer: EditorAnswer<()>,
    },
    Kill {
        terminal: String,
        answer: EditorAnswer<()>,
    },
    /// The terminal is not needed any more. It ends what still runs in it.
    Release {
        terminal: String,
        answer: EditorAnswer<()>,
    },
}

/// The call that changes a file, and the first line that it changes.
#[derive(Debug)]
pub(crate) struct ChangedAt {
    pub(crate) call: String,
    pub(crate) line: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct TerminalCommand {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) folder: PathBuf,
    /// The editor keeps no more than the last so many bytes of what it prints.
    pub(crate) most_output: u64,
}

#[derive(Debug)]
pub(crate) struct TerminalOutput {
    pub(crate) text: String,
    /// It printed more before this.
    pub(crate) is_cut: bool,
    /// None while it runs.
    pub(crate) exit: Option<ExitStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExitStatus {
    pub(crate) code: Option<u32>,
    pub(crate) signal: Option<String>,
}
