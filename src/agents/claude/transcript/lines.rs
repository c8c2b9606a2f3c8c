//! A line of a transcript as entries of a stream.

use chrono::DateTime;
use portcullis_wire::control::{Block, Message};
use portcullis_wire::envelope::events_in;
use portcullis_wire::hooks::is_made_by_client;
use portcullis_wire::stream::{EntryKind, TurnEnd, content_in_words};
use serde::Deserialize;
use serde_json::Value;

use crate::agents::claude::entries::{Entries, noticed, results};

/// What a line has besides its message.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AboutLine {
    timestamp: Option<String>,
    /// It belongs to a subagent, whose own transcript has it.
    pub(super) is_sidechain: bool,
    /// The client wrote it for the model; nobody said it.
    is_meta: bool,
    /// The same: what is left of the conversation where it was compacted.
    is_compact_summary: bool,
    /// What came while a turn was running, and is part of it.
    attachment: Value,
}

impl AboutLine {
    /// Nobody said it.
    pub(super) fn is_for_model(&self) -> bool {
        self.is_meta || self.is_compact_summary
    }
}

/// What a line tells, and when that was.
pub(super) struct LineEntries {
    pub(super) at: u64,
    pub(super) entries: Vec<EntryKind>,
}

/// None for a line that tells nothing, or that cannot be read.
pub(super) fn entries_of(entries: &mut Entries, line: &[u8]) -> Option<LineEntries> {
    let about: AboutLine = serde_json::from_slice(line).ok()?;
    let message: Message = serde_json::from_slice(line).ok()?;
    if about.is_sidechain {
        return None;
    }
    let entries = match message.kind.as_str() {
        // An event from outside is no word of the user's, and still somebody's.
        "user" if about.is_for_model() => texts(&message).flat_map(spoken).filter(is_event).collect(),
        _ if about.is_for_model() => return None,
        "assistant" if message.is_synthetic() && texts(&message).eq([NOTHING_TO_SAY]) => return None,
        "assistant" => entries.said(&message),
        "attachment" if about.attachment["type"] == "queued_command" => {
            let text = content_in_words(&about.attachment["prompt"]);
            spoken(&text).into_iter().filter(is_event).collect()
        }
        "user" => texts(&message).flat_map(spoken).chain(results(&message)).collect(),
        "system" => message.client_notice().iter().map(noticed).collect(),
        _ => return None,
    };
    let at = about.timestamp.as_deref().and_then(moment).unwrap_or_default();
    (!entries.is_empty()).then_some(LineEntries { at, entries })
}

fn texts(message: &Message) -> impl Iterator<Item = &str> {
    message.blocks().into_iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        Block::ToolUse { .. } | Block::ToolResult { .. } => None,
    })
}

fn is_event(entry: &EntryKind) -> bool {
    matches!(entry, EntryKind::Event { .. })
}

/// A time of the client's, in milliseconds since 1970.
pub(super) fn moment(timestamp: &str) -> Option<u64> {
    u64::try_from(DateTime::parse_from_rfc3339(timestamp).ok()?.timestamp_millis()).ok()
}

/// What the client writes in the agent's place when it goes on with a conversation that broke off: nobody said it.
const NOTHING_TO_SAY: &str = "No response requested.";

/// How the client writes down that a turn was interrupted, in the user's place.
const INTERRUPTED: &str = "[Request interrupted by user";

/// Words of the user, or what was put before the model in their place: events, and what the client has to tell.
pub(super) fn spoken(text: &str) -> Vec<EntryKind> {
    let events = events_in(text);
    if !events.is_empty() {
        let entry = |(event, chat, sender)| EntryKind::Event { event, sender, chat };
        return events.into_iter().map(entry).collect();
    }
    if text.starts_with(INTERRUPTED) {
        return vec![EntryKind::Turn { ended: TurnEnd::Interrupted, why: None }];
    }
    if is_made_by_client(text) {
        return within(text, "summary").map(|text| EntryKind::Notice { text: text.to_owned() }).into_iter().collect();
    }
    // A command of the client, as it was typed.
    let command = within(text, "command-name").map(|name| match within(text, "command-args") {
        Some(arguments) => format!("{name} {arguments}"),
        None => name.to_owned(),
    });
    vec![EntryKind::User { text: command.unwrap_or_else(|| text.to_owned()), by: None }]
}

/// What stands between the tags with this name, in a text that begins with a tag; none where that is nothing.
fn within<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.trim_start().strip_prefix('<').map(|_| text)?.split_once(&format!("<{tag}>"))?;
    let (inner, _) = rest.split_once(&format!("</{tag}>"))?;
    Some(inner.trim()).filter(|inner| !inner.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(line: &Value) -> Option<LineEntries> {
        entries_of(&mut Entries::default(), line.to_string().as_bytes())
    }

    #[test]
    fn lines_of_a_conversation_are_entries_and_others_are_nothing() {
        let user = json!({"type": "user", "timestamp": "1970-01-01T00:00:01.500Z", "message": {"content": "hi"}});
        let read_user = read(&user).unwrap();
        assert_eq!((read_user.at, &read_user.entries[..]), (1500, &spoken("hi")[..]));
        let result = json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "done"}]}]}});
        assert_eq!(read(&result).unwrap().entries, [EntryKind::result("t", &json!("done"), false, None)]);
        let said = json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "a"},
            {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]}});
        assert_eq!(read(&said).unwrap().entries.len(), 2);
        let interrupted = json!({"type": "user", "message": {"content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}]}});
        assert!(matches!(
            read(&interrupted).unwrap().entries[..],
            [EntryKind::Turn { ended: TurnEnd::Interrupted, .. }]
        ));
        for nothing in [
            json!({"type": "summary", "summary": "x"}),
            json!({"type": "user", "isMeta": true, "message": {"content": "hi"}}),
            json!({"type": "user", "isSidechain": true, "message": {"content": "hi"}}),
            json!([1]),
            json!({"type": "assistant", "message": {"content": 7}}),
            json!({"type": "assistant", "message": {"model": "<synthetic>", "content": [{"type": "text", "text": NOTHING_TO_SAY}]}}),
        ] {
            assert!(read(&nothing).is_none(), "{nothing}");
        }
        let event = "A message.\n<channel source=\"portcullis\" event_id=\"01e\" chat_id=\"a &amp; b\" via=\"http\" sender=\"ci\" directs=\"false\">";
        let entry = &spoken(event)[0];
        assert_eq!(*entry, EntryKind::Event { event: "01e".into(), sender: "ci".into(), chat: "a & b".into() });
        // Also where the client wrote it for the model, or while a turn was running.
        let queued = json!({"type": "queued_command", "prompt": event});
        for line in [
            json!({"type": "user", "isMeta": true, "message": {"content": event}}),
            json!({"type": "attachment", "attachment": queued}),
        ] {
            assert_eq!(read(&line).unwrap().entries, spoken(event), "{line}");
        }
    }

    #[test]
    fn what_the_client_told_the_person_is_a_notice_and_the_rest_of_a_compacted_conversation_is_nothing() {
        let blocked = json!({"type": "system", "subtype": "informational", "level": "warning", "content": "blocked"});
        let compacted = json!({"type": "system", "subtype": "compact_boundary", "level": "info",
            "content": "Conversation compacted", "compactMetadata": {"preTokens": 9, "postTokens": 7}});
        for (line, text) in [
            (blocked, "Claude Code: blocked"),
            (compacted, "Claude Code: The conversation was compacted: 9 tokens before, 7 after."),
        ] {
            assert_eq!(read(&line).unwrap().entries, [EntryKind::Notice { text: text.into() }]);
        }
        let summary = json!({"type": "user", "isCompactSummary": true, "message": {"content": "This session is"}});
        assert!(read(&summary).is_none());
    }

    #[test]
    fn what_the_client_made_of_words_is_told_as_what_it_was() {
        let user = |text: &str| EntryKind::User { text: text.into(), by: None };
        let tag = "<channel source=\"portcullis\" event_id=\"01e\" chat_id=\"1\" via=\"http\" sender=\"owner\">";
        let woken = format!(
            "<task-notification>\n<summary>Stop hook feedback</summary>\n\n<system-reminder>\nby: A message.\n{tag}\nhi\n</channel>"
        );
        assert!(matches!(&spoken(&woken)[..], [EntryKind::Event { event, .. }] if event == "01e"));
        let done =
            "<task-notification>\n<summary>Background command \"make\" completed</summary>\n</task-notification>";
        assert_eq!(spoken(done), [EntryKind::Notice { text: "Background command \"make\" completed".into() }]);
        assert_eq!(spoken("<system-reminder>be brief</system-reminder>"), []);
        let command = "<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args>opus</command-args>";
        assert_eq!(spoken(command), [user("/model opus")]);
        assert_eq!(spoken("what does <command-name>x</command-name> mean?").len(), 1);
        assert_eq!(spoken("why <b>?"), [user("why <b>?")]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_entries_or_nothing_but_never_a_panic(bytes: Vec<u8>) {
            drop(entries_of(&mut Entries::default(), &bytes));
        }
    }
}
