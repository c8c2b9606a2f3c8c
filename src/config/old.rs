//! Keys of earlier releases: each is refused with the way it is written now, or with what holds instead.

use toml::de::DeValue;

use super::error::Problem;
use super::table::{HEADER_TIME, QUEUE, QUEUE_BYTES, SESSION_BYTES, WATCHER};

/// What to write instead of what an earlier release took. None where this is no old spelling.
pub(super) fn spelling(key: &str, value: &DeValue<'_>) -> Option<Problem> {
    let gone =
        |holds: String| Problem::new(format!("{key} is no longer a setting"), format!("remove the line: {holds}"));
    let moved = |kind: &str, hint: String| Some(Problem::new(format!("{key} is {kind} now"), hint));
    match (key, value) {
        ("limits.header_seconds", _) => {
            Some(gone(format!("a client has {} s to send the head of a request", HEADER_TIME.as_secs())))
        }
        ("limits.session_bytes", _) => Some(gone(format!(
            "{} MiB may wait for one session; limits.session_events is still set",
            SESSION_BYTES >> 20
        ))),
        ("limits.queue", _) => Some(gone(format!("{QUEUE} inputs may wait for the gate"))),
        ("limits.queue_bytes", _) => Some(gone(format!("{} MiB of inputs may wait for the gate", QUEUE_BYTES >> 20))),
        ("limits.watcher", _) => Some(gone(format!("{WATCHER} changes may wait for one listener"))),
        ("project_modes", value) => moved("the table [projects]", in_tables(text(value))),
        ("coalesce", DeValue::String(text)) => moved("a table", in_table(text)),
        ("hooks.must_reply", DeValue::String(text)) => moved("a list", format!("write must_reply = {}", in_list(text))),
        ("start.folders", DeValue::String(text)) => moved("a list", format!("write folders = {}", in_list(text))),
        _ => None,
    }
}

fn text<'a>(value: &'a DeValue<'_>) -> &'a str {
    value.as_str().unwrap_or_default()
}

fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

/// `~/a=plan, /b=auto` as tables.
fn in_tables(text: &str) -> String {
    let table = |entry: &str| {
        let (folder, mode) = entry.rsplit_once('=').unwrap_or((entry, "default"));
        format!("[projects.{:?}] with mode = {:?}", folder.trim(), mode.trim())
    };
    match entries(text).map(table).collect::<Vec<_>>() {
        none if none.is_empty() => "remove the line".to_owned(),
        tables => format!("write {}", tables.join(" and ")),
    }
}

/// `ci=5, alerts=30` as a table.
fn in_table(text: &str) -> String {
    let line = |entry: &str| {
        let (sender, seconds) = entry.split_once('=').unwrap_or((entry, "5"));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let sender = sender.trim();
        let sender = if sender.chars().all(is_plain) { sender.to_owned() } else { format!("{sender:?}") };
        format!("{sender} = {}", seconds.trim())
    };
    match entries(text).map(line).collect::<Vec<_>>() {
        none if none.is_empty() => "remove the line".to_owned(),
        lines => format!("write [coalesce] with {}", lines.join(" and ")),
    }
}

/// `ann, bob` as a list.
fn in_list(text: &str) -> String {
    format!("{:?}", entries(text).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::config::read::Layers;

    /// Every key of the first release's example, one after the other, with values that people had.
    const KEYS: &str = r#"
listen = "127.0.0.1:8788"
durability = "power"
approvals = "anywhere"
retention_days = 30
retention_bytes = 1_073_741_824
coalesce = ""
coalesce = "ci=5, alerts@x=30"
max_context = 20_000
claude = "claude"
permission_mode = "default"
project_modes = ""
project_modes = "~/code/api=plan, /srv/app = acceptEdits"
allow_bypass = false
start.folders = []
start.folders = "~/work"
start.ask_seconds = 60
hooks.wakes = 30
hooks.must_reply = ""
hooks.must_reply = "ann, bob"
hooks.http = "off"
hooks.http = "on"
limits.body = 1_048_576
limits.header_seconds = 10
limits.idle_seconds = 75
limits.connections = 12_000
limits.sse_listeners = 2_000
limits.rate = 50
limits.burst = 200
limits.session_events = 10_000
limits.session_bytes = 67_108_864
limits.queue = 4_096
limits.queue_bytes = 67_108_864
limits.watcher = 1_024
"#;

    #[test]
    fn an_old_file_is_understood_or_refused_with_the_new_spelling() {
        let refused = KEYS.lines().filter_map(|line| {
            let problem = Layers::of_file(line.as_bytes()).err()?;
            Some(format!("{line}\n  {}\n  hint: {}\n", problem.what, problem.hint))
        });
        expect![[r#"
            coalesce = ""
              line 1: coalesce is a table now
              hint: remove the line
            coalesce = "ci=5, alerts@x=30"
              line 1: coalesce is a table now
              hint: write [coalesce] with ci = 5 and "alerts@x" = 30
            project_modes = ""
              line 1: project_modes is the table [projects] now
              hint: remove the line
            project_modes = "~/code/api=plan, /srv/app = acceptEdits"
              line 1: project_modes is the table [projects] now
              hint: write [projects."~/code/api"] with mode = "plan" and [projects."/srv/app"] with mode = "acceptEdits"
            start.folders = "~/work"
              line 1: start.folders is a list now
              hint: write folders = ["~/work"]
            hooks.must_reply = ""
              line 1: hooks.must_reply is a list now
              hint: write must_reply = []
            hooks.must_reply = "ann, bob"
              line 1: hooks.must_reply is a list now
              hint: write must_reply = ["ann", "bob"]
            limits.header_seconds = 10
              line 1: limits.header_seconds is no longer a setting
              hint: remove the line: a client has 10 s to send the head of a request
            limits.session_bytes = 67_108_864
              line 1: limits.session_bytes is no longer a setting
              hint: remove the line: 64 MiB may wait for one session; limits.session_events is still set
            limits.queue = 4_096
              line 1: limits.queue is no longer a setting
              hint: remove the line: 4096 inputs may wait for the gate
            limits.queue_bytes = 67_108_864
              line 1: limits.queue_bytes is no longer a setting
              hint: remove the line: 64 MiB of inputs may wait for the gate
            limits.watcher = 1_024
              line 1: limits.watcher is no longer a setting
              hint: remove the line: 1024 changes may wait for one listener
        "#]]
        .assert_eq(&refused.collect::<String>());
    }

    /// What a hint tells to write instead of an old line is itself understood.
    #[test]
    fn the_new_spelling_loads() {
        for (new, expected) in [
            ("[coalesce]\nci = 5\n\"alerts@x\" = 30", "{\"alerts@x\": 30, \"ci\": 5}"),
            ("[projects.\"~/code/api\"]\nmode = \"plan\"", "Folder(\"~/code/api\")"),
            ("[hooks]\nmust_reply = [\"ann\", \"bob\"]", "[\"ann\", \"bob\"]"),
            ("[start]\nfolders = [\"~/work\"]", "Folder(\"~/work\")"),
        ] {
            let config = Layers::of_file(new.as_bytes()).ok().unwrap().config;
            assert!(format!("{config:?}").contains(expected), "{config:?}");
        }
    }
}
