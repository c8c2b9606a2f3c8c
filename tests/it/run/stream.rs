//! The stream of a driven session, as those who look at it get it: with the real Claude Code behind it.

use super::api::serve;
use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::support::claude::Claude;
use crate::support::driven::Driven;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::stream::Stream;
use serde_json::json;

#[test]
fn those_who_look_get_words_as_they_are_said_calls_results_and_the_end_of_the_turn() {
    let (home, latch) = (Home::new(), Latch::new());
    let touch =
        json!({"command": "touch made.txt && echo TOKEN=ghp_0123456789abcdefghijklmnop", "description": "Make it"});
    let model = Model::start(vec![
        Rule::on_text("go").say("I will make it.").call("Bash", touch).once(),
        Rule::on_any_result().say_in_two("All is", " made.", &latch),
    ]);
    let gate = serve(&home, &model, "");
    let session = gate.post("/api/v1/sessions", &json!({"prompt": "go", "label": "held"})).expect(201).json();
    let mut stream = Stream::open(&gate, home.token(), "held", 0);
    assert_eq!(stream.opened["session"], session["id"]);
    gate.allow(&gate.only_ask());
    stream.until_text("All is");
    assert!(!stream.text().contains("made."), "the rest was not said yet: {}", stream.text());
    latch.open();
    let turn = stream.until(|entry| entry["turn"].is_object());
    assert_eq!(turn["turn"], json!({"ended": "done"}));
    assert_eq!(stream.text(), "I will make it.All is made.");
    let kinds: Vec<&str> = stream.kinds();
    let main: Vec<&str> = kinds.iter().copied().filter(|kind| *kind != "notice").collect();
    assert_eq!(main[..4], ["user", "text", "call", "result"], "{kinds:?}");
    let call = stream.one("call");
    assert_eq!((&call["tool"], &call["input"]["description"]), (&json!("Bash"), &json!("Make it")));
    let result = stream.one("result");
    assert_eq!(result["call"], call["call"]);
    assert_eq!(result["text"], "TOKEN=ghp_***", "secrets are masked: {result}");
    assert_eq!(stream.one("user")["text"], "go");
    // Another who looks later gets the same, number by number, and who goes on gets what is new.
    let later = Stream::open(&gate, home.token(), "held", 0).read(stream.entries.len());
    assert_eq!(later.numbers(), stream.numbers());
    assert_eq!(later.text(), stream.text());
    let path = format!("/api/v1/sessions/{}/prompt?wait=20", session["id"].as_str().unwrap());
    gate.post(&path, &json!({"prompt": "say more"})).expect(200);
    let mut next = Stream::open(&gate, home.token(), "held", stream.last());
    next.until(|entry| entry["turn"].is_object());
    assert_eq!(next.one("user"), json!({"text": "say more", "by": "owner"}));
    assert_eq!(next.numbers()[0], stream.last() + 1);
    let path = format!("/api/v1/sessions/{}/end?wait=20", session["id"].as_str().unwrap());
    gate.post(&path, &json!({})).expect(200);
    next.until_ended();
}

#[test]
fn a_conversation_begun_in_a_terminal_is_listed_and_goes_on_in_a_held_session() {
    let home = Home::new();
    let model = Model::start(vec![]);
    let begun = Claude::headless(&home, &model, "paint the shed", &json!({"mcpServers": {}}), &[]);
    assert!(begun.wait().ok().stdout.contains("echo: paint the shed"));
    let gate = serve(&home, &model, "");
    gate.get_as(&home.token_for("rae", "reviewer"), "/api/v1/conversations").expect(403);
    let listed = gate.get("/api/v1/conversations").expect(200).json();
    let folder = home.project().canonicalize().unwrap();
    let conversation = &listed[0];
    assert_eq!(
        (listed.as_array().unwrap().len(), &conversation["title"], &conversation["folder"]),
        (1, &json!("paint the shed"), &json!(folder)),
        "{listed:#}"
    );
    let resume = json!({"resume": conversation["id"], "prompt": "in red"});
    let session = gate.post("/api/v1/sessions", &resume).expect(201).json();
    let turn = model.wait_for_turn("in red");
    assert!(turn.body["messages"].to_string().contains("paint the shed"), "{}", turn.body);
    let mut stream = Stream::open(&gate, home.token(), session["id"].as_str().unwrap(), 0);
    stream.until(|entry| entry["turn"].is_object());
    assert_eq!(stream.text(), "echo: in red");
    let open = gate.get("/api/v1/conversations").expect(200).json();
    assert_eq!((&open[0]["id"], &open[0]["session"]), (&conversation["id"], &session["id"]), "{open:#}");
    // What was said before stands in its transcript.
    let first = stream.one("text")["message"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/sessions/{}/history?until={first}", session["id"].as_str().unwrap());
    let page = gate.get(&path).expect(200).json();
    let texts: Vec<&str> =
        page["entries"].as_array().unwrap().iter().filter_map(|entry| entry["text"]["text"].as_str()).collect();
    assert_eq!(texts, ["echo: paint the shed"], "{page:#}");
}

#[test]
fn a_conversation_of_a_folder_where_no_session_may_be_started_does_not_go_on() {
    let home = Home::new();
    let model = Model::start(vec![]);
    let begun = Claude::headless(&home, &model, "paint the shed", &json!({"mcpServers": {}}), &[]);
    begun.wait().ok();
    let other = home.folder().join("other");
    std::fs::create_dir_all(&other).unwrap();
    home.write_config(&format!("[start]\nfolders = [{:?}]\n", other.display()));
    let mut command = home.command(&["serve"]);
    Driven::confine(&mut command, &home, &model);
    let gate = Gate::start_command(&home, command);
    let projects = home.user().join(".claude/projects");
    let transcripts =
        std::fs::read_dir(projects).unwrap().flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    let path = transcripts
        .map(|file| file.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .unwrap();
    let id = path.file_stem().unwrap().to_str().unwrap();
    for (resume, folder, error) in [
        (id, None, 40308),
        (id, Some(&other), 40308),
        (path.to_str().unwrap(), None, 40415),
        ("--dangerously-skip-permissions", None, 40415),
        ("", None, 40415),
    ] {
        let body = json!({"resume": resume, "prompt": "go on", "folder": folder});
        for route in ["/api/v1/sessions", "/api/chat"] {
            assert_eq!(gate.post(route, &body).json()["error"], error, "{route} {body}");
        }
    }
}

#[test]
fn an_image_that_comes_with_an_event_is_shown_to_the_model_of_a_driven_session() {
    let home = Home::new();
    let model = Model::start(vec![]);
    let gate = serve(&home, &model, "");
    let session = gate.post("/api/v1/sessions", &json!({"label": "held"})).expect(201).json();
    // One pixel.
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";
    let request = Request::post("/api/v1/files?name=dot.png").token(home.token()).body(png);
    let file = request.send(&gate.target()).expect(201).json()["id"].clone();
    gate.post("/api/v1/events", &json!({"text": "look at this", "session": session["id"], "files": [file]}))
        .expect(200);
    let turn = model.wait_for_turn("look at this");
    let messages = turn.body["messages"].to_string();
    assert!(messages.contains("\"image/png\"") && messages.contains("\"type\":\"image\""), "{messages}");
    assert!(messages.contains("dot.png"), "its tag names it as well: {messages}");
}
