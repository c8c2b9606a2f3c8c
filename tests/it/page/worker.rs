//! The page's worker: what is pressed on a notification, in which language it speaks, and the page while the gate is away.

use super::site::Site;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::browser::{Browser, CHINESE_PHONE, DESKTOP, Page};
use crate::support::driven::shell;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::until;
use serde_json::{Value, json};

/// Waits until so many notifications were shown.
#[track_caller]
fn shown(page: &Page<'_>, count: usize) -> Vec<String> {
    until("the notifications", || {
        let shown: Vec<String> = serde_json::from_value(page.notifications()).unwrap();
        (shown.len() == count).then_some(shown)
    })
}

#[test]
fn a_button_of_a_notification_answers_and_a_tap_beside_it_opens_the_session() {
    let model = shell(&["touch one.txt", "touch two.txt", "touch three.txt"]);
    let site = Site::with(&model);
    let page = site.page(&[], DESKTOP);
    page.grant("notifications");
    site.go();
    page.see_text(".prompt .code", "touch one.txt");
    page.push("{\"waiting\":1}");
    assert!(shown(&page, 1)[0].ends_with("| allow,deny"));
    page.tap(0, "allow");
    until("the file", || site.home.project().join("one.txt").exists().then_some(()));
    page.see_text(".prompt .code", "touch two.txt");
    page.push("{\"waiting\":1}");
    shown(&page, 2);
    page.tap(1, "deny");
    page.see_text(".prompt .code", "touch three.txt");
    assert!(!site.home.project().join("two.txt").exists());
    let answers = site.gate.get("/api/v1/verdicts").expect(200).json();
    let said: Vec<(&Value, &Value)> =
        answers.as_array().unwrap().iter().map(|verdict| (&verdict["behavior"], &verdict["via"])).collect();
    assert_eq!(said, [(&json!("allow"), &json!("device")), (&json!("deny"), &json!("device"))]);
    // What was answered meanwhile is said to have failed.
    page.tap(1, "allow");
    assert!(shown(&page, 3)[2].starts_with("That did not work"));
    page.click("a[href='#/devices']");
    page.tap(1, "");
    page.see(".conversation .prompt");
}

#[test]
fn the_worker_speaks_the_language_that_was_chosen_on_the_page_and_so_does_every_view() {
    let model = shell(&["git push --force origin main"]);
    let site = Site::with(&model);
    let page = site.page(&["admin"], CHINESE_PHONE);
    page.grant("notifications");
    site.go();
    page.see_text(".prompt .risk", "高风险");
    page.push("{\"waiting\":1}");
    assert!(shown(&page, 1)[0].contains("请求许可 | 高风险\nBash:"), "{:?}", page.notifications());
    page.click("nav a[href='#/devices']");
    page.see_text("h1", "设备");
    page.choose("select", "en");
    page.see_text("h1", "Devices");
    assert_eq!(page.run("document.documentElement.lang"), "en");
    page.push("{\"waiting\":1}");
    assert!(shown(&page, 2)[1].contains(" asks | high risk\nBash:"), "{:?}", page.notifications());
    page.reload();
    page.see_text("h1", "Devices");
    page.click("nav a[href='#/']");
    page.see_text(".prompt .risk", "high risk");
    for view in ["log", "rules", "servers", "people"] {
        page.click(&format!("nav a[href='#/{view}']"));
        page.see("h1");
        let text = page.text("main");
        assert!(!text.contains('的'), "{view}: {text}");
    }
}

/// Every address that is kept.
const KEPT: &str = "caches.keys().then((names) => Promise.all(names.map((name) => caches.open(name).then((cache) => cache.keys())))) \
    .then((kept) => kept.flat().map(({ url }) => new URL(url).pathname))";

#[test]
fn a_page_that_is_opened_while_the_gate_is_away_says_so_and_comes_back_by_itself() {
    let home = Home::new();
    let gate = home.serve();
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.see_text(".empty", "No session");
    until("the files that are kept", || {
        let kept: Vec<String> = serde_json::from_value(page.run(KEPT)).unwrap();
        (kept.iter().any(|path| path == "/") && kept.iter().any(|path| path.ends_with("/main.js"))).then_some(())
    });
    page.run("navigator.serviceWorker.ready.then(() => navigator.serviceWorker.controller !== null)");
    let port = gate.port();
    gate.kill_9();
    page.reload();
    page.see_text(".away", "The gate is away");
    let kept: Vec<String> = serde_json::from_value(page.run(KEPT)).unwrap();
    let is_of_page = |path: &String| path == "/" || path.starts_with("/assets/");
    assert!(kept.iter().all(is_of_page), "no answer of the gate: {kept:?}");
    home.write_config(&format!("listen = \"127.0.0.1:{port}\"\n"));
    let _gate = home.serve_with(&["--listen", &format!("127.0.0.1:{port}")]);
    page.see_text(".empty", "No session");
    page.reload();
    page.see_text(".empty", "No session");
}

#[test]
fn the_page_can_be_installed_and_its_files_are_kept_by_browsers_for_as_long_as_they_are_the_same() {
    let home = Home::new();
    let gate = home.serve();
    let get = |path: &str| Request::get(path).header("Accept", "text/html").header("Accept-Encoding", "gzip, br");
    let index = get("/").send(&gate.target()).expect(200);
    assert_eq!(index.header("cache-control"), Some("no-cache"), "it names the version of everything else");
    let page = Request::get("/").header("Accept", "text/html").send(&gate.target()).expect(200).text();
    let address = |end: &str| page.split('"').find(|part| part.ends_with(end)).unwrap().to_owned();
    for file in ["main.js", "style.css", "manifest.webmanifest", "icon.png"] {
        let served = get(&address(file)).send(&gate.target()).expect(200);
        assert_eq!(served.header("cache-control"), Some("public, max-age=31536000, immutable"), "{file}");
        assert_eq!(served.header("content-encoding"), Some("gzip"), "{file}");
        assert!(served.header("vary").unwrap().contains("Accept-Encoding"), "{file}");
    }
    let plain = Request::get(&address("main.js")).send(&gate.target()).expect(200);
    assert_eq!(plain.header("content-encoding"), None);
    assert!(plain.text().contains("import"));
    Request::get("/assets/0123456789ab/main.js").send(&gate.target()).expect(404);
    let manifest = Request::get(&address("manifest.webmanifest")).send(&gate.target()).expect(200);
    assert_eq!(manifest.header("content-type"), Some("application/manifest+json"));
    let manifest = manifest.json();
    assert_eq!((&manifest["display"], &manifest["start_url"]), (&json!("standalone"), &json!("/")));
    for icon in manifest["icons"].as_array().unwrap() {
        Request::get(icon["src"].as_str().unwrap()).send(&gate.target()).expect(200);
    }
}

#[test]
fn a_session_that_is_done_is_told_to_who_does_not_look_also_where_a_page_cannot_make_notifications() {
    let model = Model::start(vec![
        Rule::on_text("go").call("Bash", json!({"command": "touch made.txt"})).once(),
        Rule::on_any_result().say("It is made.").once(),
    ]);
    let site = Site::with(&model);
    let page = site.page(&["start"], DESKTOP);
    // As on Android: only a worker may show a notification.
    page.run(
        "document.hasFocus = () => false; window.told = []; \
         window.Notification = class { constructor() { throw new TypeError('Illegal constructor') } static permission = 'granted' }; \
         ServiceWorkerRegistration.prototype.showNotification = async (title, { body }) => void window.told.push(`${title} | ${body}`); true",
    );
    site.go();
    page.see(".prompt");
    page.click("[data-action=allowOnce]");
    let told = || page.run("window.told").to_string();
    until("the end of the turn", || told().contains(" is done | ").then_some(()));
    // Nothing was left half drawn.
    page.see_text(".session .badge", "idle");
    assert_eq!(page.problems(), [""; 0]);
}
