//! The end of a conversation whose items are taller than they were taken for: the browser learns that only as they come near
//! the screen.

use super::reading::{IS_AT_END, PHONE, is_true};
use super::site::Site;
use crate::support::browser::{DESKTOP, Page};
use serde_json::json;

/// Two frames and more in which the browser gives everything near the screen its real size.
const SOME_FRAMES: &str = "new Promise((done) => { let left = 30; \
    const next = () => ((left -= 1) ? requestAnimationFrame(next) : done(true)); next() })";

/// An answer that is as long as agents write them.
fn long(number: u32) -> String {
    let table: String = (1..=12).map(|row| format!("| {row} | `file-{row}.rs` | changed |\n")).collect();
    let words = "Each of these words takes some room, and there are enough of them for several lines. ".repeat(6);
    format!(
        "# Answer {number}\n\n| n | file | state |\n|---|---|---|\n{table}\n```rust\nfn main() {{\n    run();\n}}\n```\n\n\
         {words}\n\n{words}\n\nanswer {number} ends here"
    )
}

fn stays_at_its_end(page: &Page<'_>) {
    is_true(page, "its end", IS_AT_END);
    page.run(SOME_FRAMES);
    assert_eq!(page.run(IS_AT_END), true, "it stays there");
    assert_eq!(page.run("document.querySelector('.jump').hidden"), true, "and says of nothing that it is new");
}

#[test]
fn a_session_with_long_answers_opens_at_its_end_each_time_and_what_comes_is_followed() {
    let site = Site::new();
    let session = site.session();
    site.home.attached(1);
    let tell = |number: u32| {
        site.gate.say("/", &format!("message {number}")).expect(200);
        let chat = session.next_event().meta("chat_id").to_owned();
        session.call("reply", &json!({"chat_id": chat, "text": long(number)}));
    };
    (1..=4).for_each(tell);
    for (name, screen, news) in [("desktop", DESKTOP, 5), ("phone", PHONE, 6)] {
        let page = site.browser.linked(name, &site.gate, &[], screen);
        for _ in 0..3 {
            page.click(".session");
            page.see_text(".said .reply", &format!("answer {} ends here", news - 1));
            stays_at_its_end(&page);
            page.click("nav a");
            page.see(".session");
        }
        page.click(".session");
        page.see_text(".said .reply", &format!("answer {} ends here", news - 1));
        tell(news);
        page.see_text(".said .reply", &format!("answer {news} ends here"));
        stays_at_its_end(&page);
        // Whoever scrolls up is left where they read all the same.
        page.run("scrollBy(0, -300), true");
        page.see_text("[data-action=jump]", "To the newest");
        page.run(SOME_FRAMES);
        assert_eq!(page.run(IS_AT_END), false);
        assert_eq!(page.problems(), [""; 0]);
    }
}

/// What the browser makes of items that were taken for as tall as others: those above are smaller, the last one is larger,
/// and what is in sight is kept in its place.
const REAL_SIZES: &str = "(() => { const items = [...document.querySelectorAll('.said > li')]; \
    items.slice(0, 8).forEach((item) => (item.style.display = 'none')); items.at(-1).style.minHeight = '1500px'; return true })()";

#[test]
fn what_gets_its_real_size_moves_nobody_from_the_end() {
    let site = Site::new();
    let session = site.session();
    site.home.attached(1);
    let say = |number: u32| {
        session.hook("UserPromptSubmit", &json!({"prompt": format!("prompt {number}, which takes some room")}));
    };
    (1..=20).for_each(say);
    for (name, screen, news) in [("desktop", DESKTOP, 21), ("phone", PHONE, 22)] {
        let page = site.browser.linked(name, &site.gate, &[], screen);
        page.click(".session");
        page.see_text(".said .user", &format!("prompt {},", news - 1));
        stays_at_its_end(&page);
        page.run(REAL_SIZES);
        stays_at_its_end(&page);
        say(news);
        page.see_text(".said .user", &format!("prompt {news},"));
        stays_at_its_end(&page);
    }
}
