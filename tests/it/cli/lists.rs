//! Lists that help to decide, and the log as sentences: for eyes on a terminal, and as plain lines in a pipe.

use crate::support::child::Stdin;
use crate::support::home::{Home, Ran};
use crate::support::standin::StandIn;
use crate::support::terminal::Terminal;
use crate::support::{PATIENCE, until};
use serde_json::json;
use std::process::Command;

/// Runs a command in this time zone.
fn run_in(home: &Home, zone: &str, args: &[&str]) -> Ran {
    let mut command = home.command(args);
    command.env("TZ", zone);
    Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE).ok()
}

/// What a terminal of so many columns shows of a command that ends.
fn shown_on_terminal(mut command: Command, columns: u16) -> String {
    command.env("TERM", "xterm");
    let terminal = Terminal::start_wide(command, columns);
    terminal.shown_whole()
}

#[test]
fn the_list_of_prompts_has_what_one_decides_by() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    session.ask("abcde", "Bash", "Push to main", &json!({"command": "git push --force"}).to_string());
    session.ask("fghij", "Write", "Write it", &json!({"file_path": "/srv/app.txt", "content": "x\ny"}).to_string());
    session.ask("kmnop", "Bash", "Much", &json!({"command": format!("echo {}", "x".repeat(400))}).to_string());
    session.ask("qrstu", "mcp__mini__hello", "Say hello", &json!({"name": "Bob", "at": [1, 2]}).to_string());
    gate.open_asks(4);
    let list = home.run(&["ask", "list"]).ok().stdout;
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["CODE", "SESSION", "RISK", "AGE", "ASKS", "FOR"]);
    assert!(lines[1].starts_with("abcde  api") && lines[1].ends_with("Bash: git push --force"), "{list}");
    assert!(lines[2].starts_with("fghij  api") && lines[2].ends_with("Write: /srv/app.txt"), "{list}");
    assert!(lines[3].ends_with("xxx… (whole: `portcullis ask show kmnop`)"), "{list}");
    assert!(lines[4].ends_with(r#"mcp__mini__hello: { "at": [ 1, 2 ], "name": "Bob" }"#), "{list}");
    let place = |line: &str, text: &str| line.find(text).unwrap();
    assert_eq!(place(lines[0], "ASKS FOR"), place(lines[1], "Bash:"), "{list}");

    home.run(&["ask", "deny", "abcde", "--why", "not on a Friday"]).ok();
    home.run(&["ask", "allow", "fghij"]).ok();
    let all = home.run(&["ask", "list", "--all"]).ok().stdout;
    assert!(all.contains("denied by owner: not on a Friday") && all.contains("allowed by owner"), "{all}");
    let shown = home.run(&["ask", "show", "abc"]).ok().stdout;
    for word in
        ["asked     20", "answered  20", "denied by owner over socket", "reason    not on a Friday", "carried   20"]
    {
        assert!(shown.contains(word), "{word}: {shown}");
    }
}

#[test]
fn the_log_is_sentences_in_local_time_under_their_day() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    gate.open_prompt(&session, "abcde");
    home.run(&["ask", "deny", "abcde", "--why", "not on a Friday"]).ok();
    until("the session has the verdict", || (!home.records("carried").is_empty()).then_some(()));
    gate.say("/?label=web", "for web").expect(200);
    let at = home.records("answered")[0].clone();
    let denied = "api       abcde denied by owner: not on a Friday";

    // Half an hour off, so that no other zone is taken for it.
    let log = run_in(&home, "<+0530>-5:30", &["log"]).stdout;
    let line = log.lines().find(|line| line.ends_with(denied)).unwrap_or_else(|| panic!("{log}"));
    let minutes = |line: &str| {
        let (hours, minutes) = (line[..2].parse::<u64>().unwrap(), line[3..5].parse::<u64>().unwrap());
        hours * 60 + minutes
    };
    let utc = run_in(&home, "UTC0", &["log"]).stdout;
    let in_utc = utc.lines().find(|line| line.ends_with(denied)).unwrap();
    assert_eq!((minutes(line) + 24 * 60 - minutes(in_utc)) % (24 * 60), 5 * 60 + 30, "{line}\n{in_utc}\n{at}");
    assert!(!utc.lines().next().unwrap().starts_with(|c: char| c.is_ascii_digit()), "the day comes first: {utc}");
    assert!(!utc.contains('\u{1b}') && !utc.contains("{\""), "{utc}");

    let only = |args: &[&str]| -> Vec<String> {
        let ran = home.run(&[&["log"], args].concat()).ok().stdout;
        ran.lines().skip(1).map(str::to_owned).collect()
    };
    assert!(only(&["-n", "1"])[0].contains("for web"), "{:?}", only(&["-n", "1"]));
    assert_eq!(only(&["-n", "3"]).len(), 3);
    let of_api = only(&["--session", "api"]);
    assert!(of_api.iter().any(|line| line.ends_with(denied)), "{of_api:?}");
    assert!(!of_api.iter().any(|line| line.contains("for web") || line.contains("gate started")), "{of_api:?}");
    let of_ask = only(&["--ask", "abcde"]);
    assert!(of_ask.len() >= 2 && of_ask.iter().all(|line| line.contains("abcde")), "{of_ask:?}");
    assert_eq!(home.run(&["log", "--json", "--ask", "abcde", "-n", "1"]).ok().json_lines().len(), 1);
}

#[test]
fn following_the_log_begins_now() {
    let home = Home::new();
    let gate = home.serve();
    gate.say("/", "long ago").expect(200);
    let log = home.spawn(home.command(&["log", "--follow"]), Stdin::Nothing);
    // It may not have begun yet: said until it is heard.
    until("a line", || {
        gate.say("/", "and then").expect(200);
        log.stdout().contains("and then").then_some(())
    });
    assert!(!log.stdout().contains("long ago") && !log.stdout().contains("gate started"), "{}", log.stdout());
}

#[test]
fn a_terminal_gets_colours_and_lines_that_fit_and_a_pipe_neither() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "前端"]);
    home.attached(1);
    let long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen";
    session.ask("abcde", "Bash", "Say", &json!({"command": format!("echo {long}")}).to_string());
    gate.open_asks(1);
    let piped = home.run(&["ask", "list"]).ok().stdout;
    assert!(piped.contains(long) && !piped.contains('\u{1b}') && piped.lines().count() == 2, "{piped}");
    let shown = shown_on_terminal(home.command(&["ask", "list"]), 60);
    assert!(shown.contains("\u{1b}["), "{shown:?}");
    let mut plain = home.command(&["ask", "list"]);
    plain.env("NO_COLOR", "1");
    let shown = shown_on_terminal(plain, 60);
    assert!(!shown.contains('\u{1b}') && !shown.contains(long), "{shown:?}");
    // Each of the two letters takes two columns.
    let columns = |line: &str| line.chars().map(|letter| if letter.is_ascii() { 1 } else { 2 }).sum::<usize>();
    assert!(shown.lines().all(|line| columns(line) < 60), "{shown}");
    let mut lines = shown.lines();
    let (head, row) = (lines.next().unwrap(), lines.next().unwrap());
    let column = |line: &str, text: &str| columns(&line[..line.find(text).unwrap()]);
    assert_eq!(column(head, "ASKS FOR"), column(row, "Bash:"), "{shown}");
}

#[test]
fn outside_text_puts_nothing_on_the_terminal_that_is_not_text() {
    let home = Home::new();
    let gate = home.serve();
    let evil = "a\u{1b}]0;x\u{7}b\r\nc\u{202e}d\u{200f}e\u{2028}f";
    gate.say("/?chat=ops", evil).expect(200);
    let session = StandIn::start_under_an_agent(&home, &[]);
    home.attached(1);
    session.ask("abcde", "Bash", evil, evil);
    gate.open_asks(1);
    home.run(&["ask", "deny", "abcde", "--why", evil]).ok();
    for words in [
        &["log"][..],
        &["ask", "list", "--all"],
        &["ask", "show", "abcde"],
        &["events", "list"],
        &["session", "list"],
        &["status"],
        &["people", "list"],
        &["token", "list"],
    ] {
        let shown = home.run(words).ok().stdout;
        let deceives = |letter: char| {
            letter != '\n' && letter.is_control() || matches!(letter, '\u{202e}' | '\u{200f}' | '\u{2028}')
        };
        assert!(!shown.contains(deceives), "{words:?}: {shown:?}");
    }
}

#[test]
fn a_stop_that_nothing_enforces_is_shown_as_such() {
    let home = Home::new();
    home.serve();
    let _session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    assert!(!home.run(&["status"]).ok().stdout.contains("stop by"));
    home.run(&["session", "stop", "api"]).ok();
    for words in [&["status"][..], &["session", "list"]] {
        let shown = home.run(words).ok().stdout;
        assert!(shown.contains("stop by owner not enforced"), "{words:?}: {shown}");
    }
}

#[test]
fn the_owner_is_listed_for_programs_too_and_is_not_removed() {
    let home = Home::new();
    let _gate = home.serve();
    home.token_for("rita", "reviewer");
    let people = home.run(&["people", "list", "--json"]).ok().json();
    assert_eq!(
        (&people["owner"], &people["people"][0]["name"]),
        (&json!({"name": "owner", "role": "admin"}), &json!("rita"))
    );
    home.run(&["people", "remove", "owner"]).refused(1, "the owner is this machine's user, and stays admin");
    home.run(&["people", "role", "owner", "sender"]).refused(1, "the owner is this machine's user, and stays admin");
}
