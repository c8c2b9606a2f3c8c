//! Servers that never stop talking or asking, what they leave behind, and clients that are another one at each request.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::gateway::{Client, patient, text};
use super::gateway_http::HttpClient;
use super::{configure, fake};

use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::running::{children_of, is_alive};
use crate::support::sse::Events;
use crate::support::{PATIENCE, Signal, until};

/// A gateway in front of one that floods has no more than this, in kB: of a debug build more than half is the program.
const MOST_MEMORY: u64 = 120_000;

fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_server_that_never_stops_talking_or_asking_keeps_no_call_waiting_and_fills_no_memory() {
    let home = patient();
    let _gate = home.serve();
    for rule in ["mcp__loud", "mcp__quiet"] {
        home.run(&["rules", "add", "allow", rule]).ok();
    }
    for what in ["log", "news", "progress", "answers", "pings", "questions"] {
        configure(&home, &json!({"loud": fake(&format!("floods-{what}")), "quiet": fake("none")}));
        let client = Client::able(&home, &[], &json!({"elicitation": {}}));
        assert_eq!(client.tools().len(), 2, "{what}");
        for server in ["loud", "quiet"] {
            let params = json!({"name": format!("{server}__echo"), "arguments": {}, "_meta": {"progressToken": what}});
            let answer = client.answer(client.send("tools/call", &params));
            assert_eq!(text(&answer), "echo {}", "{what}: {server}");
        }
        let used = memory(client.child.pid());
        assert!(used < MOST_MEMORY, "{what}: {used} kB");
        let servers = children_of(client.child.pid());
        client.child.close_stdin();
        assert!(client.child.wait_exit(PATIENCE).success(), "{what}");
        assert!(servers.iter().all(|server| !is_alive(server.pid)), "{what}: {servers:?}");
    }
}

#[test]
fn a_server_that_says_all_the_time_that_something_changed_is_heard_once_in_a_while() {
    let home = patient();
    // The second time comes after the test.
    home.fix("PORTCULLIS_TEST_MCP_CHANGES", 3_600_000);
    let gate = home.serve();
    configure(&home, &json!({"loud": fake("floods-changes"), "quiet": fake("none")}));
    home.run(&["rules", "add", "allow", "mcp__loud"]).ok();
    home.run(&["rules", "add", "allow", "mcp__quiet"]).ok();
    // In this order: what a client on standard streams is started by makes no tokens.
    let far = HttpClient::start(&home, &gate, "far", "/mcp");
    let news = Events::answering(&far.target, &far.request("GET"));
    let near = Client::start(&home, &[]);
    let mut calls = vec![];
    for server in ["loud", "quiet", "loud"] {
        let tool = format!("{server}__echo");
        calls.push(near.answer(near.call(&tool, &json!({}))));
        calls.push(far.call(&tool, &json!({})).answer());
    }
    assert!(calls.iter().all(|answer| text(answer) == "echo {}"), "{calls:?}");
    let changes = ["tools/list_changed", "resources/list_changed", "prompts/list_changed", "resources/updated"];
    let times = |change: &str| {
        let method = format!("\"notifications/{change}\"");
        let far = news.all().iter().filter(|event| event.data.contains(&method)).count();
        (near.child.stdout().matches(&method).count(), far)
    };
    until("each is told", || changes.iter().all(|change| times(change).0.min(times(change).1) > 0).then_some(()));
    // What lists that came late have to tell is told besides.
    assert!(changes.iter().all(|change| times(change).0.max(times(change).1) <= 2), "{:?}", changes.map(times));
}

#[test]
fn a_shared_server_that_never_stops_talking_keeps_its_clients_and_answers_them() {
    let home = patient();
    home.write_config("[mcp.servers.loud]\nshared = true\n");
    let _gate = home.serve();
    home.run(&["rules", "add", "allow", "mcp__loud"]).ok();
    let starts = home.user().join("starts");
    let mut entry = fake("floods-log");
    entry["env"] = json!({"STARTS": starts});
    configure(&home, &json!({"loud": entry}));
    let clients = [Client::start(&home, &[]), Client::start(&home, &[])];
    for (number, client) in clients.iter().chain(&clients).enumerate() {
        let answer = client.answer(client.call("loud__echo", &json!({"n": number})));
        assert_eq!(text(&answer), format!("echo {{\"n\":{number}}}"));
    }
    let started = fs::read_to_string(&starts).unwrap().lines().filter(|line| *line != "called").count();
    assert_eq!(started, 1, "nobody was cut off");
}

#[test]
fn an_answer_that_cannot_be_read_ends_its_call_and_one_that_only_the_client_knows_passes() {
    let home = patient();
    let gate = home.serve();
    configure(&home, &json!({"fake": fake("odd")}));
    home.run(&["rules", "add", "allow", "mcp__fake"]).ok();
    // In this order: what a client on standard streams is started by makes no tokens.
    let far = HttpClient::start(&home, &gate, "far", "/mcp");
    let near = Client::start(&home, &[]);
    assert_eq!((near.tools(), far.tools()), (vec!["fake__echo".to_owned()], vec!["fake__echo".to_owned()]));
    let known = json!({"content": [{"type": "hologram", "beam": 1}]});
    for call in [&|give| near.answer(near.call("fake__echo", &json!({"give": give}))), &|give| {
        far.call("fake__echo", &json!({"give": give})).answer()
    }] as [&dyn Fn(&str) -> Value; 2]
    {
        for give in ["deep", "word"] {
            let answer = call(give);
            let said = text(&answer);
            assert!(said.contains("unknown outcome") && said.contains("answer cannot be read"), "{give}: {answer}");
        }
        assert_eq!(call("new")["result"], known);
    }
}

/// A server that has started something in a session of its own. Where it writes down what.
fn leaving_something(home: &Home) -> PathBuf {
    let (script, left) = (home.user().join("server"), home.user().join("left"));
    let entry = fake("none");
    let words: Vec<&str> = entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let run = format!("exec {} {}", entry["command"].as_str().unwrap(), words.join(" "));
    let text = format!("#!/bin/sh\nsetsid sleep 1000 &\necho $! > {}\n{run}\n", left.display());
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    configure(home, &json!({"fake": {"command": script}}));
    left
}

fn pid_in(left: &Path) -> u32 {
    let pid = fs::read_to_string(left).unwrap().trim().parse().unwrap();
    assert!(is_alive(pid));
    pid
}

#[test]
fn what_a_server_started_in_a_session_of_its_own_goes_with_it() {
    let home = patient();
    let _gate = home.serve();
    let left = leaving_something(&home);
    let client = Client::start(&home, &[]);
    assert_eq!(client.tools(), ["fake__echo"]);
    let pid = pid_in(&left);
    client.child.close_stdin();
    client.child.wait_exit(PATIENCE);
    assert!(!is_alive(pid), "{pid} is left behind");
}

#[test]
fn what_a_server_started_in_a_session_of_its_own_goes_with_the_gate_however_that_ends() {
    for signal in [Signal::TERM, Signal::KILL] {
        let home = patient();
        let gate = home.serve();
        let left = leaving_something(&home);
        let client = HttpClient::start(&home, &gate, "cursor", "/mcp");
        assert_eq!(client.tools(), ["fake__echo"]);
        let pid = pid_in(&left);
        home.kill_gate(signal);
        until("its end", || (!is_alive(pid)).then_some(()));
    }
}

#[test]
fn a_client_that_calls_itself_otherwise_at_each_request_has_no_more_servers_than_one_may_have() {
    let home = patient();
    home.fix("PORTCULLIS_TEST_MCP_OF_ONE", 2);
    let gate = home.serve();
    let starts = home.user().join("starts");
    let mut entry = fake("none");
    entry["env"] = json!({"STARTS": starts});
    configure(&home, &json!({"fake": entry}));
    let token = home.token_for("ann", "agent");
    for number in 0..5 {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": format!("client{number}"), "version": "1"}});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
        let request = Request::post("/mcp").token(&token).header("Accept", "application/json, text/event-stream");
        let request = request.header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", "tools/list");
        Events::answering(&gate.target(), &request.json(&message)).containing("fake__echo");
    }
    let started: Vec<u32> = fs::read_to_string(&starts).unwrap().lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(started.len(), 5, "each had its own");
    until("two are left", || (started.iter().filter(|pid| is_alive(**pid)).count() == 2).then_some(()));
    assert!(is_alive(started[4]), "the newest is");
}
