//! The log: what happened, in order, for people and for programs; and whoever changed it behind our back is found out.

use crate::support::child::Stdin;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::sse::Events;
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, Signal, until};
use serde_json::json;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

#[test]
fn the_log_shows_every_record_in_order_as_text_and_as_json() {
    let home = Home::new();
    let gate = home.serve();
    let sent = gate.say("/?chat=ops", "the build \u{1b}[31mfailed").expect(200);
    let subject = format!("event/{}", sent.event_id());
    let words = home.run(&["log"]).ok().stdout;
    assert!(words.contains(r"event from owner in ops waits for a session: the build \u{1b}[31mfailed"), "{words}");

    // More than are asked for at once.
    (0..600).for_each(|_| drop(gate.say("/", "again").expect(200)));
    let log = home.run(&["log", "--json"]).ok().json_lines();
    let numbers: Vec<u64> = log.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=602).collect::<Vec<u64>>());
    assert_eq!(log[0]["record"], json!({"opened": {"version": env!("CARGO_PKG_VERSION")}}));
    assert_eq!((&log[1]["subject"], &log[1]["payload"]), (&json!(subject), &json!("the build \u{1b}[31mfailed")));
    assert_eq!(log[1]["record"]["received"]["chat"], "ops");
    assert!(log[1]["at"].as_u64() >= log[0]["at"].as_u64());

    assert_eq!(home.run(&["log", "export"]).ok().json_lines(), log);
    assert_eq!(home.run(&["log", "--json", "--since", "1h"]).ok().json_lines(), log);
    assert_eq!(home.run(&["log", "--since", "1ms"]).ok().stdout, "", "nothing happened so lately");
    for since in ["yesterday", "2 h", "2020-01-02", "2020-01-02 15:16", "2020-01-02T15:16:17"] {
        assert_eq!(home.run(&["log", "--json", "--since", since]).ok().json_lines(), log, "{since}");
    }
    assert_eq!(home.run(&["log", "--since", "2999-01-01"]).ok().stdout, "");
    for nonsense in ["2", "tomorrow", "15-11-2026", ""] {
        let ran = home.run(&["log", "--since", nonsense]);
        assert!(ran.status.code() == Some(2) && ran.stderr.contains("such as 10m, 12h, 3d, today"), "{ran:?}");
    }
    gate.stop();
    let none = home.run(&["log"]);
    assert!(none.status.code() == Some(1) && none.stderr.contains("no gate is running"), "{none:?}");
}

#[test]
fn log_follow_runs_until_it_is_interrupted_and_over_restarts_of_the_gate() {
    let home = Home::new();
    let gate = home.serve();
    let follows = |signal: Signal| {
        let log = home.spawn(home.command(&["log", "--follow", "-n", "900"]), Stdin::Nothing);
        log.line(PATIENCE, |line| line.contains("the gate started"));
        gate.say("/", "and then").expect(200);
        log.line(PATIENCE, |line| line.contains("and then"));
        log.signal(signal);
        log.wait_exit(PATIENCE)
    };
    assert_eq!(follows(Signal::INT).signal(), Some(2));
    assert_eq!(follows(Signal::TERM).signal(), Some(15));
    let log = home.spawn(home.command(&["log", "--follow", "-n", "900"]), Stdin::Nothing);
    log.line(PATIENCE, |line| line.contains("the gate started"));
    gate.kill_9();
    log.line(PATIENCE, |line| line == "The gate does not answer; waiting for it.");
    let gate = home.serve();
    log.line(PATIENCE, |line| line == "The gate is back.");
    gate.say("/", "after the restart").expect(200);
    log.line(PATIENCE, |line| line.contains("after the restart"));
    assert_eq!(log.stdout().matches("the gate started").count(), 2, "{}", log.stdout());
}

#[test]
fn the_last_lines_of_the_log_read_as_in_the_whole_of_it() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    gate.wait_for_event(&gate.send_event("main is red"), "delivered");
    session.next_event();
    let whole = home.run(&["log"]).ok().stdout;
    let last = |count: usize| whole.lines().skip(whole.lines().count() - count).collect::<Vec<_>>().join("\n");
    let told = home.run(&["log", "-n", "2"]).ok().stdout;
    assert!(told.trim_end().ends_with(&last(2)), "{told}\n{whole}");
}

#[test]
fn a_session_that_is_not_known_is_an_error_with_those_that_are() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    for words in [
        &["log", "--session", "nosuch"][..],
        &["log", "--session", "nosuch", "--follow"],
        &["log", "--session", "nosuch", "--json", "-n", "3"],
        &["watch", "--session", "nosuch"],
        &["watch", "--label", "nosuch"],
        &["session", "stop", "nosuch"],
        &["say", "hello", "--session", "nosuch"],
    ] {
        let ran = home.run(words);
        ran.refused(1, "no session nosuch");
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains("hint: there are: api; `portcullis session list`"),
            "{ran:?}"
        );
    }
    gate.open_prompt(&session, "abcde");
    for words in [&["log", "--ask", "nosuch"][..], &["log", "--follow", "--ask", "nosuch"], &["ask", "show", "nosuch"]]
    {
        let ran = home.run(words);
        ran.refused(1, "no prompt nosuch");
        assert!(ran.stderr.contains("hint: there are: abcde; `portcullis ask list`"), "{ran:?}");
    }
    // A session that has ended is known, and so is what was asked in it.
    session.close_stdin();
    home.attached(0);
    assert!(home.run(&["log", "--session", "api"]).ok().stdout.contains("abcde asks to run"));
    home.run(&["log", "--session", "nosuch"]).refused(1, "no session nosuch");
}

#[test]
fn say_tells_for_whom_an_event_is_and_for_whom_it_waits() {
    let home = Home::new();
    let gate = home.serve();
    let said = home.run(&["say", "hello"]).ok().stdout;
    assert!(said.contains(" waits for a session: none is connected; `portcullis events drop "), "{said}");
    let said = home.run(&["say", "hello", "--label", "ap"]).ok().stdout;
    assert!(said.contains(" waits for a session called ap: none is connected; `portcullis events drop "), "{said}");
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    let said = home.run(&["say", "hello"]).ok().stdout;
    assert!(said.ends_with(" goes to api.\n"), "{said}");
    let said = home.run(&["say", "hello", "--label", "ap"]).ok().stdout;
    assert!(said.contains(" waits for a session called ap: there are api; `portcullis events drop "), "{said}");
    assert!(said.ends_with("` takes it back.\n"), "{said}");
    let late = home.run(&["say", "hello", "--label", "ap", "--wait=1"]);
    late.refused(1, "no reply to event");
    assert!(late.stderr.starts_with("it waits for a session called ap: there are api; `portcullis events"), "{late:?}");
    // What reads like a verdict and is none is said to be none, also to someone who waits for a reply.
    gate.open_prompt(&session, "abcde");
    let note = "not taken as a verdict: no open prompt has the code abcdx; the text went to the agent as a message\n";
    let said = home.run(&["say", "yes abcdx"]).ok().stdout;
    assert!(said.ends_with(note), "{said}");
    let late = home.run(&["say", "yes abcdx", "--wait=1"]);
    assert!(late.stderr.starts_with(note), "{late:?}");
}

#[test]
fn log_follow_ends_when_its_output_is_closed() {
    let home = Home::new();
    let gate = home.serve();
    let mut command = home.command(&["log", "--follow"]);
    let mut log = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // As `| head` does.
    drop(log.stdout.take());
    // It may not have begun to follow yet: said until it has something to print.
    let ended = until("its end", || {
        gate.say("/", "and then").expect(200);
        log.try_wait().unwrap()
    });
    assert!(ended.success());
}

#[test]
fn an_unchanged_log_verifies_also_against_a_noted_head() {
    let home = Home::new();
    let none = home.run(&["log", "verify"]);
    assert!(none.status.code() == Some(1) && none.stderr.contains("there is no journal yet"), "{none:?}");
    let gate = home.serve();
    gate.say("/", "one").expect(200);
    let words = home.run(&["log", "verify"]).ok().stdout;
    assert!(words.starts_with("2 records, none changed"), "{words}");
    let noted = home.run(&["log", "verify", "--json"]).json();
    assert_eq!((&noted["ok"], &noted["records"]), (&json!(true), &json!(2)));
    let head = noted["head"].as_str().unwrap();
    assert_eq!(home.run(&["log", "head"]).ok().stdout.trim_end(), head);
    assert!(words.contains(head));

    gate.say("/", "two").expect(200);
    gate.kill_9();
    assert_eq!(home.run(&["log", "verify", "--head", head, "--json"]).ok().json()["records"], 3, "without a gate");
    let other = "ab".repeat(32);
    let cut = home.run(&["log", "verify", "--head", &other]);
    assert!(cut.status.code() == Some(1) && cut.stderr.contains("the noted head is not in the journal"), "{cut:?}");
    assert!(cut.stderr.contains("or the head was copied wrongly"), "{cut:?}");
    for nonsense in ["", "zz", &head[1..]] {
        let ran = home.run(&["log", "verify", "--head", nonsense]);
        ran.refused(1, "hint: `portcullis log head` prints");
    }
}

#[test]
fn a_changed_byte_of_the_journal_is_found() {
    let home = Home::new();
    let gate = home.serve();
    gate.say("/?chat=operations", "said once").expect(200);
    gate.say("/", "the next").expect(200);
    gate.stop();
    let file = home.folder().join("journal.db");
    let whole = fs::read(&file).unwrap();
    for (text, changed, what) in [
        ("operations", "operationz", "changed, or not where it was written"),
        ("said once", "said Once", "its payload was changed"),
    ] {
        fs::write(&file, replaced(&whole, text, changed)).unwrap();
        let ran = home.run(&["log", "verify"]);
        assert!(ran.stderr.contains(&format!("the journal is broken at record 2: {what}")), "{ran:?}");
        assert!(ran.status.code() == Some(1) && ran.stderr.contains("hint: someone changed the file"), "{ran:?}");
        let told = home.run(&["log", "verify", "--json"]).json();
        assert_eq!(told, json!({"ok": false, "seq": 2, "what": what}));
    }
    fs::write(&file, whole).unwrap();
    home.run(&["log", "verify"]).ok();
}

#[test]
fn redacted_text_is_in_no_file_and_the_log_still_verifies() {
    const SECRET: &str = "the-password-is-hunter2";
    let home = Home::new();
    let gate = home.serve();
    let sent = gate.say("/", SECRET).expect(200);
    let id = sent.event_id();
    gate.say("/", "the rest").expect(200);
    let head = home.run(&["log", "head"]).ok().stdout;
    assert!(home.files().values().any(|bytes| holds(bytes, SECRET)), "it was there");

    let said = home.run(&["log", "redact", &id]).ok().stdout;
    assert!(said.contains(&format!("Erased 1 texts of event/{id}.")), "{said}");
    let gone = |gate: &Gate| {
        for (name, bytes) in home.files() {
            assert!(!holds(&bytes, SECRET), "{name}");
        }
        for words in [&["log"][..], &["log", "--json"], &["events", "show", &id], &["events", "show", &id, "--json"]] {
            let ran = home.run(words).ok();
            assert!(!ran.stdout.contains(SECRET) && ran.stdout.contains("erased"), "{words:?}: {ran:?}");
        }
        assert!(!gate.get(&format!("/api/v1/events/{id}")).expect(200).text().contains(SECRET));
        home.run(&["log", "verify", "--head", head.trim_end()]).ok();
    };
    gone(&gate);
    assert!(!gate.stderr().contains(SECRET));
    gate.stop();
    let gate = home.serve();
    gone(&gate);
    let session = StandIn::start(&home, &[]);
    let contents = [session.next_event().content, session.next_event().content];
    assert_eq!(contents, ["[erased]", "the rest"], "it keeps its place");
}

#[test]
fn redacted_text_is_no_longer_shown_by_the_running_gate() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "here"]);
    let about = home.attached(1).remove(0);
    let waits = gate.say("/?label=later", "a secret that waits").expect(200);
    session.ask("abcde", "Bash", "A secret to describe", "a secret to preview");
    gate.events().containing("abcde");
    let ask = home.run(&["ask", "show", "abcde", "--json"]).json()["id"].as_str().unwrap().to_owned();
    home.run(&["log", "redact", &waits.event_id()]).ok();
    let erased = home.run(&["log", "redact", "abcde"]).ok().stdout;
    assert!(erased.contains(&format!("texts of ask/{ask}.")), "{erased}");
    home.run(&["log", "redact", &format!("ask/{ask}")]).ok();
    for words in [&["ask", "show", "abcde"][..], &["ask", "list", "--json"], &["log", "export"]] {
        assert!(!home.run(words).ok().stdout.contains("secret"), "{words:?}");
    }
    assert!(!gate.events().containing("abcde").data.contains("secret"), "to those who come late");

    let later = StandIn::start_under_an_agent(&home, &["--label", "later"]);
    assert_eq!(later.next_event().content, "[erased]");
    gate.say("/?label=here&chat=c", "hello").expect(200);
    session.next_event();
    session.call("reply", &json!({"chat_id": "c", "text": "a secret reply"}));
    home.run(&["log", "redact", &format!("session/{}", about["id"].as_str().unwrap())]).ok();
    session.call("reply", &json!({"chat_id": "c", "text": "another reply"}));
    let headers = [("Authorization", &*format!("Bearer {}", home.token())), ("Last-Event-ID", "0")];
    let missed = Events::open(&gate.target(), "/events", &headers);
    missed.containing("another reply");
    assert!(!format!("{:?}", missed.all()).contains("secret"), "{:?}", missed.all());
    // The prompt itself is still open and can be answered.
    home.run(&["ask", "deny", "abcde"]).ok();
    assert_eq!(session.next_verdict().behavior, "deny");
}

#[test]
fn redacting_an_invalid_subject_is_refused_and_erases_nothing() {
    let home = Home::new();
    let gate = home.serve();
    let sent = gate.say("/", "stays").expect(200);
    for (subject, why) in [("nonsense", "none of event/ID"), ("gate", "none of event/ID"), ("person/ann", "none of")] {
        let ran = home.run(&["log", "redact", subject]);
        assert!(ran.status.code() == Some(1) && ran.stderr.contains(why), "{subject}: {ran:?}");
    }
    home.run(&["log", "redact", "01m7f9jc2g75gzpa3000000004"]).ok();
    assert!(home.run(&["events", "show", &sent.event_id()]).ok().stdout.contains("stays"));
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// With this text changed where it stands first.
#[track_caller]
fn replaced(bytes: &[u8], text: &str, changed: &str) -> Vec<u8> {
    let place = bytes.windows(text.len()).position(|window| window == text.as_bytes()).expect(text);
    [&bytes[..place], changed.as_bytes(), &bytes[place + text.len()..]].concat()
}
