//! A word of a command: what is written, and what a shell makes of it as far as that is certain.

use crate::attributes::hides;

/// Stands in a [shape](ShellWord::pieces) for what only a shell could fill in. No text has it: it is no character.
pub(crate) const ANY: char = '\u{10ffff}';
/// Stands in a shape for a `*` outside of quotes, and the other for `?` and `[…]`.
pub(crate) const STAR: char = '\u{10fffe}';
pub(crate) const ONE: char = '\u{1fffe}';
/// Stands in a shape for a variable that the line does not set: what it was when the line was written, and nothing that
/// the line could have made.
pub(crate) const OUTER: char = '\u{2fffe}';

/// Stands behind the name of a list, for any of its elements.
pub(crate) const LIST: &str = "[]";

/// A part of a word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    /// As the program gets it.
    Text(String),
    /// `$NAME` and `${NAME}`, and `${NAME[1]}` with [`LIST`] behind the name.
    Variable(String),
    /// `${NAME%x}` and its like: the name, and what stands behind it. `!NAME` for what the name that it holds holds.
    MadeOf(String, String),
    /// What a command prints, or a number that is reckoned.
    Unknown,
    /// A part of a pattern for names of files.
    Glob(char),
}

impl Piece {
    /// What stands in `${…}`.
    pub(super) fn braced(inside: &str) -> Self {
        // `${@:2}` is some of the words, as `$@` is all of them.
        let part = inside.strip_prefix(['@', '*']).filter(|part| part.starts_with(':'));
        if part.is_some_and(|part| part.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | ' '))) {
            return Self::Variable("@".to_owned());
        }
        // `$$` and its like always hold something, and `$@` may: `${$+x}`, `${#/*/x}`, `${@:-x}`.
        if let Some(special) = inside.chars().next().filter(|c| matches!(c, '$' | '?' | '#' | '-' | '@' | '*')) {
            let rest = &inside[1..];
            let operator = rest.strip_prefix(':').unwrap_or(rest);
            let is_list = matches!(special, '@' | '*');
            let puts = rest.starts_with('/') || operator.starts_with('+') || is_list && operator.starts_with('-');
            if puts && operator.len() > 1 {
                return Self::MadeOf(special.to_string(), rest.to_owned());
            }
        }
        let pointer = if inside.len() > 1 && inside.starts_with('!') { "!" } else { "" };
        let named = inside[pointer.len()..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_');
        let name: String = pointer.chars().chain(named).collect();
        let rest = &inside[name.len()..];
        if rest.is_empty() && !name.is_empty() && pointer.is_empty() {
            return Self::Variable(name);
        }
        let is_element = rest.starts_with('[') && rest.find(']') == Some(rest.len() - 1);
        if is_element && !name.is_empty() && pointer.is_empty() {
            return Self::Variable(name + LIST);
        }
        let rest = rest.to_owned();
        Self::MadeOf(name, rest)
    }
}

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
    /// It stands in one pair of double quotes, so that it stays one word whatever is filled in.
    pub(crate) is_one: bool,
    /// What it is made of.
    pub(crate) pieces: Vec<Piece>,
}

impl ShellWord {
    /// A word of these very characters.
    pub(crate) fn plain(text: &str) -> Self {
        let pieces = vec![Piece::Text(text.to_owned())];
        Self { raw: text.to_owned(), text: text.to_owned(), is_literal: true, pieces, ..Self::default() }
    }

    /// A word of text in which `$X` is still to be filled in, wherever it stood in quotes.
    pub(crate) fn read(text: &str) -> Self {
        let mut word = Self { raw: text.to_owned(), is_literal: true, ..Self::default() };
        let mut rest = text;
        while let Some(at) = rest.find(['$', '*', '?', '[', ']', ANY]) {
            rest[..at].chars().for_each(|c| word.push(c));
            let found = rest[at..].chars().next().unwrap_or_default();
            rest = &rest[at + found.len_utf8()..];
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let braced = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
            let name_ends = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            match (found, braced) {
                ('$', Some((inside, behind))) => {
                    word.fill(&format!("${{{inside}}}"), Piece::braced(inside));
                    rest = behind;
                }
                ('$', None) if name_ends > 0 => {
                    let name = rest[..name_ends].to_owned();
                    word.fill(&format!("${name}"), Piece::Variable(name));
                    rest = &rest[name_ends..];
                }
                ('$' | ANY, _) => word.fill("", Piece::Unknown),
                (c, _) => word.fill(&c.to_string(), Piece::Glob(c)),
            }
            word.is_literal = false;
        }
        rest.chars().for_each(|c| word.push(c));
        word
    }

    /// Adds characters as the program gets them.
    pub(super) fn push(&mut self, c: char) {
        self.text.push(c);
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push(c),
            _ => self.pieces.push(Piece::Text(c.to_string())),
        }
    }

    /// Adds what is filled in, with how it is written.
    pub(super) fn fill(&mut self, written: &str, piece: Piece) {
        self.text.push_str(written);
        self.pieces.push(piece);
    }

    /// The text for another shell to read, in which what nobody knows is marked.
    pub(crate) fn script(&self) -> String {
        let mut script = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => script.push_str(text),
                Piece::Variable(name) if !name.ends_with(LIST) => script.push_str(&format!("${{{name}}}")),
                Piece::Variable(_) | Piece::MadeOf(..) | Piece::Unknown => script.push(ANY),
                Piece::Glob(c) => script.push(*c),
            }
        }
        script
    }

    /// `<(…)`: a file that another command writes.
    pub(crate) fn is_made_file(&self) -> bool {
        self.text.starts_with("/dev/fd/") && self.pieces.contains(&Piece::Unknown)
    }

    /// Whether everything in it stands there as it is, but for patterns of file names.
    pub(crate) fn is_known(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(_) | Piece::Glob(_)))
    }

    /// Whether everything in it stands there as it is.
    pub(crate) fn stands_as_it_is(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(_)))
    }

    /// `-x` or `--long`, and not a lone dash.
    pub(crate) fn is_flag(&self) -> bool {
        self.text.len() > 1 && self.text.starts_with('-')
    }

    /// The words that braces make of this one, with all that is to be filled in in them, and whether they are all.
    pub(crate) fn opened(&self) -> (Vec<Self>, bool) {
        if self.is_literal || !self.text.contains('{') {
            return (vec![self.clone()], true);
        }
        // What a command prints stands for something in each of them.
        let text = self.script();
        let (made, all) = Self { text: text.clone(), ..self.clone() }.unbraced();
        if made.len() == 1 && made[0] == text {
            return (vec![self.clone()], all);
        }
        (made.into_iter().map(|text| Self { is_literal: false, ..Self::read(&text) }).collect(), all)
    }

    /// The words that `{a,b}` makes of this one, and whether they are all. Not many: this is for finding what may be
    /// denied. An empty one outside of quotes is no word.
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
        whole.retain(|text| !text.is_empty() || self.text.is_empty());
        (whole, all)
    }
}

/// What the first list in braces makes of a text, `{a,b}` or `{a..c}`. Those within are for the next time.
fn braces(text: &str) -> Option<Vec<String>> {
    text.match_indices('{').filter(|(open, _)| !text[..*open].ends_with('$')).find_map(|(open, _)| {
        let (mut deep, mut commas, mut close) = (0_usize, vec![], None);
        for (at, c) in text[open..].char_indices() {
            match c {
                '{' => deep += 1,
                '}' => deep -= 1,
                ',' if deep == 1 => commas.push(open + at),
                _ => {}
            }
            if deep == 0 {
                close = Some(open + at);
                break;
            }
        }
        let (before, after) = (&text[..open], &text[close? + 1..]);
        let inside = &text[open + 1..close?];
        if commas.is_empty() {
            let made = sequence(inside, before.contains('/') || after.contains('/'))?;
            return Some(made.into_iter().map(|one| format!("{before}{one}{after}")).collect());
        }
        let mut choices = vec![];
        let mut from = open + 1;
        for comma in commas.into_iter().chain(close) {
            choices.push(format!("{before}{}{after}", &text[from..comma]));
            from = comma + 1;
        }
        Some(choices)
    })
}

/// What `a..e`, `1..10` and `01..10..3` stand for. A row that is too long is none, unless it is a part of a path: there its
/// numbers may be any.
fn sequence(inside: &str, is_in_path: bool) -> Option<Vec<String>> {
    const MOST: usize = 65;
    let mut parts = inside.splitn(3, "..");
    let (from, to) = (parts.next()?, parts.next()?);
    let step = parts.next().map_or(Some(1), |step| step.parse::<i64>().ok())?.unsigned_abs().max(1) as usize;
    let letter = |end: &str| {
        let mut letters = end.chars();
        letters.next().filter(|_| letters.as_str().is_empty())
    };
    if let (Ok(first), Ok(last)) = (from.parse::<i64>(), to.parse::<i64>()) {
        let is_padded = |end: &str| end.len() > 1 && end.trim_start_matches('-').starts_with('0');
        let width = if is_padded(from) || is_padded(to) { from.len().max(to.len()) } else { 0 };
        let row: Vec<i64> = match first <= last {
            true => (first..=last).step_by(step).take(MOST).collect(),
            false => (last..=first).rev().step_by(step).take(MOST).collect(),
        };
        return match row.len() < MOST {
            true => Some(row.into_iter().map(|number| format!("{number:0width$}")).collect()),
            false => is_in_path.then(|| vec![ANY.to_string()]),
        };
    }
    let (first, last) = (letter(from)?, letter(to)?);
    let row: Vec<char> = match first <= last {
        true => (first..=last).step_by(step).take(MOST).collect(),
        false => (last..=first).rev().step_by(step).take(MOST).collect(),
    };
    Some(row.into_iter().map(String::from).collect())
}

/// Whether a character outside of quotes means only itself, to any of the shells people use.
pub(super) fn is_plain(c: char) -> bool {
    c.is_alphanumeric() && !hides(c) || matches!(c, '_' | '-' | '.' | '/' | ':' | ',' | '+' | '@' | '%' | '=' | '^')
}

/// Whether a character may stand in quotes without a issue: nothing that a terminal or a shell might swallow.
pub(super) fn is_printable(c: char) -> bool {
    // A joiner that is not between emoji, and a narrow space, are not seen either.
    c == '\t' || !c.is_control() && !hides(c) && !matches!(c, '\u{200d}' | '\u{202f}')
}

#[cfg(test)]
mod tests {
    use super::{ANY, ShellWord, is_plain, is_printable};

    #[test]
    fn what_looks_blank_is_not_plain_in_a_word_nor_in_quotes() {
        for blank in
            "\u{3164}\u{115f}\u{1160}\u{ffa0}\u{2800}\u{34f}\u{180b}\u{180f}\u{17b4}\u{200b}\u{200d}\u{202f}".chars()
        {
            assert!(!is_plain(blank) && !is_printable(blank), "{}", blank.escape_unicode());
        }
        assert!("ä한✔".chars().all(is_printable));
    }

    #[test]
    fn braces_are_opened_and_do_not_grow_without_end() {
        assert_eq!(ShellWord::plain("{rm,-rf,x}").unbraced(), (vec!["rm".into(), "-rf".into(), "x".into()], true));
        assert_eq!(ShellWord::plain("a{b,c}d").unbraced(), (vec!["abd".into(), "acd".into()], true));
        assert_eq!(ShellWord::plain("{}").unbraced(), (vec!["{}".into()], true));
        assert_eq!(ShellWord::plain("{,rm,x}").unbraced(), (vec!["rm".into(), "x".into()], true));
        assert_eq!(ShellWord::plain("{a,r{m,n}}").unbraced(), (vec!["a".into(), "rm".into(), "rn".into()], true));
        let made = |text: &str| ShellWord::plain(text).unbraced().0;
        assert_eq!(made("{l..m}"), ["l", "m"]);
        assert_eq!(made("{m..l}x"), ["mx", "lx"]);
        assert_eq!(made("{a..e..2}"), ["a", "c", "e"]);
        assert_eq!(made("{9..11}"), ["9", "10", "11"]);
        assert_eq!(made("{-1..1}"), ["-1", "0", "1"]);
        assert_eq!(made("{08..10}"), ["08", "09", "10"]);
        assert_eq!(made("{10..1..4}"), ["10", "6", "2"]);
        assert_eq!(made("{1..100}"), ["{1..100}"]);
        assert_eq!(made("a/{1..100}"), [format!("a/{ANY}")]);
        assert_eq!(made("{a..bc}{..}{1..}"), ["{a..bc}{..}{1..}"]);
        let (made, all) = ShellWord::plain(&"{a,b}".repeat(100)).unbraced();
        assert!(made.len() <= 64 && !all);
    }
}
