//! The domain of Portcullis: what may happen and what follows from it, without I/O, async, clock or serde.
//!
//! [`decide()`] looks at a [`State`] and an [`Input`] and returns the [`Record`]s to write and the [`Effect`]s to
//! perform; [`State::apply`] is the only way a state changes, live and in replay alike.

mod ask;
mod attributes;
mod connector;
mod decide;
mod event;
mod few;
mod ids;
mod input;
mod names;
mod pasted;
mod people;
pub mod policy;
mod record;
mod route;
mod secrets;
mod session;
mod shown;
mod state;
mod verdict;

pub use ask::{
    Ask, AskKind, AskLife, AskTimeout, CallOutcome, Confirmation, Details, McpTool, NewAsk, Offer, OnTimeout, Replaced,
    ReportedOutcome, Source, ToolCall, UnaskedCall,
};
pub use attributes::{
    Attribute, BadAttributes, MOST_ATTRIBUTES, as_one_word, check_attributes, escape_attribute, hides, in_tag,
    is_identifier, is_kept_from_channels, is_of_door, is_of_file, is_of_query, is_of_tag,
};
pub use connector::{BadConnectorName, ConnectorName, Identity, NotAnIdentity, SentAbout, SentMessage};
pub use decide::decide;
pub use event::{
    ChatId, DeliveryWay, Event, EventLife, IdempotencyKey, Label, Reply, SentFile, Text, TrackedEvent, combined,
};
pub use few::Few;
pub use ids::{AskId, Code, EventId, IdText, Moment, OrderId, PairingCode, ReplyId, SessionId, TokenId};
pub use input::{Answer, Effect, Input, NotAVerdict, Notice, Refusal, Topic, VerdictTarget};
pub use names::UnknownName;
pub use pasted::{shell_word, shell_words};
pub use people::{
    Actor, CHANNEL_SENDER, Device, Inside, InsideAgent, OWNER, Pairing, Person, Right, Rights, Role, Token, TokenScope,
    Via, is_person_name,
};
pub use record::{Moves, Record, Subject};
pub use route::{Address, NoRoute, route};
pub use secrets::mask;
pub use session::{
    CHANNEL, ConversationOrigin, GATEWAY, Goodbye, Order, OrderOutcome, OutsideText, Presence, Session, SessionAbout,
    StopState, TrackedOrder,
};
pub use shown::{excerpt, is_as_sent, is_harmless, neutralise, spelled_out, visible};
pub use state::{Chat, Connected, DefaultMode, Limits, State, SubjectEnds, TrustedEditor};
pub use verdict::{Behavior, Edited, Ruling, SaidText, Scope, Verdict, by_whom};
