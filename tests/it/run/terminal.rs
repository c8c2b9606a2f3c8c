//! `portcullis run` at a terminal: prompts are answered there, or it is shown who answered elsewhere.

use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::support::Signal;
use crate::support::driven::{Driven, shell};
use crate::support::home::Home;
use crate::support::terminal::Terminal;
use serde_json::json;

#[test]
fn a_prompt_is_shown_whole_and_answered_at_the_terminal() {
    let home = Home::new();
    let gate = home.serve();
    let model = shell(&["touch made.txt && echo made"]);
    let mut terminal = Terminal::start(Driven::command(&home, &model, &["go"]));
    let shown = terminal.until("Allow?");
    let ask = gate.only_ask();
    for part in ["touch made.txt && echo made", "Do it", ask["code"].as_str().unwrap(), "y once", "a always"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    terminal.type_line("what");
    terminal.until("not understood");
    terminal.type_line("y");
    terminal.until("done: made");
    assert!(terminal.wait().success());
    let ask = gate.ask(ask["id"].as_str().unwrap());
    assert_eq!((&ask["verdict"]["behavior"], &ask["verdict"]["via"]), (&json!("allow"), &json!("terminal")), "{ask}");
}

#[test]
fn an_answer_from_elsewhere_is_shown_at_the_terminal_with_its_author() {
    let home = Home::new();
    let gate = home.serve();
    let token = home.token_for("rae", "reviewer");
    let model = shell(&["touch never.txt"]);
    let terminal = Terminal::start(Driven::command(&home, &model, &["go"]));
    terminal.until("Allow?");
    let ask = gate.only_ask();
    gate.verdict_as(&token, ask["id"].as_str().unwrap(), &json!({"behavior": "deny", "why": "no"})).expect(200);
    terminal.until("denied by rae over http");
    terminal.until("done: no");
    assert!(terminal.wait().success());
}

#[test]
fn an_input_that_was_changed_elsewhere_is_shown_at_the_terminal() {
    let home = Home::new();
    let gate = home.serve();
    let model = shell(&["touch one.txt"]);
    let terminal = Terminal::start(Driven::command(&home, &model, &["go"]));
    terminal.until("Allow?");
    let ask = gate.only_ask();
    let input = json!({"command": "touch two.txt", "description": "Two"});
    gate.answer(&ask, &json!({"behavior": "allow", "input": input}));
    terminal.until("allowed by owner over http with another input: touch two.txt");
    assert!(terminal.wait().success());
}

#[test]
fn the_terminal_can_deny_with_a_reason_and_edit_the_input() {
    let home = Home::new();
    home.serve();
    let model = Model::start(vec![
        Rule::on_text("go").call("Bash", json!({"command": "touch one.txt", "description": "One"})).once(),
        Rule::on_result("rather not").call("Bash", json!({"command": "touch two.txt", "description": "Two"})).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let mut terminal = Terminal::start(Driven::command(&home, &model, &["go"]));
    terminal.until("touch one.txt");
    terminal.until("Allow?");
    terminal.type_line("d rather not");
    terminal.until("│ touch two.txt");
    terminal.type_line("e touch three.txt && echo three");
    terminal.until("done: three");
    assert!(terminal.wait().success());
    let there = |name: &str| home.project().join(name).exists();
    assert!(!there("one.txt") && !there("two.txt") && there("three.txt"));
}

#[test]
fn questions_are_answered_at_the_terminal() {
    let home = Home::new();
    home.serve();
    let question = json!({"questions": [
        {"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]},
        {"question": "How many?", "header": "Count", "multiSelect": false, "options": [{"label": "One", "description": "1"}, {"label": "Two", "description": "2"}]}]});
    let model = Model::start(vec![
        Rule::on_text("go").call("AskUserQuestion", question).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let mut terminal = Terminal::start(Driven::command(&home, &model, &["go"]));
    terminal.until("n to decline");
    terminal.type_line("2");
    terminal.until("How many?\r\n");
    terminal.type_line("a few");
    let shown = terminal.until("done: ");
    assert!(shown.contains("\"Which colour?\"=\"Blue\"") && shown.contains("a few"), "{shown}");
    assert!(terminal.wait().success());
}

#[test]
fn the_terminal_can_answer_without_a_gate() {
    let home = Home::new();
    // A folder where the lock should be: no gate starts.
    std::fs::create_dir(home.folder().join("gate.lock")).unwrap();
    let model = shell(&["touch made.txt && echo made"]);
    let mut terminal = Terminal::start(Driven::command(&home, &model, &["go"]));
    terminal.until("Allow?");
    terminal.type_line("y");
    terminal.until("done: made");
    assert!(terminal.wait().success());
}

#[test]
fn without_a_gate_one_person_cannot_allow_what_needs_two() {
    let home = Home::new();
    std::fs::create_dir(home.folder().join("gate.lock")).unwrap();
    std::fs::write(home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(touch *)\"\nquorum = 2\n").unwrap();
    let model = shell(&["touch made.txt"]);
    let mut terminal = Terminal::start(Driven::command(&home, &model, &["go"]));
    terminal.until("Allow?");
    terminal.type_line("y");
    terminal.until("not taken: the gate does not answer, and this wants 2 people");
    terminal.type_line("d better not");
    terminal.until("done: better not");
    assert!(terminal.wait().success());
    assert!(!home.project().join("made.txt").exists());
}

#[test]
fn an_allow_at_the_terminal_waits_for_a_gate_that_has_the_prompt() {
    let home = Home::new();
    let gate = home.serve();
    let model = shell(&["touch made.txt && echo made"]);
    let mut terminal = Terminal::start(Driven::command(&home, &model, &["go"]));
    terminal.until("Allow?");
    gate.only_ask();
    gate.signal(Signal::STOP);
    terminal.type_line("y");
    terminal.until("not taken: the gate does not answer, and someone may have answered there");
    assert!(!home.project().join("made.txt").exists());
    gate.signal(Signal::CONT);
    terminal.until("done: made");
    assert!(terminal.wait().success());
}

#[test]
fn each_line_typed_at_the_terminal_is_a_turn_of_the_conversation() {
    let home = Home::new();
    home.serve();
    let model = Model::start(vec![
        Rule::on_text("one").say("first answer").once(),
        Rule::on_text("two").say("second answer").once(),
    ]);
    let mut terminal = Terminal::start(Driven::command(&home, &model, &[]));
    terminal.until("> ");
    terminal.type_line("one");
    terminal.until("first answer");
    terminal.type_line("two");
    terminal.until("second answer");
    terminal.type_line("/exit");
    assert!(terminal.wait().success());
}

#[test]
fn ctrl_c_interrupts_the_turn_and_twice_ends_the_session() {
    let (home, latch) = (Home::new(), Latch::new());
    home.serve();
    let model =
        Model::start(vec![Rule::on_text("again").say("here"), Rule::on_text("think").say("never").held_by(&latch)]);
    let mut terminal = Terminal::controlling(&Driven::command(&home, &model, &[]));
    terminal.until("> ");
    terminal.type_line("think");
    model.wait_for_turn("think");
    terminal.interrupt();
    terminal.until("interrupted");
    terminal.type_line("again");
    terminal.until("here");
    terminal.interrupt();
    terminal.interrupt();
    assert_eq!(terminal.wait().code(), Some(130));
}

#[test]
fn ctrl_c_ends_a_single_prompt_with_130() {
    let (home, latch) = (Home::new(), Latch::new());
    home.serve();
    let model = Model::start(vec![Rule::on_text("think").say("never").held_by(&latch)]);
    let mut terminal = Terminal::controlling(&Driven::command(&home, &model, &["think"]));
    model.wait_for_turn("think");
    terminal.interrupt();
    assert_eq!(terminal.wait().code(), Some(130));
}

#[test]
fn control_characters_in_a_prompt_do_not_reach_the_terminal() {
    let home = Home::new();
    let gate = home.serve();
    let input = json!({"file_path": home.project().join("x"), "content": "a\u{1b}[2K\rls\u{202e}"});
    let model = Model::start(vec![Rule::on_text("go").call("Write", input).once(), Rule::on_any_result().say("done")]);
    let terminal = Terminal::start(Driven::command(&home, &model, &["go"]));
    let shown = terminal.until("Allow?");
    assert!(!shown.contains('\u{202e}') && !shown.contains("\u{1b}[2K"), "{shown:?}");
    gate.answer(&gate.only_ask(), &json!({"behavior": "deny"}));
    terminal.until("done");
    terminal.wait();
}
