//! Read, Write and Edit through the editor: unsaved changes are seen, and no change of anybody is lost.

use std::path::{Path, PathBuf};

use portcullis_core::excerpt;
use serde_json::Value;

use super::interface::ChangedAt;
use super::known::{FileNow, KnownFile, Newest};
use super::{EditorRequest, HostState};
use crate::locks::locked;

/// Lines that are read where nobody says how many, as the built-in tool does.
const LINES: u64 = 2_000;
/// Bytes of one line that are shown.
const LONGEST_LINE: usize = 2_000;
/// Bytes that are read at once, at most.
const MOST_BYTES: usize = 256 << 10;
/// Files of which it is known what the model has seen; with more all are forgotten, and have to be read again.
const MOST_KNOWN: usize = 4_096;

/// The file of a call: by the path that the model names, which is the editor's, and where its links led when it was judged.
pub(super) struct EditedFile<'a> {
    pub(super) path: &'a Path,
    pub(super) file: &'a Path,
}

impl HostState {
    /// What the editor and the disk hold now.
    async fn now(&self, target: &EditedFile<'_>) -> Result<FileNow, String> {
        let (path, file) = (target.path.to_owned(), target.file.to_owned());
        let buffer = self.tools.ask(|answer| EditorRequest::ReadFile { path, answer }).await;
        let reading = tokio::task::spawn_blocking(move || {
            let text = std::fs::read_to_string(&file).ok()?;
            Some((text, file.metadata().and_then(|about| about.modified()).ok()))
        });
        let disk = reading.await.unwrap_or_default();
        let buffer = buffer.map_err(|why| match &disk {
            None => format!("The file does not exist, or the editor cannot read it: {why}"),
            Some(_) => format!("The editor cannot read the file: {why}"),
        })?;
        Ok(FileNow { buffer, disk })
    }

    fn known(&self, file: &Path) -> Option<KnownFile> {
        locked(&self.known).get(file).copied()
    }

    fn remember(&self, file: &Path, seen: KnownFile) {
        let mut known = locked(&self.known);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(file.to_owned(), seen);
    }

    pub(super) async fn read(&self, target: &EditedFile<'_>, input: &Value) -> Result<String, String> {
        let now = self.now(target).await?;
        let newest = now.newest(self.known(target.file).as_ref(), self.since);
        self.remember(target.file, now.seen(&newest));
        let note = match newest {
            Newest::Both(_) => "",
            Newest::Buffer(_) if now.disk.is_none() => "",
            Newest::Buffer(_) => "[The editor has changes of this file that are not saved. They are shown here.]\n",
            Newest::Disk(_) => "[The file on the disk is newer than what the editor shows. This is the file.]\n",
            Newest::Unclear(_) => {
                "[The file on the disk and the editor differ. This is the file. It cannot be changed through the editor \
                 until the user has saved or reloaded it there.]\n"
            }
        };
        Ok(format!("{note}{}", numbered(newest.text(), input)))
    }

    pub(super) async fn edit(&self, id: &str, target: &EditedFile<'_>, input: &Value) -> Result<String, String> {
        let text = |field: &str| input.get(field).and_then(Value::as_str);
        let (Some(old), Some(new)) = (text("old_string"), text("new_string")) else {
            return Err("old_string and new_string must be texts".to_owned());
        };
        if old == new {
            return Err("No changes to make: old_string and new_string are exactly the same.".to_owned());
        }
        if old.is_empty() {
            return self.write(id, target, new).await;
        }
        let now = self.now(target).await?;
        let known = self.known(target.file);
        let newest = self.to_change(&now, known.as_ref())?;
        let replace_all = input.get("replace_all") == Some(&Value::Bool(true));
        let (changed, line) = replaced(newest.text(), old, new, replace_all)?;
        self.save(id, target, changed, Some(line)).await?;
        Ok(format!("The file {} has been updated successfully.", target.path.display()))
    }

    pub(super) async fn write(&self, id: &str, target: &EditedFile<'_>, content: &str) -> Result<String, String> {
        let now = self.now(target).await.ok();
        let is_there = tokio::fs::symlink_metadata(target.file).await.is_ok();
        match &now {
            Some(now) if is_there || !now.buffer.is_empty() => {
                let known = self.known(target.file);
                // What was shown is the file: what the editor has besides would be lost unseen.
                if let Newest::Buffer(_) = self.to_change(now, known.as_ref())?
                    && now.disk.is_some()
                {
                    return Err(
                        "The user has changes of this file in the editor that are not saved. Use Edit, which keeps \
                                them, or ask the user to save the file."
                            .to_owned(),
                    );
                }
            }
            None if is_there => return Err("The file is there, and the editor cannot read it.".to_owned()),
            _ => make_folder(target.file).await?,
        }
        self.save(id, target, content.to_owned(), None).await?;
        let what = if is_there { "updated successfully" } else { "created" };
        Ok(format!("The file {} has been {what}.", target.path.display()))
    }

    /// What a change is made of: the text that the model has seen, and nothing that came since.
    fn to_change<'a>(&self, now: &'a FileNow, known: Option<&KnownFile>) -> Result<Newest<'a>, String> {
        let Some(known) = known else {
            return Err("File has not been read yet. Read it first before writing to it.".to_owned());
        };
        let newest = now.newest(Some(known), self.since);
        match newest {
            Newest::Unclear(_) => {
                Err("The file was changed on the disk and in the editor as well. Ask the user to save or \
                                       reload it in the editor, and read it again."
                    .to_owned())
            }
            _ if !known.is(newest.text()) => {
                Err("File has been changed since it was read, by the user or by a command. Read it again before \
                     attempting to write it."
                    .to_owned())
            }
            _ => Ok(newest),
        }
    }

    async fn save(&self, id: &str, target: &EditedFile<'_>, content: String, line: Option<u32>) -> Result<(), String> {
        let (path, call) = (target.path.to_owned(), ChangedAt { call: id.to_owned(), line });
        let text = content.clone();
        self.tools.ask(|answer| EditorRequest::WriteFile { path, content, call, answer }).await?;
        // What the editor made of it when it saved it, the model has not seen.
        let file: PathBuf = target.file.to_owned();
        let reading = tokio::task::spawn_blocking(move || std::fs::read_to_string(file).ok());
        let disk = reading.await.ok().flatten().map(|disk| (disk, None));
        let now = FileNow { buffer: text.clone(), disk };
        self.remember(target.file, now.seen(&Newest::Buffer(&text)));
        Ok(())
    }
}

async fn make_folder(file: &Path) -> Result<(), String> {
    let Some(folder) = file.parent() else { return Ok(()) };
    let made = tokio::fs::create_dir_all(folder).await;
    made.map_err(|error| format!("The folder {} cannot be made: {error}", folder.display()))
}

/// The text with its lines numbered, from the line that is wanted, as many as are wanted and fit.
fn numbered(text: &str, input: &Value) -> String {
    let number = |field: &str| input.get(field).and_then(Value::as_u64);
    let first = number("offset").unwrap_or(1).max(1);
    let limit = number("limit").unwrap_or(LINES);
    if text.is_empty() {
        return "[The file is there, and is empty.]".to_owned();
    }
    let mut shown = String::new();
    let (mut count, mut is_cut) = (0, false);
    for (number, line) in (1_u64..).zip(text.lines()) {
        count = number;
        if number < first || is_cut {
            continue;
        }
        if number - first >= limit || shown.len() + line.len().min(LONGEST_LINE) > MOST_BYTES {
            is_cut = true;
            continue;
        }
        let (start, rest) = excerpt(line, Some(LONGEST_LINE));
        let more = if rest > 0 { "…" } else { "" };
        shown.push_str(&format!("{number}\t{start}{more}\n"));
    }
    match (shown.is_empty(), is_cut) {
        (true, _) => format!("[The file has {count} lines: there is no line {first}.]"),
        (false, true) => format!("{shown}[The file has {count} lines. Read more of it with offset and limit.]"),
        (false, false) => shown.trim_end_matches('\n').to_owned(),
    }
}

/// The text after an edit, and the first line that it changes.
fn replaced(text: &str, old: &str, new: &str, replace_all: bool) -> Result<(String, u32), String> {
    // The model has been shown lines without how they end.
    let has_other_ends = text.contains("\r\n") && !old.contains('\r');
    let as_in_file = |part: &str| if has_other_ends { part.replace('\n', "\r\n") } else { part.to_owned() };
    let (old, new) = (as_in_file(old), as_in_file(new));
    let (old, new) = (old.as_str(), new.as_str());
    let Some(place) = text.find(old) else {
        return Err(format!("String to replace not found in file.\nString: {old}"));
    };
    let count = text.matches(old).count();
    if count > 1 && !replace_all {
        return Err(format!(
            "Found {count} matches of the string to replace, but replace_all is false. To replace all occurrences, set \
             replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the \
             instance.\nString: {old}"
        ));
    }
    let changed = if replace_all { text.replace(old, new) } else { text.replacen(old, new, 1) };
    let line = text[..place].matches('\n').count() + 1;
    Ok((changed, u32::try_from(line).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{FakeEditor, tools};
    use super::*;
    use serde_json::json;
    use std::fs;

    struct World {
        _folder: tempfile::TempDir,
        host: super::super::EditorHost,
        editor: FakeEditor,
        path: PathBuf,
    }

    impl World {
        fn new(buffer: &str, disk: Option<&str>) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            let (host, requests) = tools(&root);
            let path = root.join("a.txt");
            if let Some(disk) = disk {
                fs::write(&path, disk).unwrap();
            }
            let editor = FakeEditor::serve(requests);
            if !buffer.is_empty() {
                editor.set(&path, buffer);
            }
            Self { _folder: folder, host, editor, path }
        }

        fn target(&self) -> EditedFile<'_> {
            EditedFile { path: &self.path, file: &self.path }
        }

        async fn read(&self) -> Result<String, String> {
            self.host.0.as_ref().unwrap().read(&self.target(), &json!({})).await
        }

        async fn edit(&self, old: &str, new: &str) -> Result<String, String> {
            let input = json!({"old_string": old, "new_string": new});
            self.host.0.as_ref().unwrap().edit("t", &self.target(), &input).await
        }

        async fn write(&self, content: &str) -> Result<String, String> {
            self.host.0.as_ref().unwrap().write("t", &self.target(), content).await
        }

        fn disk(&self) -> String {
            fs::read_to_string(&self.path).unwrap()
        }
    }

    #[tokio::test]
    async fn unsaved_changes_are_read_and_kept_by_an_edit() {
        let world = World::new("one\nmine\n", Some("one\n"));
        // Written before the session began.
        fs::File::open(&world.path).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert!(world.read().await.unwrap().ends_with("1\tone\n2\tmine"));
        assert!(
            world.write("two\n").await.unwrap_err().contains("not saved"),
            "the diff shows the file, not the buffer"
        );
        world.edit("one", "two").await.unwrap();
        assert_eq!(world.disk(), "two\nmine\n");
    }

    #[tokio::test]
    async fn nothing_is_written_over_what_the_model_has_not_seen() {
        let world = World::new("one\n", Some("one\n"));
        assert!(world.edit("one", "two").await.unwrap_err().contains("not been read"));
        assert!(world.write("two\n").await.unwrap_err().contains("not been read"));
        world.read().await.unwrap();
        world.editor.set(&world.path, "one\nmine\n");
        assert!(world.edit("one", "two").await.unwrap_err().contains("changed since it was read"));
        world.read().await.unwrap();
        world.edit("one", "two").await.unwrap();
        assert_eq!(world.disk(), "two\nmine\n");
        world.edit("two", "three").await.unwrap();
        assert_eq!(world.disk(), "three\nmine\n", "what it has written itself it has seen");
    }

    #[tokio::test]
    async fn a_file_newer_on_the_disk_than_in_the_editor_is_read_from_the_disk() {
        let world = World::new("one\n", Some("one\n"));
        world.read().await.unwrap();
        fs::write(&world.path, "by a command\n").unwrap();
        assert!(world.edit("one", "two").await.unwrap_err().contains("changed since"));
        assert!(world.read().await.unwrap().contains("1\tby a command"));
        world.edit("command", "person").await.unwrap();
        assert_eq!(world.disk(), "by a person\n");
        // Both changed: nobody's change may go.
        fs::write(&world.path, "by another command\n").unwrap();
        world.editor.set(&world.path, "typed\n");
        assert!(world.read().await.unwrap().contains("differ"));
        assert!(world.edit("another", "x").await.unwrap_err().contains("save or reload"));
        assert_eq!(world.disk(), "by another command\n");
    }

    #[tokio::test]
    async fn a_new_file_is_written_and_one_that_came_meanwhile_is_not_replaced() {
        let world = World::new("", None);
        world.write("new\n").await.unwrap();
        assert_eq!(world.disk(), "new\n");
        let world = World::new("", None);
        world.editor.set(&world.path, "typed, and never saved");
        assert!(world.write("new\n").await.unwrap_err().contains("not been read"));
        assert!(!world.path.exists());
    }

    #[test]
    fn lines_are_numbered_and_what_is_left_out_is_said() {
        let text = "a\nb\nc\nd\n";
        assert_eq!(
            numbered(text, &json!({"offset": 2, "limit": 2})),
            "2\tb\n3\tc\n[The file has 4 lines. Read more of it with offset and limit.]"
        );
        assert_eq!(numbered(text, &json!({"offset": 9})), "[The file has 4 lines: there is no line 9.]");
        assert_eq!(numbered("", &json!({})), "[The file is there, and is empty.]");
    }

    #[test]
    fn an_edit_changes_one_place_or_all_and_says_where() {
        assert_eq!(replaced("a\nb\n", "b", "c", false).unwrap(), ("a\nc\n".to_owned(), 2));
        assert_eq!(replaced("a\r\nb\r\n", "a\nb", "c\nd", false).unwrap().0, "c\r\nd\r\n");
        assert_eq!(replaced("a a", "a", "b", true).unwrap().0, "b b");
        assert!(replaced("a a", "a", "b", false).unwrap_err().contains("2 matches"));
        assert!(replaced("a", "x", "b", false).unwrap_err().contains("not found"));
    }
}
