//! Three tools in place of all, for people with so many that a model loses its way among them. Rules, people and the log
//! know the tool that is meant, and never these three.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::ErrorData;
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};

use super::calls::CallEnd;
use super::catalog::ListedTool;
use super::core::GatewayCore;
use super::leaving::CancelReasons;
use super::session::ClientSession;

const FIND: &str = "find_tools";
const DESCRIBE: &str = "describe_tool";
const CALL: &str = "call_tool";
/// Tools that are found at once, unless fewer are wanted.
const MOST_FOUND: usize = 20;
/// How much of a description the list of what was found shows.
const SHOWN: usize = 200;

/// As the client is told them.
pub(super) fn tools() -> Vec<Value> {
    let text = |words: &str| json!({"type": "string", "description": words});
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        json!({"name": name, "description": description, "inputSchema": schema})
    };
    vec![
        tool(
            FIND,
            "Find tools of the MCP servers behind this gateway by words in their names and descriptions. Without words, the \
             first of all are listed.",
            json!({"words": text("Some words, such as \"create issue\""),
                "limit": {"type": "integer", "description": "At most so many", "minimum": 1, "maximum": MOST_FOUND}}),
            &[],
        ),
        tool(
            DESCRIBE,
            "The whole description of a tool, and the arguments that it takes",
            json!({"name": text("As find_tools names it")}),
            &["name"],
        ),
        tool(
            CALL,
            "Call a tool. A person may be asked before it runs.",
            json!({"name": text("As find_tools names it"),
                "arguments": {"type": "object", "description": "As describe_tool says"}}),
            &["name"],
        ),
    ]
}

/// Calls one of the three.
pub(super) async fn call(
    core: &GatewayCore,
    session: &Arc<ClientSession>,
    mut params: Map<String, Value>,
    from: (&RequestContext<RoleServer>, &CancelReasons),
) -> Result<CallEnd, ErrorData> {
    let bad = |why: &str| ErrorData::invalid_params(why.to_owned(), None);
    let arguments = params.remove("arguments").unwrap_or_else(|| json!({}));
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    match params.get("name").and_then(Value::as_str).unwrap_or_default() {
        FIND => {
            let (tools, unavailable) = core.offered(session).await;
            let limit = arguments.get("limit").and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
            let limit = limit.unwrap_or(MOST_FOUND).clamp(1, MOST_FOUND);
            // Models guess the second name.
            let words = text("words").or_else(|| text("query")).unwrap_or_default();
            let (found, all) = found(&tools, words, limit);
            Ok(said(&json!({"tools": found, "found": all, "unavailable": unavailable})))
        }
        DESCRIBE => {
            let name = text("name").ok_or_else(|| bad("describe_tool needs the name of a tool"))?;
            let (tools, _) = core.offered(session).await;
            let tool = tools.iter().find(|tool| tool.shown == name);
            Ok(said(&tool.ok_or_else(|| bad(&format!("unknown tool: {name}")))?.listed()))
        }
        CALL => {
            let name = text("name").ok_or_else(|| bad("call_tool needs the name of a tool"))?.to_owned();
            let inner = arguments.get("arguments").cloned().unwrap_or_else(|| json!({}));
            if !inner.is_object() {
                return Err(bad("the arguments of a tool are an object"));
            }
            params.insert("name".to_owned(), name.as_str().into());
            params.insert("arguments".to_owned(), inner);
            core.call(session, &name, params, from).await
        }
        other => Err(bad(&format!("unknown tool: {other}; there are {FIND}, {DESCRIBE} and {CALL}"))),
    }
}

fn said(value: &Value) -> CallEnd {
    CallEnd::Result(json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value}))
}

/// Those that fit best, and how many fit at all. Words in a name count more than those in a description.
fn found(tools: &[Arc<ListedTool>], words: &str, limit: usize) -> (Vec<Value>, usize) {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let mut fitting: Vec<(usize, &ListedTool)> = tools
        .iter()
        .filter_map(|tool| {
            let (name, about) = (tool.shown.to_lowercase(), tool.about().to_lowercase());
            let points = |word: &String| 3 * usize::from(name.contains(word)) + usize::from(about.contains(word));
            let points: Vec<usize> = words.iter().map(points).collect();
            (words.is_empty() || points.iter().any(|points| *points > 0)).then(|| (points.iter().sum(), &**tool))
        })
        .collect();
    fitting.sort_by(|(more, a), (less, b)| less.cmp(more).then_with(|| a.shown.cmp(&b.shown)));
    let listed = |(_, tool): &(usize, &ListedTool)| {
        let about: String = tool.about().chars().take(SHOWN).collect();
        json!({"name": tool.shown, "description": about})
    };
    (fitting.iter().take(limit).map(listed).collect(), fitting.len())
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;

    fn tool(shown: &str, description: &str) -> Arc<ListedTool> {
        let described = json!({"name": shown, "description": description});
        let [server, server_hash, full] = [String::new(), String::new(), format!("mcp__{shown}")];
        let [name, shown] = [shown, shown].map(str::to_owned);
        Arc::new(ListedTool { server, server_hash, name, full, shown, described, identity: OnceLock::new() })
    }

    #[test]
    fn words_in_names_count_most_and_only_so_many_are_shown() {
        let tools = [
            tool("files__read", "Reads an issue of a magazine"),
            tool("github__create_issue", "Opens a ticket"),
            tool("github__list", "Lists what there is"),
        ];
        let names = |words: &str, limit| {
            let (found, all) = found(&tools, words, limit);
            (found.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>(), all)
        };
        assert_eq!(names("Issue create", 20), (vec!["github__create_issue".to_owned(), "files__read".to_owned()], 2));
        assert_eq!(names("issue", 1), (vec!["github__create_issue".to_owned()], 2));
        assert_eq!(names("", 20).1, 3);
        assert_eq!(names("calendar", 20), (vec![], 0));
    }
}
