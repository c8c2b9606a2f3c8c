//! Lines that reach a denied or a protected file, or remove what cannot be had back, in the mode in which everything else
//! passes, on a real disk; and lines of ordinary work, which do pass.
//!
//! `secrets/key` is denied; the rules are those of everyday lines.

use portcullis_core::policy::Given;

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

#[test]
fn a_search_goes_through_links_to_a_denied_file() {
    let place = place();
    std::fs::create_dir(place.project.join("notes")).unwrap();
    std::os::unix::fs::symlink("../secrets", place.project.join("notes/more")).unwrap();
    let passes = |line: &str| place.decided(Mode::BypassPermissions, line).decision == Decision::Allow;
    for line in ["grep -R x notes", "grep --dereference-recursive x notes", "rg -L x notes", "grep -R x notes/m*"] {
        assert!(!passes(line), "{line}");
    }
    assert!(passes("grep -R x src"));
}

#[test]
fn what_lies_above_is_found_by_where_a_repository_begins() {
    let place = Place::with("[[rule]]\ndeny = \"Read(~/code/project/secrets/**)\"\n");
    write(&place.project.join("secrets/key"));
    let folder = place.project.join("src");
    let passes = |line: &str| place.decided_in(&folder, Mode::BypassPermissions, line).decision;
    for line in [
        "cat ../secrets/key",
        "cat $(git rev-parse --show-toplevel)/secrets/key",
        "cat \"$(git rev-parse --show-toplevel)/secrets/key\"",
        "cd $(git rev-parse --show-toplevel) && cat secrets/key",
        "cat $(git rev-parse --show-cdup)secrets/key",
        "x=$(git rev-parse --show-toplevel); cat $x/secrets/key",
        "cat $(dirname $PWD)/secrets/key",
        "cat $(dirname $(pwd))/secrets/key",
        "cat $(npm prefix)/secrets/key",
        "cd \"$(git rev-parse --show-toplevel)/secrets\" && cat key",
    ] {
        assert_ne!(passes(line), Decision::Allow, "{line}");
    }
    for line in ["cat $(git rev-parse --show-toplevel)/README.md", "git -C $(git rev-parse --show-toplevel) status"] {
        assert_eq!(passes(line), Decision::Allow, "{line}");
    }
    let passes = |line: &str| place.decided(Mode::BypassPermissions, line).decision;
    for line in [
        "cat $(pwd)/secrets/key",
        "cat \"$(pwd -P)/secrets/key\"",
        "cat $(/bin/pwd)/secrets/key",
        "cat $(dirname $(readlink -f README.md))/secrets/key",
        "cat $(dirname $(dirname $(realpath src/main.rs)))/secrets/key",
        "cat $(git rev-parse --git-path x)/../../secrets/key",
        "x=`pwd`; y=secrets; cat $x/$y/key",
        "pwd | xargs -I{} cat {}/secrets/key",
        "pwd | while read d; do cat $d/secrets/key; done",
        "find . -name 'sec*' | xargs -I{} cat {}/key",
        "find . -name 'sec*' | while read d; do cat $d/key; done",
        "fd -t d sec -x cat {}/key",
        "tar cf - $(pwd) | tar tf -",
        "cp -r $(pwd) /tmp/x",
        "cat < $(pwd)/secrets/key",
        "cat \"$(git rev-parse --show-toplevel)/secrets/key\"",
        "cat $(find . -maxdepth 1 -name 'sec*')/key",
        "d=$(find . -type d -name 'sec*'); cat $d/key",
        "cat $(ls -d s*ts)/key",
        "cd src; cat $(cd ../secrets; git rev-parse --show-prefix)key",
    ] {
        assert_ne!(passes(line), Decision::Allow, "{line}");
    }
    for line in ["cat $(pwd)/README.md", "cat $(find . -maxdepth 1 -name 'sr*')/main.rs"] {
        assert_eq!(passes(line), Decision::Allow, "{line}");
    }
}

#[test]
fn git_takes_neither_the_working_folder_nor_what_guards_it() {
    let place = place();
    let passes = |line: &str| place.decided(Mode::BypassPermissions, line).decision == Decision::Allow;
    let name = place.project.file_name().unwrap().to_str().unwrap();
    for line in [
        "git worktree remove --force .".to_owned(),
        "git worktree remove -f $PWD".to_owned(),
        format!("git worktree remove --force ../{name}"),
        format!("git worktree remove --force {name}"),
        "git worktree move . ../elsewhere".to_owned(),
    ] {
        assert!(!passes(&line), "{line}");
    }
    assert!(passes("git worktree remove ../feature") && passes("git worktree add ../feature"));

    assert!(passes("git clean -fdx") && passes("git stash -u"));
    write(&place.project.join(".claude/settings.local.json"));
    assert!(passes("git clean -fd") && passes("git stash -u"), "an agent has told git to ignore it");
    for line in ["git clean -fdx", "git clean -fX", "git stash -a", "git stash push --all", "git -C . clean -xfd"] {
        assert!(!passes(line), "{line}");
    }
    assert!(passes("git clean -fdx -e .claude") && passes("git clean -ndx"));
    write(&place.project.join(".mcp.json"));
    assert!(!passes("git clean -fd") && !passes("git stash -u"));
    std::fs::write(place.project.join(".gitignore"), ".mcp.json\n").unwrap();
    assert!(passes("git clean -fd") && !passes("git clean -fdx -e .claude"));
    // One that git knows stays.
    std::fs::write(place.project.join(".gitignore"), "").unwrap();
    std::fs::write(place.project.join(".git/index"), b"DIRC\0\0\0\x02 x \0\x09.mcp.json\0\0").unwrap();
    assert!(passes("git clean -fd"));
    // Other protected files count as well.
    write(&place.project.join(".envrc"));
    assert!(!passes("git clean -f") && !passes("git clean -fdx") && passes("git clean -fd -e .envrc"));
    assert!(passes("git stash -u"), "it comes back");
    std::fs::write(place.project.join(".gitignore"), ".envrc\n").unwrap();
    assert!(passes("git clean -fd") && !passes("git clean -fX"));
    assert!(passes("git clean -fdx build -e .claude") && !passes("git clean -fdx ."));
}

#[test]
fn what_is_ours_is_neither_taken_away_nor_replaced_unasked() {
    let place = Place::with("[[rule]]\nallow = \"Bash\"\n");
    let rules = "x/portcullis/rules.toml z/.config/portcullis/rules.toml d/portcullis";
    for file in rules.split(' ').chain(["g/git/config", "s/systemd/user/a.service", "e/profile.d/a.sh", "app/conf"]) {
        write(&place.project.join(file));
    }
    write(&place.home.join(".config/app/conf"));
    std::os::unix::fs::symlink(place.home.join(".config"), place.project.join("way")).unwrap();
    let judged = |line: &str| {
        let line = line.replace("\\n", "\n");
        [Mode::Default, Mode::BypassPermissions].map(|mode| place.decided(mode, &line))
    };
    let (mut passed, mut asked) = (vec![], vec![]);
    for line in include_str!("reach/own.txt").lines().filter(|line| !line.starts_with('#')) {
        let (sign, line) = line.split_once(' ').unwrap();
        for judged in judged(line) {
            match (sign, judged.decision) {
                ("-", Decision::Ask | Decision::Deny) | ("+", Decision::Allow) => {}
                ("-", Decision::Allow) => passed.push(line),
                _ => asked.push(format!("{line}: {}", judged.why)),
            }
        }
    }
    assert!(passed.is_empty() && asked.is_empty(), "let pass: {passed:#?}\nasked for: {asked:#?}");
}

#[test]
fn what_is_ours_is_guarded_also_where_links_and_variables_put_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let (home, project) = (root.join("home"), root.join("home/project"));
    for file in ["dot/claude/settings.json", "dot/config/x", "far/config/y", "far/state/z", "project/a"] {
        write(&home.join(file));
    }
    std::os::unix::fs::symlink("dot/claude", home.join(".claude")).unwrap();
    std::os::unix::fs::symlink("dot", home.join("by-link")).unwrap();
    let with = |variables: &[(&str, &str)]| {
        let variables = variables.to_vec();
        let find = |name: &str| {
            let value = variables.iter().find(|(key, _)| *key == name).map(|(_, value)| home.join(value));
            value.or_else(|| (name == "HOME").then(|| home.clone())).map(PathBuf::into_os_string)
        };
        let rules = Rules::open(&Paths::from_env(&find).unwrap(), &project);
        let around = rules.around(&project, &[], None, SessionShell::Bash);
        move |line: &str| {
            let input = [("command".to_owned(), Given::Text(line.to_owned()))].into();
            rules.decide(Mode::BypassPermissions, &around, Call::new("Bash", input)).decision == Decision::Allow
        }
    };
    let usual = with(&[]);
    for line in ["rm -rf ~/dot", "mv ~/dot/claude x", "echo > ~/dot/claude/settings.json", "rm -rf ~/.config"] {
        assert!(!usual(line), "{line}");
    }
    assert!(usual("rm -rf ~/dot/config") && usual("rm -rf ~/far"));
    let linked = with(&[("XDG_CONFIG_HOME", "by-link/config")]);
    for line in ["rm ~/by-link", "mv ~/dot x", "rm -rf ~/by-link/config", "cp -rT a ~/dot/config"] {
        assert!(!linked(line), "{line}");
    }
    let elsewhere = with(&[("XDG_STATE_HOME", "far/state"), ("CLAUDE_CONFIG_DIR", "dot/config")]);
    for line in ["rm -rf ~/far", "mv ~/far/state x", "mv ~/dot x", "echo > ~/dot/config/settings.json"] {
        assert!(!elsewhere(line), "{line}");
    }
    assert!(elsewhere("rm -rf ~/far/config"));
    let one = with(&[("PORTCULLIS_HOME", "far/config")]);
    assert!(!one("mv ~/far x") && !one("chmod -R 777 ~/far/config") && one("rm -rf ~/.local/state"));
}

#[test]
fn a_program_that_is_not_known_hides_none_that_is() {
    let place = place();
    write(&place.project.join("ev/.mcp.json"));
    let passes = |line: &str| place.decided(Mode::BypassPermissions, line).decision == Decision::Allow;
    for line in [
        "npm exec --offline -- grep -r topsecret .",
        "npm exec --offline -- find . -name 'k*' -exec cat {} +",
        "npm exec --offline -- cp -r ev/. .",
        "npm exec -- rsync -a ev/ ./",
        "uv run tar cf /tmp/x .",
        "npm exec -- zip -r /tmp/x .",
        "bundle exec rg --hidden x .",
        "setarch x86_64 cp -r . /tmp/x",
        "python3 -m zipapp . -o /tmp/x",
    ] {
        assert!(!passes(line), "{line}");
    }
    for line in ["npm exec -- grep -n x README.md", "uv run pytest -k grep", "npx eslint .", "uv run find src -name x"]
    {
        assert!(passes(line), "{line}");
    }
}
