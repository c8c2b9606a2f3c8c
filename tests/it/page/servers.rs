//! The view of MCP servers, and the card of a call of one of their tools.

use super::site::Site;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::mcp::auth::Guarded;
use crate::support::browser::DESKTOP;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::standin::StandIn;
use crate::support::until;
use serde_json::json;
use std::fs;

#[test]
fn servers_of_a_folder_are_shown_with_their_state_and_approved_as_they_were_seen() {
    let site = Site::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fakes/mcp-server.js");
    let node = std::env::var("PORTCULLIS_TEST_NODE").expect("run ./check peers");
    let gone = json!({"mcpServers": {"gone": {"command": "/nowhere/at-all"}}});
    fs::write(site.home.user().join(".claude.json"), gone.to_string()).unwrap();
    let file = site.home.project().join(".mcp.json");
    let of_project =
        |fault: &str| json!({"mcpServers": {"fake": {"command": node, "args": [script, fault]}}}).to_string();
    fs::write(&file, of_project("slow")).unwrap();
    let page = site.page(&["admin"], DESKTOP);
    page.goto(&format!("http://{}/#/servers", site.gate.address()));
    page.fill("input[list=folders]", site.home.project().to_str().unwrap());
    page.press("Tab");
    page.see_text("[data-name=gone] .badge", "failed");
    page.see_text("[data-name=gone]", "/nowhere/at-all");
    page.see_text("[data-name=fake] .badge", "not approved");
    // What was changed since is not approved.
    page.click("[data-name=fake] [data-action=approve]");
    fs::write(&file, of_project("none")).unwrap();
    page.click("[data-action=yesApprove]");
    page.see_text("[data-name=fake] .warning", "is another one now");
    page.click("[data-action=lookAgain]");
    page.see_text("[data-name=fake] .path", "mcp-server.js none");
    page.click("[data-name=fake] [data-action=approve]");
    page.click("[data-action=yesApprove]");
    page.see_text("[data-name=fake] .badge", "connected");
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
}

#[test]
fn a_server_whose_address_leads_elsewhere_than_it_shows_says_where_before_it_is_approved() {
    let site = Site::new();
    let servers = json!({"mcpServers": {
        "docs": {"type": "http", "url": "https://docs.example@evil.example/mcp"},
        "look": {"type": "http", "url": "https://g\u{43e}ogle.example/mcp"},
        "plain": {"type": "http", "url": "https://docs.example:8443/mcp"},
    }});
    fs::write(site.home.project().join(".mcp.json"), servers.to_string()).unwrap();
    let page = site.page(&["admin"], DESKTOP);
    page.goto(&format!("http://{}/#/servers", site.gate.address()));
    page.fill("input[list=folders]", site.home.project().to_str().unwrap());
    page.press("Tab");
    page.see_text("[data-name=docs] .leads", "leads to evil.example, which is not what it shows");
    page.see_text("[data-name=look] .leads", "leads to xn--");
    page.see_text("[data-name=look] .path", "g\u{27e8}U+043E\u{27e9}ogle.example");
    page.see_text("[data-name=plain] .path", "https://docs.example:8443/mcp");
    assert_eq!(page.count("[data-name=plain] .leads"), 0);
    assert_eq!(page.problems(), [""; 0]);
}

#[test]
fn someone_signs_in_to_a_server_from_the_page() {
    let site = Site::new();
    let guarded = Guarded::start(&site.home);
    let page = site.page(&["admin"], DESKTOP);
    page.goto(&format!("http://{}/#/servers", site.gate.address()));
    page.fill("input[list=folders]", site.home.project().to_str().unwrap());
    page.press("Tab");
    page.see_text("[data-name=guarded] .badge", "needs sign-in");
    page.click("[data-name=guarded] [data-action=signIn]");
    page.see("[data-name=guarded] a[href*=code_challenge]");
    let address = page.run("document.querySelector('[data-name=guarded] a[href*=code_challenge]').href");
    guarded.agree(&site.home, address.as_str().unwrap());
    // The token is fetched after the browser was answered.
    until("the sign-in counts", || {
        page.click("[data-action=lookAgain]");
        let badge = page.run("document.querySelector('[data-name=guarded] .badge')?.textContent");
        (badge == "connected").then_some(())
    });
}

#[test]
fn a_server_is_approved_on_the_page_of_a_gate_that_a_session_started() {
    let home = Home::new();
    // It starts the gate, and so the gate's parent is gone.
    let session = StandIn::start(&home, &["--label", "api"]);
    home.wait_for_gate();
    home.attached(1);
    let server = json!({"mcpServers": {"fake": {"command": "/nowhere/at-all"}}});
    fs::write(home.project().join(".mcp.json"), server.to_string()).unwrap();
    let gate = home.listening();
    let folder = home.project().display().to_string();
    let path = format!("/api/v1/mcp/servers?folder={folder}");
    let listed = || Request::get(&path).token(home.token()).send(&gate).expect(200).json()[0].clone();
    let hash = listed()["hash"].clone();
    let named = json!({"folder": folder, "name": "fake", "hash": hash});
    Request::post("/api/v1/mcp/servers/approve").token(home.token()).json(&named).send(&gate).expect(200);
    assert_eq!(listed()["state"], "failed", "it may be started, and there is no such program");
    drop(session);
}

#[test]
fn who_looks_at_the_servers_of_a_folder_leaves_no_session_behind() {
    let site = Site::new();
    let ours = json!({"mcpServers": {"gate": {"command": env!("CARGO_BIN_EXE_portcullis"), "args": ["channel"]}}});
    fs::write(site.home.user().join(".claude.json"), ours.to_string()).unwrap();
    let path = format!("/api/v1/mcp/servers?folder={}", site.home.project().display());
    let servers = site.gate.get(&path).expect(200).json();
    assert_eq!(servers[0]["state"], "connected", "{servers}");
    assert_eq!(site.home.records("attached"), [""; 0]);
}

#[test]
fn a_call_of_an_mcp_tool_shows_its_server_and_arguments_and_they_are_changed_in_a_form() {
    let model = Model::start(vec![
        Rule::on_text("go").call("mcp__everything__echo", json!({"message": "<b>one</b>", "extra": {"n": 5}})).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let site = Site::with(&model);
    let everything = std::env::var("PORTCULLIS_TEST_EVERYTHING").expect("run ./check peers");
    let node = std::env::var("PORTCULLIS_TEST_NODE").expect("run ./check peers");
    let servers = json!({"mcpServers": {"everything": {"command": node, "args": [everything, "stdio"]}}});
    fs::write(site.home.user().join(".claude.json"), servers.to_string()).unwrap();
    let page = site.page(&[], DESKTOP);
    site.go();
    page.see_text(".prompt .mcp", "everything");
    page.see_text(".prompt .arguments", "<b>one</b>");
    page.see_text(".prompt .arguments .code", "\"n\": 5");
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
    page.click(".prompt summary >> text=More answers");
    page.click("[data-action=edit]");
    page.fill(".more label:has-text(\"extra\") textarea", "{");
    page.click(".more [data-action=allow]");
    page.see_text(".more .warning", "no valid JSON");
    page.fill(".more label:has-text(\"extra\") textarea", "{}");
    page.fill(".more label:has-text(\"message\") textarea", "two");
    page.click(".more [data-action=allow]");
    page.click("[data-action=yesAllow]");
    model.wait_for_turn("Echo: two");
}
