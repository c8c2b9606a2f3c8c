//! How many refusals of one agent are written down: whoever tries something again and again fills no journal.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::line_rate::LineRate;
use crate::locks::locked;

/// At once, and then one in each [`PAUSE`].
const BURST: u32 = 128;
const PAUSE: Duration = Duration::from_secs(1);
/// So many agents are told apart. More share one place.
const AGENTS: usize = 256;

#[derive(Default)]
pub(super) struct Denials(Mutex<HashMap<String, LineRate>>);

impl Denials {
    /// What is written down of what was refused now; none where it is only counted.
    pub(super) fn words_of(&self, agent: &str, what: String, now: Instant) -> Option<String> {
        match self.take(agent, now)? {
            0 => Some(what),
            unwritten => Some(format!("{what}; {unwritten} more before it were not written down")),
        }
    }

    /// Whether what was refused now is written down, and how many before it were not.
    fn take(&self, agent: &str, now: Instant) -> Option<u64> {
        let mut all = locked(&self.0);
        if !all.contains_key(agent) && all.len() >= AGENTS {
            all.retain(|_, refused| !refused.is_full(now));
        }
        let agent = if all.contains_key(agent) || all.len() < AGENTS { agent } else { "" };
        all.entry(agent.to_owned()).or_insert_with(|| LineRate::new(BURST, PAUSE, now)).take(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_counted_and_one_in_a_second_is_written() {
        let denials = Denials::default();
        let start = Instant::now();
        let written = |agent: &str, milliseconds| denials.take(agent, start + Duration::from_millis(milliseconds));
        let at_once = (0..2000).filter(|_| written("a", 0).is_some()).count();
        assert_eq!(at_once, BURST as usize);
        assert_eq!(written("b", 0), Some(0), "another agent's");
        assert_eq!(
            [written("a", 999), written("a", 1000), written("a", 1000)],
            [None, Some(2001 - u64::from(BURST)), None]
        );
        assert_eq!(written("a", 9000), Some(1));
    }

    #[test]
    fn however_many_agents_there_are_they_take_no_more_memory() {
        let denials = Denials::default();
        let start = Instant::now();
        for number in 0..10 * AGENTS {
            denials.take(&number.to_string(), start);
        }
        assert!(locked(&denials.0).len() <= AGENTS + 1);
        assert_eq!(denials.take("new", start), None, "it is one of those that share a place");
        let later = start + PAUSE * BURST * 2;
        assert_eq!(denials.take("later", later), Some(0));
    }
}
