//! The agents that are compared: `portcullis acp` and the npm adapter, with the same Claude Code and the same model.

use crate::fakes::model::Model;
use crate::support::claude::{Claude, peer, program};
use crate::support::driven::Driven;
use crate::support::home::Home;
use std::process::Command;

#[derive(Clone, Copy)]
pub(super) enum Agent<'a> {
    /// `portcullis acp` with these arguments.
    Ours { model: &'a Model, args: &'a [&'a str] },
    /// The npm package of the protocol's own project.
    Npm { model: &'a Model },
}

impl<'a> Agent<'a> {
    pub(super) fn ours(model: &'a Model) -> Self {
        Self::Ours { model, args: &[] }
    }

    pub(super) fn model(&self) -> &'a Model {
        match self {
            Self::Ours { model, .. } | Self::Npm { model } => model,
        }
    }

    pub(super) fn is_ours(&self) -> bool {
        matches!(self, Self::Ours { .. })
    }

    /// Able to reach the gate and the model and nobody else.
    pub(super) fn command(&self, home: &Home) -> Command {
        match self {
            Self::Ours { model, args } => {
                let mut command = home.command(&[&["acp"], *args].concat());
                Driven::confine(&mut command, home, model);
                command
            }
            Self::Npm { model } => {
                let mut command = home.program(peer("PORTCULLIS_TEST_NODE24"));
                command.arg(peer("PORTCULLIS_TEST_ACP_ADAPTER")).env("CLAUDE_CODE_EXECUTABLE", program());
                Claude::confine(&mut command, home, model);
                command
            }
        }
    }
}
