//! What an editor sees of an agent, without what differs in every run: rows of step, aspect and value.

use super::editor::Editor;
use super::schema::Side;
use crate::support::home::Home;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Updates that say how the session stands. They come when they come, so that their place in the order says nothing.
const UNORDERED: [&str; 6] = [
    "available_commands_update",
    "config_option_update",
    "current_mode_update",
    "session_info_update",
    "usage_update",
    "notice",
];

pub(super) struct Observed {
    /// Step and aspect, and what was seen.
    pub(super) rows: Vec<((String, String), String)>,
    /// How many updates of a session have been looked at.
    looked_at: BTreeMap<(u32, String), usize>,
    project: String,
    user: String,
}

impl Observed {
    pub(super) fn new(home: &Home) -> Self {
        let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
        Self { rows: Vec::new(), looked_at: BTreeMap::new(), project: text(home.project()), user: text(home.user()) }
    }

    pub(super) fn value(&self, place: &(String, String)) -> Option<&str> {
        self.rows.iter().find(|(other, _)| other == place).map(|(_, value)| value.as_str())
    }

    fn row(&mut self, step: &str, aspect: &str, value: &str) {
        let value = value.replace(&self.project, "PROJECT").replace(&self.user, "HOME").replace('\n', " ");
        self.rows.push((place(step, aspect), without_plan_name(&value)));
    }

    pub(super) fn initialized(&mut self, result: &Value) {
        let capabilities = names("", &result["agentCapabilities"]);
        self.row("initialize", "capabilities", &capabilities.join(", "));
        let methods = result["authMethods"].as_array().into_iter().flatten();
        let methods: Vec<&str> = methods.filter_map(|method| method["id"].as_str()).collect();
        self.row("initialize", "ways to sign in", &methods.join(", "));
    }

    pub(super) fn created(&mut self, result: &Value) {
        let modes = &result["modes"];
        let ids = |list: &Value, id: &str| -> Vec<String> {
            let items = list.as_array().into_iter().flatten();
            items.filter_map(|item| item[id].as_str().map(str::to_owned)).collect()
        };
        self.row("new", "modes", &ids(&modes["availableModes"], "id").join(", "));
        self.row("new", "current mode", modes["currentModeId"].as_str().unwrap_or("none"));
        self.row("new", "options", &ids(&result["configOptions"], "id").join(", "));
    }

    /// The request for permission, and whether the call it names had been shown.
    pub(super) fn request(&mut self, step: &str, editor: &Editor, request: &Value) {
        let params = &request["params"];
        let options = params["options"].as_array().into_iter().flatten();
        let options: Vec<String> = options
            .map(|option| {
                format!("{}: {}", option["kind"].as_str().unwrap_or("?"), option["name"].as_str().unwrap_or("?"))
            })
            .collect();
        self.row(step, "options", &options.join("; "));
        let call = &params["toolCall"];
        let shown = editor.frames().into_iter().take_while(|frame| frame.value != *request).any(|frame| {
            let update = &frame.value["params"]["update"];
            frame.from == Side::Agent
                && update["sessionUpdate"] == "tool_call"
                && update["toolCallId"] == call["toolCallId"]
        });
        self.row(step, "the call is shown before the request", if shown { "yes" } else { "no" });
        let fields: BTreeSet<&str> = call.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        self.row(step, "the request's call", &fields.into_iter().collect::<Vec<_>>().join(", "));
    }

    pub(super) fn form(&mut self, step: &str, request: &Value) {
        let fields = request["params"]["requestedSchema"]["properties"].as_object().into_iter().flatten();
        let fields: Vec<String> = fields.map(|(name, field)| format!("{name}: {}", field["type"])).collect();
        self.row(step, "form", &fields.join(", "));
    }

    pub(super) fn result(&mut self, step: &str, result: &Value) {
        self.row(step, "result", &names("", result).join(", "));
    }

    pub(super) fn listed(&mut self, step: &str, result: &Value) {
        let sessions = result["sessions"].as_array().into_iter().flatten();
        let fields: BTreeSet<String> = sessions.flat_map(|session| names("", session)).collect();
        self.row(step, "fields", &fields.into_iter().collect::<Vec<_>>().join(", "));
    }

    /// The updates of a session since the last look at it, and how the turn ended.
    pub(super) fn step(&mut self, step: &str, editor: &Editor, session: &str, stop: &str) {
        let updates = editor.updates(session);
        let start = self.skip(editor, session);
        let order = in_order(&updates[start..]);
        let mut calls: Vec<(&str, Vec<&Value>)> = Vec::new();
        for update in &updates[start..] {
            if let Some(id) = update["toolCallId"].as_str() {
                match calls.iter_mut().find(|(call, _)| *call == id) {
                    Some((_, updates)) => updates.push(update),
                    None => calls.push((id, vec![update])),
                }
            }
        }
        self.row(step, "updates", &order.join(", "));
        for (place, (_, updates)) in calls.iter().enumerate() {
            self.call(step, place + 1, updates);
        }
        self.row(step, "stop reason", stop);
    }

    /// How a turn ended that was cancelled. What was on its way at that moment may still come, or not.
    pub(super) fn cancelled(&mut self, step: &str, editor: &Editor, session: &str, stop: &str) {
        self.skip(editor, session);
        self.row(step, "stop reason", stop);
    }

    /// One tool call, from its first update to its last.
    fn call(&mut self, step: &str, place: usize, updates: &[&Value]) {
        // A first update without the field means the default of the schema.
        let texts = |field: &str, default: &'static str| {
            let said = updates.iter().filter_map(|update| update[field].as_str());
            let first = updates[0][field].is_null().then_some(default);
            let mut texts: Vec<&str> = first.into_iter().chain(said).collect();
            texts.dedup();
            texts.join(" → ")
        };
        let newest = |field: &str| updates.iter().rev().map(|update| &update[field]).find(|value| !value.is_null());
        let mut contents: Vec<String> = Vec::new();
        for update in updates {
            let types = update["content"].as_array().into_iter().flatten();
            let types: Vec<&str> = types.filter_map(|content| content["type"].as_str()).collect();
            let types = types.join("+");
            if !types.is_empty() && contents.last() != Some(&types) {
                contents.push(types);
            }
        }
        let locations = newest("locations").and_then(Value::as_array).into_iter().flatten();
        let locations: Vec<String> = locations
            .map(|place| format!("{}:{}", place["path"].as_str().unwrap_or("?"), place["line"]).replace(":null", ""))
            .collect();
        let about = format!("call {place}: ");
        self.row(step, &format!("{about}kind"), &texts("kind", "other"));
        let title = newest("title").and_then(Value::as_str).unwrap_or_default();
        self.row(step, &format!("{about}title"), title);
        self.row(step, &format!("{about}status"), &texts("status", "pending"));
        self.row(step, &format!("{about}content"), &contents.join(" → "));
        self.row(step, &format!("{about}locations"), &locations.join(", "));
        self.row(
            step,
            &format!("{about}input"),
            &newest("rawInput").map_or(String::new(), |input| names("", input).join(", ")),
        );
        let output = newest("rawOutput").map_or("none", |output| match output {
            Value::String(_) => "text",
            Value::Array(_) => "blocks",
            _ => "object",
        });
        self.row(step, &format!("{about}output"), output);
    }

    /// The updates of a session so far belong to no later step. Returns how many had been looked at before.
    pub(super) fn skip(&mut self, editor: &Editor, session: &str) -> usize {
        let place = (editor.child.pid(), session.to_owned());
        self.looked_at.insert(place, editor.updates(session).len()).unwrap_or(0)
    }

    /// A conversation that is told again.
    pub(super) fn replayed(&mut self, step: &str, updates: &[Value]) {
        let order = in_order(updates);
        let kinds: BTreeSet<&str> = order.iter().copied().collect();
        self.row(step, "kinds of updates", &kinds.into_iter().collect::<Vec<_>>().join(", "));
        let count = |kind: &str| order.iter().filter(|other| **other == kind).count().to_string();
        self.row(step, "messages of the user", &count("user_message_chunk"));
        let calls = updates.iter().filter(|update| update["sessionUpdate"] == "tool_call").count();
        self.row(step, "tool calls", &calls.to_string());
    }

    /// What concerns no single step: updates on how the session stands, and frames that the published schema does not allow.
    pub(super) fn whole(&mut self, editor: &Editor) {
        let frames = editor.frames();
        let kinds: BTreeSet<&str> = frames
            .iter()
            .filter_map(|frame| frame.value["params"]["update"]["sessionUpdate"].as_str())
            .filter(|kind| UNORDERED.contains(kind))
            .collect();
        let step =
            if self.value(&place("conversation", "also")).is_none() { "conversation" } else { "loaded conversation" };
        self.row(step, "also", &kinds.into_iter().collect::<Vec<_>>().join(", "));
        let methods: BTreeSet<String> = editor.faults().iter().map(|fault| method(fault)).collect();
        self.row(step, "frames that are not ACP", &methods.into_iter().collect::<Vec<_>>().join(", "));
    }
}

fn place(step: &str, aspect: &str) -> (String, String) {
    (step.to_owned(), aspect.to_owned())
}

/// Claude Code names the file of a plan at random.
fn without_plan_name(value: &str) -> String {
    let mut parts = value.split("/.claude/plans/");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(".md").unwrap_or(0);
        text.push_str("/.claude/plans/PLAN");
        text.push_str(&part[end..]);
    }
    text
}

/// What is wrong with a frame, without the frame.
fn method(fault: &str) -> String {
    fault.split(": {").next().unwrap_or(fault).to_owned()
}

/// The kinds of updates whose order says something; several of one kind in a row are one.
fn in_order(updates: &[Value]) -> Vec<&str> {
    let kinds = updates.iter().map(|update| update["sessionUpdate"].as_str().unwrap_or("?"));
    let mut kinds: Vec<&str> = kinds.filter(|kind| !UNORDERED.contains(kind)).collect();
    kinds.dedup();
    kinds
}

/// The names of the fields of a value, with those inside of objects, but not of what is extra or inside of lists.
fn names(above: &str, value: &Value) -> Vec<String> {
    let fields = value.as_object().into_iter().flatten().filter(|(name, _)| *name != "_meta");
    let mut names_: Vec<String> = fields
        .flat_map(|(name, value)| {
            let name = format!("{above}{name}");
            match value {
                Value::Object(fields) if !fields.is_empty() => names(&format!("{name}."), value),
                Value::Bool(false) | Value::Null => vec![],
                _ => vec![name],
            }
        })
        .collect();
    names_.sort();
    names_
}
