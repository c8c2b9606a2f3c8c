//! Follows the transcript of a session whose process has its hooks and not its output: what the agent says is in the file
//! alone, and what it does is told by a hook first.
//!
//! One task puts the two in order. It waits a moment for the file to tell of what a hook told, since the client writes
//! words and the call behind them together; no hook ever waits for it.

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use portcullis_wire::stream::{EntryKind, TurnEnd};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::lines::entries_of;
use super::{Entries, Transcripts};
use crate::fixed;
use crate::session::link::SessionHandle;

/// What may wait to be put in order. A hook that finds no place leaves it to the transcript.
const MOST_WAITING: usize = 1024;
/// How long the file may take to tell of what a hook told.
const LATE: Duration = Duration::from_secs(2);
/// How often the file is looked at meanwhile.
const LOOK_PAUSE: Duration = Duration::from_millis(25);
/// How often it is looked at while someone looks at the stream.
const WATCHED_PAUSE: Duration = Duration::from_millis(200);
/// How often it is looked at while the agent works: of a turn that is interrupted the file alone tells.
const WORKING_PAUSE: Duration = Duration::from_millis(500);
/// As much of the file is read at once; a longer line is passed over.
const LONGEST_READ: u64 = 4 << 20;
/// Calls that are remembered, so that none is told twice.
const MOST_REMEMBERED: usize = 4096;

/// What a hook tells of the session.
pub(in crate::agents::claude) enum Followed {
    /// The conversation has this id from now on.
    Conversation(String),
    /// A prompt, or an event: told at once, where the file has it, else behind what the file has.
    Entry(EntryKind),
    Call {
        id: Option<String>,
        tool: String,
        input: Value,
        agent: Option<String>,
    },
    Result {
        id: Option<String>,
        failed: bool,
        agent: Option<String>,
    },
    TurnEnd,
}

/// The end that hooks talk to. Cheap to clone.
#[derive(Clone)]
pub(in crate::agents::claude) struct Follower(mpsc::Sender<Followed>);

impl Follower {
    /// Follows the conversations of the session until its handles are gone. `interrupted` is called with the moment at
    /// which a person interrupted a turn.
    pub(in crate::agents::claude) fn start(
        session: SessionHandle,
        transcripts: Option<Transcripts>,
        interrupted: impl Fn(u64) + Send + Sync + 'static,
    ) -> Self {
        let (send, told) = mpsc::channel(MOST_WAITING);
        let conversation = session.about().agent_session;
        let following = TranscriptFollowing {
            session,
            interrupted: Box::new(interrupted),
            file: Some(FollowedFile::of(transcripts)),
            calls: ToldIds::default(),
            results: ToldIds::default(),
            late: ToldIds::default(),
            words_end: true,
            awaited: VecDeque::new(),
        };
        tokio::spawn(following.run(conversation, told));
        Self(send)
    }

    /// Never waits.
    pub(in crate::agents::claude) fn tell(&self, followed: Followed) {
        drop(self.0.try_send(followed));
    }
}

/// Ids that were told, oldest first.
#[derive(Default)]
struct ToldIds(VecDeque<String>);

impl ToldIds {
    /// True the first time.
    fn is_news(&mut self, id: &str) -> bool {
        if self.contains(id) {
            return false;
        }
        if self.0.len() >= MOST_REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(id.to_owned());
        true
    }

    /// True if it was told; from now on it was not.
    fn forget(&mut self, id: &str) -> bool {
        let place = self.0.iter().position(|told| told == id);
        place.and_then(|place| self.0.remove(place)).is_some()
    }

    fn contains(&self, id: &str) -> bool {
        self.0.iter().rev().any(|told| told == id)
    }
}

struct TranscriptFollowing {
    session: SessionHandle,
    interrupted: Box<dyn Fn(u64) + Send + Sync>,
    /// With the thread that reads while it does; none for good if that broke down.
    file: Option<FollowedFile>,
    calls: ToldIds,
    results: ToldIds,
    /// Results that were told without their text, because the file was late.
    late: ToldIds,
    /// The last that the file told were words of the agent.
    words_end: bool,
    /// What hooks told and the file may have: the file may have told what follows it by the time that it is read.
    awaited: VecDeque<EntryKind>,
}

impl TranscriptFollowing {
    async fn run(mut self, conversation: Option<String>, mut told: mpsc::Receiver<Followed>) {
        if let Some(conversation) = conversation {
            self.begin(conversation).await;
        }
        loop {
            let is_watched = self.session.stream().is_looked_at();
            let works_alone = !is_watched && self.session.about().is_working == Some(true) && self.has_file();
            tokio::select! {
                followed = told.recv() => match followed {
                    Some(Followed::Entry(first)) => {
                        // Each look at the file takes a thread. While nobody looks at the stream, events that come close
                        // to each other share one.
                        if !is_watched && matches!(first, EntryKind::Event { .. }) && self.has_file() {
                            tokio::time::sleep(LOOK_PAUSE).await;
                        }
                        self.take_entries(first, &mut told).await;
                    }
                    Some(followed) => self.take(followed).await,
                    None => return,
                },
                () = tokio::time::sleep(WATCHED_PAUSE), if is_watched => self.read_on().await,
                () = tokio::time::sleep(WORKING_PAUSE), if works_alone => self.read_on().await,
                () = self.session.stream().looked_at(), if !is_watched => {}
            }
        }
    }

    /// Another conversation: what its transcript has already is older than this session.
    async fn begin(&mut self, conversation: String) {
        self.tell_of(move |file| file.begin(conversation)).await;
    }

    /// Tells what the client has written since.
    async fn read_on(&mut self) {
        if self.has_file() {
            self.tell_of(FollowedFile::read_on).await;
        }
    }

    /// Whether there is a file to look at, or one to look for.
    fn has_file(&self) -> bool {
        self.file.as_ref().is_some_and(FollowedFile::may_be_there)
    }

    /// Looks at the file on a thread that may wait for the disk, and tells what it says.
    async fn tell_of(&mut self, look: impl FnOnce(&mut FollowedFile) -> Vec<FoundEntry> + Send + 'static) {
        let Some(mut file) = self.file.take() else { return };
        let looking = tokio::task::spawn_blocking(move || {
            let told = look(&mut file);
            (file, told)
        });
        let Ok((file, told)) = looking.await else { return };
        self.file = Some(file);
        for FoundEntry { at, entry } in told {
            let is_news = match &entry {
                // A hook tells those.
                EntryKind::User { .. } | EntryKind::Event { .. } => {
                    let place = self.awaited.iter().position(|awaited| is_same(awaited, &entry));
                    if let Some(awaited) = place.and_then(|place| self.awaited.remove(place)) {
                        self.session.stream().push_from(awaited, at);
                    }
                    false
                }
                EntryKind::Call { call, .. } => self.calls.is_news(call),
                EntryKind::Result { call, .. } => self.results.is_news(call) || self.late.forget(call),
                EntryKind::Text { .. } | EntryKind::Turn { .. } | EntryKind::Notice { .. } => true,
            };
            self.words_end = matches!(entry, EntryKind::Text { .. });
            if matches!(entry, EntryKind::Turn { ended: TurnEnd::Interrupted, .. }) {
                (self.interrupted)(at);
            }
            if is_news {
                self.session.stream().push_from(entry, at);
            }
        }
    }

    /// Takes an entry and those that are there behind it: one look at the file tells of all of them.
    async fn take_entries(&mut self, first: EntryKind, told: &mut mpsc::Receiver<Followed>) {
        self.awaited.push_back(first);
        let mut behind = None;
        while behind.is_none()
            && let Ok(next) = told.try_recv()
        {
            match next {
                Followed::Entry(entry) => self.awaited.push_back(entry),
                other => behind = Some(other),
            }
        }
        self.read_on().await;
        for entry in std::mem::take(&mut self.awaited) {
            self.session.stream().push(entry);
        }
        if let Some(behind) = behind {
            self.take(behind).await;
        }
    }

    async fn take(&mut self, followed: Followed) {
        self.read_on().await;
        match followed {
            Followed::Conversation(conversation) => self.begin(conversation).await,
            Followed::Entry(entry) => self.session.stream().push(entry),
            Followed::Call { id, tool, input, agent } => {
                let id = id.unwrap_or_default();
                if agent.is_none() {
                    self.read_until(|following| following.calls.contains(&id)).await;
                }
                if id.is_empty() || self.calls.is_news(&id) {
                    self.push(EntryKind::call(&id, &tool, &input, agent));
                }
            }
            Followed::Result { id, failed, agent } => {
                let id = id.unwrap_or_default();
                if agent.is_none() {
                    self.read_until(|following| following.results.contains(&id)).await;
                }
                if id.is_empty() || self.results.is_news(&id) {
                    self.late.is_news(&id);
                    self.push(EntryKind::result(&id, &Value::Null, failed, agent));
                }
            }
            Followed::TurnEnd => {
                self.read_until(|following| following.words_end).await;
                self.push(EntryKind::Turn { ended: TurnEnd::Done, why: None });
            }
        }
    }

    fn push(&mut self, entry: EntryKind) {
        self.words_end = false;
        self.session.stream().push(entry);
    }

    /// Reads on until the file has told it, or is late. Where there is no file, nothing is waited for.
    async fn read_until(&mut self, is_told: impl Fn(&Self) -> bool) {
        let late = Instant::now() + fixed::wait("TRANSCRIPT_LATE", LATE);
        while self.file.as_ref().is_some_and(FollowedFile::is_there) && !is_told(self) && Instant::now() < late {
            tokio::time::sleep(LOOK_PAUSE).await;
            self.read_on().await;
        }
    }
}

/// Whether the file tells of what a hook has told.
fn is_same(told: &EntryKind, in_file: &EntryKind) -> bool {
    match (told, in_file) {
        (EntryKind::User { text, .. }, EntryKind::User { text: other, .. }) => text.trim() == other.trim(),
        (EntryKind::Event { event, .. }, EntryKind::Event { event: other, .. }) => event == other,
        _ => false,
    }
}

/// What the file tells, and when the client wrote it: that may be long before someone looks.
struct FoundEntry {
    at: u64,
    entry: EntryKind,
}

/// The transcript of a conversation, as far as it was read.
struct FollowedFile {
    transcripts: Option<Transcripts>,
    conversation: Option<String>,
    /// None until the client has begun to write it.
    file: Option<File>,
    /// How much of it was read.
    read: u64,
    entries: Entries,
}

impl FollowedFile {
    fn of(transcripts: Option<Transcripts>) -> Self {
        Self { transcripts, conversation: None, file: None, read: 0, entries: Entries::default() }
    }

    fn is_there(&self) -> bool {
        self.file.is_some()
    }

    /// Whether it is there, or known well enough to be looked for.
    fn may_be_there(&self) -> bool {
        self.is_there() || self.transcripts.is_some() && self.conversation.is_some()
    }

    /// The rest of the conversation that ends with this one.
    fn begin(&mut self, conversation: String) -> Vec<FoundEntry> {
        if self.conversation.as_ref() == Some(&conversation) {
            return vec![];
        }
        let told = self.read_on();
        (self.file, self.read) = (None, 0);
        self.conversation = Some(conversation);
        self.find();
        if let Some(length) = self.file.as_ref().and_then(|file| file.metadata().ok()).map(|about| about.len()) {
            self.read = length;
        }
        told
    }

    fn find(&mut self) {
        if let (None, Some(transcripts), Some(conversation)) = (&self.file, &self.transcripts, &self.conversation) {
            self.file = transcripts.open(conversation);
        }
    }

    /// What the client has written since.
    fn read_on(&mut self) -> Vec<FoundEntry> {
        self.find();
        let Some(file) = &self.file else { return vec![] };
        let length = file.metadata().map_or(0, |about| about.len());
        let mut bytes =
            vec![0; usize::try_from(length.saturating_sub(self.read).min(LONGEST_READ)).unwrap_or_default()];
        if bytes.is_empty() || file.read_exact_at(&mut bytes, self.read).is_err() {
            return vec![];
        }
        let Some(end) = memchr::memrchr(b'\n', &bytes) else {
            // A line that does not fit is passed over, from the line break behind it on.
            if bytes.len() as u64 == LONGEST_READ {
                self.read += LONGEST_READ;
            }
            return vec![];
        };
        self.read += end as u64 + 1;
        let lines = bytes[..end].split(|byte| *byte == b'\n');
        let mut found = vec![];
        for line in lines.filter_map(|line| entries_of(&mut self.entries, line)) {
            // One that says no time is of the moment it is read.
            let at = if line.at == 0 { u64::MAX } else { line.at };
            found.extend(line.entries.into_iter().map(|entry| FoundEntry { at, entry }));
        }
        found
    }
}
