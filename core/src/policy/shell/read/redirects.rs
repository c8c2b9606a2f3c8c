//! Where a command reads from and writes to, and the texts that stand below it.

use super::super::word::Piece;
use super::super::{Redirect, ShellWord, Way, doubt};
use super::ShellReader;

/// A text that begins after this line.
pub(super) struct HereDocument {
    end: String,
    as_it_stands: bool,
    /// Where it goes in the texts of the script.
    place: usize,
}

const OPERATORS: [(&str, Way); 12] = [
    ("&>>", Way::Out),
    ("&>", Way::Out),
    ("<<<", Way::Given),
    ("<<-", Way::Given),
    ("<<", Way::Given),
    ("<&", Way::Copy),
    ("<>", Way::Out),
    (">>", Way::Out),
    (">|", Way::Out),
    (">&", Way::Copy),
    ("<", Way::In),
    (">", Way::Out),
];

impl ShellReader<'_> {
    pub(super) fn redirect(&mut self) {
        let is_number = |word: &ShellWord| {
            !word.is_quoted && !word.text.is_empty() && word.is_known() && word.text.chars().all(|c| c.is_ascii_digit())
        };
        // `{fd}>x` opens a file by a name of the shell's own.
        let is_name = |word: &ShellWord| {
            let inside = word.text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
            !word.is_quoted && !inside.is_empty() && inside.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        // `2>x` leads what is written to 2 elsewhere; the number is no word of the command.
        let is_taken = |word: &ShellWord| is_number(word) || is_name(word);
        let is_before = self.peek(0) != Some('&') && self.word.as_ref().is_some_and(|(_, word)| is_taken(word));
        let number = is_before.then(|| self.word.take()).flatten();
        let number = number.map(|(_, word)| word.text);
        self.end_word();
        if self.is_made_file() {
            return self.made_file();
        }
        let Some((operator, way)) = OPERATORS.into_iter().find(|(operator, _)| self.follows(operator)) else { return };
        self.at += operator.len();
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        let target = self.redirect_target();
        match operator {
            "<<" | "<<-" => {
                let place = self.script.texts.len();
                self.script.texts.push(String::new());
                self.command.heredocs.push(place);
                let as_it_stands = target.is_quoted;
                self.heredocs.push(HereDocument { end: target.text.clone(), as_it_stands, place });
            }
            "<<<" => self.not_plain(doubt::GIVEN),
            _ => {}
        }
        // `>&file` writes to a file; `>&1` and `>&-` do not.
        let is_number = target.text.chars().all(|c| c.is_ascii_digit() || c == '-') && !target.text.is_empty();
        let way = match (operator, is_number) {
            // What is read from is always a number: `<&${COPROC[0]}`.
            ("<&", false) if !target.is_known() => Way::Copy,
            (">&" | "<&", false) => Way::Out,
            _ => way,
        };
        if target.text.contains('-') && way == Way::Copy {
            self.not_plain("it closes or moves a file");
        }
        // In `<2>&1` the number belongs to what comes behind it, and nothing is left for this one.
        let is_taken = is_number && !target.is_quoted && matches!(self.peek(0), Some('<' | '>'));
        if target.text.is_empty() && !target.is_quoted && target.pieces.is_empty() || is_taken {
            self.unreadable("a redirection leads nowhere");
        }
        let is_of_input = number.map_or(operator.starts_with('<'), |number| number.trim_start_matches('0').is_empty());
        // A text for another number is not what is read, so nobody can tell what is.
        if !is_of_input && operator.starts_with("<<") {
            let target = ShellWord::plain("3");
            self.command.redirects.push(Redirect { way: Way::Copy, target, is_of_input: true });
        }
        if !matches!(operator, "<<" | "<<-") {
            self.command.redirects.push(Redirect { way, target, is_of_input });
        }
    }

    fn is_made_file(&self) -> bool {
        self.follows("<(") || self.follows(">(")
    }

    /// `<(…)`: a file that a command writes, or reads.
    fn made_file(&mut self) {
        self.word();
        self.not_plain(doubt::MADE_FILE);
        self.at += 2;
        self.bracketed('(', ')');
        self.word().fill("/dev/fd/", Piece::Text("/dev/fd/".to_owned()));
        self.word().fill("", Piece::Unknown);
    }

    /// The word after a redirection, wherever the command's own words go on.
    fn redirect_target(&mut self) -> ShellWord {
        if self.is_made_file() {
            self.made_file();
        }
        while let Some(c) = self.peek(0) {
            if matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>') {
                break;
            }
            self.step(c);
        }
        self.taken_word().unwrap_or_default()
    }

    /// One line of a here-document. In a text that is filled in, a line goes on behind a backslash at its end, and its end
    /// mark may be written over two.
    fn line_of_text(&mut self, as_it_stands: bool) -> String {
        let mut line = String::new();
        loop {
            let part: String = self.chars[self.at.min(self.chars.len())..].iter().take_while(|c| **c != '\n').collect();
            self.at += part.chars().count() + 1;
            let backslashes = part.chars().rev().take_while(|c| *c == '\\').count();
            line.push_str(&part);
            if as_it_stands || backslashes % 2 == 0 || self.at >= self.chars.len() {
                return line;
            }
            line.push('\n');
        }
    }

    /// The text of here-documents is no command, but for the commands that make words in it.
    pub(super) fn skip_heredocs(&mut self) {
        for HereDocument { end, as_it_stands, place } in std::mem::take(&mut self.heredocs) {
            let mut body = String::new();
            let mut closed = false;
            while self.at < self.chars.len() {
                let line = self.line_of_text(as_it_stands);
                if line.replace("\\\n", "").trim_start_matches('\t') == end {
                    closed = true;
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            if !closed {
                self.unreadable("a here-document has no end");
            }
            let is_filled = !as_it_stands && body.contains(['`', '$', '\\']);
            self.not_plain(if is_filled { "it holds a here-document that is filled in" } else { doubt::TEXT });
            if !as_it_stands && body.contains(['`', '$']) {
                self.read_filled_in(&body);
            }
            if let Some(text) = self.script.texts.get_mut(place) {
                *text = if as_it_stands { body } else { without_escapes(&body) };
            }
        }
    }
}

/// What whoever reads a here-document gets of it: the shell takes away what keeps it from filling something in.
fn without_escapes(body: &str) -> String {
    let (mut text, mut letters) = (String::with_capacity(body.len()), body.chars().peekable());
    while let Some(letter) = letters.next() {
        match letters.next_if(|next| letter == '\\' && matches!(next, '$' | '`' | '\\' | '\n')) {
            Some('\n') => {}
            Some(next) => text.push(next),
            None => text.push(letter),
        }
    }
    text
}
