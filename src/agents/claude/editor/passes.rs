//! Calls that the gatekeeper has let through, each to be made once and as it was judged.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::EditorHost;
use super::paths::real;
use crate::locks::locked;
use crate::session::gatekeeper::digest;

/// Calls that were let through and have not been made. A client makes a dozen at once, at most; the oldest are forgotten.
const MOST: usize = 64;

#[derive(Default)]
pub(super) struct Passes {
    passed: VecDeque<(String, PassedCall)>,
    /// Where each call is made, as the client has said before it asked.
    folders: VecDeque<(String, String)>,
}

/// A call as it was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::agents::claude) struct PassedCall {
    pub(super) tool: &'static str,
    /// Of the input.
    digest: [u8; 32],
    /// The file that the path of the input led to.
    pub(super) file: Option<PathBuf>,
    /// Where it is made.
    pub(super) folder: Option<PathBuf>,
}

impl PassedCall {
    /// The call as it stands now, before anybody judges it.
    pub(in crate::agents::claude) fn looked_up(tool: &'static str, input: &Value, folder: Option<&str>) -> Self {
        let file = input.get("file_path").and_then(Value::as_str).and_then(|path| real(Path::new(path)));
        Self { tool, digest: digest(input), file, folder: folder.map(PathBuf::from) }
    }
}

impl EditorHost {
    /// The call may be made, if it still is what was judged.
    pub(in crate::agents::claude) fn pass(&self, id: &str, call: PassedCall) {
        let Some(state) = &self.0 else { return };
        put(&mut locked(&state.passes).passed, id, call);
    }

    /// Where a call is made: as is said now, else as was said of the same call before.
    pub(in crate::agents::claude) fn folder_of(&self, id: &str, said: Option<String>) -> Option<String> {
        let passes = &mut locked(&self.0.as_ref()?.passes);
        if let Some(folder) = &said {
            put(&mut passes.folders, id, folder.clone());
        }
        said.or_else(|| passes.folders.iter().find(|(of, _)| of == id).map(|(_, folder)| folder.clone()))
    }

    /// It may not be made, whatever was said of it before.
    pub(in crate::agents::claude) fn take_back(&self, id: &str) {
        let Some(state) = &self.0 else { return };
        locked(&state.passes).passed.retain(|(passed, _)| passed != id);
    }
}

fn put<T>(queue: &mut VecDeque<(String, T)>, id: &str, item: T) {
    queue.retain(|(of, _)| of != id);
    if queue.len() >= MOST {
        queue.pop_front();
    }
    queue.push_back((id.to_owned(), item));
}

impl Passes {
    /// The call that is made now: once, with the same tool and input, on the same file as when it was judged.
    pub(super) fn take(&mut self, id: &str, tool: &str, input: &Value) -> Result<PassedCall, String> {
        let place = self.passed.iter().position(|(passed, _)| passed == id);
        let Some((_, passed)) = place.and_then(|place| self.passed.remove(place)) else {
            return Err("nobody has allowed this call, so it is not made".to_owned());
        };
        if passed.tool != tool || passed.digest != digest(input) {
            return Err("this is not the call that was allowed, so it is not made".to_owned());
        }
        let now = PassedCall::looked_up(passed.tool, input, None).file;
        if passed.file != now {
            return Err("its path leads to another file than when it was allowed, so it is not made".to_owned());
        }
        Ok(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_made_once_and_only_as_it_was_judged() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("link");
        let (one, other) = (file.with_file_name("one"), file.with_file_name("other"));
        std::fs::write(&one, "").unwrap();
        std::fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&one, &file).unwrap();
        let input = json!({"file_path": file, "content": "x"});
        let passes = || {
            let mut passes = Passes::default();
            put(&mut passes.passed, "t", PassedCall::looked_up("Write", &input, None));
            passes
        };
        let mut passed = passes();
        assert_eq!(passed.take("t", "Write", &input).unwrap().file, Some(one));
        assert!(passed.take("t", "Write", &input).unwrap_err().contains("nobody"), "a second time");
        assert!(passes().take("u", "Write", &input).is_err(), "another call");
        assert!(passes().take("t", "Edit", &input).is_err(), "another tool");
        let changed = json!({"file_path": file, "content": "y"});
        assert!(passes().take("t", "Write", &changed).unwrap_err().contains("not the call"));
        let mut passed = passes();
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        assert!(passed.take("t", "Write", &input).unwrap_err().contains("another file"));
    }
}
