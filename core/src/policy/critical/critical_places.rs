//! Places that are never removed unasked: the root and what is right below it, the home, the working folder, what is ours
//! and Claude Code's, and the folders above these, and whether a word may stand for one.

use crate::policy::files::call::{Call, Context};
use crate::policy::files::linking::through_links;
use crate::policy::lines::suspects::Suspects;
use crate::policy::shell::{ANY, ONE, OUTER, Piece, STAR, ShellWord};
use crate::policy::words::path::{absolute, has_dots, joined, lies_in, with_dots};
use crate::policy::words::processes::{is_open, without_proc};
use crate::policy::words::values::{is_literal, may_be};

/// Folders right below the root that every system has.
const SYSTEMS_OWN: &str = "Applications Library System Users Volumes bin boot dev etc home lib lib64 media mnt nix opt \
    private proc root run sbin srv sys tmp usr var";

/// The root, and the folders right below it that every system has.
fn is_of_the_system(path: &str) -> bool {
    path == "/" || path.strip_prefix('/').is_some_and(|name| SYSTEMS_OWN.split_whitespace().any(|own| own == name))
}

/// A removal in a line, and where it happens.
pub(super) struct RemovalView<'a> {
    pub(crate) call: &'a Call,
    pub(crate) context: &'a Context,
    pub(crate) suspects: &'a Suspects,
    pub(crate) is_own: bool,
    pub(crate) spares_here: bool,
    pub(super) is_guess: bool,
}

impl RemovalView<'_> {
    pub(super) fn is_critical(&self, word: &ShellWord, from: &str) -> bool {
        // A part of the name of a folder that everybody has, with another end.
        let cuts_place = |piece: &Piece| matches!(piece, Piece::MadeOf(name, _) if matches!(name.as_str(), "PWD" | "HOME" | "OLDPWD"));
        let goes_on = |piece: &Piece| !matches!(piece, Piece::Text(text) if text.starts_with('/'));
        if word.pieces.windows(2).any(|pair| cuts_place(&pair[0]) && goes_on(&pair[1])) {
            return true;
        }
        // What is made of a value in a way that is not followed may be any folder.
        let is_cut = |piece: &Piece| matches!(piece, Piece::MadeOf(..));
        if word.pieces.iter().any(is_cut) && self.suspects.variables.is_unfollowed(word) {
            return true;
        }
        // Above what a command prints everything may lie.
        if word.pieces.iter().any(is_made) && has_dots(&word.text) {
            return true;
        }
        let shapes = self.suspects.variables.shapes(word);
        // The link itself may go: what lies behind it may not.
        let led = shapes.iter().filter(|shape| shape.contains('/')).flat_map(|shape| {
            through_links(shape, &self.suspects.found).into_iter().filter(|led| !is_link_itself(shape, led))
        });
        let led: Vec<String> = led.collect();
        shapes.iter().chain(&led).any(|shape| self.is_critical_shape(shape, word, from))
    }

    pub(super) fn is_critical_shape(&self, shape: &str, word: &ShellWord, from: &str) -> bool {
        // `x/*` takes all that is in x, which is as bad as x; so do `x/**`, `x/?*` and `x/*/`, or nearly.
        let mut folder = shape;
        let mut all_in_it = false;
        loop {
            let whole = folder.trim_end_matches('/');
            let last = whole.rsplit('/').next().unwrap_or_default();
            if !last.contains([STAR, ONE]) || !last.chars().all(|c| matches!(c, STAR | ONE | '.')) {
                break;
            }
            folder = &whole[..whole.len() - last.len()];
            all_in_it = true;
        }
        if folder.is_empty() && !all_in_it {
            return !word.is_literal;
        }
        // Before anything is left out of it: the process may be what is not known.
        let folder = without_proc(folder, from);
        if folder.starts_with('/') && is_open(&folder) {
            return true;
        }
        if folder.starts_with([ANY, OUTER]) {
            let below = folder.split_once('/').map_or("", |(_, rest)| rest);
            let known: String = below.chars().filter(|c| !matches!(*c, ANY | OUTER | '/')).collect();
            // A part of a folder that everybody has, cut in a way that is not followed.
            let cuts_place = |piece: &Piece| matches!(piece, Piece::MadeOf(name, _) if matches!(name.as_str(), "PWD" | "HOME" | "OLDPWD"));
            if !known.is_empty() {
                return self.is_critical_if_empty(&folder, from) || word.pieces.iter().any(cuts_place);
            }
            return self.is_own || folder.starts_with(ANY) && word.pieces.iter().any(is_made);
        }
        // A variable may be empty, and then `~/$X` is the home.
        let folder: String = folder.chars().filter(|c| !matches!(*c, ANY | OUTER)).collect();
        // `~+` and `~-` are folders one is or was in.
        let on_stack = folder.strip_prefix("~+").or_else(|| folder.strip_prefix("~-"));
        let folder =
            on_stack.map_or(folder.clone(), |below| format!("{from}/{}", below.trim_start_matches(char::is_numeric)));
        let folder = without_proc(&folder, from);
        let Some(path) = absolute(&folder, from, self.context.home.as_deref()).filter(|path| !is_open(path)) else {
            return true;
        };
        let target = self.call.target(&path).filter(|_| is_literal(&path));
        // What is above a link is above where it leads.
        let dotted = has_dots(&folder).then(|| with_dots(&folder, from, self.context.home.as_deref()));
        let above = dotted.as_deref().and_then(|path| self.call.target(path));
        std::iter::once(path.as_str()).chain(target).chain(above).any(|path| self.is_place(path))
            || all_in_it && self.lies_in_place(shape, from)
    }

    /// Whether what a pattern stands for lies right in such a folder, links followed.
    fn lies_in_place(&self, shape: &str, from: &str) -> bool {
        let pattern = absolute(shape, from, self.context.home.as_deref());
        let made = pattern.as_deref().and_then(|pattern| self.call.expansion(pattern)).unwrap_or_default();
        let folder_of = |path: &String| {
            // A link to something of another name is removed itself.
            let (folder, name) = self.call.target(path)?.rsplit_once('/')?;
            path.ends_with(&format!("/{name}")).then(|| folder.to_owned())
        };
        made.iter().filter_map(folder_of).any(|folder| !folder.is_empty() && self.is_place(&folder))
    }

    /// Whether what stands behind a variable is critical where that is empty: then it is a whole path.
    fn is_critical_if_empty(&self, folder: &str, from: &str) -> bool {
        // So may be what nobody knows further behind.
        let behind = folder.trim_start_matches([ANY, OUTER]).replace([ANY, OUTER], "");
        if behind.contains([STAR, ONE]) {
            return false;
        }
        if !behind.starts_with('/') {
            let path = absolute(&behind, from, self.context.home.as_deref());
            return path.is_some_and(|path| self.holds_a_place(&path));
        }
        let path = joined("/", &behind);
        is_of_the_system(&path) || self.holds_a_place(&path)
    }

    /// Whether the home or a folder that one works in lies there.
    fn holds_a_place(&self, path: &str) -> bool {
        let here = [self.context.cwd.as_str(), &self.context.started];
        let mut places = here.into_iter().chain(self.context.home.as_deref());
        places.any(|place| self.context.both(place).any(|place| lies_in(place, path)))
    }

    /// Whether what decides about calls lies there: our files and our program, or Claude Code's settings. Letter case counts
    /// for nothing: on many disks it does not.
    fn holds_guarded(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        self.context.guarded().any(|place| is_above(&path, &place.to_lowercase()))
    }

    /// The root, what is right below it, the home, the folders that one works in, what is ours, and the folders that these
    /// lie in.
    fn is_place(&self, path: &str) -> bool {
        if self.holds_guarded(path) {
            return true;
        }
        if self.is_guess {
            let mut homes = self.context.home.iter().flat_map(|home| self.context.both(home));
            return is_of_the_system(path) || homes.any(|home| lies_in(home, path));
        }
        let top = path.matches('/').count() == 1;
        let here = [self.context.cwd.as_str(), &self.context.started].into_iter().filter(|_| !self.spares_here);
        let mut places = here.chain(self.context.home.as_deref()).flat_map(|place| self.context.both(place));
        top || places.any(|place| is_above(path, place))
    }
}

/// Whether a path is a place or a folder that it lies in. A pattern takes what it fits, part by part.
fn is_above(path: &str, place: &str) -> bool {
    if is_literal(path) {
        return lies_in(place, path);
    }
    let (parts, there): (Vec<&str>, Vec<&str>) = (path.split('/').collect(), place.split('/').collect());
    parts.len() <= there.len() && parts.iter().zip(&there).all(|(part, name)| may_be(part, name))
}

/// Whether a name ends with the link through which it would lead.
fn is_link_itself(shape: &str, led: &str) -> bool {
    led.ends_with('/') && !shape.ends_with('/')
}

fn is_made(piece: &Piece) -> bool {
    matches!(piece, Piece::Unknown)
}
