//! What a verdict may say besides yes and no, what becomes of it, and orders to sessions: with a process of ours whose
//! link is spoken by hand.

use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::link::{Link, new_id};
use serde_json::{Value, json};

fn attached(home: &Home, about: &Value) -> (Link, String) {
    let session = new_id();
    let mut link = Link::welcomed(home);
    link.tell(1, &json!({"attach": {"session": session, "about": about}}));
    assert_eq!(link.answer(1), "ok");
    (link, session)
}

fn driven() -> Value {
    json!({"label": "api", "connected_by": "run", "driven": true, "mode": "default"})
}

/// Asks with a whole input and everything that may be offered.
fn ask(link: &mut Link, n: u64, code: &str, more: &Value) -> String {
    let id = new_id();
    let mut details = json!({"input": "{\"command\":\"git push\"}", "digest": vec![7; 32], "tool_use_id": format!("use-{code}"),
                             "editable": true, "interruptible": true,
                             "offers": [{"scope": "always", "words": "Bash(git push), in local settings"}]});
    for (key, value) in more.as_object().unwrap() {
        details[key] = value.clone();
    }
    link.tell(
        n,
        &json!({"asked": {"id": id, "source": "control", "origin": code, "tool": "Bash",
                               "description": "Push", "preview": "git push", "details": details}}),
    );
    assert_eq!(link.answer(n)["asked"]["code"], code);
    id
}

#[test]
fn every_part_of_a_verdict_reaches_the_session() {
    let home = Home::new();
    let gate = home.serve();
    let (mut link, _) = attached(&home, &driven());
    ask(&mut link, 2, "abcde", &json!({"risk": {"level": "high", "reasons": ["network"]}, "reason": "a rule asks"}));
    let shown = home.run(&["ask", "show", "abcde"]).ok().stdout;
    for words in ["git push", "risk: high (network)", "a rule asks", "--scope always: Bash(git push)"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    home.run(&["ask", "allow", "abcde", "--scope", "always", "--input", r#"{"command":"git push --dry-run"}"#]).ok();
    let heard = link.hear();
    let ruling = &heard["verdict"]["ruling"];
    assert_eq!((&ruling["behavior"], &ruling["scope"]), (&json!("allow"), &json!("always")));
    assert_eq!(ruling["input"]["text"], r#"{"command":"git push --dry-run"}"#);

    ask(&mut link, 3, "bcdef", &json!({}));
    home.run(&["ask", "deny", "bcdef", "--why", "not on a Friday", "--interrupt"]).ok();
    let heard = link.hear();
    let ruling = &heard["verdict"]["ruling"];
    assert_eq!((&ruling["why"], &ruling["interrupt"]), (&json!("not on a Friday"), &json!(true)));

    let questions = r#"{"questions":[{"question":"Which?","options":[{"label":"red"},{"label":"blue"}]}]}"#;
    ask(&mut link, 4, "cdefg", &json!({"kind": "question", "input": questions, "offers": []}));
    let refused = home.run(&["ask", "allow", "cdefg"]);
    assert!(refused.stderr.contains("--answer"), "{refused:#?}");
    gate.verdict("cdefg", &json!({"behavior": "allow", "scope": "always"})).expect(422);
    home.run(&["ask", "allow", "cdefg", "--answer", "Which?=blue"]).ok();
    let heard = link.hear();
    let input: Value = serde_json::from_str(heard["verdict"]["ruling"]["input"]["text"].as_str().unwrap()).unwrap();
    assert_eq!(input["answers"], json!({"Which?": "blue"}));
    assert_eq!(input["questions"][0]["question"], "Which?");
}

#[test]
fn a_quorum_of_two_needs_two_different_people() {
    let home = Home::new();
    let gate = home.serve();
    let ann = home.token_for("ann", "reviewer");
    let (mut link, _) = attached(&home, &driven());
    ask(&mut link, 2, "abcde", &json!({"quorum": 2}));
    let once = gate.verdict("abcde", &json!({"behavior": "allow"})).expect(200).json();
    assert_eq!(once["missing"], 1);
    let again = gate.verdict("abcde", &json!({"behavior": "allow"})).expect(200).json();
    assert_eq!(again["missing"], 1, "one person is one person");
    let open = gate.ask("abcde");
    assert_eq!((&open["state"], &open["allowed_by"]), (&json!("open"), &json!(["owner"])));
    gate.say_as(&ann, "/", "yes abcde").expect(200);
    assert_eq!(link.hear()["verdict"]["ruling"]["behavior"], "allow");
    assert_eq!(gate.ask("abcde")["verdict"]["by"], "ann");
}

#[test]
fn an_expired_prompt_is_denied_or_left_undecided_as_it_says() {
    let home = Home::new();
    let gate = home.serve();
    let (mut link, _) = attached(&home, &driven());
    ask(&mut link, 2, "abcde", &json!({"timeout": {"milliseconds": 50, "then": "deny"}}));
    let heard = link.hear();
    assert_eq!(heard["verdict"]["ruling"]["behavior"], "deny", "{heard}");
    let settled = gate.ask("abcde");
    assert_eq!((&settled["verdict"]["by"], &settled["verdict"]["via"]), (&json!("portcullis"), &json!("gate")));
    ask(&mut link, 3, "bcdef", &json!({"timeout": {"milliseconds": 50, "then": "no decision"}}));
    assert_eq!(link.hear()["closed"]["origin"], "bcdef");
    assert_eq!(gate.ask("bcdef")["state"], "expired");
    gate.verdict("bcdef", &json!({"behavior": "allow"})).expect(409);
}

#[test]
fn every_tool_call_is_recorded_and_compared_with_what_was_shown() {
    let home = Home::new();
    let gate = home.serve();
    let (mut link, _) = attached(&home, &driven());
    let called = |tool_use_id: &str, digest: u8| {
        json!({"called": {"tool": "Bash", "tool_use_id": tool_use_id, "outcome": "ran",
                          "decided_by": "user_temporary", "digest": vec![digest; 32], "preview": "git push"}})
    };
    for (n, code, ran) in [(10, "abcde", 7), (20, "bcdef", 8)] {
        ask(&mut link, n, code, &json!({}));
        gate.say("/", &format!("yes {code}")).expect(200);
        link.hear();
        link.tell(n + 1, &called(&format!("use-{code}"), ran));
        assert_eq!(link.answer(n + 1), "ok");
    }
    let verdict_of = |code: &str| gate.ask(code)["verdict"].clone();
    assert_eq!((&verdict_of("abcde")["outcome"], &verdict_of("abcde")["differs"]), (&json!("ran"), &Value::Null));
    assert_eq!((&verdict_of("bcdef")["outcome"], &verdict_of("bcdef")["differs"]), (&json!("ran"), &json!(true)));
    assert!(home.run(&["ask", "show", "bcdef"]).ok().stdout.contains("WARNING"));
    // Answered at the terminal: the tool ran, so the prompt is nobody's any more.
    ask(&mut link, 30, "cdefg", &json!({}));
    link.tell(31, &called("use-cdefg", 7));
    link.answer(31);
    assert_eq!(gate.ask("cdefg")["withdrawn"], "allowed at its terminal");
    // And one that nobody was asked about.
    link.tell(32, &called("use-silent", 1));
    link.answer(32);
    let log = home.run(&["log"]).ok().stdout;
    assert_eq!(log.lines().filter(|line| line.contains("  called {")).count(), 4, "{log}");
}

#[test]
fn orders_reach_driven_sessions_and_a_stop_is_kept() {
    let home = Home::new();
    let gate = home.serve();
    let (mut link, session) = attached(&home, &driven());
    home.run(&["session", "prompt", "api", "go on"]).ok();
    assert_eq!(link.hear(), json!({"order": {"prompt": {"text": "go on", "by": "owner"}}}));
    home.run(&["session", "mode", "api", "plan"]).ok();
    assert_eq!(link.hear(), json!({"order": {"mode": "plan"}}));
    home.run(&["session", "interrupt", &session]).ok();
    assert_eq!(link.hear(), json!({"order": "interrupt"}));
    home.run(&["session", "stop", "api"]).ok();
    assert_eq!(link.hear(), json!({"order": {"stop": {"by": "owner"}}}));
    assert!(home.run(&["session", "list"]).ok().stdout.contains("stopped by owner"));
    drop(link);
    home.attached(0);

    let mut link = Link::welcomed(&home);
    link.tell(1, &json!({"attach": {"session": session, "about": driven()}}));
    assert_eq!(link.hear(), json!({"order": {"stop": {"by": "owner"}}}), "told again when it is back");
    let mut about = driven();
    about["mode"] = json!("acceptEdits");
    link.tell(2, &json!({"described": about}));
    link.answer(2);
    home.run(&["session", "resume", "api"]).ok();
    assert_eq!(link.hear(), json!({"order": "resume"}));
    let sessions = home.run(&["session", "list", "--json"]).json();
    assert_eq!((&sessions[0]["mode"], &sessions[0]["stopped_by"]), (&json!("acceptEdits"), &Value::Null));

    let bob = home.token_for("bob", "reviewer");
    let order = |what: &str, body: Value| gate.post_as(&bob, &format!("/api/v1/sessions/{session}/{what}"), &body);
    order("prompt", json!({"prompt": "do as I say"})).expect(403);
    order("interrupt", json!({})).expect(200);
    order("dance", json!({})).expect(404);
    let (_other, id) = attached(&home, &json!({"label": "web", "connected_by": "channel"}));
    let refused = gate.post(&format!("/api/v1/sessions/{id}/end"), &json!({})).expect(409).json();
    assert_eq!(refused["error"], 40907);
}

#[test]
fn a_terminal_can_answer_only_prompts_of_its_own_session() {
    let home = Home::new();
    let gate = home.serve();
    let (mut link, _) = attached(&home, &driven());
    let (mut other, _) = attached(&home, &json!({"label": "web", "connected_by": "run", "driven": true}));
    let mine = ask(&mut link, 2, "abcde", &json!({}));
    let answered = json!({"answered": {"ask": mine, "ruling": {"behavior": "allow"}}});
    other.tell(5, &answered);
    assert_eq!(other.answer(5)["refused"]["error"], 40306);
    assert_eq!(gate.ask("abcde")["state"], "open");
    link.tell(3, &answered);
    assert_eq!(link.answer(3), "ok");
    assert_eq!(link.hear()["verdict"]["ruling"]["behavior"], "allow");
    assert_eq!(gate.ask("abcde")["verdict"]["via"], "terminal");

    // Whoever descends from an agent is no terminal: here the agent is what runs this test.
    let about = json!({"label": "inside", "connected_by": "run", "driven": true, "runs_commands": true,
                       "pid": std::os::unix::process::parent_id()});
    let (mut agent, session) = attached(&home, &about);
    let its_own = ask(&mut agent, 2, "bcdef", &json!({}));
    let mut child = Link::welcomed(&home);
    child.tell(1, &json!({"attach": {"session": session, "about": about}}));
    assert_eq!(child.answer(1), "ok");
    child.tell(3, &json!({"answered": {"ask": its_own, "ruling": {"behavior": "allow"}}}));
    assert_eq!(child.answer(3)["refused"]["error"], 40306);
    assert_eq!(gate.ask("bcdef")["state"], "open");
    assert!(home.run(&["log"]).ok().stdout.contains("answering a prompt"));
}

#[test]
fn commands_run_by_an_agent_cannot_answer_during_a_restart_of_the_gate() {
    let home = Home::new();
    let gate = home.serve();
    let about = json!({"label": "inside", "connected_by": "run", "driven": true, "runs_commands": true,
                       "pid": std::os::unix::process::parent_id()});
    let (mut link, _) = attached(&home, &about);
    ask(&mut link, 2, "abcde", &json!({}));
    gate.kill_9();
    let gate = home.serve();
    // The session is expected back and not there yet: what its agent runs is inside all the same.
    let allow = Request::post("/api/v1/asks/abcde/verdict").json(&json!({"behavior": "allow"}));
    assert_eq!(allow.send(&home.socket()).expect(403).json()["error"], 40306);
    assert_eq!(gate.ask("abcde")["state"], "open");
}
