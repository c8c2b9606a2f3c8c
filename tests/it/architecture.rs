//! The house: which room may use which, and which crate lives where.

use std::fs;
use std::path::{Path, PathBuf};

/// Each room, and the rooms it may use. What is not listed is refused.
const DOORS: [(&str, &[&str]); 17] = [
    ("src/agents", &["agents", "lines", "mint", "processes", "session", "stream"]),
    (
        "src/cli",
        &[
            "agents",
            "cli",
            "config",
            "doors",
            "fronts",
            "gate",
            "hub",
            "lines",
            "mint",
            "processes",
            "report",
            "rules",
            "session",
            "setup",
            "store",
        ],
    ),
    ("src/config", &["config"]),
    ("src/doors/http", &["doors::http", "hub", "lines", "processes"]),
    ("src/fronts", &["agents", "fronts", "gate"]),
    ("src/gate", &["agents", "config", "doors", "gate", "hub", "processes", "report", "rules", "session", "store"]),
    ("src/hub", &["hub", "lines", "mint", "store", "stream"]),
    ("src/lines.rs", &["lines"]),
    ("src/mint.rs", &["mint"]),
    ("src/processes.rs", &["processes"]),
    ("src/report.rs", &["config", "gate", "report", "store"]),
    ("src/rules", &["rules", "config"]),
    ("src/session", &["lines", "mint", "session", "stream"]),
    ("src/setup", &["config", "processes", "report", "rules", "setup"]),
    ("src/store", &["store"]),
    ("src/stream.rs", &["stream"]),
    ("src/main.rs", &["cli", "report"]),
];

/// Crates that change often or bring I/O, each with the only places that may know them.
const HOMES: [(&str, &[&str]); 10] = [
    ("rmcp", &["src/agents/claude/channel"]),
    ("axum", &["src/doors/http"]),
    ("hyper", &["src/doors/http", "src/gate/client.rs"]),
    ("rusqlite", &["src/store/sqlite"]),
    ("clap", &["src/cli", "src/fronts/terminal/output.rs"]),
    ("jsonc_parser", &["src/setup"]),
    ("toml", &["src/config", "src/rules"]),
    ("utoipa", &["wire/src"]),
    (
        "tokio",
        &[
            "src/agents",
            "src/cli",
            "src/doors",
            "src/fronts",
            "src/gate",
            "src/hub",
            "src/lines.rs",
            "src/session",
            "src/store",
            "src/stream.rs",
        ],
    ),
    (
        "serde_json",
        &[
            "src/agents",
            "src/cli",
            "src/doors",
            "src/fronts",
            "src/gate",
            "src/hub",
            "src/rules",
            "src/session",
            "src/setup",
            "wire/src",
        ],
    ),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// Lines of code with their place; comments do not count.
fn code(folder: &str) -> Vec<(String, String)> {
    let mut lines = vec![];
    for path in sources(&root().join(folder)) {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let text = fs::read_to_string(&path).unwrap();
        let kept = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.extend(kept.map(|line| (name.clone(), line.to_owned())));
    }
    assert!(lines.len() > 100, "{folder} was read");
    lines
}

#[test]
fn rooms_use_only_the_rooms_they_may() {
    let mut broken = vec![];
    for (file, line) in code("src") {
        let room = DOORS.iter().find(|(room, _)| file.starts_with(room));
        let Some((_, allowed)) = room else {
            assert!(file == "src/doors/mod.rs", "{file} belongs to no room: add it to the list");
            continue;
        };
        for (place, _) in line.match_indices("crate::") {
            let used = &line[place + "crate::".len()..];
            let is = |room: &str| used.strip_prefix(room).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
            if !allowed.iter().any(|room| is(room)) {
                broken.push(format!("{file}: {}", line.trim()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_crate_that_changes_often_lives_in_one_room() {
    let mut broken = vec![];
    for folder in ["src", "core/src", "wire/src"] {
        for (file, line) in code(folder) {
            for (name, homes) in HOMES {
                let used = line.contains(&format!("{name}::"));
                let part_of_another = line.contains(&format!("_{name}::")) || line.contains(&format!("::{name}::"));
                if used && !part_of_another && !homes.iter().any(|home| file.starts_with(home)) {
                    broken.push(format!("{file}: {}", line.trim()));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_law_has_no_hands() {
    let manifest = fs::read_to_string(root().join("core/Cargo.toml")).unwrap();
    assert!(!manifest.contains("\n[dependencies]"), "core depends on nothing");
    let hands = ["std::fs", "std::net", "std::io", "std::time", "std::thread", "std::process", "std::env", "async fn"];
    for (file, line) in code("core/src").into_iter().chain(code("wire/src")) {
        assert!(!hands.iter().any(|hand| line.contains(hand)), "{file}: {line}");
    }
}

#[test]
fn a_file_opens_with_a_sentence() {
    for folder in ["src", "core/src", "wire/src", "tests/it", "bench"] {
        for path in sources(&root().join(folder)) {
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("//! "), "{} says nothing about itself", path.display());
        }
    }
}

#[test]
fn every_promise_names_a_test_that_there_is() {
    let tests: Vec<(String, String)> = ["src", "core/src", "wire/src", "tests/it"].into_iter().flat_map(code).collect();
    let is_there = |name: &str| {
        let (folder, function) = match name.strip_prefix("it::").and_then(|rest| rest.split_once("::")) {
            Some((room, function)) => (format!("tests/it/{room}.rs"), function),
            None => (String::new(), name),
        };
        let wanted = format!("fn {function}(");
        tests.iter().any(|(file, line)| file.starts_with(&folder) && line.contains(&wanted))
    };
    let security = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let rows = security.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let named = rows.flat_map(|(_, tests)| tests.split('`').skip(1).step_by(2)).filter(|name| name.contains('_'));
    // Rows of other tables name files, commands and variables.
    let named: Vec<&str> =
        named.filter(|name| !name.contains(['.', ' ', '/', '-', '=']) && name.to_lowercase() == **name).collect();
    let missing: Vec<&str> = named.iter().copied().filter(|name| !is_there(name)).collect();
    assert!(named.len() > 150, "{} were found", named.len());
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
