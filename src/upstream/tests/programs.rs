//! Servers that are programs: how often and how many of them are started.

use std::fs;

use serde_json::json;

use super::{FakeServer, Reply, all, call, old, said};
use crate::upstream::config::{Upstream, entry_of_test};
use crate::upstream::failure::CallFailure;
use crate::upstream::{ListKind, Timeouts, UpstreamState, Upstreams};

/// A server on standard streams that does this when it is asked who it is, and lives for one call.
fn program(name: &str, at_initialize: &str) -> Upstream {
    let script = r#"
        while read -r line; do
            id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
            case "$line" in
                *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
                *'"initialize"'*) AT_INITIALIZE printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}\n' "$id" ;;
                *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
                *'"tools/call"'*) echo "I am done" >&2; exit 1 ;;
            esac
        done"#;
    let script = script.replace("AT_INITIALIZE", at_initialize);
    Upstream::new(name, entry_of_test(&json!({"command": "sh", "args": ["-c", script]})))
}

/// Why a server that does this when it is asked who it is cannot be used.
async fn failure_of(at_initialize: &str) -> String {
    let upstreams = all(&program("x", at_initialize)).await;
    match upstreams.connect("x").await {
        Some(UpstreamState::Failed(why)) => why,
        state => panic!("{state:?}"),
    }
}

fn short_lived() -> Upstream {
    program("x", "")
}

#[tokio::test]
async fn a_server_that_dies_is_started_again_by_the_next_call_five_times_in_ten_minutes() {
    let upstreams = all(&short_lived()).await;
    for start in 0..6 {
        let failed = call(&upstreams).await.unwrap_err();
        assert!(
            matches!(&failed, CallFailure::UnknownOutcome(why) if why.contains("I am done")),
            "{start}: {failed:?}"
        );
    }
    let failed = call(&upstreams).await.unwrap_err();
    assert!(matches!(failed, CallFailure::NoConnection(_)), "{failed:?}");
    assert!(failed.why().contains("started 6 times in ten minutes"), "{}", failed.why());
}

#[tokio::test]
async fn a_list_that_cannot_be_read_again_stays_as_it_was() {
    let upstreams = all(&short_lived()).await;
    let tools = upstreams.list("x", ListKind::Tools).await.unwrap();
    for _ in 0..7 {
        drop(call(&upstreams).await);
    }
    assert_eq!(upstreams.list("x", ListKind::Tools).await.unwrap(), tools, "no server can be started any more");
}

#[tokio::test]
async fn no_more_than_three_programs_are_started_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (log, go) = (folder.path().join("log"), folder.path().join("go"));
    let (log_path, go_path) = (log.display(), go.display());
    let wait =
        format!("echo begun >> {log_path}; while [ ! -e {go_path} ]; do sleep 0.01; done; echo done >> {log_path};");
    let programs: Vec<Upstream> = (0..7).map(|number| program(&number.to_string(), &wait)).collect();
    let upstreams = Upstreams::new(std::env::temp_dir(), Timeouts::read(&|_| None), 1);
    upstreams.reconcile(programs.iter()).await;
    let lines = || fs::read_to_string(&log).unwrap_or_default();
    let three_are_there = async {
        while lines().matches("begun").count() < 3 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        fs::write(&go, "").unwrap();
    };
    let connecting = futures_util::future::join_all(programs.iter().map(|program| upstreams.connect(&program.name)));
    let (states, ()) = tokio::join!(connecting, three_are_there);
    assert!(states.iter().all(|state| matches!(state, Some(UpstreamState::Connected(_)))), "{states:?}");
    let mut at_once = 0;
    for line in lines().lines() {
        at_once = if line == "begun" { at_once + 1 } else { at_once - 1 };
        assert!(at_once <= 3, "{}", lines());
    }
    upstreams.close().await;
}

#[tokio::test]
async fn what_a_server_said_before_it_failed_is_told_without_its_keys() {
    let why = failure_of("echo 'no access with ghp_abcdefghijklmnopqrstuvwxyz0123456789' >&2; exit 1;").await;
    assert!(why.contains("no access with") && !why.contains("ghijklmnopqrst"), "{why}");
}

#[tokio::test]
async fn a_server_that_writes_no_messages_is_ended_and_that_is_what_is_told() {
    let interrupted = "trap 'for line in 1 2 3 4 5 6; do echo interrupted >&2; done; exit' INT;";
    let why = failure_of(&format!("{interrupted} yes garbage | head -1001; while true; do sleep 0.01; done;")).await;
    assert!(why.contains("[ended: it wrote 1000 lines that are no MCP messages]"), "{why}");
    assert!(!why.contains("interrupted"), "{why}");
}

#[tokio::test]
async fn a_server_that_answers_what_it_does_not_know_is_asked_in_the_older_way() {
    let server = FakeServer::start(|seen| match seen.method() {
        "server/discover" => Reply::Result(json!({"prompts": []}), None),
        "tools/call" => said("done"),
        _ => old(seen),
    })
    .await;
    let upstreams = all(&server.upstream()).await;
    assert_eq!(call(&upstreams).await.unwrap()["content"][0]["text"], "done");
}
