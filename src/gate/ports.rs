//! Where the gate listens: its TCP port, its Unix socket, and the number of open files that takes.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use tokio::net::{TcpListener, TcpSocket, UnixListener};

use super::Started;
use crate::config::Listen;
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
            if started != Started::ByPerson {
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

/// Thousands of listeners need as many open files; the usual limit is 1024.
pub(super) fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}
