//! Sockets of agents that were killed: they are removed by whoever starts next, and those of living ones are not.

use super::agent::Agent;
use super::editor::Editor;
use super::life::claude;
use crate::fakes::model::Model;
use crate::support::PATIENCE;
use crate::support::home::Home;
use crate::support::running;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

/// Those of agents, named after the process of each.
fn sockets(home: &Home) -> Vec<PathBuf> {
    let files = fs::read_dir(home.folder()).unwrap().map(|file| file.unwrap().path());
    let is_of_agent = |file: &PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let agent = name.strip_prefix("gate-").and_then(|name| name.strip_suffix(".sock"));
        agent.is_some_and(|agent| agent.parse::<u32>().is_ok())
    };
    files.filter(is_of_agent).collect()
}

#[test]
fn the_socket_of_an_agent_that_was_killed_is_removed_by_the_next_session() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn");
    let [left] = &sockets(&home)[..] else { panic!("{:?}", sockets(&home)) };
    assert_eq!(fs::metadata(left).unwrap().permissions().mode() & 0o777, 0o600);
    let agent = claude(editor.child.pid());
    let guard = running::parent_of(&agent);
    editor.child.kill_9();
    running::wait_gone(&[agent, guard], PATIENCE);
    assert!(left.exists(), "nobody was left who could remove it");
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn");
    let there = sockets(&home);
    assert!(there.len() == 1 && there[0] != *left, "{there:?}");
}

#[test]
fn a_gate_that_starts_removes_sockets_of_agents_that_are_gone_and_leaves_the_others() {
    let home = Home::new();
    let socket = |agent: u32| home.folder().join(format!("gate-{agent}.sock"));
    // No system gives a process such a number.
    let (gone, lives) = (socket(999_999_999), socket(std::process::id()));
    drop(UnixListener::bind(&gone).unwrap());
    let _listener = UnixListener::bind(&lives).unwrap();
    let _gate = home.serve();
    assert!(!gone.exists() && lives.exists());
}
