//! One figure of all rounds, in a table with ratios to the baseline, and the budget they are held against.

use std::collections::BTreeMap;

/// One line of the table: what was measured, and each contender's figure from every round.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// By the contender's place in the table.
    pub(crate) figures: BTreeMap<usize, Vec<f64>>,
}

/// Which figure stands for all rounds.
#[derive(Clone, Copy)]
pub(crate) enum Pick {
    Median,
    /// The round that others on the machine disturbed least.
    Best,
}

/// Everything that was measured so far.
pub(crate) struct Table {
    rows: Vec<Row>,
    pick: Pick,
}

impl Row {
    fn figure(&self, contender: usize, pick: Pick) -> Option<f64> {
        let part = match pick {
            Pick::Median => 0.5,
            Pick::Best if self.unit == "1/s" => 1.0,
            Pick::Best => 0.0,
        };
        self.figures.get(&contender).map(|figures| quantile(figures, part))
    }
}

impl Table {
    pub(crate) fn new(pick: Pick) -> Self {
        Self { rows: vec![], pick }
    }

    pub(crate) fn note(&mut self, name: &str, unit: &'static str, contender: usize, figure: f64) {
        let row = match self.rows.iter().position(|row| row.name == name) {
            Some(place) => &mut self.rows[place],
            None => {
                self.rows.push(Row { name: name.to_owned(), unit, figures: BTreeMap::new() });
                self.rows.last_mut().expect("just pushed")
            }
        };
        row.figures.entry(contender).or_default().push(figure);
    }

    pub(crate) fn pick(&self) -> Pick {
        self.pick
    }

    fn figure(&self, name: &str, contender: usize) -> Option<f64> {
        self.rows.iter().find(|row| row.name == name)?.figure(contender, self.pick)
    }

    /// A table in Markdown: figures, and below the baseline how many times its figure that is.
    pub(crate) fn print(&self, names: &[String], baseline: Option<usize>) {
        println!("\n| | unit | {} |", names.join(" | "));
        println!("|---|---|{}", "---|".repeat(names.len()));
        for row in &self.rows {
            let base = baseline.and_then(|base| row.figure(base, self.pick));
            let cells = (0..names.len()).map(|place| match row.figure(place, self.pick) {
                None => String::new(),
                Some(figure) => cell(figure, base.filter(|_| Some(place) != baseline)),
            });
            println!("| {} | {} | {} |", row.name, row.unit, cells.collect::<Vec<_>>().join(" | "));
        }
    }

    /// The goals, and how far from each we are.
    pub(crate) fn print_budget(&self, names: &[String], baseline: usize, budget: &[Budget]) {
        println!(
            "\n| budget, as a ratio to {} where nothing else is said | goal | found | |\n|---|---|---|---|",
            names[baseline]
        );
        for (row, contender, to, goal) in budget {
            let place = names.iter().position(|name| name == contender);
            let found = place.and_then(|place| {
                let figure = self.figure(row, place)?;
                Some(match to {
                    To::Baseline => figure / self.figure(row, baseline)?,
                    To::Row(other) => figure / self.figure(other, place)?,
                    To::Nothing => figure,
                })
            });
            let Some(found) = found else { continue };
            let (sign, reached) = match goal {
                Goal::AtMost(most) => (format!("≤ {most}"), found <= *most),
                Goal::AtLeast(least) => (format!("≥ {least:.2}"), found >= *least),
            };
            let to = match to {
                To::Baseline => String::new(),
                To::Row(other) => format!(", to {other}"),
                To::Nothing => ", as it is".to_owned(),
            };
            println!(
                "| {row}, {contender}{to} | {sign} | {found:.2} | {} |",
                if reached { "reached" } else { "missed" }
            );
        }
    }
}

/// A row, who is held to it, and to what.
pub(crate) type Budget = (&'static str, &'static str, To, Goal);

pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

/// What a figure is divided by.
pub(crate) enum To {
    Baseline,
    /// Another figure of the same contender.
    Row(&'static str),
    Nothing,
}

/// The channel's rows of the budget.
pub(crate) const CHANNEL_BUDGET: &[Budget] = &[
    ("cold start", "gate, process", To::Baseline, Goal::AtMost(0.05)),
    ("memory, session", "gate, process", To::Baseline, Goal::AtMost(0.12)),
    ("memory, gate", "gate, process", To::Baseline, Goal::AtMost(0.6)),
    ("latency p50", "gate, process", To::Baseline, Goal::AtMost(1.8)),
    ("events/s, 64 connections", "gate, process", To::Baseline, Goal::AtLeast(1.3)),
    ("events/s, sustained", "gate, process", To::Baseline, Goal::AtLeast(1.2)),
    ("events/s, 64 connections", "gate, power", To::Baseline, Goal::AtLeast(1.0)),
    ("permission p50", "gate, process", To::Baseline, Goal::AtMost(1.0)),
    ("permission p99", "gate, process", To::Baseline, Goal::AtMost(0.3)),
    ("1 MB p50", "gate, process", To::Baseline, Goal::AtMost(3.0)),
    ("last of 1000 listeners", "gate, process", To::Baseline, Goal::AtMost(1.0)),
    ("gate start, 10^6 events", "gate, process", To::Nothing, Goal::AtMost(500.0)),
    ("gate memory, 10^6 events", "gate, process", To::Nothing, Goal::AtMost(80.0)),
    ("events/s, 100 sessions", "gate, process", To::Row("events/s, 1 session"), Goal::AtLeast(1.0 / 1.3)),
];

/// What an editor's agent is held to beside the npm adapter.
pub(crate) const ACP_BUDGET: &[Budget] = &[
    ("initialize", "portcullis acp", To::Baseline, Goal::AtMost(0.05)),
    ("memory of the agent", "portcullis acp", To::Baseline, Goal::AtMost(0.1)),
];

/// A new session is not slower than the start of the Claude Code that it starts.
pub(crate) const ACP_START_BUDGET: &[Budget] = &[("session/new", "portcullis acp", To::Baseline, Goal::AtMost(1.0))];

fn cell(figure: f64, base: Option<f64>) -> String {
    let shown = match figure {
        figure if figure.is_infinite() => "never".to_owned(),
        figure if figure >= 1000.0 => format!("{figure:.0}"),
        figure if figure >= 10.0 => format!("{figure:.1}"),
        figure => format!("{figure:.2}"),
    };
    match base {
        Some(base) if figure.is_finite() && base.is_finite() => format!("{shown} ×{:.2}", figure / base),
        _ => shown,
    }
}

/// The figure below which the given part of all figures lies.
pub(crate) fn quantile(figures: &[f64], part: f64) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (part * (sorted.len().saturating_sub(1)) as f64).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}
