//! What fronts are told and what they want, as lines of the socket between a front and its session.

use bytes::{BufMut as _, Bytes, BytesMut};
use portcullis_wire::control::{FromClient, read};
use portcullis_wire::front::{LONGEST_LINE, PromptNews, ToFront};
use serde_json::value::RawValue;

use super::Told;
use crate::lines::put_json;

/// A longer message is not shown to fronts that join by the socket: their queues are bounded. It holds what a tool read.
const LONGEST_MESSAGE: usize = LONGEST_LINE / 2;

pub(super) fn line_of(frame: &impl serde::Serialize) -> Bytes {
    let mut bytes = BytesMut::new();
    // Nothing that is written here can fail: no map has keys other than text.
    if let Err(error) = put_json((&mut bytes).writer(), frame) {
        tracing::error!(%error, "writing a line for a front");
        return Bytes::new();
    }
    bytes.freeze()
}

/// The line that tells a front this; empty where others than the one that started the session are not told.
pub(super) fn told_line(told: &Told) -> Bytes {
    let frame = match told {
        Told::Message { line, .. } => return message_line(line),
        Told::Prompt(news) => ToFront::Prompt(shortened(news.clone())),
        Told::Idle => ToFront::Idle,
        Told::Notice(text) | Told::Said { note: text, .. } | Told::Client { note: text, .. } => {
            ToFront::Notice(text.clone())
        }
        // What the front that started the session wanted to know.
        Told::Ready(_) | Told::Answered { .. } => return Bytes::new(),
    };
    line_of(&frame)
}

fn message_line(line: &Bytes) -> Bytes {
    let not_shown = || {
        let text = format!("a message of {} bytes is not shown here", line.len());
        line_of(&ToFront::Notice(text))
    };
    if line.len() > LONGEST_MESSAGE {
        return not_shown();
    }
    serde_json::from_slice::<&RawValue>(line).map_or_else(|_| not_shown(), |raw| line_of(&ToFront::Message(raw)))
}

/// A prompt whose input is too long for a line goes without it; its preview says how much of it is shown. No front shows what
/// a call would replace.
fn shortened(mut news: PromptNews) -> PromptNews {
    if let PromptNews::Asked { ask, .. } = &mut news {
        ask.details.replaced = None;
    }
    if let PromptNews::Asked { ask, .. } = &mut news
        && ask.details.input.as_ref().is_some_and(|input| input.len() > LONGEST_MESSAGE / 2)
    {
        ask.details.input = None;
        ask.details.editable = false;
    }
    news
}

/// What a line from the session tells the front; none where it says something about the connection.
pub(super) fn told_by(frame: ToFront<'_>) -> Option<Told> {
    Some(match frame {
        ToFront::Message(raw) => {
            let line = Bytes::copy_from_slice(raw.get().as_bytes());
            let Ok(FromClient::Message(message)) = read(&line) else { return None };
            Told::Message { line, message }
        }
        ToFront::Prompt(news) => Told::Prompt(news),
        ToFront::Idle | ToFront::CaughtUp { idle: true } => Told::Idle,
        ToFront::CaughtUp { idle: false } => Told::Notice("the session is working".to_owned()),
        ToFront::Notice(text) => Told::Notice(text),
        ToFront::Welcome(_) | ToFront::Refused(_) | ToFront::Joined(_) | ToFront::CutOff | ToFront::Ended => {
            return None;
        }
    })
}
