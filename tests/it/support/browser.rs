//! A real Chromium with pages that a test opens, clicks and reads.

use super::PATIENCE;
use super::child::{Child, Stdin};
use super::claude::installed;
use super::gate::Gate;
use super::home::Home;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A page waits by itself for what it needs, for a minute; this is for a browser that says nothing at all.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(90);

pub(crate) struct Browser {
    child: Child,
}

/// One page, in a context of its own: another browser, as the gate sees it.
pub(crate) struct Page<'a> {
    browser: &'a Browser,
    name: String,
}

/// How a page is shown.
#[derive(Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) size: (u32, u32),
    pub(crate) locale: &'static str,
    pub(crate) dark: bool,
}

pub(crate) const DESKTOP: Screen = Screen { size: (1280, 800), locale: "en-US", dark: false };
pub(crate) const CHINESE_PHONE: Screen = Screen { size: (390, 844), locale: "zh-CN", dark: true };

/// Where Chromium is. It is never skipped when missing: a check that did not run has not passed.
fn chromium() -> PathBuf {
    let given = std::env::var_os("PORTCULLIS_TEST_CHROMIUM").map(PathBuf::from);
    let places = ["/usr/bin/chromium", "/Applications/Chromium.app/Contents/MacOS/Chromium"];
    let found = given.or_else(|| places.into_iter().map(PathBuf::from).find(|place| place.exists()));
    found.unwrap_or_else(|| panic!("no Chromium: run `./check peers` first"))
}

impl Browser {
    #[track_caller]
    pub(crate) fn start(home: &Home) -> Self {
        let modules = installed("node_modules/playwright-core").parent().unwrap().to_owned();
        let mut node = home.program("node");
        node.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/page/browser.mjs")).arg(modules).arg(chromium());
        // Without it Chromium finds no file whose name is more than ASCII.
        node.env("LC_ALL", "C.UTF-8");
        Self { child: home.spawn(node, Stdin::Open) }
    }

    #[track_caller]
    fn tell(&self, order: &Value) -> Value {
        let answer = self.ask(order);
        match answer.get("ok") {
            Some(answer) => answer.clone(),
            None => panic!("{order}: {}", answer["failed"].as_str().unwrap_or("no reason")),
        }
    }

    #[track_caller]
    fn ask(&self, order: &Value) -> Value {
        self.child.write(format!("{order}\n"));
        serde_json::from_str(&self.child.line(ANSWER_TIMEOUT, |line| line.starts_with('{'))).unwrap()
    }

    #[track_caller]
    pub(crate) fn open(&self, name: &str, url: &str, screen: Screen) -> Page<'_> {
        let Screen { size: (width, height), locale, dark } = screen;
        self.tell(&json!({"what": "open", "page": name, "url": url, "width": width, "height": height,
                          "locale": locale, "dark": dark}));
        Page { browser: self, name: name.to_owned() }
    }

    /// A page that is linked to the gate, with these rights besides talk and review.
    #[track_caller]
    pub(crate) fn linked(&self, name: &str, gate: &Gate, rights: &[&str], screen: Screen) -> Page<'_> {
        let page = self.open(name, &link(gate, rights), screen);
        page.click("[data-action=link]");
        page.see("nav");
        page
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.child.close_stdin();
        self.child.wait_exit(PATIENCE);
    }
}

/// A fresh link to the page.
#[track_caller]
pub(crate) fn link(gate: &Gate, rights: &[&str]) -> String {
    let made = gate.post("/api/v1/devices/links", &json!({"rights": rights})).expect(200).json();
    format!("http://{}/#link={}", gate.address(), made["secret"].as_str().unwrap())
}

impl Page<'_> {
    #[track_caller]
    fn tell(&self, what: &str, mut more: Value) -> Value {
        more["what"] = what.into();
        more["page"] = self.name.as_str().into();
        self.browser.tell(&more)
    }

    #[track_caller]
    pub(crate) fn goto(&self, url: &str) {
        self.tell("goto", json!({"url": url}));
    }

    #[track_caller]
    pub(crate) fn reload(&self) {
        self.tell("reload", json!({}));
    }

    #[track_caller]
    pub(crate) fn click(&self, at: &str) {
        self.tell("click", json!({"at": at}));
    }

    #[track_caller]
    pub(crate) fn fill(&self, at: &str, text: &str) {
        self.tell("fill", json!({"at": at, "text": text}));
    }

    #[track_caller]
    pub(crate) fn choose(&self, at: &str, value: &str) {
        self.tell("select", json!({"at": at, "value": value}));
    }

    /// Lets the page do what a person is asked for, such as `notifications`.
    #[track_caller]
    pub(crate) fn grant(&self, permission: &str) {
        self.tell("grant", json!({"permission": permission}));
    }

    /// Its user wants less motion, as the system's settings say it.
    #[track_caller]
    pub(crate) fn want_less_motion(&self) {
        self.tell("still", json!({}));
    }

    /// Delivers a push to the page's worker.
    #[track_caller]
    pub(crate) fn push(&self, data: &str) {
        self.tell("push", json!({"data": data}));
    }

    /// What the page's worker has shown since the first push: title, text, buttons.
    #[track_caller]
    pub(crate) fn notifications(&self) -> Value {
        self.tell("notifications", json!({}))
    }

    /// Presses a button of the notification with this number, or with no action the notification itself.
    #[track_caller]
    pub(crate) fn tap(&self, number: usize, action: &str) {
        self.tell("tap", json!({"number": number, "action": action}));
    }

    /// Chooses a file.
    #[track_caller]
    pub(crate) fn attach(&self, at: &str, path: &Path) {
        self.tell("attach", json!({"at": at, "path": path}));
    }

    /// Clicks what downloads a file, and reads it.
    #[track_caller]
    pub(crate) fn downloaded(&self, at: &str) -> String {
        self.tell("downloaded", json!({"at": at})).as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn press(&self, keys: &str) {
        self.tell("press", json!({"keys": keys}));
    }

    /// Waits until it is there.
    #[track_caller]
    pub(crate) fn see(&self, at: &str) {
        self.tell("see", json!({"at": at}));
    }

    /// Waits until it is there, with this text in it.
    #[track_caller]
    pub(crate) fn see_text(&self, at: &str, text: &str) {
        self.see(&format!("{at}:has-text({})", Value::from(text)));
    }

    /// Waits until it is not.
    #[track_caller]
    pub(crate) fn gone(&self, at: &str) {
        self.tell("gone", json!({"at": at}));
    }

    #[track_caller]
    pub(crate) fn text(&self, at: &str) -> String {
        self.tell("text", json!({"at": at})).as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn count(&self, at: &str) -> u64 {
        self.tell("count", json!({"at": at})).as_u64().unwrap()
    }

    #[track_caller]
    pub(crate) fn run(&self, script: &str) -> Value {
        self.tell("run", json!({"script": script}))
    }

    /// Bytes of its heap and of its process, and how many nodes it has, after garbage is gone.
    #[track_caller]
    pub(crate) fn memory(&self) -> Value {
        self.tell("memory", json!({}))
    }

    /// Writes down from here on what the page's main thread does, until [`Page::traced`].
    #[track_caller]
    pub(crate) fn trace(&self) {
        self.tell("trace", json!({}));
    }

    /// How many tasks the page's main thread had since [`Page::trace`], and how long the longest took, in milliseconds: by
    /// the clock, and by the processor.
    #[track_caller]
    pub(crate) fn traced(&self) -> Value {
        self.tell("traced", json!({}))
    }

    /// A picture: of the whole page, or of what a screen shows of it.
    #[track_caller]
    pub(crate) fn shot(&self, path: &Path, whole: bool) {
        self.tell("shot", json!({"path": path, "whole": whole}));
    }

    /// Errors in the page so far: none, unless something is wrong.
    #[track_caller]
    pub(crate) fn problems(&self) -> Vec<String> {
        serde_json::from_value(self.tell("problems", json!({}))).unwrap()
    }

    /// Every address that it asked for.
    #[track_caller]
    pub(crate) fn requests(&self) -> Vec<String> {
        serde_json::from_value(self.tell("requests", json!({}))).unwrap()
    }

    /// What keeps people with other senses or hands from using it, by axe-core; only what is serious.
    #[track_caller]
    pub(crate) fn barriers(&self) -> Vec<String> {
        serde_json::from_value(self.tell("accessible", json!({}))).unwrap()
    }
}
