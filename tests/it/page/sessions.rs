//! Sessions on the page: what they say and do as it happens, what can be done to them, and conversations that go on.

use super::site::Site;
use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::run::api::serve;
use crate::support::browser::{Browser, DESKTOP};
use crate::support::claude::Claude;
use crate::support::driven::shell;
use crate::support::home::Home;
use crate::support::hooks::{bash, by_tool_call, hooked, with};
use crate::support::http::Request;
use crate::support::standin::StandIn;
use crate::support::until;
use serde_json::json;
use std::io::Write as _;

#[test]
fn what_the_agent_says_comes_as_it_is_said_and_calls_are_folded_with_their_result() {
    let (home, latch) = (Home::new(), Latch::new());
    let model = Model::start(vec![
        Rule::on_text("go")
            .say("I make a file.")
            .call("Bash", json!({"command": "touch made.txt && echo it-is-made"}))
            .once(),
        Rule::on_any_result().say_in_two("The first half", " and **the second**.", &latch).once(),
    ]);
    let gate = serve(&home, &model, "");
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &["start"], DESKTOP);
    gate.post("/api/v1/sessions", &json!({"prompt": "go"})).expect(201);
    page.click(".session");
    page.see_text(".said .user", "go");
    page.see_text(".said .text", "I make a file.");
    page.see_text(".call.waiting", "touch made.txt");
    page.click(".prompt [data-action=allowOnce]");
    page.see_text(".said .text", "The first half");
    assert!(!page.text(".said").contains("the second"));
    latch.open();
    page.see_text(".said .text strong", "the second");
    page.see_text(".call.done summary", "touch made.txt");
    page.click(".call summary");
    page.see_text(".call .code", "it-is-made");
    assert_eq!(page.count(".said .text"), 2, "pieces are put together");
    page.reload();
    page.see_text(".said .text strong", "the second");
    assert_eq!((page.count(".said .text"), page.count(".call")), (2, 1), "and nothing comes twice");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn whoever_continues_a_session_that_asked_nothing_is_told_that_it_will_ask() {
    let (home, gate, session) = hooked();
    session.hook("PreToolUse", &with(bash("ls"), "permission_mode", "bypassPermissions"));
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &["start"], DESKTOP);
    page.click(".session");
    session.close_stdin();
    page.see_text(".composer .hint", "It was in bypassPermissions and goes on in the default mode of its folder.");
}

#[test]
fn a_session_is_paused_changed_and_ended_and_goes_on_in_another() {
    let model = Model::start(vec![Rule::on_text("first").say("one"), Rule::on_text("again").say("two")]);
    let site = Site::with(&model);
    let page = site.page(&["start"], DESKTOP);
    let session = site.gate.post("/api/v1/sessions", &json!({"prompt": "first", "label": "held"})).expect(201).json();
    let path = format!("/api/v1/sessions/{}", session["id"].as_str().unwrap());
    page.click(".session");
    page.see_text(".said .text", "one");
    page.click("[data-action=pause]");
    page.see_text(".head .warning", "Paused by owner");
    page.click("[data-action=goOn]");
    page.see("[data-action=pause]");
    page.click("[data-action=about]");
    page.choose(".rest select", "plan");
    until("the mode", || (site.gate.get(&path).expect(200).json()["mode"] == "plan").then_some(()));
    page.click("[data-action=end]");
    page.see_text(".head .badge", "ended");
    page.click("[data-action=continue]");
    page.see_text(".head .badge", "idle");
    page.see_text(".head > .path", "plan:");
    page.fill(".composer textarea", "again");
    page.click("[data-action=send]");
    page.see_text(".said .text", "two");
    model.wait_for_turn("again");
    page.click(".back");
    page.see(".session");
    // The one that ended went on: it is told of there.
    page.gone("button >> text=Show ended ones");
    assert_eq!(page.count(".session"), 1);
}

#[test]
fn sessions_of_one_folder_are_told_apart_by_what_they_are_about_and_what_was_said_last() {
    let model = Model::start(vec![
        Rule::on_text("apples").say("There are seven."),
        Rule::on_text("and pears").say("There are none."),
        Rule::on_text("pears").call("Bash", json!({"command": "touch pears"})).once(),
    ]);
    let site = Site::with(&model);
    let page = site.page(&["start"], DESKTOP);
    site.gate.post("/api/v1/sessions", &json!({"prompt": "count the apples"})).expect(201);
    site.gate.post("/api/v1/sessions", &json!({"prompt": "count the pears"})).expect(201);
    for (title, last) in [("count the apples", "There are seven."), ("count the pears", "Bash: touch pears")] {
        page.see_text(&format!(".session:has-text(\"{title}\") .last"), last);
    }
    page.click(".session:has-text(\"apples\")");
    page.see_text(".head .name", "count the apples");
    let sender = site.home.token_for("ci", "sender");
    let told = site.gate.get_as(&sender, "/api/v1/sessions?words=true").expect(200);
    assert!(
        told.json().as_array().unwrap().len() == 2 && !told.text().contains("apples"),
        "who only talks does not read along"
    );
    let reviewer = site.home.token_for("rita", "reviewer");
    assert!(site.gate.get_as(&reviewer, "/api/v1/sessions?words=true").expect(200).text().contains("count the apples"));
    let listed = site.home.run(&["session", "list"]).ok().stdout;
    assert!(listed.contains("count the apples"), "{listed}");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn a_command_that_was_interrupted_as_it_ran_is_not_said_to_have_been_denied() {
    let model = shell(&["sh nap.sh"]);
    let site = Site::with(&model);
    let started = site.home.project().join("started");
    std::fs::write(site.home.project().join("nap.sh"), "touch started\nexec sleep 60\n").unwrap();
    let page = site.page(&["start"], DESKTOP);
    site.go();
    page.click(".session");
    page.click(".prompt [data-action=allowOnce]");
    until("the command runs", || started.exists().then_some(()));
    page.click(".composer [data-action=interrupt]");
    page.see_text(".call .badge", "interrupted");
    page.see_text(".settled", "nobody knows how far it ran");
}

#[test]
fn what_was_told_of_a_message_while_its_text_was_fetched_counts() {
    let (home, gate, session) = hooked();
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.click(".session");
    page.see_text(".head .badge", "idle");
    // The text of the message comes late.
    page.run(
        "window.held = new Promise((go) => (window.release = go)); const real = window.fetch; window.fetch = async (to, how) => { \
         const answer = await real(to, how); if (/events\\/\\w+$/.test(to)) await window.held; return answer; }; true",
    );
    session.hook("UserPromptSubmit", &json!({"prompt": "work"}));
    let event = gate.send_event("look at main");
    page.see(".said .event:not(.user)");
    by_tool_call(&session);
    gate.wait_for_event(&event, "delivered");
    session.hook("Stop", &json!({}));
    gate.wait_for_event(&event, "seen");
    page.see_text(".said .event:not(.user) .who", "seen");
    page.run("window.release(), true");
    page.see_text(".said .event", "look at main");
    page.see_text(".said .event:not(.user) .who", "seen");
    page.reload();
    page.see_text(".said .event:not(.user) .who", "seen");
}

#[test]
fn a_message_whose_turn_was_interrupted_does_not_run_again_when_the_session_is_continued() {
    let latch = Latch::new();
    let model = Model::start(vec![
        Rule::on_text("the branches").say("never").held_by(&latch).once(),
        Rule::on_text("first").say("one"),
    ]);
    let site = Site::with(&model);
    let page = site.page(&["start"], DESKTOP);
    site.gate.post("/api/v1/sessions", &json!({"prompt": "first"})).expect(201);
    page.click(".session");
    page.see_text(".said .text", "one");
    page.fill(".composer textarea", "delete the branches");
    page.press("Enter");
    model.wait_for_turn("delete the branches");
    page.click(".composer [data-action=interrupt]");
    page.see_text(".head .badge", "idle");
    page.see_text(".said .event .who", "seen");
    page.click("[data-action=about]");
    page.click("[data-action=end]");
    page.see_text(".head .badge", "ended");
    page.click("[data-action=continue]");
    page.see_text(".head .badge", "idle");
    let event = &site.gate.get("/api/v1/events").json()[0];
    assert_eq!((&event["state"], &event["redelivered"]), (&json!("seen"), &json!(false)), "{event}");
}

#[test]
fn a_gate_that_is_away_when_a_session_is_started_is_said_once_and_the_list_comes_when_it_is_back() {
    let home = Home::new();
    let model = Model::start(vec![Rule::on_text("colours").say("Red and blue.")]);
    Claude::headless(&home, &model, "name two colours", &json!({"mcpServers": {}}), &[]).wait().ok();
    let gate = serve(&home, &model, "");
    let port = gate.port();
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &["start"], DESKTOP);
    page.see(".empty");
    gate.kill_9();
    page.see(".away");
    page.click("a.primary");
    page.fill("textarea", "go");
    page.click("[data-action=start]");
    page.see_text(".notice", "cannot be reached");
    let said = page.text("main").matches("That did not work").count() + page.text("main").matches("cannot be").count();
    assert_eq!(said, 1, "{}", page.text("main"));
    let _gate = home.serve_with(&["--listen", &format!("127.0.0.1:{port}")]);
    page.see_text(".conversations", "name two colours");
}

#[test]
fn where_no_session_can_be_started_that_is_said_before_anything_is_written() {
    let home = Home::new();
    // A gate that a session started has no folder of its own.
    let _session = StandIn::start(&home, &[]);
    home.wait_for_gate();
    let rights = json!({"rights": ["start"]});
    let link = Request::post("/api/v1/devices/links").token(home.token()).json(&rights).send(&home.listening());
    let secret = link.expect(200).json()["secret"].as_str().unwrap().to_owned();
    let status = home.status();
    let address = status["listen"].as_str().unwrap().trim_start_matches("http://");
    let browser = Browser::start(&home);
    let page = browser.open("a", &format!("http://{address}/#link={secret}"), DESKTOP);
    page.click("[data-action=link]");
    page.click("a.primary");
    page.see_text(".empty", "No folder is configured");
    page.see_text(".empty", "folders = [\"~/code\"]");
    assert_eq!(page.count("textarea, [data-action=start]"), 0);
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
}

#[test]
fn why_a_session_was_not_started_and_what_to_do_are_two_sentences() {
    let site = Site::with(&Model::start(vec![]));
    let page = site.page(&["start"], DESKTOP);
    page.click("a.primary");
    page.fill("input[list=folders]", "/nowhere");
    page.fill("textarea", "go");
    page.click("[data-action=start]");
    page.see_text(".notice", "sessions may not be started in \"/nowhere\"");
    let said = page.text(".notice");
    assert!(said.contains(". Name a folder below one of “folders”") && said.ends_with("there."), "{said}");
}

#[test]
fn a_folder_may_be_written_from_the_home() {
    let home = Home::new();
    std::os::unix::fs::symlink(home.project(), home.user().join("work")).unwrap();
    let model = Model::start(vec![Rule::on_text("go").say("gone")]);
    let site = Site::at(home, &model);
    let page = site.page(&["start", "admin"], DESKTOP);
    page.click("a.primary");
    page.fill("input[list=folders]", "~/work");
    page.fill("textarea", "go");
    until("the default mode of the folder", || {
        let mode = page.run("document.querySelector('option[data-mode]')?.dataset.mode");
        (mode == "default").then_some(())
    });
    page.click("[data-action=start]");
    page.see_text(".said", "gone");
    let folder = site.gate.get("/api/v1/sessions").expect(200).json()[0]["folder"].clone();
    assert_eq!(folder, json!(site.home.project().canonicalize().unwrap()));
    page.goto(&format!("http://{}/#/rules", site.gate.address()));
    page.fill("input[list=folders]", "~/work");
    page.fill("textarea.code", "git push");
    page.click("[data-action=checkCall]");
    page.see(".ruling .decision.ask");
}

#[test]
fn a_conversation_of_a_terminal_goes_on_on_the_page() {
    let home = Home::new();
    let model = Model::start(vec![Rule::on_text("colours").say("Red and blue."), Rule::on_text("third").say("Green.")]);
    let terminal = Claude::headless(&home, &model, "name two colours", &json!({"mcpServers": {}}), &[]);
    terminal.wait().ok();
    let site = Site::at(home, &model);
    let page = site.page(&["start"], DESKTOP);
    page.click("a.primary");
    page.see_text(".conversations", "name two colours");
    page.fill("textarea", "and a third?");
    page.click(".conversations [data-action=continue]");
    page.see_text(".said .text", "Green.");
    let turn = model.wait_for_turn("third");
    assert!(turn.body["messages"].to_string().contains("Red and blue."), "it is the same conversation");
    page.see_text(".said .user", "name two colours");
    page.see_text(".said .text", "Red and blue.");
}

#[test]
fn what_is_older_is_shown_once_also_the_prompt_that_the_stream_begins_with() {
    const CONVERSATION: &str = "5b3e1c9a-0000-4000-8000-00000000aaaa";
    let site = Site::new();
    let folder = site.home.user().join(".claude/projects/-project");
    std::fs::create_dir_all(&folder).unwrap();
    let mut file = std::fs::File::create(folder.join(format!("{CONVERSATION}.jsonl"))).unwrap();
    let mut write = |kind: &str, id: &str, content: &serde_json::Value| {
        let now = chrono::Utc::now().format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let line = json!({"type": kind, "timestamp": now, "message": {"id": id, "content": content}});
        writeln!(file, "{line}").unwrap();
    };
    write("user", "", &json!("long ago"));
    write("assistant", "m0", &json!([{"type": "text", "text": "Done long ago."}]));
    let session =
        StandIn::start_command(&site.home, StandIn::command_of(&site.home, &["--label", "api"], CONVERSATION));
    site.home.attached(1);
    session.hook("UserPromptSubmit", &json!({"prompt": "make it"}));
    write("user", "", &json!("make it"));
    write("assistant", "m1", &json!([{"type": "text", "text": "I will."}]));
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    page.see_text(".said", "I will.");
    page.see_text(".said", "Done long ago.");
    for once in ["long ago", "make it", "Done long ago.", "I will."] {
        let count = format!(
            "[...document.querySelectorAll('.said li')].filter((it) => it.textContent.includes('{once}')).length"
        );
        let expected = if once == "long ago" { 2 } else { 1 };
        assert_eq!(page.run(&count), expected, "{once}: {}", page.text(".said"));
    }
}

#[test]
fn a_session_that_the_gate_does_not_know_is_said_where_someone_looks() {
    let site = Site::new();
    let page = site.page(&[], DESKTOP);
    page.see(".empty");
    page.goto(&format!("http://{}/#/session/01nosuchsession", site.gate.address()));
    page.see_text("h1", "No such session");
    page.see_text(".empty", "does not know this session");
    page.gone(".composer");
    assert!(!page.text("main").contains("Nothing was said"), "{}", page.text("main"));
    page.click(".empty a");
    page.see_text(".empty", "No session is connected");
}

#[test]
fn what_was_said_while_nobody_looked_stands_in_the_order_in_which_it_was_said() {
    const CONVERSATION: &str = "5b3e1c9a-0000-4000-8000-00000000cccc";
    let site = Site::new();
    let folder = site.home.user().join(".claude/projects/-project");
    std::fs::create_dir_all(&folder).unwrap();
    let mut transcript = std::fs::File::create(folder.join(format!("{CONVERSATION}.jsonl"))).unwrap();
    let session =
        StandIn::start_command(&site.home, StandIn::command_of(&site.home, &["--label", "api"], CONVERSATION));
    site.home.attached(1);
    for number in ["one", "two"] {
        site.gate.say("/?label=api", &format!("question {number}")).expect(200);
        session.next_event();
        let now = chrono::Utc::now();
        let content = json!([{"type": "text", "text": format!("answer {number}")}]);
        let message = json!({"id": number, "content": content});
        let timestamp = now.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        writeln!(transcript, "{}", json!({"type": "assistant", "timestamp": timestamp, "message": message})).unwrap();
        // What is said in the same millisecond has no order.
        while chrono::Utc::now().timestamp_millis() <= now.timestamp_millis() {
            std::hint::spin_loop();
        }
    }
    let page = site.page(&[], DESKTOP);
    page.click(".session");
    page.see_text(".said .text", "answer two");
    page.see_text(".said .event", "question two");
    let said = page.text(".said");
    let place = |words: &str| said.find(words).unwrap_or_else(|| panic!("{words}: {said}"));
    let places = ["question one", "answer one", "question two", "answer two"].map(place);
    assert!(places.is_sorted(), "{said}");
}

#[test]
fn what_was_sent_to_a_session_with_hooks_is_shown_as_it_was_sent_also_from_its_transcript() {
    const CONVERSATION: &str = "5b3e1c9a-0000-4000-8000-00000000bbbb";
    let site = Site::new();
    let event = site.gate.send_event("run: touch hello.txt");
    let folder = site.home.user().join(".claude/projects/-project");
    std::fs::create_dir_all(&folder).unwrap();
    let woken = format!(
        "<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n<system-reminder>\n\
         Stop hook blocking error from command \"FileChanged\": A message from a person who may direct this session.\n\
         <channel source=\"portcullis\" event_id=\"{event}\" chat_id=\"1\" via=\"http\" sender=\"owner\" directs=\"true\" fence=\"k7\">\n\
         k7\nrun: touch hello.txt\nk7\n</channel>\n</system-reminder>"
    );
    let line = |kind: &str, content: &serde_json::Value| {
        let now = chrono::Utc::now().format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        format!("{}\n", json!({"type": kind, "timestamp": now, "message": {"id": "m0", "content": content}}))
    };
    let said = line("user", &json!(woken)) + &line("assistant", &json!([{"type": "text", "text": "It is made."}]));
    std::fs::write(folder.join(format!("{CONVERSATION}.jsonl")), said).unwrap();
    let _session =
        StandIn::start_command(&site.home, StandIn::command_of(&site.home, &["--label", "api"], CONVERSATION));
    site.home.attached(1);
    let page = site.page(&[], DESKTOP);
    page.see_text(".session .title", "run: touch hello.txt");
    page.click(".session");
    page.see_text(".said .text", "It is made.");
    page.see_text(".said .event", "run: touch hello.txt");
    let text = page.text(".said");
    assert!(!text.contains("task-notification") && !text.contains("fence"), "{text}");
}
