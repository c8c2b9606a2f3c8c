//! Modes on the page: what a folder's sessions start in, who set it, and what config.toml says; and when sessions last did something.

use super::site::Site;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::run::api::serve;
use crate::support::browser::{Browser, CHINESE_PHONE, DESKTOP};
use crate::support::home::Home;
use serde_json::json;

#[test]
fn an_admin_sets_the_default_mode_of_a_folder_and_the_next_session_starts_in_it() {
    let home = Home::new();
    let model = Model::start(vec![Rule::on_text("go").say("said")]);
    let gate = serve(&home, &model, "permission_mode = \"acceptEdits\"\n");
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &["start", "admin"], DESKTOP);
    page.click("nav a[href=\"#/rules\"]");
    page.see_text(".default-mode dd", "acceptEdits: changes and removes files unasked");
    page.see_text(".default-mode", "permission_mode");
    page.see_text(".default-mode", "nothing");
    assert_eq!(page.count(".default-mode option[value=bypassPermissions]"), 0, "it is no default");
    page.choose(".default-mode select", "plan");
    page.click("[data-action=setDefault]");
    page.see_text(".default-mode strong", "plan: only reads");
    page.see_text(".default-mode", "by owner");
    assert_eq!(home.records("default_mode_set").len(), 1);
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
    page.goto(&format!("http://{}/#/start", gate.address()));
    page.see_text("select", "As set for this folder: plan");
    page.fill("textarea", "go");
    page.click("[data-action=start]");
    page.see_text(".said .text", "said");
    page.see_text(".head > .path", "plan: only reads");
    // From a session to its folder, and back to what the configuration says.
    page.click("[data-action=about]");
    page.click("a:has-text(\"Rules and default mode\")");
    page.choose(".default-mode select", "");
    page.click("[data-action=setDefault]");
    page.see_text(".default-mode strong", "acceptEdits");
    assert_eq!(gate.get("/api/v1/modes").expect(200).json(), json!([]));
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn who_may_only_start_sessions_sees_the_default_mode_and_does_not_set_it() {
    let model = Model::start(vec![]);
    let site = Site::with(&model);
    let page = site.page(&["start"], CHINESE_PHONE);
    page.click("a.primary");
    page.see_text("select", "按此文件夹的设定：default");
    page.click("summary");
    page.see_text(".default-mode", "未设定");
    assert_eq!(page.count("[data-action=setDefault]"), 0);
    page.fill("input[list=folders]", "/nowhere");
    page.press("Tab");
    page.see_text(".hint", "请求有误");
    page.see_text(".hint", "没有文件夹");
}

#[test]
fn a_session_says_when_it_was_last_active_and_that_moves_on_by_itself() {
    let site = Site::new();
    let session = site.session();
    let page = site.page(&[], DESKTOP);
    page.see_text(".session .active", "active now");
    let active = || site.gate.get("/api/v1/sessions").json()[0]["last_active"].as_u64().unwrap();
    let before = active();
    let shown = "document.querySelector('.session time').dateTime";
    let first = page.run(shown);
    site.gate.say("/", "anything new?").expect(200);
    session.next_event();
    assert!(active() > before);
    page.run("Date.now = ((real) => () => real() + 5 * 60_000)(Date.now)");
    page.see_text(".session .active", "active 5 minutes ago");
    assert_ne!(page.run(shown), first, "and it was told of what happened since");
}
