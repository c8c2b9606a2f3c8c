//! The published schema of ACP, version 1: whether a frame is one that this side may send.

use crate::support::claude::peer;
use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

/// Who sent a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Client,
    Agent,
}

/// Which part of an exchange a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// A request or a notification.
    Params,
    Result,
}

/// What becomes of fields that the schema does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownFields {
    Refused,
    Accepted,
}

pub(super) struct Schema {
    /// All definitions, closed against unknown fields if that is wanted.
    definitions: Value,
    unknown: UnknownFields,
    /// Made when they are needed first: each takes a while.
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Schema {
    /// The schema that the official SDK ships.
    pub(super) fn published(unknown: UnknownFields) -> Self {
        let text = fs::read_to_string(peer("PORTCULLIS_TEST_ACP_SCHEMA")).unwrap();
        let mut schema: Value = serde_json::from_str(&text).unwrap();
        if unknown == UnknownFields::Refused {
            for definition in schema["$defs"].as_object_mut().unwrap().values_mut() {
                close_parts(definition);
            }
        }
        Self { definitions: schema["$defs"].take(), unknown, validators: Mutex::default() }
    }

    /// What is wrong with this frame, if anything. `asked` is the method of the request that a response answers.
    pub(super) fn fault(&self, from: Side, frame: &Value, asked: Option<&str>) -> Option<String> {
        let Some(fields) = frame.as_object() else { return Some("it is no object".to_owned()) };
        if frame["jsonrpc"] != "2.0" {
            return Some("it is not JSON-RPC 2.0".to_owned());
        }
        let known: &[&str] = match fields.contains_key("method") {
            true => &["jsonrpc", "id", "method", "params"],
            false if fields.contains_key("error") => &["jsonrpc", "id", "error"],
            false => &["jsonrpc", "id", "result"],
        };
        if let Some(unknown) = fields.keys().find(|key| !known.contains(&key.as_str())) {
            return Some(format!("it has the field {unknown}"));
        }
        if let Some(error) = fields.get("error") {
            return self.describe("Error", error);
        }
        let (part, method, value) = match (fields.get("method"), asked) {
            (Some(method), _) => (Part::Params, method.as_str()?, &frame["params"]),
            (None, Some(method)) => (Part::Result, method, &frame["result"]),
            (None, None) => return Some("it answers no request".to_owned()),
        };
        match self.definition(part, method) {
            // Either side may cancel a request of its own.
            Some((name, sender)) if sender == from || method.starts_with("$/") => self.describe(&name, value),
            Some(_) => Some(format!("{method} is not for this side to send")),
            None => Some(format!("the schema has no {method}")),
        }
    }

    /// The definition for this part of a method, and who sends it.
    fn definition(&self, part: Part, method: &str) -> Option<(String, Side)> {
        let fits = |name: &str, definition: &Value| {
            definition["x-method"] == method && name.ends_with("Response") == (part == Part::Result)
        };
        let (name, definition) = self.definitions.as_object()?.iter().find(|(name, value)| fits(name, value))?;
        // `x-side` is the side that handles the method: it sends results, and the other side sends parameters.
        let handler = if definition["x-side"] == "agent" { Side::Agent } else { Side::Client };
        Some((name.clone(), if part == Part::Result { handler } else { handler.other() }))
    }

    fn describe(&self, name: &str, value: &Value) -> Option<String> {
        let validator = self.validator(name);
        let faults = validator.iter_errors(value).map(|error| format!("{error} at {}", error.instance_path()));
        let faults: Vec<String> = faults.collect();
        (!faults.is_empty()).then(|| faults.join("; "))
    }

    fn validator(&self, name: &str) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        let made = validators.entry(name.to_owned()).or_insert_with(|| {
            let mut root = json!({"$ref": format!("#/$defs/{name}"), "$defs": self.definitions});
            if self.unknown == UnknownFields::Refused {
                root["unevaluatedProperties"] = false.into();
            }
            Arc::new(jsonschema::options().with_draft(Draft::Draft202012).build(&root).unwrap())
        });
        Arc::clone(made)
    }
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Client => Self::Agent,
            Self::Agent => Self::Client,
        }
    }
}

/// Refuses unknown fields in every value inside of this schema, but not in the schema itself: where it is one of several
/// that make up a value, the others know fields as well.
fn close_parts(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for (key, inner) in fields.iter_mut() {
        match key.as_str() {
            "properties" => inner.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(close),
            "items" | "additionalProperties" => close(inner),
            "allOf" | "anyOf" | "oneOf" => inner.as_array_mut().into_iter().flatten().for_each(close_parts),
            _ => {}
        }
    }
}

/// Refuses unknown fields in the value that this schema describes as a whole.
fn close(schema: &mut Value) {
    close_parts(schema);
    let shapes = ["$ref", "allOf", "anyOf", "oneOf", "properties"];
    let has_shape = shapes.iter().any(|shape| schema.get(shape).is_some());
    // One without a shape is for any value, such as the raw input of a tool.
    if has_shape && schema.get("additionalProperties").is_none() {
        schema["unevaluatedProperties"] = false.into();
    }
}

#[test]
fn a_field_that_the_schema_does_not_name_is_a_fault() {
    let (strict, lenient) = (Schema::published(UnknownFields::Refused), Schema::published(UnknownFields::Accepted));
    let update = |update: Value| json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "1", "update": update}});
    let check = |update_: Value, is_known: bool| {
        let frame = update(update_);
        assert_eq!(lenient.fault(Side::Agent, &frame, None), None);
        let fault = strict.fault(Side::Agent, &frame, None);
        assert_eq!(fault.is_none(), is_known, "{fault:?}");
    };
    let text = json!({"type": "text", "text": "hello"});
    check(json!({"sessionUpdate": "agent_message_chunk", "content": text}), true);
    check(json!({"sessionUpdate": "agent_message_chunk", "content": text, "_meta": {"any": 1}}), true);
    check(json!({"sessionUpdate": "agent_message_chunk", "content": text, "more": 1}), false);
    check(
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello", "more": 1}}),
        false,
    );
    let call = |input: Value, content: Value| json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Edit", "rawInput": input, "content": content});
    check(call(json!({"any": {"thing": 1}}), json!([])), true);
    check(call(json!({}), json!([{"type": "diff", "path": "/a", "oldText": null, "newText": "b"}])), true);
    check(call(json!({}), json!([{"type": "diff", "path": "/a", "newText": "b", "more": 1}])), false);
    check(call(json!({}), json!([{"type": "content", "content": {"type": "text", "text": "a", "more": 1}}])), false);
    let wrong = update(json!({"sessionUpdate": "agent_message_chunk"}));
    assert!(lenient.fault(Side::Agent, &wrong, None).is_some(), "the content is missing");
    assert!(lenient.fault(Side::Client, &update(json!({})), None).is_some(), "only agents send updates");
}
