//! Folders that commands print before the rest of a name: the one they are in, one above it, or one that they are told of.

use super::printing::names_printed;
use crate::policy::commands::command::name_of;
use crate::policy::commands::git_files::subcommand;
use crate::policy::commands::inert::started;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::shell::ANY;

/// The folders above the one that a command is in, as far as they are tried.
pub(crate) const ABOVE: [&str; 5] = ["..", "../..", "../../..", "../../../..", "../../../../.."];

/// The places that a command prints in a word of another one, as what may stand before the rest of a name.
pub(crate) fn places_printed(command: &Found, suspects: &Suspects) -> Vec<String> {
    let mut places = names_printed(command, suspects);
    if prints_folder_above(command, suspects) {
        places.push(".".to_owned());
        places.extend(ABOVE.map(str::to_owned));
    }
    if started(&command.words).first().is_some_and(|word| name_of(&word.text) == "go") {
        places.extend(["~", "~/go"].map(str::to_owned));
    }
    // These end with a slash, or are nothing.
    if says(command, &["--show-cdup", "--show-prefix"]) {
        places.extend(places.clone().iter().map(|place| format!("{place}/")));
        places.push("./".to_owned());
    }
    places
}

/// Whether a command prints a folder above the one it is in: where a repository or a package begins, or the folder of a name
/// that nobody knows.
pub(crate) fn prints_folder_above(command: &Found, suspects: &Suspects) -> bool {
    let Some((first, rest)) = started(&command.words).split_first() else { return false };
    match name_of(&first.text) {
        "git" => {
            let begins = ["--show-toplevel", "--show-cdup", "--show-superproject-working-tree"];
            matches!(subcommand(rest), Some(("rev-parse", _))) && says(command, &begins)
        }
        "npm" | "pnpm" | "yarn" => rest.iter().any(|word| matches!(word.text.as_str(), "prefix" | "root" | "bin")),
        "dirname" => {
            let shapes = rest.iter().flat_map(|word| suspects.variables.spellings(word));
            shapes.into_iter().any(|shape| shape.contains(ANY) || matches!(shape.as_str(), "." | "./" | ".."))
        }
        _ => false,
    }
}

fn says(command: &Found, options: &[&str]) -> bool {
    command.words.iter().any(|word| options.contains(&word.text.as_str()))
}
