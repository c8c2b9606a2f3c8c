//! `/mcp`: the gateway over streamable HTTP, with the servers in a process that the gate starts and watches.

use std::cell::{Cell, RefCell};
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::gateway::{Client, calls, heard, patient, text};
use super::{configure, everything, fake};
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::claude::Claude;
use crate::support::connection::Target;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::{Answer, Request};
use crate::support::running::{children_of, is_alive};
use crate::support::sse::Events;
use crate::support::until;

/// A client over HTTP that writes each request itself.
pub(super) struct HttpClient {
    pub(super) target: Target,
    token: String,
    path: String,
    session: RefCell<Option<String>>,
    last: Cell<u64>,
}

/// One call that is under way.
pub(super) struct Waiting {
    id: u64,
    events: Events,
}

impl Waiting {
    /// All that comes on the stream of the call, with the answer as the last.
    #[track_caller]
    pub(super) fn all_until_answer(&self) -> Vec<Value> {
        let mut all: Vec<Value> = vec![];
        while all.last().is_none_or(|message| message["id"] != self.id) {
            let is_message = |data: &str| serde_json::from_str::<Value>(data).is_ok();
            let event = self.events.wait_for(|event| is_message(&event.data));
            all.push(serde_json::from_str(&event.data).unwrap());
        }
        all
    }

    #[track_caller]
    pub(super) fn answer(&self) -> Value {
        let is_it = |message: &Value| message["id"] == self.id && message.get("method").is_none();
        let event = self.events.wait_for(|event| serde_json::from_str(&event.data).is_ok_and(|it| is_it(&it)));
        serde_json::from_str(&event.data).unwrap()
    }
}

impl HttpClient {
    fn new(home: &Home, gate: &Gate, name: &str, path: &str) -> Self {
        let token = home.token_for(name, "agent");
        Self { target: gate.target(), token, path: path.to_owned(), session: RefCell::default(), last: Cell::new(0) }
    }

    /// One that has a session.
    #[track_caller]
    pub(super) fn start(home: &Home, gate: &Gate, name: &str, path: &str) -> Self {
        let client = Self::new(home, gate, name, path);
        client.initialize();
        client
    }

    #[track_caller]
    fn initialize(&self) {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "tester", "version": "1"}});
        let answer =
            self.post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).expect(200);
        *self.session.borrow_mut() = Some(answer.header("mcp-session-id").unwrap().to_owned());
        assert!(answer.text().contains("\"name\":\"portcullis\""), "{answer}");
        self.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).expect(202);
    }

    pub(super) fn request(&self, method: &str) -> Request {
        let request = Request::new(method, &self.path).token(&self.token);
        let request = request.header("Accept", "application/json, text/event-stream");
        match &*self.session.borrow() {
            Some(session) => request.header("Mcp-Session-Id", session).header("MCP-Protocol-Version", "2025-11-25"),
            None => request,
        }
    }

    pub(super) fn post(&self, message: &Value) -> Answer {
        self.request("POST").json(message).send(&self.target)
    }

    /// Goes on in the session of another.
    pub(super) fn take_session_of(&self, other: &Self) {
        *self.session.borrow_mut() = other.session.borrow().clone();
    }

    /// The same client once more.
    fn same(&self) -> Self {
        let (target, token, path) = (self.target.clone(), self.token.clone(), self.path.clone());
        Self { target, token, path, session: self.session.clone(), last: self.last.clone() }
    }

    /// Sends a request and returns while it is being answered.
    #[track_caller]
    pub(super) fn send(&self, method: &str, params: &Value) -> Waiting {
        self.last.set(self.last.get() + 1);
        let id = self.last.get();
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        Waiting { id, events: Events::answering(&self.target, &self.request("POST").json(&message)) }
    }

    #[track_caller]
    pub(super) fn call(&self, tool: &str, arguments: &Value) -> Waiting {
        self.send("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    #[track_caller]
    pub(super) fn tools(&self) -> Vec<String> {
        let listed = self.send("tools/list", &json!({})).answer();
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// One whose waits are short, and whose heartbeats come often.
fn lively() -> Home {
    let home = patient();
    home.fix("PORTCULLIS_TEST_MCP_HEARTBEAT", 20);
    home
}

#[test]
fn a_call_over_http_waits_for_a_person_with_a_stream_that_is_kept_open() {
    let home = lively();
    let gate = home.serve();
    let (entry, file) = heard(&home, "none");
    configure(&home, &json!({"real": everything(), "fake": entry}));
    let client = HttpClient::start(&home, &gate, "cursor", "/mcp");
    let tools = client.tools();
    assert!(tools.contains(&"real__echo".to_owned()) && tools.contains(&"fake__echo".to_owned()), "{tools:?}");
    let session = home.attached(1).remove(0);
    assert_eq!((&session["connected_by"], &session["label"]), (&json!("gateway"), &json!("cursor")), "{session}");

    // The stream is there although nobody has answered; without a token of progress it has comments.
    let called = client.call("fake__echo", &json!({"n": 1}));
    let ask = gate.only_ask();
    assert_eq!((&ask["tool"], &ask["input"]), (&json!("mcp__fake__echo"), &json!({"n": 1})), "{ask}");
    called.events.comment();
    called.events.comment();
    gate.allow(&ask);
    assert_eq!(text(&called.answer()), r#"echo {"n":1}"#);
    assert_eq!(calls(&file), 1);

    // With one it has progress, which goes on.
    let params = json!({"name": "fake__echo", "arguments": {"n": 2}, "_meta": {"progressToken": "mine"}});
    let called = client.send("tools/call", &params);
    let ask = gate.only_ask();
    let beats = [(); 2].map(|()| called.events.containing("notifications/progress").data);
    let [first, second] = beats.map(|beat| serde_json::from_str::<Value>(&beat).unwrap()["params"].clone());
    assert_eq!(first["progressToken"], "mine");
    assert!(second["progress"].as_f64().unwrap() > first["progress"].as_f64().unwrap(), "{first} {second}");
    gate.answer(&ask, &json!({"behavior": "deny", "why": "not on a Friday"}));
    let denied = called.answer();
    assert_eq!((text(&denied), &denied["result"]["isError"]), ("Denied: not on a Friday", &json!(true)));
    assert_eq!(calls(&file), 1);

    client.request("DELETE").send(&client.target).expect(202);
    home.attached(0);
    client.post(&json!({"jsonrpc": "2.0", "id": 9, "method": "tools/list"})).expect(404);
}

#[test]
fn a_session_has_its_id_however_long_its_servers_take() {
    let home = lively();
    home.fix("PORTCULLIS_TEST_MCP_SOON", 0);
    let gate = home.serve();
    let mut entry = fake("none");
    entry["env"] = json!({"INSTRUCTIONS": "Use it."});
    configure(&home, &json!({"fake": entry}));
    let client = HttpClient::start(&home, &gate, "cursor", "/mcp");
    assert_eq!(client.tools(), ["fake__echo"]);
}

/// The one wait of real length: Claude Code gives up on a request over HTTP that has no first byte after 60 s, and no other
/// limit of its own may end a call before a person has answered. Nothing but the client's own clock can show that, so this
/// test lets 90 s pass. It uses no processor meanwhile, and others run beside it.
#[test]
fn the_real_cli_over_http_waits_ninety_seconds_for_a_person() {
    let home = patient();
    let gate = home.serve();
    configure(&home, &json!({"real": everything()}));
    let model = Model::start(vec![
        Rule::on_text("go").call("mcp__gate__real__echo", json!({"message": "first"})).once(),
        Rule::on_result("Echo: first").call("mcp__gate__real__echo", json!({"message": "second"})).once(),
        Rule::on_result("Denied").say("done: $RESULT"),
    ]);
    let headers = json!({"Authorization": format!("Bearer {}", home.token_for("claude", "agent"))});
    let url = format!("http://{}/mcp", gate.address());
    let config = json!({"mcpServers": {"gate": {"type": "http", "url": url, "headers": headers}}});
    let claude = Claude::headless(&home, &model, "go", &config, &["--allowedTools", "mcp__gate"]);
    let ask = gate.open_ask();
    std::thread::sleep(Duration::from_secs(90));
    assert_eq!(gate.only_ask()["code"], ask["code"], "it is the same call, and it still waits");
    gate.allow(&ask);
    let second = until("the second prompt", || gate.asks().into_iter().find(|ask| ask["input"]["message"] == "second"));
    gate.answer(&second, &json!({"behavior": "deny", "why": "once is enough"}));
    let said = claude.wait().ok().stdout;
    assert!(said.starts_with("done: Denied: once is enough"), "{said}");
}

#[test]
fn servers_that_were_given_to_the_gateway_alone_are_offered_without_any_file_of_a_client() {
    let home = lively();
    let gate = home.serve();
    let of_client = || fs::read_to_string(home.user().join(".claude.json")).ok();
    let entry = fake("none");
    let words: Vec<&str> = entry["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let command = [&["--", entry["command"].as_str().unwrap()], &words[..]].concat();
    home.run(&[&["mcp", "add", "mine", "--scope", "gateway"], &command[..]].concat()).ok();
    // Servers of a folder belong to that folder, and are not offered here.
    home.run(&[&["mcp", "add", "local", "--scope", "local"], &command[..]].concat()).ok();
    home.run(&[&["mcp", "add", "project", "--scope", "project"], &command[..]].concat()).ok();
    assert_eq!(super::listed(&home, "project")["state"], "connected");
    let client = HttpClient::start(&home, &gate, "cursor", "/mcp");
    assert_eq!(client.tools(), ["mine__echo"]);
    for (name, scope) in [("local", "local"), ("project", "project")] {
        home.run(&["mcp", "remove", name, "--scope", scope]).ok();
    }
    let before = of_client();
    let called = client.call("mine__echo", &json!({"a": 1}));
    let ask = gate.only_ask();
    assert_eq!(ask["tool"], "mcp__mine__echo");
    gate.allow(&ask);
    assert_eq!(text(&called.answer()), "echo {\"a\":1}");
    home.run(&["mcp", "adopt", "mine"]).refused(2, "mine is behind the gateway");
    assert_eq!(Client::start(&home, &[]).tools(), ["mine__echo"], "a client on standard streams has them as well");
    fs::remove_file(home.folder().join("mcp.json")).unwrap();
    until("a server that is gone", || client.tools().is_empty().then_some(()));
    assert_eq!(of_client(), before, "no file of a client was changed");
}

#[test]
fn one_server_over_http_keeps_its_names_and_search_offers_three_tools() {
    let home = patient();
    let gate = home.serve();
    configure(&home, &json!({"real": everything(), "fake": fake("none")}));
    home.run(&["rules", "add", "deny", "mcp__real__get-env"]).ok();
    let one = HttpClient::start(&home, &gate, "one", "/mcp/real");
    let tools = one.tools();
    assert!(tools.contains(&"echo".to_owned()) && !tools.contains(&"get-env".to_owned()), "{tools:?}");

    let search = HttpClient::start(&home, &gate, "many", "/mcp?search=true");
    assert_eq!(search.tools(), ["find_tools", "describe_tool", "call_tool"]);
    let found = search.call("find_tools", &json!({"words": "echo env"})).answer();
    let found = &found["result"]["structuredContent"]["tools"];
    let names: Vec<&str> = found.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"real__echo") && names.contains(&"fake__echo"), "{names:?}");
    assert!(!names.contains(&"real__get-env"), "a denied tool is not found: {names:?}");
    let described = search.call("describe_tool", &json!({"name": "real__echo"})).answer();
    assert!(
        described["result"]["structuredContent"]["inputSchema"]["properties"]["message"].is_object(),
        "{described}"
    );
    let denied = search.call("call_tool", &json!({"name": "real__get-env", "arguments": {}})).answer();
    assert!(text(&denied).contains("mcp__real__get-env"), "{denied}");
    // The person, the rules and the log know the tool that is meant.
    let called = search.call("call_tool", &json!({"name": "real__echo", "arguments": {"message": "hi"}}));
    let ask = gate.only_ask();
    assert_eq!((&ask["tool"], &ask["input"]), (&json!("mcp__real__echo"), &json!({"message": "hi"})), "{ask}");
    gate.allow(&ask);
    assert_eq!(text(&called.answer()), "Echo: hi");
}

#[test]
fn an_allow_that_comes_when_the_client_gave_up_counts_once_for_the_same_call() {
    let home = lively();
    let gate = home.serve();
    let (entry, file) = heard(&home, "none");
    configure(&home, &json!({"fake": entry}));
    let client = HttpClient::start(&home, &gate, "cursor", "/mcp");
    let called = client.call("fake__echo", &json!({"n": 1}));
    let ask = gate.only_ask();
    drop(called);
    // Nobody listens any more: the prompt stays, and its answer waits for the same call.
    until("the gateway knows", || gate.stderr().contains("no longer waits").then_some(()));
    gate.allow(&ask);
    gate.ask_when(&ask, |ask| ask["state"] == "answered");
    assert_eq!(calls(&file), 0, "nobody would hear the result");
    let other = client.call("fake__echo", &json!({"n": 2}));
    let second = gate.only_ask();
    assert_eq!(second["input"], json!({"n": 2}));
    assert_eq!(text(&client.call("fake__echo", &json!({"n": 1})).answer()), r#"echo {"n":1}"#);
    assert_eq!(calls(&file), 1);
    gate.answer(&second, &json!({"behavior": "deny"}));
    assert!(text(&other.answer()).starts_with("Denied"));
    // Once: it is asked for again.
    let again = client.call("fake__echo", &json!({"n": 1}));
    gate.answer(&gate.only_ask(), &json!({"behavior": "deny"}));
    assert!(text(&again.answer()).starts_with("Denied"));
    assert_eq!(calls(&file), 1);
}

#[test]
fn a_client_that_ends_its_session_is_asked_for_nothing_more_and_no_call_of_its_is_made() {
    let home = lively();
    let gate = home.serve();
    let (entry, file) = heard(&home, "none");
    configure(&home, &json!({"fake": entry}));
    let client = HttpClient::start(&home, &gate, "cursor", "/mcp");
    let called = client.call("fake__echo", &json!({"n": 1}));
    let ask = gate.only_ask();
    client.request("DELETE").send(&client.target).expect(202);
    // At once: it may still be recorded, and is for nobody.
    gate.verdict(ask["id"].as_str().unwrap(), &json!({"behavior": "allow"}));
    home.attached(0);
    assert_eq!(calls(&file), 0);
    assert!(gate.asks().iter().all(|ask| ask["state"] != "open"), "{:?}", gate.asks());
    client.post(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping"})).expect(404);
    drop(called);
}

#[test]
fn a_session_is_used_at_the_address_at_which_it_was_begun() {
    let home = patient();
    let gate = home.serve();
    configure(&home, &json!({"fake": fake("none"), "other": fake("none")}));
    let client = HttpClient::start(&home, &gate, "cursor", "/mcp/fake");
    let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"});
    for path in ["/mcp", "/mcp/other", "/mcp/fake?search=true"] {
        let elsewhere = HttpClient { path: path.to_owned(), ..client.same() };
        elsewhere.post(&ping).expect(404);
    }
    client.post(&ping).expect(200);
}

#[test]
fn when_a_gate_starts_nobody_is_asked_for_clients_over_http_that_it_cut_off() {
    let home = lively();
    let gate = home.serve();
    configure(&home, &json!({"fake": fake("none")}));
    let client = HttpClient::start(&home, &gate, "cursor", "/mcp");
    let called = client.call("fake__echo", &json!({"n": 1}));
    let ask = gate.only_ask();
    gate.kill_9();
    let gate = home.serve();
    assert_eq!(gate.ask(ask["id"].as_str().unwrap())["state"], "withdrawn");
    home.attached(0);
    assert_ne!(gate.verdict(ask["id"].as_str().unwrap(), &json!({"behavior": "allow"})).status, 200);
    drop(called);
}

#[test]
fn one_client_does_not_take_the_places_of_all() {
    let home = patient();
    home.fix("PORTCULLIS_TEST_MCP_OF_ONE", 2);
    let gate = home.serve();
    configure(&home, &json!({"fake": fake("none")}));
    let greedy = HttpClient::start(&home, &gate, "greedy", "/mcp");
    let first = greedy.session.borrow_mut().take();
    greedy.initialize();
    greedy.session.borrow_mut().take();
    let hello = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"});
    assert_eq!(greedy.post(&hello).expect(429).json()["error"], 42911);
    HttpClient::start(&home, &gate, "modest", "/mcp");
    // A session that ends makes place for another.
    *greedy.session.borrow_mut() = first;
    greedy.request("DELETE").send(&greedy.target);
    greedy.session.borrow_mut().take();
    greedy.initialize();
}

#[test]
fn a_gateway_without_a_place_says_so_and_has_one_when_a_client_leaves() {
    let home = patient();
    home.fix("PORTCULLIS_TEST_MCP_CLIENTS", 1);
    let gate = home.serve();
    configure(&home, &json!({"fake": fake("none")}));
    let first = HttpClient::start(&home, &gate, "first", "/mcp");
    let second = HttpClient::new(&home, &gate, "second", "/mcp");
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "tester", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let refused = second.post(&hello).expect(503);
    assert_eq!((refused.json()["error"].as_u64(), refused.header("retry-after")), (Some(50306), Some("30")));
    first.request("DELETE").send(&first.target);
    until("there is a place", || (second.post(&hello).status == 200).then_some(()));
}

#[test]
fn who_has_no_token_for_it_is_not_let_in_and_a_session_is_its_tokens_own() {
    let home = patient();
    let gate = home.serve();
    configure(&home, &json!({"fake": fake("none")}));
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let post = |token: Option<&str>| {
        let request = Request::post("/mcp").header("Accept", "application/json, text/event-stream").json(&ping);
        token.map_or(request.clone(), |token| request.token(token)).send(&gate.target())
    };
    let stranger = post(None).expect(401);
    assert_eq!(stranger.header("www-authenticate"), Some("Bearer realm=\"portcullis\""));
    post(Some(home.token())).expect(403);
    post(Some(&home.token_for("ann", "reviewer"))).expect(403);
    let client = HttpClient::start(&home, &gate, "one", "/mcp");
    let other = HttpClient::new(&home, &gate, "two", "/mcp");
    other.take_session_of(&client);
    other.post(&ping).expect(404);
    client.post(&ping).expect(200);
}

#[test]
fn the_process_of_the_servers_ends_with_the_gate_and_is_started_again_when_it_is_killed() {
    let home = Home::without_auto_start();
    home.fix("PORTCULLIS_TEST_MCP_LIST", 60_000);
    let gate = home.serve();
    let starts = home.user().join("starts");
    let mut entry = fake("none");
    entry["env"] = json!({"STARTS": starts});
    configure(&home, &json!({"fake": entry}));
    let client = HttpClient::start(&home, &gate, "cursor", "/mcp");
    client.tools();
    let started = || -> Vec<u32> {
        let text = fs::read_to_string(&starts).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    let server = started()[0];
    let host = host_of(gate.pid());
    kill_process(Pid::from_raw(host.cast_signed()).unwrap(), Signal::KILL).unwrap();
    until("its servers went with it", || (!is_alive(server)).then_some(()));
    // The client is told that its session is gone, and begins another.
    until("a new process", || {
        (client.post(&json!({"jsonrpc": "2.0", "id": 7, "method": "ping"})).status == 404).then_some(())
    });
    *client.session.borrow_mut() = None;
    client.initialize();
    client.tools();
    let (host, server) = (host_of(gate.pid()), *started().last().unwrap());
    gate.kill_9();
    until("both ended", || (!is_alive(host) && !is_alive(server)).then_some(()));
}

/// The process that holds the servers, as the gate's child.
#[track_caller]
pub(super) fn host_of(gate: u32) -> u32 {
    until("the host", || {
        let hosts =
            children_of(gate).into_iter().find(|child| child.args.get(1..3) == Some(&["mcp".into(), "host".into()]));
        hosts.map(|host| host.pid)
    })
}
