//! The permission modes of a driven session: what each asks, and that they are switched while it runs.

use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::run::api::serve;
use crate::support::driven::Driven;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::until;
use serde_json::{Value, json};

/// A model that writes a file, then runs a command that is no edit, then tells.
fn writer(home: &Home) -> Model {
    let path = home.project().join("written.txt");
    Model::start(vec![
        Rule::on_text("go").call("Write", json!({"file_path": path, "content": "x"})).once(),
        Rule::on_any_result()
            .call("Bash", json!({"command": "npm --silent run nothing; true", "description": "Run"}))
            .once(),
        Rule::on_any_result().say("done: $RESULT"),
    ])
}

/// Lets everything through that is asked, and says for which tools that was.
fn asked_in(mode: &str, config: &str) -> (Vec<String>, bool, String) {
    let home = Home::new();
    home.write_config(config);
    let gate = home.serve();
    let model = writer(&home);
    let args = if mode.is_empty() { vec!["go"] } else { vec!["go", "--permission-mode", mode] };
    let mut command = Driven::command(&home, &model, &args);
    command.env("IS_SANDBOX", "1");
    let run = Driven { child: home.spawn(command, crate::support::child::Stdin::Nothing) };
    let mut tools = vec![];
    loop {
        let ask = until("a prompt or the end", || {
            let open = gate.get("/api/v1/asks?state=open").json();
            let first = open.as_array()?.first().cloned();
            if first.is_none() && run.child.has_exited() { Some(Value::Null) } else { first }
        });
        if ask.is_null() {
            break;
        }
        tools.push(ask["tool"].as_str().unwrap().to_owned());
        gate.allow(&ask);
    }
    let ran = run.wait().ok();
    (tools, home.project().join("written.txt").exists(), ran.stdout)
}

#[test]
fn default_asks_for_edits_and_commands() {
    let (tools, written, _) = asked_in("default", "");
    assert_eq!((tools, written), (vec!["Write".to_owned(), "Bash".to_owned()], true));
}

#[test]
fn accept_edits_asks_only_for_commands() {
    let (tools, written, _) = asked_in("acceptEdits", "");
    assert_eq!((tools, written), (vec!["Bash".to_owned()], true));
}

#[test]
fn dont_ask_denies_what_would_be_asked() {
    let (tools, written, said) = asked_in("dontAsk", "");
    assert_eq!((tools, written), (vec![], false), "{said}");
}

#[test]
fn bypass_asks_nothing_where_the_owner_opted_in() {
    let (tools, written, _) = asked_in("bypassPermissions", "allow_bypass = true\n");
    assert_eq!((tools, written), (vec![], true));
}

#[test]
fn the_configured_mode_is_the_default() {
    let (tools, written, _) = asked_in("", "permission_mode = \"acceptEdits\"\n");
    assert_eq!((tools, written), (vec!["Bash".to_owned()], true));
}

/// The mode of the newest session, once it is done.
fn mode_of_run(home: &Home, gate: &Gate, model: &Model, more: &[&str]) -> Value {
    Driven::start(home, model, &[&["go"], more].concat()).wait().ok();
    let sessions = gate.get("/api/v1/sessions?all=true").json();
    sessions.as_array().unwrap().iter().max_by_key(|session| session["since"].as_u64()).unwrap()["mode"].clone()
}

#[test]
fn a_default_mode_that_an_admin_set_counts_for_run_and_for_sessions_over_the_api_also_after_a_restart() {
    let home = Home::new();
    let model = Model::start(vec![Rule::on_text("go").say("said")]);
    let project = home.project().canonicalize().unwrap();
    let config = format!("[projects.{:?}]\nmode = \"acceptEdits\"\n", project.to_str().unwrap());
    let gate = serve(&home, &model, &config);
    assert_eq!(mode_of_run(&home, &gate, &model, &[]), "acceptEdits");
    let set = home.run(&["session", "default-mode", "plan", "--json"]).ok().json();
    assert_eq!(
        (&set["mode"], &set["set"]["by"], &set["configured"]["mode"]),
        (&json!("plan"), &json!("owner"), &json!("acceptEdits"))
    );
    assert_eq!(home.records("default_mode_set").len(), 1);
    gate.stop();
    let gate = serve(&home, &model, &config);
    assert_eq!(mode_of_run(&home, &gate, &model, &[]), "plan");
    assert_eq!(mode_of_run(&home, &gate, &model, &["--permission-mode", "dontAsk"]), "dontAsk", "named, it counts");
    let held = gate.post("/api/v1/sessions", &json!({"prompt": "go"})).expect(201).json();
    assert_eq!(held["mode"], "plan");
    let shown = home.run(&["session", "default-mode"]).ok().stdout;
    assert!(shown.contains("start in plan: ") && shown.contains("config.toml: acceptEdits for "), "{shown}");
    home.run(&["session", "default-mode", "--clear"]).ok();
    assert_eq!(mode_of_run(&home, &gate, &model, &[]), "acceptEdits");
    assert_eq!(gate.get("/api/v1/modes").expect(200).json(), json!([]));
}

#[test]
fn a_default_mode_is_for_admins_and_never_the_one_in_which_nothing_is_asked() {
    let home = Home::new();
    home.write_config("allow_bypass = true\n");
    let gate = home.serve();
    home.run(&["session", "default-mode", "bypassPermissions"]).refused(4, "cannot be a default");
    home.run(&["session", "default-mode", "sometimes"]).refused(1, "there is no mode");
    home.run(&["session", "default-mode", "plan", "--folder", "nowhere"]).refused(1, "there is no folder");
    let reviewer = home.token_for("rita", "reviewer");
    gate.get_as(&reviewer, "/api/v1/modes").expect(403);
    let body = json!({"folder": home.project(), "mode": "auto"});
    Request::new("PUT", "/api/v1/modes/default").token(&reviewer).json(&body).send(&gate.target()).expect(403);
    assert!(home.records("default_mode_set").is_empty());
}

#[test]
fn auto_mode_is_passed_to_the_client() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(vec![Rule::on_text("go").say("said")]);
    let args = ["go", "--permission-mode", "auto", "--output", "stream-json"];
    let stream = Driven::start(&home, &model, &args).wait().ok().stdout;
    assert!(stream.contains("\"permissionMode\":\"auto\""), "{stream}");
    assert_eq!(gate.get("/api/v1/sessions?all=true").json()[0]["mode"], "auto");
}

#[test]
fn plan_mode_asks_although_an_option_allows_and_a_denial_prevents_the_write() {
    let home = Home::new();
    let gate = home.serve();
    let model = writer(&home);
    let run = Driven::start(&home, &model, &["go", "--permission-mode", "plan", "--allow", "Write"]);
    let ask = gate.only_ask();
    assert_eq!(ask["tool"], "Write");
    gate.answer(&ask, &json!({"behavior": "deny", "interrupt": true}));
    assert_eq!(run.wait().status.code(), Some(4));
    assert!(!home.project().join("written.txt").exists());
}

#[test]
fn a_mode_is_switched_while_the_session_runs() {
    let (home, latch) = (Home::new(), Latch::new());
    let gate = home.serve();
    let path = home.project().join("written.txt");
    let model = Model::start(vec![
        Rule::on_text("go").call("Write", json!({"file_path": path, "content": "x"})).held_by(&latch).once(),
        Rule::on_any_result().say("done"),
    ]);
    let run = Driven::start(&home, &model, &["go"]);
    let session = home.attached(1).remove(0)["id"].as_str().unwrap().to_owned();
    let show = || gate.get(&format!("/api/v1/sessions/{session}")).json();
    let order = |what: &str, body: &Value| gate.post(&format!("/api/v1/sessions/{session}/{what}"), body);
    model.wait_for_turn("go");
    let refused = order("mode?wait=20", &json!({"mode": "bypassPermissions"})).expect(200).json();
    assert_eq!(refused["state"], "failed", "{refused}");
    assert!(refused["why"].as_str().unwrap().contains("allow_bypass"), "{refused}");
    let changed = home.run(&["session", "mode", &session, "acceptEdits"]).ok().stdout;
    assert_eq!(changed, "Mode is now acceptEdits.\n");
    until("the mode", || (show()["mode"] == "acceptEdits").then_some(()));
    latch.open();
    assert_eq!(run.wait().ok().stdout, "done\n");
    assert!(path.exists());
    assert!(gate.asks().is_empty());
}

#[test]
fn a_stopped_session_runs_nothing_until_it_is_resumed() {
    let (home, latches) = (Home::new(), [Latch::new(), Latch::new()]);
    let gate = home.serve();
    let touch = |name: &str| json!({"command": format!("touch {name}"), "description": "Make it"});
    let model = Model::start(vec![
        Rule::on_text("go").call("Bash", touch("first.txt")).held_by(&latches[0]).once(),
        Rule::on_any_result().call("Bash", touch("second.txt")).held_by(&latches[1]).once(),
        Rule::on_any_result().say("done"),
    ]);
    let run = Driven::start(&home, &model, &["go", "--allow", "Bash(touch *)"]);
    let session = home.attached(1).remove(0)["id"].as_str().unwrap().to_owned();
    let order = |what: &str| {
        let done = gate.post(&format!("/api/v1/sessions/{session}/{what}?wait=20"), &json!({})).expect(200).json();
        assert_eq!(done["state"], "done", "{done}");
    };
    model.wait_for_turn("go");
    order("stop");
    latches[0].open();
    model.wait_for_turn("has stopped this session");
    order("resume");
    latches[1].open();
    run.wait().ok();
    let made = ["first.txt", "second.txt"].map(|name| home.project().join(name).exists());
    assert_eq!((made, gate.open_asks(0).len()), ([false, true], 0));
}
