//! The check itself: generate, run, judge, and say what passed that should not have.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::grammar::{self, Case, Harm};
use super::judge::{Judge, MODES};
use super::sandbox::{Prepared, Seen};

/// Lines that once passed and had their effect. They are tried first, whatever the seed.
const REGRESSIONS: &str = include_str!("regressions.txt");

/// Productions through which lines still pass. The check fails when a line passes through none of these.
const GAPS: &str = include_str!("gaps.txt");

/// So many lines are run before they are judged.
const CHUNK: usize = 20_000;

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
    let kept = regressions();
    let mut tally = Tally::default();
    let mut findings = vec![];
    // A million lines at once would fill the memory.
    for first in (0..kept.len() + count).step_by(CHUNK) {
        let ran = in_sandboxes(&prepared, first..(first + CHUNK).min(kept.len() + count), |number| {
            kept.get(number).cloned().unwrap_or_else(|| grammar::case(seed, number - kept.len()))
        });
        tally.add(&ran);
        let done: Vec<&Case> =
            ran.iter().filter(|(case, seen)| case.harm.was_done(seen)).map(|(case, _)| case).collect();
        findings.extend(judged(&prepared, &judge, &done));
        if let Some(file) = std::env::var_os("PORTCULLIS_SHELL_IDLE") {
            std::fs::write(file, without_effect(&ran)).expect("writing the lines without an effect");
        }
    }
    findings.sort_by_key(|finding| (finding.case.harm, finding.case.form.len(), finding.case.form()));
    let text = tally.summary(seed, &findings);
    println!("{text}took {} s", started.elapsed().as_secs());
    if let Some(file) = std::env::var_os("PORTCULLIS_SHELL_OUT") {
        std::fs::write(file, text + &grouped(&findings)).expect("writing the findings");
    }
    let known: BTreeSet<&str> = GAPS.lines().filter(|line| !line.is_empty() && !line.starts_with("## ")).collect();
    let is_known = |finding: &&Finding| finding.case.form.iter().any(|name| known.contains(name.as_str()));
    let new: Vec<&Finding> = findings.iter().filter(|finding| !is_known(finding)).collect();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return write_gaps(&findings);
    }
    let (all, done) = (tally.all.iter().sum::<usize>(), tally.done.iter().sum::<usize>());
    assert!(done * 10 > all * 4, "only {done} of {all} lines had an effect");
    assert!(
        new.is_empty(),
        "{} lines had their effect and were allowed unasked (seed {seed}):\n{}\n\
         hint: mend the rules engine, and keep a line in tests/shell/regressions.txt",
        new.len(),
        listed(new.iter().take(40).copied()),
    );
}

/// Names that explain all findings: each production that passes alone, then those that are in most of the rest.
fn write_gaps(findings: &[Finding]) {
    let alone = findings.iter().filter_map(|finding| alone(&finding.case)).map(str::to_owned);
    let mut names: BTreeSet<String> = alone.collect();
    let mut left: Vec<&[String]> = findings.iter().map(|finding| finding.case.form.as_slice()).collect();
    loop {
        left.retain(|form| !form.iter().any(|name| names.contains(name)));
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        for form in &left {
            // Constructs that only hold a script explain nothing, and what a line aims at only if nothing else does.
            let around: Vec<&String> = form[1..].iter().filter(|name| !name.contains("{S")).collect();
            for name in if around.is_empty() { vec![&form[0]] } else { around } {
                *counts.entry(name).or_default() += 1;
            }
        }
        let Some((most, _)) = counts.into_iter().max_by_key(|(_, count)| *count) else { break };
        names.insert(most.clone());
    }
    let head: Vec<&str> = GAPS.lines().take_while(|line| line.starts_with("## ")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shell/gaps.txt");
    std::fs::write(file, format!("{}\n", [head, names].concat().join("\n"))).expect("writing the gaps");
}

/// The program that decides: this one's own, or another that the environment names.
pub(crate) fn judge() -> PathBuf {
    std::env::var_os("PORTCULLIS_TEST_JUDGE").map_or_else(|| env!("CARGO_BIN_EXE_portcullis").into(), PathBuf::from)
}

/// Each line in a sandbox, several at once.
pub(crate) fn in_sandboxes(
    prepared: &Prepared,
    numbers: Range<usize>,
    case: impl Fn(usize) -> Case + Sync,
) -> Vec<(Case, Seen)> {
    let next = AtomicUsize::new(numbers.start);
    let workers = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    let mut all: Vec<(usize, Case, Seen)> = std::thread::scope(|scope| {
        let work = || {
            let mut sandbox = prepared.start();
            sandbox.prove();
            let mut ran = vec![];
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= numbers.end {
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
    findings
}

fn without_effect(ran: &[(Case, Seen)]) -> String {
    let idle = ran.iter().filter(|(case, seen)| !case.harm.was_done(seen));
    idle.map(|(case, seen)| format!("{}\t{}\t{:?}\n", case.form(), seen.in_time, case.line)).collect()
}

/// How many lines there were of each kind of harm, and how many did it.
#[derive(Default)]
struct Tally {
    all: [usize; Harm::ALL.len()],
    done: [usize; Harm::ALL.len()],
    forms: BTreeSet<String>,
}

impl Tally {
    fn add(&mut self, ran: &[(Case, Seen)]) {
        for (case, seen) in ran {
            self.all[case.harm as usize] += 1;
            if case.harm.was_done(seen) {
                self.done[case.harm as usize] += 1;
                self.forms.insert(case.form());
            }
        }
    }

    fn summary(&self, seed: u64, findings: &[Finding]) -> String {
        let (all, done) = (self.all.iter().sum::<usize>(), self.done.iter().sum::<usize>());
        let share = done * 100 / all.max(1);
        let found: BTreeSet<String> = findings.iter().map(|finding| finding.case.form()).collect();
        let alone: BTreeSet<&str> = findings.iter().filter_map(|finding| alone(&finding.case)).collect();
        let mut text = format!(
            "seed {seed}: {all} lines, {done} with an effect ({share} %), {} forms\n\
             allowed unasked: {} lines, {} forms, {} of them with one production alone\n",
            self.forms.len(),
            findings.len(),
            found.len(),
            alone.len(),
        );
        for harm in Harm::ALL {
            let (all, done) = (self.all[harm as usize], self.done[harm as usize]);
            let found = findings.iter().filter(|finding| finding.case.harm == harm).count();
            let _ = writeln!(text, "  {}: {all} lines, {done} with an effect, {found} allowed", harm.name());
        }
        text
    }
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
