//! Prompts that the client makes by itself when their time has come: no person has spoken then.

use std::collections::HashSet;

const MOST_SCHEDULED: usize = 256;

/// What is scheduled in one session, as far as we were told.
#[derive(Default)]
pub(super) struct ScheduledPrompts {
    /// In the client's own list. What is no longer there is no longer scheduled.
    listed: HashSet<String>,
    /// Scheduled by a call, and in no such list so far: the client does not list everything.
    called: HashSet<String>,
}

impl ScheduledPrompts {
    pub(super) fn contains(&self, prompt: &str) -> bool {
        self.listed.contains(prompt) || self.called.contains(prompt)
    }

    /// There may be more than are remembered.
    pub(super) fn is_full(&self) -> bool {
        self.listed.len() + self.called.len() >= MOST_SCHEDULED
    }

    pub(super) fn note_call(&mut self, prompt: &str) {
        if !self.is_full() && !self.listed.contains(prompt) {
            self.called.insert(prompt.to_owned());
        }
    }

    /// The list as it is now. Only the client itself `may_forget` what was in it before.
    pub(super) fn note_list(&mut self, prompts: &[String], may_forget: bool) {
        if may_forget {
            let kept: HashSet<&String> = prompts.iter().collect();
            self.listed.retain(|prompt| kept.contains(prompt));
        }
        for prompt in prompts {
            if self.called.remove(prompt) || !self.is_full() {
                self.listed.insert(prompt.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_forgotten_only_when_it_leaves_the_list_of_the_client() {
        let mut scheduled = ScheduledPrompts::default();
        scheduled.note_call("wake up");
        scheduled.note_call("hourly");
        scheduled.note_list(&["hourly".to_owned(), "daily".to_owned()], true);
        assert!(["wake up", "hourly", "daily"].iter().all(|prompt| scheduled.contains(prompt)));
        scheduled.note_list(&[], false);
        assert!(scheduled.contains("hourly"), "anything that runs here can say so");
        scheduled.note_list(&["daily".to_owned()], true);
        assert!(!scheduled.contains("hourly") && scheduled.contains("daily"));
        assert!(scheduled.contains("wake up"), "it was never in a list");
    }

    #[test]
    fn it_is_full_until_the_list_is_shorter() {
        let mut scheduled = ScheduledPrompts::default();
        let many: Vec<String> = (0..=MOST_SCHEDULED).map(|number| number.to_string()).collect();
        scheduled.note_call("0");
        scheduled.note_list(&many, true);
        scheduled.note_call("one more");
        assert!(scheduled.is_full() && scheduled.contains("0") && !scheduled.contains("one more"));
        scheduled.note_list(&many[1..3], true);
        assert!(!scheduled.is_full() && scheduled.contains("2") && !scheduled.contains("0"));
    }
}
