//! The stream of a session at a real terminal: what hooks and the transcript tell of it.

use crate::support::home::Home;
use crate::support::hooks::file_maker;
use crate::support::stream::Stream;
use crate::support::tmux::Interactive;
use serde_json::json;

#[test]
fn who_looks_at_a_terminals_session_sees_its_prompts_words_calls_and_results() {
    let home = Home::new();
    let gate = home.serve();
    let model = file_maker();
    let claude = Interactive::start(&home, &model, &[]);
    let session = home.attached(1)[0]["id"].as_str().unwrap().to_owned();
    let mut stream = Stream::open(&gate, home.token(), &session, 0);
    claude.say("make it");
    gate.answer(&gate.open_ask(), &json!({"behavior": "allow"}));
    claude.until("all done");
    stream.until(|entry| entry["turn"].is_object());
    assert_eq!(stream.kinds(), ["user", "call", "result", "text", "turn"], "{:#?}", stream.entries);
    assert_eq!(stream.one("user"), json!({"text": "make it", "by": "terminal"}));
    assert_eq!(stream.one("call")["input"]["command"], "touch made.txt");
    assert_eq!(stream.one("result")["call"], stream.one("call")["call"]);
    assert_eq!(stream.text(), "all done");
    let page = gate.get(&format!("/api/v1/sessions/{session}/history")).expect(200).json();
    let entries = page["entries"].as_array().unwrap();
    let last = entries.last().unwrap();
    assert_eq!((&last["text"]["text"], &page["before"]), (&json!("all done"), &json!(null)), "{page:#}");
    assert!(entries.iter().any(|entry| entry["user"]["text"] == "make it"), "{page:#}");
}
