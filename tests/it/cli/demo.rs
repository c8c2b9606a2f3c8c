//! The demo: someone without Claude Code copies the lines it prints, and the whole loop runs.

use crate::support::child::{Child, Stdin};
use crate::support::home::{Home, Ran};
use crate::support::{PATIENCE, Signal, running};
use std::fs;

/// The demo in a home that makes its own token, as a newcomer's does.
fn demo(home: &Home, listen: &str, words: &[&str]) -> Child {
    let mut command = home.command(&["demo"]);
    command.args(words).env_remove("PORTCULLIS_TOKEN").env("PORTCULLIS_LISTEN", listen);
    home.spawn(command, Stdin::Nothing)
}

/// Types a line that the demo printed, exactly as it stands there, into another terminal.
#[track_caller]
fn type_line(home: &Home, line: &str) -> String {
    let mut command = home.program("sh");
    command.arg("-c").arg(line.replace("curl ", "curl -sS ")).env_remove("PORTCULLIS_TOKEN");
    Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE).ok().stdout
}

/// The line after a name such as `allow:`.
#[track_caller]
fn printed(demo: &Child, name: &str) -> String {
    let line = demo.line(PATIENCE, |line| line.trim_start().starts_with(name) && line.contains("curl "));
    line[line.find("curl ").unwrap()..].to_owned()
}

#[test]
fn the_printed_commands_send_a_message_allow_the_prompt_and_show_the_reply() {
    for listen in ["127.0.0.1:0", "off"] {
        let home = Home::new();
        fs::write(home.project().join("hello.txt"), "").unwrap();
        let demo = demo(&home, listen, &["--once"]);
        demo.line(PATIENCE, |line| line.starts_with("This is a scripted agent, not Claude"));
        let send = printed(&demo, "curl -d");
        demo.line(PATIENCE, |line| line == "Waiting for a message …");
        assert_eq!(type_line(&home, &send), "ok");
        demo.line(PATIENCE, |line| line == "message  from owner: what is here?");
        let allow = printed(&demo, "allow:");
        assert_eq!(type_line(&home, &allow), "verdict recorded");
        demo.line(PATIENCE, |line| line == "verdict  allow");
        demo.line(PATIENCE, |line| line.starts_with("reply    hello.txt (sent, message_id="));
        Ran::of(&demo, PATIENCE).ok();
        running::no_channels_left(&home.folder(), PATIENCE);
    }
}

#[test]
fn after_a_denial_the_demo_takes_the_next_message() {
    let home = Home::new();
    fs::write(home.project().join("secret.txt"), "").unwrap();
    let demo = demo(&home, "127.0.0.1:0", &["--say", "\u{1b}[2Jhello"]);
    demo.line(PATIENCE, |line| line == r"message  from owner: \u{1b}[2Jhello");
    let deny = printed(&demo, "deny:");
    assert_eq!(type_line(&home, &deny), "verdict recorded");
    demo.line(PATIENCE, |line| line == "action   none: it was denied");
    demo.line(PATIENCE, |line| line.starts_with("reply    You said no, so nothing was listed. (sent, message_id="));
    let begun = demo.stdout();
    let (before, _) = begun.split_once("message  from owner: ").unwrap();
    assert!(!before.contains("Send it a message") && !before.contains("Waiting"), "it is sent already: {before}");
    type_line(&home, &printed(&demo, "curl -d \"what is here?\""));
    demo.line(PATIENCE, |line| line == "message  from owner: what is here?");
    demo.signal(Signal::INT);
    let ran = Ran::of(&demo, PATIENCE).ok();
    assert!(!ran.stdout.contains("secret.txt"), "{}", ran.stdout);
    running::no_channels_left(&home.folder(), PATIENCE);
}

#[test]
fn with_a_timeout_the_demo_ends_by_itself() {
    let home = Home::new();
    let ran = Ran::of(&demo(&home, "127.0.0.1:0", &["--say", "hello", "--timeout", "1"]), PATIENCE);
    assert_eq!(ran.status.code(), Some(1));
    assert!(ran.stderr.contains("nobody answered the prompt within 1 s") && ran.stderr.contains("hint:"), "{ran:?}");
    running::no_channels_left(&home.folder(), PATIENCE);
}

#[test]
fn a_second_demo_prints_commands_that_name_its_own_session() {
    let home = Home::new();
    let first = demo(&home, "127.0.0.1:0", &[]);
    assert!(printed(&first, "curl -d").contains("?label=demo"));
    let second = demo(&home, "127.0.0.1:0", &[]);
    let send = printed(&second, "curl -d");
    assert!(send.contains("?label=demo-2"), "{send}");
    type_line(&home, &send);
    second.line(PATIENCE, |line| line == "message  from owner: what is here?");
}
