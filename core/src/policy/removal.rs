//! Removals that cannot be made good: of the root and what is right below it, of the home, of the working folder and those
//! above it, and of what only a variable or another command names.

use super::access::Action;
use super::call::{Call, Context};
use super::command::name_of;
use super::erasing::{changes_all, codes, erases, is_disk};
use super::folders::Folders;
use super::git_files::subcommand;
use super::handed_removal::handed_removals;
use super::implied::settings;
use super::inert::is_inert;
use super::leaving::is_lost;
use super::linking::{led_to_anywhere, through_links};
use super::options;
use super::path::{absolute, has_dots, joined, lies_in, with_dots};
use super::processes::{is_open, without_proc};
use super::removers::{is_own, removed, removed_by_tools, takes_the_folder};
use super::shell::{ANY, ONE, OUTER, Piece, STAR, ShellWord, Way};
use super::sought::picks;
use super::starts::runs_elsewhere;
use super::suspects::{Found, Suspects};
use super::values::{in_words, is_literal, may_be};

/// What a command would remove, or move away, that is never removed unasked.
pub(crate) fn critical(call: &Call, action: &Action, context: &Context) -> Option<String> {
    let Action::Shell(plan) = action else { return None };
    let suspects = &plan.with_texts;
    if let Some(path) = &call.removed_through_links {
        return Some(format!("what a link leads to, {path}"));
    }
    if let Some(disk) = plan.touched.files.iter().find(|touch| is_disk(touch)) {
        return Some(format!("what is on {}", in_words(&disk.path)));
    }
    if let Some(suspect) = suspects.commands.iter().find(|suspect| erases(&suspect.words)) {
        return Some(format!("what {} removes", suspect.words[0].text));
    }
    let (removals, handed) = (removals(suspects), handed_removals(suspects));
    if removals.is_empty() && handed.is_empty() {
        return None;
    }
    let Folders { all: folders, is_complete } = Folders::of(suspects, call, context);
    if !is_complete {
        return Some("something in one of many folders".to_owned());
    }
    if is_lost(suspects) {
        return Some("something in a folder that another program names".to_owned());
    }
    let holds_home = |folder: &String| {
        let leads = call.target(folder).into_iter().chain([folder.as_str()]);
        leads.into_iter().any(|folder| context.home.as_deref().is_some_and(|home| lies_in(home, folder)))
    };
    let view = |removal: &RemovingCommand| RemovalView {
        call,
        context,
        suspects,
        is_own: removal.is_own,
        spares_here: removal.spares_here,
    };
    for (removal, names) in &handed {
        let Some(shapes) = names.shapes(suspects, call, context) else {
            return Some("what another program names".to_owned());
        };
        let is_critical = |shape: &&String| {
            folders.iter().any(|folder| view(removal).is_critical_shape(shape, &ShellWord::plain(shape), folder))
        };
        if let Some(shape) = shapes.iter().find(is_critical) {
            return Some(in_words(shape));
        }
    }
    removals.into_iter().find_map(|removal| {
        let is_top = |folder: &String| {
            let is_here =
                [&context.cwd, &context.started].into_iter().any(|here| context.both(here).any(|it| it == folder));
            folder.matches('/').count() == 1 && !is_here
        };
        if removal.is_git && folders.iter().any(is_top) {
            return Some("what git does not know right below the root".to_owned());
        }
        if removal.is_git && folders.iter().any(holds_home) {
            return Some("what git does not know in your home".to_owned());
        }
        if removal.takes_any {
            return Some("what xargs is given".to_owned());
        }
        let is_end = |word: &&ShellWord| {
            let name = word.text.trim_matches('/');
            let mut here = [&context.cwd, &context.started].into_iter().flat_map(|here| context.both(here));
            !name.is_empty() && here.any(|here| here.ends_with(&format!("/{name}")))
        };
        if let Some(word) = removal.words.iter().filter(|_| removal.by_its_end).find(is_end) {
            return Some(word.raw.clone());
        }
        let view = view(&removal);
        let is_critical = |word: &&ShellWord| folders.iter().any(|folder| view.is_critical(word, folder));
        removal.words.iter().find(is_critical).map(|word| word.raw.clone())
    })
}

/// Something that removes, with the words that may name what.
#[derive(Default)]
pub(super) struct RemovingCommand {
    pub(super) words: Vec<ShellWord>,
    /// Nothing but removal is meant, so what only the environment knows counts as anything.
    pub(super) is_own: bool,
    is_git: bool,
    pub(super) takes_any: bool,
    /// What it does in the folder one works in is what people do there.
    spares_here: bool,
    /// A folder is meant by the last parts of its path as well.
    by_its_end: bool,
}

/// Everything in a line that may remove something.
fn removals(suspects: &Suspects) -> Vec<RemovingCommand> {
    let mut removals: Vec<RemovingCommand> =
        suspects.commands.iter().filter_map(|suspect| removal(&suspect.words)).collect();
    for command in &suspects.found {
        let runs = !is_inert(&command.words) || suspects.flow.reaches(command);
        let first = command.words.first();
        // Wherever a remover stands among words that are run, and whatever it is called.
        if runs {
            let is_elsewhere = first.is_some_and(|word| runs_elsewhere(name_of(&word.text)));
            let counts = |words: &&[ShellWord]| !is_elsewhere || !changes_all(words);
            let behind = (1..command.words.len()).map(|at| &command.words[at..]);
            removals.extend(behind.filter(counts).filter_map(removal));
        }
        let may_be_remover = |word: &ShellWord| {
            let shapes = suspects.variables.spellings(word);
            let may_be_rm = |shape: &String| shape != &word.text && may_be(name_of(shape), "rm");
            !word.is_literal && (shapes.iter().any(may_be_rm) || suspects.variables.is_unfollowed(word))
        };
        if first.is_some_and(may_be_remover) {
            removals.push(RemovingCommand {
                words: command.words[1..].to_vec(),
                is_own: true,
                ..RemovingCommand::default()
            });
        }
        let texts = command.words.iter().filter(|_| runs).map(ShellWord::script);
        let values = command.assignments.iter().map(|(_, value)| value.script());
        for text in texts.chain(values).chain(command.given.iter().cloned()).filter(|text| text.contains([' ', '\n'])) {
            removals.extend(in_text(&text));
            // What sed runs stands between slashes.
            if first.is_some_and(|word| name_of(&word.text) == "sed") {
                removals.extend(in_text(&text.replace('/', " / ")));
            }
        }
    }
    removals.extend(codes(suspects).into_iter().map(|code| RemovingCommand {
        words: code.words,
        spares_here: code.spares_here,
        ..RemovingCommand::default()
    }));
    removals.extend(emptied(suspects));
    // What a variable tells cargo to clean.
    let cleans = |command: &Found| command.words.iter().any(|word| word.text == "clean");
    if suspects.found.iter().any(cleans) {
        let set = suspects.found.iter().flat_map(settings).filter(|(name, _)| name == "CARGO_TARGET_DIR");
        let words = set.map(|(_, value)| value).collect();
        removals.push(RemovingCommand { words, ..RemovingCommand::default() });
    }
    let removes = |word: &ShellWord| is_own(name_of(&word.text)) || word.text == "-delete";
    let has = |named: &dyn Fn(&ShellWord) -> bool| suspects.found.iter().any(|command| command.words.iter().any(named));
    let hands_on =
        |word: &ShellWord| matches!(name_of(&word.text), "xargs" | "parallel" | "read" | "hash" | "alias" | "ln");
    if has(&removes) && has(&hands_on) {
        // The words of one command are what another one removes, but for the folder in which something is looked for.
        let words = suspects.found.iter().flat_map(|command| command.words.iter().skip(1));
        let words = words.filter(|word| !word.is_flag() && !matches!(word.text.as_str(), "." | "./"));
        let links = led_to_anywhere(&suspects.found).into_iter().map(|name| ShellWord::plain(&name));
        let words = words.cloned().chain(links).collect();
        removals.push(RemovingCommand { words, ..RemovingCommand::default() });
    }
    removals
}

/// What is removed in a text that something may run.
fn in_text(text: &str) -> Vec<RemovingCommand> {
    let is_end = |c: char| matches!(c, '"' | '\'' | '`' | ';' | '|' | '&' | '(' | ')' | '{' | '}' | '\n' | '!' | '#');
    let mut removals = vec![];
    for part in text.split(is_end) {
        let words: Vec<ShellWord> = part.split_whitespace().map(ShellWord::read).collect();
        for (at, word) in words.iter().enumerate() {
            let name = word.text.rsplit(['/', '=', '@', '\t']).next().unwrap_or_default();
            if is_own(name) {
                let words: Vec<ShellWord> =
                    std::iter::once(ShellWord::plain(name)).chain(words[at + 1..].iter().cloned()).collect();
                removals.extend(removal(&words));
            }
        }
    }
    removals
}

/// What a command removes, or moves away.
pub(super) fn removal(words: &[ShellWord]) -> Option<RemovingCommand> {
    let (first, rest) = words.split_first()?;
    let recursive = |word: &ShellWord| word.is_flag() && word.text.contains(['r', 'R']);
    let removes = |word: &ShellWord| matches!(name_of(&word.text), "rm" | "rmdir");
    let name = name_of(&first.text);
    if name == "xargs" && rest.iter().any(removes) && rest.iter().any(recursive) {
        return Some(RemovingCommand { takes_any: true, ..RemovingCommand::default() });
    }
    if name == "git" && (rest.iter().any(|word| word.text == "clean") || stashes_all(rest)) {
        let is_name =
            |word: &&ShellWord| !matches!(word.text.as_str(), "clean" | "stash" | "push" | "save" | "." | "./");
        let words = rest.iter().filter(|word| !word.is_flag()).filter(is_name);
        return Some(RemovingCommand { is_git: true, words: words.cloned().collect(), ..RemovingCommand::default() });
    }
    if name == "git"
        && let Some(words) = removed_worktrees(rest)
    {
        return Some(RemovingCommand { words, is_own: true, by_its_end: true, ..RemovingCommand::default() });
    }
    if is_powershells(name) {
        let words: Vec<ShellWord> = rest.iter().filter(|word| !word.is_flag()).cloned().collect();
        // Without a name it removes what it is given.
        let takes_any = words.is_empty() && name.eq_ignore_ascii_case("remove-item");
        return Some(RemovingCommand { takes_any, words, is_own: true, ..RemovingCommand::default() });
    }
    if changes_all(words) {
        let words = rest.iter().filter(|word| !word.is_flag()).cloned().collect();
        return Some(RemovingCommand { words, spares_here: true, ..RemovingCommand::default() });
    }
    if let Some(removed) = removed_by_tools(name, rest) {
        return Some(RemovingCommand { words: removed, ..RemovingCommand::default() });
    }
    let removed = removed(words)?;
    let here = removed.is_empty() && takes_the_folder(words);
    let words = if here { vec![ShellWord::plain(".")] } else { removed.into_iter().cloned().collect() };
    let is_own = is_own(name) || name == "find" && !picks(rest);
    Some(RemovingCommand { words, is_own, ..RemovingCommand::default() })
}

/// Whether PowerShell removes or moves what stands behind this word, in any letter case.
fn is_powershells(name: &str) -> bool {
    let known = ["remove-item", "move-item", "clear-content", "ri", "rd", "erase", "del"];
    known.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The working folders that git removes or moves.
fn removed_worktrees(rest: &[ShellWord]) -> Option<Vec<ShellWord>> {
    let ("worktree", words) = subcommand(rest)? else { return None };
    let (sub, words) = words.split_first()?;
    let is_removed = matches!(sub.text.as_str(), "remove" | "move") || !sub.is_known();
    is_removed.then(|| words.iter().filter(|word| !word.is_flag()).cloned().collect())
}

/// Whether git puts away what it does not know, and so removes it.
fn stashes_all(rest: &[ShellWord]) -> bool {
    rest.iter().any(|word| word.text == "stash")
        && options::has(rest.iter().map(|word| word.text.as_str()), "au", &["--all", "--include-untracked"])
}

/// Patterns that stand for all that is in a folder, and of which each file is emptied by `>`.
fn emptied(suspects: &Suspects) -> Option<RemovingCommand> {
    let redirects = suspects.found.iter().flat_map(|command| &command.redirects);
    let is_pattern = |word: &ShellWord| suspects.variables.shapes(word).iter().any(|shape| shape.contains(STAR));
    let words = redirects.filter(|redirect| redirect.way == Way::Out && is_pattern(&redirect.target));
    let words: Vec<ShellWord> = words.map(|redirect| redirect.target.clone()).collect();
    (!words.is_empty()).then(|| RemovingCommand { words, spares_here: true, ..RemovingCommand::default() })
}

/// Folders right below the root that every system has.
const SYSTEMS_OWN: &str = "Applications Library System Users Volumes bin boot dev etc home lib lib64 media mnt nix opt \
    private proc root run sbin srv sys tmp usr var";

struct RemovalView<'a> {
    call: &'a Call,
    context: &'a Context,
    suspects: &'a Suspects,
    is_own: bool,
    spares_here: bool,
}

impl RemovalView<'_> {
    fn is_critical(&self, word: &ShellWord, from: &str) -> bool {
        // A part of the name of a folder that everybody has, with another end.
        let cuts_place = |piece: &Piece| matches!(piece, Piece::MadeOf(name, _) if matches!(name.as_str(), "PWD" | "HOME" | "OLDPWD"));
        let goes_on = |piece: &Piece| !matches!(piece, Piece::Text(text) if text.starts_with('/'));
        if word.pieces.windows(2).any(|pair| cuts_place(&pair[0]) && goes_on(&pair[1])) {
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

    fn is_critical_shape(&self, shape: &str, word: &ShellWord, from: &str) -> bool {
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
                return self.is_critical_if_empty(&folder) || word.pieces.iter().any(cuts_place);
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
    fn is_critical_if_empty(&self, folder: &str) -> bool {
        let behind = folder.trim_start_matches([ANY, OUTER]);
        if !behind.starts_with('/') || behind.contains([ANY, OUTER, STAR, ONE]) {
            return false;
        }
        let path = joined("/", behind);
        SYSTEMS_OWN.split_whitespace().any(|name| path[1..] == *name) || self.holds_a_place(&path)
    }

    /// Whether the home or a folder that one works in lies there.
    fn holds_a_place(&self, path: &str) -> bool {
        let here = [self.context.cwd.as_str(), &self.context.started];
        let mut places = here.into_iter().chain(self.context.home.as_deref());
        places.any(|place| self.context.both(place).any(|place| lies_in(place, path)))
    }

    /// The root, what is right below it, the home, and the folders that one works in or that these lie in.
    fn is_place(&self, path: &str) -> bool {
        let top = path.matches('/').count() == 1;
        let here = [self.context.cwd.as_str(), &self.context.started].into_iter().filter(|_| !self.spares_here);
        let mut places = here.chain(self.context.home.as_deref()).flat_map(|place| self.context.both(place));
        if is_literal(path) {
            return top || places.any(|place| lies_in(place, path));
        }
        // A pattern takes what it fits, part by part.
        let parts: Vec<&str> = path.split('/').collect();
        let fits = |place: &str| {
            let there: Vec<&str> = place.split('/').collect();
            parts.len() <= there.len() && parts.iter().zip(&there).all(|(part, name)| may_be(part, name))
        };
        top || places.any(fits)
    }
}

/// Whether a name ends with the link through which it would lead.
fn is_link_itself(shape: &str, led: &str) -> bool {
    led.ends_with('/') && !shape.ends_with('/')
}

fn is_made(piece: &Piece) -> bool {
    matches!(piece, Piece::Unknown)
}
