//! `portcullis mcp serve`: one server in front of all, which asks a person before it calls.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{clone_with, configure, everything, fake};
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::PATIENCE;
use crate::support::child::{Child, Stdin};
use crate::support::claude::Claude;
use crate::support::home::Home;
use crate::support::until;

/// An MCP client that says each message itself.
pub(crate) struct Client {
    pub(super) child: Child,
    last: std::cell::Cell<u64>,
}

impl Client {
    /// A client that has introduced itself.
    #[track_caller]
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::able(home, args, &json!({}))
    }

    /// The same for one that can do this.
    #[track_caller]
    pub(super) fn able(home: &Home, args: &[&str], capabilities: &Value) -> Self {
        let words: Vec<&str> = ["mcp", "serve"].iter().chain(args).copied().collect();
        Self::of(home, home.command(&words), capabilities)
    }

    /// One that has not said a word yet.
    pub(super) fn silent(home: &Home, command: Command) -> Self {
        Self { child: home.spawn(command, Stdin::Open), last: std::cell::Cell::new(0) }
    }

    /// A client of the gateway that this command starts.
    #[track_caller]
    pub(super) fn of(home: &Home, command: Command, capabilities: &Value) -> Self {
        let client = Self::silent(home, command);
        let info = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "tester", "version": "1"}});
        let answer = client.ask("initialize", &info);
        assert_eq!(answer["result"]["serverInfo"]["name"], "portcullis", "{answer}");
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Calls a tool of `real` that takes two seconds, and returns its id when it is under way.
    pub(super) fn under_way(&self) -> u64 {
        let params = json!({"name": "real__trigger-long-running-operation",
            "arguments": {"duration": 2, "steps": 20}, "_meta": {"progressToken": "mine"}});
        let called = self.send("tools/call", &params);
        self.message(|message| message["method"] == "notifications/progress");
        called
    }

    pub(super) fn say(&self, message: &Value) {
        self.child.write(format!("{message}\n"));
    }

    /// Sends a request, and returns its id.
    pub(super) fn send(&self, method: &str, params: &Value) -> u64 {
        self.last.set(self.last.get() + 1);
        let id = self.last.get();
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(super) fn call(&self, tool: &str, arguments: &Value) -> u64 {
        self.send("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    #[track_caller]
    pub(super) fn answer(&self, id: u64) -> Value {
        self.message(|message| message["id"] == id && message.get("method").is_none())
    }

    /// The next message that fits.
    #[track_caller]
    pub(super) fn message(&self, fits: impl Fn(&Value) -> bool) -> Value {
        let is_it = |line: &str| serde_json::from_str(line).is_ok_and(|message| fits(&message));
        serde_json::from_str(&self.child.line(PATIENCE, is_it)).unwrap()
    }

    #[track_caller]
    pub(super) fn ask(&self, method: &str, params: &Value) -> Value {
        self.answer(self.send(method, params))
    }

    #[track_caller]
    pub(super) fn tools(&self) -> Vec<String> {
        let listed = self.ask("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// A server of the fakes, and the file with all that it is told.
pub(super) fn heard(home: &Home, fault: &str) -> (Value, PathBuf) {
    let file = home.user().join(format!("heard-{fault}"));
    let mut entry = fake(fault);
    entry["env"] = json!({"HEARD": file});
    (entry, file)
}

/// How often it was told to call a tool.
pub(super) fn calls(file: &Path) -> usize {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter(|line| line.contains("\"tools/call\"")).count()
}

pub(super) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

pub(super) fn patient() -> Home {
    let home = Home::new();
    // Servers are waited for, however busy the machine is.
    home.fix("PORTCULLIS_TEST_MCP_LIST", 60_000);
    home
}

#[test]
fn a_call_through_the_gateway_waits_for_a_person_and_is_made_once() {
    let home = patient();
    let gate = home.serve();
    let (entry, file) = heard(&home, "none");
    configure(&home, &json!({"real": everything(), "fake": entry}));
    let client = Client::start(&home, &[]);
    let tools = client.tools();
    assert!(tools.contains(&"real__echo".to_owned()) && tools.contains(&"fake__echo".to_owned()), "{tools:?}");
    assert_eq!(tools.len(), 14);
    let session = home.attached(1).remove(0);
    assert_eq!(
        (&session["connected_by"], &session["label"]),
        (&json!("gateway"), &json!("tester@project")),
        "{session}"
    );

    let called = client.call("fake__echo", &json!({"message": "hi"}));
    let ask = gate.only_ask();
    assert_eq!((&ask["tool"], &ask["source"]), (&json!("mcp__fake__echo"), &json!("gateway")), "{ask}");
    assert_eq!(
        (&ask["input"], &ask["description"]),
        (&json!({"message": "hi"}), &json!("echo of the MCP server fake"))
    );
    assert_eq!(calls(&file), 0, "nothing was called before the answer");
    gate.allow(&ask);
    assert_eq!(text(&client.answer(called)), r#"echo {"message":"hi"}"#);
    assert_eq!(calls(&file), 1);
    let call = until("the call in the log", || home.records("called").pop());
    assert_eq!(
        (&call["tool"], &call["outcome"], &call["decided_by"]),
        (&json!("mcp__fake__echo"), &json!("ran"), &json!("person")),
        "{call}"
    );

    // The real server, and what a person edits is what is called.
    let called = client.call("real__echo", &json!({"message": "rm"}));
    gate.answer(&gate.only_ask(), &json!({"behavior": "allow", "input": {"message": "ls"}}));
    assert_eq!(text(&client.answer(called)), "Echo: ls");

    // No event goes to a client: it waits for an agent.
    let event = gate.send_event("news");
    assert_eq!(gate.event_state(&event), "waiting");
}

#[test]
fn rules_name_a_tool_by_its_server_and_what_is_denied_is_not_offered() {
    let home = patient();
    let gate = home.serve();
    let (entry, file) = heard(&home, "none");
    configure(&home, &json!({"fake": entry, "real": everything()}));
    for (decision, rule) in [("allow", "mcp__real__echo"), ("deny", "mcp__real__get-env"), ("deny", "mcp__fake")] {
        home.run(&["rules", "add", decision, rule]).ok();
    }
    let client = Client::start(&home, &[]);
    let tools = client.tools();
    assert!(tools.contains(&"real__echo".to_owned()), "{tools:?}");
    assert!(!tools.iter().any(|tool| tool == "real__get-env" || tool.starts_with("fake__")), "{tools:?}");
    assert_eq!(text(&client.answer(client.call("real__echo", &json!({"message": "hi"})))), "Echo: hi");
    let denied = client.answer(client.call("fake__echo", &json!({})));
    assert_eq!(denied["result"]["isError"], true, "{denied}");
    assert!(text(&denied).contains("mcp__fake"), "{denied}");
    assert_eq!(calls(&file), 0);
    assert!(gate.asks().is_empty(), "nobody was asked");
    let outcomes = until("both calls in the log", || Some(home.records("called")).filter(|calls| calls.len() == 2));
    assert_eq!((&outcomes[0]["outcome"], &outcomes[1]["outcome"]), (&json!("ran"), &json!("denied")), "{outcomes:?}");
}

#[test]
fn a_denied_call_says_why_and_a_cancelled_one_is_no_longer_asked() {
    let home = patient();
    let gate = home.serve();
    let (entry, file) = heard(&home, "none");
    configure(&home, &json!({"fake": entry}));
    let client = Client::start(&home, &[]);
    let called = client.call("fake__echo", &json!({"n": 1}));
    gate.answer(&gate.only_ask(), &json!({"behavior": "deny", "why": "not on a Friday"}));
    let denied = client.answer(called);
    assert_eq!((text(&denied), &denied["result"]["isError"]), ("Denied: not on a Friday", &json!(true)));

    let called = client.call("fake__echo", &json!({"n": 2}));
    let ask = gate.only_ask();
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": called}}));
    gate.ask_when(&ask, |ask| ask["state"] == "withdrawn");

    client.call("fake__echo", &json!({"n": 3}));
    let ask = gate.only_ask();
    client.child.close_stdin();
    gate.ask_when(&ask, |ask| ask["state"] == "withdrawn");
    assert!(client.child.wait_exit(PATIENCE).success());
    assert_eq!(calls(&file), 0);
}

#[test]
fn with_one_server_its_tools_keep_their_names() {
    let home = patient();
    let gate = home.serve();
    configure(&home, &json!({"real": everything(), "fake": fake("none")}));
    let client = Client::start(&home, &["--server", "real"]);
    let tools = client.tools();
    assert!(tools.contains(&"echo".to_owned()) && tools.len() == 13, "{tools:?}");
    assert_eq!(home.attached(1).remove(0)["label"], "tester:real@project");
    let called = client.call("echo", &json!({"message": "hi"}));
    let ask = gate.only_ask();
    assert_eq!(ask["tool"], "mcp__real__echo");
    gate.allow(&ask);
    assert_eq!(text(&client.answer(called)), "Echo: hi");
}

#[test]
fn the_gateway_offers_neither_itself_nor_what_nobody_approved() {
    let home = patient();
    let marker = home.user().join("pwned");
    clone_with(&home, &json!({"evil": {"command": "touch", "args": [marker]}}));
    let own = json!({"command": env!("CARGO_BIN_EXE_portcullis"), "args": ["mcp", "serve"]});
    let through_shell =
        json!({"command": "sh", "args": ["-c", format!("exec {} mcp serve", env!("CARGO_BIN_EXE_portcullis"))]});
    configure(
        &home,
        &json!({"own": own, "shell": through_shell, "fake": fake("none"), "dead": {"command": "no-such-program"}}),
    );
    let client = Client::start(&home, &[]);
    let listed = client.ask("tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 1, "{listed}");
    let unavailable = &listed["result"]["_meta"]["portcullis/unavailable"];
    assert!(unavailable["shell"].as_str().unwrap().contains("behind a gateway"), "{listed}");
    assert!(unavailable["dead"].as_str().unwrap().contains("no-such-program"), "{listed}");
    assert!(unavailable.get("own").is_none() && unavailable.get("evil").is_none(), "{listed}");
    assert!(!marker.exists());
    let refused = client.answer(client.call("dead__x", &json!({})));
    assert!(refused["error"]["message"].as_str().unwrap().contains("dead is unavailable"), "{refused}");
    let wrong = client.ask("tools/call", &json!({"arguments": {}}));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    assert_eq!(client.ask("tools/calls", &json!({}))["error"]["code"], -32601);
}

#[test]
fn the_real_cli_uses_the_gateway_and_a_person_elsewhere_decides() {
    let home = patient();
    let gate = home.serve();
    configure(&home, &json!({"real": everything()}));
    let model = Model::start(vec![
        Rule::on_text("go").call("mcp__gate__real__echo", json!({"message": "first"})).once(),
        Rule::on_result("Echo: first").call("mcp__gate__real__echo", json!({"message": "second"})).once(),
        Rule::on_result("Denied").say("done: $RESULT"),
    ]);
    let mut config = home.mcp_config("gate", &[]);
    config["mcpServers"]["gate"]["args"] = json!(["mcp", "serve"]);
    let claude = Claude::headless(&home, &model, "go", &config, &["--allowedTools", "mcp__gate"]);
    let ask = gate.open_ask();
    assert_eq!((&ask["tool"], &ask["input"]), (&json!("mcp__real__echo"), &json!({"message": "first"})), "{ask}");
    assert!(ask["tool_use_id"].as_str().is_some_and(|id| id.starts_with("toolu_")), "{ask}");
    let session = gate.get("/api/v1/sessions").json()[0].clone();
    assert_eq!(
        (&session["connected_by"], &session["label"]),
        (&json!("gateway"), &json!("claude-code@project")),
        "{session}"
    );
    gate.allow(&ask);
    let second = until("the second prompt", || gate.asks().into_iter().find(|ask| ask["input"]["message"] == "second"));
    gate.answer(&second, &json!({"behavior": "deny", "why": "once is enough"}));
    let said = claude.wait().ok().stdout;
    assert!(said.starts_with("done: Denied: once is enough\n"), "{said}");
}
