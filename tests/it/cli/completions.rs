//! Completions: a shell knows the labels, codes and states that the gate knows.

use crate::support::home::Home;
use crate::support::standin::StandIn;

#[test]
fn labels_codes_and_states_are_completed_and_no_gate_is_started_for_it() {
    let home = Home::new();
    let candidates = |words: &[&str]| -> Vec<String> {
        let ran = home.run(&[&["__candidates", "--"], words].concat()).ok();
        assert_eq!(ran.stderr, "");
        ran.stdout.lines().map(str::to_owned).collect()
    };
    assert_eq!(candidates(&["session", "stop", ""]), Vec::<String>::new());
    assert_eq!(home.pid_in_lock(), None, "no gate was started");
    assert_eq!(candidates(&["events", "list", "--state", "d"]), ["delivered", "dropped", "dead"]);

    let gate = home.serve();
    let api = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    let _web = StandIn::start_under_an_agent(&home, &["--label", "my web"]);
    home.attached(2);
    gate.open_prompt(&api, "abcde");
    assert_eq!(candidates(&["session", "stop", ""]), ["api", "my web"]);
    assert_eq!(candidates(&["say", "hello", "--label", "a"]), ["api"]);
    assert_eq!(candidates(&["ask", "allow", ""]), ["abcde"]);
    assert_eq!(candidates(&["ask", "allow", "x"]), Vec::<String>::new());
    home.run(&["rules", "add", "ask", "Bash(git push *)"]).ok();
    assert_eq!(candidates(&["rules", "remove", ""]), ["Bash(git push *)"]);

    // By bash itself, as a person at its prompt has it.
    let script = home.run(&["completions", "bash"]).ok().stdout;
    let completed = |words: &str| {
        let places = words.split(' ').count() - 1;
        let bin = std::path::Path::new(env!("CARGO_BIN_EXE_portcullis")).parent().unwrap();
        let mut bash = home.program("bash");
        let asks = format!(
            "{script}\nCOMP_WORDS=({words} ''); COMP_CWORD={}; _portcullis_names portcullis '' ''\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            places + 1
        );
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let told = bash.args(["-c", &asks]).env("PATH", path).output().unwrap();
        String::from_utf8(told.stdout).unwrap()
    };
    assert_eq!(completed("portcullis ask deny"), "abcde\n");
    assert_eq!(completed("portcullis session resume"), "api\nmy\\ web\n");
    assert_eq!(completed("portcullis rules remove"), "Bash\\(git\\ push\\ \\*\\)\n");
    assert!(
        completed("portcullis ask").contains("allow\n"),
        "and what it knew before: {}",
        completed("portcullis ask")
    );
}
