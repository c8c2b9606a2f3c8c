//! The structure of the sources: which module may use which, and which crate is used where.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each module, and the modules it may use. What is not listed is refused.
const DOORS: [(&str, &[&str]); 25] = [
    ("src/agents", &["agents", "fixed", "lines", "locks", "mint", "processes", "session", "stream", "upstream"]),
    (
        "src/cli",
        &[
            "agents",
            "cli",
            "config",
            "doors",
            "failure",
            "files",
            "fixed",
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
            "upstream",
        ],
    ),
    ("src/config", &["config", "failure", "processes"]),
    ("src/doors/chat", &["doors::chat", "hub", "lines", "mint", "stream"]),
    ("src/doors/http", &["doors::http", "files", "fixed", "hub", "lines", "locks", "push", "turns"]),
    ("src/failure.rs", &["failure"]),
    ("src/files.rs", &["files", "fixed"]),
    ("src/fixed.rs", &["fixed"]),
    (
        "src/fronts",
        &[
            "agents",
            "config",
            "failure",
            "files",
            "fronts",
            "gate",
            "lines",
            "locks",
            "mint",
            "processes",
            "rules",
            "session",
            "stream",
        ],
    ),
    (
        "src/gate",
        &[
            "agents",
            "config",
            "doors",
            "failure",
            "files",
            "fixed",
            "gate",
            "hub",
            "locks",
            "processes",
            "push",
            "report",
            "rules",
            "session",
            "store",
        ],
    ),
    ("src/hub", &["hub", "lines", "locks", "mint", "processes", "store", "stream"]),
    ("src/lines.rs", &["lines"]),
    ("src/locks.rs", &["locks"]),
    ("src/mint.rs", &["fixed", "mint"]),
    ("src/processes", &["fixed", "processes"]),
    ("src/push", &["fixed", "locks", "mint", "push"]),
    ("src/report.rs", &["failure", "report"]),
    ("src/rules", &["config", "failure", "rules"]),
    ("src/session", &["files", "fixed", "lines", "locks", "mint", "rules", "session", "stream"]),
    ("src/setup", &["config", "failure", "processes", "report", "rules", "setup"]),
    ("src/store", &["store"]),
    ("src/stream.rs", &["stream"]),
    ("src/turns.rs", &["turns"]),
    ("src/upstream", &["config", "fixed", "lines", "locks", "rules", "setup", "turns", "upstream"]),
    ("src/main.rs", &["cli", "report"]),
];

/// The rooms of `core::policy`, in their order.
const POLICY_ROOMS: [&str; 10] =
    ["shell", "words", "commands", "lines", "names", "languages", "texts", "files", "critical", "rules"];

/// The files there that use a room behind their own, and which. The list only gets shorter.
const POLICY_BACK_DOORS: [(&str, &str); 20] = [
    ("words/setting.rs", "commands"),
    ("commands/awk.rs", "languages"),
    ("commands/erasing.rs", "files"),
    ("commands/erasing.rs", "lines"),
    ("commands/sed.rs", "languages"),
    ("lines/perhaps.rs", "rules"),
    ("lines/shifting.rs", "files"),
    ("lines/starts.rs", "texts"),
    ("lines/suspects.rs", "languages"),
    ("lines/suspects.rs", "texts"),
    ("names/implied.rs", "files"),
    ("names/printing.rs", "files"),
    ("names/sought.rs", "files"),
    ("languages/general.rs", "texts"),
    ("languages/mod.rs", "texts"),
    ("languages/input.rs", "texts"),
    ("languages/placing.rs", "texts"),
    ("files/call.rs", "critical"),
    ("files/call.rs", "rules"),
    ("files/touching.rs", "critical"),
];

/// Crates that change often or bring I/O, each with the only places that may know them.
const HOMES: [(&str, &[&str]); 17] = [
    ("agent_client_protocol", &["src/fronts/acp"]),
    ("rmcp", &["src/agents/claude/channel", "src/agents/gateway", "src/agents/mcp_stdio", "src/upstream"]),
    ("axum", &["src/doors/http"]),
    ("hyper", &["src/agents/gateway", "src/doors/http", "src/gate/client.rs", "src/push", "src/upstream"]),
    ("hyper_rustls", &["src/push", "src/upstream/transport"]),
    ("tokio_tungstenite", &["src/upstream/transport"]),
    ("sse_stream", &["src/upstream/transport"]),
    ("image", &["src/upstream/shape"]),
    ("p256", &["src/push"]),
    ("web_push_native", &["src/push"]),
    ("rusqlite", &["src/store/sqlite"]),
    ("clap", &["src/cli"]),
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
            "src/push",
            "src/session",
            "src/setup/service.rs",
            "src/store",
            "src/stream.rs",
            "src/upstream",
            "src/turns.rs",
        ],
    ),
    (
        "serde_json",
        &[
            "src/agents",
            "src/cli",
            "src/config/environment.rs",
            "src/config/session_shell.rs",
            "src/doors",
            "src/fronts",
            "src/gate",
            "src/hub",
            "src/lines.rs",
            "src/push",
            "src/rules",
            "src/session",
            "src/setup",
            "src/upstream",
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
fn modules_use_only_the_modules_they_may() {
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
fn a_room_of_the_policy_uses_those_before_it() {
    let place = |room: &str| POLICY_ROOMS.iter().position(|one| *one == room);
    let mut used = BTreeSet::new();
    for path in sources(&root().join("core/src/policy")) {
        let file = path.strip_prefix(root().join("core/src/policy")).unwrap().display().to_string();
        let Some(own) = file.split('/').next().and_then(place) else { continue };
        let text = fs::read_to_string(&path).unwrap();
        // Tests within a file come last.
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let rooms = line.split("crate::policy::").skip(1).filter_map(|used| used.split([':', ';']).next());
            let later = rooms.filter(|room| place(room).is_some_and(|room| room > own));
            used.extend(later.map(|room| (file.clone(), room.to_owned())));
        }
    }
    let allowed = POLICY_BACK_DOORS.map(|(file, room)| (file.to_owned(), room.to_owned())).into();
    let new: Vec<_> = used.difference(&allowed).collect();
    assert!(new.is_empty(), "these use a room that comes later: {new:?}");
    let gone: Vec<_> = allowed.difference(&used).collect();
    assert!(gone.is_empty(), "take these off the list: {gone:?}");
}

#[test]
fn an_external_crate_is_used_only_where_the_list_allows_it() {
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
fn core_and_wire_do_no_io() {
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
fn every_promise_names_a_test_that_exists() {
    let crates = [("portcullis", "src"), ("core", "core/src"), ("wire", "wire/src"), ("it", "tests/it")];
    let mut tests: BTreeSet<String> = crates.into_iter().flat_map(|(name, folder)| tests_of(name, folder)).collect();
    // These are a program of their own, which says what its tests are called.
    for file in sources(&root().join("tests/shell")) {
        let text = fs::read_to_string(&file).unwrap();
        let names = text.split("const NAME: &str = \"").skip(1).filter_map(|behind| behind.split('"').next());
        tests.extend(names.map(|name| format!("shell::{name}")));
    }
    let promises = fs::read_to_string(root().join("docs/promises.md")).unwrap();
    let rows = promises.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let quoted = rows.flat_map(|(_, tests)| tests.split('`').skip(1).step_by(2));
    // The only other thing quoted there is a setting of the workspace.
    let named: Vec<&str> = quoted.filter(|name| !name.contains(' ')).collect();
    let missing: Vec<&str> = named.iter().copied().filter(|name| !tests.contains(*name)).collect();
    assert!(named.len() > 150, "{} were found", named.len());
    assert!(missing.is_empty(), "no test has this path:\n{}", missing.join("\n"));
}

/// The path of every test of a crate: the crate, the modules by their files, the modules within a file, the function.
fn tests_of(name: &str, folder: &str) -> Vec<String> {
    let mut tests = vec![];
    for file in sources(&root().join(folder)) {
        let place = file.strip_prefix(root().join(folder)).unwrap().with_extension("");
        let words = place.iter().filter_map(|word| word.to_str());
        let outer = words.filter(|word| !["main", "lib", "mod"].contains(word));
        let outer: Vec<&str> = std::iter::once(name).chain(outer).collect();
        let text = fs::read_to_string(&file).unwrap();
        let mut inner: Vec<(usize, &str)> = vec![];
        let mut is_test = false;
        for line in text.lines() {
            let code = line.trim_start();
            let indent = line.len() - code.len();
            if code == "}" && inner.last().is_some_and(|(opened, _)| *opened == indent) {
                inner.pop();
            } else if let Some(module) = code.strip_suffix(" {").and_then(|code| code.rsplit_once("mod ")) {
                inner.push((indent, module.1));
            } else if code == "#[test]" || code.starts_with("#[tokio::test") {
                is_test = true;
            } else if let Some((_, function)) = code.split_once("fn ").filter(|_| is_test) {
                let function = function.split('(').next();
                let path = outer.iter().copied().chain(inner.iter().map(|(_, module)| *module)).chain(function);
                tests.push(path.collect::<Vec<_>>().join("::"));
                is_test = false;
            }
        }
    }
    tests
}

/// Names that several types share, each with the reason.
const SHARED_NAMES: [(&str, &str); 14] = [
    ("Ask", "a command of the command line is named as what it is about"),
    ("Batch", "of the hub, and of the store's writer; neither sees the other's"),
    ("Command", "of the command line, and what a front wants of a session"),
    ("Decision", "a rule's and the gatekeeper's, as the design names them"),
    ("Durability", "the setting and the store's own; the store knows no configuration"),
    ("Entry", "of the store, and of another program's file"),
    ("Found", "in the store's chain, and in another program's file"),
    ("Gate", "the daemon, and what its links know of it"),
    ("Outcome", "of a session, and of an answer over a connector's socket"),
    ("Place", "of rules, and of our own program"),
    ("Rules", "a command"),
    ("Session", "a command"),
    ("Status", "a command, and what the API answers to it"),
    ("Token", "a command"),
];

/// Files of modules that are compiled for tests alone.
fn test_modules(files: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = vec![];
    for file in files {
        let text = fs::read_to_string(file).unwrap();
        let is_root = ["mod", "lib", "main"].iter().any(|name| file.file_stem().is_some_and(|stem| stem == *name));
        let folder = if is_root { file.parent().unwrap().to_owned() } else { file.with_extension("") };
        for (attribute, module) in text.lines().zip(text.lines().skip(1)) {
            let name = module.rsplit_once("mod ").and_then(|(_, name)| name.strip_suffix(';'));
            if let (true, Some(name)) = (attribute.trim() == "#[cfg(test)]", name) {
                found.push(folder.join(name));
            }
        }
    }
    found
}

/// The name of the type that a line defines; types of traits and their implementations are not counted.
fn defined_type(line: &str) -> Option<&str> {
    let unindented = line.trim_start();
    let public = unindented.strip_prefix("pub").map(|rest| match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(')').map_or(rest, |(_, rest)| rest),
        None => rest,
    });
    let definition = public.unwrap_or(unindented).trim_start();
    let (kind, rest) = definition.split_once(' ')?;
    let is_type = matches!(kind, "struct" | "enum" | "trait") || kind == "type" && line == unindented;
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    // A macro's own `$name` is no name.
    (is_type && end > 0).then_some(&rest[..end])
}

#[test]
fn a_type_has_a_name_of_its_own() {
    let folders = ["core/src", "wire/src", "src"];
    let files: Vec<PathBuf> = folders.iter().flat_map(|folder| sources(&root().join(folder))).collect();
    let tests = test_modules(&files);
    let is_test = |file: &PathBuf| tests.iter().any(|test| file.with_extension("").starts_with(test));
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| !is_test(file)) {
        let text = fs::read_to_string(file).unwrap();
        // Tests within a file come last.
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for name in code.lines().filter_map(defined_type) {
            let place = file.strip_prefix(root()).unwrap().display().to_string();
            places.entry(name.to_owned()).or_default().push(place);
        }
    }
    assert!(places.len() > 400, "{} types were found", places.len());
    places.retain(|_, places| places.len() > 1);
    assert!(SHARED_NAMES.len() <= 15);
    for (name, reason) in SHARED_NAMES {
        assert!(places.remove(name).is_some(), "{name} is no longer shared: take it off the list ({reason})");
    }
    assert!(places.is_empty(), "rename one of each: {places:#?}");
}
