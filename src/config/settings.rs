//! Every setting once: its key, its variable, what it means and what it accepts. Help and reference are made from this.

use std::ops::RangeInclusive;

use super::error::{Problem, quoted};
use super::table::Config;

const MEBIBYTE: i64 = 1 << 20;
const GIBIBYTE: i64 = 1 << 30;
/// No body may be larger than the queues, or it would wait for ever.
const LARGEST_BODY: i64 = 16 * MEBIBYTE;
const MANY: i64 = 1_000_000;

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

const LISTEN: Accepts =
    Accepts::Words(r#""off" or a loopback address with its port, such as "127.0.0.1:8788" or "[::1]:8788""#);
const MODE: Accepts = Accepts::Words(r#""default", "acceptEdits", "plan", "dontAsk", "auto" or "bypassPermissions""#);
const RULES: Accepts = Accepts::Words(r#"a list of rules, such as ["Bash(make *)", "WebFetch(domain:docs.rs)"]"#);

pub(super) static SETTINGS: &[Setting] = &[
    Setting {
        key: "listen",
        written: WrittenIn::FileOrVariable("PORTCULLIS_LISTEN"),
        meaning: "where the gate listens for HTTP besides its Unix socket; port 0 takes a free one",
        accepts: LISTEN,
    },
    Setting {
        key: "durability",
        written: WrittenIn::FileOrVariable("PORTCULLIS_DURABILITY"),
        meaning: "what a journalled record survives: the death of the gate (process), or a power cut as well (power)",
        accepts: Accepts::Words(r#""process" or "power""#),
    },
    Setting {
        key: "approvals",
        written: WrittenIn::File,
        meaning: "who may answer permission prompts: everyone with the right (anywhere), or only people with tokens of their own and not the owner on this machine (device)",
        accepts: Accepts::Words(r#""anywhere" or "device""#),
    },
    Setting {
        key: "outside",
        written: WrittenIn::File,
        meaning: "which tool calls are asked for once text from someone who may not direct the session went before the model, until a person who may has spoken: those that run or send something (guard), all but reads inside the working folders (all), or none for that reason (off)",
        accepts: Accepts::Words(r#""guard", "all" or "off""#),
    },
    Setting {
        key: "retention_days",
        written: WrittenIn::File,
        meaning: "how many days the journal keeps the text that people wrote; the records themselves are kept for ever",
        accepts: Accepts::Whole { unit: "days", range: 2..=36_500 },
    },
    Setting {
        key: "retention_bytes",
        written: WrittenIn::File,
        meaning: "how much text that people wrote the journal keeps; the oldest is erased first, and nothing of the last day",
        accepts: Accepts::Whole { unit: "bytes", range: MEBIBYTE..=1024 * GIBIBYTE },
    },
    Setting {
        key: "max_context",
        written: WrittenIn::FileOrVariable("PORTCULLIS_MAX_CONTEXT"),
        meaning: "maximum bytes of an event shown to the model; the rest is available through the `inbox` tool; 0 = no limit",
        accepts: Accepts::Whole { unit: "bytes", range: 0..=LARGEST_BODY },
    },
    Setting {
        key: "claude",
        written: WrittenIn::FileOrVariable("PORTCULLIS_CLAUDE"),
        meaning: "the Claude Code program that `run` and the API start",
        accepts: Accepts::Words("the name of a program on the PATH, or its path"),
    },
    Setting {
        key: "permission_mode",
        written: WrittenIn::File,
        meaning: "the permission mode of sessions that `run` and the API start, where none is named",
        accepts: MODE,
    },
    Setting {
        key: "allow_bypass",
        written: WrittenIn::File,
        meaning: "whether sessions may be started in, and switched to, the mode bypassPermissions, in which nothing is asked",
        accepts: Accepts::Bool,
    },
    Setting {
        key: "token",
        written: WrittenIn::Variable("PORTCULLIS_TOKEN"),
        meaning: "the owner's token, instead of the one the gate generates and keeps in `owner.token`",
        accepts: Accepts::Words("at least 16 characters of ASCII without spaces"),
    },
    Setting {
        key: "start.folders",
        written: WrittenIn::File,
        meaning: "folders in which, and below which, sessions may be started over the API; by default the one where you started the gate with `up` or `serve`, unless that is your home",
        accepts: Accepts::Words(r#"a list of absolute paths, such as ["~/work", "/srv/app"]"#),
    },
    Setting {
        key: "start.ask_seconds",
        written: WrittenIn::File,
        meaning: "how long a prompt of a session of `POST /api/chat` can be answered; then the call is denied",
        accepts: Accepts::Whole { unit: "seconds", range: 1..=86_400 },
    },
    Setting {
        key: "hooks.wakes",
        written: WrittenIn::File,
        meaning: "how often the events of one sender may wake an idle session in an hour; events within a second are one wake, and events that may not wake it wait for its next prompt or tool call",
        accepts: Accepts::Whole { unit: "wakes", range: 0..=3_600 },
    },
    Setting {
        key: "hooks.must_reply",
        written: WrittenIn::File,
        meaning: "senders who must get a reply: a session that stops without one is reminded once",
        accepts: Accepts::Words(r#"a list of senders, such as ["ann", "bob"]"#),
    },
    Setting {
        key: "hooks.http",
        written: WrittenIn::File,
        meaning: "whether Claude Code's hooks may be posted to `/claude/hooks` with a token of the role agent; programs that the agent runs can read such a token",
        accepts: Accepts::Bool,
    },
    Setting {
        key: "limits.body",
        written: WrittenIn::File,
        meaning: "the largest body of a request",
        accepts: Accepts::Whole { unit: "bytes", range: 1024..=LARGEST_BODY },
    },
    Setting {
        key: "limits.idle_seconds",
        written: WrittenIn::File,
        meaning: "how long a connection may be silent, also within a body, or leave unread what is sent to it, before it is closed; an event stream may be silent for ever",
        accepts: Accepts::Whole { unit: "seconds", range: 1..=86_400 },
    },
    Setting {
        key: "limits.connections",
        written: WrittenIn::File,
        meaning: "how many connections may be open at once",
        accepts: Accepts::Whole { unit: "connections", range: 16..=MANY },
    },
    Setting {
        key: "limits.sse_listeners",
        written: WrittenIn::File,
        meaning: "how many of them may be event streams",
        accepts: Accepts::Whole { unit: "listeners", range: 1..=MANY },
    },
    Setting {
        key: "limits.rate",
        written: WrittenIn::File,
        meaning: "how many events one credential may send in a second; the owner's own token is exempt",
        accepts: Accepts::Whole { unit: "events", range: 1..=MANY },
    },
    Setting {
        key: "limits.burst",
        written: WrittenIn::File,
        meaning: "how many events one credential may send at once after a pause",
        accepts: Accepts::Whole { unit: "events", range: 1..=MANY },
    },
    Setting {
        key: "limits.session_events",
        written: WrittenIn::File,
        meaning: "how many events may wait for one session",
        accepts: Accepts::Whole { unit: "events", range: 1..=MANY },
    },
    Setting {
        key: "coalesce.<sender>",
        written: WrittenIn::File,
        meaning: "how long the events of this sender are held, to be delivered as one",
        accepts: Accepts::Whole { unit: "seconds", range: 1..=3_600 },
    },
    Setting {
        key: "projects.<folder>.mode",
        written: WrittenIn::File,
        meaning: "the permission mode of sessions in this folder and below that `run` and the API start, where none is named; the nearest folder counts",
        accepts: MODE,
    },
    Setting {
        key: "projects.<folder>.allow",
        written: WrittenIn::File,
        meaning: "your own rules for sessions in this folder and below: what is allowed; a path `/x` in a rule begins at the folder",
        accepts: RULES,
    },
    Setting {
        key: "projects.<folder>.ask",
        written: WrittenIn::File,
        meaning: "the same: what is asked for",
        accepts: RULES,
    },
    Setting {
        key: "projects.<folder>.deny",
        written: WrittenIn::File,
        meaning: "the same: what is denied",
        accepts: RULES,
    },
    Setting {
        key: "connectors.socket.<name>.address",
        written: WrittenIn::File,
        meaning: "the Unix socket on which a program of yours listens that carries prompts and replies to where people are, under this name",
        accepts: Accepts::Words(r#"an absolute path, such as "~/bridge.sock""#),
    },
    Setting {
        key: "connectors.socket.<name>.max_text",
        written: WrittenIn::File,
        meaning: "maximum bytes of a text that this program is given: 500 or more, or 0 for no limit",
        accepts: Accepts::Whole { unit: "bytes", range: 0..=LARGEST_BODY },
    },
];

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
    fn default(&self) -> String {
        if !self.in_file() {
            return "generated at the first start".to_owned();
        }
        let whole = toml::Table::try_from(Config::default()).unwrap_or_default();
        let mut parts = self.key.split('.');
        let first = parts.next().and_then(|part| whole.get(part));
        match parts.try_fold(first, |value, part| Some(value?.get(part))).flatten() {
            Some(toml::Value::String(text)) => text.clone(),
            Some(toml::Value::Array(_)) | None => String::new(),
            Some(value) => value.to_string(),
        }
    }
}

/// The table of all settings as a help text prints it.
pub(crate) fn help() -> String {
    let mut text = String::from("Settings, in the configuration file or the environment:\n");
    for setting in SETTINGS {
        let name = match (setting.in_file(), setting.variable()) {
            (true, Some(variable)) => format!("{} or {variable}", setting.key),
            (true, None) => setting.key.to_owned(),
            (false, variable) => variable.unwrap_or_default().to_owned(),
        };
        let default = match setting.default() {
            default if default.is_empty() => default,
            default => format!(" [default: {default}]"),
        };
        text.push_str(&format!("  {name}\n          {}{default}\n", setting.meaning));
    }
    text
}

#[cfg(test)]
mod tests {
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
                    [connectors.socket.xx]\naddress = \"/x\"";
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
