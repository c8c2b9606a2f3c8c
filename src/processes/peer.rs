//! The process at the other end of a connection.

use super::ancestry::{Ancestry, AncestryGap};

/// A process as it was when it connected. Its number may be another one's by the time anybody asks: whoever holds its
/// connection then is not the process that has the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerProcess {
    pid: u32,
    /// When it began, in the system's own count. None where it was gone already, and where the system does not tell.
    began: Option<u64>,
}

impl PeerProcess {
    /// The process that has this number now.
    pub(crate) fn now(pid: u32) -> Self {
        Self { pid, began: began(pid) }
    }

    /// The one that made a connection, as the system has just named it.
    pub(crate) fn connected(pid: Option<i32>) -> Option<Self> {
        u32::try_from(pid?).ok().map(Self::now)
    }

    /// This process itself.
    pub(crate) fn ours() -> Self {
        Self::now(std::process::id())
    }

    pub(crate) fn pid(self) -> u32 {
        self.pid
    }

    /// Those it descends from. They are those of whoever has its number, which is looked at when they are known.
    pub(crate) fn ancestry(self) -> Ancestry {
        let ancestry = Ancestry::of(self.pid);
        if self.is_there() { ancestry } else { ancestry.cut_off(AncestryGap::Gone) }
    }

    /// Which process this is: no other one is ever named so, also when its number is used again. None where it was gone
    /// already, and where the system does not tell.
    #[cfg(target_os = "linux")]
    pub(crate) fn identity(self) -> Option<String> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(format!("{}:{}:{}", self.pid, boot.trim(), self.began?))
    }

    /// Of whoever has its number now: when it began is not told when it connects.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn identity(self) -> Option<String> {
        let pid = self.pid;
        // In every language it would name the day differently, and the gate may have been started in another.
        let mut ps = std::process::Command::new("ps");
        let output = ps.args(["-o", "lstart=", "-p", &pid.to_string()]).env("LC_ALL", "C").output().ok()?;
        let start = String::from_utf8(output.stdout).ok()?;
        let start = start.split_whitespace().collect::<Vec<_>>().join("-");
        (!start.is_empty()).then(|| format!("{pid}:{start}"))
    }

    #[cfg(target_os = "linux")]
    fn is_there(self) -> bool {
        // We certainly are: in a namespace of our own we have another number than the system tells of.
        self.pid == std::process::id() || self.began.is_some() && began(self.pid) == self.began
    }

    /// Told only at the price of another process for each connection.
    #[cfg(not(target_os = "linux"))]
    fn is_there(self) -> bool {
        true
    }
}

#[cfg(target_os = "linux")]
fn began(pid: u32) -> Option<u64> {
    super::stat::StatLine::of(pid).map(|line| line.start)
}

#[cfg(not(target_os = "linux"))]
fn began(_: u32) -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_the_number_of_a_process_that_is_gone_is_not_that_process() {
        let parent = PeerProcess::now(std::os::unix::process::parent_id());
        assert_ne!(parent.ancestry().gap(), Some(AncestryGap::Gone));
        let earlier = PeerProcess { began: parent.began.map(|began| began - 1), ..parent };
        assert_eq!(earlier.ancestry().gap(), Some(AncestryGap::Gone));
        assert_eq!(earlier.ancestry().line(), [earlier.pid()], "those of another are not its own");
        assert!(earlier.identity().is_some() && earlier.identity() != parent.identity());
        let gone = PeerProcess { began: None, ..parent };
        assert_eq!((gone.ancestry().gap(), gone.identity()), (Some(AncestryGap::Gone), None));
        let ours = PeerProcess { began: None, ..PeerProcess::ours() };
        assert_ne!(ours.ancestry().gap(), Some(AncestryGap::Gone), "whatever number we have elsewhere");
    }
}
