//! Prompts as people read them: in a list to choose from, and one with everything there is to decide by.

use portcullis_core::{Moment, mask};
use portcullis_wire::api::{AskView, VerdictView, ago};
use portcullis_wire::preview;
use portcullis_wire::questions::Questions;
use portcullis_wire::text::one_line;

use crate::cli::layout::{Colour, date_and_time, left};
use crate::cli::table::{Cell, Table, fields};
use crate::hub::now;

/// Letters of a prompt in a list.
const LONGEST: usize = 300;

/// The prompts one below the other, with secrets masked. With `all`, also what became of each.
pub(super) fn list(asks: &[AskView], all: bool) -> String {
    if asks.is_empty() {
        return if all { "No prompts in the last 24 hours.\n" } else { "No prompts are open.\n" }.to_owned();
    }
    let with_answers = all || asks.iter().any(|ask| ask.state != "open");
    let mut table = match with_answers {
        true => Table::new(&["CODE", "SESSION", "RISK", "AGE", "ANSWER", "ASKS FOR"]),
        false => Table::new(&["CODE", "SESSION", "RISK", "AGE", "ASKS FOR"]),
    };
    for ask in asks {
        let what = shortened(&mask(&first_of(ask)).0, &ask.code);
        let mut cells = vec![
            Cell::painted(&ask.code, Colour::Name),
            Cell::from(ask.label.as_deref().unwrap_or(&ask.session)),
            risk(ask),
            Cell::from(ago(now().since(Moment(ask.at)))),
        ];
        if with_answers {
            cells.push(outcome(ask));
        }
        cells.push(Cell::from(match ask.kind.as_str() {
            "question" | "plan" => format!("{}: {what}", ask.kind),
            _ => format!("{}: {what}{}", ask.tool, agreement(ask)),
        }));
        table.row(cells);
    }
    table.print()
}

/// ` (1 of 2 people)`, where several must allow it.
fn agreement(ask: &AskView) -> String {
    let open = ask.quorum.filter(|_| ask.verdict.is_none() && ask.withdrawn.is_none());
    open.map(|quorum| format!(" ({} of {quorum} people)", ask.allowed_by.len())).unwrap_or_default()
}

fn risk(ask: &AskView) -> Cell {
    match ask.risk.as_ref().map(|risk| risk.level.as_str()) {
        Some("high") => Cell::painted("high", Colour::Danger),
        Some("medium") => Cell::painted("medium", Colour::Attention),
        other => Cell::from(other.unwrap_or("-")),
    }
}

/// The command, or the file, or the beginning of whatever else it is.
fn first_of(ask: &AskView) -> String {
    let text = preview::of_text(&ask.tool, &ask.preview);
    match ask.tool.as_str() {
        "Bash" => text,
        // An input that has no form of its own: its first line would be a brace.
        _ if text.starts_with('{') => one_line(&text),
        _ => text.lines().find(|line| !line.trim().is_empty()).unwrap_or(&ask.description).to_owned(),
    }
}

/// A list is for choosing. What is longer than a few lines is read whole before it is answered.
fn shortened(what: &str, code: &str) -> String {
    match what.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}… (whole: `portcullis ask show {code}`)", &what[..end]),
        None => what.to_owned(),
    }
}

/// Who said what, in a few words.
fn outcome(ask: &AskView) -> Cell {
    let Some(verdict) = &ask.verdict else {
        return match (&ask.withdrawn, ask.state.as_str()) {
            (Some(why), _) => Cell::painted(withdrawn(why), Colour::Quiet),
            (None, "open") => Cell::painted("open", Colour::Attention),
            (None, state) => Cell::painted(state, Colour::Quiet),
        };
    };
    let why = verdict.why.as_ref().map(|why| format!(": {}", mask(why).0)).unwrap_or_default();
    let said = format!("{} by {}{why}", said(verdict), verdict.by);
    match verdict.confirmation.as_str() {
        "not_confirmed" => Cell::painted(format!("not confirmed: {said}"), Colour::Attention),
        _ if verdict.differs => Cell::painted(format!("ran differently: {said}"), Colour::Danger),
        _ => Cell::from(said),
    }
}

/// What became of a prompt that no verdict settled. One that was answered at the terminal was not taken back.
fn withdrawn(why: &str) -> String {
    match why.strip_suffix(" at its terminal") {
        Some(said @ ("allowed" | "denied")) => format!("answered at its terminal: {said}"),
        _ => format!("withdrawn: {why}"),
    }
}

fn said(verdict: &VerdictView) -> &'static str {
    if verdict.behavior == "allow" { "allowed" } else { "denied" }
}

/// Everything about one prompt, with nothing masked.
pub(super) fn whole(ask: &AskView) -> String {
    let label = ask.label.as_deref().unwrap_or(&ask.session);
    let mut rows = vec![("prompt", format!("{}, {} in session {label}", ask.code, ask.tool))];
    let mut add = |name: &'static str, value: String| {
        if !value.is_empty() {
            rows.push((name, value));
        }
    };
    add("asked by", ask.agent_id.as_ref().map(|agent| format!("a subagent ({agent})")).unwrap_or_default());
    add("for", ask.description.clone());
    add("shows", preview::of_text(&ask.tool, &ask.preview));
    add(
        "input",
        match &ask.input {
            Some(input) => format!("{input:#}"),
            None => "Only a preview is known: the call may do more than it shows.".to_owned(),
        },
    );
    if let Some(risk) = &ask.risk {
        add("risk", risk.in_words());
    }
    add("because", ask.reason.clone().unwrap_or_default());
    if let Some(quorum) = ask.quorum {
        add(
            "people",
            match (ask.state.as_str(), ask.allowed_by.as_slice()) {
                ("open", []) => format!("{quorum} people must allow it; so far: nobody"),
                ("open", by) => format!("{quorum} people must allow it; so far: {}", by.join(", ")),
                (_, []) => format!("{quorum} people had to allow it"),
                (_, by) => format!("{quorum} people had to allow it; it was allowed by {}", by.join(", ")),
            },
        );
    }
    let offers: Vec<String> =
        ask.offers.iter().map(|offer| format!("--scope {}: {}", offer.scope, offer.words)).collect();
    add("offers", offers.join("\n"));
    add("follows", modes(ask));
    add("asked", date_and_time(ask.at));
    if ask.verdict.is_some() || ask.withdrawn.is_some() {
        // What would become of it without an answer is past.
    } else if let Some(until) = ask.answer_by {
        let left = left(Moment(until).since(now()));
        let otherwise = ask.otherwise.as_deref().unwrap_or_default();
        let held = if ask.held { ", held before it runs" } else { "" };
        add("until", format!("{} ({left} left{held}), then: {otherwise}", date_and_time(until)));
    } else if ask.held {
        add("until", "held before it runs: without an answer it is denied".to_owned());
    }
    if let Some(verdict) = &ask.verdict {
        for (name, value) in answered(ask, verdict) {
            add(name, value);
        }
    }
    add("state", state(ask));
    fields(&rows)
}

/// The mode that follows a plan.
fn modes(ask: &AskView) -> String {
    match ask.modes.as_slice() {
        [first, ..] => format!("--mode {}: the mode that follows; without it: {first}", ask.modes.join("|")),
        [] if ask.kind == "plan" => "the mode that the client had before it planned: it chooses itself".to_owned(),
        [] => String::new(),
    }
}

/// Who said what, when, and what came of it.
fn answered(ask: &AskView, verdict: &VerdictView) -> Vec<(&'static str, String)> {
    let mut rows = vec![];
    let interrupt = if verdict.interrupt { ", and the turn ends" } else { "" };
    let at = date_and_time(verdict.at);
    rows.push(("answered", format!("{at}: {} by {}{interrupt}", said(verdict), verdict.by_whom())));
    rows.push(("reason", verdict.why.clone().unwrap_or_default()));
    if verdict.scope != "once" {
        rows.push(("scope", verdict.scope.clone()));
    }
    rows.push(("mode", verdict.mode.clone().unwrap_or_default()));
    if let Some(input) = &verdict.input {
        match answers(ask) {
            Some(answers) => rows.push(("answers", answers)),
            None => rows.push(("changed to", format!("{input:#}"))),
        }
    }
    rows.push(("carried", verdict.carried_at.map_or_else(|| "not yet".to_owned(), date_and_time)));
    if let Some(outcome) = &verdict.outcome {
        let at = verdict.outcome_at.map(|at| format!("{}: ", date_and_time(at))).unwrap_or_default();
        rows.push(("confirmed", format!("{at}{outcome}")));
    }
    rows
}

/// What the agent's questions were answered with, a line each.
pub(super) fn answers(ask: &AskView) -> Option<String> {
    let input = ask.verdict.as_ref()?.input.as_ref().filter(|_| ask.kind == "question")?;
    let answer = |(question, answer): (&String, &serde_json::Value)| {
        format!("{question} {}", answer.as_str().map_or_else(|| answer.to_string(), str::to_owned))
    };
    Some(input["answers"].as_object()?.iter().map(answer).collect::<Vec<_>>().join("\n"))
}

fn state(ask: &AskView) -> String {
    let again = match ask.kind.as_str() {
        "question" => {
            let questions = Questions::of(&ask.input.clone().unwrap_or_default());
            format!("{}, or `portcullis ask deny {}`", questions.how_to_answer(&ask.code), ask.code)
        }
        _ => format!("`portcullis ask allow {0}` or `portcullis ask deny {0}`", ask.code),
    };
    match (&ask.verdict, &ask.withdrawn, ask.state.as_str()) {
        (Some(verdict), ..) => {
            let carried = match verdict.confirmation.as_str() {
                "not_confirmed" => {
                    let todo = match ask.answerable {
                        true => format!("its process is away: until it is back, answer again with {again}"),
                        false => "look at its terminal; it takes no other answer".to_owned(),
                    };
                    format!("NOT CONFIRMED: nothing shows that the session took it; {todo}")
                }
                _ if verdict.carried_at.is_some() => "handed to the session".to_owned(),
                _ => "not yet handed to the session".to_owned(),
            };
            let outcome = match verdict.outcome.as_deref() {
                None => String::new(),
                Some("denied") => ", and the call did not run".to_owned(),
                Some("unknown") => ", and nobody knows how far the call ran".to_owned(),
                Some(outcome) => format!(", then the call {outcome}"),
            };
            let differs = if verdict.differs { "; WARNING: what ran is not what was shown" } else { "" };
            format!("{} by {}, {carried}{outcome}{differs}", verdict.behavior, verdict.by_whom())
        }
        (None, Some(why), _) => withdrawn(why),
        (None, None, "open") => format!("open; answer with {again}"),
        (None, None, state) => state.to_owned(),
    }
}
