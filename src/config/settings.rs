//! Every setting, once: where it may be written, what it means, what it accepts, and which part of `Config` it is.

use std::collections::HashMap;
use std::path::PathBuf;

use super::error::quoted;
use super::secret::Secret;
use super::setting::{self, Setting, Takes, Written};

const MEBIBYTE: usize = 1 << 20;
const GIBIBYTE: usize = 1 << 30;
/// No body may be larger than a queue may be small, or it would wait for room for ever.
const LARGEST_BODY: usize = 16 * MEBIBYTE;
const MANY: usize = 1_000_000;

pub(super) static SETTINGS: &[Setting] = &[
    Setting {
        key: "listen",
        written: Written::FileOrVariable("PORTCULLIS_LISTEN"),
        meaning: "where the gate listens for HTTP besides its Unix socket; port 0 takes a free one",
        takes: Takes::Text {
            what: r#""off" or a loopback address with its port, such as "127.0.0.1:8788" or "[::1]:8788""#,
            show: |config| config.listen.to_string(),
            set: |config, text| text.parse().map(|listen| config.listen = listen),
        },
    },
    Setting {
        key: "durability",
        written: Written::FileOrVariable("PORTCULLIS_DURABILITY"),
        meaning: "what a journalled record survives: the death of the gate (process), or a power cut as well (power)",
        takes: Takes::Text {
            what: r#""process" or "power""#,
            show: |config| config.durability.to_string(),
            set: |config, text| text.parse().map(|durability| config.durability = durability),
        },
    },
    Setting {
        key: "approvals",
        written: Written::File,
        meaning: "who may answer permission prompts: whoever has the right (anywhere), or only people with tokens of their own and not the owner on this machine (device)",
        takes: Takes::Text {
            what: r#""anywhere" or "device""#,
            show: |config| config.approvals.to_string(),
            set: |config, text| text.parse().map(|approvals| config.approvals = approvals),
        },
    },
    Setting {
        key: "retention_days",
        written: Written::File,
        meaning: "how many days the journal keeps what people wrote; that it happened stays for ever",
        takes: Takes::Whole { unit: "days", range: 2..=36_500, part: |config| &mut config.retention_days },
    },
    Setting {
        key: "retention_bytes",
        written: Written::File,
        meaning: "how much of what people wrote the journal keeps; the oldest goes first, and nothing of the last day",
        takes: Takes::Whole {
            unit: "bytes",
            range: MEBIBYTE..=1024 * GIBIBYTE,
            part: |config| &mut config.retention_bytes,
        },
    },
    Setting {
        key: "coalesce",
        written: Written::File,
        meaning: "senders whose events are held for some seconds and then delivered as one; by default none",
        takes: Takes::Text {
            what: r#"a list of senders and seconds, such as "ci=5, alerts=30""#,
            show: |_| String::new(),
            set: |config, text| coalesce(text).map(|coalesce| config.coalesce = coalesce),
        },
    },
    Setting {
        key: "max_context",
        written: Written::FileOrVariable("PORTCULLIS_MAX_CONTEXT"),
        meaning: "how much of an event's text is put before the model, the rest by `inbox`; 0 puts all",
        takes: Takes::BytesOrAll { most: LARGEST_BODY, part: |config| &mut config.max_context },
    },
    Setting {
        key: "claude",
        written: Written::FileOrVariable("PORTCULLIS_CLAUDE"),
        meaning: "the program of Claude Code that `run` and the API start: a name on the PATH, or a path",
        takes: Takes::Text {
            what: "the name or the path of a program",
            show: |config| config.claude.display().to_string(),
            set: |config, text| match text {
                "" => Err("that is no name".to_owned()),
                text => {
                    config.claude = text.into();
                    Ok(())
                }
            },
        },
    },
    Setting {
        key: "permission_mode",
        written: Written::File,
        meaning: "the permission mode of sessions that `run` and the API start, where none is named",
        takes: Takes::Text {
            what: r#""default", "acceptEdits", "plan", "dontAsk", "auto" or "bypassPermissions""#,
            show: |config| config.permission_mode.clone(),
            set: |config, text| mode(text).map(|mode| config.permission_mode = mode),
        },
    },
    Setting {
        key: "project_modes",
        written: Written::File,
        meaning: "the same for some projects, in their folder and below, the nearest first; by default none",
        takes: Takes::Text {
            what: r#"a list of folders and modes, such as "~/code/api=plan, /srv/app=acceptEdits""#,
            show: |_| String::new(),
            set: |config, text| project_modes(text).map(|modes| config.project_modes = modes),
        },
    },
    Setting {
        key: "allow_bypass",
        written: Written::File,
        meaning: "sessions may be started in, and switched to, the mode bypassPermissions, in which nothing is asked",
        takes: Takes::YesNo { part: |config| &mut config.allow_bypass },
    },
    Setting {
        key: "start.folders",
        written: Written::File,
        meaning: "folders in which, and below which, sessions may be started over the API; by default the one where you started the gate with `up` or `serve`, unless that is your home",
        takes: Takes::Folders { part: |config| &mut config.start.folders },
    },
    Setting {
        key: "start.ask_seconds",
        written: Written::File,
        meaning: "how long a prompt of a session of `POST /api/chat` can be answered; then the call is denied",
        takes: Takes::Seconds { range: 1..=86_400, part: |config| &mut config.start.ask_time },
    },
    Setting {
        key: "token",
        written: Written::Variable("PORTCULLIS_TOKEN"),
        meaning: "the owner's token, instead of the one the gate makes and keeps in `owner.token`",
        takes: Takes::Text {
            what: "at least 16 characters of ASCII without spaces",
            show: |_| "made at the first start".to_owned(),
            set: |config, text| Secret::token(text).map(|token| config.token = Some(token)),
        },
    },
    Setting {
        key: "hooks.wakes",
        written: Written::File,
        meaning: "how often the events of one sender may wake an idle session in an hour, by its wake file; what comes within a second is one wake, and what may not wake waits for the next prompt or tool call",
        takes: Takes::Whole { unit: "wakes", range: 0..=3_600, part: |config| &mut config.hooks.wakes },
    },
    Setting {
        key: "hooks.must_reply",
        written: Written::File,
        meaning: "senders who are to have a reply: a session that stops without one is reminded once; by default nobody",
        takes: Takes::Text {
            what: r#"a list of senders, such as "ann, bob""#,
            show: |_| String::new(),
            set: |config, text| {
                let senders = text.split(',').map(str::trim).filter(|sender| !sender.is_empty());
                config.hooks.must_reply = senders.map(str::to_owned).collect();
                Ok(())
            },
        },
    },
    Setting {
        key: "hooks.http",
        written: Written::File,
        meaning: "whether Claude Code's hooks may be posted to `/claude/hooks` by those with a token of the role agent; such a token is readable by what the agent runs",
        takes: Takes::Text {
            what: r#""on" or "off""#,
            show: |config| if config.hooks.over_http { "on" } else { "off" }.to_owned(),
            set: |config, text| {
                config.hooks.over_http = match text {
                    "on" => true,
                    "off" => false,
                    _ => return Err(format!("{text:?} is neither")),
                };
                Ok(())
            },
        },
    },
    Setting {
        key: "limits.body",
        written: Written::File,
        meaning: "the largest body of a request",
        takes: Takes::Whole { unit: "bytes", range: 1024..=LARGEST_BODY, part: |config| &mut config.limits.body },
    },
    Setting {
        key: "limits.header_seconds",
        written: Written::File,
        meaning: "how long a client may take to send the head of a request",
        takes: Takes::Seconds { range: 1..=600, part: |config| &mut config.limits.header_time },
    },
    Setting {
        key: "limits.idle_seconds",
        written: Written::File,
        meaning: "how long a connection may be silent, also within a body, or leave unread what is sent to it, before it is closed; an event stream may be silent for ever",
        takes: Takes::Seconds { range: 1..=86_400, part: |config| &mut config.limits.idle_time },
    },
    Setting {
        key: "limits.connections",
        written: Written::File,
        meaning: "how many connections may be open at once",
        takes: Takes::Whole { unit: "connections", range: 16..=MANY, part: |config| &mut config.limits.connections },
    },
    Setting {
        key: "limits.sse_listeners",
        written: Written::File,
        meaning: "how many of them may be event streams",
        takes: Takes::Whole { unit: "listeners", range: 1..=MANY, part: |config| &mut config.limits.sse_listeners },
    },
    Setting {
        key: "limits.rate",
        written: Written::File,
        meaning: "how many events one credential may send in a second; the owner's own token is exempt",
        takes: Takes::Whole { unit: "events", range: 1..=MANY, part: |config| &mut config.limits.rate },
    },
    Setting {
        key: "limits.burst",
        written: Written::File,
        meaning: "how many it may send at once after a pause",
        takes: Takes::Whole { unit: "events", range: 1..=MANY, part: |config| &mut config.limits.burst },
    },
    Setting {
        key: "limits.session_events",
        written: Written::File,
        meaning: "how many events may wait for one session",
        takes: Takes::Whole { unit: "events", range: 1..=MANY, part: |config| &mut config.limits.session_events },
    },
    Setting {
        key: "limits.session_bytes",
        written: Written::File,
        meaning: "how large the events that wait for one session may be together",
        takes: Takes::Whole {
            unit: "bytes",
            range: LARGEST_BODY..=GIBIBYTE,
            part: |config| &mut config.limits.session_bytes,
        },
    },
    Setting {
        key: "limits.queue",
        written: Written::File,
        meaning: "how many inputs may wait for the hub",
        takes: Takes::Whole { unit: "inputs", range: 16..=MANY, part: |config| &mut config.limits.queue },
    },
    Setting {
        key: "limits.queue_bytes",
        written: Written::File,
        meaning: "how large the inputs that wait for the hub may be together",
        takes: Takes::Whole {
            unit: "bytes",
            range: LARGEST_BODY..=GIBIBYTE,
            part: |config| &mut config.limits.queue_bytes,
        },
    },
    Setting {
        key: "limits.watcher",
        written: Written::File,
        meaning: "how many changes may wait for one watcher before it is closed and has to start over",
        takes: Takes::Whole { unit: "changes", range: 1..=MANY, part: |config| &mut config.limits.watcher },
    },
];

/// The permission modes of Claude Code.
pub(crate) const MODES: [&str; 6] = ["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"];

/// A mode by its name; `manual` is another name of the first.
fn mode(text: &str) -> Result<String, String> {
    let name = if text == "manual" { "default" } else { text };
    match MODES.contains(&name) {
        true => Ok(name.to_owned()),
        false => Err(format!("unknown mode {text:?}")),
    }
}

/// `ci=5, alerts=30` as milliseconds by sender.
/// `~/code/api=plan, /srv/app=acceptEdits`.
fn project_modes(text: &str) -> Result<Vec<(PathBuf, String)>, String> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let read = |entry: &str| {
        let (folder, name) = entry.rsplit_once('=').ok_or_else(|| format!("{} names no mode", quoted(entry)))?;
        Ok((setting::folder(folder.trim())?, mode(name.trim())?))
    };
    entries.map(read).collect()
}

fn coalesce(text: &str) -> Result<HashMap<String, u64>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let read = |part: &str| {
        let (sender, seconds) = part.split_once('=').ok_or_else(|| format!("{part:?} names no seconds"))?;
        match seconds.trim().parse::<u64>() {
            Ok(seconds @ 1..=3600) => Ok((sender.trim().to_owned(), seconds * 1000)),
            _ => Err(format!("{:?} is no number of seconds from 1 to 3600", seconds.trim())),
        }
    };
    parts.map(read).collect()
}

/// The table as a help text prints it: what can be set in the file or the environment.
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

/// The table as the page `docs/reference/configuration.md`.
#[cfg(test)]
pub(crate) fn reference() -> String {
    let mut page = String::from(REFERENCE_HEAD);
    for setting in SETTINGS {
        let key = if setting.in_file() { format!("`{}`", setting.key) } else { "–".to_owned() };
        let variable = setting.variable().map_or("–".to_owned(), |name| format!("`{name}`"));
        let (default, meaning, accepts) = (setting.default(), setting.meaning, setting.accepts());
        page.push_str(&format!("| {key} | {variable} | {default} | {meaning} | {accepts} |\n"));
    }
    page
}

#[cfg(test)]
const REFERENCE_HEAD: &str = "\
# Configuration

An empty or missing file is a complete configuration: every setting has a default. The file is TOML, a key with a dot \
stands in the table before the dot (`[limits]`), and an unknown key is an error. A variable beats the file, a flag \
beats both.

| what | where | with `PORTCULLIS_HOME` |
|---|---|---|
| configuration | `$XDG_CONFIG_HOME/portcullis/config.toml`, else `~/.config/portcullis/config.toml` | `config.toml` |
| journal, token, lock, log | `$XDG_STATE_HOME/portcullis/`, else `~/.local/state/portcullis/` | \
`journal.db`, `owner.token`, `gate.lock`, `gate.log` |
| socket | `$XDG_RUNTIME_DIR/portcullis/gate.sock`, else beside the journal | `gate.sock` |

A socket whose path would be too long for the system is in `/tmp/portcullis-UID/` instead.

| key | variable | default | what it is | what it accepts |
|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::raw::Value;

    #[test]
    fn every_setting_accepts_its_own_default_and_keeps_it() {
        for setting in SETTINGS.iter().filter(|setting| setting.in_file()) {
            let mut config = Config::default();
            setting.take(&mut config, setting.key, &Value::Word(setting.default())).unwrap();
            assert_eq!(format!("{config:?}"), format!("{:?}", Config::default()), "{}", setting.key);
        }
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

    #[test]
    fn the_page_of_the_reference_is_this_table() {
        expect_test::expect_file!["../../docs/reference/configuration.md"].assert_eq(&reference());
    }

    #[test]
    fn the_reference_has_a_row_for_every_setting() {
        let page = reference();
        for setting in SETTINGS {
            assert!(page.contains(setting.meaning), "{}", setting.key);
            assert!(page.contains(setting.variable().unwrap_or(setting.key)), "{}", setting.key);
        }
        assert!(page.contains("| `limits.body` | – | 1048576 | the largest body of a request |"), "{page}");
        let columns = |row: &str| row.matches(" | ").count();
        assert!(page.lines().filter(|line| line.starts_with("| `")).all(|row| columns(row) == 4), "{page}");
    }
}
