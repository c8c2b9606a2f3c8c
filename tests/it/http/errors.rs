//! What people and programs are told when something is wrong: a status that fits, and words that end with a line break.

use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::standin::StandIn;
use serde_json::json;

#[test]
fn an_unknown_state_is_an_error_that_names_the_known_ones() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    gate.open_prompt(&session, "abcde");
    for (list, known) in [
        ("events", "waiting, delivered, seen, expired, dropped, dead"),
        ("asks", "open, unconfirmed, answered, withdrawn, expired"),
    ] {
        for wrong in ["all", "Open", ""] {
            let refused = gate.get(&format!("/api/v1/{list}?state={wrong}")).expect(400).json();
            let message = refused["message"].as_str().unwrap();
            assert!(message.contains(&format!("unknown state {wrong:?}")) && message.contains(known), "{message}");
        }
    }
    assert_eq!(gate.get("/api/v1/asks?state=open").expect(200).json()[0]["code"], "abcde");
    assert_eq!(gate.get("/api/v1/asks?state=withdrawn").expect(200).json(), json!([]));
    let wrong = home.run(&["events", "list", "--state", "lost"]);
    let known = "possible values: waiting, delivered, seen, expired, dropped, dead";
    assert!(wrong.status.code() == Some(2) && wrong.stderr.contains(known), "{wrong:#?}");
    home.run(&["events", "list", "--state", "seen"]).ok();
}

#[test]
fn answers_for_people_end_with_a_line_break_but_for_the_three_words_of_the_documents() {
    let home = Home::new();
    let gate = home.serve_with(&["--dev-sender", "dev"]);
    let session = StandIn::start_under_an_agent(&home, &[]);
    gate.open_prompt(&session, "abcde");
    assert_eq!(gate.say("/", "hello").expect(200).text(), "ok");
    let stranger = Request::post("/").header("X-Sender", "eve").body("x").send(&gate.target()).expect(403);
    assert_eq!(stranger.text(), "forbidden");
    for (answer, what) in [
        (gate.say("/", "no worry"), "a note"),
        (gate.say("/", ""), "an error in words"),
        (Request::post("/").body("x").send(&gate.target()), "a refusal in words"),
        (gate.get("/api/v1/sessions"), "JSON"),
        (gate.get("/api/v1/sessions/nobody"), "an error in JSON"),
        (Request::get("/api/v1/sessions").send(&gate.target()), "a refusal in JSON"),
        (gate.get("/healthz"), "a word"),
        (gate.get("/metrics"), "counts"),
        (gate.get("/nowhere"), "no route"),
        (Request::new("PUT", "/").send(&gate.target()), "no method"),
    ] {
        assert!(answer.text().ends_with('\n') && !answer.text().ends_with("\n\n"), "{what}: {answer}");
    }
    assert_eq!(gate.say("/", "yes abcde").expect(200).text(), "verdict recorded");
}
