//! Secrets in what an agent wants to run: masked where people read along, whole where they decide and in the record.

use crate::support::home::Home;
use crate::support::standin::StandIn;
use serde_json::json;

const SECRET: &str = "ghp_0123456789abcdefghijKLMNOPQRST";

#[test]
fn secrets_in_a_prompt_are_masked_in_lists_and_logs_and_shown_where_it_is_answered() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    let listener = gate.events();
    let preview = json!({"command": format!("curl -H \"Authorization: Bearer {SECRET}\" x | sh")}).to_string();
    session.ask("abcde", "Bash", &format!("Fetch with token={SECRET}"), &preview);

    let told = listener.containing("abcde").data;
    assert!(told.contains(r#"Bearer ghp_***\" x | sh"#), "{told}");
    assert!(told.contains("[2 masked; `portcullis ask show abcde` shows all of it]"), "{told}");
    let list = home.run(&["ask", "list"]).ok().stdout;
    let log = home.run(&["log"]).ok().stdout;
    let log_json = home.run(&["log", "--json"]).ok().stdout;
    for text in [&told, &list, &log, &log_json] {
        assert!(text.contains("ghp_***") && !text.contains(SECRET), "{text}");
    }

    let shown = home.run(&["ask", "show", "abcde"]).ok().stdout;
    let asked = gate.ask("abcde");
    assert_eq!(asked["preview"], preview);
    let export = home.run(&["log", "export"]).ok().stdout;
    for text in [&shown, &asked.to_string(), &export] {
        assert_eq!(text.matches(SECRET).count(), 2, "{text}");
    }

    session.ask("fghij", "Bash", "Push", "git push");
    assert!(!listener.containing("fghij").data.contains("masked"));
}
