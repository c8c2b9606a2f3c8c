//! `portcullis mcp tools`, `resources` and `prompts`: what servers offer.

use std::process::ExitCode;
use std::sync::Arc;

use futures_util::future::join_all;
use portcullis_core::shell_words;
use serde_json::{Value, json};

use super::super::table::{Cell, Table, fields};
use super::super::{paths, say};
use super::call::ready;
use super::serve::settings_of;
use super::{configuration, note_problems, upstreams};
use crate::config::nearest;
use crate::failure::Failure;
use crate::report::note;
use crate::upstream::shape::described;
use crate::upstream::{CallFailure, ListKind, ToolName, Upstreams, names};

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

#[derive(clap::Args)]
pub(super) struct ToolOffers {
    #[command(flatten)]
    offers: Offers,
    /// One tool of the server: all of its description, and the arguments that it takes
    tool: Option<String>,
}

impl ToolOffers {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        self.offers.run(ListKind::Tools, self.tool.as_deref()).await
    }
}

impl Offers {
    pub(super) async fn run(self, kind: ListKind, only: Option<&str>) -> anyhow::Result<ExitCode> {
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
        let lists = join_all(servers.iter().map(|server| offered(&upstreams, server, kind))).await;
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
                    if failure.is_needs_auth() {
                        note(&format!("  hint: portcullis mcp login {}", shell_words(&[server])));
                    }
                }
            }
        }
        let longest = settings_of(&paths()?).mcp.longest_description;
        if let Some(tool) = only.filter(|_| failed == 0) {
            return self.show_one(&items, tool);
        }
        match self.json {
            true => say(&as_json(kind, &items)?),
            // What those offer that did not answer is not known.
            false if items.is_empty() && failed > 0 => {}
            false => say(&as_table(kind, &items, servers.is_empty(), longest)),
        }
        Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

impl Offers {
    /// One tool with all that is known of it.
    fn show_one(&self, items: &[(&str, Value)], tool: &str) -> anyhow::Result<ExitCode> {
        let names = full_names(ListKind::Tools, items);
        let Some(place) = items.iter().position(|(_, item)| text(item, "name") == tool) else {
            let hint =
                no_such_tool(items.iter().map(|(_, item)| item), tool, self.server.as_deref().unwrap_or_default());
            return Err(Failure::usage(format!("no tool is called {tool:?}"), hint).into());
        };
        let (server, item) = &items[place];
        if self.json {
            let row = as_json(ListKind::Tools, items)?;
            let rows: Vec<Value> = serde_json::from_str(&row)?;
            say(&format!("{}\n", rows[place]));
            return Ok(ExitCode::SUCCESS);
        }
        let name = names[place].as_ref().map(|name| name.full.clone()).unwrap_or_default();
        let mut rows = vec![
            ("tool", format!("{tool} of {server}")),
            ("in rules", name),
            ("does", text(item, "description").to_owned()),
        ];
        rows.extend(taken(&item["inputSchema"]).into_iter().map(|argument| ("takes", argument)));
        say(&fields(&rows));
        Ok(ExitCode::SUCCESS)
    }
}

/// What a server offers; with resources, the templates of those that it makes when they are asked for.
async fn offered(upstreams: &Upstreams, server: &str, kind: ListKind) -> Result<Arc<Vec<Value>>, CallFailure> {
    let listed = upstreams.list(server, kind).await?;
    if kind != ListKind::Resources {
        return Ok(listed);
    }
    // Not every server knows of templates.
    let templates = upstreams.list(server, ListKind::Templates).await.unwrap_or_default();
    Ok(Arc::new(listed.iter().chain(templates.iter()).cloned().collect()))
}

/// The arguments of a tool, one in a line: `path: string (required): which file`.
fn taken(schema: &Value) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    let arguments = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let line = |(name, about): (&String, &Value)| {
        let kind = match (about.get("type"), about.get("enum")) {
            (_, Some(values)) => format!("one of {values}"),
            (Some(Value::String(kind)), None) => kind.clone(),
            (Some(kinds), None) => kinds.to_string(),
            (None, None) => "any".to_owned(),
        };
        let needed = if is_required(name) { " (required)" } else { "" };
        let described = text(about, "description");
        let described = if described.is_empty() { String::new() } else { format!(": {described}") };
        format!("{name}: {kind}{needed}{described}")
    };
    let lines: Vec<String> = arguments.map(line).collect();
    if lines.is_empty() { vec!["no arguments that it describes".to_owned()] } else { lines }
}

/// What to do about the name of a tool that the server does not have.
pub(super) fn no_such_tool<'a>(tools: impl Iterator<Item = &'a Value>, tool: &str, server: &str) -> String {
    match nearest(tool, tools.map(|item| text(item, "name"))) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("see what it offers: portcullis mcp tools {}", shell_words(&[server])),
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
    let whole: &[usize] = match kind {
        ListKind::Tools => &[1, 2],
        ListKind::Resources | ListKind::Templates | ListKind::Prompts => &[1],
    };
    let mut table = Table::new(&heads).with_whole(whole);
    for ((server, item), name) in items.iter().zip(full_names(kind, items)) {
        let (first, second) = match kind {
            ListKind::Tools => {
                (text(item, "name").to_owned(), name.as_ref().map_or(String::new(), |it| it.full.clone()))
            }
            ListKind::Resources | ListKind::Templates => {
                let address = if item.get("uri").is_some() { "uri" } else { "uriTemplate" };
                (text(item, address).to_owned(), text(item, "name").to_owned())
            }
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
