//! What people are told by the program: no message points to a file that only the repository has.

use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "md") {
            found.push(path);
        }
    }
}

/// The part of a source file that is in the program: no comments that only programmers read, and no tests.
fn spoken(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let program = text.split("#[cfg(test)]").next().unwrap_or_default();
    // A doc comment of a command or an argument is its help, so `///` stays.
    program.lines().enumerate().filter(|(_, line)| {
        let line = line.trim_start();
        !line.starts_with("//") || line.starts_with("///")
    })
}

#[test]
fn no_message_points_to_a_file_of_the_repository() {
    const ONLY_HERE: [&str; 7] =
        ["docs/", "SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "STYLE.md", "README.zh"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = vec![];
    for folder in ["src", "core/src", "wire/src"] {
        files(&root.join(folder), &mut all);
    }
    let is_test = |path: &Path| {
        let text = path.display().to_string();
        ["/tests.rs", "/tests/", "/everyday.rs", "/table/", "/properties.rs", "/scripts/"]
            .iter()
            .any(|part| text.contains(part))
    };
    let mut found = vec![];
    let mut looked_at = 0;
    for path in all.iter().filter(|path| !is_test(path)) {
        let text = fs::read_to_string(path).unwrap();
        for (line, words) in spoken(&text) {
            looked_at += 1;
            if ONLY_HERE.iter().any(|file| words.contains(file)) {
                found.push(format!("{}:{}: {}", path.display(), line + 1, words.trim()));
            }
        }
    }
    assert!(looked_at > 5_000, "{looked_at}");
    assert!(found.is_empty(), "{}", found.join("\n"));
}
