//! A prompt on the screen of `watch`: as much of it as leaves lines for what happens.

use super::super::layout::{Layout, columns};

/// Lines of the screen that are left to what happened, whatever a prompt shows.
const LEFT_FREE: usize = 12;
/// A line that is cut keeps at least so many rows: its beginning, its end, and the note between.
const LEAST_ROWS: usize = 2;

/// A prompt as it is drawn.
pub(super) struct Card {
    pub(super) text: String,
    /// Something of the input is not in it.
    pub(super) is_cut: bool,
}

impl Card {
    /// Shows the beginning and the end of what does not fit, and how much is missing where it is missing.
    pub(super) fn new(words: &str, layout: Layout) -> Self {
        let lines: Vec<&str> = words.trim_start_matches('\n').lines().collect();
        let (preview, others): (Vec<&str>, Vec<&str>) = lines.iter().partition(|line| is_preview(line));
        let taken: usize = others.iter().map(|line| rows(line, layout)).sum();
        let most = layout.height().saturating_sub(LEFT_FREE + taken).max(2 * LEAST_ROWS + 1);
        let (shown, is_cut) = fitted(&preview, most, layout);
        let mut text = String::new();
        let before = lines.iter().take_while(|line| !is_preview(line));
        let after = lines.iter().skip_while(|line| !is_preview(line)).filter(|line| !is_preview(line));
        before.for_each(|line| text.push_str(&format!("\n{}", layout.wrapped(line, 4))));
        shown.iter().for_each(|line| text.push_str(&format!("\n{line}")));
        after.for_each(|line| text.push_str(&format!("\n{}", layout.wrapped(line, 4))));
        Self { text, is_cut }
    }
}

fn is_preview(line: &str) -> bool {
    line.starts_with("  │")
}

fn rows(line: &str, layout: Layout) -> usize {
    layout.wrapped(line, 4).lines().map(|row| layout.rows_of(columns(row)).count()).sum::<usize>().max(1)
}

/// The lines in at most so many rows, and whether something is missing.
fn fitted(lines: &[&str], most: usize, layout: Layout) -> (Vec<String>, bool) {
    let heights: Vec<usize> = lines.iter().map(|line| rows(line, layout)).collect();
    let wrapped = |line: &str| layout.wrapped(line, 4);
    if heights.iter().sum::<usize>() <= most {
        return (lines.iter().map(|line| wrapped(line)).collect(), false);
    }
    let height_at = |cap: usize| heights.iter().map(|rows| (*rows).min(cap)).sum::<usize>();
    let cap = (LEAST_ROWS..=most).rev().find(|cap| height_at(*cap) <= most);
    let shown = |index: usize, cap: usize| match lines.get(index) {
        Some(line) if heights.get(index).is_some_and(|rows| *rows > cap) => wrapped(&cut(line, cap, layout)),
        Some(line) => wrapped(line),
        None => String::new(),
    };
    if let Some(cap) = cap {
        return ((0..lines.len()).map(|index| shown(index, cap)).collect(), true);
    }
    // Too many lines: those of the beginning and those of the end, and one row says what is between.
    let half = (most - 1) / 2;
    let count = |heights: &mut dyn Iterator<Item = &usize>| {
        let mut left = half;
        heights
            .take_while(|rows| {
                let fits = (**rows).min(LEAST_ROWS) <= left;
                left = left.saturating_sub((**rows).min(LEAST_ROWS));
                fits
            })
            .count()
    };
    let (first, last) = (count(&mut heights.iter()), count(&mut heights.iter().rev()));
    let end = lines.len().saturating_sub(last).max(first);
    let mut text: Vec<String> = (0..first).map(|index| shown(index, LEAST_ROWS)).collect();
    text.push(format!("  │ … {} lines are not shown here …", end - first));
    text.extend((end..lines.len()).map(|index| shown(index, LEAST_ROWS)));
    (text, true)
}

/// A line in so many rows: its beginning and its end.
fn cut(line: &str, most: usize, layout: Layout) -> String {
    let letters: Vec<char> = line.chars().collect();
    let mut kept = layout.width().saturating_mul(most).min(letters.len().saturating_sub(1));
    loop {
        let (begin, end) = (kept - kept / 2, letters.len() - kept / 2);
        let missing = end - begin;
        let (head, tail) =
            (letters.iter().take(begin).collect::<String>(), letters.iter().skip(end).collect::<String>());
        let text = format!("{head} … {missing} characters are not shown here … {tail}");
        if kept < 10 || rows(&text, layout) <= most {
            return text;
        }
        kept -= kept.div_ceil(12);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(words: &str) -> Card {
        Card::new(words, Layout::plain(Some(100)))
    }

    #[test]
    fn what_fits_is_shown_whole() {
        let card = card("\nBash  [abcde]  List\n  │ ls\n  │ pwd\n  risk: low");
        assert_eq!((card.text.as_str(), card.is_cut), ("\nBash  [abcde]  List\n  │ ls\n  │ pwd\n  risk: low", false));
    }

    #[test]
    fn a_long_line_keeps_its_beginning_and_its_end_and_its_place() {
        for long in ["x".repeat(3400), "word ".repeat(680), "漢字".repeat(1000)] {
            let words =
                format!("\nBash  [abcde]\n  │ echo first {long} last\n  │ two\n  │ three\n  │ four\n  risk: low");
            let card = card(&words);
            let lines: Vec<&str> = card.text.trim_start().lines().collect();
            assert!(card.is_cut && lines[1].starts_with("  │ echo first"), "{}", card.text);
            assert!(lines.len() <= 12, "{}", card.text);
            let flat = card.text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains("last │ two │ three │ four risk: low"), "{flat}");
            let note = flat.split(" … ").find(|part| part.ends_with("characters are not shown here")).unwrap();
            let missing: usize = note.split(' ').next().unwrap().parse().unwrap();
            assert!(missing > 500 && missing < long.chars().count(), "{note}");
        }
    }

    #[test]
    fn of_many_lines_the_first_and_the_last_are_shown() {
        let lines: String = (1..=100).map(|number| format!("\n  │ line {number}")).collect();
        let card = card(&format!("\nBash  [abcde]{lines}\n  risk: low"));
        assert!(card.is_cut && card.text.contains("│ line 1\n") && card.text.contains("│ line 100\n"), "{}", card.text);
        let shown = card.text.matches("│ line ").count();
        assert!(card.text.contains(&format!("│ … {} lines are not shown here …", 100 - shown)), "{}", card.text);
        let many = format!("\n  │ {}", "y".repeat(500)).repeat(100);
        assert!(Card::new(&many, Layout::plain(Some(100))).text.lines().count() <= 14);
    }
}
