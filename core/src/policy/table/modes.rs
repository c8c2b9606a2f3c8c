//! Modes, what each lets pass, and what none does.

use super::*;
use Decision::{Allow, Ask, Deny};

#[test]
fn default_mode_lets_reading_pass_and_asks_for_the_rest() {
    let cases = [
        ("Read a.rs", Allow),
        ("Read /etc/passwd", Ask),
        ("Read ../x", Ask),
        ("Read", Ask),
        ("Glob", Allow),
        ("Glob src", Allow),
        ("Glob /", Ask),
        ("Grep", Allow),
        ("Grep ..", Ask),
        ("LS", Ask),
        ("Write a.rs", Ask),
        ("Edit a.rs", Ask),
        ("NotebookEdit a.ipynb", Ask),
        ("WebFetch https://example.com/", Ask),
        ("WebSearch x", Ask),
        ("mcp__srv__get x", Ask),
        ("Agent Explore", Ask),
        ("Skill review", Ask),
        ("TodoWrite", Ask),
        ("AskUserQuestion", Ask),
        ("ExitPlanMode", Ask),
        ("SomethingNew x", Ask),
    ];
    for mode in [Mode::Default, Mode::Auto] {
        check_each(mode, &[], &cases);
    }
}

#[test]
fn commands_that_only_read_pass_in_every_mode() {
    let cases = [
        "ls",
        "ls -la src",
        "cat a.txt",
        "cat 'a b.txt'",
        "echo hi there",
        "pwd",
        "head -n 5 a.txt",
        "tail -n 3 a.txt",
        "grep -rn x .",
        "grep -e x a.txt",
        "grep /x src",
        "wc -l a.txt",
        "which npm",
        "diff a.txt src/b.txt",
        "stat a.txt",
        "du -sh .",
        "cd src",
        "cd src && ls",
        "cd src && cat b.txt",
        "find . -type f -name '*.txt'",
        "find src -maxdepth 2 -not -name x",
        "git status",
        "git status -sb",
        "git log --oneline -5",
        "git log -n 3 --format=%H",
        "git diff HEAD~1",
        "git diff --stat",
        "git show HEAD^",
        "git branch",
        "git branch -a",
        "git remote -v",
        "git tag",
        "git stash list",
        "git rev-parse HEAD",
        "git ls-files -m",
        "git blame a.txt",
        "ls | head -3",
        "ls; pwd",
        "ls && pwd",
        "cat a.txt 2>/dev/null",
        "cat < a.txt",
        "timeout 5 ls",
    ];
    for mode in Mode::ALL {
        for command in cases {
            let ruling = ruling(mode, &RuleSet::default(), call(&format!("Bash {command}")));
            assert_eq!(ruling.decision, Allow, "{mode:?} {command}: {}", ruling.why);
        }
    }
}

#[test]
fn commands_that_look_like_reading_and_are_not_are_asked_for() {
    let cases = [
        "cat /etc/passwd",
        "cat ../x",
        "ls ~",
        "ls *.txt",
        "cat -- ../x",
        "cat --x=/etc/passwd",
        "grep -f/etc/passwd x",
        "grep -f ../x .",
        "grep x /etc/passwd",
        "head /etc/passwd",
        "wc --files0-from=/etc/x",
        "cd",
        "cd -",
        "cd ..",
        "cd /tmp",
        "cd src && cat ../../x",
        "cd src && git status",
        "cd src; cd ../.. && cat x",
        "cd src | cat ../x",
        "cd src && ls < b.txt",
        "pushd src && ls",
        "find . -delete",
        "find . -exec ls",
        "find . -fprint x",
        "find . -L",
        "find /",
        "find . -newer /etc/passwd",
        "git diff --output=x",
        "git diff --outp=x",
        "git diff --ext-diff",
        "git diff /etc/passwd /etc/hosts",
        "git log --output=x",
        "git branch new",
        "git branch -D x",
        "git tag v1",
        "git remote add x y",
        "git stash",
        "git stash drop",
        "git -c core.pager=x log",
        "git -C .. status",
        "git --git-dir=x status",
        "git push",
        "git commit -m x",
        "git grep -Ox y",
        "git config user.name",
        "sort a.txt",
        "sed -n 1p a.txt",
        "ls > x",
        "/bin/ls ../x",
        "./ls",
    ];
    for command in cases {
        let ruling = ruling(Mode::Default, &RuleSet::default(), call(&format!("Bash {command}")));
        assert_eq!(ruling.decision, Ask, "{command}: {}", ruling.why);
    }
}

#[test]
fn where_edits_are_accepted_they_pass_inside_the_working_folders() {
    check_each(
        Mode::AcceptEdits,
        &[],
        &[
            ("Write a", Allow),
            ("Edit src/a", Allow),
            ("NotebookEdit a.ipynb", Allow),
            ("Write ../a", Ask),
            ("Write /etc/x", Ask),
            ("Bash mkdir -p a/b", Allow),
            ("Bash touch a", Allow),
            ("Bash cp a b", Allow),
            ("Bash mv a b", Allow),
            ("Bash touch a && mkdir b", Allow),
            ("Bash ls > out", Allow),
            ("Bash cp -r a b", Ask),
            ("Bash cp a ../b", Ask),
            ("Bash cp /etc/x b", Ask),
            ("Bash touch ../a", Ask),
            ("Bash npm test", Ask),
            ("Bash npm test > out", Ask),
            ("Bash cd src && touch a", Ask),
            ("WebFetch https://example.com/", Ask),
            ("mcp__acp__Write a", Ask),
        ],
    );
}

#[test]
fn plan_mode_lets_nothing_pass_but_reading_whatever_the_rules_say() {
    let rules =
        ["allow Bash", "allow Edit(**)", "allow Write", "allow mcp__srv", "allow Read(//etc/**)", "deny Read(.env)"];
    check_each(
        Mode::Plan,
        &rules,
        &[
            ("Read a", Allow),
            ("Read /etc/hosts", Allow),
            ("Bash ls", Allow),
            ("Bash git status", Allow),
            ("Bash npm test", Ask),
            ("Bash ls > x", Ask),
            ("Write a", Ask),
            ("Edit a", Ask),
            ("mcp__srv__get", Ask),
            ("Read .env", Deny),
        ],
    );
}

#[test]
fn where_nobody_is_asked_what_would_be_asked_is_denied() {
    check_each(
        Mode::DontAsk,
        &["allow Bash(npm test *)", "ask Bash(npm run *)"],
        &[
            ("Bash npm test", Allow),
            ("Bash ls", Allow),
            ("Read a", Allow),
            ("Read ../a", Deny),
            ("Write a", Deny),
            ("Bash npm run x", Deny),
            ("Bash npm test $(x)", Deny),
            ("Bash rm -rf /", Deny),
            ("AskUserQuestion", Deny),
        ],
    );
}

#[test]
fn bypass_lets_everything_pass_but_rules_and_what_is_never_approved() {
    check_each(
        Mode::BypassPermissions,
        &["ask Bash(npm run *)", "deny Bash(make *)"],
        &[
            ("Bash npm test", Allow),
            ("Bash for i in 1 2; do echo $i; done", Allow),
            ("Write ../a", Allow),
            ("WebFetch https://example.com/", Allow),
            ("mcp__srv__drop", Allow),
            ("Bash npm run x", Ask),
            ("Bash make x", Deny),
            ("Bash (make x)", Deny),
            ("Bash rm -rf /", Ask),
            ("Bash rm -rf ~", Ask),
            ("Bash rm -rf ..", Ask),
            ("Bash rm -rf \"$XX\"/*", Ask),
            ("Bash rm -rf build", Allow),
            ("Bash echo \"unbalanced", Ask),
            ("Write .git/config", Ask),
            ("Write .portcullis/rules.toml", Ask),
            ("ExitPlanMode", Ask),
        ],
    );
}

#[test]
fn protected_files_are_always_asked_for() {
    let protected = [
        "Write .git/config",
        "Edit .git/hooks/pre-commit",
        "Write .claude/settings.json",
        "Write .CLAUDE/settings.json",
        "Write .mcp.json",
        "Write .vscode/tasks.json",
        "Write .idea/x",
        "Write .husky/pre-commit",
        "Write .cargo/config.toml",
        "Write .npmrc",
        "Write sub/.npmrc",
        "Write .bashrc",
        "Write .zshrc",
        "Write ~/.profile",
        "Write .gitmodules",
        "Write sub/.git/x",
        "Write .portcullis/rules.toml",
        "Bash touch .git/x",
        "Bash cp a .bashrc",
        "Bash mkdir .claude",
        "Bash ls > .mcp.json",
        "Bash tee .claude/settings.json",
        "Bash rm .git/index",
        "Bash sed -i s/a/b/ .npmrc",
        "Bash mv a .husky/x",
        "Bash sed -Ei s/a/b/ .npmrc",
        "Bash sed -ni p .npmrc",
        "Bash sed --in-pl s/a/b/ .npmrc",
        "Bash dd if=a of=.bashrc",
        "Bash sort -o .npmrc a",
        "Bash sort -uo.npmrc a",
        "Bash sort --outp=.npmrc a",
        "Bash scp h:x .git/config",
        "Bash curl -o .bashrc http://x",
        "Bash curl -sLo.bashrc http://x",
        "Bash curl --output .bashrc http://x",
        "Bash wget -O .bashrc http://x",
        "Bash cp a/.npmrc .",
        "Bash cp -t sub a/.npmrc",
        "Bash mv a/.bashrc b sub",
        "Bash scp h:.bashrc sub",
    ];
    for mode in Mode::ALL {
        for text in protected {
            let ruling = ruling(mode, &rules(&["allow Bash", "allow Edit(//**)", "allow Write"]), call(text));
            let expected = if mode == Mode::DontAsk { Deny } else { Ask };
            assert_eq!(ruling.decision, expected, "{mode:?} {text}: {}", ruling.why);
            assert!(ruling.suppress_always && ruling.rule.is_none(), "{mode:?} {text}");
        }
    }
    let mut context = context();
    context.ours = vec!["/home/ann/.config/portcullis".to_owned()];
    let call = call("Write ~/.config/portcullis/rules.toml").followed(&context, |path| Some(path.to_owned()));
    assert_eq!(decide(&rules(&["allow Edit(//**)"]), Mode::AcceptEdits, &context, &call).decision, Ask);
    for text in ["Write .gitignore", "Write .github/workflows/x.yml", "Write git/x", "Write .env"] {
        let ruling = ruling(Mode::AcceptEdits, &RuleSet::default(), super::call(text));
        assert_eq!(ruling.decision, Allow, "{text}: {}", ruling.why);
    }
}

#[test]
fn critical_removals_are_always_asked_for() {
    let critical = [
        "rm -rf /",
        "rm -rf /*",
        "rm -rf /etc",
        "rm -rf /usr/",
        "rm -rf ~",
        "rm -rf ~/",
        "rm -rf $HOME",
        "rm -rf \"$HOME\"/*",
        "rm -rf /home/ann",
        "rm -rf /home",
        "rm -rf .",
        "rm -rf ./",
        "rm -rf ..",
        "rm -rf ../..",
        "rm -rf *",
        "rm -rf ./*",
        "rm -rf /home/ann/p",
        "rmdir /",
        "rm -rf $X/*",
        "rm -rf \"$X\"/",
        "rm -rf $X",
        "rm -rf -- /",
        "ls && rm -rf /",
        "sudo rm -rf /",
        "timeout 5 rm -rf /",
        "bash -c 'rm -rf /'",
        "/bin/rm -rf /",
        "sudo sudo sudo sudo sudo sudo sudo sudo sudo sudo sudo sudo sudo sudo sudo sudo x; rm -rf /",
        "su -c 'rm -rf /'",
        "watch 'rm -rf /'",
        "env -S 'rm -rf /'",
        "script -c 'rm -rf /' x",
        "flock f -c 'rm -rf /'",
        "trap 'rm -rf /' EXIT",
        "bash <<< 'rm -rf /'",
        "ash -c 'rm -rf /'",
        "rm -rf $(pwd)",
        "rm -rf \"$(pwd)\"",
        "rm -rf `pwd`",
        "rm -rf $(pwd)/*",
        "cd / && rm -rf usr",
        "cd .. && rm -rf p",
        "cd src && rm -rf ../../p",
        "cd ~ && cd .. && rm -rf ann",
        "cd && cd .. && rm -rf ann",
        "pushd /; rm -rf usr",
        "(cd /; rm -rf usr)",
        "bash -c 'cd / && rm -rf usr'",
        "rm -rf **",
        "rm -rf ./**",
        "rm -rf */",
        "rm -rf ~/*/",
        "rm -rf .*",
        "rm -rf ~/$X",
        "rm -rf ./${X}",
        "rm -rf $X/$Y",
        "rm -rf /home/ann/\"$X\"",
    ];
    for mode in Mode::ALL {
        for command in critical {
            let ruling = ruling(mode, &rules(&["allow Bash"]), call(&format!("Bash {command}")));
            let expected = if mode == Mode::DontAsk { Deny } else { Ask };
            assert_eq!(ruling.decision, expected, "{mode:?} {command}: {}", ruling.why);
            assert!(ruling.suppress_always, "{mode:?} {command}");
        }
    }
    for command in ["rm -rf build", "rm x", "rm -rf ./build", "rm -rf build/x", "rm -rf /tmp/x/y"] {
        let ruling = ruling(Mode::Default, &rules(&["allow Bash"]), call(&format!("Bash {command}")));
        assert_eq!(ruling.decision, Allow, "{command}: {}", ruling.why);
    }
}

#[test]
fn a_ruling_says_what_decided() {
    let said = |mode, written: &[&str], text: &str| {
        let ruling = ruling(mode, &rules(written), call(text));
        let rule = ruling.rule.map_or("no rule".to_owned(), |rule| rule.pattern.to_string());
        format!("{} by {rule}: {}", ruling.decision.name(), ruling.why)
    };
    let actual = [
        said(Mode::Default, &["allow Bash(npm *)"], "Bash npm test"),
        said(Mode::Default, &[], "Bash ls"),
        said(Mode::Default, &["allow Bash(npm *)"], "Bash ls && npm test && make"),
        said(Mode::Default, &["deny Bash(rm *)"], "Bash rm -rf /"),
        said(Mode::Default, &["allow Bash"], "Bash rm -rf /"),
        said(Mode::Default, &["ask Bash"], "Bash rm -rf /"),
        said(Mode::Default, &["allow Edit(**)"], "Write .git/x"),
        said(Mode::Default, &["allow Bash"], "Bash cat $(x)"),
        said(Mode::Default, &["allow Bash(make *)"], "Bash FOO=1 make"),
        said(Mode::Plan, &["allow Write"], "Write x"),
        said(Mode::DontAsk, &[], "Write x"),
        said(Mode::Default, &[], "Read ../x"),
        said(Mode::Default, &[], "mcp__srv__tool"),
    ]
    .join("\n");
    expect_test::expect![[r#"
        allow by Bash(npm *): allowed by the user rule Bash(npm *)
        allow by no rule: default mode lets it pass
        ask by no rule: no rule allows `make`
        deny by Bash(rm *): denied by the user rule Bash(rm *)
        ask by no rule: removing / is never approved unasked
        ask by Bash: asked for by the user rule Bash
        ask by no rule: /home/ann/p/.git/x is protected: changes of it are always asked for
        ask by no rule: the command cannot be approved unseen: it runs a command to make a word
        ask by no rule: the variables before it may change what it does, and no rule allows exactly `FOO=1 make`
        ask by no rule: in plan mode nothing but reading passes unasked
        deny by no rule: no rule allows writing /home/ann/p/x; in dontAsk mode what would be asked is denied
        ask by no rule: /home/ann/x is outside the working folders
        ask by no rule: no rule allows mcp__srv__tool"#]]
    .assert_eq(&actual);
}
