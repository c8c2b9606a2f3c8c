//! `portcullis completions`: what a shell has to know to complete our words.

use std::process::ExitCode;

use clap_complete::Shell;

use super::help::{command, for_people};
use super::say;

/// Print completions for a shell
///
/// For bash: portcullis completions bash > ~/.local/share/bash-completion/completions/portcullis
///
/// For zsh: portcullis completions zsh > a folder of your $fpath, as _portcullis
///
/// For fish: portcullis completions fish > ~/.config/fish/completions/portcullis.fish
#[derive(clap::Args)]
pub(super) struct Completions {
    /// Which shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> ExitCode {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut for_people(&command()), "portcullis", &mut script);
        say(&String::from_utf8_lossy(&script));
        ExitCode::SUCCESS
    }
}
