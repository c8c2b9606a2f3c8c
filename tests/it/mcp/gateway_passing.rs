//! What the gateway passes on besides calls, what a person allows for longer than once, and a gate that goes away.

use std::fs;

use serde_json::{Value, json};

use super::gateway::{Client, calls, heard, patient, text};
use super::gateway_http::HttpClient;
use super::{clone_with, configure, everything, fake, node};
use crate::support::PATIENCE;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::sse::Events;
use crate::support::until;

#[test]
fn resources_prompts_and_what_servers_say_reach_the_client() {
    let home = patient();
    let gate = home.serve();
    configure(&home, &json!({"real": everything(), "fake": fake("none")}));
    home.run(&["rules", "add", "allow", "mcp__real"]).ok();
    let client = Client::able(&home, &[], &json!({"elicitation": {}, "sampling": {}}));
    let resources = client.ask("resources/list", &json!({}));
    let resource = resources["result"]["resources"][0]["uri"].as_str().unwrap_or_else(|| panic!("{resources}"));
    let read = client.ask("resources/read", &json!({"uri": resource}));
    assert!(read["result"]["contents"][0]["uri"] == resource, "{read}");
    let templates = client.ask("resources/templates/list", &json!({}));
    assert!(!templates["result"]["resourceTemplates"].as_array().unwrap().is_empty(), "{templates}");
    let text_at = client.ask("resources/read", &json!({"uri": "demo://resource/dynamic/text/1"}));
    assert!(text_at["result"]["contents"][0]["text"].is_string(), "{text_at}");
    let unknown = client.ask("resources/read", &json!({"uri": "nowhere://x"}));
    assert_eq!(unknown["error"]["code"], -32002, "{unknown}");
    let prompts = client.ask("prompts/list", &json!({}));
    let prompts: Vec<&str> =
        prompts["result"]["prompts"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert!(prompts.contains(&"real__simple-prompt"), "{prompts:?}");
    let prompt = client.ask("prompts/get", &json!({"name": "real__simple-prompt"}));
    assert!(prompt["result"]["messages"][0]["content"]["text"].is_string(), "{prompt}");

    // Its tools that need a person at the client come once the server knows that there is one. No model is lent.
    let tools = until("the tool that asks", || {
        Some(client.tools()).filter(|tools| tools.iter().any(|tool| tool == "real__trigger-elicitation-request"))
    });
    assert!(!tools.iter().any(|tool| tool.contains("sampling")), "{tools:?}");
    let called = client.call("real__trigger-elicitation-request", &json!({}));
    let asked = client.message(|message| message["method"] == "elicitation/create");
    client.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}}));
    let answer = client.answer(called);
    assert!(answer["result"]["content"].to_string().contains("decline"), "{answer}");

    let meta = json!({"progressToken": "mine"});
    let arguments = json!({"duration": 0.1, "steps": 2});
    let params = json!({"name": "real__trigger-long-running-operation", "arguments": arguments, "_meta": meta});
    let called = client.send("tools/call", &params);
    let is_first =
        |message: &Value| message["method"] == "notifications/progress" && message["params"]["progress"] == 1.0;
    assert_eq!(client.message(is_first)["params"]["progressToken"], "mine");
    assert!(text(&client.answer(called)).contains("completed"));
    assert!(gate.asks().is_empty());
}

#[test]
fn completions_and_logging_pass_and_each_client_hears_its_own() {
    let home = patient();
    let _gate = home.serve();
    let starts = home.user().join("starts");
    let mut entry = fake("asks");
    entry["env"] = json!({"STARTS": starts});
    configure(&home, &json!({"real": everything(), "fake": entry}));
    home.run(&["rules", "add", "allow", "mcp__fake"]).ok();
    let clients = [Client::start(&home, &[]), Client::start(&home, &[])];
    let about = json!({"type": "ref/prompt", "name": "real__completable-prompt"});
    let params = json!({"ref": about, "argument": {"name": "department", "value": "E"}});
    let completed = clients[0].ask("completion/complete", &params);
    assert_eq!(completed["result"]["completion"]["values"], json!(["Engineering"]), "{completed}");
    let context = json!({"arguments": {"department": "Sales"}});
    let params = json!({"ref": about, "argument": {"name": "name", "value": ""}, "context": context});
    let completed = clients[0].ask("completion/complete", &params);
    assert_eq!(completed["result"]["completion"]["values"], json!(["David", "Eve", "Frank"]), "{completed}");
    let unknown = json!({"ref": {"type": "ref/prompt", "name": "real__none"}, "argument": {"name": "a", "value": ""}});
    assert_eq!(clients[0].ask("completion/complete", &unknown)["error"]["code"], -32602);

    assert!(clients[0].ask("logging/setLevel", &json!({"level": "debug"}))["result"].is_object());
    for (client, who) in clients.iter().zip(["ann", "bob"]) {
        let params =
            json!({"name": "fake__echo", "arguments": {"do": "log", "who": who}, "_meta": {"progressToken": 1}});
        let called = client.send("tools/call", &params);
        // The first that this client hears: nothing of the other's came before.
        let logged = client.message(|message| message["method"] == "notifications/message");
        assert_eq!(logged["params"]["data"], format!("of {who}"));
        client.answer(client.call("fake__echo", &json!({"do": "release"})));
        assert_eq!(text(&client.answer(called)), "logged");
    }
}

#[test]
fn what_the_protocol_knows_nothing_of_passes_from_a_server_to_its_client_and_not_back() {
    let home = patient();
    let _gate = home.serve();
    let (entry, file) = heard(&home, "custom");
    configure(&home, &json!({"fake": entry}));
    home.run(&["rules", "add", "allow", "mcp__fake"]).ok();
    let client = Client::able(&home, &["--server", "fake"], &json!({"roots": {"listChanged": true}}));
    let called = client.call("echo", &json!({}));
    // The first that it hears: events of channels are for sessions that were told to hear them.
    let told = client.message(|message| message.get("method").is_some());
    assert_eq!((&told["method"], &told["params"]), (&json!("notifications/acme/thing"), &json!({"a": 1})));
    let result = client.answer(called)["result"].clone();
    assert_eq!(result, json!({"content": [{"type": "text", "text": "told", "acme": "part"}], "acme": "result"}));
    let listed = client.ask("tools/list", &json!({}))["result"].clone();
    assert_eq!((&listed["tools"][0]["acme"], listed.get("_meta")), (&json!("tool"), None), "{listed}");
    // No rule has a name for what a client would have a server do by a word of its own.
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/acme/other", "params": {"b": 2}}));
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    let is_told = |text: &String| text.contains("notifications/roots/list_changed");
    let heard = until("what the client says", || fs::read_to_string(&file).ok().filter(is_told));
    assert!(!heard.contains("acme/other"), "{heard}");
}

#[test]
fn what_the_protocol_knows_nothing_of_passes_over_http_as_well() {
    let home = patient();
    let gate = home.serve();
    configure(&home, &json!({"fake": fake("custom")}));
    home.run(&["rules", "add", "allow", "mcp__fake"]).ok();
    let result = json!({"content": [{"type": "text", "text": "told", "acme": "part"}], "acme": "result"});
    let client = HttpClient::start(&home, &gate, "cursor", "/mcp/fake");
    assert_eq!(client.call("echo", &json!({})).answer()["result"], result);
    let listed = client.send("tools/list", &json!({})).answer()["result"].clone();
    assert_eq!((&listed["tools"][0]["acme"], listed.get("_meta")), (&json!("tool"), None), "{listed}");
    // A client without a session, for which rmcp writes in another place.
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"}});
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "echo", "arguments": {}, "_meta": meta}});
    let request = Request::post("/mcp/fake").token(&home.token_for("ann", "agent"));
    let request = request.header("Accept", "application/json, text/event-stream").header("Mcp-Name", "echo");
    let request = request.header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", "tools/call");
    let answer = Events::answering(&gate.target(), &request.json(&message)).containing("acme\":\"result");
    let mut answer: Value = serde_json::from_str(&answer.data).unwrap();
    let said = answer["result"].as_object_mut().unwrap().remove("resultType");
    assert_eq!((said, &answer["result"]), (Some(json!("complete")), &result));
}

#[test]
fn a_call_that_wants_an_address_first_is_asked_for_once() {
    let home = patient();
    let gate = home.serve();
    configure(&home, &json!({"fake": fake("visit")}));
    let client = Client::able(&home, &[], &json!({"elicitation": {"url": {}}}));
    let called = client.call("fake__echo", &json!({"n": 1}));
    gate.allow(&gate.only_ask());
    let first = client.answer(called);
    assert_eq!(first["error"]["code"], -32042, "{first}");
    assert_eq!(first["error"]["data"]["elicitations"][0]["url"], "https://example.org/form", "{first}");
    assert_eq!(text(&client.answer(client.call("fake__echo", &json!({"n": 1})))), r#"echo {"n":1}"#);
    assert_eq!(gate.asks().len(), 1);
    // Once: another such call is another.
    let called = client.call("fake__echo", &json!({"n": 1}));
    let second = until("another prompt", || gate.asks().into_iter().find(|ask| ask["state"] == "open"));
    gate.allow(&second);
    client.answer(called);
}

#[test]
fn a_server_that_wants_an_address_each_time_has_one_yes_for_four_calls_and_what_a_rule_allowed_is_judged_again() {
    let home = patient();
    let gate = home.serve();
    configure(&home, &json!({"fake": fake("visits")}));
    let client = Client::able(&home, &[], &json!({"elicitation": {"url": {}}}));
    let call = || client.call("fake__echo", &json!({"n": 1}));
    let refused = |called: u64| assert_eq!(client.answer(called)["error"]["code"], -32042);
    let called = call();
    gate.allow(&gate.only_ask());
    refused(called);
    for _ in 0..3 {
        refused(call());
    }
    assert_eq!(gate.asks().len(), 1);
    let made = until("the journal", || Some(home.records("called")).filter(|made| made.len() == 4));
    assert!(made.iter().all(|call| call["decided_by"] == "person"), "{made:#?}");
    let fifth = call();
    let is_open = |ask: &Value| ask["state"] == "open";
    gate.allow(&until("another prompt", || gate.asks().into_iter().find(is_open)));
    refused(fifth);
    // Allowed by a rule, which is gone when the call is made again.
    let other = || client.call("fake__echo", &json!({"n": 2}));
    let rules = home.folder().join("rules.toml");
    fs::write(&rules, "[[rule]]\nallow = \"mcp__fake\"\n").unwrap();
    refused(other());
    fs::write(&rules, "").unwrap();
    let again = other();
    gate.allow(&until("a third prompt", || gate.asks().into_iter().find(is_open)));
    refused(again);
}

#[test]
fn what_passes_besides_calls_and_calls_of_unknown_outcome_are_in_the_journal() {
    let home = patient();
    let _gate = home.serve();
    let starts = home.user().join("starts");
    let mut asks = fake("asks");
    asks["env"] = json!({"STARTS": starts});
    configure(&home, &json!({"real": everything(), "asks": asks, "dies": fake("die")}));
    for server in ["mcp__asks", "mcp__dies"] {
        home.run(&["rules", "add", "allow", server]).ok();
    }
    let client = Client::able(&home, &[], &json!({"elicitation": {}}));
    client.ask("resources/read", &json!({"uri": "demo://resource/dynamic/text/1"}));
    client.ask("prompts/get", &json!({"name": "real__simple-prompt"}));
    let called = client.call("asks__echo", &json!({"do": "ask", "who": "ann"}));
    let asked = client.message(|message| message["method"] == "elicitation/create");
    client.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"word": "w"}}}));
    assert_eq!(text(&client.answer(called)), "w");
    assert!(text(&client.answer(client.call("dies__echo", &json!({})))).contains("unknown outcome"));
    let is_there = |called: &Vec<Value>| called.iter().any(|call| call["outcome"] == "unknown");
    let called = until("the journal", || Some(home.records("called")).filter(is_there));
    let of = |tool: &str| {
        let found = called.iter().find(|call| call["tool"] == tool);
        let found = found.unwrap_or_else(|| panic!("{tool} is not in {called:#?}"));
        found["outcome"].as_str().unwrap().to_owned()
    };
    let told = home.run(&["log"]).ok().stdout;
    for (tool, what) in [
        ("resources/read", "demo://resource/dynamic/text/1, of the MCP server real"),
        ("prompts/get", "simple-prompt, of the MCP server real"),
        ("elicitation/create", "for ann, of the MCP server asks"),
    ] {
        assert_eq!(of(tool), "ran");
        assert!(told.contains(&format!("ran {tool}: {what}")), "{told}");
    }
    assert_eq!(of("mcp__dies__echo"), "unknown");
    assert!(told.contains("begun, and nobody knows how far it ran: mcp__dies__echo"), "{told}");
}

#[test]
fn what_a_server_says_before_its_result_reaches_the_client_before_it() {
    let home = patient();
    let gate = home.serve();
    configure(&home, &json!({"fake": fake("chatty")}));
    home.run(&["rules", "add", "allow", "mcp__fake"]).ok();
    // In this order: what a client on standard streams is started by makes no tokens.
    let far = HttpClient::start(&home, &gate, "far", "/mcp");
    let near = Client::start(&home, &[]);
    let steps: Vec<u64> = (1..=20).collect();
    for round in 0..10 {
        let params = json!({"name": "fake__echo", "arguments": {}, "_meta": {"progressToken": round}});
        let called = near.send("tools/call", &params);
        let mut said = vec![];
        while said.last().is_none_or(|message: &Value| message["id"] != called) {
            said.push(near.message(|_| true));
        }
        // Over HTTP what is logged has a stream of its own, as it belongs to no request.
        for (said, logs) in [(said, true), (far.send("tools/call", &params).all_until_answer(), false)] {
            let of = |method: &str, key: &str| -> Vec<u64> {
                let told = said.iter().filter(|message| message["method"] == method);
                // Between them there may be a sign of life of our own, which is no whole step.
                told.filter_map(|message| message["params"][key].as_f64())
                    .filter(|step| *step >= 1.0)
                    .map(|step| step as u64)
                    .collect()
            };
            assert_eq!(of("notifications/progress", "progress"), steps, "{said:#?}");
            assert!(!logs || of("notifications/message", "data") == steps, "{said:#?}");
        }
    }
}

#[test]
fn a_call_that_waits_is_heard_of_and_nothing_over_16_mib_passes() {
    let home = patient();
    home.fix("PORTCULLIS_TEST_MCP_HEARTBEAT", 20);
    let gate = home.serve();
    configure(&home, &json!({"fake": fake("huge")}));
    let client = Client::start(&home, &[]);
    let params = json!({"name": "fake__echo", "arguments": {"bytes": 17_000_000}, "_meta": {"progressToken": "mine"}});
    let called = client.send("tools/call", &params);
    let ask = gate.only_ask();
    let beat = || client.message(|message| message["method"] == "notifications/progress")["params"].clone();
    let beats = [beat(), beat()];
    assert_eq!(beats[0]["progressToken"], "mine");
    assert!(beats[1]["progress"].as_f64() > beats[0]["progress"].as_f64(), "{beats:?}");
    gate.allow(&ask);
    let answer = client.answer(called);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text(&answer).contains("a result of 17000"), "{answer}");
    // As much as is passed on comes whole.
    let called = client.call("fake__echo", &json!({"bytes": 16_000_000}));
    gate.allow(&gate.only_ask());
    let answer = client.answer(called);
    assert_eq!(text(&answer).len(), 16_000_000);
    // A message of the client has the same limit; it is told, and goes on.
    let refused = client.send("tools/call", &json!({"name": "fake__echo", "arguments": {"x": "x".repeat(17 << 20)}}));
    let answer = client.message(|message| message["error"]["message"].is_string());
    assert!(answer["error"]["message"].as_str().unwrap().contains("16777216"), "{refused} {answer}");
    assert_eq!(client.tools(), ["fake__echo"]);
}

#[test]
fn what_is_always_allowed_is_asked_again_when_the_server_describes_it_otherwise() {
    let home = patient();
    let gate = home.serve();
    let file = home.user().join("description");
    fs::write(&file, "Reads a file").unwrap();
    let mut entry = fake("described");
    entry["env"] = json!({"DESCRIPTION": file});
    configure(&home, &json!({"fake": entry}));
    let client = Client::start(&home, &[]);
    client.tools();
    let called = client.call("fake__echo", &json!({"n": 1}));
    let ask = gate.only_ask();
    let offers: Vec<&str> = ask["offers"].as_array().unwrap().iter().map(|it| it["scope"].as_str().unwrap()).collect();
    assert_eq!(offers, ["session", "always"], "{ask}");
    gate.answer(&ask, &json!({"behavior": "allow", "scope": "always"}));
    text(&client.answer(called));
    // Other arguments, another client: nobody is asked.
    text(&client.answer(client.call("fake__echo", &json!({"n": 2}))));
    let other = Client::start(&home, &[]);
    text(&other.answer(other.call("fake__echo", &json!({"n": 3}))));
    assert_eq!(gate.asks().len(), 1);
    let outcomes = until("the calls in the log", || Some(home.records("called")).filter(|calls| calls.len() == 3));
    let decided: Vec<&Value> = outcomes.iter().map(|call| &call["decided_by"]).collect();
    assert_eq!(decided, ["person", "rule always allowed", "rule always allowed"]);
    fs::write(&file, "Deletes a file").unwrap();
    let third = Client::start(&home, &[]);
    let called = third.call("fake__echo", &json!({"n": 4}));
    let again = gate.only_ask();
    assert_eq!(again["input"], json!({"n": 4}));
    gate.answer(&again, &json!({"behavior": "deny"}));
    assert!(text(&third.answer(called)).starts_with("Denied"));
}

#[test]
fn a_call_that_waits_for_a_person_outlives_the_gate() {
    let home = Home::without_auto_start();
    home.fix("PORTCULLIS_TEST_MCP_LIST", 60_000);
    let gate = home.serve();
    let (entry, file) = heard(&home, "none");
    configure(&home, &json!({"fake": entry}));
    let client = Client::start(&home, &[]);
    let called = client.call("fake__echo", &json!({"n": 1}));
    let ask = gate.only_ask();
    let gate = home.restart(&gate);
    gate.allow(&ask);
    assert_eq!(text(&client.answer(called)), r#"echo {"n":1}"#);
    assert_eq!(calls(&file), 1);
}

#[test]
fn adopted_servers_are_behind_the_gateway_and_come_back_to_the_byte() {
    let home = patient();
    let gate = home.serve();
    let file = home.user().join(".claude.json");
    let (script, node) = (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fakes/mcp-server.js"), node());
    let before = format!(
        "{{ \"numStartups\": 3,\n\t\"mcpServers\": {{\"fake\":   {{ \"command\": \"{node}\" ,\n \"args\": [\"{script}\",\"none\"] }},\n \
         \"other\": {{\"type\":\"http\",\"url\":\"https://example.org/mcp\"}} }} }}"
    );
    fs::write(&file, &before).unwrap();
    assert!(home.run(&["doctor"]).stdout.contains("past the gateway: fake, other"));
    clone_with(&home, &json!({"theirs": fake("none")}));
    let advice = home.run(&["doctor"]).stdout;
    assert!(advice.contains("past the gateway: fake, other, theirs (project)"), "{advice}");
    fs::remove_file(home.project().join(".mcp.json")).unwrap();
    home.run(&["mcp", "adopt", "nobody"]).refused_usage();
    let copy = home.user().join(".local/bin/portcullis");
    assert!(!copy.exists(), "a mistyped name changes nothing");
    let adopted = home.run(&["mcp", "adopt", "fake"]).ok();
    assert!(copy.exists(), "{}", adopted.stdout);
    assert!(adopted.stdout.contains("fake is behind the gateway now"), "{}", adopted.stdout);
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(written["mcpServers"]["fake"]["args"], json!(["mcp", "serve", "--server", "fake"]), "{written}");
    assert_eq!(written["mcpServers"]["other"]["type"], "http");
    assert!(home.run(&["mcp", "adopt", "fake"]).ok().stdout.contains("already"));
    let again = home.run(&["mcp", "adopt", "fake", "--json"]).ok().json();
    assert_eq!(again, json!([{"name": "fake", "file": file, "changed": false}]));
    // To us it is still the server that it was.
    assert_eq!(super::listed(&home, "fake")["state"], "connected");
    let client = Client::start(&home, &["--server", "fake"]);
    let called = client.call("echo", &json!({"n": 1}));
    let ask = gate.only_ask();
    assert_eq!(ask["tool"], "mcp__fake__echo");
    gate.allow(&ask);
    assert_eq!(text(&client.answer(called)), r#"echo {"n":1}"#);
    client.child.close_stdin();
    client.child.wait_exit(PATIENCE);
    // Claude Code writes its file meanwhile; the entry comes back as it was written all the same.
    let changed = fs::read_to_string(&file).unwrap().replace("\"numStartups\": 3", "\"numStartups\": 4");
    fs::write(&file, &changed).unwrap();
    let released = home.run(&["mcp", "release", "--json"]).ok().json();
    assert_eq!(released, json!([{"name": "fake", "file": file, "changed": true}]));
    assert_eq!(fs::read_to_string(&file).unwrap(), before.replace("\"numStartups\": 3", "\"numStartups\": 4"));
    home.run(&["mcp", "release", "fake"]).refused_usage();
}
