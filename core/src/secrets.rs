//! Secrets that stand in a text are masked where people read along: `ghp_ab12***`.
//!
//! What is masked is a word of letters that no shell acts upon, its first letters stay, and the caller is told how many
//! there were. So nobody can dress up a command as a secret to get it past a reviewer.

use std::borrow::Cow;

/// Put in the place of what is hidden.
const STARS: &str = "***";

/// Beginnings of tokens, and the fewest letters that come after.
const TOKENS: [(&str, usize); 22] = [
    ("sk-ant-", 16),
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxe-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("AIza", 30),
    ("glpat-", 16),
    ("npm_", 30),
    ("hf_", 30),
];

/// Names end in one of these when what is assigned to them is a secret.
const NAMES: [&str; 16] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "access-key",
    "accesskey",
    "secret_key",
    "private_key",
    "credential",
    "credentials",
];

/// The text with its secrets masked, and how many there were.
pub fn mask(text: &str) -> (Cow<'_, str>, usize) {
    let mut scan = Scan { text, at: 0, kept: 0, masked: String::new(), count: 0, run: (0, 0) };
    while scan.at < text.len() {
        scan.step();
    }
    if scan.count == 0 {
        return (Cow::Borrowed(text), 0);
    }
    scan.masked.push_str(&text[scan.kept..]);
    (Cow::Owned(scan.masked), scan.count)
}

/// Letters of names and of most tokens.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Letters of passwords that neither end a word of a shell nor make it do anything.
fn is_inert(byte: u8) -> bool {
    is_word(byte) || b"+/=.~:%^,@".contains(&byte) || !byte.is_ascii()
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

fn is_space(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// One pass from left to right. Places are bytes, and always between two characters.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// How much of the text is in `masked`.
    kept: usize,
    masked: String,
    count: usize,
    /// The inert letters looked at last: whoever begins within them need not look for their end again.
    run: (usize, usize),
}

impl Scan<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn end_of(&self, from: usize, fits: impl Fn(u8) -> bool) -> usize {
        let rest = &self.text.as_bytes()[from..];
        from + rest.iter().position(|byte| !fits(*byte)).unwrap_or(rest.len())
    }

    /// Looks at what begins here, and moves on.
    fn step(&mut self) {
        let (start, end) = (self.at, self.end_of(self.at, is_word));
        if start == end {
            self.at = self.past_other(start);
            return;
        }
        self.at = end;
        let word = &self.text[start..end];
        if let Some(head) = token_head(word) {
            self.hide(start + head, end);
        } else if is_web_token(word) {
            self.web_token(start, end);
        } else if word == "-----BEGIN" {
            self.private_key(end);
        } else if word.eq_ignore_ascii_case("authorization") {
            self.authorization(end);
        } else if is_name(word) {
            self.assignment(end);
        } else if self.text[end..].starts_with("://") {
            self.address(end + 3);
        }
    }

    /// One character; a line break that JSON spelled out is one, and no part of the word behind it.
    fn past_other(&self, at: usize) -> usize {
        let length = self.text[at..].chars().next().map_or(1, char::len_utf8);
        if self.byte(at) != Some(b'\\') {
            return at + length;
        }
        let end = self.end_of(at, |byte| byte == b'\\');
        if self.byte(end).is_some_and(|byte| b"nrt".contains(&byte)) { end + 1 } else { end }
    }

    /// Puts stars in the place of the rest of a word that ends at `end`, and moves on behind it.
    fn hide(&mut self, from: usize, end: usize) {
        self.at = self.at.max(end);
        if from >= end || self.text[end..].starts_with(STARS) {
            return;
        }
        self.masked.push_str(&self.text[self.kept..from]);
        self.masked.push_str(STARS);
        self.kept = end;
        self.count += 1;
    }

    /// The end of the inert letters that begin here.
    fn inert_end(&mut self, from: usize) -> usize {
        if !(self.run.0..self.run.1).contains(&from) {
            self.run = (from, self.end_of(from, is_inert));
        }
        self.run.1
    }

    /// Hides a secret of inert letters. Of a long one the first four stay, of a short one none.
    fn hide_value(&mut self, from: usize) {
        let end = self.inert_end(from);
        let value = &self.text[from..end];
        let head = if value.len() >= 16 { value.char_indices().nth(4).map_or(0, |(place, _)| place) } else { 0 };
        self.hide(from + head, end);
    }

    /// `eyJ….eyJ….…`: three words with dots between.
    fn web_token(&mut self, start: usize, end: usize) {
        let mut last = end;
        for _ in 0..2 {
            if self.byte(last) != Some(b'.') {
                return;
            }
            last = self.end_of(last + 1, is_word);
        }
        self.hide(start + 6, last);
    }

    /// The lines of a private key, one by one: the first that is no line of a key ends it.
    fn private_key(&mut self, begin: usize) {
        const LONGEST_KIND: usize = 40;
        let kind_end = self.end_of(begin, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
        let kind = &self.text[begin..kind_end];
        if kind.len() > LONGEST_KIND || !kind.ends_with("PRIVATE KEY") || !self.text[kind_end..].starts_with("-----") {
            return;
        }
        self.at = kind_end + 5;
        loop {
            let start = self.past_line_break(self.at);
            let end = self.end_of(start, is_base64);
            if start == self.at || end - start < 16 {
                return;
            }
            self.hide(start + 4, end);
        }
    }

    /// Behind line breaks, also such as JSON spells out.
    fn past_line_break(&self, from: usize) -> usize {
        let mut at = from;
        loop {
            let slashes = self.end_of(at, |byte| byte == b'\\');
            match self.byte(slashes) {
                Some(b'\n' | b'\r') if slashes == at => at += 1,
                Some(b'n' | b'r') if slashes > at => at = slashes + 1,
                _ => return at,
            }
        }
    }

    /// `Authorization: Bearer …`, in a header, a flag or JSON.
    fn authorization(&mut self, end: usize) {
        let Some((_, start)) = self.past_sign(end) else { return };
        let start = self.past_quote(start).unwrap_or(start);
        const LONGEST_SCHEME: usize = 12;
        let scheme = self.end_of(start, |byte| byte.is_ascii_alphabetic());
        let value = self.end_of(scheme, is_space);
        let begins = if value > scheme && scheme - start <= LONGEST_SCHEME { value } else { start };
        self.at = begins;
        self.hide_value(begins);
    }

    /// `password=…`, `"token": "…"`, `api_key: …`.
    fn assignment(&mut self, end: usize) {
        let Some((sign, start)) = self.past_sign(end) else { return };
        let quoted = self.past_quote(start);
        let value = quoted.unwrap_or(start);
        let run = self.inert_end(value);
        let text = &self.text.as_bytes()[value..run];
        let is_call = self.byte(run) == Some(b'(');
        let is_comparison_or_file = text.first().is_some_and(|first| b"=:@".contains(first));
        // After a colon or a space comes prose as often as not, and code.
        let is_telling = text.len() >= 6 && text.iter().take(64).any(u8::is_ascii_digit);
        if is_call || is_comparison_or_file || quoted.is_none() && sign == Sign::Loose && !is_telling {
            return;
        }
        self.hide_value(value);
    }

    /// Where a value begins: behind `=` or `:`, with the closing quote of the name and spaces around.
    fn past_sign(&self, end: usize) -> Option<(Sign, usize)> {
        let name_end = self.past_quote(end).unwrap_or(end);
        let sign = self.end_of(name_end, is_space);
        let letter = self.byte(sign)?;
        let value = self.end_of(sign + 1, is_space);
        match letter {
            // A shell runs what stands behind `NAME= `.
            b'=' if sign == name_end && value > sign + 1 => None,
            b'=' if sign == name_end => Some((Sign::Tight, value)),
            b'=' | b':' => Some((Sign::Loose, value)),
            _ => None,
        }
    }

    /// Behind a quote, also one that JSON spelled out.
    fn past_quote(&self, at: usize) -> Option<usize> {
        let quote = self.end_of(at, |byte| byte == b'\\');
        matches!(self.byte(quote)?, b'"' | b'\'').then_some(quote + 1)
    }

    /// `https://user:password@host`.
    fn address(&mut self, start: usize) {
        const LONGEST: usize = 512;
        let is_part = |byte: u8| is_inert(byte) && !b"/@:".contains(&byte);
        let colon = self.end_of(start, is_part);
        if self.byte(colon) != Some(b':') || colon - start > LONGEST {
            return;
        }
        let end = self.end_of(colon + 1, |byte| is_part(byte) || byte == b':');
        if self.byte(end) == Some(b'@') && end - colon <= LONGEST {
            self.user(start, colon);
            self.hide(colon + 1, end);
        }
    }

    /// Who logs in with a token often gives it as the name of the user.
    fn user(&mut self, start: usize, colon: usize) {
        let mut at = start;
        while at < colon {
            let end = self.end_of(at, is_word);
            let word = &self.text[at..end];
            if let Some(head) = token_head(word) {
                self.hide(at + head, end);
            } else if is_web_token(word) {
                self.web_token(at, end);
            }
            at = self.at.max(self.past_other(end));
        }
    }
}

/// How a name and its value are held together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// `name=value`
    Tight,
    /// `name: value`, `name = value`
    Loose,
}

fn is_name(word: &str) -> bool {
    NAMES.iter().any(|name| {
        let start = word.len().checked_sub(name.len());
        start.and_then(|start| word.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(name))
    })
}

fn is_web_token(word: &str) -> bool {
    word.starts_with("eyJ") && word.len() >= 10
}

/// How much of a well-known token stays: its beginning and four letters more.
fn token_head(word: &str) -> Option<usize> {
    let is_amazons = |word: &str| {
        let rest = word.strip_prefix("AKIA").or_else(|| word.strip_prefix("ASIA"))?;
        let fits = rest.len() == 16 && rest.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        fits.then_some(4)
    };
    let is_known = |(start, fewest): &(&str, usize)| {
        let rest = word.strip_prefix(start)?;
        (rest.len() >= *fewest).then_some(start.len() + 4)
    };
    TOKENS.iter().find_map(is_known).or_else(|| is_amazons(word))
}

#[cfg(test)]
mod tests;
