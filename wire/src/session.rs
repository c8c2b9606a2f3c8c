//! Forms of core's types about sessions, for the link and the journal.

use std::ops::Not;

use portcullis_core::{
    ConversationOrigin, Goodbye, Label, Order, OrderOutcome, SentFile, SessionAbout, SessionId, Text,
};
use serde::{Deserialize, Serialize};

use crate::as_text;
use crate::form::forms;

forms!(
    AboutForm of SessionAbout,
    GoodbyeForm of Goodbye,
    OrderForm of Order,
    OrderOutcomeForm of OrderOutcome,
    FileForm of SentFile,
);

#[derive(Serialize, Deserialize)]
#[serde(remote = "SessionAbout")]
pub struct AboutForm {
    #[serde(with = "as_text")]
    label: Label,
    #[serde(default, skip_serializing_if = "Not::not")]
    label_chosen: bool,
    connected_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    person: Option<String>,
    #[serde(default, skip_serializing_if = "Not::not")]
    runs_commands: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_session: Option<String>,
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    continues: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(default, skip_serializing_if = "Not::not")]
    driven: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hooks_version: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    is_working: Option<bool>,
    #[serde(default, skip_serializing_if = "Not::not")]
    at_dialog: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wakes: Option<bool>,
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    origin: Option<ConversationOrigin>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Goodbye")]
pub struct GoodbyeForm {
    why: String,
    #[serde(default, skip_serializing_if = "Not::not")]
    untouched: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Order", rename_all = "snake_case")]
pub enum OrderForm {
    Prompt {
        #[serde(with = "as_text")]
        text: Text,
        by: String,
    },
    Interrupt,
    Mode(String),
    Model(Option<String>),
    Stop {
        by: String,
    },
    Resume,
    End,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "OrderOutcome", rename_all = "snake_case")]
pub enum OrderOutcomeForm {
    Done,
    Failed { why: String },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SentFile")]
pub struct FileForm {
    path: String,
    size: u64,
}
