//! What is out of sight on a prompt's card is said, and is not allowed by one press; nor is anything allowed twice.

use super::sight::{READ_ON, post_hook};
use super::site::Site;
use crate::support::browser::{Browser, CHINESE_PHONE, DESKTOP, Page, Screen};
use crate::support::driven::shell;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::until;
use serde_json::json;

/// A line whose end does not fit.
fn long(end: &str) -> String {
    format!("echo {} && touch {end}", "harmless ".repeat(400))
}

/// Scrolls the box to its end as people do.
const READ_ON_IN_BOX: &str = "(async () => { const box = document.querySelector('.prompt .code'); \
    box.scrollIntoView({ block: 'center' }); for (let before = -1; before !== box.scrollTop; ) { before = box.scrollTop; \
    box.scrollTop += 60; await new Promise(requestAnimationFrame); } return true })()";

/// One press of *Allow once* allows nothing, and says why.
#[track_caller]
fn is_not_allowed_at_once(page: &Page<'_>, home: &Home, words: &str) {
    let before = home.records("answered").len();
    page.click("[data-action=allowOnce]");
    page.see_text(".step [role=alert]", words);
    assert_eq!(home.records("answered").len(), before);
}

#[track_caller]
fn is_made(home: &Home, name: &str) {
    until(name, || home.project().join(name).exists().then_some(()));
}

#[test]
fn the_end_of_a_long_command_is_opened_scrolled_to_or_knowingly_not_looked_at() {
    let model = shell(&[&long("one.txt"), &long("two.txt"), &long("three.txt")]);
    let site = Site::with(&model);
    let page = site.page(&[], Screen { locale: "en-US", ..CHINESE_PHONE });
    site.go();
    page.see_text(".prompt .below", "more rows of text below");
    assert_eq!(page.barriers(), [""; 0]);
    is_not_allowed_at_once(&page, &site.home, "You have not looked at all of it");
    page.click(".step [data-action=cancel]");
    page.click(".below [data-action=showAll]");
    page.gone(".prompt .below");
    let is_whole = "(() => { const box = document.activeElement; return box.matches('.prompt .code') && box.scrollHeight <= box.clientHeight + 2 })()";
    assert_eq!(page.run(is_whole), true, "the box is open and has the focus");
    page.run(READ_ON);
    page.click("[data-action=allowOnce]");
    is_made(&site.home, "one.txt");

    page.see_text(".prompt .code", "two.txt");
    page.see(".prompt .below");
    page.run("scrollTo(0, 0)");
    is_not_allowed_at_once(&page, &site.home, "more rows of text below");
    page.click(".step [data-action=cancel]");
    page.run(READ_ON_IN_BOX);
    page.gone(".prompt .below");
    page.click("[data-action=allowOnce]");
    is_made(&site.home, "two.txt");

    page.see_text(".prompt .code", "three.txt");
    page.run("scrollTo(0, 0)");
    is_not_allowed_at_once(&page, &site.home, "more rows of text below");
    page.click("[data-action=allowUnseen]");
    is_made(&site.home, "three.txt");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn what_is_out_of_sight_is_said_in_chinese_and_a_short_command_says_nothing() {
    let model = shell(&[&long("one.txt"), "touch two.txt"]);
    let site = Site::with(&model);
    let page = site.page(&[], CHINESE_PHONE);
    site.go();
    page.see_text(".prompt .below", "下面还有");
    is_not_allowed_at_once(&page, &site.home, "你还没有看完全部内容");
    page.click(".step [data-action=showAll]");
    page.run(READ_ON);
    page.click("[data-action=allowOnce]");
    is_made(&site.home, "one.txt");
    page.see_text(".prompt .code", "touch two.txt");
    page.gone(".prompt .below");
    page.click("[data-action=allowOnce]");
    is_made(&site.home, "two.txt");
}

#[test]
fn whoever_allowed_cannot_allow_again_and_is_told_how_many_more_must() {
    let model = shell(&["touch made.txt"]);
    let site = Site::with(&model);
    std::fs::write(site.home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(touch *)\"\nquorum = 2\n").unwrap();
    let page = site.page(&[], DESKTOP);
    site.go();
    page.see(".prompt");
    page.click("[data-action=allowOnce]");
    page.see_text(".prompt .notice", "You allowed it; 1 more must.");
    page.reload();
    page.see_text(".prompt .notice", "You allowed it; 1 more must.");
    page.see("[data-action=allowOnce]:disabled");
    page.see("[data-action=deny]:enabled");
    let rae = site.home.token_for("rae", "reviewer");
    let ask = site.gate.only_ask();
    site.gate.verdict_as(&rae, ask["code"].as_str().unwrap(), &json!({"behavior": "allow"})).expect(200);
    is_made(&site.home, "made.txt");
}

#[test]
fn the_icon_that_browsers_ask_for_by_themselves_is_there() {
    let home = Home::new();
    let gate = home.serve();
    let icon = Request::get("/favicon.ico").send(&gate.target()).expect(200);
    assert_eq!(icon.header("content-type"), Some("image/png"));
}

#[test]
fn an_address_or_a_field_that_was_never_on_the_screen_is_not_allowed_by_one_press() {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    let gate = home.serve();
    let token = home.token_for("claude", "agent");
    let inputs = [
        ("WebFetch", json!({"url": format!("https://x.example/{}", "a/".repeat(3000)), "prompt": "p"})),
        ("Read", json!({"file_path": format!("{}/{}secret", home.project().display(), "a/../".repeat(2000))})),
        ("Bash", json!({"command": "ls", "env": format!("{}HIDDEN", "x ".repeat(8000))})),
        ("mcp__db__query", json!({"sql": format!("select 1; {}drop table t", "-- ".repeat(3000)), "limit": 5})),
    ];
    for (tool, input) in inputs {
        let hook = json!({"hook_event_name": "PermissionRequest", "session_id": "s-1", "cwd": home.project(),
            "tool_name": tool, "tool_input": input, "tool_use_id": format!("t-{tool}")});
        let _posted = post_hook(&gate, &token, &hook);
        let code = gate.only_ask()["code"].as_str().unwrap().to_owned();
        let browser = Browser::start(&home);
        let page = browser.linked("a", &gate, &[], Screen { locale: "en-US", ..CHINESE_PHONE });
        page.see(&format!("[data-code={code}]"));
        page.run("scrollTo(0, 1e6)");
        is_not_allowed_at_once(&page, &home, "You have not looked at all of it");
        gate.verdict(&code, &json!({"behavior": "deny"})).expect(200);
    }
}
