//! What an agent leaves behind: a session that is over, and processes whose parents are gone.

use std::fs;

use super::child::Stdin;
use super::home::Home;
use super::seen::{PATIENCE, until};
use super::standin::StandIn;

impl Home {
    /// A session was there earlier today, and is over.
    pub(crate) fn had_a_session(&self) {
        let session = StandIn::start_under_an_agent(self, &[]);
        self.attached(1);
        session.close_stdin();
        until("its end", || Some(()).filter(|()| self.status()["sessions"] == 0));
    }

    /// What a line says whose shell has ended before it begins. `$P` in it is the program.
    pub(crate) fn left_behind(&self, line: &str) -> String {
        let out = self.project().join("out");
        fs::write(&out, "").unwrap();
        let program = self.command(&[]).get_program().display().to_string();
        let waiting = "(while kill -0 $$ 2>/dev/null; do sleep 0.01; done; LINE > out 2>&1; echo FINISHED >> out) &";
        let mut shell = self.program("sh");
        shell.args(["-c", &waiting.replace("LINE", line)]).env("P", program);
        self.spawn(shell, Stdin::Nothing).wait_exit(PATIENCE);
        until("its answer", || fs::read_to_string(&out).ok().filter(|text| text.contains("FINISHED")))
    }
}
