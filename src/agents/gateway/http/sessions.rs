//! The sessions of clients over HTTP: whose each is, and whether anyone still uses it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::owners::RequestOwner;
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
    /// Requests that are being answered, the stream of a client that listens among them.
    requests: usize,
    last: Instant,
}

/// One request of a session, until it is dropped.
pub(super) struct InUse {
    id: String,
    sessions: Arc<OpenSessions>,
}

impl OpenSessions {
    pub(super) fn begin(&self, id: &str, owner: RequestOwner) {
        let session = OpenSession { owner, requests: 0, last: Instant::now() };
        locked(&self.0).entry(id.to_owned()).or_insert(session);
    }

    /// How many sessions were begun with the tokens of one person, and are open.
    pub(super) fn count_of(&self, person: &str) -> usize {
        locked(&self.0).values().filter(|session| session.owner.person == person).count()
    }

    /// None where no such session was begun with this token.
    pub(super) fn enter(self: &Arc<Self>, id: &str, owner: &RequestOwner) -> Option<InUse> {
        let mut sessions = locked(&self.0);
        let session = sessions.get_mut(id).filter(|session| session.owner == *owner)?;
        session.requests += 1;
        Some(InUse { id: id.to_owned(), sessions: Arc::clone(self) })
    }

    pub(super) fn end(&self, id: &str) {
        locked(&self.0).remove(id);
    }

    /// Those that were begun with this token. They are forgotten here.
    pub(super) fn take_of(&self, token: &str) -> Vec<String> {
        locked(&self.0).extract_if(|_, session| session.owner.token == token).map(|(id, _)| id).collect()
    }

    /// Those that nobody used for a while. They are forgotten here.
    pub(super) fn take_idle(&self) -> Vec<String> {
        let (now, idle) = (Instant::now(), fixed::wait("MCP_IDLE", IDLE));
        let is_idle =
            |_: &String, session: &mut OpenSession| session.requests == 0 && now.duration_since(session.last) >= idle;
        locked(&self.0).extract_if(is_idle).map(|(id, _)| id).collect()
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
        sessions.begin("one", ann.clone());
        assert_eq!((sessions.count_of("ann"), sessions.count_of("bob")), (1, 0));
        assert!(sessions.enter("one", &of("bob", "2")).is_none() && sessions.enter("two", &ann).is_none());
        assert!(sessions.enter("one", &of("ann", "3")).is_none(), "another token of the same person");
        assert!(sessions.take_of("3").is_empty());
        let listens = sessions.enter("one", &ann).unwrap();
        tokio::time::advance(2 * IDLE).await;
        assert!(sessions.take_idle().is_empty(), "someone listens");
        drop(listens);
        tokio::time::advance(IDLE / 2).await;
        drop(sessions.enter("one", &ann).unwrap());
        tokio::time::advance(IDLE / 2).await;
        assert!(sessions.take_idle().is_empty(), "it was used meanwhile");
        tokio::time::advance(IDLE / 2).await;
        assert_eq!(sessions.take_idle(), ["one"]);
        assert!(sessions.enter("one", &ann).is_none());
        sessions.begin("two", ann);
        assert_eq!(sessions.take_of("1"), ["two"]);
    }
}
