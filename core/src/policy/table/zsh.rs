//! Lines of a session whose shell may be zsh.

use super::*;

const MODES: [Mode; 3] = [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions];

fn decided(mode: Mode, written: &[&str], line: &str, shell: SessionShell) -> Judgement {
    let context = Context { shell, ..context() };
    let call = call(&format!("Bash {line}")).followed(&context, |path| Some(path.to_owned()));
    decide(&rules(written), mode, &context, &call)
}

#[test]
fn what_zsh_reads_otherwise_is_asked_for_in_every_mode() {
    let written = ["allow Bash", "deny Bash(danger *)", "deny Read(secrets/**)", "deny Read(~/.ssh/**)"];
    for line in [
        "rm -rf $PWD:h",
        "rm -rf \"$PWD:h\"",
        "ls >! .envrc",
        "ls >>! .envrc",
        "ls >&! .envrc",
        "cd $PWD:h; rm -rf p docs",
        "cat $PWD:h/.ssh/id_rsa",
        "x='s*/key.pem'; cat $~x",
        "x=asecrets; cat ${x[2,-1]}/key.pem",
        "x=(secrets); cat $x[1]/key.pem",
        "setopt extendedglob; cat ^src/key.pem",
        "setopt cdablevars; z=$PWD/secrets; cd z; cat key.pem",
        "zmodload zsh/mapfile; echo $mapfile[secrets/key.pem]",
        "mapfile[.envrc]=x",
        ": ${x::=danger}; $x y",
        "ls >.env{rc,x}",
        "z=$PWD/secrets; cat ~z/key.pem",
        "{danger x}",
        "repeat 1 danger x",
        "eval 'rm -rf $PWD:h'",
        "echo $x[$(danger y)]",
        "echo 'd\\x61nger x' | sh",
    ] {
        for mode in MODES {
            let judgement = decided(mode, &written, line, SessionShell::MayBeZsh);
            assert_ne!(judgement.decision, Decision::Allow, "{line} in {mode:?}");
        }
    }
}

#[test]
fn what_both_shells_read_alike_passes_as_before() {
    let written = ["allow Bash", "deny Bash(danger *)", "deny Read(secrets/**)"];
    for line in [
        "npm test && git status",
        "docker run -v $PWD:/app -p 80:80 image",
        "git diff HEAD~1 HEAD^ -- src",
        "git commit -m \"$(cat <<'EOF'\nit's $x[1] and {more}\nEOF\n)\"",
        "for f in src/*.rs; do echo \"$f\"; done",
        "echo $((1 << 2)) ${x:-y} \"${x%/*}\" ${#x}",
        "x=1; echo \"$x: ${x}:y\"",
        "make -j$(nproc) 2>&1 | tee log",
        "find . -name '*.rs' -exec grep -n x {} \\;",
        "f() { echo hi; }; f",
        "if [ a = b ]; then echo x; fi; [[ a == b ]] || echo y",
        "case $1 in a) echo x ;; *) echo y ;; esac",
        "export PATH=$HOME/bin:$PATH; cargo test",
        "awk '{print $1}' a.txt",
    ] {
        for mode in MODES {
            let by_bash = decided(mode, &written, line, SessionShell::Bash).decision;
            let by_zsh = decided(mode, &written, line, SessionShell::MayBeZsh);
            assert_eq!(by_zsh.decision, by_bash, "{line} in {mode:?}: {}", by_zsh.why);
        }
    }
}

#[test]
fn a_value_that_only_zsh_makes_is_nothing_to_what_it_cannot_hurt() {
    let written = ["allow Bash", "deny Bash(danger *)", "deny Read(secrets/**)"];
    for line in ["echo $IMG:latest", "docker tag $IMG:latest x/y:latest", "echo \"$x[1]\""] {
        let judgement = decided(Mode::BypassPermissions, &written, line, SessionShell::MayBeZsh);
        assert_eq!(judgement.decision, Decision::Allow, "{line}: {}", judgement.why);
    }
}
