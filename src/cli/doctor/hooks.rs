//! The hooks: where they are installed, whether all of them are, and whether what they call is there.

use std::collections::BTreeSet;
use std::path::Path;

use portcullis_core::shell_word;
use portcullis_wire::api::SessionView;
use portcullis_wire::hooks::own::program_of;
use portcullis_wire::hooks::{HOOKS_VERSION, HookEvent};
use serde_json::Value;

use super::finding::{Blocks, Finding};
use crate::cli::environment;
use crate::cli::setup::claude::{managed_settings, managed_settings_said};
use crate::cli::setup::git::Tracking;
use crate::cli::setup::hooks::{is_shared, version_of};
use crate::cli::setup::installed::{HarmfulVariables, Namesake, SettingsFile, settings_files, without_hooks};
use crate::cli::setup::target::SettingsScope;

const CHECK: &str = "hooks";

/// `names` are the servers that Claude Code starts for us: `server:NAME`, `plugin:NAME@MARKET`.
pub(super) fn look(project: &Path, names: &[String]) -> Vec<Finding> {
    let settings = settings_files(project, &environment);
    let installed: Vec<&SettingsFile> = settings.iter().filter(|settings| !settings.hooks().is_empty()).collect();
    let mut findings: Vec<Finding> = installed.iter().flat_map(|settings| installation(settings, names)).collect();
    let by_plugin = names.iter().any(|name| name.starts_with("plugin:portcullis@"));
    if by_plugin {
        let rules = "it brings no rules: allow `reply`, `edit_message` and `inbox` when Claude Code asks";
        findings.push(Finding::ok(CHECK, format!("by the plugin; {rules}")));
    }
    // Those that a project shares leave the calls to the user's own.
    let is_own = |settings: &&&SettingsFile| settings.hooks().iter().any(|(_, group)| !is_shared(group));
    let own: Vec<&&SettingsFile> = installed.iter().filter(is_own).collect();
    // Claude Code runs a hook once that stands in two files (seen with 2.1.325), as long as both say the same.
    let programs: BTreeSet<&str> = own.iter().flat_map(|settings| programs_of(&settings.hooks())).collect();
    if by_plugin && !own.is_empty() || programs.len() > 1 {
        let what = "installed more than once: each hook is called twice";
        let remedy = match own.as_slice() {
            [.., last] => format!("keep one: `portcullis uninstall --scope {}`", last.scope.name()),
            [] => "keep one of the plugins".to_owned(),
        };
        findings.push(Finding::warn(CHECK, what, remedy));
    }
    let refused: Vec<&SettingsFile> = settings.iter().filter(|settings| settings.has_refused_hooks()).collect();
    for settings in &refused {
        let what =
            format!("{} has them, and Claude Code refuses the file: it is not plain JSON", settings.file.display());
        let found = Finding::warn(CHECK, what, "take comments and trailing commas out of it");
        let is_all = installed.is_empty() && !by_plugin;
        findings.push(if is_all { found.blocking(Blocks::Hooks) } else { found });
    }
    if installed.is_empty() && refused.is_empty() && !by_plugin {
        let what = "not installed: prompts and events only go through the channel, where the account has it";
        findings.push(Finding::note(CHECK, what).with("`portcullis install --hooks`").blocking(Blocks::Hooks));
    }
    findings.extend(Namesake::find(project, &environment).map(|namesake| {
        let remedy = "remove it there, or have your own come first in this project: `portcullis install --hooks`";
        Finding::warn(CHECK, namesake.in_words(), remedy).blocking(Blocks::Sessions)
    }));
    findings.extend(
        HarmfulVariables::find(project, &environment)
            .iter()
            .map(|found| Finding::warn(CHECK, found.in_words(), HarmfulVariables::REMEDY).blocking(Blocks::Hooks)),
    );
    findings.extend(switched_off(&settings));
    findings
}

/// Sessions whose hooks an older release wrote.
pub(super) fn old_in_sessions(sessions: &[SessionView]) -> Option<Finding> {
    let old = sessions.iter().filter(|session| session.state == "attached" && session.has_old_hooks());
    let old: Vec<&str> = old.map(|session| session.label.as_str()).collect();
    let what = format!("sessions with hooks of an older release: {}", old.join(", "));
    let remedy = "run `portcullis install --hooks` in their folder with the same --scope, then start them again";
    (!old.is_empty()).then(|| Finding::warn(CHECK, what, remedy))
}

fn installation(settings: &SettingsFile, names: &[String]) -> Vec<Finding> {
    let (groups, file, scope) = (settings.hooks(), settings.file.display(), settings.scope.name());
    let called: BTreeSet<&str> = groups.iter().filter_map(|(_, group)| group["hooks"][0]["server"].as_str()).collect();
    // What is installed under another name is renewed under it.
    let name = match called.iter().collect::<Vec<_>>().as_slice() {
        [name] if **name != "portcullis" => format!(" --name {}", shell_word(name)),
        _ => String::new(),
    };
    let again = format!("`portcullis install --hooks --scope {scope}{name}`");
    let oldest = groups.iter().filter_map(|(_, group)| version_of(group)).min();
    let hooks: Vec<(&str, &Value)> = groups.iter().map(|(event, group)| (*event, &group["hooks"][0])).collect();
    let is_there = |event: &HookEvent| hooks.iter().any(|(name, _)| *name == event.name());
    let missing: Vec<&str> = HookEvent::ALL.iter().filter(|event| !is_there(event)).map(|event| event.name()).collect();
    let mut findings = vec![match missing.as_slice() {
        [] => Finding::ok(CHECK, format!("all {} in {file}", HookEvent::ALL.len())),
        missing => Finding::warn(CHECK, format!("{file} lacks {}", missing.join(", ")), again.clone()),
    }];
    if let Some(version) = oldest.filter(|version| *version < HOOKS_VERSION) {
        let what = format!("{file} has hooks of an older release (version {version} of {HOOKS_VERSION})");
        findings.push(Finding::warn(CHECK, what, again.clone()));
    }
    let names_this_machine = groups.iter().any(|(_, group)| !is_shared(group));
    if settings.scope == SettingsScope::Project && names_this_machine {
        let what = format!(
            "{file} names a path of this machine, and others who pull it get errors ({})",
            Tracking::of(&settings.file).name()
        );
        findings.push(Finding::warn(CHECK, what, "`portcullis install --hooks` moves it to your own settings"));
    }
    for program in programs_of(&groups).into_iter().filter(|program| !Path::new(program).is_file()) {
        let what = format!("{file} calls {program}, which does not exist");
        findings.push(Finding::fail(CHECK, what, again.clone()).blocking(Blocks::Hooks));
    }
    for server in called {
        if !names.contains(&format!("server:{server}")) {
            let what = format!("{file} calls the server {server:?}, which is not registered here");
            findings.push(Finding::fail(CHECK, what, again.clone()).blocking(Blocks::Hooks));
        }
        let denied = settings.said["permissions"]["deny"].as_array().into_iter().flatten();
        let rule = format!("mcp__{server}__hook");
        if !denied.into_iter().any(|denied| *denied == rule) {
            let what = format!("{file} has no deny rule {rule}; the gate refuses the model in any case");
            findings.push(Finding::warn(CHECK, what, again.clone()));
        }
    }
    findings
}

/// The programs that hooks of one's own run.
fn programs_of<'a>(groups: &[(&'a str, &'a Value)]) -> BTreeSet<&'a str> {
    let own = groups.iter().filter(|(_, group)| !is_shared(group));
    own.filter_map(|(_, group)| program_of(&group["hooks"][0])).collect()
}

/// A setting that keeps all hooks from being called.
fn switched_off(settings: &[SettingsFile]) -> Option<Finding> {
    if let Some(settings) = without_hooks(settings) {
        let what = format!("disableAllHooks is true in {}: no hook is called", settings.file.display());
        return Some(Finding::warn(CHECK, what, "remove that line").blocking(Blocks::Hooks));
    }
    let managed = managed_settings_said();
    let only = managed["allowManagedHooksOnly"] == true;
    only.then(|| {
        let what =
            format!("allowManagedHooksOnly is true in {}: none of your hooks is called", managed_settings().display());
        Finding::warn(CHECK, what, "ask who administers Claude Code in your organisation").blocking(Blocks::Hooks)
    })
}
