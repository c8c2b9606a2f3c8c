//! People, their tokens and who asks to be let in, as the API tells and takes them.

use portcullis_core::{Moment, Pairing, Person, Role, Token, TokenScope};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A token as it is listed: never the token itself.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct TokenView {
    pub id: String,
    pub person: String,
    /// The person's role: sender, reviewer, admin or agent.
    #[serde(default)]
    pub role: String,
    /// Sessions it is for; none means all.
    pub labels: Option<Vec<String>>,
    /// When it was made.
    pub since: u64,
    /// Until when it counts.
    pub expires: Option<u64>,
    /// It counts no more.
    pub expired: bool,
}

impl TokenView {
    pub fn of(token: &Token, role: Option<Role>, now: Moment) -> Self {
        Self {
            id: token.id.to_string(),
            person: token.person.clone(),
            role: role.map(|role| role.to_string()).unwrap_or_default(),
            labels: match &token.scope {
                TokenScope::Everything => None,
                TokenScope::Labels(labels) => Some(labels.iter().map(ToString::to_string).collect()),
            },
            since: token.since.0,
            expires: token.expires.map(|expires| expires.0),
            expired: token.has_expired(now),
        }
    }
}

/// Taken by `POST /api/v1/tokens`. The token is made by the gate and told once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    pub person: String,
    /// sender, reviewer, admin or agent
    pub role: String,
    /// The sessions it is for; all without.
    #[serde(default)]
    pub labels: Option<Vec<String>>,
    /// Seconds from now.
    #[serde(default)]
    pub expires_in: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct MadeToken {
    pub id: String,
    /// Told this once.
    pub token: String,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct PersonView {
    pub name: String,
    /// sender, reviewer, admin or agent
    pub role: String,
    /// When they were let in.
    pub since: u64,
    /// Who they are elsewhere: `telegram:42`.
    pub identities: Vec<String>,
    /// How many they have.
    pub tokens: usize,
}

impl PersonView {
    pub fn of(name: &str, person: &Person, tokens: usize) -> Self {
        let identities = person.identities.iter().map(ToString::to_string);
        let (name, role, since) = (name.to_owned(), person.role.name().to_owned(), person.since.0);
        Self { name, role, since, identities: identities.collect(), tokens }
    }
}

/// A stranger who waits to be let in. The code is not told: the stranger has to show it.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct PairingView {
    pub platform: String,
    pub user: String,
    pub called: String,
    pub since: u64,
}

impl From<&Pairing> for PairingView {
    fn from(pairing: &Pairing) -> Self {
        let Pairing { identity, called, since, .. } = pairing;
        let (platform, user) = (identity.platform().to_string(), identity.user().to_owned());
        Self { platform, user, called: called.clone(), since: since.0 }
    }
}

/// Answered by `GET /api/v1/people`.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct PeopleView {
    pub people: Vec<PersonView>,
    pub waiting: Vec<PairingView>,
}

/// Taken by `PUT /api/v1/people/{name}`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRole {
    /// sender, reviewer, admin or agent
    pub role: String,
}

/// Taken by `POST /api/v1/pairings`: let the stranger with this code in.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// As the stranger was shown it.
    pub code: String,
    /// What the person is to be called.
    pub name: String,
    /// sender, reviewer, admin or agent
    pub role: String,
}
