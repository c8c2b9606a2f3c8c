//! What is sent twice, because the first answer got lost, counts once: verdicts under a key.

use crate::support::home::Home;
use crate::support::http::{Answer, Request};
use crate::support::standin::StandIn;
use serde_json::json;

#[test]
fn a_repeated_verdict_with_the_same_key_gets_the_first_answer() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    gate.open_prompt(&session, "abcde");
    gate.open_prompt(&session, "fghij");
    let send = |ask: &str, key: &str, behavior: &str| {
        let request = Request::post(&format!("/api/v1/asks/{ask}/verdict")).header("Idempotency-Key", key);
        request.json(&json!({"behavior": behavior, "why": "w"})).send(&home.socket())
    };
    let say = |text: &str| Request::post("/").header("Idempotency-Key", "said").body(text).send(&home.socket());

    let first = send("abcde", "click-1", "allow").expect(200).json();
    assert_eq!(send("abcde", "click-1", "allow").expect(200).json(), first);
    let other = send("abcde", "click-1", "deny").expect(422);
    assert_eq!(other.json()["error"], 42201, "{other}");
    assert_eq!(send("abcde", "click-2", "allow").expect(409).json()["error"], 40902, "another click");
    send("abcde", "", "allow").expect(400);

    let verdict = |answer: Answer| assert_eq!(answer.expect(200).text(), "verdict recorded");
    verdict(say("no fghij"));
    verdict(say("no fghij"));
    say("yes fghij").expect(422);

    gate.kill_9();
    home.wait_for_gate();
    assert_eq!(send("abcde", "click-1", "allow").expect(200).json(), first, "the journal remembers");
    verdict(say("no fghij"));
    let told = [session.next_verdict(), session.next_verdict()].map(|verdict| verdict.request_id);
    assert_eq!(told, ["abcde", "fghij"]);
    assert_eq!(session.verdict_count(), 2, "and the agent was told once");
}
