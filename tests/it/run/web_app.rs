//! `examples/web-app`: its back end on the real gate, with the real CLI behind it. This test is the browser.

use super::api::serve;
use crate::support::child::{Child, Stdin};
use crate::support::connection::Target;
use crate::support::driven::shell;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::sse::Events;
use crate::support::{PATIENCE, until};
use serde_json::{Value, json};

fn start(home: &Home, gate: &Gate) -> (Child, Target) {
    let mut node = home.program("node");
    node.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/web-app/server.mjs"));
    node.env("GATE_URL", format!("http://{}", gate.address())).env("GATE_TOKEN", home.token()).env("PORT", "0");
    let child = home.spawn(node, Stdin::Nothing);
    let address = child.line(PATIENCE, |line| line.starts_with("http://"));
    let target = Target::Tcp(address.trim_start_matches("http://").parse().unwrap());
    (child, target)
}

#[test]
fn the_web_app_chats_shows_prompts_and_answers_them() {
    let home = Home::new();
    let model = shell(&["touch made.txt && echo made"]);
    let gate = serve(&home, &model, "");
    let (_node, app) = start(&home, &gate);
    let prompt = json!({"prompt": "go", "permissionMode": "default"});
    let stream = Events::post(&app, "/chat", "the page has no token", &prompt);
    let pending = until("a pending prompt", || {
        let answer = Request::get("/pending").send(&app).expect(200).json();
        answer["pending"].as_array()?.first().cloned()
    });
    assert_eq!(pending["input"]["command"], "touch made.txt && echo made");
    let confirm = |approved: bool| {
        let body = json!({"id": pending["id"], "approved": approved});
        Request::post("/confirm").json(&body).send(&app).expect(200).json()
    };
    assert_eq!(confirm(true), json!({"success": true}));
    assert_eq!(confirm(false), json!({"success": false}), "the first answer counts");
    let last = stream.wait_for(|event| event.data.contains("\"type\":\"result\""));
    assert!(last.data.contains("done: made"), "{}", last.data);
    assert!(home.project().join("made.txt").exists());

    // A mode of another name is refused by the gate, and the page is told.
    let wrong = Request::post("/chat").json(&json!({"prompt": "go", "permissionMode": "yolo"})).send(&app).expect(400);
    assert!(wrong.json()["message"].as_str().unwrap().contains("acceptEdits"), "{wrong}");
}

#[test]
fn the_web_app_serves_its_own_page_alone_and_never_the_token() {
    let home = Home::new();
    let gate = home.serve();
    let (_node, app) = start(&home, &gate);
    for path in ["/", "/page.js", "/page.css"] {
        let answer = Request::get(path).send(&app).expect(200);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
        assert!(!answer.text().contains(home.token()) && !answer.text().contains("innerHTML"), "{path}");
    }
    for (name, value) in [
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Host", "evil.example"),
    ] {
        for request in [Request::get("/pending"), Request::post("/confirm").json(&json!({"id": "x", "approved": true}))]
        {
            request.header(name, value).send(&app).expect(403);
        }
    }
    let nobody: Value = Request::get("/pending").send(&app).expect(200).json();
    assert_eq!(nobody, json!({"pending": []}));
    for path in ["/server.mjs", "/../server.mjs", "/api/v1/status"] {
        Request::get(path).send(&app).expect(404);
    }
    gate.stop();
    let away = Request::get("/pending").send(&app).expect(502).json();
    assert!(away["message"].as_str().unwrap().contains("portcullis up"), "{away}");
}
