//! The plugin as the real CLI takes it: validated, added, installed, listed, connected.

use crate::fakes::model::Model;
use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::claude::Claude;
use crate::support::home::{Home, Ran};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

#[track_caller]
fn claude(home: &Home, words: &[&str]) -> String {
    let model = Model::start(Vec::new());
    let mut command = Claude::command(home, &model);
    command.args(words);
    Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE * 3).ok().stdout
}

fn folder(home: &Home) -> PathBuf {
    home.user().join("a plugin")
}

#[test]
fn the_real_cli_validates_adds_installs_and_connects_the_plugin() {
    let home = Home::new();
    let folder = folder(&home);
    let dir = folder.to_str().unwrap();
    let ran = home.run(&["plugin", dir]).ok();
    assert!(ran.stdout.contains(&format!("  claude plugin marketplace add '{dir}'\n")), "{}", ran.stdout);

    assert!(claude(&home, &["plugin", "validate", "--strict", dir]).contains("Validation passed"));
    let plugin = folder.join("plugins/portcullis");
    let validated =
        claude(&home, &["plugin", "validate", "--strict", "--profile", "directory", plugin.to_str().unwrap()]);
    assert!(validated.contains("Validation passed"), "{validated}");

    claude(&home, &["plugin", "marketplace", "add", dir]);
    claude(&home, &["plugin", "install", "portcullis@portcullis"]);
    let listed: Value = serde_json::from_str(&claude(&home, &["plugin", "list", "--json"])).unwrap();
    assert_eq!((&listed[0]["id"], &listed[0]["enabled"]), (&"portcullis@portcullis".into(), &true.into()), "{listed}");
    assert_eq!(listed[0]["version"], env!("CARGO_PKG_VERSION"));

    let program = home.user().join(".local/bin/portcullis");
    let servers = claude(&home, &["mcp", "list"]);
    let want = format!("plugin:portcullis:portcullis: {} channel - ✔ Connected", program.display());
    assert!(servers.contains(&want), "{servers}");
    let details = claude(&home, &["plugin", "details", "portcullis@portcullis"]);
    assert!(details.contains("Skills (1)  portcullis"), "{details}");
}

#[test]
fn a_plugin_folder_is_updated_and_any_other_folder_is_left_alone() {
    let home = Home::new();
    let folder = folder(&home);
    fs::create_dir(&folder).unwrap();
    let dir = folder.to_str().unwrap();
    home.run(&["plugin", dir]).ok();
    let server = folder.join("plugins/portcullis/.mcp.json");
    fs::write(&server, "{}").unwrap();
    home.run(&["plugin", dir]).ok();
    assert!(fs::read_to_string(&server).unwrap().contains("channel"));

    let ran = home.run(&["plugin", home.user().to_str().unwrap()]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(ran.stderr.contains("already holds something else"), "{}", ran.stderr);
    assert!(!home.user().join(".claude-plugin").exists());
}
