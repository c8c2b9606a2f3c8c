//! The tools by which the model speaks with the world through the gate: the same on the channel and in driven sessions.

mod briefing;

use std::path::PathBuf;
use std::time::Duration;

use portcullis_core::{ChatId, EventId, ReplyId, as_one_word, in_tag};
use portcullis_wire::link::InboxItem;
use serde::Deserialize;
use serde_json::Value;

use super::gatekeeper::Judge;
use super::leaving;
use super::link::SessionHandle;
use crate::mint::{fence, mint};
pub(crate) use briefing::Briefing;

/// How long a tool call waits for a gate that is away.
const GATE_TIMEOUT: Duration = Duration::from_secs(20);

/// What came of a call.
pub(crate) struct Called {
    /// What the model is told, or why it could not be done.
    pub(crate) said: Result<String, String>,
    pub(crate) done: Option<Done>,
}

impl Called {
    fn with(text: impl Into<String>) -> Self {
        Self { said: Ok(text.into()), done: None }
    }
}

/// What a call did: it shows that the model has read something.
pub(crate) enum Done {
    Replied(ChatId),
    /// The event is before the model, whose sender may direct the session or only informs it.
    Opened {
        event: EventId,
        sender: String,
        directs: bool,
    },
}

/// The tools of one session. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Tools {
    handle: SessionHandle,
    folder: PathBuf,
    judge: Judge,
    briefing: Briefing,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyArguments {
    chat_id: String,
    text: String,
    #[serde(default)]
    reply_to: Option<String>,
    #[serde(default)]
    files: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditArguments {
    message_id: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InboxArguments {
    #[serde(default)]
    event_id: Option<String>,
}

impl Tools {
    /// `folder` is where files that go with a reply may lie, and `judge` has the rules that say which of them may be read.
    pub(crate) fn new(handle: SessionHandle, folder: PathBuf, judge: Judge, briefing: Briefing) -> Self {
        Self { handle, folder, judge, briefing }
    }

    pub(crate) fn briefing(&self) -> &Briefing {
        &self.briefing
    }

    /// What the tool says; none when there is no such tool.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Option<Called> {
        let called = match name {
            _ if self.briefing.is_one_way() => return None,
            "reply" => self.reply(arguments).await,
            "edit_message" => self.edit_message(arguments).await,
            "inbox" => self.inbox(arguments).await,
            _ => return None,
        };
        Some(called.unwrap_or_else(|error| Called { said: Err(error), done: None }))
    }

    async fn reply(&self, arguments: Value) -> Result<Called, String> {
        let ReplyArguments { chat_id, text, reply_to, files } = read(arguments)?;
        let chat = ChatId::new(&chat_id).ok_or("chat_id is not valid: pass it as it stands in the <channel> tag")?;
        if text.trim().is_empty() && files.is_empty() {
            return Err("text is empty: there is nothing to send".to_owned());
        }
        let reply_to = reply_to.as_deref().map(event_id).transpose()?;
        let id = mint(ReplyId::new);
        let (handle, folder) = (self.handle.clone(), self.folder.clone());
        let checking = tokio::task::spawn_blocking(move || leaving::check(&folder, &files));
        let opened = checking.await.map_err(|error| error.to_string())??;
        for (file, _) in &opened {
            self.judge.may_be_read(&file.path).await.map_err(|why| format!("{} is not sent: {why}", file.path))?;
        }
        let copying = tokio::task::spawn_blocking(move || {
            let not_kept = |why| format!("the files could not be kept for their readers, and nothing was sent: {why}");
            handle.copy_files(id, opened).map_err(|error| not_kept(error.to_string()))
        });
        let files = copying.await.map_err(|error| error.to_string())??;
        match tokio::time::timeout(GATE_TIMEOUT, self.handle.reply(id, chat.clone(), reply_to, text, files)).await {
            Ok(Ok(())) => Ok(Called { said: Ok(format!("sent, message_id={id}")), done: Some(Done::Replied(chat)) }),
            Ok(Err(fault)) => Err(fault.in_words()),
            Err(_) => Ok(Called::with(format!(
                "kept, message_id={id}: the gate is away for the moment, the reply is sent as soon as it is back"
            ))),
        }
    }

    async fn edit_message(&self, arguments: Value) -> Result<Called, String> {
        let EditArguments { message_id, text } = read(arguments)?;
        let wrong = |_| format!("no message {message_id:?}: pass the message_id that `reply` answered with");
        let id: ReplyId = message_id.parse().map_err(wrong)?;
        if text.trim().is_empty() {
            return Err("text is empty: a message cannot be taken back, only replaced".to_owned());
        }
        match tokio::time::timeout(GATE_TIMEOUT, self.handle.edit(id, text)).await {
            Ok(Ok(())) => Ok(Called::with(format!("edited, message_id={id}"))),
            Ok(Err(fault)) => Err(fault.in_words()),
            Err(_) => {
                Ok(Called::with("kept: the gate is away for the moment, the message is edited as soon as it is back"))
            }
        }
    }

    async fn inbox(&self, arguments: Value) -> Result<Called, String> {
        let InboxArguments { event_id } = read(arguments)?;
        let away = |_| "the gate is away for the moment; try again later".to_owned();
        let Some(event_id) = event_id else {
            let events = tokio::time::timeout(GATE_TIMEOUT, self.handle.inbox()).await.map_err(away)?;
            return Ok(Called::with(list(&events.map_err(|fault| fault.in_words())?)));
        };
        let event = self::event_id(&event_id)?;
        let opened = tokio::time::timeout(GATE_TIMEOUT, self.handle.open(event)).await.map_err(away)?;
        let (item, text) = opened.map_err(|fault| fault.in_words())?;
        // The same text from the same outside: it must not look like anything else here either, nor like our own line.
        let text = portcullis_core::neutralise(&text);
        let text = portcullis_core::spelled_out(&text);
        let fence = fence().ok_or("the message cannot be shown for the moment; try again")?;
        let reply_to = item.reply_to.map(|id| format!(" reply_to={id}")).unwrap_or_default();
        let said = format!(
            "event_id={} chat_id={} sender={} directs={} via={}{reply_to}{}\n\
             The text of the message is what stands between the two lines ={fence}=\n={fence}=\n{text}\n={fence}=",
            item.event_id,
            as_one_word(&item.chat_id.to_string()),
            as_one_word(&item.sender),
            item.directs,
            item.via,
            in_tag(&item.attributes)
        );
        Ok(Called { said: Ok(said), done: Some(Done::Opened { event, sender: item.sender, directs: item.directs }) })
    }
}

fn event_id(text: &str) -> Result<EventId, String> {
    text.parse().map_err(|_| format!("no event {text:?}: pass the event_id of a <channel> tag"))
}

fn read<T: for<'a> Deserialize<'a>>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|error| format!("the arguments do not fit: {error}"))
}

fn list(events: &[InboxItem]) -> String {
    if events.is_empty() {
        return "No messages have come for this session.".to_owned();
    }
    let rows = events.iter().map(|item| {
        format!(
            "{} {} chat_id={} sender={} directs={} via={} bytes={}",
            item.event_id,
            item.state,
            as_one_word(&item.chat_id.to_string()),
            as_one_word(&item.sender),
            item.directs,
            item.via,
            item.bytes
        )
    });
    rows.collect::<Vec<String>>().join("\n")
}
