//! The HTTP reference: what the table of routes, the types of the API and the table of errors say stands in
//! `docs/reference/http.md` between marks, and the prose around it is written by hand. `UPDATE_EXPECT=1` writes it anew.

use std::collections::BTreeSet;
use std::fs;

use expect_test::expect_file;
use portcullis_wire::error::Kind;
use portcullis_wire::openapi;
use portcullis_wire::routes::{FromInside, ROUTES, RequestBody, ResponseBody, Route, RouteAccess, TypeSchema};
use serde_json::Value;

#[test]
fn the_http_reference_says_what_the_tables_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/http.md");
    let page = fs::read_to_string(path).unwrap();
    let mut missing: BTreeSet<String> = ROUTES.iter().map(|route| format!("route {}", route.operation.id())).collect();
    missing.extend(["routes", "types", "errors"].map(str::to_owned));
    let (mut want, mut rest) = (String::new(), page.as_str());
    while let Some((before, after)) = rest.split_once("<!-- ") {
        let (name, after) = after.split_once(" -->\n").expect("a mark ends its line");
        let close = format!("<!-- /{name} -->");
        let (_, after) = after.split_once(&close).unwrap_or_else(|| panic!("{name} is not closed"));
        assert!(missing.remove(name), "{name} is nothing that is told, or is told twice");
        want.push_str(&format!("{before}<!-- {name} -->\n{}{close}", part(name)));
        rest = after;
    }
    want.push_str(rest);
    assert!(missing.is_empty(), "the page has no place for {missing:?}");
    expect_file!["../../docs/reference/http.md"].assert_eq(&want);
}

fn part(name: &str) -> String {
    match name {
        "routes" => routes(),
        "types" => types(),
        "errors" => errors(),
        _ => ROUTES.iter().find(|route| name == format!("route {}", route.operation.id())).map(section).unwrap(),
    }
}

fn routes() -> String {
    let row = |route: &Route| {
        let (title, link) = (title(route), link_to(&title(route)));
        let inside = match route.from_inside {
            FromInside::Served => "served",
            FromInside::VerdictsRefused => "verdicts refused",
            FromInside::Refused(_) => "refused",
        };
        format!("| [`{title}`]({link}) | {} | {inside} | {} |\n", access(route), route.summary)
    };
    let rows: String = ROUTES.iter().map(row).collect();
    format!("| route | right | inside an agent | |\n|---|---|---|---|\n{rows}")
}

fn title(route: &Route) -> String {
    format!("{} {}", route.method.name(), route.path)
}

/// As readers of Markdown make it from a heading: small letters, no signs, dashes for spaces.
fn link_to(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    format!("#{}", kept.collect::<String>().replace(' ', "-"))
}

fn access(route: &Route) -> String {
    match route.access {
        RouteAccess::Anyone => "–".to_owned(),
        RouteAccess::Socket => "the socket".to_owned(),
        RouteAccess::AnyOf(rights) => rights.iter().map(|right| right.name()).collect::<Vec<_>>().join(" or "),
    }
}

/// One route: what it is for, whom it is for, what it takes and what it answers.
fn section(route: &Route) -> String {
    let mut text = format!("### {}\n\n{}.", title(route), route.summary);
    text.push_str(&match route.access {
        RouteAccess::Anyone => " Needs no credentials.".to_owned(),
        RouteAccess::Socket => " Served on the Unix socket only.".to_owned(),
        RouteAccess::AnyOf(_) => format!(" Right: {}.", access(route)),
    });
    text.push_str(match route.from_inside {
        FromInside::Served => "",
        FromInside::VerdictsRefused => " Inside an agent verdicts are refused.",
        FromInside::Refused(_) => " Refused inside an agent.",
    });
    text.push_str(if route.rate_limited { " Counts against the sender's rate." } else { "" });
    text.push_str("\n\n");
    if !route.params.is_empty() {
        text.push_str("| parameter | | |\n|---|---|---|\n");
        for param in route.params {
            let name = if param.place == "query" { format!("?{}=", param.name) } else { format!("{}:", param.name) };
            text.push_str(&format!("| `{name}` | {} | {} |\n", param.kind, param.words));
        }
        text.push('\n');
    }
    let body = match &route.body {
        RequestBody::None => None,
        RequestBody::Bytes => Some("bytes".to_owned()),
        RequestBody::Text => Some("text".to_owned()),
        RequestBody::Json(schema) => Some(type_link(schema)),
    };
    text.push_str(&body.map_or(String::new(), |body| format!("Takes {body}. ")));
    let answer = match &route.response {
        ResponseBody::Text(words) => (*words).to_owned(),
        ResponseBody::Json(schema) | ResponseBody::Created(schema) => type_link(schema),
        ResponseBody::Either(one, other) => format!("{} or {}", type_link(one), type_link(other)),
        ResponseBody::List(schema) => format!("a list of {}", type_link(schema)),
        ResponseBody::File => "the file, as an attachment".to_owned(),
        ResponseBody::Document => "an OpenAPI document".to_owned(),
        ResponseBody::Stream(words, _) => format!("an event stream: {words}"),
        ResponseBody::Upgrade => "the link".to_owned(),
    };
    text.push_str(&format!("Answers {}: {answer}.", route.response.status()));
    let numbers: BTreeSet<String> = route.errors.iter().map(|kind| kind.entry().0.to_string()).collect();
    let numbers: Vec<String> = numbers.into_iter().collect();
    if !numbers.is_empty() {
        text.push_str(&format!(" [Errors](#errors) of its own: {}.", numbers.join(", ")));
    }
    text.push('\n');
    text
}

fn type_link(schema: &TypeSchema) -> String {
    let name = schema.name();
    format!("[`{name}`]({})", link_to(&name))
}

/// The types of the API, field by field.
fn types() -> String {
    let document = openapi::document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut text = String::new();
    for (name, schema) in schemas {
        text.push_str(&format!("### {name}\n\n"));
        if let Some(words) = schema["description"].as_str() {
            text.push_str(&format!("{}\n\n", words.replace('\n', " ")));
        }
        text.push_str("| field | type | |\n|---|---|---|\n");
        match schema["oneOf"].as_array() {
            // Each is an object of one field.
            Some(variants) => variants.iter().for_each(|variant| fields(variant, &variant["description"], &mut text)),
            None => fields(schema, &Value::Null, &mut text),
        }
        text.push('\n');
    }
    text
}

fn fields(schema: &Value, about: &Value, text: &mut String) {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        let words = field["description"].as_str().or(about.as_str()).unwrap_or("–").replace('\n', " ");
        text.push_str(&format!("| `{name}`{optional} | {} | {words} |\n", type_words(field)));
    }
}

/// The type of a field, in words: `string`, `list of File`, `integer or null`.
fn type_words(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return format!("[{name}]({})", link_to(name));
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        return choices.iter().map(type_words).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::String(kind) if kind == "array" => format!("list of {}", type_words(&schema["items"])),
        Value::String(kind) if schema["enum"].is_array() => {
            let named: Vec<&str> = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if named.is_empty() { kind.clone() } else { named.join(", ") }
        }
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => {
            let one = |kind: &Value| match kind.as_str() {
                Some("array") => format!("list of {}", type_words(&schema["items"])),
                kind => kind.unwrap_or_default().to_owned(),
            };
            kinds.iter().map(one).collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    }
}

fn errors() -> String {
    let row = |kind: &Kind| {
        let (number, hint) = kind.entry();
        format!("| {number} | {} | {hint} |\n", kind.name())
    };
    let rows: String = Kind::ALL.iter().map(row).collect();
    format!("| number | name | what to do |\n|---|---|---|\n{rows}")
}
