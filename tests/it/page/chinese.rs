//! The page in Chinese: what the gate says in fixed words is said in Chinese there, and what people wrote stays as it is.

use super::site::Site;
use crate::support::browser::{CHINESE_PHONE, Page};
use crate::support::driven::shell;
use portcullis_core::policy::{MandatoryAsk, Reason};
use serde_json::{Value, json};

/// What the page makes of these texts, by this function of its words.
fn said(page: &Page<'_>, function: &str, texts: &[String]) -> Vec<String> {
    let script = format!(
        "import(document.querySelector('script[type=module]').src.replace('main.js', 'words.js')) \
         .then((words) => {}.map(words.{function}))",
        json!(texts)
    );
    serde_json::from_value(page.run(&script)).unwrap()
}

fn is_chinese(text: &str) -> bool {
    text.chars().any(|character| ('\u{4e00}'..='\u{9fff}').contains(&character))
}

#[test]
fn every_fixed_reason_is_said_in_chinese_and_names_stay_as_they_are() {
    let site = Site::new();
    let page = site.page(&[], CHINESE_PHONE);
    let asks = [
        MandatoryAsk::CriticalRemoval("network".to_owned()),
        MandatoryAsk::ProtectedPath("/x/network".to_owned()),
        MandatoryAsk::Unreadable("it is nested too deep"),
        MandatoryAsk::NotPlain("it changes the shell itself"),
        MandatoryAsk::FolderAndGit,
        MandatoryAsk::FolderAndFiles,
        MandatoryAsk::PlanMode,
        MandatoryAsk::NeedsPerson,
        MandatoryAsk::Malformed,
    ];
    let texts: Vec<String> =
        Reason::ALL.iter().map(ToString::to_string).chain(asks.iter().map(ToString::to_string)).collect();
    let chinese = said(&page, "phrase", &texts);
    for (text, chinese) in texts.iter().zip(&chinese) {
        assert!(is_chinese(chinese), "{text}");
    }
    assert!(chinese.contains(&"删除 network 一律要先询问".to_owned()), "{chinese:?}");
}

#[test]
fn the_log_is_in_chinese_and_what_people_wrote_is_not_translated() {
    let model = shell(&["git push --force origin main"]);
    let site = Site::with(&model);
    let page = site.page(&["admin", "start"], CHINESE_PHONE);
    site.gate.post("/api/v1/sessions", &json!({"prompt": "go", "label": "api"})).expect(201);
    page.see_text(".prompt .risk", "高风险（破坏性、访问网络）");
    page.click(".prompt [data-action=deny]");
    page.see(".settled");
    site.gate.say("/?label=nobody", "the session ended").expect(200);
    let lines: Vec<Value> =
        serde_json::from_value(site.gate.get("/api/v1/log?words=true&last=200").expect(200).json()).unwrap();
    let plain = lines.iter().filter(|line| line["told"]["weight"] != "detail");
    let texts: Vec<String> = plain.map(|line| line["told"]["words"].as_str().unwrap().to_owned()).collect();
    let chinese = said(&page, "sentence", &texts);
    for (text, chinese) in texts.iter().zip(&chinese) {
        assert!(is_chinese(chinese), "{text}");
    }
    let plan = "ran ExitPlanMode: No text of the plan came with it. (decided by person)";
    assert_eq!(said(&page, "sentence", &[plan.to_owned()]), ["运行了 ExitPlanMode：没有附上计划的内容（决定者：人）"]);
    assert!(chinese.iter().any(|line| line.ends_with("the session ended")), "{chinese:?}");
    let event = |words: &str| said(&page, "sentence", &[format!("event from ann in {words}")]);
    assert_eq!(
        event("16 with severity=high, file_1=a.txt: go with: me"),
        ["ann 在 16 的事件（附带 severity=high, file_1=a.txt）：go with: me"]
    );
    assert_eq!(event("7 with a=b waits for a session: x"), ["ann 在 7 的事件（附带 a=b），等待会话：x"]);
    assert_eq!(event("7: with a=b: x"), ["ann 在 7 的事件：with a=b: x"], "what someone wrote is not taken apart");
}
