//! `GET /api/v1/sessions/{id}/stream`: what the agent of a session says and does, as it comes, for those who may see its
//! prompts. It is fetched from the session's process, and only as fast as the client reads.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use portcullis_core::{Session, SessionId};
use portcullis_wire::stream::{StreamBatch, StreamMessage};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::Instant;

use super::access::Permitted;
use super::body::Params;
use super::response::{ErrorResponse, event_stream};
use super::seats::Seat;
use super::{Door, sse};
use crate::hub::{StreamLook, find_session};

/// How often a session that is away is looked for among those that have ended.
const AWAY_PAUSE: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
pub(super) struct StreamFrom {
    #[serde(default)]
    after: u64,
}

pub(super) async fn follow(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    Path(id): Path<String>,
    Params(from): Params<StreamFrom>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    let place = sse::take_place(&door, &permitted)?;
    let pass = Box::pin(sse::Pass::of(&door, &permitted).ended());
    let scope = permitted.actor.scope;
    let session = door.hub.look(move |state| find_session(state, &id, &scope)).await??;
    let last_id = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let streams = &door.link.streams;
    let following = Following {
        session,
        after: last_id.unwrap_or(from.after),
        look: streams.begin(session),
        links: streams.changes(),
        ready: VecDeque::new(),
        presence: ProcessPresence::Unknown,
        heartbeat: Instant::now() + sse::heartbeat_time(),
        pass,
        _place: place,
        door,
    };
    Ok(event_stream(Body::from_stream(stream::unfold(following, Following::next))))
}

/// One client that reads a stream. It asks for more when it has taken what there was.
struct Following {
    door: Arc<Door>,
    session: SessionId,
    /// The last number that the client has.
    after: u64,
    look: StreamLook,
    /// Rings when a process has come or gone.
    links: watch::Receiver<()>,
    /// To be written.
    ready: VecDeque<Bytes>,
    presence: ProcessPresence,
    /// When something is written again at the latest.
    heartbeat: Instant,
    /// Is ready when the token no longer counts by which the stream was opened.
    pass: BoxFuture<'static, ()>,
    /// Given back when the connection closes.
    _place: Seat,
}

/// What the client was told of the session's process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProcessPresence {
    Unknown,
    Here,
    Away,
    /// Nothing more is to come.
    Over,
}

impl Following {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                self.heartbeat = Instant::now() + sse::heartbeat_time();
                return Some((Ok(bytes), self));
            }
            if self.presence == ProcessPresence::Over {
                return None;
            }
            // A process that is new to us says first what it has.
            let at_once = self.presence != ProcessPresence::Here;
            tokio::select! {
                biased;
                () = &mut self.pass => return None,
                () = self.door.stop.cancelled() => self.end(&StreamMessage::Resync { why: sse::ending(&self.door).to_owned() }),
                () = tokio::time::sleep_until(self.heartbeat) => self.ready.push_back(sse::heartbeat()),
                looked = self.look.after(self.after, at_once) => match looked {
                    Ok(batch) => self.take(&batch),
                    Err(_) => self.wait_for_process().await,
                },
            }
        }
    }

    fn tell(&mut self, message: &StreamMessage) {
        self.ready.push_back(sse::data(serde_json::to_string(message).unwrap_or_default().as_bytes()));
    }

    fn end(&mut self, last: &StreamMessage) {
        self.tell(last);
        self.presence = ProcessPresence::Over;
    }

    fn take(&mut self, batch: &StreamBatch) {
        if self.presence != ProcessPresence::Here {
            self.presence = ProcessPresence::Here;
            let (oldest, newest) = (batch.oldest, batch.newest);
            self.tell(&StreamMessage::Opened { session: self.session.to_string(), oldest, newest });
            // A number that was never given: it is of another session.
            self.after = self.after.min(newest);
        }
        for entry in &batch.entries {
            if entry.n <= self.after {
                continue;
            }
            if entry.n > self.after + 1 {
                self.tell(&StreamMessage::Lost { after: self.after, next: entry.n });
            }
            self.after = entry.n;
            let json = entry.entry.json();
            self.ready.push_back(format!("id: {}\ndata: {{\"entry\":{json}}}\n\n", entry.n).into());
        }
    }

    /// The process is not linked: it comes back, or the session ends.
    async fn wait_for_process(&mut self) {
        let session = self.session;
        let has_ended = self.door.hub.look(move |state| state.session(session).is_none_or(Session::has_ended));
        if has_ended.await.unwrap_or(false) {
            return self.end(&StreamMessage::Ended {});
        }
        if self.presence != ProcessPresence::Away {
            self.presence = ProcessPresence::Away;
            return self.tell(&StreamMessage::Away {});
        }
        let until = self.heartbeat.min(Instant::now() + AWAY_PAUSE);
        drop(tokio::time::timeout_at(until, self.links.changed()).await);
    }
}
