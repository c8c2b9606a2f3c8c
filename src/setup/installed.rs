//! Which settings Claude Code reads in a folder, and what of ours is in them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use portcullis_core::visible;
use serde_json::Value;

use super::claude::{ClaudeFiles, project_file};
use super::entry::is_plain_json;
use super::git::home_of_project;
use super::hooks::{is_shared, server_of};
use super::json::Document;
use super::settings::groups_of_ours;
use super::target::SettingsScope;
use crate::config::Environment;

/// One file of settings, and the scope by which `install` writes it.
pub(crate) struct SettingsFile {
    pub(crate) file: PathBuf,
    pub(crate) scope: SettingsScope,
    /// What Claude Code reads there; null where there is no file, or none that it reads.
    pub(crate) said: Value,
    /// What stands in a file that it refuses whole, for a comment or a comma too many; null elsewhere.
    refused: Value,
}

/// The settings of the user, of the folder, and of the repository for this user alone (seen with 2.1.325).
pub(crate) fn settings_files(project: &Path, environment: Environment<'_>) -> Vec<SettingsFile> {
    let user =
        ClaudeFiles::find(environment).ok().map(|files| (files.folder.join("settings.json"), SettingsScope::User));
    let local = |folder: &Path| (folder.join(".claude/settings.local.json"), SettingsScope::Local);
    let mut files: Vec<(PathBuf, SettingsScope)> = user.into_iter().collect();
    files.push((project.join(".claude/settings.json"), SettingsScope::Project));
    files.push(local(&home_of_project(project)));
    files.push(local(project));
    // A session in the home folder reads its own as if it were the project's.
    let mut seen: Vec<PathBuf> = vec![];
    files.retain(|(file, _)| {
        !seen.contains(file) && {
            seen.push(file.clone());
            true
        }
    });
    let read = |(file, scope): (PathBuf, SettingsScope)| {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let said = Document::parse(&text).map(|document| document.said()).unwrap_or_default();
        let (said, refused) = if is_plain_json(&text) { (said, Value::Null) } else { (Value::Null, said) };
        SettingsFile { file, scope, said, refused }
    };
    files.into_iter().map(read).collect()
}

/// The settings that keep all hooks from being called.
pub(crate) fn without_hooks(settings: &[SettingsFile]) -> Option<&SettingsFile> {
    settings.iter().find(|settings| settings.said["disableAllHooks"] == true)
}

impl SettingsFile {
    /// Each group of our hooks, with the event it is for.
    pub(crate) fn hooks(&self) -> Vec<(&str, &Value)> {
        groups_of_ours(&self.said)
    }

    /// Whether hooks of ours stand in it that Claude Code never calls, as it refuses the file.
    pub(crate) fn has_refused_hooks(&self) -> bool {
        !groups_of_ours(&self.refused).is_empty()
    }

    /// Plugins of ours that are switched on.
    pub(crate) fn plugins(&self) -> impl Iterator<Item = &str> {
        let plugins = self.said["enabledPlugins"].as_object().into_iter().flatten();
        let ours = plugins.filter(|(name, enabled)| name.starts_with("portcullis@") && **enabled == true);
        ours.map(|(name, _)| name.as_str())
    }
}

/// The files whose hooks or plugins of ours Claude Code calls in this folder.
pub(crate) fn files_with_hooks(project: &Path, environment: Environment<'_>) -> Vec<PathBuf> {
    let mut settings = settings_files(project, environment);
    settings.retain(|settings| !settings.hooks().is_empty() || settings.plugins().next().is_some());
    settings.into_iter().map(|settings| settings.file).collect()
}

/// Whether this user has hooks of their own in this folder, by `install` or by the plugin. Those of the project, which
/// others share, then leave the calls about tools to them.
pub(crate) fn has_hooks_of_own(project: &Path, environment: Environment<'_>) -> bool {
    settings_files(project, environment).iter().any(|settings| {
        settings.plugins().next().is_some() || settings.hooks().iter().any(|(_, group)| !is_shared(group))
    })
}

/// A server of the project under the name by which the user's hooks call ours.
pub(crate) struct Namesake {
    file: PathBuf,
    name: String,
}

impl Namesake {
    /// Finds one that Claude Code prefers: to a server of the user, not to one of the user in this project (seen with
    /// 2.1.325).
    pub(crate) fn find(project: &Path, environment: Environment<'_>) -> Option<Self> {
        let settings = settings_files(project, environment);
        let names_in = |scope: SettingsScope| {
            let hooks = settings.iter().filter(move |settings| settings.scope == scope).flat_map(SettingsFile::hooks);
            hooks.filter_map(|(_, group)| server_of(group).as_str().map(str::to_owned)).collect::<BTreeSet<String>>()
        };
        let (names, hidden) = (names_in(SettingsScope::User), names_in(SettingsScope::Local));
        let names: Vec<String> = names.difference(&hidden).cloned().collect();
        project.ancestors().map(project_file).find_map(|file| {
            let text = std::fs::read_to_string(&file).ok()?;
            let said: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
            let name = names.iter().find(|name| said["mcpServers"].get(name.as_str()).is_some())?.clone();
            Some(Self { file, name })
        })
    }

    /// What it means, in one line.
    pub(crate) fn in_words(&self) -> String {
        format!(
            "{} names a server {:?}, which Claude Code prefers to yours: events and replies do not come through, and prompts \
             are answered at the terminal alone; your rules hold all the same",
            visible(&self.file.display().to_string()),
            self.name
        )
    }
}

/// Variables that a file of the project gives to everything Claude Code runs, our hooks among it, and that end or replace
/// the program that gets them, or change what ours believes.
pub(crate) struct HarmfulVariables {
    pub(crate) file: PathBuf,
    names: Vec<String>,
}

/// How such a variable begins: those of the loader, of the C library, of shells, of Rust and our own.
const HARMFUL: [&str; 10] = [
    "LD_",
    "DYLD_",
    "MALLOC_",
    "GLIBC_TUNABLES",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_ENV",
    "BASH_FUNC_",
    "RUST_",
    "PORTCULLIS_",
];

impl HarmfulVariables {
    /// Finds them in what lies in the project. What the user's own settings say is the user's.
    pub(crate) fn find(project: &Path, environment: Environment<'_>) -> Vec<Self> {
        let files = settings_files(project, environment).into_iter();
        let of_project = files.filter(|settings| settings.scope != SettingsScope::User);
        let found = of_project.map(|settings| {
            let names = settings.said["env"].as_object().into_iter().flat_map(serde_json::Map::keys);
            let is_harmful = |name: &&String| HARMFUL.iter().any(|begin| name.starts_with(begin));
            let names = names.filter(is_harmful).map(|name| visible(name)).collect();
            Self { file: settings.file, names }
        });
        found.filter(|found| !found.names.is_empty()).collect()
    }

    /// What they mean, in one line.
    pub(crate) fn in_words(&self) -> String {
        const MOST: usize = 5;
        let more = if self.names.len() > MOST { " and more" } else { "" };
        format!(
            "{} sets {}{more} for everything that Claude Code runs, also for our hooks: they can be ended or replaced by that, \
             and then no rule holds",
            visible(&self.file.display().to_string()),
            self.names.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ")
        )
    }

    /// What to do about them.
    pub(crate) const REMEDY: &str =
        "remove them from `env` there before you work in this folder, unless you put them there";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_in_a_file_that_claude_code_refuses_are_no_hooks_of_ones_own() {
        let home = tempfile::tempdir().unwrap();
        let environment = |name: &str| (name == "HOME").then(|| home.path().into());
        let project = home.path().join("project");
        std::fs::create_dir_all(project.join(".claude")).unwrap();
        assert!(!has_hooks_of_own(&project, &environment));
        // Seen with 2.1.325: a mark at the beginning is read over; a comment or a comma too many loses the whole file.
        for (text, counts) in [
            ("\u{feff}{\"enabledPlugins\": {\"portcullis@team\": true}}\n", true),
            ("{\n  // on since May\n  \"enabledPlugins\": {\"portcullis@team\": true}}\n", false),
            ("{\"enabledPlugins\": {\"portcullis@team\": true},}\n", false),
        ] {
            std::fs::write(project.join(".claude/settings.local.json"), text).unwrap();
            assert_eq!(has_hooks_of_own(&project, &environment), counts, "{text}");
        }
    }

    #[test]
    fn variables_of_a_project_that_end_our_hook_are_found() {
        let home = tempfile::tempdir().unwrap();
        let environment = |name: &str| (name == "HOME").then(|| home.path().into());
        let project = home.path().join("project");
        std::fs::create_dir_all(project.join(".claude")).unwrap();
        std::fs::create_dir_all(home.path().join(".claude")).unwrap();
        let write = |file: PathBuf, name: &str| {
            std::fs::write(file, format!("{{\"env\": {{\"NODE_ENV\": \"test\", \"{name}\": \"x\"}}}}")).unwrap();
        };
        let found = || HarmfulVariables::find(&project, &environment);
        write(home.path().join(".claude/settings.json"), "LD_PRELOAD");
        write(project.join(".claude/settings.json"), "EDITOR");
        assert!(found().is_empty(), "what is the user's own, and what does no harm");
        for name in [
            "LD_PRELOAD",
            "LD_AUDIT",
            "LD_LIBRARY_PATH",
            "LD_DEBUG",
            "LD_TRACE_LOADED_OBJECTS",
            "MALLOC_TOP_PAD_",
            "GLIBC_TUNABLES",
            "SHELLOPTS",
            "BASH_FUNC_[%%",
            "RUST_MIN_STACK",
            "PORTCULLIS_HOME",
            "DYLD_INSERT_LIBRARIES",
        ] {
            for file in [".claude/settings.json", ".claude/settings.local.json"] {
                write(project.join(file), name);
                let words: Vec<String> = found().iter().map(HarmfulVariables::in_words).collect();
                assert!(words.len() == 1 && words[0].contains(name) && !words[0].contains("NODE_ENV"), "{words:?}");
                std::fs::remove_file(project.join(file)).unwrap();
            }
        }
    }
}
