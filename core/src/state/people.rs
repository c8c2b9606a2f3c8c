//! Who is let in, as the records tell it.

use super::State;
use super::apply::note_miss;
use crate::ask::AskLife;
use crate::connector::Identity;
use crate::ids::Moment;
use crate::people::{OWNER, Person, Right, Rights, Role, Token, TokenScope};
use crate::record::Record;

impl State {
    pub(super) fn apply_people(&mut self, at: Moment, record: &Record) {
        match record {
            Record::PersonSet { name, role, .. } => {
                self.set_person(name, *role, at);
                if !role.rights().has(Right::Review) {
                    self.forget_votes(name);
                }
            }
            Record::PersonRemoved { name, .. } => {
                self.forget_votes(name);
                self.people.remove(name);
                self.tokens.retain(|_, token| token.person != *name);
                let tokens = &self.tokens;
                self.token_roles.retain(|id, _| tokens.contains_key(id));
            }
            Record::TokenAdded { token, .. } => {
                if let Some(person) = self.people.get(&token.person) {
                    self.token_roles.insert(token.id, person.role);
                }
                self.tokens.insert(token.id, token.clone());
            }
            Record::TokenRevoked { token, .. } => {
                if let Some(revoked) = self.tokens.remove(token) {
                    self.forget_votes(&revoked.person);
                }
                self.token_roles.remove(token);
            }
            Record::DeviceUsed { token, .. } => {
                if let Some(token) = self.tokens.get_mut(token) {
                    token.last_used = Some(at);
                }
            }
            Record::PairingAsked { pairing } => {
                let lifetime = self.memory.pairing_lifetime;
                self.pairings.retain(|known| at.since(known.since) < lifetime && known.code != pairing.code);
                self.pairings.push(pairing.clone());
            }
            Record::Paired { code, name, role, .. } => {
                let Some(place) = self.pairings.iter().position(|pairing| pairing.code == *code) else { return };
                let pairing = self.pairings.remove(place);
                self.set_person(name, *role, at);
                self.link(&pairing.identity, name);
            }
            Record::IdentityLinked { identity, name, .. } => self.link(identity, name),
            Record::IdentityUnlinked { identity, .. } => self.unlink(identity),
            Record::PairingMissed { by } => note_miss(&mut self.pairing_misses, by, at, self.memory.miss_window),
            _ => {}
        }
    }

    /// What a token gives: the rights of its person's role; of these a device has what it was linked for. One for some
    /// labels never gives more than it gave when it was made: whoever made it so narrow meant that role, and no later one.
    pub fn rights_of(&self, token: &Token) -> Rights {
        let known = self.people.get(&token.person).map(|person| person.role);
        // The owner is known without a record, and has devices, not tokens.
        let owner = (token.device.is_some() && token.person == OWNER).then_some(Role::Admin);
        let Some(role) = known.or(owner) else { return Rights::NONE };
        let made_as = self.token_roles.get(&token.id).copied().unwrap_or(role);
        let given = token.device.as_ref().map_or(role.rights(), |device| device.rights);
        match token.scope {
            TokenScope::Everything => role.rights().and(given),
            TokenScope::Labels(_) => role.rights().and(given).and(made_as.rights()),
        }
    }

    /// Where several must agree, the yes of someone who was shown out is none. Who may still review says it again.
    fn forget_votes(&mut self, name: &str) {
        for id in &self.open_asks {
            if let Some((_, AskLife::Open { votes })) = self.asks.get_mut(id) {
                if let Some(records) = self.ask_records.get_mut(id) {
                    let mut voters = votes.iter().map(|vote| &vote.by);
                    records.votes.retain(|_| voters.next().is_some_and(|by| by != name));
                }
                votes.retain(|vote| vote.by != name);
            }
        }
    }

    /// An identity is one person's: whoever had it before has it no more.
    fn link(&mut self, identity: &Identity, name: &str) {
        self.unlink(identity);
        if let Some(person) = self.people.get_mut(name) {
            person.identities.push(identity.clone());
        }
    }

    fn unlink(&mut self, identity: &Identity) {
        for person in self.people.values_mut() {
            person.identities.retain(|known| known != identity);
        }
    }

    fn set_person(&mut self, name: &str, role: Role, at: Moment) {
        let person = Person { role, since: at, identities: vec![] };
        self.people.entry(name.to_owned()).or_insert(person).role = role;
    }
}
