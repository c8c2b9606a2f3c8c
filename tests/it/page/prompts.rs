//! Prompts on the page: every way to answer, and what the other screens see of it.

use super::sight::post_hook;
use super::site::Site;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::run::api::serve;
use crate::support::browser::{Browser, DESKTOP};
use crate::support::driven::{calls, shell};
use crate::support::home::Home;
use crate::support::until;
use serde_json::json;
use std::io::Read as _;

#[test]
fn an_answer_in_one_browser_closes_the_card_in_the_other() {
    let home = Home::new();
    let model = shell(&["touch made.txt && echo made"]);
    let gate = serve(&home, &model, "");
    let browser = Browser::start(&home);
    let (one, other) = (browser.linked("a", &gate, &[], DESKTOP), browser.linked("b", &gate, &[], DESKTOP));
    gate.post("/api/v1/sessions", &json!({"prompt": "go"})).expect(201);
    one.see(".prompt");
    other.see(".prompt");
    one.click("[data-action=deny]");
    let devices = gate.get("/api/v1/devices").expect(200).json();
    let name = devices[0]["name"].as_str().unwrap();
    assert_eq!(devices[1]["name"], format!("{name} 2"), "two browsers of one kind are told apart");
    other.see_text(".settled", &format!("Answered by owner on {name}: Deny"));
    one.see_text(".settled", "Answered by owner on this device: Deny");
    assert_eq!(other.count(".prompt"), 0);
    assert!(home.run(&["log"]).ok().stdout.contains(&format!("denied by owner on {name:?}")));
    let listed = home.run(&["device", "list"]).ok().stdout;
    assert_eq!((listed.matches(name).count(), listed.matches(&format!("{name} 2")).count()), (2, 1), "{listed}");
    assert!(!home.project().join("made.txt").exists());
}

#[test]
fn a_call_is_denied_with_words_that_the_agent_reads() {
    let model = shell(&["touch made.txt"]);
    let site = Site::with(&model);
    let page = site.page(&[], DESKTOP);
    site.go();
    page.see(".prompt");
    page.click(".prompt summary >> text=More answers");
    page.click("[data-action=denyWhy]");
    page.fill(".more textarea", "use mktemp instead");
    page.click(".more [data-action=deny]");
    model.wait_for_turn("use mktemp instead");
    assert!(!site.home.project().join("made.txt").exists());
}

#[test]
fn what_is_written_to_a_file_is_edited_line_by_line_and_keeps_its_line_ends() {
    let home = Home::new();
    let file = home.project().join("notes.txt");
    let model = calls("Write", &json!({"file_path": &file, "content": "one\r\ntwo\r\n"}));
    let site = Site::at(home, &model);
    let page = site.page(&[], DESKTOP);
    site.go();
    page.see(".prompt");
    page.click(".prompt summary >> text=More answers");
    page.click("[data-action=edit]");
    page.fill(".more label:has-text(\"content\") textarea", "one\nthree\n");
    page.click(".more [data-action=allow]");
    page.see_text(".step .diff", "+ three");
    page.click("[data-action=yesAllow]");
    // What came of it shows lines as well, and no text of a program.
    page.see_text(".settled .diff", "+ three");
    let written = until("the file", || std::fs::read_to_string(&file).ok());
    assert_eq!(written, "one\r\nthree\r\n");
}

#[test]
fn what_runs_can_be_edited_and_always_makes_the_next_call_silent() {
    let model = shell(&["touch one.txt", "npm run lint", "npm run lint"]);
    let site = Site::with(&model);
    let page = site.page(&[], DESKTOP);
    site.go();
    page.see_text(".prompt .code", "touch one.txt");
    page.click(".prompt summary >> text=More answers");
    page.click("[data-action=edit]");
    page.fill(".more textarea", "touch two.txt");
    page.fill(".more textarea", " ");
    page.click(".more [data-action=allow]");
    page.see_text(".more .warning", "nothing to run");
    page.fill(".more textarea", "touch two.txt");
    page.click(".more [data-action=allow]");
    page.see_text(".step .code", "touch two.txt");
    assert_eq!(site.home.records("answered").len(), 0, "what was typed takes a second step");
    page.click("[data-action=yesAllow]");
    page.see_text(".settled .code", "touch two.txt");
    until("the edited file", || site.home.project().join("two.txt").exists().then_some(()));
    assert!(!site.home.project().join("one.txt").exists());
    // The conversation shows what ran, also to someone who comes later.
    let sessions = page.run("location.href");
    page.click(".session");
    let shows_what_ran = || {
        page.see_text(".call.done .main", "touch two.txt");
        page.see_text(".call.done .edited", "edited by owner");
        page.click(".call.done > summary");
        page.see_text(".call.done .code", "touch two.txt");
        page.click(".call.done .before summary");
        page.see_text(".call.done .before .code", "touch one.txt");
    };
    shows_what_ran();
    page.reload();
    shows_what_ran();
    page.goto(sessions.as_str().unwrap());
    page.see_text(".prompt .code", "npm run lint");
    page.click(".prompt summary >> text=More answers");
    page.see_text(".prompt .offer", "npm run");
    page.click("[data-action=always]");
    until("the turn after the second lint", || (model.turns().len() == 4).then_some(()));
    assert_eq!(site.home.records("asked").len(), 2, "the second lint was not asked for");
}

#[test]
fn what_is_written_in_a_card_is_what_counts_and_nothing_above_it_allows_the_rest() {
    let model = shell(&["touch one.txt", "touch two.txt"]);
    let site = Site::with(&model);
    let page = site.page(&[], DESKTOP);
    site.go();
    page.click(".session");
    page.see_text(".prompt .code", "touch one.txt");
    page.click(".prompt summary >> text=More answers");
    page.click("[data-action=edit]");
    page.fill(".more textarea", "touch edited.txt && touch more.txt");
    let is_in_sight = "(() => { const { bottom } = document.querySelector('.more [data-action=allow]').getBoundingClientRect(); \
        return bottom <= document.querySelector('.dock').getBoundingClientRect().top })()";
    until("its buttons are in sight", || (page.run(is_in_sight) == true).then_some(()));
    let is_off = "document.querySelector('.prompt [data-action=allowOnce]').disabled";
    assert_eq!(page.run(is_off), true, "what the agent wrote is not allowed by a slip");
    page.click(".more [data-action=allow]");
    page.see_text(".step .code", "touch more.txt");
    page.fill(".more textarea", "touch edited.txt");
    page.gone(".step [data-action=yesAllow]");
    page.click(".more [data-action=cancel]");
    assert_eq!(page.run(is_off), false);
    page.click("[data-action=edit]");
    page.fill(".more textarea", "touch edited.txt");
    page.click(".more [data-action=allow]");
    page.click("[data-action=yesAllow]");
    until("the edited file", || site.home.project().join("edited.txt").exists().then_some(()));
    assert!(!site.home.project().join("more.txt").exists() && !site.home.project().join("one.txt").exists());
    // Words to the agent go along with every denial.
    page.see_text(".prompt .code", "touch two.txt");
    page.click(".prompt summary >> text=More answers");
    page.click("[data-action=denyWhy]");
    page.fill(".more textarea", "use another name");
    page.click(".answers > .row [data-action=deny]");
    model.wait_for_turn("use another name");
}

#[test]
fn a_number_that_a_script_cannot_hold_is_shown_and_edited_as_it_is() {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    let gate = home.serve();
    let token = home.token_for("claude", "agent");
    let hook = json!({"hook_event_name": "PermissionRequest", "session_id": "s-1", "cwd": home.project(),
        "tool_name": "mcp__bank__pay", "tool_input": {"account": 9_007_199_254_740_993_u64, "note": "hello"}, "tool_use_id": "t-1"});
    let mut posted = post_hook(&gate, &token, &hook);
    gate.only_ask();
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.click(".prompt summary >> text=Whole input");
    page.see_text(".prompt details .code", "9007199254740993");
    page.click(".prompt summary >> text=More answers");
    page.click("[data-action=edit]");
    // The arguments of an MCP call are a form.
    page.fill(".more label:has-text(\"note\") textarea", "hi");
    page.click(".more [data-action=allow]");
    page.click("[data-action=yesAllow]");
    let mut answer = String::new();
    posted.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("9007199254740993") && answer.contains("\"hi\""), "{answer}");
}

#[test]
fn a_question_is_answered_with_its_options() {
    let question = json!({"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]}]});
    let model = Model::start(vec![
        Rule::on_text("go").call("AskUserQuestion", question).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let site = Site::with(&model);
    let page = site.page(&[], DESKTOP);
    site.go();
    page.see_text("legend", "Which colour?");
    page.see_text(".prompt header", "asks you something");
    page.click("[data-action=answer]");
    page.see_text(".prompt .warning", "Answer every question first");
    assert_eq!(page.count(".claim"), 0, "the gate's own words are not told as the agent's");
    // One answer is wanted: one's own words stand in place of a choice.
    page.click("label:has-text(\"Red\")");
    page.fill("fieldset input[type=text]", "Green");
    assert_eq!(page.count("fieldset input:checked"), 0);
    page.click("label:has-text(\"Blue\")");
    assert_eq!(page.run("document.querySelector('fieldset input[type=text]').value"), "");
    page.click("[data-action=answer]");
    model.wait_for_turn("Blue");
    page.see_text(".settled", "Blue");
}

#[test]
fn a_plan_is_sent_back_and_then_approved_with_the_mode_to_go_on_in() {
    let model = Model::start(vec![
        Rule::on_text("go")
            .call("Write", json!({"file_path": "$PLAN_FILE", "content": "# The plan\n1. build\n2. ship\n"}))
            .once(),
        Rule::on_result("created").call("ExitPlanMode", json!({})).once(),
        Rule::on_any_result().call("ExitPlanMode", json!({})).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let site = Site::with(&model);
    let page = site.page(&[], DESKTOP);
    let session = site.gate.post("/api/v1/sessions", &json!({"prompt": "go", "mode": "plan"})).expect(201).json();
    page.see_text(".prompt .plan li", "ship");
    page.see_text(".prompt .plan h3", "The plan");
    let first = page.text(".prompt header code");
    page.fill(".prompt textarea", "test it first");
    page.click("[data-action=keepPlanning]");
    model.wait_for_turn("test it first");
    page.see(&format!(".prompt:not([data-code={first}])"));
    assert_eq!(site.home.records("answered")[0]["behavior"], "deny", "it goes on planning");
    page.choose(".prompt select", "acceptEdits");
    page.fill(".prompt textarea", "and this");
    page.click("[data-action=approvePlan]");
    page.see_text(".prompt .warning", "go with Keep planning");
    page.fill(".prompt textarea", "");
    page.click("[data-action=approvePlan]");
    model.wait_for_turn("approved");
    let path = format!("/api/v1/sessions/{}", session["id"].as_str().unwrap());
    until("the mode", || (site.gate.get(&path).expect(200).json()["mode"] == "acceptEdits").then_some(()));
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn what_is_dangerous_takes_a_second_step_and_an_edit_is_shown_as_a_diff() {
    let home = Home::new();
    std::fs::write(home.project().join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let file = home.project().join("a.txt");
    let edit = json!({"file_path": file, "old_string": "two", "new_string": "zwei"});
    let model = Model::start(vec![
        Rule::on_text("go").call("Read", json!({"file_path": file})).once(),
        Rule::on_result("three").call("Edit", edit).once(),
        Rule::on_result("updated")
            .call("Write", json!({"file_path": home.project().join("b.txt"), "content": "x\ny\n"}))
            .once(),
        Rule::on_result("created").call("Bash", json!({"command": "git push --force origin main"})).once(),
        Rule::on_any_result().say("done"),
    ]);
    let site = Site::at(home, &model);
    let page = site.page(&[], DESKTOP);
    site.go();
    page.see(".diff");
    assert_eq!((page.text(".diff .old").trim(), page.text(".diff .new").trim()), ("- two", "+ zwei"));
    assert_eq!(page.count(".numbered"), 0, "an edit does not say where in the file it is");
    page.click("[data-action=allowOnce]");
    page.see(".diff.numbered");
    let written = page.run("document.querySelector('.numbered').textContent");
    assert_eq!(written, json!("+ x\n+ y\n"), "the numbers are not part of the text");
    let number = page.run("getComputedStyle(document.querySelector('.numbered span'), '::before').content");
    assert_eq!(number, json!("counter(line)"));
    page.click("[data-action=allowOnce]");
    page.see(".prompt.risk-high");
    page.click("[data-action=allowOnce]");
    page.see("[data-action=yesAllow]");
    assert_eq!(site.home.records("answered").len(), 2, "one tap allowed nothing");
    page.click(".prompt [data-action=deny]");
    until("the denial", || (site.home.records("answered").len() == 3).then_some(()));
}

#[test]
fn a_letter_answers_the_first_prompt_but_not_while_someone_types() {
    let model = shell(&["touch made.txt && echo made"]);
    let site = Site::with(&model);
    let page = site.page(&[], DESKTOP);
    site.go();
    page.see(".prompt");
    page.click(".prompt summary >> text=More answers");
    page.click("[data-action=denyWhy]");
    page.press("a");
    assert_eq!(page.run("document.querySelector('.more textarea').value"), "a");
    assert_eq!(site.home.records("answered").len(), 0);
    page.click(".more [data-action=cancel]");
    // Whoever presses while the card moves is told to press again, and answers nothing.
    until("the file", || {
        page.press("a");
        site.home.project().join("made.txt").exists().then_some(())
    });
    assert_eq!(site.home.records("answered").len(), 1);
}

/// Codes that differ in their last two letters.
fn code(number: usize) -> String {
    let letter = |number: usize| char::from(b"abcdefghij"[number]);
    format!("qqq{}{}", letter(number / 10), letter(number % 10))
}

#[test]
fn of_many_prompts_the_oldest_thirty_are_drawn_and_the_others_come_up() {
    let site = Site::new();
    let session = site.session();
    for number in 0..33 {
        session.ask(&code(number), "Bash", "Make it", &format!("touch made-{number}"));
    }
    until("all prompts", || (site.home.status()["open_asks"] == 33).then_some(()));
    let page = site.page(&[], DESKTOP);
    page.see_text(".later", "3 more wait");
    assert_eq!(page.count(".prompt"), 30);
    assert_eq!(page.run("document.title"), "(33) Portcullis");
    page.see_text(".session .badge", "(33)");
    site.gate.verdict(&code(0), &json!({"behavior": "deny"})).expect(200);
    page.see_text(".later", "2 more wait");
    page.see_text(".prompt", "touch made-30");
    assert_eq!(page.count(".prompt"), 30);
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn who_answers_by_keyboard_goes_on_at_the_next_prompt() {
    let site = Site::new();
    let session = site.session();
    let page = site.page(&[], DESKTOP);
    session.ask("abcde", "Bash", "Make x", "touch x");
    session.ask("fghij", "Bash", "Make y", "touch y");
    page.see("[data-code=fghij]");
    page.see("[data-code=abcde] [data-action=deny]:not([aria-disabled])");
    page.run("document.querySelector('[data-code=abcde] [data-action=deny]').focus()");
    page.press("Enter");
    let focused = "document.activeElement.closest('article')?.dataset.code ?? document.activeElement.tagName";
    until("the next prompt", || (page.run(focused) == "fghij").then_some(()));
    page.click("[data-code=fghij] header a");
    page.see(".head");
}

#[test]
fn a_call_behind_one_that_waits_does_not_run_yet() {
    let model = Model::start(vec![
        Rule::on_text("go")
            .call("Bash", json!({"command": "touch one.txt"}))
            .call("Bash", json!({"command": "touch two.txt"}))
            .once(),
        Rule::on_any_result().say("done"),
    ]);
    let site = Site::with(&model);
    let page = site.page(&[], DESKTOP);
    site.go();
    page.click(".session");
    page.see_text(".call.waiting", "touch one.txt");
    page.see_text(".call.queued .badge", "comes next");
    page.click("[data-action=deny]");
    page.see_text(".call.denied", "touch one.txt");
    page.see_text(".call.waiting", "touch two.txt");
    page.click(".prompt:has-text(\"two.txt\") [data-action=deny]");
    until("both", || (page.count(".call.denied") == 2).then_some(()));
}

#[test]
fn questions_of_the_same_words_are_shown_as_they_are_and_only_denied() {
    let question = json!({"question": "Go on?", "header": "x", "multiSelect": false,
        "options": [{"label": "keep", "description": "a"}, {"label": "delete", "description": "b"}]});
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    let gate = home.serve();
    let token = home.token_for("claude", "agent");
    let hook = json!({"hook_event_name": "PermissionRequest", "session_id": "s-1", "cwd": home.project(),
        "tool_name": "AskUserQuestion", "tool_input": {"questions": [question, question]}, "tool_use_id": "t-1"});
    let _posted = post_hook(&gate, &token, &hook);
    let ask = gate.only_ask();
    let answers = json!({"behavior": "allow", "answers": {"Go on?": "delete"}});
    let refused = gate.verdict(ask["code"].as_str().unwrap(), &answers).expect(422);
    assert!(refused.text().contains("asked twice"), "{}", refused.text());
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.see_text(".prompt .code", "delete");
    assert_eq!(page.count(".prompt fieldset"), 0);
    page.click(".prompt [data-action=deny]");
    page.see(".settled");
}
