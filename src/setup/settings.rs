//! Elements in the lists of Claude Code's settings: put in, and taken out again with no more than was put in.

use std::collections::BTreeSet;

use jsonc_parser::ast::{Array, Object};
use portcullis_wire::hooks::own::is_our_hook;
use serde::{Deserialize, Serialize};

use super::hooks::{is_ours, is_shared, server_of};
use super::json::{Document, EditedText, Node, Unfit, no_name_twice, said_by};
use super::patch::Patch;

/// One element that has to stand in one list of the settings.
#[derive(Clone)]
pub(crate) struct Addition {
    /// The two keys that lead to the list.
    pub(crate) list: [&'static str; 2],
    pub(crate) node: Node,
}

/// One element that was not there before, as the receipt keeps it.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct AddedElement {
    pub(crate) list: [String; 2],
    /// None for hooks: those are known by whom they call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<String>,
    pub(crate) made: Made,
}

/// What had to be made for an element to stand in.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Made {
    Nothing,
    List,
    /// The list, and the object around it.
    Object,
}

/// The settings after all additions.
#[derive(Default)]
pub(crate) struct PutIn {
    /// None: all was there.
    pub(crate) text: Option<String>,
    pub(crate) patches: Vec<Patch>,
    pub(crate) added: Vec<AddedElement>,
    /// Hooks of ours were there, and have been replaced.
    pub(crate) renewed: usize,
}

pub(crate) fn put(text: &str, additions: &[Addition]) -> Result<PutIn, Unfit> {
    let mut put_in = PutIn::default();
    for addition in additions {
        let before = put_in.text.as_deref().unwrap_or(text);
        match put_one(before, addition)? {
            Put::IsThere => {}
            Put::Renewed(edited) => {
                put_in.renewed += 1;
                put_in.note(edited);
            }
            Put::Added(edited, made) => {
                let rule = match &addition.node {
                    Node::Text(rule) => Some(rule.clone()),
                    _ => None,
                };
                put_in.added.push(AddedElement { list: addition.list.map(str::to_owned), rule, made });
                put_in.note(edited);
            }
        }
    }
    Ok(put_in)
}

impl PutIn {
    fn note(&mut self, edited: EditedText) {
        self.text = Some(edited.text);
        self.patches.extend(edited.patches);
    }
}

enum Put {
    IsThere,
    Renewed(EditedText),
    Added(EditedText, Made),
}

fn put_one(text: &str, addition: &Addition) -> Result<Put, Unfit> {
    let document = Document::parse(text)?;
    let [outer, inner] = addition.list;
    let list = || match &addition.node {
        Node::Text(rule) => Node::List(vec![rule.clone()]),
        node => Node::Array(vec![node.clone()]),
    };
    let nested = || Node::Single(inner.to_owned(), Box::new(list()));
    let Some(root) = document.root()? else {
        return Ok(Put::Added(document.edited(document.begin(outer, nested())), Made::Object));
    };
    no_name_twice(root, Some(outer))?;
    let Some(part) = root.get(outer) else {
        return Ok(Put::Added(document.edited(document.insert(root, outer, &nested())), Made::Object));
    };
    let part = part.value.as_object().ok_or_else(|| Unfit::OddShape(format!("{outer:?} is no object")))?;
    no_name_twice(part, Some(inner))?;
    let Some(there) = part.get(inner) else {
        return Ok(Put::Added(document.edited(document.insert(part, inner, &list())), Made::List));
    };
    let there = there.value.as_array().ok_or_else(|| Unfit::OddShape(format!("{inner:?} is no list")))?;
    let wanted = addition.node.said();
    let elements = || there.elements.iter().map(|element| (element, said_by(element)));
    if elements().any(|(_, said)| said == wanted) {
        return Ok(Put::IsThere);
    }
    let older = elements().find(|(_, said)| outer == "hooks" && is_older(said, &wanted));
    Ok(match older {
        Some((element, _)) => Put::Renewed(document.edited(vec![document.replace_element(element, &addition.node)])),
        None => Put::Added(document.edited(document.append(there, &addition.node)), Made::Nothing),
    })
}

/// Whether a group of ours is to be replaced by the wanted one: that runs a program, or both call the same server.
fn is_older(there: &serde_json::Value, wanted: &serde_json::Value) -> bool {
    is_ours(there) && (server_of(wanted).is_null() || server_of(there) == server_of(wanted))
}

/// What is to be taken out of the settings.
pub(crate) struct Removal<'a> {
    /// Hooks that call this server, and those that run the program. The latter name no server: they stay for another one that
    /// hooks call as well.
    pub(crate) server: &'a str,
    /// What was added, with what was made for it. None: nobody knows, and rules stay.
    pub(crate) added: Option<&'a [AddedElement]>,
}

/// The text without our hooks and the rules that were added, and without the lists and objects that were made for them
/// and are then empty.
pub(crate) fn take_out(text: &str, removal: &Removal<'_>) -> Result<String, Unfit> {
    let mut text = text.to_owned();
    // Lists of hooks that lost one; without a receipt they were made for it as far as anyone knows.
    let mut made: Vec<AddedElement> = removal.added.unwrap_or_default().to_vec();
    for added in removal.added.unwrap_or_default() {
        if let Some(without) = without_rule(&text, added)? {
            text = without;
        }
    }
    while let Some((without, list)) = without_one_hook(&text, removal.server)? {
        text = without;
        if removal.added.is_none() {
            made.push(AddedElement { list, rule: None, made: Made::Object });
        }
    }
    for added in made.iter().filter(|added| added.made >= Made::List) {
        text = without_empty_list(&text, &added.list)?.unwrap_or(text);
    }
    for added in made.iter().filter(|added| added.made == Made::Object) {
        text = without_empty_object(&text, &added.list[0])?.unwrap_or(text);
    }
    Ok(text)
}

/// One rule less: the last that says this, as `install` adds at the end.
fn without_rule(text: &str, added: &AddedElement) -> Result<Option<String>, Unfit> {
    let Some(rule) = &added.rule else { return Ok(None) };
    let document = Document::parse(text)?;
    let Some(list) = document.root()?.and_then(|root| list_in(root, &added.list)) else { return Ok(None) };
    let ours = list.elements.iter().rev().find(|element| said_by(element) == rule.as_str());
    Ok(ours.map(|ours| document.with(document.remove_element(list, ours))))
}

fn without_one_hook(text: &str, server: &str) -> Result<Option<(String, [String; 2])>, Unfit> {
    let document = Document::parse(text)?;
    let hooks = document.root()?.and_then(|root| root.get("hooks")?.value.as_object());
    let Some(hooks) = hooks else { return Ok(None) };
    let is_shared_with_others = servers_called(text).iter().any(|called| called != server);
    let calls_us = |hook: &serde_json::Value| match &hook["server"] {
        serde_json::Value::Null => is_our_hook(hook) && !is_shared_with_others,
        named => is_our_hook(hook) && named == server,
    };
    for property in &hooks.properties {
        let Some(groups) = property.value.as_array() else { continue };
        for group in &groups.elements {
            let inner = group.as_object().and_then(|group| group.get("hooks")?.value.as_array());
            let Some(inner) = inner else { continue };
            let Some(hook) = inner.elements.iter().find(|hook| calls_us(&said_by(hook))) else { continue };
            // Others may have put theirs into the same group.
            let edits = match inner.elements.len() {
                1 => document.remove_element(groups, group),
                _ => document.remove_element(inner, hook),
            };
            return Ok(Some((document.with(edits), ["hooks".to_owned(), property.name.as_str().to_owned()])));
        }
    }
    Ok(None)
}

fn without_empty_list(text: &str, [outer, inner]: &[String; 2]) -> Result<Option<String>, Unfit> {
    let document = Document::parse(text)?;
    let part = document.root()?.and_then(|root| root.get(outer)?.value.as_object());
    let Some((part, list)) = part.and_then(|part| Some((part, part.get(inner)?))) else { return Ok(None) };
    let is_empty = list.value.as_array().is_some_and(|list| list.elements.is_empty());
    let may_go = is_empty && !document.has_comments_in(list.range);
    Ok(may_go.then(|| document.with(document.remove(part, list))))
}

fn without_empty_object(text: &str, key: &str) -> Result<Option<String>, Unfit> {
    let document = Document::parse(text)?;
    let Some((root, part)) = document.root()?.and_then(|root| Some((root, root.get(key)?))) else { return Ok(None) };
    let is_empty = part.value.as_object().is_some_and(|part| part.properties.is_empty());
    let may_go = is_empty && !document.has_comments_in(part.range);
    Ok(may_go.then(|| document.with(document.remove(root, part))))
}

fn list_in<'a, 'b>(root: &'b Object<'a>, [outer, inner]: &[String; 2]) -> Option<&'b Array<'a>> {
    root.get(outer)?.value.as_object()?.get(inner)?.value.as_array()
}

/// Whether two texts say the same, whatever way they are written.
pub(crate) fn say_the_same(one: &str, other: &str) -> bool {
    let said = |text: &str| {
        let said = Document::parse(text).ok()?.said();
        // A file that holds nothing says as much as an empty object.
        Some(if said.is_null() { serde_json::json!({}) } else { said })
    };
    said(one).is_some_and(|one| said(other) == Some(one))
}

/// Whether a text holds nothing but an empty object.
pub(crate) fn says_nothing(text: &str) -> bool {
    Document::parse(text).is_ok_and(|document| {
        !document.has_comments() && document.root().is_ok_and(|root| root.is_none_or(|root| root.properties.is_empty()))
    })
}

/// Every group of our hooks in the settings, with the event it is for.
pub(crate) fn groups_of_ours(settings: &serde_json::Value) -> Vec<(&str, &serde_json::Value)> {
    let groups = settings["hooks"].as_object().into_iter().flatten();
    let groups = groups
        .flat_map(|(event, groups)| groups.as_array().into_iter().flatten().map(move |group| (event.as_str(), group)));
    groups.filter(|(_, group)| is_ours(group)).collect()
}

/// Whether hooks stand in a text that name a server or a path of this machine.
pub(crate) fn has_own_hooks(text: &str) -> bool {
    let said = Document::parse(text).map(|document| document.said()).unwrap_or_default();
    groups_of_ours(&said).iter().any(|(_, group)| !is_shared(group))
}

/// The servers whose tool hooks of ours call.
pub(super) fn servers_called(text: &str) -> BTreeSet<String> {
    let said = Document::parse(text).map(|document| document.said()).unwrap_or_default();
    let groups = said["hooks"].as_object().into_iter().flatten().flat_map(|(_, groups)| groups.as_array());
    let hooks = groups.flatten().flat_map(|group| group["hooks"].as_array()).flatten();
    hooks.filter(|hook| is_our_hook(hook)).filter_map(|hook| hook["server"].as_str().map(str::to_owned)).collect()
}

/// How many hooks and rules there are: all of our hooks, and all rules.
pub(crate) fn count(text: &str) -> (usize, usize) {
    let said = Document::parse(text).map(|document| document.said()).unwrap_or_default();
    let lists = said["permissions"].as_object().into_iter().flatten();
    let rules = lists.filter_map(|(_, list)| list.as_array()).map(Vec::len).sum();
    (groups_of_ours(&said).len(), rules)
}

#[cfg(test)]
mod tests;
