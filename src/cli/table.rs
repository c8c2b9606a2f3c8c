//! A list as people read it: headings, columns that line up, and no line wider than the terminal.

use portcullis_core::visible;
use portcullis_wire::text::one_line;

use super::layout::{Colour, Layout, columns};

/// A longer cell is cut, so that one long name does not push the rest off the screen. The last column is never cut.
const WIDEST: usize = 36;
/// Names and addresses that are to be copied are cut where they are longer than any that a person would write.
const WIDEST_WHOLE: usize = 128;
/// Between two columns.
const GAP: usize = 2;

/// Rows of cells under headings. Whatever is put into a cell, it stays one line that a terminal may safely show.
pub(super) struct Table {
    layout: Layout,
    heads: Vec<&'static str>,
    /// Columns that are never cut: what is in them is copied into a command.
    whole: &'static [usize],
    rows: Vec<Vec<Cell>>,
}

/// A text, and the colour that it has on a terminal.
pub(super) struct Cell {
    text: String,
    colour: Option<Colour>,
}

impl Cell {
    pub(super) fn painted(text: impl AsRef<str>, colour: Colour) -> Self {
        Self { colour: Some(colour), ..Self::from(text) }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: one_line(text.as_ref()), colour: None }
    }
}

impl Table {
    pub(super) fn new(heads: &[&'static str]) -> Self {
        Self { layout: Layout::of_stdout(), heads: heads.to_vec(), whole: &[], rows: vec![] }
    }

    /// The same with columns that are cut only where they are far too long.
    pub(super) fn with_whole(self, whole: &'static [usize]) -> Self {
        Self { whole, ..self }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines of the table. The last column takes what is left of each, and goes on below itself.
    pub(super) fn print(&self) -> String {
        let last = self.heads.len().saturating_sub(1);
        let width_of = |column: usize| {
            let widest = if self.whole.contains(&column) { WIDEST_WHOLE } else { WIDEST };
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| columns(&cell.text).min(widest));
            cells.chain(self.heads.get(column).map(|head| columns(head))).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..last).map(width_of).collect();
        let indent = widths.iter().map(|width| width + GAP).sum();
        let line = |cells: &mut dyn Iterator<Item = (&str, Option<Colour>)>| {
            let mut line = String::new();
            for (column, (text, colour)) in cells.enumerate() {
                let (text, padding) = match widths.get(column) {
                    Some(width) => {
                        let text = cut(text, *width);
                        let padding = width - columns(&text) + GAP;
                        (text, padding)
                    }
                    None => (self.layout.wrapped(text, indent), 0),
                };
                line.push_str(&colour.map_or_else(|| text.clone(), |colour| self.layout.painted(colour, &text)));
                line.push_str(&" ".repeat(padding));
            }
            format!("{}\n", line.trim_end())
        };
        let heads = line(&mut self.heads.iter().map(|head| (*head, Some(Colour::Quiet))));
        let rows = self.rows.iter().map(|row| line(&mut row.iter().map(|cell| (cell.text.as_str(), cell.colour))));
        std::iter::once(heads).chain(rows).collect()
    }
}

/// The start of a text that is wider than its column.
fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut start = String::new();
    for letter in text.chars() {
        if columns(&start) + columns(letter.encode_utf8(&mut [0; 4])) >= width {
            break;
        }
        start.push(letter);
    }
    format!("{start}…")
}

/// Names and values, one below the other: `risk      high: network`. A value may have several lines.
pub(super) fn fields(rows: &[(&str, String)]) -> String {
    let layout = Layout::of_stdout();
    let indent = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + GAP;
    let row = |(name, value): &(&str, String)| {
        let value = visible(value);
        let lines: Vec<String> = value.lines().map(|line| layout.wrapped(line, indent)).collect();
        let name = layout.painted(Colour::Quiet, &format!("{name:<indent$}"));
        format!("{name}{}\n", lines.join(&format!("\n{}", " ".repeat(indent))))
    };
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(width: Option<usize>) -> String {
        let mut table =
            Table { layout: Layout::plain(width), heads: vec!["CODE", "SESSION", "COMMAND"], whole: &[], rows: vec![] };
        table.row(["abcde".into(), "前端".into(), "git push\n--force\u{1b}[31m origin main and more words".into()]);
        table.row(["fghij".into(), "api".into(), "ls".into()]);
        table.print()
    }

    #[test]
    fn columns_line_up_by_the_width_of_their_letters() {
        expect_test::expect![[r"
            CODE   SESSION  COMMAND
            abcde  前端     git push --force\u{1b}[31m origin main and more words
            fghij  api      ls
        "]]
        .assert_eq(&table(None));
    }

    #[test]
    fn the_last_column_goes_on_below_itself() {
        expect_test::expect![[r#"
            CODE   SESSION  COMMAND
            abcde  前端     git push --force\u{1b}[31m origin
                            main and more words
            fghij  api      ls
        "#]]
        .assert_eq(&table(Some(50)));
    }

    #[test]
    fn a_column_of_names_to_copy_is_cut_where_one_is_far_too_long() {
        let (name, long) = ("n".repeat(100), "x".repeat(300));
        let mut table = Table { layout: Layout::plain(None), heads: vec!["NAME", ""], whole: &[0], rows: vec![] };
        table.row([Cell::from(name.as_str()), "a".into()]);
        table.row([Cell::from(long.as_str()), "b".into()]);
        let printed = table.print();
        assert!(printed.contains(&name) && !printed.contains(&long), "{printed}");
        assert!(printed.lines().all(|line| line.chars().count() <= WIDEST_WHOLE + GAP + 1), "{printed}");
    }

    #[test]
    fn a_long_name_is_cut() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("字字字", 4), "字…");
    }
}
