//! What a front says to the process of a driven session, and what it is told: one JSON object a line, both ways.

use std::ops::RangeInclusive;

use portcullis_core::{AskId, Code, Label, NewAsk, Ruling, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::as_text;
use crate::error::Fault;

/// The versions this program speaks: the newest, and the one before once there is one.
pub const VERSIONS: RangeInclusive<u16> = 1..=1;

/// A line is at most this long, in both directions.
pub const LONGEST_LINE: usize = 8 << 20;

/// From a front.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum FromFront {
    /// Always first.
    Hello {
        min: u16,
        max: u16,
        program: String,
    },
    /// After the welcome: show the session, from what was said last.
    Join,
    Prompt {
        text: String,
    },
    Answer {
        #[serde(with = "as_text")]
        ask: AskId,
        #[serde(with = "ruling")]
        ruling: Box<Ruling>,
    },
    Interrupt,
    /// When there is nothing more to do.
    Finish,
    End,
}

/// To a front.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToFront<'a> {
    Welcome(Box<Welcome>),
    /// The session is not shown: the versions do not meet, or too many fronts are there.
    Refused(Fault),
    /// What is told from here on happened before the front came, up to [`ToFront::CaughtUp`].
    Joined(Joined),
    /// What is told from here on happens now.
    CaughtUp {
        idle: bool,
    },
    /// A line of the client, as it came.
    #[serde(borrow)]
    Message(&'a RawValue),
    Asked {
        #[serde(with = "new_ask")]
        ask: Box<NewAsk>,
        #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
    },
    /// Someone answered a prompt.
    Ruled {
        #[serde(with = "as_text")]
        ask: AskId,
        #[serde(with = "ruling")]
        ruling: Box<Ruling>,
    },
    /// Nobody can answer a prompt any more.
    Withdrawn {
        #[serde(with = "as_text")]
        ask: AskId,
        why: String,
    },
    /// An answer of this front does not count, or not yet.
    NotTaken {
        #[serde(with = "as_text")]
        ask: AskId,
        fault: Fault,
    },
    Idle,
    Notice(String),
    /// The front did not read what it was told: nothing more comes, and the session goes on.
    CutOff,
    /// The session has ended.
    Ended,
}

/// Which session this is.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Welcome {
    pub version: u16,
    pub program: String,
    #[serde(with = "as_text")]
    pub session: SessionId,
    #[serde(with = "as_text")]
    pub label: Label,
    pub folder: String,
}

/// What the front may do besides looking.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Joined {
    /// Why it cannot answer prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_answers: Option<String>,
    /// Why it cannot talk to the session, interrupt or end it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_orders: Option<String>,
}

mod ruling {
    use portcullis_core::Ruling as Core;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::ask::Ruling;

    pub(super) fn serialize<S: Serializer>(ruling: &Core, serializer: S) -> Result<S::Ok, S::Error> {
        Ruling::from(ruling).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<Core>, D::Error> {
        Ruling::deserialize(deserializer)?.try_into().map(Box::new).map_err(D::Error::custom)
    }
}

mod new_ask {
    use portcullis_core::{AskId, NewAsk, Source, Text};
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::as_text;
    use crate::ask::Details;

    #[derive(Serialize, Deserialize)]
    struct Frame {
        #[serde(with = "as_text")]
        id: AskId,
        #[serde(with = "as_text")]
        source: Source,
        origin: String,
        tool: String,
        description: String,
        preview: String,
        #[serde(default, skip_serializing_if = "Details::is_plain")]
        details: Details,
    }

    pub(super) fn serialize<S: Serializer>(ask: &NewAsk, serializer: S) -> Result<S::Ok, S::Error> {
        let frame = Frame {
            id: ask.id,
            source: ask.source,
            origin: ask.origin.clone(),
            tool: ask.tool.clone(),
            description: ask.description.as_str().to_owned(),
            preview: ask.preview.as_str().to_owned(),
            details: (&ask.details).into(),
        };
        frame.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<NewAsk>, D::Error> {
        let Frame { id, source, origin, tool, description, preview, details } = Frame::deserialize(deserializer)?;
        let (description, preview) = (Text::new(description), Text::new(preview));
        let details = details.try_into().map_err(D::Error::custom)?;
        Ok(Box::new(NewAsk { id, source, origin, tool, description, preview, details }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::{Behavior, Details, Moment, Source, Text};

    #[test]
    fn frames_survive_the_wire() {
        let ask = "00000000010000000000000003";
        for text in [
            r#"{"hello":{"min":1,"max":1,"program":"0.1.0"}}"#.to_owned(),
            r#""join""#.to_owned(),
            r#"{"prompt":{"text":"go \"on\""}}"#.to_owned(),
            format!(r#"{{"answer":{{"ask":"{ask}","ruling":{{"behavior":"deny","why":"no"}}}}}}"#),
            r#""end""#.to_owned(),
        ] {
            let frame: FromFront = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&frame).unwrap(), text);
        }
        for text in [
            r#"{"message":{"type":"result", "odd":[1 , 2]}}"#.to_owned(),
            format!(r#"{{"ruled":{{"ask":"{ask}","ruling":{{"behavior":"allow","scope":"always"}}}}}}"#),
            r#"{"caught_up":{"idle":true}}"#.to_owned(),
            r#"{"joined":{"no_answers":"no"}}"#.to_owned(),
            r#""ended""#.to_owned(),
        ] {
            let frame: ToFront<'_> = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&frame).unwrap(), text, "a message passes as it came");
        }
    }

    #[test]
    fn a_prompt_arrives_with_all_that_is_known_of_it() {
        let details = Details { input: Some(Text::new("{}")), quorum: 2, ..Details::default() };
        let ask = NewAsk {
            id: AskId::new(Moment(1), 3),
            source: Source::Control,
            origin: "r".into(),
            tool: "Bash".into(),
            description: Text::new("d"),
            preview: Text::new("p"),
            details,
        };
        let code = Code::parse("abcde");
        let text = serde_json::to_string(&ToFront::Asked { ask: Box::new(ask.clone()), code }).unwrap();
        let Ok(ToFront::Asked { ask: read, code: read_code }) = serde_json::from_str(&text) else { panic!("{text}") };
        assert_eq!((*read, read_code), (ask, code));
        let ruling = Box::new(Ruling::plain(Behavior::Allow));
        let answer = FromFront::Answer { ask: AskId::new(Moment(1), 3), ruling };
        let text = serde_json::to_string(&answer).unwrap();
        assert_eq!(serde_json::from_str::<FromFront>(&text).unwrap(), answer);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_an_error_but_never_a_panic(bytes: Vec<u8>) {
            drop(serde_json::from_slice::<FromFront>(&bytes));
            drop(serde_json::from_slice::<ToFront<'_>>(&bytes));
        }
    }
}
