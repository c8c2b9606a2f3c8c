//! What commands about servers tell: changes as JSON, progress, addresses to open, and what an editor keeps to itself.

use serde_json::{Value, json};

use super::transports::serving;
use super::{call, clone_with, configure, everything, fake, listed};
use crate::support::home::Home;

#[test]
fn every_change_is_told_as_json() {
    let home = Home::new();
    let told = |args: &[&str]| -> Value { home.run(&[&["mcp"], args].concat()).ok().json() };
    let added = told(&["add", "files", "--scope", "user", "--json", "--", "true"]);
    assert_eq!((&added["name"], &added["scope"]), (&json!("files"), &json!("user")), "{added}");
    let file = added["file"].as_str().unwrap();
    assert!(file.ends_with(".claude.json"), "{added}");
    assert_eq!(told(&["disable", "files", "--json"])["enabled"], false);
    assert_eq!(told(&["enable", "files", "--json"])["enabled"], true);
    let removed = told(&["remove", "files", "--json"]);
    assert_eq!((removed["name"].as_str(), removed["file"].as_str()), (Some("files"), Some(file)), "{removed}");
    let of_project = clone_with(&home, &json!({"mine": fake("none")}));
    let hash = listed(&home, "mine")["hash"].as_str().unwrap().to_owned();
    clone_with(&home, &json!({"mine": fake("other")}));
    let stale = home.run(&["mcp", "approve", "mine", "--hash", &hash]);
    stale.refused(4, "mine is another one now than the one that was to be approved");
    let approved = told(&["approve", "mine", "--json"]);
    assert_eq!((&approved[0]["name"], &approved[0]["type"]), (&json!("mine"), &json!("stdio")), "{approved}");
    assert_eq!(approved[0]["file"].as_str(), of_project.to_str());
}

#[test]
fn the_progress_of_a_call_is_shown_while_it_runs() {
    let home = Home::new();
    configure(&home, &json!({"every": everything()}));
    let ran = call(&home, "every", "trigger-long-running-operation", &json!({"duration": 0.2, "steps": 2})).ok();
    assert!(ran.stderr.contains("progress 1 of 2\n") && ran.stderr.contains("progress 2 of 2\n"), "{ran:#?}");
    assert!(ran.stdout.contains("completed"), "{ran:#?}");
}

#[test]
fn a_call_that_wants_an_address_to_be_opened_goes_on_when_the_server_says_so() {
    let home = Home::new();
    configure(&home, &json!({"form": fake("visit")}));
    let unwilling = call(&home, "form", "echo", &json!({}));
    unwilling.refused(1, "run this again with --visit");
    let ran = home.run(&["mcp", "call", "form", "echo", r#"{"a": 1}"#, "--visit"]).ok();
    assert!(ran.stderr.contains("open this: https://example.org/form: fill it in"), "{ran:#?}");
    assert_eq!(ran.stdout, "echo {\"a\":1}\n");
}

#[test]
fn an_address_that_is_none_of_the_web_is_not_shown_as_one_to_open() {
    let home = Home::new();
    let mut entry = fake("visit");
    entry["env"] = json!({"ADDRESS": "javascript:alert(1)"});
    configure(&home, &json!({"form": entry}));
    let ran = home.run(&["mcp", "call", "form", "echo", "{}", "--visit"]);
    ran.refused(1, "one that is none of the web");
    assert!(!ran.stderr.contains("open this"), "{ran:#?}");
}

#[test]
fn what_went_wrong_is_told_with_its_place_and_what_to_mend() {
    let home = Home::new();
    configure(
        &home,
        &json!({"gone": {"type": "ws", "url": "ws://127.0.0.1:1/x?key=secret"}, "odd": fake("odd"),
            "": fake("none"), "bad": {"url": "http://a"}}),
    );
    let why = listed(&home, "gone")["why"].as_str().unwrap().to_owned();
    assert!(why.contains("ws://127.0.0.1:1/x: ") && why.contains("refused") && !why.contains("secret"), "{why}");
    let unreadable = call(&home, "odd", "echo", &json!({"give": "word"}));
    unreadable.refused(1, "unknown outcome: it was sent, and the server's answer cannot be read");
    assert!(unreadable.stderr.contains("before you call it again"), "{unreadable:#?}");
    home.run(&["mcp", "add", "x", "http://a", "--", "b"]).refused(2, "both \"http://a\" and a command are given");
    assert_eq!(listed(&home, "")["why"], "it has no name");
    home.run(&["mcp", "adopt", "bad"]).refused(2, "the entry of bad is wrong");
}

#[test]
fn an_editor_over_server_sent_events_keeps_its_own_tools_to_itself() {
    let home = Home::new();
    let (_server, port) = serving(&home, "sse");
    configure(&home, &json!({"ide": {"type": "sse-ide", "url": format!("http://127.0.0.1:{port}/sse")}}));
    assert_eq!(listed(&home, "ide")["state"], "connected");
    assert_eq!(home.run(&["mcp", "tools", "ide", "--json"]).ok().json(), json!([]));
    call(&home, "ide", "echo", &json!({"message": "hi"})).refused(1, "this tool of the editor is its own");
}

#[test]
fn one_tool_is_shown_with_what_it_takes_and_a_wrong_call_says_where_to_look() {
    let home = Home::new();
    configure(&home, &json!({"every": everything(), "gone": {"command": "no-such-program-anywhere"}}));
    let shown = home.run(&["mcp", "tools", "every", "echo"]).ok().stdout;
    assert!(shown.contains("mcp__every__echo") && shown.contains("message: string (required)"), "{shown}");
    let names = home.run(&["mcp", "tools", "every"]).ok().stdout;
    assert!(names.contains("mcp__every__trigger-long-running-operation"), "names are not cut: {names}");
    let uris = home.run(&["mcp", "resources", "every"]).ok().stdout;
    assert!(!uris.contains("arc…"), "addresses are not cut: {uris}");
    assert!(uris.contains("demo://resource/dynamic/text/{resourceId}"), "templates are listed: {uris}");
    let mistyped = home.run(&["mcp", "call", "every", "ech", "{}"]);
    assert!(mistyped.stderr.contains("did you mean echo?"), "{}", mistyped.stderr);
    let without = home.run(&["mcp", "call", "every", "echo"]);
    assert!(without.stderr.contains("portcullis mcp tools every echo"), "{}", without.stderr);
    let gone = listed(&home, "gone");
    assert!(gone["why"].as_str().unwrap().contains("it is not on the PATH"), "{gone}");
}
