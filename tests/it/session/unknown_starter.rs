//! A gate that an agent starts or leaves behind takes nothing from it, and whoever asks for an agent above changes nothing.

use crate::support::child::Stdin;
use crate::support::home::{Home, Ran};
use crate::support::http::Request;
use crate::support::seen::{PATIENCE, until};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A program in the place of Claude Code that writes down where it ran.
fn stand_in(home: &Home, name: &str) -> PathBuf {
    let program = home.user().join(name);
    let ran = home.user().join(format!("{name}-ran"));
    fs::write(&program, format!("#!/bin/sh\npwd > {}.part; mv {0}.part {0}\nexit 1\n", ran.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// Starts a session over the API. Returns where the program of the configuration ran, if the other one did not.
fn where_a_session_runs(home: &Home) -> String {
    let token = fs::read_to_string(home.folder().join("owner.token")).unwrap();
    Request::post("/api/v1/sessions").token(token.trim()).json(&json!({"prompt": "go"})).send(&home.listening());
    let ran = |name: &str| home.user().join(name);
    let text = until("Claude Code was started", || {
        assert!(!ran("evil-ran").exists(), "the program that an agent chose has run");
        fs::read_to_string(ran("good-ran")).ok()
    });
    text.trim().to_owned()
}

const SERVED: &str =
    "until [ -S $PORTCULLIS_HOME/gate.sock ]; do [ -d $PORTCULLIS_HOME ] || exit; sleep 0.01; done; true";

#[test]
fn a_gate_whose_starter_nobody_knows_takes_no_setting_from_its_environment() {
    let home = Home::new();
    let (good, evil) = (stand_in(&home, "good"), stand_in(&home, "evil"));
    home.write_config(&format!("claude = {good:?}\nlisten = \"127.0.0.1:0\"\n"));
    let gate = home.serve();
    home.had_a_session();
    gate.stop();
    fs::create_dir(home.project().join("elsewhere")).unwrap();
    let settings =
        format!("PORTCULLIS_TOKEN=chosen-by-an-agent PORTCULLIS_LISTEN=off PORTCULLIS_CLAUDE={}", evil.display());
    let gate = format!("(cd elsewhere; exec env {settings} setsid $P serve >../gate.err 2>&1) & {SERVED}");
    home.left_behind(&gate);
    let status = |token: &str| Request::get("/api/v1/status").token(token).send(&home.listening()).status;
    let token = fs::read_to_string(home.folder().join("owner.token")).unwrap();
    assert_eq!((status("chosen-by-an-agent"), status(token.trim())), (401, 200));
    let said = fs::read_to_string(home.project().join("gate.err")).unwrap();
    for name in ["PORTCULLIS_TOKEN", "PORTCULLIS_LISTEN", "PORTCULLIS_CLAUDE"] {
        assert!(said.contains(name), "{said}");
    }
    assert!(!said.contains("chosen-by-an-agent"), "{said}");
    assert_eq!(where_a_session_runs(&home), home.project().display().to_string(), "where a person had started one");
}

#[test]
fn a_gate_that_is_left_behind_as_if_for_a_session_takes_no_token() {
    let home = Home::new();
    home.write_config("listen = \"127.0.0.1:0\"\n");
    let gate = home.serve();
    home.had_a_session();
    gate.stop();
    home.left_behind(&format!("(exec setsid $P serve --auto-started >gate.err 2>&1) & {SERVED}"));
    let status = |token: &str| Request::get("/api/v1/status").token(token).send(&home.listening()).status;
    let token = fs::read_to_string(home.folder().join("owner.token")).unwrap();
    assert_eq!((status(home.token()), status(token.trim())), (401, 200));
}

#[test]
fn a_session_that_an_agents_gate_starts_later_gets_nothing_that_the_agent_has_set() {
    let home = Home::new();
    let (good, evil) = (stand_in(&home, "good"), stand_in(&home, "evil"));
    home.write_config(&format!("claude = {good:?}\n[start]\nfolders = [{:?}]\n", home.project()));
    let claude = home.user().join("claude");
    fs::copy("/bin/sh", &claude).unwrap();
    let mut agent = home.program(&claude);
    let program = home.command(&[]).get_program().display().to_string();
    let line = format!("PORTCULLIS_CLAUDE={} {program} serve --auto-started >gate.err 2>&1 & {SERVED}", evil.display());
    agent.args(["-c", &line]);
    Ran::of(&home.spawn(agent, Stdin::Nothing), PATIENCE).ok();
    assert_eq!(where_a_session_runs(&home), home.project().display().to_string());
}

/// The journal, and what lies beside it.
fn journal(home: &Home) -> BTreeMap<String, Vec<u8>> {
    home.files().into_iter().filter(|(name, _)| name.starts_with("journal")).collect()
}

#[test]
fn to_ask_whether_an_agent_is_around_changes_nothing_in_the_journal() {
    let home = Home::new();
    let gate = home.serve();
    home.had_a_session();
    gate.kill_9();
    let before = journal(&home);
    assert!(before.contains_key("journal.db-wal"), "{:?}", before.keys());
    // Whoever sits at a terminal is nobody's orphan: no journal need tell who may have left them behind.
    home.run(&["rules", "add", "deny", "Bash(evil *)"]).ok();
    assert!(journal(&home) == before, "it was opened for a command of a person");

    // An editor of which nobody knows who has started it.
    let pid = home.left_behind("mkfifo held; (exec 3<>held; exec $P acp <&3) 2>acp.err & echo $!");
    let pid = pid.lines().next().unwrap();
    let doctor = home.run(&["doctor"]).stdout;
    assert!(doctor.contains(&format!("portcullis acp trust {pid}")), "{doctor}");
    assert!(journal(&home) == before, "doctor has opened it");

    // One that an older release wrote is upgraded by the gate that uses it, and by nobody who is refused.
    let file = home.folder().join("journal.db");
    let mut older = fs::read(&file).unwrap();
    older[63] = 2;
    fs::write(&file, older).unwrap();
    let before = journal(&home);
    let said = home.left_behind("$P rules add allow Bash");
    assert!(said.contains("its parent process is gone"), "{said}");
    assert!(journal(&home) == before, "{:?}", journal(&home).keys());
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_gate_is_given_as_the_first_process_of_a_container_is_not_what_it_has_started() {
    let home = Home::new();
    let gate = home.serve();
    home.had_a_session();
    gate.stop();
    let program = home.command(&[]).get_program().display().to_string();
    let line =
        format!("({SERVED}; exec {program} rules add allow Bash) >out 2>&1 & exec {program} serve >gate.err 2>&1");
    let mut container = home.program("unshare");
    container.args(["-Urpfm", "--mount-proc", "sh", "-c", &line]);
    let _container = home.spawn(container, Stdin::Nothing);
    let out = home.project().join("out");
    let said = until("its answer", || fs::read_to_string(&out).ok().filter(|text| text.contains('\n')));
    assert!(said.contains("its parent process is gone"), "{said}");
}
