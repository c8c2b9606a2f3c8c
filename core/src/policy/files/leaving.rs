//! Whether a line goes to a folder whose name it makes up, or takes from what nobody can read here.

use super::folders::targets;
use crate::policy::lines::suspects::Suspects;
use crate::policy::names::origins::WordOrigin;
use crate::policy::shell::{ANY, ShellWord};

/// Whether nobody can tell where its commands run, since the line itself may say so in a way that is not followed. What
/// other programs print without being told, such as `mktemp`, is no such way.
pub(crate) fn is_lost(suspects: &Suspects) -> bool {
    let targets = suspects.commands.iter().flat_map(|suspect| targets(&suspect.words));
    let is_open = |word: &ShellWord| suspects.variables.shapes(word).iter().any(|shape| shape.contains(ANY));
    let open: Vec<ShellWord> = targets.filter(is_open).collect();
    if open.is_empty() {
        return false;
    }
    let origin = WordOrigin::of_words(&open, suspects);
    open.iter().any(|word| suspects.variables.is_unfollowed(word)) || origin.is_unknown || !origin.lists.is_empty()
}
