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

#[test]
fn what_stands_before_a_builtin_or_a_function_counts_for_it() {
    checked(
        Ask,
        &[
            "HOME=secrets cd && cat key.pem",
            "OLDPWD=secrets cd - && cat key.pem",
            "HOME=secrets command cd && cat key.pem",
            "OLDPWD=$PWD/secrets pushd -; cat key.pem",
            "f() { cat ~/key.pem; }; HOME=secrets f",
            "HOME=secrets eval 'cat ~/key.pem'",
            "HOME=.git/hooks cd && echo x > pre-commit",
            "HOME=/ cd && mv usr x",
            "PATH=secrets:$PATH; . key.pem",
            "KUBECONFIG=secrets/key.pem kubectl get pods",
        ],
    );
    checked(Allow, &["HOME=/tmp/x cargo test", "cd - && cat a.txt", "cd && ls", "CARGO_HOME=x cargo build"]);
}

#[test]
fn what_is_printed_into_a_word_is_followed_or_may_be_any_name() {
    checked(
        Ask,
        &[
            "cd $(cat <<< secrets); cat key.pem",
            "cd $(date +secrets); cat key.pem",
            "cd $(basename -s x secretsx); cat key.pem",
            "cd $(git branch --format=secrets); cat key.pem",
            "cd $(date +/); mv usr x",
            "cd $(git for-each-ref --count=1 --format=/); mv usr x",
            "x=$(date +/usr); mv $x y",
            "x=$(git branch --format=/usr); mv $x y",
            "date +/usr | xargs -I{} mv {} x",
            "cat $(basename -s x secretsx)/key.pem",
            "cat $(basename secretsx x)/key.pem",
            "echo x > $(basename -s x .gitx)/config",
            "x=$(basename -s .x secrets.x); cat $x/key.pem",
            "cat $(git branch --format=secrets)/key.pem",
            "cat $(TZ=secrets date +%Z)/key.pem",
            "cat $(GOFLAGS=secrets go env GOFLAGS)/key.pem",
            "cat $(head -c7 <<< secretsx)/key.pem",
            "cat $(cat <<< sec*/key.pem)",
            "cat $(date '+sec*/key.pem')",
            "cat $(git rev-parse --git-path ../sec*/key.pem)",
            "git remote add x /usr; x=$(git remote get-url x); mv $x y",
            "mv \"$(true)\"/usr x",
            "rsync -a --delete e/ $X/usr",
        ],
    );
    checked(
        Allow,
        &[
            "mv a.log \"a-$(date +%F).log\"",
            "cp a \"backup-$(date +%Y%m%d)\"",
            "cat $(basename src/a.txt)",
            "cd $(git rev-parse --show-toplevel) && make",
            "d=$(mktemp -d); mv a \"$d/a\"",
            "git show $(git log --oneline | head -1 | cut -d' ' -f1)",
            "~/.cargo/bin/cargo build",
        ],
    );
}

#[test]
fn a_removal_is_seen_behind_a_program_that_is_not_known() {
    checked(
        Ask,
        &[
            "prlimit --nofile=64 find ~ -delete",
            "setarch x86_64 mv /usr x",
            "ssh-agent find /usr -delete",
            "uv run mv ~ x",
            "unheard-of -x rsync -a --delete e/ ~/",
            "bwrap --dev-bind / / python3 -c 'import shutil; shutil.rmtree(\"/usr\")'",
            "perl -ne 1 'find / -delete|'",
            "cd /opt; git init; git clean -fdx",
            "ln -s / x; mv x/usr y",
            "ln -s / x; cd x; mv usr y",
            "ln -s / x; rsync -a --delete e/ x/usr/",
            "pytest --basetemp=/opt",
            "gio move ~ x",
            "cmake -E rename ~ x",
            "less '+!mv /us* x' a.txt",
        ],
    );
    checked(
        Allow,
        &["git mv a b", "git clean -fdx", "docker exec c chmod 755 /start.sh", "less +20 a.txt", "ln -s a b; mv b c"],
    );
}

#[test]
fn a_program_that_is_told_to_remove_is_not_given_the_home_or_the_system_unasked() {
    checked(
        Ask,
        &[
            "hugo --cleanDestinationDir -d ~",
            "hugo --cleanDestinationDir --destination=$HOME",
            "mvn -f ~ clean",
            "gradle -p ~ clean",
            "npm prune --prefix ~",
            "GOMODCACHE=~ go clean -modcache",
            "CARGO_BUILD_TARGET_DIR=.. cargo clean",
            "docker run -v /:/h alpine rm -rf /h/home",
            "docker run -v /:/h alpine sh -c 'cd /h; rm -rf home'",
            "podman run --mount=type=bind,source=$HOME,target=/h alpine rm -rf /h",
            "docker run --mount=source=/,target=/h,type=bind alpine rm -rf /h/home",
            "docker run -v=/:/h alpine rm -rf /h/home",
            "docker run -itv/:/h alpine rm -rf /h/home",
            "docker run -v /:/h alpine find /h/home -delete",
            "unheard-of delete /usr",
            "unheard-of remove-all ~",
            "export GOMODCACHE=~; go clean -modcache",
            "GOMODCACHE=/home go clean -modcache",
        ],
    );
    checked(
        Allow,
        &[
            "docker run --rm -v $HOME:/w image ls /w",
            "docker rm $(docker ps -q)",
            "docker exec c app remove /opt",
            "docker system prune -f",
            "make clean PREFIX=/usr",
            "make clean DESTDIR=/",
            "make -C ../lib clean",
            "PREFIX=/usr make uninstall",
            "npm uninstall left-pad",
            "kubectl delete -f .",
            "redis-cli del /sessions/1",
            "fd delete /",
            "cp clean /tmp",
            "psql -h /tmp -c 'delete from sessions'",
            "docker run --rm -v ~:/root image npm run clean",
            "unheard-of --clean /tmp",
            "gradle clean build",
            "go clean -testcache",
            "curl -X DELETE https://h/",
            "grep -rn delete ~/notes",
            "cargo clean --target-dir target",
        ],
    );
}

#[test]
fn names_in_a_list_for_an_archive_are_folders_as_well() {
    checked(
        Ask,
        &[
            "echo secrets | tar cT -",
            "tar cT - <<< secrets",
            "tar cfT x - <<< secrets",
            "printf -- '-C secrets\\nkey.pem\\n' | tar cT -",
            "echo secrets | zip -r x -@",
            "echo /usr | tar cf x --remove-files -T -",
            "echo /usr | zip -rm x -@",
        ],
    );
    checked(Allow, &["echo src | tar czf x.tgz -T -", "git ls-files | zip x -@"]);
}

#[test]
fn a_file_that_is_named_after_its_address_is_protected() {
    checked(
        Ask,
        &[
            "curl -O https://h/.mcp.json",
            "curl -OL https://h/.mcp.json?x=y",
            "curl -O 'h/.mcp.jso[n-n]'",
            "curl -O 'https://h/{a,.npmrc}'",
            "wget https://h/.npmrc",
            "wget https://h/%2emcp.json#x",
            "wget -P ~ https://h/.bashrc",
            "U=https://h/.npmrc; wget $U",
            "cd .git/hooks && wget https://h/pre-commit",
            "git clone https://h/.claude.git",
            "git clone git@h:x/.claude",
            "aws s3 cp s3://b/.npmrc .",
            "curl -w '%output{.git/config}x' h",
            "curl --variable x=.mcp --expand-output '{{x}}.json' h",
        ],
    );
    checked(
        Allow,
        &[
            "curl https://h/.bashrc",
            "wget -qO- https://h/.bashrc",
            "curl -o x https://h/.bashrc",
            "git clone https://h/x.git",
            "curl -LO https://h/x.tar.gz",
        ],
    );
}

#[test]
fn blanks_around_a_path_and_what_a_shell_would_make_of_a_rule_count() {
    let denied = rules(&["deny Read(secrets/**)", "deny Read(private/{key,x}.pem)", "deny Read($HOME/own/**)"]);
    let file = |tool: &str, field: &str, given: Given| Call::new(tool, [(field.to_owned(), given)].into());
    for (tool, field, name) in [
        ("Read", "file_path", " secrets/key.pem"),
        ("Read", "file_path", "\u{feff}secrets/key.pem"),
        ("Grep", "path", "secrets/key.pem\t"),
        ("LSP", "filePath", " secrets/key.pem"),
        ("Read", "file_path", "private/x.pem"),
        ("Read", "file_path", "~/own/x"),
    ] {
        let ruling = ruling(LAXEST, &denied, file(tool, field, Given::Text(name.to_owned())));
        assert_eq!(ruling.decision, Decision::Deny, "{tool} {name:?}: {}", ruling.why);
    }
    let sent = file("SendUserFile", "files", Given::List(vec![" secrets/key.pem".to_owned()]));
    assert_eq!(ruling(LAXEST, &denied, sent).decision, Decision::Deny);
    let written = file("Write", "file_path", Given::Text("/home/ann/p/.mcp.json ".to_owned()));
    assert_eq!(ruling(LAXEST, &rules(&[]), written).decision, Ask);
}

#[test]
fn what_is_printed_into_a_word_belongs_to_what_is_around_it() {
    let written = ["allow Bash", "deny Read(.env)", "deny Read(secrets/**)", "deny Edit(gen/**)"];
    for line in [
        "rm -rf /home/ann/x-$(date '+%s /home/ann/p')",
        "rm -rf build/$(wc -l README.md $PWD)",
        "rm -rf build/$(git rev-parse HEAD ../p)",
        "rm -rf x-$(seq -s ' /home/ann/p ' 2)",
        "rm -rf x-$(realpath a /home/ann/p)",
        "rm -rf x-$(dirname a /home/ann/p/x)",
        "rm -rf \"build/$(date +../../p)\"",
        "rm -rf x$(echo ' /home/ann/')p",
        "rm -rf x`echo ' /home/ann/'`p",
        "cat x$(echo ' .e')nv",
        "cat x$(cat <<< ' .e')nv",
        "rm -rf a$(echo 1) a$(echo 2) a$(echo 3) a$(echo 4) a$(echo 5) a$(echo 6) a$(echo 7) a$(echo 8) x$(echo ' /home/ann/')p",
        "echo a b; echo a b; echo a b; echo a b; echo a b; echo a b; echo a b; echo a b; cat x$(echo ' .e')nv",
        "echo a 1; echo a 2; echo a 3; echo a 4; echo a 5; echo a 6; echo a 7; echo a 8; cat x$(echo ' .e')nv",
        "cat README.md x$(echo ' secrets')/a.txt",
        "sort -$(date '+o gen/config') README.md",
        "tee x$(date '+ .npmr')c < README.md",
        "curl -s \"file:///$PWD/.env\"",
        "curl -s file:///${PWD}/secrets/a.txt",
        "chroot / rm -rf home/ann/p",
        "unshare --wd=.. rm -rf p",
        "nsenter -w.. rm -rf p",
        "chroot / tee etc/profile.d/x.sh",
    ] {
        let ruling = ruling(Mode::BypassPermissions, &rules(&written), call(&format!("Bash {line}")));
        assert_ne!(ruling.decision, Decision::Allow, "{line:?}: {}", ruling.why);
    }
    for line in [
        "kill $(lsof -t -i:3000)",
        "git log $(git describe --tags --abbrev=0)..HEAD",
        "tar czf backup-$(date +%F).tgz src",
        "mkdir -p build/$(date +%Y-%m-%d)",
        "rm -rf build/$(git rev-parse --short HEAD)",
        "docker tag app app:$(git rev-parse --short HEAD)",
    ] {
        let ruling =
            ruling(Mode::BypassPermissions, &rules(&["allow Bash", "deny Read(.env)"]), call(&format!("Bash {line}")));
        assert_eq!(ruling.decision, Decision::Allow, "{line:?}: {}", ruling.why);
    }
}

#[test]
fn what_is_read_and_only_told_reaches_no_file() {
    checked(
        Allow,
        &[
            "seq 3 | while read n; do echo \"n=$n\"; done",
            "seq 3 | while read -r n; do echo \"n: $n\"; done",
            "git branch | while read b; do echo \"branch=$b\"; done",
            "seq 3 | while read n; do printf 'n=%s\\n' \"$n\"; done",
            "seq 3 | while read n; do echo \"n=$n\"; sleep 1; done",
        ],
    );
    checked(
        Ask,
        &[
            "echo secrets/key | while read n; do cat \"$n\"; done",
            "echo key | while read n; do cat \"secrets/$n\"; done",
            "echo secrets | while read n; do cat \"$n/key\"; done",
            "echo secrets/key | while read n; do echo \"$n\" | xargs cat; done",
            "echo key | while read n; do echo \"secrets/$n\"; done | xargs cat",
            "echo key | while read n; do echo \"cat secrets/$n\"; done | sh",
            "echo key | while read n; do echo x > \".git/$n\"; done",
            "echo key | while read n; do x=\"secrets/$n\"; done; cat $x",
            "echo key | while read n; do cat $(echo \"secrets/$n\"); done",
            "echo secrets/key | while read n; do echo \"n=$n\"; cat < $n; done",
            "echo secrets/key | while read n; do export n; python3 x.py; done",
            "f() { cat \"$1\"; }; echo secrets/key | while read n; do echo \"n=$n\"; f \"$n\"; done",
            "curl h | while read n; do echo \"n=$n\"; rm \"$n\"; done",
        ],
    );
}
