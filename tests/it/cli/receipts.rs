//! What `uninstall` knows by the receipt: whose each line is, whatever happened to the files meanwhile.

use super::install::{copy, deny_pushes, entry, own_settings, read, server_file, servers};
use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::home::{Home, Ran};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

#[test]
fn a_rule_that_was_there_stays_although_install_wants_the_same() {
    let home = Home::new();
    deny_pushes(&home);
    let theirs = "{\"permissions\":{\"deny\":[\"Bash(git push *)\"],\"ask\":[\"Bash(git push *)\"],\"allow\":[\"mcp__portcullis__reply\"]}}";
    fs::create_dir_all(home.project().join(".claude")).unwrap();
    fs::write(own_settings(&home), theirs).unwrap();
    home.run(&["install", "--hooks", "--yes"]).ok();
    // An answer for always, given meanwhile.
    let mut settings = read(&own_settings(&home));
    settings["permissions"]["allow"].as_array_mut().unwrap().push(json!("Bash(npm test)"));
    fs::write(own_settings(&home), settings.to_string()).unwrap();
    home.run(&["uninstall", "--yes"]).ok();
    let left = json!({"permissions": {
        "deny": ["Bash(git push *)"], "ask": ["Bash(git push *)"], "allow": ["mcp__portcullis__reply", "Bash(npm test)"],
    }});
    assert_eq!(read(&own_settings(&home)), left);

    fs::write(own_settings(&home), theirs).unwrap();
    home.run(&["install", "--hooks", "--yes"]).ok();
    home.run(&["uninstall", "--yes"]).ok();
    assert_eq!(fs::read_to_string(own_settings(&home)).unwrap(), theirs);
}

/// What release 0.1 wrote by default: hooks and the server in files that others pull, and its receipt.
fn install_as_release_0_1(home: &Home, deny: &str) {
    let program = copy(home);
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_portcullis"), &program).unwrap();
    let (shared, servers) = (home.project().join(".claude/settings.json"), home.project().join(".mcp.json"));
    let before = format!("{{\"permissions\": {{\"deny\": [{deny}]}}}}");
    let mut settings: Value = serde_json::from_str(
        &include_str!("../fakes/settings-version-1.json").replace("PROGRAM", program.to_str().unwrap()),
    )
    .unwrap();
    let (rules, hooks) = (settings["permissions"]["allow"].take(), settings["hooks"].take());
    let deny_added = format!("{}\"mcp__portcullis__hook\"", if deny.is_empty() { "" } else { ", " });
    let allow = format!(", \"allow\": {rules}");
    let tail = format!(", \"hooks\": {hooks}");
    let after = format!("{{\"permissions\": {{\"deny\": [{deny}{deny_added}]{allow}}}{tail}}}");
    fs::create_dir_all(shared.parent().unwrap()).unwrap();
    fs::write(&shared, after).unwrap();
    let server = format!("{{\"mcpServers\": {{\"portcullis\": {}}}}}", entry(home, &["channel"]));
    fs::write(&servers, &server).unwrap();
    let patch = |put: &str| json!({"put": put, "instead_of": ""});
    let receipts = json!([
        {"file": servers.canonicalize().unwrap(), "name": "portcullis", "made_file": true, "made_servers": true, "patch": patch(&server)},
        {"file": shared.canonicalize().unwrap(), "name": "portcullis", "made_file": false, "made_servers": false,
         "patches": [patch(&allow), patch(&deny_added), patch(&tail)], "rules": ["Bash(git push *)"]},
    ]);
    fs::write(home.folder().join("installed.json"), receipts.to_string()).unwrap();
    assert_eq!(before.len() + allow.len() + deny_added.len() + tail.len(), fs::read_to_string(&shared).unwrap().len());
}

#[test]
fn a_receipt_of_the_previous_release_is_understood() {
    let home = Home::new();
    install_as_release_0_1(&home, "\"Bash(git push *)\"");
    home.run(&["uninstall", "--yes", "--scope", "project"]).ok();
    let left = fs::read_to_string(home.project().join(".claude/settings.json")).unwrap();
    assert_eq!(left, "{\"permissions\": {\"deny\": [\"Bash(git push *)\"]}}");
    assert!(!home.project().join(".mcp.json").exists());
    assert!(!home.folder().join("installed.json").exists());
}

#[test]
fn what_the_previous_release_shared_is_moved_by_the_next_install() {
    let home = Home::new();
    install_as_release_0_1(&home, "\"Bash(git push *)\"");
    let ran = home.run(&["install", "--hooks", "--yes"]).ok();
    assert!(ran.stdout.contains("is moved: it names a path of this machine"), "{}", ran.stdout);
    let left = fs::read_to_string(home.project().join(".claude/settings.json")).unwrap();
    assert_eq!(left, "{\"permissions\": {\"deny\": [\"Bash(git push *)\"]}}");
    assert!(!home.project().join(".mcp.json").exists());
    assert_eq!(read(&own_settings(&home))["hooks"].as_object().unwrap().len(), 13);
    home.run(&["uninstall", "--yes"]).ok();
    assert!(!own_settings(&home).exists() && !server_file(&home).exists());
}

#[test]
fn without_its_receipt_hooks_and_server_are_removed_and_rules_stay() {
    let home = Home::new();
    home.run(&["install", "--hooks", "--yes"]).ok();
    fs::remove_file(home.folder().join("installed.json")).unwrap();
    home.run(&["uninstall", "--yes"]).ok();
    let left = read(&own_settings(&home));
    assert!(left["hooks"].is_null() && left["permissions"]["deny"] == json!(["mcp__portcullis__hook"]), "{left}");
    assert!(servers(&home)["portcullis"].is_null());
}

#[test]
fn hooks_are_removed_also_from_rewritten_settings() {
    let home = Home::new();
    home.run(&["install", "--hooks", "--yes"]).ok();
    let mut installed = read(&own_settings(&home));
    installed["permissions"]["allow"].as_array_mut().unwrap().push(json!("Bash(ls)"));
    fs::write(own_settings(&home), installed.to_string()).unwrap();
    home.run(&["uninstall", "--yes"]).ok();
    assert_eq!(read(&own_settings(&home)), json!({"permissions": {"allow": ["Bash(ls)"]}}));
}

/// Runs the command in each of these folders, all at once.
#[track_caller]
fn in_all(home: &Home, folders: &[PathBuf], args: &[&str]) {
    let runs: Vec<_> = folders
        .iter()
        .map(|folder| {
            let mut command = home.command(args);
            command.current_dir(folder);
            home.spawn(command, Stdin::Nothing)
        })
        .collect();
    for run in &runs {
        Ran::of(run, PATIENCE * 3).ok();
    }
}

#[test]
fn what_is_installed_at_the_same_time_is_taken_back_byte_for_byte() {
    const SETTINGS: &str = "{\"permissions\":{\"deny\":[\"Read(.env)\"],\"allow\":[\"Bash(ls)\"]}}\n";
    let home = Home::new();
    deny_pushes(&home);
    // There from the start, so that none has to wait for the copy of another.
    home.run(&["install", "--yes"]).ok();
    home.run(&["uninstall", "--yes"]).ok();
    fs::write(server_file(&home), "{\"a\":1}").unwrap();
    let projects: Vec<PathBuf> = (0..4).map(|number| home.user().join(format!("project-{number}"))).collect();
    let settings = |project: &PathBuf| project.join(".claude/settings.local.json");
    for project in &projects {
        fs::create_dir_all(project.join(".claude")).unwrap();
        fs::write(settings(project), SETTINGS).unwrap();
    }
    // The same project twice as well.
    let twice = [&projects[..], &projects[..2]].concat();
    for round in 0..2 {
        in_all(&home, &twice, &["install", "--hooks", "--yes"]);
        let registered = read(&server_file(&home))["projects"].clone();
        for project in &projects {
            let server = &registered[project.to_str().unwrap()]["mcpServers"]["portcullis"];
            assert_eq!(*server, entry(&home, &["channel"]), "round {round}: {}", project.display());
        }
        in_all(&home, &twice, &["uninstall", "--yes"]);
        for project in &projects {
            assert_eq!(fs::read_to_string(settings(project)).unwrap(), SETTINGS, "round {round}");
        }
        assert_eq!(fs::read_to_string(server_file(&home)).unwrap(), "{\"a\":1}", "round {round}");
    }
}

#[test]
fn an_install_waits_for_another_and_says_so() {
    let home = Home::new();
    home.run(&["install", "--yes"]).ok();
    let lock = fs::File::options().write(true).open(home.folder().join("install.lock")).unwrap();
    lock.lock().unwrap();
    let waiting = home.spawn(home.command(&["install", "--hooks", "--yes"]), Stdin::Nothing);
    waiting.complaint("waiting for another `portcullis install`");
    assert!(!own_settings(&home).exists());
    lock.unlock().unwrap();
    Ran::of(&waiting, PATIENCE).ok();
    assert!(own_settings(&home).exists());
}

#[test]
fn a_project_that_was_moved_is_taken_out_under_its_earlier_name() {
    let home = Home::new();
    let (before, after) = (home.user().join("before"), home.user().join("after"));
    fs::create_dir_all(&before).unwrap();
    fs::write(server_file(&home), "{\"a\":1}").unwrap();
    in_all(&home, std::slice::from_ref(&before), &["install", "--hooks", "--yes"]);
    fs::rename(&before, &after).unwrap();
    let mut command = home.command(&["uninstall", "--yes"]);
    command.current_dir(&after);
    let ran = Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE).ok();
    assert!(ran.stdout.contains("/before, which is no longer there"), "{}", ran.stdout);
    assert_eq!(fs::read_to_string(server_file(&home)).unwrap(), "{\"a\":1}");
}
