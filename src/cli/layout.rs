//! Text on its way to a terminal or a pipe: local time, lines wrapped at the terminal's width, colours only for eyes.

use chrono::{DateTime, Local};
use portcullis_wire::sentence::{Sentence, Weight};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::config::environment;

/// Narrower terminals are not wrapped for: every word would stand on a line of its own.
const NARROWEST: usize = 30;
/// The column of labels, where they fit.
const LABEL: usize = 8;

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Where lines are wrapped; none in a pipe, where one line is one line.
    width: Option<usize>,
    height: usize,
    is_coloured: bool,
}

/// A colour of the terminal's own palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Quiet,
    Name,
    Attention,
    Danger,
}

impl Layout {
    /// As standard output is at this moment: a terminal may be made smaller at any time.
    pub(super) fn of_stdout() -> Self {
        use std::io::IsTerminal as _;
        let stdout = std::io::stdout();
        if !stdout.is_terminal() {
            return Self { width: None, height: usize::MAX, is_coloured: false };
        }
        let size = rustix::termios::tcgetwinsize(stdout).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        let (columns, rows) = size.map_or((80, 24), |size| (size.ws_col.into(), size.ws_row.into()));
        let is_coloured = environment("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { width: Some(columns), height: rows, is_coloured }
    }

    /// Without colours, so wide.
    #[cfg(test)]
    pub(super) fn plain(width: Option<usize>) -> Self {
        Self { width, height: 24, is_coloured: false }
    }

    pub(super) fn height(self) -> usize {
        self.height
    }

    /// So many columns; as many as there are letters in a pipe.
    pub(super) fn width(self) -> usize {
        self.width.unwrap_or(usize::MAX)
    }

    /// The rows that a row of so many columns has become by now.
    pub(super) fn rows_of(self, columns: usize) -> impl Iterator<Item = usize> {
        let width = self.width.unwrap_or(usize::MAX);
        std::iter::once(columns.min(width)).chain((1..columns.div_ceil(width)).map(move |_| width))
    }

    /// `15:16:07  api  abcde denied by owner: not on a Friday`, wrapped behind the names.
    pub(super) fn sentence(self, at: u64, sentence: &Sentence) -> String {
        self.line(&clock(at), sentence)
    }

    /// The same under another form of the time.
    pub(super) fn line(self, time: &str, sentence: &Sentence) -> String {
        let label = sentence.label.as_deref().unwrap_or("gate");
        let padding = " ".repeat(LABEL.saturating_sub(label.width()));
        let indent = time.width() + 2 + label.width().max(LABEL) + 2;
        let words = self.wrapped(&sentence.words, indent);
        let words = match sentence.weight {
            Weight::Attention => self.painted(Colour::Attention, &words),
            Weight::Plain => words,
            Weight::Detail => self.painted(Colour::Quiet, &words),
        };
        let (time, label) = (self.painted(Colour::Quiet, time), self.painted(Colour::Name, label));
        format!("{time}  {label}{padding}  {words}\n")
    }

    /// The text in a colour, where colours are seen.
    pub(super) fn painted(self, colour: Colour, text: &str) -> String {
        let code = match colour {
            Colour::Quiet => "2",
            Colour::Name => "36",
            Colour::Attention => "33",
            Colour::Danger => "31",
        };
        if self.is_coloured { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// One line as several that fit, all but the first indented by so many columns.
    pub(super) fn wrapped(self, line: &str, indent: usize) -> String {
        let Some(width) = self.width.filter(|width| *width >= indent + NARROWEST) else { return line.to_owned() };
        // The last column stays free: some terminals begin a new line when it is filled.
        let space = width - 1 - indent;
        let (mut lines, mut current) = (vec![], String::new());
        for word in line.split_inclusive(' ') {
            if current.width() + word.trim_end().width() > space && !current.trim().is_empty() {
                lines.push(std::mem::take(&mut current));
            }
            for letter in word.chars() {
                if current.width() + letter.width().unwrap_or(0) > space && letter != ' ' {
                    lines.push(std::mem::take(&mut current));
                }
                current.push(letter);
            }
        }
        lines.push(current);
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end_matches(' ')).collect();
        lines.join(&format!("\n{}", " ".repeat(indent)))
    }
}

/// How many columns a text takes, without the colours in it.
pub(super) fn columns(text: &str) -> usize {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().width();
    first + parts.map(|part| part.split_once('m').map_or(0, |(_, rest)| rest.width())).sum::<usize>()
}

/// The time that is left, rounded up: a token for 30 days has 30 days left, and not 29.
pub(super) fn left(milliseconds: u64) -> String {
    const SCALE: [(u64, &str); 3] = [(86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute")];
    let (unit, name) = SCALE.into_iter().find(|(unit, _)| milliseconds > *unit).unwrap_or((1_000, "second"));
    let count = milliseconds.div_ceil(unit);
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

/// The local time of day.
pub(super) fn clock(at: u64) -> String {
    local(at).format("%H:%M:%S").to_string()
}

/// The local time of day, for lines that stand under their day: `15:16`.
pub(super) fn time(at: u64) -> String {
    local(at).format("%H:%M").to_string()
}

/// The local day: `Sunday, 15 November 2026`.
pub(super) fn day(at: u64) -> String {
    local(at).format("%A, %-d %B %Y").to_string()
}

/// `2026-11-15 15:16:07`, where the moment stands alone.
pub(super) fn date_and_time(at: u64) -> String {
    local(at).format("%Y-%m-%d %H:%M:%S").to_string()
}

fn local(at: u64) -> DateTime<Local> {
    let moment = i64::try_from(at).ok().and_then(DateTime::from_timestamp_millis).unwrap_or_default();
    moment.with_timezone(&Local)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(columns: usize) -> Layout {
        Layout::plain(Some(columns))
    }

    #[test]
    fn a_line_is_wrapped_at_words_and_by_the_width_of_its_letters() {
        assert_eq!(
            wide(36).wrapped("one two three four five six seven eight", 2),
            "one two three four five six seven\n  eight"
        );
        let letters = "字".repeat(20);
        let shown = wide(36).wrapped(&letters, 2);
        assert!(shown.lines().all(|line| line.width() <= 35), "{shown}");
        assert_eq!(shown.replace("\n  ", ""), letters);
    }

    #[test]
    fn what_a_smaller_window_does_to_rows_is_known() {
        assert_eq!(columns("\u{1b}[2mab\u{1b}[0m字"), 4);
        assert_eq!(wide(10).rows_of(0).count(), 1);
        assert_eq!(wide(10).rows_of(10).count(), 1);
        assert_eq!(wide(10).rows_of(21).count(), 3);
    }

    #[test]
    fn a_pipe_gets_one_line_without_escapes() {
        let layout = Layout { width: None, height: 24, is_coloured: false };
        let sentence = Sentence { session: None, label: None, words: "word ".repeat(100), weight: Weight::Attention };
        let line = layout.sentence(0, &sentence);
        assert!(line.matches('\n').count() == 1 && !line.contains('\u{1b}'), "{line}");
    }
}
