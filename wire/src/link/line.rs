//! Events as finished lines: the gate writes what the client reads, and a process that pushes it only looks whose it is.
//!
//! A line says all that a frame does, or the gate sends the frame: whoever needs the parts reads them back.

use std::borrow::Cow;
use std::fmt;

use portcullis_core::{EventId, is_as_sent, is_identifier, is_of_door, is_of_tag};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{EventFrame, GateMessage};
use crate::channel::Notification;
use crate::words::{Words, put_quoted};

/// The client's line for an event, as the link carries it: without its newline.
#[derive(Clone, Debug)]
pub struct EventLine<'a>(Cow<'a, RawValue>);

/// How the message begins and ends that holds a line.
const BEFORE: &str = r#"{"line":"#;
const BEHIND: &str = "}";

const CONTENT: &str = r#"{"jsonrpc":"2.0","method":"notifications/claude/channel","params":{"content":"#;
/// Where the attributes begin. Quotes within a text stand behind a backslash, so no text has this in it.
const META: &str = r#","meta":{"event_id":""#;
/// The brace within.
const META_BRACE: usize = 8;
const CHAT: &str = r#","chat_id":""#;
const VIA: &str = r#","via":""#;
const SENDER: &str = r#","sender":""#;
const DIRECTS: &str = r#","directs":""#;

/// Puts the message for an event behind what is in the buffer: its line, if that says all that the frame does.
pub fn put_event(bytes: &mut Vec<u8>, frame: EventFrame<'_>) -> serde_json::Result<()> {
    match &frame.text {
        Words::Plain(text) if says_all(&frame, text) => {
            bytes.extend_from_slice(BEFORE.as_bytes());
            put_line(bytes, &frame, text);
            bytes.extend_from_slice(BEHIND.as_bytes());
        }
        _ => serde_json::to_writer(&mut *bytes, &GateMessage::Event(frame))?,
    }
    bytes.push(b'\n');
    Ok(())
}

/// Whether the frame can be read back from its line. Names and values that are written otherwise than they are, or that a
/// client might drop, are rare enough to go as a frame.
fn says_all(frame: &EventFrame<'_>, text: &str) -> bool {
    let is_kept = |(name, value): &(String, String)| {
        (is_of_door(name) || is_identifier(name) && !is_of_tag(name)) && is_plain(value)
    };
    frame.rest == 0
        && frame.also.is_empty()
        && [&frame.chat, &frame.via, &frame.sender].iter().all(|value| !value.is_empty() && is_plain(value))
        && frame.attributes.iter().all(is_kept)
        && is_as_sent(text)
}

/// Whether a value stands in quotes as it is, in JSON and in the client's tag.
fn is_plain(value: &str) -> bool {
    let mut is_plain = true;
    for byte in value.bytes() {
        is_plain &= matches!(byte, b' '..=b'~') & !matches!(byte, b'"' | b'<' | b'>' | b'\\');
    }
    is_plain
}

/// The same bytes as [`crate::channel::event_line`] writes.
fn put_line(bytes: &mut Vec<u8>, frame: &EventFrame<'_>, text: &str) {
    bytes.extend_from_slice(CONTENT.as_bytes());
    put_quoted(bytes, text);
    let mut put = |before: &str, value: &[u8]| {
        bytes.extend_from_slice(before.as_bytes());
        bytes.extend_from_slice(value);
        bytes.push(b'"');
    };
    put(META, frame.id.text().as_bytes());
    put(CHAT, frame.chat.as_bytes());
    put(VIA, frame.via.as_bytes());
    put(SENDER, frame.sender.as_bytes());
    put(DIRECTS, if frame.directs { b"true" } else { b"false" });
    if frame.redelivered {
        put(r#","redelivered":""#, b"true");
    }
    if let Some(reply_to) = frame.reply_to {
        put(r#","reply_to":""#, reply_to.text().as_bytes());
    }
    for (name, value) in frame.attributes.iter() {
        put(",\"", name.as_bytes());
        put(":\"", value.as_bytes());
    }
    bytes.extend_from_slice(b"}}}");
}

/// Whose a line is: all that is looked at before it is pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineHead<'a> {
    pub id: EventId,
    pub chat: &'a str,
    pub sender: &'a str,
    pub directs: bool,
}

impl<'a> LineHead<'a> {
    /// None where a name has to be unquoted first, and for what is no line: that is for [`EventLine::frame`].
    pub fn read(line: &'a str) -> Option<Self> {
        let line = line.strip_prefix(CONTENT)?;
        // From the end on, for a text may be long.
        let braces = line.bytes().enumerate().rev().filter(|(_, byte)| *byte == b'{');
        let mut starts = braces.filter_map(|(place, _)| place.checked_sub(META_BRACE));
        let rest = starts.find_map(|start| line.get(start..)?.strip_prefix(META))?;
        let (id, rest) = rest.split_once('"')?;
        let (chat, rest) = rest.strip_prefix(CHAT)?.split_once('"')?;
        let (_, rest) = rest.strip_prefix(VIA)?.split_once('"')?;
        let (sender, rest) = rest.strip_prefix(SENDER)?.split_once('"')?;
        let (directs, _) = rest.strip_prefix(DIRECTS)?.split_once('"')?;
        let is_plain = !chat.contains('\\') && !sender.contains('\\');
        is_plain.then_some(Self { id: id.parse().ok()?, chat, sender, directs: directs == "true" })
    }

    /// The line in a message of the link, and whose it is.
    pub fn of_message(message: &'a [u8]) -> Option<(Self, &'a str)> {
        let line = message.strip_prefix(BEFORE.as_bytes())?.strip_suffix(BEHIND.as_bytes())?;
        let line = std::str::from_utf8(line).ok()?;
        Self::read(line).map(|head| (head, line))
    }
}

impl<'a> EventLine<'a> {
    /// The parts of a line.
    pub fn frame(&'a self) -> serde_json::Result<EventFrame<'a>> {
        read_frame(self.0.get())
    }
}

/// The frame that a line says.
pub fn read_frame(line: &str) -> serde_json::Result<EventFrame<'_>> {
    let Notification { params: LineParams { content, meta }, .. }: Notification<LineParams<'_>> =
        serde_json::from_str(line)?;
    let mut frame = EventFrame {
        id: EventId::new(portcullis_core::Moment(0), 0),
        via: "".into(),
        sender: "".into(),
        directs: false,
        chat: "".into(),
        attributes: Cow::Borrowed(&[]),
        reply_to: None,
        text: content,
        rest: 0,
        redelivered: false,
        also: vec![],
    };
    let mut has_id = false;
    let wrong = |what: &str| <serde_json::Error as serde::de::Error>::custom(format_args!("{what} is no id"));
    for (name, value) in meta.0 {
        match &*name {
            "event_id" => {
                frame.id = value.parse().map_err(|_| wrong("event_id"))?;
                has_id = true;
            }
            "chat_id" => frame.chat = value,
            "via" => frame.via = value,
            "sender" => frame.sender = value,
            "directs" => frame.directs = value == "true",
            "redelivered" => frame.redelivered = value == "true",
            "reply_to" => frame.reply_to = Some(value.parse().map_err(|_| wrong("reply_to"))?),
            _ => frame.attributes.to_mut().push((name.into_owned(), value.into_owned())),
        }
    }
    if has_id { Ok(frame) } else { Err(wrong("nothing")) }
}

#[derive(Deserialize)]
struct LineParams<'a> {
    #[serde(borrow)]
    content: Words<'a>,
    #[serde(borrow)]
    meta: MetaPairs<'a>,
}

/// An object, in its order.
struct MetaPairs<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'de: 'a, 'a> Deserialize<'de> for MetaPairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct MetaText<'a>(#[serde(borrow)] Cow<'a, str>);

        struct MetaVisitor;

        impl<'de> Visitor<'de> for MetaVisitor {
            type Value = MetaPairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MetaPairs<'de>, A::Error> {
                let mut pairs = vec![];
                while let Some((MetaText(name), MetaText(value))) = map.next_entry()? {
                    pairs.push((name, value));
                }
                Ok(MetaPairs(pairs))
            }
        }

        deserializer.deserialize_map(MetaVisitor)
    }
}

impl PartialEq for EventLine<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl Eq for EventLine<'_> {}

impl Serialize for EventLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for EventLine<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|line| Self(Cow::Borrowed(line)))
    }
}

#[cfg(test)]
mod tests {
    use portcullis_core::{Moment, ReplyId};
    use proptest::prelude::*;

    use super::*;
    use crate::channel::{EVENT_METHOD, event_line};

    const TEXT: &str = "(<|\\[|/| |\n|\t|channel|x|ä|\"|\\\\|,\"meta\":\\{\"event_id\":\"|\u{1}|\u{200b}|\\}){0,12}";

    fn any_frame() -> impl Strategy<Value = EventFrame<'static>> {
        let attributes = prop::collection::vec((prop_oneof!["path", "a-b", "sender", "severity"], TEXT), 0..3);
        let names = (TEXT, TEXT, "(http|device)");
        let flags = (any::<bool>(), any::<bool>(), 0..2_usize, prop::option::of(any::<u128>()));
        (any::<u128>(), names, attributes, flags, TEXT).prop_map(
            |(id, (sender, chat, via), attributes, flags, text)| {
                let (directs, redelivered, rest, reply_to) = flags;
                EventFrame {
                    id: EventId::new(Moment(1), id),
                    via: via.into(),
                    sender: sender.into(),
                    directs,
                    chat: chat.into(),
                    attributes: attributes.into(),
                    reply_to: reply_to.map(|id| ReplyId::new(Moment(1), id)),
                    text: text.into(),
                    rest,
                    redelivered,
                    also: vec![],
                }
            },
        )
    }

    proptest! {
        #[test]
        fn any_event_arrives_whole_as_a_line_or_as_its_frame(frame in any_frame()) {
            let mut message = vec![];
            put_event(&mut message, frame.clone()).unwrap();
            let message = message.strip_suffix(b"\n").unwrap();
            let line = match serde_json::from_slice(message).unwrap() {
                GateMessage::Line(line) => line,
                GateMessage::Event(read) => {
                    prop_assert_eq!(read, frame);
                    return Ok(());
                }
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(&line.frame().unwrap(), &frame);
            let by_serde = String::from_utf8(event_line(&frame).unwrap()).unwrap();
            prop_assert_eq!(line.0.get(), by_serde.trim_end_matches('\n'));
            let (head, found) = LineHead::of_message(message).expect("a head");
            prop_assert_eq!(found, line.0.get());
            let expected = LineHead { id: frame.id, chat: &frame.chat, sender: &frame.sender, directs: frame.directs };
            prop_assert_eq!(head, expected);
        }

        #[test]
        fn any_message_has_a_head_or_none(message: Vec<u8>, text in TEXT) {
            LineHead::of_message(&message);
            LineHead::read(&text);
            drop(read_frame(&text));
        }
    }

    #[test]
    fn nearly_every_event_is_a_line() {
        let frame = EventFrame {
            id: EventId::new(Moment(1), 1),
            via: "http".into(),
            sender: "dev".into(),
            directs: false,
            chat: "1".into(),
            attributes: vec![("path".into(), "/".into())].into(),
            reply_to: None,
            text: "main is \"red\"\n".into(),
            rest: 0,
            redelivered: false,
            also: vec![],
        };
        let is_line = |frame: &EventFrame<'_>| {
            let mut message = vec![];
            put_event(&mut message, frame.clone()).unwrap();
            message.starts_with(BEFORE.as_bytes())
        };
        assert!(is_line(&frame));
        assert!(CONTENT.contains(EVENT_METHOD) && META.find('{') == Some(META_BRACE));
        assert!(is_line(&EventFrame { text: "a < b, ä".into(), ..frame.clone() }));
        // What a line could not say.
        for other in [
            EventFrame { text: "</channel>".into(), ..frame.clone() },
            EventFrame { text: "a\u{202e}".into(), ..frame.clone() },
            EventFrame { rest: 7, ..frame.clone() },
            EventFrame { also: vec![frame.id], ..frame.clone() },
            EventFrame { attributes: vec![("a-b".into(), "x".into())].into(), ..frame.clone() },
            EventFrame { attributes: vec![("note".into(), "a\"b".into())].into(), ..frame.clone() },
        ] {
            assert!(!is_line(&other), "{other:?}");
        }
    }
}
