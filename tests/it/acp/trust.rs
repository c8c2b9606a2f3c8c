//! An editor of which nobody can tell who has started it: it answers prompts once its person says that it is theirs.

use super::agent::Agent;
use super::editor::Editor;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::child::Stdin;
use crate::support::driven::inside_an_agent;
use crate::support::home::{Home, Ran};
use crate::support::terminal::Terminal;
use crate::support::{PATIENCE, Signal};
use serde_json::{Value, json};

fn touch(name: &str) -> Value {
    json!({"command": format!("touch {name}"), "description": "Make it"})
}

/// The number of the process that the editor is told to have trusted.
fn number_shown(editor: &Editor, session: &str) -> String {
    let update = editor.update(session, "how it is answered", |update| update.to_string().contains("acp trust "));
    let text = update.to_string();
    let (_, rest) = text.split_once("portcullis acp trust ").unwrap();
    rest.chars().take_while(char::is_ascii_digit).collect()
}

fn asked(editor: &Editor) -> bool {
    editor.frames().iter().any(|frame| frame.value["method"] == "session/request_permission")
}

#[test]
fn an_editor_that_nobody_knows_answers_once_its_person_says_that_it_is_theirs() {
    let home = Home::new();
    let gate = home.serve();
    home.had_a_session();
    let model = Model::start(vec![
        Rule::on_text("make one").call("Bash", touch("one.txt")).once(),
        Rule::on_text("make two").call("Bash", touch("two.txt")).once(),
        Rule::on_text("make three").call("Bash", touch("three.txt")).once(),
        Rule::on_any_result().say("done"),
    ]);
    let editor = Editor::start(&home, &Agent::LeftBehind { model: &model }, &json!({}));
    let session = editor.new_session(&home);
    let prompt = editor.prompt(&session, "make one");
    let pid = number_shown(&editor, &session);
    let doctor = home.run(&["doctor"]).stdout;
    assert!(doctor.contains(&format!("portcullis acp trust {pid}")), "{doctor}");
    assert!(!asked(&editor), "it may be an agent's");

    // What an agent has left behind, in whichever way, cannot say it.
    for wrapper in ["", "setsid -w", "sh -c 'exec \"$@\"' -"] {
        let said = home.left_behind(&format!("{wrapper} $P acp trust {pid}"));
        assert!(said.contains("refused to trust an editor") && said.contains("its parent process is gone"), "{said}");
        let by_hand = format!(
            "curl -s --unix-socket {}/gate.sock -H 'content-type: application/json' -d '{{\"pid\": {pid}}}' \
             http://localhost/api/v1/editors",
            home.folder().display()
        );
        let said = home.left_behind(&format!("{wrapper} {by_hand}"));
        assert!(said.contains("its parent process is gone"), "{said}");
    }
    assert!(!asked(&editor) && !home.project().join("one.txt").exists());
    home.run(&["acp", "trust", &gate.pid().to_string()]).refused(1, "is no `portcullis acp`");

    // Without a terminal nobody can be asked, and a person sees which process it is before they answer.
    home.run(&["acp", "trust", &pid]).refused(1, "there is no terminal to ask at");
    let mut terminal = Terminal::start(home.command(&["acp", "trust", &pid]));
    let shown = terminal.until("[y/N]");
    let program = home.command(&[]).get_program().display().to_string();
    let wanted =
        [format!("portcullis acp (pid {pid})"), program, home.project().display().to_string(), " ago".to_owned()];
    for what in wanted {
        assert!(shown.contains(&what), "{what}: {shown}");
    }
    terminal.type_line("n");
    assert!(!terminal.wait().success());
    assert!(!asked(&editor) && home.records("editor_trusted").is_empty(), "nobody has said yes");
    let mut terminal = Terminal::start(home.command(&["acp", "trust", &pid]));
    terminal.until("[y/N]");
    terminal.type_line("y");
    assert!(terminal.wait().success());
    // The prompt that was open is asked now, and its answer counts.
    editor.choose(&editor.permission(), "allow_once");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(home.project().join("one.txt").exists());
    let log = home.run(&["log"]).ok().stdout;
    assert!(log.contains("says that an editor is theirs: portcullis acp"), "{log}");
    let doctor = home.run(&["doctor"]).stdout;
    let trusted = format!("prompts are answered in the editor of process {pid}: owner said ");
    assert!(doctor.contains(&trusted) && !doctor.contains(&format!("acp trust {pid}")), "{doctor}");

    // It is on the record: the next gate knows it, too.
    gate.kill_9();
    let gate = home.serve();
    let prompt = editor.prompt(&session, "make two");
    editor.choose(&editor.permission(), "allow_once");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(home.project().join("two.txt").exists());

    // And while no gate answers a no counts at once, also in a session that was there before.
    let prompt = editor.prompt(&session, "make three");
    let asked = editor.permission();
    gate.signal(Signal::STOP);
    editor.choose(&asked, "reject_once");
    let call = asked["params"]["toolCall"]["toolCallId"].clone();
    editor.update(&session, "the denial", |update| update["toolCallId"] == call && update["status"] == "failed");
    gate.signal(Signal::CONT);
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(!home.project().join("three.txt").exists());
    editor.child.close_stdin();
}

#[test]
fn one_editor_that_is_trusted_lets_no_other_answer() {
    let home = Home::new();
    let _gate = home.serve();
    home.had_a_session();
    let model =
        Model::start(vec![Rule::on_text("make one").call("Bash", touch("one.txt")), Rule::on_any_result().say("done")]);
    let start = || {
        let editor = Editor::start(&home, &Agent::LeftBehind { model: &model }, &json!({}));
        let session = editor.new_session(&home);
        editor.prompt(&session, "make one");
        let pid = number_shown(&editor, &session);
        (editor, pid)
    };
    let ((mine, pid), (other, of_other)) = (start(), start());
    assert_ne!(pid, of_other);
    home.run(&["acp", "trust", &pid, "--yes"]).ok();
    mine.permission();
    assert!(!asked(&other), "each is trusted alone");
    for editor in [&mine, &other] {
        editor.child.close_stdin();
    }
}

/// What a session would have, beside its folder, that says what needs no asking.
fn looser_places(home: &Home) -> [(&'static str, Value); 2] {
    let server = json!({"name": "mine", "command": "/bin/true", "args": [], "env": []});
    [
        (
            "additional folders",
            json!({"cwd": home.project(), "mcpServers": [], "additionalDirectories": [home.user()]}),
        ),
        ("MCP servers", json!({"cwd": home.project(), "mcpServers": [server]})),
    ]
}

#[test]
fn an_editor_inside_an_agent_does_not_say_what_needs_no_asking() {
    let home = Home::new();
    let _gate = home.serve();
    for loose in [["--permission-mode", "acceptEdits"], ["--permission-mode", "auto"], ["--claude", "/bin/true"]] {
        let command = inside_an_agent(&home, &home.command(&["acp", loose[0], loose[1]]));
        let refused = Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE);
        refused.refused(4, &format!("refused to start a session with {}", loose[0]));
    }
    let model = Model::start(vec![Rule::on_any_result().say("done")]);
    let editor = Editor::start(&home, &Agent::Inside { model: &model }, &json!({}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn");
    let set = |mode: &str| {
        let wanted = editor.send("session/set_mode", &json!({"sessionId": session, "modeId": mode}));
        editor.response(wanted)["error"]["message"].as_str().unwrap_or_default().to_owned()
    };
    let why = set("acceptEdits");
    assert!(why.contains("refused to set a session to the mode acceptEdits: this runs inside Claude Code"), "{why}");
    assert_eq!(set("plan"), "");
    for (what, place) in looser_places(&home) {
        let session = editor.call("session/new", &place)["sessionId"].as_str().unwrap().to_owned();
        let why = format!("refused to start a session with {what}, which says what needs no asking");
        editor.hears(&session, &why);
        let refused = editor.response(editor.prompt(&session, "hello"));
        assert!(refused["error"]["message"].as_str().unwrap().contains(&why), "{refused}");
    }
    home.attached(1);
    assert_eq!(home.records("access_denied").len(), 8, "{:#?}", home.records("access_denied"));
    editor.child.close_stdin();
}

#[test]
fn an_editor_that_nobody_knows_brings_servers_and_sets_the_mode() {
    let home = Home::new();
    let _gate = home.serve();
    home.had_a_session();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::LeftBehind { model: &model }, &json!({}));
    let [_, (_, place)] = looser_places(&home);
    let session = editor.call("session/new", &place)["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn");
    editor.call("session/set_mode", &json!({"sessionId": session, "modeId": "acceptEdits"}));
    editor.child.close_stdin();
}
