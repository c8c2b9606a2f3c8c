//! From inside the real Claude Code CLI: a Bash call that a person allowed gives the model no say over its own prompts.

use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::support::claude::{self, Claude};
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::standin::StandIn;
use serde_json::{Value, json};
use std::fs;

const PROGRAM: &str = env!("CARGO_BIN_EXE_portcullis");

#[test]
fn an_allowed_bash_call_cannot_answer_or_administer() {
    let home = Home::new();
    let gate = home.serve();
    let other = StandIn::start_under_an_agent(&home, &["--label", "other"]);
    gate.open_prompt(&other, "abcde");
    home.token_for("ann", "sender");
    let attempts = [
        "$P ask allow abcde",
        "$P ask deny abcde",
        "env -u CLAUDECODE $P ask allow abcde",
        "env -u CLAUDECODE -u PORTCULLIS_TOKEN $P ask allow abcde",
        "env -u CLAUDECODE $P say 'yes abcde'",
        "env -u CLAUDECODE $P token add eve --role admin",
        "env -u CLAUDECODE $P people role ann admin",
        "env -u CLAUDECODE $P people remove ann",
        "(env -u CLAUDECODE sh -c \"$P ask allow abcde; exit \\$?\")",
    ];
    let script: String = attempts.iter().map(|attempt| format!("{attempt} >&2; echo \"code $?\"\n")).collect();
    fs::write(home.project().join("attempts.sh"), format!("P={PROGRAM}\n{script}")).unwrap();
    let by_hand = "curl -s -o /dev/null -w 'status %{http_code}' --unix-socket $PORTCULLIS_HOME/gate.sock";
    let by_hand = format!("{by_hand} -d 'yes abcde' http://localhost/");

    let said = run_inside(&home, &home.mcp_config("portcullis", &["--label", "real"]), 2, |rules| {
        let call = |command: &str| json!({"command": command, "description": "try"});
        rules.push(Rule::on_result("code 4").call("Bash", call(&by_hand)).once());
        call("sh attempts.sh")
    });
    let codes: Vec<&str> = said.lines().filter(|line| line.starts_with("code ")).collect();
    assert_eq!(codes, vec!["code 4"; attempts.len()], "{said}");
    assert!(said.contains("status 403"), "{said}");

    let barred: Vec<Value> = home.records("access_denied").iter().map(|record| record["what"].clone()).collect();
    assert_eq!(barred.len(), attempts.len() + 1, "{barred:#?}");
    let by_ancestry = barred.iter().filter(|what| what.as_str().unwrap().contains("inside session real")).count();
    assert_eq!(by_ancestry, attempts.len() + 1, "{barred:#?}");
    assert_eq!((other.verdict_count(), gate.ask("abcde")["state"].clone()), (0, json!("open")));
    let people = home.run(&["people", "list", "--json"]).json()["people"].clone();
    assert_eq!((people.as_array().unwrap().len(), &people[0]["role"]), (1, &json!("sender")));
    assert!(!gate.has_exited());

    // The session has ended, and a person at a terminal answers.
    home.run(&["ask", "deny", "abcde"]).ok();
    assert_eq!(other.next_verdict().behavior, "deny");
}

#[test]
fn a_claude_code_by_another_name_answers_nothing_either() {
    let home = Home::new();
    let gate = home.serve();
    let other = StandIn::start_under_an_agent(&home, &["--label", "other"]);
    gate.open_prompt(&other, "abcde");
    let renamed = home.user().join("cc");
    let real = claude::program();
    // A copy of a third of a gigabyte, where no second name for it can be had.
    fs::hard_link(&real, &renamed).or_else(|_| fs::copy(&real, &renamed).map(drop)).unwrap();
    let attempts = [
        "$P ask allow abcde",
        "env -u CLAUDECODE $P ask allow abcde",
        "env -i HOME=$HOME PORTCULLIS_HOME=$PORTCULLIS_HOME sh -c \"$P ask allow abcde; exit \\$?\"",
        "env -u CLAUDECODE $P token add eve --role admin",
    ];
    let script: String = attempts.iter().map(|attempt| format!("{attempt} >&2; echo \"code $?\"\n")).collect();
    let by_hand = "curl -s -o /dev/null -w 'status %{http_code}' --unix-socket $PORTCULLIS_HOME/gate.sock";
    let script = format!("P={PROGRAM}\n{script}{by_hand} -d 'yes abcde' http://localhost/\n");
    fs::write(home.project().join("attempts.sh"), script).unwrap();
    let model = Model::start(vec![
        Rule::on_text("go").call("Bash", json!({"command": "sh attempts.sh", "description": "try"})).once(),
        Rule::on_any_result().say("done"),
    ]);
    let mut command = home.program(&renamed);
    Claude::confine(&mut command, &home, &model);
    let servers = json!({"mcpServers": {}});
    let claude = Claude::headless_command(&home, command, "go", &servers, &["--allowedTools", "Bash"]);
    assert_eq!(claude.wait().ok().stdout, "done\n");
    let said = model.turns().iter().map(|request| request.turn.result()).collect::<Vec<_>>().join("\n");
    let codes: Vec<&str> = said.lines().filter(|line| line.starts_with("code ")).collect();
    assert_eq!(codes, vec!["code 4"; attempts.len()], "{said}");
    assert!(said.contains("status 403"), "{said}");
    assert_eq!((other.verdict_count(), gate.ask("abcde")["state"].clone()), (0, json!("open")));
}

#[test]
fn the_models_environment_contains_no_token() {
    let home = Home::new();
    let mut command = home.command(&["serve"]);
    command.env_remove("PORTCULLIS_TOKEN");
    let _gate = Gate::start_command(&home, command);
    let token = fs::read_to_string(home.folder().join("owner.token")).unwrap();
    let mut servers = home.mcp_config("portcullis", &["--label", "real"]);
    servers["mcpServers"]["portcullis"]["env"].as_object_mut().unwrap().remove("PORTCULLIS_TOKEN");
    let everything = "env; cat /proc/$PPID/environ | tr '\\0' '\\n'; echo the end";
    let said = run_inside(&home, &servers, 1, |_| json!({"command": everything, "description": "look"}));
    assert!(said.contains("CLAUDECODE=1") && said.contains("the end"), "{said}");
    assert!(!said.contains(token.trim()) && !said.contains("ptc_") && !said.contains("PORTCULLIS_TOKEN"), "{said}");
}

/// Lets the model make the call once the session is attached, and returns all that its tools said.
#[track_caller]
fn run_inside(home: &Home, servers: &Value, sessions: usize, script: impl FnOnce(&mut Vec<Rule>) -> Value) -> String {
    let latch = Latch::new();
    let mut rules = Vec::new();
    let call = script(&mut rules);
    rules.insert(0, Rule::on_text("go").call("Bash", call).held_by(&latch).once());
    rules.push(Rule::on_any_result().say("done"));
    let model = Model::start(rules);
    let mut command = Claude::command(home, &model);
    if servers["mcpServers"]["portcullis"]["env"]["PORTCULLIS_TOKEN"].is_null() {
        command.env_remove("PORTCULLIS_TOKEN");
    }
    let claude = Claude::headless_command(home, command, "go", servers, &["--allowedTools", "Bash"]);
    let attached = home.attached(sessions);
    assert!(attached.iter().any(|session| session["pid"] == claude.pid()), "{attached:?}");
    latch.open();
    assert_eq!(claude.wait().ok().stdout, "done\n");
    model.turns().iter().map(|request| request.turn.result()).collect::<Vec<_>>().join("\n")
}
