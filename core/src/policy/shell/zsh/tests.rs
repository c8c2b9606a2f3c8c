//! What zsh reads otherwise, piece by piece, and that no text breaks the reader.

use proptest::prelude::*;

use super::as_bash;

#[test]
fn a_value_that_only_zsh_makes_is_unknown_and_the_rest_stays() {
    for (line, read) in [
        ("rm -rf $PWD:h", "rm -rf ${!zsh*}"),
        ("echo \"$x[1] $y\"", "echo \"${!zsh*} $y\""),
        ("echo $x[$(danger y)]", "echo ${!zsh*}${zsh[$(danger y)]}$(danger y)"),
        ("echo ${a[x]} $a[x]", "echo ${!zsh*}${a[x]} ${!zsh*}${zsh[x]}"),
        ("x=(a b); cat $x ${x[2]}", "x=(a b); cat ${x[@]} ${x[@]}"),
        ("docker tag $IMG:latest ${X:t}", "docker tag ${IMG@zsh}atest ${X@zsh}"),
        ("cat $x:h/k $x:s/a/b/", "cat ${x@zsh}/k ${!zsh*}"),
        ("cat ~z/k ~/k ~+/k", "cat ${!zsh*}/k ~/k ~+/k"),
        ("=ls; y==ls z", "${!zsh*}; y=${!zsh*} z"),
        ("cat <<E\n$PWD:h\n$x\nE\nls", "cat <<E\n${!zsh*}\n$x\nE\nls"),
    ] {
        let read_as = as_bash(line);
        assert_eq!((read_as.line.as_ref(), read_as.why), (read, None));
    }
}

#[test]
fn what_both_read_alike_stays_as_it_is() {
    for line in [
        "docker run -v $PWD:/app -e X=$Y:8080 a:b",
        "echo ${x:-y} ${x%/*} ${x//a/b} ${#x} ${x:1:2} \"${x[@]}\" $((1<<2)) ((x))",
        "cat <<'EOF'\n$x[1] >! {a\nEOF",
        "git show HEAD~1 HEAD^ HEAD@{1} | tee log 2>&1 >|x",
        "pip install black==22.3.0 && [ a == b ]",
        "for f in *.rs; do case $f in a) ls ;; esac; done; f() { ls; }",
        "find . -exec ls {} \\; -name '*.rs'",
    ] {
        let read_as = as_bash(line);
        assert_eq!((read_as.line.as_ref(), read_as.why), (line, None));
    }
}

#[test]
fn what_zsh_parts_in_another_way_is_not_read() {
    for line in [
        "ls >! f",
        "ls &>>! f",
        "ls >{a,b}",
        "{ls x}",
        "for x (a b) ls",
        "for x y in a b; do ls; done",
        "cat =(ls)",
        "cat <1-3>",
        "path=(/x)",
        "x[2]=e",
        ": ${x::=y}",
        ": ${(e)x}",
        "echo $(([##36]13))",
        "echo $'\\C-a'",
    ] {
        assert!(as_bash(line).why.is_some(), "{line}");
    }
}

proptest! {
    #[test]
    fn any_line_is_written_anew(line in r#"[$~=^+#{}()\[\]<>|&;!'"`\\ a-cx:/.*\n-]{0,80}"#) {
        drop(as_bash(&line));
    }
}
