//! Commands that are put together inside of a program with a language of its own, from parts that name nothing.

use super::super::rng::Rng;
use super::{Family, Stage};

/// `{1}` and `{2}` are the two parts of a command, `{H}` its first letter in hexadecimal, `{O}` in octal and `{C}` in decimal
/// digits, `{L}` the letter itself, `{R}` what stands behind it.
const TEMPLATES: &[&str] = &[
    // sed: what it makes of its input, and of its own texts.
    "echo 'Z{R}' | sed 's/Z/{L}/e'",
    "echo 'Z{R}' | sed 's/Z/{L}/;e'",
    "echo 'Z{R}' | sed 'y/Z/{L}/;e'",
    "sed '1s/.*/\\x{H}{R}/e' a.txt",
    "sed '1s/.*/\\o{O}{R}/e' a.txt",
    "sed -n '1{s/.*/Z{R}/;s/Z/{L}/;e\n}' a.txt",
    "sed -E '1s/.*/{2}Z{1}/;1s/(.*)Z(.*)/\\2\\1/e' a.txt",
    "sed '1s/.*/{1}/;1s/$/{2}/e' <<<''",
    "sed -e '1s/.*/{1}&{2}/e' <<<''",
    "sed -e '1s/.*/{1}/' -e '1s/$/{2}/' -e 1e a.txt",
    "printf '1s/.*/\\\\x{H}{R}/e\\n' | sed -f - a.txt",
    // A word from elsewhere inside of a script.
    "echo '{1}' | xargs -I% sh -c '%{2}'",
    "echo '{2}' | xargs -I% bash -c '{1}%'",
    "echo '{1}' | xargs -i sh -c '{}{2}'",
    "printf '%s' '{1}' | xargs -I@ sh -c 'eval @{2}'",
    // awk
    "awk 'BEGIN { print \"{1}\" \"{2}\" | \"sh\" }'",
    "awk 'BEGIN { printf \"%s\", \"{1}\" \"{2}\" | \"bash -s\" }'",
    "awk 'BEGIN { print \"{1}\" \"{2}\" | \"cat | sh\" }'",
    "awk 'BEGIN { print \"{1}\" \"{2}\" |& \"sh\"; close(\"sh\", \"to\") }'",
    "awk 'BEGIN { x = \"{1}\"; system(x \"{2}\") }'",
    "awk 'BEGIN { system(sprintf(\"%c{R}\", {C})) }'",
    "awk 'BEGIN { \"{1}\" \"{2}\" | getline; print }'",
    "awk 'BEGIN { c = \"sh\"; print \"{1}\" \"{2}\" | c }'",
    "echo 'BEGIN { system(\"{1}\" \"{2}\") }' | awk -f -",
    "awk -f /dev/stdin < <(echo 'BEGIN { system(\"{1}\" \"{2}\") }')",
    "{ awk -f -; } < <(echo 'BEGIN { system(\"{1}\" \"{2}\") }')",
    "exec < <(echo 'BEGIN { system(\"{1}\" \"{2}\") }'); awk -f -",
    "awk -f - </dev/null < <(echo 'BEGIN { system(\"{1}\" \"{2}\") }')",
    "awk -f - 3< <(echo 'BEGIN { system(\"{1}\" \"{2}\") }') <&3",
    "echo 'BEGIN { system(\"{1}\" \"{2}\") }' | awk -f - 3</dev/null",
    "bash -c 'awk -f -' < <(echo 'BEGIN { system(\"{1}\" \"{2}\") }')",
    "echo '{2}' | sed 's/^/{1}/' | bash 3</dev/null",
    "echo '{2}' | sed 's/^/{1}/' | bash 3<<<''",
    "awk -f /dev/fd/3 3< <(echo 'BEGIN { system(\"{1}\" \"{2}\") }')",
    "awk 'BEGIN { system(\"{1}\\\n{2}\") }'",
    // Editors
    "vim -es -u NONE -c 'call system(\"\\x{H}{R}\")' -c 'qa!'",
    "vim -es -u NONE -c 'let @a=\"!{1}\"' -c 'let @a.=\"{2}\"' -c '@a' -c 'qa!'",
    "vim -es -u NONE -c 'norm i{1}' -c 'norm A{2}' -c 'w !sh' -c 'qa!'",
    "vim -es -u NONE -c 'norm iZ{R}' -c 's/Z/{L}/' -c 'w !sh' -c 'qa!'",
    "vim -es -u NONE -c 'exe \"!{1}\" . \"{2}\"' -c 'qa!'",
    "vim -es -u NONE '+call execute(\"!{1}\" . \"{2}\")' '+qa!'",
    "vim -es -u NONE --cmd 'let x=system(\"{1}\".\"{2}\")' -c 'qa!'",
    "printf 'i\\nZ{R}\\n.\\ns/Z/{L}/\\nw !sh\\nq!\\n' | ex -s a.txt",
    "printf '0a\\nZ{R}\\n.\\ns/Z/{L}/\\n1w !sh\\nQ\\n' | ed -s a.txt",
    "ed -s a.txt <<<$'0a\\nZ{R}\\n.\\ns/Z/{L}/\\n1w !sh\\nQ'",
    "printf '%s\\n' a '{2}' . 's/^/{1}/' 'w f' '!sh f' Q | ed -s",
    // make
    "make -f /dev/null --eval 'X={1}' --eval 'a:;@$(X){2}' a",
    "make -f /dev/null --eval 'X={L}' --eval 'a:;@$X{R}' a",
    "X={L} make -f /dev/null --eval 'a:;@$X{R}' a",
    "make -f /dev/null X={L} --eval='a:;@$X{R}' a",
    "make -f - X={L} <<<'a:;@$X{R}'",
    "make -f /dev/null --eval='Y:=$(shell $(X){R})' X={L}",
    // Databases, debuggers, terminals
    "sqlite3 :memory: '.once |sh' \"select '{1}'||'{2}'\"",
    "sqlite3 :memory: '.output |sh' \"select char({C})||'{R}'\"",
    "sqlite3 :memory: <<<$'.once |sh\\nselect \\'{1}\\'||\\'{2}\\';'",
    "printf '.once |sh\\nselect char(%d)||\"{R}\";\\n' {C} | sqlite3 :memory:",
    "sqlite3 -cmd '.mode list' -cmd '.once |sh' :memory: \"select '{1}'||'{2}'\"",
    "gdb -batch -nx -ex 'eval \"shell %c{R}\",{C}'",
    "gdb -batch -nx -ex 'set $a={C}' -ex 'eval \"shell %c{R}\",$a'",
    "gdb -batch -nx -ex 'python import os; os.system(\"{1}\"+\"{2}\")'",
    "gdb -batch -nx -ex 'pipe echo {1}\\{2} | sh'",
    // Code
    "python3 -m timeit -n1 -r1 'import os; os.system(\"{1}\"+\"{2}\")'",
    "python3 -m timeit -n1 -r1 -s 'import os' 'os.system(\"\\x{H}{R}\")'",
    "python3 -m timeit -n1 -r1 -s 'from os import *' 'system(\"{1}\" \"{2}\")'",
    "perl -e '$x = \"{1}\"; $x .= \"{2}\"; system $x'",
    "python3 -c 'import os; os.system(\"{1}\" + \"{2}\")'",
    "node -e 'require(\"child_process\").execSync(\"{1}\" + \"{2}\")'",
];

pub(super) const FAMILY: Family = Family { size: || TEMPLATES.len(), apply };

fn apply(at: usize, rng: &mut Rng, stage: &Stage) -> Option<(Stage, String)> {
    let template = TEMPLATES[at];
    let text = stage.text();
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '.' | '-' | '_' | '~' | '+' | ',' | ':' | '@');
    let takes_slashes = !template.contains("s/") && !template.contains("y/");
    if !text.chars().all(|c| is_plain(c) || c == '/' && takes_slashes) || text.contains('Z') {
        return None;
    }
    let first = text.chars().next().filter(char::is_ascii_lowercase)?;
    // Inside of the program's name, or anywhere; a blank at an end may be lost.
    let program = text.find(' ').unwrap_or(text.len());
    let end = if rng.chance(2) { program } else { text.len() };
    let cut = 1 + rng.below(end.checked_sub(1).filter(|most| *most > 0)?);
    let (one, two) = text.split_at(cut);
    if one.ends_with(' ') || two.starts_with(' ') {
        return None;
    }
    let line = template
        .replace("{1}", one)
        .replace("{2}", two)
        .replace("{H}", &format!("{:02x}", u32::from(first)))
        .replace("{O}", &format!("{:03o}", u32::from(first)))
        .replace("{C}", &u32::from(first).to_string())
        .replace("{L}", &first.to_string())
        .replace("{R}", &text[1..]);
    Some((Stage::Script(line), template.to_owned()))
}
