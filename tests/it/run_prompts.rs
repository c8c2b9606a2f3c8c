//! `portcullis run` with the real Claude Code: what it asks, who answers, and what reaches the model.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::driven::{Driven, allow, the_ask};
use crate::support::home::Home;
use serde_json::json;

#[test]
fn a_call_waits_for_someone_elsewhere_and_then_runs() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(vec![
        Rule::on_text("make it")
            .call("Bash", json!({"command": "touch made.txt && echo made", "description": "Make it"}))
            .once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let run = Driven::start(&home, &model, &["make it", "--label", "headless"]);
    let ask = the_ask(&gate);
    assert_eq!((&ask["tool"], &ask["preview"]), (&json!("Bash"), &json!("touch made.txt && echo made")), "{ask}");
    assert!(!home.project().join("made.txt").exists());
    allow(&home, &gate, &ask);
    let ran = run.wait().ok();
    assert_eq!(ran.stdout, "done: made\n", "{ran:#?}");
    assert!(home.project().join("made.txt").exists());
}
