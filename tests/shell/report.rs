//! The check itself: generate, judge, run, and say what passed that should not have.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Instant;

use super::grammar::{self, Case, Harm, Plan};
use super::kept::{self, Gap};
use super::rng::Rng;
use super::trial::{Finding, Trial, listed};

/// So many lines are on trial at once: a million would fill the memory.
const CHUNK: usize = 20_000;

/// One in so many lines is run whatever the judge says, to see that the grammar makes lines that do something.
const SAMPLE: usize = 10;

/// So many findings are made smaller, one of each form; the rest are named as they are.
const SHRUNK: usize = 1_000;

/// Runs `lines` lines; the environment may say another number, another seed and another program as the judge.
pub(crate) fn check(lines: usize) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let count = number("PORTCULLIS_SHELL_LINES").map_or(lines, |count: u64| count as usize);
    let seed = number("PORTCULLIS_SHELL_SEED").unwrap_or(1);
    let is_updating = std::env::var_os("UPDATE_EXPECT").is_some();
    let started = Instant::now();
    let trial = Trial::new("bash");
    if let Some(file) = std::env::var_os("PORTCULLIS_SHELL_TRY") {
        return try_lines(&trial, &std::fs::read_to_string(file).expect("reading the lines to try"));
    }
    if !is_updating {
        kept::check(&trial);
    }
    let mut tally = Tally::default();
    let mut findings = vec![];
    for first in (0..count).step_by(CHUNK) {
        let cases: Vec<Case> = (first..(first + CHUNK).min(count)).map(|at| grammar::case(seed, at)).collect();
        tally.add(&trial, &cases);
        findings.extend(trial.findings(cases));
    }
    findings.sort_by_key(|finding| (finding.case.harm, finding.case.form.len(), finding.case.form()));
    let text = tally.summary(seed, &findings);
    println!("{text}took {} s", started.elapsed().as_secs());
    if let Some(file) = std::env::var_os("PORTCULLIS_SHELL_OUT") {
        std::fs::write(file, text + &grouped(&findings)).expect("writing the findings");
    }
    let gaps = kept::gaps();
    let smallest = shrunk(&trial, findings, &gaps);
    println!("{} forms when made smaller, {} s", smallest.len(), started.elapsed().as_secs());
    if is_updating {
        let known = gaps.into_iter().map(|gap| gap.case);
        let still: Vec<Case> = trial.findings(known.collect()).into_iter().map(|finding| finding.case).collect();
        let mut forms: BTreeMap<(Harm, String), Case> = BTreeMap::new();
        for case in still.into_iter().chain(smallest.into_iter().map(|finding| finding.case)) {
            forms.entry((case.harm, case.form())).or_insert(case);
        }
        return kept::write_gaps(&forms.into_values().collect::<Vec<_>>());
    }
    tally.assert_effects();
    let new: Vec<&Finding> = smallest.iter().filter(|finding| !gaps.iter().any(|gap| gap.is(&finding.case))).collect();
    assert!(
        new.is_empty(),
        "{} forms had their effect and were allowed unasked (seed {seed}):\n{}\n\
         hint: mend the rules engine, and keep a line in tests/shell/regressions.txt",
        new.len(),
        listed(new.iter().take(60).copied()),
    );
}

/// Says of lines of somebody's own which do nothing here, and which of the others pass unasked.
fn try_lines(trial: &Trial, text: &str) {
    let cases = kept::lines_of(text);
    for (case, seen) in cases.iter().zip(trial.run(&cases)) {
        if !case.harm.was_done(&seen) {
            println!("without an effect: {} {:?}", case.harm.name(), case.line);
        }
    }
    let count = cases.len();
    let findings = trial.findings(cases);
    println!("{count} lines, {} of them pass unasked and have their effect\n{}", findings.len(), listed(&findings));
}

/// The smallest line of each finding that still passes and still has its effect, once for each form. What is a known gap
/// when it is made smaller is left out, also where the gap itself does nothing this time: what `git add` reads depends on
/// the second in which it is run.
fn shrunk(trial: &Trial, findings: Vec<Finding>, gaps: &[Gap]) -> Vec<Finding> {
    let smaller = |finding: &Finding| -> Vec<Case> { finding.case.plan.iter().flat_map(Plan::smaller).collect() };
    let mut of_form: BTreeMap<(Harm, String), Finding> = BTreeMap::new();
    for finding in findings {
        of_form.entry((finding.case.harm, finding.case.form())).or_insert(finding);
    }
    of_form.retain(|_, finding| !smaller(finding).iter().any(|case| gaps.iter().any(|gap| gap.is(case))));
    let tries: Vec<Vec<Case>> = of_form.values().take(SHRUNK).map(smaller).collect();
    let mut lines: BTreeMap<(Harm, String), Case> = BTreeMap::new();
    for case in tries.iter().flatten() {
        lines.entry((case.harm, case.line.clone())).or_insert_with(|| case.clone());
    }
    let passing: BTreeMap<(Harm, String), Finding> = trial
        .findings(lines.into_values().collect())
        .into_iter()
        .map(|finding| ((finding.case.harm, finding.case.line.clone()), finding))
        .collect();
    let mut smallest: BTreeMap<(Harm, String), Finding> = BTreeMap::new();
    for (at, finding) in of_form.into_values().enumerate() {
        let smaller = tries.get(at).into_iter().flatten();
        let first = smaller.filter_map(|case| Some((case, passing.get(&(case.harm, case.line.clone()))?))).next();
        let finding = match first {
            Some((case, passed)) => Finding { case: case.clone(), passed: passed.passed.clone() },
            None => finding,
        };
        smallest.entry((finding.case.harm, finding.case.form())).or_insert(finding);
    }
    smallest.into_values().collect()
}

/// How many lines there were of each kind of harm, and how many of those that were run to see it did it.
#[derive(Default)]
struct Tally {
    all: [usize; Harm::ALL.len()],
    run: [usize; Harm::ALL.len()],
    done: [usize; Harm::ALL.len()],
    forms: BTreeSet<String>,
}

impl Tally {
    fn add(&mut self, trial: &Trial, cases: &[Case]) {
        for case in cases {
            self.all[case.harm as usize] += 1;
            self.forms.insert(case.form());
        }
        // By chance: every tenth would always be of the same kinds.
        let mut rng = Rng::new(self.all.iter().sum::<usize>() as u64);
        let sample: Vec<&Case> = cases.iter().filter(|_| rng.chance(SAMPLE)).collect();
        let mut idle = String::new();
        for (case, seen) in sample.iter().zip(trial.run(sample.iter().copied())) {
            self.run[case.harm as usize] += 1;
            if case.harm.was_done(&seen) {
                self.done[case.harm as usize] += 1;
            } else {
                let _ = writeln!(idle, "{}\t{}\t{:?}", case.form(), seen.in_time, case.line);
            }
        }
        if let Some(file) = std::env::var_os("PORTCULLIS_SHELL_IDLE") {
            std::fs::write(file, idle).expect("writing the lines without an effect");
        }
    }

    /// A grammar whose lines do nothing proves nothing.
    fn assert_effects(&self) {
        let (run, done) = (self.run.iter().sum::<usize>(), self.done.iter().sum::<usize>());
        assert!(run == 0 || done * 10 > run * 4, "only {done} of {run} lines had an effect");
    }

    fn summary(&self, seed: u64, findings: &[Finding]) -> String {
        let (run, done) = (self.run.iter().sum::<usize>(), self.done.iter().sum::<usize>());
        let found: BTreeSet<String> = findings.iter().map(|finding| finding.case.form()).collect();
        let alone: BTreeSet<&str> = findings.iter().filter_map(|finding| alone(&finding.case)).collect();
        let mut text = format!(
            "seed {seed}: {} lines, {} forms; of {run} run as a sample {done} had an effect ({} %)\n\
             allowed unasked, with an effect: {} lines, {} forms, {} of them with one production alone\n",
            self.all.iter().sum::<usize>(),
            self.forms.len(),
            done * 100 / run.max(1),
            findings.len(),
            found.len(),
            alone.len(),
        );
        for harm in Harm::ALL {
            let at = harm as usize;
            let found = findings.iter().filter(|finding| finding.case.harm == harm).count();
            let _ = writeln!(
                text,
                "  {}: {} lines, {} of {} had an effect, {found} allowed",
                harm.name(),
                self.all[at],
                self.done[at],
                self.run[at],
            );
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
