//! What the page says of answers: whose counted, what was answered to which question, what was granted, and of a plan that
//! came in another way than with its prompt.

use super::reading::PHONE;
use super::sight::{asking, post_hook};
use crate::support::browser::{Browser, CHINESE_PHONE, DESKTOP};
use crate::support::home::Home;
use crate::support::link::{Link, new_id};
use crate::support::until;
use serde_json::json;

/// The page's answers are on their way until someone lets them go.
const HOLD_ANSWERS: &str = "(() => { const own = window.fetch; window.fetch = async (path, ...more) => { \
    if (String(path).endsWith('/verdict')) await new Promise((go) => (window.letGo = go)); \
    return own(path, ...more) }; return true })()";

#[test]
fn of_two_devices_of_one_person_the_slower_is_told_that_its_answer_came_too_late() {
    let home = Home::new();
    let (gate, _posted) = asking(&home, "Bash", &json!({"command": "touch x"}));
    let browser = Browser::start(&home);
    let phone = browser.linked("phone", &gate, &[], PHONE);
    let desktop = browser.linked("desktop", &gate, &[], DESKTOP);
    let devices = gate.get("/api/v1/devices").expect(200).json();
    let name = |number: usize| devices[number]["name"].as_str().unwrap().to_owned();
    assert_ne!(name(0), name(1), "devices are told apart by their names");
    phone.run(HOLD_ANSWERS);
    phone.see("[data-action=allowOnce]:not([aria-disabled])");
    phone.click("[data-action=allowOnce]");
    until("the phone's answer is on its way", || (phone.run("Boolean(window.letGo)") == true).then_some(()));
    desktop.see("[data-action=deny]:not([aria-disabled])");
    desktop.click("[data-action=deny]");
    desktop.see_text(".settled", "Answered by owner on this device: Deny");
    assert_eq!(desktop.count(".settled .warning"), 0);
    phone.see_text(".settled", &format!("Answered by owner on {}: Deny", name(1)));
    phone.run("window.letGo(); true");
    phone.see_text(".settled .warning", "Your answer came too late, and does not count.");
    assert!(!phone.text(".settled").contains("this device"), "{}", phone.text(".settled"));
    assert_eq!(home.records("answered").len(), 1);
    assert_eq!([phone.problems(), desktop.problems()].concat(), [""; 0]);
}

#[test]
fn answers_stand_with_their_questions_in_the_order_in_which_they_were_asked() {
    let home = Home::new();
    let question = |which: &str, labels: [&str; 2]| {
        let options = labels.map(|label| json!({"label": label, "description": "d"}));
        json!({"question": which, "header": "h", "multiSelect": false, "options": options})
    };
    let asked = [question("Which size?", ["M", "L"]), question("Which colour?", ["Red", "Blue"])];
    let (gate, _posted) = asking(&home, "AskUserQuestion", &json!({"questions": asked}));
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.click("label:has-text(\"Blue\")");
    page.click("label:has-text(\"M\") >> nth=0");
    page.see("[data-action=answer]:not([aria-disabled])");
    page.click("[data-action=answer]");
    page.see(".settled .answered");
    let told = page.run("[...document.querySelectorAll('.answered > *')].map((each) => each.textContent)");
    assert_eq!(told, json!(["Which size?", "M", "Which colour?", "Blue"]));
    let log = home.run(&["log"]).ok().stdout;
    assert!(log.contains(": Which size? M; Which colour? Blue\n"), "{log}");
}

#[test]
fn what_is_allowed_for_the_session_or_always_is_said_with_what_it_lets_through() {
    let home = Home::new();
    home.write_config("[hooks]\nhttp = true\n");
    let gate = home.serve();
    let token = home.token_for("claude", "agent");
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &["admin"], DESKTOP);
    let chinese = browser.linked("b", &gate, &[], CHINESE_PHONE);
    let pressed = |command: &str, destination: &str, action: &str, says: &str, says_in_chinese: &str| {
        let rule = json!({"toolName": "Bash", "ruleContent": format!("{command} *")});
        let suggested = json!([{"type": "addRules", "rules": [rule], "behavior": "allow", "destination": destination}]);
        let hook = json!({"hook_event_name": "PermissionRequest", "session_id": "s-1", "cwd": home.project(),
            "tool_name": "Bash", "tool_input": {"command": format!("{command} x")}, "tool_use_id": command,
            "permission_suggestions": suggested});
        let posted = post_hook(&gate, &token, &hook);
        page.see_text(".prompt .code", command);
        page.click(".prompt summary >> text=More answers");
        page.see_text(".prompt .offer small", &format!("Bash({command} *)"));
        page.see(&format!("[data-action={action}]:not([aria-disabled])"));
        page.click(&format!("[data-action={action}]"));
        page.see_text(".settled", &format!("on this device: {says}"));
        page.see_text(".settled .offer small", &format!("Bash({command} *)"));
        chinese.see_text(".settled", says_in_chinese);
        posted
    };
    let _session = pressed("mkdir", "session", "forSession", "Allow for this session", "本会话内允许");
    page.gone(".settled");
    let _always = pressed("touch", "localSettings", "always", "Always allow", "总是允许");
    let log = home.run(&["log"]).ok().stdout;
    for said in ["allowed for the session (Bash(mkdir *)", "allowed always (Bash(touch *)"] {
        assert!(log.contains(said), "{log}");
    }
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn a_plan_that_did_not_come_with_its_prompt_is_shown_all_the_same_and_none_is_not_approved_by_the_first_button() {
    let home = Home::new();
    let gate = home.serve();
    let mut link = Link::welcomed(&home);
    let about = json!({"label": "api", "connected_by": "run", "driven": true, "mode": "plan"});
    link.tell(1, &json!({"attach": {"session": new_id(), "about": about}}));
    assert_eq!(link.answer(1), "ok");
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    let mut ask = |number: u64, origin: &str, preview: &str| {
        let details = json!({"input": "{}", "digest": vec![7; 32], "tool_use_id": format!("t-{number}"), "kind": "plan",
            "modes": ["default", "acceptEdits"]});
        link.tell(
            number,
            &json!({"asked": {"id": new_id(), "source": "control", "origin": origin, "tool": "ExitPlanMode",
                "description": "The agent has a plan and wants to begin", "preview": preview, "details": details}}),
        );
    };
    ask(2, "abcde", "# Raise the limits\n\n1. read\n2. raise <b>them</b>");
    page.see_text(".prompt .plan li", "raise <b>them</b>");
    page.see_text(".prompt .hint", "The agent's words. They did not come with the prompt");
    assert!(!page.text(".prompt").contains("No text of the plan"), "{}", page.text(".prompt"));
    page.see("[data-action=approvePlan].primary");
    // Where there is none, it is said, and to approve it is not what stands out.
    ask(3, "fghij", "No text of the plan came with it.");
    page.see_text("[data-code=fghij] .warning", "No text of the plan came with it.");
    assert_eq!(page.count("[data-code=fghij] .plan"), 0);
    page.see("[data-code=fghij] [data-action=approvePlan].risky");
    assert_eq!(page.problems(), [""; 0]);
}
