//! What an agent runs, and the project it works in, change nothing of the user's: not by a command, not by a variable, not
//! by a link, and not by hiding whose child a process is.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::child::Stdin;
use crate::support::claude::Claude;
use crate::support::home::{Home, Ran};
use crate::support::http::Request;
use crate::support::seen::{PATIENCE, until};
use crate::support::standin::StandIn;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_portcullis");

/// A shell that goes by the name of Claude Code, and runs a line as its Bash tool would.
fn agent(home: &Home, line: &str) -> Command {
    let claude = home.user().join("claude");
    if !claude.exists() {
        fs::copy("/bin/sh", &claude).unwrap();
    }
    let mut command = home.program(&claude);
    // Not the last command, or the shell would become it.
    command.args(["-c", &format!("P={PROGRAM}; {line}; exit $?")]);
    command
}

#[track_caller]
fn inside(home: &Home, line: &str) -> Ran {
    Ran::of(&home.spawn(agent(home, line), Stdin::Nothing), PATIENCE)
}

#[test]
fn inside_an_agent_no_command_starts_stops_or_installs_anything() {
    let home = Home::new();
    let gate = home.serve();
    let refused = [
        "$P stop",
        "$P up",
        "$P up --detach --dev-sender eve",
        "$P serve",
        "$P serve --dev-sender eve",
        "$P service install",
        "$P service uninstall --force",
        "$P install --hooks --yes",
        "$P install --json --yes",
        "$P uninstall --yes",
        "$P plugin plugin-folder",
        "$P mcp host",
        "$P rules add allow Bash",
        "$P rules trust --yes",
        "$P token add eve --role admin",
        "$P people role ann admin",
        "$P session stop api",
        "$P ask allow abcde",
        "$P log redact event/1",
    ];
    for line in refused {
        for line in [line.to_owned(), line.replace("$P", "CLAUDECODE=1 $P"), line.replace("$P", "setsid -w $P")] {
            let ran = inside(&home, &line);
            ran.refused(4, "this runs inside Claude Code (pid ");
            // What only this machine has is not to be had on the page.
            let has_route = ["token", "people", "session", "ask", "log", "stop"]
                .iter()
                .any(|word| line.contains(&format!("$P {word}")));
            assert_eq!(ran.stderr.contains("a person does this elsewhere"), has_route, "{line}: {ran:?}");
            assert!(!ran.stderr.contains("HTTP") && !ran.stderr.contains("token of"), "no way round: {ran:?}");
        }
    }
    assert!(!gate.has_exited());
    assert!(!home.project().join(".claude").exists() && !home.user().join(".claude.json").exists());
    let tried: Vec<Value> = home.records("access_denied").iter().map(|record| record["what"].clone()).collect();
    assert_eq!(tried.len(), refused.len() * 3, "{tried:#?}");
    if cfg!(target_os = "linux") {
        // A namespace in which it is the first process hides nobody above it.
        let ran = inside(&home, "unshare -Urpf $P rules add allow Bash");
        ran.refused(4, "this runs inside Claude Code (pid ");
        for line in ["$P rules add allow Bash", "sh -c \"$P rules add allow Bash || exit 4\""] {
            let ran = inside(&home, &format!("unshare -Urpfm --mount-proc {line}"));
            ran.refused(4, "it runs in a process namespace of its own");
        }
    }
    for line in
        ["$P status", "$P rules list", "$P service status --json", "$P say hello", "$P log -n 1", "$P token list"]
    {
        let ran = inside(&home, line);
        assert!(ran.status.code() == Some(0) || line.contains("service"), "{line}: {ran:#?}");
    }
    inside(&home, "$P serve --auto-started --dev-sender eve").refused(2, "takes no dev sender");
    home.run(&["serve", "--dev-sender", "оwner"]).refused_usage();
}

#[test]
fn consent_on_the_command_line_replaces_no_typed_confirmation() {
    let home = Home::new();
    let mut command = home.command(&["install", "--hooks", "--yes"]);
    command.env("CLAUDECODE", "1");
    Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE).refused(4, "this runs inside Claude Code");
    assert!(!home.project().join(".claude").exists());
}

/// A home that a project brings: with rules that allow everything, and with the gate of somebody else.
fn home_of_the_project(home: &Home) -> PathBuf {
    let evil = home.project().join("evil");
    fs::create_dir(&evil).unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(evil.join("rules.toml"), "[[rule]]\nallow = \"Bash\"\n").unwrap();
    symlink("/tmp/no-such-gate.sock", evil.join("gate.sock")).unwrap();
    evil
}

#[test]
fn a_variable_counts_only_as_the_agent_was_started_with_it() {
    let home = Home::new();
    let _gate = home.serve();
    let evil = home_of_the_project(&home);
    let (evil, real) = (evil.display().to_string(), home.folder().display().to_string());
    let socket = |line: &str| inside(&home, &format!("{line} $P status --json")).json()["socket"].clone();
    for line in [
        format!("PORTCULLIS_HOME={evil}"),
        format!("HOME={evil} PORTCULLIS_HOME= "),
        format!("env -u PORTCULLIS_HOME HOME={evil} XDG_CONFIG_HOME={evil} XDG_STATE_HOME={evil}"),
        // Another Claude Code in between was started by the agent, not by a person.
        format!("PORTCULLIS_HOME={evil} $HOME/claude -c \"$P status --json; true\" && true || "),
    ] {
        assert_eq!(socket(&line), json!(format!("{real}/gate.sock")), "{line}");
    }
    let rules = inside(&home, &format!("PORTCULLIS_HOME={evil} $P rules list --json"));
    assert_eq!(rules.json(), json!([]), "{rules:#?}");
}

#[test]
fn a_gate_that_an_agent_starts_takes_no_token_from_its_environment() {
    let home = Home::new();
    let channel = StandIn::command(&home, &[]);
    let mut command = agent(&home, "$P channel");
    command.envs(channel.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let _session = StandIn::start_command(&home, command);
    home.attached(1);
    let status = |token: &str| Request::get("/api/v1/status").token(token).send(&home.listening()).status;
    let token = fs::read_to_string(home.folder().join("owner.token")).unwrap();
    assert_eq!((status(home.token()), status(token.trim())), (401, 200));
}

#[test]
fn with_the_real_cli_a_project_sets_neither_our_home_nor_our_token() {
    let home = Home::new();
    let gate = home.serve();
    let evil = home_of_the_project(&home);
    fs::create_dir(home.project().join(".claude")).unwrap();
    let settings = json!({"env": {"PORTCULLIS_HOME": evil, "PORTCULLIS_TOKEN": "chosen-by-the-project"}});
    fs::write(home.project().join(".claude/settings.json"), settings.to_string()).unwrap();
    let look = format!("echo home=$PORTCULLIS_HOME; {PROGRAM} status --json; {PROGRAM} rules list --json");
    let model = Model::start(vec![
        Rule::on_text("go").call("Bash", json!({"command": look, "description": "look"})).once(),
        Rule::on_any_result().say("done"),
    ]);
    let mut servers = home.mcp_config("portcullis", &["--label", "real"]);
    servers["mcpServers"]["portcullis"].as_object_mut().unwrap().remove("env");
    let claude = Claude::headless(&home, &model, "go", &servers, &["--allowedTools", "Bash"]);
    assert_eq!(claude.wait().ok().stdout, "done\n");
    let said: String = model.turns().iter().map(|request| request.turn.result()).collect();
    // It did set the variable for what it runs.
    assert!(said.contains(&format!("home={}", evil.display())), "{said}");
    assert!(said.contains(&format!("{}/gate.sock", home.folder().display())) && said.contains("[]"), "{said}");
    assert_eq!(home.records("attached").len(), 1, "its channel came to the user's gate");
    assert!(!evil.join("journal.db").exists() && !gate.has_exited());
}

#[test]
fn what_others_could_have_put_there_is_not_believed() {
    let home = Home::new();
    let rules = home.folder().join("rules.toml");
    fs::write(&rules, "[[rule]]\ndeny = \"Bash(rm *)\"\n").unwrap();
    fs::set_permissions(&rules, fs::Permissions::from_mode(0o666)).unwrap();
    home.run(&["rules", "list"]).refused(3, "others may write to");
    fs::set_permissions(&rules, fs::Permissions::from_mode(0o600)).unwrap();
    home.run(&["rules", "list"]).ok();
    // Configuration that a person keeps elsewhere, and links to.
    let kept = home.user().join("dotfiles");
    fs::create_dir(&kept).unwrap();
    fs::rename(&rules, kept.join("rules.toml")).unwrap();
    symlink(kept.join("rules.toml"), &rules).unwrap();
    home.run(&["rules", "list"]).ok();
    // The same, where the agent works.
    fs::rename(kept.join("rules.toml"), home.project().join("rules.toml")).unwrap();
    fs::remove_file(&rules).unwrap();
    symlink(home.project().join("rules.toml"), &rules).unwrap();
    home.run(&["rules", "list"]).refused(3, "lies inside the project");
    fs::remove_file(&rules).unwrap();
    fs::set_permissions(home.folder(), fs::Permissions::from_mode(0o777)).unwrap();
    home.run(&["serve"]).refused(3, "others may write to");
}

#[test]
fn what_an_agent_leaves_behind_is_not_the_owner_when_its_session_has_ended() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    home.attached(1);
    let token = "curl -s -w '%{http_code}' --unix-socket $PORTCULLIS_HOME/gate.sock http://localhost/api/v1/tokens \
                 -H 'content-type: application/json' -d '{\"person\":\"eve\",\"role\":\"admin\"}'";
    let say = format!("{PROGRAM} say hello");
    let waits = "(while kill -0 $$ 2>/dev/null; do sleep 0.01; done; until [ -e go ]; do [ -d $PORTCULLIS_HOME ] || exit; sleep 0.01; done; \
                 LINES; echo FINISHED >> out) &";
    let mut shell = home.program("sh");
    shell.args(["-c", &waits.replace("LINES", &format!("{token} >> out 2>&1; {say} >> out 2>&1"))]);
    home.spawn(shell, Stdin::Nothing).wait_exit(PATIENCE);
    session.close_stdin();
    home.attached(0);
    until("the session has ended", || {
        let sessions = gate.get("/api/v1/sessions").expect(200).json();
        sessions.as_array().unwrap().iter().all(|session| session["state"] == "ended").then_some(())
    });
    fs::write(home.project().join("go"), "").unwrap();
    let out = home.project().join("out");
    let said = until("its answer", || fs::read_to_string(&out).ok().filter(|text| text.contains("FINISHED")));
    assert!(said.contains("403"), "{said}");
    let senders = || {
        let events = gate.get("/api/v1/events").expect(200).json();
        events.as_array().unwrap().iter().map(|event| event["sender"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(senders(), ["agent:unknown"], "{said}");
    assert!(home.records("person_set").is_empty());
    home.run(&["say", "a person still speaks"]).ok();
    assert!(senders().contains(&json!("owner")), "{:?}", senders());
}

#[test]
fn without_a_terminal_rules_are_changed_where_there_never_was_an_agent() {
    let home = Home::new();
    home.serve().stop();
    let said = home.left_behind("$P rules add ask 'Bash(after *)'");
    assert!(said.contains("Added to"), "{said}");
}

#[test]
fn what_an_agent_left_behind_changes_nothing_when_its_session_and_the_gate_are_gone() {
    let home = Home::new();
    let gate = home.serve();
    let add = "$P rules add allow 'Bash(after *)'";
    assert!(!home.left_behind(add).contains("refused"), "there was no session yet");
    home.had_a_session();
    assert!(home.left_behind(add).contains("its parent process is gone"));
    gate.stop();
    let said = home.left_behind("$P uninstall --yes");
    assert!(said.contains("its parent process is gone") && said.contains("hint: "), "{said}");
}

#[test]
fn whose_child_a_process_is_cannot_be_hidden() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    gate.open_prompt(&session, "abcde");
    // Left behind by its shell, with and without a session of its own.
    let lines = ["$P ask allow abcde", "setsid -w $P ask allow abcde", "sh -c 'sleep 0; exec $P ask allow abcde'"];
    for line in lines.into_iter().chain(["setsid -w $P say hello"]) {
        let said = home.left_behind(line);
        let what_to_do = if line.contains("say") { "sent as agent:unknown, who only informs" } else { "hint: " };
        assert!(said.contains("its parent process is gone") && said.contains(what_to_do), "{line}: {said}");
    }
    // Below more levels than anybody has.
    let deeper = "n=$1; shift; if [ $n -gt 0 ]; then sh deep.sh $((n - 1)) \"$@\"; else \"$@\"; fi; exit $?\n";
    fs::write(home.project().join("deep.sh"), deeper).unwrap();
    let ran = inside(&home, "sh deep.sh 70 $P ask allow abcde");
    ran.refused(4, "this runs inside Claude Code");
    let by_hand = "sh deep.sh 70 curl -s -w '%{http_code}' --unix-socket $PORTCULLIS_HOME/gate.sock -d 'yes abcde' http://localhost/";
    assert!(inside(&home, by_hand).stdout.contains("403"));
    assert_eq!((session.verdict_count(), gate.ask("abcde")["state"].clone()), (0, json!("open")));
    // A person in a terminal of their own, which this test is.
    home.run(&["ask", "deny", "abcde"]).ok();
}

#[test]
#[cfg(target_os = "linux")]
fn the_owners_token_answers_nothing_in_the_hands_of_an_agent() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    gate.open_prompt(&session, "abcde");
    let curl = format!("curl -s -w '%{{http_code}}' -H 'authorization: Bearer {}'", home.token());
    let root = format!("http://{}", gate.address());
    let admin = format!(
        "{root}/api/v1/tokens -H 'content-type: application/json' -d '{{\"person\":\"eve\",\"role\":\"admin\"}}'"
    );
    for what in [
        format!("{root}/ -d 'yes abcde'"),
        format!("{root}/api/v1/events -H 'content-type: application/json' -d '{{\"text\":\"yes abcde\"}}'"),
        format!("'{root}/?label=any' -H 'expect:' -H 'x-other: 1' -d 'yes abcde'"),
        admin,
    ] {
        let ran = inside(&home, &format!("{curl} {what}"));
        assert!(ran.stdout.ends_with("403") && ran.stdout.contains("inside"), "{what}: {ran:?}");
    }
    assert_eq!((session.verdict_count(), gate.ask("abcde")["state"].clone()), (0, json!("open")));
    assert_eq!(home.records("access_denied").len(), 4);
    // It may speak, and who is no agent may do all of it, over one connection as well.
    assert!(inside(&home, &format!("{curl} {root}/ -d hello")).stdout.ends_with("200"));
    let mut command = home.program("sh");
    command.args([
        "-c",
        &format!("{curl} {root}/ -d hello --next {curl} {root}/ -d 'yes abcde'").replace("--next curl", "--next"),
    ]);
    let said = Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE).ok().stdout;
    assert!(said.ends_with("verdict recorded200"), "{said}");
}
