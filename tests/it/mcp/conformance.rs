//! The conformance suite of MCP, in both revisions, against `portcullis mcp` as a client.

use super::peer;
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
