//! What a verdict may say besides yes and no, what becomes of it, and orders to sessions: with a process of ours whose
//! link is spoken by hand.

use crate::support::home::{Home, Ran};
use crate::support::http::Request;
use crate::support::link::{Link, new_id};
use crate::support::standin::StandIn;
use crate::support::until;
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

/// Runs a command that orders something, and settles the order at the session's end of the link. Returns what was
/// ordered, and how the command went.
#[track_caller]
fn settled(home: &Home, link: &mut Link, command: &[&str], outcome: &Value) -> (Value, Ran) {
    std::thread::scope(|scope| {
        let running = scope.spawn(|| home.run(command));
        let order = link.hear()["order"].clone();
        link.tell(9, &json!({"ordered": {"order": order["id"], "outcome": outcome}}));
        assert_eq!(link.answer(9), "ok");
        (order["order"].clone(), running.join().unwrap())
    })
}

#[test]
fn every_part_of_a_verdict_reaches_the_session() {
    let home = Home::new();
    let gate = home.serve();
    let (mut link, _) = attached(&home, &driven());
    ask(&mut link, 2, "abcde", &json!({"risk": {"level": "high", "reasons": ["network"]}, "reason": "a rule asks"}));
    let shown = home.run(&["ask", "show", "abcde"]).ok().stdout;
    for words in ["git push", "high (network)", "a rule asks", "--scope always: Bash(git push)"] {
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
    let settled = gate.ask("abcde");
    assert_eq!((&settled["verdict"]["by"], &settled["allowed_by"]), (&json!("ann"), &json!(["owner", "ann"])));
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
    assert_eq!(log.lines().filter(|line| line.contains("(decided by ")).count(), 4, "{log}");
}

#[test]
fn orders_reach_driven_sessions_and_a_stop_is_kept() {
    let home = Home::new();
    let gate = home.serve();
    let (mut link, session) = attached(&home, &driven());
    let ordered = settled(&home, &mut link, &["session", "prompt", "api", "go on"], &json!("done"));
    assert_eq!(ordered.0, json!({"prompt": {"text": "go on", "by": "owner"}}));
    assert_eq!(ordered.1.ok().stdout, "Session api has its prompt.\n");
    let (order, ran) = settled(&home, &mut link, &["session", "mode", "api", "plan"], &json!("done"));
    assert_eq!((order, ran.ok().stdout.as_str()), (json!({"mode": "plan"}), "Mode is now plan.\n"));
    let failed = json!({"failed": {"why": "no such model"}});
    let (order, ran) = settled(&home, &mut link, &["session", "model", "api", "gpt"], &failed);
    assert_eq!((order, ran.status.code()), (json!({"model": "gpt"}), Some(1)));
    assert!(ran.stderr.contains("the session refused: no such model"), "{ran:#?}");
    let (order, _) = settled(&home, &mut link, &["session", "interrupt", &session], &json!("done"));
    assert_eq!(order, "interrupt");
    let (order, ran) = settled(&home, &mut link, &["session", "stop", "api"], &json!("done"));
    assert_eq!(order, json!({"stop": {"by": "owner"}}));
    assert_eq!(ran.ok().stdout, "Session api is stopped: no tool runs until it is resumed.\n");
    assert!(home.run(&["session", "list"]).ok().stdout.contains("stopped by owner"));
    let states = |all: &Value| -> Vec<String> {
        let orders = all["orders"].as_array().unwrap().iter();
        orders
            .map(|order| format!("{} {}", order["order"].as_str().unwrap(), order["state"].as_str().unwrap()))
            .collect()
    };
    let shown = gate.get(&format!("/api/v1/sessions/{session}")).json();
    assert_eq!(states(&shown), ["prompt done", "mode done", "model failed", "interrupt done", "stop done"]);
    assert_eq!(shown["orders"][2]["why"], "no such model");
    drop(link);
    home.attached(0);

    let mut link = Link::welcomed(&home);
    link.tell(1, &json!({"attach": {"session": session, "about": driven()}}));
    let heard = link.hear();
    assert_eq!(heard["order"]["order"], json!({"stop": {"by": "owner"}}), "told again when it is back");
    assert_eq!(heard["order"]["id"], shown["orders"][4]["id"], "as the same order");
    let mut about = driven();
    about["mode"] = json!("acceptEdits");
    link.tell(2, &json!({"described": about}));
    link.answer(2);
    // The session does not say what becomes of this one.
    let resumed = gate.post(&format!("/api/v1/sessions/{session}/resume"), &json!({})).expect(200).json();
    assert_eq!((&resumed["order"], &resumed["state"]), (&json!("resume"), &json!("recorded")));
    assert_eq!(link.hear()["order"]["order"], "resume");
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
    let home = Home::without_auto_start();
    let gate = home.serve();
    let about = json!({"label": "inside", "connected_by": "run", "driven": true, "runs_commands": true,
                       "pid": std::os::unix::process::parent_id()});
    let (mut link, _) = attached(&home, &about);
    ask(&mut link, 2, "abcde", &json!({}));
    let gate = home.restart(&gate);
    // The session is expected back and not there yet: what its agent runs is inside all the same.
    let allow = Request::post("/api/v1/asks/abcde/verdict").json(&json!({"behavior": "allow"}));
    assert_eq!(allow.send(&home.socket()).expect(403).json()["error"], 40306);
    assert_eq!(gate.ask("abcde")["state"], "open");
}

#[test]
fn an_order_that_nobody_confirms_stays_recorded() {
    let home = Home::new();
    let gate = home.serve();
    let (mut link, session) = attached(&home, &driven());
    std::thread::scope(|scope| {
        let running = scope.spawn(|| home.run(&["session", "mode", "api", "plan"]));
        assert_eq!(link.hear()["order"]["order"], json!({"mode": "plan"}));
        drop(link);
        assert_eq!(running.join().unwrap().ok().stdout, "Recorded; the session has not confirmed it yet.\n");
    });
    home.attached(0);
    let shown = gate.get(&format!("/api/v1/sessions/{session}")).json();
    assert_eq!(shown["orders"][0]["state"], "recorded", "{shown}");
}

#[test]
fn a_stop_counts_as_done_only_where_hooks_can_enforce_it() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    let id = home.attached(1)[0]["id"].as_str().unwrap().to_owned();
    let stopped = gate.post(&format!("/api/v1/sessions/{id}/stop"), &json!({})).expect(200).json();
    // What comes later was read later: by now the session has the order.
    gate.say("/", "hello").expect(200);
    session.next_event();
    let order = || gate.get(&format!("/api/v1/sessions/{id}")).json()["orders"][0].clone();
    assert_eq!(order(), stopped, "no hook has called yet");
    session.hook("SessionStart", &json!({"session_id": "s-1", "source": "startup"}));
    until("the order is done", || (order()["state"] == "done").then_some(()));
}
