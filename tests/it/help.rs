//! Every `--help` is the reference, and the reference is every `--help`. `UPDATE_EXPECT=1` writes it anew.

use std::process::Command;

use expect_test::expect_file;

fn help(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_portcullis")).args(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names under `Commands:`.
fn subcommands(help: &str) -> Vec<String> {
    let rows = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = rows.filter(|row| row.starts_with("  ") && !row.starts_with("   "));
    names.filter_map(|row| row.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

fn chapter(words: &[&str], page: &mut String) {
    let text = help(words);
    let title = [&["portcullis"], words].concat().join(" ");
    let text: Vec<&str> = text.lines().map(str::trim_end).collect();
    page.push_str(&format!("## {title}\n```text\n{}\n```\n\n", text.join("\n").trim_end()));
    for name in subcommands(&text.join("\n")) {
        chapter(&[words, &[name.as_str()]].concat(), page);
    }
}

#[test]
fn every_help_is_in_the_reference() {
    let mut page = String::from("# The command line\n\nMade from `--help`; do not edit.\n\n");
    chapter(&[], &mut page);
    assert!(page.matches("\n## ").count() > 4, "{page}");
    expect_file!["../../docs/reference/cli.md"].assert_eq(&format!("{}\n", page.trim_end()));
}
