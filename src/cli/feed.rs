//! The records of the gate as they are written, over its restarts: each comes once, in order.

use std::time::Duration;

use portcullis_core::{Record, mask};
use portcullis_wire::api::{AskView, LogLine, SessionView};
use portcullis_wire::sentence::{Names, Sentence, Weight, sentence};
use portcullis_wire::text::mask_all;
use serde_json::Value;

use super::client::{Client, is_away, segment};
use crate::config::Paths;

/// Seconds that the gate holds a question for new records: well below what a client waits for an answer.
const WAIT: u64 = 5;
/// How often a gate that is gone is looked for.
const PAUSE: Duration = Duration::from_millis(200);

/// Follows the log from a record on, page by page.
pub(super) struct Pages {
    paths: Paths,
    /// The last record that was told.
    after: u64,
    is_away: bool,
}

/// Tells in words what is in the log from a record on.
pub(super) struct Feed {
    pages: Pages,
    names: Names,
    only: Only,
    /// Those below it are not told.
    least: Weight,
}

/// Which sessions someone wants to hear of.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Only {
    /// Only this session: its label, its id, or the beginning of one
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Only sessions with this label, also those that have it later
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    label: Option<String>,
}

impl Only {
    /// The same, by the id and the label of sessions that the gate knows; an error that lists them where it knows none.
    async fn of_known(self, gate: &Client) -> anyhow::Result<Self> {
        let session = match &self.session {
            Some(wanted) => Some(known_session(gate, wanted).await?.id),
            None => None,
        };
        let label = match &self.label {
            Some(wanted) => Some(known_session(gate, wanted).await?.label),
            None => None,
        };
        Ok(Self { session, label })
    }

    pub(super) fn takes(&self, session: Option<&str>, label: Option<&str>) -> bool {
        let fits = |wanted: &Option<String>, it: Option<&str>| wanted.as_ref().is_none_or(|wanted| it == Some(wanted));
        fits(&self.session, session) && fits(&self.label, label)
    }
}

/// The session that someone means by its label, its id, or the beginning of one.
pub(super) async fn known_session(gate: &Client, wanted: &str) -> anyhow::Result<SessionView> {
    gate.get(&format!("/api/v1/sessions/{}", segment(wanted))).await
}

/// One record, in words and as it is.
pub(super) struct Entry {
    pub(super) line: LogLine,
    pub(super) record: Record,
    pub(super) sentence: Sentence,
}

/// What a feed tells.
pub(super) enum News<T = Vec<Entry>> {
    /// Something happened; none of it may be for whoever follows.
    Entries(T),
    /// The gate does not answer. What happens until it is back is told then.
    Away,
    Back,
}

/// What is said of a gate that is away or back.
pub(super) const AWAY: &str = "The gate does not answer; waiting for it.\n";
pub(super) const BACK: &str = "The gate is back.\n";

/// What people call the sessions and prompts that the gate knows.
pub(super) async fn known_names(gate: &Client) -> anyhow::Result<Names> {
    let mut names = Names::default();
    let sessions: Vec<SessionView> = gate.get("/api/v1/sessions?all=true").await?;
    sessions.iter().for_each(|session| names.learn_session(session));
    let asks: Vec<AskView> = gate.get("/api/v1/asks").await.unwrap_or_default();
    asks.iter().for_each(|ask| names.learn_ask(ask));
    Ok(names)
}

impl Pages {
    pub(super) fn after(paths: Paths, after: u64) -> Self {
        Self { paths, after, is_away: false }
    }

    /// What comes next. May be dropped while waiting without losing anything. An error where asking again would not help.
    pub(super) async fn next(&mut self) -> anyhow::Result<News<Vec<LogLine>>> {
        loop {
            let path = format!("/api/v1/log?after={}&wait={WAIT}", self.after);
            let page: anyhow::Result<Vec<LogLine>> = Client::new(&self.paths).get(&path).await;
            match page {
                Err(error) if !is_away(&error) => return Err(error),
                Err(_) if !self.is_away => {
                    self.is_away = true;
                    return Ok(News::Away);
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
                // The page is asked for again: what happened meanwhile comes after the word that the gate is back.
                Ok(_) if std::mem::take(&mut self.is_away) => return Ok(News::Back),
                Ok(page) if page.is_empty() => {}
                Ok(page) => {
                    self.after = page.last().map_or(self.after, |line| line.seq);
                    return Ok(News::Entries(page));
                }
            }
        }
    }
}

impl Feed {
    /// A feed of what happens from now on.
    pub(super) async fn from_now(paths: Paths, only: Only) -> anyhow::Result<Self> {
        let gate = Client::new(&paths);
        let only = only.of_known(&gate).await?;
        let last: Vec<LogLine> = gate.get("/api/v1/log?last=1").await?;
        let after = last.last().map_or(0, |line| line.seq);
        let names = known_names(&gate).await?;
        Ok(Self { pages: Pages::after(paths, after), names, only, least: Weight::Plain })
    }

    /// The same with every detail.
    pub(super) fn in_detail(self) -> Self {
        Self { least: Weight::Detail, ..self }
    }

    /// What comes next, as [`Pages::next`] has it.
    pub(super) async fn next(&mut self) -> anyhow::Result<News> {
        Ok(match self.pages.next().await? {
            News::Entries(page) => News::Entries(page.into_iter().filter_map(|line| self.read(line)).collect()),
            News::Away => News::Away,
            News::Back => News::Back,
        })
    }

    /// The label of a session, where it is known.
    pub(super) fn label(&self, session: &str) -> Option<&str> {
        self.names.label(session.parse().ok()?)
    }

    pub(super) fn only(&self) -> &Only {
        &self.only
    }

    /// None where the record is not for whoever follows, or is of a kind that only a later release can read.
    fn read(&mut self, line: LogLine) -> Option<Entry> {
        let record = line.read().ok()?;
        let sentence = sentence(&mut self.names, &record);
        let session = sentence.session.map(|session| session.to_string());
        let takes = self.only.takes(session.as_deref(), sentence.label.as_deref());
        (takes && sentence.weight >= self.least).then(|| Entry { line: masked(line), record, sentence })
    }
}

impl Entry {
    /// The record for programs, with the words for people.
    pub(super) fn json(&self) -> serde_json::Result<Value> {
        let mut value = serde_json::to_value(&self.line)?;
        value["session"] = self.sentence.session.map(|session| session.to_string()).into();
        value["label"] = self.sentence.label.clone().into();
        value["words"] = self.sentence.words.clone().into();
        Ok(value)
    }
}

/// A log is read over shoulders and ends up in tickets: no secret that an event or a command held goes along.
pub(super) fn masked(mut line: LogLine) -> LogLine {
    line.payload = line.payload.map(|payload| mask(&payload).0.into_owned());
    mask_all(&mut line.record);
    line
}
