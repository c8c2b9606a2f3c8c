//! The processes of `portcullis acp`, each started by an editor.

use std::path::PathBuf;
use std::time::Duration;

use super::{Ancestry, PeerProcess, arguments_of, everyone, folder_of, name_of};

/// A `portcullis acp` whose person may say that the editor above it is theirs.
#[derive(Debug)]
pub(crate) struct EditorProcess {
    pub(crate) process: String,
    /// What it is, for people: itself, and what has started it as far as the system tells.
    pub(crate) what: String,
    /// The file that runs, where the system tells.
    pub(crate) program: Option<PathBuf>,
    pub(crate) arguments: Vec<String>,
    /// Where it was started.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) age: Option<Duration>,
}

impl EditorProcess {
    /// Why it is none, where it is not. What runs inside an agent is nobody's, whatever anyone says.
    pub(crate) fn of(pid: u32) -> Result<Self, &'static str> {
        let process = PeerProcess::now(pid).identity().ok_or("is not there")?;
        if !serves_an_editor(pid) {
            return Err("is no `portcullis acp`");
        }
        let ancestry = Ancestry::of(pid);
        if ancestry.agent().is_some() {
            return Err("runs inside an agent");
        }
        let above = ancestry.above().iter().take(3).map(|pid| format!("{} (pid {pid})", name_of(*pid)));
        let below: Vec<String> = above.collect();
        let below = if below.is_empty() { String::new() } else { format!(", started by {}", below.join(", by ")) };
        Ok(Self {
            process,
            what: format!("portcullis acp (pid {pid}){below}"),
            program: std::fs::read_link(format!("/proc/{pid}/exe")).ok(),
            arguments: arguments_of(pid).unwrap_or_default(),
            folder: folder_of(pid),
            age: ancestry.own_age(),
        })
    }
}

/// Those of them that run, of every user whose processes can be seen.
pub(crate) fn serving_editors() -> Vec<u32> {
    everyone().into_iter().map(|(pid, _)| pid).filter(|pid| serves_an_editor(*pid)).collect()
}

/// Returns true when this `portcullis acp` has ended, and false at once where it cannot be told: a terminal may be in another
/// namespace, where the number is none or another's.
#[cfg(target_os = "linux")]
pub(crate) fn wait_for_end_of_editor_agent(pid: u32) -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let pid_of_it = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let Some(process) = pid_of_it.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else { return false };
    // Looked at while it is held, so that its number is nobody else's.
    if !serves_an_editor(pid) {
        return false;
    }
    loop {
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], None) {
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn wait_for_end_of_editor_agent(_: u32) -> bool {
    false
}

/// By what it was started as, and by the name of its file: the one that runs may be of another release.
fn serves_an_editor(pid: u32) -> bool {
    // Elsewhere only the arguments tell, which a program can choose.
    let file = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let file = file.as_deref().and_then(std::path::Path::file_name).and_then(std::ffi::OsStr::to_str);
    let is_called = |name: &str| name.strip_suffix(" (deleted)").unwrap_or(name) == "portcullis";
    let is_program = if cfg!(target_os = "linux") { file.is_some_and(is_called) } else { true };
    is_program
        && arguments_of(pid).is_some_and(|words| {
            let is_ours = words.first().is_some_and(|word| word.rsplit('/').next() == Some("portcullis"));
            is_ours && words.get(1).is_some_and(|word| word == "acp") && words.get(2).is_none_or(|word| word != "trust")
        })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_keeps_its_identity_and_shares_it_with_nobody() {
        let identity = |pid| PeerProcess::now(pid).identity();
        let own = identity(std::process::id());
        assert!(own.is_some() && own == identity(std::process::id()));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let of_child = identity(child.id());
        assert_eq!(EditorProcess::of(child.id()).unwrap_err(), "is no `portcullis acp`");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(of_child.is_some() && of_child != own);
        assert_eq!((identity(child.id()), EditorProcess::of(child.id()).unwrap_err()), (None, "is not there"));
    }
}
