//! Shell commands.

use super::*;
use Decision::{Allow, Ask, Deny};

#[test]
fn a_command_is_matched_exactly_or_by_stars() {
    check(
        Mode::Default,
        &[
            (&["allow Bash(npm test)"], "Bash npm test", Allow),
            (&["allow Bash(npm test)"], "Bash npm test x", Ask),
            (&["allow Bash(npm test)"], "Bash npm  test", Allow),
            (&["allow Bash(npm test *)"], "Bash npm test", Allow),
            (&["allow Bash(npm test *)"], "Bash npm test -- x y", Allow),
            (&["allow Bash(npm test *)"], "Bash npm tester", Ask),
            (&["allow Bash(npm test*)"], "Bash npm tester", Allow),
            (&["allow Bash(npm test:*)"], "Bash npm test", Allow),
            (&["allow Bash(npm test:*)"], "Bash npm test x", Allow),
            (&["allow Bash(npm test:*)"], "Bash npm tester", Ask),
            (&["allow Bash(npm test:* x)"], "Bash npm test y x", Ask),
            (&["allow Bash(npm run test:unit)"], "Bash npm run test:unit", Allow),
            (&["allow Bash(* --version)"], "Bash node --version", Allow),
            (&["allow Bash(* --version)"], "Bash node --help", Ask),
            (&["allow Bash(git * main)"], "Bash git push origin main", Allow),
            (&["allow Bash(git * main)"], "Bash git push origin other", Ask),
            (&["allow Bash(npm *)"], "Bash yarn test", Ask),
            (&["allow Bash"], "Bash anything at all", Allow),
            (&["allow Bash(*)"], "Bash anything at all", Allow),
            (&["allow Bash(\\*)"], "Bash anything", Ask),
            (&["ask Bash(ls *)"], "Bash ls", Ask),
            (&["ask Bash(ls *)"], "Bash ls -la", Ask),
            (&["deny Bash(ls *)"], "Bash ls -la", Deny),
            (&["deny Bash(lsof *)"], "Bash ls -la", Allow),
            (&["allow Bash(npm test *)"], "Bash \"npm\" test", Ask),
            (&["allow Bash(npm test *)"], "Bash npm test 'a b' \"c d\"", Allow),
        ],
    );
}

#[test]
fn the_strictest_rule_wins_whatever_the_order_and_however_special() {
    check(
        Mode::Default,
        &[
            (&["allow Bash(npm *)", "ask Bash(npm publish *)"], "Bash npm publish", Ask),
            (&["ask Bash(npm publish *)", "allow Bash(npm publish)"], "Bash npm publish", Ask),
            (&["deny Bash(aws *)", "allow Bash(aws s3 ls)"], "Bash aws s3 ls", Deny),
            (&["allow Bash(aws s3 ls)", "deny Bash(aws *)"], "Bash aws s3 ls", Deny),
            (&["ask Bash", "deny Bash(rm *)"], "Bash rm x", Deny),
            (&["deny Bash"], "Bash ls", Deny),
        ],
    );
}

#[test]
fn every_part_of_a_compound_must_be_allowed() {
    let rules = ["allow Bash(npm test *)", "allow Bash(npm run *)"];
    check_each(
        Mode::Default,
        &rules,
        &[
            ("Bash npm test && npm run lint", Allow),
            ("Bash npm test || npm run lint", Allow),
            ("Bash npm test || true", Allow),
            ("Bash CI=1 npm test", Allow),
            ("Bash CI=$(id) npm test", Ask),
            ("Bash npm run build > build.log 2>&1", Ask),
            ("Bash npm test; npm run lint", Allow),
            ("Bash npm test;", Allow),
            ("Bash npm test | npm run lint", Allow),
            ("Bash npm test |& npm run lint", Allow),
            ("Bash npm test\nnpm run lint", Allow),
            ("Bash npm test | tail -5", Allow),
            ("Bash cd src && npm test", Allow),
            ("Bash npm test && make", Ask),
            ("Bash make && npm test", Ask),
            ("Bash npm test; make", Ask),
            ("Bash npm test | make", Ask),
            ("Bash npm test |& make", Ask),
            ("Bash npm test & make", Ask),
            ("Bash npm test & npm run lint", Ask),
            ("Bash npm test &", Ask),
            ("Bash npm test\nmake", Ask),
            ("Bash npm test &&", Ask),
            ("Bash npm test |", Ask),
            ("Bash && npm test", Ask),
            ("Bash ", Ask),
        ],
    );
}

#[test]
fn nothing_but_literal_words_is_approved() {
    let rules = ["allow Bash(npm test *)", "allow Bash(echo *)"];
    let commands = [
        "npm test && rm -rf x",
        "npm test; x",
        "npm test $(x)",
        "npm test `x`",
        "npm test \"$(x)\"",
        "npm test \"`x`\"",
        "npm test | sh",
        "npm test |& sh",
        "npm test & x",
        "npm test\nx",
        "npm test\r\nx",
        "npm test\rx",
        "npm test \\\n; x",
        "npm test\\\n",
        "PATH=. npm test",
        "LD_PRELOAD=./x npm test",
        "BASH_ENV=x npm test",
        "NODE_OPTIONS=--require=./x npm test",
        "npm test <(x)",
        "npm test >(x)",
        "npm test < <(x)",
        "{rm,-rf,x}",
        "npm test {a,b}",
        "$'\\x72m' x",
        "npm test $'\\x72m'",
        "npm test $\"x\"",
        "npm test $X",
        "npm test \"$X\"",
        "npm test ${X:-$(x)}",
        "npm test $((1+1))",
        "npm test <<EOF\nx\nEOF",
        "npm test <<'EOF'\nx\nEOF",
        "npm test <<<x",
        "npm test *",
        "npm test ?",
        "npm test [a]",
        "n?m test",
        "*/npm test",
        "npm test ~",
        "~/npm test",
        "npm test x=~/y",
        "=npm test",
        "(npm test)",
        "{ npm test; }",
        "if npm test; then x; fi",
        "while npm test; do x; done",
        "for x in y; do npm test; done",
        "case x in x) npm test;; esac",
        "npm() { x; }; npm test",
        "function npm { x; }; npm test",
        "alias npm=x; npm test",
        "! npm test",
        "npm test !",
        "npm test # x",
        "npm test 'x",
        "npm test \"x",
        "npm test `x",
        "npm test $(x",
        "npm test \\",
        "npm test a\\ b",
        "\\npm test",
        "npm test \"a\\\"b\"",
        "npm test\u{a0}x",
        "npm test\u{2003}x",
        "npm\u{200b} test",
        "npm test \0x",
        "npm test 'a\u{202e}b'",
        "npm test 'a\nb'",
        "coproc npm test",
        "[[ npm test ]]",
        "((npm test))",
        "npm test > x",
        "npm test >> x",
        "npm test &> x",
        "npm test >& x",
        "npm test >| x",
        "npm test <> x",
        "npm test 2> x",
        "npm test {fd}> x",
        "npm test < /etc/passwd",
        "eval npm test",
        "exec npm test",
        "source npm test",
        "watch npm test",
        "env npm test",
        "sudo npm test",
        "X=1",
    ];
    for command in commands {
        for rules in [&rules[..], &["allow Bash(npm test *)"]] {
            let ruling = ruling(Mode::Default, &super::rules(rules), call(&format!("Bash {command}")));
            assert_eq!(ruling.decision, Ask, "{command:?}: {}", ruling.why);
        }
    }
    let long = format!("Bash npm test {}", "x".repeat(10_000));
    assert_eq!(ruling(Mode::Default, &super::rules(&rules), call(&long)).decision, Ask);
}

#[test]
fn wrappers_and_harmless_variables_are_looked_through() {
    check_each(
        Mode::Default,
        &["allow Bash(npm test *)"],
        &[
            ("Bash timeout 10 npm test", Allow),
            ("Bash timeout 10s npm test", Allow),
            ("Bash timeout -k 5 10 npm test", Allow),
            ("Bash timeout --signal=KILL 10 npm test", Allow),
            ("Bash timeout --unknown 10 npm test", Ask),
            ("Bash timeout npm test", Ask),
            ("Bash time npm test", Allow),
            ("Bash nice npm test", Allow),
            ("Bash nice -n 5 npm test", Allow),
            ("Bash nohup npm test", Allow),
            ("Bash stdbuf -oL npm test", Allow),
            ("Bash command npm test", Allow),
            ("Bash command -v npm test", Ask),
            ("Bash builtin echo x", Ask),
            ("Bash nice ls", Ask),
            ("Bash noglob npm test", Allow),
            ("Bash echo a | xargs npm test", Allow),
            ("Bash echo a | xargs -n1 npm test", Ask),
            ("Bash echo a | xargs cat", Ask),
            ("Bash timeout 5 nice npm test", Allow),
            ("Bash NODE_ENV=test npm test", Allow),
            ("Bash NODE_ENV=test RUST_LOG=x npm test", Allow),
            ("Bash NODE_ENV=$X npm test", Ask),
            ("Bash NODE_ENV='a' npm test", Ask),
            ("Bash RUST_LOG=a=b npm test", Ask),
            ("Bash npm test 2>&-", Ask),
            ("Bash npm test 2>/dev/stderr", Ask),
            ("Bash FOO=1 npm test", Ask),
            ("Bash watch npm test", Ask),
            ("Bash setsid npm test", Ask),
            ("Bash LANG=C ls", Allow),
        ],
    );
    check(
        Mode::Default,
        &[
            (&["allow Bash(npm test)"], "Bash echo a | xargs npm test", Ask),
            (&["allow Bash(timeout 10 npm test)"], "Bash timeout 10 npm test", Allow),
            (&["allow Bash(watch *)"], "Bash watch npm test", Ask),
            (&["allow Bash(rm *)"], "Bash echo x | xargs rm", Ask),
            (&["allow Bash"], "Bash echo / | xargs rm -rf", Ask),
            (&["allow Bash(eval *)"], "Bash eval ls", Ask),
            (&["allow Bash(source *)"], "Bash source x", Ask),
            (&["allow Bash(export *)", "allow Bash(npm *)"], "Bash export PATH=. && npm test", Ask),
            (&["allow Bash(alias *)", "allow Bash(npm *)"], "Bash alias npm=x; npm test", Ask),
            (&["allow Bash(awk *)"], "Bash awk '{print $1}' a.txt", Allow),
            (&["allow Bash(awk *)"], "Bash awk 'BEGIN{system(\"x\")}'", Ask),
            (&["allow Bash(watch npm test)"], "Bash watch npm test", Allow),
            (&["allow Bash(FOO=1 make)"], "Bash FOO=1 make", Allow),
            (&["allow Bash(FOO=1 make)"], "Bash FOO=2 make", Ask),
            (&["allow Bash(FOO=1 make)"], "Bash BAR=1 FOO=1 make", Ask),
            (&["allow Bash(FOO=1 *)"], "Bash FOO=1 make", Ask),
            (&["allow Bash(FOO=1)"], "Bash FOO=1", Ask),
            (&["allow Bash(find *)"], "Bash find . -name x -delete", Ask),
            (&["allow Bash(find *)"], "Bash find . -exec rm x", Ask),
            (&["allow Bash(find *)"], "Bash find . -name x", Allow),
            (&["allow Bash"], "Bash find . -name x -delete", Allow),
        ],
    );
}

#[test]
fn what_is_denied_is_found_wherever_it_stands() {
    let commands = [
        "rm x",
        "rm",
        "  rm   x",
        "ls && rm x",
        "ls || rm x",
        "ls; rm x",
        "ls | rm x",
        "ls & rm x",
        "ls\nrm x",
        "(rm x)",
        "{ rm x; }",
        "echo $(rm x)",
        "echo \"$(rm x)\"",
        "echo `rm x`",
        "echo \"`rm x`\"",
        "echo $(echo $(rm x))",
        "echo ${X:-$(rm x)}",
        "cat <(rm x)",
        "ls > >(rm x)",
        "if true; then rm x; fi",
        "for f in a; do rm x; done",
        "while rm x; do ls; done",
        "until ls; do rm x; done",
        "case x in x) rm x;; esac",
        "f() { rm x; }; f",
        "function f { rm x; }",
        "! rm x",
        "X=1 rm x",
        "X=1 Y=2 rm x",
        "timeout 5 rm x",
        "timeout --what 5 rm x",
        "nice -n 5 rm x",
        "time rm x",
        "time time if rm x; then ls; fi",
        "time ! time if rm x; then ls; fi",
        "time coproc if rm x; then ls; fi",
        "time function f if rm x; then ls; fi; f",
        "nohup rm x",
        "command rm x",
        "xargs rm",
        "xargs -0 -n 1 rm",
        "env rm x",
        "env X=1 rm x",
        "sudo rm x",
        "sudo -u ann rm x",
        "exec rm x",
        "watch rm x",
        "find . -exec rm {} +",
        "/bin/rm x",
        "\\rm x",
        "r\"\"m x",
        "'rm' x",
        "$'\\x72m' x",
        "{rm,-rf,x}",
        "bash -c 'rm x'",
        "sh -ec \"rm x\"",
        "bash -c 'sh -c \"rm x\"'",
        "eval 'rm x'",
        "eval rm x",
        "bash <<EOF\nrm x\nEOF",
        "cat <<EOF\n$(rm x)\nEOF",
        "rm x &",
        "ls 2>&1 | rm x",
        "[[ -f x ]] && rm x",
        "ls \\\n&& rm x",
        "sudo bash <<EOF\nrm x\nEOF",
        "bash <<EOF | cat\nrm x\nEOF",
        "bash <<< 'rm x'",
        "echo 'rm x' | bash",
        "echo rm x | sh",
        "ash -c 'rm x'",
        "tcsh -c 'rm x'",
        "su -c 'rm x'",
        "su - root -c 'ls; rm x'",
        "watch 'true; rm x'",
        "env -S 'rm x'",
        "env --split-string='rm x'",
        "script -qc 'rm x' /dev/null",
        "flock f -c 'rm x'",
        "trap 'rm x' EXIT",
        "pkexec rm x",
        "systemd-run rm x",
        "runuser -u ann rm x",
        "setpriv rm x",
        "toybox rm x",
        "$\"rm\" x",
    ];
    for command in commands {
        for mode in [Mode::Default, Mode::BypassPermissions] {
            let ruling = ruling(mode, &rules(&["deny Bash(rm *)", "allow Bash"]), call(&format!("Bash {command}")));
            assert_eq!(ruling.decision, Deny, "{command:?}: {}", ruling.why);
        }
    }
    for command in ["ls rm", "echo 'rm x'", "echo rm", "rmdir y", "cat <<'EOF'\nrm x\nEOF"] {
        let ruling = ruling(Mode::Default, &rules(&["deny Bash(rm *)"]), call(&format!("Bash {command}")));
        assert_ne!(ruling.decision, Deny, "{command:?}: {}", ruling.why);
    }
}

#[test]
fn a_redirection_is_an_edit() {
    check(
        Mode::Default,
        &[
            (&["allow Bash(npm *)"], "Bash npm test > /dev/null", Allow),
            (&["allow Bash(npm *)"], "Bash npm test > /dev/null 2>&1", Allow),
            (&["allow Bash(npm *)"], "Bash npm test 2>&1", Allow),
            (&["allow Bash(npm *)"], "Bash npm test < a.txt", Allow),
            (&["allow Bash(npm *)"], "Bash npm test < ../a.txt", Ask),
            (&["allow Bash(npm *)"], "Bash npm test > out", Ask),
            (&["allow Bash(npm *)", "allow Edit(out/**)"], "Bash npm test > out/log", Allow),
            (&["allow Bash(npm *)", "allow Edit(out/**)"], "Bash npm test > log", Ask),
            (&["allow Edit(out/**)"], "Bash ls > out/log", Allow),
            (&["allow Bash", "deny Edit(out/**)"], "Bash ls > out/log", Deny),
            (&["allow Bash", "deny Edit(out/**)"], "Bash echo $(ls > out/log)", Deny),
            (&["allow Bash", "ask Edit(out/**)"], "Bash ls > out/log", Ask),
            (&["allow Bash", "allow Edit(**)"], "Bash ls > .git/config", Ask),
            (&["allow Bash", "allow Edit(**)"], "Bash cd src && ls > x", Allow),
            (&["allow Bash(ls *)", "allow Edit(**)"], "Bash cd src && ls > x", Ask),
            (&["allow Bash", "allow Edit(//tmp/**)"], "Bash ls > /tmp/x", Allow),
            (&[], "Bash echo x > -x", Ask),
            (&[], "Bash echo x > --x", Ask),
            (&[], "Bash echo x >> '-x'", Ask),
            (&[], "Bash echo x > -", Ask),
            (&["allow Bash(npm *)"], "Bash npm test &> -x", Ask),
        ],
    );
    for mode in [Mode::Plan, Mode::DontAsk] {
        assert_ne!(ruling(mode, &RuleSet::default(), call("Bash echo x > -x")).decision, Allow);
    }
}

#[test]
fn words_behind_two_dashes_are_no_flags() {
    check_each(
        Mode::Default,
        &[],
        &[
            ("Bash cat -- -x", Allow),
            ("Bash cat -- a.txt", Allow),
            ("Bash cat -- -/../../x", Ask),
            ("Bash cat -- /etc/passwd", Ask),
            ("Bash cat < -/../../x", Ask),
            ("Bash grep -- x a.txt", Allow),
            ("Bash grep -- -x a.txt", Allow),
            ("Bash grep -- -x /etc/passwd", Ask),
            ("Bash grep -- -v /etc/passwd", Ask),
            ("Bash grep --reg=root /etc/passwd", Ask),
            ("Bash grep --rege=root /etc/passwd", Ask),
            ("Bash grep --fil=a.txt /etc/passwd", Ask),
            ("Bash grep --regexp root /etc/passwd", Ask),
            ("Bash grep -i root a.txt", Allow),
        ],
    );
}

#[test]
fn no_number_of_wrappers_hides_a_command() {
    let nested = (0..6).fold("rm x".to_owned(), |script, _| format!("bash -c {script:?}"));
    let lines = [
        (format!("{}x; rm x", "nice ".repeat(16)), Deny),
        (format!("{}x; rm x", "nice ".repeat(1_500)), Deny),
        (format!("{}rm x", "sudo -u ann ".repeat(16)), Deny),
        (format!("{}rm x", "sudo ".repeat(1_500)), Ask),
        (format!("{}rm x", "eval ".repeat(5)), Deny),
        (format!("{} x", "{r,x}".repeat(10)), Ask),
        (nested, Ask),
    ];
    let many: Vec<String> = (0..30).map(|at| format!("deny Bash(*a*b*{at})")).collect();
    let mut written: Vec<&str> = many.iter().map(String::as_str).collect();
    written.extend(["deny Bash(rm *)", "allow Bash"]);
    for (line, expected) in lines {
        let ruling = ruling(Mode::BypassPermissions, &rules(&written), call(&format!("Bash {line}")));
        assert_eq!(ruling.decision, expected, "{line:.60}: {}", ruling.why);
    }
}

#[test]
fn a_redirection_in_quotes_is_found() {
    check(
        Mode::BypassPermissions,
        &[
            (&["deny Edit(.env)"], "Bash sh -c 'echo x > .env'", Deny),
            (&["deny Edit(.env)"], "Bash eval 'echo x > .env'", Deny),
            (&["deny Read(.env)"], "Bash sh -c 'cat < .env'", Deny),
            (&["deny Edit"], "Bash sh -c 'echo x > y'", Deny),
            (&[], "Bash bash -c \"echo x > .git/config\"", Ask),
            (&[], "Bash bash -c 'echo x > y'", Allow),
        ],
    );
}

#[test]
fn an_editor_that_changes_nothing_and_a_pager_that_shows_all_are_no_programs_to_ask_for() {
    check_each(
        Mode::Default,
        &["allow Bash"],
        &[
            ("Bash GIT_EDITOR=true git rebase --continue", Allow),
            ("Bash GIT_SEQUENCE_EDITOR=: git rebase -i HEAD~2", Allow),
            ("Bash GIT_PAGER=cat git log", Allow),
            ("Bash GIT_EDITOR=./true git rebase --continue", Ask),
            ("Bash GIT_EDITOR='true; x' git rebase --continue", Ask),
            ("Bash GIT_EDITOR=cat git rebase --continue", Ask),
            ("Bash GIT_PAGER=less git log", Ask),
            ("Bash GIT_EDITOR=$X git rebase --continue", Ask),
        ],
    );
}
