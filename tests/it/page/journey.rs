//! From a first visit to a file that was written: start, prompt, answer, reply; also after the gate was killed.

use super::site::Site;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::run::api::serve;
use crate::support::browser::{Browser, CHINESE_PHONE, DESKTOP, Screen};
use crate::support::child::Stdin;
use crate::support::driven::shell;
use crate::support::home::{Home, Ran};
use crate::support::{PATIENCE, until};
use serde_json::json;

/// A first visit by link, a session started, its prompt allowed, the file there.
fn first_visit(screen: Screen, words: [&str; 3]) {
    let [start, wants, allowed] = words;
    let model = shell(&["touch made.txt && echo made"]);
    let site = Site::with(&model);
    let page = site.page(&["start"], screen);
    assert_eq!(page.run("location.hash"), "", "the link's secret is not in the history");
    page.see(".empty");
    page.see_text("a.primary", start);
    page.click("a.primary");
    page.fill("input[list=folders]", site.home.project().to_str().unwrap());
    page.fill("textarea", "go");
    page.click("[data-action=start]");
    page.see(".prompt");
    assert_eq!(page.text(".prompt .code"), "touch made.txt && echo made");
    page.see_text(".prompt header", wants);
    assert!(page.run("document.title").as_str().unwrap().starts_with("(1)"), "the title says that one waits");
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
    assert!(page.run("document.documentElement.scrollWidth <= innerWidth").as_bool().unwrap(), "nothing is cut off");
    page.click("[data-action=allowOnce]");
    page.see_text(".settled", allowed);
    until("the file", || site.home.project().join("made.txt").exists().then_some(()));
    page.gone(".settled");
    assert_eq!(page.problems(), [""; 0]);
    let elsewhere = |url: &String| !url.starts_with(&format!("http://{}/", site.gate.address()));
    assert_eq!(page.requests().into_iter().filter(elsewhere).collect::<Vec<_>>(), [""; 0], "nobody else is asked");
}

#[test]
fn a_first_visit_by_link_starts_a_session_and_allows_its_call() {
    first_visit(DESKTOP, ["Start a session", "wants to use Bash", "Answered by owner"]);
}

#[test]
fn a_phone_in_chinese_makes_the_same_journey() {
    first_visit(CHINESE_PHONE, ["开始会话", "想使用 Bash", "owner 已通过"]);
}

#[test]
fn a_message_from_the_page_is_answered_there_and_an_edited_reply_changes_in_place() {
    let site = Site::new();
    let session = site.session();
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    page.fill(".composer textarea", "How far are you?");
    page.click("[data-action=send]");
    page.see_text(".said .event", "How far are you?");
    let event = session.next_event();
    let chat = event.meta("chat_id").to_owned();
    let said =
        session.call("reply", &json!({"chat_id": chat, "text": "Half **way**, see [docs](https://docs.example/x)"}));
    page.see_text(".said .reply strong", "way");
    // A link says where it leads.
    page.see_text(".said .reply a", "docs (docs.example)");
    let said = said["content"][0]["text"].as_str().unwrap().to_owned();
    let id = said.split("message_id=").nth(1).unwrap().trim_end_matches(')').to_owned();
    session.call("edit_message", &json!({"message_id": id, "text": "Done"}));
    page.see_text(".said .reply", "Done");
    assert_eq!(page.count(".said .reply"), 1);
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn the_demo_agent_is_talked_to_and_answered_on_the_page() {
    let home = Home::new();
    std::fs::write(home.project().join("hello.txt"), "").unwrap();
    let gate = home.serve();
    let demo = home.spawn(home.command(&["demo", "--once"]), Stdin::Nothing);
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.click(".session");
    page.fill(".composer textarea", "what is here?");
    page.click("[data-action=send]");
    page.see_text(".prompt .warning", "Preview only");
    page.click("[data-action=allowOnce]");
    page.click("[data-action=yesAllow]");
    page.see_text(".said .reply", "hello.txt");
    Ran::of(&demo, PATIENCE).ok();
    page.see_text(".head .badge", "ended");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn a_page_comes_back_complete_when_the_gate_was_killed() {
    let home = Home::new();
    let model = shell(&["touch made.txt && echo made"]);
    let gate = serve(&home, &model, "");
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &["start"], DESKTOP);
    gate.post("/api/v1/sessions", &json!({"prompt": "go"})).expect(201);
    page.see(".prompt");
    let port = gate.port();
    gate.kill_9();
    page.see(".away");
    home.write_config(&format!("listen = \"127.0.0.1:{port}\"\n"));
    let _gate = home.serve_with(&["--listen", &format!("127.0.0.1:{port}")]);
    page.gone(".away");
    page.see(".prompt");
    page.click("[data-action=allowOnce]");
    until("the file", || home.project().join("made.txt").exists().then_some(()));
}

#[test]
fn what_others_wrote_is_text_and_never_markup() {
    let attack = "<img src=x onerror=\"window.hit=1\"><script>window.hit=1</script>";
    let model =
        Model::start(vec![Rule::on_text("go").call("Bash", json!({"command": attack, "description": attack})).once()]);
    let site = Site::with(&model);
    let page = site.page(&["admin"], DESKTOP);
    site.gate.post("/api/v1/sessions", &json!({"prompt": "go", "label": "x<b>y"})).expect(201);
    page.see(".prompt");
    assert_eq!(page.text(".prompt .code"), attack);
    page.see_text(".session strong", "x<b>y");
    page.click(".session");
    page.fill(".composer textarea", attack);
    page.click("[data-action=send]");
    page.see_text(".said .event", "<script>");
    page.goto(&format!("http://{}/#/log", site.gate.address()));
    page.see(".log li");
    assert_eq!(page.run("window.hit === undefined"), true);
    assert_eq!(page.count("#app img") + page.count("#app script"), 0);
    assert_eq!(page.problems(), [""; 0], "no policy had to step in");
}

#[test]
fn a_file_goes_along_with_a_message_and_one_comes_back_with_the_reply() {
    let site = Site::new();
    let session = site.session();
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    let notes = site.home.user().join("notes.txt");
    std::fs::write(&notes, "what to do").unwrap();
    page.attach(".composer input[type=file]", &notes);
    page.see_text(".chips li", "notes.txt");
    page.fill(".composer textarea", "see the notes");
    page.click("[data-action=send]");
    page.see_text(".said .event .file", "notes.txt");
    let event = session.event_containing("see the notes");
    assert_eq!(std::fs::read_to_string(event.meta("file_1")).unwrap(), "what to do");
    std::fs::write(site.home.project().join("report.txt"), "all is well").unwrap();
    let reply = json!({"chat_id": event.meta("chat_id"), "text": "Here it is.", "files": [site.home.project().join("report.txt")]});
    session.call("reply", &reply);
    page.see_text(".said .reply .file", "report.txt");
    assert_eq!(page.downloaded(".said .reply [data-action=download]"), "all is well");
    assert_eq!(page.downloaded(".said .event [data-action=download]"), "what to do");
}

#[test]
fn a_picture_with_more_pixels_than_a_phone_can_hold_is_a_download_only() {
    let site = Site::new();
    let _session = site.session();
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    for (name, (width, height)) in [("large.png", (5000, 4100)), ("small.png", (500, 400))] {
        let picture = site.home.user().join(name);
        image::DynamicImage::new_luma8(width, height).save(&picture).unwrap();
        page.attach(".composer input[type=file]", &picture);
        page.fill(".composer textarea", name);
        page.click("[data-action=send]");
        page.see_text(".said .event .file", name);
    }
    page.see(".said .event:has-text(\"small.png\") img.picture[src^='blob:']");
    page.gone(".said .event:has-text(\"large.png\") img");
    page.see(".said .event:has-text(\"large.png\") [data-action=download]");
    assert_eq!(page.problems(), Vec::<String>::new());
}

#[test]
fn how_many_pixels_a_picture_has_is_read_from_each_kind_before_it_is_drawn() {
    let site = Site::new();
    let page = site.page(&[], DESKTOP);
    // As this browser itself writes them, and the first bytes of a GIF.
    let script = "import(document.querySelector('script[type=module]').src.replace('main.js', 'pixels.js')).then(async ({ pictureIn }) => { \
        const canvas = Object.assign(document.createElement('canvas'), { width: 321, height: 123 }); \
        canvas.getContext('2d').fillRect(0, 0, 9, 9); \
        const written = (type, quality) => new Promise((resolve) => canvas.toBlob(resolve, type, quality)).then((file) => file.arrayBuffer()); \
        const read = (bytes) => { const { type, width, height } = pictureIn(new DataView(bytes)); return `${type} ${width} ${height}`; }; \
        const gif = new Uint8Array([...'GIF89a'].map((letter) => letter.charCodeAt()).concat([65, 1, 123, 0])).buffer; \
        const all = [await written('image/png'), await written('image/jpeg', 0.5), await written('image/webp', 0.5), await written('image/webp', 1), gif]; \
        const cut = all.map((bytes) => { try { return read(bytes.slice(0, 9)) } catch { return 'refused' } }); \
        return [all.map(read), cut] })";
    let kinds = ["png", "jpeg", "webp", "webp", "gif"].map(|kind| format!("image/{kind} 321 123"));
    assert_eq!(page.run(script), json!([kinds, vec!["refused"; 5]]));
}

#[test]
fn a_picture_is_shown_and_what_only_has_the_name_of_one_is_not() {
    let site = Site::new();
    let session = site.session();
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    let picture = site.home.user().join("plan.png");
    std::fs::copy("src/page/icon.png", &picture).unwrap();
    page.attach(".composer input[type=file]", &picture);
    page.fill(".composer textarea", "look");
    page.click("[data-action=send]");
    page.see(".said .event img.picture[src^='blob:']");
    until("the picture", || {
        let width = page.run("document.querySelector('.said .picture')?.naturalWidth ?? 0");
        (width.as_u64() > Some(0)).then_some(())
    });
    let markup = site.home.project().join("other.png");
    std::fs::write(&markup, "<svg xmlns='http://www.w3.org/2000/svg' onload='window.hit=1'/>").unwrap();
    let chat = session.event_containing("look").meta("chat_id").to_owned();
    session.call("reply", &json!({"chat_id": chat, "text": "and this", "files": [markup]}));
    page.see_text(".said .reply .file", "other.png");
    page.gone(".said .reply img");
    assert_eq!(page.run("window.hit ?? 0"), json!(0));
    assert_eq!(page.problems(), Vec::<String>::new());
}
