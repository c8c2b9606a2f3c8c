//! One connection to the program: items out, and what its people say in, until one side goes.

use bytes::{Buf as _, BytesMut};
use portcullis_core::{Ask, Scope};
use portcullis_wire::bridge::{
    BridgeAsk, BridgeItem, BridgeMessage, BridgeVerdict, FromBridge, Outcome, PROTOCOL, ToBridge,
};
use portcullis_wire::text;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::{Ended, SocketConfig};
use crate::doors::chat::{Connector, Heard, IncomingMessage};
use crate::hub::outbox::{Item, ItemContent, Outbox, Recipient};
use crate::lines::{Line, Lines};
use crate::stream;

/// The longest line that is read.
const LONGEST_LINE: usize = 2 << 20;
/// While so much is not yet written, no further items are put behind it.
const UNWRITTEN: usize = 1 << 20;
/// While so much is not yet written, nothing is read either: every line read makes an answer.
const FULL: usize = 4 << 20;
/// After so many lines the items have their turn: a program that never stops talking does not keep them back.
const TURN: usize = 16;

/// Talks until the program goes, or `stop`. A program that takes its time only makes the items wait.
pub(super) async fn talk(
    connector: &Connector,
    config: &SocketConfig,
    stream: UnixStream,
    outbox: &mut Outbox,
    stop: &CancellationToken,
) -> Result<(), Ended> {
    let (reader, mut writer) = stream::split(stream)?;
    let mut lines = Lines::new(reader, LONGEST_LINE);
    let mut unwritten = BytesMut::new();
    let hello = ToBridge::Hello {
        protocol: PROTOCOL,
        connector: connector.name().to_string(),
        program: config.version.to_owned(),
    };
    put(&mut unwritten, &hello);
    let mut lines_read = 0;
    loop {
        if lines_read >= TURN {
            lines_read = 0;
            while unwritten.len() < UNWRITTEN
                && let Some(item) = outbox.try_next().await?
            {
                put_item(&mut unwritten, item, config);
            }
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            written = writer.write(&unwritten), if !unwritten.is_empty() => unwritten.advance(written?),
            line = lines.next(), if unwritten.len() < FULL => {
                let answer = match line? {
                    Line::End => return Err(Ended::Closed),
                    Line::TooLong => Some(unreadable(format!("a line is longer than {LONGEST_LINE} bytes"))),
                    Line::Whole(line) => heard(connector, outbox, &line).await,
                };
                if let Some(answer) = answer {
                    put(&mut unwritten, &answer);
                }
                lines_read += 1;
            }
            item = outbox.next(), if unwritten.len() < UNWRITTEN => {
                put_item(&mut unwritten, item?, config);
            }
        }
    }
}

fn put(unwritten: &mut BytesMut, frame: &ToBridge) {
    // Nothing in a frame can fail to be written as JSON.
    unwritten.extend_from_slice(&serde_json::to_vec(frame).unwrap_or_default());
    unwritten.extend_from_slice(b"\n");
}

fn put_item(unwritten: &mut BytesMut, item: Item, config: &SocketConfig) {
    put(unwritten, &ToBridge::Item(Box::new(shown(item, config.max_text))));
}

fn unreadable(why: String) -> ToBridge {
    ToBridge::Unreadable { why }
}

/// Takes in one line of the program, and says what it is to be answered.
async fn heard(connector: &Connector, outbox: &mut Outbox, line: &[u8]) -> Option<ToBridge> {
    match serde_json::from_slice(line) {
        Err(error) => Some(unreadable(error.to_string())),
        Ok(FromBridge::Taken { id, message }) => {
            let Ok(id) = id.parse() else { return Some(unreadable(format!("{id:?} is no id of an item"))) };
            // Taken twice is taken.
            outbox.taken(&id, message);
            None
        }
        Ok(FromBridge::Said(said)) => {
            let BridgeMessage { n, user, called, chat, direct, text, label, message, reply_to, attributes } = said;
            let attributes = attributes.into_iter().collect();
            let message =
                IncomingMessage { user, called, chat, direct, text, label, id: message, reply_to, attributes };
            Some(ToBridge::Done { n, outcome: connector.said(message).await.map_or_else(Outcome::Error, outcome) })
        }
        Ok(FromBridge::Answer(BridgeVerdict { n, user, ask, verdict, message })) => {
            let answered = connector.answer(&user, &ask, verdict, message).await;
            Some(ToBridge::Done { n, outcome: answered.map_or_else(Outcome::Error, Outcome::Verdict) })
        }
    }
}

fn outcome(heard: Heard) -> Outcome {
    match heard {
        Heard::Event { id, note } => Outcome::Event { id: id.to_string(), note },
        Heard::Verdict(recorded) => Outcome::Verdict(recorded),
        Heard::Stranger(code) => Outcome::Pairing { text: text::pairing(&code), code: code.to_string() },
    }
}

/// The item as the program reads it.
fn shown(item: Item, max_text: Option<usize>) -> BridgeItem {
    let Item { id, to, message, what } = item;
    let (chat, user) = match to {
        Recipient::Chat(chat) => (Some(chat), None),
        Recipient::User(user) => (None, Some(user)),
    };
    let reply_to = match &what {
        ItemContent::Reply(said) => said.reply_to.map(|id| id.to_string()),
        _ => None,
    };
    let (kind, text, reply, ask) = match what {
        ItemContent::Reply(said) => ("reply", text::reply(&said, max_text), Some(said.id.to_string()), None),
        ItemContent::Edit { reply, text } => ("edit", text::edit(&text, max_text), Some(reply.to_string()), None),
        ItemContent::Prompt { ask, label, state } => {
            ("prompt", text::prompt(&ask, &label, max_text), None, Some(shown_ask(&ask, state)))
        }
        ItemContent::Progress { ask, life } => {
            let text = text::progress(&ask, &life).unwrap_or_default();
            ("progress", text, None, Some(shown_ask(&ask, life.name())))
        }
        ItemContent::Paired { name, role } => ("paired", text::paired(&name, role), None, None),
    };
    BridgeItem { id: id.to_string(), kind, chat, user, text, message, reply, reply_to, ask }
}

fn shown_ask(ask: &Ask, state: &'static str) -> BridgeAsk {
    let details = &ask.details;
    let scopes = Scope::ALL.into_iter().filter(|scope| ask.offers(*scope)).map(Scope::name);
    BridgeAsk {
        id: ask.id.to_string(),
        code: ask.code.to_string(),
        state,
        kind: details.kind.name(),
        tool: ask.tool.clone(),
        risk: details.risk.as_ref().map(|risk| risk.level.to_string()),
        scopes: scopes.collect(),
        default_to_no: details.default_to_no,
        requires_user_interaction: details.requires_user_interaction,
    }
}
