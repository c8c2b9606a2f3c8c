//! What someone says on a platform, taken in for the person they are here, with that person's rights and no more.

use std::sync::Arc;

use portcullis_core::{
    Actor, Address, Answer, Attribute, BadAttributes, ConnectorName, EventId, IdempotencyKey, Identity, Input, Label,
    PairingCode, Right, Rights, Role, SaidText, TokenScope, Via, check_attributes, excerpt, visible,
};
use portcullis_wire::api::{NewVerdict, Recorded};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::text;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use crate::hub::entropy;
use crate::hub::outbox::Outbox;
use crate::hub::{Hub, Roster, Trouble, fault_of, mint};

/// Bytes of the platform's own name for a message.
const LONGEST_MESSAGE_ID: usize = 128;
/// Bytes shown of the name that a stranger goes by.
const LONGEST_CALLED: usize = 64;

/// The gate as a connector sees it.
pub(crate) struct Connector {
    name: ConnectorName,
    hub: Hub,
    roster: watch::Receiver<Arc<Roster>>,
    /// Whether verdicts from here count. They do not where only people with devices of their own answer, and anything
    /// that runs on this machine could speak for the platform.
    answers: bool,
}

/// What someone wrote on the platform.
#[derive(Debug)]
pub(crate) struct IncomingMessage {
    /// The platform's own id of the user: never a name that users choose.
    pub(crate) user: String,
    /// What the platform calls them, for people to recognise. Not to be trusted.
    pub(crate) called: String,
    /// The platform's own name for the conversation.
    pub(crate) chat: String,
    /// Nobody but this user reads it. A stranger is shown a code nowhere else.
    pub(crate) direct: bool,
    pub(crate) text: String,
    pub(crate) label: Option<String>,
    /// The platform's own name for the message: the same one told again counts once.
    pub(crate) id: Option<String>,
    /// The id of the reply that it answers.
    pub(crate) reply_to: Option<String>,
    pub(crate) attributes: Vec<Attribute>,
}

/// What became of it.
#[derive(Debug)]
pub(crate) enum Heard {
    /// It goes to a session. The note says why something that looks like a verdict was none.
    Event {
        id: EventId,
        note: Option<String>,
    },
    Verdict(Recorded),
    /// The gate does not know them: they are to be shown this code.
    Stranger(PairingCode),
}

impl Connector {
    pub(crate) fn new(name: ConnectorName, hub: Hub, answers: bool) -> Self {
        Self { name, roster: hub.roster(), hub, answers }
    }

    pub(crate) fn name(&self) -> &ConnectorName {
        &self.name
    }

    /// What is still to go out through this connector.
    pub(crate) async fn outbox(&self) -> Result<Outbox, Trouble> {
        Outbox::open(self.hub.clone(), self.name.clone()).await
    }

    /// Takes in what someone wrote: a verdict, an event for a session, or the first words of a stranger.
    pub(crate) async fn said(&self, message: IncomingMessage) -> Result<Heard, Fault> {
        let identity = self.identity(&message.user)?;
        let Some(by) = self.actor(&identity) else {
            return self.stranger(identity, &message).await;
        };
        self.hub.limit_rate(&by.name)?;
        if message.text.is_empty() {
            return Err(bad("the message has no text"));
        }
        let chat =
            self.name.chat(&message.chat).ok_or_else(|| bad("chat is not valid: empty, too long or invisible"))?;
        let label = message.label.as_deref().map(|label| Label::new(label).ok_or_else(|| bad("label is not valid")));
        let address = label.transpose()?.map_or(Address::Open, Address::Label);
        let idempotency_key = self.once(&message)?;
        let attributes = self.attributes(&message)?.into();
        let unknown = |_| bad("reply_to is not the id of a reply");
        let reply_to = message.reply_to.as_deref().map(str::parse).transpose().map_err(unknown)?;
        let (id, text) = (mint(EventId::new), SaidText::new(message.text));
        let (inside, chat) = (None, Some(chat));
        let said = Input::Said { id, by, inside, text, address, chat, attributes, reply_to, idempotency_key };
        match self.hub.submit(said).await? {
            Answer::Accepted { event, not_a_verdict, to, .. } => {
                Ok(Heard::Event { id: event, note: not_a_verdict.map(|why| text::taken_as_chat(why, to)) })
            }
            Answer::Recorded { ask, code, behavior, missing } => {
                let (ask, code, behavior) = (ask.to_string(), code.to_string(), behavior.name().to_owned());
                Ok(Heard::Verdict(Recorded { ask, code, behavior, missing }))
            }
            Answer::Refused(refusal) => Err(fault_of(&refusal)),
            other => Err(Fault::new(Kind::Internal, format!("the hub answered {other:?}"))),
        }
    }

    /// Takes in a verdict that was not given in words, such as by a button. `ask` is the prompt's code or id; `key` is
    /// the platform's own name for what the person did.
    pub(crate) async fn answer(
        &self,
        user: &str,
        ask: &str,
        verdict: NewVerdict,
        key: Option<String>,
    ) -> Result<Recorded, Fault> {
        let by = self.actor(&self.identity(user)?).ok_or_else(unknown)?;
        self.hub.limit_rate(&by.name)?;
        key.as_deref().map_or(Ok(()), check_message_id)?;
        let key = key.map(|key| format!("{}:{key}", self.name));
        let target = self.hub.read_target(ask, &by.scope).await?;
        self.hub.answer(by, target, verdict, key).await
    }

    fn identity(&self, user: &str) -> Result<Identity, Fault> {
        let unfit = || bad("user is not valid: it is empty, too long, or has invisible letters");
        Identity::new(self.name.clone(), user).ok_or_else(unfit)
    }

    /// Who someone is here, as of now; none is a stranger.
    fn actor(&self, identity: &Identity) -> Option<Actor> {
        let roster = self.roster.borrow();
        let (name, role) = roster.who_is(identity)?;
        let rights = if self.answers { role.rights() } else { without_review(role) };
        let via = Via::Connector(self.name.clone());
        Some(Actor { name: name.to_owned(), rights, via, scope: TokenScope::Everything, device: None })
    }

    async fn stranger(&self, identity: Identity, message: &IncomingMessage) -> Result<Heard, Fault> {
        // A code is for one pair of eyes, and who writes among others gets no answer that the others read.
        if !message.direct {
            return Err(unknown());
        }
        // All strangers of a platform share one rate. No person has such a name.
        self.hub.limit_rate(&format!("strangers on {}", self.name))?;
        let entropy = entropy()?;
        let called = visible(excerpt(&message.called, Some(LONGEST_CALLED)).0).replace('\n', " ");
        match self.hub.submit(Input::AskPairing { identity, called, entropy }).await? {
            Answer::Pairing { code } => Ok(Heard::Stranger(code)),
            Answer::Refused(refusal) => Err(fault_of(&refusal)),
            // They were let in this very moment, and will be known when they say it again.
            _ => Err(Fault::new(Kind::Busy, "you have just been let in: say it again")),
        }
    }

    fn once(&self, message: &IncomingMessage) -> Result<Option<IdempotencyKey>, Fault> {
        let Some(id) = &message.id else { return Ok(None) };
        check_message_id(id)?;
        let mut hash = Sha256::new();
        for part in [&message.chat, message.label.as_deref().unwrap_or_default()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.update(&message.text);
        let key = format!("{}:{}:{id}", self.name, message.chat);
        Ok(Some(IdempotencyKey { key, digest: hash.finalize().into() }))
    }

    /// What the agent is told besides the text.
    fn attributes(&self, message: &IncomingMessage) -> Result<Vec<Attribute>, Fault> {
        let wrong = |wrong: BadAttributes| Fault::new(Kind::BadAttribute, wrong.to_string());
        let theirs = check_attributes(message.attributes.clone()).map_err(wrong)?;
        let ours = [("user_id", Some(&message.user)), ("message_id", message.id.as_ref())];
        let ours = ours.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.clone())));
        Ok(ours.chain(theirs).collect())
    }
}

fn check_message_id(id: &str) -> Result<(), Fault> {
    if id.is_empty() || id.len() > LONGEST_MESSAGE_ID {
        return Err(bad(format!("the message's own id has 1 to {LONGEST_MESSAGE_ID} bytes")));
    }
    Ok(())
}

fn bad(message: impl Into<String>) -> Fault {
    Fault::new(Kind::BadRequest, message)
}

fn unknown() -> Fault {
    Fault::new(Kind::Forbidden, "the gate does not know this user")
}

fn without_review(role: Role) -> Rights {
    let rest: Vec<Right> =
        Right::ALL.into_iter().filter(|right| *right != Right::Review && role.rights().has(*right)).collect();
    Rights::of(&rest)
}
