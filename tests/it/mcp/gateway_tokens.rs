//! Who is let in at `/mcp`, what becomes of their sessions when they no longer are, and how the wrong way in is refused.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::gateway::patient;
use super::gateway_http::HttpClient;
use super::{configure, fake};
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::{Answer, Request};
use crate::support::running::is_alive;
use crate::support::sse::Events;
use crate::support::until;

/// A home with a server that writes down what it is told to do.
fn watched() -> (Home, std::path::PathBuf) {
    let home = patient();
    let told = home.user().join("told");
    let mut entry = fake("asks");
    entry["env"] = json!({"STARTS": told});
    configure(&home, &json!({"fake": entry}));
    (home, told)
}

fn told(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Waits until nothing is left of a client: its session, its prompt, its call and the server that was started for it, whose
/// call is the last that was begun.
#[track_caller]
fn is_over(home: &Home, gate: &Gate, file: &Path, others: usize) {
    home.attached(others);
    until("its prompt is withdrawn", || gate.asks().iter().all(|ask| ask["state"] != "open").then_some(()));
    until("its call is taken back", || (told(file).last()? == "cancelled").then_some(()));
    let mut servers = told(file).into_iter().filter_map(|line| line.parse::<u32>().ok());
    let server = servers.next_back().unwrap();
    until("its server ended", || (!is_alive(server)).then_some(()));
}

/// The id of the token of a person that was made last.
fn token_id(home: &Home, person: &str) -> String {
    let list = home.run(&["token", "list", "--json"]).ok().json();
    let of_person = list.as_array().unwrap().iter().filter(|token| token["person"] == person);
    of_person.max_by_key(|token| token["since"].as_u64()).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_ends_with_its_token_and_takes_its_prompt_its_call_and_its_server_along() {
    let (home, file) = watched();
    let gate = home.serve();
    let other = HttpClient::start(&home, &gate, "ann", "/mcp");
    let revoke = |name: &str| drop(home.run(&["token", "revoke", &token_id(&home, name)]).ok());
    let demote = |name: &str| drop(home.run(&["people", "role", name, "sender"]).ok());
    let remove = |name: &str| drop(home.run(&["people", "remove", name]).ok());
    let show_out: [&dyn Fn(&str); 3] = [&revoke, &demote, &remove];
    for (name, show_out) in ["ann", "bob", "cid"].into_iter().zip(show_out) {
        let client = HttpClient::start(&home, &gate, name, "/mcp");
        let runs = client.call("fake__echo", &json!({"do": "wait", "who": name}));
        gate.allow(&gate.only_ask());
        until("the call runs", || told(&file).contains(&format!("wait {name}")).then_some(()));
        let waits = client.call("fake__echo", &json!({"n": 1}));
        gate.only_ask();
        show_out(name);
        is_over(&home, &gate, &file, 1);
        let refused = client.post(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping"}));
        assert!([401, 403].contains(&refused.status), "{}", refused.text());
        drop((runs, waits));
    }
    // Another token of the same person has its own session, and keeps it.
    other.post(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping"})).expect(200);
    // Whoever is let in again begins anew.
    HttpClient::start(&home, &gate, "cid", "/mcp");
}

#[test]
fn a_session_is_no_other_tokens_of_the_same_person() {
    let (home, _) = watched();
    let gate = home.serve();
    let (one, two) = (HttpClient::start(&home, &gate, "ann", "/mcp"), HttpClient::start(&home, &gate, "ann", "/mcp"));
    let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"});
    one.post(&ping).expect(200);
    two.take_session_of(&one);
    two.post(&ping).expect(404);
}

#[test]
fn a_client_without_sessions_ends_with_its_token_too() {
    let (home, file) = watched();
    let gate = home.serve();
    let token = home.token_for("ann", "agent");
    let call = |id: u64, arguments: Value| {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"}});
        let params = json!({"name": "fake__echo", "arguments": arguments, "_meta": meta});
        let request = Request::post("/mcp").token(&token).header("Accept", "application/json, text/event-stream");
        let request = request.header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", "tools/call");
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        Events::answering(&gate.target(), &request.header("Mcp-Name", "fake__echo").json(&message))
    };
    let runs = call(1, json!({"do": "wait", "who": "ann"}));
    gate.allow(&gate.only_ask());
    until("the call runs", || told(&file).contains(&"wait ann".to_owned()).then_some(()));
    let waits = call(2, json!({"n": 1}));
    gate.only_ask();
    home.attached(1);
    home.run(&["token", "revoke", &token_id(&home, "ann")]).ok();
    is_over(&home, &gate, &file, 0);
    drop((runs, waits));
}

#[test]
fn the_wrong_way_in_is_refused_with_the_right_one() {
    let (home, _) = watched();
    let gate = home.serve();
    let token = home.token_for("cursor", "agent");
    let post = |path: &str, token: Option<&str>, body: &str| -> Answer {
        let request = Request::post(path).header("Accept", "application/json, text/event-stream");
        let request = request.header("Content-Type", "application/json").body(body);
        token.map_or(request.clone(), |token| request.token(token)).send(&gate.target())
    };
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    for (token, status) in [(None, 401), (Some("wrong"), 401), (Some(home.token()), 403)] {
        let hint = post("/mcp", token, &ping).expect(status).json()["hint"].clone();
        let hint = hint.as_str().unwrap();
        assert!(hint.contains("portcullis token add NAME --role agent") && !hint.contains("status"), "{hint}");
    }
    for body in ["{bad", "{\"no\": \"message\"}"] {
        post("/mcp", Some(&token), body).expect(400);
    }
    let unknown = post("/mcp/nosuch", Some(&token), &ping).expect(404).json();
    assert_eq!((&unknown["error"], &unknown["candidates"][0]["name"]), (&json!(40416), &json!("fake")), "{unknown}");
    assert!(unknown["hint"].as_str().unwrap().starts_with("there are: fake; "), "{unknown}");
    let stranger = post("/mcp/nosuch", None, &ping).expect(401).text();
    assert!(!stranger.contains("fake"), "{stranger}");
    let put = Request::new("PUT", "/mcp").token(&token).json(&json!({})).send(&gate.target()).expect(405).json();
    assert!(put["hint"].as_str().unwrap().contains("/api/openapi.json"), "{put}");
    HttpClient::start(&home, &gate, "cursor", "/mcp/fake");
}
