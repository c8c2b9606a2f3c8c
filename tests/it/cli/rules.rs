//! `portcullis rules`: what people see, try, add and trust.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::home::{Home, Ran};
use crate::support::standin::StandIn;
use crate::support::terminal::Terminal;

const RULES: &str = "[[rule]]\nallow = \"Bash(npm test *)\"\nwhy = \"tests are harmless\"\nno_match = [\"npm test && rm -rf x\"]\n\n\
                     [[rule]]\nask = \"Bash(npm publish *)\"\nquorum = 2\n\n[[rule]]\ndeny = \"Read(.env)\"\n";

fn written(home: &Home, text: &str) -> String {
    let path = home.user().join("some.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn project_file(home: &Home, text: &str) -> PathBuf {
    let folder = home.project().join(".portcullis");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("rules.toml"), text).unwrap();
    folder.join("rules.toml")
}

#[track_caller]
fn checked(home: &Home, options: &[&str], tool: &str, input: &Value) -> Value {
    let input = input.to_string();
    let words = [&["rules", "check"], options, &["--json", tool, &input]].concat();
    let ran = home.run(&words).ok();
    assert_eq!(ran.stdout.lines().count(), 1, "one object: {ran:#?}");
    ran.json()
}

fn bash(command: &str) -> Value {
    json!({"command": command})
}

fn decision(home: &Home, command: &str) -> String {
    checked(home, &[], "Bash", &bash(command))["decision"].as_str().unwrap().to_owned()
}

#[test]
fn a_check_prints_one_object_and_succeeds_whatever_is_decided() {
    let home = Home::new();
    let file = written(&home, RULES);
    let options = ["--rules", file.as_str()];
    let allowed = checked(&home, &options, "Bash", &bash("npm test -- x"));
    assert_eq!(
        (&allowed["decision"], &allowed["rule"], &allowed["why"]),
        (&json!("allow"), &json!("Bash(npm test *)"), &json!("tests are harmless"))
    );
    let asked = checked(&home, &options, "Bash", &bash("npm test && rm -rf x"));
    assert_eq!((&asked["decision"], &asked["rule"]), (&json!("ask"), &Value::Null));
    assert_eq!(asked["risk"], json!({"level": "high", "reasons": ["destructive"]}));
    let asked = checked(&home, &options, "Bash", &bash("npm publish"));
    assert_eq!((&asked["decision"], &asked["quorum"]), (&json!("ask"), &json!(2)));
    let words = home.run(&["rules", "check", "--rules", &file, "Bash", "npm publish x"]).ok().stdout;
    assert!(words.contains("quorum: 2 people must allow it\n"), "{words}");
    let denied = checked(&home, &options, "Read", &json!({"file_path": "a/.env"}));
    assert_eq!((&denied["decision"], &denied["rule"]), (&json!("deny"), &json!("Read(.env)")));
    let words = home.run(&["rules", "check", "--rules", &file, "Bash", r#"{"command":"cat .env"}"#]).ok().stdout;
    assert!(words.starts_with("deny: ") && words.contains("rule: deny Read(.env)"), "{words}");
}

#[test]
fn a_check_of_many_lines_answers_each_in_its_turn() {
    let home = Home::new();
    let rules = written(&home, RULES);
    let file = home.user().join("lines");
    let object = r#"{"command": "npm publish"}"#;
    // A command may begin with a brace as well, and look like JSON that is none.
    let lines = ["npm test", r#""npm test\nnpm publish""#, object, "cat .env", "{ npm test; }", "{ \"npm\" publish; }"];
    fs::write(&file, lines.join("\n")).unwrap();
    let many = |more: &[&str]| {
        let words = ["rules", "check", "--rules", &rules, "--lines", file.to_str().unwrap()];
        home.run(&[&words, more, &["Bash"]].concat()).ok().stdout
    };
    let read = |line: &str| serde_json::from_str::<Value>(line).unwrap()["decision"].clone();
    let decided: Vec<Value> = many(&["--json"]).lines().map(read).collect();
    assert_eq!(decided, ["allow", "ask", "ask", "deny", "ask", "ask"]);
    let words = many(&[]);
    assert_eq!(words.lines().count(), 6, "{words}");
    assert!(words.starts_with("allow: npm test (") && words.contains("\nask: npm test\\nnpm publish ("), "{words}");
    home.run(&["rules", "check", "--lines", "nowhere", "Bash"]).refused(2, "reading nowhere");
    let missing = home.run(&["rules", "check", "Bash", r#"{"cmd": 1}"#]);
    missing.refused(2, "the input has no \"command\", and Bash needs one");
}

#[test]
fn a_deny_rule_says_when_claude_codes_own_copy_is_behind() {
    let home = Home::new();
    let add = |rule: &str| home.run(&["rules", "add", "deny", rule]).ok().stdout;
    assert!(!add("Read(.env)").contains("install --hooks"), "there is no copy");
    home.run(&["install", "--hooks", "--yes"]).ok();
    let said = add("Read(*.pem)");
    assert!(said.contains("It holds from now on. `portcullis install --hooks` also copies it"), "{said}");
    home.run(&["install", "--hooks", "--yes"]).ok();
    let settings = fs::read_to_string(home.project().join(".claude/settings.local.json")).unwrap();
    assert!(settings.contains("Read(.env)") && settings.contains("Read(*.pem)"), "{settings}");
    let said = home.run(&["rules", "add", "ask", "Bash(touch *)"]).ok().stdout;
    assert!(!said.contains("install --hooks"), "only deny rules are copied: {said}");
}

#[test]
fn a_check_takes_the_mode_and_the_folder() {
    let home = Home::new();
    let elsewhere = home.user().join("other");
    fs::create_dir(&elsewhere).unwrap();
    let write = json!({"file_path": elsewhere.join("a").to_str().unwrap(), "content": "x"});
    let folder = ["--cwd", elsewhere.to_str().unwrap()];
    let decided = |options: &[&str]| checked(&home, options, "Write", &write)["decision"].clone();
    assert_eq!(decided(&folder), "ask");
    assert_eq!(decided(&[&folder[..], &["--mode", "acceptEdits"]].concat()), "allow");
    assert_eq!(decided(&["--mode", "acceptEdits"]), "ask", "outside of this folder");
    assert_eq!(decided(&["--mode", "acceptEdits", "--add-dir", elsewhere.to_str().unwrap()]), "allow");
    assert_eq!(decided(&[&folder[..], &["--mode", "dontAsk"]].concat()), "deny");
    assert_eq!(decided(&[&folder[..], &["--mode", "manual"]].concat()), "ask");
    refused_mode(&home);
}

fn refused_mode(home: &Home) {
    let ran = home.run(&["rules", "check", "--mode", "yolo", "--json", "Bash", "{}"]);
    assert!(ran.status.code() == Some(2) && ran.stderr.contains("the modes are default, acceptEdits"), "{ran:#?}");
}

#[test]
fn invalid_input_to_a_check_is_refused_with_a_hint() {
    let home = Home::new();
    for (tool, input) in [("Bash", "{"), ("mcp__srv__get", "x"), ("mcp__srv__get", "[]"), ("TodoWrite", "\"ls\"")] {
        home.run(&["rules", "check", "--json", tool, input]).refused(2, "the input is not a JSON object");
    }
    home.run(&["rules", "check", "--json", "Bash", " "]).refused(2, "the input is empty");
    home.run(&["rules", "check", "--rules", "nowhere.toml", "Bash", "{}"]).refused(2, "there is no file");
    home.run(&["rules", "check", "--cwd", "nowhere", "Bash", "{}"]).refused(2, "there is no folder");
    home.run(&["rules", "check", "--allow", "Bash(", "Bash", "{}"]).refused(2, "not a rule");
    let file = written(&home, "[[rule]]\nalow = \"Bash\"\n");
    home.run(&["rules", "check", "--rules", &file, "Bash", "{}"]).refused(3, "line 2: unknown key \"alow\"");
    home.run(&["rules", "test", "--rules", &file]).refused(3, "did you mean allow?");
}

#[test]
fn a_check_says_what_it_does_not_look_at() {
    let home = Home::new();
    let words = home.run(&["rules", "check", "Bash", "npm test"]).ok().stdout;
    assert!(words.ends_with("not looked at: the permission rules in Claude Code's own settings\n"), "{words}");
    let json = home.run(&["rules", "check", "--json", "Bash", "npm test"]).ok().json();
    assert_eq!(json["not_looked_at"], json!(["claude_settings"]));
    let allowed = ["rules", "check", "--mode", "dontAsk", "--allow", "Bash(npm test)", "Bash", "npm test"];
    let words = home.run(&allowed).ok().stdout;
    assert!(
        words.starts_with("allow: ") && words.contains("only a rule in its own settings lets such a call run"),
        "{words}"
    );
    // What a person must decide is asked in that mode, too, and a yes is not enough.
    let asked = ["rules", "check", "--mode", "dontAsk", "--ask", "Bash(npm test)", "Bash", "npm test"];
    let words = home.run(&asked).ok().stdout;
    assert!(words.starts_with("ask: ") && words.contains("refuses it even after a yes"), "{words}");
    home.run(&["rules", "add", "ask", "Bash(npm publish *)"]).ok();
    assert!(home.run(&["rules", "test"]).ok().stdout.ends_with(": 1 rule, 0 examples, all hold\n"));
}

#[test]
fn examples_are_tested_and_a_wrong_one_is_named() {
    let home = Home::new();
    let file = written(&home, RULES);
    let tested = home.run(&["rules", "test", "--rules", &file, "--json"]).ok().json();
    assert_eq!((&tested[0]["rules"], &tested[0]["examples"]), (&json!(3), &json!(1)));
    let file = written(&home, &RULES.replace("&& rm -rf x", "x"));
    home.run(&["rules", "test", "--rules", &file]).refused(3, "line 4: the allow rule Bash(npm test *) matches");
}

#[test]
fn project_rules_allow_nothing_until_a_person_trusts_them() {
    let home = Home::new();
    let rules = "[[rule]]\nallow = \"Bash\"\n\n[[rule]]\ndeny = \"Bash(make *)\"\n";
    project_file(&home, rules);
    assert_eq!((decision(&home, "npm test").as_str(), decision(&home, "make").as_str()), ("ask", "deny"));
    let listed = home.run(&["rules", "list", "--json"]).ok().json();
    assert_eq!((&listed[0]["counts"], &listed[1]["counts"]), (&json!(false), &json!(true)));

    home.run(&["rules", "trust"]).refused(1, "there is no terminal to ask at");
    assert_eq!(decision(&home, "npm test"), "ask");
    let trusted = home.run(&["rules", "trust", "--yes"]).ok().stdout;
    assert!(trusted.contains("  allow Bash\n") && !trusted.contains("make"), "{trusted}");
    assert_eq!((decision(&home, "npm test").as_str(), decision(&home, "make").as_str()), ("allow", "deny"));

    project_file(&home, &format!("{rules}\n"));
    assert_eq!(decision(&home, "npm test"), "ask", "it changed");
    let mut terminal = Terminal::start(home.command(&["rules", "trust"]));
    terminal.until("[y/N]");
    terminal.type_line("n");
    terminal.until("Nothing was changed");
    assert!(terminal.wait().success());
    assert_eq!(decision(&home, "npm test"), "ask");
    let mut terminal = Terminal::start(home.command(&["rules", "trust"]));
    terminal.until("[y/N]");
    terminal.type_line("y");
    terminal.until("Trusted.");
    assert!(terminal.wait().success());
    assert_eq!(decision(&home, "npm test"), "allow");
}

#[test]
fn an_added_rule_takes_effect_and_the_rest_of_the_file_is_kept() {
    let home = Home::new();
    let file = home.folder().join("rules.toml");
    let before = "# my rules\n[[rule]]   # the first\nallow   =   'Bash(make *)'";
    fs::write(&file, before).unwrap();
    home.run(&["rules", "add", "deny", "Bash(make \"x\" *)", "--why", "not \"x\""]).ok();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(before), "{text}");
    assert_eq!((decision(&home, "make").as_str(), decision(&home, "make \"x\"").as_str()), ("allow", "deny"));

    home.run(&["rules", "add", "allow", "Bash(npm test *)", "--project"]).ok();
    assert_eq!(decision(&home, "npm test"), "allow", "who writes the file trusts it");
    home.run(&["rules", "add", "allow", "Bash(npm ci)", "--project"]).ok();
    assert_eq!((decision(&home, "npm test").as_str(), decision(&home, "npm ci").as_str()), ("allow", "allow"));
    home.run(&["rules", "add", "allow", "Write(src/**)"]).refused(2, "write Edit(src/**)");
    let warned = home.run(&["rules", "add", "--force", "allow", "Write(src/**)"]).ok().stdout;
    assert!(warned.contains("warning: ") && warned.contains("Edit(src/**)"), "{warned}");
    home.run(&["rules", "add", "allow", "Bash("]).refused(2, "not a rule");
    let listed = home.run(&["rules", "list"]).ok().stdout;
    assert!(listed.contains("  1  allow Bash(make *)\n") && listed.contains("# not \"x\""), "{listed}");

    fs::write(&file, "broken = ").unwrap();
    home.run(&["rules", "add", "allow", "Bash(x)"]).refused(3, "line 1: ");
    assert_eq!(fs::read_to_string(&file).unwrap(), "broken = ", "what cannot be read is not written");
}

#[test]
fn a_check_takes_a_command_a_path_or_an_address_as_it_is() {
    let home = Home::new();
    let file = written(&home, &format!("{RULES}\n[[rule]]\nallow = \"WebFetch(domain:a.test)\"\n"));
    let plain = |tool: &str, text: &str| {
        home.run(&["rules", "check", "--rules", &file, "--json", tool, text]).ok().json()["decision"].clone()
    };
    assert_eq!(plain("Bash", "npm test"), "allow");
    assert_eq!(plain("Bash", "echo {a,b}"), "ask");
    assert_eq!(plain("Read", "packages/.env"), "deny");
    assert_eq!((plain("Edit", "src/a.rs"), plain("Write", "src/a.rs")), (json!("ask"), json!("ask")));
    assert_eq!(plain("WebFetch", "https://a.test/x"), "allow");
    let words = home.run(&["rules", "check", "Bash", "rm -rf build"]).ok().stdout;
    assert!(words.contains("risk: high (destructive)"), "{words}");
    assert!(words.contains("destructive: it removes or overwrites what cannot be restored"), "{words}");
    let words = home.run(&["rules", "check", "Bash", "ls"]).ok().stdout;
    assert!(words.contains("risk: low;") && !words.contains("()"), "{words}");
}

#[test]
fn a_check_says_what_a_rule_that_is_not_trusted_would_have_allowed() {
    let home = Home::new();
    let file = project_file(&home, "[[rule]]\nallow = \"Bash(npm test *)\"\n");
    let words = home.run(&["rules", "check", "Bash", "npm test"]).ok().stdout;
    let place = format!("({} line 2)", file.display());
    assert!(words.starts_with("ask: no rule allows `npm test`\n"), "{words}");
    assert!(words.contains(&format!("not trusted: allow Bash(npm test *) {place} would allow it")), "{words}");
    let checked = checked(&home, &[], "Bash", &bash("npm test"));
    assert_eq!((&checked["decision"], &checked["if_trusted"]["decision"]), (&json!("ask"), &json!("allow")));
    home.run(&["rules", "trust", "--yes"]).ok();
    let words = home.run(&["rules", "check", "Bash", "npm test"]).ok().stdout;
    assert!(words.starts_with("allow: ") && !words.contains("not trusted"), "{words}");
}

#[test]
fn a_rule_without_effect_is_refused_with_what_to_do() {
    let home = Home::new();
    let add = |words: &[&str]| home.run(&[&["rules", "add"], words].concat());
    add(&["allow", "Bash(npm *)"]).ok();
    add(&["allow", "Bash(npm *)"]).refused(2, "the rule is there already: ");
    add(&["--force", "allow", "Bash(npm *)"]).refused(2, "the rule is there already: ");
    add(&["allow", "Bash(npm test)"]).refused(2, "allow Bash(npm *) says it already");
    add(&["deny", "Bash(npm publish *)"]).ok();
    add(&["allow", "Bash(npm publish --dry-run)"]).refused(2, "the strictest rule wins");
    for (tool, meant) in [("bash", "Bash"), ("Bsah(ls)", "Bash"), ("webfetch", "WebFetch"), ("Edti(a)", "Edit")] {
        add(&["ask", tool]).refused(2, &format!("did you mean {meant}?"));
    }
    add(&["ask", "mcp__srv__get"]).ok();
    add(&["ask", "Frobnicate"]).refused(2, "mcp__SERVER__TOOL");
    add(&["ask", "Frobnicate", "--force"]).ok();
    let rules = home.run(&["rules", "list", "--json"]).ok().json();
    assert_eq!(rules.as_array().unwrap().len(), 4, "{rules}");
}

#[test]
fn a_removed_rule_no_longer_counts_and_the_rest_of_the_file_is_kept() {
    let home = Home::new();
    let file = home.folder().join("rules.toml");
    let (first, second) =
        ("# mine\n[[rule]]   # one\nallow  =  'Bash(make *)'\n", "[[rule]]\nask = 'Bash(ls)'\n# end\n");
    fs::write(&file, format!("{first}\n[[rule]]\ndeny = \"Bash(make x)\" # no\nwhy = 'x'\n\n{second}")).unwrap();
    assert_eq!(decision(&home, "make x"), "deny");
    let removed = home.run(&["rules", "remove", "Bash(make x)"]).ok().stdout;
    assert!(removed.starts_with("Removed from ") && removed.ends_with(": deny Bash(make x)\n"), "{removed}");
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("{first}\n{second}"));
    assert_eq!(decision(&home, "make x"), "allow");
    home.run(&["rules", "remove", "2"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("{first}\n# end\n"));

    home.run(&["rules", "remove", "Bash(nothing)"]).refused(2, "there is no rule");
    home.run(&["rules", "remove", "9"]).refused(2, "there is no rule");
    home.run(&["rules", "add", "allow", "Bash(make *)", "--project"]).ok();
    home.run(&["rules", "remove", "Bash(make *)"]).refused(2, "name one by its number");
    home.run(&["rules", "add", "allow", "Bash(npm ci)", "--project"]).ok();
    home.run(&["rules", "remove", "2"]).ok();
    assert_eq!(decision(&home, "npm ci"), "allow", "the project's file stays trusted");

    fs::write(&file, "").unwrap();
    let project = home.project().canonicalize().unwrap().display().to_string();
    home.write_config(&format!("[projects.{project:?}]\nallow = [\"Bash(make *)\"]\n"));
    home.run(&["rules", "remove", "Bash(make *)"]).refused(1, "stands in the configuration");
}

#[test]
fn rules_of_a_project_in_the_configuration_decide_and_are_listed_with_their_line() {
    let home = Home::new();
    let project = home.project().canonicalize().unwrap();
    home.write_config(&format!(
        "[projects.{:?}]\nallow = [\"Bash(make *)\"]\ndeny = [\"Bash(make evil)\"]\n",
        project.display().to_string()
    ));
    assert_eq!(["make all", "make evil", "npm ci"].map(|line| decision(&home, line)), ["allow", "deny", "ask"]);
    let ruled = checked(&home, &[], "Bash", &bash("make evil"));
    assert!(ruled["place"].as_str().unwrap().ends_with("config.toml:3"), "{ruled}");
    let elsewhere = home.user();
    let elsewhere = ["--cwd", elsewhere.to_str().unwrap()];
    assert_eq!(checked(&home, &elsewhere, "Bash", &bash("make all"))["decision"], "ask");
    let listed = home.run(&["rules", "list", "--json"]).ok().json();
    let rows: Vec<_> =
        listed.as_array().unwrap().iter().map(|row| (&row["rule"], &row["origin"], &row["counts"])).collect();
    assert_eq!(rows[0], (&json!("Bash(make *)"), &json!("user"), &json!(true)));

    home.write_config("[projects.\"/\"]\ndeny = [\"Bash(\"]\n");
    home.run(&["rules", "list"]).refused(3, "line 2: \"Bash(\" is no rule");
    home.run(&["serve"]).refused(3, "line 2: projects.\"/\".deny: \"Bash(\" is no rule");
}

#[test]
fn rules_cannot_be_changed_from_inside_an_agent_and_the_attempt_is_logged() {
    let home = Home::new();
    let _gate = home.serve();
    project_file(&home, "[[rule]]\nallow = \"Bash\"\n");
    let attempts = [&["rules", "add", "allow", "Bash"][..], &["rules", "trust", "--yes"], &["rules", "remove", "1"]];
    for words in attempts {
        let mut command = home.command(words);
        command.env("CLAUDECODE", "1");
        Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE).refused(4, "inside Claude Code");
    }
    // Its parent is this test, and so is that of every command below.
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    for words in attempts {
        home.run(words).refused(4, "inside session api");
    }
    drop(session);
    assert!(!home.folder().join("rules.toml").exists() && !home.folder().join("trusted-rules").exists());
    let log = home.run(&["log", "--json"]).ok().stdout;
    assert_eq!(log.matches("add the rule allow Bash").count(), 2, "{log}");
}
