//! The sessions of clients over HTTP: whose each is, and whether anyone still uses it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use tokio::time::Instant;

use super::owners::RequestOwner;
use crate::agents::gateway::WantedOffer;
use crate::agents::gateway::core::GatewayCore;
use crate::fixed;
use crate::locks::locked;

/// A session without any open request for so long is over: many clients leave without a word.
const IDLE: Duration = Duration::from_secs(600);

/// By their ids. Locked for a moment, by every request.
#[derive(Default)]
pub(super) struct OpenSessions(Mutex<HashMap<String, OpenSession>>);

struct OpenSession {
    /// With whose token it was begun.
    owner: RequestOwner,
    /// What the address says at which it was begun.
    offer: WantedOffer,
    /// The client that began it.
    client: BegunClient,
    /// Requests that are being answered, the stream of a client that listens among them.
    requests: usize,
    last: Instant,
}

/// The client that is made for a request. Set while that is answered.
#[derive(Clone, Default)]
pub(super) struct BegunClient(Arc<OnceLock<Weak<GatewayCore>>>);

impl BegunClient {
    pub(super) fn note(&self, core: &Arc<GatewayCore>) {
        self.0.get_or_init(|| Arc::downgrade(core));
    }

    fn end(&self) {
        if let Some(core) = self.0.get().and_then(Weak::upgrade) {
            core.end();
        }
    }
}

/// One request of a session, until it is dropped.
pub(super) struct InUse {
    id: String,
    sessions: Arc<OpenSessions>,
}

impl OpenSessions {
    pub(super) fn begin(&self, id: &str, owner: RequestOwner, (offer, client): (WantedOffer, BegunClient)) {
        let session = OpenSession { owner, offer, client, requests: 0, last: Instant::now() };
        locked(&self.0).entry(id.to_owned()).or_insert(session);
    }

    /// How many sessions were begun with the tokens of one person, and are open.
    pub(super) fn count_of(&self, person: &str) -> usize {
        locked(&self.0).values().filter(|session| session.owner.person == person).count()
    }

    /// None where no such session was begun with this token, at this address.
    pub(super) fn enter(self: &Arc<Self>, id: &str, owner: &RequestOwner, offer: &WantedOffer) -> Option<InUse> {
        let mut sessions = locked(&self.0);
        let is_it = |session: &&mut OpenSession| session.owner == *owner && session.offer == *offer;
        let session = sessions.get_mut(id).filter(is_it)?;
        session.requests += 1;
        Some(InUse { id: id.to_owned(), sessions: Arc::clone(self) })
    }

    /// Its client left.
    pub(super) fn end(&self, id: &str) {
        let ended = locked(&self.0).remove(id);
        ended.iter().for_each(|session| session.client.end());
    }

    /// Ends those that were begun with this token.
    pub(super) fn end_of(&self, token: &str) -> Vec<String> {
        self.end_those(|session| session.owner.token == token)
    }

    /// Ends those that nobody used for a while.
    pub(super) fn end_idle(&self) -> Vec<String> {
        let (now, idle) = (Instant::now(), fixed::wait("MCP_IDLE", IDLE));
        self.end_those(|session| session.requests == 0 && now.duration_since(session.last) >= idle)
    }

    fn end_those(&self, is_over: impl Fn(&OpenSession) -> bool) -> Vec<String> {
        let ended: Vec<_> = locked(&self.0).extract_if(|_, session| is_over(session)).collect();
        ended.iter().for_each(|(_, session)| session.client.end());
        ended.into_iter().map(|(id, _)| id).collect()
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        if let Some(session) = locked(&self.sessions.0).get_mut(&self.id) {
            session.requests = session.requests.saturating_sub(1);
            session.last = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_is_its_tokens_alone_and_ends_when_nobody_uses_it() {
        let sessions: Arc<OpenSessions> = Arc::default();
        let of = |person: &str, token: &str| RequestOwner { person: person.to_owned(), token: token.to_owned() };
        let ann = of("ann", "1");
        let all = WantedOffer::default;
        sessions.begin("one", ann.clone(), (all(), BegunClient::default()));
        assert_eq!((sessions.count_of("ann"), sessions.count_of("bob")), (1, 0));
        assert!(
            sessions.enter("one", &of("bob", "2"), &all()).is_none() && sessions.enter("two", &ann, &all()).is_none()
        );
        assert!(sessions.enter("one", &of("ann", "3"), &all()).is_none(), "another token of the same person");
        let one = WantedOffer { server: Some("db".to_owned()), has_search: false };
        assert!(sessions.enter("one", &ann, &one).is_none(), "another address");
        assert!(sessions.end_of("3").is_empty());
        let listens = sessions.enter("one", &ann, &all()).unwrap();
        tokio::time::advance(2 * IDLE).await;
        assert!(sessions.end_idle().is_empty(), "someone listens");
        drop(listens);
        tokio::time::advance(IDLE / 2).await;
        drop(sessions.enter("one", &ann, &all()).unwrap());
        tokio::time::advance(IDLE / 2).await;
        assert!(sessions.end_idle().is_empty(), "it was used meanwhile");
        tokio::time::advance(IDLE / 2).await;
        assert_eq!(sessions.end_idle(), ["one"]);
        assert!(sessions.enter("one", &ann, &all()).is_none());
        sessions.begin("two", ann, (all(), BegunClient::default()));
        assert_eq!(sessions.end_of("1"), ["two"]);
    }
}
