//! Listening for the hooks of one session, from its start to its end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use portcullis_core::SessionAbout;
use tokio_util::sync::CancellationToken;

use super::{Announced, HookSession, HookSettings, SessionSocket, announcement_of, forget, socket, wake};
use crate::session::gatekeeper::Judge;
use crate::session::link::SessionHandle;

/// How long a process waits before it tries again to listen for hooks.
const BIND_PAUSE: Duration = Duration::from_millis(500);

/// Where the hooks of a session find its process, and what the client watches. Their folder is there.
#[derive(Clone, Debug)]
pub(crate) struct HookFiles {
    pub(crate) socket: PathBuf,
    pub(crate) wake: PathBuf,
}

impl HookFiles {
    /// Whether Claude Code has called a hook for this session already.
    pub(crate) fn announced(&self, about: &SessionAbout) -> Option<Announced> {
        announcement_of(&self.wake, about.agent_session.as_deref()?)
    }
}

/// The hooks of one session while its process lives.
pub(crate) struct Listening {
    pub(crate) hooks: Arc<HookSession>,
    socket: PathBuf,
    /// We listen at the socket, and not another process of the same session.
    is_ours: Arc<AtomicBool>,
    stop: CancellationToken,
}

impl Listening {
    /// Listens for the session's hooks from now on.
    pub(crate) fn start(files: HookFiles, session: SessionHandle, settings: HookSettings, judge: Judge) -> Self {
        let about = session.about();
        let hooks = HookSession::new(session, settings, judge);
        // Since `about` was made: the hook and this process are started at the same time.
        if let Some(announced) = files.announced(&about) {
            hooks.is_announced(announced);
        }
        let (stop, is_ours) = (CancellationToken::new(), Arc::new(AtomicBool::new(false)));
        let socket = files.socket.clone();
        let (listening, ended, bound) = (Arc::clone(&hooks), stop.clone(), Arc::clone(&is_ours));
        tokio::spawn(async move {
            let ready = async || {
                bound.store(true, Ordering::Relaxed);
                // The hook that announces a session makes the file first and calls then: one of the two is seen.
                if let Some(announced) = files.announced(&about) {
                    listening.is_announced(announced);
                }
            };
            let there = SessionSocket { path: &files.socket, agent: about.pid.unwrap_or_default() };
            let serving = async {
                // After the client has started its server anew, the process before still has the socket for a moment.
                loop {
                    if let Err(error) = socket::serve(Arc::clone(&listening), there, ready()).await {
                        tracing::debug!("no hooks by the socket: {error:#}");
                    }
                    tokio::time::sleep(BIND_PAUSE).await;
                }
            };
            tokio::select! {
                () = wake::keep_awake(Arc::clone(&listening), files.wake.clone()) => {}
                () = serving => {}
                () = ended.cancelled() => {}
            }
        });
        Self { hooks, socket, is_ours, stop }
    }

    /// The session's process ends. The wake file stays: another process may take its place, and the client watches on.
    pub(crate) fn close(&self) {
        // The file first: while somebody listens there, no other process takes its place.
        if self.is_ours.load(Ordering::Relaxed) {
            forget(&self.socket);
        }
        self.stop.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use portcullis_core::{ConversationOrigin, Label, Moment, SessionId};

    use super::super::announce;
    use super::*;
    use crate::session::link::{Connect, connect};

    #[tokio::test]
    async fn hooks_that_are_announced_while_the_process_starts_are_told_to_the_gate() {
        let folder = tempfile::tempdir().unwrap();
        let files = HookFiles { socket: folder.path().join("7.sock"), wake: folder.path().join("7.wake") };
        let about = SessionAbout::new(Label::new("api").unwrap(), "channel");
        let about = SessionAbout { agent_session: Some("s-1".into()), ..about };
        assert_eq!(files.announced(&about), None);
        announce(&files.wake, "s-1", Announced { is_watched: true, is_forked: true }).unwrap();
        let away: Connect = Arc::new(|| Box::pin(std::future::pending()));
        let (session, _deliveries) = connect(SessionId::new(Moment(1), 1), about, "0.0.0", away);
        let judge = Judge::of_home(folder.path());
        let listening = Listening::start(files, session.clone(), HookSettings::of_tests(), judge);
        let about = session.about();
        assert_eq!((about.connected_by.as_str(), about.origin), ("hooks", Some(ConversationOrigin::Forked)));
        listening.close();
    }

    #[tokio::test]
    async fn the_socket_of_a_sessions_hooks_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let files = HookFiles { socket: folder.path().join("7.sock"), wake: folder.path().join("7.wake") };
        let socket = files.socket.clone();
        let about = SessionAbout::new(Label::new("api").unwrap(), "channel");
        let away: Connect = Arc::new(|| Box::pin(std::future::pending()));
        let (session, _deliveries) = connect(SessionId::new(Moment(1), 1), about, "0.0.0", away);
        let judge = Judge::of_home(folder.path());
        let listening = Listening::start(files, session, HookSettings::of_tests(), judge);
        let is_owners = || std::fs::metadata(&socket).is_ok_and(|file| file.permissions().mode() & 0o777 == 0o600);
        for _ in 0..200 {
            if is_owners() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(is_owners());
        listening.close();
    }
}
