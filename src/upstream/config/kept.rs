//! The files as they could last be read: one that is saved with a mistake in it takes no server away.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};

use super::files::object_in;
use crate::locks::locked;

/// What each file held when it could last be read. All who follow the files of one process share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptFiles(Arc<Mutex<HashMap<PathBuf, Map<String, Value>>>>);

impl KeptFiles {
    /// The object in a file, as far as it is `needed`; as it was before where the file cannot be read now. None where there is
    /// no file. With it comes what is wrong with the file as it stands.
    pub(super) fn object(
        &self,
        path: &Path,
        needed: impl Fn(&mut Map<String, Value>),
    ) -> (Option<Map<String, Value>>, Option<String>) {
        let mut kept = locked(&self.0);
        let problem = match object_in(path) {
            Ok(Some(mut object)) => {
                needed(&mut object);
                kept.insert(path.to_owned(), object.clone());
                return (Some(object), None);
            }
            // Many programs empty a file before they write it.
            Ok(None) if kept.contains_key(path) && path.exists() => "the file is empty".to_owned(),
            Ok(None) => {
                kept.remove(path);
                return (None, None);
            }
            Err(problem) => problem,
        };
        let before = kept.get(path).cloned();
        let counts = if before.is_some() { "; what it held before still counts" } else { "" };
        (before, Some(format!("{}: {problem}{counts}", path.display())))
    }
}

/// All of it.
pub(super) fn whole(_: &mut Map<String, Value>) {}
