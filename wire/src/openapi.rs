//! The API as one document for programs: `GET /api/openapi.json`. The routes are a table, the schemas come from the types
//! themselves.

use serde_json::{Map, Value, json};
use utoipa::OpenApi as _;

use crate::api::{
    Accepted, Approval, AskView, Change, EventView, FileView, LogLine, MadeToken, NewEvent, NewMode, NewModel,
    NewPrompt, NewRedaction, NewRole, NewToken, NewVerdict, OfferView, PairingView, PeopleView, PersonView, Recorded,
    Redacted, ReplyView, RiskView, SessionView, Status, TokenView, Tried, VerdictView,
};
use crate::error::{Fault, Kind};
use crate::start::{Chat, Confirm, Confirmed, NewSession, Pending, PendingAsk};

mod routes;

use routes::{Answer, Body, Param, ROUTES, Route};

#[derive(utoipa::OpenApi)]
#[openapi(components(schemas(
    Accepted,
    Approval,
    AskView,
    Change,
    Chat,
    Confirm,
    Confirmed,
    EventView,
    Fault,
    FileView,
    LogLine,
    MadeToken,
    NewEvent,
    NewMode,
    NewModel,
    NewPrompt,
    NewRedaction,
    NewRole,
    NewSession,
    NewToken,
    NewVerdict,
    OfferView,
    PairingView,
    Pending,
    PendingAsk,
    PeopleView,
    PersonView,
    Recorded,
    Redacted,
    ReplyView,
    RiskView,
    SessionView,
    Status,
    TokenView,
    Tried,
    VerdictView,
)))]
struct Schemas;

/// The whole document. It is the same for every gate of this version, and says nothing about the one that is asked.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method] = operation(route);
    }
    let schemas = serde_json::to_value(Schemas::openapi()).unwrap_or_default()["components"]["schemas"].take();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Portcullis",
            "version": "1",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            "description": "Events in, replies out, and permission prompts answered. Moments are milliseconds since 1970; \
                ids are 26 letters and digits and sort by birth. docs/reference/http.md says the same in words.",
        },
        "servers": [{"url": "/", "description": "the gate that this came from, at its port or its Unix socket"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http", "scheme": "bearer",
                    "description": "The owner's token, or one of `portcullis token add`. Over the Unix socket a process \
                        of the same user needs none.",
                },
                "dev": {
                    "type": "apiKey", "in": "header", "name": "X-Sender",
                    "description": "Only on a gate that was started with --dev-sender.",
                },
            },
        },
    })
}

fn operation(route: &Route) -> Value {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = names.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
    let others = route.params.iter().map(|Param { name, place, kind, words }| {
        json!({"name": name, "in": place, "required": false, "description": words, "schema": {"type": kind}})
    });
    let parameters: Vec<Value> = in_path.chain(others).collect();
    let security = match route.right {
        Some(_) => json!([{"token": []}, {"dev": []}]),
        None => json!([]),
    };
    let right = route.right.map_or("Needs no credentials.".to_owned(), |right| format!("Needs the right {right}."));
    let outside = if route.outside { " Refused to what an agent runs, when it comes over the socket." } else { "" };
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "description": format!("{right}{outside}"),
        "security": security,
        "parameters": parameters,
        "responses": responses(route),
    });
    if let Some(body) = body(route.body) {
        operation["requestBody"] = body;
    }
    operation
}

fn body(body: Body) -> Option<Value> {
    let content = match body {
        Body::None => return None,
        Body::Text => json!({"text/plain": {"schema": {"type": "string"}}}),
        Body::Json(name) => json!({"application/json": {"schema": schema(name)}}),
        Body::OneOf(names) => {
            let schemas: Vec<Value> = names.iter().map(|name| schema(name)).collect();
            json!({"application/json": {"schema": {"anyOf": schemas}}})
        }
    };
    Some(json!({"required": !matches!(body, Body::OneOf(_)), "content": content}))
}

fn schema(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn responses(route: &Route) -> Value {
    let plain = |words: &str| json!({"description": words, "content": {"text/plain": {"schema": {"type": "string"}}}});
    let data = |schema: Value| json!({"description": "as asked", "content": {"application/json": {"schema": schema}}});
    let mut responses = Map::new();
    let (status, answer) = match route.answer {
        Answer::Text(words) => ("200", plain(words)),
        Answer::Json(name) => ("200", data(schema(name))),
        Answer::Made(name) => ("201", data(schema(name))),
        Answer::Either(one, other) => ("200", data(json!({"anyOf": [schema(one), schema(other)]}))),
        Answer::List(name) => ("200", data(json!({"type": "array", "items": schema(name)}))),
        Answer::Document => ("200", data(json!({"type": "object"}))),
        Answer::Stream(words) => {
            ("200", json!({"description": words, "content": {"text/event-stream": {"schema": {"type": "string"}}}}))
        }
        Answer::Link => ("101", json!({"description": "the connection is a link now"})),
    };
    responses.insert(status.to_owned(), answer);
    // Under each status, which numbers of the table mean it here.
    for kind in always(route).iter().chain(route.errors) {
        let (number, hint) = kind.entry();
        let words = format!("{number} {kind:?}: {hint}");
        let status = (number / 100).to_string();
        let entry = responses.entry(status).or_insert_with(|| fault(""));
        let told = entry["description"].as_str().unwrap_or_default();
        entry["description"] = if told.is_empty() { words } else { format!("{told}\n\n{words}") }.into();
    }
    responses.insert("default".to_owned(), fault("any other error of the table"));
    responses.into()
}

fn fault(words: &str) -> Value {
    json!({"description": words, "content": {"application/json": {"schema": schema("Fault")}}})
}

/// What every route may answer, by what it takes and needs.
fn always(route: &Route) -> Vec<Kind> {
    let mut kinds = vec![Kind::ForeignHost, Kind::ForeignOrigin];
    if route.right.is_some() {
        kinds.extend([Kind::Forbidden, Kind::NeedsRight, Kind::Busy, Kind::Stopping]);
    }
    if route.outside {
        kinds.push(Kind::FromInside);
    }
    if !matches!(route.body, Body::None) {
        kinds.extend([Kind::BadRequest, Kind::NotUtf8, Kind::Slow, Kind::TooLarge]);
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every `$ref` in it.
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str).map(ToOwned::to_owned));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn the_document_is_one_of_openapi_and_names_nothing_that_it_does_not_hold() {
        let document = document();
        let read: utoipa::openapi::OpenApi = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(read.paths.paths.len(), document["paths"].as_object().unwrap().len());
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(found.len() > 20, "{found:?}");
        for reference in &found {
            assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
        }
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            let used = found.contains(&format!("#/components/schemas/{name}"));
            assert!(used || name == "Change", "{name} is used nowhere");
        }
    }

    #[test]
    fn no_two_operations_share_a_name_and_each_says_what_it_does() {
        let mut names = BTreeSet::new();
        for route in ROUTES {
            assert!(names.insert(route.id), "{}", route.id);
            assert!(!route.summary.is_empty() && route.path.starts_with('/'), "{}", route.id);
        }
    }
}
