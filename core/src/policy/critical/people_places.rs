//! Places whose files decide what is run for people, or what they are asked: ours and Claude Code's, those of the home, and
//! those of the whole machine. A file of a project that is protected by its name is none of them.

use super::safety::{PROTECTED_BELOW, PROTECTED_FILES, PROTECTED_FOLDERS, PROTECTED_FOR_ALL, is_in, is_of_all};
use crate::policy::files::call::Context;
use crate::policy::words::path::{below, lies_in};

/// Whether a path is such a place, or lies in one.
pub(super) fn decides_for_people(path: &str, context: &Context) -> bool {
    let path = path.to_lowercase();
    let mut homes = homes(context);
    is_of_all(&path)
        || is_in(&path, &context.ours)
        || is_in(&path, &context.claude)
        || homes.any(|home| below(&path, &home).is_some_and(decides_in_home))
}

/// Whether such a place lies below a folder.
pub(super) fn holds_places(folder: &str, context: &Context) -> bool {
    let folder = folder.to_lowercase();
    let is_below = |place: &str| place != folder && lies_in(place, &folder);
    PROTECTED_FOR_ALL.into_iter().chain(["/etc/x", "/private/etc/x"]).any(is_below)
        || homes(context).any(|home| lies_in(&home, &folder))
        || holds_places_of_user(&folder, context)
}

/// The same of those that belong to a user, but for what lies right in the home.
pub(super) fn holds_places_of_user(folder: &str, context: &Context) -> bool {
    let folder = folder.to_lowercase();
    let is_below = |place: &str| place != folder && lies_in(place, &folder);
    let in_home = |home: String| IN_HOME.iter().any(|place| is_below(&format!("{home}/{place}/x")));
    holds_guarded(&folder, context) || homes(context).any(in_home)
}

/// Whether what is ours or Claude Code's lies below a folder.
pub(super) fn holds_guarded(folder: &str, context: &Context) -> bool {
    let folder = folder.to_lowercase();
    context.guarded().map(|place| place.to_lowercase()).any(|place| place != folder && lies_in(&place, &folder))
}

/// Folders of the home in which places lie that their folder tells; see [`PROTECTED_BELOW`].
const IN_HOME: [&str; 5] = [".config", ".config/code", ".oh-my-zsh", "library", "library/application support/code"];

fn homes(context: &Context) -> impl Iterator<Item = String> {
    let homes = context.home.iter().flat_map(|home| context.both(home));
    homes.map(str::to_lowercase)
}

/// Whether what is called so in a home is one of its places: deeper ones are those of projects.
fn decides_in_home(rest: &str) -> bool {
    let (first, behind) = rest.split_once('/').unwrap_or((rest, ""));
    let is_named = PROTECTED_FOLDERS.contains(&first) || behind.is_empty() && PROTECTED_FILES.contains(&first);
    let below_folder = |folder: &str| {
        let name = below(rest, folder).and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let last = folder.rsplit('/').next().unwrap_or_default();
        PROTECTED_BELOW.iter().any(|(above, one)| *above == last && *one == name)
    };
    is_named || IN_HOME.into_iter().any(below_folder)
}
