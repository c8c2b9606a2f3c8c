//! `portcullis mcp list`: every server that is configured, and how it is.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use portcullis_core::{shell_words, visible};
use serde_json::{Value, json};

use super::super::layout::Colour;
use super::super::say;
use super::super::table::{Cell, Table};
use super::{configuration, note_problems, upstreams};
use crate::fixed;
use crate::report::note;
use crate::upstream::config::{Configuration, ConfiguredServer, ServerStanding, Upstream};
use crate::upstream::{UpstreamState, Upstreams};

/// A server is tried once: whoever lists wants to see how things are.
const TRIES: u32 = 1;
/// Servers that take longer than this are named, and again after this.
const TELL: Duration = Duration::from_secs(1);
const TELL_AGAIN: Duration = Duration::from_secs(5);

pub(super) async fn run(json: bool) -> anyhow::Result<ExitCode> {
    let (_, configuration) = configuration()?;
    note_problems(&configuration);
    let upstreams = upstreams(&configuration, TRIES).await?;
    connect(&configuration, &upstreams).await;
    let servers: Vec<(&ConfiguredServer, Condition)> =
        configuration.servers.iter().map(|server| (server, Condition::of(server, &upstreams))).collect();
    say(&if json { as_json(&servers)? } else { as_table(&servers) });
    upstreams.close().await;
    Ok(ExitCode::SUCCESS)
}

/// Connects to all servers. Whoever waits for long is told for whom.
async fn connect(configuration: &Configuration, upstreams: &Upstreams) {
    let mut waiting: BTreeSet<&str> = configuration.upstreams().map(|upstream| upstream.name.as_str()).collect();
    let all = waiting.len();
    let connecting = waiting.clone().into_iter().map(|name| async move {
        upstreams.connect(name).await;
        name
    });
    let mut connecting: FuturesUnordered<_> = connecting.collect();
    let mut telling = tokio::time::interval_at(tokio::time::Instant::now() + fixed::wait("MCP_TELL", TELL), TELL_AGAIN);
    while !waiting.is_empty() {
        tokio::select! {
            biased;
            Some(name) = connecting.next() => drop(waiting.remove(name)),
            _ = telling.tick() => {
                let names = waiting.iter().copied().collect::<Vec<_>>().join(", ");
                note(&format!("connecting: {} of {all}, waiting for {}", all - waiting.len(), visible(&names)));
            }
        }
    }
}

/// One word for a server, and the reason.
pub(super) struct Condition {
    word: &'static str,
    colour: Option<Colour>,
    why: String,
    about: Option<Value>,
}

impl Condition {
    pub(super) fn of(server: &ConfiguredServer, upstreams: &Upstreams) -> Self {
        let plain = |word, why: &str| Self { word, colour: Some(Colour::Quiet), why: why.to_owned(), about: None };
        let bad = |word, why: &str| Self { word, colour: Some(Colour::Attention), why: why.to_owned(), about: None };
        match &server.standing {
            ServerStanding::Unapproved => {
                let would = server.entry.as_ref().map(|entry| {
                    let does = if entry.endpoint.is_local() { "start" } else { "reach" };
                    let with = entry.endpoint.with();
                    let with = if with.is_empty() { String::new() } else { format!(" with {}", with.join(", ")) };
                    format!("it would {does} {}{with}; ", entry.endpoint.in_words())
                });
                let would = visible(&would.unwrap_or_default());
                bad(
                    "not approved",
                    &format!("{would}if that is right: portcullis mcp approve {}", shell_words(&[&server.name])),
                )
            }
            ServerStanding::Disabled(by) => plain("disabled", by),
            ServerStanding::Refused(why) => plain("refused", why),
            ServerStanding::Bad(wrong) => bad("wrong", wrong),
            ServerStanding::Hidden(by) => plain("hidden", &format!("the {} server of this name counts", by.name())),
            ServerStanding::Ready(upstream) => match upstreams.state(&upstream.name) {
                Some(UpstreamState::Connected(about)) => {
                    let version = about.version.as_deref().unwrap_or_default();
                    let name = about.name.as_deref().unwrap_or("a server without a name");
                    let why = format!("{name} {version}, {} ms, MCP {}", about.milliseconds, about.protocol);
                    Self { word: "connected", colour: None, why, about: serde_json::to_value(about).ok() }
                }
                Some(UpstreamState::NeedsAuth) => {
                    bad("needs auth", &format!("sign in: portcullis mcp login {}", shell_words(&[&server.name])))
                }
                Some(UpstreamState::Failed(why)) => bad("failed", &why),
                Some(UpstreamState::Pending) | None => plain("pending", ""),
            },
        }
    }
}

/// One server as JSON.
pub(super) fn row(server: &ConfiguredServer, condition: &Condition) -> Value {
    json!({
        "name": server.name, "layer": server.layer.name(), "file": server.file,
        "type": server.entry.as_ref().map(|entry| entry.endpoint.kind()),
        // As written: variables are not filled in here, as they may be secrets.
        "endpoint": server.entry.as_ref().map(|entry| entry.endpoint.in_words()),
        "hash": server.entry.as_ref().map(|entry| Upstream::new(&server.name, entry.clone()).hash),
        "state": condition.word.replace(' ', "-"), "why": condition.why, "server": condition.about,
        "warnings": server.warnings,
    })
}

/// One server as a line for people.
pub(super) fn line(server: &ConfiguredServer, condition: &Condition) -> String {
    let why = if condition.why.is_empty() { String::new() } else { format!(": {}", condition.why) };
    portcullis_core::visible(&format!("{} {}{why}", server.name, condition.word)).replace('\n', " ") + "\n"
}

fn as_json(servers: &[(&ConfiguredServer, Condition)]) -> anyhow::Result<String> {
    let rows: Vec<Value> = servers.iter().map(|(server, condition)| row(server, condition)).collect();
    Ok(format!("{}\n", serde_json::to_string(&rows)?))
}

fn as_table(servers: &[(&ConfiguredServer, Condition)]) -> String {
    if servers.is_empty() {
        return "No MCP servers are configured here. Add one: portcullis mcp add NAME -- COMMAND\n".to_owned();
    }
    let mut table = Table::new(&["NAME", "LAYER", "TYPE", "STATE", ""]);
    for (server, condition) in servers {
        let kind = server.entry.as_ref().map_or("", |entry| entry.endpoint.kind());
        let warnings = server.warnings.iter().map(|warning| format!(" ({warning})")).collect::<String>();
        table.row([
            Cell::from(&server.name),
            Cell::from(server.layer.name()),
            Cell::from(kind),
            condition.colour.map_or_else(|| Cell::from(condition.word), |colour| Cell::painted(condition.word, colour)),
            Cell::from(format!("{}{warnings}", condition.why)),
        ]);
    }
    table.print()
}
