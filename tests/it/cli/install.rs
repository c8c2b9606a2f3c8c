//! Getting in and out of Claude Code's configuration: shown first, asked for, and gone without a trace.

use crate::fakes::model::Model;
use crate::support::child::Stdin;
use crate::support::claude::Claude;
use crate::support::home::{Home, Ran};
use crate::support::standin::StandIn;
use crate::support::terminal::Terminal;
use crate::support::tmux::Interactive;
use crate::support::{PATIENCE, until};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the server is registered, whatever the scope.
pub(super) fn server_file(home: &Home) -> PathBuf {
    home.user().join(".claude.json")
}

/// The servers of this project for this user alone.
pub(super) fn servers(home: &Home) -> Value {
    read(&server_file(home))["projects"][home.project().to_str().unwrap()]["mcpServers"].clone()
}

pub(super) fn own_settings(home: &Home) -> PathBuf {
    home.project().join(".claude/settings.local.json")
}

/// Where a program that will not stay is copied to.
pub(super) fn copy(home: &Home) -> PathBuf {
    home.user().join(".local/bin/portcullis")
}

pub(super) fn entry(home: &Home, args: &[&str]) -> Value {
    json!({"type": "stdio", "command": copy(home), "args": args})
}

pub(super) fn read(path: &Path) -> Value {
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
    let here = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    let mut elsewhere = StandIn::command_under_an_agent(&home, &["--label", "web"]);
    elsewhere.env("CLAUDE_PROJECT_DIR", home.user());
    let _elsewhere = StandIn::start_command(&home, elsewhere);
    home.attached(2);
    home.run(&["install", "--hooks", "--yes"]).ok();
    let said = home.run(&["uninstall", "--yes"]).ok().stdout;
    assert!(said.contains("Still running: api. Within seconds") && said.contains(ended), "{said}");
    here.hook("Notification", &json!({}));
    let status = || home.run(&["status"]).ok().stdout;
    until("the loss in the status", || status().contains("hooks      in no settings any more for api:").then_some(()));
    home.run(&["install", "--hooks", "--yes"]).ok();
    assert!(!status().contains("in no settings any more"), "{}", status());
    home.run(&["uninstall", "--yes"]).ok();
    home.run(&["install", "--hooks", "--yes", "--scope", "user"]).ok();
    let said = home.run(&["uninstall", "--yes", "--scope", "user"]).ok().stdout;
    assert!(said.contains("Still running: api, web. "), "{said}");
}

#[test]
fn uninstall_does_not_say_that_a_session_lost_hooks_which_another_scope_has() {
    let home = Home::new();
    let _gate = home.serve();
    home.run(&["install", "--hooks", "--yes"]).ok();
    home.run(&["install", "--hooks", "--yes", "--scope", "user"]).ok();
    let _here = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    let mut elsewhere = home.command(&["uninstall", "--yes", "--scope", "user"]);
    elsewhere.current_dir(home.user());
    let said = Ran::of(&home.spawn(elsewhere, Stdin::Nothing), PATIENCE).ok().stdout;
    assert!(!said.contains("drops the hooks"), "{said}");
    let kept = "Still running: api, which keeps its hooks: they are in ";
    assert!(said.contains(kept) && said.contains(".claude/settings.local.json.\n"), "{said}");
}

#[test]
fn uninstall_leaves_an_installation_under_another_name_whole_and_names_it() {
    let home = Home::new();
    home.run(&["install", "--hooks", "--name", "other", "--yes"]).ok();
    let alone = fs::read_to_string(own_settings(&home)).unwrap();
    let said = home.run(&["uninstall", "--yes"]).ok().stdout;
    assert!(said.contains("Nothing of \"portcullis\"") && said.contains("nothing to change"), "{said}");
    assert!(said.ends_with("It is installed as \"other\": `portcullis uninstall --name other`\n"), "{said}");
    assert_eq!(fs::read_to_string(own_settings(&home)).unwrap(), alone);

    home.run(&["install", "--hooks", "--yes"]).ok();
    let said = home.run(&["uninstall", "--yes"]).ok().stdout;
    assert!(said.contains("changed, 8 hooks taken out"), "what runs the program is of both: {said}");
    assert!(said.contains("still installed as \"other\": `portcullis uninstall --name other`"), "{said}");
    assert_eq!(read(&own_settings(&home)), serde_json::from_str::<Value>(&alone).unwrap());

    // Whichever goes last takes with it what was made for the first.
    home.run(&["install", "--hooks", "--yes"]).ok();
    home.run(&["uninstall", "--name", "other", "--yes"]).ok();
    assert_eq!(read(&own_settings(&home))["hooks"].as_object().unwrap().len(), 13);
    home.run(&["uninstall", "--yes"]).ok();
    assert!(!own_settings(&home).exists() && !server_file(&home).exists());
}

#[test]
fn shared_hooks_of_a_subfolder_are_said_to_be_read_there_alone() {
    let home = Home::new();
    let sub = home.project().join("sub");
    fs::create_dir_all(&sub).unwrap();
    let mut init = home.program("git");
    init.args(["init", "--quiet"]);
    Ran::of(&home.spawn(init, Stdin::Nothing), PATIENCE).ok();
    let mut command = home.command(&["install", "--hooks", "--scope", "project", "--yes"]);
    command.current_dir(&sub);
    let said = Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE).ok().stdout;
    assert!(sub.join(".claude/settings.json").exists());
    let starts = format!("Claude Code reads sub/.claude/settings.json only where it is started in {}.", sub.display());
    assert!(
        said.contains(&starts) && said.contains(&format!("in {} run this there", home.project().display())),
        "{said}"
    );
    assert!(said.contains("Commit sub/.claude/settings.json:"), "{said}");
    assert!(
        said.contains("settings.json: new, 13 hooks, not tracked by git yet: others get it once you commit it"),
        "{said}"
    );
    assert_eq!(said.matches("keeps it yours alone").count(), 1, "of the settings that are the user's own: {said}");
    let at_root = home.run(&["install", "--hooks", "--scope", "project", "--yes"]).ok().stdout;
    assert!(!at_root.contains("only where it is started"), "{at_root}");
}

#[test]
fn the_real_cli_reads_shared_settings_only_in_the_folder_where_it_starts() {
    let home = Home::new();
    let sub = home.project().join("sub");
    for (folder, file) in
        [(home.project(), "settings.json"), (home.project(), "settings.local.json"), (sub.clone(), "settings.json")]
    {
        fs::create_dir_all(folder.join(".claude")).unwrap();
        let line = format!("echo {} >> {}", folder.join(file).display(), home.user().join("called").display());
        let hook = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": line}]}]}});
        fs::write(folder.join(".claude").join(file), hook.to_string()).unwrap();
    }
    fs::create_dir_all(home.project().join(".git")).unwrap();
    let model = Model::start(vec![crate::fakes::script::Rule::on_text("hi").say("hello")]);
    let mut command = Claude::command(&home, &model);
    command.args(["-p", "hi"]).current_dir(&sub);
    Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE * 3).ok();
    let mut called: Vec<String> =
        fs::read_to_string(home.user().join("called")).unwrap().lines().map(str::to_owned).collect();
    called.sort();
    let wanted = [home.project().join("settings.local.json"), sub.join("settings.json")];
    assert_eq!(called, wanted.map(|file| file.display().to_string()));
}

#[test]
fn a_session_that_kept_its_server_over_an_uninstall_is_not_named_for_a_restart() {
    let home = Home::new();
    let _gate = home.serve();
    let model = Model::start(vec![]);
    let _claude = Interactive::start(&home, &model, &[]);
    home.attached(1);
    home.run(&["uninstall", "--yes"]).ok();
    let again = home.run(&["install", "--hooks", "--yes", "--label", "real"]).ok().stdout;
    assert!(!again.contains("Start it again"), "{again}");
    home.run(&["uninstall", "--yes"]).ok();
    let other = home.run(&["install", "--hooks", "--yes", "--label", "other"]).ok().stdout;
    assert!(other.contains("Start it again"), "its label is another one: {other}");
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

pub(super) fn deny_pushes(home: &Home) {
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

        let other = if scope == "user" { "local" } else { "user" };
        let elsewhere = home.run(&["uninstall", "--yes", "--scope", other]).ok().stdout;
        assert!(elsewhere.contains(&format!("It is installed with --scope {scope}")), "{elsewhere}");
        assert!(elsewhere.starts_with("Nothing of \"portcullis\" for you in "), "{elsewhere}");

        let gone = home.run(&["uninstall", "--yes", "--scope", scope]).ok().stdout;
        assert!(gone.contains("changed, 13 hooks taken out, 5 rules taken out"), "{gone}");
        assert_eq!(fs::read_to_string(&settings).unwrap(), OWN, "{scope}");
        assert!(!server_file(&home).exists(), "{scope}");
    }
}

#[test]
fn hooks_that_are_switched_off_are_not_said_to_work() {
    let home = Home::new();
    let settings = home.user().join(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, r#"{"disableAllHooks": true}"#).unwrap();
    for _ in 0..2 {
        let told = home.run(&["install", "--hooks", "--yes"]).ok().stdout;
        assert!(told.contains("It does NOT work yet: disableAllHooks is true in"), "{told}");
        assert!(!told.contains("Prompts can be answered from anywhere"), "{told}");
    }
}

/// As a user whom the mode of a folder binds, also where the tests are run by an administrator.
fn without_privileges(command: Command) -> Command {
    if !rustix::process::geteuid().is_root() {
        return command;
    }
    let mut bound = Command::new("setpriv");
    bound.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(command.get_program()).args(command.get_args());
    bound.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    bound.current_dir(command.get_current_dir().unwrap());
    bound
}

#[test]
fn where_one_file_cannot_be_written_no_other_is_changed() {
    let home = Home::new();
    let folder = home.project().join(".claude");
    fs::create_dir(&folder).unwrap();
    let closed = |words: &[&str]| {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
        let ran = Ran::of(&home.spawn(without_privileges(home.command(words)), Stdin::Nothing), PATIENCE);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        ran.refused(1, "settings.local.json cannot be written");
        assert!(ran.stderr.contains("then run this again; nothing was changed"), "{ran:?}");
    };
    closed(&["install", "--hooks", "--yes"]);
    assert!(!server_file(&home).exists());
    home.run(&["install", "--hooks", "--yes"]).ok();
    let installed = fs::read_to_string(server_file(&home)).unwrap();
    closed(&["uninstall", "--yes"]);
    assert_eq!(fs::read_to_string(server_file(&home)).unwrap(), installed);
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
