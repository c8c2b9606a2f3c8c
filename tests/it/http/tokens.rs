//! Tokens: printed once, kept as hashes, good for what their role says, and for no longer than they count.

use crate::support::connection::Connection;
use crate::support::home::Home;
use crate::support::http::{Answer, Request};
use crate::support::sse::Events;
use crate::support::standin::StandIn;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn a_new_token_is_the_only_output_and_has_the_rights_of_its_role() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    home.attached(1);
    let made = home.run(&["token", "add", "sam", "--role", "sender"]).ok();
    let token = made.stdout.strip_suffix('\n').unwrap();
    assert!(token.len() >= 40 && token.bytes().all(|byte| byte.is_ascii_graphic()), "{made:?}");
    assert_eq!(made.stderr, "");
    let [sender, reviewer, admin] =
        [token.to_owned(), home.token_for("rae", "reviewer"), home.token_for("ada", "admin")];

    gate.open_prompt(&session, "abcde");
    let allow = json!({"behavior": "allow"});
    let verdict = |token: &str| gate.verdict_as(token, "abcde", &allow);
    assert_eq!(gate.say_as(&sender, "/", "hello").expect(200).text(), "ok");
    assert_eq!(session.next_event().meta("sender"), "sam");
    assert_eq!(gate.say_as(&sender, "/", "yes abcde").expect(200).text(), "ok", "no word of a prompt");
    session.event_containing("yes abcde");
    assert!(verdict(&sender).expect(403).text().contains("review"));
    for path in ["/api/v1/asks", "/api/v1/asks/abcde", "/api/v1/verdicts", "/api/v1/tokens", "/metrics", "/api/v1/log"]
    {
        gate.get_as(&sender, path).expect(403);
    }
    assert_eq!(session.verdict_count(), 0);

    let new = json!({"person": "eve", "role": "sender"});
    for path in ["/api/v1/tokens", "/api/v1/people", "/api/v1/status", "/metrics", "/api/v1/log"] {
        assert!(gate.get_as(&reviewer, path).expect(403).text().contains("admin"), "{path}");
        gate.get_as(&admin, path).expect(200);
    }
    gate.post_as(&reviewer, "/api/v1/tokens", &new).expect(403);
    verdict(&reviewer).expect(200);
    assert_eq!(session.next_verdict().behavior, "allow");
    assert_eq!(gate.get_as(&reviewer, "/api/v1/asks/abcde").json()["verdict"]["by"], "rae");
    let made = gate.post_as(&admin, "/api/v1/tokens", &new).expect(200).json();
    gate.say_as(made["token"].as_str().unwrap(), "/", "let in by ada").expect(200);
}

#[test]
fn a_second_token_of_a_person_is_said_to_be_one_more() {
    let home = Home::new();
    let _gate = home.serve();
    let add = || home.run(&["token", "add", "ci", "--role", "sender"]).ok();
    assert_eq!(add().stderr, "");
    let first = home.run(&["token", "list", "--json"]).ok().json()[0]["id"].as_str().unwrap().to_owned();
    let second = add();
    let note = format!("ci has another token, which still counts: `portcullis token revoke {first}` ends it\n");
    assert_eq!((second.stderr.as_str(), second.stdout.lines().count()), (note.as_str(), 1));
}

#[test]
fn a_time_that_is_none_is_refused_with_one_that_is() {
    let home = Home::new();
    for wrong in ["1x", "0s", "soon", ""] {
        let ran = home.run(&["token", "add", "ann", "--role", "sender", "--expires", wrong]);
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
        assert!(ran.stderr.contains("such as 30m, 12h, 30d or 1y"), "{ran:?}");
    }
}

#[test]
fn a_token_is_valid_until_it_expires() {
    let home = Home::new();
    let gate = home.serve();
    let token = home.token_with(&["ann", "--role", "sender", "--expires", "2s"]);
    let admin = home.token_with(&["rita", "--role", "admin", "--expires", "2s"]);
    let stream = gate.listen_as(&token, "/events");
    gate.say_as(&token, "/", "in time").expect(200);
    // Whoever waits for a record when the token expires is told so, and not the record.
    let last = home.records("received").len() as u64 + 100;
    gate.get_as(&admin, &format!("/api/v1/log?after={last}&wait=30")).expect(401);
    stream.wait_end();
    gate.say_as(&token, "/", "too late").expect(403);
    let list = home.run(&["token", "list", "--json"]).json();
    assert_eq!((&list[0]["person"], &list[0]["expired"]), (&json!("ann"), &json!(true)));
    assert!(home.run(&["token", "list"]).ok().stdout.contains("expired"));
}

#[test]
fn the_list_of_tokens_holds_no_secret_and_no_hash() {
    let home = Home::new();
    let _gate = home.serve();
    assert_eq!(home.run(&["token", "list"]).ok().stdout, "Only the owner has a token.\n");
    assert_eq!(home.run(&["token", "list", "--json"]).json(), json!([]));
    home.token_with(&["ann", "--role", "sender", "--label", "api", "--label", "web", "--expires", "30d"]);
    home.token_for("bob", "reviewer");
    let list = home.run(&["token", "list", "--json"]).json();
    let [ann, bob] = &list.as_array().unwrap()[..] else { panic!("{list}") };
    let names: Vec<&String> = ann.as_object().unwrap().keys().collect();
    assert_eq!(names, ["id", "person", "role", "labels", "since", "expires", "expired"]);
    assert_eq!((&ann["role"], &bob["role"]), (&json!("sender"), &json!("reviewer")));
    assert_eq!((&ann["labels"], &bob["labels"]), (&json!(["api", "web"]), &Value::Null));
    assert_eq!(bob["expires"], Value::Null);
    let words = home.run(&["token", "list"]).ok().stdout;
    for word in ["ann", "sender", "in 30 days", "api, web", "bob", "reviewer", "never", "all sessions"] {
        assert!(words.contains(word), "{words}");
    }
}

#[test]
fn streams_of_a_revoked_demoted_or_removed_person_end_within_a_second() {
    let home = Home::new();
    let gate = home.serve();
    let revoke = |name: &str| {
        let list = home.run(&["token", "list", "--json"]).json();
        let token = list.as_array().unwrap().iter().find(|token| token["person"] == name).unwrap();
        home.run(&["token", "revoke", token["id"].as_str().unwrap()]).ok();
    };
    let demote = |name: &str| drop(home.run(&["people", "role", name, "sender"]).ok());
    let remove = |name: &str| drop(home.run(&["people", "remove", name]).ok());
    let show_out: [&dyn Fn(&str); 3] = [&revoke, &demote, &remove];
    for (name, show_out) in ["ann", "bob", "cid"].into_iter().zip(show_out) {
        let token = home.token_for(name, "reviewer");
        let streams = ["/events", "/api/v1/watch"].map(|path| gate.listen_as(&token, path));
        let owner = gate.events();
        let mut kept_open = Connection::open(&gate.target());
        let ask = Request::get("/api/v1/asks").token(&token);
        kept_open.send(&ask).expect(200);
        show_out(name);
        let since = Instant::now();
        streams.iter().for_each(Events::wait_end);
        assert!(since.elapsed() < Duration::from_secs(1), "{name}: {:?}", since.elapsed());
        let may_still_talk = name == "bob";
        kept_open.send(&ask).expect(if may_still_talk { 403 } else { 401 });
        gate.say_as(&token, "/", "me again").expect(if may_still_talk { 200 } else { 403 });
        owner.no_event_within(Duration::ZERO);
    }
}

#[test]
fn a_body_that_arrives_after_its_token_was_revoked_is_refused() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    gate.open_prompt(&session, "abcde");
    let token = home.token_for("ann", "reviewer");
    let begin = |path: &str, length: usize| {
        let mut begun = Connection::open(&gate.target());
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n");
        begun.write(format!("{head}Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n").as_bytes());
        begun.is_asked_for_the_body();
        begun
    };
    let (words, verdict) = ("yes abcde", json!({"behavior": "allow"}).to_string());
    let begun =
        [("/", words), ("/api/v1/asks/abcde/verdict", &verdict)].map(|(path, body)| (begin(path, body.len()), body));
    home.run(&["people", "remove", "ann"]).ok();
    for (mut connection, body) in begun {
        connection.write(body.as_bytes());
        connection.answer().expect(403);
    }
    assert_eq!(gate.ask("abcde")["state"], "open");
}

#[test]
fn a_token_is_in_no_file_and_no_log() {
    let home = Home::new();
    let mut command = StandIn::command(&home, &[]);
    command.env("PORTCULLIS_LOG", "trace");
    let session = StandIn::start_command(&home, command);
    home.attached(1);
    let gate = home.listening();
    let new = Request::post("/api/v1/tokens").token(home.token()).json(&json!({"person": "ann", "role": "reviewer"}));
    let token = new.send(&gate).expect(200).json()["token"].as_str().unwrap().to_owned();
    Request::post("/").token(&token).body("hello").send(&gate).expect(200);
    session.next_event();
    Request::post("/").token(&format!("{token}x")).body("hello").send(&gate).expect(403);
    let log = home.run(&["log", "--json"]).ok().stdout;
    assert!(log.contains("token_added") && !log.contains("hash"), "{log}");
    assert!(home.log().contains("TRACE") || home.log().contains("DEBUG"), "the gate tells everything");
    let mut kept =
        vec![("log --json".to_owned(), log.into_bytes()), ("stderr".to_owned(), session.stderr().into_bytes())];
    kept.extend(home.files());
    assert!(kept.iter().any(|(name, _)| name == "journal.db") && kept.iter().any(|(name, _)| name == "gate.log"));
    for (name, bytes) in kept {
        for secret in [&token, home.token()] {
            let leaks = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!leaks, "{secret} is in {name}");
        }
    }
}

#[test]
fn tokens_and_revocations_survive_a_restart_of_the_gate() {
    let home = Home::without_auto_start();
    let gate = home.serve();
    let [kept, revoked] = ["ann", "bob"].map(|name| home.token_for(name, "sender"));
    home.run(&["people", "remove", "bob"]).ok();
    let gate = home.restart(&gate);
    gate.say_as(&kept, "/", "still in").expect(200);
    gate.say_as(&revoked, "/", "still out").expect(403);
    gate.stop();
    let gate = home.serve();
    gate.say_as(&kept, "/", "still in").expect(200);
    gate.say_as(&revoked, "/", "still out").expect(403);
    assert_eq!(home.run(&["token", "list", "--json"]).json().as_array().unwrap().len(), 1);
}

#[test]
fn a_person_has_one_rate_for_all_their_tokens_and_the_owner_has_none() {
    let home = Home::new();
    home.write_config("[limits]\nrate = 1\nburst = 3\n");
    let gate = home.serve();
    let tokens = [home.token_for("ann", "sender"), home.token_for("ann", "sender")];
    let answers: Vec<Answer> = (0..30).map(|n| gate.say_as(&tokens[n % 2], "/", "hello")).collect();
    let taken = answers.iter().filter(|answer| answer.status == 200).count();
    assert!((3..20).contains(&taken), "{taken}");
    let refused = answers.iter().find(|answer| answer.status == 429).unwrap();
    assert_eq!(refused.header("retry-after"), Some("1"));
    gate.say_as(&home.token_for("bob", "sender"), "/", "hello").expect(200);
    (0..30).for_each(|_| drop(gate.say("/", "hello").expect(200)));
}

#[test]
fn a_token_is_revoked_by_the_beginning_of_its_id_where_that_means_one() {
    let home = Home::new();
    let gate = home.serve();
    let token = home.token_for("ann", "sender");
    let id = home.run(&["token", "list", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    home.token_for("bob", "sender");
    let both = home.run(&["token", "revoke", &id[..2]]);
    both.refused(1, "may mean several tokens");
    assert!(both.stderr.contains("ann (") && both.stderr.contains("bob ("), "{both:?}");
    home.run(&["token", "revoke", &id[..25]]).ok();
    gate.say_as(&token, "/", "hello").expect(403);
    assert_eq!(home.run(&["token", "list", "--json"]).json().as_array().unwrap().len(), 1);
}

#[test]
fn invalid_token_commands_are_refused_with_a_reason() {
    let home = Home::new();
    let none = home.run(&["token", "list"]);
    assert!(none.status.code() == Some(1) && none.stderr.contains("portcullis up"), "{none:?}");
    let gate = home.serve();
    home.token_for("ann", "sender");
    for (words, code, why) in [
        (&["add", "eve", "--role", "king"][..], 2, "possible values: sender, reviewer, admin"),
        (&["add", "eve"], 2, "--role"),
        (&["add", "eve", "--role", "sender", "--expires", "soon"], 2, "soon"),
        (&["add", "owner", "--role", "sender"], 1, "and does not look like `owner`"),
        (&["add", "e v e", "--role", "sender"], 1, "hint: a name has"),
        (&["add", "eve", "--role", "sender", "--label", ""], 1, "label"),
        (&["add", "ann", "--role", "admin"], 1, "has another role: sender"),
        (&["revoke", "nonsense"], 1, "hint: `portcullis token list`"),
        (&["revoke", "01m7f9jc2g75gzpa3000000004"], 1, "no such token"),
    ] {
        let ran = home.run(&[&["token"], words].concat());
        assert!(ran.status.code() == Some(code) && ran.stderr.contains(why), "{words:?}: {ran:#?}");
        assert_eq!(ran.stdout, "", "{words:?}");
    }
    for wrong in [
        json!({"person": "eve", "role": "king"}),
        json!({"person": "eve", "role": "sender", "labels": []}),
        json!({"person": "eve", "role": "sender", "token": "of my own choice"}),
        json!({"person": "", "role": "sender"}),
    ] {
        gate.post("/api/v1/tokens", &wrong).expect(400);
    }
    let list = home.run(&["people", "list", "--json"]).json();
    assert_eq!(list["people"].as_array().unwrap().len(), 1, "{list}");
}
