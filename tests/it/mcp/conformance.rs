//! The conformance suite of MCP, in both revisions, against `portcullis mcp` as a client, and against the gateway in front of a
//! server that conforms.

use serde_json::json;

use super::{configure, peer};
use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::home::{Home, Ran};

/// Runs every scenario that a revision scores. The suite compares with the list of those that are known to fail, and
/// complains of one that begins to pass.
fn passes(revision: &str) {
    let home = Home::new();
    let folder = env!("CARGO_MANIFEST_DIR");
    let node = peer("PORTCULLIS_TEST_NODE24");
    let mut suite = home.program(&node);
    suite.arg(peer("PORTCULLIS_TEST_CONFORMANCE"));
    suite.args(["client", "--requirements", revision, "--timeout", "120000"]);
    suite.args(["--expected-failures", &format!("{folder}/tests/it/fixtures/conformance-client-{revision}.yaml")]);
    suite.args(["--command", &format!("{node} {folder}/tests/it/fakes/conformance-client.mjs")]);
    suite.env("PORTCULLIS", env!("CARGO_BIN_EXE_portcullis")).current_dir(home.user());
    let ran = Ran::of(&home.spawn(suite, Stdin::Nothing), PATIENCE * 4);
    assert!(ran.status.success(), "{}\n{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("tools_call"), "the scenarios were run: {}", ran.stdout);
}

#[test]
fn the_client_passes_every_scored_scenario_of_2025_11_25() {
    passes("2025-11-25");
}

#[test]
fn the_client_passes_every_scored_scenario_of_2026_07_28() {
    passes("2026-07-28");
}

/// The same against the gateway: whatever the server behind it does has to come through.
fn gateway_passes(revision: &str) {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_MCP_LIST", 60_000);
    // The suite calls tools whose server wants the model of the client.
    home.write_config("mcp.sampling = true\n");
    let gate = home.serve();
    let (folder, node) = (env!("CARGO_MANIFEST_DIR"), peer("PORTCULLIS_TEST_NODE24"));
    let fake = |name: &str| format!("{folder}/tests/it/fakes/{name}");
    let entry = json!({"command": node, "args": [fake("conformance-server.js")], "env": {"REVISION": revision}});
    configure(&home, &json!({"conforming": entry}));
    home.run(&["rules", "add", "allow", "mcp__conforming"]).ok();
    let mut proxy = home.program(&node);
    proxy.args([&fake("with-token.mjs"), &format!("http://{}", gate.address()), &home.token_for("suite", "agent")]);
    let proxy = home.spawn(proxy, Stdin::Nothing);
    let address = proxy.line(PATIENCE, |line| line.starts_with("http://"));
    let mut suite = home.program(&node);
    suite.arg(peer("PORTCULLIS_TEST_CONFORMANCE"));
    suite.args(["server", "--requirements", revision, "--timeout", "120000"]);
    suite.args(["--expected-failures", &format!("{folder}/tests/it/fixtures/conformance-gateway-{revision}.yaml")]);
    suite.args(["--url", &format!("{}/mcp/conforming", address.trim())]).current_dir(home.user());
    let ran = Ran::of(&home.spawn(suite, Stdin::Nothing), PATIENCE * 4);
    assert!(ran.status.success(), "{}\n{}\n{}", ran.stdout, ran.stderr, gate.stderr());
    assert!(ran.stdout.contains("tools-call-simple-text"), "the scenarios were run: {}", ran.stdout);
}

#[test]
fn the_gateway_passes_every_scored_scenario_of_2025_11_25() {
    gateway_passes("2025-11-25");
}

#[test]
fn the_gateway_passes_every_scored_scenario_of_2026_07_28() {
    gateway_passes("2026-07-28");
}
