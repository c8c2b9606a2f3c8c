//! Someone said something: a verdict on a prompt, or an event for a session.

use std::sync::Arc;

use super::{Decided, answer, asks, refuse};
use crate::attributes::Attribute;
use crate::event::{ChatId, Event, IdempotencyKey, TrackedEvent};
use crate::ids::{Code, EventId, Moment, ReplyId};
use crate::input::{Answer, Effect, Input, NotAVerdict, Refusal, Topic};
use crate::people::{Actor, Inside, OWNER, Right, Role, TokenScope, Via};
use crate::record::Record;
use crate::route::{Address, route};
use crate::state::{Chat, State};
use crate::verdict::{Ruling, SaidText, codes_in, names_a_code, opens_like_a_verdict};

pub(super) struct SaidInput {
    pub(super) id: EventId,
    pub(super) by: Actor,
    /// Set where an agent's process speaks: `by` is then the agent.
    pub(super) credential: Option<String>,
    pub(super) inside: Option<Inside>,
    pub(super) text: SaidText,
    pub(super) address: Address,
    pub(super) chat: Option<ChatId>,
    pub(super) attributes: Arc<[Attribute]>,
    pub(super) reply_to: Option<ReplyId>,
    pub(super) idempotency_key: Option<IdempotencyKey>,
}

/// What an agent runs has the credential of its owner, and speaks as the agent all the same: it informs, and no more.
fn as_speaker(said: SaidInput) -> SaidInput {
    let Some(inside) = &said.inside else { return said };
    let by = Actor { name: inside.agent_name(), rights: Role::Sender.rights(), ..said.by };
    SaidInput { by, credential: Some(said.by.name), ..said }
}

pub(super) fn said(state: &State, now: Moment, said: SaidInput) -> Decided {
    if !said.by.may(Right::Talk) {
        return refuse(Refusal::NeedsRight(Right::Talk));
    }
    let said = as_speaker(said);
    if let Some(key) = &said.idempotency_key
        && let Some(decided) = repeated(state, now, &said.by, key)
    {
        return decided;
    }
    // A channel server says apart what is a verdict: its text is never one.
    if said.by.via == Via::Channel {
        return event(state, now, said, None);
    }
    // Who may not answer, and does not administer, is told nothing of prompts: not even whether one is open. On a platform
    // they may stand in the very chat.
    let is_shown_prompts =
        said.by.may(Right::Review) || said.by.may(Right::Admin) || matches!(said.by.via, Via::Connector(_));
    if said.inside.is_none() && !is_shown_prompts {
        return event(state, now, said, None);
    }
    let prompts_are_open = state.prompts_are_open(&said.by.scope);
    let Some((behavior, code)) = said.text.verdict() else {
        let settled = settled_prompt(state, &said).map(NotAVerdict::Settled);
        let unclear = match prompts_are_open {
            true => {
                let is_like_one = opens_like_a_verdict(said.text.as_str()) || names_a_prompt(state, &said);
                settled.or_else(|| is_like_one.then_some(NotAVerdict::BadGrammar))
            }
            false => {
                let unclear = settled.or_else(|| names_a_code(said.text.as_str()).then_some(NotAVerdict::NoPromptOpen));
                unclear.filter(|_| is_told(&said))
            }
        };
        return event(state, now, said, unclear);
    };
    // The code of a prompt that the sender has nothing to do with is no code to them.
    let in_sight = state.ask_by_code(code).filter(|(ask, _)| state.is_in_scope(Some(ask.session), &said.by.scope));
    if let Some(inside) = said.inside.clone() {
        return match in_sight {
            Some(_) => from_inside(said.credential.unwrap_or(said.by.name), inside),
            // Not a miss: agents have no attempts to use up.
            None => event(state, now, said, prompts_are_open.then_some(NotAVerdict::NoSuchCode(code))),
        };
    }
    if let Some(refusal) = asks::too_many_misses(state, now, &said.by, in_sight.map(|_| behavior)) {
        return refuse(refusal);
    }
    if let Some((ask, life)) = in_sight {
        return asks::answer_to(state, now, (ask, life), said.by, Ruling::plain(behavior), said.idempotency_key);
    }
    if !prompts_are_open {
        let unclear = is_told(&said).then_some(NotAVerdict::NoPromptOpen);
        return event(state, now, said, unclear);
    }
    let missed = asks::can_miss(&said.by).then(|| Effect::then(Input::Missed { by: said.by.name.clone() }));
    let (records, mut effects) = event(state, now, said, Some(NotAVerdict::NoSuchCode(code)));
    effects.extend(missed);
    (records, effects)
}

/// Whether someone who may answer names an open prompt that they can see, as in `allow abcde`: they believe that it is
/// answered now.
fn names_a_prompt(state: &State, said: &SaidInput) -> bool {
    let is_open = |code| {
        let ask = state.ask_by_code(code).filter(|(_, life)| life.is_open());
        ask.is_some_and(|(ask, _)| state.is_in_scope(Some(ask.session), &said.by.scope))
    };
    said.by.may(Right::Review) && codes_in(said.text.as_str()).any(is_open)
}

/// The settled prompt that someone who may answer means, as in `no abcde because it is late`: they believe that they answer
/// it now.
fn settled_prompt(state: &State, said: &SaidInput) -> Option<Code> {
    let is_settled = |code: &Code| {
        let ask = state.ask_by_code(*code).filter(|(_, life)| !life.is_open());
        ask.is_some_and(|(ask, _)| state.is_in_scope(Some(ask.session), &said.by.scope))
    };
    let text = said.text.as_str();
    // Only a text that opens so is searched, for it may be long.
    let is_meant = said.by.may(Right::Review) && opens_like_a_verdict(text) && !names_a_prompt(state, said);
    if is_meant { codes_in(text).find(is_settled) } else { None }
}

/// Whether the sender is told that no prompt is open. In a chat of a platform people say yes and no to each other as well.
fn is_told(said: &SaidInput) -> bool {
    said.inside.is_none() && !matches!(said.by.via, Via::Connector(_))
}

/// A verdict by a process that an agent runs is refused, and the attempt is written down.
fn from_inside(who: String, inside: Inside) -> Decided {
    let what = inside.note("answering a prompt");
    let (records, mut effects) = refuse(Refusal::FromInside(inside));
    effects.push(Effect::then(Input::AccessDenied { who, what }));
    (records, effects)
}

/// What was said before under the same key is answered as it was then.
fn repeated(state: &State, now: Moment, by: &Actor, key: &IdempotencyKey) -> Option<Decided> {
    let before = state.used_key(&by.name, &key.key, now)?;
    if before.digest != key.digest {
        return Some(refuse(Refusal::KeyReused { event: before.event }));
    }
    let to = state.event(before.event).and_then(|tracked| tracked.to);
    let chat = before.chat.clone();
    Some(answer(Answer::Accepted { event: before.event, chat, to, not_a_verdict: None, repeated: true }))
}

/// A conversation is for the person who opened it, and for reviewers. One of a connector is opened on its platform alone,
/// which also says who is in it. An agent and the person whose credential it has go on in each other's: there it still
/// speaks as the agent, and informs.
fn may_write_in(
    state: &State,
    (by, credential): (&Actor, Option<&str>),
    (chat, known): (&ChatId, Option<&Chat>),
) -> bool {
    if matches!(&by.via, Via::Connector(name) if name.own_chat(chat).is_some()) {
        return true;
    }
    match known {
        Some(known) => {
            let is_of = |name: &str| known.owner == name || known.credential.as_deref() == Some(name);
            is_of(&by.name) || credential.is_some_and(|credential| known.owner == credential) || by.may(Right::Review)
        }
        None => state.connector_of(chat).is_none(),
    }
}

/// The conversation of the message that an event answers. One that is too old to be remembered is believed to be of the
/// conversation that the sender names.
fn answered_chat(
    state: &State,
    by: (&Actor, Option<&str>),
    reply_to: ReplyId,
    chat: Option<&ChatId>,
) -> Result<ChatId, Refusal> {
    let answered = match state.reply(reply_to) {
        Some(reply) => Some(&reply.chat).filter(|answered| may_write_in(state, by, (answered, state.chat(answered)))),
        None => chat,
    };
    answered.filter(|answered| chat.is_none_or(|chat| chat == *answered)).cloned().ok_or(Refusal::NoSuchMessage)
}

fn event(state: &State, now: Moment, said: SaidInput, not_a_verdict: Option<NotAVerdict>) -> Decided {
    let SaidInput { id, by, credential, inside: _, text, address, chat, attributes, reply_to, idempotency_key } = said;
    let text = text.into_text();
    let speaker = (&by, credential.as_deref());
    let chat = match reply_to.map(|reply_to| answered_chat(state, speaker, reply_to, chat.as_ref())) {
        Some(Err(refusal)) => return refuse(refusal),
        Some(Ok(answered)) => Some(answered),
        None => chat,
    };
    // A conversation is looked up once: a new one is known to nobody.
    let known = chat.as_ref().and_then(|chat| state.chat(chat));
    let Some(chat) = chat.or_else(|| state.next_chat()) else {
        return refuse(Refusal::SessionFull { waiting: 0 });
    };
    if !may_write_in(state, speaker, (&chat, known)) {
        return refuse(Refusal::ForeignChat(chat));
    }
    let to = match route(state, &address, known, &by.scope) {
        Ok(to) => to,
        Err(no_route) => {
            return refuse(match not_a_verdict {
                Some(why) => Refusal::UnclearVerdict { why, no_route },
                None => Refusal::NoRoute(no_route),
            });
        }
    };
    // Who has to do with some sessions only means these, also when the event has to look for another one.
    let address = match (address, &by.scope, state.wanted_label_of(to)) {
        (Address::Open, TokenScope::Labels(_), Some(label)) => Address::Label(label),
        (address, ..) => address,
    };
    let (waiting, bytes) = state.waiting_size(to);
    if waiting >= state.limits().waiting_events || waiting > 0 && bytes + text.len() > state.limits().waiting_bytes {
        return refuse(Refusal::SessionFull { waiting });
    }
    if to.is_none() && by.name != OWNER && waiting >= state.limits().waiting_of_one {
        let share = state.limits().waiting_of_one;
        let theirs: Vec<&TrackedEvent> = state.waiting(None, 0).filter(|held| held.event.sender == by.name).collect();
        let alike = theirs.iter().filter(|held| held.event.address == address).count();
        // With many labels one sender gets further, and still not to the end.
        if alike >= share || theirs.len() >= share * 3 {
            return refuse(Refusal::SessionFull { waiting: theirs.len() });
        }
    }
    let event = Event {
        id,
        credential,
        directs: by.may(Right::Review),
        device: by.device,
        via: by.via,
        sender: by.name,
        scope: by.scope,
        chat: chat.clone(),
        address,
        attributes,
        reply_to,
        idempotency_key,
        text,
        at: now,
    };
    let mut effects = Vec::with_capacity(3);
    effects.push(Effect::Answer(Answer::Accepted { event: id, chat, to, not_a_verdict, repeated: false }));
    effects.extend(to.map(Effect::Wake));
    effects.push(Effect::Publish(Topic::Event(id)));
    (vec![Record::Received { event: Arc::new(event), to }], effects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Label, Reply, Text};
    use crate::ids::SessionId;
    use crate::people::InsideAgent;
    use crate::state::Limits;
    use crate::verdict::SaidText;

    fn event_by(role: Role, inside: Option<Inside>) -> Arc<Event> {
        let by = Actor {
            name: "ann".into(),
            rights: role.rights(),
            via: Via::Http,
            scope: TokenScope::Everything,
            device: None,
        };
        let said = SaidInput {
            id: EventId::new(Moment(1), 1),
            by,
            credential: None,
            inside,
            text: SaidText::new("hello"),
            address: Address::Open,
            chat: None,
            attributes: Arc::default(),
            reply_to: None,
            idempotency_key: None,
        };
        let (records, _) = super::said(&State::new(Limits::default()), Moment(1), said);
        match records.as_slice() {
            [Record::Received { event, .. }] => Arc::clone(event),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reviewers_direct_sessions_while_senders_and_whatever_an_agent_runs_only_inform() {
        assert!(event_by(Role::Admin, None).directs && event_by(Role::Reviewer, None).directs);
        assert!(!event_by(Role::Sender, None).directs);
        let inside = Inside { process: Some(7), agent: InsideAgent::Session(Label::new("api").unwrap()) };
        let by_agent = event_by(Role::Admin, Some(inside));
        assert_eq!((by_agent.directs, by_agent.sender.as_str()), (false, "agent:api"));
    }

    #[test]
    fn replies_to_what_an_agent_sent_are_for_the_one_whose_credential_it_has() {
        let event = event_by(
            Role::Sender,
            Some(Inside { process: Some(7), agent: InsideAgent::Session(Label::new("api").unwrap()) }),
        );
        let mut state = State::new(Limits::default());
        state.apply(Moment(1), &Record::Received { event: Arc::clone(&event), to: None });
        let reply = Reply {
            id: ReplyId::new(Moment(2), 1),
            session: SessionId::new(Moment(0), 1),
            chat: event.chat.clone(),
            reply_to: None,
            text: Text::new("hello"),
            files: vec![],
            at: Moment(2),
            edited: None,
        };
        let sender = |name: &str| Actor {
            name: name.into(),
            rights: Role::Sender.rights(),
            via: Via::Http,
            scope: TokenScope::Everything,
            device: None,
        };
        let told = [state.reply_notice(&reply), state.notice(Topic::Event(event.id)).unwrap()];
        assert!(told.iter().all(|notice| notice.is_for(&sender("ann")) && !notice.is_for(&sender("tom"))));
    }
}
