//! Sessions started over the API: with orders, by the small API of a chat page, and past the death of the gate.

use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::support::driven::{Driven, shell};
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::running::{self, Running};
use crate::support::sse::Events;
use crate::support::{PATIENCE, Signal, until};
use serde_json::{Value, json};
use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;

/// A gate that may start sessions in the project.
pub(crate) fn serve(home: &Home, model: &Model, more: &str) -> Gate {
    home.write_config(&format!("{more}\n[start]\nfolders = [{:?}]\nask_seconds = 2\n", home.project().display()));
    let mut command = home.command(&["serve"]);
    Driven::confine(&mut command, home, model);
    Gate::start_command(home, command)
}

/// The sessions that the gate started, with all that is below them.
fn held(home: &Home) -> Vec<Running> {
    let runs = running::portcullis_of(&home.folder())
        .into_iter()
        .filter(|process| process.args.get(1).is_some_and(|word| word == "run"));
    runs.flat_map(|run| [vec![run.clone()], running::children_of(run.pid)].concat()).collect()
}

#[test]
fn a_session_is_started_prompted_interrupted_and_ended_over_the_api() {
    let (home, latch) = (Home::new(), Latch::new());
    let model = Model::start(vec![
        Rule::on_text("and more").say("never").held_by(&latch).once(),
        Rule::on_text("first").say("one").once(),
    ]);
    let gate = serve(&home, &model, "");
    let answer = gate.post("/api/v1/sessions", &json!({"prompt": "first", "label": "held"})).expect(201);
    let session = answer.json();
    assert_eq!(
        (&session["label"], &session["driven"], &session["mode"]),
        (&json!("held"), &json!(true), &json!("default")),
        "{session}"
    );
    let order = |what: &str, body: &Value| {
        let path = format!("/api/v1/sessions/{}/{what}?wait=20", session["id"].as_str().unwrap());
        assert_eq!(gate.post(&path, body).expect(200).json()["state"], "done", "{what}");
    };
    model.wait_for_turn("first");
    order("prompt", &json!({"prompt": "and more"}));
    model.wait_for_turn("and more");
    order("interrupt", &json!({}));
    order("model", &json!({"model": "claude-haiku-4-5"}));
    order("prompt", &json!({"prompt": "which model"}));
    let turn = model.wait_for_turn("which model");
    assert_eq!(turn.body["model"], "claude-haiku-4-5");
    let below = held(&home);
    assert!(below.len() >= 3, "{below:?}");
    order("end", &json!({}));
    running::wait_gone(&below, PATIENCE * 2);
    home.attached(0);
}

#[test]
fn a_session_is_ended_when_its_starter_disconnects_before_it_is_ready() {
    let home = Home::new();
    let model = shell(&["ls"]);
    let gate = serve(&home, &model, "");
    // A configuration that nobody writes to the end: the session waits for it, and does not come up.
    let config = home.folder().join("config.toml");
    std::fs::remove_file(&config).unwrap();
    assert!(Command::new("mkfifo").arg(&config).status().unwrap().success());
    let mut starter = TcpStream::connect(gate.address()).unwrap();
    let start = Request::post("/api/v1/sessions").token(home.token()).json(&json!({"prompt": "go"}));
    starter.write_all(&start.bytes(&gate.target(), true)).unwrap();
    let started = until("a session that was started", || Some(held(&home)).filter(|held| !held.is_empty()));
    drop(starter);
    running::wait_gone(&started, PATIENCE);
}

#[test]
fn sessions_start_only_in_configured_folders_and_not_for_a_reviewer() {
    let home = Home::new();
    let model = shell(&["ls"]);
    let gate = serve(&home, &model, "");
    let reviewer = home.token_for("rae", "reviewer");
    gate.post_as(&reviewer, "/api/v1/sessions", &json!({"prompt": "go"})).expect(403);
    gate.post_as(&reviewer, "/api/chat", &json!({"prompt": "go"})).expect(403);
    let refused = |body: &Value| gate.post("/api/v1/sessions", body).expect(403).json()["error"].clone();
    std::os::unix::fs::symlink("/", home.project().join("link")).unwrap();
    let link = home.project().join("link/etc");
    for folder in ["/", "/etc", "/nowhere", link.to_str().unwrap()] {
        assert_eq!(refused(&json!({"prompt": "go", "folder": folder})), 40308, "{folder}");
    }
    assert_eq!(refused(&json!({"prompt": "go", "mode": "bypassPermissions"})), 40307);
    gate.post("/api/v1/sessions", &json!({"prompt": "go", "no_such_field": 1})).expect(400);
    let failed = gate.post("/api/v1/sessions", &json!({"prompt": "go", "mode": "bogus"})).expect(400).json();
    assert!(failed["message"].as_str().unwrap().contains("mode: expected one of: default"), "{failed}");
    assert!(held(&home).is_empty() && model.requests().is_empty());
}

#[test]
fn a_session_started_over_the_api_survives_the_gate_with_its_open_prompt() {
    let home = Home::without_auto_start();
    let model = shell(&["touch made.txt && echo made"]);
    let gate = serve(&home, &model, "");
    let session = gate.post("/api/v1/sessions", &json!({"prompt": "go"})).expect(201).json();
    let before = gate.only_ask();
    let below = held(&home);
    gate.kill_9();
    assert!(below.iter().all(|process| running::is_alive(process.pid)), "{below:?}");
    let gate = serve(&home, &model, "");
    home.attached(1);
    let after = gate.only_ask();
    assert_eq!((&after["id"], &after["session"]), (&before["id"], &session["id"]));
    gate.allow(&after);
    assert!(model.wait_for_turn("made").turn.result().contains("made"));
    gate.post(&format!("/api/v1/sessions/{}/end", session["id"].as_str().unwrap()), &json!({})).expect(200);
    running::wait_gone(&below, PATIENCE * 2);
}

/// Everything a chat answers, once it is over.
#[track_caller]
fn chat(home: &Home, gate: &Gate, body: &Value, meanwhile: impl FnOnce()) -> Vec<Value> {
    let stream = Events::post(&gate.target(), "/api/chat", home.token(), body);
    meanwhile();
    let mut messages = vec![];
    loop {
        let message: Value = serde_json::from_str(&stream.next(PATIENCE * 2).data).unwrap();
        let is_last = message["type"] == "result";
        messages.push(message);
        if is_last {
            return messages;
        }
    }
}

#[test]
fn a_chat_streams_its_session_and_waits_for_a_confirmation() {
    let home = Home::new();
    let model = shell(&["touch made.txt && echo made"]);
    let gate = serve(&home, &model, "");
    let messages = chat(&home, &gate, &json!({"prompt": "go"}), || {
        let pending = until("a pending prompt", || {
            let answer = gate.get("/api/pending").expect(200).json();
            answer["pending"].as_array()?.first().cloned()
        });
        assert_eq!(
            (&pending["toolName"], &pending["input"]["command"]),
            (&json!("Bash"), &json!("touch made.txt && echo made"))
        );
        assert!(
            pending["timestamp"].is_u64() && pending["tool_use_id"].is_null() && pending["toolUseId"].is_string(),
            "{pending}"
        );
        let confirm = |id: &Value, approved: bool| {
            gate.post("/api/confirm", &json!({"id": id, "approved": approved})).expect(200).json()
        };
        assert_eq!(confirm(&json!("toolu_nobody"), true), json!({"success": false}));
        assert_eq!(confirm(&pending["toolUseId"], true), json!({"success": true}));
        assert_eq!(confirm(&pending["id"], false), json!({"success": false}), "someone was faster");
    });
    assert_eq!((&messages[0]["type"], &messages[0]["subtype"]), (&json!("portcullis"), &json!("started")));
    assert!(messages.iter().any(|message| message["subtype"] == "asked" && message["toolName"] == "Bash"));
    assert_eq!(messages.last().unwrap()["result"], "done: made");
    until("the end of the session", || held(&home).is_empty().then_some(()));
}

#[test]
fn a_chat_has_the_mode_it_names_and_its_prompts_are_answered_under_permissions() {
    let home = Home::new();
    // In this mode Claude Code makes files without asking, and still asks about programs.
    let model = shell(&["npm run one --silent; echo made"]);
    let gate = serve(&home, &model, "");
    for (body, status, why) in [
        (json!({"prompt": "go", "permissionMode": "yolo"}), 400, "acceptEdits"),
        (json!({"prompt": "go", "permissionMode": "plan", "autoApprove": true}), 400, "one of them"),
        (json!({"prompt": "go", "permissionMode": "bypassPermissions"}), 403, "not allowed here"),
    ] {
        let refused = gate.post("/api/chat", &body).expect(status);
        assert!(refused.text().contains(why), "{body}: {refused}");
    }
    assert!(held(&home).is_empty() && model.requests().is_empty());
    let messages = chat(&home, &gate, &json!({"prompt": "go", "permissionMode": "acceptEdits"}), || {
        assert_eq!(home.attached(1)[0]["mode"], "acceptEdits");
        let pending = until("a pending prompt", || {
            let answer = gate.get("/api/permissions/pending").expect(200).json();
            let first = answer["pending"].as_array()?.first().cloned()?;
            assert_eq!(answer, gate.get("/api/pending").expect(200).json());
            Some(first)
        });
        let confirm = json!({"id": pending["id"], "approved": true});
        assert_eq!(gate.post("/api/permissions/confirm", &confirm).expect(200).json(), json!({"success": true}));
    });
    let result = messages.last().unwrap()["result"].as_str().unwrap().to_owned();
    assert!(result.starts_with("done: ") && result.ends_with("made"), "{result}");
}

#[test]
fn a_chat_prompt_that_nobody_confirms_is_denied() {
    let home = Home::new();
    let model = shell(&["touch never.txt"]);
    let gate = serve(&home, &model, "");
    let messages = chat(&home, &gate, &json!({"prompt": "go"}), || {});
    assert_eq!(messages.last().unwrap()["permission_denials"][0]["tool_name"], "Bash");
    assert!(!home.project().join("never.txt").exists());
    assert_eq!(gate.open_asks(0).len(), 0);
}

#[test]
fn auto_approve_needs_the_owners_opt_in() {
    let home = Home::new();
    let model = shell(&["touch made.txt"]);
    let gate = serve(&home, &model, "");
    let refused = gate.post("/api/chat", &json!({"prompt": "go", "autoApprove": true})).expect(403).json();
    assert_eq!(refused["error"], 40307);
    assert!(refused["hint"].as_str().unwrap().contains("allow_bypass = true"), "{refused}");
    assert!(model.requests().is_empty() && held(&home).is_empty());
    gate.stop();
    home.write_config(&format!("allow_bypass = true\n[start]\nfolders = [{:?}]\n", home.project().display()));
    let mut command = home.command(&["serve"]);
    Driven::confine(&mut command, &home, &model);
    let gate = Gate::start_command(&home, {
        command.env("IS_SANDBOX", "1");
        command
    });
    let messages = chat(&home, &gate, &json!({"prompt": "go", "autoApprove": true}), || {});
    assert_eq!(messages.last().unwrap()["is_error"], false);
    assert!(home.project().join("made.txt").exists());
    assert!(gate.asks().is_empty());
}

#[test]
fn disconnecting_from_a_chat_does_not_end_it() {
    let home = Home::new();
    let model = shell(&["touch made.txt && echo made"]);
    let gate = serve(&home, &model, "");
    let stream = Events::post(&gate.target(), "/api/chat", home.token(), &json!({"prompt": "go"}));
    let ask = gate.only_ask();
    drop(stream);
    gate.post("/api/confirm", &json!({"id": ask["code"], "approved": true})).expect(200);
    assert!(model.wait_for_turn("made").turn.result().contains("made"));
    until("the end of the session", || held(&home).is_empty().then_some(()));
}

#[test]
fn the_chat_api_refuses_strangers_and_senders() {
    let home = Home::new();
    let model = shell(&["ls"]);
    let gate = serve(&home, &model, "");
    for (method, path) in
        [("GET", "/api/pending"), ("POST", "/api/confirm"), ("GET", "/api/permissions/pending"), ("POST", "/api/chat")]
    {
        let request = if method == "GET" { Request::get(path) } else { Request::post(path).body("{}") };
        request.send(&gate.target()).expect(401);
    }
    let sender = home.token_for("sam", "sender");
    gate.get_as(&sender, "/api/pending").expect(403);
    gate.post_as(&sender, "/api/confirm", &json!({"id": "x", "approved": true})).expect(403);
    gate.signal(Signal::TERM);
}

#[test]
fn a_chat_ends_with_its_token() {
    let home = Home::new();
    let model = shell(&["touch made.txt && echo made"]);
    let gate = serve(&home, &model, "");
    let token = home.token_for("ada", "admin");
    let stream = Events::post(&gate.target(), "/api/chat", &token, &json!({"prompt": "go"}));
    let ask = gate.only_ask();
    home.run(&["people", "remove", "ada"]).ok();
    stream.wait_end();
    gate.post("/api/confirm", &json!({"id": ask["code"], "approved": false})).expect(200);
    until("the end of the session", || held(&home).is_empty().then_some(()));
}

#[test]
fn what_is_no_label_or_no_mode_is_the_callers_mistake_and_starts_nothing() {
    let home = Home::new();
    let model = Model::start(vec![]);
    let gate = serve(&home, &model, "");
    for (path, body, what) in [
        ("/api/v1/sessions", json!({"label": "two\nlines"}), "is no label"),
        ("/api/v1/sessions", json!({"label": "x".repeat(65)}), "is no label"),
        ("/api/v1/sessions", json!({"mode": "quick"}), "mode: "),
        ("/api/chat", json!({"prompt": "go", "label": ""}), "is no label"),
    ] {
        let refused = gate.post(path, &body).expect(400);
        assert!(refused.text().contains(what), "{body}: {}", refused.text());
    }
    assert!(held(&home).is_empty());
    assert_eq!(home.records("attached").len(), 0);
}
