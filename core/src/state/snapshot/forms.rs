//! What a snapshot holds of each type. Every field is named, so that a new one does not compile until it is here.
//!
//! What people and agents wrote is left out: a text says only whether it is here, away or erased.

use std::sync::Arc;

use super::codec::{Saved, SavedBytes, save_text};
use crate::ask::{Ask, AskLife, CallOutcome, Details, ReportedOutcome, Source, UnaskedCall};
use crate::attributes::{Attribute, is_of_door};
use crate::connector::{ConnectorName, Identity, SentAbout};
use crate::event::{ChatId, DeliveryWay, Event, EventLife, IdempotencyKey, Label, Reply, Text, TrackedEvent};
use crate::ids::{AskId, Code, EventId, Moment, OrderId, PairingCode, ReplyId, SessionId, TokenId};
use crate::people::{Device, Pairing, Person, Right, Rights, Role, Token, TokenScope, Via};
use crate::policy::Mode;
use crate::record::Subject;
use crate::route::Address;
use crate::session::{
    ConversationOrigin, Order, OrderOutcome, OutsideText, Presence, Session, SessionAbout, TrackedOrder,
};
use crate::state::{AskRecords, Chat, DefaultMode, KeptReply, Queue, TrustedEditor, UsedKey};
use crate::verdict::{Behavior, Ruling, Verdict};

/// A struct by its fields, in their order.
macro_rules! saved_structs {
    ($($name:ident { $($field:ident),+ $(,)? })+) => {$(
        impl $crate::state::snapshot::codec::Saved for $name {
            fn save(&self, out: &mut Vec<u8>) {
                let Self { $($field),+ } = self;
                $($crate::state::snapshot::codec::Saved::save($field, out);)+
            }

            fn load(from: &mut $crate::state::snapshot::codec::SavedBytes<'_>) -> Option<Self> {
                Some(Self { $($field: $crate::state::snapshot::codec::Saved::load(from)?),+ })
            }
        }
    )+};
}

pub(in crate::state) use saved_structs;

/// An enum by the numbers of its variants and their fields.
macro_rules! saved_enums {
    ($($name:ident { $($number:literal $variant:ident { $($field:tt: $value:ident),* }),+ $(,)? })+) => {$(
        impl Saved for $name {
            fn save(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field: $value),* } => {
                        out.push($number);
                        $($value.save(out);)*
                    })+
                }
            }

            fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
                match u8::load(from)? {
                    $($number => Some(Self::$variant { $($field: Saved::load(from)?),* }),)+
                    _ => None,
                }
            }
        }
    )+};
}

/// What has a text that it is read from again.
macro_rules! saved_as_text {
    ($($name:ident),+) => {$(
        impl Saved for $name {
            fn save(&self, out: &mut Vec<u8>) {
                save_text(&self.to_string(), out);
            }

            fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
                from.text()?.parse().ok()
            }
        }
    )+};
}

/// The same for a name, which is its text.
macro_rules! saved_names {
    ($($name:ident),+) => {$(
        impl Saved for $name {
            fn save(&self, out: &mut Vec<u8>) {
                save_text(self.as_str(), out);
            }

            fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
                from.text()?.parse().ok()
            }
        }
    )+};
}

macro_rules! saved_ids {
    ($($name:ident),+) => {$(
        impl Saved for $name {
            fn save(&self, out: &mut Vec<u8>) {
                self.bits().save(out);
            }

            fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
                u128::load(from).map(Self::of_bits)
            }
        }
    )+};
}

saved_ids!(AskId, EventId, OrderId, ReplyId, SessionId, TokenId);
saved_names!(ChatId, Label);
saved_as_text!(
    CallOutcome,
    Code,
    ConnectorName,
    ConversationOrigin,
    DeliveryWay,
    Identity,
    Mode,
    PairingCode,
    Role,
    Via
);

saved_structs! {
    AskRecords { asked, votes, answered }
    Chat { owner, credential, session, shown_to, unanswered, used }
    DefaultMode { mode, by, at }
    Device { called, rights }
    Event {
        id, via, sender, credential, device, directs, scope, chat, address, attributes, reply_to, idempotency_key, text, at,
    }
    IdempotencyKey { key, digest }
    OutsideText { sender, since }
    Pairing { code, identity, called, since }
    Person { role, since, identities }
    Queue { events, bytes }
    ReportedOutcome { at, outcome, differs }
    Session { id, label, about, presence, since, active, stopped, orders, outside }
    SessionAbout {
        label, label_chosen, connected_by, pid, person, runs_commands, folder, agent_session, continues, mode, driven,
        hooks_version, is_working, at_dialog, wakes, origin,
    }
    Token { id, person, hash, scope, expires, since, device, last_used }
    TrackedEvent {
        event, life, to, redelivered, attempts, queued, arrival, revision, delivered, first_delivered, size,
    }
    TrackedOrder { id, order, by, at, outcome }
    UnaskedCall { at, session, label, tool }
    TrustedEditor { process, what, by, at }
    UsedKey { event, chat, digest, at }
}

saved_enums! {
    Address { 0 Open {}, 1 Session { 0: session }, 2 Label { 0: label } }
    AskLife {
        0 Open { votes: votes },
        1 Answered {
            verdict: verdict, agreed: agreed, sent: sent, carried: carried, outcome: outcome, unconfirmed: unconfirmed
        },
        2 Withdrawn { at: at, why: why },
        3 Expired { at: at },
    }
    EventLife {
        0 Waiting {},
        1 Delivered { at: at },
        2 Seen { at: at },
        3 Expired { at: at },
        4 Dropped { at: at, by: by, why: why },
        5 Dead { at: at },
    }
    Order {
        0 Prompt { text: text, by: by },
        1 Interrupt {},
        2 Mode { 0: mode },
        3 Model { 0: model },
        4 Stop { by: by },
        5 Resume {},
        6 End {},
    }
    OrderOutcome { 0 Done {}, 1 Failed { why: why } }
    Presence { 0 Attached {}, 1 Expected { since: since }, 2 Lost { since: since }, 3 Ended { at: at } }
    SentAbout { 0 Reply { 0: reply }, 1 Ask { 0: ask } }
    Subject {
        0 Gate {},
        1 Event { 0: event },
        2 Session { 0: session },
        3 Ask { 0: ask },
        4 Person { 0: person },
        5 Pairing { 0: platform },
        6 Connector { 0: connector },
        7 Project { 0: folder },
    }
    TokenScope { 0 Everything {}, 1 Labels { 0: labels } }
}

impl Saved for Moment {
    fn save(&self, out: &mut Vec<u8>) {
        self.0.save(out);
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        u64::load(from).map(Self)
    }
}

impl Saved for Rights {
    fn save(&self, out: &mut Vec<u8>) {
        self.names().into_iter().map(str::to_owned).collect::<Vec<_>>().save(out);
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        let rights = Vec::<String>::load(from)?.iter().map(|name| Right::named(name)).collect::<Option<Vec<_>>>()?;
        Some(Self::of(&rights))
    }
}

/// Never what it says. One that is here is empty until the record is read that has it.
impl Saved for Text {
    fn save(&self, out: &mut Vec<u8>) {
        out.push(match self {
            Self::Here(_) => 0,
            Self::Away => 1,
            Self::Erased => 2,
        });
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        match u8::load(from)? {
            0 => Some(Self::new("")),
            1 => Some(Self::Away),
            2 => Some(Self::Erased),
            _ => None,
        }
    }
}

/// What the door knew of an event stays; what its sender gave along comes back with its text.
impl Saved for Arc<[Attribute]> {
    fn save(&self, out: &mut Vec<u8>) {
        // A snapshot has thousands of events, and the loop stands still meanwhile: nothing is copied to be written.
        let kept = || self.iter().filter(|(name, _)| is_of_door(name));
        kept().count().save(out);
        kept().for_each(|attribute| attribute.save(out));
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        Vec::load(from).map(Self::from)
    }
}

/// Only what may differ from its record, from which all else comes back.
impl Saved for Ask {
    fn save(&self, out: &mut Vec<u8>) {
        self.id.save(out);
        self.at.save(out);
        for text in [&self.description, &self.preview] {
            text.save(out);
        }
        self.details.input.save(out);
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        let (id, at) = Saved::load(from)?;
        let (description, preview) = Saved::load(from)?;
        let details = Box::new(Details { input: Saved::load(from)?, ..Details::default() });
        let (code, session) = (Code::from_entropy(0), SessionId::of_bits(0));
        let (origin, tool) = (String::new(), String::new());
        Some(Self { id, code, session, source: Source::Hook, origin, tool, description, preview, details, at })
    }
}

/// Only by whom and when it was: the rest comes back from its record.
impl Saved for Verdict {
    fn save(&self, out: &mut Vec<u8>) {
        self.by.save(out);
        self.at.save(out);
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        let (by, at) = Saved::load(from)?;
        let ruling = Ruling::plain(Behavior::Deny);
        Some(Self { ruling, by, via: Via::Gate, device: None, at, idempotency_key: None })
    }
}

/// Only where its records are and when it was changed: the rest comes back from them.
impl Saved for KeptReply {
    fn save(&self, out: &mut Vec<u8>) {
        self.said.save(out);
        self.changed.save(out);
        self.reply.edited.save(out);
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        let (said, changed) = Saved::load(from)?;
        let (id, session, chat) = (ReplyId::of_bits(0), SessionId::of_bits(0), ChatId::new("-")?);
        let (reply_to, text, files, at) = (None, Text::Erased, vec![], Moment(0));
        let reply = Reply { id, session, chat, reply_to, text, files, at, edited: Saved::load(from)? };
        Some(Self { said, changed, reply })
    }
}
