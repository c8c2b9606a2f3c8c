//! The log as people read it: a sentence a record, in local time, under the day on which it happened.

use std::collections::VecDeque;

use portcullis_core::{AskId, Record, Subject, hides};
use portcullis_wire::api::{AskView, LogLine};
use portcullis_wire::sentence::{Names, Sentence, Weight, sentence};

use super::Read;
use crate::cli::client::{Client, is_not_found, segment};
use crate::cli::feed::{AWAY, BACK, News, Pages, known_names, known_session};
use crate::cli::layout::{Colour, Layout, day, time};
use crate::cli::{paths, try_say};

/// Records that are fetched at once.
const PAGE: usize = 1000;

/// Reads the log, and prints what is wanted of it.
pub(super) struct LogReader {
    options: Read,
    /// What is shown of a line.
    shown: fn(LogLine) -> LogLine,
    names: Names,
    only: OnlyRecords,
    /// The day of the line that was printed last.
    day: Option<String>,
}

/// Which records are wanted.
#[derive(Default)]
struct OnlyRecords {
    /// Milliseconds since 1970.
    from: u64,
    /// An id, or a label that the gate no longer knows.
    session: Option<String>,
    /// An id, or a code that the gate no longer knows.
    ask: Option<String>,
    /// The prompts that have had this code.
    asks: Vec<AskId>,
    /// What the gate said of a session or prompt that it does not know: the error, where no record is about it either.
    unknown: Option<anyhow::Error>,
}

/// A record on its way out.
struct PrintedLine {
    at: u64,
    text: String,
}

impl LogReader {
    pub(super) fn new(options: Read, shown: fn(LogLine) -> LogLine) -> Self {
        Self { options, shown, names: Names::default(), only: OnlyRecords::default(), day: None }
    }

    /// Prints until the end of the log, or for ever. Ends when nobody reads any more.
    pub(super) async fn read(mut self) -> anyhow::Result<()> {
        let gate = Client::of_the_gate()?;
        self.only = OnlyRecords::of(&self.options, &gate).await?;
        // The records of long ago may still have the name, but no new one will.
        if let Some(unknown) = self.only.unknown.take_if(|_| self.options.follow) {
            return Err(unknown);
        }
        let mut after = self.start(&gate).await?;
        // The latest are known only at the end of what there is.
        let mut latest = self.options.lines.map(|lines| (lines, VecDeque::new()));
        loop {
            let page: Vec<LogLine> = gate.get(&format!("/api/v1/log?after={after}&limit={PAGE}")).await?;
            let end = page.last().map(|line| line.seq);
            for line in page {
                let Some(line) = self.told(line)? else { continue };
                match &mut latest {
                    Some((lines, kept)) => {
                        kept.push_back(line);
                        if kept.len() > *lines {
                            kept.pop_front();
                        }
                    }
                    None if !self.print(&line) => return Ok(()),
                    None => {}
                }
            }
            if let Some(end) = end {
                after = end;
                continue;
            }
            for line in latest.take().into_iter().flat_map(|(_, kept)| kept) {
                self.print(&line);
            }
            return match (self.options.follow, self.only.unknown.take()) {
                (true, _) => self.follow(after).await,
                (false, Some(unknown)) => Err(unknown),
                (false, None) => Ok(()),
            };
        }
    }

    /// Goes on over restarts of the gate.
    async fn follow(&mut self, after: u64) -> anyhow::Result<()> {
        let mut pages = Pages::after(paths()?, after);
        loop {
            let page = match pages.next().await? {
                News::Entries(page) => page,
                News::Away | News::Back if self.options.json => continue,
                News::Away if try_say(AWAY).is_ok() => continue,
                News::Back if try_say(BACK).is_ok() => continue,
                News::Away | News::Back => return Ok(()),
            };
            for line in page {
                if let Some(line) = self.told(line)?
                    && !self.print(&line)
                {
                    return Ok(());
                }
            }
        }
    }

    /// The record after which it begins. Where that is not the first one, the gate says what people call what it is about.
    async fn start(&mut self, gate: &Client) -> anyhow::Result<u64> {
        let is_filtered = self.only.session.is_some() || self.only.ask.is_some() || self.options.since.is_some();
        let latest = match (self.options.lines, self.options.follow) {
            // What the records before them say is known then: a line reads as it does in the whole log.
            (Some(lines), _) if !is_filtered && lines < PAGE => PAGE - 1,
            (None, true) if self.options.since.is_none() => 0,
            _ => return Ok(0),
        };
        let last: Vec<LogLine> = gate.get(&format!("/api/v1/log?last={}&limit={PAGE}", latest + 1)).await?;
        self.names = known_names(gate).await?;
        // One more than is wanted: it begins after that one.
        Ok(if last.len() > latest { last.first().map_or(0, |line| line.seq) } else { 0 })
    }

    fn told(&mut self, line: LogLine) -> anyhow::Result<Option<PrintedLine>> {
        let at = line.at;
        let (is_wanted, sentence) = match line.read() {
            Ok(record) => {
                let sentence = sentence(&mut self.names, &record);
                (self.only.take(at, &record, &sentence), sentence)
            }
            Err(_) => {
                let words = format!("record {} is of a kind that this program cannot read", line.seq);
                let unreadable = Sentence { session: None, label: None, words, weight: Weight::Attention };
                (self.only.take_unreadable(at), unreadable)
            }
        };
        if !is_wanted {
            return Ok(None);
        }
        self.only.unknown = None;
        let text = match self.options.json {
            true => format!("{}\n", spelled_out(&serde_json::to_string(&(self.shown)(line))?)),
            false => Layout::of_stdout().line(&time(at), &sentence),
        };
        Ok(Some(PrintedLine { at, text }))
    }

    /// Whether someone still reads.
    fn print(&mut self, line: &PrintedLine) -> bool {
        let today = day(line.at);
        if !self.options.json && self.day.as_ref() != Some(&today) {
            let heading = Layout::of_stdout().painted(Colour::Quiet, &today);
            self.day = Some(today);
            if try_say(&format!("{heading}\n")).is_err() {
                return false;
            }
        }
        try_say(&line.text).is_ok()
    }
}

impl OnlyRecords {
    async fn of(options: &Read, gate: &Client) -> anyhow::Result<Self> {
        let mut only = Self { from: options.since.map_or(0, |since| since.0), ..Self::default() };
        // The gate forgets sessions and prompts that are long gone; the records still have their names.
        if let Some(wanted) = &options.session {
            only.session = Some(match known_session(gate, wanted).await {
                Ok(session) => session.id,
                Err(error) => only.not_known(error, wanted.clone())?,
            });
        }
        if let Some(wanted) = &options.ask {
            let known: anyhow::Result<AskView> = gate.get(&format!("/api/v1/asks/{}", segment(wanted))).await;
            only.ask = Some(match known {
                Ok(ask) => ask.id,
                Err(error) => only.not_known(error, wanted.to_ascii_lowercase())?,
            });
        }
        Ok(only)
    }

    /// The name to look for in the records, where the gate does not know it.
    fn not_known(&mut self, error: anyhow::Error, wanted: String) -> anyhow::Result<String> {
        if !is_not_found(&error) {
            return Err(error);
        }
        self.unknown = Some(error);
        Ok(wanted)
    }

    fn take(&mut self, at: u64, record: &Record, sentence: &Sentence) -> bool {
        let session = self.session.as_ref().is_none_or(|wanted| {
            sentence.session.is_some_and(|id| id.to_string() == *wanted) || sentence.label.as_ref() == Some(wanted)
        });
        let Some(wanted) = &self.ask else { return at >= self.from && session };
        if let Record::Asked { ask } = record
            && ask.code.to_string() == *wanted
        {
            self.asks.push(ask.id);
        }
        let about = match record {
            Record::Called { call, .. } => call.ask,
            _ => match record.subject() {
                Subject::Ask(ask) => Some(ask),
                _ => None,
            },
        };
        let is_ask = about.is_some_and(|ask| ask.to_string() == *wanted || self.asks.contains(&ask));
        at >= self.from && session && is_ask
    }

    fn take_unreadable(&self, at: u64) -> bool {
        at >= self.from && self.session.is_none() && self.ask.is_none()
    }
}

/// The same JSON, with everything escaped that would act on a terminal or not be seen there. It reads as the same value.
fn spelled_out(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter.is_control() || hides(letter) {
            true => letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}"))),
            false => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn json_for_a_terminal_hides_nothing_and_means_the_same() {
        let value = serde_json::json!({"text": "a\u{202e}b\u{ad}\u{e0041}\u{9b}é👩\u{200d}👧"});
        let shown = super::spelled_out(&value.to_string());
        assert_eq!(shown, "{\"text\":\"a\\u202eb\\u00ad\\udb40\\udc41\\u009bé👩\u{200d}👧\"}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
