//! What a message of an attached process means to the hub, and how the hub's answer is told on the link.

use portcullis_core::{
    Actor, Address, Answer, CHANNEL_SENDER, EventId, IdempotencyKey, Input, Moment, OWNER, Right, Rights, Role,
    SaidText, SessionId, State, Text, TokenScope, VerdictTarget, Via,
};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::link::{Answered, ChannelEvent, InboxItem, SessionMessage};
use sha2::{Digest as _, Sha256};

use crate::hub::{Hub, Trouble, entropy, fault_of};

/// Events that the agent's own list shows, at most.
const LISTED: usize = 100;

/// The input that a message stands for. Some have a place of their own in the link, and none here.
pub(super) fn input_of(message: SessionMessage, session: SessionId) -> Result<Input, Fault> {
    Ok(match message {
        SessionMessage::Wrote { events, way } => Input::Wrote { session, events, way },
        SessionMessage::Read { events } => Input::Read { session, events },
        SessionMessage::Carried { ask, verdict_at } => {
            Input::Carried { ask, session, verdict_at: verdict_at.map(Moment) }
        }
        SessionMessage::Asked(ask) => Input::Asked { session, ask, entropy: entropy()? },
        SessionMessage::Withdrawn { ask, why } => Input::Withdrawn { ask, by: Some(session), why },
        SessionMessage::Answered { ask, ruling, channel } => Input::Answered {
            by: channel.map_or_else(at_the_terminal, |channel| by_channel(&channel, true)),
            target: VerdictTarget::Id(ask),
            ruling: *ruling,
            idempotency_key: None,
        },
        SessionMessage::Received(event) => received(*event, session),
        SessionMessage::Called(call) => Input::Called { session, call: *call },
        SessionMessage::Ordered { order, outcome } => Input::OrderSettled { session, order, outcome },
        SessionMessage::Described(about) => Input::Described { session, about: *about },
        SessionMessage::OutsideRead { sender } => Input::OutsideRead { session, sender },
        SessionMessage::OutsideEnded { by } => Input::OutsideEnded { session, by },
        SessionMessage::AccessDenied { what } => Input::AccessDenied { who: format!("session {session}"), what },
        SessionMessage::Replied { id, reply_to, chat, text, files } => {
            Input::Replied { id, session, chat, reply_to, text: Text::new(text), files }
        }
        SessionMessage::Edited { id, text } => Input::ReplyEdited { session, reply: id, text: Text::new(text) },
        SessionMessage::Attach(_)
        | SessionMessage::Inbox { .. }
        | SessionMessage::CanWrite
        | SessionMessage::Streamed(_)
        | SessionMessage::Bye(_) => {
            return Err(Fault::new(Kind::BadRequest, "attach comes first and once"));
        }
    })
}

/// Whoever sits at a front of the session: the local owner, who talks and reviews there and no more.
fn at_the_terminal() -> Actor {
    let rights = Rights::of(&[Right::Talk, Right::Review]);
    Actor { name: OWNER.to_owned(), rights, via: Via::Terminal, scope: TokenScope::Everything, device: None }
}

/// Whoever speaks through a channel server of a session. Those who may answer prompts there may direct the session.
fn by_channel(channel: &str, reviews: bool) -> Actor {
    let rights = if reviews { Role::Reviewer.rights() } else { Role::Sender.rights() };
    let name = format!("{CHANNEL_SENDER}{channel}");
    Actor { name, rights, via: Via::Channel, scope: TokenScope::Everything, device: None }
}

/// An event of a channel server, for the session that runs it. Said again, it counts once.
pub(super) fn received(event: ChannelEvent, session: SessionId) -> Input {
    let ChannelEvent { id, channel, directs, chat, attributes, text } = event;
    let digest = Sha256::digest(text.as_bytes()).into();
    Input::Said {
        id,
        by: by_channel(&channel, directs),
        inside: None,
        text: SaidText::new(text),
        address: Address::Session(session),
        chat,
        attributes: attributes.into(),
        reply_to: None,
        idempotency_key: Some(IdempotencyKey { key: id.to_string(), digest }),
    }
}

/// A rule allows a call only while that can be written down.
pub(super) async fn can_write(hub: &Hub) -> Result<Answered, Fault> {
    match hub.can_write().await? {
        true => Ok(Answered::Ok),
        false => Err(Trouble::Journal("it refused the last record".to_owned()).into()),
    }
}

/// The session's own list of events, or one of them whole.
pub(super) async fn inbox(hub: &Hub, session: SessionId, event: Option<EventId>) -> Result<Answered, Fault> {
    let Some(event) = event else {
        let mine = move |state: &State| {
            let events = state.events().rev().filter(|held| held.to == Some(session)).take(LISTED);
            events.map(InboxItem::from).collect::<Vec<_>>()
        };
        let mut events = hub.look(mine).await?;
        events.reverse();
        return Ok(Answered::Inbox { events });
    };
    if let Answer::Refused(refusal) = hub.submit(Input::Opened { session, event }).await? {
        return Ok(Answered::Refused(fault_of(&refusal)));
    }
    let item = hub.look(move |state| state.event(event).map(InboxItem::from)).await?;
    match (item, hub.read(event).await?) {
        (Some(item), Some(event)) => {
            Ok(Answered::Event { event: item.with_attributes(&event), text: event.text.as_str().to_owned() })
        }
        _ => Ok(Answered::Refused(fault_of(&portcullis_core::Refusal::NoSuchEvent))),
    }
}

pub(super) fn told(answer: &Answer) -> Answered {
    match answer {
        Answer::Asked { code, .. } => Answered::Asked { code: *code },
        Answer::Refused(refusal) => Answered::Refused(fault_of(refusal)),
        Answer::Done | Answer::Accepted { .. } | Answer::Recorded { .. } | Answer::Pairing { .. } => Answered::Ok,
    }
}
