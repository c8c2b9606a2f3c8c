//! [`decide`] returns the records to write and the effects to perform once they are written. It changes nothing.

mod asks;
mod connectors;
mod earlier;
mod editors;
mod events;
pub(crate) mod joins;
mod moves;
mod outside;
mod people;
mod projects;
mod said;
mod sessions;

use crate::ids::Moment;
use crate::input::{Answer, Effect, Input, Refusal};
use crate::record::Record;
use crate::state::State;

/// Records and effects of one decision. All its records have the same subject.
pub(crate) type Decided = (Vec<Record>, Vec<Effect>);

pub fn decide(state: &State, clock: Moment, input: Input) -> (Vec<Record>, Vec<Effect>) {
    let now = state.no_earlier(clock);
    match input {
        Input::ClockSet { was } => (vec![Record::ClockSet { was }], vec![]),
        Input::Started { version } => sessions::started(state, version),
        Input::Said { id, by, inside, text, address, chat, attributes, reply_to, idempotency_key } => {
            let credential = None;
            let said = said::SaidInput {
                id,
                by,
                credential,
                inside,
                text,
                address,
                chat,
                attributes,
                reply_to,
                idempotency_key,
            };
            said::said(state, now, said)
        }
        Input::Answered { by, target, ruling, idempotency_key } => {
            asks::answered(state, now, by, &target, ruling, idempotency_key)
        }
        Input::Missed { by } => (vec![Record::Missed { by }], vec![]),
        Input::Drop { by, event } => events::drop_event(state, &by, event),
        Input::Retry { by, event } => events::retry(state, &by, event),
        Input::Died { event } => events::died(state, event),
        Input::SetPerson { by, name, role } => people::set_person(state, &by, &name, role),
        Input::RemovePerson { by, name } => people::remove_person(state, &by, &name),
        Input::AddToken { by, token, role } => people::add_token(state, &by, token, role),
        Input::LinkDevice { by, token } => people::link_device(state, &by, token),
        Input::RevokeToken { by, token } => people::revoke_token(state, &by, token),
        Input::DeviceUsed { token } => people::device_used(state, now, token),
        Input::SenderRevoked { event, by, why } => events::sender_revoked(state, event, by, why),
        Input::AskPairing { identity, called, entropy } => people::ask_pairing(state, now, identity, called, entropy),
        Input::Pair { by, code, name, role } => people::pair(state, now, &by, code, name, role),
        Input::PairingMissed { by } => (vec![Record::PairingMissed { by }], vec![]),
        Input::Unlink { by, identity } => people::unlink(state, &by, identity),
        Input::Taken { connector, position, messages } => connectors::taken(state, connector, position, messages),
        Input::Redacted { what, by } => people::redacted(&by, what),
        Input::AccessDenied { who, what } => people::access_denied(who, what),
        Input::Asked { session, ask, entropy } => asks::asked(state, now, session, *ask, entropy),
        Input::Carried { ask, session, verdict_at } => asks::carried(state, ask, session, verdict_at),
        Input::Withdrawn { ask, by, why } => asks::withdrawn(state, ask, by, why),
        Input::AskExpired { ask } => asks::expired(state, now, ask),
        Input::NotConfirmed { ask } => asks::not_confirmed(state, now, ask),
        Input::Joined { preview, whole } => joins::joined(state, preview, whole),
        Input::Called { session, call } => asks::called(state, now, session, call),
        Input::OutcomeReported { ask, outcome, digest } => asks::outcome_reported(state, ask, outcome, digest),
        Input::Described { session, about } => sessions::described(state, session, about),
        Input::OutsideRead { session, sender } => outside::read(state, session, sender),
        Input::OutsideEnded { session, by } => outside::ended(state, session, by),
        Input::Ordered { id, by, session, order } => sessions::ordered(state, &by, session, (id, order)),
        Input::SetDefaultMode { by, folder, mode } => projects::set_default_mode(state, &by, folder, mode),
        Input::TrustEditor { by, process, what } => editors::trust(state, &by, process, what),
        Input::OrderSettled { session, order, outcome } => sessions::order_settled(state, session, order, outcome),
        Input::Attached { session, about, wrote, holding } => {
            sessions::attached(state, now, session, about, (wrote, holding))
        }
        Input::Wrote { session, events, way } => sessions::wrote(state, session, events, way),
        Input::Lost { session } => sessions::lost(state, session),
        Input::Ended { session, goodbye } => sessions::ended(state, now, session, goodbye),
        Input::Replied { id, session, chat, reply_to, text, files } => {
            let reply = crate::event::Reply { id, session, chat, reply_to, text, files, at: now, edited: None };
            sessions::replied(state, reply)
        }
        Input::ReplyEdited { session, reply, text } => sessions::reply_edited(state, session, reply, text),
        Input::Opened { session, event } => events::opened(state, session, event),
        Input::Read { session, events } => events::read(state, session, &events),
        Input::Seen { event } => events::seen(state, event),
        Input::EventExpired { event } => events::expired(state, event),
        Input::Ticked => sessions::ticked(state, now),
    }
}

fn refuse(refusal: Refusal) -> Decided {
    answer(Answer::Refused(refusal))
}

/// A decision without records.
fn answer(answer: Answer) -> Decided {
    (vec![], vec![Effect::Answer(answer)])
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod scripts;
