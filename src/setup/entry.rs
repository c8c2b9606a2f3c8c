//! The entry under `mcpServers` by which Claude Code starts the channel: found, put in, taken out.

use jsonc_parser::ast::{Object, ObjectProp, Value};

use super::json::{Document, Edit, EditedText, Node, Unfit, no_name_twice};

pub(super) const SERVERS: &str = "mcpServers";

/// The objects around `mcpServers`, outermost first; none where it stands at the top.
pub(crate) type Under<'a> = &'a [String];

/// How Claude Code shall start the channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

/// What stands under a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// It starts `portcullis channel`, from wherever.
    Ours {
        command: String,
    },
    Foreign,
}

pub(crate) fn find(text: &str, under: Under<'_>, name: &str) -> Result<Found, Unfit> {
    let document = Document::parse(text)?;
    let Some(there) = servers(&document, under)?.and_then(|servers| servers.get(name)) else {
        return Ok(Found::Nothing);
    };
    Ok(ours(there).map_or(Found::Foreign, |(command, _)| Found::Ours { command: text_of(&command.value) }))
}

/// The names of all entries that start `portcullis channel`.
pub(super) fn names_of_ours(text: &str, under: Under<'_>) -> Result<Vec<String>, Unfit> {
    let document = Document::parse(text)?;
    let there = servers(&document, under)?.into_iter().flat_map(|servers| &servers.properties);
    Ok(there.filter(|entry| ours(entry).is_some()).map(|entry| entry.name.as_str().to_owned()).collect())
}

/// The text with the entry in it; the same text when it is there already.
///
/// An entry of ours that is there keeps what the user added to it; a foreign one is replaced, so look first.
pub(crate) fn put(text: &str, under: Under<'_>, entry: &Entry) -> Result<EditedText, Unfit> {
    let document = Document::parse(text)?;
    let list = || Node::List(entry.args.clone());
    let node = Node::Object(vec![
        ("type", Node::Text("stdio".to_owned())),
        ("command", Node::Text(entry.command.clone())),
        ("args", list()),
    ]);
    let Some(servers) = servers(&document, under)? else {
        return Ok(document.edited(open(&document, under, Node::Single(entry.name.clone(), Box::new(node)))?));
    };
    let Some(there) = servers.get(&entry.name) else {
        return Ok(document.edited(document.insert(servers, &entry.name, &node)));
    };
    let Some((command, args)) = ours(there) else { return Ok(document.edited(vec![document.replace(there, &node)])) };
    let mut edits = vec![];
    if text_of(&command.value) != entry.command {
        edits.push(document.replace(command, &Node::Text(entry.command.clone())));
    }
    if words_of(&args.value) != entry.args {
        edits.push(document.replace(args, &list()));
    }
    Ok(document.edited(edits))
}

/// The text with any server's entry in it; none where the name is taken.
pub(super) fn put_new(text: &str, under: Under<'_>, name: &str, node: &Node) -> Result<Option<String>, Unfit> {
    let document = Document::parse(text)?;
    let Some(servers) = servers(&document, under)? else {
        let servers = Node::Single(name.to_owned(), Box::new(node.clone()));
        return Ok(Some(document.with(open(&document, under, servers)?)));
    };
    let is_free = servers.get(name).is_none();
    Ok(is_free.then(|| document.with(document.insert(servers, name, node))))
}

/// A server's entry as it is written; none where there is none of this name.
pub(super) fn written(text: &str, under: Under<'_>, name: &str) -> Result<Option<String>, Unfit> {
    let document = Document::parse(text)?;
    let there = servers(&document, under)?.and_then(|servers| servers.get(name));
    Ok(there.map(|there| document.written(there).to_owned()))
}

/// The text with another entry in the place of a server's; the same text where there is none of this name.
pub(super) fn exchange(text: &str, under: Under<'_>, name: &str, entry: Exchanged<'_>) -> Result<String, Unfit> {
    let document = Document::parse(text)?;
    let there = servers(&document, under)?.and_then(|servers| servers.get(name));
    let Some(there) = there else { return Ok(text.to_owned()) };
    Ok(document.with(vec![match entry {
        Exchanged::Node(node) => document.replace(there, node),
        Exchanged::Written(written) => document.rewrite(there, written),
    }]))
}

/// What is put in the place of an entry.
#[derive(Clone, Copy)]
pub(super) enum Exchanged<'a> {
    Node(&'a Node),
    /// As it was written before, to the byte.
    Written(&'a str),
}

/// The text without the entry, and without the `made` innermost objects around it that are then empty.
pub(crate) fn take_out(text: &str, under: Under<'_>, name: &str, made: usize) -> Result<String, Unfit> {
    let document = Document::parse(text)?;
    let Some(servers) = servers(&document, under)? else { return Ok(text.to_owned()) };
    let Some(there) = servers.get(name) else { return Ok(text.to_owned()) };
    let mut text = document.with(document.remove(servers, there));
    let around: Vec<&str> = under.iter().map(String::as_str).chain([SERVERS]).collect();
    for depth in (0..around.len()).rev().take(made) {
        let document = Document::parse(&text)?;
        let Some(without) = without_empty(&document, &around[..=depth])? else { break };
        text = without;
    }
    Ok(text)
}

/// The text without the object that these keys lead to, if that is empty.
fn without_empty(document: &Document<'_>, keys: &[&str]) -> Result<Option<String>, Unfit> {
    let (Some(mut object), Some((last, outer))) = (document.root()?, keys.split_last()) else { return Ok(None) };
    for key in outer {
        let Some(inner) = object.get(key).and_then(|property| property.value.as_object()) else { return Ok(None) };
        object = inner;
    }
    let Some(property) = object.get(last) else { return Ok(None) };
    let is_empty = property
        .value
        .as_object()
        .is_some_and(|inner| inner.properties.is_empty() && !document.has_comments_in(inner.range));
    Ok(is_empty.then(|| document.with(document.remove(object, property))))
}

/// How many of the objects around the entry are missing, `mcpServers` included.
pub(crate) fn missing_around(text: &str, under: Under<'_>) -> Result<usize, Unfit> {
    let document = Document::parse(text)?;
    Ok(match around(&document, under)? {
        None => under.len() + 1,
        Some((around, [])) => usize::from(around.get(SERVERS).is_none()),
        Some((_, missing)) => missing.len() + 1,
    })
}

/// Claude Code reads plain JSON and refuses a file with comments or a comma too many (seen with 2.1.325).
pub(crate) fn is_plain_json(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.trim().is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The innermost of the objects that are there, and the names of those that are not.
fn around<'a, 'b, 'c>(
    document: &'b Document<'a>,
    under: Under<'c>,
) -> Result<Option<(&'b Object<'a>, Under<'c>)>, Unfit> {
    let Some(mut object) = document.root()? else { return Ok(None) };
    for (depth, name) in under.iter().enumerate() {
        no_name_twice(object, Some(name))?;
        let Some(property) = object.get(name) else { return Ok(Some((object, &under[depth..]))) };
        object = property.value.as_object().ok_or_else(|| Unfit::OddShape(format!("{name:?} is no object")))?;
    }
    Ok(Some((object, &[])))
}

/// Puts `mcpServers` in, with whatever of the objects around it is missing.
fn open(document: &Document<'_>, under: Under<'_>, servers: Node) -> Result<Vec<Edit>, Unfit> {
    let Some((around, missing)) = around(document, under)? else {
        let mut keys = under.iter().map(String::as_str).chain([SERVERS]).rev();
        let first = keys.next_back().unwrap_or(SERVERS);
        let node = keys.fold(servers, |node, key| Node::Single(key.to_owned(), Box::new(node)));
        return Ok(document.begin(first, node));
    };
    let mut keys = missing.iter().map(String::as_str).chain([SERVERS]).rev();
    let first = keys.next_back().unwrap_or(SERVERS);
    let node = keys.fold(servers, |node, key| Node::Single(key.to_owned(), Box::new(node)));
    Ok(document.insert(around, first, &node))
}

fn servers<'a, 'b>(document: &'b Document<'a>, under: Under<'_>) -> Result<Option<&'b Object<'a>>, Unfit> {
    let Some((around, [])) = around(document, under)? else { return Ok(None) };
    no_name_twice(around, Some(SERVERS))?;
    let Some(property) = around.get(SERVERS) else { return Ok(None) };
    let Some(servers) = property.value.as_object() else {
        return Err(Unfit::OddShape(format!("{SERVERS:?} is no object")));
    };
    no_name_twice(servers, None)?;
    Ok(Some(servers))
}

/// The command and the arguments of an entry that starts `portcullis channel`.
fn ours<'a, 'b>(entry: &'b ObjectProp<'a>) -> Option<(&'b ObjectProp<'a>, &'b ObjectProp<'a>)> {
    let entry = entry.value.as_object()?;
    let (command, args) = (entry.get("command")?, entry.get("args")?);
    let program = text_of(&command.value);
    let is_ours = program.rsplit('/').next() == Some("portcullis")
        && words_of(&args.value).first().is_some_and(|first| first == "channel");
    is_ours.then_some((command, args))
}

fn text_of(value: &Value<'_>) -> String {
    value.as_string_lit().map(|text| text.value.to_string()).unwrap_or_default()
}

fn words_of(value: &Value<'_>) -> Vec<String> {
    value.as_array().map(|list| list.elements.iter().map(text_of).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
