//! Common programs that are given a file: whichever really read a denied file, or wrote a protected one, must not have
//! been allowed unasked.

use std::collections::{BTreeMap, BTreeSet};

use super::grammar::{Case, Harm};
use super::trial::{Finding, Trial, listed};

pub(crate) const NAME: &str = "no_common_program_reaches_a_file_unasked";

const TABLE: &str = include_str!("programs.tsv");

/// Programs through which a file is still reached. The check fails when another one is found, and when one of these no
/// longer is one; `UPDATE_EXPECT=1` writes the list anew.
const GAPS: &str = include_str!("program-gaps.txt");

/// So many programs have to be there and to do what the table says, or nothing was proved.
const FEWEST: usize = 100;

struct Row {
    program: &'static str,
    harm: Harm,
    line: &'static str,
}

fn rows() -> Vec<Row> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let read = |line: &'static str| {
        let parts: Vec<&str> = line.splitn(3, '\t').collect();
        let [program, harm, line] = parts[..] else { panic!("a program, a kind and a line: {line}") };
        Row { program, harm: Harm::named(harm).expect("read or write"), line }
    };
    lines.map(read).collect()
}

/// What a sandbox has to hold.
pub(crate) fn names() -> BTreeSet<&'static str> {
    rows().into_iter().map(|row| row.program).collect()
}

/// How the file is called: from the project, from its own folder, by its whole path, in the home.
struct Naming {
    way: &'static str,
    before: &'static str,
    file: &'static str,
    folder: &'static str,
    /// In front of the project's other files.
    up: &'static str,
    whole: &'static str,
}

const READ: [Naming; 4] = [
    Naming {
        way: "from the project",
        before: "",
        file: "secrets/key.pem",
        folder: "secrets",
        up: "",
        whole: "@W@/home/project/secrets/key.pem",
    },
    Naming {
        way: "from its folder",
        before: "cd secrets && ",
        file: "key.pem",
        folder: ".",
        up: "../",
        whole: "@W@/home/project/secrets/key.pem",
    },
    Naming {
        way: "by its whole path",
        before: "",
        file: "@W@/home/project/secrets/key.pem",
        folder: "@W@/home/project/secrets",
        up: "",
        whole: "@W@/home/project/secrets/key.pem",
    },
    Naming {
        way: "in the home",
        before: "",
        file: "../.ssh/id_rsa",
        folder: "../.ssh",
        up: "",
        whole: "@W@/home/.ssh/id_rsa",
    },
];

const WRITE: [Naming; 4] = [
    Naming {
        way: "from the project",
        before: "",
        file: ".git/config",
        folder: ".git",
        up: "",
        whole: "@W@/home/project/.git/config",
    },
    Naming {
        way: "from its folder",
        before: "cd .git && ",
        file: "config",
        folder: ".",
        up: "../",
        whole: "@W@/home/project/.git/config",
    },
    Naming {
        way: "by its whole path",
        before: "",
        file: "@W@/home/project/.git/config",
        folder: "@W@/home/project/.git",
        up: "",
        whole: "@W@/home/project/.git/config",
    },
    Naming {
        way: "in the home",
        before: "",
        file: "../.bashrc",
        folder: "../project/.git/hooks",
        up: "",
        whole: "@W@/home/.bashrc",
    },
];

/// A file that is no protected one, and that a rule keeps as it is.
const CHANGE: [Naming; 2] = [
    Naming {
        way: "kept, from the project",
        before: "",
        file: "made/gen/config",
        folder: "made/gen",
        up: "",
        whole: "@W@/home/project/made/gen/config",
    },
    Naming {
        way: "kept, from its folder",
        before: "cd made/gen && ",
        file: "config",
        folder: ".",
        up: "../../",
        whole: "@W@/home/project/made/gen/config",
    },
];

fn cases() -> Vec<Case> {
    let mut cases = vec![];
    for row in rows() {
        let namings: Vec<(Harm, &Naming)> = match row.harm {
            Harm::Read => READ.iter().map(|naming| (Harm::Read, naming)).collect(),
            _ => {
                WRITE.iter().map(|one| (Harm::Write, one)).chain(CHANGE.iter().map(|one| (Harm::Change, one))).collect()
            }
        };
        for (harm, naming) in namings {
            let name = naming.file.rsplit('/').next().unwrap_or_default();
            let Naming { up, .. } = naming;
            let line = [
                ("{F}", naming.file.to_owned()),
                ("{N}", name.to_owned()),
                ("{D}", naming.folder.to_owned()),
                ("{W}", naming.whole.to_owned()),
                ("{A}", format!("{up}a.txt")),
                ("{B}", format!("{up}README.md")),
                ("{S}", format!("{up}src")),
                ("{L}", format!("{up}lock")),
                ("{O}", format!("{up}out")),
                ("{X}", "@W@/home/out".to_owned()),
                ("{Y}", "@W@/home/notes.txt".to_owned()),
            ]
            .into_iter()
            .fold(row.line.to_owned(), |line, (letter, text)| line.replace(letter, &text));
            let line = format!("{}{line}", naming.before);
            let form = vec![row.program.to_owned(), row.line.to_owned(), naming.way.to_owned()];
            cases.push(Case { tool: "Bash", line, harm, form, plan: None });
        }
    }
    cases
}

pub(crate) fn check() {
    let trial = Trial::new("bash");
    let cases = cases();
    let seen = trial.run(&cases);
    let all_lines = cases.len();
    let done: Vec<Case> =
        cases.into_iter().zip(seen).filter(|(case, seen)| case.harm.was_done(seen)).map(|(case, _)| case).collect();
    let reached =
        |harm| done.iter().filter(|case| case.harm == harm).map(|case| case.form[0].as_str()).collect::<BTreeSet<_>>();
    let (read, wrote) = (reached(Harm::Read), reached(Harm::Write));
    let all: BTreeSet<&str> = read.union(&wrote).copied().collect();
    let findings = done.iter().cloned().zip(trial.judged(&done)).filter(|(_, passed)| !passed.is_empty());
    let findings: Vec<Finding> = findings.map(|(case, passed)| Finding { case, passed }).collect();
    println!(
        "{} lines, {} with an effect: {} programs read a file, {} wrote one, {} in all; {} lines are allowed unasked",
        all_lines,
        done.len(),
        read.len(),
        wrote.len(),
        all.len(),
        findings.len(),
    );
    assert!(all.len() >= FEWEST, "only {} programs of the table did what it says: {all:?}", all.len());
    let mut passing: BTreeMap<String, usize> = BTreeMap::new();
    for finding in &findings {
        *passing.entry(through(&finding.case)).or_default() += 1;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let names: Vec<&str> = passing.keys().map(String::as_str).collect();
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shell/program-gaps.txt"), gaps(&names)).unwrap();
        return;
    }
    let known: BTreeSet<&str> = GAPS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let is_new = |finding: &&Finding| !known.contains(through(&finding.case).as_str());
    let new: Vec<&Finding> = findings.iter().filter(is_new).collect();
    assert!(
        new.is_empty(),
        "{} lines reached a file and were allowed unasked:\n{}\nhint: mend the rules engine",
        new.len(),
        listed(new.iter().take(60).copied()),
    );
    // A program that this machine has not got proves nothing.
    let closed: Vec<String> = done.iter().map(through).filter(|name| known.contains(name.as_str())).collect();
    let closed: BTreeSet<String> = closed.into_iter().filter(|name| !passing.contains_key(name)).collect();
    assert!(closed.is_empty(), "nothing passes through these any more; take them out of program-gaps.txt: {closed:?}");
}

/// How a gap is called in the list.
fn through(case: &Case) -> String {
    format!("{} {}", case.harm.name(), case.form[0])
}

fn gaps(names: &[&str]) -> String {
    const ABOUT: &str =
        "# Programs through which a denied file is read or a protected one written, and nobody is asked.\n";
    let lines: Vec<String> = names.iter().map(|name| format!("{name}\n")).collect();
    ABOUT.to_owned() + &lines.concat()
}
