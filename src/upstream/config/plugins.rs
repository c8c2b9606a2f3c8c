//! Servers that plugins of Claude Code bring: those of plugins that the user installed, and did not switch off.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::ServerLayer;
use super::files::{ServerFiles, WrittenServer, servers_of};
use super::kept::{KeptFiles, whole};

#[derive(Default)]
pub(super) struct PluginServers {
    pub(super) entries: Vec<WrittenServer>,
    pub(super) problems: Vec<String>,
}

/// Where Claude Code writes down which plugins are installed.
pub(super) fn installed(files: &ServerFiles) -> PathBuf {
    files.claude.join("plugins/installed_plugins.json")
}

pub(super) fn read(files: &ServerFiles, kept: &KeptFiles, user_settings: &Value) -> PluginServers {
    let mut found = PluginServers::default();
    let (plugins, problem) = kept.object(&installed(files), whole);
    found.problems.extend(problem);
    let plugins = plugins.unwrap_or_default();
    let switches = user_settings.get("enabledPlugins");
    for (id, places) in plugins.get("plugins").and_then(Value::as_object).into_iter().flatten() {
        let switch = switches.and_then(|switches| switches.get(id)).and_then(Value::as_bool);
        for place in places.as_array().into_iter().flatten() {
            let text = |key: &str| place.get(key).and_then(Value::as_str);
            // What is installed for one project alone is on without a word in the user's own settings.
            let is_on = match text("scope") {
                Some("user") => switch == Some(true),
                _ => switch != Some(false) && text("projectPath").map(Path::new) == Some(&files.project),
            };
            if let (true, Some(root)) = (is_on, text("installPath")) {
                of_plugin(id, Path::new(root), (files, kept), &mut found);
            }
        }
    }
    found
}

fn of_plugin(id: &str, root: &Path, (files, kept): (&ServerFiles, &KeptFiles), found: &mut PluginServers) {
    let plugin = id.split_once('@').map_or(id, |(name, _)| name);
    let manifest = root.join(".claude-plugin/plugin.json");
    let mut object = |path: &Path| {
        let (object, problem) = kept.object(path, whole);
        found.problems.extend(problem);
        object.unwrap_or_default()
    };
    let own = root.join(".mcp.json");
    let mut all = vec![(own.clone(), servers(&object(&own)))];
    match object(&manifest).get("mcpServers") {
        Some(Value::Object(inline)) => all.push((manifest, inline.clone())),
        Some(Value::String(named)) => {
            let path = root.join(named);
            let servers = servers(&object(&path));
            all.push((path, servers));
        }
        _ => {}
    }
    let text = |path: &Path| path.display().to_string();
    let data = files.claude.join("plugins/data").join(id.replace(|letter: char| !is_plain(letter), "-"));
    let variables = BTreeMap::from([
        ("CLAUDE_PLUGIN_DATA".to_owned(), text(&data)),
        ("CLAUDE_PLUGIN_ROOT".to_owned(), text(root)),
        ("CLAUDE_PROJECT_DIR".to_owned(), text(&files.project)),
    ]);
    for (file, servers) in all {
        for (name, written) in servers {
            let name = format!("plugin:{plugin}:{name}");
            if !found.entries.iter().any(|known| known.name == name) {
                let (file, variables) = (file.clone(), variables.clone());
                let (layer, plugin) = (ServerLayer::Plugin, Some(id.to_owned()));
                found.entries.push(WrittenServer { name, layer, file, written, plugin, variables });
            }
        }
    }
}

/// Whether a letter of a plugin's id is part of the name of its folder for data.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

/// A plugin may leave out the key around its servers.
fn servers(file: &Map<String, Value>) -> Map<String, Value> {
    match servers_of(file) {
        Value::Object(servers) => servers,
        _ => file
            .iter()
            .filter(|(_, entry)| entry.is_object())
            .map(|(name, entry)| (name.clone(), entry.clone()))
            .collect(),
    }
}
