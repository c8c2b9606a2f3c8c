//! Servers behind the gateway that are down, silent, or want someone to sign in: nobody waits for them, and clients are told
//! when they are there.

use std::fs;
use std::net::TcpListener;

use serde_json::{Value, json};

use super::gateway::{Client, heard, patient, text};
use super::{configure, everything, fake, over_http};
use crate::support::PATIENCE;
use crate::support::child::{Child, Stdin};
use crate::support::home::Home;
use crate::support::running::is_alive;
use crate::support::until;

fn unavailable(client: &Client, server: &str) -> String {
    let listed = client.ask("tools/list", &json!({}));
    let why = &listed["result"]["_meta"]["portcullis/unavailable"][server];
    why.as_str().unwrap_or_else(|| panic!("{listed}")).to_owned()
}

fn changed(message: &Value) -> bool {
    message["method"] == "notifications/tools/list_changed"
}

/// A server over HTTP at this port, from now on.
fn at(home: &Home, port: u16) -> Child {
    over_http(home, &[("PORT", &port.to_string())]).0
}

/// One at which nobody is yet.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_file_that_is_saved_with_a_mistake_takes_no_server_away() {
    let home = patient();
    home.fix("PORTCULLIS_TEST_MCP_LOOK", 20);
    let _gate = home.serve();
    configure(&home, &json!({"real": everything()}));
    home.run(&["rules", "add", "allow", "mcp__real"]).ok();
    let client = Client::start(&home, &[]);
    client.tools();
    let called = client.under_way();
    let file = home.user().join(".claude.json");
    let written = fs::read_to_string(&file).unwrap();
    fs::write(&file, &written[..written.len() - 1]).unwrap();
    client.child.complaint("what it held before still counts");
    fs::write(&file, "").unwrap();
    client.child.complaint("the file is empty");
    assert!(text(&client.answer(called)).contains("completed"));
    assert!(client.tools().iter().any(|tool| tool == "real__echo"));
    configure(&home, &json!({"fake": fake("none")}));
    until("what was written since", || Some(client.tools()).filter(|tools| tools == &["fake__echo"]));
}

#[test]
fn no_list_waits_longer_than_three_seconds_for_one_server() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_MCP_INSTRUCTIONS", 1);
    let _gate = home.serve();
    configure(&home, &json!({"hangs": fake("hang"), "works": fake("none")}));
    let client = Client::start(&home, &[]);
    let first = client.ask("tools/list", &json!({}));
    let why = &first["result"]["_meta"]["portcullis/unavailable"]["hangs"];
    assert_eq!(why, "it has not answered within 3 s", "{first}");
    until("the other", || Some(client.tools()).filter(|tools| tools == &["works__echo"]));
}

#[test]
fn a_server_that_is_known_to_be_down_is_not_waited_for_and_its_reason_is_told() {
    let home = patient();
    home.fix("PORTCULLIS_TEST_MCP_RECOVERY", 600_000);
    let _gate = home.serve();
    let starts = home.user().join("starts");
    let mut entry = fake("hang");
    entry["env"] = json!({"STARTS": starts});
    let refuses = format!("http://127.0.0.1:{}/mcp", free_port());
    configure(&home, &json!({"hangs": entry, "away": {"type": "http", "url": refuses}}));
    let mut command = home.command(&["mcp", "serve"]);
    command.env("MCP_TIMEOUT", "300");
    let client = Client::of(&home, command, &json!({}));
    let why = unavailable(&client, "hangs");
    assert!(why.contains("timed out after 300ms"), "{why}");
    for _ in 0..3 {
        assert!(unavailable(&client, "away").contains("Connection refused"));
    }
    assert_eq!(fs::read_to_string(&starts).unwrap().lines().count(), 1, "no list has started it again");
}

#[test]
fn a_server_that_was_down_is_tried_in_the_background_and_the_client_is_told_when_it_is_there() {
    let home = patient();
    home.fix("PORTCULLIS_TEST_MCP_RECOVERY", 50);
    home.fix("PORTCULLIS_TEST_MCP_BACKOFF", 1);
    let _gate = home.serve();
    let port = free_port();
    configure(&home, &json!({"late": {"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")}}));
    let client = Client::start(&home, &[]);
    assert!(unavailable(&client, "late").contains("Connection refused"));
    let _server = at(&home, port);
    client.message(changed);
    assert_eq!(client.tools(), ["late__echo"]);
}

#[test]
fn a_gateway_ends_with_its_client_although_a_server_has_not_answered_yet() {
    let ways: [&dyn Fn(&Client); 2] =
        [&|client| client.child.close_stdin(), &|client| client.child.signal(rustix::process::Signal::TERM)];
    for leave in ways {
        let home = patient();
        home.fix("PORTCULLIS_TEST_MCP_INSTRUCTIONS", 1);
        let _gate = home.serve();
        let starts = home.user().join("starts");
        let mut hangs = fake("hang");
        hangs["env"] = json!({"STARTS": starts});
        configure(&home, &json!({"hangs": hangs}));
        let mut command = home.command(&["mcp", "serve"]);
        command.env("MCP_TIMEOUT", "600000");
        let client = Client::of(&home, command, &json!({}));
        client.send("tools/list", &json!({}));
        client.send("prompts/list", &json!({}));
        let started = || fs::read_to_string(&starts).unwrap_or_default();
        let server: u32 = until("it is started", || started().trim().parse().ok());
        leave(&client);
        assert!(client.child.wait_exit(PATIENCE).success());
        assert!(!is_alive(server));
        assert_eq!(started().lines().count(), 1, "it was not started for nobody");
    }
}

#[test]
fn status_follows_a_server_that_comes_back() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_MCP_RECOVERY", 50);
    let port = free_port();
    configure(&home, &json!({"late": {"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")}}));
    let watching = home.spawn(home.command(&["mcp", "status", "--watch", "--json"]), Stdin::Nothing);
    watching.line(PATIENCE, |line| line.contains("\"failed\""));
    let _server = at(&home, port);
    watching.line(PATIENCE, |line| line.contains("\"connected\""));
    watching.signal(rustix::process::Signal::TERM);
    watching.wait_exit(PATIENCE);
}

#[test]
fn a_call_is_worth_another_try_of_a_server_that_is_down() {
    let home = patient();
    home.fix("PORTCULLIS_TEST_MCP_RECOVERY", 600_000);
    home.fix("PORTCULLIS_TEST_MCP_BACKOFF", 1);
    let _gate = home.serve();
    home.run(&["rules", "add", "allow", "mcp__late"]).ok();
    let port = free_port();
    configure(&home, &json!({"late": {"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")}}));
    let client = Client::start(&home, &[]);
    unavailable(&client, "late");
    let refused = client.answer(client.call("late__echo", &json!({})));
    assert!(refused["error"]["message"].as_str().unwrap().contains("Connection refused"), "{refused}");
    let _server = at(&home, port);
    assert_eq!(text(&client.answer(client.call("late__echo", &json!({})))), "let in");
}

#[test]
fn a_server_that_is_silent_at_the_first_question_is_not_asked_it_by_the_next_process() {
    let home = patient();
    home.fix("PORTCULLIS_TEST_MCP_PROBE", 300);
    let (entry, file) = heard(&home, "mute");
    configure(&home, &json!({"mute": entry}));
    let questions = || fs::read_to_string(&file).unwrap().matches("server/discover").count();
    assert_eq!(super::listed(&home, "mute")["state"], "connected");
    assert_eq!(questions(), 1);
    assert_eq!(super::listed(&home, "mute")["state"], "connected");
    assert_eq!(questions(), 1, "it is remembered");
}

#[test]
fn what_servers_want_a_model_to_be_told_reaches_the_client() {
    let home = patient();
    let _gate = home.serve();
    let saying = |text: &str| {
        let mut entry = fake("none");
        entry["env"] = json!({"INSTRUCTIONS": text});
        entry
    };
    configure(&home, &json!({"a": saying("Use a first."), "b": saying("Then b."), "c": fake("none")}));
    let info =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let said = |args: &[&str], method: &str, params: &Value| {
        let words = [&["mcp", "serve"], args].concat();
        let client = Client::silent(&home, home.command(&words));
        client.ask(method, params)["result"]["instructions"].clone()
    };
    assert_eq!(said(&[], "initialize", &info), "# a\n> Use a first.\n\n# b\n> Then b.");
    assert_eq!(said(&["--server", "b"], "initialize", &info), "Then b.");
    assert_eq!(said(&["--server", "c"], "initialize", &info), Value::Null);
    home.fix("PORTCULLIS_TEST_MCP_INSTRUCTIONS", 60_000);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"}});
    assert_eq!(said(&["--server", "a"], "server/discover", &json!({"_meta": meta})), "Use a first.");
}
