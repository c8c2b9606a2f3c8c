//! Servers that clients of the gateway share: one process, and each client hears what is its own.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::gateway::{Client, patient, text};
use super::gateway_http::{HttpClient, host_of};
use super::{clone_with, configure, fake};
use crate::support::connection::Target;
use crate::support::home::Home;
use crate::support::running::is_alive;
use crate::support::until;

/// A home whose server `fake` is shared, with a file of its starts.
fn sharing() -> (Home, std::path::PathBuf) {
    let home = patient();
    home.write_config("[mcp.servers.fake]\nshared = true\n");
    let starts = home.user().join("starts");
    let mut entry = fake("asks");
    entry["env"] = json!({"STARTS": starts});
    configure(&home, &json!({"fake": entry}));
    home.run(&["rules", "add", "allow", "mcp__fake"]).ok();
    (home, starts)
}

fn started(starts: &Path) -> Vec<u32> {
    let text = fs::read_to_string(starts).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn clients_share_one_process_and_each_hears_what_is_its_own() {
    let (home, starts) = sharing();
    let gate = home.serve();
    // First, since whoever is inside a client of the gateway is given no token.
    let web = HttpClient::start(&home, &gate, "web", "/mcp");
    let can = json!({"elicitation": {}});
    let (ann, bob) = (Client::able(&home, &[], &can), Client::able(&home, &["--server", "fake"], &can));
    assert_eq!(
        (ann.tools(), bob.tools(), web.tools()),
        (vec!["fake__echo".to_owned()], vec!["echo".to_owned()], vec!["fake__echo".to_owned()])
    );
    let [server] = started(&starts)[..] else { panic!("{:?}", started(&starts)) };

    // Both call under the same id; each is asked its own question, and each answer counts for its own call.
    let question = |client: &Client| client.message(|message| message["method"] == "elicitation/create");
    let accept = |client: &Client, asked: &Value, word: &str| {
        client.say(
            &json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"word": word}}}),
        );
    };
    let called = ann.call("fake__echo", &json!({"do": "ask", "who": "ann"}));
    let asked = question(&ann);
    assert_eq!(asked["params"]["message"], "for ann");
    // Who was not asked answers in vain.
    accept(&bob, &asked, "stolen");
    accept(&ann, &asked, "hers");
    assert_eq!(text(&ann.answer(called)), "hers");

    // While both wait nobody knows whose question it is. It is for the one that is left.
    let waits = ann.call("fake__echo", &json!({"do": "wait"}));
    until("her call is there", || fs::read_to_string(&starts).unwrap().contains("wait").then_some(()));
    let called = bob.call("echo", &json!({"do": "ask", "who": "bob"}));
    until("his call is there", || fs::read_to_string(&starts).unwrap().contains("bob").then_some(()));
    assert_eq!(text(&web.call("fake__echo", &json!({"do": "release"})).answer()), "released");
    assert_eq!(text(&ann.answer(waits)), "waited");
    let asked = question(&bob);
    assert_eq!(asked["params"]["message"], "for bob");
    accept(&bob, &asked, "his");
    assert_eq!(text(&bob.answer(called)), "his");

    // What is logged meanwhile, and the progress of a call.
    let logged = |client: &Client| client.message(|message| message["method"] == "notifications/message");
    for (client, tool, who) in [(&ann, "fake__echo", "ann"), (&bob, "echo", "bob")] {
        let meta = json!({"progressToken": "mine"});
        let called =
            client.send("tools/call", &json!({"name": tool, "arguments": {"do": "log", "who": who}, "_meta": meta}));
        assert_eq!(logged(client)["params"]["data"], format!("of {who}"));
        let progress = client.message(|message| message["method"] == "notifications/progress");
        assert_eq!(
            (&progress["params"]["progressToken"], &progress["params"]["message"]),
            (&json!("mine"), &json!(who))
        );
        client.answer(client.call(tool, &json!({"do": "release"})));
        assert_eq!(text(&client.answer(called)), "logged");
    }

    // A call that is taken back, is at the server; the other's is not.
    let called = bob.call("echo", &json!({"do": "wait"}));
    until("it waits", || (fs::read_to_string(&starts).unwrap().matches("wait").count() == 2).then_some(()));
    bob.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": called}}));
    until("it is taken back", || fs::read_to_string(&starts).unwrap().contains("cancelled").then_some(()));

    assert_eq!(started(&starts), [server], "it was started once");
    for client in [&ann, &bob] {
        client.child.close_stdin();
    }
    assert!(is_alive(server), "one client is left");
    web.request("DELETE").send(&web.target).expect(202);
    until("it ended with its last client", || (!is_alive(server)).then_some(()));
}

#[test]
fn a_shared_server_is_started_again_when_it_or_its_holder_was_killed() {
    let (home, starts) = sharing();
    let gate = home.serve();
    let client = Client::start(&home, &[]);
    let works =
        || (text(&client.answer(client.call("fake__echo", &json!({"n": 1})))) == r#"echo {"n":1}"#).then_some(());
    works().unwrap();
    let first = started(&starts)[0];
    kill(first);
    until("it works again", works);
    let second = *started(&starts).last().unwrap();
    assert_ne!(first, second);
    kill(host_of(gate.pid()));
    until("its server went with it", || (!is_alive(second)).then_some(()));
    until("it works again", works);
    assert_eq!(started(&starts).len(), 3);
}

#[test]
fn only_the_gateway_reaches_a_shared_server_and_a_projects_own_is_not_shared() {
    let (home, starts) = sharing();
    let _gate = home.serve();
    let client = Client::start(&home, &[]);
    client.tools();
    assert_eq!(started(&starts).len(), 1);
    // What is written past the gateway is judged by nobody.
    let Target::Unix(socket) = home.socket() else { panic!("no socket") };
    let name = format!("{}-mcp-shared.sock", socket.file_stem().unwrap().to_str().unwrap());
    let mut stream = UnixStream::connect(socket.with_file_name(name)).unwrap();
    stream.write_all(b"{\"server\":\"fake\"}\n").ok();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok();
    assert_eq!(answer, "");

    // The project's server of the same name is another one. No client is there meanwhile, or we would be inside it.
    client.child.close_stdin();
    home.attached(0);
    let mut entry = fake("none");
    entry["env"] = json!({"STARTS": starts});
    clone_with(&home, &json!({"fake": entry}));
    home.run(&["mcp", "approve", "fake"]).ok();
    let other = Client::start(&home, &[]);
    assert_eq!(text(&other.answer(other.call("fake__echo", &json!({"do": "log"})))), r#"echo {"do":"log"}"#);
    assert_eq!(started(&starts).len(), 2);
}
