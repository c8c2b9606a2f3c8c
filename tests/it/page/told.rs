//! What someone is told who does not look: the title, notifications, and what is quiet.

use super::site::Site;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::browser::{Browser, DESKTOP};
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::push::PushPeer;
use crate::support::standin::StandIn;
use crate::support::until;
use serde_json::json;

/// In place of the browser's own notifications, for a page that nobody looks at, and whose worker shows none.
const NOBODY_LOOKS: &str = "document.hasFocus = () => false; window.told = []; \
    ServiceWorkerRegistration.prototype.showNotification = async () => { throw new TypeError('none') }; \
    window.Notification = class { constructor(title, { body }) { window.told.push(`${title} | ${body}`) } close() {} \
    static permission = 'granted' }; true";

#[test]
fn who_does_not_look_is_told_once_of_a_prompt_and_of_an_end_unless_it_is_quiet() {
    let home = Home::new();
    home.write_config("[notify]\nafter_seconds = 1\n");
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    let quiet = StandIn::start(&home, &["--label", "web"]);
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.click(".session:has-text(\"web\")");
    page.click("[data-action=about]");
    page.click(".check input");
    page.run(NOBODY_LOOKS);
    session.ask("abcde", "Bash", "Make x", "touch x");
    quiet.ask("fghij", "Bash", "Make y", "touch y");
    let told = || page.run("window.told");
    until("the notification", || told().to_string().contains("api asks").then_some(()));
    assert_eq!(page.run("document.title"), "(2) Portcullis");
    session.close_stdin();
    until("the end", || told().to_string().contains("api has ended").then_some(()));
    let told = told();
    assert_eq!(told.as_array().unwrap().len(), 2, "{told}: each once, and nothing of the quiet one");
    assert!(told[0].as_str().unwrap().contains("touch x"), "{told}");
}

#[test]
fn notifications_are_turned_off_again_and_stay_off() {
    let home = Home::new();
    home.write_config("[notify]\nafter_seconds = 0\n");
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    let nobody_looks = format!("{NOBODY_LOOKS}; Notification.requestPermission = async () => 'granted'; true");
    page.run(&nobody_looks);
    page.click("a[href='#/devices']");
    page.see_text(".hint", "while this page is open");
    page.click("[data-action=noNotify]");
    page.see("[data-action=notify]");
    page.reload();
    page.run(&nobody_looks);
    session.ask("abcde", "Bash", "Make x", "touch x");
    until("the title", || (page.run("document.title") == "(1) Portcullis").then_some(()));
    page.click("[data-action=notify]");
    page.see("[data-action=noNotify]");
    session.ask("fghij", "Bash", "Make y", "touch y");
    until("the notification", || page.run("window.told").to_string().contains("touch y").then_some(()));
    assert_eq!(page.run("window.told").as_array().unwrap().len(), 1, "nothing of what came while they were off");
}

/// What the worker reads of what is quiet.
const QUIET: &str = "new Promise((resolve) => { const opening = indexedDB.open('portcullis', 1); opening.onsuccess = () => { \
    const reading = opening.result.transaction('device').objectStore('device').get('muted'); \
    reading.onsuccess = () => (opening.result.close(), resolve(reading.result ?? [])) } })";

#[test]
fn a_push_shows_what_waits_and_only_what_is_simple_has_buttons() {
    let model = Model::start(vec![
        Rule::on_text("simple").call("Bash", json!({"command": "touch made.txt", "description": "d"})).once(),
        Rule::on_text("force")
            .call("Bash", json!({"command": "git push --force origin main", "description": "d"}))
            .once(),
        Rule::on_text("long")
            .call("Bash", json!({"command": format!("touch {}", "x ".repeat(150)), "description": "d"}))
            .once(),
        Rule::on_text("lines")
            .call("Bash", json!({"command": "touch a\u{202e}b\n\n\ntouch deployed", "description": "d"}))
            .once(),
        Rule::on_text("sandbox")
            .call("Bash", json!({"command": "touch b", "run_in_background": true, "description": "d"}))
            .once(),
    ]);
    let site = Site::with(&model);
    let page = site.page(&[], DESKTOP);
    page.grant("notifications");
    for (label, prompt) in
        [("one", "simple"), ("two", "force"), ("three", "long"), ("four", "lines"), ("five", "sandbox")]
    {
        site.gate.post("/api/v1/sessions", &json!({"prompt": prompt, "label": label})).expect(201);
    }
    until("five prompts", || (page.count(".prompt") == 5).then_some(()));
    page.push("{\"waiting\":1}");
    let mut shown = json!(null);
    until("five notifications", || {
        shown = page.notifications();
        (shown.as_array().unwrap().len() == 5).then_some(())
    });
    let line = |start: &str| {
        let lines = shown.as_array().unwrap().iter().map(|line| line.as_str().unwrap());
        lines.into_iter().find(|line| line.starts_with(start)).unwrap().to_owned()
    };
    assert!(line("one asks").contains("touch made.txt") && line("one asks").ends_with("| allow,deny"), "{shown}");
    assert!(line("two asks").starts_with("two asks | high risk") && line("two asks").ends_with("| "), "{shown}");
    assert!(line("three asks").ends_with("| "), "{shown}");
    assert!(line("four asks").contains("a⟨U+202E⟩b") && line("four asks").ends_with("| "), "{shown}");
    assert!(line("five asks").contains("in the background") && line("five asks").ends_with("| "), "{shown}");
    // What is quiet on this device is not shown with the rest.
    page.click(".session:has-text(\"one\")");
    page.click("[data-action=about]");
    page.click(".check input");
    until("the worker to know", || (page.run(QUIET) == json!(["one"])).then_some(()));
    page.push("{\"waiting\":2}");
    until("four notifications more", || {
        shown = page.notifications();
        (shown.as_array().unwrap().len() == 9).then_some(())
    });
    let again = &shown.as_array().unwrap()[5..];
    assert!(again.iter().all(|line| !line.as_str().unwrap().starts_with("one asks")), "{shown}");
}

#[test]
fn a_page_that_nobody_sees_is_told_by_push_and_its_worker_shows_the_prompt() {
    let home = Home::new();
    let peer = PushPeer::start(&home);
    home.fix("PORTCULLIS_TEST_NOTIFY_AFTER", 0);
    home.fix("PORTCULLIS_TEST_PUSH_REST", 0);
    home.write_config("public_url = \"https://gate.example.org\"\npublic_listen = \"127.0.0.1:0\"\n");
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.grant("notifications");
    // The browser's own push service is out of reach: its subscription is the peer's, for the key that the page names.
    page.run(
        "PushManager.prototype.subscribe = (options) => (window.wanted = options, \
            new Promise((resolve) => (window.give = (json) => resolve({ toJSON: () => json })))); true",
    );
    // What allows notifications in this browser is no click, so that the page is told as after one.
    page.run("Object.defineProperty(Notification, 'permission', { get: () => window.said ?? 'default' }); true");
    page.run("Notification.requestPermission = async () => (window.said = 'granted'); true");
    page.click("a[href='#/devices']");
    page.click("[data-action=notify]");
    let mut key = json!(null);
    until("the subscription", || {
        key = page.run(
            "window.wanted && btoa(String.fromCharCode(...window.wanted.applicationServerKey))\
             .replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')",
        );
        key.is_string().then_some(())
    });
    let subscription = peer.subscription(key.as_str().unwrap());
    page.run(&format!("window.give({subscription}); true"));
    until("the device", || {
        let kept = std::fs::read_dir(home.folder().join("push")).into_iter().flatten().flatten();
        kept.into_iter().any(|file| file.file_name().to_string_lossy().ends_with(".json")).then_some(())
    });
    page.click("nav a[href='#/']");
    session.ask("abcde", "Bash", "Make x", "touch x");
    page.see(".prompt");
    assert_eq!(peer.pushed(&subscription), [""; 0], "who sees the prompt is not told");
    // The page stays as it is, and its person has left the desk.
    page.run("Date.now = ((real) => () => real() + 300_000)(Date.now); true");
    until("the push", || (peer.pushed(&subscription).len() == 1).then_some(()));
    let pushed = peer.pushed(&subscription).remove(0);
    assert_eq!(pushed, r#"{"waiting":1}"#);
    page.push(&pushed);
    until("the notification", || (page.notifications().as_array()?.len() == 1).then_some(()));
    gate.post("/api/v1/asks/abcde/verdict", &json!({"behavior": "deny"})).expect(200);
    // Back at the desk, at a view that shows no prompt but how many there are.
    page.click("a[href='#/devices']");
    session.ask("fghij", "Bash", "Make y", "touch y");
    until("the next push", || (peer.pushed(&subscription).len() == 2).then_some(()));
    page.push(&peer.pushed(&subscription)[1]);
    until("the next notification", || (page.notifications().as_array()?.len() == 2).then_some(()));
    let shown = page.notifications();
    assert!(shown[0].as_str().unwrap().contains("Bash: touch x |"), "{shown}");
    assert!(shown[1].as_str().unwrap().contains("Bash: touch y |"), "{shown}: not what is answered");
    page.see_text(".hint", "also while this page is closed");
    page.click("[data-action=noNotify]");
    page.see("[data-action=notify]");
    let kept = || std::fs::read_dir(home.folder().join("push")).into_iter().flatten().flatten();
    let is_device = |file: std::fs::DirEntry| file.file_name().to_string_lossy().ends_with(".json");
    until("the gate to forget where it is told", || (!kept().any(is_device)).then_some(()));
    assert_eq!(page.problems(), [""; 0]);
}

/// What the page has said of whether someone sees what waits.
const KEEP_PRESENCE: &str = "(() => { const own = window.fetch; window.presence = []; window.fetch = (path, options, ...more) => { \
    if (String(path).endsWith('/presence')) window.presence.push(JSON.parse(options.body).visible); \
    return own(path, options, ...more) }; return true })()";

#[test]
fn a_page_that_scrolls_by_itself_is_not_taken_for_someone_at_the_desk() {
    let home = Home::new();
    home.write_config("public_url = \"https://gate.example.org\"\npublic_listen = \"127.0.0.1:0\"\n");
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    let say = |from: u64, to: u64| {
        for number in from..=to {
            let prompt = format!("prompt {number}, which takes some room on the screen");
            session.hook("UserPromptSubmit", &json!({"prompt": prompt}));
        }
    };
    say(1, 20);
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.click(".session");
    page.see_text(".said .user", "prompt 20");
    page.run(KEEP_PRESENCE);
    // Its person has left the desk.
    page.run("Date.now = ((real) => () => real() + 300_000)(Date.now); true");
    let said = || page.run("window.presence.at(-1)");
    until("nobody is there", || (said() == false).then_some(()));
    let before = page.run("scrollY").as_f64().unwrap();
    say(21, 40);
    page.see_text(".said .user", "prompt 40");
    until("the page has followed", || (page.run("scrollY").as_f64().unwrap() > before).then_some(()));
    let draw = "import(document.querySelector('script[type=module]').src.replace('main.js', 'state.js')) \
        .then(({ changed }) => (changed(), new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))))";
    page.run(draw);
    assert_eq!(said(), false);
    page.press("Shift");
    until("someone is back", || (said() == true).then_some(()));
}

#[test]
fn a_device_that_was_revoked_says_no_more_of_what_waits() {
    let site = Site::new();
    let session = site.session();
    let page = site.page(&[], DESKTOP);
    session.ask("abcde", "Bash", "Make x", "touch x");
    until("the title", || (page.run("document.title") == "(1) Portcullis").then_some(()));
    page.run(
        "window.shut = 0; ServiceWorkerRegistration.prototype.getNotifications = async () => \
         [{ close() { window.shut += 1 } }]; navigator.serviceWorker.ready.then(() => true)",
    );
    let device = site.gate.get("/api/v1/devices").expect(200).json()[0]["id"].as_str().unwrap().to_owned();
    let revoke = Request::new("DELETE", &format!("/api/v1/devices/{device}")).token(site.home.token());
    revoke.send(&site.gate.target()).expect(200);
    page.see_text("main", "no longer linked");
    assert_eq!(page.run("document.title"), "Portcullis");
    until("what was shown is gone", || (page.run("window.shut") == 1).then_some(()));
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn a_notification_spells_out_the_letters_that_the_page_does() {
    let letters = |script: &'static str| script.lines().find(|line| line.starts_with("const HIDING = ")).unwrap();
    let [page, worker] = [include_str!("../../../src/page/letters.js"), include_str!("../../../src/page/worker.js")];
    assert_eq!(letters(page), letters(worker));
}
