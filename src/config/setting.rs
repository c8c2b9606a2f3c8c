//! One setting: what people are told about it, and how a value of it is checked.

use std::ops::RangeInclusive;

use super::error::{Problem, quoted};

/// What people are told about a key of the file or a variable.
pub(super) struct Setting {
    /// As it is written in the file, with its tables. A part in angle brackets stands for any name.
    pub(super) key: &'static str,
    pub(super) written: WrittenIn,
    pub(super) meaning: &'static str,
    pub(super) accepts: Accepts,
}

/// Where a setting may be written.
pub(super) enum WrittenIn {
    File,
    FileOrVariable(&'static str),
    /// A secret has no place in a file that people show each other.
    Variable(&'static str),
}

pub(super) enum Accepts {
    /// Text or a list, described by the end of the sentence "this setting is …".
    Words(&'static str),
    Whole {
        unit: &'static str,
        range: RangeInclusive<i64>,
    },
    Bool,
}

impl Setting {
    pub(super) fn variable(&self) -> Option<&'static str> {
        match self.written {
            WrittenIn::File => None,
            WrittenIn::FileOrVariable(name) | WrittenIn::Variable(name) => Some(name),
        }
    }

    pub(super) fn in_file(&self) -> bool {
        !matches!(self.written, WrittenIn::Variable(_))
    }

    /// Ends the sentence "this setting is …".
    pub(super) fn accepts(&self) -> String {
        match &self.accepts {
            Accepts::Words(words) => (*words).to_owned(),
            Accepts::Whole { unit, range } => {
                format!("a whole number of {unit} from {} to {}", range.start(), range.end())
            }
            Accepts::Bool => "true or false".to_owned(),
        }
    }

    /// The problem with a value. `name` is what its writer called the setting: key, variable or flag.
    pub(super) fn problem(&self, name: &str, what: &str) -> Problem {
        Problem::new(format!("{name}: {what}"), format!("{name} is {}", self.accepts()))
    }

    /// Refuses a number that is too small or too large.
    pub(super) fn check_range(&self, name: &str, number: i64) -> Result<(), Problem> {
        match &self.accepts {
            Accepts::Whole { range, .. } if !range.contains(&number) => {
                Err(self.problem(name, &format!("{number} is out of range")))
            }
            _ => Ok(()),
        }
    }

    /// What stands in a variable or behind a flag, where everything is text, as the file would have it.
    pub(super) fn value_of(&self, name: &str, text: &str) -> Result<toml::Value, Problem> {
        match &self.accepts {
            Accepts::Words(_) => Ok(toml::Value::String(text.to_owned())),
            Accepts::Whole { .. } => {
                let number = text.parse();
                let number =
                    number.map_err(|_| self.problem(name, &format!("{} is not a whole number", quoted(text))))?;
                self.check_range(name, number)?;
                Ok(toml::Value::Integer(number))
            }
            Accepts::Bool => {
                let on = text.parse();
                let on = on.map_err(|_| self.problem(name, &format!("{} is neither true nor false", quoted(text))))?;
                Ok(toml::Value::Boolean(on))
            }
        }
    }

    /// The default as people write it; empty where there is none to show.
    #[cfg(test)]
    fn default(&self) -> String {
        if !self.in_file() {
            return "generated at the first start".to_owned();
        }
        let whole = toml::Table::try_from(super::table::Config::default()).unwrap_or_default();
        match self.value_in(&whole) {
            Some(toml::Value::String(text)) => text.clone(),
            Some(toml::Value::Array(_)) | None => String::new(),
            Some(value) => value.to_string(),
        }
    }

    /// Its value in a configuration that is written as a table.
    pub(super) fn value_in<'table>(&self, whole: &'table toml::Table) -> Option<&'table toml::Value> {
        let mut parts = self.key.split('.');
        let first = parts.next().and_then(|part| whole.get(part));
        parts.try_fold(first, |value, part| Some(value?.get(part))).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::SETTINGS;
    use super::super::table::Config;
    use super::*;

    /// The table of all settings as the page `docs/reference/configuration.md`.
    fn reference() -> String {
        let mut page = String::from(HEAD);
        for setting in SETTINGS {
            let key = if setting.in_file() { format!("`{}`", setting.key) } else { "–".to_owned() };
            let variable = setting.variable().map_or("–".to_owned(), |name| format!("`{name}`"));
            let (default, meaning, accepts) = (setting.default(), setting.meaning, setting.accepts());
            page.push_str(&format!("| {key} | {variable} | {default} | {meaning} | {accepts} |\n"));
        }
        page
    }

    const HEAD: &str = "\
# Configuration

An empty or missing file is a complete configuration: every setting has a default. The file is TOML, and an unknown key \
is an error. A key with a dot stands in the table before the dot; `<…>` is a name of your own:

```toml
durability = \"process\"

[limits]
rate = 100

[coalesce]
ci = 5

[projects.\"~/code/api\"]
mode = \"acceptEdits\"
allow = [\"Bash(make *)\"]
deny = [\"Bash(git push *)\"]
```

A variable beats the file, a flag beats both. The rules of `[projects]` are yours, like those of `rules.toml`.

| what | where | with `PORTCULLIS_HOME` |
|---|---|---|
| configuration | `$XDG_CONFIG_HOME/portcullis/config.toml`, else `~/.config/portcullis/config.toml` | `config.toml` |
| MCP servers of the gateway | `mcp.json` beside the configuration | `mcp.json` |
| journal, token, lock, log | `$XDG_STATE_HOME/portcullis/`, else `~/.local/state/portcullis/` | \
`journal.db`, `owner.token`, `gate.lock`, `gate.log` |
| socket | `$XDG_RUNTIME_DIR/portcullis/gate.sock`, else in the folder of the journal | `gate.sock` |

A socket whose path would be too long for the system is in `/tmp/portcullis-UID/` instead.

| key | variable | default | what it is | what it accepts |
|---|---|---|---|---|
";

    #[test]
    fn the_page_of_the_reference_is_this_table() {
        expect_test::expect_file!["../../docs/reference/configuration.md"].assert_eq(&reference());
    }

    #[test]
    fn every_row_of_the_reference_has_its_five_columns() {
        let page = reference();
        assert!(page.contains("| `limits.body` | – | 1048576 | the largest body of a request |"), "{page}");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `") || line.starts_with("| –")).collect();
        assert_eq!(rows.len(), SETTINGS.len());
        assert!(rows.iter().all(|row| row.matches(" | ").count() == 4), "{page}");
    }

    #[test]
    fn no_key_and_no_variable_is_listed_twice() {
        for (index, setting) in SETTINGS.iter().enumerate() {
            let twin = |other: &&Setting| {
                other.key == setting.key || (other.variable().is_some() && other.variable() == setting.variable())
            };
            assert!(SETTINGS[index + 1..].iter().find(twin).is_none(), "{}", setting.key);
        }
    }

    /// The keys that serde knows, by what it writes of a configuration that has one of everything.
    fn keys(value: &toml::Value, above: &str, found: &mut Vec<String>) {
        let Some(table) = value.as_table() else { return found.push(above.to_owned()) };
        for (name, value) in table {
            keys(value, &if above.is_empty() { name.clone() } else { format!("{above}.{name}") }, found);
        }
    }

    #[test]
    fn the_settings_are_the_fields_that_serde_reads() {
        let text = "[coalesce]\n\"<sender>\" = 5\n[projects.\"/a\"]\nmode = \"plan\"\n\
                    [mcp.servers.xx]\nshared = true\n[connectors.socket.xx]\naddress = \"/x\"";
        let config: Config = toml::from_str(text).unwrap();
        let mut found = vec![];
        keys(&toml::Value::try_from(config).unwrap(), "", &mut found);
        let mut found: Vec<String> =
            found.iter().map(|key| key.replace("/a", "<folder>").replace("xx", "<name>")).collect();
        let mut listed: Vec<&str> = SETTINGS.iter().filter(|setting| setting.in_file()).map(|it| it.key).collect();
        found.sort_unstable();
        listed.sort_unstable();
        assert_eq!(found, listed);
    }
}
