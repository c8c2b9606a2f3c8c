//! Hooks that are posted to the gate instead of called: one session of the gate's own for each of the agent's.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portcullis_core::{Actor, Goodbye, Label, SessionAbout, SessionId};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::hooks::{HookCall, HookEvent};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{CalledBy, HookAnswer, HookSession, HookSettings};
use crate::fixed;
use crate::locks::locked;
use crate::mint::mint;
use crate::session::gatekeeper::Judge;
use crate::session::link::{self, Connect, Deliveries, SessionHandle};

/// A session that posts nothing for so long, and has nothing open, is taken for ended: nobody tells us otherwise.
const SILENCE: Duration = Duration::from_secs(3600);
/// Of one person a quarter: no agent keeps those of others out.
const MAX_SESSIONS: usize = 256;

/// What the gate needs for them.
pub(crate) struct PostedHooks {
    connect: Connect,
    settings: HookSettings,
    judge: fn(&SessionAbout) -> Option<Judge>,
    /// By the agent's own name for its session.
    sessions: Mutex<HashMap<String, Arc<PostedSession>>>,
}

struct PostedSession {
    hooks: Arc<HookSession>,
    label: Label,
    /// Whose token opened it: nobody else speaks for it, is told what waits for it, or ends it.
    person: String,
    called: Notify,
    /// It has said that it ends.
    ended: CancellationToken,
}

/// An answer, and whom to tell when it is with the client.
pub(crate) struct PostedAnswer {
    pub(crate) answer: HookAnswer,
    session: Arc<PostedSession>,
}

impl PostedAnswer {
    pub(crate) async fn settle(self, written: bool) {
        self.session.hooks.settle(self.answer.handed_out, written).await;
    }
}

impl PostedHooks {
    /// `connect` leads to the gate of this very process.
    pub(crate) fn new(
        connect: Connect,
        settings: HookSettings,
        judge: fn(&SessionAbout) -> Option<Judge>,
    ) -> Arc<Self> {
        Arc::new(Self { connect, settings, judge, sessions: Mutex::default() })
    }

    /// Answers one hook of a session that the actor opened.
    pub(crate) async fn call(
        self: Arc<Self>,
        call: HookCall,
        actor: &Actor,
        cancelled: &CancellationToken,
    ) -> Result<PostedAnswer, Fault> {
        let Some(name) = call.session_id.clone().filter(|name| name.len() <= 128) else {
            return Err(Fault::new(Kind::BadRequest, "session_id is missing"));
        };
        let session = self.session(&name, &call, actor)?;
        session.called.notify_one();
        let ends = call.event == HookEvent::SessionEnd;
        // Only a command can wake a session.
        let answer = match call.event {
            HookEvent::FileChanged => HookAnswer::default(),
            // What the agent runs may have the token that its client has.
            _ => session.hooks.call(call, CalledBy::AnyProcess, cancelled).await,
        };
        if ends {
            session.ended.cancel();
        }
        Ok(PostedAnswer { answer, session })
    }

    fn session(self: &Arc<Self>, name: &str, call: &HookCall, actor: &Actor) -> Result<Arc<PostedSession>, Fault> {
        let known = locked(&self.sessions).get(name).cloned();
        let session = match known {
            Some(session) => session,
            None => self.attach(name, call, actor)?,
        };
        if session.person != actor.name {
            return Err(Fault::new(Kind::Forbidden, "this session posts its hooks with the token of another person"));
        }
        if !actor.scope.covers(&session.label) {
            return Err(Fault::new(Kind::Forbidden, "this token is not for sessions of this label"));
        }
        Ok(session)
    }

    fn attach(self: &Arc<Self>, name: &str, call: &HookCall, actor: &Actor) -> Result<Arc<PostedSession>, Fault> {
        let about = SessionAbout { person: Some(actor.name.clone()), ..about(name, call) };
        if !actor.scope.covers(&about.label) {
            return Err(Fault::new(Kind::Forbidden, "this token is not for sessions of this label"));
        }
        let judge = (self.judge)(&about).ok_or_else(|| Fault::new(Kind::Internal, "the rules cannot be found"))?;
        let mut sessions = locked(&self.sessions);
        // Two hooks of one session may come at once, and both find it missing.
        if let Some(first) = sessions.get(name) {
            return Ok(Arc::clone(first));
        }
        let most = fixed::limit("POSTED_SESSIONS", MAX_SESSIONS);
        if sessions.len() >= most {
            return Err(Fault::new(Kind::Busy, format!("{most} sessions post hooks already")));
        }
        let most = most / 4;
        if sessions.values().filter(|session| session.person == actor.name).count() >= most {
            let what = format!("{most} sessions post hooks with tokens of {} already, and no more may", actor.name);
            return Err(Fault::new(Kind::Busy, what));
        }
        let label = about.label.clone();
        let (handle, deliveries) =
            link::connect(mint(SessionId::new), about, env!("CARGO_PKG_VERSION"), Arc::clone(&self.connect));
        let hooks = HookSession::new(handle.clone(), self.settings.clone(), judge);
        hooks.note_installed(false);
        hooks.mark_attended();
        let (person, ended) = (actor.name.clone(), CancellationToken::new());
        let session = Arc::new(PostedSession { hooks, label, person, called: Notify::new(), ended });
        sessions.insert(name.to_owned(), Arc::clone(&session));
        tokio::spawn(Arc::clone(self).hold(name.to_owned(), Arc::clone(&session), handle, deliveries));
        Ok(session)
    }

    /// Takes what comes for the session until it ends, or is not heard of any more.
    async fn hold(
        self: Arc<Self>,
        name: String,
        session: Arc<PostedSession>,
        handle: SessionHandle,
        mut deliveries: Deliveries,
    ) {
        let silence = fixed::wait("SILENCE", SILENCE);
        // What comes for the session says nothing about the session.
        let mut until = Instant::now() + silence;
        let why = loop {
            tokio::select! {
                delivery = deliveries.next() => match delivery {
                    Some(delivery) => drop(session.hooks.take(delivery)),
                    None => break "the gate let go of it",
                },
                () = session.called.notified() => until = Instant::now() + silence,
                () = session.ended.cancelled() => break "it said so",
                () = tokio::time::sleep_until(until) => match session.hooks.has_open_asks() {
                    true => until = Instant::now() + silence,
                    false => break "nothing was heard of it for an hour",
                },
            }
        };
        locked(&self.sessions).remove(&name);
        handle.bye(Goodbye::because(why)).await;
    }
}

fn about(name: &str, call: &HookCall) -> SessionAbout {
    let folder = call.cwd.clone();
    let label = Label::of_folder(Path::new(folder.as_deref().unwrap_or_default()));
    SessionAbout {
        runs_commands: true,
        folder,
        agent_session: Some(name.to_owned()),
        mode: call.permission_mode.clone(),
        // Only a command can wake a session.
        wakes: Some(false),
        ..SessionAbout::new(label, "hooks")
    }
}
