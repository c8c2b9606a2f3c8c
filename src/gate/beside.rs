//! The hooks beside the channel: wires the room of a session's hooks to the process that serves its channel.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use portcullis_core::policy::Mode;
use portcullis_core::{ChatId, EventId, SessionAbout, TokenScope};
use portcullis_wire::hooks::HookCall;
use portcullis_wire::tools;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::agents::claude::{channel, hooks};
use crate::config::{Config, Paths, configuration, paths};
use crate::doors::http;
use crate::hub::link as gate_link;
use crate::processes;
use crate::rules::Rules;
use crate::session::link::{Connect, Delivery, SessionHandle};

/// What is known before the session is attached.
pub(crate) struct Wiring {
    paths: Paths,
    settings: hooks::Settings,
    judge: hooks::Judge,
    about: SessionAbout,
    /// Hooks were announced before we were there.
    announced: Option<hooks::Announced>,
}

impl Wiring {
    /// Says in `about` by what the session is connected.
    pub(crate) fn new(paths: &Paths, about: &mut SessionAbout) -> Self {
        // A configuration that does not load is the gate's to complain about.
        let config = configuration(paths, None).unwrap_or_default();
        let announced = announced(paths, about);
        if announced.is_some() {
            about.connected_by = "hooks".to_owned();
        }
        Self {
            paths: paths.clone(),
            settings: settings(&config),
            judge: judge(paths, about),
            about: about.clone(),
            announced,
        }
    }

    /// Listens for the session's hooks from now on.
    pub(crate) fn open(self, handle: SessionHandle) -> Arc<Hooks> {
        let (agent, about) = (self.about.pid.unwrap_or_default(), self.about.clone());
        let room = hooks::Room::new(handle, self.about, self.settings, self.judge);
        if let Some(announced) = self.announced {
            room.note_installed(announced == hooks::Announced::Watched);
        }
        let (socket, wake) = (self.paths.session_socket(agent), self.paths.wake_file(agent));
        let (stop, is_ours) = (CancellationToken::new(), Arc::new(AtomicBool::new(false)));
        let listening = Arc::clone(&room);
        let (paths, path) = (self.paths, socket.clone());
        let (ended, bound) = (stop.clone(), Arc::clone(&is_ours));
        tokio::spawn(async move {
            let waking = hooks::keep_awake(Arc::clone(&listening), wake);
            let serving = async {
                let served = match paths.prepare() {
                    Ok(()) => hooks::serve(Arc::clone(&listening), &path, async {
                        bound.store(true, Ordering::Relaxed);
                        forget_the_dead(&paths);
                        // The hook that announces a session makes the file first and calls then: one of the two is seen.
                        if let Some(announced) = announced(&paths, &about) {
                            listening.is_installed(announced == hooks::Announced::Watched).await;
                        }
                    })
                    .await
                    .map_err(anyhow::Error::from),
                    Err(error) => Err(error.into()),
                };
                if let Err(error) = served {
                    tracing::debug!("no hooks by the socket: {error:#}");
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = waking => {}
                () = serving => {}
                () = ended.cancelled() => {}
            }
        });
        Arc::new(Hooks { room, socket, is_ours, stop })
    }
}

pub(crate) fn settings(config: &Config) -> hooks::Settings {
    hooks::Settings { wakes_per_hour: config.hooks.wakes, must_reply: config.hooks.must_reply.clone() }
}

/// Whether Claude Code has called a hook for this session already.
fn announced(paths: &Paths, about: &SessionAbout) -> Option<hooks::Announced> {
    hooks::announcement_of(&paths.wake_file(about.pid?), about.agent_session.as_deref()?)
}

/// Removes what sessions left behind whose agents were killed.
fn forget_the_dead(paths: &Paths) {
    for (file, agent) in paths.of_sessions() {
        if !processes::is_alive(agent) {
            hooks::forget(&file);
        }
    }
}

/// What the rules of the user and of the session's project say, as their files are at each call.
pub(crate) fn judge(paths: &Paths, about: &SessionAbout) -> hooks::Judge {
    let folder = PathBuf::from(about.folder.clone().unwrap_or_else(|| "/".to_owned()));
    let rules = Rules::open(paths, &folder);
    let label = about.label.to_string();
    Box::new(move |call: &HookCall| {
        let mode = call.permission_mode.as_deref().and_then(Mode::named).unwrap_or_default();
        let mut around = rules.around(&folder, &[], Some(&label));
        // Where the agent has gone meanwhile is where its relative paths lead, but no folder it may work in.
        if let Some(cwd) = call.cwd.as_ref().filter(|cwd| Path::new(cwd).is_absolute()) {
            around.cwd.clone_from(cwd);
        }
        rules.decide(mode, &around, tools::call(&call.tool_name, &call.tool_input))
    })
}

/// The hooks of one session, for its channel.
pub(crate) struct Hooks {
    room: Arc<hooks::Room>,
    socket: PathBuf,
    /// It is we who listen there, and not another process of the same session.
    is_ours: Arc<AtomicBool>,
    stop: CancellationToken,
}

impl Hooks {
    /// The session's process ends. The wake file stays: another process may take its place, and the client watches on.
    pub(crate) fn close(&self) {
        self.stop.cancel();
        if self.is_ours.load(Ordering::Relaxed) {
            hooks::forget(&self.socket);
        }
    }
}

impl channel::Beside for Hooks {
    fn take(&self, delivery: Delivery) -> Option<Delivery> {
        self.room.take(delivery)
    }

    fn replied(&self, chat: &ChatId) {
        self.room.replied(chat);
    }

    fn opened(&self, event: EventId) {
        self.room.opened(event);
    }

    fn hook(&self, arguments: Value, taken_back: CancellationToken) -> BoxFuture<'_, channel::HookAnswer> {
        Box::pin(async move {
            let answer = match HookCall::read(&arguments) {
                Ok(call) => self.room.call(call, &taken_back).await,
                Err(error) => {
                    tracing::debug!(%error, "a hook that nobody knows");
                    hooks::HookAnswer::default()
                }
            };
            channel::HookAnswer { output: answer.output, receipt: answer.receipt }
        })
    }

    fn settle(&self, receipt: u64, written: bool) -> BoxFuture<'_, ()> {
        Box::pin(self.room.settle(receipt, written))
    }

    fn forged(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.room.forged())
    }
}

/// How a session of the gate's own process comes to its link.
fn connect_here(gate: gate_link::Gate) -> Connect {
    Arc::new(move || {
        let gate = gate.clone();
        Box::pin(async move {
            if gate.stop.is_cancelled() {
                // There will be no other gate in this process.
                std::future::pending::<()>().await;
            }
            Ok(gate_link::serve_here(gate)?)
        })
    })
}

/// Answers hooks that are posted to the gate, for its HTTP door.
pub(crate) fn posted(gate: gate_link::Gate, config: &Config) -> http::HookHandler {
    let judge_of = |about: &SessionAbout| Some(judge(&paths().ok()?, about));
    let posted = hooks::Posted::new(connect_here(gate), settings(config), judge_of);
    Box::new(move |body: Value, scope: TokenScope, cancel: CancellationToken| {
        let posted = Arc::clone(&posted);
        Box::pin(async move {
            let answered = posted.call(&body, &scope, &cancel).await?;
            let output = answered.answer.output.clone();
            let (written, is_written) = oneshot::channel();
            tokio::spawn(async move { answered.settle(is_written.await.is_ok()).await });
            Ok(http::HookResponse { output, written })
        })
    })
}
