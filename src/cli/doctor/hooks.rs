//! The hooks: where they are installed, whether all of them are, and whether what they call is there.

use std::path::{Path, PathBuf};

use portcullis_wire::api::SessionView;
use portcullis_wire::hooks::{HOOKS_VERSION, HookEvent};
use serde_json::Value;

use super::finding::Finding;
use crate::cli::environment;
use crate::cli::setup::claude::{ClaudeFiles, managed_settings};
use crate::cli::setup::hooks::{is_ours, version_of};

const CHECK: &str = "hooks";
const AGAIN: &str = "run `portcullis install --hooks` again, with the same --scope";

pub(super) struct HooksFindings {
    pub(super) findings: Vec<Finding>,
    pub(super) are_installed: bool,
}

/// One file of settings, and the flag by which `install` writes it.
struct Settings {
    file: PathBuf,
    scope: &'static str,
    said: Value,
}

/// `names` are the servers that Claude Code starts for us: `server:NAME`, `plugin:NAME@MARKET`.
pub(super) fn look(project: &Path, names: &[String]) -> HooksFindings {
    let settings = all_settings(project);
    let mut findings = vec![];
    let installed: Vec<&Settings> = settings.iter().filter(|settings| !ours(&settings.said).is_empty()).collect();
    for settings in &installed {
        findings.extend(installation(settings, names));
    }
    let by_plugin = names.iter().any(|name| name.starts_with("plugin:portcullis@"));
    if by_plugin {
        let rules = "it brings no rules: allow `reply`, `edit_message` and `inbox` when Claude Code asks";
        findings.push(Finding::ok(CHECK, format!("by the plugin; {rules}")));
    }
    let places = installed.len() + usize::from(by_plugin);
    if places > 1 {
        let what = format!("installed {places} times: each prompt comes twice");
        findings.push(Finding::warn(CHECK, what, "keep one: `portcullis uninstall --scope …`, or remove the plugin"));
    }
    if places == 0 {
        let what = "not installed: prompts and events only go through the channel, where the account has it";
        findings.push(Finding::note(CHECK, what).with("`portcullis install --hooks`"));
    }
    findings.extend(switched_off(&settings).filter(|_| places > 0));
    HooksFindings { findings, are_installed: places > 0 }
}

fn all_settings(project: &Path) -> Vec<Settings> {
    let user = ClaudeFiles::find(&environment).ok().map(|files| (files.folder.join("settings.json"), "user"));
    let here = [("settings.json", "project"), ("settings.local.json", "local")];
    let here = here.map(|(name, scope)| (project.join(".claude").join(name), scope));
    let read = |(file, scope): (PathBuf, &'static str)| {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let said = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
        Settings { file, scope, said }
    };
    user.into_iter().chain(here).map(read).collect()
}

/// Each group of our hooks, with the event it is for.
fn ours(settings: &Value) -> Vec<(&str, &Value)> {
    let groups = settings["hooks"].as_object().into_iter().flatten();
    let groups = groups
        .flat_map(|(event, groups)| groups.as_array().into_iter().flatten().map(move |group| (event.as_str(), group)));
    groups.filter(|(_, group)| is_ours(group)).collect()
}

/// Sessions whose hooks an older release wrote.
pub(super) fn old_in_sessions(sessions: &[SessionView]) -> Option<Finding> {
    let old = sessions.iter().filter(|session| session.state == "attached" && session.has_old_hooks());
    let old: Vec<&str> = old.map(|session| session.label.as_str()).collect();
    let what = format!("sessions with hooks of an older release: {}", old.join(", "));
    let remedy = "run `portcullis install --hooks` in their folder with the same --scope, then start them again";
    (!old.is_empty()).then(|| Finding::warn(CHECK, what, remedy))
}

fn installation(settings: &Settings, names: &[String]) -> Vec<Finding> {
    let (groups, file) = (ours(&settings.said), settings.file.display());
    let oldest = groups.iter().filter_map(|(_, group)| version_of(group)).min();
    let hooks: Vec<(&str, &Value)> = groups.iter().map(|(event, group)| (*event, &group["hooks"][0])).collect();
    let is_there = |event: &HookEvent| hooks.iter().any(|(name, _)| *name == event.name());
    let missing: Vec<&str> = HookEvent::ALL.iter().filter(|event| !is_there(event)).map(|event| event.name()).collect();
    let mut findings = vec![match missing.as_slice() {
        [] => Finding::ok(CHECK, format!("all {} in {file}", HookEvent::ALL.len())),
        missing => Finding::warn(CHECK, format!("{file} lacks {}", missing.join(", ")), AGAIN),
    }];
    if let Some(version) = oldest.filter(|version| *version < HOOKS_VERSION) {
        let what = format!("{file} has hooks of an older release (version {version} of {HOOKS_VERSION})");
        findings.push(Finding::warn(CHECK, what, format!("{AGAIN} {}", settings.scope)));
    }
    let mut programs: Vec<&str> = hooks.iter().filter_map(|(_, hook)| hook["command"].as_str()).collect();
    programs.dedup();
    for program in programs.into_iter().filter(|program| !Path::new(program).is_file()) {
        let what = format!("{file} calls {program}, which does not exist");
        findings.push(Finding::fail(CHECK, what, AGAIN));
    }
    let mut servers: Vec<&str> = hooks.iter().filter_map(|(_, hook)| hook["server"].as_str()).collect();
    servers.sort_unstable();
    servers.dedup();
    for server in servers {
        if !names.contains(&format!("server:{server}")) {
            let what = format!("{file} calls the server {server:?}, which is not registered here");
            findings.push(Finding::fail(CHECK, what, AGAIN));
        }
        let denied = settings.said["permissions"]["deny"].as_array().into_iter().flatten();
        let rule = format!("mcp__{server}__hook");
        if !denied.into_iter().any(|denied| *denied == rule) {
            let what = format!("{file} has no deny rule {rule}; the gate refuses the model in any case");
            findings.push(Finding::warn(CHECK, what, format!("{AGAIN} {}", settings.scope)));
        }
    }
    findings
}

/// A setting that keeps all hooks from being called.
fn switched_off(settings: &[Settings]) -> Option<Finding> {
    if let Some(settings) = settings.iter().find(|settings| settings.said["disableAllHooks"] == true) {
        let what = format!("disableAllHooks is true in {}: no hook is called", settings.file.display());
        return Some(Finding::warn(CHECK, what, "remove that line"));
    }
    let managed = std::fs::read_to_string(managed_settings()).unwrap_or_default();
    let managed: Value = serde_json::from_str(&managed).unwrap_or_default();
    let only = managed["allowManagedHooksOnly"] == true;
    only.then(|| {
        let what =
            format!("allowManagedHooksOnly is true in {}: none of your hooks is called", managed_settings().display());
        Finding::warn(CHECK, what, "ask who administers Claude Code in your organisation")
    })
}
