//! A script that one command prints and a shell reads: what prints it, how it gets there, and what reads it.

use super::super::rng::Rng;
use super::{Family, Stage, double_quoted, quoted};

/// `{Q}` is the script in quotes, `{X}` in hexadecimal escapes, `{6}` in base64, `{R}` reversed, `{H}` as a here-document.
const PRINTERS: [&str; 17] = [
    "echo {Q}",
    "echo {D}",
    "printf '%s' {Q}",
    "printf '%s\\n' {Q}",
    "printf {Q}",
    "printf '%b' '{X}'",
    "printf '{X}'",
    "echo -e '{X}'",
    "echo '{6}' | base64 -d",
    "base64 -d <<<'{6}'",
    "rev <<<{R}",
    "cat <<<{Q}",
    "cat <<'END'\n{S}\nEND\n",
    "cat <<END\n{ES}\nEND\n",
    "tr A-Z a-z <<<{U}",
    "sed s/Z// <<<{Z}",
    "X={Q}; echo \"$X\"",
];

/// `|` is read by a pipe, `<` through a here-string or a process substitution.
const READERS: [&str; 22] = [
    "{P} | sh",
    "{P} | bash",
    "{P} | bash -s",
    "{P} | bash -s -- x",
    "{P} | sh /dev/stdin",
    "{P} | bash /dev/fd/0",
    "{P} | bash -",
    "{P} | cat | sh",
    "{P} | tee f | bash",
    "{P} | . /dev/stdin",
    "{P} | source /dev/stdin",
    "{P} | eval \"$(cat)\"",
    "{P} | { read -r X; eval \"$X\"; }",
    "{P} | while read -r X; do eval \"$X\"; done",
    "{P} | xargs -0 bash -c",
    "{P} | env bash",
    "{P} | sudo sh",
    "{P} | ssh host",
    "bash <({P})",
    "source <({P})",
    ". <({P})",
    "eval \"$({P})\"",
];

/// The script given right where the shell reads it.
const GIVEN: [&str; 14] = [
    "bash <<<{Q}",
    "sh <<<{D}",
    "source /dev/stdin <<<{Q}",
    ". /dev/stdin <<<{Q}",
    ". /dev/fd/0 <<<{Q}",
    "source /proc/self/fd/0 <<<{Q}",
    "bash <<'END'\n{S}\nEND",
    "bash <<END\n{ES}\nEND",
    "bash -s <<-'END'\n\t{S}\n\tEND",
    "sh /dev/stdin <<'END'\n{S}\nEND",
    "exec 3<<<{Q}; bash <&3",
    "bash 0<<<{Q}",
    "<<<{Q} bash",
    "read -r X <<<{Q}; eval \"$X\"",
];

pub(super) const FAMILY: Family = Family { size: || PRINTERS.len() * 2 + READERS.len() * 2 + GIVEN.len(), apply };

fn apply(at: usize, rng: &mut Rng, stage: &Stage) -> Option<(Stage, String)> {
    let text = stage.text();
    let systematic = PRINTERS.len() + READERS.len();
    if at >= systematic * 2 {
        let template = GIVEN[at - systematic * 2];
        if template.contains("read -r") && text.contains('\n') || template.contains("<<") && text.contains("END") {
            return None;
        }
        return Some((Stage::Script(fill(template, &text)), template.to_owned()));
    }
    // Each printer with a plain shell, each shell with a plain printer, and any two.
    let (printer, reader) = match at {
        at if at < PRINTERS.len() => (PRINTERS[at], READERS[0]),
        at if at < systematic => (PRINTERS[0], READERS[at - PRINTERS.len()]),
        _ => (*rng.pick(&PRINTERS), *rng.pick(&READERS)),
    };
    if text.contains("END") || text.contains('%') && printer.starts_with("printf {Q}") {
        return None;
    }
    if text.chars().any(|c| c.is_ascii_uppercase() || c == '\n') && printer.contains("{U}") {
        return None;
    }
    if reader.contains("read -r") && text.contains('\n') || printer.starts_with("X=") && reader.contains('<') {
        return None;
    }
    let printed = fill(printer, &text);
    // What stands behind a here-document's first word belongs on its line.
    let line = match printed.split_once('\n') {
        Some((first, rest)) if printer.contains("END") => match reader.split_once("{P}") {
            Some(("", after)) => format!("{first}{after}\n{rest}"),
            _ => reader.replace("{P}", &printed),
        },
        _ => reader.replace("{P}", &printed),
    };
    Some((Stage::Script(line.trim_end_matches('\n').to_owned()), format!("{} → {reader}", printer.replace('\n', "⏎"))))
}

pub(super) fn fill(template: &str, text: &str) -> String {
    template
        .replace("{Q}", &quoted(text))
        .replace("{D}", &double_quoted(text))
        .replace("{X}", &text.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>())
        .replace("{6}", &base64(text.as_bytes()))
        .replace("{R}", &quoted(&text.chars().rev().collect::<String>()))
        .replace("{U}", &quoted(&text.to_uppercase()))
        .replace("{Z}", &quoted(&format!("Z{text}")))
        .replace("{ES}", &text.replace('\\', "\\\\").replace('$', "\\$").replace('`', "\\`"))
        .replace("{S}", text)
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let letter = LETTERS[(group >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}
