//! Constructs of the shell, and programs, that run a script which stands inside of them.

use super::super::rng::Rng;
use super::{Family, Stage, double_quoted, quoted};

/// `{S}` is the script as it stands, `{S;}` the same with its end, `{Q}` in single quotes, `{D}` in double quotes, `{E}`
/// the script inside of double quotes that are written here.
const TEMPLATES: &[&str] = &[
    // Shells, and what hands them a script.
    "bash -c {Q}",
    "sh -c {Q}",
    "bash -c {D}",
    "bash -ec {Q}",
    "bash --norc -c {Q}",
    "bash -O extglob -c {Q}",
    "bash +e -o pipefail -c {Q}",
    "eval {Q}",
    "eval {D}",
    "eval \"$(echo {Q})\"",
    "X={Q}; eval \"$X\"",
    "X={Q}; bash -c \"$X\"",
    "X={Q} bash -c 'eval \"$X\"'",
    "env X={Q} sh -c 'eval \"$X\"'",
    "exec bash -c {Q}",
    "ssh host {Q}",
    "ssh -p 22 -o A=b me@host {Q}",
    "sudo -u root sh -c {Q}",
    "sudo -s {Q}",
    "flock l -c {Q}",
    "script -qec {Q} /dev/null",
    "timeout 5 bash -c {Q}",
    "su -c {Q}",
    "su root -c {Q}",
    // Compound commands.
    "( {S} )",
    "{ {S;} }",
    "if {S;} then :; fi",
    "if true; then {S;} fi",
    "if false; then :; else {S;} fi",
    "while {S;} do break; done",
    "while true; do {S;} break; done",
    "until {S;} do break; done",
    "for i in 1; do {S;} done",
    "for ((i=0; i<1; i++)); do {S;} done",
    "select i in 1; do {S;} break; done <<<1",
    "case x in x) {S};; esac",
    "case x in (y) :;; *) {S}\nesac",
    "f() { {S;} }; f",
    "function f { {S;} }; f",
    "f() ( {S} ); f",
    "coproc { {S;} }; wait",
    "coproc N { {S;} }; wait",
    "! {S}",
    "time {S}",
    "{S} & wait",
    "true && {S}",
    "false || {S}",
    "true; {S}",
    "true | {S}",
    "{S} | cat",
    "{S} |& cat",
    "true\n{S}",
    "# a comment\n{S}",
    "true # a comment '\n{S}",
    "{ {S;} } > f 2>&1",
    "set -e; {S}",
    "[[ a == a ]] && {S}",
    // Substitutions.
    ": $({S})",
    ": \"$({S})\"",
    ": \"$({S} # it's a comment\n)\"",
    ": $( # \"\n{S}\n)",
    ": \"$(# a )\n{S}\n)\"",
    ": \"$(: # it's \"one\" )\n{S}\n)\"",
    ": $(case x in x) {S};; esac)",
    ": $(cat <<E\n)\nE\n{S})",
    ": ${none:+'}'}$({S})",
    ": \"${none-\"}\"}$({S})\"",
    ": `{B}`",
    ": ${none:-$({S})}",
    ": \"${none:-$({S})}\"",
    ": ${none:=$({S})}",
    "x=$({S})",
    "x=\"a$({S})b\" true",
    "local_x=($({S}))",
    "export x=$({S})",
    "declare x=\"$({S})\"",
    "for i in $({S}); do :; done",
    "case $({S}) in *) ;; esac",
    "[[ -n $({S}) ]]",
    "[ -n \"$({S})\" ]",
    ": > \"f$({S})\"",
    ": < <({S})",
    "cat <({S})",
    "diff <({S}) /dev/null",
    "echo x > >({S})",
    "echo x | tee >({S}) >f; sleep 0.05",
    "exec 3< <({S}); cat <&3",
    ": <<E\n$({S})\nE",
    "cat <<-E\n\t$({S})\nE",
    ": <<<$({S})",
    ": <<<\"$({S})\"",
    "$({S})",
    "echo \"a\\\"$({S})\"",
    "cat <<'E' > f; {S}\nquoted $(x)\nE",
    // Names that are evaluated once more: subscripts and arithmetic.
    "test -v 'a[$({A})]'",
    "[ -v 'a[$({A})]' ]",
    "[[ -v a[$({S})] ]]",
    "let 'a[$({A})]'",
    "let 'x=a[$({A})]+1'",
    "(( a[$({S})] ))",
    ": $(( a[$({S})] ))",
    ": $[ a[$({S})] ]",
    "x='a[$({A})]'; (( x ))",
    "x='a[$({A})]'; : $((x + 1))",
    "[[ 'a[$({A})]' -eq 0 ]]",
    "declare -i x='a[$({A})]'",
    "unset 'a[$({A})]'",
    "printf -v 'a[$({A})]' x",
    "read 'a[$({A})]' <<<x",
    "a[$({S})]=1",
    "x='a[$({A})]'; : ${!x}",
    "x=abc; : ${x:a[$({S})]}",
    "declare 'a[$({A})]=1'",
    "x=$'a[$({A})]'; for ((x; 0; )); do :; done",
    "exec {a[$({S})]}>f",
    "wait -p 'a[$({A})]' -n",
    // What runs later, or when something happens.
    "trap {Q} EXIT",
    "trap -- {Q} 0",
    "trap {Q} DEBUG; true",
    "trap {Q} ERR; false",
    "trap {Q} USR1; kill -USR1 $$",
    "f() { :; }; set -T; trap {Q} RETURN; f",
    "PS4='$({A})' bash -xc :",
    "PS4='$({A})'; set -x; :",
    "PROMPT_COMMAND={Q} bash -i <<<:",
    "PS1='$({A})' bash --norc -i <<<:",
    "PS0='$({A})' bash --norc -i <<<:",
    "X='$({A})'; : \"${X@P}\"",
    "BASH_ENV=<(echo {Q}) bash -c :",
    "BASH_ENV='$({A})' bash -c :",
    "ENV='$({A})' sh -i <<<:",
    "mapfile -C {QC} -c 1 <<<x",
    "compgen -C {QC} x",
    "command_not_found_handle() { {S;} }; no_such_program",
    "alias X={Q}\nX",
    "alias X='true; ' Y={Q}\nX Y; Y",
    "export -f nothing; env 'BASH_FUNC_f%%=() { '{Q}'\n}' bash -c f",
    "bind -x '\"a\":true'; {S}",
    "enable -n true; {S}",
    "shopt -s extdebug; {S}",
    "cd() { {S;} }; cd x",
    "unset -f f; {S}",
    // Other programs that start a shell.
    "find . -maxdepth 0 -exec sh -c {Q} \\;",
    "find . -maxdepth 0 -execdir bash -c {Q} \\;",
    "find . -maxdepth 0 -exec sh -c {Q} {} +",
    "xargs -I{} sh -c {Q} <<<x",
    "echo x | xargs -n1 bash -c {Q}",
    "xargs -I@ sh -c @ <<<{DX}",
    "awk 'BEGIN { system(\"{E}\") }'",
    "awk 'BEGIN { \"{E}\" | getline }'",
    "awk 'BEGIN { print \"x\" | \"{E}\" }'",
    "perl -e 'system(\"{P}\")'",
    "perl -e '`{P}`'",
    "perl -e 'exec \"{P}\"'",
    "sed '1e {N}' a.txt",
    "sed -n '1s/.*/{N}/e' a.txt",
    "vim -es -u NONE -c '!{N}' -c 'qa!'",
    "printf '%s\\n' '!{N}' q | ed -s a.txt",
    "tar cf /dev/null a.txt --checkpoint=1 --checkpoint-action=exec={QN}",
    "tar cf f a.txt --use-compress-program={QN}",
    "make -f - <<<$'all:\\n\\t@'{QM}",
    "make -f /dev/null --eval=$'all:\\n\\t@'{QM}",
    "m4 <<<'syscmd(`{N}'\\'')'",
    "dc -e '!{N}'",
    "printf '%s' x | split --filter={Q} -",
    "sort --compress-program={QN} -S 1 a.txt",
    "tclsh <<<'exec {N}'",
    "env -S \"bash -c {Q}\"",
];

pub(super) const FAMILY: Family = Family { size: || TEMPLATES.len(), apply };

fn apply(at: usize, _: &mut Rng, stage: &Stage) -> Option<(Stage, String)> {
    let template = TEMPLATES[at];
    let text = stage.text();
    // A script with lines of its own fits into quotes and brackets alone.
    let one_line = !text.contains('\n');
    let letters: &[char] =
        if template.contains("s/") { &['\'', '"', '\\', '$', '`', '/'] } else { &['\'', '"', '\\', '$', '`'] };
    let plain = one_line && !text.contains(letters);
    let needs_plain = ["{E}", "{P}", "{N}", "{QN}", "{DX}"].iter().any(|mark| template.contains(mark));
    let needs_line = ["{QM}", "{QC}", "{B}"].iter().any(|mark| template.contains(mark));
    if needs_plain && !plain {
        return None;
    }
    if needs_line && !one_line || template.contains("{A}") && text.contains(['\'', '\n']) {
        return None;
    }
    let line_end = if one_line { "" } else { "\n" };
    let filled = template
        .replace("{S;}", &stage.ended())
        .replace("{S}", &format!("{text}{line_end}"))
        .replace("{QM}", &quoted(&text.replace('$', "$$")))
        .replace("{QC}", &quoted(&format!("{text} #")))
        .replace("{QN}", &quoted(&text))
        .replace("{Q}", &quoted(&text))
        .replace("{DX}", &format!("'\"{text}\"'"))
        .replace("{D}", &double_quoted(&text))
        .replace("{B}", &text.replace('\\', "\\\\").replace('`', "\\`").replace('$', "\\$"))
        .replace("{A}", &text)
        .replace("{E}", &text)
        .replace("{P}", &text)
        .replace("{N}", &text);
    Some((Stage::Script(filled), template.to_owned()))
}
