//! Who is let in: people, their tokens, and strangers who ask to be paired.

use super::{Decided, answer, refuse};
use crate::ask::{Ask, AskLife};
use crate::connector::Identity;
use crate::event::{Event, TrackedEvent};
use crate::ids::{Moment, PairingCode, TokenId};
use crate::input::{Answer, Effect, Input, Refusal, Topic};
use crate::people::{
    Actor, LONGEST_DEVICE_NAME, OWNER, Pairing, Right, Role, Token, Via, is_device_name, is_person_name,
};
use crate::record::Record;
use crate::shown::excerpt;
use crate::state::State;

/// Devices that may be linked at once: more than anyone has, and few enough to be looked through.
const MOST_DEVICES: usize = 100;

/// A decision with one record, told to everyone who checks credentials.
fn changed(record: Record) -> Decided {
    (vec![record], vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::People)])
}

/// The same, where a person may lose votes by it: who looks at those prompts is told.
fn changed_with_votes(state: &State, name: &str, record: Record) -> Decided {
    let (records, mut effects) = changed(record);
    let has_voted = |ask: &&Ask| match state.ask(ask.id) {
        Some((_, AskLife::Open { votes })) => votes.iter().any(|vote| vote.by == name),
        _ => false,
    };
    effects.extend(state.open_asks().filter(has_voted).map(|ask| Effect::Publish(Topic::Ask(ask.id))));
    (records, effects)
}

/// The same, where what a person sent to direct a session must no longer: as far as no agent was given it.
fn shown_out(
    state: &State,
    (name, sent): (&str, impl Fn(&Event) -> bool),
    why: &str,
    by: &Actor,
    record: Record,
) -> Decided {
    let (records, mut effects) = changed_with_votes(state, name, record);
    let is_theirs =
        |tracked: &&TrackedEvent| tracked.event.directs && tracked.event.is_of(name) && sent(&tracked.event);
    effects.extend(state.all_waiting().filter(is_theirs).map(|tracked| {
        let (event, by, why) = (tracked.event.id, by.name.clone(), why.to_owned());
        Effect::then(Input::SenderRevoked { event, by, why })
    }));
    (records, effects)
}

/// What keeps an actor from administering, if anything does.
pub(super) fn may_not(by: &Actor) -> Option<Decided> {
    (!by.may(Right::Admin)).then(|| refuse(Refusal::NeedsRight(Right::Admin)))
}

pub(super) fn set_person(state: &State, by: &Actor, name: &str, role: Role) -> Decided {
    if let Some(refused) = may_not(by) {
        return refused;
    }
    match state.person(name) {
        None if !is_person_name(name) => refuse(Refusal::BadName),
        None => refuse(Refusal::NoSuchPerson),
        Some(person) if person.role == role => answer(Answer::Done),
        Some(_) => {
            let record = Record::PersonSet { name: name.to_owned(), role, by: by.name.clone() };
            let may_direct = role.rights().has(Right::Review);
            let why = format!("{name} may no longer direct sessions");
            shown_out(state, (name, |_| !may_direct), &why, by, record)
        }
    }
}

pub(super) fn remove_person(state: &State, by: &Actor, name: &str) -> Decided {
    if let Some(refused) = may_not(by) {
        return refused;
    }
    match state.person(name) {
        None => refuse(Refusal::NoSuchPerson),
        Some(_) => {
            let record = Record::PersonRemoved { name: name.to_owned(), by: by.name.clone() };
            shown_out(state, (name, |_| true), &format!("{name} was removed"), by, record)
        }
    }
}

/// A token for someone known, or for someone new in the role that is named.
pub(super) fn add_token(state: &State, by: &Actor, token: Token, role: Role) -> Decided {
    if let Some(refused) = may_not(by) {
        return refused;
    }
    if !is_person_name(&token.person) {
        return refuse(Refusal::BadName);
    }
    let by_name = by.name.clone();
    match state.person(&token.person) {
        Some(person) if person.role != role => refuse(Refusal::OtherRole { role: person.role }),
        Some(_) => changed(Record::TokenAdded { token, by: by_name }),
        None => {
            let first = Record::PersonSet { name: token.person.clone(), role, by: by_name.clone() };
            let effects = vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::People)];
            (vec![first, Record::TokenAdded { token, by: by_name }], effects)
        }
    }
}

/// The key of a browser. The owner needs no record to have one.
pub(super) fn link_device(state: &State, by: &Actor, mut token: Token) -> Decided {
    if let Some(refused) = may_not(by) {
        return refused;
    }
    let is_known = token.person == OWNER || state.person(&token.person).is_some();
    let devices = state.tokens().filter(|token| token.device.is_some()).count();
    match &mut token.device {
        _ if !is_known => refuse(Refusal::NoSuchPerson),
        Some(device) if !is_device_name(&device.called) => refuse(Refusal::BadName),
        _ if devices >= MOST_DEVICES => refuse(Refusal::TooManyDevices),
        Some(device) => {
            device.called = free_name(state, &device.called);
            changed(Record::TokenAdded { token, by: by.name.clone() })
        }
        None => changed(Record::TokenAdded { token, by: by.name.clone() }),
    }
}

/// The name, with a number where another device has it: people tell their devices apart by it.
fn free_name(state: &State, called: &str) -> String {
    let taken: Vec<&str> = state.tokens().filter_map(|token| Some(token.device.as_ref()?.called.as_str())).collect();
    let numbered = |number: usize| match number {
        1 => called.to_owned(),
        _ => {
            let number = format!(" {number}");
            let (start, _) = excerpt(called, Some(LONGEST_DEVICE_NAME - number.len()));
            format!("{}{number}", start.trim_end())
        }
    };
    // More numbers than devices can take.
    (1..=MOST_DEVICES + 1)
        .map(numbered)
        .find(|name| !taken.contains(&name.as_str()))
        .unwrap_or_else(|| called.to_owned())
}

pub(super) fn revoke_token(state: &State, by: &Actor, id: TokenId) -> Decided {
    if let Some(refused) = may_not(by) {
        return refused;
    }
    match state.token(id) {
        None => refuse(Refusal::NoSuchToken),
        Some(token) => {
            let device = token.device.as_ref().map(|device| device.called.clone());
            let person = token.person.clone();
            // A device is known by its name. A token is not told from others of its person and its sessions.
            let is_of_it = |event: &Event| match &device {
                Some(device) => event.device.as_ref() == Some(device),
                None => event.device.is_none() && event.via != Via::Channel && event.scope == token.scope,
            };
            let why = match &device {
                Some(device) => format!("its device {device:?} was revoked"),
                None => format!("a token of {person} was revoked"),
            };
            let record = Record::TokenRevoked { token: id, person, by: by.name.clone(), device: device.clone() };
            shown_out(state, (&token.person, is_of_it), &why, by, record)
        }
    }
}

/// How often it is written down at most that a device was used, in milliseconds.
const USED_EVERY: u64 = 3_600_000;

pub(super) fn device_used(state: &State, now: Moment, id: TokenId) -> Decided {
    match state.token(id).filter(|token| token.device.is_some()) {
        Some(token) if token.last_used.is_none_or(|used| now.since(used) >= USED_EVERY) => {
            let record = Record::DeviceUsed { token: id, person: token.person.clone() };
            (vec![record], vec![Effect::Answer(Answer::Done)])
        }
        _ => answer(Answer::Done),
    }
}

/// A stranger is shown a code. The same stranger gets the same code until it has run out, and none once it is let in.
pub(super) fn ask_pairing(state: &State, now: Moment, identity: Identity, called: String, entropy: u64) -> Decided {
    if state.person_of(&identity).is_some() {
        return answer(Answer::Done);
    }
    let platform = identity.platform();
    let open: Vec<&Pairing> =
        state.open_pairings(now).filter(|pairing| pairing.identity.platform() == platform).collect();
    if let Some(known) = open.iter().find(|pairing| pairing.identity == identity) {
        return answer(Answer::Pairing { code: known.code.clone() });
    }
    if open.len() >= state.limits().pairings {
        return refuse(Refusal::TooManyPairings);
    }
    let mut codes = (0..).map(|step| PairingCode::from_entropy(entropy.wrapping_add(step)));
    let free = codes.find(|code| state.open_pairings(now).all(|pairing| pairing.code != *code));
    let code = free.unwrap_or_else(|| PairingCode::from_entropy(entropy));
    let pairing = Pairing { code: code.clone(), identity, called, since: now };
    (
        vec![Record::PairingAsked { pairing }],
        vec![Effect::Answer(Answer::Pairing { code }), Effect::Publish(Topic::People)],
    )
}

pub(super) fn pair(state: &State, now: Moment, by: &Actor, code: PairingCode, name: String, role: Role) -> Decided {
    if let Some(refused) = may_not(by) {
        return refused;
    }
    if !is_person_name(&name) {
        return refuse(Refusal::BadName);
    }
    if let Some(retry_at) = state.pairing_blocked_until(&by.name, now) {
        return refuse(Refusal::TooManyMisses { retry_at });
    }
    let Some(pairing) = state.open_pairings(now).find(|pairing| pairing.code == code) else {
        let (records, mut effects) = refuse(Refusal::NoSuchPairing);
        effects.push(Effect::then(Input::PairingMissed { by: by.name.clone() }));
        return (records, effects);
    };
    match state.person(&name) {
        Some(person) if person.role != role => refuse(Refusal::OtherRole { role: person.role }),
        _ => {
            let (identity, by) = (pairing.identity.clone(), by.name.clone());
            let paired = Record::Paired { code, name: name.clone(), role, by: by.clone() };
            let effects = vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::People)];
            (vec![paired, Record::IdentityLinked { identity, name, by }], effects)
        }
    }
}

pub(super) fn unlink(state: &State, by: &Actor, identity: Identity) -> Decided {
    if let Some(refused) = may_not(by) {
        return refused;
    }
    match state.person_of(&identity) {
        None => refuse(Refusal::NoSuchIdentity),
        Some((name, _)) => changed(Record::IdentityUnlinked { identity, name: name.clone(), by: by.name.clone() }),
    }
}

pub(super) fn redacted(by: &Actor, what: String) -> Decided {
    if let Some(refused) = may_not(by) {
        return refused;
    }
    (vec![Record::Redacted { what, by: by.name.clone() }], vec![Effect::Answer(Answer::Done)])
}

/// Records a refused attempt for the owner to see, under the owner's name when no other is known.
pub(super) fn access_denied(who: String, what: String) -> Decided {
    let who = if who.is_empty() { OWNER.to_owned() } else { who };
    (vec![Record::AccessDenied { who, what }], vec![Effect::Answer(Answer::Done)])
}
