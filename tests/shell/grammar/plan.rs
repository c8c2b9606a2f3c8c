//! How a line is made, step by step, so that it can be made again with fewer steps.

use super::super::rng::Rng;
use super::targets::TARGETS;
use super::{Case, FAMILIES, on_one_line};

/// A target and the productions around it, from the inside out. The same plan gives the same line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(super) target: Choice,
    pub(super) steps: Vec<Choice>,
}

/// One of a list's, by number, and what its own choices are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) list: usize,
    pub(super) at: usize,
    pub(super) seed: u64,
}

impl Plan {
    pub(super) fn bare(list: usize, at: usize, seed: u64) -> Self {
        Self { target: Choice { list, at, seed }, steps: vec![] }
    }

    /// The line. None where a production does not fit around what it is put around.
    pub(super) fn case(self) -> Option<Case> {
        let target = &TARGETS[self.target.list];
        let (tool, mut stage, name) = (target.make)(self.target.at, &mut Rng::new(self.target.seed));
        let mut form = vec![on_one_line(&name)];
        for step in &self.steps {
            let (next, name) = (FAMILIES[step.list].apply)(step.at, &mut Rng::new(step.seed), &stage)?;
            stage = next;
            form.push(on_one_line(&name));
        }
        Some(Case { tool, line: stage.text(), harm: target.harm, form, plan: Some(self) })
    }

    /// All lines with some of the steps, around the same target or a plain one, the smallest first.
    pub(crate) fn smaller(&self) -> Vec<Case> {
        let plain = (TARGETS[self.target.list].plain)().into_iter().map(|at| Choice { at, ..self.target });
        let targets: Vec<Choice> = plain.chain([self.target]).collect();
        let mut masks: Vec<u32> = (0..1 << self.steps.len()).collect();
        masks.sort_by_key(|mask| mask.count_ones());
        let mut cases: Vec<Case> = vec![];
        for mask in masks {
            let is_kept = |at: &usize| mask >> at & 1 == 1;
            let steps: Vec<Choice> = (0..self.steps.len()).filter(is_kept).map(|at| self.steps[at]).collect();
            for target in &targets {
                let plan = Self { target: *target, steps: steps.clone() };
                if plan != *self && cases.iter().all(|case| case.plan.as_ref() != Some(&plan)) {
                    cases.extend(plan.case());
                }
            }
        }
        cases
    }
}
