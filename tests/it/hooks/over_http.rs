//! Hooks that are posted over HTTP: off unless the owner switches it on, and only by tokens that can do nothing else.

use crate::support::PATIENCE;
use crate::support::connection::Connection;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::hooks::{bash, context};
use crate::support::http::Request;
use crate::support::seen::until;
use serde_json::{Value, json};
use std::io::Write;
use std::time::Instant;

/// A gate that takes posted hooks, and a token for an agent.
fn posting() -> (Home, Gate, String) {
    let home = Home::new();
    home.write_config("instructions = \"Ignore staging.\"\n[hooks]\nhttp = true\n");
    let gate = home.serve();
    let token = home.token_for("claude", "agent");
    (home, gate, token)
}

fn posted(home: &Home, event: &str, fields: &Value) -> Value {
    let mut body = json!({"hook_event_name": event, "session_id": "s-9", "cwd": home.project()});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}

#[test]
fn http_hooks_are_accepted_only_when_enabled_and_only_with_an_agent_token() {
    let (home, gate, token) = posting();
    let stop = posted(&home, "Stop", &json!({}));
    assert_eq!(gate.post_as(&token, "/claude/hooks", &stop).expect(200).json(), json!({}));
    for other in [home.token().to_owned(), home.token_for("ann", "admin"), home.token_for("tom", "reviewer")] {
        gate.post_as(&other, "/claude/hooks", &stop).expect(403);
    }
    for (path, body) in [("/", json!("yes")), ("/api/v1/tokens", json!({"person": "eve", "role": "admin"}))] {
        gate.post_as(&token, path, &body).expect(403);
    }
    for path in ["/api/v1/asks", "/api/v1/sessions", "/api/v1/events", "/api/v1/log", "/events"] {
        gate.get_as(&token, path).expect(403);
    }
    gate.post_as(&token, "/claude/hooks", &json!({"hook_event_name": "Stop"})).expect(400);
    gate.post_as(&token, "/claude/hooks", &json!({"hook_event_name": "Nonsense", "session_id": "s"})).expect(400);

    let other = Home::new();
    let off = other.serve();
    let token = other.token_for("claude", "agent");
    off.post_as(&token, "/claude/hooks", &stop).expect(404);
}

#[test]
fn a_token_of_another_person_neither_speaks_for_a_session_nor_hears_or_ends_it() {
    let (home, gate, token) = posting();
    let other = home.token_for("other", "agent");
    let post = |token: &str, event: &str| gate.post_as(token, "/claude/hooks", &posted(&home, event, &bash("ls")));
    post(&token, "UserPromptSubmit").expect(200);
    gate.say("/", "for the first alone").expect(200);
    for event in ["PostToolUse", "UserPromptSubmit", "Stop", "SessionEnd"] {
        post(&other, event).expect(403);
    }
    let denied = post(&other, "PermissionRequest").expect(200).json();
    assert_eq!(denied["hookSpecificOutput"]["decision"]["behavior"], "deny", "{denied}");
    assert_eq!(gate.get("/api/v1/sessions").json()[0]["state"], "attached");
    assert!(post(&token, "PostToolUse").expect(200).text().contains("for the first alone"));
}

#[test]
fn an_http_prompt_waits_for_its_answer_and_http_hooks_deliver_events() {
    let (home, gate, token) = posting();
    let ask = |command: &str| posted(&home, "PermissionRequest", &bash(command));
    let (target, request) = (gate.target(), Request::post("/claude/hooks").token(&token).json(&ask("git push")));
    let held = std::thread::spawn(move || request.send(&target).expect(200).json());
    let prompt = gate.open_ask();
    assert_eq!((&prompt["preview"], &prompt["source"]), (&json!("git push"), &json!("hook")));
    gate.answer(&prompt, &json!({"behavior": "deny", "why": "not now"}));
    let decision = held.join().unwrap()["hookSpecificOutput"]["decision"].clone();
    assert_eq!(decision, json!({"behavior": "deny", "message": "not now"}));
    gate.ask_when(&prompt, |ask| !ask["verdict"]["carried_at"].is_null());

    let event = gate.send_event("main is red");
    let next = || {
        until("the event", || {
            let output = gate.post_as(&token, "/claude/hooks", &posted(&home, "PostToolUse", &bash("ls"))).json();
            (!context(&output).is_empty()).then_some(output)
        })
    };
    let output = next();
    assert!(context(&output).contains("main is red"), "{output}");
    let owners = "The user says about messages from outside: Ignore staging.";
    assert!(context(&output).starts_with(owners), "no server tells it: {output}");
    gate.wait_for_event(&event, "delivered");
    gate.send_event("main is green");
    let output = next();
    assert!(context(&output).contains("main is green") && !context(&output).contains(owners), "once: {output}");
    let sessions = home.attached(1);
    assert_eq!((&sessions[0]["connected_by"], &sessions[0]["agent_session"]), (&json!("hooks"), &json!("s-9")));

    gate.post_as(&token, "/claude/hooks", &posted(&home, "SessionEnd", &json!({"reason": "other"}))).expect(200);
    home.attached(0);
}

#[test]
fn an_http_prompt_is_withdrawn_when_its_client_disconnects() {
    let (home, gate, token) = posting();
    let mut stream = std::net::TcpStream::connect(gate.address()).unwrap();
    let body = posted(&home, "PermissionRequest", &bash("git push")).to_string();
    let head = format!(
        "POST /claude/hooks HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n",
        gate.address(),
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let prompt = gate.open_ask();
    drop(stream);
    let prompt = gate.ask_when(&prompt, |ask| ask["state"] == "withdrawn");
    assert_eq!(prompt["withdrawn"], "denied, interrupted or timed out at the terminal");
}

#[test]
fn a_session_that_posts_nothing_ends_although_events_come_for_it() {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    home.fix("PORTCULLIS_TEST_SILENCE", 1000);
    let gate = home.serve();
    let token = home.token_for("claude", "agent");
    gate.post_as(&token, "/claude/hooks", &posted(&home, "Stop", &json!({}))).expect(200);
    home.attached(1);
    until("the end of the session", || {
        gate.say("/", "the build is red").expect(200);
        gate.get("/api/v1/sessions").json().as_array().unwrap().is_empty().then_some(())
    });
}

#[test]
fn a_hook_that_waits_is_denied_when_its_token_is_revoked() {
    let (home, gate, token) = posting();
    let ask = posted(&home, "PermissionRequest", &bash("git push"));
    let (target, request) = (gate.target(), Request::post("/claude/hooks").token(&token).json(&ask));
    let held = std::thread::spawn(move || request.send(&target).expect(200).json());
    let prompt = gate.open_ask();
    home.run(&["people", "remove", "claude"]).ok();
    let decision = held.join().unwrap()["hookSpecificOutput"]["decision"].clone();
    assert_eq!(decision["behavior"], "deny", "{decision}");
    gate.ask_when(&prompt, |ask| ask["state"] != "open");
}

#[test]
fn answers_that_are_not_read_take_no_more_memory_than_there_is() {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    home.fix("PORTCULLIS_TEST_ANSWER_BYTES", 300 << 10);
    let gate = home.serve();
    let [agent, reviewer] = [("one", "agent"), ("ann", "reviewer")].map(|(name, role)| home.token_for(name, role));
    gate.get_as(&reviewer, "/api/v1/asks").expect(200);
    let mut call = posted(&home, "PermissionRequest", &bash("git push"));
    call["tool_input"]["description"] = "x".repeat(200 << 10).into();
    let (target, request) = (gate.target(), Request::post("/claude/hooks").token(&agent).json(&call));
    let held = std::thread::spawn(move || request.send(&target).expect(200).json());
    let prompt = gate.open_ask();
    for path in ["/api/v1/asks", "/api/v1/asks?state=open", "/api/pending", "/api/v1/watch"] {
        let refused = gate.get_as(&reviewer, path).expect(429);
        assert_eq!((&refused.json()["error"], refused.header("retry-after")), (&json!(42909), Some("5")), "{path}");
    }
    assert_eq!(gate.asks().len(), 1, "the owner at their own machine is always told");
    gate.answer(&prompt, &json!({"behavior": "deny", "why": "not now"}));
    held.join().unwrap();
}

#[test]
fn a_first_state_that_could_not_be_held_is_refused_before_it_is_made() {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    home.fix("PORTCULLIS_TEST_ANSWER_BYTES", 300 << 10);
    let gate = home.serve();
    let [agent, reviewer] = [("one", "agent"), ("ann", "reviewer")].map(|(name, role)| home.token_for(name, role));
    let held: Vec<_> = (0..8)
        .map(|number| {
            let mut call =
                posted(&home, "PermissionRequest", &bash(&format!("echo {number} {}", "x ".repeat(400 << 10))));
            call["tool_use_id"] = format!("t-{number}").into();
            let (target, request) = (gate.target(), Request::post("/claude/hooks").token(&agent).json(&call));
            std::thread::spawn(move || request.send(&target).status)
        })
        .collect();
    until("all prompts", || (gate.asks().len() == 8).then_some(()));
    let since = Instant::now();
    gate.get("/api/v1/asks").expect(200);
    let made = since.elapsed();
    for path in ["/api/v1/watch", "/events"] {
        let since = Instant::now();
        for _ in 0..20 {
            gate.get_as(&reviewer, path).expect(429);
        }
        let refused = since.elapsed();
        assert!(refused < made * 10, "{path}: refused 20 times in {refused:?}, a list is made in {made:?}");
    }
    gate.stop();
    held.into_iter().for_each(|call| drop(call.join()));
}

#[test]
fn sessions_of_one_person_do_not_take_all_places_for_posted_hooks() {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    home.fix("PORTCULLIS_TEST_POSTED_SESSIONS", 8);
    let gate = home.serve();
    let [one, two] = ["one", "two"].map(|name| home.token_for(name, "agent"));
    let post = |token: &str, session: &str, event: &str| {
        let mut call = posted(&home, event, &bash("git push"));
        call["session_id"] = session.into();
        gate.post_as(token, "/claude/hooks", &call)
    };
    for session in ["a", "b"] {
        post(&one, session, "PostToolUse").expect(200);
    }
    assert_eq!(post(&one, "c", "PostToolUse").expect(503).json()["error"], 50302);
    let second = home.token_for("one", "agent");
    let denied = post(&second, "c", "PreToolUse").expect(200).json()["hookSpecificOutput"].clone();
    assert_eq!(denied["permissionDecision"], "deny", "{denied}");
    assert!(denied["permissionDecisionReason"].as_str().unwrap().contains("2 sessions post hooks with tokens of one"));
    post(&two, "d", "PostToolUse").expect(200);
    post(&one, "a", "SessionEnd").expect(200);
    until("a place", || (post(&one, "c", "PostToolUse").status == 200).then_some(()));
}

#[test]
fn posted_calls_take_no_more_memory_than_there_is_and_none_passes_for_that() {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    home.fix("PORTCULLIS_TEST_HOOK_BYTES", 1 << 20);
    let gate = home.serve();
    let [one, two, three] = ["one", "two", "three"].map(|name| home.token_for(name, "agent"));
    let large = |event: &str, command: &str| {
        let mut call = posted(&home, event, &bash(command));
        call["session_id"] = format!("s-{command}").into();
        call["tool_input"]["description"] = "x".repeat(400 << 10).into();
        call["tool_use_id"] = command.into();
        call
    };
    let hold = |token: &str, command: &str| {
        let call = large("PermissionRequest", command);
        let (target, request) = (gate.target(), Request::post("/claude/hooks").token(token).json(&call));
        let held = std::thread::spawn(move || request.send(&target).expect(200).json());
        let is_it = |ask: &Value| ask["preview"].as_str().is_some_and(|preview| preview.contains(command));
        (held, until("the prompt", || gate.asks().into_iter().find(is_it)))
    };
    let (held, prompt) = hold(&one, "git push");
    let denied = gate.post_as(&one, "/claude/hooks", &large("PreToolUse", "touch a")).expect(200).json();
    let denied = &denied["hookSpecificOutput"];
    assert_eq!(denied["permissionDecision"], "deny");
    assert!(denied["permissionDecisionReason"].as_str().unwrap().contains("memory that one token has"), "{denied}");
    let record = until("the record", || home.records("called").last().cloned());
    assert_eq!((&record["outcome"], &record["decided_by"]), (&json!("denied"), &json!("unreadable")));
    let refused = gate.post_as(&one, "/claude/hooks", &large("PostToolUse", "touch a")).expect(429);
    assert_eq!((refused.json()["error"].clone(), refused.header("retry-after")), (json!(42908), Some("5")));

    let (other, others) = hold(&two, "git fetch");
    let denied = gate.post_as(&three, "/claude/hooks", &large("PermissionRequest", "touch b")).expect(200).json();
    let denied = &denied["hookSpecificOutput"]["decision"];
    assert_eq!(denied["behavior"], "deny");
    assert!(denied["message"].as_str().unwrap().contains("all the memory that there is"), "{denied}");
    assert_eq!(gate.post_as(&three, "/claude/hooks", &large("Stop", "x")).expect(503).json()["error"], 50302);

    gate.answer(&prompt, &json!({"behavior": "deny", "why": "not now"}));
    gate.answer(&others, &json!({"behavior": "deny", "why": "not now"}));
    for held in [held, other] {
        assert_eq!(held.join().unwrap()["hookSpecificOutput"]["decision"]["message"], "not now");
    }
    gate.post_as(&one, "/claude/hooks", &large("PostToolUse", "touch a")).expect(200);
}

#[test]
fn a_hook_whose_token_was_revoked_while_it_came_is_denied_and_changes_nothing() {
    let (home, gate, token) = posting();
    let start = |event: &str, fields: &Value| {
        let body = posted(&home, event, fields).to_string();
        let mut posting = Connection::open(&gate.target());
        let head = format!(
            "POST /claude/hooks HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
            gate.address(),
            body.len()
        );
        posting.write(head.as_bytes());
        posting.is_asked_for_the_body();
        posting.write(&body.as_bytes()[..10]);
        (posting, body)
    };
    let calls = [start("PreToolUse", &bash("ls")), start("PostToolUse", &bash("ls"))];
    home.run(&["people", "remove", "claude"]).ok();
    let statuses = calls.map(|(mut posting, body)| {
        posting.write(&body.as_bytes()[10..]);
        posting.patient_for(PATIENCE);
        posting.read_head().unwrap().status
    });
    assert_eq!(statuses, [200, 403], "the first is answered with a no");
    home.attached(0);
    assert!(home.records("attached").is_empty() && home.records("called").is_empty());
}
