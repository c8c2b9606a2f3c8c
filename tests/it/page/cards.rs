//! What a card says besides the call: what would be replaced, why it is asked, until when, and what came of the answer.

use super::sight::post_hook;
use super::site::Site;
use crate::support::browser::{Browser, DESKTOP};
use crate::support::driven::shell;
use crate::support::home::Home;
use crate::support::link::{Link, new_id};
use crate::support::until;
use serde_json::json;

#[test]
fn a_write_over_a_file_shows_what_goes_and_what_comes() {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    let gate = home.serve();
    let token = home.token_for("claude", "agent");
    let project = home.project();
    std::fs::write(project.join("notes.txt"), "one\ntwo\nthree\n").unwrap();
    std::fs::write(project.join(".env"), "TOKEN=secret\n").unwrap();
    std::fs::write(project.join("long.txt"), "a line of many\n".repeat(20_000)).unwrap();
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    let write = |name: &str, content: &str| {
        let input = json!({"file_path": project.join(name), "content": content});
        let hook = json!({"hook_event_name": "PermissionRequest", "session_id": "s-1", "cwd": project,
            "tool_name": "Write", "tool_input": input, "tool_use_id": format!("t-{name}")});
        let posted = post_hook(&gate, &token, &hook);
        page.see_text(".prompt .path", name);
        posted
    };
    let answered = || {
        page.click("[data-action=deny]");
        page.gone(".prompt");
    };
    let posted = write("notes.txt", "one\n2\nthree\n");
    page.see_text(".prompt .warning", "Replaces the file that is there: 3 lines.");
    let drawn = "[...document.querySelectorAll('.prompt .diff span')].map((line) => line.textContent.trimEnd())";
    assert_eq!(page.run(drawn), json!(["  one", "- two", "+ 2", "  three"]));
    answered();
    drop(posted);
    let posted = write("new.txt", "one\n");
    assert_eq!(page.run(drawn), json!(["+ one"]));
    assert_eq!(page.count(".prompt .warning"), 0);
    answered();
    drop(posted);
    let posted = write("long.txt", "short\n");
    page.see_text(".prompt .warning", "Replaces the file that is there: 20000 lines. What goes is not shown here.");
    assert_eq!(page.run(drawn), json!(["+ short"]));
    answered();
    drop(posted);
    let posted = write(".env", "TOKEN=other\n");
    page.see_text(".prompt .warning", "13 B. What goes is not shown here.");
    answered();
    drop(posted);
    let journal = home.run(&["log", "export"]).ok().stdout;
    assert!(journal.contains("three") && !journal.contains("TOKEN=secret"), "nothing of it was written down");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn a_card_says_why_it_is_asked_and_until_when_and_afterwards_that_it_was_confirmed() {
    let model = shell(&["git push origin main"]);
    let home = Home::new();
    std::fs::write(home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(git push *)\"\n").unwrap();
    let site = Site::at(home, &model);
    let page = site.page(&[], DESKTOP);
    site.go();
    page.see_text(".prompt .facts", "Bash(git push *)");
    page.see_text(".prompt .facts", "Why it is asked");
    page.see_text(".prompt .facts", "Folder");
    page.click("[data-action=allowOnce]");
    if page.count("[data-action=yesAllow]") > 0 {
        page.click("[data-action=yesAllow]");
    }
    page.see_text(".settled .confirmed", "confirmed");
}

#[test]
fn an_allow_that_changes_the_mode_says_so_before_and_after() {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    let gate = home.serve();
    let token = home.token_for("claude", "agent");
    let suggested = json!([{"type": "addDirectories", "directories": [home.project()], "destination": "session"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    let hook = json!({"hook_event_name": "PermissionRequest", "session_id": "s-1", "cwd": home.project(), "tool_name": "Bash",
        "tool_input": {"command": "mkdir d4"}, "tool_use_id": "t-1", "permission_suggestions": suggested});
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &["admin"], DESKTOP);
    let _posted = post_hook(&gate, &token, &hook);
    page.click(".prompt summary >> text=More answers");
    let means = "The session changes to mode acceptEdits: changes and removes files unasked";
    page.see_text(".prompt .offer p", means);
    page.click("[data-action=forSession]");
    page.see_text(".settled .offer p", means);
    page.see_text(".settled .offer small", "mode acceptEdits, for this session");
    page.goto(&format!("http://{}/#/log", gate.address()));
    page.see_text(".log li", ", mode acceptEdits) by owner");
    // So it is in Chinese.
    page.run("localStorage.setItem('portcullis.language', 'zh-CN')");
    page.reload();
    page.see_text(".log li", "、模式 acceptEdits）");
}

#[test]
fn an_answer_that_the_client_has_not_taken_is_not_confirmed_yet() {
    let home = Home::new();
    let gate = home.serve();
    let mut link = Link::welcomed(&home);
    let about = json!({"label": "api", "connected_by": "run", "driven": true, "mode": "default"});
    link.tell(1, &json!({"attach": {"session": new_id(), "about": about}}));
    assert_eq!(link.answer(1), "ok");
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    let details = json!({"input": "{\"command\":\"git push\"}", "digest": vec![7; 32], "tool_use_id": "t-1", "default_to_no": true,
        "timeout": {"milliseconds": 3_600_000, "then": "deny"}, "confirm_within": 600_000});
    link.tell(
        2,
        &json!({"asked": {"id": new_id(), "source": "control", "origin": "abcde", "tool": "Bash",
            "description": "Push", "preview": "git push", "details": details}}),
    );
    page.see_text(".prompt .facts", "Can be answered until");
    // Where Enter at the terminal would mean no, one press allows nothing.
    page.click("[data-action=allowOnce]");
    page.see_text(".step", "Really allow this?");
    assert_eq!(home.records("answered").len(), 0);
    page.click("[data-action=yesAllow]");
    page.see_text(".settled .unconfirmed", "not confirmed yet");
    let verdict = link.hear();
    assert_eq!(verdict["verdict"]["ruling"]["behavior"], "allow");
    until("the record", || (home.records("answered").len() == 1).then_some(()));
}
