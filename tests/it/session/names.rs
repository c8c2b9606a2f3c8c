//! What sessions are called: several in one folder are told apart, and a name stays with its session.

use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, until};
use serde_json::Value;

fn labels(home: &Home, count: usize) -> Vec<String> {
    let of = |session: &Value| session["label"].as_str().unwrap().to_owned();
    let mut labels: Vec<String> = home.attached(count).iter().map(of).collect();
    labels.sort();
    labels
}

/// Starts a session of the agent with this id, in the one folder that all of them have, and waits until it is attached.
fn start(home: &Home, agent: &str, attached: usize) -> StandIn {
    let session = StandIn::start_command(home, StandIn::command_of(home, &[], agent));
    home.attached(attached);
    session
}

#[test]
fn sessions_of_one_folder_are_told_apart_and_keep_their_names() {
    let home = Home::new();
    let gate = home.serve();
    let name = home.project().file_name().unwrap().to_str().unwrap().to_owned();
    let (second_name, third_name) = (format!("{name}-2"), format!("{name}-3"));
    let first = start(&home, "agent-1", 1);
    let second = start(&home, "agent-2", 2);
    assert_eq!(labels(&home, 2), [name.clone(), second_name.clone()]);

    gate.say(&format!("/?label={name}"), "for the first").expect(200);
    gate.say(&format!("/?label={second_name}"), "for the second").expect(200);
    assert_eq!(first.next_event().content, "for the first");
    assert_eq!(second.next_event().content, "for the second");

    // The gate restarts, and everybody comes back as who they were.
    gate.stop();
    let gate = home.serve();
    assert_eq!(labels(&home, 2), [name.clone(), second_name.clone()]);
    gate.say(&format!("/?label={second_name}"), "still the second").expect(200);
    assert_eq!(second.next_event().content, "still the second");

    // The name of a session that is gone is for nobody else. Who names it reaches the only one that wanted it.
    first.close_stdin();
    first.wait_exit(PATIENCE);
    home.attached(1);
    gate.say(&format!("/?label={name}"), "whoever works there").expect(200);
    assert_eq!(second.next_event().content, "whoever works there");
    let third = start(&home, "agent-3", 2);
    assert_eq!(labels(&home, 2), [second_name.clone(), third_name.clone()]);
    let asked = gate.say(&format!("/?label={name}"), "to which?").expect(409).text();
    assert!(asked.contains(&format!("?label={second_name} or ?label={third_name}")), "{asked}");

    // The agent goes on in another process, and has its name again.
    let resumed = start(&home, "agent-1", 3);
    assert_eq!(labels(&home, 3), [name.clone(), second_name, third_name]);
    gate.say(&format!("/?label={name}"), "welcome back").expect(200);
    resumed.event_containing("welcome back");
    drop(third);
}

#[test]
fn a_label_that_the_user_chose_goes_before_the_memory_of_an_ended_session() {
    let home = Home::new();
    home.serve();
    let name = home.project().file_name().unwrap().to_str().unwrap().to_owned();
    let first = start(&home, "agent-1", 1);
    first.close_stdin();
    first.wait_exit(PATIENCE);
    home.attached(0);
    let _chosen = StandIn::start(&home, &["--label", &name]);
    assert_eq!(labels(&home, 1).concat(), name);
    let _second = StandIn::start(&home, &["--label", &name]);
    assert_eq!(labels(&home, 2), [name.clone(), format!("{name}-2")]);
}

#[test]
fn a_token_for_a_label_is_for_all_sessions_that_wanted_it_and_for_no_others() {
    let home = Home::new();
    let gate = home.serve();
    let _both = [(), ()].map(|()| StandIn::start_under_an_agent(&home, &["--label", "api"]));
    assert_eq!(labels(&home, 2), ["api", "api-2"]);
    let seen = |token: &str| -> Vec<String> {
        let listed = gate.get_as(token, "/api/v1/sessions").expect(200).json();
        listed.as_array().unwrap().iter().map(|session| session["label"].as_str().unwrap().to_owned()).collect()
    };
    let of_api = home.token_with(&["ann", "--role", "reviewer", "--label", "api"]);
    assert_eq!(seen(&of_api), ["api", "api-2"]);
    gate.say_as(&of_api, "/?label=api-2", "in scope").expect(200);
    // A number that the gate gave opens nothing to a token for another folder.
    let of_other = home.token_with(&["tom", "--role", "reviewer", "--label", "api-2"]);
    assert_eq!(seen(&of_other), Vec::<String>::new());
    gate.say_as(&of_other, "/?session=api", "out of scope").expect(404);
}

#[test]
fn a_session_is_named_by_its_label_its_id_or_the_beginning_of_one() {
    let home = Home::new();
    let gate = home.serve();
    let api = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    let web = StandIn::start_under_an_agent(&home, &["--label", "web-server"]);
    let sessions = home.attached(2);
    let id = |label: &str| {
        let about = sessions.iter().find(|session| session["label"] == label).unwrap();
        about["id"].as_str().unwrap().to_owned()
    };
    home.run(&["say", "by label", "--session", "api"]).ok();
    home.run(&["say", "by id", "--session", &id("api").to_uppercase()]).ok();
    assert_eq!([api.next_event().content, api.next_event().content], ["by label", "by id"]);
    home.run(&["say", "by its beginning", "--session", "web"]).ok();
    assert_eq!(web.next_event().content, "by its beginning");
    gate.say(&format!("/?session={}", &id("web-server")[..25]), "all but a letter").expect(200);
    assert_eq!(web.next_event().content, "all but a letter");
    let shown = gate.get("/api/v1/sessions/web").expect(200).json();
    assert_eq!(shown["label"], "web-server");

    let stopped = home.run(&["session", "stop", "we"]).ok().stdout;
    // Without hooks nobody can confirm it.
    assert!(
        stopped.starts_with("Recorded, but nothing enforces it") && stopped.contains("install --hooks"),
        "{stopped}"
    );
    until("the stop", || (gate.get("/api/v1/sessions/web").json()["stopped_by"] == "owner").then_some(()));

    // All ids of this minute begin alike.
    let unclear = home.run(&["session", "stop", &id("api")[..4]]);
    unclear.refused(1, "may mean several sessions");
    for word in ["api (", "web-server (", "write more of it"] {
        assert!(unclear.stderr.contains(word), "{}", unclear.stderr);
    }
    let fault = gate.get(&format!("/api/v1/sessions/{}", &id("api")[..4])).expect(409).json();
    assert_eq!(fault["candidates"].as_array().unwrap().len(), 2, "{fault}");
    home.run(&["session", "stop", "nobody"]).refused(1, "no session nobody");
    gate.say("/?session=", "to nobody").expect(404);
}

#[test]
fn hints_speak_the_language_of_the_one_who_asked() {
    let home = Home::new();
    let gate = home.serve();
    let _both = ["api", "my web"].map(|label| StandIn::start_under_an_agent(&home, &["--label", label]));
    home.attached(2);
    let here = home.run(&["say", "to which?"]);
    here.refused(1, "several sessions could be meant: api, my web");
    assert!(here.stderr.contains("hint: name one: --label api or --label 'my web'"), "{}", here.stderr);
    let over_http = gate.say("/", "to which?").expect(409).text();
    assert!(over_http.contains("hint: name one: ?label=api or ?label=my%20web"), "{over_http}");
    let api = Request::post("/api/v1/events").json(&serde_json::json!({"text": "to which?"}));
    let fault = api.send(&home.socket()).expect(409).json();
    let names: Vec<&Value> = fault["candidates"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["api", "my web"], "{fault}");

    let unknown = home.run(&["ask", "show", "zzzzz"]);
    assert!(
        unknown.stderr.contains("`portcullis ask list`") && !unknown.stderr.contains("/api/"),
        "{}",
        unknown.stderr
    );
    let unknown = gate.get("/api/v1/asks/zzzzz").expect(404).json();
    assert!(unknown["hint"].as_str().unwrap().contains("GET /api/v1/asks"), "{unknown}");
}
