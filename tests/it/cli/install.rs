//! Getting in and out of Claude Code's configuration: shown first, asked for, and gone without a trace.

use crate::fakes::model::Model;
use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::claude::Claude;
use crate::support::home::{Home, Ran};
use crate::support::standin::StandIn;
use crate::support::terminal::Terminal;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where the server is registered, whatever the scope.
fn server_file(home: &Home) -> PathBuf {
    home.user().join(".claude.json")
}

/// The servers of this project for this user alone.
fn servers(home: &Home) -> Value {
    read(&server_file(home))["projects"][home.project().to_str().unwrap()]["mcpServers"].clone()
}

fn own_settings(home: &Home) -> PathBuf {
    home.project().join(".claude/settings.local.json")
}

/// Where a program that will not stay is copied to.
fn copy(home: &Home) -> PathBuf {
    home.user().join(".local/bin/portcullis")
}

fn entry(home: &Home, args: &[&str]) -> Value {
    json!({"type": "stdio", "command": copy(home), "args": args})
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[track_caller]
fn claude(home: &Home, words: &[&str]) -> Ran {
    let model = Model::start(Vec::new());
    let mut command = Claude::command(home, &model);
    command.args(words);
    Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE * 3).ok()
}

#[test]
fn without_a_terminal_the_change_is_shown_and_not_made() {
    let home = Home::new();
    let ran = home.run(&["install", "--diff"]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(ran.stdout.contains("          \"args\": [\"channel\"]\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("hint: look at the change above; add --yes"), "{}", ran.stderr);
    assert!(!server_file(&home).exists() && !copy(&home).exists());
}

#[test]
fn a_change_in_a_file_of_one_line_is_shown_over_several() {
    let home = Home::new();
    fs::create_dir_all(own_settings(&home).parent().unwrap()).unwrap();
    fs::write(own_settings(&home), r#"{"model": "opus"}"#).unwrap();
    let shown = home.run(&["install", "--hooks", "--diff"]).stdout;
    let longest = shown.lines().map(str::len).max().unwrap();
    assert!(longest < 300, "{shown}");
    assert!(shown.lines().any(|line| line.trim_start_matches('+').trim() == "\"type\": \"mcp_tool\","), "{shown}");
}

#[test]
fn at_a_terminal_install_asks_first_and_no_changes_nothing() {
    for (answer, code, made) in [("n", 1, false), ("", 1, false), ("y", 0, true)] {
        let home = Home::new();
        let mut terminal = Terminal::start(home.command(&["install"]));
        let shown = terminal.until("[y/N] ");
        assert!(shown.contains("1 file:") && shown.contains(".claude.json: new, the server"), "{shown}");
        terminal.type_line(answer);
        assert_eq!(terminal.wait().code(), Some(code), "{answer:?}");
        assert_eq!(server_file(&home).exists(), made, "{answer:?}");
    }
}

#[test]
fn install_registers_a_stable_path_and_a_second_install_changes_nothing() {
    let home = Home::new();
    let ran = home.run(&["install", "--yes", "--label", "api"]).ok();
    assert!(ran.stdout.contains("lies in a build folder, so it is copied to"), "{}", ran.stdout);
    let wanted = json!({"portcullis": entry(&home, &["channel", "--label", "api"])});
    assert_eq!(servers(&home), wanted);
    let version = Ran::of(&home.spawn(home.program(copy(&home)), Stdin::Nothing), PATIENCE);
    assert!(version.stderr.contains("Usage: portcullis"), "the copy runs: {version:?}");

    let before = fs::metadata(server_file(&home)).unwrap().modified().unwrap();
    let ran = home.run(&["install", "--yes", "--label", "api"]).ok();
    assert!(ran.stdout.contains("nothing to change"), "{}", ran.stdout);
    assert_eq!(fs::metadata(server_file(&home)).unwrap().modified().unwrap(), before);

    home.run(&["install", "--yes", "--label", "web"]).ok();
    let wanted = json!({"portcullis": entry(&home, &["channel", "--label", "web"])});
    assert_eq!(servers(&home), wanted);
    home.run(&["uninstall", "--yes"]).ok();
    assert!(!server_file(&home).exists(), "install made the file, and it held nothing else");
}

#[test]
fn uninstall_keeps_what_the_user_wrote_byte_for_byte() {
    let files = [
        "",
        "{}",
        "{ }\n",
        "{\n  \"mcpServers\": {\n  }\n}\n",
        "{\"mcpServers\":{\"x\":{\"command\":\"y\"}}}",
        "{\n\t\"mcpServers\": {\n\t\t\"x\": {\"command\":   \"y\"}\n\t},\n\t\"other\": [1,\n2]\n}",
        "{\r\n    \"other\": null\r\n}\r\n",
        "\u{feff}// mine\n{\n  // here\n  \"mcpServers\": {\n    \"x\": {}, // and here\n  },\n}\n",
    ];
    for before in files {
        let home = Home::new();
        fs::write(server_file(&home), before).unwrap();
        fs::set_permissions(server_file(&home), fs::Permissions::from_mode(0o640)).unwrap();
        home.run(&["install", "--yes", "--scope", "user"]).ok();
        assert_ne!(fs::read_to_string(server_file(&home)).unwrap(), before);
        home.run(&["install", "--yes"]).ok();
        home.run(&["install", "--yes", "--label", "other"]).ok();
        home.run(&["uninstall", "--yes"]).ok();
        home.run(&["uninstall", "--yes", "--scope", "user"]).ok();
        assert_eq!(fs::read_to_string(server_file(&home)).unwrap(), before);
        assert_eq!(fs::metadata(server_file(&home)).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(!home.folder().join("installed.json").exists(), "no receipt is left");
        let names = fs::read_dir(home.user()).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<_> = names.filter(|name| name != ".local").collect();
        assert_eq!(names, [".claude.json"], "no draft is left");
    }
}

#[test]
fn uninstall_keeps_what_others_wrote_since_the_install() {
    let home = Home::new();
    home.run(&["install", "--yes"]).ok();
    let text = fs::read_to_string(server_file(&home)).unwrap();
    fs::write(server_file(&home), text.replacen("{\n", "{\n  \"mine\": true,\n", 1)).unwrap();
    home.run(&["uninstall", "--yes"]).ok();
    assert_eq!(read(&server_file(&home)), json!({"mine": true}));
}

#[test]
fn uninstall_names_the_sessions_that_lose_their_hooks() {
    let home = Home::new();
    let _gate = home.serve();
    let ended = "the connection ends with the session.\n";
    home.run(&["install", "--hooks", "--yes"]).ok();
    assert!(!home.run(&["uninstall", "--yes"]).ok().stdout.contains("Still running"), "nobody is there");
    let _here = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    let mut elsewhere = StandIn::command_under_an_agent(&home, &["--label", "web"]);
    elsewhere.env("CLAUDE_PROJECT_DIR", home.user());
    let _elsewhere = StandIn::start_command(&home, elsewhere);
    home.attached(2);
    home.run(&["install", "--hooks", "--yes"]).ok();
    let said = home.run(&["uninstall", "--yes"]).ok().stdout;
    assert!(said.contains("Still running: api. Within seconds") && said.contains(ended), "{said}");
    home.run(&["install", "--hooks", "--yes", "--scope", "user"]).ok();
    let said = home.run(&["uninstall", "--yes", "--scope", "user"]).ok().stdout;
    assert!(said.contains("Still running: api, web. "), "{said}");
}

#[test]
fn a_foreign_entry_is_overwritten_only_when_forced() {
    let home = Home::new();
    let theirs = "{\"mcpServers\": {\"portcullis\": {\"command\": \"node\", \"args\": [\"server.js\"]}}}\n";
    fs::write(server_file(&home), theirs).unwrap();
    for word in ["install", "uninstall"] {
        let ran = home.run(&[word, "--yes", "--scope", "user"]);
        assert_eq!(ran.status.code(), Some(1));
        assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
        assert_eq!(fs::read_to_string(server_file(&home)).unwrap(), theirs);
    }
    home.run(&["install", "--yes", "--scope", "user", "--name", "gate"]).ok();
    assert_eq!(read(&server_file(&home))["mcpServers"]["gate"], entry(&home, &["channel"]));
    home.run(&["install", "--yes", "--scope", "user", "--force"]).ok();
    assert_eq!(read(&server_file(&home))["mcpServers"]["portcullis"], entry(&home, &["channel"]));
}

#[test]
fn invalid_json_is_refused_with_its_line() {
    let home = Home::new();
    let broken = "{\n  \"mcpServers\": {\n    oops\n  }\n}\n";
    fs::write(server_file(&home), broken).unwrap();
    let ran = home.run(&["install", "--yes", "--scope", "user"]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(ran.stderr.contains(".claude.json: line 3, column 5: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: repair the file"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(server_file(&home)).unwrap(), broken);
    assert!(!copy(&home).exists(), "nothing was done before the file was understood");
}

#[test]
fn a_symlinked_file_stays_a_symlink() {
    let home = Home::new();
    let real = home.user().join("dotfiles.json");
    fs::write(&real, "{}\n").unwrap();
    std::os::unix::fs::symlink(&real, server_file(&home)).unwrap();
    let ran = home.run(&["install", "--yes", "--scope", "user"]).ok();
    assert!(ran.stdout.contains("(a link to "), "{}", ran.stdout);
    assert_eq!(read(&real)["mcpServers"]["portcullis"], entry(&home, &["channel"]));
    assert_eq!(fs::read_link(server_file(&home)).unwrap(), real);
    home.run(&["uninstall", "--yes", "--scope", "user"]).ok();
    assert_eq!(fs::read_to_string(&real).unwrap(), "{}\n");
}

#[test]
fn the_real_cli_connects_to_what_was_installed_for_the_user() {
    let home = Home::new();
    home.run(&["install", "--yes", "--scope", "user"]).ok();
    let file = home.user().join(".claude.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let listed = claude(&home, &["mcp", "list"]).stdout;
    let want = format!("portcullis: {} channel - ✔ Connected", copy(&home).display());
    assert!(listed.contains(&want), "{listed}");

    // By now the real CLI has written the file anew, in its own way and with things of its own.
    let written = fs::read_to_string(&file).unwrap();
    assert!(written.contains("firstStartVersion"), "{written}");
    home.run(&["uninstall", "--yes", "--scope", "user"]).ok();
    let (mut before, after): (Value, Value) = (serde_json::from_str(&written).unwrap(), read(&file));
    before.as_object_mut().unwrap().remove("mcpServers");
    assert_eq!(after, before);
    assert!(!claude(&home, &["mcp", "list"]).stdout.contains("portcullis"));
}

#[test]
fn the_real_cli_finds_what_was_installed_in_a_repository_and_in_another_configuration() {
    let home = Home::new();
    // In a subfolder of a repository the CLI looks under the folder of the repository.
    let sub = home.project().join("sub");
    fs::create_dir_all(&sub).unwrap();
    fs::create_dir_all(home.project().join(".git")).unwrap();
    let mut command = home.command(&["install", "--yes", "--name", "gate"]);
    command.current_dir(&sub);
    Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE).ok();
    assert_eq!(servers(&home)["gate"], entry(&home, &["channel"]));
    let shown = claude(&home, &["mcp", "get", "gate"]).stdout;
    assert!(shown.contains("Scope: Local config") && shown.contains("Connected"), "{shown}");

    let chosen = home.user().join("chosen");
    let within = |mut command: std::process::Command, words: &[&str]| {
        command.env("CLAUDE_CONFIG_DIR", &chosen).args(words);
        Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE * 3).ok().stdout
    };
    within(home.command(&["install"]), &["--yes", "--scope", "user"]);
    assert_eq!(read(&chosen.join(".claude.json"))["mcpServers"]["portcullis"], entry(&home, &["channel"]));
    let model = Model::start(Vec::new());
    let shown = within(Claude::command(&home, &model), &["mcp", "get", "portcullis"]);
    assert!(shown.contains("Scope: User config") && shown.contains("Connected"), "{shown}");
}

const OWN: &str = "{\n  \"permissions\": {\n    \"deny\": [\"Read(.env)\"]\n  },\n  \"env\": {\"TOKEN\": \"secret-value\"},\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n    ]\n  }\n}\n";

fn deny_pushes(home: &Home) {
    fs::write(home.folder().join("rules.toml"), "[[rule]]\ndeny = \"Bash(git push *)\"\n").unwrap();
}

#[test]
fn hooks_are_installed_for_one_user_and_removed_byte_for_byte() {
    for (scope, settings) in [("local", "project/.claude/settings.local.json"), ("user", "user/.claude/settings.json")]
    {
        let home = Home::new();
        let settings = home.project().parent().unwrap().join(settings);
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        fs::write(&settings, OWN).unwrap();
        deny_pushes(&home);
        let ran = home.run(&["install", "--hooks", "--yes", "--diff", "--scope", scope]).ok();
        assert!(ran.stdout.contains("asyncRewake") && !ran.stdout.contains("secret-value"), "{}", ran.stdout);
        assert!(ran.stdout.contains("changed, 13 hooks, 5 rules"), "{}", ran.stdout);
        let installed = read(&settings);
        assert_eq!(
            installed["permissions"]["deny"],
            json!(["Read(.env)", "mcp__portcullis__hook", "Bash(git push *)"])
        );
        let allowed = ["reply", "edit_message", "inbox"].map(|tool| format!("mcp__portcullis__{tool}"));
        assert_eq!(installed["permissions"]["allow"], json!(allowed));
        assert_eq!(installed["hooks"]["Stop"].as_array().unwrap().len(), 2);
        assert!(fs::read_to_string(server_file(&home)).unwrap().contains("portcullis"));
        let again = home.run(&["install", "--hooks", "--yes", "--scope", scope]).ok();
        assert!(again.stdout.contains("nothing to change"), "{}", again.stdout);

        home.run(&["uninstall", "--yes", "--scope", scope]).ok();
        assert_eq!(fs::read_to_string(&settings).unwrap(), OWN, "{scope}");
        assert!(!server_file(&home).exists(), "{scope}");
    }
}

#[test]
fn files_that_others_pull_get_no_path_of_this_machine() {
    let home = Home::new();
    let run = |words: &[&str]| {
        let mut command = home.program("git");
        command.args(["-c", "user.name=ann", "-c", "user.email=ann@example.org"]).args(words);
        Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE).ok();
    };
    let shared = home.project().join(".claude/settings.json");
    fs::create_dir_all(shared.parent().unwrap()).unwrap();
    fs::write(&shared, OWN).unwrap();
    fs::write(home.project().join(".gitignore"), "*.local.json\n").unwrap();
    deny_pushes(&home);
    run(&["init", "--quiet"]);
    run(&["add", "."]);
    let ran = home.run(&["install", "--yes", "--scope", "project"]);
    ran.refused(1, "names a path of this machine");
    let ran = home.run(&["install", "--hooks", "--yes", "--scope", "project"]).ok();
    assert!(ran.stdout.contains("settings.json: changed, 13 hooks, tracked by git: others get it"), "{}", ran.stdout);
    assert!(ran.stdout.contains("settings.local.json: new, 5 rules, ignored by git"), "{}", ran.stdout);
    let text = fs::read_to_string(&shared).unwrap();
    assert!(!text.contains(home.user().to_str().unwrap()) && !text.contains("mcp_tool"), "{text}");
    assert_eq!(read(&shared)["permissions"], json!({"deny": ["Read(.env)"]}), "rules are the user's own");
    assert!(!home.project().join(".mcp.json").exists());
    assert_eq!(servers(&home)["portcullis"], entry(&home, &["channel"]));

    home.run(&["uninstall", "--yes", "--scope", "project"]).ok();
    assert_eq!(fs::read_to_string(&shared).unwrap(), OWN);
    assert!(!own_settings(&home).exists() && !server_file(&home).exists());
}

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

#[test]
fn install_as_json_names_files_changes_and_what_git_knows() {
    let home = Home::new();
    let shown = home.run(&["install", "--hooks", "--json"]).ok().json();
    assert_eq!((&shown["scope"], &shown["made"]), (&json!("local"), &json!(false)));
    assert_eq!(shown["files"][1]["what"], json!(["13 hooks", "4 rules"]));
    assert_eq!(shown["files"][1]["git"], "outside");
    assert!(
        shown["files"][1]["diff"]
            .as_str()
            .unwrap()
            .contains("+    \"allow\": [\"mcp__portcullis__reply\", \"mcp__portcullis__edit_message\""),
        "{shown:#}"
    );
    assert!(!own_settings(&home).exists(), "nothing is made without --yes");
    let shown = home.run(&["install", "--hooks", "--json", "--yes"]).ok().json();
    assert_eq!(shown["made"], true);
    assert!(own_settings(&home).exists());
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
