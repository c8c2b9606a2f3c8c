//! What the servers behind a gateway offer, under the names that clients use.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use portcullis_core::{McpTool, shell_words};
use serde_json::Value;
use tokio::sync::mpsc;

use super::Gateway;
use crate::fixed;
use crate::upstream::{CallFailure, ListKind, ToolName, Upstreams, may_be_of, names};

/// A server that has no list by then is left out of the answer. The client is told when there is one.
const LIST_WAIT: Duration = Duration::from_secs(3);

/// A server that has not had its turn to be started by then is not waited for.
const TURN_WAIT: Duration = Duration::from_secs(6);

/// More of a title is not shown.
const LONGEST_TITLE: usize = 200;

/// A tool of one server.
#[derive(Debug)]
pub(super) struct ListedTool {
    pub(super) server: String,
    /// Of the server's configuration: another program under the same name is another server.
    pub(super) server_hash: String,
    /// As its server calls it.
    pub(super) name: String,
    /// As rules and people call it.
    pub(super) full: String,
    /// As the client calls it.
    pub(super) shown: String,
    /// As the server describes it.
    pub(super) described: Value,
    /// See [`Self::identity`]. Set by its first call.
    pub(super) identity: OnceLock<Arc<str>>,
}

impl ListedTool {
    /// The server's description, under the name that the client uses.
    pub(super) fn listed(&self) -> Value {
        let mut described = self.described.clone();
        described["name"] = self.shown.as_str().into();
        described
    }

    /// Everything by which a person, or a model, knows what it does. What is allowed for longer than once is allowed for this.
    pub(super) fn identity(&self) -> &Arc<str> {
        self.identity.get_or_init(|| {
            let described = ["title", "description", "inputSchema", "outputSchema", "annotations"];
            let described = described.map(|key| self.described.get(key));
            serde_json::json!([self.server, self.server_hash, self.name, described]).to_string().into()
        })
    }

    /// Whether its server wants a person to look at every call, as it can say to Claude Code.
    pub(super) fn wants_person(&self) -> bool {
        let wanted = self.described.get("_meta").and_then(|meta| meta.get("anthropic/requiresUserInteraction"));
        wanted == Some(&Value::Bool(true))
    }

    /// The server's own words for it.
    pub(super) fn about(&self) -> &str {
        self.described.get("description").and_then(Value::as_str).unwrap_or_default()
    }

    /// What people are told of it. What the server claims is marked as such: it decides nothing.
    pub(super) fn in_words(&self) -> String {
        let annotations = self.described.get("annotations");
        let hint = |name: &str| annotations.and_then(|hints| hints.get(name)?.as_bool());
        let mut claims = vec![];
        match (hint("readOnlyHint"), hint("destructiveHint")) {
            (Some(true), _) => claims.push("only reads"),
            (_, Some(true)) => claims.push("may destroy"),
            (_, Some(false)) => claims.push("only adds"),
            _ => {}
        }
        claims.extend((hint("idempotentHint") == Some(true)).then_some("changes nothing more when it is repeated"));
        match hint("openWorldHint") {
            Some(true) => claims.push("reaches beyond its own data"),
            Some(false) => claims.push("stays within its own data"),
            None => {}
        }
        let claim = match claims.is_empty() {
            true => String::new(),
            false => format!("; the server says that it {}", claims.join(", ")),
        };
        let title = self.title().map(|title| format!(" ({title})")).unwrap_or_default();
        format!("{}{title} of the MCP server {}{claim}", self.name, self.server)
    }

    /// What its server calls it for people.
    fn title(&self) -> Option<&str> {
        let titles = [Some(&self.described), self.described.get("annotations")];
        let title = titles.into_iter().flatten().find_map(|of| of.get("title").and_then(Value::as_str));
        title.filter(|title| *title != self.name)
    }

    /// The tool by the names of its server, for whoever is asked.
    pub(super) fn named(&self) -> McpTool {
        let title = self.title().map(|title| title.chars().take(LONGEST_TITLE).collect());
        McpTool { server: self.server.clone(), tool: self.name.clone(), title }
    }
}

/// All tools, and the servers that could not be asked.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    pub(super) tools: Vec<Arc<ListedTool>>,
    /// By name, with the reason.
    pub(super) unavailable: BTreeMap<String, String>,
}

impl Catalog {
    pub(super) fn of(gateway: &Gateway, mut listed: Listed) -> Self {
        forget_repeated(&mut listed.items);
        let names = shown_names(gateway, &listed.items);
        let tools = listed.items.into_iter().zip(names).map(|((server, described), (full, shown))| {
            let name = name_of(&described).to_owned();
            let server_hash = gateway.upstreams.hash(&server).unwrap_or_default();
            Arc::new(ListedTool { server, server_hash, name, full, shown, described, identity: OnceLock::new() })
        });
        Self { tools: tools.collect(), unavailable: listed.unavailable }
    }

    pub(super) fn find(&self, shown: &str) -> Option<Arc<ListedTool>> {
        self.tools.iter().find(|tool| tool.shown == shown).cloned()
    }

    /// The servers that could not be asked and may have the tool that a client calls so, with the reason, the likeliest first.
    /// Where only one is offered, its tools have their own names.
    pub(super) fn may_have(&self, shown: &str, is_only: bool) -> Vec<(String, String)> {
        let full = with_prefix(shown);
        let fits = |server: &str| if is_only { Some(0) } else { may_be_of(&full, server) };
        let fitting = self.unavailable.iter().filter_map(|of| Some((fits(of.0)?, of)));
        let mut fitting: Vec<_> = fitting.collect();
        fitting.sort_by_key(|(fits, _)| std::cmp::Reverse(*fits));
        fitting.into_iter().map(|(_, (server, why))| (server.clone(), why.clone())).collect()
    }
}

/// What servers offer of one kind, and those that could not be asked.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Each with its server.
    pub(super) items: Vec<(String, Value)>,
    /// By name, with the reason.
    pub(super) unavailable: BTreeMap<String, String>,
}

impl Listed {
    /// Asks all servers at once. `late` is told when one answers that was not waited for.
    pub(super) async fn read(gateway: &Gateway, kind: ListKind, late: &Late) -> Self {
        let wait = fixed::wait("MCP_LIST", LIST_WAIT);
        let servers = gateway.servers.names();
        let asked: Vec<_> = servers.iter().map(|server| ask(gateway, server, kind, wait, late)).collect();
        let answers = futures_util::future::join_all(asked).await;
        let mut listed = Self::default();
        for (server, answer) in servers.iter().zip(answers) {
            match answer {
                Ok(items) => listed.items.extend(items.iter().map(|item| (server.clone(), item.clone()))),
                Err(why) => drop(listed.unavailable.insert(server.clone(), why)),
            }
        }
        listed
    }
}

/// Kinds of which a list has come that was not waited for.
pub(super) type Late = mpsc::Sender<ListKind>;

pub(super) fn name_of(item: &Value) -> &str {
    item.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// A tool that its server lists twice counts as it is listed first: clients refuse a list in which a name is there twice, and
/// a person who is asked must see the description that the model saw.
fn forget_repeated(items: &mut Vec<(String, Value)>) {
    let mut known = HashSet::new();
    items.retain(|(server, item)| known.insert((server.clone(), name_of(item).to_owned())));
}

/// The names of tools or prompts: as rules have them, and as the client does.
pub(super) fn shown_names(gateway: &Gateway, items: &[(String, Value)]) -> Vec<(String, String)> {
    let pairs: Vec<(&str, &str)> = items.iter().map(|(server, item)| (server.as_str(), name_of(item))).collect();
    let shown = |((_, name), full): (&(&str, &str), ToolName)| {
        let shown =
            if gateway.offer.server.is_some() { (*name).to_owned() } else { without_prefix(&full.full).to_owned() };
        (full.full, shown)
    };
    pairs.iter().zip(names(&pairs)).map(shown).collect()
}

/// `server__tool` of `mcp__server__tool`: clients put a prefix of their own before it.
fn without_prefix(full: &str) -> &str {
    full.strip_prefix("mcp__").unwrap_or(full)
}

fn with_prefix(shown: &str) -> String {
    format!("mcp__{shown}")
}

/// What one server offers, or why that is not known. One that is known to be down is not waited for.
async fn ask(
    gateway: &Gateway,
    server: &str,
    kind: ListKind,
    wait: Duration,
    late: &Late,
) -> Result<Arc<Vec<Value>>, String> {
    if let Some(failure) = gateway.upstreams.down(server) {
        tell_when_recovered(&gateway.upstreams, server, late);
        let last = gateway.upstreams.last_list(server, kind);
        return last.ok_or_else(|| why(server, &CallFailure::NoConnection(failure)));
    }
    let (upstreams, name) = (Arc::clone(&gateway.upstreams), server.to_owned());
    // In a task of its own: a connection that takes long is made all the same.
    let mut asking = tokio::spawn(async move { upstreams.list(&name, kind).await });
    // Only some are started at once: the time of the others begins when it is their turn.
    let turn = tokio::time::timeout(TURN_WAIT, gateway.upstreams.begun(server));
    let in_time = async {
        tokio::select! {
            biased;
            answered = &mut asking => return Ok(answered),
            _its_turn = turn => {}
        }
        tokio::time::timeout(wait, &mut asking).await
    };
    let (upstreams, server) = (Arc::clone(&gateway.upstreams), server.to_owned());
    match in_time.await {
        Ok(Ok(listed)) => {
            if upstreams.down(&server).is_some() {
                tell_when_recovered(&upstreams, &server, late);
            }
            listed.map_err(|failure| why(&server, &failure))
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => {
            let known = upstreams.down(&server).map(|failure| why(&server, &CallFailure::NoConnection(failure)));
            let late = late.clone();
            tokio::spawn(async move {
                if matches!(asking.await, Ok(Ok(_))) {
                    // A client that takes nothing is not told.
                    late.try_send(kind).ok();
                }
                if upstreams.down(&server).is_some() {
                    tell_when_recovered(&upstreams, &server, &late);
                }
            });
            Err(known.unwrap_or_else(|| format!("it has not answered within {} s", wait.as_secs())))
        }
    }
}

/// Has a server that is down tried in the background, and the client told when it is there.
fn tell_when_recovered(upstreams: &Arc<Upstreams>, server: &str, late: &Late) {
    let (upstreams, server, late) = (Arc::downgrade(upstreams), server.to_owned(), late.clone());
    tokio::spawn(async move {
        let Some(about) = Upstreams::recovered(upstreams, server).await else { return };
        let offers = [
            (about.tools, ListKind::Tools),
            (about.resources, ListKind::Resources),
            (about.prompts, ListKind::Prompts),
        ];
        for (_, kind) in offers.into_iter().filter(|(has_it, _)| *has_it) {
            late.try_send(kind).ok();
        }
    });
}

/// Why a server cannot be used, and what a person does about it.
pub(super) fn why(server: &str, failure: &CallFailure) -> String {
    match failure.is_needs_auth() {
        true => format!("{}: portcullis mcp login {}", failure.why(), shell_words(&[server])),
        false => failure.why(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn people_see_the_title_and_what_the_server_claims() {
        let words = |described: Value| {
            let [server, server_hash, name, full, shown] = ["s", "h", "t", "mcp__s__t", "s__t"].map(str::to_owned);
            ListedTool { server, server_hash, name, full, shown, described, identity: OnceLock::new() }.in_words()
        };
        assert_eq!(words(json!({})), "t of the MCP server s");
        let hints = json!({"title": "Nice", "readOnlyHint": false, "destructiveHint": true, "openWorldHint": true});
        let said = words(json!({"annotations": hints}));
        assert_eq!(
            said,
            "t (Nice) of the MCP server s; the server says that it may destroy, reaches beyond its own data"
        );
        let said = words(json!({"title": "Own", "annotations": {"title": "Other", "readOnlyHint": true}}));
        assert_eq!(said, "t (Own) of the MCP server s; the server says that it only reads");
    }

    #[test]
    fn a_call_means_the_server_whose_name_it_has_and_not_one_whose_name_begins_so() {
        let down = ["git", "github", "my.server", "my"].map(|server| (server.to_owned(), format!("{server} is down")));
        let catalog = Catalog { tools: vec![], unavailable: BTreeMap::from(down) };
        let of = |shown: &str| catalog.may_have(shown, false).into_iter().map(|(server, _)| server).collect::<Vec<_>>();
        assert_eq!(of("github__create_issue"), ["github"]);
        assert_eq!(of("my_server__x"), ["my.server"]);
        assert!(of("other__x").is_empty() && of("git").is_empty());
        assert_eq!(catalog.may_have("x", true).len(), 4);
    }

    #[test]
    fn a_tool_that_its_server_lists_twice_is_there_once() {
        let tool =
            |server: &str, name: &str, about: &str| (server.to_owned(), json!({"name": name, "description": about}));
        let first = vec![tool("a", "dup", "one"), tool("b", "dup", "three"), tool("a", "other", "four")];
        let mut items = first.clone();
        items.insert(1, tool("a", "dup", "two"));
        forget_repeated(&mut items);
        assert_eq!(items, first);
    }
}
