//! The API as one document for programs: `GET /api/openapi.json`, from the table of routes and the types they take and
//! answer.

use serde_json::{Map, Value, json};

use crate::canonical::sorted;
use crate::error::Fault;
use crate::routes::{FromInside, Param, ROUTES, RequestBody, ResponseBody, Route, RouteAccess, TypeSchema};

/// The whole document. It is the same for every gate of this version, and says nothing about the one that is asked.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.name().to_ascii_lowercase()] = operation(route);
    }
    sorted(&json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Portcullis",
            "version": "1",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            "description": "Events in, replies out, and permission prompts answered. Moments are milliseconds since 1970; \
                ids are 26 letters and digits and sort by birth.",
        },
        "servers": [{"url": "/", "description": "the gate that this came from, at its port or its Unix socket"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas(),
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
    }))
}

/// Every type that a route takes or answers, and what these are made of.
fn schemas() -> Map<String, Value> {
    let mut found = vec![];
    TypeSchema::of::<Fault>().collect(&mut found);
    for route in ROUTES {
        let taken = match &route.body {
            RequestBody::Json(schema) => Some(schema),
            RequestBody::None | RequestBody::Text | RequestBody::Bytes => None,
        };
        let answered = match &route.response {
            ResponseBody::Json(one) | ResponseBody::Created(one) | ResponseBody::List(one) => vec![one],
            ResponseBody::Stream(_, of) => of.iter().collect(),
            ResponseBody::Either(one, other) => vec![one, other],
            ResponseBody::Text(_) | ResponseBody::File | ResponseBody::Document | ResponseBody::Upgrade => vec![],
        };
        taken.into_iter().chain(answered).for_each(|schema| schema.collect(&mut found));
    }
    found.into_iter().map(|(name, schema)| (name, serde_json::to_value(schema).unwrap_or_default())).collect()
}

fn operation(route: &Route) -> Value {
    let in_path = route
        .path_params()
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
    let others = route.params.iter().map(|Param { name, place, kind, words }| {
        json!({"name": name, "in": place, "required": false, "description": words, "schema": {"type": kind}})
    });
    let parameters: Vec<Value> = in_path.chain(others).collect();
    let security = match route.access {
        RouteAccess::AnyOf(_) | RouteAccess::Socket => json!([{"token": []}, {"dev": []}]),
        RouteAccess::Anyone => json!([]),
    };
    let mut operation = json!({
        "operationId": route.operation.id(),
        "summary": route.summary,
        "description": format!("{}{}", access(route.access), from_inside(route.from_inside)),
        "security": security,
        "parameters": parameters,
        "responses": responses(route),
    });
    if let Some(body) = body(&route.body) {
        operation["requestBody"] = body;
    }
    operation
}

fn access(access: RouteAccess) -> String {
    match access {
        RouteAccess::Anyone => "Needs no credentials.".to_owned(),
        RouteAccess::Socket => "Is served on the Unix socket only.".to_owned(),
        RouteAccess::AnyOf(rights) => {
            let rights: Vec<&str> = rights.iter().map(|right| right.name()).collect();
            format!("Needs the right {}.", rights.join(" or "))
        }
    }
}

fn from_inside(from_inside: FromInside) -> &'static str {
    match from_inside {
        FromInside::Served => "",
        FromInside::VerdictsRefused => {
            " A verdict is refused to what an agent runs, over the socket or with the owner's token."
        }
        FromInside::Refused(_) => " Refused to what an agent runs, over the socket or with the owner's token.",
    }
}

fn body(body: &RequestBody) -> Option<Value> {
    let content = match body {
        RequestBody::None => return None,
        RequestBody::Bytes => json!({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}),
        RequestBody::Text => json!({"text/plain": {"schema": {"type": "string"}}}),
        RequestBody::Json(schema) => json!({"application/json": {"schema": reference(schema)}}),
    };
    Some(json!({"required": true, "content": content}))
}

fn reference(schema: &TypeSchema) -> Value {
    json!({"$ref": format!("#/components/schemas/{}", schema.name())})
}

fn responses(route: &Route) -> Value {
    let plain = |words: &str| json!({"description": words, "content": {"text/plain": {"schema": {"type": "string"}}}});
    let data = |schema: Value| json!({"description": "as asked", "content": {"application/json": {"schema": schema}}});
    let answer = match &route.response {
        ResponseBody::Text(words) => plain(words),
        ResponseBody::Json(schema) | ResponseBody::Created(schema) => data(reference(schema)),
        ResponseBody::Either(one, other) => data(json!({"anyOf": [reference(one), reference(other)]})),
        ResponseBody::List(schema) => data(json!({"type": "array", "items": reference(schema)})),
        ResponseBody::File => json!({
            "description": "the file, as an attachment",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }),
        ResponseBody::Document => data(json!({"type": "object"})),
        ResponseBody::Stream(words, _) => {
            json!({"description": words, "content": {"text/event-stream": {"schema": {"type": "string"}}}})
        }
        ResponseBody::Upgrade => json!({"description": "the connection is a link now"}),
    };
    let mut responses = Map::new();
    responses.insert(route.response.status().to_string(), answer);
    // Under each status, which numbers of the table of errors mean it here.
    for kind in route.kinds() {
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
    json!({"description": words, "content": {"application/json": {"schema": reference(&TypeSchema::of::<Fault>())}}})
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
            let is_streamed = ["Change", "StreamMessage"].contains(&name.as_str());
            assert!(used || is_streamed, "{name} is used nowhere");
        }
    }
}
