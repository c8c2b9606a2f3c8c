//! A word of a command: what is written, and what a shell makes of it as far as that is certain.

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ShellWord {
    /// As written, quotes and all.
    pub(crate) raw: String,
    /// Without its quotes. What only a shell could fill in stays as it is written.
    pub(crate) text: String,
    /// The text is exactly what the program gets.
    pub(crate) is_literal: bool,
    /// Some of it stood in quotes or behind a backslash, so it is no operator, keyword or number of a redirection.
    pub(crate) is_quoted: bool,
}

impl ShellWord {
    #[cfg(test)]
    pub(crate) fn plain(text: &str) -> Self {
        Self { raw: text.to_owned(), text: text.to_owned(), is_literal: true, is_quoted: false }
    }

    /// `-x` or `--long`, and not a lone dash.
    pub(crate) fn is_flag(&self) -> bool {
        self.text.len() > 1 && self.text.starts_with('-')
    }

    /// The words that `{a,b}` makes of this one, and whether they are all. Not nested, and not many: this is for finding
    /// what may be denied.
    pub(crate) fn unbraced(&self) -> (Vec<String>, bool) {
        const MOST: usize = 64;
        let mut all = true;
        let mut whole = vec![];
        let mut todo = vec![self.text.clone()];
        while let Some(text) = todo.pop() {
            match braces(&text) {
                Some(made) if whole.len() + todo.len() + made.len() <= MOST => todo.extend(made.into_iter().rev()),
                made => {
                    all &= made.is_none();
                    whole.push(text);
                }
            }
        }
        (whole, all)
    }
}

/// What the first list in braces makes of a text.
fn braces(text: &str) -> Option<Vec<String>> {
    let (open, close) = text.match_indices('{').find_map(|(open, _)| {
        let close = open + text[open..].find('}')?;
        text[open + 1..close].contains(',').then_some((open, close))
    })?;
    let choices = text[open + 1..close].split(',');
    Some(choices.map(|choice| format!("{}{choice}{}", &text[..open], &text[close + 1..])).collect())
}

/// Whether a character outside of quotes means only itself, to any of the shells people use.
pub(super) fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | ',' | '+' | '@' | '%' | '=' | '^')
}

/// Whether a character may stand in quotes without a issue: nothing that a terminal or a shell might swallow.
pub(super) fn is_printable(c: char) -> bool {
    const DECEIVING: [std::ops::RangeInclusive<char>; 5] = [
        '\u{ad}'..='\u{ad}',
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202f}',
        '\u{2060}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
    ];
    c == '\t' || !c.is_control() && !DECEIVING.iter().any(|range| range.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::ShellWord;

    #[test]
    fn braces_are_opened_and_do_not_grow_without_end() {
        assert_eq!(ShellWord::plain("{rm,-rf,x}").unbraced(), (vec!["rm".into(), "-rf".into(), "x".into()], true));
        assert_eq!(ShellWord::plain("a{b,c}d").unbraced(), (vec!["abd".into(), "acd".into()], true));
        assert_eq!(ShellWord::plain("{}").unbraced(), (vec!["{}".into()], true));
        let (made, all) = ShellWord::plain(&"{a,b}".repeat(100)).unbraced();
        assert!(made.len() <= 64 && !all);
    }
}
