//! What someone is told who does not look: the title, notifications, and what is quiet.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::run::api::serve;
use crate::support::browser::{Browser, DESKTOP};
use crate::support::home::Home;
use crate::support::standin::StandIn;
use crate::support::until;
use serde_json::json;

/// In place of the browser's own notifications, for a page that nobody looks at.
const NOBODY_LOOKS: &str = "document.hasFocus = () => false; window.told = []; \
    window.Notification = class { constructor(title, { body }) { window.told.push(`${title} | ${body}`) } close() {} \
    static permission = 'granted' }; true";

#[test]
fn who_does_not_look_is_told_once_of_a_prompt_and_of_an_end_unless_it_is_quiet() {
    let home = Home::new();
    home.write_config("[notify]\nafter_seconds = 1\n");
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    let quiet = StandIn::start(&home, &["--label", "web"]);
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.click(".session:has-text(\"web\")");
    page.click(".check input");
    page.run(NOBODY_LOOKS);
    session.ask("abcde", "Bash", "Make x", "touch x");
    quiet.ask("fghij", "Bash", "Make y", "touch y");
    let told = || page.run("window.told");
    until("the notification", || told().to_string().contains("api asks").then_some(()));
    assert_eq!(page.run("document.title"), "(2) Portcullis");
    session.close_stdin();
    until("the end", || told().to_string().contains("api has ended").then_some(()));
    let told = told();
    assert_eq!(told.as_array().unwrap().len(), 2, "{told}: each once, and nothing of the quiet one");
    assert!(told[0].as_str().unwrap().contains("touch x"), "{told}");
}

#[test]
fn a_push_shows_what_waits_and_only_what_is_simple_has_buttons() {
    let home = Home::new();
    let model = Model::start(vec![
        Rule::on_text("simple").call("Bash", json!({"command": "touch made.txt", "description": "d"})).once(),
        Rule::on_text("force")
            .call("Bash", json!({"command": "git push --force origin main", "description": "d"}))
            .once(),
        Rule::on_text("long")
            .call("Bash", json!({"command": format!("touch {}", "x ".repeat(150)), "description": "d"}))
            .once(),
    ]);
    let gate = serve(&home, &model, "");
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.grant("notifications");
    for (label, prompt) in [("one", "simple"), ("two", "force"), ("three", "long")] {
        gate.post("/api/v1/sessions", &json!({"prompt": prompt, "label": label})).expect(201);
    }
    until("three prompts", || (page.count(".prompt") == 3).then_some(()));
    page.push("{\"waiting\":1}");
    let mut shown = json!(null);
    until("three notifications", || {
        shown = page.notifications();
        (shown.as_array().unwrap().len() == 3).then_some(())
    });
    let line = |start: &str| {
        let lines = shown.as_array().unwrap().iter().map(|line| line.as_str().unwrap());
        lines.into_iter().find(|line| line.starts_with(start)).unwrap().to_owned()
    };
    assert!(line("one asks").contains("touch made.txt") && line("one asks").ends_with("| allow,deny"), "{shown}");
    assert!(line("two asks").contains("high risk") && line("two asks").ends_with("| "), "{shown}");
    assert!(line("three asks").ends_with("| "), "{shown}");
}
