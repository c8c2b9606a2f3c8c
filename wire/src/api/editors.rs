//! Editors that a person has said are theirs, as the API tells and takes them.

use portcullis_core::TrustedEditor;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A process that answers prompts as its person, although the system does not tell who started it.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct TrustedEditorView {
    /// Which process it is: its number, and when it was started.
    pub process: String,
    /// What it is, for people.
    pub what: String,
    pub by: String,
    pub at: u64,
}

impl From<&TrustedEditor> for TrustedEditorView {
    fn from(editor: &TrustedEditor) -> Self {
        let TrustedEditor { process, what, by, at } = editor.clone();
        Self { process, what, by, at: at.0 }
    }
}

/// Taken by `POST /api/v1/editors`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTrustedEditor {
    /// The number of the process of `portcullis acp` that the editor has started.
    pub pid: u32,
}
