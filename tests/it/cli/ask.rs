//! The life of a prompt at the command line: who may answer it, what was said, and whether it arrived.

use crate::support::child::Stdin;
use crate::support::gate::Gate;
use crate::support::home::{Home, Ran, random_hex};
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, Signal, running, until};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A session with hooks, to which this test is a person at another terminal.
fn hooked_under_an_agent() -> (Home, Gate, StandIn) {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    session.hook("Notification", &json!({}));
    home.attached(1);
    (home, gate, session)
}

#[test]
fn a_prompt_is_listed_shown_and_answered_at_the_command_line() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    assert_eq!(home.run(&["ask", "list"]).ok().stdout, "No prompts are open.\n");
    assert_eq!(home.run(&["ask", "list", "--all"]).ok().stdout, "No prompts in the last 24 hours.\n");
    assert_eq!(home.run(&["ask", "list", "--json"]).json(), json!([]));
    let listener = gate.events();
    session.ask("abcde", "Bash", "Push to main", "git push --force");
    session.ask("fghij", "Write", "Write a file", "hello.txt");
    listener.containing("fghij");
    let list = home.run(&["ask", "list"]).ok().stdout;
    assert!(list.contains("abcde  project") && list.contains("Bash: git push --force"), "{list}");
    let shown = home.run(&["ask", "show", "ABCDE"]).ok().stdout;
    for word in ["Push to main", "git push --force", "open; answer with `portcullis ask allow abcde`"] {
        assert!(shown.contains(word), "{shown}");
    }
    let ask = show(&home, "abcde");
    assert_eq!((&ask["state"], &ask["verdict"]), (&json!("open"), &Value::Null));

    assert_eq!(home.run(&["ask", "allow", "abcde"]).ok().stdout, "Allowed abcde.\n");
    let verdict = session.next_verdict();
    assert_eq!((&*verdict.request_id, &*verdict.behavior), ("abcde", "allow"));
    home.run(&["ask", "deny", show(&home, "fghij")["id"].as_str().unwrap(), "--why", "not on a Friday"]).ok();
    assert_eq!(session.next_verdict().behavior, "deny");
    let denied = show(&home, "fghij")["verdict"].clone();
    let told = ["behavior", "by", "via", "why"].map(|key| denied[key].as_str().unwrap());
    assert_eq!(told, ["deny", "owner", "socket", "not on a Friday"]);

    let late = home.run(&["ask", "deny", "abcde"]);
    late.refused(1, "settled already: allowed by owner over socket");
    home.run(&["ask", "allow", "zzzzz"]).refused(1, "no such prompt");
    home.run(&["ask", "show", "nonsense"]).refused(1, "no prompt nonsense");
    assert_eq!(home.run(&["ask", "list"]).ok().stdout, "No prompts are open.\n");
    assert_eq!(home.run(&["ask", "list", "--all", "--json"]).json().as_array().unwrap().len(), 2);
    assert_eq!(session.verdict_count(), 2);
}

#[test]
fn a_recorded_verdict_is_shown_apart_from_a_delivered_one() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    home.attached(1);
    gate.open_prompt(&session, "abcde");
    let channel =
        running::channels_of(&home.folder()).into_iter().find(|process| process.args[0].ends_with("portcullis"));
    let channel = channel.unwrap();
    running::signal(&channel, Signal::STOP);
    home.run(&["ask", "allow", "abcde"]).ok();
    let said = show(&home, "abcde")["verdict"].clone();
    assert!(said["at"].is_u64() && said["carried_at"].is_null(), "{said}");
    let words = || home.run(&["ask", "show", "abcde"]).ok().stdout;
    assert!(words().contains("allow by owner over socket, not yet handed to the session"), "{}", words());
    running::signal(&channel, Signal::CONT);
    assert_eq!(session.next_verdict().behavior, "allow");
    let carried = until("a carried verdict", || {
        Some(show(&home, "abcde")["verdict"]["carried_at"].clone()).filter(Value::is_u64)
    });
    assert!(carried.as_u64() >= said["at"].as_u64());
    assert!(words().contains("handed to the session") && !words().contains("not yet"), "{}", words());
}

#[test]
fn commands_run_by_an_agent_cannot_answer_or_administer_and_are_logged() {
    let home = Home::new();
    let gate = home.serve();
    // Its parent is this test, and so is that of every command below.
    let session = StandIn::start(&home, &["--label", "api"]);
    let sent = gate.say("/", "hello").expect(200);
    session.next_event();
    gate.open_prompt(&session, "abcde");
    let event = sent.header("x-event-id").unwrap();
    let attempts = [
        &["ask", "allow", "abcde"][..],
        &["ask", "deny", "abcde"],
        &["say", "yes abcde"],
        &["token", "add", "eve", "--role", "admin"],
        &["people", "role", "ann", "admin"],
        &["people", "remove", "ann"],
        &["people", "pair", "abcdefgh", "--name", "eve"],
        &["log", "redact", event],
    ];
    for with_claudecode in [false, true] {
        for (before, words) in attempts.iter().enumerate() {
            let before = before + if with_claudecode { attempts.len() } else { 0 };
            assert_eq!(home.records("access_denied").len(), before);
            let mut command = home.command(words);
            if with_claudecode {
                command.env("CLAUDECODE", "1");
            }
            let ran = Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE);
            ran.refused(4, "refused");
            assert!(ran.stderr.contains("inside") && ran.stdout.is_empty(), "{words:?}: {ran:#?}");
            assert_eq!(home.records("access_denied").len(), before + 1, "{words:?}");
        }
    }
    let first = &home.records("access_denied")[0];
    assert!(first["what"].as_str().unwrap().contains("allow prompt abcde") && first["who"] == "owner", "{first}");
    assert!(first["what"].as_str().unwrap().contains("inside session api"), "{first}");
    for (path, body) in [("/", "yes abcde"), ("/api/v1/asks/abcde/verdict", r#"{"behavior":"allow"}"#)] {
        let mut curl = home.program("curl");
        curl.args(["-s", "--unix-socket"]).arg(home.folder().join("gate.sock"));
        curl.args(["-d", body, &format!("http://localhost{path}")]);
        let ran = Ran::of(&home.spawn(curl, Stdin::Nothing), PATIENCE).ok();
        assert!(ran.stdout.contains("inside session api"), "{path}: {ran:?}");
    }

    for harmless in [&["ask", "list"][..], &["events", "list"], &["log"], &["status"], &["say", "no verdict"]] {
        home.run(harmless).ok();
    }
    assert_eq!((session.verdict_count(), show(&home, "abcde")["state"].clone()), (0, json!("open")));
    assert_eq!(home.run(&["token", "list", "--json"]).json(), json!([]));
    assert!(!gate.has_exited());
    assert!(home.run(&["events", "show", event]).ok().stdout.contains("hello"));
}

#[test]
fn inside_claude_code_a_person_must_confirm_at_the_terminal() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    gate.open_prompt(&session, "abcde");
    gate.open_prompt(&session, "fghij");
    // No agent is above it, but its environment says so and nobody is there to confirm.
    let mut command = home.command(&["ask", "allow", "abcde"]);
    command.env("CLAUDECODE", "1");
    Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE).refused(4, "Claude Code");
    assert_eq!(show(&home, "abcde")["state"], "open");
    assert_eq!(home.records("access_denied").len(), 1);

    for (code, typed, ending, state) in
        [("abcde", "y", "did not allow prompt abcde", "open"), ("fghij", "yes", "Allowed fghij.", "answered")]
    {
        let terminal = Terminal::running(&home, &format!("CLAUDECODE=1 $P ask allow {code}"));
        terminal.shows("This runs inside Claude Code. Type yes");
        terminal.types(typed);
        terminal.shows(ending);
        assert_eq!(show(&home, code)["state"], state);
    }
    assert_eq!(session.next_verdict().request_id, "fghij");
    assert_eq!(session.verdict_count(), 1);
}

#[test]
fn guessing_codes_locks_out_only_the_guesser() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    let [rae, sam] = [("rae", "reviewer"), ("sam", "reviewer")].map(|(name, role)| home.token_for(name, role));
    gate.open_prompt(&session, "abcde");
    let allow = json!({"behavior": "allow"});
    for guess in ["zzzza", "zzzzb", "zzzzc"] {
        gate.say_as(&rae, "/", &format!("yes {guess}")).expect(200);
    }
    for guess in ["zzzzd", "zzzze"] {
        gate.verdict_as(&rae, guess, &allow).expect(404);
    }
    gate.say_as(&rae, "/", "yes abcde").expect(429);
    gate.verdict_as(&rae, "abcde", &allow).expect(429);
    gate.say_as(&sam, "/", "no abcde").expect(200);
    assert_eq!(session.next_verdict().behavior, "deny");
}

#[test]
fn a_verdict_for_a_lost_session_is_refused() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    gate.open_prompt(&session, "abcde");
    session.kill_9();
    home.attached(0);
    let answer = gate.say("/", "yes abcde").expect(409);
    assert!(answer.text().contains("would reach nobody") && answer.text().contains("at the terminal"), "{answer}");
    let verdict = gate.verdict("abcde", &json!({"behavior": "allow"})).expect(409);
    assert_eq!(verdict.json()["error"], 40904);
    let ask = show(&home, "abcde");
    assert_eq!((&ask["state"], &ask["verdict"]), (&json!("open"), &Value::Null));
}

#[test]
fn with_device_approvals_the_owner_cannot_answer() {
    let home = Home::new();
    home.write_config("approvals = \"device\"\n");
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    let token = home.token_for("rae", "reviewer");
    session.ask("abcde", "Bash", "Push", "git push");
    let listener = gate.listen_as(&token, "/events");
    listener.containing("abcde");
    let told = home.run(&["ask", "allow", "abcde"]);
    for words in ["approvals = \"device\"", "token add NAME --role reviewer", "own dialog", "approvals = \"anywhere\""]
    {
        assert!(told.stderr.contains(words), "{words}: {told:#?}");
    }
    told.refused(4, "not answered by the owner of this machine");
    // To look takes nothing away from those who answer.
    assert!(home.run(&["ask", "list"]).ok().stdout.contains("Bash: git push"));
    assert_eq!(show(&home, "abcde")["preview"], "git push");
    assert_eq!(gate.get("/api/v1/asks").expect(200).json()[0]["code"], "abcde");
    gate.get("/api/v1/verdicts").expect(200);
    gate.say("/", "yes abcde").expect(403);
    gate.verdict("abcde", &json!({"behavior": "allow"})).expect(403);
    gate.say("/", "but it may talk").expect(200);
    gate.say_as(&token, "/", "no abcde").expect(200);
    assert_eq!(session.next_verdict().behavior, "deny");
    assert_eq!(session.verdict_count(), 1);
}

#[test]
fn control_characters_in_a_prompt_are_escaped_on_the_terminal() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &[]);
    session.ask("abcde", "Bash\u{9b}2J", "List\u{1b}[8m", "rm -rf ~\rls\u{1b}[2K\u{202e}");
    gate.events().containing("abcde");
    for words in [&["ask", "show", "abcde"][..], &["ask", "list"], &["log"]] {
        let shown = home.run(words).ok().stdout;
        let deceives = |letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}');
        assert!(!shown.contains(deceives), "{words:?}: {shown:?}");
    }
    let shown = home.run(&["ask", "show", "abcde"]).ok().stdout;
    let lines: Vec<&str> = shown.lines().map(str::trim).collect();
    assert!(lines.contains(&"ls\\u{1b}[2K\\u{202e}"), "{shown}");
    assert_eq!(show(&home, "abcde")["preview"], "rm -rf ~\rls\u{1b}[2K\u{202e}", "programs get it as it was");
}

#[track_caller]
fn show(home: &Home, ask: &str) -> Value {
    home.run(&["ask", "show", ask, "--json"]).ok().json()
}

/// A terminal of its own, in which a shell has run a command. `$P` stands for portcullis.
struct Terminal<'a> {
    home: &'a Home,
    socket: PathBuf,
}

impl<'a> Terminal<'a> {
    fn running(home: &'a Home, command: &str) -> Self {
        let terminal = Self { home, socket: home.user().join(random_hex(4)) };
        let command = format!("{}; sleep 60", command.replace("$P", env!("CARGO_BIN_EXE_portcullis")));
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "50", "sh", "-c", &command]);
        terminal
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        until(text, || self.tmux(&["capture-pane", "-p"]).contains(text).then_some(()));
    }

    fn types(&self, text: &str) {
        self.tmux(&["send-keys", text, "Enter"]);
    }

    #[track_caller]
    fn tmux(&self, words: &[&str]) -> String {
        let mut tmux = self.home.program("tmux");
        tmux.arg("-S").arg(&self.socket).args(words);
        Ran::of(&self.home.spawn(tmux, Stdin::Nothing), PATIENCE).ok().stdout
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let mut tmux = self.home.program("tmux");
        tmux.arg("-S").arg(&self.socket).arg("kill-server").status().ok();
    }
}

#[test]
fn answers_name_a_question_that_was_asked_or_are_refused_with_the_questions() {
    let (home, gate, session) = hooked_under_an_agent();
    let question = |text: &str| {
        json!({"question": text, "header": "H", "multiSelect": false, "options": [
            {"label": "Postgres", "description": "big"}, {"label": "SQLite", "description": "small"}]})
    };
    let asked = |questions: Value| {
        let call = json!({"tool_name": "AskUserQuestion", "tool_input": {"questions": questions}});
        let id = session.hook_later("PermissionRequest", &call);
        (id, gate.open_ask()["code"].as_str().unwrap().to_owned())
    };
    let answers =
        |id: &Value| session.hook_answer(id)["hookSpecificOutput"]["decision"]["updatedInput"]["answers"].clone();
    for typed in ["SQLite", "2", "sqlite", "Which store?=SQLite"] {
        let (id, code) = asked(json!([question("Which store?")]));
        let shown = home.run(&["ask", "show", &code]).ok().stdout;
        assert!(shown.contains(&format!("portcullis ask allow {code} --answer 1")), "{shown}");
        let said = home.run(&["ask", "allow", &code, "--answer", typed]).ok().stdout;
        assert!(said.starts_with(&format!("Answered {code}.")) && said.ends_with("\nWhich store? SQLite\n"), "{said}");
        assert_eq!(answers(&id), json!({"Which store?": "SQLite"}), "{typed}");
    }
    let (id, code) = asked(json!([question("Which store?"), question("Which copy?")]));
    let wrong = home.run(&["ask", "allow", &code, "--answer", "Which shop?=SQLite"]);
    assert!(!wrong.status.success() && wrong.stderr.contains("no question \"Which shop?\""), "{wrong:?}");
    assert!(wrong.stderr.contains("\"Which copy?\" (1 Postgres, 2 SQLite)"), "{wrong:?}");
    for given in [json!({"Which shop?": "SQLite"}), json!({"Which store?": "SQLite"}), json!(["SQLite"]), json!([])] {
        let refused = gate.verdict(&code, &json!({"behavior": "allow", "answers": given})).expect(422).json();
        assert!(refused["message"].as_str().unwrap().contains("Which copy?"), "{refused}");
    }
    let whole = json!({"behavior": "allow", "input": {"questions": [], "answers": {"Which shop?": "x"}}});
    gate.verdict(&code, &whole).expect(422);
    home.run(&["ask", "allow", &code, "--answer", "1=1", "--answer", "Which copy?=2"]).ok();
    assert_eq!(answers(&id), json!({"Which store?": "Postgres", "Which copy?": "SQLite"}));
}

#[test]
fn answers_to_a_prompt_that_asks_no_question_are_refused_and_let_nothing_through() {
    let (home, gate, session) = hooked_under_an_agent();
    let plan = json!({"tool_name": "ExitPlanMode", "tool_input": {"plan": "1. Read"}});
    let command = json!({"tool_name": "Bash", "tool_input": {"command": "git push"}});
    for call in [command, plan] {
        let asked = session.hook_later("PermissionRequest", &call);
        let code = gate.open_ask()["code"].as_str().unwrap().to_owned();
        let ran = home.run(&["ask", "allow", &code, "--answer", "1"]);
        ran.refused(1, "this prompt asks no question");
        assert!(!ran.stderr.contains("GET /"), "a hint for people: {ran:?}");
        let refused = gate.verdict(&code, &json!({"behavior": "allow", "answers": {"Which?": "1"}})).expect(400).json();
        assert!(refused["message"].as_str().unwrap().contains("asks no question"), "{refused}");
        assert_eq!(show(&home, &code)["state"], "open");
        home.run(&["ask", "deny", &code]).ok();
        assert_eq!(session.hook_answer(&asked)["hookSpecificOutput"]["decision"]["behavior"], "deny");
    }
}

#[test]
fn a_verdict_that_does_not_fit_is_told_what_does() {
    let (home, gate, session) = hooked_under_an_agent();
    let offers = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "git push"}],
        "behavior": "allow", "destination": "session"}]);
    let command = json!({"tool_name": "Bash", "tool_input": {"command": "git push"}, "permission_suggestions": offers});
    session.hook_later("PermissionRequest", &command);
    let code = gate.open_ask()["code"].as_str().unwrap().to_owned();
    let ran = home.run(&["ask", "allow", &code, "--scope", "always"]);
    ran.refused(1, "does not take an allow for always: it takes scope once or session");
    // A verdict names its prompt in full, and is told which there is.
    let ran = home.run(&["ask", "allow", &code[..3]]);
    ran.refused(1, "a verdict names its prompt in full");
    assert!(ran.stderr.contains(&format!("hint: there are: {code}; `portcullis ask list`")), "{ran:?}");
    let other = if code == "zzzzz" { "yyyyy" } else { "zzzzz" };
    let ran = home.run(&["ask", "deny", other]);
    ran.refused(1, "no such prompt");
    assert!(ran.stderr.contains(&format!("there are: {code}; ")), "{ran:?}");
    // An input with which the tool cannot run uses nothing up.
    let ran = home.run(&["ask", "allow", &code, "--input", r#"{"command": 5}"#]);
    ran.refused(1, "the input has no \"command\", and Bash needs one");
    let ran = home.run(&["ask", "allow", &code, "--input", "{git push"]);
    ran.refused(1, "--input is not a JSON object");
    assert!(ran.stderr.contains("for Bash the command alone is enough"), "{ran:?}");
    assert_eq!(show(&home, &code)["state"], "open");
    home.run(&["ask", "allow", &code, "--input", "git push --dry-run"]).ok();
    assert_eq!(show(&home, &code)["verdict"]["input"], json!({"command": "git push --dry-run"}));
}

#[test]
fn a_question_with_several_answers_says_how_and_the_log_says_what_was_answered() {
    let (home, gate, session) = hooked_under_an_agent();
    let options = json!([{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}]);
    let question = json!({"question": "Which colours?", "header": "Colours", "multiSelect": true, "options": options});
    let asked = json!({"tool_name": "AskUserQuestion", "tool_input": {"questions": [question]}});
    session.hook_later("PermissionRequest", &asked);
    let code = gate.open_ask()["code"].as_str().unwrap().to_owned();
    let shown = home.run(&["ask", "show", &code]).ok().stdout;
    assert!(shown.contains(&format!("`portcullis ask allow {code} --answer 1,2`, or labels with commas")), "{shown}");
    home.run(&["ask", "allow", &code, "--answer", "1,blue"]).ok();
    let log = home.run(&["log", "--ask", &code]).ok().stdout;
    assert!(log.contains(&format!("{code} answered by owner: Red, Blue\n")), "{log}");
}

#[test]
fn whoever_allows_a_call_in_dont_ask_mode_is_told_that_it_may_not_run() {
    let (home, gate, session) = hooked_under_an_agent();
    std::fs::write(home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(touch *)\"\n").unwrap();
    const CAVEAT: &str = "in dontAsk mode Claude Code refuses it even after a yes, unless its own settings allow it";
    let held = session.hook_later(
        "PreToolUse",
        &json!({"tool_name": "Bash", "tool_input": {"command": "touch a"}, "permission_mode": "dontAsk"}),
    );
    let ask = gate.open_ask();
    let reason = ask["reason"].as_str().unwrap();
    assert!(reason.ends_with(CAVEAT) && reason.matches("dontAsk").count() == 1, "{reason}");
    let code = ask["code"].as_str().unwrap();
    let allowed = home.run(&["ask", "allow", code]).ok().stdout;
    assert!(allowed.starts_with(&format!("Allowed {code}. But {CAVEAT}")), "{allowed}");
    session.hook_answer(&held);
}

#[test]
fn one_question_takes_words_with_a_sign_in_them() {
    let (home, gate, session) = hooked_under_an_agent();
    let asked = json!({"questions": [{"question": "How?", "options": [{"label": "Fast"}, {"label": "Slow"}]}]});
    let held = session
        .hook_later("PermissionRequest", &json!({"tool_name": "AskUserQuestion", "tool_input": asked.to_string()}));
    let code = gate.open_ask()["code"].as_str().unwrap().to_owned();
    home.run(&["ask", "allow", &code, "--answer", "3"]).refused(1, "there is no option 3");
    home.run(&["ask", "allow", &code, "--answer", "Why?=Fast"]).refused(1, "there is no question \"Why?\"");
    home.run(&["ask", "allow", &code, "--answer", "use VAR=1 instead"]).ok();
    let answers = session.hook_answer(&held)["hookSpecificOutput"]["decision"]["updatedInput"]["answers"].clone();
    assert_eq!(answers, json!({"How?": "use VAR=1 instead"}));
}

#[test]
fn words_about_a_settled_prompt_are_told_to_be_no_verdict() {
    let (home, gate, session) = hooked_under_an_agent();
    let held = session.hook_later("PermissionRequest", &json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    let code = gate.open_ask()["code"].as_str().unwrap().to_owned();
    home.run(&["ask", "allow", &code]).ok();
    session.hook_answer(&held);
    let said = home.run(&["say", &format!("no {code} because it is late")]).ok().stdout;
    assert!(said.contains(&format!("not taken as a verdict: prompt {code} is settled already")), "{said}");
}

#[test]
fn what_looks_like_a_verdict_waits_where_no_session_is_connected() {
    let home = Home::new();
    let gate = home.serve();
    let said = gate.say("/", "yes abcde").expect(200).text();
    assert!(said.contains("no session is connected, so the text waits for one as a message"), "{said}");
    home.run(&["say", ""]).refused(2, "there is no text to send");
}

#[test]
fn what_changes_something_can_be_told_as_json() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    gate.open_prompt(&session, "abcde");
    gate.open_prompt(&session, "fghij");
    let allowed = home.run(&["ask", "allow", "abcde", "--json"]).ok().json();
    assert_eq!((&allowed["code"], &allowed["verdict"]["behavior"]), (&json!("abcde"), &json!("allow")));
    let denied = home.run(&["ask", "deny", "fghij", "--why", "no", "--json"]).ok().json();
    assert_eq!((&denied["state"], &denied["verdict"]["why"]), (&json!("answered"), &json!("no")));
    let stopped = home.run(&["session", "stop", "api", "--json"]).ok().json();
    assert_eq!((&stopped["order"], &stopped["by"]), (&json!("stop"), &json!("owner")));
    let made = home.run(&["token", "add", "rita", "--role", "reviewer", "--json"]).ok().json();
    assert!(made["token"].as_str().is_some_and(|token| token.len() > 20), "{made}");
    let event =
        home.run(&["say", "for later", "--label", "web", "--json"]).ok().json()["id"].as_str().unwrap().to_owned();
    let dropped = home.run(&["events", "drop", &event, "--json"]).ok().json();
    assert_eq!((&dropped["id"], &dropped["state"]), (&json!(event), &json!("dropped")));
    assert_eq!(home.run(&["events", "retry", &event, "--json"]).ok().json()["state"], "waiting");
    let rule = home.run(&["rules", "add", "ask", "Bash(touch *)", "--json"]).ok().json();
    assert_eq!((&rule["decision"], &rule["rule"]), (&json!("ask"), &json!("Bash(touch *)")));
    assert!(rule["file"].as_str().is_some_and(|file| file.ends_with("rules.toml")), "{rule}");
}

#[test]
fn hints_about_a_prompt_have_its_code() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    gate.open_prompt(&session, "abcde");
    let told = home.run(&["ask", "allow", "abcde", "--input", r#"{"command": "ls"}"#]);
    told.refused(1, "this prompt does not take another input");
    assert!(told.stderr.contains("hint: `portcullis ask show abcde` says"), "{told:?}");
    let told = home.run(&["ask", "allow", "abcde", "--mode", "frob"]);
    told.refused(1, "there is no mode \"frob\": the modes are default, ");
    session.hook_later("PermissionRequest", &json!({"tool_name": "Bash", "tool_input": {"command": "touch a"}}));
    let ask = gate.open_asks(2).into_iter().find(|ask| ask["code"] != "abcde").unwrap();
    session.hook("PostToolUse", &json!({"tool_name": "Bash", "tool_input": {"command": "touch a"}}));
    gate.ask_when(&ask, |ask| ask["state"] == "withdrawn");
    let code = ask["code"].as_str().unwrap();
    let listed = home.run(&["ask", "list", "--all"]).ok().stdout;
    assert!(listed.contains("answered at its terminal: allowed"), "{listed}");
    assert!(home.run(&["ask", "show", code]).ok().stdout.contains("answered at its terminal: allowed"));
}
