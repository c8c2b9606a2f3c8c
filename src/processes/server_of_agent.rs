//! Whether a process is the server of ours that an agent has started for its session, and not something that runs inside of
//! the agent.

use std::path::Path;

#[cfg(target_os = "linux")]
use super::stat::StatLine;
use super::{is_go_between, own_program};

/// More shells between an agent and its server than any settings have.
const MOST_GO_BETWEENS: usize = 8;

/// Whether a process runs this program and was started by the agent as one of its servers. A command that the agent runs
/// can become any program, this one as well, and has the same parent then. But the agent makes each command lead a group of
/// its own (`setsid`), and from there no way leads back to the agent's: its servers are in that, as the agent is.
pub(crate) fn is_server_of_agent(pid: u32, agent: u32) -> bool {
    let (Some(place), Some(agents)) = (Place::of(pid), Place::of(agent)) else { return false };
    // Where the system does not say which program a process is, its place has to do.
    let is_our_program = || !Path::new("/proc/self/exe").exists() || own_program::runs_ours(pid);
    place.leader == agents.leader && is_started_by(place.parent, agent) && is_our_program()
}

/// Whether the agent is the parent, or is above nothing but shells that were started to start this.
fn is_started_by(parent: u32, agent: u32) -> bool {
    let above = std::iter::successors(Some(parent), |pid| {
        is_go_between(*pid).then(|| Place::of(*pid).map(|place| place.parent)).flatten()
    });
    above.take(MOST_GO_BETWEENS).any(|pid| pid == agent)
}

/// Where the system says that a process stands.
struct Place {
    parent: u32,
    /// The process that leads its session. Zero is one outside of this container.
    leader: u32,
}

#[cfg(target_os = "linux")]
impl Place {
    fn of(pid: u32) -> Option<Self> {
        StatLine::of(pid).map(|StatLine { parent, leader, .. }| Self { parent, leader })
    }
}

#[cfg(not(target_os = "linux"))]
impl Place {
    fn of(pid: u32) -> Option<Self> {
        let number = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw)?;
        let leader = u32::try_from(rustix::process::getsid(Some(number)).ok()?.as_raw_nonzero().get()).ok()?;
        let output = std::process::Command::new("ps").args(["-o", "ppid=", "-p", &pid.to_string()]).output().ok()?;
        let parent = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
        Some(Self { parent, leader })
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    const IS_CHILD: &str = "PORTCULLIS_TEST_IS_CHILD";

    /// This program, which is the test, doing nothing until it is ended.
    fn waiting(before: &[&str]) -> Child {
        let ours = std::env::current_exe().unwrap();
        let words = before.iter().map(std::ffi::OsStr::new).chain([ours.as_os_str()]);
        let words: Vec<_> = words.collect();
        let test = "processes::server_of_agent::tests::a_server_of_an_agent_is_a_child_of_its_own_in_its_own_session";
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(["--exact", test]).env(IS_CHILD, "1");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    fn is_ours_within(child: &mut Child, wanted: bool) -> bool {
        let us = std::process::id();
        // Until it has become what it is started as.
        let found = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            is_server_of_agent(child.id(), us) == wanted && own_program::runs_ours(child.id())
        });
        child.kill().unwrap();
        child.wait().unwrap();
        found
    }

    #[test]
    fn a_server_of_an_agent_is_a_child_of_its_own_in_its_own_session() {
        if std::env::var_os(IS_CHILD).is_some() {
            drop(std::io::read_to_string(std::io::stdin()));
            return;
        }
        let us = std::process::id();
        assert!(is_ours_within(&mut waiting(&[]), true));
        assert!(is_ours_within(&mut waiting(&["setsid"]), false), "a command that became it");
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(!is_server_of_agent(other.id(), us), "another program");
        assert!(!is_server_of_agent(us, us) && !is_server_of_agent(other.id(), other.id()), "nobody is its own");
        assert!(!is_server_of_agent(us, other.id()), "of another agent");
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(!is_server_of_agent(other.id(), us), "gone");
    }
}
