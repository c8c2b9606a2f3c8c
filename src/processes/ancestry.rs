//! Whose child a process is, and whether that can still be told.

use std::ffi::OsString;
use std::fs;
use std::iter;
use std::sync::OnceLock;
use std::time::Duration;

use super::started_with::variables_of;
#[cfg(target_os = "linux")]
use super::stat::{StatLine, read_of};
use super::{is_claude_code, is_guard, is_holder, is_reaper};
use crate::fixed;

/// The user who may become any other.
const ROOT: u32 = 0;

/// More levels than any process tree of a sane machine has. Who is deeper has hidden.
const DEEPEST: usize = 1024;

/// A process and those it descends from, as far as the system tells.
#[derive(Debug)]
pub(crate) struct Ancestry {
    /// The process itself first, then its parent, and so on.
    line: Vec<u32>,
    /// How long each of them has run, as far as the system tells.
    ages: Vec<Duration>,
    /// Why others may be missing from the line; none when it is whole.
    gap: Option<AncestryGap>,
    /// Where the line was not followed any further: nothing is said of this process.
    end: u64,
    /// Those among them, once it was asked for.
    claude_codes: OnceLock<Vec<u32>>,
}

/// Why the ancestors of a process cannot be told for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AncestryGap {
    /// It is gone, and somebody else may hold its connection.
    Gone,
    /// There are more levels than are looked at.
    TooDeep,
    /// The process that started it is gone, so the system has given it to another.
    Orphaned,
    /// It is the first process of a namespace of its own, in which its parents cannot be seen.
    Alone,
}

impl AncestryGap {
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Gone => "the process that connected is gone",
            Self::TooDeep => "it has too many parent processes",
            Self::Orphaned => "its parent process is gone, and it has no terminal",
            Self::Alone => "it runs in a process namespace of its own",
        }
    }
}

impl Ancestry {
    pub(crate) fn of(pid: u32) -> Self {
        // Tests may run inside an agent themselves: they are the end of the world for what they start.
        let end = fixed::number("TOP_PROCESS", 0);
        let first = as_in_proc(pid);
        let (us, up) = (rustix::process::geteuid().as_raw(), uptime());
        let mut ancestry = Self::followed(first, end, us, |pid| Stat::of(pid, up), user_of);
        if pid == std::process::id() && first == 1 {
            ancestry.gap = Some(AncestryGap::Alone);
        }
        ancestry
    }

    /// From parent to parent, by what is told of each process, up to the first process of the system or to `end`.
    fn followed(
        pid: u32,
        end: u64,
        us: u32,
        stat_of: impl Fn(u32) -> Option<Stat>,
        user_of: impl Fn(u32) -> Option<u32>,
    ) -> Self {
        let mut line = vec![pid];
        let mut stats: Vec<Stat> = vec![];
        let gap = loop {
            let last = line.last().copied().unwrap_or(pid);
            if u64::from(last) == end {
                break None;
            }
            let Some(stat) = stat_of(last) else { break Some(AncestryGap::Gone) };
            let parent = stat.parent;
            stats.push(stat);
            if parent <= 1 {
                break orphaned(&line, &stats, us, user_of);
            }
            if line.len() >= DEEPEST {
                break Some(AncestryGap::TooDeep);
            }
            line.push(parent);
        };
        let ages = stats.into_iter().filter_map(|stat| stat.age).collect();
        Self { line, ages, gap, end, claude_codes: OnceLock::new() }
    }

    /// Only the process itself: the others are not its own.
    pub(super) fn cut_off(self, gap: AncestryGap) -> Self {
        let line = self.line.into_iter().take(1).collect();
        Self { line, ages: vec![], gap: Some(gap), claude_codes: OnceLock::new(), ..self }
    }

    /// How long it and those it descends from have run, as far as the system tells.
    pub(crate) fn ages(&self) -> &[Duration] {
        &self.ages
    }

    /// Whether an agent that has attached so long ago cannot have started any of the line: the first of it that somebody
    /// started has run for longer. What only takes over those whose parents are gone has started none of them. An editor
    /// that was opened from a desktop is known by this alone.
    pub(crate) fn is_older_than(&self, agent: Option<u32>, attached: Duration) -> bool {
        let running = agent.and_then(|agent| Stat::of(agent, uptime())).and_then(|stat| stat.age);
        let age = self.age().filter(|_| self.gap == Some(AncestryGap::Orphaned));
        age.is_some_and(|age| age > longest(running, attached))
    }

    fn age(&self) -> Option<Duration> {
        self.age_at(self.line.iter().rposition(|pid| !is_reaper(*pid))?)
    }

    /// For how long the process itself has run.
    pub(crate) fn own_age(&self) -> Option<Duration> {
        self.age_at(0)
    }

    fn age_at(&self, place: usize) -> Option<Duration> {
        // An age that is missing would put the others in its place.
        (self.ages.len() == self.line.len()).then(|| self.ages.get(place).copied()).flatten()
    }

    /// Without this process and those above it, which have nothing to do with the rest: it works for others, too.
    pub(crate) fn below(mut self, top: u32) -> Self {
        if let Some(at) = self.line.iter().position(|pid| *pid == top) {
            self.line.truncate(at);
            self.gap = None;
            self.claude_codes = OnceLock::new();
        }
        self
    }

    /// The process itself and those it descends from, nearest first.
    pub(crate) fn line(&self) -> &[u32] {
        &self.line
    }

    /// Those it descends from, nearest first.
    pub(crate) fn above(&self) -> &[u32] {
        self.line.get(1..).unwrap_or_default()
    }

    pub(crate) fn gap(&self) -> Option<AncestryGap> {
        self.gap
    }

    /// The agent nearest above, as the system tells it: a Claude Code, or what holds one of ours.
    pub(crate) fn agent(&self) -> Option<AgentAbove> {
        let claude = self.claude_codes().first().copied().map(AgentAbove::ClaudeCode);
        claude.or_else(|| self.above().iter().copied().find(|pid| is_guard(*pid)).map(AgentAbove::Guard))
    }

    /// The one furthest above: a person started it, if an agent started the others.
    pub(crate) fn outermost_claude_code(&self) -> Option<u32> {
        // A test that plays Claude Code has nothing in its own environment that it gives to what it starts.
        let tester = fixed::number("TESTER", 0);
        self.claude_codes().iter().copied().rfind(|pid| u64::from(*pid) != tester)
    }

    /// The Claude Codes above, nearest first: by their names, and by what they have started.
    pub(crate) fn claude_codes(&self) -> &[u32] {
        self.claude_codes.get_or_init(|| claude_codes(self.line(), self.end, is_claude_code, mark_of))
    }
}

/// A process and those it descends from, nearest first, each looked up when it is asked for.
pub(super) fn line_from(pid: u32) -> impl Iterator<Item = u32> {
    let end = fixed::number("TOP_PROCESS", 0);
    let above = move |last: &u32| {
        let parent = if u64::from(*last) == end { None } else { parent_of(*last) };
        parent.filter(|parent| *parent > 1)
    };
    iter::successors(Some(as_in_proc(pid)), above).take(DEEPEST)
}

fn as_in_proc(pid: u32) -> u32 {
    if pid == std::process::id() { pid_in_proc().unwrap_or(pid) } else { pid }
}

/// The number by which `/proc` knows this process: in a namespace of its own a process has another one than outside of it.
fn pid_in_proc() -> Option<u32> {
    fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

/// How long an agent has run at most: as the system tells while it runs, else by when it attached.
fn longest(running: Option<Duration>, attached: Duration) -> Duration {
    // One that is gone had attached soon after its start.
    const ATTACHED_WITHIN: Duration = Duration::from_secs(60);
    running.unwrap_or(attached + ATTACHED_WITHIN).max(attached)
}

/// What Claude Code gives each process that it starts, whatever its own file is called: that it did, and its session. The
/// first alone may be a person's own doing, who is asked to confirm.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AgentMark(OsString);

fn mark_of(pid: u32) -> Option<AgentMark> {
    let [mark, session] = variables_of(pid, ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID"])?;
    mark.filter(|mark| !mark.is_empty())?;
    session.map(AgentMark)
}

/// Those above the first of the line that are named so, and those that have given their child a mark which they do not have
/// themselves. A mark is inherited, and a process whose parent is gone is given to another: such a one marks nobody.
fn claude_codes(
    line: &[u32],
    end: u64,
    is_named: impl Fn(u32) -> bool,
    mark_of: impl Fn(u32) -> Option<AgentMark>,
) -> Vec<u32> {
    let marks: Vec<Option<AgentMark>> = line.iter().map(|pid| mark_of(*pid)).collect();
    let has_marked = |at: usize| marks[at - 1].is_some() && marks[at] != marks[at - 1];
    let is_theirs = |at: usize| has_marked(at) && u64::from(line[at]) != end && !is_reaper(line[at]);
    let above = (1..line.len()).filter(|at| is_named(line[*at]) || is_theirs(*at));
    above.map(|at| line[at]).collect()
}

/// An agent above a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentAbove {
    ClaudeCode(u32),
    Guard(u32),
}

/// What the system tells of one process.
#[derive(Clone, Debug)]
struct Stat {
    parent: u32,
    /// The process that leads its session: a shell in its terminal, a service, a command that an agent runs.
    leader: Option<u32>,
    has_terminal: bool,
    age: Option<Duration>,
}

#[cfg(target_os = "linux")]
impl Stat {
    /// The system has been up for so many seconds.
    fn of(pid: u32, up: Option<f64>) -> Option<Self> {
        let StatLine { parent, leader, has_terminal, start, .. } = StatLine::of(pid)?;
        let age = up.map(|up| age_of(start, up));
        Some(Self { parent, leader: Some(leader), has_terminal, age })
    }
}

#[cfg(target_os = "linux")]
fn parent_of(pid: u32) -> Option<u32> {
    StatLine::of(pid).map(|line| line.parent)
}

/// The user who started it. Whose file it is that runs changes nothing of that.
#[cfg(target_os = "linux")]
fn user_of(pid: u32) -> Option<u32> {
    real_user(&String::from_utf8(read_of(pid, "status")?).ok()?)
}

/// The first of the four that a process is said to be. The owner of its folder is another where it hides its memory.
#[cfg(target_os = "linux")]
fn real_user(status: &str) -> Option<u32> {
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().next()?.parse().ok()
}

/// For how many seconds the system has been up.
#[cfg(target_os = "linux")]
fn uptime() -> Option<f64> {
    fs::read_to_string("/proc/uptime").ok()?.split_whitespace().next()?.parse().ok()
}

/// How long ago it was so many ticks after the system started.
#[cfg(target_os = "linux")]
fn age_of(ticks: u64, up: f64) -> Duration {
    // Linux tells in hundredths of a second, whatever it counts in itself.
    let began = ticks as f64 / 100.0;
    Duration::try_from_secs_f64(up - began).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
impl Stat {
    fn of(pid: u32, _up: Option<f64>) -> Option<Self> {
        let output =
            std::process::Command::new("ps").args(["-o", "ppid=,tty=", "-p", &pid.to_string()]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let mut words = text.split_whitespace();
        let parent = words.next()?.parse().ok()?;
        let has_terminal = words.next().is_some_and(|tty| !tty.starts_with('?'));
        Some(Self { parent, leader: None, has_terminal, age: None })
    }
}

#[cfg(not(target_os = "linux"))]
fn parent_of(pid: u32) -> Option<u32> {
    Stat::of(pid, None).map(|stat| stat.parent)
}

#[cfg(not(target_os = "linux"))]
fn user_of(_pid: u32) -> Option<u32> {
    None
}

#[cfg(not(target_os = "linux"))]
fn uptime() -> Option<f64> {
    None
}

/// Whether a line that ends at the first process of the system has lost somebody on the way.
///
/// What a person starts is in a terminal, whose shell is above it. Without one it is below what let the person in: a
/// process of root, such as that of ssh or cron, or one outside of this container. Everything else may have been
/// started by anyone, and left behind.
fn orphaned(line: &[u32], stats: &[Stat], us: u32, user_of: impl Fn(u32) -> Option<u32>) -> Option<AncestryGap> {
    let (first, last) = (stats.first()?, stats.last()?);
    // A holder outlives the gate that started it, and answers to its fronts alone. One that is about to start is none yet.
    if line.first().copied().is_some_and(|pid| pid != std::process::id() && is_holder(pid)) {
        return None;
    }
    let leader = first.leader?;
    let is_known = match first.has_terminal {
        true => line.contains(&leader),
        // Only the system's own user may become another. Nobody lets that one in.
        false => last.parent == 0 || us != ROOT && line.iter().any(|pid| user_of(*pid) == Some(ROOT)),
    };
    (!is_known).then_some(AncestryGap::Orphaned)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_child_descends_from_us_and_one_that_is_gone_from_nobody_we_know() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let ancestry = Ancestry::of(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(ancestry.line()[..2], [child.id(), std::process::id()]);
        assert!(ancestry.ages()[0] < Duration::from_secs(60) && ancestry.ages()[0] <= ancestry.ages()[1]);
        assert_eq!(Ancestry::of(child.id()).gap(), Some(AncestryGap::Gone));
    }

    #[test]
    fn what_began_before_an_agent_was_not_started_by_it() {
        let seconds = Duration::from_secs;
        let stat =
            |parent, age| Some(Stat { parent, leader: Some(700_100), has_terminal: false, age: Some(seconds(age)) });
        let of_desktop = |pid: u32| if pid == 700_100 { stat(700_200, 5) } else { stat(1, 100) };
        let editor = Ancestry::followed(700_100, 0, 7, of_desktop, |_| Some(7));
        assert_eq!((editor.gap(), editor.age()), (Some(AncestryGap::Orphaned), Some(seconds(100))));
        assert!(editor.is_older_than(None, seconds(39)) && !editor.is_older_than(None, seconds(41)));
        assert_eq!(longest(Some(seconds(12)), seconds(10)), seconds(12));
        assert_eq!(longest(Some(seconds(2)), seconds(10)), seconds(10), "another process has its number now");
    }

    #[test]
    fn an_agent_is_known_by_its_name_or_by_what_it_gave_those_it_started() {
        let mark = |session: &str| Some(AgentMark(session.into()));
        let found = |line: &[u32], marks: &[Option<AgentMark>]| {
            let mark_of = |pid: u32| line.iter().position(|one| *one == pid).and_then(|at| marks[at].clone());
            claude_codes(line, 700_700, |pid| pid == 700_800, mark_of)
        };
        let line = [700_100, 700_200, 700_300, 700_400];
        assert_eq!(found(&line, &[None, None, None, None]), [0; 0]);
        assert_eq!(found(&line, &[mark("a"), mark("a"), None, None]), [700_300], "whatever it is called");
        assert_eq!(found(&line, &[mark("b"), mark("a"), mark("a"), None]), [700_200, 700_400], "one inside another");
        assert_eq!(found(&line, &[None, mark("a"), mark("a"), None]), [700_400], "also where a child took it off");
        // By its name where it gave no mark, and once where it did.
        assert_eq!(found(&[700_100, 700_800, 700_400], &[None, None, None]), [700_800]);
        assert_eq!(found(&[700_100, 700_800, 700_400], &[mark("a"), None, None]), [700_800]);
        // What is at the end of the line may be marked by anyone.
        assert_eq!(found(&[700_100, 700_700], &[mark("a"), None]), [0; 0]);
        assert_eq!(found(&[700_100, 700_200], &[mark("a"), mark("a")]), [0; 0]);
    }

    #[test]
    fn below_more_levels_than_are_looked_at_nobody_knows_who_is_above() {
        // A process of someone else's lets the person in, and each has the next number as its child.
        let stat = |pid: u32| Stat { parent: pid - 1, leader: Some(2), has_terminal: false, age: None };
        let of = |levels: usize| Ancestry::followed(1 + levels as u32, 0, 1000, |pid| Some(stat(pid)), |_| Some(0));
        assert_eq!((of(DEEPEST).line().len(), of(DEEPEST).gap()), (DEEPEST, None));
        let deeper = of(DEEPEST + 1);
        assert_eq!((deeper.line().len(), deeper.gap()), (DEEPEST, Some(AncestryGap::TooDeep)));
    }

    #[test]
    fn who_has_no_terminal_and_no_leader_may_have_been_started_by_anyone() {
        // With the user who started it.
        let stat = |parent, leader, has_terminal, user: u32| {
            (Stat { parent, leader: Some(leader), has_terminal, age: None }, user)
        };
        let gap_for = |us, line: &[u32], of: &[(Stat, u32)]| {
            let user_of = |pid| of.get(line.iter().position(|one| *one == pid)?).map(|(_, user)| *user);
            let stats: Vec<Stat> = of.iter().map(|(stat, _)| stat.clone()).collect();
            orphaned(line, &stats, us, user_of)
        };
        let gap = |line: &[u32], of: &[(Stat, u32)]| gap_for(1000, line, of);
        // A shell in a terminal, below a terminal server.
        let shell = [stat(800, 800, true, 1000), stat(700, 800, true, 1000), stat(1, 700, false, 1000)];
        assert_eq!(gap(&[900, 800, 700], &shell), None);
        // A line of cron, and what came in from outside of the container.
        assert_eq!(gap(&[900, 700], &[stat(700, 900, false, 1000), stat(1, 700, false, 0)]), None);
        assert_eq!(gap(&[900], &[stat(0, 900, false, 1000)]), None);
        // Its shell has gone, and led its session, with a terminal and without.
        assert_eq!(gap(&[900], &[stat(1, 800, false, 1000)]), Some(AncestryGap::Orphaned));
        assert_eq!(gap(&[900], &[stat(1, 800, true, 1000)]), Some(AncestryGap::Orphaned));
        // Another one than root lets nobody in, and nobody lets root in.
        let other = [stat(700, 900, false, 1000), stat(1, 700, false, 65534)];
        assert_eq!(gap(&[900, 700], &other), Some(AncestryGap::Orphaned));
        let roots = [stat(700, 900, false, 0), stat(1, 700, false, 65534)];
        assert_eq!(gap_for(ROOT, &[900, 700], &roots), Some(AncestryGap::Orphaned));
        assert_eq!(real_user("Name:\tx\nUid:\t1000\t0\t0\t0\n"), Some(1000), "what runs with another's rights");
        // It made itself the leader of a session of its own, and somebody took it over.
        assert_eq!(gap(&[900], &[stat(1, 900, false, 1000)]), Some(AncestryGap::Orphaned));
        let adopted = [stat(700, 900, false, 1000), stat(1, 700, false, 1000)];
        assert_eq!(gap(&[900, 700], &adopted), Some(AncestryGap::Orphaned));
    }
}
