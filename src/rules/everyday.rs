//! Shell lines of every day, judged by the rules people use: how many are asked for, and that it does not become more.
//!
//! The lines and their marks stand in `tests/it/fixtures/everyday`, the shares in
//! `docs/decisions/0010-lines-of-every-day.md`. `before.txt` holds what was asked for when the lines were marked, and
//! is never written anew; `asked.txt` holds what is asked for now, and `UPDATE_EXPECT=1` writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use portcullis_core::policy::Given;

use super::*;

const LINES: &str = include_str!("../../tests/it/fixtures/everyday/lines.tsv");
const BEFORE: &str = include_str!("../../tests/it/fixtures/everyday/before.txt");
const DECISION: &str = include_str!("../../docs/decisions/0010-lines-of-every-day.md");
const MARKS: [&str; 5] = ["none", "deny", "ask", "protected", "removal"];
const MODES: [(&str, Mode); 3] =
    [("default", Mode::Default), ("acceptEdits", Mode::AcceptEdits), ("bypassPermissions", Mode::BypassPermissions)];

struct Line {
    project: &'static str,
    mark: &'static str,
    written: &'static str,
}

impl Line {
    fn all() -> Vec<Self> {
        let lines = LINES.lines().filter(|line| !line.starts_with('#'));
        let parts = lines.map(|line| {
            let parts: Vec<&str> = line.splitn(5, '\t').collect();
            let [project, _file, mark, _note, written] = parts[..] else { panic!("{line}") };
            Self { project, mark, written }
        });
        parts.collect()
    }

    fn command(&self, place: &Place) -> String {
        let mut command = String::new();
        let mut chars = self.written.chars();
        while let Some(c) = chars.next() {
            command.push(match (c, c == '\\') {
                (_, true) => match chars.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('\\') => '\\',
                    other => panic!("{other:?} in {}", self.written),
                },
                (c, false) => c,
            });
        }
        let place_of = |path: &Path| path.display().to_string();
        command.replace("{project}", &place_of(&place.project)).replace("{home}", &place_of(&place.home))
    }
}

/// A home and a project as they are on a disk, with what the rules are about.
pub(super) struct Place {
    _root: tempfile::TempDir,
    pub(super) home: PathBuf,
    pub(super) project: PathBuf,
    rules: Rules,
}

impl Place {
    pub(super) fn new() -> Self {
        Self::with(include_str!("../../tests/it/fixtures/everyday/rules.toml"))
    }

    /// The same with other rules.
    pub(super) fn with(rules: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        let (home, project) = (real.join("home/ann"), real.join("home/ann/code/project"));
        for file in [
            ".bashrc",
            ".profile",
            ".zshrc",
            ".ssh/id_ed25519",
            ".aws/credentials",
            ".claude/settings.json",
            ".local/bin/portcullis",
        ] {
            write(&home.join(file));
        }
        for file in [
            ".env",
            ".env.example",
            ".git/config",
            ".git/hooks/pre-commit.sample",
            ".github/workflows/ci.yml",
            ".vscode/settings.json",
            "Cargo.toml",
            "Makefile",
            "README.md",
            "build/out.o",
            "dist/gh_1.zip",
            "package.json",
            "secrets/prod.yaml",
            "src/main.rs",
            "tests/test_a.py",
            "web/package.json",
        ] {
            write(&project.join(file));
        }
        let find = |name: &str| (name == "HOME").then(|| home.clone().into_os_string());
        let paths = Paths::from_env(&find).unwrap();
        fs::create_dir_all(paths.rules_file.parent().unwrap()).unwrap();
        fs::write(&paths.rules_file, rules).unwrap();
        let rules = Rules::open(&paths, &project).load().unwrap();
        Self { _root: root, home, project, rules }
    }

    /// What becomes of a line in each mode.
    fn judged(&self, line: &Line, shell: SessionShell) -> [Decision; 3] {
        MODES.map(|(_, mode)| self.decided_by(&self.project, mode, &line.command(self), shell).decision)
    }

    pub(super) fn decided(&self, mode: Mode, line: &str) -> Judgement {
        self.decided_in(&self.project, mode, line)
    }

    /// The same of a session that works in another folder.
    pub(super) fn decided_in(&self, folder: &Path, mode: Mode, line: &str) -> Judgement {
        self.decided_by(folder, mode, line, SessionShell::Bash)
    }

    fn decided_by(&self, folder: &Path, mode: Mode, line: &str, shell: SessionShell) -> Judgement {
        let around = self.rules.around(folder, &[], None, shell);
        let input = [("command".to_owned(), Given::Text(line.to_owned()))].into();
        self.rules.decide(mode, &around, Call::new("Bash", input))
    }
}

pub(super) fn write(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "x\n").unwrap();
}

/// Of the lines with a mark: how many are not let pass in each mode, and how many there are.
type Shares = BTreeMap<&'static str, ([usize; 3], usize)>;

fn measured(lines: &[Line], shell: SessionShell) -> (String, Shares) {
    let place = Place::new();
    let mut listed = String::from(
        "# default, acceptEdits and bypassPermissions: what becomes of the lines that do not pass in each\n",
    );
    let mut shares = Shares::new();
    for line in lines {
        let decisions = place.judged(line, shell);
        let (stopped, all) = shares.entry(line.mark).or_default();
        *all += 1;
        for (count, decision) in stopped.iter_mut().zip(decisions) {
            *count += usize::from(decision != Decision::Allow);
        }
        if decisions.iter().any(|decision| *decision != Decision::Allow) {
            let [a, b, c] = decisions.map(Decision::name);
            writeln!(listed, "{a}\t{b}\t{c}\t{}\t{}", line.mark, line.written).unwrap();
        }
    }
    (listed, shares)
}

/// Which of the lines that nothing could mean do not pass in a mode, in a list.
fn stopped_of(listed: &str, mode: usize) -> BTreeSet<&str> {
    let rows = listed.lines().filter(|row| !row.starts_with('#'));
    let rows = rows.map(|row| row.splitn(5, '\t').collect::<Vec<_>>());
    rows.filter(|row| row[3] == "none" && row[mode] != "allow").map(|row| row[4]).collect()
}

/// `12 of 34` in a column of the decision's table.
fn recorded(mode: &str, mark: &str, column: usize) -> Option<(usize, usize)> {
    let row = DECISION.lines().find(|row| row.starts_with(&format!("| {mode} | {mark} |")))?;
    let (asked, all) = row.split('|').nth(2 + column)?.trim().split_once(" of ")?;
    Some((asked.parse().ok()?, all.parse().ok()?))
}

#[test]
fn there_are_enough_lines_of_enough_projects_and_each_is_marked() {
    let lines = Line::all();
    assert!(lines.len() >= 420, "{}", lines.len());
    let projects: BTreeSet<&str> = lines.iter().map(|line| line.project).collect();
    assert!(projects.len() >= 25, "{projects:?}");
    let mut seen = BTreeSet::new();
    for line in &lines {
        assert!(MARKS.contains(&line.mark), "{}", line.written);
        assert!(seen.insert(line.written), "twice: {}", line.written);
    }
}

#[test]
fn what_is_asked_for_now_is_listed_line_by_line() {
    expect_file!["../../tests/it/fixtures/everyday/asked.txt"].assert_eq(&measured(&Line::all(), SessionShell::Bash).0);
}

#[test]
fn no_more_lines_are_asked_for_than_before_the_engine_was_changed() {
    let (listed, shares) = measured(&Line::all(), SessionShell::Bash);
    for (at, (mode, _)) in MODES.iter().enumerate() {
        for (mark, (stopped, all)) in &shares {
            let before = recorded(mode, mark, 1).unwrap_or_else(|| panic!("0010 has no share of {mode}, {mark}"));
            assert_eq!(before.1, *all, "{mode}, {mark}: the lines are those of before");
            if *mark == "none" {
                let newly: Vec<&str> = stopped_of(&listed, at).difference(&stopped_of(BEFORE, at)).copied().collect();
                assert!(stopped[at] <= before.0, "{mode}: {} of {all} are asked for, newly {newly:#?}", stopped[at]);
            }
            if let Some(after) = recorded(mode, mark, 2) {
                assert_eq!(after, (stopped[at], *all), "{mode}, {mark}: what 0010 says of now");
            }
        }
    }
}

#[test]
fn the_share_of_lines_that_are_asked_for_where_zsh_runs_them_is_recorded() {
    let lines = Line::all();
    let (listed, shares) = measured(&lines, SessionShell::MayBeZsh);
    let by_bash: BTreeSet<String> = measured(&lines, SessionShell::Bash).0.lines().map(str::to_owned).collect();
    let more: String = listed.lines().filter(|line| !by_bash.contains(*line)).map(|line| format!("{line}\n")).collect();
    expect_file!["../../tests/it/fixtures/everyday/asked-by-zsh.txt"].assert_eq(&more);
    for (at, (mode, _)) in MODES.iter().enumerate() {
        for (mark, (stopped, all)) in &shares {
            let recorded = recorded(&format!("{mode}, zsh"), mark, 2);
            assert_eq!(
                recorded,
                Some((stopped[at], *all)),
                "0010 says the share of {mode}, {mark} where zsh runs lines"
            );
        }
    }
}
