//! `portcullis run` with the real Claude Code behind it, and a scripted model behind that.

use super::PATIENCE;
use super::child::{Child, Stdin};
use super::claude::{Claude, program};
use super::home::{Home, Ran};
use super::running::{self, Running};
use super::seen::until;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use serde_json::{Value, json};
use std::process::Command;

pub(crate) struct Driven {
    pub(crate) child: Child,
}

impl Driven {
    #[track_caller]
    pub(crate) fn start(home: &Home, model: &Model, args: &[&str]) -> Self {
        Self { child: home.spawn(Self::command(home, model, args), Stdin::Nothing) }
    }

    /// `portcullis run ARGS`, able to reach the gate and the model and nobody else.
    pub(crate) fn command(home: &Home, model: &Model, args: &[&str]) -> Command {
        let mut command = home.command(&[&["run"], args].concat());
        Self::confine(&mut command, home, model);
        command
    }

    /// Gives a gate, or a run, what a Claude Code needs that it starts.
    pub(crate) fn confine(command: &mut Command, home: &Home, model: &Model) {
        Claude::confine(command, home, model);
        command.env("PORTCULLIS_CLAUDE", program());
    }

    /// Waits for its end; Claude Code takes a while to load.
    #[track_caller]
    pub(crate) fn wait(&self) -> Ran {
        Ran::of(&self.child, PATIENCE * 3)
    }

    /// Everything below it: the guard, Claude Code, and what that runs. Not the gate it may have started.
    pub(crate) fn below(&self) -> Vec<Running> {
        let mut below = running::children_of(self.child.pid());
        below.retain(|process| process.args.get(1).is_none_or(|word| word != "serve"));
        below
    }

    /// The guard, and Claude Code under it.
    #[track_caller]
    pub(crate) fn guard_and_claude(&self) -> (Running, Running) {
        until("a guard with its child", || {
            let below = self.below();
            let guard = below.iter().find(|process| process.args.get(1).is_some_and(|word| word == "__guard"))?.clone();
            let claude = below.iter().find(|process| process.parent == guard.pid)?.clone();
            Some((guard, claude))
        })
    }
}

/// A model that runs these commands, one a turn, and then says what came of the last.
pub(crate) fn shell(commands: &[&str]) -> Model {
    let mut rules: Vec<Rule> = vec![];
    for (turn, command) in commands.iter().enumerate() {
        let rule = if turn == 0 { Rule::on_text("go") } else { Rule::on_any_result() };
        rules.push(rule.call("Bash", json!({"command": command, "description": "Do it"})).once());
    }
    rules.push(Rule::on_any_result().say("done: $RESULT"));
    Model::start(rules)
}

/// A model that makes one call, and then says what came of it.
pub(crate) fn calls(tool: &str, input: &Value) -> Model {
    Model::start(vec![Rule::on_text("go").call(tool, input.clone()).once(), Rule::on_any_result().say("done: $RESULT")])
}

/// The same command, run by a process that looks like Claude Code.
pub(crate) fn inside_an_agent(home: &Home, command: &Command) -> Command {
    let agent = home.user().join("claude");
    std::fs::write(&agent, "#!/bin/sh\n\"$@\"\nexit $?\n").unwrap();
    std::fs::set_permissions(&agent, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut inside = home.program("/bin/sh");
    inside.arg(agent).arg(command.get_program()).args(command.get_args());
    inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    inside
}
