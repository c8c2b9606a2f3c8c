//! Text from outside in every field that the page shows: it is text there, and nothing else.

use super::site::Site;
use crate::fakes::bridge::Bridge;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::browser::{Browser, DESKTOP, Page, link};
use crate::support::claude::Claude;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::standin::StandIn;
use serde_json::json;

const ATTACK: &str = "\"><img src=x onerror=window.hit=1><script>window.hit=1</script><svg onload=window.hit=1>";

/// Nothing of it ran, became an element, or had to be stopped by the page's policy.
#[track_caller]
pub(super) fn nothing_happened(page: &Page<'_>) {
    assert_eq!(page.run("window.hit === undefined"), true);
    assert_eq!(page.count("#app img, #app script, #app svg, #app iframe, #app object"), 0);
    assert_eq!(page.count("#app [href^='javascript:'], #app [href^='data:'], #app [onerror], #app [onload]"), 0);
    assert_eq!(page.problems(), [""; 0], "no policy had to step in");
}

#[test]
fn in_a_tool_call_and_its_description() {
    let home = Home::new();
    let file = home.project().join(ATTACK.replace('/', "_"));
    let model = Model::start(vec![
        Rule::on_text("go").call("Bash", json!({"command": ATTACK, "description": ATTACK})).once(),
        Rule::on_any_result().call("Write", json!({"file_path": file, "content": ATTACK})).once(),
        Rule::on_any_result()
            .call("WebFetch", json!({"url": format!("https://x.example/{ATTACK}"), "prompt": ATTACK}))
            .once(),
    ]);
    let site = Site::at(home, &model);
    let page = site.page(&[], DESKTOP);
    site.gate.post("/api/v1/sessions", &json!({"prompt": "go", "label": "x<b>y"})).expect(201);
    page.see_text(".prompt", "Bash");
    assert_eq!(page.text(".prompt .code"), ATTACK);
    page.see_text(".session strong", "x<b>y");
    nothing_happened(&page);
    page.click(".prompt [data-action=deny]");
    page.see_text(".prompt", "Write");
    page.see_text(".prompt .path", "<img");
    page.see_text(".prompt .diff", "<script>");
    nothing_happened(&page);
    page.click(".prompt:has-text(\"Write\") [data-action=deny]");
    page.see_text(".prompt", "WebFetch");
    nothing_happened(&page);
}

#[test]
fn in_a_question_its_options_and_what_was_said() {
    let question = json!({"questions": [{"question": ATTACK, "header": "x", "multiSelect": true,
        "options": [{"label": ATTACK, "description": ATTACK}, {"label": "b", "description": "b"}]}]});
    let model = Model::start(vec![
        Rule::on_text("go").call("AskUserQuestion", question).once(),
        Rule::on_any_result().say(&format!("{ATTACK} **bold** [x](javascript:window.hit=1)")),
    ]);
    let site = Site::with(&model);
    let page = site.page(&[], DESKTOP);
    site.gate.post("/api/v1/sessions", &json!({"prompt": format!("go {ATTACK}")})).expect(201);
    page.see_text("legend", "<img");
    page.see_text(".option", "<script>");
    nothing_happened(&page);
    page.click(".option");
    page.click("[data-action=answer]");
    page.click(".session");
    page.see(".head");
    nothing_happened(&page);
}

#[test]
fn in_an_event_a_reply_its_links_and_its_files() {
    let site = Site::new();
    let session = site.session();
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    site.gate.say("/", ATTACK).expect(200);
    page.see_text(".said .event", "<script>");
    let chat = session.next_event().meta("chat_id").to_owned();
    let links = "[a](javascript:window.hit=1) [b](data:text/html,x) [c](https://ok.example/) `<b>` <https://x.example>\n\n\
                 ![i](https://track.example/x.png)\n\n# <img src=x onerror=window.hit=1>\n\n- <script>window.hit=1</script>";
    std::fs::write(site.home.project().join("<img src=x onerror=window.hit=1>.txt"), "x").unwrap();
    let file = site.home.project().join("<img src=x onerror=window.hit=1>.txt");
    session.call("reply", &json!({"chat_id": chat, "text": format!("{ATTACK}\n\n{links}"), "files": [file]}));
    page.see_text(".said .reply", "onerror");
    page.see_text(".said .reply .file", "<img");
    let targets = page.run("[...document.querySelectorAll('.reply a')].map((link) => link.protocol)");
    assert!(targets.as_array().unwrap().iter().all(|protocol| protocol == "https:"), "{targets}");
    let asked: Vec<String> = page.requests().into_iter().filter(|url| url.contains("track.example")).collect();
    assert_eq!(asked, [""; 0], "nothing is fetched from elsewhere");
    nothing_happened(&page);
}

#[test]
fn in_the_sender_of_an_event_also_of_one_that_only_a_transcript_names() {
    const CONVERSATION: &str = "5b3e1c9a-0000-4000-8000-00000000cccc";
    const SENDER: &str = "<img src=x onerror=window.hit=1>\"><svg onload=window.hit=1>";
    let home = Home::new();
    let gate = home.serve();
    let folder = home.user().join(".claude/projects/-project");
    std::fs::create_dir_all(&folder).unwrap();
    let quoted = SENDER.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let event = format!(
        "A message.\n<channel source=\"portcullis\" event_id=\"01e\" chat_id=\"1\" via=\"http\" sender=\"{quoted}\">\nhi\n</channel>"
    );
    let line = json!({"type": "user", "timestamp": "2026-01-01T00:00:00.000Z", "message": {"content": event}});
    std::fs::write(folder.join(format!("{CONVERSATION}.jsonl")), format!("{line}\n")).unwrap();
    let session = StandIn::start_command(&home, StandIn::command_of(&home, &["--label", "api"], CONVERSATION));
    home.attached(1);
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &["admin"], DESKTOP);
    page.click(".session");
    page.see_text(".said .event .who", SENDER);
    nothing_happened(&page);
    // Names are letters, digits and little else at this gate; the page does not rely on it.
    let id = gate.get("/api/v1/sessions").expect(200).json()[0].clone();
    let mut warned = id.clone();
    warned["outside"] = json!({"sender": SENDER, "since": 1});
    warned["stopped_by"] = json!(SENDER);
    let said = json!({"event": {"id": "e1", "session": id["id"], "sender": SENDER, "text": "a later message", "at": 1, "state": "seen"}});
    page.run(&taken(&json!({"session": warned})));
    page.run(&taken(&said));
    page.see_text(".said .event:has-text(\"a later message\") .who", SENDER);
    page.see_text(".head .warning", "<img");
    nothing_happened(&page);
    page.click(".back");
    page.see_text(".session .warning", SENDER);
    nothing_happened(&page);
    drop(session);
}

/// A script by which the page takes something in as if the gate had told it.
pub(super) fn taken(change: &serde_json::Value) -> String {
    format!(
        "import(document.querySelector('script[type=module]').src.replace('main.js', 'state.js')) \
         .then(({{ take }}) => (take({change}), true))"
    )
}

#[test]
fn in_the_names_of_mcp_servers_their_tools_and_what_they_are_given() {
    let site = Site::new();
    let session = site.session();
    site.home.attached(1);
    let page = site.page(&["admin"], DESKTOP);
    let tool = "mcp__<img src=x onerror=window.hit=1>__<svg onload=window.hit=1>";
    let call = json!({"tool_name": tool, "tool_use_id": "t1", "tool_input": {"<b onclick=window.hit=1>": ATTACK}});
    session.hook("PreToolUse", &call);
    session.ask("abcde", tool, ATTACK, ATTACK);
    page.see_text(".prompt header", tool);
    page.see_text(".prompt .claim, .prompt .code", "<script>");
    nothing_happened(&page);
    page.click(".session");
    page.see_text(".call .tool", tool);
    page.click(".call summary");
    page.see_text(".call .arguments", "onclick");
    nothing_happened(&page);
    page.click(".prompt [data-action=deny]");
    page.see_text(".settled", tool);
    nothing_happened(&page);
}

#[test]
fn in_rules_people_answers_and_refusals() {
    let home = Home::new();
    let bridge = Bridge::of(&home, "");
    let gate = home.serve();
    let name = "<img src=x onerror=window.hit=1>";
    home.run(&["rules", "add", "ask", &format!("Bash({name} *)"), "--why", ATTACK]).ok();
    let stranger = json!({"user": "7", "called": ATTACK, "chat": "7", "direct": true, "text": "hello"});
    assert!(bridge.asked("said", stranger)["pairing"]["code"].is_string());
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &["start", "admin"], DESKTOP);
    session.ask("abcde", "Bash", "Make x", "touch x");
    page.see(".prompt");
    gate.verdict("abcde", &json!({"behavior": "deny", "why": ATTACK})).expect(200);
    page.see_text(".settled q", "<script>");
    nothing_happened(&page);
    let view = |name: &str| page.goto(&format!("http://{}/#/{name}", gate.address()));
    view("rules");
    page.see_text(".rules code", name);
    page.see_text(".rules small", "<script>");
    page.fill("textarea", &format!("{name} y"));
    page.click("[data-action=checkCall]");
    page.see_text(".ruling .path", name);
    nothing_happened(&page);
    view("people");
    page.see_text(".card", "<script>");
    nothing_happened(&page);
    view("start");
    page.fill("input[list=folders]", &format!("/{ATTACK}"));
    page.fill("textarea", "go");
    page.click("[data-action=start]");
    page.see_text(".notice", "<script>");
    nothing_happened(&page);
}

/// A name that is markup, and one that turns its end round.
const NAMES: [&str; 2] = ["<img src=x onerror=window.hit=1>.txt", "\"><svg onload=window.hit=1>\u{202e}gpj.exe"];

#[test]
fn in_names_of_files_that_are_attached_sent_and_sent_back() {
    let site = Site::new();
    let session = site.session();
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    for name in NAMES {
        let file = site.home.user().join(name);
        std::fs::write(&file, "sent").unwrap();
        page.attach(".composer input[type=file]", &file);
    }
    page.see_text(".chips li", "<img");
    page.see_text(".chips li", "⟨U+202E⟩gpj.exe");
    nothing_happened(&page);
    page.fill(".composer textarea", "two files");
    page.click("[data-action=send]");
    // The gate keeps letters, digits and little else of a name that a file is kept under.
    page.see_text(".said .event .file", "_img src_x");
    page.see_text(".said .event .file", "gpj.exe");
    nothing_happened(&page);
    let chat = session.event_containing("two files").meta("chat_id").to_owned();
    let files: Vec<_> = NAMES.iter().map(|name| site.home.project().join(name)).collect();
    files.iter().for_each(|file| std::fs::write(file, "sent back").unwrap());
    session.call("reply", &json!({"chat_id": chat, "text": "here", "files": files}));
    page.see_text(".said .reply .file", "<img");
    page.see_text(".said .reply .file", "⟨U+202E⟩gpj.exe");
    assert_eq!(page.downloaded(".said .reply [data-action=download]"), "sent back");
    nothing_happened(&page);
}

/// Links as someone writes them who wants them to run, to look like another, or to tell that they were seen.
const LINKS: &str = "[a](javascript:window.hit=1) [b](JaVaScRiPt:window.hit=1) [c](java\tscript:window.hit=1) \
    [d](&#106;avascript:window.hit=1) [e](data:text/html,<script>window.hit=1</script>) [f](vbscript:window.hit=1) \
    [g](blob:x) [h](file:///etc/passwd) [i](//evil.example/x) [j](#/devices) [k](/api/v1/me) [l](\u{1}javascript:window.hit=1) \
    [https://bank.example](https://evil.example/x) [m](https://x.example/\"onmouseover=window.hit=1) \
    <javascript:window.hit=1> https://x.example/<script>window.hit=1</script> ![n](https://track.example/p.png) \
    [![o](https://track.example/q.png)](javascript:window.hit=1)\n\n[r]: javascript:window.hit=1\n\n[p][r]";

#[test]
fn in_links_of_markdown() {
    let site = Site::new();
    let session = site.session();
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    site.gate.say("/", "hello").expect(200);
    let chat = session.next_event().meta("chat_id").to_owned();
    session.call("reply", &json!({"chat_id": chat, "text": LINKS}));
    page.see_text(".said .reply", "evil.example");
    let links = page.run("[...document.querySelectorAll('.reply a')].map((link) => `${link.protocol} ${link.target} ${link.rel} ${link.textContent}`)");
    let links: Vec<&str> = links.as_array().unwrap().iter().map(|link| link.as_str().unwrap()).collect();
    assert!(!links.is_empty());
    for link in &links {
        assert!(link.starts_with("https: _blank noopener noreferrer nofollow "), "{link}");
    }
    assert!(
        links.iter().any(|link| link.ends_with("https://bank.example (evil.example)")),
        "it says where it leads: {links:?}"
    );
    // Someone presses each of them.
    page.run("(document.querySelectorAll('.reply a').forEach((link) => { link.target = '_self'; link.addEventListener('click', (event) => { if (link.protocol === 'https:') event.preventDefault() }); link.click() }), true)");
    assert_eq!(page.run("location.hash.startsWith('#/session/')"), true, "no link of theirs moves the page");
    assert!(!page.requests().iter().any(|url| url.contains("track.example")), "nothing is fetched from elsewhere");
    nothing_happened(&page);
}

#[test]
fn in_the_transcript() {
    let home = Home::new();
    let result = format!("{ATTACK} [x](javascript:window.hit=1)");
    let model = Model::start(vec![
        Rule::on_text("go").say(&result).call("Bash", json!({"command": "cat it", "description": ATTACK})).once(),
        Rule::on_any_result().say(&result),
    ]);
    std::fs::write(home.project().join("it"), ATTACK).unwrap();
    let terminal = Claude::headless(&home, &model, &format!("go {ATTACK}"), &json!({"mcpServers": {}}), &[]);
    drop(terminal.wait());
    let site = Site::at(home, &model);
    let page = site.page(&["start"], DESKTOP);
    page.click("a.primary");
    page.see_text(".conversations strong", "<img");
    nothing_happened(&page);
    page.click(".conversations [data-action=continue]");
    page.see_text(".said .user", "<script>");
    page.see_text(".said .text", "<script>");
    page.click(".call summary");
    page.see(".call .code");
    nothing_happened(&page);
    page.see_text(".head .name", "<img");
    page.click(".back");
    page.see_text(".session .title", "<img");
    page.see_text(".session .last", "<script>");
    nothing_happened(&page);
}

#[test]
fn in_names_of_devices_and_reasons_of_rules_and_the_log() {
    let site = Site::new();
    let secret = link(&site.gate, &[]).split("#link=").nth(1).unwrap().to_owned();
    let name = "<img src=x onerror=window.hit=1>";
    let new = json!({"link": secret, "name": name});
    let made = Request::post("/api/v1/devices").json(&new).send(&site.gate.target()).expect(200).json();
    site.home.run(&["rules", "add", "deny", "Bash(x *)", "--why", name]).ok();
    site.gate.say("/", ATTACK).expect(200);
    let session = site.session();
    let page = site.page(&["admin"], DESKTOP);
    page.see(".session");
    session.ask("abcde", "Bash", "Make x", "touch x");
    page.see(".prompt");
    site.gate.verdict_as(made["key"].as_str().unwrap(), "abcde", &json!({"behavior": "deny"})).expect(200);
    page.see_text(".settled", "<img");
    nothing_happened(&page);
    for (view, shows) in [("devices", ".devices"), ("rules", ".rules"), ("log", ".log"), ("people", "section")] {
        page.goto(&format!("http://{}/#/{view}", site.gate.address()));
        page.see(shows);
        if view != "people" {
            page.see_text(shows, "<img");
        }
        nothing_happened(&page);
    }
}
