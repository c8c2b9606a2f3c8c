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

    // By the shells themselves, as a person at their prompts has it.
    for shell in SHELLS {
        let completed = |words: &str| completed(&home, shell, words);
        assert_eq!(completed("ask deny"), ["abcde"], "{shell}");
        assert_eq!(completed("session resume"), quoted(shell, ["api", "my web"]), "{shell}");
        assert_eq!(completed("rules remove"), quoted(shell, ["Bash(git push *)"]), "{shell}");
        let commands = completed("ask");
        assert!(commands.iter().any(|name| name == "allow"), "{shell}, and what it knew before: {commands:?}");
    }
}

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// What a shell offers for the word after these.
fn completed(home: &Home, shell: &str, words: &str) -> Vec<String> {
    let script = home.user().join(format!("completions.{shell}"));
    std::fs::write(&script, home.run(&["completions", shell]).ok().stdout).unwrap();
    let (script, place) = (script.display(), words.split(' ').count() + 1);
    let asks = match shell {
        "bash" => format!(
            "source {script}; COMP_WORDS=(portcullis {words} ''); COMP_CWORD={place}; _portcullis_names portcullis '' ''\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        ),
        // The editor of zsh runs only at a terminal: what it would be given is printed.
        "zsh" => format!(
            "autoload -U compinit; compinit -u -D; source {script}\n\
             compadd() {{ print -l -- \"${{(@P)@[-1]}}\" }}\n\
             _portcullis() {{ print -l allow }}\n\
             words=(portcullis {words} ''); CURRENT={}; _portcullis_names",
            place + 1
        ),
        _ => format!("source {script}; complete -C 'portcullis {words} '"),
    };
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_portcullis")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let told = home.program(shell).args(["-c", &asks]).env("PATH", path).output().expect("`./check` brings it");
    assert!(told.stderr.is_empty(), "{shell}: {}", String::from_utf8_lossy(&told.stderr));
    // fish says behind a tab what a word means.
    let word = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
    String::from_utf8(told.stdout).unwrap().lines().map(word).collect()
}

/// Only bash is given words as they have to be typed; the others quote them themselves.
fn quoted<const N: usize>(shell: &str, words: [&str; N]) -> Vec<String> {
    let typed = |word: &str| match shell {
        "bash" => word
            .chars()
            .flat_map(|letter| " ()*".contains(letter).then_some('\\').into_iter().chain([letter]))
            .collect(),
        _ => word.to_owned(),
    };
    words.map(typed).into()
}
