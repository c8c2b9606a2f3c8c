//! The configuration file as written: its keys in full, in the order of its lines, and nothing understood yet.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Problem;

/// One key with what stands behind it.
#[derive(Debug)]
pub(super) struct Entry {
    /// Tables and key joined by dots. A part that is not a plain word keeps its quotes, so `"limits.body"` at the
    /// top of the file is not taken for `body` in `[limits]`.
    pub(super) key: String,
    pub(super) value: Value,
    /// Where the key begins, in bytes.
    at: usize,
}

/// What was written for a setting, as far as the one who reads it cares.
#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    Whole(i64),
    YesNo(bool),
    /// A list of texts.
    List(Vec<String>),
    /// From the environment or a flag, where a number looks like text.
    Word(String),
    /// The head of a table; the keys below it are entries of their own.
    Table,
    /// What no setting takes, named for a message.
    Other(&'static str),
}

/// The file, with what it takes to say on which line something stands.
#[derive(Debug)]
pub(super) struct Document<'text> {
    text: &'text str,
    pub(super) entries: Vec<Entry>,
}

impl<'text> Document<'text> {
    pub(super) fn parse(bytes: &'text [u8]) -> Result<Self, Problem> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            Problem::new("not UTF-8", "save the file as UTF-8").on_line(line_at(bytes, error.valid_up_to()))
        })?;
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(bytes.len(), |span| span.start);
            let hint = r#"the file is TOML: lines such as durability = "power", with text in quotes"#;
            Problem::new(error.message(), hint).on_line(line_at(bytes, at))
        })?;
        let mut entries = Vec::new();
        flatten(table.get_ref(), "", &mut entries);
        // The parser sorts by name. People read from the top, so the first mistake is the one on the first line.
        entries.sort_by_key(|entry| entry.at);
        Ok(Self { text, entries })
    }

    pub(super) fn line_of(&self, entry: &Entry) -> usize {
        line_at(self.text.as_bytes(), entry.at)
    }
}

/// Goes no deeper than the parser, which refuses deep nesting.
fn flatten(table: &DeTable<'_>, above: &str, entries: &mut Vec<Entry>) {
    for (name, value) in table {
        let key = format!("{above}{}", key_part(name.get_ref()));
        let at = name.span().start;
        if let DeValue::Table(below) = value.get_ref() {
            flatten(below, &format!("{key}."), entries);
        }
        entries.push(Entry { key, value: Value::from(value), at });
    }
}

fn key_part(name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if plain { name.to_owned() } else { format!("{name:?}") }
}

fn line_at(bytes: &[u8], at: usize) -> usize {
    1 + bytes.iter().take(at).filter(|byte| **byte == b'\n').count()
}

impl From<&Spanned<DeValue<'_>>> for Value {
    fn from(value: &Spanned<DeValue<'_>>) -> Self {
        match value.get_ref() {
            DeValue::String(text) => Self::Text(text.to_string()),
            DeValue::Integer(digits) => match i64::from_str_radix(digits.as_str(), digits.radix()) {
                Ok(number) => Self::Whole(number),
                Err(_) => Self::Other("a number beyond 64 bits"),
            },
            DeValue::Float(_) => Self::Other("a fraction"),
            DeValue::Boolean(yes) => Self::YesNo(*yes),
            DeValue::Datetime(_) => Self::Other("a date"),
            DeValue::Array(items) => {
                let texts: Option<Vec<String>> =
                    items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect();
                texts.map_or(Self::Other("a list"), Self::List)
            }
            DeValue::Table(_) => Self::Table,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let document = Document::parse(text.as_bytes()).unwrap();
        let show = |entry| format!("{} {} {:?}", document.line_of(entry), entry.key, entry.value);
        document.entries.iter().map(show).collect()
    }

    fn refused(bytes: &[u8]) -> String {
        Document::parse(bytes).unwrap_err().what
    }

    #[test]
    fn entries_come_in_the_order_of_their_lines_with_their_whole_keys() {
        let text = "zebra = 'z'\n\n[limits] # of the gate\nrate = 1_000\nbody = 0x10\n[ape]\n";
        let expected = [
            "1 zebra Text(\"z\")",
            "3 limits Table",
            "4 limits.rate Whole(1000)",
            "5 limits.body Whole(16)",
            "6 ape Table",
        ];
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn a_quoted_key_with_a_dot_is_not_a_key_in_a_table() {
        assert_eq!(shown("'limits.body' = 1"), ["1 \"limits.body\" Whole(1)"]);
        assert_eq!(shown("limits.body = 1"), ["1 limits Table", "1 limits.body Whole(1)"]);
    }

    #[test]
    fn a_file_that_is_not_toml_says_on_which_line() {
        assert!(refused(b"listen = 'off'\ndurability = power\n").starts_with("line 2: "));
        assert!(refused(b"a = 1\n\na = 2\n").starts_with("line 3: "));
        assert_eq!(refused(b"# fine\n# \xff\n"), "line 2: not UTF-8");
    }

    #[test]
    fn deep_nesting_is_refused_before_it_overflows_the_stack() {
        for deep in ["a = ".to_owned() + &"[".repeat(100_000), "a.".repeat(100_000), "a={".repeat(100_000)] {
            assert!(Document::parse(deep.as_bytes()).is_err());
        }
        assert!(Document::parse(format!("{}a = 1", "a.".repeat(100_000)).as_bytes()).is_err());
    }
}
