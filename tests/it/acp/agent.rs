//! The agents that are compared: `portcullis acp` and the npm adapter, with the same Claude Code and the same model.

use crate::fakes::model::Model;
use crate::support::claude::{Claude, peer, program};
use crate::support::driven::{Driven, inside_an_agent};
use crate::support::home::Home;
use std::process::Command;

#[derive(Clone, Copy)]
pub(crate) enum Agent<'a> {
    /// `portcullis acp` with these arguments.
    Ours { model: &'a Model, args: &'a [&'a str] },
    /// The same, left behind by whoever has started it, as an editor that was opened from a desktop is.
    LeftBehind { model: &'a Model },
    /// The same, started by an agent.
    Inside { model: &'a Model },
    /// The npm package of the protocol's own project.
    Npm { model: &'a Model },
}

impl<'a> Agent<'a> {
    pub(crate) fn ours(model: &'a Model) -> Self {
        Self::Ours { model, args: &[] }
    }

    pub(crate) fn model(&self) -> &'a Model {
        match self {
            Self::Ours { model, .. } | Self::LeftBehind { model } | Self::Inside { model } | Self::Npm { model } => {
                model
            }
        }
    }

    pub(crate) fn is_ours(&self) -> bool {
        !matches!(self, Self::Npm { .. })
    }

    /// Able to reach the gate and the model and nobody else.
    pub(crate) fn command(&self, home: &Home) -> Command {
        match self {
            Self::Ours { model, args } => {
                let mut command = home.command(&[&["acp"], *args].concat());
                Driven::confine(&mut command, home, model);
                // As root it refuses to ask nobody otherwise, where that is wanted.
                command.env("IS_SANDBOX", "1");
                command
            }
            Self::LeftBehind { model } => {
                let mut command = home.program("sh");
                // Its standard input is that of the shell, which a shell does not give to what it leaves behind.
                let waiting =
                    "exec 3<&0; (while kill -0 $$ 2>/dev/null; do sleep 0.01; done; exec \"$0\" acp <&3 3<&-) &";
                command.args(["-c", waiting]).arg(home.command(&[]).get_program());
                Driven::confine(&mut command, home, model);
                command
            }
            Self::Inside { model } => inside_an_agent(home, &Self::ours(model).command(home)),
            Self::Npm { model } => {
                let mut command = home.program(peer("PORTCULLIS_TEST_NODE24"));
                command.arg(peer("PORTCULLIS_TEST_ACP_ADAPTER")).env("CLAUDE_CODE_EXECUTABLE", program());
                Claude::confine(&mut command, home, model);
                command
            }
        }
    }
}
