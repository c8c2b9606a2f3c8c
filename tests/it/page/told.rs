//! What someone is told who does not look: the title, notifications, and what is quiet.

use crate::support::browser::{Browser, DESKTOP};
use crate::support::home::Home;
use crate::support::standin::StandIn;
use crate::support::until;

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
