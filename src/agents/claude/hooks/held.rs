//! Hooks of an agent that its holder serves. The holder listens next to the gate's socket, so that hooks and the channel
//! server know it whichever file or version of this program they run.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use super::forget;
use super::listener::listener;

const PAUSE: Duration = Duration::from_millis(50);

/// The holder listens until this is dropped.
pub(crate) struct HeldHooks {
    socket: PathBuf,
    listening: JoinHandle<()>,
}

impl HeldHooks {
    /// Whoever connects learns who listens; nothing is said.
    pub(crate) fn listen(socket: PathBuf) -> io::Result<Self> {
        // The process that it was named after is gone: its number is that of our guard now.
        forget(&socket);
        let listener = UnixListener::bind(&socket)?;
        std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o600))?;
        let listening = tokio::spawn(async move {
            loop {
                // Too many open files, most likely; trying at once would burn the processor.
                if listener.accept().await.is_err() {
                    tokio::time::sleep(PAUSE).await;
                }
            }
        });
        Ok(Self { socket, listening })
    }
}

impl Drop for HeldHooks {
    fn drop(&mut self) {
        forget(&self.socket);
        self.listening.abort();
    }
}

/// Whether this process listens at the socket. No other counts: one that an agent has started would switch its hooks off.
pub(crate) async fn listens(holder: u32, socket: &Path) -> bool {
    let Ok(stream) = UnixStream::connect(socket).await else { return false };
    listener(&stream) == Some(holder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_listens_is_known_by_its_process_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("7.sock");
        let ours = std::process::id();
        assert!(!listens(ours, &socket).await);
        let held = HeldHooks::listen(socket.clone()).unwrap();
        assert!(listens(ours, &socket).await);
        assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!listens(std::os::unix::process::parent_id(), &socket).await, "another process");
        drop(held);
        assert!(!socket.exists());
    }
}
