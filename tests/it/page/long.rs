//! Long conversations: little of them is in the document, nothing of them is lost or comes twice.

use super::site::Site;
use crate::support::browser::{Browser, DESKTOP, Page};
use crate::support::home::Home;
use crate::support::standin::StandIn;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::mpsc;

const LONG_STREAM: &str = include_str!("long_stream.js");
const SCROLL: &str = include_str!("scroll.js");

/// How much is in the document, and how much a step makes anew, does not depend on how busy the machine is; how long the
/// longest task takes does, so that is printed here and is a row of `cargo bench`.
#[test]
fn ten_thousand_entries_are_scrolled_through_with_little_work_and_memory() {
    let site = Site::new();
    let _session = site.session();
    let page = site.page(&[], DESKTOP);
    page.see(".session");
    page.run(LONG_STREAM);
    page.click(".session");
    page.see_text(".said .text", "number 10000");
    page.trace();
    let mut parts = (0..100).map(|_| page.run(SCROLL));
    let scrolled = parts.find(|scrolled| scrolled["there"] == true).expect("its beginning is reached");
    let traced = page.traced();
    let at_most = |what: &Value, most: u64| assert!(what.as_f64().unwrap() <= most as f64, "{scrolled}");
    at_most(&scrolled["most"], 70);
    at_most(&scrolled["made"], 15);
    let memory = page.memory();
    println!("10,000 entries: {scrolled}, {traced}, {memory}");
    for bytes in [&memory["heap"], &memory["process"]] {
        assert!(bytes.as_f64().unwrap() < 150e6, "{memory}");
    }
    page.see("[data-action=newer]");
    assert_eq!(page.problems(), [""; 0]);
}

/// The numbers of the prompts in the document, for each part of the conversation, from the last to the first.
fn parts(page: &Page<'_>) -> Vec<Vec<u64>> {
    let walk = "(async () => { const parts = []; const list = document.querySelector('.said'); \
        const older = document.querySelector('[data-action=older]'); \
        for (;;) { parts.push([...list.querySelectorAll('.user')].map((item) => Number(item.textContent.match(/prompt (\\d+)/)[1]))); \
          if (older.hidden) return parts; \
          const before = list.firstElementChild.dataset.key; older.click(); \
          while (!older.hidden && list.firstElementChild.dataset.key === before) await new Promise((done) => setTimeout(done)) } })()";
    serde_json::from_value(page.run(walk)).unwrap()
}

#[test]
fn a_thousand_entries_are_on_the_page_once_each_though_the_gate_was_killed_three_times() {
    const ALL: u64 = 1000;
    let home = Home::without_auto_start();
    let mut gate = home.serve();
    let port = gate.port();
    home.write_config(&format!("listen = \"127.0.0.1:{port}\"\n"));
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.click(".session");
    std::thread::scope(|scope| {
        // How many may have been said: some come before each death, some while there is no gate, and some after.
        let (allow, allowed) = mpsc::channel::<u64>();
        let (said, is_said) = mpsc::channel::<u64>();
        let session = &session;
        scope.spawn(move || {
            let mut number = 0;
            for most in allowed {
                while number < most {
                    number += 1;
                    session.hook("UserPromptSubmit", &json!({"prompt": format!("prompt {number}")}));
                }
                // Nobody waits for the last.
                said.send(number).unwrap_or_default();
            }
        });
        for (before, most) in [(270, 300), (570, 600), (820, 850), (ALL, ALL)] {
            allow.send(most).unwrap();
            page.see_text(".said .user", &format!("prompt {before}"));
            if before < ALL {
                gate.kill_9();
                page.see(".away");
                allow.send(most + 20).unwrap();
                assert_eq!([is_said.recv().unwrap(), is_said.recv().unwrap()], [most, most + 20]);
                gate = home.serve_with(&["--listen", &format!("127.0.0.1:{port}")]);
                page.gone(".away");
            }
        }
    });
    let parts = parts(&page);
    for part in &parts {
        assert!(part.windows(2).all(|two| two[1] == two[0] + 1), "a gap or a double: {part:?}");
    }
    let all: BTreeSet<u64> = parts.into_iter().flatten().collect();
    assert_eq!(all, (1..=ALL).collect());
    assert_eq!(page.problems(), [""; 0]);
}
