//! Getting in and out of Claude Code's configuration: shown first, asked for, and gone without a trace.

use crate::fakes::model::Model;
use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::claude::Claude;
use crate::support::home::{Home, Ran};
use crate::support::terminal::Terminal;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn project_file(home: &Home) -> PathBuf {
    home.project().join(".mcp.json")
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
    let ran = home.run(&["install"]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(ran.stdout.contains("+       \"args\": [\"channel\"]\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("hint: look at the change above; add --yes"), "{}", ran.stderr);
    assert!(!project_file(&home).exists() && !copy(&home).exists());
}

#[test]
fn at_a_terminal_install_asks_first_and_no_changes_nothing() {
    for (answer, code, made) in [("n", 1, false), ("", 1, false), ("y", 0, true)] {
        let home = Home::new();
        let mut terminal = Terminal::start(home.command(&["install"]));
        let shown = terminal.until("[y/N] ");
        assert!(shown.contains("+     \"portcullis\": {"), "{shown}");
        terminal.type_line(answer);
        assert_eq!(terminal.wait().code(), Some(code), "{answer:?}");
        assert_eq!(project_file(&home).exists(), made, "{answer:?}");
    }
}

#[test]
fn install_registers_a_stable_path_and_a_second_install_changes_nothing() {
    let home = Home::new();
    let ran = home.run(&["install", "--yes", "--label", "api"]).ok();
    assert!(ran.stdout.contains("lies in a build folder, so it is copied to"), "{}", ran.stdout);
    let wanted = json!({"mcpServers": {"portcullis": entry(&home, &["channel", "--label", "api"])}});
    assert_eq!(read(&project_file(&home)), wanted);
    let version = Ran::of(&home.spawn(home.program(copy(&home)), Stdin::Nothing), PATIENCE);
    assert!(version.stderr.contains("Usage: portcullis"), "the copy runs: {version:?}");

    let before = fs::metadata(project_file(&home)).unwrap().modified().unwrap();
    let ran = home.run(&["install", "--yes", "--label", "api"]).ok();
    assert!(ran.stdout.contains("nothing to change"), "{}", ran.stdout);
    assert_eq!(fs::metadata(project_file(&home)).unwrap().modified().unwrap(), before);

    home.run(&["install", "--yes", "--label", "web"]).ok();
    let wanted = json!({"mcpServers": {"portcullis": entry(&home, &["channel", "--label", "web"])}});
    assert_eq!(read(&project_file(&home)), wanted);
    home.run(&["uninstall", "--yes"]).ok();
    assert!(!project_file(&home).exists(), "install made the file, and it held nothing else");
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
        fs::write(project_file(&home), before).unwrap();
        fs::set_permissions(project_file(&home), fs::Permissions::from_mode(0o640)).unwrap();
        home.run(&["install", "--yes"]).ok();
        assert_ne!(fs::read_to_string(project_file(&home)).unwrap(), before);
        home.run(&["install", "--yes", "--label", "other"]).ok();
        home.run(&["uninstall", "--yes"]).ok();
        assert_eq!(fs::read_to_string(project_file(&home)).unwrap(), before);
        assert_eq!(fs::metadata(project_file(&home)).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(!home.folder().join("installed.json").exists(), "no receipt is left");
        let names: Vec<_> = fs::read_dir(home.project()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [".mcp.json"], "no draft is left");
    }
}

#[test]
fn uninstall_keeps_what_others_wrote_since_the_install() {
    let home = Home::new();
    home.run(&["install", "--yes"]).ok();
    let text = fs::read_to_string(project_file(&home)).unwrap();
    fs::write(project_file(&home), text.replacen("{\n", "{\n  \"mine\": true,\n", 1)).unwrap();
    home.run(&["uninstall", "--yes"]).ok();
    assert_eq!(read(&project_file(&home)), json!({"mine": true}));
}

#[test]
fn a_foreign_entry_is_overwritten_only_when_forced() {
    let home = Home::new();
    let theirs = "{\"mcpServers\": {\"portcullis\": {\"command\": \"node\", \"args\": [\"server.js\"]}}}\n";
    fs::write(project_file(&home), theirs).unwrap();
    for words in [&["install", "--yes"], &["uninstall", "--yes"]] {
        let ran = home.run(words);
        assert_eq!(ran.status.code(), Some(1));
        assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
        assert_eq!(fs::read_to_string(project_file(&home)).unwrap(), theirs);
    }
    home.run(&["install", "--yes", "--name", "gate"]).ok();
    assert_eq!(read(&project_file(&home))["mcpServers"]["gate"], entry(&home, &["channel"]));
    home.run(&["install", "--yes", "--force"]).ok();
    assert_eq!(read(&project_file(&home))["mcpServers"]["portcullis"], entry(&home, &["channel"]));
}

#[test]
fn invalid_json_is_refused_with_its_line() {
    let home = Home::new();
    let broken = "{\n  \"mcpServers\": {\n    oops\n  }\n}\n";
    fs::write(project_file(&home), broken).unwrap();
    let ran = home.run(&["install", "--yes"]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(ran.stderr.contains(".mcp.json: line 3, column 5: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: repair the file"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(project_file(&home)).unwrap(), broken);
    assert!(!copy(&home).exists(), "nothing was done before the file was understood");
}

#[test]
fn a_symlinked_file_stays_a_symlink() {
    let home = Home::new();
    let real = home.user().join("dotfiles.json");
    fs::write(&real, "{}\n").unwrap();
    std::os::unix::fs::symlink(&real, project_file(&home)).unwrap();
    let ran = home.run(&["install", "--yes"]).ok();
    assert!(ran.stdout.contains("(a link to "), "{}", ran.stdout);
    assert_eq!(read(&real)["mcpServers"]["portcullis"], entry(&home, &["channel"]));
    assert_eq!(fs::read_link(project_file(&home)).unwrap(), real);
    home.run(&["uninstall", "--yes"]).ok();
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
fn the_real_cli_finds_what_was_installed_for_the_project_and_in_another_configuration() {
    let home = Home::new();
    home.run(&["install", "--yes", "--name", "gate"]).ok();
    let shown = claude(&home, &["mcp", "get", "gate"]).stdout;
    assert!(shown.contains("Scope: Project config") && shown.contains("Pending approval"), "{shown}");

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

#[test]
fn hooks_are_installed_in_every_scope_and_removed_byte_for_byte() {
    let own = "{\n  \"permissions\": {\n    \"deny\": [\"Read(.env)\"]\n  },\n  \"env\": {\"TOKEN\": \"secret-value\"},\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n    ]\n  }\n}\n";
    for (scope, settings, servers) in [
        ("project", "project/.claude/settings.json", "project/.mcp.json"),
        ("local", "project/.claude/settings.local.json", "user/.claude.json"),
        ("user", "user/.claude/settings.json", "user/.claude.json"),
    ] {
        let home = Home::new();
        let root = home.project().parent().unwrap().to_owned();
        let (settings, servers) = (root.join(settings), root.join(servers));
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        fs::write(&settings, own).unwrap();
        fs::write(home.folder().join("rules.toml"), "[[rule]]\ndeny = \"Bash(git push *)\"\n").unwrap();
        let ran = home.run(&["install", "--hooks", "--yes", "--scope", scope]).ok();
        assert!(ran.stdout.contains("asyncRewake") && !ran.stdout.contains("secret-value"), "{}", ran.stdout);
        let installed: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
        assert_eq!(
            installed["permissions"]["deny"],
            json!(["Read(.env)", "mcp__portcullis__hook", "Bash(git push *)"])
        );
        let allowed = ["reply", "edit_message", "inbox"].map(|tool| format!("mcp__portcullis__{tool}"));
        assert_eq!(installed["permissions"]["allow"], json!(allowed));
        assert_eq!(installed["hooks"]["Stop"].as_array().unwrap().len(), 2);
        assert!(fs::read_to_string(&servers).unwrap().contains("portcullis"));
        let again = home.run(&["install", "--hooks", "--yes", "--scope", scope]).ok();
        assert!(again.stdout.contains("nothing to change"), "{}", again.stdout);

        home.run(&["uninstall", "--yes", "--scope", scope]).ok();
        assert_eq!(fs::read_to_string(&settings).unwrap(), own, "{scope}");
        assert!(!servers.exists(), "{scope}");
    }
}

#[test]
fn hooks_are_removed_also_from_rewritten_settings() {
    let home = Home::new();
    let settings = home.project().join(".claude/settings.json");
    home.run(&["install", "--hooks", "--yes"]).ok();
    let mut installed: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    installed["permissions"]["allow"].as_array_mut().unwrap().push(json!("Bash(ls)"));
    fs::write(&settings, installed.to_string()).unwrap();
    home.run(&["uninstall", "--yes"]).ok();
    let left: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    assert_eq!(left, json!({"permissions": {"allow": ["Bash(ls)"]}}));
}
