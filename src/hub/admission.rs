//! What holds at every door of the gate: how fast a person may send, and what is refused to a process that an agent runs.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use portcullis_core::{Input, Inside, InsideAgent, Label, Moment, OWNER, Refusal, Session, State, TokenId};
use portcullis_wire::error::{Fault, Kind};

use super::{Hub, Trouble, fault_of, now};
use crate::locks::locked;
use crate::processes::{Ancestry, AncestryGap};
pub(crate) use crate::processes::{PeerProcess, TcpConnection};

impl Hub {
    /// Takes one from the person's rate, which all their tokens share. The owner has none.
    pub(crate) fn limit_rate(&self, person: &str) -> Result<(), Fault> {
        if person == OWNER {
            return Ok(());
        }
        let too_fast = |seconds| Fault::new(Kind::TooFast, "too many events a second").retry_after(seconds);
        self.rates.take(person, Instant::now()).map_err(too_fast)
    }

    /// Takes one from the device's rate, whoever's it is: it may be lost, and the owner's is not the owner.
    pub(crate) fn limit_device(&self, device: TokenId) -> Result<(), Fault> {
        let too_fast = |seconds| Fault::new(Kind::TooFast, "too many requests a second").retry_after(seconds);
        self.device_rates.take(&device.to_string(), Instant::now()).map_err(too_fast)
    }

    /// The agent inside of which the other end of a connection runs, if it does.
    ///
    /// Whose ancestors cannot be told counts as inside while any session runs commands whose agent may have started it, and
    /// afterwards if it began since that session did, unless it shows a token.
    pub(crate) async fn inside(&self, peer: Peer) -> Result<Option<Inside>, Trouble> {
        Ok(self.found_inside(peer).await?.map(|found| found.inside))
    }

    async fn found_inside(&self, peer: Peer) -> Result<Option<FoundInside>, Trouble> {
        match peer {
            Peer::Network => Ok(None),
            Peer::OwnerOverTcp(connection) => self.found_behind(connection).await,
            Peer::Process { process, shows_token } => self.found_among(process, shows_token).await,
            Peer::Service { process } => self.found_among(process, true).await,
        }
    }

    /// The agent that shows its owner's token over TCP. That a process is nobody's child says nothing here: the token is
    /// the way out for whatever has lost its parents.
    async fn found_behind(&self, connection: TcpConnection) -> Result<Option<FoundInside>, Trouble> {
        let Some(sessions) = self.outsiders.unless_known(connection) else { return Ok(None) };
        let looking = tokio::task::spawn_blocking(move || connection.clients());
        let clients = looking.await.map_err(|_| Trouble::Stopping)?;
        for client in clients {
            if let Some(found) = self.found_among(Some(client), true).await? {
                return Ok(Some(found));
            }
        }
        self.outsiders.add(connection, sessions);
        Ok(None)
    }

    async fn found_among(
        &self,
        process: Option<PeerProcess>,
        takes_unknown: bool,
    ) -> Result<Option<FoundInside>, Trouble> {
        let origin = match process {
            None => None,
            Some(process) => Some(PeerOrigin::of(process).await?),
        };
        let process = process.map(PeerProcess::pid);
        let ancestry = origin.as_ref().map(|origin| &origin.ancestry);
        let above = ancestry.map(|ancestry| ancestry.above().to_vec()).unwrap_or_default();
        let ages = ancestry.into_iter().flat_map(Ancestry::ages);
        let now = now();
        let began: Vec<Moment> = ages.map(|age| Moment(now.0.saturating_sub(age.as_millis() as u64))).collect();
        let agents = move |state: &State| {
            let agents = state.all_sessions().filter(|session| session.about.runs_commands);
            let known = |session: &Session| KnownAgent {
                is_above: session.about.pid.is_some_and(|pid| above.contains(&pid)),
                pid: session.about.pid,
                since: session.since,
                has_ended: session.has_ended(),
                may_have_left: may_have_left(session, &began, now),
                label: session.label.clone(),
            };
            agents.map(known).filter(|agent| agent.is_above || agent.may_have_left).collect::<Vec<_>>()
        };
        let agents = self.look(agents).await?;
        let claude_codes = origin.as_ref().map(|origin| origin.claude_codes.as_slice()).unwrap_or_default();
        if let Some(session) = agents.iter().find(|agent| agent.is_above && agent.is_still_there(claude_codes)) {
            return Ok(Some(FoundInside::of(process, InsideAgent::Session(session.label.clone()))));
        }
        if origin.as_ref().is_some_and(|origin| origin.has_agent) {
            return Ok(Some(FoundInside::of(process, InsideAgent::Other)));
        }
        let gap = match ancestry {
            None => Some("the system does not name the process that connected"),
            Some(ancestry) => ancestry.gap().map(AncestryGap::in_words),
        };
        let cannot = |agent: &KnownAgent| {
            // A session that is still to come was there before the clock was set back: nobody knows for how long.
            let attached = now.0.checked_sub(agent.since.0).map(Duration::from_millis);
            ancestry.zip(attached).is_some_and(|(ancestry, attached)| ancestry.is_older_than(agent.pid, attached))
        };
        let is_left_behind = agents.iter().any(|agent| agent.may_have_left && !cannot(agent));
        let Some(why) = gap.filter(|_| is_left_behind && !takes_unknown) else { return Ok(None) };
        let orphan = origin.and_then(|origin| origin.orphan);
        Ok(Some(FoundInside { orphan, ..FoundInside::of(process, InsideAgent::Unknown(why)) }))
    }

    /// The same for whoever answers the prompts of its own session: there a process counts as a person's that a person has
    /// said is their editor. Nothing else is opened to it, and nobody says so of what runs inside a known agent.
    pub(crate) async fn inside_without_editors(&self, peer: Peer) -> Result<Option<Inside>, Trouble> {
        let Some(FoundInside { inside, orphan }) = self.found_inside(peer).await? else { return Ok(None) };
        let is_trusted = match orphan {
            Some(itself) => self.look(move |state| state.is_trusted_editor(&itself)).await?,
            None => false,
        };
        Ok((!is_trusted).then_some(inside))
    }

    /// Refuses something to a process that an agent runs, and writes the attempt down.
    pub(crate) async fn refuse_inside(&self, peer: Peer, who: &str, tried: &str) -> Result<(), Fault> {
        let Some(inside) = self.inside(peer).await? else { return Ok(()) };
        tracing::warn!(?inside, tried, "refused: it comes from inside a session");
        self.record_refusal(&inside, who, tried).await?;
        Err(fault_of(&Refusal::FromInside(inside)))
    }

    /// Writes down that something was refused to a process that an agent runs.
    pub(crate) async fn record_refusal(&self, inside: &Inside, who: &str, tried: &str) -> Result<(), Trouble> {
        // Each try may be another process.
        self.record_denied_of(&format!("{who} {:?}", inside.agent), who.to_owned(), inside.note(tried)).await
    }

    /// Writes down that something was refused which only an attacker or a confused agent would try.
    pub(crate) async fn record_denied(&self, who: String, what: String) -> Result<(), Trouble> {
        self.record_denied_of(&who.clone(), who, what).await
    }

    async fn record_denied_of(&self, agent: &str, who: String, what: String) -> Result<(), Trouble> {
        let Some(what) = self.denials.words_of(agent, what, Instant::now()) else { return Ok(()) };
        self.submit(Input::AccessDenied { who, what }).await.map(drop)
    }
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Over the network, where a credential says who it is, and nothing says where it runs.
    #[default]
    Network,
    /// Over TCP with the owner's own token, which every process of theirs can read. If it runs on this machine, the system
    /// may tell which one it is.
    OwnerOverTcp(TcpConnection),
    /// On the Unix socket. The system names the process, or does not.
    Process {
        process: Option<PeerProcess>,
        /// It has a credential besides being the same user.
        shows_token: bool,
    },
    /// A program that the owner named in the configuration, and that is usually nobody's child.
    Service { process: Option<PeerProcess> },
}

/// Connections whose other end was found outside of every agent. It stays there, unless a session begins that says otherwise:
/// then all are looked at again.
#[derive(Default)]
pub(super) struct Outsiders(Mutex<FoundOutside>);

#[derive(Default)]
struct FoundOutside {
    connections: HashSet<u64>,
    /// How often a session has begun.
    sessions: u64,
}

impl Outsiders {
    /// More connections than anyone answers prompts over.
    const MOST: usize = 1024;

    /// None where the other end is known to be outside; else how often a session has begun by now.
    fn unless_known(&self, connection: TcpConnection) -> Option<u64> {
        let found = locked(&self.0);
        (!found.connections.contains(&connection.number())).then_some(found.sessions)
    }

    /// Remembers a connection that was looked at when so many sessions had begun, unless another has since.
    fn add(&self, connection: TcpConnection, sessions: u64) {
        let mut found = locked(&self.0);
        if found.sessions != sessions {
            return;
        }
        if found.connections.len() >= Self::MOST {
            found.connections.clear();
        }
        found.connections.insert(connection.number());
    }

    pub(super) fn session_has_begun(&self) {
        let mut found = locked(&self.0);
        found.connections.clear();
        found.sessions += 1;
    }
}

/// A process that runs inside an agent, or may.
struct FoundInside {
    inside: Inside,
    /// Which process it is, where it is left to nobody: a person may have said that it is their editor.
    orphan: Option<String>,
}

impl FoundInside {
    fn of(process: Option<u32>, agent: InsideAgent) -> Self {
        Self { inside: Inside { process, agent }, orphan: None }
    }
}

/// Where a process comes from, as the system tells.
struct PeerOrigin {
    /// Without this gate and those above it. What it started, it started for a person; above it is only whoever happened
    /// to need it first.
    ancestry: Ancestry,
    /// The Claude Codes above. The agent itself is nobody's child here: only what it runs is turned away.
    claude_codes: Vec<u32>,
    has_agent: bool,
    /// Which process it is, where its parent is gone.
    orphan: Option<String>,
}

impl PeerOrigin {
    /// Looked up on a thread that may wait for the system: it is asked several times for each process of the line.
    async fn of(process: PeerProcess) -> Result<Self, Trouble> {
        let looking = tokio::task::spawn_blocking(move || {
            let ancestry = process.ancestry().below(std::process::id());
            let (claude_codes, has_agent) = (ancestry.claude_codes().to_vec(), ancestry.agent().is_some());
            let is_orphan = ancestry.gap() == Some(AncestryGap::Orphaned);
            let orphan = is_orphan.then(|| process.identity()).flatten();
            Self { ancestry, claude_codes, has_agent, orphan }
        });
        looking.await.map_err(|_| Trouble::Stopping)
    }
}

/// In milliseconds: the system counts the time of processes in hundredths of a second, and an agent runs a little before its
/// session is known.
const INACCURACY: u64 = 1000;

/// Whether a session's agent may have started a process and left it behind: one whose line began at these moments. What
/// began after the session's end may be a child of something that it left, and its agent may go on without a session.
fn may_have_left(session: &Session, began: &[Moment], now: Moment) -> bool {
    let first = session.since.0.saturating_sub(INACCURACY);
    // When it began is not told of one that is gone, and when the session began not by a clock that was set back since.
    !session.has_ended() || began.is_empty() || session.since > now || began.iter().any(|began| began.0 >= first)
}

/// The agent of a session that runs commands.
struct KnownAgent {
    is_above: bool,
    may_have_left: bool,
    pid: Option<u32>,
    since: Moment,
    has_ended: bool,
    label: Label,
}

impl KnownAgent {
    /// A session that is away, and one that ended while its agent goes on, are no way out. A number that another process
    /// has by now is.
    fn is_still_there(&self, claude_codes: &[u32]) -> bool {
        !self.has_ended || self.pid.is_some_and(|pid| claude_codes.contains(&pid))
    }
}

#[cfg(test)]
mod tests {
    use portcullis_core::{Presence, SessionAbout, SessionId};

    use super::*;

    #[test]
    fn a_clock_that_was_set_back_makes_nothing_older_than_a_session_that_ended() {
        let label = Label::new("api").unwrap();
        let session = |since| Session {
            id: SessionId::new(Moment(0), 1),
            label: label.clone(),
            about: SessionAbout::new(label.clone(), "channel"),
            presence: Presence::Ended { at: since },
            since,
            active: since,
            stopped: None,
            orders: vec![],
            outside: None,
        };
        let hour = 3_600_000;
        let (attached, now) = (session(Moment(10 * hour)), Moment(11 * hour));
        assert!(!may_have_left(&attached, &[Moment(9 * hour)], now), "it began before");
        assert!(may_have_left(&attached, &[Moment(10 * hour + 1)], now));
        // Two hours back: what began half an hour ago did so before the session, by that clock.
        let now = Moment(9 * hour);
        assert!(may_have_left(&attached, &[Moment(now.0 - hour / 2)], now));
    }
}
