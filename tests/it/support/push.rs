//! A push service: the npm peer `web-push-testing`, which checks who signed a push, decrypts it and keeps what it said.

use super::PATIENCE;
use super::child::{Child, Stdin};
use super::claude::installed;
use super::connection::Target;
use super::gate::Gate;
use super::home::Home;
use super::http::Request;
use serde_json::{Value, json};
use std::net::TcpListener;

pub(crate) struct PushPeer {
    _child: Child,
    target: Target,
}

impl PushPeer {
    /// Lets the gate of this home push to this machine, too, and starts the service.
    pub(crate) fn start(home: &Home) -> Self {
        home.fix("PORTCULLIS_TEST_PUSH_HERE", 1);
        let server = installed("node_modules/web-push-testing/src/bin/server.js");
        // A port that was free a moment ago may be taken by now.
        for _ in 0..10 {
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let mut node = home.program("node");
            node.arg(&server).arg(address.port().to_string());
            let child = home.spawn(node, Stdin::Nothing);
            let said = child.line(PATIENCE, |line| line.contains("running on port") || line.contains("EADDRINUSE"));
            if said.contains("running") {
                return Self { _child: child, target: Target::Tcp(address) };
            }
        }
        panic!("no free port for the push service");
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = Request::post(path).json(body).send(&self.target).expect(200);
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }

    /// What `pushManager.subscribe()` of a browser gives, for the key of a gate.
    #[track_caller]
    pub(crate) fn subscription(&self, public_key: &str) -> Value {
        let options = json!({"userVisibleOnly": "true", "applicationServerKey": public_key});
        self.post("/subscribe", &options)["data"].clone()
    }

    /// What was pushed, decrypted.
    #[track_caller]
    pub(crate) fn pushed(&self, subscription: &Value) -> Vec<String> {
        let got = self.post("/get-notifications", &json!({"clientHash": subscription["clientHash"]}));
        serde_json::from_value(got["data"]["messages"].clone()).unwrap()
    }

    /// The browser has gone: from now on the service answers 410.
    #[track_caller]
    pub(crate) fn expire(&self, subscription: &Value) {
        let path = format!("/expire-subscription/{}", subscription["clientHash"].as_str().unwrap());
        self.post(&path, &json!({}));
    }
}

/// A browser that was linked to the gate: its id and its key.
#[track_caller]
pub(crate) fn linked_device(gate: &Gate) -> (String, String) {
    let link = gate.post("/api/v1/devices/links", &json!({})).expect(200).json()["secret"].clone();
    let made = Request::post("/api/v1/devices").json(&json!({"link": link, "name": "a phone"}));
    let made = made.send(&gate.target()).expect(200).json();
    (made["id"].as_str().unwrap().to_owned(), made["key"].as_str().unwrap().to_owned())
}
