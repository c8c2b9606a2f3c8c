//! What a line tells another machine, or a container, to do: that is done there, and not here.

use super::starts::runs_elsewhere;
use super::suspects::Suspects;
use crate::policy::commands::command::{is_shell, is_the_systems, name_of};
use crate::policy::shell::{Script, ShellCommand, ShellWord};

impl Suspects {
    /// The commands of a script as far as they run here: what another machine is told in a text is not read.
    pub(crate) fn here(script: &Script) -> Self {
        Self::read_from(script, true)
    }

    /// Whether some of what was found may have been told to another machine.
    pub(crate) fn tells_elsewhere(&self) -> bool {
        let tells = |word: &ShellWord| runs_elsewhere(name_of(&word.text));
        self.found.iter().any(|command| command.words.first().is_some_and(tells))
    }

    /// A script without the texts for other machines, where only what is done here counts.
    pub(crate) fn told_here(&self, script: &Script) -> Script {
        let mut script = script.clone();
        // What a line calls by these names itself is another program.
        let renames = |command: &ShellCommand| {
            let names = |word: &ShellWord| matches!(word.text.as_str(), "alias" | "hash" | "enable");
            command.words.iter().any(names) || command.assignments.iter().any(|(name, _)| name == "PATH")
        };
        if self.is_of_here && script.functions.is_empty() && !script.commands.iter().any(renames) {
            script.commands.iter_mut().for_each(leave_out_told);
        }
        script
    }
}

/// Takes the texts out of a command that hands them to another machine. Each command that tells something elsewhere also
/// has options by which it runs something here (`ssh -o ProxyCommand=x`), so that the values of options stay.
fn leave_out_told(command: &mut ShellCommand) {
    let tells = |word: &ShellWord| word.is_literal && is_the_systems(&word.text) && runs_elsewhere(name_of(&word.text));
    if !command.words.first().is_some_and(tells) {
        return;
    }
    let is_told = |at: usize| {
        let has_shell = command.words[1..at].iter().any(|word| is_shell(&word.text));
        let is_value = command.words[at - 1].is_flag() && !has_shell;
        !is_value && !command.words[at].is_flag() && command.words[at].text.contains([' ', '\t', '\n', ';', '&', '|'])
    };
    let told: Vec<usize> = (1..command.words.len()).filter(|at| is_told(*at)).collect();
    told.into_iter().for_each(|at| command.words[at] = ShellWord::plain("told"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_another_machine_is_told_is_left_out() {
        let runs = |line: &str| {
            let here = Suspects::here(&Script::read(line)).with_texts();
            here.commands.iter().any(|suspect| suspect.words.first().is_some_and(|word| word.text == "tar"))
        };
        for line in
            ["ssh h 'tar x'", "docker exec c sh -c 'tar x'", "ssh -p 22 h 'tar x'", "cat a | ssh h 'cd b; tar x'"]
        {
            assert!(!runs(line), "{line}");
        }
        for line in [
            "tar x; ssh h 'tar x'",
            "bash -c 't\"a\"r x'; ssh h 'tar x'",
            "ssh -o 'ProxyCommand=tar x' h",
            "ssh -oProxyCommand='tar x' h",
            "ssh h \"$(tar x)\"",
            "ssh() { eval \"$1\"; }; ssh 'tar x'",
            "alias ssh=eval; ssh 'tar x'",
        ] {
            assert!(runs(line), "{line}");
        }
    }
}
