//! Which processes hold a TCP socket of this machine. Only Linux tells; elsewhere nobody is found.

use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{PeerProcess, name_of};

/// A connection that somebody made to a TCP port of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpConnection {
    /// No other connection of this process has it. Ports are used again.
    number: u64,
    ours: SocketAddr,
    theirs: SocketAddr,
}

impl TcpConnection {
    pub(crate) fn new(ours: SocketAddr, theirs: SocketAddr) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), ours, theirs }
    }

    pub(crate) fn number(self) -> u64 {
        self.number
    }

    /// The processes that hold the other end, as far as they belong to this user. None for one on another machine. Looks
    /// at every open file of every process, which takes milliseconds.
    pub(crate) fn clients(self) -> Vec<PeerProcess> {
        let is_theirs = |socket: &Socket| {
            let ports = (socket.local_port, socket.remote_port);
            socket.state == SocketState::Established && ports == (self.theirs.port(), self.ours.port())
        };
        let inodes = sockets().filter(is_theirs).map(|socket| socket.inode).collect::<Vec<_>>();
        inodes.into_iter().flat_map(holders).map(PeerProcess::now).collect()
    }
}

/// `portcullis (pid 123)`, as far as this user may see it.
pub(crate) fn holder_of_port(address: SocketAddr) -> Option<String> {
    let listens = |socket: &Socket| socket.state == SocketState::Listening && socket.local_port == address.port();
    let inode = sockets().find(listens)?.inode;
    let named = |pid| format!("{} (pid {pid})", name_of(pid));
    Some(holders(inode).next().map_or_else(|| "a process of another user".to_owned(), named))
}

/// A line of the system's table of TCP sockets.
struct Socket {
    local_port: u16,
    remote_port: u16,
    state: SocketState,
    inode: u64,
}

#[derive(PartialEq, Eq)]
enum SocketState {
    Established,
    Listening,
    Other,
}

impl Socket {
    fn read(row: &str) -> Option<Self> {
        let columns: Vec<&str> = row.split_whitespace().collect();
        let port = |column: usize| {
            let (_, hex) = columns.get(column)?.rsplit_once(':')?;
            u16::from_str_radix(hex, 16).ok()
        };
        let state = match *columns.get(3)? {
            "01" => SocketState::Established,
            "0A" => SocketState::Listening,
            _ => SocketState::Other,
        };
        Some(Self { local_port: port(1)?, remote_port: port(2)?, state, inode: columns.get(9)?.parse().ok()? })
    }
}

fn sockets() -> impl Iterator<Item = Socket> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let read = |table: String| table.lines().skip(1).filter_map(Socket::read).collect::<Vec<_>>();
    tables.into_iter().flat_map(read)
}

/// The processes with this socket among their open files, but for those of other users.
fn holders(inode: u64) -> impl Iterator<Item = u32> {
    let wanted = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(move |process| {
        let pid = process.file_name().to_str()?.parse().ok()?;
        let mut descriptors = fs::read_dir(process.path().join("fd")).ok()?.flatten();
        let is_it = |to: std::path::PathBuf| to.as_os_str() == wanted.as_str();
        descriptors.any(|descriptor| fs::read_link(descriptor.path()).is_ok_and(is_it)).then_some(pid)
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_holder_of_a_port_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let holder = holder_of_port(listener.local_addr().unwrap()).unwrap();
        assert!(holder.contains(&format!("(pid {})", std::process::id())), "{holder}");
    }

    #[test]
    fn whoever_made_a_connection_is_found_while_it_is_open() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, theirs) = listener.accept().unwrap();
            let connection = TcpConnection::new(server.local_addr().unwrap(), theirs);
            let pids = |connection: TcpConnection| connection.clients().into_iter().map(PeerProcess::pid);
            assert_eq!(pids(connection).collect::<Vec<_>>(), [std::process::id()], "{address}");
            drop(client);
            assert_eq!(connection.clients(), [], "{address}");
        }
    }
}
