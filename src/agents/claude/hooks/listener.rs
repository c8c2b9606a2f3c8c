//! Who listens at a socket of hooks. Anything that the agent runs can put another socket in its place; only the system's own
//! word about the process at the other end tells one from the other.

use tokio::net::UnixStream;

use crate::processes;

/// The process that listens where somebody has connected to, if it is of this user.
pub(super) fn listener(stream: &UnixStream) -> Option<u32> {
    let peer = stream.peer_cred().ok()?;
    let is_of_user = peer.uid() == rustix::process::geteuid().as_raw();
    u32::try_from(peer.pid()?).ok().filter(|_| is_of_user)
}

/// Whether the session's own process listens there: the server of ours that this agent has started.
pub(super) fn is_of_session(listener: Option<u32>, agent: u32) -> bool {
    listener.is_some_and(|pid| processes::is_server_of_agent(pid, agent))
}
