//! What happens, as it happens: `watch` in a pipe and on a terminal, the lines of `up`, and `say --wait`.

use crate::support::child::Stdin;
use crate::support::home::{Home, Ran};
use crate::support::hooks::bash;
use crate::support::standin::StandIn;
use crate::support::terminal::Terminal;
use crate::support::tmux::Tmux;
use crate::support::{PATIENCE, until};
use serde_json::{Value, json};

#[test]
fn watch_in_a_pipe_prints_one_plain_line_for_each_thing_that_happens() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    let watch = home.spawn(home.command(&["watch"]), Stdin::Nothing);
    watch.line(PATIENCE, |line| line == "session api: connected");
    gate.say("/?chat=ops", "the build is \u{1b}[31mred\nbadly").expect(200);
    let line = watch.line(PATIENCE, |line| line.contains("in ops"));
    assert!(line.ends_with(r"api       event from owner in ops: the build is \u{1b}[31mred badly"), "{line}");
    assert!(line.as_bytes()[2] == b':' && line.as_bytes()[5] == b':', "local time: {line}");
    session.next_event();
    session.call("reply", &json!({"chat_id": "ops", "text": "on it"}));
    watch.line(PATIENCE, |line| line.ends_with("api       reply to ops: on it"));
    session.ask("abcde", "Bash", "Push", r#"{"command":"git push"}"#);
    watch.line(PATIENCE, |line| line.ends_with("api       abcde asks to run Bash: git push"));
    home.run(&["ask", "deny", "abcde", "--why", "not on a Friday"]).ok();
    watch.line(PATIENCE, |line| line.ends_with("api       abcde denied by owner: not on a Friday"));
    assert!(!watch.stdout().contains('\u{1b}'), "{:?}", watch.stdout());
}

#[test]
fn watch_takes_one_session_by_its_label_and_prints_json_for_programs() {
    let home = Home::new();
    let gate = home.serve();
    let _one = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    let _two = StandIn::start_under_an_agent(&home, &["--label", "web"]);
    let sessions = home.attached(2);
    let web = sessions.iter().find(|session| session["label"] == "web").unwrap()["id"].as_str().unwrap();
    let by_label = home.spawn(home.command(&["watch", "--label", "web", "--json"]), Stdin::Nothing);
    let by_id = home.spawn(home.command(&["watch", "--session", web]), Stdin::Nothing);
    by_id.line(PATIENCE, |line| line == "session web: connected");
    // Until it follows the log, it would miss what happens.
    until("two who follow", || Some(()).filter(|()| home.status()["watchers"] == 2));
    gate.say("/?label=api", "not for me").expect(200);
    gate.say("/?label=web", "for me").expect(200);
    by_id.line(PATIENCE, |line| line.contains("for me"));
    let line: Value = serde_json::from_str(&by_label.line(PATIENCE, |line| line.contains("for me"))).unwrap();
    assert_eq!((&line["label"], &line["session"], &line["payload"]), (&json!("web"), &json!(web), &json!("for me")));
    assert!(line["record"]["received"].is_object() && line["seq"].is_u64(), "{line}");
    assert!(!by_id.stdout().contains("not for me") && !by_label.stdout().contains("not for me"));
}

#[test]
fn watch_goes_on_when_the_gate_is_restarted_and_tells_each_thing_once() {
    let home = Home::new();
    let gate = home.serve();
    let watch = home.spawn(home.command(&["watch"]), Stdin::Nothing);
    watch.line(PATIENCE, |line| line.starts_with("No session is connected"));
    until("one who follows", || Some(()).filter(|()| home.status()["watchers"] == 1));
    gate.say("/", "one").expect(200);
    watch.line(PATIENCE, |line| line.ends_with("waits for a session: one"));
    gate.kill_9();
    watch.line(PATIENCE, |line| line == "The gate does not answer; waiting for it.");
    let gate = home.serve();
    gate.say("/", "two").expect(200);
    watch.line(PATIENCE, |line| line == "The gate is back.");
    watch.line(PATIENCE, |line| line.ends_with("waits for a session: two"));
    gate.say("/", "three").expect(200);
    watch.line(PATIENCE, |line| line.ends_with("waits for a session: three"));
    let shown = watch.stdout();
    for word in [": one", ": two", ": three", "the gate started", "The gate is back."] {
        assert_eq!(shown.matches(word).count(), 1, "{word} in {shown}");
    }
}

#[test]
fn watch_ends_with_the_reason_where_a_gate_that_answers_refuses() {
    let home = Home::new();
    home.write_config("[limits]\nsse_listeners = 1\n");
    let _gate = home.serve();
    let _first = home.spawn(home.command(&["watch"]), Stdin::Nothing);
    until("one who follows", || Some(()).filter(|()| home.status()["watchers"] == 1));
    let second = home.spawn(home.command(&["watch"]), Stdin::Nothing);
    Ran::of(&second, PATIENCE).refused(1, "too many listeners");
}

#[test]
fn a_prompt_is_answered_where_it_is_seen_and_one_answered_elsewhere_is_closed() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    let screen = Tmux::running(&home, &home.command(&["watch"]));
    screen.until("── api: connected");
    session.ask("abcde", "Bash", "Push to main", "git push --force");
    screen.until("api asks:");
    let shown = screen.until("Allow?");
    assert!(shown.contains("│ git push --force") && shown.contains("api: waiting for you"), "{shown}");
    screen.type_line("d not on a Friday");
    let verdict = session.next_verdict();
    assert_eq!((&*verdict.request_id, &*verdict.behavior), ("abcde", "deny"));
    screen.until("abcde denied by owner: not on a Friday");
    screen.wait("the end of the card", |screen| !screen.contains("Allow?"));

    session.ask("fghij", "Bash", "List", "ls");
    session.ask("kmnop", "Bash", "Look", "pwd");
    screen.until("and 1 more wait");
    // A smaller window shows the same card, and a line wraps at its width.
    screen.run(&["resize-window", "-x", "60", "-y", "30"]);
    gate.say("/", &format!("{}end", "a longish sentence ".repeat(5))).expect(200);
    let shown = screen.until("sentence end");
    assert!(shown.contains("Allow?"), "{shown}");
    home.run(&["ask", "allow", "fghij"]).ok();
    screen.until("fghij allowed by owner");
    let shown = screen.wait("the next card", |screen| screen.contains("│ pwd"));
    assert!(!shown.contains("│ ls"), "{shown}");
    screen.type_line("what?");
    screen.until("that was not understood");
    screen.type_line("y");
    screen.until("kmnop allowed by owner");
    assert_eq!(session.verdict_count(), 3);
}

/// The sessions `api` and `web`, and a terminal with `watch`.
fn two_sessions_watched(home: &Home) -> (StandIn, StandIn, Tmux) {
    let [api, web] = ["api", "web"].map(|label| StandIn::start_under_an_agent(home, &["--label", label]));
    home.attached(2);
    let screen = Tmux::running(home, &home.command(&["watch"]));
    screen.until("── ");
    (api, web, screen)
}

#[test]
fn what_was_typed_for_a_prompt_that_is_gone_does_not_answer_the_next_one() {
    let home = Home::new();
    let _gate = home.serve();
    let (one, two, screen) = two_sessions_watched(&home);
    one.ask("abcde", "Bash", "List", "ls");
    screen.until("│ ls");
    two.ask("fghij", "Bash", "Push", "git push --force");
    screen.until("and 1 more wait");
    screen.keys(&["-l", "y"]);
    screen.until("Allow? y");
    home.run(&["ask", "deny", "abcde"]).ok();
    screen.until("│ git push --force");
    screen.keys(&["Enter"]);
    screen.until("that was not understood");
    assert_eq!(two.verdict_count(), 0);
    screen.type_line("y");
    assert_eq!(two.next_verdict().behavior, "allow");
}

#[test]
fn a_prompt_that_waits_for_others_comes_last_and_any_can_be_passed_over() {
    let home = Home::new();
    std::fs::write(home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(npm publish *)\"\nquorum = 2\n").unwrap();
    let _gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    let screen = Tmux::running(&home, &home.command(&["watch"]));
    screen.until("── api: connected");
    session.hook_later("PermissionRequest", &bash("npm publish one"));
    screen.until("│ npm publish one");
    screen.until("2 people must allow it");
    session.ask("fghij", "Bash", "List", "ls");
    session.ask("kmnop", "Bash", "Look", "pwd");
    screen.until("and 2 more wait");
    screen.type_line("y");
    screen.until("1 more must allow it");
    screen.until("│ ls");
    screen.type_line(">");
    screen.until("│ pwd");
    screen.type_line(">");
    screen.until("│ npm publish one");
    let shown = screen.until("you have allowed it; 1 more must allow it");
    assert!(shown.contains("api waits for others") && !shown.contains("Allow?"), "{shown}");
    screen.type_line(">");
    screen.until("│ ls");
    screen.type_line("y");
    assert_eq!(session.next_verdict().request_id, "fghij");
    screen.until("│ pwd");
}

#[test]
fn what_does_not_fit_is_cut_where_it_says_so_and_allowed_only_after_it_was_shown_whole() {
    let home = Home::new();
    let _gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    let screen = Tmux::running(&home, &home.command(&["watch"]));
    screen.run(&["resize-window", "-x", "100", "-y", "30"]);
    screen.until("── api: connected");
    let command = format!("echo first {} last\necho two\necho three\necho four", "x".repeat(3400));
    let held = session.hook_later("PermissionRequest", &bash(&command));
    screen.until("│ echo first");
    let shown = screen.until("Allow?");
    assert!(shown.contains(" characters are") && shown.contains("│ echo four"), "{shown}");
    screen.type_line("y");
    screen.until("Not allowed yet");
    assert_eq!(session.verdict_count(), 0);
    screen.type_line("y");
    assert_eq!(session.hook_answer(&held)["hookSpecificOutput"]["decision"]["behavior"], "allow");
}

#[test]
fn prompts_that_open_and_settle_at_once_stay_in_the_list_until_each_is_answered() {
    let home = Home::new();
    let _gate = home.serve();
    let (one, two, screen) = two_sessions_watched(&home);
    for (code, command) in [("abcde", "ls a"), ("abcdf", "ls b"), ("abcdg", "ls c"), ("abcdh", "ls d")] {
        one.ask(code, "Bash", "List", command);
    }
    screen.until("and 3 more wait");
    two.ask("bbcde", "Bash", "List", "ls e");
    let held = two.hook_later("PermissionRequest", &bash("ls f"));
    screen.until("and 5 more wait");
    // Answered here and elsewhere at once, while one more opens.
    let elsewhere = ["abcdg", "bbcde"].map(|code| home.spawn(home.command(&["ask", "allow", code]), Stdin::Nothing));
    screen.type_line("n");
    one.ask("abcdj", "Bash", "List", "ls g");
    for ran in &elsewhere {
        Ran::of(ran, PATIENCE).ok();
    }
    for command in ["ls b", "ls d", "ls f", "ls g"] {
        screen.until(&format!("│ {command}"));
        screen.type_line("y");
    }
    screen.wait("the end of the cards", |screen| !screen.contains("Allow?"));
    two.hook_answer(&held);
    assert_eq!((one.verdict_count(), two.verdict_count()), (5, 1));
}

#[test]
fn inside_an_agent_and_where_devices_answer_watch_only_looks() {
    let home = Home::new();
    let gate = home.serve();
    // Its parent is this test, and so is that of what runs below.
    let session = StandIn::start(&home, &["--label", "api"]);
    gate.open_prompt(&session, "abcde");
    let mut terminal = Terminal::controlling(&home.command(&["watch"]));
    terminal.until("not answered here: this runs inside session api");
    terminal.type_line("y");
    terminal.until("Not answered here");
    assert_eq!(session.verdict_count(), 0);
    terminal.interrupt();
    assert!(terminal.wait().success(), "Ctrl-C is how it is left");

    let home = Home::new();
    home.write_config("approvals = \"device\"\n");
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    until("the session", || Some(()).filter(|()| home.status()["sessions"] == 1));
    let terminal = Terminal::controlling(&home.command(&["watch"]));
    terminal.until("api: connected");
    session.ask("abcde", "Bash", "Push", "git push");
    terminal.until("abcde asks to run Bash: git push");
    terminal.until("not answered here: prompts are answered on devices only");
    terminal.until("│ git push");
    let status = home.run(&["status"]).ok().stdout;
    assert!(status.contains("approvals  device: prompts are answered with a reviewer's token"), "{status}");
    assert_eq!(home.status()["approvals"], "device");
    gate.stop();
}

#[test]
fn watch_shows_the_mcp_servers_of_sessions_and_approves_one_as_it_was_shown() {
    let home = Home::new();
    let _gate = home.serve();
    let _session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    let server = json!({"mcpServers": {"fake": {"command": "/nowhere/at-all"}}});
    std::fs::write(home.project().join(".mcp.json"), server.to_string()).unwrap();
    let screen = Tmux::running(&home, &home.command(&["watch"]));
    screen.until("/mcp shows MCP servers");
    screen.type_line("/mcp approve fake");
    screen.until("look first: /mcp shows no fake");
    screen.type_line("/mcp");
    screen.until("fake not approved (project): /nowhere/at-all; if that may run: /mcp approve fake");
    screen.type_line("/mcp approve fake");
    screen.until("Approved fake.");
    screen.type_line("/mcp");
    screen.until("fake failed (project)");
}

#[test]
fn up_in_the_foreground_shows_the_same_lines() {
    let home = Home::new();
    let up = home.spawn(home.command(&["up"]), Stdin::Nothing);
    up.line(PATIENCE, |line| line.contains("is up"));
    home.wait_for_gate();
    until("its own lines", || Some(()).filter(|()| home.status()["watchers"] == 1));
    home.run(&["say", "the build is red", "--chat", "ops"]).ok();
    up.line(PATIENCE, |line| line.ends_with("event from owner in ops waits for a session: the build is red"));
    home.stop_gate();
    assert!(up.wait_exit(PATIENCE).success());
}

#[test]
fn say_waits_for_the_reply_and_prints_it() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_REPLY_QUIET", 300);
    let _gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    let say = home.spawn(home.command(&["say", "how is it?", "--wait"]), Stdin::Nothing);
    let chat = session.next_event().meta("chat_id").to_owned();
    session.ask("abcde", "Bash", "Look", "git status");
    say.complaint("abcde asks to run Bash: git status; `portcullis ask allow abcde` allows it");
    let question = json!({"question": "Which?", "header": "H", "multiSelect": false, "options": [
        {"label": "One", "description": ""}, {"label": "Two", "description": ""}]});
    let asked = json!({"tool_name": "AskUserQuestion", "tool_input": {"questions": [question]}});
    session.hook_later("PermissionRequest", &asked);
    say.complaint("--answer 1`, or its label, or your own words");
    session.call("reply", &json!({"chat_id": chat, "text": "all is well"}));
    session.call("reply", &json!({"chat_id": chat, "text": "and clean"}));
    let ran = Ran::of(&say, PATIENCE).ok();
    assert_eq!(ran.stdout, "all is well\nand clean\n");

    let late = home.run(&["say", "and now?", "--wait=1"]);
    late.refused(1, "no reply to event");
    assert!(late.stderr.contains("hint: `portcullis events show"), "{late:?}");
    session.next_event();

    let say = home.spawn(home.command(&["say", "once more", "--wait", "--json"]), Stdin::Nothing);
    let chat = session.next_event().meta("chat_id").to_owned();
    session.call("reply", &json!({"chat_id": chat, "text": "yes"}));
    let lines = Ran::of(&say, PATIENCE).ok().json_lines();
    assert_eq!((&lines[0]["chat_id"], &lines[1]["text"]), (&json!(chat), &json!("yes")));
}

#[test]
fn say_names_a_prompt_that_was_open_before() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_REPLY_QUIET", 300);
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    session.ask("abcde", "Bash", "Look", "git status");
    gate.open_ask();
    let say = home.spawn(home.command(&["say", "how is it?", "--wait"]), Stdin::Nothing);
    say.complaint("open already: abcde asks to run Bash: git status; `portcullis ask allow abcde` allows it");
    let chat = session.next_event().meta("chat_id").to_owned();
    session.call("reply", &json!({"chat_id": chat, "text": "all is well"}));
    let ran = Ran::of(&say, PATIENCE).ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.matches("abcde asks").count()), ("all is well\n", 1), "{ran:?}");
}

#[test]
fn watch_says_what_can_be_typed_when_a_line_answers_nothing() {
    let home = Home::new();
    let _gate = home.serve();
    let mut terminal = Terminal::controlling(&home.command(&["watch"]));
    terminal.until("? helps");
    terminal.type_line("?");
    terminal.until("/mcp shows MCP servers, Ctrl-C leaves.");
    terminal.type_line("/foo");
    terminal.until("No prompt is open, so nothing was answered.");
}

#[test]
fn say_ends_with_the_turn_that_read_it_and_brought_no_reply() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_REPLY_QUIET", 300);
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    session.hook("UserPromptSubmit", &json!({"prompt": "go", "permission_mode": "auto"}));
    let say = home.spawn(home.command(&["say", "how is it?", "--wait"]), Stdin::Nothing);
    until("the event waits", || (gate.get("/api/v1/status").json()["waiting_events"] == 1).then_some(()));
    session.hook("PostToolUse", &bash("git status"));
    session.hook("Stop", &json!({}));
    let ran = Ran::of(&say, PATIENCE);
    ran.refused(1, "ended without a reply");
    assert!(ran.stderr.contains("`portcullis page` show what it said"), "{ran:?}");
}

#[test]
fn watch_tells_whether_a_session_works_waits_or_is_idle() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    let screen = Tmux::running(&home, &home.command(&["watch"]));
    screen.until("── api: connected");
    session.hook("UserPromptSubmit", &json!({"prompt": "go", "permission_mode": "auto"}));
    screen.until("── api: auto, working");
    let id = session.hook_later("PermissionRequest", &bash("git push"));
    screen.until("── api: auto, waiting for you");
    gate.answer(&gate.open_ask(), &json!({"behavior": "allow"}));
    session.hook_answer(&id);
    screen.until("── api: auto, working");
    session.hook("Stop", &json!({"permission_mode": "auto"}));
    screen.until("── api: auto, idle");
    session.close_stdin();
    screen.until("session ended");
    screen.until("── no session is connected");
}
