//! The line in which Linux tells of one process: its state, its parent, its session, its terminal and its start.

use std::fs::File;
use std::io::Read as _;

/// What stands in `/proc/PID/stat`.
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "elsewhere nothing of it is told"))]
pub(super) struct StatLine {
    pub(super) parent: u32,
    /// The process that leads its session.
    pub(super) leader: u32,
    pub(super) has_terminal: bool,
    /// It has ended, and only its number is left until its parent asks how.
    pub(super) has_ended: bool,
    /// When it began, in ticks since the system did.
    pub(super) start: u64,
}

impl StatLine {
    /// None of a process that is gone, and where the system does not tell.
    pub(super) fn of(pid: u32) -> Option<Self> {
        Self::read(&String::from_utf8_lossy(&read_of(pid, "stat")?))
    }

    fn read(line: &str) -> Option<Self> {
        // The name stands in brackets and may hold anything; what we want comes after the last one.
        let mut fields = line.rsplit_once(')')?.1.split_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        let leader = fields.nth(1)?.parse().ok()?;
        let has_terminal = fields.next()? != "0";
        let start = fields.nth(14)?.parse().ok()?;
        Some(Self { parent, leader, has_terminal, has_ended, start })
    }
}

/// What stands in one of the files that Linux has of a process. They have no length, so one is read in few pieces only into
/// room that is there: a process that starts reads some fifty of them.
pub(super) fn read_of(pid: u32, name: &str) -> Option<Vec<u8>> {
    const ROOM: usize = 4096;
    let mut found = Vec::with_capacity(ROOM);
    // Without the limit the file would be asked for its length and its position.
    File::open(format!("/proc/{pid}/{name}")).ok()?.take(u64::MAX).read_to_end(&mut found).ok()?;
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_hides_nothing_behind_it() {
        let rest = "100 90 80 34816 90 4194304 1 2 3 4 5 6 7 8 20 0 1 0 777 9 10";
        let want = StatLine { parent: 100, leader: 80, has_terminal: true, has_ended: false, start: 777 };
        assert_eq!(StatLine::read(&format!("7 (sleep) S {rest}")), Some(want));
        let zombie = StatLine::read(&format!("7 (a) Z 1 (b) c) Z {rest}")).unwrap();
        assert!(zombie.has_ended && zombie.parent == 100);
        let none = StatLine::read(&format!("7 (sleep) S {}", rest.replace("34816", "0"))).unwrap();
        assert!(!none.has_terminal);
        assert_eq!(StatLine::read("7 (sleep) S 100 90"), None);
        assert_eq!(StatLine::read(""), None);
    }
}
