//! The check itself: generate, run, judge, and say what passed that should not have.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::grammar::{self, Case, Harm};
use super::judge::{Judge, MODES};
use super::sandbox::{Prepared, Seen};

/// Lines that once passed and had their effect. They are tried first, whatever the seed.
const REGRESSIONS: &str = include_str!("regressions.txt");

/// Productions through which lines still pass. The check fails when another one is found, and when one of these no longer
/// passes anything in a whole run.
const GAPS: &str = include_str!("gaps.txt");

pub(crate) struct Finding {
    pub(crate) case: Case,
    rules: &'static str,
    modes: Vec<&'static str>,
}

/// Runs `lines` lines; the environment may say another number, another seed and another program as the judge.
pub(crate) fn check(lines: usize) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let count = number("PORTCULLIS_SHELL_LINES").map_or(lines, |count: u64| count as usize);
    let seed = number("PORTCULLIS_SHELL_SEED").unwrap_or(1);
    let started = Instant::now();
    let prepared = Prepared::new();
    let judge = Judge::new(&judge());
    let ran = run(&prepared, seed, count);
    let running = started.elapsed();
    let done: Vec<&Case> = ran.iter().filter(|(case, seen)| case.harm.was_done(seen)).map(|(case, _)| case).collect();
    let findings = judged(&prepared, &judge, &done);
    let text = summary(seed, &ran, &done, &findings);
    println!("{text}ran in {} s, judged in {} s", running.as_secs(), (started.elapsed() - running).as_secs());
    if let Some(file) = std::env::var_os("PORTCULLIS_SHELL_OUT") {
        std::fs::write(file, text + &grouped(&findings)).expect("writing the findings");
    }
    if let Some(file) = std::env::var_os("PORTCULLIS_SHELL_IDLE") {
        let idle = ran.iter().filter(|(case, seen)| !case.harm.was_done(seen));
        let lines: Vec<String> =
            idle.map(|(case, seen)| format!("{}\t{:?}\t{}\n", case.form(), seen.in_time, case.line)).collect();
        std::fs::write(file, lines.concat()).expect("writing the lines without an effect");
    }
    let known: BTreeSet<&str> = GAPS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let is_known = |finding: &&Finding| {
        known.contains(finding.case.form().as_str())
            || finding.case.form.iter().any(|name| known.contains(name.as_str()))
    };
    let new: Vec<&Finding> = findings.iter().filter(|finding| !is_known(finding)).collect();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return write_gaps(&findings);
    }
    assert!(done.len() * 10 > ran.len() * 4, "only {} of {} lines had an effect", done.len(), ran.len());
    assert!(
        new.is_empty(),
        "{} lines had their effect and were allowed unasked (seed {seed}):\n{}\n\
         hint: mend the rules engine, and keep a line in tests/shell/regressions.txt",
        new.len(),
        listed(new.iter().take(40).copied()),
    );
}

/// The fewest names that explain all findings: a production that passes alone, else the whole form.
fn write_gaps(findings: &[Finding]) {
    let mut names: BTreeSet<String> =
        findings.iter().filter_map(|finding| alone(&finding.case)).map(str::to_owned).collect();
    for finding in findings {
        if !finding.case.form.iter().any(|name| names.contains(name)) {
            names.insert(finding.case.form());
        }
    }
    let head: Vec<&str> = GAPS.lines().take_while(|line| line.starts_with('#')).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shell/gaps.txt");
    std::fs::write(file, format!("{}\n", [head, names].concat().join("\n"))).expect("writing the gaps");
}

/// The program that decides: this one's own, or another that the environment names.
pub(crate) fn judge() -> PathBuf {
    std::env::var_os("PORTCULLIS_TEST_JUDGE").map_or_else(|| env!("CARGO_BIN_EXE_portcullis").into(), PathBuf::from)
}

fn run(prepared: &Prepared, seed: u64, count: usize) -> Vec<(Case, Seen)> {
    let kept = regressions();
    in_sandboxes(prepared, kept.len() + count, |number| match kept.get(number) {
        Some(case) => case.clone(),
        None => grammar::case(seed, number - kept.len()),
    })
}

/// Each line in a sandbox, several at once.
pub(crate) fn in_sandboxes(
    prepared: &Prepared,
    count: usize,
    case: impl Fn(usize) -> Case + Sync,
) -> Vec<(Case, Seen)> {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    let mut all: Vec<(usize, Case, Seen)> = std::thread::scope(|scope| {
        let work = || {
            let mut sandbox = prepared.start();
            sandbox.prove();
            let mut ran = vec![];
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return ran;
                }
                let case = case(number);
                let line = shell_line(&case).replace(super::world::PLACE, &prepared.world.root.display().to_string());
                let seen = sandbox.run(&line).unwrap_or_else(|| {
                    sandbox = prepared.start();
                    sandbox.prove();
                    Seen::default()
                });
                ran.push((number, case, seen));
            }
        };
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a worker ends")).collect()
    });
    all.sort_by_key(|(number, ..)| *number);
    all.into_iter().map(|(_, case, seen)| (case, seen)).collect()
}

fn regressions() -> Vec<Case> {
    let lines = REGRESSIONS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let read = |line: &str| {
        let (harm, line) = line.split_once('\t').expect("a kind of harm, a tab, the line in JSON");
        let harm = Harm::named(harm).expect("a kind of harm");
        let line = serde_json::from_str(line).expect("a line is a JSON string");
        Case { tool: "Bash", line, harm, form: vec!["kept".to_owned()] }
    };
    lines.map(read).collect()
}

/// What a shell does in place of a tool of Claude Code.
fn shell_line(case: &Case) -> String {
    if case.tool == "Bash" {
        return case.line.clone();
    }
    let input: serde_json::Value = serde_json::from_str(&case.line).expect("the input of a tool");
    let path = input["path"].as_str().or(input["file_path"].as_str()).expect("a path");
    format!("grep -rs . {path}")
}

pub(crate) fn judged(prepared: &Prepared, judge: &Judge, done: &[&Case]) -> Vec<Finding> {
    let mut groups: BTreeMap<_, Vec<&Case>> = BTreeMap::new();
    for case in done {
        for rules in case.harm.rules() {
            groups.entry((*rules, case.tool)).or_default().push(case);
        }
    }
    let mut findings = vec![];
    for ((rules, tool), cases) in groups {
        let inputs: Vec<String> = cases.iter().map(|case| case.in_world(&prepared.world)).collect();
        let by_mode: Vec<(&str, Vec<bool>)> = std::thread::scope(|scope| {
            let ask = |mode| {
                let inputs = &inputs;
                scope.spawn(move || (mode, judge.allows(&prepared.world, mode, rules, tool, inputs)))
            };
            let threads: Vec<_> = MODES.into_iter().map(ask).collect();
            threads.into_iter().map(|thread| thread.join().expect("the judge answers")).collect()
        });
        for (at, case) in cases.into_iter().enumerate() {
            let modes: Vec<&str> = by_mode.iter().filter(|(_, allowed)| allowed[at]).map(|(mode, _)| *mode).collect();
            if !modes.is_empty() {
                findings.push(Finding { case: case.clone(), rules: rules.name, modes });
            }
        }
    }
    findings.sort_by_key(|finding| (finding.case.harm, finding.case.form.len(), finding.case.form()));
    findings
}

fn summary(seed: u64, ran: &[(Case, Seen)], done: &[&Case], findings: &[Finding]) -> String {
    let mut text = String::new();
    let forms: BTreeSet<String> = done.iter().map(|case| case.form()).collect();
    let share = done.len() * 100 / ran.len().max(1);
    let _ = writeln!(
        text,
        "seed {seed}: {} lines, {} with an effect ({share} %), {} forms",
        ran.len(),
        done.len(),
        forms.len()
    );
    let found: BTreeSet<String> = findings.iter().map(|finding| finding.case.form()).collect();
    let alone: BTreeSet<&str> = findings.iter().filter_map(|finding| alone(&finding.case)).collect();
    let _ = writeln!(
        text,
        "allowed unasked: {} lines, {} forms, {} of them with one production alone",
        findings.len(),
        found.len(),
        alone.len()
    );
    for harm in Harm::ALL {
        let of = |case: &Case| case.harm == harm;
        let all = ran.iter().filter(|(case, _)| of(case)).count();
        let done = done.iter().filter(|case| of(case)).count();
        let found = findings.iter().filter(|finding| of(&finding.case)).count();
        let _ = writeln!(text, "  {}: {all} lines, {done} with an effect, {found} allowed", harm.name());
    }
    text
}

/// The production that alone lets a line pass: the target's own name, or the only one around a plain target.
fn alone(case: &Case) -> Option<&str> {
    match case.form.as_slice() {
        [target] => Some(target),
        [target, only] if grammar::is_plain_target(target) => Some(only),
        _ => None,
    }
}

/// First what passes by one production alone, once each; then what passes and holds none of those.
fn grouped(findings: &[Finding]) -> String {
    let mut by_one: BTreeMap<(Harm, &str), Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        if let Some(name) = alone(&finding.case) {
            by_one.entry((finding.case.harm, name)).or_default().push(finding);
        }
    }
    let mut text = "\n== by one production alone\n".to_owned();
    for ((_, name), of_it) in &by_one {
        let explained = |finding: &&Finding| finding.case.form.iter().any(|part| part == name);
        let _ = writeln!(text, "{} lines through: {name}", findings.iter().filter(explained).count());
        text.push_str(&listed(of_it.iter().take(1).copied()));
    }
    let names: BTreeSet<&str> = by_one.keys().map(|(_, name)| *name).collect();
    let rest = findings.iter().filter(|finding| !finding.case.form.iter().any(|part| names.contains(part.as_str())));
    text + "\n== only by several together\n" + &listed(rest)
}

pub(crate) fn listed<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> String {
    let mut text = String::new();
    for Finding { case, rules, modes } in findings {
        let _ = writeln!(
            text,
            "{} | {} | {rules} | {}\n    {:?}",
            case.harm.name(),
            case.form(),
            modes.join(" "),
            case.line
        );
    }
    text
}
