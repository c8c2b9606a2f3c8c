//! Our Allow is never wider than Claude Code's: what we allow, the real CLI with the same rules runs without asking.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use portcullis_core::policy::{Context, Decision, Mode, Origin, Rule, RuleSet, RuleSource, decide};
use portcullis_wire::tools;
use serde_json::{Value, json};

use crate::fakes::model::Model;
use crate::fakes::script::Rule as Script;
use crate::support::claude::Claude;
use crate::support::home::Home;

const ALLOWED: [&str; 22] = [
    "Bash(npm test *)",
    "Bash(npm run build)",
    "Bash(make:*)",
    "Bash(tool * --dry)",
    "Bash(touch *)",
    "Bash(cp *)",
    "Bash(grep *)",
    "Bash(find *)",
    "Bash(rm *)",
    "Bash(mkdir made/*)",
    "Edit(out/**)",
    "Edit(*.md)",
    "Edit(src/**/*.rs)",
    "Read(~/notes/**)",
    "Read(//etc/hostname)",
    "Write",
    "NotebookEdit",
    "Bash(git *)",
    "Bash(sed *)",
    "Bash(awk *)",
    "Bash(eval *)",
    "Bash(export *)",
];
/// Rules that take something back.
const DENIED: [&str; 3] = ["Bash(npm publish *)", "Read(.env)", "Edit(src/gen/**)"];
const ASKED: [&str; 2] = ["Bash(make release *)", "Edit(out/asked/**)"];

/// Numbers that look random and are the same in every run, unless `PORTCULLIS_SAMPLE` says otherwise.
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        let given = std::env::var("PORTCULLIS_SAMPLE").ok().and_then(|seed| seed.parse().ok());
        Self(given.unwrap_or(20_260_101))
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound as u64).unwrap()
    }

    fn one_of<'list>(&mut self, list: &[&'list str]) -> &'list str {
        list[self.below(list.len())]
    }

    fn command(&mut self) -> String {
        const BEFORE: [&str; 14] = [
            "",
            "",
            "",
            "",
            "timeout 5 ",
            "timeout -k 1 5s ",
            "nice ",
            "nice -n 3 ",
            "nohup ",
            "stdbuf -oL ",
            "command ",
            "NODE_ENV=test ",
            "LANG=C TZ=UTC ",
            "time ",
        ];
        const COMMANDS: [&str; 58] = [
            "npm test",
            "npm test -- --grep x",
            "npm test 'a b' \"c d\"",
            "npm test a/b:c,d+e@f%g",
            "npm test HEAD~1 x^",
            "npm run build",
            "npm  test",
            "make",
            "make all",
            "tool a b --dry",
            "tool --dry",
            "touch a.txt",
            "touch src/new",
            "cp a.txt b.txt",
            "rm b.txt",
            "mkdir made/x",
            "grep x a.txt",
            "grep -rn x .",
            "grep '[a-z]*' a.txt",
            "find . -name '*.txt'",
            "find . -type f -newer a.txt",
            "ls",
            "ls -la src",
            "cat a.txt",
            "cat src/b.txt",
            "head -n 2 a.txt",
            "tail -5 a.txt",
            "wc -l a.txt",
            "echo done",
            "echo 'a;b|c' \"d&e\"",
            "pwd",
            "which npm",
            "diff a.txt src/b.txt",
            "stat a.txt",
            "du -sh src",
            "git status",
            "git log --oneline -3",
            "git diff --stat",
            "git branch -a",
            "git ls-files",
            "cat ~/notes/n",
            "cat /etc/hostname",
            "cat .env",
            "npm publish",
            "make release x",
            "cat ../x",
            "git commit -m 'x y'",
            "git -c core.pager=x log",
            "sed -n 1p a.txt",
            "sed -i s/x/y/ a.txt",
            "awk '{print}' a.txt",
            "awk 'BEGIN{system(1)}'",
            "eval npm test",
            "export X=1",
            "npm test 2>&-",
            "RUST_LOG=a=b make",
            "echo b.txt | xargs rm",
            "echo b | xargs make",
        ];
        const AFTER: [&str; 9] = ["", "", "", "", " 2>&1", " > /dev/null", " 2>/dev/null", " > out/log", " < a.txt"];
        const BETWEEN: [&str; 6] = [" && ", " || ", "; ", " | ", "\n", " |& "];
        let mut line = if self.below(6) == 0 { "cd src && ".to_owned() } else { String::new() };
        for part in 0..=self.below(3) {
            if part > 0 {
                line.push_str(self.one_of(&BETWEEN));
            }
            for list in [&BEFORE[..], &COMMANDS, &AFTER] {
                line.push_str(self.one_of(list));
            }
        }
        line
    }

    fn call(&mut self) -> (&'static str, Value) {
        const FILES: [&str; 14] = [
            "a.txt",
            "out/x",
            "out/deep/x",
            "out/asked/x",
            "b.md",
            "src/c.md",
            "src/d.rs",
            "src/deep/e.rs",
            "src/gen/f.rs",
            "new.txt",
            ".env",
            "../x",
            ".git/x",
            "sub/.npmrc",
        ];
        let file = self.one_of(&FILES);
        match self.below(8) {
            0 => ("Read", json!({"file_path": self.one_of(&["a.txt", "src/b.txt", "/etc/hostname", "../x", ".env"])})),
            1 => ("Write", json!({"file_path": file, "content": "x"})),
            2 => ("Edit", json!({"file_path": file, "old_string": "x", "new_string": "y"})),
            _ => ("Bash", json!({"command": self.command(), "description": "try"})),
        }
    }
}

/// Whether there are only rules that allow.
#[derive(Clone, Copy, PartialEq)]
enum Rules {
    AllowOnly,
    All,
}

impl Rules {
    fn lists(self) -> [(Decision, &'static [&'static str]); 3] {
        match self {
            Self::AllowOnly => [(Decision::Allow, &ALLOWED), (Decision::Deny, &[]), (Decision::Ask, &[])],
            Self::All => [(Decision::Allow, &ALLOWED), (Decision::Deny, &DENIED), (Decision::Ask, &ASKED)],
        }
    }
}

fn ours(rules: Rules, project: &Path, user: &Path) -> (RuleSet, Context) {
    let source = RuleSource { origin: Origin::User, place: None, base: user.display().to_string() };
    let rule = |decision, written: &&str| Rule::new(decision, written, source.clone()).unwrap();
    let rules =
        rules.lists().into_iter().flat_map(|(decision, list)| list.iter().map(move |written| rule(decision, written)));
    let rules = RuleSet { rules: rules.collect() };
    (rules, Context::of(project.to_str().unwrap(), user.to_str()))
}

fn prepare(home: &Home) {
    let (project, user) = (home.project(), home.user());
    for folder in ["src/deep", "src/gen", "out/asked", "made", "sub"] {
        fs::create_dir_all(project.join(folder)).unwrap();
    }
    for file in ["a.txt", "src/b.txt", "src/d.rs", "b.md", ".env", "../x"] {
        fs::write(project.join(file), "x\n").unwrap();
    }
    fs::create_dir_all(user.join("notes")).unwrap();
    fs::write(user.join("notes/n"), "n\n").unwrap();
    fs::create_dir(user.join("bin")).unwrap();
    for program in ["npm", "make", "tool"] {
        let path = user.join("bin").join(program);
        fs::write(&path, "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let made = home.program("git").args(["init", "-q"]).status().unwrap();
    assert!(made.success());
}

#[test]
fn calls_we_allow_are_run_by_the_real_cli_without_asking() {
    sample(Rules::AllowOnly);
}

#[test]
fn calls_we_allow_beside_deny_and_ask_rules_are_run_by_the_real_cli_without_asking() {
    sample(Rules::All);
}

fn sample(given: Rules) {
    const WANTED: usize = 40;
    let home = Home::new();
    prepare(&home);
    let project = home.project().canonicalize().unwrap();
    let (rules, around) = ours(given, &project, &home.user());
    let mut chance = Chance::new();
    let mut sampled: Vec<(&str, Value)> = vec![];
    let mut tried = 0;
    while sampled.len() < WANTED {
        tried += 1;
        assert!(tried < 20_000, "only {} calls were allowed", sampled.len());
        let (tool, input) = chance.call();
        let call = tools::call(tool, &input).followed(&around, |path| Some(path.to_owned()));
        let allowed = decide(&rules, Mode::Default, &around, &call).decision == Decision::Allow;
        if allowed && !sampled.contains(&(tool, input.clone())) {
            sampled.push((tool, input));
        }
    }
    // One turn each: calls made together are cancelled together.
    let first = sampled.first().map(|(tool, input)| Script::on_text("go").call(tool, input.clone()).once());
    let rest = sampled[1..].iter().map(|(tool, input)| Script::on_any_result().call(tool, input.clone()).once());
    let last = Script::on_any_result().say("done");
    let model = Model::start(first.into_iter().chain(rest).chain([last]).collect());

    let settings = home.user().join("rules.json");
    let lists = given.lists().map(|(decision, list)| (decision.name().to_owned(), json!(list)));
    let permissions: serde_json::Map<String, Value> = lists.into_iter().collect();
    fs::write(&settings, json!({"permissions": permissions}).to_string()).unwrap();
    let mut command = Claude::command(&home, &model);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", home.user().join("bin").display())).env("SHELL", "/bin/bash");
    // Each call is made in the project, as we suppose, also after another went elsewhere.
    command.env("CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR", "1");
    let settings = settings.to_str().unwrap();
    let args = ["--settings", settings, "--permission-mode", "default", "--output-format", "stream-json", "--verbose"];
    let ran = Claude::headless_command(&home, command, "go", &json!({"mcpServers": {}}), &args).wait().ok();

    let frames: Vec<Value> = ran.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let result = frames.iter().find(|frame| frame["type"] == "result").unwrap();
    let denials = result["permission_denials"].as_array().unwrap();
    let reason = |id: &Value| {
        let blocks = frames.iter().filter_map(|frame| frame["message"]["content"].as_array()).flatten();
        blocks.filter(|block| block["tool_use_id"] == *id).map(|block| block["content"].to_string()).collect::<String>()
    };
    let denial = |denial: &Value| format!("{} {}", denial["tool_input"], reason(&denial["tool_use_id"]));
    let denials: Vec<String> = denials.iter().map(denial).collect();
    assert!(denials.is_empty(), "allowed by us and asked for by the CLI:\n{}", denials.join("\n"));
    let results = model.turns().iter().map(|turn| turn.turn.results.len()).sum::<usize>();
    assert_eq!(results, sampled.len(), "every call was made");
}
