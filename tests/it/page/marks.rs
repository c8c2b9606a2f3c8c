//! What is marked on the page so that nobody takes it for something else: events that only inform, messages that were
//! changed, letters that deceive, how a session is connected. And that nothing moves for whoever wants that.

use super::site::Site;
use crate::support::browser::{CHINESE_PHONE, DESKTOP};
use crate::support::standin::StandIn;
use crate::support::until;
use serde_json::json;
use std::io::Write as _;

#[test]
fn an_event_that_only_informs_is_told_apart_from_a_message_of_who_directs() {
    let site = Site::new();
    let token = site.home.token_for("ci", "sender");
    let session = site.session();
    site.home.attached(1);
    site.gate.say("/", "look at main").expect(200);
    session.next_event();
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    page.see_text(".said .event", "look at main");
    site.gate.say_as(&token, "/", "main is red").expect(200);
    session.next_event();
    let chinese = site.browser.linked("b", &site.gate, &[], CHINESE_PHONE);
    chinese.click(".session");
    let check = || {
        page.see_text(".said .event.outside", "main is red");
        page.see_text(".event.outside .badge", "from outside: informs only");
        assert_eq!(page.count(".said .event.outside"), 1, "the owner's own message is no such event");
        let looks = "[...document.querySelectorAll('.said .event')].map((item) => \
            [getComputedStyle(item).backgroundColor, item.getBoundingClientRect().left])";
        let looks = page.run(looks);
        let (directs, informs) = (&looks[0], &looks[1]);
        assert_ne!(directs[0], informs[0], "another colour");
        assert!(informs[1].as_f64().unwrap() < directs[1].as_f64().unwrap(), "and the other side");
    };
    check();
    page.reload();
    check();
    chinese.see_text(".event.outside .badge", "来自外部：仅供参考");
    for each in [&page, &chinese] {
        assert!(each.barriers().is_empty(), "{:?}", each.barriers());
        assert_eq!(each.problems(), [""; 0]);
    }
}

#[test]
fn a_message_that_the_agent_changed_says_so_and_shows_the_new_words_alone() {
    let site = Site::new();
    let session = site.session();
    site.home.attached(1);
    site.gate.say("/", "how far?").expect(200);
    let chat = session.next_event().meta("chat_id").to_owned();
    let said = session.call("reply", &json!({"chat_id": chat, "text": "Half way"}));
    let said = said["content"][0]["text"].as_str().unwrap().to_owned();
    let id = said.split("message_id=").nth(1).unwrap().trim_end_matches(')').to_owned();
    let page = site.page(&[], DESKTOP);
    let chinese = site.browser.linked("b", &site.gate, &[], CHINESE_PHONE);
    page.click(".session");
    page.see_text(".said .reply", "Half way");
    assert!(!page.text(".said .reply .who").contains("edited"));
    session.call("edit_message", &json!({"message_id": id, "text": "Done, in *full*"}));
    let check = || {
        page.see_text(".said .reply .who", "edited");
        page.see_text(".said .reply em", "full");
        assert!(!page.text(".said").contains("Half way"), "{}", page.text(".said"));
        assert_eq!(page.count(".said .reply"), 1);
    };
    check();
    page.reload();
    check();
    chinese.click(".session");
    chinese.see_text(".said .reply .who", "已修改");
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
}

#[test]
fn letters_that_deceive_are_spelled_in_one_way_in_the_list_and_in_the_log_as_on_a_prompt() {
    const CONVERSATION: &str = "5b3e1c9a-0000-4000-8000-00000000cccc";
    let site = Site::new();
    let folder = site.home.user().join(".claude/projects/-project");
    std::fs::create_dir_all(&folder).unwrap();
    let mut file = std::fs::File::create(folder.join(format!("{CONVERSATION}.jsonl"))).unwrap();
    let line = json!({"type": "user", "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"content": "pay p\u{430}ypal, привет"}});
    writeln!(file, "{line}").unwrap();
    let session =
        StandIn::start_command(&site.home, StandIn::command_of(&site.home, &["--label", "api"], CONVERSATION));
    site.home.attached(1);
    let page = site.page(&["admin"], DESKTOP);
    page.see_text(".session .title", "pay p⟨U+0430⟩ypal, привет");
    site.gate.say("/", "turn a\u{202e}b round, and keep \\u{61}").expect(200);
    session.next_event();
    page.click("nav a[href='#/log']");
    page.see_text(".log .words", "turn a⟨U+202E⟩b round, and keep \\u{61}");
    assert!(!page.text(".log").contains("202e"), "{}", page.text(".log"));
}

#[test]
fn a_session_that_was_started_here_is_said_to_be_started_by_the_gates_own_program() {
    let model = crate::support::driven::shell(&["touch made.txt"]);
    let site = Site::with(&model);
    site.go();
    let page = site.page(&[], DESKTOP);
    page.see_text(".session", "connected by Portcullis, which started it");
    let chinese = site.browser.linked("b", &site.gate, &[], CHINESE_PHONE);
    chinese.see_text(".session", "由 Portcullis 启动");
}

/// Everything on the page that would move by itself, or does.
const MOVES: &str = "[...document.querySelectorAll('*')].flatMap((it) => [null, '::before', '::after'].map((part) => getComputedStyle(it, part)) \
    .filter((style) => !/^0s(, 0s)*$/.test(style.transitionDuration) || style.animationName !== 'none' || style.scrollBehavior === 'smooth') \
    .map(() => it.tagName + '.' + it.className)).concat(document.getAnimations().map(() => 'animation'))";

#[test]
fn nothing_moves_for_whoever_wants_less_motion() {
    let site = Site::new();
    let session = site.session();
    site.home.attached(1);
    let page = site.page(&["start", "admin"], DESKTOP);
    session.ask("abcde", "Bash", "Make x", "touch x");
    page.see(".prompt");
    assert_ne!(page.run(MOVES), json!([]), "a card changes its colour slowly, for others");
    page.want_less_motion();
    page.run(
        "window.moved = []; for (const what of ['transitionrun', 'animationstart']) \
         addEventListener(what, ({ target }) => window.moved.push(target.className), true); true",
    );
    assert_eq!(page.run("matchMedia('(prefers-reduced-motion: reduce)').matches"), true);
    let still = |where_: &str| assert_eq!(page.run(MOVES), json!([]), "{where_}");
    still("the list");
    page.click(".session");
    page.see(".composer");
    still("a session");
    for number in 1..=30 {
        session.hook("UserPromptSubmit", &json!({"prompt": format!("prompt {number}, which takes some room")}));
    }
    page.see_text(".said .user", "prompt 30");
    // What is jumped to is there at once.
    page.run("scrollTo(0, 0)");
    page.see("[data-action=jump]");
    page.run("document.querySelector('[data-action=jump]').click(), true");
    assert_eq!(page.run(super::reading::IS_AT_END), true);
    page.see("[data-action=deny]:not([aria-disabled])");
    page.click("[data-action=deny]");
    page.see(".settled");
    still("an answer");
    for view in ["start", "log", "rules", "servers", "people", "devices"] {
        page.goto(&format!("http://{}/#/{view}", site.gate.address()));
        page.see("main h1");
        still(view);
    }
    until("nothing has moved", || (page.run("window.moved") == json!([])).then_some(()));
}
