//! Changing one property of a JSON text, and not a byte besides. Comments and commas too many are let be.
//!
//! The parser says where things stand; the edits are ours. Its own editing tree loses a comment that is alone in an
//! object, and gives the entries of a one-line file lines of their own.

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::{Range, Ranged as _};
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use super::patch::Patch;

/// A text with the places of all that is in it.
pub(crate) struct Document<'a> {
    /// Without the byte order mark.
    text: &'a str,
    mark: &'a str,
    value: Option<Value<'a>>,
    tokens: Vec<TokenAndRange<'a>>,
}

/// A value to be written.
#[derive(Clone)]
pub(crate) enum Node {
    Text(String),
    List(Vec<String>),
    Whole(u64),
    Yes,
    Array(Vec<Self>),
    Object(Vec<(&'static str, Self)>),
    /// An object whose names are the user's.
    Named(Vec<(String, Self)>),
    /// An object with one property.
    Single(String, Box<Self>),
}

/// One place in the text, and what shall stand there instead.
pub(crate) struct Edit {
    start: usize,
    end: usize,
    put: String,
}

/// A text after edits.
pub(crate) struct EditedText {
    pub(crate) text: String,
    /// How it came to be, in this order.
    pub(crate) patches: Vec<Patch>,
}

/// Why a text is left as it is.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("line {line}, column {column}: {what}")]
    NoJson { line: usize, column: usize, what: String },
    #[error("{0}")]
    OddShape(String),
}

impl<'a> Document<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, Unfit> {
        let (mark, text) = text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 });
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(text, &collect, &options).map_err(|error| Unfit::NoJson {
            line: error.line_display(),
            column: error.column_display(),
            what: error.kind().to_string(),
        })?;
        Ok(Self { text, mark, value: parsed.value, tokens: parsed.tokens.unwrap_or_default() })
    }

    /// The object that the text is; none when it is empty.
    pub(crate) fn root(&self) -> Result<Option<&Object<'a>>, Unfit> {
        match &self.value {
            None => Ok(None),
            Some(Value::Object(root)) => Ok(Some(root)),
            Some(_) => Err(Unfit::OddShape("the file holds no object".to_owned())),
        }
    }

    pub(crate) fn has_comments(&self) -> bool {
        self.tokens.iter().any(|token| is_comment(&token.token))
    }

    pub(crate) fn has_comments_in(&self, whole: Range) -> bool {
        let inside = whole.start..whole.end;
        self.tokens.iter().any(|token| is_comment(&token.token) && inside.contains(&token.range.start))
    }

    /// The text after the edits, which must not touch each other.
    pub(crate) fn with(&self, edits: Vec<Edit>) -> String {
        self.edited(edits).text
    }

    /// The same, and how to take it back.
    pub(crate) fn edited(&self, mut edits: Vec<Edit>) -> EditedText {
        edits.sort_by_key(|edit| (edit.start, edit.end));
        let mut text = [self.mark, self.text].concat();
        let mark = self.mark.len();
        // From the end, so that the places of those before stay.
        let each = edits.iter().rev();
        let patches = each.map(|edit| Patch::make(&mut text, mark + edit.start, mark + edit.end, &edit.put)).collect();
        EditedText { text, patches }
    }

    /// A text that held nothing becomes an object with this one property.
    pub(crate) fn begin(&self, key: &str, node: Node) -> Vec<Edit> {
        let node = Node::Single(key.to_owned(), Box::new(node));
        let lead = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { self.newline() };
        let written = node.on_lines("", "  ", self.newline());
        vec![put(self.text.len(), format!("{lead}{written}{}", self.newline()))]
    }

    /// Adds a property to an object, as its others are written.
    pub(crate) fn insert(&self, object: &Object<'_>, key: &str, node: &Node) -> Vec<Edit> {
        let Some((first, last)) = object.properties.first().zip(object.properties.last()) else {
            return vec![self.insert_first(object, key, node)];
        };
        let comma = self.token_after(last.range.end).filter(|token| token.token == Token::Comma);
        let trailing = if comma.is_some() { "," } else { "" };
        if !self.text[object.range.start..first.range.start].contains('\n') {
            let space = self.space_of(first);
            let written = format!("{}:{space}{}", quoted(key), node.on_one_line(space));
            return match comma {
                Some(comma) => vec![put(comma.range.end, format!("{space}{written},"))],
                None => vec![put(last.range.end, format!(",{space}{written}"))],
            };
        }
        let indent = self.indent_at(last.range.start);
        let written = node.on_lines(indent, self.unit(), self.newline());
        let line = format!("{}{indent}{}: {written}{trailing}", self.newline(), quoted(key));
        let end = self.end_of_line(comma.map_or(last.range.end, |comma| comma.range.end));
        match comma {
            None if end == last.range.end => vec![put(end, format!(",{line}"))],
            None => vec![put(last.range.end, ",".to_owned()), put(end, line)],
            Some(_) => vec![put(end, line)],
        }
    }

    fn insert_first(&self, object: &Object<'_>, key: &str, node: &Node) -> Edit {
        let (start, end) = (object.range.start + 1, object.range.end - 1);
        let (base, newline) = (self.indent_at(object.range.start), self.newline());
        let indent = format!("{base}{}", self.unit());
        let line = format!("{newline}{indent}{}: {}", quoted(key), node.on_lines(&indent, self.unit(), newline));
        if let Some(comment) = self
            .tokens
            .iter()
            .rev()
            .find(|token| token.range.end <= end)
            .filter(|last| is_comment(&last.token) && last.range.start >= start)
        {
            let closing =
                if self.text[comment.range.end..end].contains('\n') { "" } else { &*format!("{newline}{base}") };
            return put(comment.range.end, format!("{line}{closing}"));
        }
        // A text of one line stays one; an object that is all of the text was never written in any way.
        let is_root = start == self.value.as_ref().map_or(0, |root| root.start() + 1);
        if !is_root && !self.text.trim().contains('\n') {
            let space = if self.text.contains("\": ") { " " } else { "" };
            let blank = &self.text[start..end];
            let written = format!("{blank}{}:{space}{}{blank}", quoted(key), node.on_one_line(space));
            return Edit { start, end, put: written };
        }
        Edit { start, end, put: format!("{line}{newline}{base}") }
    }

    /// Adds an element to the end of a list, as its others are written.
    pub(crate) fn append(&self, list: &Array<'_>, node: &Node) -> Vec<Edit> {
        let Some((first, last)) = list.elements.first().zip(list.elements.last()) else {
            let (start, end) = (list.range.start + 1, list.range.end - 1);
            let written = match node {
                Node::Text(_) => node.on_one_line(" "),
                _ => {
                    let (base, newline) = (self.indent_at(list.range.start), self.newline());
                    let indent = format!("{base}{}", self.unit());
                    format!("{newline}{indent}{}{newline}{base}", node.on_lines(&indent, self.unit(), newline))
                }
            };
            return match self.has_comments_in(list.range) {
                true => vec![put(end, format!("{}{written}{}", self.newline(), self.newline()))],
                false => vec![Edit { start, end, put: written }],
            };
        };
        let comma = self.token_after(last.end()).filter(|token| token.token == Token::Comma);
        let place = comma.map_or(last.end(), |comma| comma.range.end);
        let (lead, trail) = if comma.is_some() { ("", ",") } else { (",", "") };
        if !self.text[list.range.start..first.start()].contains('\n') {
            let space = if self.text[list.range.start..list.range.end].contains(",\"") { "" } else { " " };
            return vec![put(place, format!("{lead}{space}{}{trail}", node.on_one_line(" ")))];
        }
        let indent = self.indent_at(last.start());
        let written = node.on_lines(indent, self.unit(), self.newline());
        let line = format!("{}{indent}{written}{trail}", self.newline());
        let end = self.end_of_line(place);
        match comma {
            None if end > place => vec![put(place, lead.to_owned()), put(end, line)],
            None => vec![put(place, format!("{lead}{line}"))],
            Some(_) => vec![put(end, line)],
        }
    }

    /// Takes a property out, with its comma and its line; comments stay.
    pub(crate) fn remove(&self, object: &Object<'_>, property: &ObjectProp<'_>) -> Vec<Edit> {
        self.cut(object.range, object.properties.len(), property.range)
    }

    /// The same for an element of a list.
    pub(crate) fn remove_element(&self, list: &Array<'_>, element: &Value<'_>) -> Vec<Edit> {
        self.cut(list.range, list.elements.len(), element.range())
    }

    fn cut(&self, whole: Range, count: usize, part: Range) -> Vec<Edit> {
        let inside = whole.start + 1..whole.end - 1;
        if count == 1 && !self.has_comments_in(whole) {
            return vec![Edit { start: inside.start, end: inside.end, put: String::new() }];
        }
        let mut edits = vec![];
        let mut end = part.end;
        let after = self.token_after(end).filter(|token| token.token == Token::Comma);
        let comma = after.or_else(|| self.token_before(part.start).filter(|token| token.token == Token::Comma));
        match comma {
            Some(comma) if self.text.get(end..comma.range.start).is_some_and(|between| between.trim().is_empty()) => {
                end = comma.range.end;
            }
            Some(comma) => edits.push(Edit { start: comma.range.start, end: comma.range.end, put: String::new() }),
            None => {}
        }
        let line = self.text[..part.start].trim_end_matches([' ', '\t']);
        let spaces = self.text[end..].len() - self.text[end..].trim_start_matches([' ', '\t']).len();
        let ends_its_line = self.text[end + spaces..].starts_with(['\n', '\r']);
        let (start, end) = match line.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)) {
            Some(before) if ends_its_line => (before.len(), end),
            None if after.is_none() => (line.len(), end),
            // Something else stands on its line, and stays there.
            _ => (part.start, end + spaces),
        };
        edits.push(Edit { start, end, put: String::new() });
        edits
    }

    /// Another value for a property.
    pub(crate) fn replace(&self, property: &ObjectProp<'_>, node: &Node) -> Edit {
        self.write_over(property.value.range(), property.range.start, self.space_of(property), node)
    }

    /// The value of a property as it is written.
    pub(crate) fn written(&self, property: &ObjectProp<'_>) -> &'a str {
        let range = property.value.range();
        &self.text[range.start..range.end]
    }

    /// Another value for a property, in these very words.
    pub(crate) fn rewrite(&self, property: &ObjectProp<'_>, written: &str) -> Edit {
        let range = property.value.range();
        Edit { start: range.start, end: range.end, put: written.to_owned() }
    }

    /// Another value for an element of a list.
    pub(crate) fn replace_element(&self, element: &Value<'_>, node: &Node) -> Edit {
        self.write_over(element.range(), element.start(), " ", node)
    }

    fn write_over(&self, range: Range, line_of: usize, space: &str, node: &Node) -> Edit {
        let on_lines = self.text[range.start..range.end].contains('\n');
        let written = if on_lines {
            node.on_lines(self.indent_at(line_of), self.unit(), self.newline())
        } else {
            node.on_one_line(space)
        };
        Edit { start: range.start, end: range.end, put: written }
    }

    /// What the whole text says; null when it says nothing.
    pub(crate) fn said(&self) -> serde_json::Value {
        self.value.as_ref().map(said_by).unwrap_or_default()
    }

    fn token_after(&self, place: usize) -> Option<&TokenAndRange<'a>> {
        self.tokens.iter().find(|token| token.range.start >= place && !is_comment(&token.token))
    }

    fn token_before(&self, place: usize) -> Option<&TokenAndRange<'a>> {
        self.tokens.iter().rev().find(|token| token.range.end <= place && !is_comment(&token.token))
    }

    /// Behind the comments that stand on the same line.
    fn end_of_line(&self, place: usize) -> usize {
        let comments = self.tokens.iter().filter(|token| token.range.start >= place);
        let mut end = place;
        for comment in comments.take_while(|token| is_comment(&token.token)) {
            if self.text[end..comment.range.end].contains('\n') {
                break;
            }
            end = comment.range.end;
        }
        end
    }

    /// The blank space at the start of the line.
    fn indent_at(&self, place: usize) -> &'a str {
        let line = &self.text[self.text[..place].rfind('\n').map_or(0, |newline| newline + 1)..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// One step of indentation, as the first property shows it.
    fn unit(&self) -> &'a str {
        let Some(Value::Object(root)) = &self.value else { return "  " };
        match root.properties.first() {
            Some(first) if self.text[root.range.start..first.range.start].contains('\n') => {
                let indent = self.indent_at(first.range.start);
                let unit = indent.strip_prefix(self.indent_at(root.range.start)).unwrap_or(indent);
                if unit.is_empty() { "  " } else { unit }
            }
            _ => "  ",
        }
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// What stands between a colon and a value here.
    fn space_of(&self, property: &ObjectProp<'_>) -> &'static str {
        if self.text[..property.value.start()].ends_with(' ') { " " } else { "" }
    }
}

impl Node {
    fn on_one_line(&self, space: &str) -> String {
        let pair = |key: &str, node: &Self| format!("{}:{space}{}", quoted(key), node.on_one_line(space));
        let object = |pairs: Vec<String>| format!("{{{}}}", pairs.join(&format!(",{space}")));
        match self {
            Self::Text(text) => quoted(text),
            Self::List(words) => {
                let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
                format!("[{}]", words.join(&format!(",{space}")))
            }
            Self::Whole(number) => number.to_string(),
            Self::Yes => "true".to_owned(),
            Self::Array(nodes) => {
                let nodes: Vec<String> = nodes.iter().map(|node| node.on_one_line(space)).collect();
                format!("[{}]", nodes.join(&format!(",{space}")))
            }
            Self::Object(pairs) => object(pairs.iter().map(|(key, node)| pair(key, node)).collect()),
            Self::Named(pairs) => object(pairs.iter().map(|(key, node)| pair(key, node)).collect()),
            Self::Single(key, node) => object(vec![pair(key, node)]),
        }
    }

    fn on_lines(&self, indent: &str, unit: &str, newline: &str) -> String {
        let deeper = format!("{indent}{unit}");
        let pair =
            |key: &str, node: &Self| format!("{deeper}{}: {}", quoted(key), node.on_lines(&deeper, unit, newline));
        let object =
            |pairs: Vec<String>| format!("{{{newline}{}{newline}{indent}}}", pairs.join(&format!(",{newline}")));
        match self {
            Self::Text(_) | Self::List(_) | Self::Whole(_) | Self::Yes => self.on_one_line(" "),
            Self::Array(nodes) => {
                let nodes: Vec<String> =
                    nodes.iter().map(|node| format!("{deeper}{}", node.on_lines(&deeper, unit, newline))).collect();
                format!("[{newline}{}{newline}{indent}]", nodes.join(&format!(",{newline}")))
            }
            Self::Object(pairs) => object(pairs.iter().map(|(key, node)| pair(key, node)).collect()),
            Self::Named(pairs) => object(pairs.iter().map(|(key, node)| pair(key, node)).collect()),
            Self::Single(key, node) => object(vec![pair(key, node)]),
        }
    }
}

impl Node {
    /// As a file of its own.
    pub(crate) fn written(&self) -> String {
        format!("{}\n", self.on_lines("", "  ", "\n"))
    }

    /// What it says, to be compared.
    pub(crate) fn said(&self) -> serde_json::Value {
        serde_json::from_str(&self.on_one_line("")).unwrap_or_default()
    }
}

/// What a value says, whatever way it is written.
pub(crate) fn said_by(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::StringLit(text) => serde_json::Value::from(text.value.as_ref()),
        // Compared, and never counted with.
        Value::NumberLit(number) => serde_json::from_str(number.value).unwrap_or_else(|_| number.value.into()),
        Value::BooleanLit(boolean) => boolean.value.into(),
        Value::Object(object) => {
            let pair = |property: &ObjectProp<'_>| (property.name.as_str().to_owned(), said_by(&property.value));
            serde_json::Value::Object(object.properties.iter().map(pair).collect())
        }
        Value::Array(array) => array.elements.iter().map(said_by).collect(),
        Value::NullKeyword(_) => serde_json::Value::Null,
    }
}

/// Of two that have the same name every reader takes another: better touch neither.
pub(crate) fn no_name_twice(object: &Object<'_>, only: Option<&str>) -> Result<(), Unfit> {
    let names = object.properties.iter().map(|property| property.name.as_str());
    let mut names: Vec<&str> = names.filter(|name| only.is_none_or(|only| only == *name)).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Unfit::OddShape(format!("{:?} is written twice", pair[0]))),
        None => Ok(()),
    }
}

fn put(at: usize, put: String) -> Edit {
    Edit { start: at, end: at, put }
}

fn is_comment(token: &Token<'_>) -> bool {
    matches!(token, Token::CommentLine(_) | Token::CommentBlock(_))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
