//! What is pressed when a card has just moved answers nothing: whoever pressed meant the card that was there before.

use super::site::Site;
use crate::support::browser::{Browser, DESKTOP, Page, Screen};
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::standin::StandIn;
use crate::support::until;
use serde_json::{Value, json};

const PHONE: Screen = Screen { size: (390, 844), locale: "en-US", dark: false };

/// Two prompts, of which the first is answered elsewhere; `press` happens in the moment in which the second takes its
/// place. Says who has allowed what after that.
fn pressed_as_it_moves(screen: Screen, press: &str, then: impl Fn(&Page<'_>)) {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], screen);
    session.ask("abcde", "Bash", "Make x", "touch x");
    page.see_text(".prompt", "touch x");
    session.ask("fghij", "Bash", "Remove y", "rm y");
    page.see_text(".prompt", "rm y");
    page.see("[data-code=abcde] [data-action=allowOnce]:not([aria-disabled])");
    page.see("[data-code=fghij] [data-action=allowOnce]:not([aria-disabled])");
    let as_it_moves = format!(
        "new MutationObserver((_, observer) => {{ const card = document.querySelector('.prompt'); \
         if (card.dataset.code !== 'fghij') return; observer.disconnect(); {press} }}) \
         .observe(document.querySelector('.prompts'), {{childList: true}}); true"
    );
    page.run(&as_it_moves);
    gate.verdict("abcde", &json!({"behavior": "deny"})).expect(200);
    page.see_text("[data-code=fghij] .notice", "has just moved or come into sight");
    assert_eq!(answered(&home), [json!("deny")], "only the first was answered");
    page.see("[data-code=fghij] [data-action=allowOnce]:not([aria-disabled])");
    then(&page);
    until("the second answer", || (answered(&home) == ["deny", "allow"]).then_some(()));
    drop::<Gate>(gate);
}

fn answered(home: &Home) -> Vec<Value> {
    home.records("answered").into_iter().map(|record| record["behavior"].clone()).collect()
}

#[test]
fn a_key_that_was_meant_for_the_card_before_answers_nothing() {
    let press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true}))";
    pressed_as_it_moves(DESKTOP, press, |page| {
        page.press("a");
        page.click("[data-code=fghij] [data-action=yesAllow]");
    });
}

#[test]
fn a_tap_that_was_meant_for_the_card_before_answers_nothing() {
    let press = "card.querySelector('[data-action=allowOnce]').click()";
    pressed_as_it_moves(PHONE, press, |page| {
        page.click("[data-code=fghij] [data-action=allowOnce]");
        page.click("[data-code=fghij] [data-action=yesAllow]");
    });
}

#[test]
fn a_letter_answers_the_first_card_alone_and_only_one_that_is_in_sight() {
    let site = Site::new();
    let session = site.session();
    let page = site.page(&[], PHONE);
    page.see(".session");
    page.run("document.body.style.paddingBottom = '3000px'");
    session.ask("abcde", "Bash", "Make x", "touch x");
    page.see("[data-action=allowOnce]:not([aria-disabled])");
    page.run("scrollTo(0, document.documentElement.scrollHeight)");
    let is_in_sight = "document.querySelector('.prompt').getBoundingClientRect().bottom > 0";
    until("the card is out of sight", || (page.run(is_in_sight) == false).then_some(()));
    page.press("a");
    until("the card is in sight", || (page.run(is_in_sight) == true).then_some(()));
    assert_eq!(site.home.records("answered").len(), 0, "nobody could see what was asked");
    page.see("[data-action=deny]:not([aria-disabled])");
    page.press("d");
    until("the answer", || (answered(&site.home) == ["deny"]).then_some(()));
}

#[test]
fn a_press_that_was_meant_for_a_window_in_front_of_the_page_answers_nothing() {
    let site = Site::new();
    let session = site.session();
    let page = site.page(&[], DESKTOP);
    session.ask("abcde", "Bash", "Make x", "touch x");
    page.see("[data-action=allowOnce]:not([aria-disabled])");
    page.run(
        "(window.dispatchEvent(new Event('focus')), document.querySelector('[data-action=allowOnce]').click(), true)",
    );
    page.see_text(".prompt .notice", "come into sight");
    assert_eq!(site.home.records("answered").len(), 0);
    page.see_text(".prompt .risk", "risk not known");
    page.click("[data-action=allowOnce]");
    page.see("[data-action=yesAllow]");
    assert_eq!(site.home.records("answered").len(), 0, "what is only a preview takes a second step");
    page.click("[data-action=yesAllow]");
    until("the answer", || (answered(&site.home) == ["allow"]).then_some(()));
}
