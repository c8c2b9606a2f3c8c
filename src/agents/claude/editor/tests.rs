//! An editor for the tests of these modules: buffers that are saved when they are written, and no terminals.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

use super::*;
use crate::locks::locked;

/// Tools for everything, in this folder.
pub(super) fn tools(folder: &Path) -> (EditorHost, mpsc::Receiver<EditorRequest>) {
    let (requests, received) = mpsc::channel(8);
    let tools = EditorTools {
        files: Reach::MainAgent,
        terminal: Reach::MainAgent,
        folders: vec![folder.to_owned()],
        client_folder: Some(folder.join("client")),
        program: "/bin/portcullis".into(),
        requests,
    };
    (EditorHost::new(Some(tools), |_| {}), received)
}

#[derive(Clone, Default)]
pub(super) struct FakeEditor(Arc<Mutex<HashMap<PathBuf, String>>>);

impl FakeEditor {
    pub(super) fn serve(mut requests: mpsc::Receiver<EditorRequest>) -> Self {
        let editor = Self::default();
        let serving = editor.clone();
        tokio::spawn(async move {
            while let Some(request) = requests.recv().await {
                serving.answer(request);
            }
        });
        editor
    }

    /// The person types: nothing is saved.
    pub(super) fn set(&self, path: &Path, text: &str) {
        locked(&self.0).insert(path.to_owned(), text.to_owned());
    }

    fn answer(&self, request: EditorRequest) {
        match request {
            EditorRequest::ReadFile { path, answer } => {
                let text = locked(&self.0).get(&path).cloned();
                answer.send(text.ok_or_else(|| "no such file".to_owned())).unwrap();
            }
            EditorRequest::WriteFile { path, content, answer, .. } => {
                std::fs::write(&path, &content).unwrap();
                locked(&self.0).insert(path, content);
                answer.send(Ok(())).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
}
