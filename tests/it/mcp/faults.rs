//! Servers that die, hang, talk nonsense, or offer too much.

use std::fs;

use serde_json::json;

use super::{call, configure, fake, listed, node, over_http};
use crate::support::child::Stdin;
use crate::support::home::{Home, Ran};
use crate::support::{PATIENCE, running, until};

#[test]
fn a_server_that_says_nothing_but_nonsense_is_given_up_and_shown_with_what_it_said() {
    let home = Home::new();
    configure(&home, &json!({"spews": fake("spew")}));
    let server = listed(&home, "spews");
    let why = server["why"].as_str().unwrap();
    assert!(server["state"] == "failed" && why.contains("[no MCP message, on standard output] noise"), "{server}");
}

#[test]
fn a_remote_server_that_fails_for_a_moment_is_tried_three_times() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_MCP_BACKOFF", 1);
    // Each try is two requests: which revision it speaks, and the first of that revision.
    let (_server, port) = over_http(&home, &[("FAILS", "4")]);
    configure(&home, &json!({"flaky": {"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")}}));
    assert!(home.run(&["mcp", "tools", "flaky"]).ok().stdout.contains("mcp__flaky__echo"));
}

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
    assert!(said("missing").1.contains("it is not on the PATH"), "{servers}");
    assert!(said("untyped").1.contains("add \"type\": \"http\""), "{servers}");
    assert_eq!((said("refused").0.as_str(), said("number").0.as_str()), ("failed", "wrong"));
    let tools = home.run(&["mcp", "tools"]);
    assert!(tools.stdout.contains("mcp__good__echo") && tools.stderr.contains("dead: "), "{tools:?}");
    assert_eq!(home.run(&["mcp", "tools", "dead"]).stdout, "", "nobody knows what it offers");
    let called = call(&home, "dead", "echo", &json!({}));
    assert!(called.stderr.contains("hint: see how it is: portcullis mcp list"), "{called:?}");
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
    let lines = fs::read_to_string(&starts).unwrap();
    assert_eq!(lines.lines().filter(|line| *line != "called").count(), 1, "it was started once");
    assert_eq!(lines.matches("called").count(), 1, "and called once");
}

#[test]
fn a_server_that_hangs_is_given_up_in_time() {
    let home = Home::new();
    // What a new server prints where only messages belong is shown when it fails.
    let banner = json!({"command": "sh", "args": ["-c", "echo Welcome to my server; sleep 30"]});
    configure(&home, &json!({"banner": banner}));
    let mut command = home.command(&["mcp", "list", "--json"]);
    command.env("MCP_TIMEOUT", "1500");
    let ran = Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE).ok();
    assert!(ran.stdout.contains("no MCP message, on standard output] Welcome to my server"), "{ran:?}");
    configure(
        &home,
        &json!({"hang": fake("hang"), "wait": {"command": node(), "args": fake("wait")["args"], "timeout": 1000}}),
    );
    home.fix("PORTCULLIS_TEST_MCP_TELL", 20);
    let mut command = home.command(&["mcp", "list", "--json"]);
    command.env("MCP_TIMEOUT", "1500");
    let ran = Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE);
    assert!(ran.stderr.contains("connecting: 0 of 2, waiting for hang, wait\n"), "{ran:?}");
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
    for pid in fs::read_to_string(&starts).unwrap().lines().filter_map(|line| line.parse().ok()) {
        assert!(!running::is_alive(pid), "{pid} is left behind");
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

#[test]
fn a_server_goes_with_us_even_when_we_are_killed() {
    let home = Home::new();
    let starts = home.user().join("starts");
    let mut entry = fake("wait");
    entry["env"] = json!({"STARTS": starts});
    configure(&home, &json!({"x": entry}));
    let calling = home.spawn(home.command(&["mcp", "call", "x", "echo", "{}"]), Stdin::Nothing);
    let pid = until("the call at the server", || {
        let lines = fs::read_to_string(&starts).ok()?;
        lines.contains("called\n").then(|| lines.lines().next().unwrap().parse::<u32>().unwrap())
    });
    assert!(running::is_alive(pid));
    calling.kill_9();
    until("the end of the server", || (!running::is_alive(pid)).then_some(()));
}

#[test]
fn a_hundred_megabytes_are_cut_and_kept_in_a_file() {
    let home = Home::new();
    configure(&home, &json!({"x": fake("huge")}));
    let said = call(&home, "x", "echo", &json!({"bytes": 100_000_000})).ok().stdout;
    assert!(said.len() < 200_000 && said.contains("the result has 100000000 characters"), "{} bytes", said.len());
    let file = said.split("all of it is in ").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    assert_eq!(fs::metadata(file).unwrap().len(), 100_000_000);
}

#[test]
fn a_message_that_is_too_large_ends_the_call_and_says_so() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_MCP_LARGEST", 100_000);
    configure(&home, &json!({"x": fake("huge")}));
    let ran = call(&home, "x", "echo", &json!({"bytes": 200_000}));
    assert!(ran.stderr.contains("unknown outcome") && ran.stderr.contains("more than 100000 bytes"), "{ran:?}");
}

#[test]
fn what_a_server_says_of_itself_reaches_no_terminal_as_commands() {
    let home = Home::new();
    configure(&home, &json!({"x": fake("hostile")}));
    for words in [&["mcp", "tools"][..], &["mcp", "list"], &["mcp", "call", "x", "echo", "{}"]] {
        let ran = home.run(words).ok();
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{202e}'), "{words:?}: {:?}", ran.stdout);
    }
    let tools = home.run(&["mcp", "tools"]).ok().stdout;
    assert!(tools.contains("… [truncated]") && tools.len() < 4000, "a manual is cut: {}", tools.len());
}

#[test]
fn a_hundred_edits_of_the_configuration_leave_one_server_and_no_other() {
    let home = Home::new();
    let starts = home.user().join("starts");
    let edit = |number: u32| {
        let mut entry = fake("none");
        entry["env"] = json!({"STARTS": starts, "EDIT": number.to_string()});
        configure(&home, &json!({"x": entry, "same": {"command": "no-such-program"}}));
    };
    edit(0);
    let watching = home.spawn(home.command(&["mcp", "status", "--watch", "--json"]), Stdin::Nothing);
    watching.line(PATIENCE, |line| line.contains("\"connected\""));
    for number in 1..=100 {
        edit(number);
        // Some are seen while the one before is still being started.
        if number % 10 == 0 {
            watching.line(PATIENCE, |line| line.contains("\"connected\""));
        }
    }
    let pids = || -> Vec<u32> {
        let lines = fs::read_to_string(&starts).unwrap();
        lines.lines().filter_map(|line| line.parse().ok()).collect()
    };
    until("one server", || {
        let alive: Vec<u32> = pids().into_iter().filter(|pid| running::is_alive(*pid)).collect();
        let is_last = |pid: &u32| {
            fs::read(format!("/proc/{pid}/environ")).is_ok_and(|it| it.windows(9).any(|part| part == b"EDIT=100\0"))
        };
        (alive.len() == 1 && alive.iter().all(is_last)).then_some(())
    });
    watching.signal(rustix::process::Signal::TERM);
    watching.wait_exit(PATIENCE);
    assert!(pids().len() > 10, "servers were started: {:?}", pids());
    assert!(pids().into_iter().all(|pid| !running::is_alive(pid)), "nothing is left behind");
}

#[test]
fn a_server_that_refuses_for_ever_is_asked_a_few_times_and_no_more() {
    for status in [401, 403] {
        let home = Home::new();
        let log = home.user().join("log");
        let mut server = home.program(node());
        server.args(["-e", REFUSING, &status.to_string(), log.to_str().unwrap()]);
        let server = home.spawn(server, Stdin::Nothing);
        let port = server.line(PATIENCE, |line| line.trim().parse::<u16>().is_ok());
        configure(&home, &json!({"x": {"type": "http", "url": format!("http://127.0.0.1:{}/mcp", port.trim())}}));
        assert_eq!(listed(&home, "x")["state"], "needs-auth");
        call(&home, "x", "echo", &json!({})).refused(1, "sign in");
        let asked = fs::read_to_string(&log).unwrap().lines().count();
        assert!(asked <= 4, "{asked} requests with {status}");
    }
}

/// Answers every request with one status, and writes each down.
const REFUSING: &str = r#"
    const [status, log] = process.argv.slice(-2);
    const server = require("node:http").createServer((request, response) => {
        require("node:fs").appendFileSync(log, request.method + "\n");
        response.writeHead(Number(status)).end();
    });
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"#;
