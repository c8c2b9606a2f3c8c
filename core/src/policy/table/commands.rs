//! Lines that run a marked program, each in a way of its own, and lines that only name it.
//!
//! The lines stand in `commands.txt`, with `\n` for a new line and `\\` for a backslash, below the rules they are judged by.

use super::*;

const LINES: &str = include_str!("commands.txt");

/// Each line with the rules above it, and whether it may pass.
fn lines() -> Vec<(Vec<&'static str>, bool, String)> {
    let mut written = vec![];
    let mut may_pass = false;
    let mut lines = vec![];
    for row in LINES.lines().filter(|row| !row.is_empty() && !row.starts_with("# ")) {
        match row.strip_prefix("@ ").map(|header| header.split_once(": ").unwrap()) {
            Some((kind, rules)) => {
                may_pass = kind == "pass";
                written = rules.split("; ").collect();
            }
            None => {
                let line = row.replace("\\\\", "\u{1}").replace("\\n", "\n").replace('\u{1}', "\\");
                lines.push((written.clone(), may_pass, line));
            }
        }
    }
    lines
}

#[test]
fn no_line_that_may_run_a_marked_program_passes_and_each_that_only_names_it_does() {
    let mut wrong = vec![];
    let lines = lines();
    assert!(lines.len() > 500, "{}", lines.len());
    for (written, may_pass, line) in lines {
        let modes: &[Mode] = match may_pass {
            true => &[Mode::BypassPermissions],
            // Where nothing is denied or asked for, only the approval of an allow rule is in question.
            false if written.iter().all(|rule| rule.starts_with("allow")) => &[Mode::Default, Mode::DontAsk],
            // The mode that approves least, the one that approves most, and the one that asks nobody.
            false => &[Mode::Default, Mode::BypassPermissions, Mode::DontAsk],
        };
        for mode in modes {
            let ruling = ruling(*mode, &rules(&written), call(&format!("Bash {line}")));
            if (ruling.decision == Decision::Allow) != may_pass {
                wrong.push(format!("{mode:?} {line:?}: {}", ruling.why));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
