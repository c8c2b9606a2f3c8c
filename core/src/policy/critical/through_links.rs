//! Links in a folder through which a program that removes goes of its own accord: what they lead to goes with the folder.

use super::removers;
use crate::policy::commands::command::name_of;
use crate::policy::files::access::Action;
use crate::policy::files::call::{Call, Context, Disk};
use crate::policy::files::folders::Folders;
use crate::policy::shell::ShellWord;
use crate::policy::words::options;
use crate::policy::words::path::{absolute, lies_in};
use crate::policy::words::values::is_literal;

/// Something critical that a link in such a folder leads to, or the folder where there is too much to look at.
pub(crate) fn removed(call: &Call, action: &Action, context: &Context, disk: &dyn Disk) -> Option<String> {
    let Action::Shell(plan) = action else { return None };
    let suspects = &plan.with_texts;
    let following = suspects.commands.iter().filter(|suspect| follows_links(&suspect.words));
    let here = ShellWord::plain(".");
    let mut names: Vec<String> = vec![];
    for suspect in following {
        let Some(mut words) = removers::removed(&suspect.words) else { continue };
        if words.is_empty() && removers::takes_the_folder(&suspect.words) {
            words.push(&here);
        }
        names.extend(words.into_iter().flat_map(|word| suspects.variables.spellings(word)));
    }
    names.retain(|name| is_literal(name));
    if names.is_empty() {
        return None;
    }
    let home = context.home.as_deref();
    let folders = Folders::of(suspects, call, context).all;
    let paths = names.iter().flat_map(|name| folders.iter().filter_map(move |folder| absolute(name, folder, home)));
    paths.into_iter().find_map(|folder| {
        let mut found = None;
        let is_complete = disk.walk(&folder, &mut |path| {
            if found.is_none() && is_critical(path, context) {
                found = Some(path.to_owned());
            }
        });
        found.or_else(|| (!is_complete).then_some(folder))
    })
}

/// The root, what is right below it, and what the home or the working folder lies in.
fn is_critical(path: &str, context: &Context) -> bool {
    let kept = context.home.iter().chain([&context.cwd]);
    path.matches('/').count() < 2 || kept.into_iter().any(|kept| lies_in(kept, path))
}

/// Whether a program goes through the links that it finds in a folder.
fn follows_links(words: &[ShellWord]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let has = |letters: &str, longs: &[&str]| options::has(rest.iter().map(|word| word.text.as_str()), letters, longs);
    let says = |said: &[&str]| rest.iter().any(|word| said.contains(&word.text.as_str()));
    // The letters of tar may stand without a dash.
    let letters = || rest.first().is_some_and(|word| !word.text.starts_with("--") && word.text.contains('h'));
    match name_of(&first.text) {
        "find" => says(&["-L", "-follow"]),
        "tar" | "gtar" | "bsdtar" => has("hL", &["--dereference"]) || letters(),
        "zip" => !has("y", &["--symlinks"]),
        "7z" | "7za" | "7zz" => !says(&["-snl"]),
        "rsync" => has("Lk", &["--copy-links", "--copy-unsafe-links", "--copy-dirlinks"]),
        _ => false,
    }
}
