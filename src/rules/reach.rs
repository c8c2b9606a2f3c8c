//! Lines that reach a denied or a protected file, or remove what cannot be had back, in the mode in which everything else
//! passes, on a real disk; and lines of ordinary work, which do pass.
//!
//! `secrets/key` is denied; the rules are those of everyday lines.

use super::everyday::{Place, write};
use super::*;

fn place() -> Place {
    let place = Place::new();
    for file in ["secrets/key", "src/list", "a"] {
        write(&place.project.join(file));
    }
    for (file, text) in [
        ("src/names", "secrets/key\n"),
        ("src/p.diff", "--- a/.git/hooks/x\n+++ b/.git/hooks/x\n"),
        ("src/ok.diff", "--- a/src/main.rs\n+++ b/src/main.rs\n+.git/hooks/x\n"),
    ] {
        std::fs::write(place.project.join(file), text).unwrap();
    }
    place
}

/// The lines that are let pass, and those that are not, with why.
fn judged(lines: &str) -> (Vec<String>, Vec<String>) {
    let place = place();
    let (mut passed, mut stopped) = (vec![], vec![]);
    for line in lines.lines().filter(|line| !line.starts_with('#')) {
        let judged = place.decided(Mode::BypassPermissions, &line.replace("\\n", "\n"));
        match judged.decision {
            Decision::Allow => passed.push(line.to_owned()),
            Decision::Ask | Decision::Deny => stopped.push(format!("{line}: {}", judged.why)),
        }
    }
    (passed, stopped)
}

#[test]
fn a_denied_file_is_read_by_no_way_unasked() {
    let (passed, stopped) = judged(include_str!("reach/reads.txt"));
    assert!(passed.is_empty() && stopped.len() > 200, "{passed:#?}");
}

#[test]
fn a_protected_file_is_changed_by_no_way_unasked() {
    let (passed, stopped) = judged(include_str!("reach/changes.txt"));
    assert!(passed.is_empty() && stopped.len() > 150, "{passed:#?}");
}

#[test]
fn what_cannot_be_had_back_is_removed_by_no_way_unasked() {
    let (passed, stopped) = judged(include_str!("reach/removals.txt"));
    assert!(passed.is_empty() && stopped.len() > 100, "{passed:#?}");
}

#[test]
fn ordinary_work_is_let_pass() {
    let (passed, stopped) = judged(include_str!("reach/free.txt"));
    assert!(stopped.is_empty() && passed.len() > 100, "{stopped:#?}");
}

/// Rules of somebody who allows every command, but for some.
const EVERY_COMMAND: &str = r#"
[[rule]]
allow = "Bash"
[[rule]]
deny = "Bash(rm *)"
[[rule]]
ask = "Bash(git push *)"
[[rule]]
deny = "Read(secrets/**)"
[[rule]]
deny = "Read(.env)"
"#;

#[test]
fn who_allows_every_command_is_asked_for_nothing_that_is_certain() {
    let place = Place::with(EVERY_COMMAND);
    let (mut asked, mut passed) = (vec![], vec![]);
    for line in include_str!("reach/certain.txt").lines().filter(|line| !line.starts_with('#')) {
        let (sign, line) = line.split_once(' ').unwrap();
        let judged = place.decided(Mode::Default, &line.replace("\\n", "\n"));
        let why = format!("{line}: {}", judged.why);
        assert!(!judged.why.contains("no rule allows") && !judged.why.contains("braces"), "{why}");
        match (sign, judged.decision) {
            ("+", Decision::Allow) | ("-", Decision::Ask | Decision::Deny) => {}
            ("+", _) => asked.push(why),
            _ => passed.push(why),
        }
    }
    assert!(asked.is_empty() && passed.is_empty(), "asked for: {asked:#?}\nlet pass: {passed:#?}");
}

#[test]
fn a_search_that_passes_over_hidden_and_ignored_files_is_not_asked_for() {
    let place = place();
    std::fs::write(place.project.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let passes = |line: &str| place.decided(Mode::BypassPermissions, line).decision == Decision::Allow;
    assert!(!passes("rg TODO"), "secrets/ is searched");
    std::fs::write(place.project.join(".gitignore"), "secrets/\n").unwrap();
    for line in ["rg TODO", "rg -n -t rust TODO .", "rg -l TODO | head"] {
        assert!(passes(line), "{line}");
    }
    for line in [
        "rg -uu TODO",
        "rg --hidden TODO",
        "rg --no-ignore TODO",
        "rg -g '.e*' TODO",
        "rg -L TODO",
        "RIPGREP_CONFIG_PATH=x rg TODO",
        "export RIPGREP_CONFIG_PATH=x; rg TODO",
        "declare -x RIPGREP_CONFIG_PATH=x && cd src && rg TODO",
        "export $(cat src/list); rg TODO",
        "rg TODO secrets",
        "rg TODO && grep -r TODO .",
        "grep -r TODO .",
    ] {
        assert!(!passes(line), "{line}");
    }
    // What a file takes in again is searched.
    std::fs::write(place.project.join(".ignore"), "!.env\n").unwrap();
    assert!(!passes("rg TODO"));
}

#[test]
fn what_grep_is_told_to_leave_out_is_not_searched() {
    let place = place();
    std::fs::remove_file(place.project.join(".env")).unwrap();
    let passes = |line: &str| place.decided(Mode::BypassPermissions, line).decision == Decision::Allow;
    for line in [
        "grep -r x . --exclude-dir=secrets",
        "grep -rn x --exclude-dir=.git --exclude-dir=secrets",
        "grep -rn x --include='*.py' .",
        "grep -rn x --exclude='key*' --exclude='prod*' .",
    ] {
        assert!(passes(line), "{line}");
    }
    for line in [
        "grep -r x . --exclude-dir=src",
        "grep -r x . --exclude-dir=sec",
        "grep -r x . --exclude-dir=$X",
        "grep -r x --exclude-dir=secrets . secrets",
        "grep -r x --exclude-dir=secrets ./secrets",
        "grep -r x -- . --exclude-dir=secrets",
        "grep -R x . --exclude-dir=secrets",
        "grep -r x . --include='k*'",
        "grep -r x . --include='*.py' --include=key",
        "grep -r x . --exclude='*.py' --include=key",
        "grep -r x . --exclude-dir=secrets; grep -r x .",
        "GREP_OPTIONS=-R grep -r x . --exclude-dir=secrets",
    ] {
        assert!(!passes(line), "{line}");
    }
}

#[test]
fn what_is_above_a_link_is_above_where_it_leads() {
    let place = place();
    std::fs::create_dir_all(place.project.join("src/x/y")).unwrap();
    std::os::unix::fs::symlink("src/x/y", place.project.join("deep")).unwrap();
    std::os::unix::fs::symlink("../..", place.project.join("up")).unwrap();
    let passes = |line: &str| place.decided(Mode::BypassPermissions, line).decision == Decision::Allow;
    for line in [
        "find deep/../../../../.. -delete",
        "cd deep; find ../../../../.. -delete",
        "mv deep/../../../../.. q",
        "find up/../ann -delete",
        "mv up/* src",
        "git --work-tree=up clean -fdxq",
        "git --work-tree=up stash -aq",
        "cd up; git init -q; git clean -fdxq",
        "cat deep/../../../secrets/key",
        "cat d*p/../../../secrets/key",
        "cd -P deep/..; cat ../../secrets/key",
        "set -o physical; cd deep; cd ../../../secrets; cat key",
    ] {
        assert!(!passes(line), "{line}");
    }
    for line in
        ["cat deep/a", "cd deep && cat a", "mv deep/* src", "cat src/../README.md", "cd src && cat ../README.md"]
    {
        assert!(passes(line), "{line}");
    }
}
