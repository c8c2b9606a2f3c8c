//! Where the gate listens: its TCP port, its Unix socket, and the number of open files that takes.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use tokio::net::{TcpListener, TcpSocket, UnixListener};

use super::Started;
use crate::config::Listen;
use crate::doors::http::ConnectionLimits;
use crate::failure::Failure;
use crate::processes;

/// The listener, or why there is none.
pub(super) fn bind(listen: Listen, started: Started) -> anyhow::Result<(Option<TcpListener>, Option<String>)> {
    let Listen::Addr(address) = listen else { return Ok((None, None)) };
    match listen_on(address) {
        Ok(listener) => Ok((Some(listener), None)),
        Err(error) => {
            let problem = port_problem(address, &error);
            // A person is told at once; a session can do without the port, and `status` tells.
            if started == Started::ForSession {
                return Ok((None, Some(problem)));
            }
            let hint = "stop what holds the port, or choose another with PORTCULLIS_LISTEN=127.0.0.1:PORT; \
                        PORTCULLIS_LISTEN=off serves the Unix socket alone";
            Err(Failure::new(problem, hint).into())
        }
    }
}

/// A crowd that comes all at once waits at the port: whom the system turned away would try again only after a second.
fn listen_on(address: SocketAddr) -> std::io::Result<TcpListener> {
    const CROWD: u32 = 4096;
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(CROWD)
}

fn port_problem(address: SocketAddr, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => match processes::holder_of_port(address) {
            Some(holder) => format!("{address} is taken by {holder}"),
            None => format!("{address} is taken by another program"),
        },
        _ => format!("{address} cannot be listened on: {error}"),
    }
}

/// We hold the lock, so a socket that lies here belongs to a gate that is dead.
pub(crate) fn bind_socket(path: &Path) -> anyhow::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("removing the old socket {}", path.display()));
        }
        _ => {}
    }
    let listener = UnixListener::bind(path).with_context(|| format!("listening on {}", path.display()))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Files that are no connections: the journal, what the gate starts, and what it reads.
const OTHER_FILES: usize = 128;

/// How many connections each listener takes: as many as are configured, and no more than the system lets us open. Where
/// that is less, the public listener and the socket have a quarter each, and the port of this machine has the rest.
pub(super) fn connection_limits(wanted: usize, files: Option<usize>, is_public: bool) -> ConnectionLimits {
    let room = files.map_or(usize::MAX, |files| files.saturating_sub(OTHER_FILES));
    let quarter = wanted.min(room / 4);
    let public = if is_public { quarter } else { 0 };
    ConnectionLimits { port: wanted.min(room - quarter - public), public, socket: quarter }
}

/// Thousands of listeners need as many open files; the usual limit is 1024. As many as may be open; none where there is no
/// limit.
pub(super) fn raise_file_limit() -> Option<usize> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
    getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_the_other_listeners_and_for_files() {
        for (files, is_public) in [(1024, true), (1024, false), (4096, true), (20_000, true), (1_048_576, true)] {
            let limits = connection_limits(12_000, Some(files), is_public);
            let ConnectionLimits { port, public, socket } = limits;
            assert!(port + public + socket + OTHER_FILES <= files, "{files}: {limits:?}");
            assert!(port >= 100 && socket >= 100 && (public >= 100) == is_public, "{files}: {limits:?}");
        }
        let unlimited = ConnectionLimits { port: 12_000, public: 12_000, socket: 12_000 };
        assert_eq!(connection_limits(12_000, None, true), unlimited);
        assert_eq!(connection_limits(16, Some(4096), true), ConnectionLimits { port: 16, public: 16, socket: 16 });
    }
}
