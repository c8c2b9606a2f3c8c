//! What the scripted model says: the first rule that fits the newest turn, or an echo.

use serde_json::{Map, Value, json};
use tokio::sync::watch;

/// The newest turn of a request: what came after the model spoke last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    /// What was said, without Claude Code's own reminders.
    pub(crate) text: String,
    /// The reminders, which is also where hooks put their context.
    pub(crate) reminders: String,
    /// What arrived while the turn ran, as messages of role `system`.
    pub(crate) system: String,
    pub(crate) results: Vec<ToolResult>,
    /// Whether something was said after the last tool result.
    pub(crate) said_after: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct ToolResult {
    pub(crate) is_error: bool,
    pub(crate) text: String,
}

pub(crate) enum When {
    /// The newest text contains this.
    Text(String),
    /// A tool result contains this.
    Result(String),
    /// A reminder of Claude Code's contains this: that is where hooks put what they say.
    Reminder(String),
    /// The turn is a tool result and nothing was said after it.
    AnyResult,
}

/// Its texts may hold placeholders: `$TEXT`, `$RESULT`, `$MESSAGE_ID` of the result, `$PLAN_FILE` of plan mode, and any attribute of the newest `<channel>` tag in capitals,
/// so that `$CHAT_ID` is `chat_id`.
pub(crate) struct Rule {
    when: When,
    blocks: Vec<Value>,
    /// How often it may still be used; `None` is for ever.
    left: Option<usize>,
    hold: Option<watch::Receiver<bool>>,
    /// Between the two halves of what it says.
    pause: Option<watch::Receiver<bool>>,
    /// It is refused with this status, as the API does.
    refusal: Option<u16>,
}

/// Keeps the model silent until it is opened, or dropped.
pub(crate) struct Latch(watch::Sender<bool>);

/// What was chosen for one request.
pub(crate) struct Choice {
    pub(crate) content: Vec<Value>,
    pub(crate) hold: Option<watch::Receiver<bool>>,
    pub(crate) pause: Option<watch::Receiver<bool>>,
    pub(crate) refusal: Option<u16>,
}

/// A model that replies to "main is red" over the gate, corrects its reply, and says so.
pub(crate) fn replies_and_corrects() -> Vec<Rule> {
    let reply = json!({"chat_id": "$CHAT_ID", "reply_to": "$EVENT_ID", "text": "on it"});
    let correction = json!({"message_id": "$MESSAGE_ID", "text": "fixed"});
    vec![
        Rule::on_text("main is red").call("mcp__gate__reply", reply).once(),
        Rule::on_result("sent").call("mcp__gate__edit_message", correction).once(),
        Rule::on_result("edited").say("told them"),
    ]
}

impl Rule {
    pub(crate) fn new(when: When) -> Self {
        Self { when, blocks: Vec::new(), left: None, hold: None, pause: None, refusal: None }
    }

    pub(crate) fn on_text(text: &str) -> Self {
        Self::new(When::Text(text.to_owned()))
    }

    pub(crate) fn on_result(text: &str) -> Self {
        Self::new(When::Result(text.to_owned()))
    }

    pub(crate) fn on_reminder(text: &str) -> Self {
        Self::new(When::Reminder(text.to_owned()))
    }

    pub(crate) fn on_any_result() -> Self {
        Self::new(When::AnyResult)
    }

    pub(crate) fn say(mut self, text: &str) -> Self {
        self.blocks.push(json!({"type": "text", "text": text}));
        self
    }

    /// Text that comes in two pieces, the second when the latch opens.
    pub(crate) fn say_in_two(mut self, first: &str, second: &str, latch: &Latch) -> Self {
        let whole = format!("{first}{second}");
        self.blocks.push(json!({"type": "text", "text": whole, "pieces": [first, second]}));
        self.pause = Some(latch.0.subscribe());
        self
    }

    /// The API refuses the request. Below 500 and not 429, or the client tries again for minutes.
    pub(crate) fn refused(mut self, status: u16) -> Self {
        self.refusal = Some(status);
        self
    }

    /// Its id is minted when it is said.
    #[allow(clippy::needless_pass_by_value, reason = "a rule is written with json!() in place")]
    pub(crate) fn call(mut self, tool: &str, input: Value) -> Self {
        self.blocks.push(json!({"type": "tool_use", "name": tool, "input": input}));
        self
    }

    pub(crate) fn once(mut self) -> Self {
        self.left = Some(1);
        self
    }

    pub(crate) fn held_by(mut self, latch: &Latch) -> Self {
        self.hold = Some(latch.0.subscribe());
        self
    }

    fn fits(&self, turn: &Turn) -> bool {
        let in_results = |text: &str| turn.results.iter().any(|result| result.text.contains(text));
        self.left != Some(0)
            && match &self.when {
                When::Text(text) => turn.text.contains(text),
                When::Result(text) => in_results(text),
                When::Reminder(text) => turn.reminders.contains(text),
                When::AnyResult => !turn.results.is_empty() && !turn.said_after,
            }
    }
}

impl Latch {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    pub(crate) fn open(&self) {
        self.0.send_replace(true);
    }
}

/// The first rule that fits; without one the model repeats what it was told, so that a test sees what arrived.
pub(crate) fn choose(rules: &mut [Rule], turn: &Turn) -> Choice {
    let Some(rule) = rules.iter_mut().find(|rule| rule.fits(turn)) else {
        let echo = match turn.results.is_empty() {
            true => format!("echo: {}", turn.text),
            false => format!("tool said: {}", turn.result()),
        };
        let content = vec![json!({"type": "text", "text": echo})];
        return Choice { content, hold: None, pause: None, refusal: None };
    };
    rule.left = rule.left.map(|left| left - 1);
    let content = rule.blocks.iter().map(|block| fill(block, turn)).collect();
    Choice { content, hold: rule.hold.clone(), pause: rule.pause.clone(), refusal: rule.refusal }
}

impl Turn {
    pub(crate) fn of(body: &Value) -> Self {
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let start = messages.iter().rposition(|message| message["role"] == "assistant").map_or(0, |at| at + 1);
        let mut turn = Self::default();
        for message in &messages[start..] {
            for block in blocks(&message["content"]) {
                turn.add(&message["role"], &block);
            }
        }
        turn
    }

    fn add(&mut self, role: &Value, block: &Value) {
        let text = text_of(block);
        if role == "system" {
            append(&mut self.system, &text);
        } else if block["type"] == "tool_result" {
            self.results.push(ToolResult { is_error: block["is_error"] == true, text });
            self.said_after = false;
        } else if text.trim_start().starts_with("<system-reminder>") {
            append(&mut self.reminders, &text);
        } else if block["type"] == "text" {
            append(&mut self.text, &text);
            self.said_after = true;
        }
    }

    pub(crate) fn result(&self) -> String {
        self.results.iter().map(|result| result.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    fn value(&self, name: &str) -> Option<String> {
        match name {
            "TEXT" => Some(self.text.clone()),
            "RESULT" => Some(self.result()),
            "PLAN_FILE" => {
                let places = [&self.reminders, &self.system, &self.text];
                let told = places.iter().find_map(|place| place.split_once("create your plan at "));
                Some(told?.1.split_whitespace().next()?.to_owned())
            }
            "MESSAGE_ID" => {
                let result = self.result();
                let (_, rest) = result.split_once("message_id=")?;
                Some(rest.split(|letter: char| !letter.is_ascii_alphanumeric()).next()?.to_owned())
            }
            _ => {
                let result = self.result();
                let places = [&self.text, &self.system, &self.reminders, &result];
                places.iter().find_map(|place| channel_attribute(place, &name.to_ascii_lowercase()))
            }
        }
    }
}

fn fill(value: &Value, turn: &Turn) -> Value {
    match value {
        Value::String(text) => Value::String(fill_text(text, turn)),
        Value::Array(items) => items.iter().map(|item| fill(item, turn)).collect(),
        Value::Object(fields) => {
            let filled: Map<String, Value> =
                fields.iter().map(|(name, field)| (name.clone(), fill(field, turn))).collect();
            Value::Object(filled)
        }
        other => other.clone(),
    }
}

/// One pass, so that what is filled in is never filled again; an unknown placeholder stays as it is.
fn fill_text(text: &str, turn: &Turn) -> String {
    let mut parts = text.split('$');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|letter: char| !letter.is_ascii_uppercase() && letter != '_').unwrap_or(part.len());
        match turn.value(&part[..end]).filter(|_| end > 0) {
            Some(value) => filled.push_str(&value),
            None => filled.push_str(&format!("${}", &part[..end])),
        }
        filled.push_str(&part[end..]);
    }
    filled
}

/// An attribute of the newest `<channel …>` tag that has it.
fn channel_attribute(text: &str, name: &str) -> Option<String> {
    let tags = text.rmatch_indices("<channel ").map(|(at, _)| &text[at..]);
    let heads = tags.map(|tag| tag.split_once('>').map_or(tag, |(head, _)| head));
    let values = |head: &str| {
        let (_, rest) = head.split_once(&format!(" {name}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let value = heads.into_iter().find_map(values)?;
    Some(value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn text_of(block: &Value) -> String {
    match block["text"].as_str() {
        Some(text) => text.to_owned(),
        None => blocks(&block["content"]).iter().map(text_of).collect::<Vec<_>>().join("\n"),
    }
}

fn append(to: &mut String, text: &str) {
    if !to.is_empty() {
        to.push('\n');
    }
    to.push_str(text);
}
