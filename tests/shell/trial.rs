//! Lines on trial: what the product decides about each, and what a real shell does with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::grammar::Case;
use super::judge::{Judge, MODES, Ruleset};
use super::sandbox::{Prepared, Sandbox, Seen};
use super::world::PLACE;

/// So many lines are given to one process of the judge.
const AT_ONCE: usize = 400;

pub(crate) struct Trial {
    /// Sandboxes that have no line to run at the moment: to make one costs as much as to run a hundred lines. They end
    /// before what they were made from is removed.
    idle: Mutex<Vec<Sandbox>>,
    prepared: Prepared,
    judge: Judge,
    /// The shell that runs the lines.
    shell: &'static str,
}

/// Under which rules a line passes unasked, and in which modes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed(Vec<(&'static str, Vec<&'static str>)>);

impl Passed {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A line that had its effect and that nobody was asked about.
pub(crate) struct Finding {
    pub(crate) case: Case,
    pub(crate) passed: Passed,
}

impl Trial {
    pub(crate) fn new(shell: &'static str) -> Self {
        Self { idle: Mutex::default(), prepared: Prepared::new(), judge: Judge::new(shell), shell }
    }

    /// What passes unasked, for each line. The rules are those of the harm that it is to do.
    pub(crate) fn judged(&self, cases: &[Case]) -> Vec<Passed> {
        let mut groups: BTreeMap<(Ruleset, &str), Vec<usize>> = BTreeMap::new();
        for (at, case) in cases.iter().enumerate() {
            for rules in case.harm.rules() {
                groups.entry((*rules, case.tool)).or_default().push(at);
            }
        }
        let pieces: Vec<(Ruleset, &str, &[usize])> = groups
            .iter()
            .flat_map(|((rules, tool), members)| members.chunks(AT_ONCE).map(move |piece| (*rules, *tool, piece)))
            .collect();
        let answers = in_parallel(
            processors(),
            &pieces,
            || (),
            |(), (rules, tool, members)| {
                let inputs: Vec<String> = members.iter().map(|at| self.in_world(&cases[*at].line)).collect();
                self.judge.allows(&self.prepared.world, *rules, tool, &inputs)
            },
            drop,
        );
        let mut passed = vec![Passed::default(); cases.len()];
        for ((rules, _, members), allowed) in pieces.iter().zip(answers) {
            for (at, allowed) in members.iter().zip(allowed) {
                let modes = MODES.into_iter().zip(allowed).filter(|(_, is_allowed)| *is_allowed);
                let modes: Vec<&str> = modes.map(|(mode, _)| mode).collect();
                if !modes.is_empty() {
                    passed[*at].0.push((rules.name, modes));
                }
            }
        }
        passed
    }

    /// What each line did, in a sandbox.
    pub(crate) fn run<'a>(&self, cases: impl IntoIterator<Item = &'a Case>) -> Vec<Seen> {
        let lines: Vec<String> = cases.into_iter().map(|case| self.in_world(&shell_line(case))).collect();
        in_parallel(
            // A line that waits leaves its processor to another.
            2 * processors(),
            &lines,
            || self.idle.lock().expect("nobody panics with it").pop(),
            |sandbox, line| {
                let seen = sandbox.get_or_insert_with(|| self.prepared.start_proven()).run(self.shell, line);
                seen.unwrap_or_else(|| {
                    *sandbox = None;
                    Seen { has_ended_it: true, ..Seen::default() }
                })
            },
            |sandbox| self.idle.lock().expect("nobody panics with it").extend(sandbox),
        )
    }

    /// Those that pass unasked and have their effect.
    pub(crate) fn findings(&self, cases: Vec<Case>) -> Vec<Finding> {
        let passed = self.judged(&cases);
        let passing: Vec<Finding> = cases
            .into_iter()
            .zip(passed)
            .filter(|(_, passed)| !passed.is_empty())
            .map(|(case, passed)| Finding { case, passed })
            .collect();
        let seen = self.run(passing.iter().map(|finding| &finding.case));
        let had_effect = |(finding, seen): &(Finding, Seen)| finding.case.harm.was_done(seen);
        passing.into_iter().zip(seen).filter(had_effect).map(|(finding, _)| finding).collect()
    }

    fn in_world(&self, line: &str) -> String {
        line.replace(PLACE, &self.prepared.world.root.display().to_string())
    }
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

fn processors() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Does the work for each item by so many workers, each with something of its own that is given back at the end. The
/// results come in the order of the items.
fn in_parallel<T: Sync, W, R: Send>(
    workers: usize,
    items: &[T],
    start: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, &T) -> R + Sync,
    end: impl Fn(W) + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let workers = workers.clamp(2, 16);
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let run = || {
            let mut own = start();
            let mut results = vec![];
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(at) else { break };
                results.push((at, work(&mut own, item)));
            }
            end(own);
            results
        };
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(run)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a worker ends")).collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

pub(crate) fn listed<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> String {
    let mut text = String::new();
    for Finding { case, passed: Passed(by_rules) } in findings {
        let _ = writeln!(text, "{} | {}", case.harm.name(), case.form());
        for (rules, modes) in by_rules {
            let _ = writeln!(text, "    {rules}: {}", modes.join(" "));
        }
        let _ = writeln!(text, "    {:?}", case.line);
    }
    text
}
