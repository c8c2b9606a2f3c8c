//! `portcullis mcp tools`, `resources` and `prompts`: what servers offer.

use std::process::ExitCode;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::super::table::{Cell, Table};
use super::super::{paths, say};
use super::call::ready;
use super::serve::settings_of;
use super::{configuration, note_problems, upstreams};
use crate::report::note;
use crate::upstream::shape::described;
use crate::upstream::{ListKind, ToolName, names};

/// Tried as often as Claude Code does when it starts.
const TRIES: u32 = 3;

#[derive(clap::Args)]
pub(super) struct Offers {
    /// The name of a server; all that may be used if it is left out
    server: Option<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

impl Offers {
    pub(super) async fn run(self, kind: ListKind) -> anyhow::Result<ExitCode> {
        let (_, configuration) = configuration()?;
        note_problems(&configuration);
        let servers: Vec<String> = match &self.server {
            Some(name) => vec![ready(&configuration, name)?.name.clone()],
            None => configuration.upstreams().map(|upstream| upstream.name.clone()).collect(),
        };
        let mut upstreams = upstreams(&configuration, TRIES).await?;
        if self.server.is_none() {
            upstreams = upstreams.heeding_refusals();
        }
        let lists = join_all(servers.iter().map(|server| upstreams.list(server, kind))).await;
        upstreams.close().await;
        let mut failed = 0;
        let mut items: Vec<(&str, Value)> = vec![];
        for (server, list) in servers.iter().zip(lists) {
            match list {
                Ok(list) => {
                    items.extend(Arc::unwrap_or_clone(list).into_iter().map(|item| (server.as_str(), item)));
                }
                Err(failure) => {
                    failed += 1;
                    note(&format!("{server}: {}", failure.why()));
                }
            }
        }
        let longest = settings_of(&paths()?).mcp.longest_description;
        match self.json {
            true => say(&as_json(kind, &items)?),
            // What those offer that did not answer is not known.
            false if items.is_empty() && failed > 0 => {}
            false => say(&as_table(kind, &items, servers.is_empty(), longest)),
        }
        Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

fn text<'a>(item: &'a Value, key: &str) -> &'a str {
    item.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The names of tools among all that are listed; nothing for other kinds.
fn full_names(kind: ListKind, items: &[(&str, Value)]) -> Vec<Option<ToolName>> {
    match kind {
        ListKind::Tools => {
            let tools: Vec<(&str, &str)> = items.iter().map(|(server, item)| (*server, text(item, "name"))).collect();
            names(&tools).into_iter().map(Some).collect()
        }
        ListKind::Resources | ListKind::Templates | ListKind::Prompts => items.iter().map(|_| None).collect(),
    }
}

fn as_json(kind: ListKind, items: &[(&str, Value)]) -> anyhow::Result<String> {
    let rows: Vec<Value> = items
        .iter()
        .zip(full_names(kind, items))
        .map(|((server, item), name)| {
            let mut row = json!({ "server": server });
            if let (Some(row), Some(item)) = (row.as_object_mut(), item.as_object()) {
                row.extend(item.iter().map(|(key, value)| (key.clone(), value.clone())));
                if let Some(name) = name {
                    row.insert("full_name".to_owned(), name.full.into());
                    row.extend(name.note.map(|note| ("full_name_note".to_owned(), note.into())));
                }
            }
            row
        })
        .collect();
    Ok(format!("{}\n", serde_json::to_string(&rows)?))
}

fn as_table(kind: ListKind, items: &[(&str, Value)], is_without_servers: bool, longest: usize) -> String {
    if items.is_empty() {
        return match is_without_servers {
            true => "No MCP server can be used here. See: portcullis mcp list\n".to_owned(),
            false => "The servers offer none.\n".to_owned(),
        };
    }
    let heads = match kind {
        ListKind::Tools => ["SERVER", "TOOL", "NAME IN RULES", ""],
        ListKind::Resources | ListKind::Templates => ["SERVER", "URI", "NAME", ""],
        ListKind::Prompts => ["SERVER", "PROMPT", "ARGUMENTS", ""],
    };
    let mut table = Table::new(&heads);
    for ((server, item), name) in items.iter().zip(full_names(kind, items)) {
        let (first, second) = match kind {
            ListKind::Tools => {
                (text(item, "name").to_owned(), name.as_ref().map_or(String::new(), |it| it.full.clone()))
            }
            ListKind::Resources => (text(item, "uri").to_owned(), text(item, "name").to_owned()),
            ListKind::Templates => (text(item, "uriTemplate").to_owned(), text(item, "name").to_owned()),
            ListKind::Prompts => (text(item, "name").to_owned(), arguments(item)),
        };
        let description = described(text(item, "description"), longest);
        table.row([Cell::from(*server), Cell::from(first), Cell::from(second), Cell::from(description)]);
    }
    table.print()
}

fn arguments(prompt: &Value) -> String {
    let arguments = prompt.get("arguments").and_then(Value::as_array).into_iter().flatten();
    arguments.map(|argument| text(argument, "name")).collect::<Vec<_>>().join(", ")
}
