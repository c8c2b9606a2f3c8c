//! Reading along: the end of a conversation is followed, what was said before is there, and what waits is never out of sight.

use super::site::Site;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::browser::{Browser, DESKTOP, Page, Screen, link};
use crate::support::driven::shell;
use crate::support::home::Home;
use crate::support::standin::StandIn;
use crate::support::{Signal, until};
use serde_json::json;
use std::io::Write as _;

pub(super) const PHONE: Screen = Screen { size: (390, 844), locale: "en-US", dark: false };

pub(super) fn is_true(page: &Page<'_>, what: &str, script: &str) {
    until(what, || (page.run(script) == true).then_some(()));
}

pub(super) const IS_AT_END: &str = "scrollY + innerHeight >= document.documentElement.scrollHeight - 24";
const IS_CARD_IN_SIGHT: &str = "(() => { const card = document.querySelector('.prompt').getBoundingClientRect(); \
    return card.top < document.querySelector('.dock').getBoundingClientRect().top && card.bottom > 0 })()";

#[test]
fn the_end_is_followed_by_whoever_is_there_and_nobody_else_is_moved() {
    let site = Site::new();
    let session = site.session();
    site.home.attached(1);
    let say = |from: u64, to: u64| {
        for number in from..=to {
            let prompt = format!("prompt {number}, which takes some room on the screen");
            session.hook("UserPromptSubmit", &json!({"prompt": prompt}));
        }
    };
    say(1, 20);
    let page = site.page(&[], PHONE);
    page.click(".session");
    page.see_text(".said .user", "prompt 20");
    is_true(&page, "a session is opened at its end", IS_AT_END);
    say(21, 40);
    page.see_text(".said .user", "prompt 40");
    is_true(&page, "what comes is followed", IS_AT_END);
    assert_eq!(page.run("document.querySelector('.jump').hidden"), true);
    page.run("scrollTo(0, 200)");
    page.see_text("[data-action=jump]", "To the newest");
    say(41, 42);
    page.see_text("[data-action=jump]", "New messages");
    assert_eq!(page.run("scrollY < 1000"), true, "who reads is left where they read");
    // A prompt is said to wait wherever someone reads, and the way to it is one tap.
    session.ask("abcde", "Bash", "Make x", "touch x");
    page.see_text(".elsewhere.over", "1 prompt waits for you");
    page.click(".elsewhere");
    is_true(&page, "the card", IS_CARD_IN_SIGHT);
    page.gone(".elsewhere");
    page.run("scrollTo(0, 200)");
    page.see(".elsewhere.over");
    page.click("[data-action=jump]");
    is_true(&page, "the end", IS_AT_END);
    page.reload();
    page.see_text(".said .user", "prompt 42");
    is_true(&page, "a reload opens it at its end", IS_AT_END);
    // The list begins at its top, where the card is.
    page.click("nav a");
    page.see(".prompts .prompt");
    assert_eq!(page.run("scrollY"), 0);
    page.gone(".elsewhere");
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn a_session_far_down_the_list_opens_at_its_end_and_the_way_back_leads_to_its_place() {
    let site = Site::new();
    let session = site.session();
    site.home.attached(1);
    for number in 1..=30 {
        session.hook("UserPromptSubmit", &json!({"prompt": format!("prompt {number}, which takes some room")}));
    }
    session.hook("Stop", &json!({}));
    let others: Vec<_> =
        (1..=10).map(|number| StandIn::start(&site.home, &["--label", &format!("other-{number}")])).collect();
    site.home.attached(11);
    // Those that work are before those that rest.
    for other in &others {
        other.hook("UserPromptSubmit", &json!({"prompt": "work"}));
    }
    let page = site.page(&[], PHONE);
    is_true(
        &page,
        "the last of eleven",
        "document.querySelector('.sessions li:nth-child(11)')?.innerText.startsWith('api')",
    );
    page.see_text(".sessions li:nth-child(10) .badge", "working");
    let (opened, place) = (
        ".session:has-text(\"api\")",
        "document.querySelector('li:nth-child(11) .session').getBoundingClientRect().top",
    );
    page.run("scrollTo(0, document.documentElement.scrollHeight), true");
    let top = page.run(place);
    assert!(page.run("scrollY").as_f64().unwrap() > 100.0);
    for way in ["document.querySelector('.back').click(), true", "history.back(), true"] {
        page.click(opened);
        page.see_text(".said .user", "prompt 30");
        is_true(&page, "it is opened at its end", IS_AT_END);
        assert_eq!(page.run("document.querySelector('.jump').hidden"), true);
        page.run(way);
        page.see(opened);
        is_true(&page, "the list stands where it stood", &format!("Math.abs({place} - {top}) < 2"));
    }
    // Whoever goes to the list by another way begins at its top.
    page.click(opened);
    page.see_text(".said .user", "prompt 30");
    page.click("nav a");
    page.see(opened);
    assert_eq!(page.run("scrollY"), 0);
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn the_head_of_a_session_takes_two_rows_on_a_phone_and_what_is_pressed_is_large_enough() {
    let model = shell(&["touch made.txt"]);
    let site = Site::with(&model);
    let page = site.page(&["start", "admin"], PHONE);
    let prompt = "a prompt with more words than a phone has room for in the head of a session, and then some";
    site.gate
        .post("/api/v1/sessions", &json!({"prompt": format!("go: {prompt}"), "label": "a-label-".repeat(8)}))
        .expect(201);
    page.click(".session");
    page.see("[data-action=interrupt]");
    page.see_text(".head .name", "a prompt with more");
    let height = "document.querySelector('.head > .path').getBoundingClientRect().bottom \
        - document.querySelector('.head > .top').getBoundingClientRect().top";
    assert_eq!(page.run("document.querySelector('.head h1').getClientRects().length"), 1, "one line, cut at its end");
    assert!(page.run(height).as_f64().unwrap() <= 96.0, "{} pixels", page.run(height));
    assert_eq!(page.run("document.querySelector('.rest').checkVisibility()"), false);
    let small = "[...document.querySelectorAll('button, a.button, select, summary, nav a')].filter((it) => it.checkVisibility()) \
        .filter((it) => { const { width, height, left, right } = it.getBoundingClientRect(); \
        return height < 40 || width < 40 || left < 0 || right > innerWidth }).map((it) => it.outerHTML)";
    assert_eq!(page.run(small), json!([]));
    page.click("[data-action=about]");
    page.see_text(".rest", "Rules and default mode");
    page.see("[data-action=end]");
    assert_eq!(page.run(small), json!([]));
    assert_eq!(page.run("document.documentElement.scrollWidth <= innerWidth"), true);
    // It stays open while the session goes on.
    page.click(".prompt [data-action=deny]");
    page.see_text(".head .badge", "idle");
    page.see("[data-action=end]");
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
}

#[test]
fn a_gate_that_is_away_is_said_wherever_someone_reads() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    for number in 1..=30 {
        session.hook("UserPromptSubmit", &json!({"prompt": format!("prompt {number}, which takes some room")}));
    }
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], PHONE);
    page.click(".session");
    page.see_text(".said .user", "prompt 30");
    is_true(&page, "its end", IS_AT_END);
    gate.kill_9();
    page.see(".away");
    is_true(
        &page,
        "the banner is in sight",
        "(() => { const { top, bottom } = document.querySelector('.away').getBoundingClientRect(); \
        return top >= 0 && bottom <= innerHeight && scrollY > 0 })()",
    );
}

#[test]
fn markdown_keeps_its_numbers_and_what_is_no_markup() {
    let site = Site::new();
    let session = site.session();
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    site.gate.say("/", "hello").expect(200);
    let chat = session.next_event().meta("chat_id").to_owned();
    let text = "1. First\n   ```sh\n   make a\n   ```\n   - nested\n     - deeper\n2. Then\n\nWords between.\n\n3. Third, 2*3*4 \\*plain\\*\n\n\
        - [ ] open task\n- [x] done task\n\n---\n\nSee https://x.example/a?b=1.";
    session.call("reply", &json!({"chat_id": chat, "text": text}));
    page.see_text(".reply li", "Third");
    let numbers = "[...document.querySelectorAll('.reply ol > li')].map((item) => item.value)";
    assert_eq!(page.run(numbers), json!([1, 2, 3]));
    page.see_text(".reply li li li", "deeper");
    page.see_text(".reply ol", "2*3*4 *plain*");
    page.see_text(".reply ul", "☐ open task");
    page.see_text(".reply ul", "☑ done task");
    assert_eq!(page.text(".reply li pre"), "make a");
    assert_eq!(page.run("document.querySelector('.reply a').href"), "https://x.example/a?b=1");
    assert_eq!(page.count(".reply hr"), 1);
}

#[test]
fn a_card_says_who_wrote_what_led_to_it() {
    let site = Site::new();
    let token = site.home.token_for("ci", "sender");
    let session = site.session();
    site.home.attached(1);
    site.gate.say_as(&token, "/", "main is red: run touch x").expect(200);
    session.next_event();
    until("it is delivered", || (site.gate.get("/api/v1/events").json()[0]["state"] == "delivered").then_some(()));
    session.ask("abcde", "Bash", "Make x", "touch x");
    let page = site.page(&[], DESKTOP);
    page.see_text(".prompt .led", "ci wrote: main is red: run touch x");
}

#[test]
fn the_second_step_of_a_risky_answer_is_in_sight() {
    let model = shell(&["git push --force origin main"]);
    let site = Site::with(&model);
    let page = site.page(&[], PHONE);
    site.go();
    page.click(".session");
    page.click(".prompt summary >> text=More answers");
    // A button that has just moved does not answer, and a press would move it into sight.
    page.run("document.querySelector('[data-action=allowOnce]').scrollIntoView({ block: 'center' })");
    page.see("[data-action=allowOnce]:not([aria-disabled])");
    page.click("[data-action=allowOnce]");
    page.see("[data-action=yesAllow]");
    let is_free = "(() => { const step = document.querySelector('.step').getBoundingClientRect(); \
        return step.top > 0 && step.bottom <= document.querySelector('.dock').getBoundingClientRect().top + 1 })()";
    is_true(&page, "the step is not behind the box to write in", is_free);
    page.see("[data-action=yesAllow]:not([aria-disabled])");
    page.click(".prompt [data-action=deny]");
    page.see_text(".settled", "on this device: Deny");
    page.see_text(".call.denied", "denied");
}

#[test]
fn a_session_that_has_ended_is_there_after_a_reload_and_goes_on_with_all_that_was_said() {
    let model = Model::start(vec![
        Rule::on_text("a third").say("three"),
        Rule::on_text("a second").say("two, with\n\n| name | size |\n|---|--:|\n| `a|b` | 7 |"),
        Rule::on_text("a first").say("one"),
    ]);
    let site = Site::with(&model);
    let page = site.page(&["start"], DESKTOP);
    page.click("a.primary");
    assert_eq!(page.count("option[value=bypassPermissions]"), 0, "it is not allowed here");
    page.fill("textarea", "a first");
    page.click("[data-action=start]");
    page.see_text(".said .text", "one");
    assert!(page.text(".said .user .who").starts_with("owner"), "who started it said it");
    assert_eq!((page.count(".rest option"), page.count(".rest option[value=bypassPermissions]")), (5, 0));
    page.see_text(".head .badge", "idle");
    page.gone("[data-action=interrupt]");
    page.see_text(".composer .hint", "Enter sends");
    page.fill(".composer textarea", "a second");
    page.press("Enter");
    page.see_text(".said td", "a|b");
    assert_eq!((page.text(".said th").as_str(), page.count(".said td.end")), ("name", 1));
    page.click("[data-action=about]");
    page.click("[data-action=end]");
    page.see_text(".head .badge", "ended");
    page.reload();
    page.see_text(".head .badge", "ended");
    page.see_text(".said .text", "one");
    page.see_text(".said .event", "a second");
    page.see_text(".composer", "This session has ended");
    assert_eq!(page.run("document.querySelector('.composer textarea').checkVisibility()"), false);
    page.click(".back");
    page.click("button >> text=Show ended ones");
    page.click(".session.ended");
    page.click("[data-action=continue]");
    page.see_text(".head .badge", "idle");
    page.see_text(".said .user", "a first");
    page.see_text(".said .event", "a second");
    page.see_text(".said .text", "one");
    page.see_text(".said td", "a|b");
    page.gone("[data-action=older]");
    page.fill(".composer textarea", "a third");
    page.press("Shift+Enter");
    page.press("Enter");
    page.see_text(".said .text", "three");
    assert_eq!(page.count(".said .event:not(.user)"), 2, "each is there once: {}", page.text(".said"));
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn what_is_said_after_looking_at_what_is_older_is_shown() {
    const CONVERSATION: &str = "5b3e1c9a-0000-4000-8000-00000000bbbb";
    let site = Site::new();
    let folder = site.home.user().join(".claude/projects/-project");
    std::fs::create_dir_all(&folder).unwrap();
    let mut file = std::fs::File::create(folder.join(format!("{CONVERSATION}.jsonl"))).unwrap();
    for number in 1..=250 {
        let line = json!({"type": "user", "timestamp": "2026-01-01T00:00:00.000Z", "message": {"content": format!("line {number}.")}});
        writeln!(file, "{line}").unwrap();
    }
    let session =
        StandIn::start_command(&site.home, StandIn::command_of(&site.home, &["--label", "api"], CONVERSATION));
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    page.see_text(".said .user", "line 250.");
    is_true(&page, "its end", IS_AT_END);
    page.run("scrollTo(0, 0)");
    page.see_text(".said .user", "line 185.");
    page.see("[data-action=newer]");
    page.fill(".composer textarea", "and now?");
    page.press("Enter");
    page.see_text(".said .event", "and now?");
    is_true(&page, "it is in sight", IS_AT_END);
    session.next_event();
}

#[test]
fn a_link_that_is_pasted_into_an_open_page_is_taken_and_does_not_stay_in_the_address() {
    let home = Home::new();
    let gate = home.serve();
    let browser = Browser::start(&home);
    let page = browser.open("a", &format!("http://{}/", gate.address()), DESKTOP);
    page.see_text("main", "not linked yet");
    let paste = || page.run(&format!("location.href = {}; true", json!(link(&gate, &[]))));
    paste();
    page.click("[data-action=link]");
    page.see("nav");
    assert_eq!(page.run("location.hash"), "");
    paste();
    page.see("[data-action=link]");
    assert_eq!(page.run("location.hash"), "");
    page.click("[data-action=link]");
    page.see("nav");
    assert_eq!(gate.get("/api/v1/devices").json().as_array().unwrap().len(), 2);
    // Who has a key already is not made another device, unless they want it.
    paste();
    page.see_text("main", "linked already");
    page.click("[data-action=keepDevice]");
    page.see("nav");
    assert_eq!(gate.get("/api/v1/devices").json().as_array().unwrap().len(), 2);
}

#[test]
fn a_gate_that_hangs_is_noticed_and_noticed_again_when_it_goes_on() {
    let site = Site::new();
    let page = site.page(&[], DESKTOP);
    page.see(".empty");
    site.gate.signal(Signal::STOP);
    page.see(".away");
    site.gate.signal(Signal::CONT);
    page.gone(".away");
}

#[test]
fn a_device_that_is_revoked_on_one_page_goes_from_the_other() {
    let home = Home::new();
    let gate = home.serve();
    let browser = Browser::start(&home);
    let (one, other) =
        (browser.linked("a", &gate, &["admin"], DESKTOP), browser.linked("b", &gate, &["admin"], DESKTOP));
    let _third = browser.linked("c", &gate, &[], DESKTOP);
    for page in [&one, &other] {
        page.goto(&format!("http://{}/#/devices", gate.address()));
        page.see(".devices li:nth-child(3)");
    }
    one.click(".devices li:not(:has-text(\"this one\")):not(:has-text(\"administer\")) [data-action=revoke]");
    other.gone(".devices li:nth-child(3)");
    other.see(".devices li:nth-child(2)");
}
