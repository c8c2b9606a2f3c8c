//! `portcullis help settings`: every setting, what it is now, and where that was written.

use std::fs;

use crate::cli::{environment, paths, say};
use crate::config::{Config, CurrentSetting, SettingOrigin, configuration, current_settings};
use crate::report::in_words;

pub(super) fn print() -> anyhow::Result<()> {
    let paths = paths()?;
    let file = paths.config_file.display().to_string();
    let text = fs::read_to_string(&paths.config_file).unwrap_or_default();
    let exists = paths.config_file.exists();
    let (config, problem) = match configuration(&paths, None) {
        Ok(config) => (config, None),
        Err(error) => (Config::default(), Some(in_words(&error))),
    };
    let about = match (&problem, exists) {
        (Some(problem), _) => format!("cannot be used, and these are the defaults:\n{problem}"),
        (None, true) => "is there\n".to_owned(),
        (None, false) => "does not exist: no file is needed, every setting has a default\n".to_owned(),
    };
    // What cannot be used says nothing of where a value comes from.
    let text = if problem.is_some() { String::new() } else { text };
    let rows: String =
        current_settings(&config, &text, &environment).iter().map(|setting| row(setting, &file)).collect();
    say(&portcullis_core::visible(&format!(
        "Settings\n\n{file}\n  {about}\n\
         The file is TOML; a key with a dot stands in the table before the dot. A variable counts more than the file, a \
         flag more than both.\nThe gate reads them when it starts: `portcullis stop`, and the next start takes what is new.\n\n{rows}"
    )));
    Ok(())
}

fn row(setting: &CurrentSetting, file: &str) -> String {
    let CurrentSetting { name, value, origin, variable, meaning, accepts } = setting;
    let value = value.as_ref().map(|value| format!(" = {value}")).unwrap_or_default();
    let origin = match origin {
        SettingOrigin::Default if value.is_empty() => "not set".to_owned(),
        SettingOrigin::Default => "default".to_owned(),
        SettingOrigin::File(line) => format!("{file} line {line}"),
        SettingOrigin::Variable(name) => format!("from {name}"),
    };
    let variable = variable.map(|name| format!("; variable {name}")).unwrap_or_default();
    format!("{name}{value}   ({origin}{variable})\n    {meaning}\n    takes {accepts}\n\n")
}
