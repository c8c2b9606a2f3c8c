//! The MCP inspector's command line, as a client that others wrote, in front of the gateway.

use serde_json::{Value, json};

use super::gateway::{patient, text};
use super::{configure, everything, node, peer};
use crate::support::PATIENCE;
use crate::support::child::{Child, Stdin};
use crate::support::home::{Home, Ran};

/// `inspector --cli portcullis mcp serve --method METHOD …`
fn inspect(home: &Home, method: &str, args: &[&str]) -> Child {
    let mut command = home.program(node());
    command.arg(peer("PORTCULLIS_TEST_INSPECTOR")).arg("--cli");
    // It hands nothing down but what it is told to.
    for (name, value) in home.environment() {
        command.args(["-e", &format!("{name}={value}")]);
    }
    command.args([env!("CARGO_BIN_EXE_portcullis"), "mcp", "serve", "--method", method]).args(args);
    home.spawn(command, Stdin::Nothing)
}

#[track_caller]
fn result(child: &Child) -> Value {
    json!({"result": Ran::of(child, PATIENCE * 3).ok().json()})
}

#[test]
fn the_inspector_lists_and_calls_through_the_gateway() {
    let home = patient();
    let gate = home.serve();
    configure(&home, &json!({"real": everything()}));
    home.run(&["rules", "add", "deny", "mcp__real__get-env"]).ok();
    let listed = result(&inspect(&home, "tools/list", &[]));
    let tools: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(tools.contains(&"real__echo") && !tools.contains(&"real__get-env"), "{tools:?}");
    let prompts = result(&inspect(&home, "prompts/list", &[]));
    assert!(prompts.to_string().contains("real__simple-prompt"), "{prompts}");

    let call = || inspect(&home, "tools/call", &["--tool-name", "real__echo", "--tool-arg", "message=hi"]);
    let called = call();
    let ask = gate.open_ask();
    assert_eq!((&ask["tool"], &ask["input"]), (&json!("mcp__real__echo"), &json!({"message": "hi"})), "{ask}");
    gate.allow(&ask);
    assert_eq!(text(&result(&called)), "Echo: hi");
    let called = call();
    gate.answer(&gate.only_ask(), &json!({"behavior": "deny", "why": "not twice"}));
    assert_eq!(text(&result(&called)), "Denied: not twice");
}
