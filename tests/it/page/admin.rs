//! The views for whoever administers the gate: rules, people and tokens, the log and its chain.

use super::reading::PHONE;
use super::site::Site;
use crate::fakes::bridge::Bridge;
use crate::support::browser::{Browser, DESKTOP, Page};
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::hooks::{attend, bash, hooked, with};
use crate::support::until;
use serde_json::json;

fn view(page: &Page<'_>, gate: &Gate, name: &str) {
    page.goto(&format!("http://{}/#/{name}", gate.address()));
}

#[test]
fn the_rules_of_a_folder_are_shown_and_say_what_would_become_of_a_call() {
    let site = Site::new();
    site.home.run(&["rules", "add", "deny", "Bash(git push *)", "--why", "ask the team first"]).ok();
    let _session = site.session();
    let page = site.page(&["admin"], DESKTOP);
    page.see(".session");
    view(&page, &site.gate, "rules");
    page.see_text(".rules li", "Bash(git push *)");
    page.see_text(".rules li", "ask the team first");
    page.fill("textarea", "cd web && git push origin main");
    page.click("[data-action=checkCall]");
    page.see_text(".ruling .decision.deny", "deny");
    page.see_text(".ruling", "Bash(git push *)");
    page.fill("textarea", "ls");
    page.click("[data-action=checkCall]");
    page.see_text(".ruling .decision.allow", "allow");
    // In mode auto nobody is asked for what no rule names.
    page.fill("textarea", "touch x");
    page.click("[data-action=checkCall]");
    page.see_text(".ruling .decision.ask", "ask");
    // Claude Code's own settings count as well, and where one cannot be read that is said.
    page.see_text(".ruling", "the permission rules in Claude Code's settings");
    let settings = site.home.project().join(".claude");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("settings.json"), r#"{"permissions": {"deny": ["Bash(touch *)"]}}"#).unwrap();
    page.fill("input[list=folders]", site.home.project().to_str().unwrap());
    page.click("[data-action=checkCall]");
    page.see_text(".ruling .decision.deny", "deny");
    page.see_text(".ruling .path", ".claude/settings.json:1");
    std::fs::write(settings.join("settings.json"), "{").unwrap();
    page.click("[data-action=checkCall]");
    page.see_text(".ruling .decision.ask", "ask");
    page.see_text(".ruling", "cannot all be read");
    page.choose(".columns label:has-text(\"Mode\") select", "auto");
    page.click("[data-action=checkCall]");
    page.see_text(".ruling", "Claude Code decides");
    page.fill("textarea", "rm -rf ~");
    page.click("[data-action=checkCall]");
    page.see_text(".ruling .decision.ask", "ask");
    page.fill("input[list=folders]", "/nowhere");
    page.press("Tab");
    page.see_text("section", "there is no folder");
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
}

#[test]
fn what_the_rules_said_of_another_call_does_not_stand_under_this_one() {
    let site = Site::new();
    let page = site.page(&["admin"], PHONE);
    page.see(".empty");
    view(&page, &site.gate, "rules");
    page.fill("input[list=folders]", site.home.project().to_str().unwrap());
    page.fill("textarea", &"x".repeat(300));
    let mode = ".columns label:has-text(\"Mode\") select";
    let changes: [&dyn Fn(); 4] = [
        &|| page.fill("textarea", "touch y"),
        &|| page.choose(mode, "dontAsk"),
        &|| page.choose(".columns label:has-text(\"Tool\") select", "Read"),
        &|| page.fill("input[list=folders]", "/"),
    ];
    for change in changes {
        page.click("[data-action=checkCall]");
        page.see(".ruling");
        let beyond = page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert_eq!(beyond, 0, "a long word goes on in the next line");
        change();
        assert_eq!(page.count(".ruling"), 0, "it was about something else");
    }
    // An answer that is late is about something else as well.
    page.fill("input[list=folders]", site.home.project().to_str().unwrap());
    page.run(
        "(() => { const own = window.fetch; window.fetch = async (path, ...more) => { \
         if (String(path).endsWith('/rules/check')) await new Promise((go) => (window.answerNow = go)); \
         const answer = await own(path, ...more); window.hasAnswered = true; return answer; }; return true })()",
    );
    page.click("[data-action=checkCall]");
    until("the question", || (page.run("Boolean(window.answerNow)") == true).then_some(()));
    page.fill("textarea", "touch z");
    page.run("(window.hasAnswered = false, window.answerNow(), true)");
    until("the late answer", || (page.run("window.hasAnswered") == true).then_some(()));
    page.run("new Promise((done) => setTimeout(done, 200)).then(() => true)");
    assert_eq!(page.count(".ruling"), 0, "nobody asked about this");
}

#[test]
fn the_box_says_what_becomes_of_a_call_in_dont_ask_mode() {
    let site = Site::new();
    site.home.run(&["rules", "add", "ask", "Bash(touch *)"]).ok();
    site.home.run(&["rules", "add", "deny", "Bash(git push *)"]).ok();
    let settings = site.home.project().join(".claude");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("settings.json"), r#"{"permissions": {"ask": ["Bash(make *)"]}}"#).unwrap();
    let page = site.page(&["admin"], DESKTOP);
    page.see(".empty");
    view(&page, &site.gate, "rules");
    page.fill("input[list=folders]", site.home.project().to_str().unwrap());
    page.choose(".columns label:has-text(\"Mode\") select", "dontAsk");
    let says = |command: &str, decision: &str, words: &str| {
        page.fill("textarea", command);
        page.click("[data-action=checkCall]");
        page.see_text(&format!(".ruling .decision.{decision}"), decision);
        page.see_text(".ruling", words);
    };
    let refused = "in dontAsk mode Claude Code refuses it even after a yes, unless its own settings allow it";
    says("touch x", "ask", &format!("Bash(touch *); {refused}"));
    says("rm -rf ~", "ask", refused);
    // What nobody holds, Claude Code denies by itself; so it does with its own ask rules.
    says("npm test", "deny", "what would be asked is denied");
    says("make all", "deny", "what would be asked is denied");
    says("git push origin main", "deny", "denied by the user rule Bash(git push *)");
}

#[test]
fn people_and_tokens_are_seen_to_and_a_token_is_shown_once() {
    let site = Site::new();
    let page = site.page(&["admin"], DESKTOP);
    view(&page, &site.gate, "people");
    page.see_text(".empty", "Nobody else");
    page.fill("label:has-text(\"Name\") input", "ci");
    page.click("[data-action=addToken]");
    page.see(".secret");
    page.see_text(".new-token", "The token of ci");
    let token = page.text(".secret");
    assert_eq!(site.gate.get_as(&token, "/api/v1/me").expect(200).json()["name"], "ci");
    page.see_text(".card strong", "ci");
    page.reload();
    page.see_text(".card strong", "ci");
    assert_eq!(page.count(".secret"), 0, "it is shown once");
    page.click("[data-action=revoke]");
    page.gone("[data-action=revoke]");
    site.gate.get_as(&token, "/api/v1/me").expect(401);
    page.click("[data-action=remove]");
    page.see_text(".empty", "Nobody else");
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
}

#[test]
fn a_device_is_linked_by_a_link_of_the_page_and_seen_there_with_its_last_use() {
    let site = Site::new();
    let page = site.page(&["admin"], DESKTOP);
    view(&page, &site.gate, "devices");
    page.see_text(".devices li", "last used");
    page.click("[data-action=makeLink]");
    page.see_text(".new-link", "public_url is not set");
    let link = page.text(".new-link .secret");
    let other = site.browser.open("b", &link, DESKTOP);
    other.click("[data-action=link]");
    other.see(".empty");
    page.see_text(".new-link", "is linked");
    assert_eq!(page.count(".new-link .secret"), 0, "the link is used up, and gone");
    let devices = site.gate.get("/api/v1/devices").expect(200).json();
    assert_eq!(devices[1]["rights"], json!(["talk", "review"]), "no more than was said");
    page.click("input[value=admin]");
    page.click("[data-action=makeLink]");
    page.see(".new-link .secret");
    let link = page.text(".new-link .secret");
    view(&page, &site.gate, "log");
    page.see(".log li");
    view(&page, &site.gate, "devices");
    page.see(".devices li");
    assert_eq!(page.count(".new-link .secret"), 0, "it is shown where it was made, and not again");
    site.browser.open("c", &link, DESKTOP).click("[data-action=link]");
    page.see_text(".devices", "administer");
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
}

#[test]
fn the_log_is_searched_and_says_whether_its_chain_is_whole() {
    let site = Site::new();
    site.gate.say("/", "the first message").expect(200);
    site.gate.say("/", "a second one, with ghp_0123456789abcdefghijklmnopqrstuvwxyz").expect(200);
    let page = site.page(&["admin"], DESKTOP);
    view(&page, &site.gate, "log");
    page.see_text(".log li", "the first message");
    assert!(!page.text(".log").contains("0123456789abcdef"), "no secret is shown");
    page.fill("input[type=search]", "second");
    page.gone(".log li:has-text(\"the first message\")");
    page.see_text(".log li", "a second one");
    page.fill("input[type=search]", "nothing has this");
    page.see_text(".notice", "Nothing fits");
    page.click("[data-action=verify]");
    page.see_text(".chain", "none changed, removed or reordered");
    let records = site.gate.get("/api/v1/log/chain").expect(200).json()["records"].as_u64().unwrap();
    assert!(records >= 3, "{records}");
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
}

#[test]
fn what_happens_while_someone_looks_at_the_log_comes_by_itself_and_a_broken_chain_is_said() {
    let site = Site::new();
    let page = site.page(&["admin"], DESKTOP);
    view(&page, &site.gate, "log");
    page.see_text(".log li", "the gate started");
    site.gate.say("/", "a message of later").expect(200);
    page.see_text(".log li", "a message of later");
    page.fill("input[type=search]", "of much later");
    page.see_text(".notice", "Nothing fits");
    site.gate.say("/", "and one of much later").expect(200);
    page.see_text(".log li", "and one of much later");
    assert_eq!(page.count(".log li:has-text(\"much later\")"), 1);
    let broken = json!({"ok": false, "seq": 3, "what": "it is not what was written"});
    page.run(&format!(
        "(() => {{ const own = window.fetch; window.fetch = (path, ...more) => String(path).endsWith('/log/chain') \
         ? Promise.resolve(Response.json({broken})) : own(path, ...more); return true }})()"
    ));
    page.click("[data-action=verify]");
    page.see_text(".chain.bad", "broken at record 3: it is not what was written");
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn the_log_is_filtered_by_what_it_is_about_and_by_how_much_it_matters() {
    let site = Site::new();
    let session = site.session();
    site.gate.say("/", "a message").expect(200);
    session.next_event();
    session.ask("abcde", "Bash", "Make x", "touch x");
    site.gate.only_ask();
    site.gate.verdict("abcde", &json!({"behavior": "deny"})).expect(200);
    let page = site.page(&["admin"], DESKTOP);
    view(&page, &site.gate, "log");
    page.see_text(".log li", "a message");
    page.see_text(".log li", "touch x");
    let lines = || page.count(".log li:not(.day)");
    let all = lines();
    page.choose("select", "ask");
    page.gone(".log li:has-text(\"a message\")");
    page.see_text(".log li", "touch x");
    page.choose("select", "event");
    page.gone(".log li:has-text(\"touch x\")");
    page.see_text(".log li", "a message");
    page.choose("select", "token");
    page.see_text(".log li", "linked a device");
    page.gone(".log li:has-text(\"a message\")");
    page.choose("select", "");
    page.see_text(".log li", "touch x");
    assert_eq!(lines(), all);
    assert_eq!(page.count(".log .detail"), 0, "details are left out");
    page.click(".filters input[type=checkbox]");
    page.see(".log .detail");
    page.fill("input[type=search]", "touch");
    page.gone(".log li:has-text(\"a message\")");
    page.choose("select", "person");
    page.see_text(".notice", "Nothing fits");
}

#[test]
fn a_log_that_was_opened_while_the_gate_was_away_comes_when_it_is_back() {
    let home = Home::new();
    let gate = home.serve();
    let port = gate.port();
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &["admin"], DESKTOP);
    page.see(".empty");
    gate.kill_9();
    page.see(".away");
    page.click("nav a:has-text(\"Log\")");
    page.see_text(".notice", "cannot be reached");
    let _gate = home.serve_with(&["--listen", &format!("127.0.0.1:{port}")]);
    page.see_text(".log", "the gate started");
    page.gone(".notice:has-text(\"cannot be reached\")");
}

#[test]
fn a_call_that_ran_unasked_is_an_alarm_on_every_screen() {
    let (home, gate, session) = hooked();
    std::fs::write(home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(touch *)\"\n").unwrap();
    attend(&home);
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &["admin"], DESKTOP);
    page.see(".session");
    assert_eq!(page.count(".alarm"), 0);
    let reviewer = browser.linked("b", &gate, &[], DESKTOP);
    reviewer.see(".session");
    let call = with(with(bash("touch made.txt"), "tool_use_id", "toolu_1"), "permission_mode", "default");
    assert_eq!(session.hook("PreToolUse", &call)["hookSpecificOutput"]["permissionDecision"], "ask");
    session.hook("PostToolUse", &call);
    until("the call", || (home.records("called").len() == 1).then_some(()));
    // On every screen of everyone who sees the session, without a word from them.
    for page in [&page, &reviewer] {
        page.see_text(".alarm", "api ran Bash although a person had to be asked");
        page.click(".session");
        page.see_text(".alarm", "api ran Bash although a person had to be asked");
    }
    page.goto(&format!("http://{}/#/log", gate.address()));
    page.see_text(".log .alarm", "touch made.txt");
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
}

#[test]
fn a_stranger_is_let_in_by_the_code_that_they_tell() {
    let home = Home::new();
    let bridge = Bridge::of(&home, "");
    let gate = home.serve();
    let code = bridge.said("42", "hello?")["pairing"]["code"].as_str().unwrap().to_owned();
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &["admin"], DESKTOP);
    view(&page, &gate, "people");
    page.see_text(".card", "User 42");
    assert!(!page.text("main").contains(&code), "only the stranger knows the code");
    let (code_field, name) =
        ("label:has-text(\"Code\") input", ".card:has([data-action=letIn]) label:has-text(\"Name\") input");
    page.fill(code_field, "aaaaaaaa");
    page.fill(name, "ann");
    page.click("[data-action=letIn]");
    page.see_text(".notice", "That did not work");
    page.fill(code_field, &code);
    page.fill(name, "ann");
    page.choose(".card:has([data-action=letIn]) select", "reviewer");
    page.click("[data-action=letIn]");
    page.see_text(".card strong", "ann");
    page.see_text(".card .path", "ops:42");
    page.see_text("main", "Nobody waits to be let in");
    bridge.item("paired", "You are ann now, a reviewer.");
}

#[test]
fn who_may_not_administer_sees_none_of_it_and_is_refused() {
    let site = Site::new();
    let page = site.page(&[], DESKTOP);
    assert_eq!(page.count("nav a"), 2, "sessions, and the page's own settings");
    view(&page, &site.gate, "log");
    page.see_text(".notice", "may not read the log");
    assert_eq!(page.count("input, section button"), 0, "there is nothing to search");
    let token = site.home.token_for("rita", "reviewer");
    for path in ["/api/v1/rules?folder=/", "/api/v1/log/chain", "/api/v1/people"] {
        site.gate.get_as(&token, path).expect(403);
    }
    let check = json!({"folder": "/", "tool": "Bash", "input": "ls"});
    site.gate.post_as(&token, "/api/v1/rules/check", &check).expect(403);
}
