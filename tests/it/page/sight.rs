//! Prompts that do not fit on the screen: they are opened at their head, and what was never on the screen is not allowed by
//! one press.

use super::reading::{IS_AT_END, PHONE, is_true};
use super::site::Site;
use crate::support::browser::{Browser, DESKTOP, Screen};
use crate::support::driven::shell;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::standin::StandIn;
use crate::support::until;
use serde_json::{Value, json};
use std::io::Write as _;
use std::net::TcpStream;

/// A command of many lines, none of them long.
fn tall(first: &str) -> String {
    format!("touch {first}\n{}", (1..13).map(|line| format!("echo {line}\n")).collect::<String>())
}

/// Scrolls to the end as people do, so that everything on the way is on the screen.
pub(super) const READ_ON: &str = "(async () => { for (let before = -1; before !== scrollY; ) { before = scrollY; scrollBy(0, 60); \
    await new Promise(requestAnimationFrame); } return true })()";

const IS_HEAD_IN_SIGHT: &str = "(() => { const head = document.querySelector('.prompt header').getBoundingClientRect(); \
    return head.top >= document.querySelector('.head > .top').getBoundingClientRect().bottom \
    && head.bottom <= document.querySelector('.dock').getBoundingClientRect().top })()";

#[test]
fn a_tall_prompt_is_opened_at_its_head_and_what_was_never_on_the_screen_is_not_allowed_by_one_press() {
    let model = shell(&[&tall("one.txt")]);
    let site = Site::with(&model);
    let page = site.page(&[], Screen { size: (390, 566), ..PHONE });
    page.see(".empty");
    site.go();
    page.click(".session");
    page.see_text(".prompt .code", "one.txt");
    is_true(&page, "the head of the card", IS_HEAD_IN_SIGHT);
    page.see("[data-action=allowOnce]:not([aria-disabled])");
    // The end of it is behind the box to write in.
    page.press("a");
    page.see_text(".step [role=alert]", "more rows of text below");
    assert_eq!(page.text(".step").lines().filter(|line| !line.is_empty()).count(), 4, "{}", page.text(".step"));
    page.click(".step [data-action=cancel]");
    assert_eq!(site.home.records("answered").len(), 0);
    page.run("scrollTo(0, 0)");
    page.run(READ_ON);
    page.see("[data-action=allowOnce]:not([aria-disabled])");
    page.click("[data-action=allowOnce]");
    until("the file", || site.home.project().join("one.txt").exists().then_some(()));
}

#[test]
fn who_goes_to_the_end_is_shown_the_head_of_a_prompt_first_and_asked_once_more() {
    let site = Site::new();
    let session = site.session();
    site.home.attached(1);
    for number in 1..=30 {
        session.hook("UserPromptSubmit", &json!({"prompt": format!("prompt {number}, which takes some room")}));
    }
    let page = site.page(&[], Screen { size: (390, 566), ..PHONE });
    page.click(".session");
    page.see_text(".said .user", "prompt 30");
    is_true(&page, "its end", IS_AT_END);
    page.run("scrollTo(0, 200)");
    page.see("[data-action=jump]");
    session.ask("abcde", "Bash", "Make them", &tall("one.txt"));
    page.see(".elsewhere.over");
    page.run("scrollTo(0, 1e6)");
    // Its head is shown first; the end of it is behind the box to write in.
    is_true(&page, "the head of the card", IS_HEAD_IN_SIGHT);
    page.see("[data-action=allowOnce]:not([aria-disabled])");
    page.press("a");
    page.see_text(".step [role=alert]", "You have not looked at all of it");
    page.click(".step [data-action=showAll]");
    page.run(READ_ON);
    page.see("[data-action=allowOnce]:not([aria-disabled])");
    page.click("[data-action=allowOnce]");
    page.click("[data-action=yesAllow]");
    page.see(".settled");
}

/// Posts a hook and waits for no answer, for as long as what it gives back is kept.
pub(super) fn post_hook(gate: &Gate, token: &str, hook: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(gate.address()).unwrap();
    stream.write_all(&Request::post("/claude/hooks").token(token).json(hook).bytes(&gate.target(), true)).unwrap();
    stream
}

/// A gate to which a prompt is posted, as a hook does.
pub(super) fn asking(home: &Home, tool: &str, input: &Value) -> (Gate, TcpStream) {
    home.write_config("[hooks]\nhttp = true\n");
    let gate = home.serve();
    let hook = json!({"hook_event_name": "PermissionRequest", "session_id": "s-1", "cwd": home.project(),
        "tool_name": tool, "tool_input": input, "tool_use_id": "t-1"});
    let token = home.token_for("claude", "agent");
    let posted = post_hook(&gate, &token, &hook);
    until("the prompt", || (home.status()["open_asks"] == 1).then_some(()));
    (gate, posted)
}

#[test]
fn a_plan_is_opened_at_its_head_and_who_jumps_to_its_end_is_asked_once_more() {
    let home = Home::new();
    let plan: String = (1..=40).map(|line| format!("- step {line} of a plan\n")).collect();
    let (gate, _posted) = asking(&home, "ExitPlanMode", &json!({"plan": plan}));
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.click(".session");
    page.see(".prompt .plan");
    is_true(&page, "the head of the plan", IS_HEAD_IN_SIGHT);
    assert_eq!(page.run("document.querySelector('.jump').hidden"), true, "nothing newer is below but the plan itself");
    page.run("scrollTo(0, 1e6)");
    page.see("[data-action=approvePlan]:not([aria-disabled])");
    page.click("[data-action=approvePlan]");
    page.see_text(".step [role=alert]", "a part of it was never on the screen");
    assert_eq!(home.records("answered").len(), 0);
    page.click(".step [data-action=showAll]");
    is_true(&page, "the head of the plan", "document.querySelector('.plan').getBoundingClientRect().top >= 0");
    page.run(READ_ON);
    page.see("[data-action=approvePlan]:not([aria-disabled])");
    page.click("[data-action=approvePlan]");
    until("the answer", || (home.records("answered").len() == 1).then_some(()));
}

#[test]
fn a_table_of_a_plan_that_is_wider_than_the_screen_is_not_approved_by_one_press() {
    let home = Home::new();
    let row = |cell: &str| format!("|{}\n", format!("{cell}|").repeat(15));
    let plan = format!("{}{}{}", row("column"), row("---"), row("deletes"));
    let (gate, _posted) = asking(&home, "ExitPlanMode", &json!({"plan": plan}));
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], PHONE);
    page.see("[data-action=approvePlan]:not([aria-disabled])");
    page.click("[data-action=approvePlan]");
    page.see_text(".step [role=alert]", "more columns");
    page.click(".step [data-action=cancel]");
    let read = "(async () => { const table = document.querySelector('.wide'); table.scrollIntoView({ block: 'center' }); \
        for (let before = -1; before !== table.scrollLeft; ) { before = table.scrollLeft; table.scrollLeft += 60; \
        await new Promise(requestAnimationFrame); } return true })()";
    page.run(read);
    page.see("[data-action=approvePlan]:not([aria-disabled])");
    page.click("[data-action=approvePlan]");
    until("the answer", || (home.records("answered").len() == 1).then_some(()));
}

#[test]
fn a_tall_question_is_opened_at_its_head_and_what_is_missing_is_said_where_it_is_missing() {
    let home = Home::new();
    let question = |which: &str| {
        let option = |number: u32| json!({"label": format!("{which} {number}"), "description": "what it is for"});
        json!({"question": format!("Which {which}?"), "header": which, "multiSelect": false,
            "options": (1..=4).map(option).collect::<Vec<_>>()})
    };
    let (gate, _posted) =
        asking(&home, "AskUserQuestion", &json!({"questions": [question("colour"), question("size")]}));
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], Screen { size: (390, 566), ..PHONE });
    page.click(".session");
    page.see_text("legend", "Which size?");
    is_true(&page, "the head of the question", IS_HEAD_IN_SIGHT);
    page.see("[data-action=answer]:not([aria-disabled])");
    page.click("[data-action=answer]");
    let is_said = "(() => { const said = document.querySelector('.prompt .warning').getBoundingClientRect(); \
        return said.height > 0 && said.top >= document.querySelector('.head > .top').getBoundingClientRect().bottom \
        && said.bottom <= document.querySelector('.dock').getBoundingClientRect().top })()";
    is_true(&page, "what is missing", is_said);
    page.click("label:has-text(\"colour 1\")");
    page.click("label:has-text(\"size 2\")");
    is_true(&page, "nothing is missing", "!document.querySelector('.prompt').textContent.includes('every question')");
    page.see("[data-action=answer]:not([aria-disabled])");
    page.click("[data-action=answer]");
    until("the answer", || (home.records("answered").len() == 1).then_some(()));
}

#[test]
fn nothing_of_a_conversation_shows_between_the_bars_above_it() {
    let site = Site::new();
    let session = site.session();
    let other = StandIn::start(&site.home, &["--label", "web"]);
    site.home.attached(2);
    for number in 1..=30 {
        session.hook("UserPromptSubmit", &json!({"prompt": format!("prompt {number}, which takes some room")}));
    }
    let page = site.page(&[], PHONE);
    page.click(".session:has-text(\"api\")");
    page.see_text(".said .user", "prompt 30");
    other.ask("abcde", "Bash", "Make x", "touch x");
    page.see_text(".elsewhere:not(.over)", "1 prompt waits for you");
    is_true(&page, "its end", IS_AT_END);
    let shows_through = "(() => { const end = document.querySelector('.head > .top').getBoundingClientRect().bottom; \
        const at = (y) => [60, 200, 330].map((x) => document.elementFromPoint(x, y)); \
        return Array.from({ length: Math.floor(end) }, (_, y) => at(y)).flat().filter((it) => it.closest('.said')).length })()";
    is_true(&page, "the bars stand one below the other", &format!("{shows_through} === 0"));
}
