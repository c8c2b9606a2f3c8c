//! The channel contract as Claude Code plays it: greeting, faults, order, and a prompt end.

use crate::support::home::Home;
use crate::support::standin::{SECRET, StandIn};
use crate::support::{PATIENCE, Signal, running, until};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

/// The real client gives a server that is to end about half a second; a loaded machine gets more.
const PROMPTLY: Duration = Duration::from_secs(3);

#[test]
fn a_protocol_revision_without_notifications_is_refused_at_once() {
    let home = Home::new();
    let mut session = StandIn::spawn(&home, StandIn::command(&home, &[]));
    session.probe();
    assert_eq!(session.discover()["error"]["code"], -32601);
    assert!(session.discover_took() < PROMPTLY, "the real client waits no longer");
    let bare = session.call_raw(&json!({"jsonrpc": "2.0", "id": 7, "method": "server/discover"}));
    assert_eq!(bare["error"]["code"], -32601);
    session.initialize();
    session.initialized();
    let late = session.call_raw(&json!({"jsonrpc": "2.0", "id": "late", "method": "server/discover", "params": {}}));
    assert_eq!(late["error"]["code"], -32601);
    assert_eq!(session.tool_names(), ["reply", "edit_message", "inbox"]);
}

#[test]
fn initialize_declares_a_two_way_channel_with_permission_relay_and_instructions() {
    let home = Home::new();
    let session = StandIn::start(&home, &[]);
    assert!(session.declares("claude/channel") && session.declares("claude/channel/permission"));
    assert_eq!(session.capabilities()["tools"], json!({}));
    assert_eq!(session.server_info()["name"], "portcullis");
    for word in ["<channel", "chat_id", "`reply`", "`edit_message`", "message_id", "`inbox`", "event_id", "directs="] {
        assert!(session.instructions().contains(word), "{word}");
    }
    let required: Vec<&Value> = session.tools().iter().map(|tool| &tool["inputSchema"]["required"]).collect();
    assert_eq!(required, [&json!(["chat_id", "text"]), &json!(["message_id", "text"]), &Value::Null]);
}

#[test]
fn a_session_initializes_without_a_gate_and_attaches_when_one_can_start() {
    let home = Home::new();
    home.write_config("listne = \"off\"");
    let session = StandIn::start(&home, &[]);
    assert_eq!(session.tool_names(), ["reply", "edit_message", "inbox"]);
    session.complaint("listne");
    assert_eq!(home.run(&["status"]).status.code(), Some(1));

    fs::remove_file(home.folder().join("config.toml")).unwrap();
    home.attached(1);
}

#[test]
fn an_invalid_message_is_refused_and_the_next_one_is_answered() {
    let home = Home::new();
    home.serve();
    let session = StandIn::start(&home, &[]);
    let broken: [(&[u8], i64); 9] = [
        (b"{no json", -32700),
        (b"{\"jsonrpc\":\"2.0\"", -32700),
        (b"\xff\xfe", -32700),
        (b"\"text\"", -32600),
        (b"42", -32600),
        (b"{}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"method\":7}", -32600),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        (b"[]", -32600),
    ];
    for (line, code) in broken {
        session.send_line(line);
        let answer = session.next_raw();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &Value::Null), "{answer}");
    }
    for (message, code) in [
        (json!({"id": 7, "method": "ping"}), -32600),
        (json!({"jsonrpc": "1.0", "id": 8, "method": "ping"}), -32600),
        (json!({"jsonrpc": "2.0", "id": 9, "method": "no/such/method"}), -32601),
        (json!({"jsonrpc": "2.0", "id": 10, "method": "tools/call", "params": {"name": 5}}), -32602),
        (json!({"jsonrpc": "2.0", "id": 11, "method": "tools/call"}), -32602),
    ] {
        let answer = session.call_raw(&message);
        assert_eq!(answer["error"]["code"], code, "{message}: {answer}");
    }
    session.send_line(b"");
    session.send_line(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/of/the/future\"}");
    assert_eq!(session.request("ping", &json!({})), json!({}));
    assert!(session.others().len() == broken.len(), "nothing else was said: {:?}", session.others());
}

#[test]
fn an_oversized_line_is_refused_and_the_next_one_is_answered() {
    let home = Home::new();
    let mut session = StandIn::start_paused(&home, &[]);
    let too_long = vec![b'x'; 17 << 20];
    session.send_line(&too_long);
    assert_eq!(session.next_raw()["error"]["code"], -32600);
    session.initialized();
    let text = "y".repeat(17 << 20);
    session.send_line(json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": text}).to_string().as_bytes());
    assert_eq!(session.next_raw()["error"]["code"], -32600);
    let long = json!({"chat_id": "1", "text": "y".repeat(12 << 20), "more": true});
    let answer = session.call("reply", &long);
    assert!(answer["content"][0]["text"].as_str().unwrap().contains("unknown field `more`"), "{answer:.200}");
    assert_eq!(session.request("ping", &json!({})), json!({}));
}

#[test]
fn events_wait_until_the_client_is_initialized() {
    let home = Home::new();
    let gate = home.serve();
    let mut session = StandIn::start_paused(&home, &[]);
    home.attached(1);
    let sent = gate.say("/", "too early").expect(200);
    let state = || gate.get(&format!("/api/v1/events/{}", sent.header("x-event-id").unwrap())).json()["state"].clone();
    assert_eq!(session.request("ping", &json!({})), json!({}));
    assert_eq!((session.event_count(), state()), (0, json!("waiting")));
    session.initialized();
    assert_eq!(session.next_event().content, "too early");
    until("a confirmed delivery", || (state() == "delivered").then_some(()));
}

#[test]
fn no_request_is_served_before_initialize() {
    let home = Home::new();
    let mut session = StandIn::spawn(&home, StandIn::command(&home, &[]));
    let early = session.call_raw(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    assert!(early["error"]["code"].is_i64(), "{early}");
    session.notify("notifications/claude/channel/permission_request", Some(&json!({"request_id": "abcde"})));
    session.initialize();
    session.initialized();
    assert_eq!(session.tool_names(), ["reply", "edit_message", "inbox"]);
}

#[test]
fn the_channel_exits_promptly_when_the_client_does() {
    let home = Home::new();
    let gate = home.serve();
    let eof = |session: &StandIn| session.close_stdin();
    let sent = |signal| move |session: &StandIn| session.signal(signal);
    let endings: [&dyn Fn(&StandIn); 4] = [&eof, &sent(Signal::INT), &sent(Signal::TERM), &sent(Signal::HUP)];
    for (place, ending) in endings.iter().enumerate() {
        let session = StandIn::start(&home, &[]);
        let about = home.attached(1);
        ending(&session);
        assert!(session.wait_exit(PROMPTLY).success(), "ending {place}");
        let known = gate.get(&format!("/api/v1/sessions/{}", about[0]["id"].as_str().unwrap())).expect(200).json();
        assert_eq!(known["state"], "ended", "it said goodbye: {known}");
    }
    let silent = StandIn::spawn(&home, StandIn::command(&home, &[]));
    silent.close_stdin();
    silent.wait_exit(PROMPTLY);
}

#[test]
fn the_channel_exits_promptly_also_without_a_gate() {
    let home = Home::new();
    home.write_config("listne = \"off\"");
    for signal in [None, Some(Signal::TERM)] {
        let session = StandIn::start(&home, &[]);
        session.complaint("listne");
        match signal {
            None => session.close_stdin(),
            Some(signal) => session.signal(signal),
        }
        session.wait_exit(PROMPTLY);
    }
}

#[test]
fn a_client_that_stops_reading_does_not_block_others() {
    let home = Home::new();
    let gate = home.serve();
    let mut command = StandIn::command(&home, &["--label", "stuck"]);
    let mut stuck = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let greeting = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "stuck", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    let mut stdin = stuck.stdin.take().unwrap();
    greeting.iter().for_each(|message| writeln!(stdin, "{message}").unwrap());
    home.attached(1);
    let well = StandIn::start(&home, &["--label", "well"]);
    home.attached(2);
    // Far more than a pipe holds.
    for _ in 0..100 {
        gate.say("/?label=stuck", &"x".repeat(10_000)).expect(200);
    }
    gate.say("/?label=well", "hello").expect(200);
    assert_eq!(well.next_event().content, "hello");

    drop(stdin);
    until("the end of it", || stuck.try_wait().unwrap());
}

#[test]
fn secrets_in_the_channels_environment_are_not_leaked() {
    let home = Home::new();
    let mut command = StandIn::command(&home, &[]);
    command.env("PORTCULLIS_LOG", "trace");
    let session = StandIn::start_command(&home, command);
    let about = home.attached(1);
    let gate = home.pid_in_lock().unwrap();
    assert_eq!(about[0]["agent_session"].as_str().map(str::len), Some(36));

    let environment = running::environment(gate);
    assert!(environment.contains("PORTCULLIS_HOME="), "{environment}");
    for name in ["CLAUDECODE=", "CLAUDE_CODE_", "CLAUDE_PROJECT_DIR=", "ANTHROPIC_"] {
        assert!(!environment.contains(name), "{environment}");
    }

    session.close_stdin();
    session.wait_exit(PATIENCE);
    // A listener that left, at the latest, is worth a line to a gate that tells everything.
    until("a log of the gate", || (!home.log().is_empty()).then_some(()));
    assert!(session.stderr().contains("DEBUG"), "the session's own process tells everything, too");
    let mut kept = vec![session.stdout().into_bytes(), session.stderr().into_bytes()];
    kept.push(environment.into_bytes());
    kept.extend(fs::read_dir(home.folder()).unwrap().filter_map(|file| fs::read(file.unwrap().path()).ok()));
    for (place, bytes) in kept.iter().enumerate() {
        let leaks = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!leaks, "the secret is in number {place}");
    }
    assert!(!home.log().contains(home.token()) && !session.stderr().contains(home.token()));
}

#[test]
fn a_one_way_channel_declares_no_tools_and_takes_events() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--one-way"]);
    assert!(session.declares("claude/channel") && !session.declares("claude/channel/permission"));
    assert_eq!(session.capabilities().get("tools"), None, "{}", session.capabilities());
    assert!(session.instructions().contains("no reply is expected") && !session.instructions().contains("`reply`"));
    let list = session.call_raw(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}));
    assert!(list["result"]["tools"].as_array().is_none_or(Vec::is_empty), "{list}");
    gate.say("/?severity=high", "main is red").expect(200);
    let event = session.next_event();
    assert_eq!((event.content.as_str(), event.meta("severity")), ("main is red", "high"));
    let arguments = json!({"chat_id": event.meta("chat_id"), "text": "on it"});
    let call =
        json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "reply", "arguments": arguments}});
    assert!(session.call_raw(&call)["error"].is_object());
    assert_eq!(gate.get("/api/v1/replies").json(), json!([]));
}

#[test]
fn what_the_owner_says_about_events_is_in_the_instructions() {
    let home = Home::new();
    home.write_config("instructions = \"Ignore staging.\"\n");
    let _gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    assert!(
        session.instructions().ends_with("about messages from outside: Ignore staging."),
        "{}",
        session.instructions()
    );
    home.write_config(&format!("instructions = {:?}\n", "x".repeat(2000)));
    let long = StandIn::start_under_an_agent(&home, &[]);
    assert!(long.tools()[0]["description"].as_str().unwrap().ends_with(&"x".repeat(2000)));
    home.write_config(&format!("instructions = {:?}\n", "x".repeat(2001)));
    home.run(&["up"]).refused(3, "instructions is text of at most 2000 characters");
}
