//! The same conversation with the npm adapter and with `portcullis acp`: a page lists every difference with its reason.

use super::agent::Agent;
use super::observed::Observed;
use super::script;
use crate::fakes::model::Model;
use crate::support::home::Home;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

const HEAD: &str = "| step | what | npm adapter | portcullis acp | why |\n|---|---|---|---|---|\n";

/// Step, aspect, and what was seen of the npm adapter and of ours.
type Difference = [String; 4];

#[test]
fn every_difference_from_the_npm_adapter_is_listed_with_its_reason() {
    let npm = observe(|model| Agent::Npm { model });
    let ours = observe(|model| Agent::ours(model));
    let differences = differences(&npm, &ours);
    let page = page();
    let text = fs::read_to_string(&page).unwrap();
    let (before, table) = text.split_once(HEAD).expect("the page has the table");
    let end = table.find("\n\n").map_or(table.len(), |end| end + 1);
    let end = if table.starts_with('|') { end } else { 0 };
    let listed = read(&table[..end]);
    let reason = |difference: &Difference| {
        let same = |listed: &&(Difference, String)| listed.0[1..] == difference[1..];
        listed.iter().find(same).map(|(_, reason)| reason.as_str()).unwrap_or_default()
    };
    let mut rows = String::new();
    for difference in &differences {
        writeln!(rows, "| {} | {} |", difference.each_ref().map(|cell| escaped(cell)).join(" | "), reason(difference))
            .unwrap();
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&page, format!("{before}{HEAD}{rows}{}", &table[end..])).unwrap();
    }
    let unlisted: Vec<&Difference> =
        differences.iter().filter(|difference| !listed.iter().any(|(listed, _)| listed == *difference)).collect();
    let gone: Vec<&Difference> =
        listed.iter().map(|(listed, _)| listed).filter(|listed| !differences.contains(listed)).collect();
    let unexplained: Vec<&Difference> =
        listed.iter().filter(|(_, reason)| reason.is_empty()).map(|(listed, _)| listed).collect();
    assert!(
        unlisted.is_empty() && gone.is_empty() && unexplained.is_empty(),
        "not listed: {unlisted:#?}\nlisted and gone: {gone:#?}\nwithout a reason: {unexplained:#?}\nthe table of this run:\n{rows}"
    );
}

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/decisions/0014-acp-beside-the-npm-adapter.md")
}

fn observe(agent: impl Fn(&Model) -> Agent<'_>) -> Observed {
    let home = Home::new();
    let (model, held) = script::model(&home);
    script::walk(&home, &agent(&model), &held)
}

/// Everything that one of the two showed otherwise than the other, or alone. What is the same in several steps is one.
fn differences(npm: &Observed, ours: &Observed) -> Vec<Difference> {
    let mut places: Vec<&(String, String)> = npm.rows.iter().map(|(place, _)| place).collect();
    places.extend(ours.rows.iter().map(|(place, _)| place).filter(|place| npm.value(place).is_none()));
    let mut differences: Vec<Difference> = Vec::new();
    for place in places {
        let shown =
            |observed: &Observed| observed.value(place).filter(|value| !value.is_empty()).unwrap_or("–").to_owned();
        let (of_npm, of_ours) = (shown(npm), shown(ours));
        // Which of its calls a step makes first says nothing.
        let aspect =
            place.1.split_once(": ").filter(|_| place.1.starts_with("call ")).map_or(&*place.1, |(_, rest)| rest);
        let same = |other: &&mut Difference| other[1] == aspect && other[2] == of_npm && other[3] == of_ours;
        match differences.iter_mut().find(same) {
            _ if of_npm == of_ours => {}
            Some(difference) if difference[0].split(", ").any(|step| step == place.0) => {}
            Some(difference) => difference[0] = format!("{}, {}", difference[0], place.0),
            None => differences.push([place.0.clone(), aspect.to_owned(), of_npm, of_ours]),
        }
    }
    differences
}

/// The rows of the page: each difference, and its reason.
fn read(table: &str) -> Vec<(Difference, String)> {
    let row = |line: &str| {
        let line = line.trim_start_matches("| ").trim_end_matches('|').replace("\\|", "\u{0}");
        let cells: Vec<String> = line.split(" | ").map(|cell| cell.trim().replace('\u{0}', "|")).collect();
        let [step, aspect, npm, ours, reason] = cells.try_into().unwrap_or_else(|_| panic!("five cells in {line}"));
        assert!(!reason.starts_with('|'), "a sixth cell is not shown: {line}");
        ([step, aspect, npm, ours], reason)
    };
    table.lines().filter(|line| !line.is_empty()).map(row).collect()
}

fn escaped(cell: &str) -> String {
    cell.replace('|', "\\|").replace('\n', " ")
}
