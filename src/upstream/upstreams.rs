//! All connections of one process: made when needed, shared by all who need them, ended together.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};

use super::auth::AuthFolder;
use super::channel::FromChannel;
use super::client::{ClientBehind, PassedRequest};
use super::config::{Revision, Upstream};
use super::failure::{CallFailure, ConnectFailure};
use super::lists::{KeptLists, ListKind};
use super::making::Connecting;
use super::opening::Means;
use super::silence::SilentServers;
use super::slot::{Slot, UpstreamState, retired};
use super::timeouts::Timeouts;
use crate::locks::locked;

/// As JSON-RPC has it.
const METHOD_NOT_FOUND: i32 = -32601;

pub(crate) struct Upstreams {
    folder: PathBuf,
    pub(super) timeouts: Timeouts,
    tries: u32,
    /// Starting programs is heavy; reaching others is not.
    local_turns: Semaphore,
    remote_turns: Semaphore,
    /// By name. Changed by `reconcile` alone; locked for a moment.
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
    pub(super) lists: KeptLists,
    /// Where the tokens of those are who signed in; without it nobody can.
    auth: Option<AuthFolder>,
    heeds_refusals: bool,
    silent: Option<SilentServers>,
    /// The client that all connections are made for, if there is one.
    behind: OnceLock<Arc<ClientBehind>>,
    guard: Option<PathBuf>,
    /// Who hears what channel servers say.
    hears: Option<mpsc::Sender<FromChannel>>,
}

impl Upstreams {
    /// `tries` says how often a remote server is tried before it counts as failed.
    pub(crate) fn new(folder: PathBuf, timeouts: Timeouts, tries: u32) -> Self {
        let (local, remote) = (timeouts.local_connects, timeouts.remote_connects);
        Self {
            folder,
            timeouts,
            tries,
            local_turns: Semaphore::new(local),
            remote_turns: Semaphore::new(remote),
            slots: Mutex::default(),
            lists: KeptLists::default(),
            auth: None,
            heeds_refusals: false,
            silent: None,
            behind: OnceLock::new(),
            guard: None,
            hears: None,
        }
    }

    /// Sends the tokens in this folder to the servers that they are for.
    pub(crate) fn with_tokens(self, auth: AuthFolder) -> Self {
        Self { auth: Some(auth), ..self }
    }

    /// Remembers servers that leave the first question unanswered, for other processes as well.
    pub(crate) fn remembering(self, silent: SilentServers) -> Self {
        Self { silent: Some(silent), ..self }
    }

    /// Does not ask a server that wanted someone to sign in less than a quarter of an hour ago. For whoever was not told
    /// to connect to just that server.
    pub(crate) fn heeding_refusals(self) -> Self {
        Self { heeds_refusals: true, ..self }
    }

    /// From now on connections are made for this client. The first counts.
    pub(crate) fn serve(&self, client: ClientBehind) {
        self.behind.get_or_init(|| Arc::new(client));
    }

    /// Starts servers under `program __guard`, which ends them when this process is gone, however it went.
    pub(crate) fn guarded_by(self, program: PathBuf) -> Self {
        Self { guard: Some(program), ..self }
    }

    /// Takes over the first configuration.
    pub(crate) fn begin(&self, upstreams: &[Upstream]) {
        let slot = |upstream: &Upstream| {
            let bearer = self.auth.as_ref().and_then(|auth| auth.bearer(upstream));
            (upstream.name.clone(), Arc::new(Slot::new(upstream.clone(), bearer)))
        };
        *locked(&self.slots) = upstreams.iter().map(slot).collect();
    }

    /// Hands on what channel servers say by themselves, in its order. One whose words are not taken is not read.
    pub(crate) fn heard_by(self, hears: mpsc::Sender<FromChannel>) -> Self {
        Self { hears: Some(hears), ..self }
    }

    /// Takes over a configuration. A server that is the same as before is not disturbed; one that changed or is gone is
    /// closed, and nothing of it is left behind.
    pub(crate) async fn reconcile(&self, upstreams: impl Iterator<Item = &Upstream>) {
        let mut gone = vec![];
        {
            let mut slots = locked(&self.slots);
            let mut before = std::mem::take(&mut *slots);
            for upstream in upstreams {
                let same = before.remove(&upstream.name).filter(|slot| {
                    let is_same = slot.upstream == *upstream;
                    if !is_same {
                        gone.push(Arc::clone(slot));
                    }
                    is_same
                });
                let bearer = || self.auth.as_ref().and_then(|auth| auth.bearer(upstream));
                let slot = same.unwrap_or_else(|| Arc::new(Slot::new(upstream.clone(), bearer())));
                slots.insert(upstream.name.clone(), slot);
            }
            gone.extend(before.into_values());
        }
        for slot in gone {
            self.lists.forget(&slot.upstream.name);
            slot.retire().await;
        }
    }

    pub(crate) fn state(&self, name: &str) -> Option<UpstreamState> {
        self.slot(name).map(|slot| slot.state())
    }

    /// Why a server could not be connected to, the last time that this was tried.
    pub(crate) fn down(&self, name: &str) -> Option<ConnectFailure> {
        self.slot(name)?.down().map(|down| down.failure)
    }

    /// What a server offered when it could last be asked.
    pub(crate) fn last_list(&self, name: &str, kind: ListKind) -> Option<Arc<Vec<Value>>> {
        self.lists.last(name, kind)
    }

    /// Waits until a server that somebody needs has had its turn to be connected.
    pub(crate) async fn begun(&self, name: &str) {
        if let Some(slot) = self.slot(name) {
            slot.begun().await;
        }
    }

    /// Of a server's configuration.
    pub(crate) fn hash(&self, name: &str) -> Option<String> {
        self.slot(name).map(|slot| slot.upstream.hash.clone())
    }

    /// Connects, if that was not done before, and says how it went.
    pub(crate) async fn connect(&self, name: &str) -> Option<UpstreamState> {
        let slot = self.slot(name)?;
        drop(slot.connection(&self.connecting(&slot)).await);
        Some(slot.state())
    }

    /// Sends a request on to a server. What was sent is not sent again, whatever became of it; what the server surely did
    /// not take is, once.
    pub(crate) async fn request(&self, name: &str, passed: &PassedRequest<'_>) -> Result<Value, CallFailure> {
        let slot = self.slot(name).ok_or_else(unknown)?;
        if passed.configuration.is_some_and(|hash| hash != slot.upstream.hash) {
            return Err(CallFailure::NoConnection(retired()));
        }
        let tool = passed.params.get("name").and_then(Value::as_str).filter(|_| passed.method == "tools/call");
        if tool.is_some_and(|tool| !slot.is_for_us(tool)) {
            let message = "this tool of the editor is its own".to_owned();
            return Err(CallFailure::Refused { code: METHOD_NOT_FOUND, message, data: None });
        }
        let times = self.timeouts.of_call(&slot.upstream.entry);
        let mut is_second = false;
        loop {
            let connection = slot.connection(&self.connecting(&slot)).await.map_err(CallFailure::NoConnection)?;
            // Of this revision on, some arguments go into headers as well: which, the list of tools says.
            if tool.is_some() && connection.revision() == Revision::Discover && connection.about.tools {
                drop(self.list(name, ListKind::Tools).await);
            }
            let called = connection.request(passed, times).await;
            match &called {
                // A new session, one more try; the old session is ended on the way.
                Err(CallFailure::SessionExpired) if !is_second => slot.give_up(&connection).await,
                Err(CallFailure::NotSent(_)) if !is_second && connection.is_closed() => {}
                // What its helper prints may be newer now.
                Err(CallFailure::NeedsAuth) if !is_second && slot.has_helper() => slot.give_up(&connection).await,
                Err(CallFailure::NeedsAuth) => {
                    slot.needs_auth();
                    return called;
                }
                _ => {
                    slot.note(&connection, called.as_ref().err()).await;
                    return called;
                }
            }
            is_second = true;
        }
    }

    /// Tells a server something that has no answer. It is not started for this.
    pub(crate) async fn notify(&self, name: &str, method: &str, params: Value) -> Result<(), CallFailure> {
        let slot = self.slot(name).ok_or_else(unknown)?;
        let connection = slot.current().await;
        let gone = || CallFailure::NoConnection(ConnectFailure::new("the server is not there"));
        connection.ok_or_else(gone)?.notify(method, params).await
    }

    /// Makes no connection any more, and gives up those that are being made. What is connected stays until `close`.
    pub(crate) fn stop_connecting(&self) {
        locked(&self.slots).values().for_each(|slot| slot.retired.cancel());
    }

    /// Waits until the configuration of a server is another, or gone.
    pub(crate) async fn changed(&self, name: &str, hash: &str) {
        if let Some(slot) = self.slot(name).filter(|slot| slot.upstream.hash == hash) {
            slot.retired.cancelled().await;
        }
    }

    /// Ends all sessions, and the servers that are ours.
    pub(crate) async fn close(&self) {
        let slots = std::mem::take(&mut *locked(&self.slots));
        futures_util::future::join_all(slots.values().map(|slot| slot.retire())).await;
        if let Some(auth) = &self.auth {
            auth.settled().await;
        }
    }

    /// Whether this is what is configured under its name.
    pub(super) fn has(&self, slot: &Arc<Slot>) -> bool {
        self.slot(&slot.upstream.name).is_some_and(|current| Arc::ptr_eq(&current, slot))
    }

    pub(super) async fn try_once(&self, slot: &Slot) {
        drop(slot.connection(&self.connecting(slot)).await);
    }

    pub(super) fn slot(&self, name: &str) -> Option<Arc<Slot>> {
        locked(&self.slots).get(name).cloned()
    }

    pub(super) fn connecting(&self, slot: &Slot) -> Connecting<'_> {
        let is_local = slot.upstream.entry.endpoint.is_local();
        Connecting {
            means: Means {
                folder: &self.folder,
                timeouts: &self.timeouts,
                guard: self.guard.as_deref(),
                behind: self.behind.get(),
                hears: self.hears.as_ref(),
            },
            turns: if is_local { &self.local_turns } else { &self.remote_turns },
            tries: self.tries,
            heeds_refusals: self.heeds_refusals,
            silent: self.silent.as_ref(),
        }
    }
}

pub(super) fn unknown() -> CallFailure {
    CallFailure::NoConnection(ConnectFailure::new("no server of this name is configured and approved"))
}
