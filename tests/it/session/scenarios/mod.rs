//! One table of scenarios over every way an agent is connected: the same call, the same rules and the same people lead to
//! the same decision. The table is also the documentation.

mod client;
mod real_cli;
mod table;

use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::prompts::id;
use client::{Client, Outcome};
use expect_test::expect_file;
use serde_json::json;
use std::thread;
use table::{Connection, Given, People, SCENARIOS, Scenario};

#[test]
fn every_scenario_ends_as_the_table_says_with_hooks_at_a_terminal() {
    run_all(Connection::HooksAtTerminal);
}

#[test]
fn every_scenario_ends_as_the_table_says_with_hooks_in_claude_p() {
    run_all(Connection::HooksHeadless);
}

#[test]
fn every_scenario_ends_as_the_table_says_over_the_control_protocol() {
    run_all(Connection::Control);
}

#[test]
fn every_scenario_that_applies_ends_as_the_table_says_in_an_editor() {
    run_all(Connection::Acp);
}

#[test]
fn every_scenario_that_applies_ends_as_the_table_says_with_tools_through_the_editor() {
    run_all(Connection::AcpTools);
}

#[test]
fn every_scenario_that_applies_ends_as_the_table_says_over_the_channel() {
    run_all(Connection::Channel);
}

#[test]
fn deny_rules_mandatory_asks_stops_and_the_outside_guard_have_no_differences() {
    for scenario in SCENARIOS {
        let strict = ["deny rule", "mandatory ask", "stop", "outside"];
        let is_strict = strict.iter().any(|strict| scenario.name.contains(strict));
        assert!(!is_strict || scenario.differences.is_empty(), "{}", scenario.name);
    }
}

#[test]
fn the_table_of_scenarios_is_the_documentation() {
    expect_file!["../../../../docs/reference/decisions.md"].assert_eq(&table::documentation());
}

fn run_all(connection: Connection) {
    // Four at a time: each waits for processes more than it works.
    let apply: Vec<&Scenario> = SCENARIOS.iter().filter(|scenario| scenario.missing(connection).is_none()).collect();
    for scenarios in apply.chunks(4) {
        thread::scope(|scope| {
            let running: Vec<_> =
                scenarios.iter().map(|scenario| scope.spawn(move || run(scenario, connection))).collect();
            let failed: Vec<_> = running.into_iter().filter_map(|run| run.join().err()).collect();
            assert!(failed.is_empty(), "{} scenarios failed", failed.len());
        });
    }
}

fn run(scenario: &Scenario, connection: Connection) {
    let name = format!("{} ({connection:?})", scenario.name);
    // A session would start the next gate by itself, and perhaps before the test does.
    let restarts = scenario.people == People::KillTheGateAndAllow;
    let home = if restarts { Home::without_auto_start() } else { Home::new() };
    home.write_config("allow_bypass = true\n");
    std::fs::write(home.folder().join("rules.toml"), scenario.rules).unwrap();
    if scenario.people == People::Silent {
        home.fix("PORTCULLIS_TEST_HOOK_TIMEOUT", 6000);
    }
    let mut gate = home.serve();
    // Before there is an agent: this test is the agent of its stand-in, and agents make no tokens.
    let tokens = Tokens { ann: home.token_for("ann", "reviewer"), ci: home.token_for("ci", "sender") };
    let client = Client::start(&home, connection, scenario);
    home.attached(1);
    prepare(scenario, &home, &gate, &client, &tokens);
    let outcome = thread::scope(|scope| {
        let calling = scope.spawn(|| client.call(&home, scenario));
        act(scenario, &home, &mut gate, &tokens);
        calling.join().unwrap_or_else(|_| panic!("{name}: the client has no answer"))
    });
    assert_eq!(outcome, scenario.wanted(connection), "{name}");
    let was_asked = !gate.asks().is_empty();
    assert_eq!(was_asked, scenario.people != People::NotAsked, "{name}: whether people were asked");
}

struct Tokens {
    ann: String,
    ci: String,
}

fn stop(home: &Home, gate: &Gate) {
    let session = home.attached(1)[0]["id"].as_str().unwrap().to_owned();
    gate.post(&format!("/api/v1/sessions/{session}/stop"), &json!({})).expect(200);
}

/// What has happened before the call.
fn prepare(scenario: &Scenario, home: &Home, gate: &Gate, client: &Client, tokens: &Tokens) {
    match scenario.given {
        Given::Nothing => {}
        Given::Stopped => {
            stop(home, gate);
            client.is_stopped();
        }
        Given::OutsideText => outside_text(gate, client, tokens),
        Given::OutsideTextAndThenTheOwner => {
            outside_text(gate, client, tokens);
            gate.say("/", "the owner speaks").expect(200);
            client.receives("the owner speaks");
        }
    }
}

fn outside_text(gate: &Gate, client: &Client, tokens: &Tokens) {
    gate.say_as(&tokens.ci, "/", "the build is red").expect(200);
    client.receives("the build is red");
}

/// What people do while the client waits.
fn act(scenario: &Scenario, home: &Home, gate: &mut Gate, tokens: &Tokens) {
    match &scenario.people {
        People::NotAsked => {}
        People::Silent => drop(gate.only_ask()),
        People::Allow => gate.answer(&gate.only_ask(), &json!({"behavior": "allow"})),
        People::Deny => gate.answer(&gate.only_ask(), &json!({"behavior": "deny", "why": "not today"})),
        People::AllowWith(input) => {
            let verdict = json!({"behavior": "allow", "input": input()});
            gate.answer(&gate.only_ask(), &verdict);
        }
        People::TwoAllow => {
            let ask = gate.only_ask();
            gate.answer(&ask, &json!({"behavior": "allow"}));
            assert_eq!(gate.ask(id(&ask))["state"], "open", "one is not two");
            gate.verdict_as(&tokens.ann, id(&ask), &json!({"behavior": "allow"})).expect(200);
        }
        People::Stop => {
            gate.only_ask();
            stop(home, gate);
        }
        People::KillTheGateAndAllow => {
            gate.only_ask();
            *gate = home.restart(gate);
            home.attached(1);
            gate.answer(&gate.only_ask(), &json!({"behavior": "allow"}));
        }
    }
}

/// How a call ended, in the words of the table.
impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ran => "runs",
            Self::RanEdited => "runs as edited",
            Self::Denied => "denied",
            Self::DialogStays => "its own dialog stays",
            Self::Swallowed => "runs although it should have been asked for",
        })
    }
}
