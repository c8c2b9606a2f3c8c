//! `portcullis completions`: what a shell has to know to complete our words.

use std::process::ExitCode;

use clap_complete::Shell;

use super::help::{command, for_people};
use super::say;

/// Print completions for a shell
///
/// They also know the labels, codes and ids that the gate knows at the moment.
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
        say(&with_names(self.shell, &String::from_utf8_lossy(&script)));
        ExitCode::SUCCESS
    }
}

/// The script, and below it what asks the gate for labels, codes and ids where a word is one.
fn with_names(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => format!("{script}\n{BASH}"),
        Shell::Fish => format!("{script}\n{FISH}"),
        Shell::Zsh => match script.rfind("\nif [ \"$funcstack[1]\"") {
            Some(end) => format!("{}\n{ZSH}", &script[..end]),
            None => script.to_owned(),
        },
        _ => script.to_owned(),
    }
}

const BASH: &str = r#"_portcullis_names() {
    local name
    COMPREPLY=()
    while IFS= read -r name; do
        COMPREPLY+=("$(printf '%q' "$name")")
    done < <(command portcullis __candidates -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    [ ${#COMPREPLY[@]} -gt 0 ] || _portcullis "$@"
}
complete -F _portcullis_names -o bashdefault -o default portcullis
"#;

const ZSH: &str = r#"_portcullis_names() {
    local -a names
    names=(${(f)"$(command portcullis __candidates -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( ${#names} )); then
        compadd -a names
    else
        _portcullis "$@"
    fi
}
compdef _portcullis_names portcullis
if [ "$funcstack[1]" = "_portcullis" ]; then
    _portcullis_names "$@"
fi
"#;

const FISH: &str = r#"complete -c portcullis -f -a '(command portcullis __candidates -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
"#;
