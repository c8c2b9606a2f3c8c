//! What a front says to the process of a driven session, and what it is told: one JSON object a line, both ways.

use std::ops::RangeInclusive;

use portcullis_core::{AskId, Code, Label, NewAsk, Ruling, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::as_text;
use crate::ask::RulingForm;
use crate::error::Fault;
use crate::form::Boxed;
use crate::link::NewAskForm;

/// The versions this program speaks: the newest, and the one before once there is one.
pub const VERSIONS: RangeInclusive<u16> = 2..=2;

/// A line is at most this long, in both directions.
pub const LONGEST_LINE: usize = 8 << 20;

/// From a front.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum FromFront {
    /// Always first.
    Hello { min: u16, max: u16, program: String },
    /// After the welcome: show the session, from what was said last.
    Join,
    #[serde(untagged)]
    Wants(Command),
}

/// What a front wants of its session.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    Prompt(PromptWords),
    /// Someone there answers a prompt.
    Answer {
        #[serde(with = "as_text")]
        ask: AskId,
        #[serde(with = "Boxed::<RulingForm>")]
        ruling: Box<Ruling>,
    },
    Interrupt,
    /// PromptWords that wait behind the turn are not to be taken any more.
    Withdraw {
        uuid: String,
    },
    /// The client is to go on in this mode. The front is told what became of it, by its number.
    SetMode {
        request: u64,
        mode: String,
    },
    /// The same of the model; none is the client's own choice.
    SetModel {
        request: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// When there is nothing more to do.
    Finish,
    End,
}

/// What a person at a front says.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct PromptWords {
    pub text: String,
    /// What comes behind the text, as blocks of a message in the client's form: images, and more text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Value>,
    /// By which the client tells when it takes them; a fresh one where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
}

impl From<String> for PromptWords {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
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
    Prompt(PromptNews),
    Idle,
    Notice(String),
    /// The front did not read what it was told: nothing more comes, and the session goes on.
    CutOff,
    /// The session has ended.
    Ended,
}

/// What a front is told about a prompt: at most three for each, and prompts are bounded.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PromptNews {
    /// Without a code while the gate is away.
    Asked {
        #[serde(with = "Boxed::<NewAskForm>")]
        ask: Box<NewAsk>,
        #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
    },
    /// Someone answered: at the gate, or at a front.
    Ruled {
        #[serde(with = "as_text")]
        ask: AskId,
        #[serde(with = "Boxed::<RulingForm>")]
        ruling: Box<Ruling>,
    },
    /// Nobody can answer it any more.
    Withdrawn {
        #[serde(with = "as_text")]
        ask: AskId,
        why: String,
    },
    /// An answer that was given at the front does not count, or not yet.
    NotTaken {
        #[serde(with = "as_text")]
        ask: AskId,
        fault: Fault,
    },
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

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::{Behavior, Details, Moment, Source, Text};

    #[test]
    fn frames_survive_the_wire() {
        let ask = "00000000010000000000000003";
        for text in [
            r#"{"hello":{"min":2,"max":2,"program":"0.1.0"}}"#.to_owned(),
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
            format!(r#"{{"prompt":{{"ruled":{{"ask":"{ask}","ruling":{{"behavior":"allow","scope":"always"}}}}}}}}"#),
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
        let asked = PromptNews::Asked { ask: Box::new(ask), code };
        let text = serde_json::to_string(&ToFront::Prompt(asked.clone())).unwrap();
        let Ok(ToFront::Prompt(read)) = serde_json::from_str(&text) else { panic!("{text}") };
        assert_eq!(read, asked);
        let ruling = Box::new(Ruling::plain(Behavior::Allow));
        let answer = FromFront::Wants(Command::Answer { ask: AskId::new(Moment(1), 3), ruling });
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
