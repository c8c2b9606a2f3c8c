//! The doctor: it finds what is wrong, says what to do, and changes nothing.

use crate::fakes::model::Model;
use crate::support::child::Stdin;
use crate::support::claude::{Claude, program};
use crate::support::home::{Home, Ran};
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// As someone whose PATH holds what a bare system has, and the programs of their own.
fn doctor(home: &Home, listen: &str, words: &[&str]) -> Ran {
    let mut command = home.command(&["doctor"]);
    command.args(words).env_remove("PORTCULLIS_TOKEN").env("PORTCULLIS_LISTEN", listen);
    command.env("PATH", format!("{}:/usr/bin:/bin", home.user().join("bin").display()));
    Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE * 2)
}

/// A program of that name on the user's PATH.
fn script(home: &Home, name: &str, text: &str) {
    let path = home.user().join("bin").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The real one on the user's PATH.
fn real_claude(home: &Home) {
    fs::create_dir_all(home.user().join("bin")).unwrap();
    symlink(program(), home.user().join("bin/claude")).unwrap();
}

/// All findings of one check, `level what`.
fn findings(report: &Value, check: &str) -> Vec<String> {
    let all = report["findings"].as_array().unwrap().iter().filter(|finding| finding["check"] == check);
    all.map(|finding| format!("{} {}", finding["level"].as_str().unwrap(), finding["what"].as_str().unwrap())).collect()
}

#[track_caller]
fn has(report: &Value, check: &str, start: &str, part: &str) {
    let found = findings(report, check);
    assert!(found.iter().any(|finding| finding.starts_with(start) && finding.contains(part)), "{check}: {found:?}");
}

fn everything_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| path.display().to_string()).collect()
}

#[test]
fn the_guide_shows_what_the_doctor_says() {
    let home = Home::new();
    real_claude(&home);
    home.run(&["install", "--hooks", "--yes"]).ok();
    let said = doctor(&home, "127.0.0.1:0", &[]).ok().stdout;
    let guide = include_str!("../../../docs/guide/install.md");
    let (_, sample) = guide.split_once("$ portcullis doctor\n").unwrap();
    let (sample, _) = sample.split_once("```").unwrap();
    let shown: Vec<&str> = sample.lines().filter(|line| *line != "…").collect();
    assert!(shown.len() > 10, "{sample}");
    for line in shown {
        // Of a line with a path what stands before it, without the level: the tested program lies in a build folder.
        let (start, is_as_it_is) = line.split_once("/home/ann").map_or((line, true), |(start, _)| (&start[6..], false));
        let begins = |said: &str| {
            if is_as_it_is { said == start } else { said.get(6..).is_some_and(|said| said.starts_with(start)) }
        };
        assert!(said.lines().any(begins), "{line}\n{said}");
    }
}

#[test]
fn a_fresh_home_has_no_faults_and_is_not_changed() {
    let home = Home::new();
    let ran = doctor(&home, "127.0.0.1:0", &["--json"]).ok();
    let report = ran.json();
    assert_eq!(report["failed"], false);
    has(&report, "gate", "ok not running", "");
    has(&report, "journal", "note", "does not exist yet");
    has(&report, "Claude Code", "warn there is no `claude`", "");
    has(&report, "registered", "warn nothing is registered for", "");
    for finding in report["findings"].as_array().unwrap() {
        let needs_remedy = finding["level"] == "warn" || finding["level"] == "fail";
        assert!(!needs_remedy || finding["remedy"].is_string(), "{finding}");
    }
    assert_eq!(everything_in(&home.folder()), [""; 0]);
    assert_eq!(everything_in(&home.project()), [""; 0]);
    assert_eq!(everything_in(&home.user()), [""; 0]);

    let shown = doctor(&home, "127.0.0.1:0", &[]).ok().stdout;
    assert!(shown.starts_with("Look at these first:\n  1. Claude Code: there is no `claude`"), "{shown}");
    assert!(shown.contains("\n  events while idle  no        no         no         no\n"), "{shown}");
    assert!(shown.ends_with(" warnings.\n"), "{shown}");
}

#[test]
fn channel_requirements_are_listed_in_the_order_the_client_checks_them() {
    let report = doctor(&Home::new(), "off", &["--json"]).ok().json();
    let checks: Vec<&str> =
        report["findings"].as_array().unwrap().iter().filter_map(|finding| finding["check"].as_str()).collect();
    let gates: Vec<&str> = checks.iter().filter_map(|check| check.strip_prefix("channel: ")).collect();
    assert_eq!(gates, ["declared", "protocol", "provider", "account", "rollout", "policy", "named", "list"]);
    assert_eq!(report["works"]["prompts"], json!({"hooks": "no", "channel": "no", "headless": "no", "editor": "no"}));
}

#[test]
fn each_fault_is_found_and_shown_with_its_remedy() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    home.write_config("durability = \"maybe\"\n");
    fs::write(home.folder().join("owner.token"), "a-token-of-twenty-characters\n").unwrap();
    fs::set_permissions(home.folder().join("owner.token"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(home.folder().join("journal.db"), "not a journal at all").unwrap();
    fs::write(home.project().join(".mcp.json"), "{\"mcpServers\": {}, // mine\n}").unwrap();
    script(&home, "claude", "#!/bin/sh\necho '2.0.77 (Claude Code)'\n");

    let ran = doctor(&home, &listen, &["--json"]);
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let report = ran.json();
    assert_eq!(report["failed"], true);
    has(&report, "configuration", "fail", "durability");
    has(&report, "editors", "note", "before the configuration can be read");
    let causes = report["first"].as_array().unwrap().iter().filter(|found| found["check"] == "editors").count();
    assert_eq!((causes, &report["works"]["prompts"]["editor"]), (0, &json!("no")), "one cause is named once: {report}");
    has(&report, "token", "fail", "others may use the file (mode 644)");
    has(&report, "journal", "fail", "not a journal");
    has(&report, "registered", "warn", "not plain JSON");
    has(&report, "Claude Code", "warn 2.0.77", "channels need 2.1.80");

    home.write_config("");
    let report = doctor(&home, &listen, &["--json"]).json();
    has(&report, "port", "warn", &format!("{listen} is taken by"));
    if cfg!(target_os = "linux") {
        has(&report, "port", "warn", &format!("(pid {})", std::process::id()));
    }
    fs::set_permissions(home.folder(), fs::Permissions::from_mode(0o777)).unwrap();
    has(&doctor(&home, "off", &["--json"]).json(), "folders", "fail", "others may write in it");
}

#[test]
fn a_newer_journal_is_recognised_without_opening_it() {
    let home = Home::new();
    let mut header = [0; 100];
    header[..16].copy_from_slice(b"SQLite format 3\0");
    header[63] = 99;
    header[68..72].copy_from_slice(b"Port");
    fs::write(home.folder().join("journal.db"), header).unwrap();
    let report = doctor(&home, "off", &["--json"]).json();
    has(&report, "journal", "fail", "has version 99; this portcullis knows versions up to");
    assert_eq!(everything_in(&home.folder()).len(), 1);
}

#[test]
fn a_gate_that_runs_is_described_and_one_that_hangs_is_found() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    let report = doctor(&home, "127.0.0.1:0", &["--json"]).ok().json();
    has(&report, "gate", "ok", &format!("(pid {})", gate.pid()));
    has(&report, "port", "ok", &format!("http://{}", gate.address()));
    has(&report, "journal", "ok", "open in the gate");
    has(&report, "sessions", "ok 1 attached: api by channel", "");
    drop(session);

    let pid = Pid::from_raw(gate.pid().cast_signed()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    home.fix("PORTCULLIS_TEST_CLIENT", 500);
    let ran = doctor(&home, "127.0.0.1:0", &["--json"]);
    assert_eq!(ran.status.code(), Some(1));
    has(&ran.json(), "gate", "fail", "holds the lock and does not answer");
    for words in [&["ask", "list"][..], &["say", "hello"]] {
        let ran = home.run(words);
        ran.refused(1, "the gate did not answer in time");
        assert!(ran.stderr.contains("`portcullis status` says which process hangs"), "{ran:?}");
    }
    home.run(&["stop"]).refused(1, &format!("the gate (pid {}) does not answer", gate.pid()));
    kill_process(pid, Signal::CONT).unwrap();
}

#[test]
fn a_session_started_without_channels_is_found() {
    for (flags, level) in [
        ("", "warn"),
        ("--channels server:other", "warn"),
        ("--dangerously-load-development-channels server:portcullis", "ok"),
    ] {
        let home = Home::new();
        home.run(&["install", "--yes"]).ok();
        // What the real one looks like from outside: a process of its name whose child is the channel.
        let channel = format!("#!/bin/sh\n{} channel\n:\n", env!("CARGO_BIN_EXE_portcullis"));
        script(&home, "claude", &channel);
        let mut command = home.program(home.user().join("bin/claude"));
        command.args(flags.split_whitespace());
        let session = StandIn::start_command(&home, command);
        home.attached(1);
        let mut command = home.command(&["doctor", "--json"]);
        command.env("PATH", "/usr/bin:/bin");
        let report = Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE).ok().json();
        has(&report, "channel: named", level, "session project was started with");
        drop(session);
    }
}

#[test]
fn both_install_and_plugin_is_a_finding_and_the_real_cli_is_recognised() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let claude = |words: &[&str]| {
        let mut command = Claude::command(&home, &model);
        command.args(words);
        Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE * 3).ok()
    };
    fs::create_dir_all(home.user().join("bin")).unwrap();
    symlink(Claude::command(&home, &model).get_program(), home.user().join("bin/claude")).unwrap();
    home.run(&["install", "--yes"]).ok();
    let plugin = home.user().join("plugin");
    home.run(&["plugin", plugin.to_str().unwrap()]).ok();
    claude(&["plugin", "marketplace", "add", plugin.to_str().unwrap()]);
    claude(&["plugin", "install", "portcullis@portcullis"]);
    claude(&["mcp", "add", "mine", "--", home.user().join(".local/bin/portcullis").to_str().unwrap(), "channel"]);

    let report = doctor(&home, "off", &["--json"]).ok().json();
    has(&report, "Claude Code", "ok", "(Claude Code)");
    has(&report, "registered", "ok for you in this project as server:portcullis", "");
    has(&report, "registered", "ok for you in this project as server:mine", "");
    has(&report, "registered", "ok by the plugin as plugin:portcullis@portcullis", "");
    has(&report, "registered", "warn 3 times", "a session may attach twice");
    assert_eq!(report["own"], "hooks");
    assert_eq!(
        report["works"]["questions"],
        json!({"hooks": "yes", "channel": "no", "headless": "yes", "editor": "yes"})
    );

    fs::remove_file(home.user().join(".local/bin/portcullis")).unwrap();
    let ran = doctor(&home, "off", &["--json"]);
    assert_eq!(ran.status.code(), Some(1));
    has(&ran.json(), "registered", "fail", "does not exist");
}

/// A Claude Code that says it is one, and does this when it is driven.
fn played_claude(home: &Home, driven: &str) {
    let version = "case \"$*\" in *--version*) echo '2.1.325 (Claude Code)'; exit ;; esac";
    let answer = r#"answer() {
        read -r line; id=${line#*'"request_id":"'}; id=${id%%'"'*}
        printf '{"type":"control_response","response":{"subtype":"%s","request_id":"%s",%s}}\n' "$1" "$id" "$2"
    }"#;
    script(home, "claude", &format!("#!/bin/sh\n{version}\n{answer}\n{driven}\n"));
}

#[test]
fn what_works_in_driven_sessions_is_found_out_by_starting_claude_code() {
    let home = Home::new();
    let works = |report: &Value, feature: &str| {
        let of = |connection: &str| report["works"][feature][connection].as_str().unwrap().to_owned();
        assert_eq!(of("headless"), of("editor"), "{feature}");
        of("editor")
    };
    played_claude(&home, "echo 'it is not for you' >&2; exit 1");
    let report = doctor(&home, "off", &["--json"]).json();
    has(&report, "driven sessions", "warn", "cannot be driven: it does not answer; it said: it is not for you");
    for feature in ["prompts", "questions", "events while busy", "events while idle", "replies", "stop"] {
        assert_eq!(works(&report, feature), "no", "{feature}");
    }
    let shown = doctor(&home, "off", &[]).stdout;
    assert!(shown.contains("  no headless, editor: "), "{shown}");

    // It answers, and can be neither interrupted nor given tools.
    let first = r#""response":{"claude_code_version":"2.1.325","hooks_applied":true}"#;
    played_claude(&home, &format!("answer success '{first}'\nanswer error '\"error\":\"Unsupported\"'"));
    let report = doctor(&home, "off", &["--json"]).json();
    has(&report, "driven sessions", "warn Claude Code 2.1.325", "cannot be interrupted");
    has(&report, "driven sessions", "warn Claude Code 2.1.325", "does not offer the model our tools");
    assert_eq!(["prompts", "replies", "stop"].map(|feature| works(&report, feature)), ["yes", "no", "no"]);
    let shown = doctor(&home, "off", &[]).stdout;
    assert!(shown.contains("  no headless (stop), editor (stop): Claude Code 2.1.325 cannot be"), "{shown}");

    // What the gate needs is what events and replies need.
    fs::write(home.folder().join("journal.db"), "not a journal at all").unwrap();
    let report = doctor(&home, "off", &["--json"]).json();
    assert_eq!(
        ["prompts", "events while busy", "events while idle"].map(|feature| works(&report, feature)),
        ["yes", "no", "no"]
    );
}

#[test]
fn a_claude_code_that_is_only_configured_is_there() {
    let home = Home::new();
    let first = r#""response":{"claude_code_version":"2.1.325","hooks_applied":true}"#;
    played_claude(&home, &format!("answer success '{first}'\nanswer error '\"error\":\"Unsupported\"'"));
    fs::create_dir(home.user().join("elsewhere")).unwrap();
    let elsewhere = home.user().join("elsewhere/claude");
    fs::rename(home.user().join("bin/claude"), &elsewhere).unwrap();
    home.write_config(&format!("claude = {elsewhere:?}\n"));
    let report = doctor(&home, "off", &["--json"]).json();
    has(&report, "Claude Code", "ok ", "elsewhere/claude");
    assert_eq!(report["works"]["prompts"]["editor"], "yes", "{report}");
    fs::remove_file(&elsewhere).unwrap();
    let report = doctor(&home, "off", &["--json"]).json();
    has(&report, "Claude Code", "warn there is no `claude`", "");
}

#[test]
fn the_real_claude_code_is_found_to_work_when_driven_and_nothing_is_left_of_it() {
    let home = Home::new();
    home.write_config("[hooks]\nwakes = 0\n");
    real_claude(&home);
    let everything = || ["", "bin"].map(|folder| everything_in(&home.user().join(folder)));
    let before = everything();
    let temporary = home.project().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut command = home.command(&["doctor", "--json"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", home.user().join("bin").display())).env("TMPDIR", &temporary);
    let report = Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE * 3).json();
    has(&report, "driven sessions", "ok Claude Code 2.", "can be interrupted");
    for feature in ["prompts", "questions", "events while busy", "replies", "stop"] {
        assert_eq!(report["works"][feature]["editor"], "yes", "{feature}");
    }
    assert_eq!(report["works"]["events while idle"]["editor"], "no", "as the owner wants it");
    assert_eq!((everything(), everything_in(&temporary)), (before, vec![]));
}

#[test]
fn hooks_are_checked_in_every_settings_file() {
    let home = Home::new();
    let report = |home: &Home| doctor(home, "off", &["--json"]).json();
    has(&report(&home), "hooks", "note not installed", "");

    home.run(&["install", "--hooks", "--yes"]).ok();
    let sound = report(&home);
    has(&sound, "hooks", "ok all 13", ".claude/settings.local.json");
    assert_eq!((findings(&sound, "hooks").len(), &sound["own"]), (1, &Value::Null), "there is no claude");

    home.run(&["install", "--hooks", "--yes", "--scope", "user"]).ok();
    let twice = report(&home);
    let warned = twice["findings"].as_array().unwrap().iter().filter(|finding| {
        ["hooks", "registered"].contains(&finding["check"].as_str().unwrap()) && finding["level"] == "warn"
    });
    assert_eq!(warned.count(), 0, "Claude Code calls each hook once, and starts one server: {twice}");
    home.run(&["uninstall", "--yes", "--scope", "user"]).ok();

    let file = home.project().join(".claude/settings.local.json");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    fs::write(&file, format!("{settings} // mine")).unwrap();
    let refused = report(&home);
    has(&refused, "hooks", "warn", "has them, and Claude Code refuses the file");
    assert!(findings(&refused, "hooks").iter().all(|finding| !finding.starts_with("ok")), "{refused}");
    assert_eq!(refused["works"]["prompts"]["hooks"], "no", "{refused}");
    settings["hooks"].as_object_mut().unwrap().remove("Stop");
    settings["permissions"]["deny"] = json!([]);
    settings["disableAllHooks"] = json!(true);
    fs::write(&file, settings.to_string()).unwrap();
    fs::remove_file(home.user().join(".local/bin/portcullis")).unwrap();
    fs::remove_file(home.user().join(".claude.json")).unwrap();
    let broken = report(&home);
    has(&broken, "hooks", "warn", "lacks Stop");
    has(&broken, "hooks", "warn", "no deny rule mcp__portcullis__hook");
    has(&broken, "hooks", "warn disableAllHooks", "");
    has(&broken, "hooks", "fail", ".local/bin/portcullis, which does not exist");
    has(&broken, "hooks", "fail", "\"portcullis\", which is not registered here");
}

#[test]
fn the_remedy_for_hooks_under_another_name_names_it() {
    let home = Home::new();
    home.run(&["install", "--hooks", "--yes", "--name", "other"]).ok();
    let file = home.project().join(".claude/settings.local.json");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    settings["hooks"].as_object_mut().unwrap().remove("PreToolUse");
    fs::write(&file, settings.to_string()).unwrap();
    let shown = doctor(&home, "off", &[]).stdout;
    assert!(shown.contains("lacks PreToolUse\n"), "{shown}");
    assert!(shown.contains("→ `portcullis install --hooks --scope local --name other`\n"), "{shown}");
    home.run(&["install", "--hooks", "--scope", "local", "--name", "other", "--yes"]).ok();
    assert!(doctor(&home, "off", &[]).stdout.contains("all 13 in"));
}

/// As the first release wrote them: without a version, and with 10 s for the hook before a tool.
fn old_settings(home: &Home) -> String {
    let program = home.user().join(".local/bin/portcullis");
    include_str!("../fakes/settings-version-1.json").replace("PROGRAM", program.to_str().unwrap())
}

#[test]
fn hooks_of_an_older_release_are_reported_and_renewed_by_install() {
    let home = Home::new();
    home.run(&["install", "--hooks", "--yes"]).ok();
    let file = home.project().join(".claude/settings.local.json");
    fs::write(&file, old_settings(&home)).unwrap();
    let report = doctor(&home, "off", &["--json"]).ok().json();
    has(&report, "hooks", "warn", "has hooks of an older release (version 1 of 6)");
    let finding = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["check"] == "hooks" && finding["level"] == "warn");
    assert!(
        finding.unwrap()["remedy"].as_str().unwrap().contains("`portcullis install --hooks --scope local`"),
        "{finding:?}"
    );

    home.run(&["install", "--hooks", "--yes"]).ok();
    let settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let before = settings["hooks"]["PreToolUse"].as_array().unwrap();
    assert_eq!(before.len(), 1, "the old one is replaced: {before:?}");
    assert_eq!(before[0]["hooks"][0]["timeout"], 86400);
    let renewed = doctor(&home, "off", &["--json"]).ok().json();
    assert_eq!(findings(&renewed, "hooks").len(), 1, "{renewed}");
    has(&renewed, "hooks", "ok all 13", "");
    home.run(&["uninstall", "--yes"]).ok();
    assert!(!file.exists(), "{}", fs::read_to_string(&file).unwrap_or_default());
}

#[test]
fn a_session_with_hooks_of_an_older_release_is_named_in_status_and_doctor() {
    let home = Home::new();
    let _gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    let status = || home.run(&["status"]).ok().stdout;
    session.hook("UserPromptSubmit", &json!({"prompt": "hello", "permission_mode": "default"}));
    until("the hooks", || (home.attached(1)[0]["hooks_version"] == 6).then_some(()));
    assert!(!status().contains("older release"), "{}", status());

    // What the first release wrote had no version.
    session.hook("UserPromptSubmit", &json!({"prompt": "hello", "permission_mode": "default", "hooks_version": ""}));
    until("the old hooks", || (home.attached(1)[0]["hooks_version"] == 1).then_some(()));
    let shown = status();
    assert_eq!(
        shown.matches("hooks      of an older release in api: run `portcullis install --hooks`").count(),
        1,
        "{shown}"
    );
    has(&doctor(&home, "off", &["--json"]).ok().json(), "hooks", "warn", "hooks of an older release: api");
}

#[test]
fn what_works_is_found_out() {
    let home = Home::new();
    real_claude(&home);
    let report = |variables: &[(&str, &str)]| {
        let mut command = home.command(&["doctor", "--json"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", home.user().join("bin").display()));
        command.env("PORTCULLIS_LISTEN", "off").envs(variables.iter().copied());
        Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE * 2).json()
    };
    let works = |report: &Value| {
        let prompts = &report["works"]["prompts"];
        ["hooks", "channel", "headless"].map(|connection| prompts[connection].as_str().unwrap().to_owned())
    };
    let first = |report: &Value| report["first"][0]["remedy"].as_str().unwrap_or_default().to_owned();

    let nothing = report(&[]);
    assert_eq!(works(&nothing), ["no", "no", "yes"]);
    assert!(first(&nothing).contains("`portcullis install --hooks`"), "{nothing:#}");

    home.run(&["install", "--hooks", "--yes"]).ok();
    let installed = report(&[]);
    assert_eq!((works(&installed), &installed["own"]), (["yes", "maybe", "yes"].map(str::to_owned), &json!("hooks")));

    let key = report(&[("ANTHROPIC_API_KEY", "dummy-key-for-tests")]);
    assert_eq!(works(&key), ["yes", "no", "yes"]);
    has(&key, "channel: account", "note ANTHROPIC_API_KEY is set", "a login at claude.ai");

    let file = home.user().join(".claude.json");
    let registered: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let mut off = registered.clone();
    off["projects"][home.project().to_str().unwrap()]["disabledMcpServers"] = json!(["portcullis"]);
    fs::write(&file, off.to_string()).unwrap();
    let off = report(&[]);
    assert_eq!(works(&off), ["no", "no", "yes"]);
    assert!(first(&off).contains("/mcp enable portcullis"), "{off:#}");
    fs::write(&file, registered.to_string()).unwrap();

    fs::write(home.user().join(".claude/settings.json"), "{\"disableAllHooks\": true}").unwrap_or_else(|_| {
        fs::create_dir_all(home.user().join(".claude")).unwrap();
        fs::write(home.user().join(".claude/settings.json"), "{\"disableAllHooks\": true}").unwrap();
    });
    assert_eq!(works(&report(&[])), ["no", "maybe", "yes"]);
    fs::remove_file(home.user().join(".claude/settings.json")).unwrap();

    fs::create_dir_all(home.project().join(".portcullis")).unwrap();
    fs::write(home.project().join(".portcullis/rules.toml"), "[[rule]]\nmaybe = \"Bash\"\n").unwrap();
    let broken = report(&[]);
    assert_eq!((broken["failed"].as_bool(), broken["first"][0]["check"].as_str()), (Some(true), Some("rules")));
    has(&broken, "rules", "fail", ".portcullis/rules.toml");
}

#[test]
fn the_mode_of_each_session_and_of_those_to_come_is_named_in_words() {
    let home = Home::new();
    let _gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    session.hook("UserPromptSubmit", &json!({"prompt": "go", "permission_mode": "auto"}));
    let report = until("the mode", || {
        let report = doctor(&home, "off", &["--json"]).json();
        findings(&report, "mode").iter().any(|finding| finding.contains("session api")).then_some(report)
    });
    has(&report, "mode", "note session api: auto: Claude Code decides most calls itself", "rules add ask Bash");
    has(&report, "mode", "note unless told otherwise, sessions start in auto", "");
    fs::create_dir_all(home.project().join(".claude")).unwrap();
    fs::write(home.project().join(".claude/settings.json"), r#"{"permissions": {"defaultMode": "plan"}}"#).unwrap();
    has(&doctor(&home, "off", &["--json"]).json(), "mode", "ok sessions start in plan", ".claude/settings.json");
}

#[test]
fn the_last_lines_about_the_server_in_a_debug_log_are_shown() {
    const AGENT: &str = "00000000-0000-4000-8000-000000000001";
    let home = Home::new();
    let _gate = home.serve();
    let _session = StandIn::start_command(&home, StandIn::command_of(&home, &["--label", "api"], AGENT));
    home.attached(1);
    has(&doctor(&home, "off", &["--json"]).json(), "debug log", "note no session keeps one", "");
    let log = home.user().join(".claude/debug").join(format!("{AGENT}.txt"));
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    let line = |what: &str| format!("2026-11-16T00:31:24.215Z [DEBUG] MCP server \"portcullis\": {what}\n");
    let skipped = line("Channel notifications skipped: channels feature is not currently available");
    fs::write(&log, format!("{}of somebody else\n{skipped}", "[DEBUG] nothing\n".repeat(100))).unwrap();
    let report = doctor(&home, "off", &["--json"]).json();
    has(&report, "debug log", "note of session api: ", "Channel notifications skipped: channels feature");
    assert!(!findings(&report, "debug log")[0].contains("somebody else"), "{report}");
    has(&report, "channel: rollout", "note Claude Code says: channels feature is not currently available", "");
    fs::write(&log, format!("{skipped}{}", line("Channel notifications registered"))).unwrap();
    let report = doctor(&home, "off", &["--json"]).json();
    has(&report, "channel: rollout", "ok a session of yours takes events from the channel", "");
}
