//! Lines in a session whose shell is zsh: what a real zsh did with them must not have been allowed unasked.
//!
//! A table of lines that zsh reads otherwise than bash does, the lines that are kept, and generated ones.

use super::grammar::{self, Case, Harm};
use super::kept;
use super::trial::{Finding, Trial, listed};

pub(crate) const NAME: &str = "nothing_that_zsh_ran_was_allowed_unasked";

const TABLE: &str = include_str!("zsh.tsv");

/// So many of the generated lines are judged and run for zsh as well.
const GENERATED: usize = 2_000;

/// So many lines of the table have to do in a real zsh what they are there for, or nothing was proved.
const FEWEST: usize = 150;

fn table() -> Vec<Case> {
    let rows = TABLE.lines().filter(|row| !row.is_empty() && !row.starts_with("# "));
    let read = |row: &str| {
        let (harm, line) = row.split_once('\t').unwrap_or_else(|| panic!("a kind of harm and a line: {row}"));
        let harm = Harm::named(harm).unwrap_or_else(|| panic!("a kind of harm: {harm}"));
        Case { tool: "Bash", line: line.replace("\\n", "\n"), harm, form: vec![line.to_owned()], plan: None }
    };
    rows.map(read).collect()
}

pub(crate) fn check() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let count = number("PORTCULLIS_SHELL_LINES").map_or(GENERATED, |count: u64| count as usize);
    let seed = number("PORTCULLIS_SHELL_SEED").unwrap_or(1);
    let trial = Trial::new("zsh");
    let rows = table();
    let seen = trial.run(&rows);
    let idle: Vec<&str> = rows
        .iter()
        .zip(&seen)
        .filter(|(case, seen)| !case.harm.was_done(seen))
        .map(|(case, _)| case.line.as_str())
        .collect();
    println!("{} lines of the table, {} without an effect here\n  {}", rows.len(), idle.len(), idle.join("\n  "));
    let effective = rows.len() - idle.len();
    let mut cases = rows;
    cases.extend(kept::regressions().into_iter().filter(|case| case.tool == "Bash"));
    cases.extend((0..count).map(|at| grammar::case(seed, at)).filter(|case| case.tool == "Bash"));
    let total = cases.len();
    let findings: Vec<Finding> = trial.findings(cases);
    let gaps = kept::gaps();
    let new: Vec<&Finding> = findings.iter().filter(|finding| !gaps.iter().any(|gap| gap.is(&finding.case))).collect();
    println!("{total} lines judged for zsh (seed {seed}), {} allowed unasked with an effect", findings.len());
    if let Some(file) = std::env::var_os("PORTCULLIS_SHELL_OUT") {
        std::fs::write(file, listed(new.iter().copied())).expect("writing the findings");
    }
    assert!(
        new.is_empty(),
        "{} lines had their effect in zsh and were allowed unasked:\n{}",
        new.len(),
        listed(new.iter().take(60).copied())
    );
    assert!(effective >= FEWEST, "only {effective} lines of tests/shell/zsh.tsv do in zsh what they are there for");
}
