//! Servers that die, hang, talk nonsense, or offer too much.

use std::fs;

use serde_json::json;

use super::{call, configure, fake, listed, node};
use crate::support::home::Home;
use crate::support::{PATIENCE, running};

#[test]
fn one_bad_server_hides_no_other_and_each_says_what_is_wrong() {
    let home = Home::new();
    let dead = json!({"command": "sh", "args": ["-c", "echo no such database >&2; exit 3"]});
    configure(
        &home,
        &json!({
            "good": fake("none"), "dead": dead, "missing": {"command": "no-such-program"}, "untyped": {"url": "http://x"},
            "refused": {"type": "http", "url": "http://127.0.0.1:1/mcp"}, "number": 7, "garbage": fake("garbage"),
        }),
    );
    let servers = home.run(&["mcp", "list", "--json"]).ok().json();
    let said = |name: &str| {
        let server = servers.as_array().unwrap().iter().find(|server| server["name"] == name).unwrap();
        (server["state"].as_str().unwrap().to_owned(), server["why"].as_str().unwrap().to_owned())
    };
    assert_eq!(said("good").0, "connected");
    assert_eq!(said("garbage").0, "connected", "lines that are no messages are passed over");
    let (state, why) = said("dead");
    assert!(state == "failed" && why.contains("ended before it answered") && why.contains("no such database"), "{why}");
    assert!(said("missing").1.contains("No such file"), "{servers}");
    assert!(said("untyped").1.contains("add \"type\": \"http\""), "{servers}");
    assert_eq!((said("refused").0.as_str(), said("number").0.as_str()), ("failed", "wrong"));
    let tools = home.run(&["mcp", "tools"]);
    assert!(tools.stdout.contains("mcp__good__echo") && tools.stderr.contains("dead: "), "{tools:?}");
}

#[test]
fn a_call_whose_server_dies_has_an_unknown_outcome_and_is_not_repeated() {
    let home = Home::new();
    let starts = home.user().join("starts");
    let mut entry = fake("die");
    entry["env"] = json!({"STARTS": starts});
    configure(&home, &json!({"x": entry}));
    let ran = call(&home, "x", "echo", &json!({}));
    assert!(!ran.status.success() && ran.stderr.contains("unknown outcome"), "{ran:?}");
    assert!(ran.stderr.contains("out of memory"), "what it said last is shown: {ran:?}");
    assert_eq!(fs::read_to_string(&starts).unwrap().lines().count(), 1, "it was started once");
}

#[test]
fn a_server_that_hangs_is_given_up_in_time() {
    let home = Home::new();
    configure(
        &home,
        &json!({"hang": fake("hang"), "wait": {"command": node(), "args": fake("wait")["args"], "timeout": 1000}}),
    );
    let mut command = home.command(&["mcp", "list", "--json"]);
    command.env("MCP_TIMEOUT", "1500");
    let ran = crate::support::home::Ran::of(&home.spawn(command, crate::support::child::Stdin::Nothing), PATIENCE);
    assert!(ran.ok().stdout.contains("connection timed out after 1500ms"));
    let ran = call(&home, "wait", "echo", &json!({}));
    assert!(ran.stderr.contains("unknown outcome") && ran.stderr.contains("within 1 s"), "{ran:?}");
}

#[test]
fn an_old_server_that_leaves_the_probe_unanswered_or_ends_at_it_is_connected_all_the_same() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_MCP_PROBE", 200);
    configure(&home, &json!({"mute": fake("mute"), "modest": fake("modest")}));
    for name in ["mute", "modest"] {
        assert_eq!(listed(&home, name)["state"], "connected", "{name}");
    }
}

#[test]
fn a_server_that_ignores_signals_is_killed_with_what_it_started() {
    let home = Home::new();
    let starts = home.user().join("starts");
    let mut entry = fake("stubborn");
    entry["env"] = json!({"STARTS": starts});
    configure(&home, &json!({"x": entry}));
    call(&home, "x", "echo", &json!({})).ok();
    for pid in fs::read_to_string(&starts).unwrap().lines() {
        assert!(!running::is_alive(pid.parse().unwrap()), "{pid} is left behind");
    }
}

#[test]
fn ten_thousand_tools_and_names_that_collide_are_all_told_apart() {
    let home = Home::new();
    configure(&home, &json!({"many": fake("many"), "odd": fake("collide")}));
    let tools = home.run(&["mcp", "tools", "many", "--json"]).ok().json();
    assert_eq!(tools.as_array().unwrap().len(), 10_000);
    let tools = home.run(&["mcp", "tools", "odd", "--json"]).ok().json();
    let names: Vec<&str> = tools.as_array().unwrap().iter().filter_map(|tool| tool["full_name"].as_str()).collect();
    assert_eq!((names.len(), names[1]), (3, "mcp__odd__a_b"));
    assert!(names[0] != names[1] && names[0].starts_with("mcp__odd__a_b_"), "{names:?}");
    assert!(names[2].len() == 64 && tools[2]["full_name_note"].is_string(), "{tools}");
}
