//! The conversations that can be continued: the newest ones, whoever began them, with what they are about.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use portcullis_core::excerpt;
use portcullis_wire::control::{Block, Message};
use portcullis_wire::envelope::{event_in, words_in};
use portcullis_wire::preview::preview;
use portcullis_wire::stream::{ConversationView, ConversationWords};
use portcullis_wire::text::masked_start;
use serde::Deserialize;

use super::{Transcripts, is_conversation, open_own};

/// Conversations that are listed at once.
const LISTED: usize = 50;
/// Files that are looked into for them.
const MOST_OPENED: usize = 1000;
/// Files that are looked at for their age.
const MOST_FILES: usize = 20_000;
/// As much of the beginning and of the end of a file is read.
const READ: u64 = 64 << 10;
/// Within so much of the beginning of a file some line names the folder.
const LONGEST_START: u64 = 64 << 20;
/// Bytes of a title.
const LONGEST_TITLE: usize = 120;
/// Bytes of what was said last.
const LONGEST_LAST: usize = 240;

impl Transcripts {
    /// The newest conversations in folders that are wanted, newest first; behind a place in the list, where one is named.
    pub(crate) fn newest(
        &self,
        is_wanted: &dyn Fn(&Path) -> bool,
        after: Option<&ConversationPlace>,
    ) -> NewestConversations {
        let mut found = self.files();
        found.sort_by_key(Found::place);
        found.retain(|file| after.is_none_or(|after| file.place() > *after));
        let (mut conversations, mut last, mut files) = (vec![], None, found.into_iter());
        for file in files.by_ref().take(MOST_OPENED) {
            last = Some(file.place());
            conversations.extend(file.view().filter(|view| is_wanted(Path::new(&view.folder))));
            if conversations.len() >= LISTED {
                break;
            }
        }
        NewestConversations { conversations, next: last.filter(|_| files.len() > 0) }
    }

    /// The conversation in this folder that was written last.
    pub(crate) fn latest_in(&self, folder: &Path) -> Option<String> {
        let mut found = self.files();
        found.sort_by_key(Found::place);
        let mut views = found.iter().take(MOST_OPENED).filter_map(Found::view);
        views.find(|view| Path::new(&view.folder) == folder).map(|view| view.id)
    }

    /// Where the conversation with this id began.
    pub(crate) fn folder_of(&self, conversation: &str) -> Option<PathBuf> {
        let start = BufReader::new(self.open(conversation)?).take(LONGEST_START);
        let mut lines = start.split(b'\n').map_while(Result::ok);
        let cwd = |line: Vec<u8>| serde_json::from_slice::<FactLine>(&line).ok()?.cwd;
        lines.find_map(cwd).map(PathBuf::from)
    }

    /// What the conversation with this id is about, and what its agent said or did last.
    pub(crate) fn words(&self, conversation: &str) -> Option<ConversationWords> {
        let facts = Facts::of(&self.open(conversation)?)?;
        let last = facts.last.as_deref().map(|last| one_line(last, LONGEST_LAST));
        Some(ConversationWords { title: facts.title(), last })
    }

    fn files(&self) -> Vec<Found> {
        let read = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let folders = read(&self.projects).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let files = folders.flat_map(|entry| read(&entry.path())).take(MOST_FILES);
        files.filter_map(|entry| Found::of(entry.path())).collect()
    }
}

/// A place in the list: when a conversation was last written, newest first, and its id.
pub(crate) type ConversationPlace = (std::cmp::Reverse<u64>, String);

/// A part of the list.
#[derive(Default)]
pub(crate) struct NewestConversations {
    pub(crate) conversations: Vec<ConversationView>,
    /// Behind which place it goes on. What follows may be of other folders, and nobody has looked yet.
    pub(crate) next: Option<ConversationPlace>,
}

/// A file that looks like a transcript.
struct Found {
    path: PathBuf,
    id: String,
    /// When it was last written, in milliseconds.
    at: u64,
}

impl Found {
    fn of(path: PathBuf) -> Option<Self> {
        let id = path.file_name()?.to_str()?.strip_suffix(".jsonl")?.to_owned();
        // Others are transcripts of subagents, which cannot be continued.
        let is_one = is_conversation(&id);
        let about = path.symlink_metadata().ok().filter(|about| is_one && about.is_file())?;
        let at = about.mtime() * 1000 + about.mtime_nsec() / 1_000_000;
        Some(Self { path, id, at: u64::try_from(at).ok()? })
    }

    fn place(&self) -> ConversationPlace {
        (std::cmp::Reverse(self.at), self.id.clone())
    }

    /// None where nobody has said anything in it.
    fn view(&self) -> Option<ConversationView> {
        let facts = Facts::of(&open_own(&self.path)?)?;
        let title = facts.title()?;
        Some(ConversationView { id: self.id.clone(), title, folder: facts.folder?, at: self.at, session: None })
    }
}

/// Without the fences of Markdown, which mean nothing on one line.
fn one_line(text: &str, longest: usize) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("```"));
    masked_start(&lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" "), longest)
}

fn piece(file: &File, from: u64, to: u64) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(to.saturating_sub(from)).unwrap_or_default()];
    match file.read_exact_at(&mut bytes, from) {
        Ok(()) => bytes,
        Err(_) => vec![],
    }
}

/// What lines tell of a conversation.
#[derive(Default)]
struct Facts {
    folder: Option<String>,
    /// As the user or the client has named it; the last counts.
    title: Option<String>,
    first_words: Option<String>,
    /// What the agent said or did last.
    last: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct FactLine {
    cwd: Option<String>,
    is_meta: bool,
    is_sidechain: bool,
    summary: Option<String>,
    custom_title: Option<String>,
    ai_title: Option<String>,
}

impl Facts {
    /// By its beginning and its end.
    fn of(file: &File) -> Option<Self> {
        let length = file.metadata().ok()?.len();
        let mut facts = Self::default();
        let start = piece(file, 0, length.min(READ));
        for line in start.split(|byte| *byte == b'\n') {
            facts.note(line);
        }
        if length > READ {
            let end = piece(file, (length - READ).max(READ), length);
            // The first is the end of a line, and cannot be read.
            for line in end.split(|byte| *byte == b'\n') {
                facts.note(line);
            }
        }
        Some(facts)
    }

    fn title(&self) -> Option<String> {
        self.title.as_ref().or(self.first_words.as_ref()).map(|title| one_line(title, LONGEST_TITLE))
    }

    fn note(&mut self, line: &[u8]) {
        let Ok(about) = serde_json::from_slice::<FactLine>(line) else { return };
        self.folder = self.folder.take().or(about.cwd);
        self.title = about.custom_title.or(about.ai_title).or(about.summary).or_else(|| self.title.take());
        if about.is_meta || about.is_sidechain {
            return;
        }
        let message: Message = serde_json::from_slice(line).unwrap_or_default();
        if self.first_words.is_none() {
            self.first_words = first_words(&message);
        }
        self.last = last_words(&message).or_else(|| self.last.take());
    }
}

/// What the agent says in a message, or the call that it makes there.
fn last_words(message: &Message) -> Option<String> {
    if message.kind != "assistant" || message.is_synthetic() {
        return None;
    }
    let words = message.blocks().into_iter().rev().find_map(|block| match block {
        Block::Text(text) => Some(text.to_owned()).filter(|text| !text.trim().is_empty()),
        Block::ToolUse { name, input, .. } => Some(format!("{name}: {}", preview(name, input))),
        Block::ToolResult { .. } => None,
    });
    words.map(|words| excerpt(&words, Some(4 * LONGEST_LAST)).0.to_owned())
}

/// What a person said, also by an event; a command of the client is no title.
fn first_words(message: &Message) -> Option<String> {
    let blocks = message.blocks();
    let text = blocks.iter().find_map(|block| match block {
        Block::Text(text) if message.kind == "user" => Some(*text),
        _ => None,
    })?;
    match event_in(text) {
        Some((_, _, sender)) => match words_in(text).filter(|words| !words.trim().is_empty()) {
            Some(words) => Some(excerpt(words, Some(4 * LONGEST_TITLE)).0.to_owned()),
            None => Some(format!("a message from {sender}")),
        },
        None if text.trim_start().starts_with('<') || text.trim().is_empty() => None,
        None => Some(excerpt(text, Some(4 * LONGEST_TITLE)).0.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn id(number: usize) -> String {
        format!("{number:08x}-0000-4000-8000-000000000000")
    }

    fn write(home: &Path, name: &str, lines: &[Value]) {
        let project = home.join("projects/-api");
        std::fs::create_dir_all(&project).unwrap();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(project.join(name), text).unwrap();
    }

    fn said(text: &str, folder: &str) -> Value {
        json!({"type": "user", "cwd": folder, "message": {"content": text}})
    }

    #[test]
    fn the_newest_fifty_in_folders_that_are_wanted_have_a_title_each() {
        let home = tempfile::tempdir().unwrap();
        for number in 0..60 {
            write(home.path(), &format!("{}.jsonl", id(number)), &[said(&format!("do {number}"), "/home/ann/api")]);
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(number as u64);
            let file = home.path().join(format!("projects/-api/{}.jsonl", id(number)));
            File::options().append(true).open(file).unwrap().set_modified(at).unwrap();
        }
        write(home.path(), &format!("{}.jsonl", id(100)), &[said("elsewhere", "/home/ann/web")]);
        write(home.path(), &format!("{}.jsonl", id(101)), &[json!({"type": "summary", "summary": "nobody spoke"})]);
        write(home.path(), "agent-1234.jsonl", &[said("a subagent", "/home/ann/api")]);
        let named = [
            json!({"type": "user", "isMeta": true, "message": {"content": "Caveat"}}),
            said("<command-name>/clear</command-name>", "/home/ann/api"),
            said("first  words\nof many", "/home/ann/api"),
        ];
        write(home.path(), &format!("{}.jsonl", id(102)), &named);
        let titled = [&named[..], &[json!({"type": "ai-title", "aiTitle": "A better name"})]].concat();
        write(home.path(), &format!("{}.jsonl", id(103)), &titled);
        let transcripts = Transcripts::in_folder(home.path());
        let page = transcripts.newest(&|folder| folder == Path::new("/home/ann/api"), None);
        let listed = page.conversations;
        let titles: Vec<&str> = listed.iter().map(|view| view.title.as_str()).collect();
        assert_eq!(listed.len(), 50);
        let mut first = titles[..2].to_vec();
        first.sort_unstable();
        assert_eq!(first, ["A better name", "first words of many"]);
        assert_eq!(titles[2..5], ["do 59", "do 58", "do 57"]);
        assert_eq!((listed[2].at, listed[2].id.clone()), (59_000, id(59)));
        let last = (std::cmp::Reverse(listed[49].at), listed[49].id.clone());
        assert_eq!(page.next.as_ref(), Some(&last));
        let next = transcripts.newest(&|folder| folder == Path::new("/home/ann/api"), Some(&last));
        assert_eq!(next.next, None, "no file is left");
        let titles: Vec<&str> = next.conversations.iter().map(|view| view.title.as_str()).collect();
        assert_eq!((titles.len(), titles[0], titles[11]), (12, "do 11", "do 0"), "those that follow");
        let words = transcripts.words(&id(103)).unwrap();
        assert_eq!((words.title.as_deref(), words.last), (Some("A better name"), None));
    }

    #[test]
    fn a_folder_whose_conversations_lie_behind_many_others_is_listed_to_its_end() {
        let home = tempfile::tempdir().unwrap();
        let write_at = |number: usize, folder: &str| {
            let name = format!("{}.jsonl", id(number));
            write(home.path(), &name, &[said("words", folder)]);
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(number as u64);
            let file = File::options().append(true).open(home.path().join("projects/-api").join(name)).unwrap();
            file.set_modified(at).unwrap();
        };
        write_at(1, "/home/ann/api");
        (2..MOST_OPENED + 2).for_each(|number| write_at(number, "/home/ann/web"));
        let transcripts = Transcripts::in_folder(home.path());
        let is_wanted = |folder: &Path| folder == Path::new("/home/ann/api");
        let first = transcripts.newest(&is_wanted, None);
        assert!(first.conversations.is_empty());
        let second = transcripts.newest(&is_wanted, Some(&first.next.unwrap()));
        assert_eq!((second.conversations[0].id.clone(), second.next), (id(1), None));
    }

    #[test]
    fn what_a_conversation_is_about_and_what_was_last_said_or_done_there_is_told_without_secrets() {
        let home = tempfile::tempdir().unwrap();
        let event = "A message.\n<channel source=\"portcullis\" event_id=\"01e\" chat_id=\"a\" sender=\"ci\" fence=\"k7\">\nk7\nmain is red\nk7\n</channel>";
        let agent = |content: Value| json!({"type": "assistant", "message": {"id": "m", "content": content}});
        let mut lines = vec![said(event, "/home/ann/api"), agent(json!([{"type": "text", "text": "I look\nat it."}]))];
        let name = format!("{}.jsonl", id(1));
        write(home.path(), &name, &lines);
        let words = |transcripts: &Transcripts| transcripts.words(&id(1)).unwrap();
        let transcripts = Transcripts::in_folder(home.path());
        let told = words(&transcripts);
        assert_eq!((told.title.as_deref(), told.last.as_deref()), (Some("main is red"), Some("I look at it.")));
        let secret = "ghp_0123456789abcdefghijklmnop";
        let call = json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": format!("curl -H {secret} x")}}]);
        lines.push(agent(call));
        let mut of_another = agent(json!([{"type": "text", "text": "a subagent"}]));
        of_another["isSidechain"] = true.into();
        lines.push(of_another);
        write(home.path(), &name, &lines);
        assert_eq!(words(&transcripts).last.as_deref(), Some("Bash: curl -H ghp_0123*** x"));
        assert!(transcripts.words(&id(2)).is_none());
    }
}
