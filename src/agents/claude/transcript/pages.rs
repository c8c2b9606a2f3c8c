//! Pages of a transcript, from its end to its beginning.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;

use memchr::{memchr_iter, memmem};
use portcullis_wire::stream::{HistoryPage, StreamEntry, WantedPage};

use super::lines::entries_of;
use super::{Entries, Transcripts};

/// As much of the file is looked at for one page, unless a single line is longer.
const WINDOW: u64 = 1 << 20;
/// A line that is longer ends the history.
const LONGEST_LINE: u64 = 64 << 20;

impl Transcripts {
    /// A page of the conversation with this id; none where there is no transcript.
    pub(crate) fn page(&self, conversation: &str, wanted: &WantedPage) -> io::Result<Option<HistoryPage>> {
        self.open(conversation).map(|file| page(&file, wanted)).transpose()
    }
}

fn page(file: &File, wanted: &WantedPage) -> io::Result<HistoryPage> {
    let length = file.metadata()?.len();
    let end = match (&wanted.until, wanted.before) {
        (Some(id), _) => first_line_with(file, id)?.unwrap_or(length),
        (None, before) => before.unwrap_or(length).min(length),
    };
    let mut window = WINDOW;
    loop {
        let start = end.saturating_sub(window);
        let mut bytes = vec![0; usize::try_from(end - start).unwrap_or_default()];
        file.read_exact_at(&mut bytes, start)?;
        // What stands before the first line break is the end of a line, unless it is the beginning of the file.
        let whole = if start == 0 { Some(0) } else { memchr::memchr(b'\n', &bytes).map(|place| place + 1) };
        let has_line = whole.is_some_and(|whole| whole < bytes.len());
        if has_line || start == 0 {
            return Ok(last_entries(&bytes, start, whole.unwrap_or_default(), wanted.limit));
        }
        if window >= LONGEST_LINE {
            return Ok(HistoryPage { entries: vec![], before: None });
        }
        window *= 2;
    }
}

/// The last entries of lines that begin at `whole` and behind, as many as are wanted. A line is not taken apart.
fn last_entries(bytes: &[u8], start: u64, whole: usize, limit: usize) -> HistoryPage {
    let mut lines: Vec<(usize, Vec<StreamEntry>)> = vec![];
    let (mut begin, mut entries) = (whole, Entries::default());
    let ends = memchr_iter(b'\n', bytes).map(|place| place + 1).filter(|end| *end > whole);
    for end in ends {
        if let Some(line) = entries_of(&mut entries, &bytes[begin..end]) {
            let told = line.entries.into_iter().map(|kind| StreamEntry { n: None, at: line.at, kind });
            lines.push((begin, told.collect()));
        }
        begin = end;
    }
    let (mut first, mut count) = (lines.len(), 0);
    while first > 0 && count + lines[first - 1].1.len() <= limit.max(1) {
        first -= 1;
        count += lines[first].1.len();
    }
    // One line may tell more than a page holds.
    if first == lines.len() {
        first = first.saturating_sub(1);
    }
    let is_cut = first > 0;
    let from = if is_cut { lines.get(first).map_or(whole, |line| line.0) } else { whole };
    let before = (is_cut || start > 0).then_some(start + from as u64).filter(|before| *before > 0);
    HistoryPage { entries: lines.drain(first..).flat_map(|(_, entries)| entries).collect(), before }
}

/// Where the first line begins that tells of this message or call.
fn first_line_with(file: &File, id: &str) -> io::Result<Option<u64>> {
    let quoted = format!("\"{id}\"");
    let finder = memmem::Finder::new(quoted.as_bytes());
    let mut reader = BufReader::with_capacity(256 << 10, file);
    reader.seek(SeekFrom::Start(0))?;
    let (mut line, mut begin) = (vec![], 0);
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        if finder.find(&line).is_some() {
            return Ok(Some(begin));
        }
        begin += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_wire::stream::EntryKind;
    use serde_json::json;
    use std::io::Write as _;

    fn transcript(lines: usize, padding: usize) -> File {
        let mut file = tempfile::tempfile().unwrap();
        for number in 0..lines {
            let text = format!("{number} {}", "x".repeat(padding));
            let content = json!([{"type": "text", "text": text}]);
            let line = json!({"type": "assistant", "message": {"id": format!("m{number}"), "content": content}});
            writeln!(file, "{line}\n{{\"type\":\"summary\"}}").unwrap();
        }
        file
    }

    fn numbers(page: &HistoryPage) -> Vec<usize> {
        let number = |entry: &StreamEntry| match &entry.kind {
            EntryKind::Text { text, .. } => text.split(' ').next().unwrap().parse().unwrap(),
            other => panic!("{other:?}"),
        };
        page.entries.iter().map(number).collect()
    }

    #[test]
    fn pages_follow_each_other_to_the_beginning_without_a_gap_or_a_double() {
        for (lines, padding, limit) in [(1000, 10, 7), (300, 9000, 1000), (3, 3_000_000, 10)] {
            let file = transcript(lines, padding);
            let mut wanted = WantedPage { limit, until: Some(format!("m{}", lines - 1)), before: None };
            let mut seen = vec![];
            loop {
                let page = page(&file, &wanted).unwrap();
                assert!(page.entries.len() <= limit.max(200), "a long text is several entries");
                let mut numbers = numbers_of_first_pieces(&page);
                numbers.extend(seen);
                seen = numbers;
                let Some(before) = page.before else { break };
                wanted = WantedPage { limit, until: None, before: Some(before) };
            }
            assert_eq!(seen, (0..lines - 1).collect::<Vec<_>>());
        }
    }

    fn numbers_of_first_pieces(page: &HistoryPage) -> Vec<usize> {
        let is_first = |entry: &&StreamEntry| matches!(&entry.kind, EntryKind::Text { text, .. } if text.contains(' '));
        let entries = page.entries.iter().filter(is_first).cloned().collect();
        numbers(&HistoryPage { entries, before: None })
    }

    #[test]
    fn an_empty_transcript_and_one_that_is_being_written_have_what_they_have() {
        let mut file = tempfile::tempfile().unwrap();
        let wanted = WantedPage { limit: 10, ..WantedPage::default() };
        assert_eq!(page(&file, &wanted).unwrap(), HistoryPage { entries: vec![], before: None });
        write!(file, "{{\"type\":\"user\",\"message\":{{\"content\":\"hi\"}}}}\n{{\"type\":\"us").unwrap();
        assert_eq!(page(&file, &wanted).unwrap().entries.len(), 1);
    }
}
