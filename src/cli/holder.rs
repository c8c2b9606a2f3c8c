//! Who holds a port: so that an error can name it.

use std::fs;
use std::net::SocketAddr;

/// `portcullis (pid 123)`, as far as this user may see it.
pub(super) fn of_port(address: SocketAddr) -> Option<String> {
    let inode = listening_inode(address.port())?;
    let wanted = format!("socket:[{inode}]");
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(descriptors) = fs::read_dir(process.path().join("fd")) else { continue };
        let holds =
            descriptors.flatten().any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to.as_os_str() == wanted.as_str()));
        if holds {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Some(format!("{} (pid {pid})", name.trim()));
        }
    }
    Some("a process of another user".to_owned())
}

/// The inode of the socket that listens on the port. Only Linux tells; elsewhere there is no such file.
fn listening_inode(port: u16) -> Option<u64> {
    const LISTENING: &str = "0A";
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines().skip(1)).find_map(|row| {
        let columns: Vec<&str> = row.split_whitespace().collect();
        let (_, hex) = columns.get(1)?.rsplit_once(':')?;
        let here = u16::from_str_radix(hex, 16).ok()? == port && *columns.get(3)? == LISTENING;
        here.then(|| columns.get(9)?.parse().ok()).flatten()
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn the_holder_of_a_port_is_named() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let holder = super::of_port(listener.local_addr().unwrap()).unwrap();
        assert!(holder.contains(&format!("(pid {})", std::process::id())), "{holder}");
    }
}
