//! A token for some sessions: the others are not there for whoever has it.

use crate::support::PATIENCE;
use crate::support::home::Home;
use crate::support::standin::StandIn;
use serde_json::{Value, json};

#[test]
fn a_scoped_token_cannot_reach_see_or_answer_another_session() {
    let home = Home::new();
    let gate = home.serve();
    let [api, web] = ["api", "web"].map(|label| StandIn::start_under_an_agent(&home, &["--label", label]));
    let sessions = home.attached(2);
    let id = |label: &str| {
        let about = sessions.iter().find(|session| session["label"] == label).unwrap();
        about["id"].as_str().unwrap().to_owned()
    };
    let token = home.token_with(&["ann", "--role", "reviewer", "--label", "api"]);
    let streams = ["/events", "/api/v1/watch"].map(|path| gate.listen_as(&token, path));

    assert!(
        gate.say_as(&token, "/?label=web", "hello")
            .expect(403)
            .text()
            .contains("only for sessions labelled api: name one of these")
    );
    gate.say_as(&token, &format!("/?session={}", id("web")), "hello").expect(404);
    gate.say_as(&token, "/", "to the only one in sight").expect(200);
    api.event_containing("to the only one in sight");
    let others = gate.say("/?label=web&chat=w", "a secret of web").expect(200);
    let others = format!("/api/v1/events/{}", others.header("x-event-id").unwrap());
    web.event_containing("a secret of web");
    web.ask("wwwww", "Bash", "Of web", "rm -rf web");
    web.call("reply", &json!({"chat_id": "w", "text": "a reply of web"}));
    gate.events().containing("wwwww");

    let labels = |path: &str| {
        let list = gate.get_as(&token, path).expect(200).json();
        list.as_array().unwrap().iter().map(|session| session["label"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (labels("/api/v1/sessions"), labels("/api/v1/sessions?all=true")),
        (vec![json!("api")], vec![json!("api")])
    );
    gate.get_as(&token, &format!("/api/v1/sessions/{}", id("web"))).expect(404);
    gate.get_as(&token, &others).expect(404);
    assert!(!gate.get_as(&token, "/api/v1/events").expect(200).text().contains(&id("web")));
    for verb in ["drop", "retry"] {
        gate.post_as(&token, &format!("{others}/{verb}"), &Value::Null).expect(404);
    }
    let ask = gate.ask("wwwww")["id"].as_str().unwrap().to_owned();
    for which in ["wwwww", &ask] {
        gate.get_as(&token, &format!("/api/v1/asks/{which}")).expect(404);
        let verdict = format!("/api/v1/asks/{which}/verdict");
        gate.post_as(&token, &verdict, &json!({"behavior": "allow"})).expect(404);
    }
    assert_eq!(gate.get_as(&token, "/api/v1/asks").json(), json!([]));

    api.ask("aaaaa", "Bash", "Of api", "ls");
    for stream in &streams {
        stream.containing("aaaaa");
        let told = format!("{:?}", stream.all());
        assert!(!told.contains("web") && !told.contains("wwwww"), "{told}");
    }
    gate.say_as(&token, "/", "yes aaaaa").expect(200);
    assert_eq!(api.next_verdict().behavior, "allow");
    gate.say("/", "no wwwww").expect(200);
    assert_eq!(web.next_verdict().behavior, "deny");
    assert_eq!(gate.get_as(&token, "/api/v1/verdicts").json().as_array().unwrap().len(), 1);
}

#[test]
fn codes_outside_the_tokens_scope_are_treated_as_chat() {
    let home = Home::new();
    let gate = home.serve();
    let [api, web] = ["api", "web"].map(|label| StandIn::start_under_an_agent(&home, &["--label", label]));
    home.attached(2);
    let token = home.token_with(&["ann", "--role", "reviewer", "--label", "api"]);
    let before = gate.say_as(&token, "/", "yes great").expect(200);
    assert_eq!(api.next_event().content, "yes great");
    web.ask("great", "Bash", "Of web", "rm -rf web");
    gate.events().containing("great");
    let answer = gate.say_as(&token, "/", "yes great").expect(200);
    assert_eq!(answer.text(), before.text(), "that a prompt of another session is open is told to nobody");
    assert_eq!(api.next_event().content, "yes great");
    assert_eq!(web.verdict_count(), 0);
}

#[test]
fn events_of_a_scoped_sender_never_go_outside_the_scope() {
    let home = Home::new();
    let gate = home.serve();
    // It never says that it is initialized, so its channel holds what it is given.
    let leaves = StandIn::start_paused(&home, &["--label", "api"]);
    let _web = StandIn::start(&home, &["--label", "web"]);
    home.attached(2);
    let new = json!({"person": "ann", "role": "sender", "labels": ["api"]});
    let token = gate.post("/api/v1/tokens", &new).expect(200).json()["token"].as_str().unwrap().to_owned();
    let sent = gate.say_as(&token, "/", "for api alone").expect(200);
    let path = format!("/api/v1/events/{}", sent.header("x-event-id").unwrap());
    leaves.close_stdin();
    leaves.wait_exit(PATIENCE);
    let event = gate.get_as(&token, &path).expect(200).json();
    assert_eq!((&event["state"], &event["session"]), (&json!("waiting"), &Value::Null), "{event}");
    assert_eq!(event["why"], "no session with label `api` is attached");
    let next = StandIn::start(&home, &["--label", "api"]);
    assert_eq!(next.next_event().content, "for api alone");
    gate.say_as(&token, "/", "and none may wait for just anyone").expect(200);
    next.close_stdin();
    next.wait_exit(PATIENCE);
    gate.say_as(&token, "/", "whom for?").expect(403);
}

#[test]
fn a_conversation_that_goes_on_under_another_label_is_out_of_the_scope_of_the_old_one() {
    let home = Home::new();
    let gate = home.serve();
    let token = home.token_with(&["ann", "--role", "reviewer", "--label", "api"]);
    let begin = |label| StandIn::start_command(&home, StandIn::command_of(&home, &["--label", label], "s-1"));
    let before = begin("api");
    let id = home.attached(1)[0]["id"].as_str().unwrap().to_owned();
    before.close_stdin();
    before.wait_exit(PATIENCE);
    let next = begin("private");
    home.attached(1);
    gate.say_as(&token, &format!("/?session={id}"), "do as I say").expect(404);
    gate.say(&format!("/?session={id}"), "the owner's own words").expect(200);
    assert_eq!(next.next_event().content, "the owner's own words");
}

#[test]
fn a_token_with_labels_cannot_administer_the_gate() {
    let home = Home::new();
    let gate = home.serve();
    let refused = home.run(&["token", "add", "ada", "--role", "admin", "--label", "api"]);
    assert!(refused.status.code() == Some(1) && refused.stderr.contains("sessions"), "{refused:?}");
    let token = home.token_with(&["ann", "--role", "reviewer", "--label", "api"]);
    home.run(&["people", "role", "ann", "admin"]).ok();
    let everything = json!({"person": "ann", "role": "admin"});
    gate.post_as(&token, "/api/v1/tokens", &everything).expect(403);
    for path in ["/api/v1/log", "/api/v1/tokens", "/api/v1/people", "/api/v1/status", "/metrics"] {
        gate.get_as(&token, path).expect(403);
    }
    gate.post_as(&token, "/api/v1/stop", &Value::Null).expect(403);
    gate.get_as(&token, "/api/v1/asks").expect(200);
    assert!(!gate.has_exited());
}

#[test]
fn two_tokens_of_one_person_share_nothing_and_a_role_change_gives_neither_more() {
    let home = Home::new();
    let gate = home.serve();
    let [api, web] = ["api", "web"].map(|label| StandIn::start_under_an_agent(&home, &["--label", label]));
    home.attached(2);
    let [of_api, of_web] = ["api", "web"].map(|label| home.token_with(&["ann", "--role", "sender", "--label", label]));
    let stream = gate.listen_as(&of_api, "/api/v1/watch");
    let sent = gate.say_as(&of_web, "/?chat=w", "a secret of web").expect(200);
    let sent = format!("/api/v1/events/{}", sent.header("x-event-id").unwrap());
    web.event_containing("a secret of web");
    web.call("reply", &json!({"chat_id": "w", "text": "a reply of web"}));
    gate.say_as(&of_api, "/?chat=a", "of api").expect(200);
    api.event_containing("of api");
    api.call("reply", &json!({"chat_id": "a", "text": "a reply of api"}));

    stream.containing("a reply of api");
    let told = format!("{:?}", stream.all());
    assert!(!told.contains("of web"), "{told}");
    gate.get_as(&of_api, &sent).expect(404);
    gate.get_as(&of_web, &sent).expect(200);
    for path in ["/api/v1/events", "/api/v1/replies"] {
        let list = gate.get_as(&of_api, path).expect(200).json();
        assert_eq!(list.as_array().unwrap().len(), 1, "{list:#}");
    }

    home.run(&["people", "role", "ann", "admin"]).ok();
    for path in ["/api/v1/sessions", "/api/chat"] {
        gate.post_as(&of_api, path, &json!({"prompt": "go", "label": "api"})).expect(403);
    }
    gate.get_as(&of_api, "/api/v1/asks").expect(403);
}
