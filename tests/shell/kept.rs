//! Lines that are kept: those that once passed and no longer may, and those that are known to pass.

use super::grammar::{Case, Harm};
use super::trial::Trial;

/// Lines that once passed and had their effect. They are tried first, whatever the seed.
const REGRESSIONS: &str = include_str!("regressions.txt");

/// Forms that are known to pass. Each holds a line, so that it can be seen whether it still does.
const GAPS: &str = include_str!("gaps.txt");

/// A form through which lines pass, and why that is left so.
pub(crate) struct Gap {
    /// Its only production is the whole form.
    pub(crate) case: Case,
    reason: String,
}

impl Gap {
    /// Whether a line of this kind and form is known. Nothing less than the whole form counts.
    pub(crate) fn is(&self, case: &Case) -> bool {
        self.case.harm == case.harm && self.case.form() == case.form()
    }
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn kept(harm: &str, form: &str, line: &str, tool: &'static str) -> Case {
    let harm = Harm::named(harm).unwrap_or_else(|| panic!("a kind of harm: {harm}"));
    let line = serde_json::from_str(line).unwrap_or_else(|error| panic!("a line is a JSON string: {line}: {error}"));
    Case { tool, line, harm, form: vec![form.to_owned()], plan: None }
}

pub(crate) fn regressions() -> Vec<Case> {
    lines_of(REGRESSIONS)
}

/// The lines of a file that is written as the kept ones are: somebody's own, to be tried in the place of generated ones.
pub(crate) fn lines_of(text: &str) -> Vec<Case> {
    let read = |row: Vec<&str>| match row[..] {
        [harm, line] => kept(harm, "kept", line, "Bash"),
        [harm, line, "Grep"] => kept(harm, "kept", line, "Grep"),
        [harm, line, "Read"] => kept(harm, "kept", line, "Read"),
        _ => panic!("a kind of harm, a line, and the tool where it is not Bash: {row:?}"),
    };
    rows(text).map(read).collect()
}

pub(crate) fn gaps() -> Vec<Gap> {
    let read = |row: Vec<&str>| {
        let [harm, form, line, reason] = row[..] else { panic!("a harm, a form, a line and a reason: {row:?}") };
        Gap { case: kept(harm, form, line, "Bash"), reason: reason.to_owned() }
    };
    rows(GAPS).map(read).collect()
}

/// Every kept line is judged, also where the machine has not got the program that it needs.
pub(crate) fn check(trial: &Trial) {
    let lines = regressions();
    let seen = trial.run(&lines);
    let idle: Vec<String> = lines
        .iter()
        .zip(&seen)
        .filter(|(case, seen)| !case.harm.was_done(seen))
        .map(|(case, _)| format!("  {} {:?}\n", case.harm.name(), case.line))
        .collect();
    println!("{} kept lines, {} without an effect here\n{}", lines.len(), idle.len(), idle.concat());
    let passed = trial.judged(&lines);
    let again: Vec<&Case> =
        lines.iter().zip(&passed).filter(|(_, passed)| !passed.is_empty()).map(|(case, _)| case).collect();
    assert!(again.is_empty(), "these lines of tests/shell/regressions.txt are allowed unasked again: {again:#?}");
    let gaps = gaps();
    let unexplained: Vec<&str> =
        gaps.iter().filter(|gap| gap.reason.is_empty()).map(|gap| gap.case.line.as_str()).collect();
    assert!(unexplained.is_empty(), "gaps.txt says no reason for {unexplained:#?}");
    let cases: Vec<Case> = gaps.into_iter().map(|gap| gap.case).collect();
    let passed = trial.judged(&cases);
    let closed: Vec<&str> =
        cases.iter().zip(&passed).filter(|(_, passed)| passed.is_empty()).map(|(case, _)| case.line.as_str()).collect();
    assert!(
        closed.is_empty(),
        "these lines of tests/shell/gaps.txt no longer pass: {closed:#?}\n\
         hint: move them to tests/shell/regressions.txt"
    );
}

/// The list anew: the forms that pass now, with the reasons that are known.
pub(crate) fn write_gaps(forms: &[Case]) {
    let known = gaps();
    let mut text: String =
        GAPS.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    for case in forms {
        let reason = known.iter().find(|gap| gap.is(case)).map_or("", |gap| gap.reason.as_str());
        let line = serde_json::Value::from(case.line.as_str());
        text.push_str(&format!("{}\t{}\t{line}\t{reason}\n", case.harm.name(), case.form()));
    }
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shell/gaps.txt"), text).expect("writing the gaps");
}
