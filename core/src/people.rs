//! People and what they may do. Everything done is done by an actor with rights, through a door.

use std::fmt;
use std::str::FromStr;

use crate::attributes::hides;
use crate::connector::{BadConnectorName, ConnectorName, Identity};
use crate::event::{Event, Label};
use crate::ids::{Moment, PairingCode, TokenId};
use crate::names::names;

/// One thing a person may be allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Right {
    /// Send events, and see the replies to one's own conversations.
    Talk,
    /// See every conversation, and answer permission prompts.
    Review,
    /// Start sessions.
    Start,
    /// Change people, tokens and rules; stop the gate.
    Admin,
    /// Post hooks, and nothing else: what an agent's own process may do.
    Agent,
}

names!(Right { Talk = "talk", Review = "review", Start = "start", Admin = "admin", Agent = "agent" });

impl Right {
    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights(u8);

impl Rights {
    pub const NONE: Self = Self(0);

    pub fn of(rights: &[Right]) -> Self {
        Self(rights.iter().fold(0, |bits, right| bits | right.bit()))
    }

    pub fn has(self, right: Right) -> bool {
        self.0 & right.bit() != 0
    }

    /// Those that are in both.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub fn names(self) -> Vec<&'static str> {
        Right::ALL.into_iter().filter(|right| self.has(*right)).map(Right::name).collect()
    }
}

/// The bundles of rights that people are given by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Sender,
    Reviewer,
    Admin,
    /// Not a person: an agent's own client, which may post its hooks and nothing else.
    Agent,
}

names!(Role { Sender = "sender", Reviewer = "reviewer", Admin = "admin", Agent = "agent" });

impl Role {
    pub fn rights(self) -> Rights {
        match self {
            Self::Sender => Rights::of(&[Right::Talk]),
            Self::Reviewer => Rights::of(&[Right::Talk, Right::Review]),
            Self::Admin => Rights::of(&[Right::Talk, Right::Review, Right::Start, Right::Admin]),
            Self::Agent => Rights::of(&[Right::Agent]),
        }
    }
}

/// A channel server speaks under its name behind this. No person can have such a name.
pub const CHANNEL_SENDER: &str = "channel:";

/// The door something came through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Via {
    /// The TCP listener.
    Http,
    /// The page, in a browser that is linked.
    Device,
    /// The Unix socket: the command line of the same user.
    Socket,
    /// The session's own terminal.
    Terminal,
    /// Nobody: the gate itself, by its rules or because time was up.
    Gate,
    /// A channel server that the session's own process runs.
    Channel,
    /// A platform where people are, told by the connector's name.
    Connector(ConnectorName),
}

impl Via {
    pub fn name(&self) -> &str {
        match self {
            Self::Http => "http",
            Self::Device => "device",
            Self::Socket => "socket",
            Self::Terminal => "terminal",
            Self::Gate => "gate",
            Self::Channel => "channel",
            Self::Connector(name) => name.as_str(),
        }
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Via {
    type Err = BadConnectorName;

    fn from_str(name: &str) -> Result<Self, BadConnectorName> {
        Ok(match name {
            "http" => Self::Http,
            "device" => Self::Device,
            "socket" => Self::Socket,
            "terminal" => Self::Terminal,
            "gate" => Self::Gate,
            "channel" => Self::Channel,
            name => Self::Connector(name.parse()?),
        })
    }
}

/// Which sessions someone has to do with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TokenScope {
    #[default]
    Everything,
    /// Only sessions with one of these labels.
    Labels(Vec<Label>),
}

impl TokenScope {
    pub fn covers(&self, label: &Label) -> bool {
        match self {
            Self::Everything => true,
            Self::Labels(labels) => labels.contains(label),
        }
    }
}

/// Someone who acts: who they are, what they may do, and where they came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    pub name: String,
    pub rights: Rights,
    pub via: Via,
    pub scope: TokenScope,
    /// What the linked browser is called that they came in by.
    pub device: Option<String>,
}

/// A process that runs inside an agent: the agent started it, or something that the agent started did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// None: the system does not name it.
    pub process: Option<u32>,
    pub agent: InsideAgent,
}

/// What is known of the agent that a process runs inside of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InsideAgent {
    /// That of the session with this label.
    Session(Label),
    /// One without a session here.
    Other,
    /// Whose child the process is cannot be told, and there are agents that run commands.
    Unknown(&'static str),
}

impl Inside {
    /// The name of the agent as a sender. No person can have it.
    pub fn agent_name(&self) -> String {
        match &self.agent {
            InsideAgent::Session(label) => format!("agent:{label}"),
            InsideAgent::Other => "agent:other".to_owned(),
            InsideAgent::Unknown(_) => "agent:unknown".to_owned(),
        }
    }

    /// What the journal says of something that was refused to such a process.
    pub fn note(&self, tried: &str) -> String {
        let process = self.process.map_or("an unnamed process".to_owned(), |process| format!("process {process}"));
        match &self.agent {
            InsideAgent::Session(label) => format!("{tried}, by {process} inside session {label}"),
            InsideAgent::Other => format!("{tried}, by {process} inside an agent"),
            InsideAgent::Unknown(why) => format!("{tried}, by {process} of unknown origin: {why}"),
        }
    }
}

/// The person whose gate it is. Known without a record, and never removed.
pub const OWNER: &str = "owner";

/// Names that records give to others than people.
const RESERVED: [&str; 7] = [OWNER, "terminal", "portcullis", "gate", "system", "user", "assistant"];

/// A name as it looks at a glance: without marks between its letters, and each letter as the Latin one that it could be
/// taken for.
fn at_a_glance(name: &str) -> String {
    let look = |letter: char| match letter {
        '0' | 'о' | 'ο' | 'օ' | 'ø' | 'ò'..='ö' => 'o',
        '1' | 'l' | 'і' | 'ι' | 'ı' | 'ӏ' | 'ì'..='ï' => 'i',
        '3' | 'е' | 'ё' | 'ε' | 'є' | 'è'..='ë' => 'e',
        '4' | '@' | 'а' | 'α' | 'à'..='å' => 'a',
        '5' | 'ѕ' => 's',
        '7' | 'т' | 'τ' => 't',
        '9' | 'ԍ' | 'ց' => 'g',
        'с' | 'ϲ' | 'ç' => 'c',
        'м' => 'm',
        'п' | 'ո' | 'η' | 'ñ' => 'n',
        'р' | 'ρ' => 'p',
        'г' => 'r',
        'υ' | 'ս' | 'ц' | 'ù'..='ü' => 'u',
        'ԝ' | 'ѡ' | 'ω' | 'ш' | 'ա' => 'w',
        'у' | 'ү' | 'ý' | 'ÿ' => 'y',
        'ｏ' | 'ａ'..='ｚ' => char::from_u32(letter as u32 - 0xfee0).unwrap_or(letter),
        other => other,
    };
    let letters =
        name.chars().flat_map(char::to_lowercase).filter(|letter| !matches!(letter, '-' | '_' | '.')).map(look);
    let text: String = letters.map(|letter| if letter == 'l' { 'i' } else { letter }).collect();
    text.replace("vv", "w").replace("rn", "m")
}

/// Someone the owner has let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub role: Role,
    pub since: Moment,
    /// Who they are on platforms. An identity is one person's.
    pub identities: Vec<Identity>,
}

/// What a person shows to be let in over HTTP. The gate keeps only its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: TokenId,
    pub person: String,
    pub hash: [u8; 32],
    pub scope: TokenScope,
    pub expires: Option<Moment>,
    pub since: Moment,
    /// The browser that keeps it, where it is one's key.
    pub device: Option<Device>,
    /// When a device last made a request, to the hour.
    pub last_used: Option<Moment>,
}

/// A browser that was linked: a computer's, a phone's. It may do what it was linked for, if its person may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// As its person calls it.
    pub called: String,
    pub rights: Rights,
}

impl Token {
    pub fn has_expired(&self, now: Moment) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// A stranger on a platform who waits to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    pub code: PairingCode,
    pub identity: Identity,
    /// What the platform calls them, for people to recognise. Not to be trusted.
    pub called: String,
    pub since: Moment,
}

/// A name that a person can have: short, visible, and not the owner's.
pub fn is_person_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | '@');
    !name.is_empty()
        && name.len() <= 64
        && name.chars().all(plain)
        && !RESERVED.iter().any(|ours| at_a_glance(name) == at_a_glance(ours))
}

/// Bytes of a device's name.
pub(crate) const LONGEST_DEVICE_NAME: usize = 120;

/// What a device can be called: short, and visible on one line.
pub(crate) fn is_device_name(name: &str) -> bool {
    !name.trim().is_empty()
        && name.len() <= LONGEST_DEVICE_NAME
        && !name.chars().any(|letter| letter.is_control() || hides(letter))
}

impl Actor {
    /// Whether they may see an event that is for the session with this label: people see their own, reviewers those of
    /// others as well, and with a token for some labels only those of these labels.
    pub fn sees(&self, event: &Event, label: Option<&Label>) -> bool {
        let is_covered = match (label, &self.scope) {
            (_, TokenScope::Everything) => true,
            (Some(label), scope) => scope.covers(label),
            // It has no session yet. Who sent it with the same token knows of it.
            (None, scope) => event.scope == *scope && event.is_of(&self.name),
        };
        is_covered && (self.may(Right::Review) || self.may(Right::Talk) && event.is_of(&self.name))
    }

    /// Who has to do with some sessions only does not administer the gate: they could make themselves a way to the rest.
    pub fn may(&self, right: Right) -> bool {
        self.rights.has(right) && (right != Right::Admin || self.scope == TokenScope::Everything)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_named_like_the_owner_or_the_gate() {
        for fine in ["ann", "bob.smith", "gatekeeper", "owners", "前端", "Оля", "ci-1", "claude"] {
            assert!(is_person_name(fine), "{fine}");
        }
        for wrong in [
            "owner",
            "OWNER",
            "оwner",
            "оwnеr",
            "0wner",
            "o-w-n-e-r",
            "0vvner",
            "ówner",
            "ｏwner",
            "portcullis",
            "p0rtcu11is",
            "User",
            "gаte",
            "system",
            "a:b",
            "",
        ] {
            assert!(!is_person_name(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_door_is_read_as_it_is_written_and_connectors_are_doors() {
        for name in ["http", "device", "socket", "terminal", "gate", "telegram"] {
            assert_eq!(name.parse::<Via>().unwrap().to_string(), name);
        }
        assert_eq!("gate".parse(), Ok(Via::Gate));
        assert_eq!("editor".parse::<Via>(), Err(BadConnectorName));
    }

    #[test]
    fn a_role_holds_what_its_name_says_and_no_more() {
        assert_eq!(Role::Sender.rights().names(), ["talk"]);
        assert_eq!(Role::Reviewer.rights().names(), ["talk", "review"]);
        assert_eq!(Role::Admin.rights().names(), ["talk", "review", "start", "admin"]);
        assert_eq!(Role::Agent.rights().names(), ["agent"]);
        assert!(!Rights::of(&[Right::Agent]).has(Right::Talk));
    }
}
