//! Names that a line does not say itself: another program prints them, a variable of git names them, or they lead through a
//! process.

use super::*;
use Decision::{Allow, Ask};

const LAXEST: Mode = Mode::BypassPermissions;

/// Whether lines pass in the laxest mode, or in none, under a rule that allows every command.
#[track_caller]
fn checked(expected: Decision, lines: &[&str]) {
    let rules = rules(&["allow Bash", "deny Read(secrets/**)"]);
    let mut wrong = vec![];
    for mode in [Mode::Default, LAXEST].into_iter().filter(|mode| expected != Allow || *mode == LAXEST) {
        for line in lines {
            let ruling = ruling(mode, &rules, call(&format!("Bash {line}")));
            if (ruling.decision == Allow) != (expected == Allow) {
                wrong.push(format!("{mode:?} {line:?}: {:?} ({})", ruling.decision, ruling.why));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_another_program_names_is_not_removed_or_moved_away_unasked() {
    checked(
        Ask,
        &[
            "pwd | xargs -I% find % -delete",
            "pwd | xargs -I% mv % ../q",
            "pwd | parallel mv {} ../q",
            "echo ~ | xargs mv -t /tmp/x",
            "dirname Makefile | xargs -I% find % -delete",
            "git rev-parse --show-toplevel | xargs -I% mv % ../q",
            "d=$(pwd); mv $d ../q",
            "d=$(realpath Makefile); mv ${d%/*} ../q",
            "while read -r d; do find $d -delete; done <<<~",
            "find ~ -maxdepth 0 -exec mv {} ../q \\;",
            "f() { find \"$1\" -delete; }; f ~",
            "python3 x.py | xargs -I% mv % ../q",
            "echo fi | tr a-z b-za | xargs -I% mv x/% ../q",
        ],
    );
    checked(
        Allow,
        &[
            "find . -name '*.bak' | xargs -I{} mv {} old/",
            "f=$(ls -t *.log | head -1); mv \"$f\" last.log",
            "root=$(git rev-parse --show-toplevel); mv \"$root/a\" \"$root/b\"",
            "tmp=$(mktemp); jq . a.json > \"$tmp\" && mv \"$tmp\" a.json",
            "for f in *.txt; do mv \"$f\" \"${f%.txt}.md\"; done",
            "git ls-files | xargs sed -i s/a/b/",
            "git diff --name-only | xargs prettier --write",
        ],
    );
}

#[test]
fn a_name_through_a_process_is_the_file_behind_it() {
    checked(
        Ask,
        &[
            "find /proc/self/root$HOME -delete",
            "cat /proc/1/root$PWD/secrets/key",
            "cd /proc/self/root$PWD/secrets; cat key",
            "touch /proc/self/root$PWD/.git/hooks/x",
            "exec 3<.git; touch /dev/fd/3/hooks/x",
            "exec 3<secrets; cat /proc/self/fd/3/key",
        ],
    );
    checked(Allow, &["cat /proc/self/status", "cat /proc/$$/cmdline", "echo x > /dev/fd/2"]);
}

#[test]
fn git_is_not_told_unasked_to_run_or_copy_what_is_not_its_own() {
    checked(
        Ask,
        &[
            "git -c init.templateDir=bin init",
            "GIT_TEMPLATE_DIR=bin git init",
            "export \"GIT_TEMPLATE_DIR=bin\"; git init",
            "XDG_CONFIG_HOME=c git clone x",
            "git init --separate-git-dir=../x",
            "git clone -c core.fsmonitor=x y",
            "GIT_WORK_TREE=.git/hooks git checkout-index -a",
            "GIT_WORK_TREE=secrets git add key",
            "GIT_INDEX_FILE=.git/hooks/x git add a",
            "GIT_TRACE=$PWD/.git/hooks/x git status",
            "git rev-parse --git-path hooks/x | xargs cp a",
            "git config --show-origin -l | cut -f1 | xargs truncate -s0",
            "git remote add o 'ext::sh -c x'",
            "git config core.worktree x",
            "git lfs install",
        ],
    );
    // What git itself keeps in its settings by this runs nothing.
    checked(
        Allow,
        &[
            "git init",
            "git init --shared",
            "git clone https://example.com/x",
            "git remote add origin git@example.com:a/b.git",
            "git branch --set-upstream-to=origin/main",
            "git sparse-checkout init --cone",
            "git config user.name ann",
            "GIT_EDITOR=true git rebase --continue",
            "GIT_DIR=.git git log -1",
            "git commit -m 'use std::context::Context'",
        ],
    );
}

#[test]
fn brackets_that_only_zsh_takes_for_a_pattern_are_asked_for() {
    checked(Ask, &["cat (s)ecrets/key", "/bin/(r)m x", "echo x > y; cat a/(b|c)"]);
    checked(
        Allow,
        &[
            "if (cd x && make); then echo ok; fi",
            "a=(b c); echo ${a[0]}",
            "declare -a a=(1 2); echo $a",
            "f() { echo x; }; f",
            "[[ $x =~ ^(a|b)$ ]] && echo y",
            "case $x in (a) echo a;; b) echo b;; esac",
            "(( x == (2 + 3) )) && echo y",
            "time (make)",
        ],
    );
}
