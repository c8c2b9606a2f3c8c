//! What each setting is now, and where that was written.

use std::ops::Range;

use toml::de::DeTable;

use super::keys::Keys;
use super::read::Environment;
use super::setting::Setting;
use super::settings::SETTINGS;
use super::table::Config;

/// A setting as it counts now, for people.
pub(crate) struct CurrentSetting {
    /// The key, or the variable where there is no key.
    pub(crate) name: String,
    /// None where there is none, or none to show.
    pub(crate) value: Option<String>,
    pub(crate) origin: SettingOrigin,
    pub(crate) variable: Option<&'static str>,
    pub(crate) meaning: &'static str,
    pub(crate) accepts: String,
}

/// Where the value of a setting was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    Default,
    /// The line of the configuration file.
    File(usize),
    Variable(&'static str),
}

/// Every setting, with the values of this configuration. `file` is the text that it was read from.
pub(crate) fn current_settings(config: &Config, file: &str, environment: Environment<'_>) -> Vec<CurrentSetting> {
    let mut keys = Keys::default();
    if let Ok(table) = DeTable::parse(file) {
        keys.look_at(table.get_ref(), &[]);
    }
    let line_of = |span: &Range<usize>| 1 + file.bytes().take(span.start).filter(|byte| *byte == b'\n').count();
    let whole = toml::Table::try_from(config).unwrap_or_default();
    let mut settings = vec![];
    for setting in SETTINGS {
        let is_named_by_people = setting.key.contains('<');
        let found = || keys.found.iter().filter(|found| std::ptr::eq(found.setting, setting));
        let origin = match setting.variable().filter(|name| environment(name).is_some()) {
            Some(variable) => SettingOrigin::Variable(variable),
            None => found().next().map_or(SettingOrigin::Default, |found| SettingOrigin::File(line_of(&found.span))),
        };
        if is_named_by_people && found().next().is_some() {
            for found in found() {
                let value = file.get(found.span.clone()).and_then(written_value);
                settings.push(row(setting, found.key.clone(), value, SettingOrigin::File(line_of(&found.span))));
            }
            continue;
        }
        let name = if setting.in_file() { setting.key } else { setting.variable().unwrap_or_default() };
        let value = setting.value_in(&whole).map(ToString::to_string);
        settings.push(row(setting, name.to_owned(), value.filter(|_| !is_named_by_people), origin));
    }
    settings
}

fn row(setting: &'static Setting, name: String, value: Option<String>, origin: SettingOrigin) -> CurrentSetting {
    let variable = setting.variable().filter(|_| setting.in_file());
    CurrentSetting { name, value, origin, variable, meaning: setting.meaning, accepts: setting.accepts() }
}

/// What stands behind the `=` of a key, on one line.
fn written_value(key_and_value: &str) -> Option<String> {
    let (_, value) = key_and_value.split_once('=')?;
    Some(value.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_says_its_value_and_where_it_was_written() {
        let file = "durability = \"process\"\n\n[limits]\nrate = 7\n\n[coalesce]\nci = 5\n";
        let mut config: Config = toml::from_str(file).unwrap();
        config.max_context = Some(5);
        let environment = |name: &str| (name == "PORTCULLIS_MAX_CONTEXT").then(|| "5".into());
        let settings = current_settings(&config, file, &environment);
        let find = |name: &str| {
            let found = settings.iter().find(|setting| setting.name == name).unwrap();
            (found.value.as_deref(), found.origin)
        };
        assert_eq!(find("durability"), (Some("\"process\""), SettingOrigin::File(1)));
        assert_eq!(find("limits.rate"), (Some("7"), SettingOrigin::File(4)));
        assert_eq!(find("limits.burst"), (Some("200"), SettingOrigin::Default));
        assert_eq!(find("coalesce.ci"), (Some("5"), SettingOrigin::File(7)));
        assert_eq!(find("max_context"), (Some("5"), SettingOrigin::Variable("PORTCULLIS_MAX_CONTEXT")));
        assert_eq!(find("PORTCULLIS_TOKEN"), (None, SettingOrigin::Default), "a secret is not shown");
        assert_eq!(find("projects.<folder>.mode"), (None, SettingOrigin::Default));
    }
}
