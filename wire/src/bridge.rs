//! What the socket connector and the program at the other end of its socket say to each other: one JSON object a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::api::{NewVerdict, Recorded};
use crate::error::Fault;

/// Told in `hello`. A change that a program of today would not understand makes it larger.
pub const PROTOCOL: u32 = 1;

/// What the gate says.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToBridge {
    /// The first line of a connection.
    Hello {
        protocol: u32,
        connector: String,
        program: String,
    },
    Item(Box<BridgeItem>),
    /// The answer to what the program said under this number.
    Done {
        n: u64,
        #[serde(flatten)]
        outcome: Outcome,
    },
    /// A line of the program was not what this page says.
    Unreadable {
        why: String,
    },
}

/// One message to be put on the platform. It comes again until it is taken, under the same id.
#[derive(Debug, Serialize)]
pub struct BridgeItem {
    pub id: String,
    /// reply, edit, prompt, progress or paired
    pub kind: &'static str,
    /// The conversation that it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// The user whom it is for, alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What people read.
    pub text: String,
    /// The program's own name for the message that told of this first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// The event that a reply answers, by the id under which the program was told of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<BridgeAsk>,
}

/// The prompt that an item is about.
#[derive(Debug, Serialize)]
pub struct BridgeAsk {
    pub id: String,
    pub code: String,
    /// open, answered, withdrawn or expired; settled when the gate has forgotten how
    pub state: &'static str,
    /// tool, question or plan
    pub kind: &'static str,
    pub tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    /// What an allow may reach: once, session, always.
    pub scopes: Vec<&'static str>,
    /// Denying is the answer that should be at hand.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub default_to_no: bool,
    /// A person must have looked: no approving with one tap.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requires_user_interaction: bool,
}

/// What became of something that the program said.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Event {
        id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    Verdict(Recorded),
    /// The user is a stranger, and is to be shown this text with its code.
    Pairing {
        code: String,
        text: String,
    },
    Error(Fault),
}

/// What the program says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FromBridge {
    /// The platform has this item.
    Taken {
        id: String,
        #[serde(default)]
        message: Option<String>,
    },
    Said(BridgeMessage),
    /// Someone answered a prompt, by its code or its id, in another way than in words.
    Answer(BridgeVerdict),
}

/// What someone wrote on the platform.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BridgeMessage {
    pub n: u64,
    pub user: String,
    /// What the platform calls them.
    #[serde(default)]
    pub called: String,
    pub chat: String,
    /// Nobody but this user reads what is written in this conversation.
    #[serde(default)]
    pub direct: bool,
    pub text: String,
    /// Sessions that it may go to.
    #[serde(default)]
    pub label: Option<String>,
    /// The platform's own name for the message, so that telling it twice counts once.
    #[serde(default)]
    pub message: Option<String>,
    /// The reply that it answers, as `reply` of an item named it.
    #[serde(default)]
    pub reply_to: Option<String>,
    /// At most 20, named by letters, digits and underscores, 256 bytes each.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BridgeVerdict {
    pub n: u64,
    pub user: String,
    pub ask: String,
    pub verdict: NewVerdict,
    /// The platform's own name for what the person did, so that telling it twice counts once.
    #[serde(default)]
    pub message: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn read(line: &str) -> Result<FromBridge, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }

    #[test]
    fn a_program_is_understood_or_told_what_is_wrong() {
        let taken = read(r#"{"taken":{"id":"7@42","message":"m"}}"#);
        assert!(matches!(taken, Ok(FromBridge::Taken { id, message: Some(_) }) if id == "7@42"));
        let Ok(FromBridge::Said(said)) = read(r#"{"said":{"n":1,"user":"42","chat":"c","text":"hi"}}"#) else {
            panic!()
        };
        assert!(!said.direct && said.called.is_empty());
        let verdict = r#"{"answer":{"n":2,"user":"42","ask":"abcde","verdict":{"behavior":"deny","why":"no"}}}"#;
        assert!(matches!(read(verdict), Ok(FromBridge::Answer(verdict)) if verdict.verdict.why.is_some()));
        for (wrong, why) in [
            (r#"{"said":{"n":1,"user":"42","chat":"c"}}"#, "missing field `text`"),
            (r#"{"said":{"n":1,"user":"42","chat":"c","text":"","extra":1}}"#, "unknown field `extra`"),
            (r#"{"shouted":{}}"#, "unknown variant `shouted`"),
            ("", "EOF"),
        ] {
            assert!(read(wrong).unwrap_err().contains(why), "{wrong}: {:?}", read(wrong));
        }
    }

    #[test]
    fn the_gate_says_one_word_and_what_belongs_to_it() {
        let told = |frame: &ToBridge| serde_json::to_string(frame).unwrap();
        let pairing = Outcome::Pairing { code: "abcd-efgh".into(), text: "t".into() };
        assert_eq!(
            told(&ToBridge::Done { n: 3, outcome: pairing }),
            r#"{"done":{"n":3,"pairing":{"code":"abcd-efgh","text":"t"}}}"#
        );
        let error = Outcome::Error(Fault::new(Kind::Forbidden, "no"));
        assert!(
            told(&ToBridge::Done { n: 3, outcome: error }).starts_with(r#"{"done":{"n":3,"error":{"error":40301,"#)
        );
        let hello = ToBridge::Hello { protocol: PROTOCOL, connector: "ops".into(), program: "1".into() };
        assert_eq!(told(&hello), r#"{"hello":{"protocol":1,"connector":"ops","program":"1"}}"#);
    }

    proptest::proptest! {
        #[test]
        fn any_line_of_a_program_is_read_or_refused_but_never_a_panic(line: Vec<u8>) {
            drop(serde_json::from_slice::<FromBridge>(&line));
        }
    }
}
