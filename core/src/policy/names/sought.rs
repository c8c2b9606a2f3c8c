//! Commands that print names of files, and what is done to the files that they find.

use super::handing::{Handing, marks};
use super::leaving_out::{left_out, stops_early};
use super::printing::{Printed, printed};
use crate::policy::commands::command::name_of;
use crate::policy::commands::erasing::{interprets, strings};
use crate::policy::commands::find_tests::{before_action, is_passed_over, limiting_names};
use crate::policy::commands::git_files::handles_files;
use crate::policy::commands::inert::started;
use crate::policy::commands::reading::{Reading, builds, does_more, reading};
use crate::policy::files::call::{Call, Context};
use crate::policy::files::folders::Folders;
use crate::policy::lines::starts::starts_behind_unknown;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::shell::{ANY, Joint, OUTER, STAR, ShellWord, Way};
use crate::policy::words::candidates::{as_pattern, patterns_in};
use crate::policy::words::path::{absolute, below, joined};
use crate::policy::words::processes::without_proc;
use crate::policy::words::values::{is_literal, may_be};

/// Folders through which find looks for files that something else is then done to.
pub(crate) struct Sought {
    pub(crate) folders: Vec<String>,
    /// What is done to them may be more than reading.
    pub(crate) may_change: bool,
    /// What the files are called; none for all.
    names: Vec<String>,
    /// The pattern that their whole paths are like; its stars stand for folders as well.
    shape: Option<String>,
    skips: Skips,
}

/// What a command that looks through folders passes over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Skips {
    Nothing,
    /// Names that begin with a dot.
    Hidden,
    /// What git keeps for itself.
    Git,
}

impl Sought {
    pub(crate) fn is_called(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
        let is_named = self.names.is_empty()
            || self.names.iter().any(|pattern| crate::policy::words::glob::segment_matches(pattern, &name));
        is_named && self.shape.as_deref().is_none_or(|shape| may_be(shape, path)) && !self.skips(path)
    }

    /// Whether it looks for few of the files that there may be, and for none of those whose names are protected.
    pub(crate) fn is_picky(&self) -> bool {
        !self.names.is_empty() || self.shape.is_some() || self.skips == Skips::Hidden
    }

    fn skips(&self, path: &str) -> bool {
        let below = self.folders.iter().filter_map(|folder| below(path, folder)).min_by_key(|below| below.len());
        let mut parts = below.unwrap_or_default().split('/');
        match self.skips {
            Skips::Nothing => false,
            Skips::Hidden => parts.any(|part| part.starts_with('.')),
            Skips::Git => parts.any(|part| part == ".git"),
        }
    }
}

/// Every folder in which a command of the line looks for files that something is then done to.
pub(crate) fn sought(suspects: &Suspects, call: &Call, context: &Context) -> Vec<Sought> {
    let handing = Handing::of(suspects);
    let consumed = suspects
        .found
        .iter()
        .any(|command| command.joint == Joint::Pipe && reading(&command.words) == Reading::Perhaps);
    let folders = Folders::of(suspects, call, context).all;
    let mut all = vec![];
    let tails = tails(suspects);
    let behind = |command: &'_ Found| starts_behind_unknown(&command.words).into_iter().chain([0]).collect::<Vec<_>>();
    for (command, at) in
        suspects.found.iter().flat_map(|command| behind(command).into_iter().map(move |at| (command, at)))
    {
        let words = started(&command.words[at..]);
        let Some((first, words)) = words.split_first() else { continue };
        let shapes =
            |words: &[&ShellWord]| words.iter().flat_map(|word| suspects.variables.spellings(word)).collect::<Vec<_>>();
        let is_handed = handing.printers.iter().any(|printer| std::ptr::eq(*printer, command));
        let is_changed = handing.taken == Reading::Perhaps;
        let found = match name_of(&first.text) {
            "find" => {
                let found = found_by_find(words, is_handed || command.is_nested || consumed, is_changed && is_handed);
                found.map(|(roots, sought)| (shapes(&roots), sought))
            }
            "fd" => {
                let found = found_by_fd(words, is_handed || command.is_nested || consumed, is_changed && is_handed);
                found.map(|(roots, sought)| (shapes(&roots), sought))
            }
            name if is_handed
                || command.is_nested && !tails.is_empty() && matches!(printed(command), Printed::Files) =>
            {
                printed_by(name, words, is_changed, suspects)
            }
            _ => None,
        };
        let Some((roots, mut sought)) = found else { continue };
        // Without a folder it begins here, and a variable may be empty.
        let is_nothing = |root: &String| root.chars().all(|c| matches!(c, ANY | OUTER));
        let roots = if roots.iter().all(is_nothing) { [roots, vec![".".to_owned()]].concat() } else { roots };
        let seen = |folder: &String| {
            let seen = roots.iter().filter_map(|root| absolute(root, folder, context.home.as_deref()));
            let made = seen.flat_map(|path| match call.expansion(&path) {
                Some(made) => made.to_vec(),
                None if is_literal(&path) => vec![without_proc(&path, folder)],
                None => vec![fixed_folder(&path)],
            });
            made.collect::<Vec<_>>()
        };
        sought.folders = folders.iter().flat_map(seen).collect();
        for (tail, may_change) in tails.iter().filter(|_| command.is_nested || is_handed) {
            let shape = Some(format!("{STAR}{tail}"));
            let (folders, may_change) = (sought.folders.clone(), *may_change);
            all.push(Sought { folders, may_change, names: vec![], shape, skips: Skips::Nothing });
        }
        all.push(sought);
    }
    all.extend(picked(suspects, &folders, context));
    all
}

/// What stands behind folders that something prints, as in `$(find . -name x)/key`, and whether it may be changed.
fn tails(suspects: &Suspects) -> Vec<(String, bool)> {
    let mut tails = vec![];
    if !suspects.found.iter().any(|command| command.is_nested || command.joint == Joint::Pipe) {
        return tails;
    }
    let marks = marks(suspects);
    for command in &suspects.found {
        let may_change = reading(&command.words) == Reading::Perhaps;
        let words = command.words.iter().skip(1).map(|word| (word, may_change));
        let redirects = command.redirects.iter().map(|redirect| (&redirect.target, redirect.way == Way::Out));
        for (word, may_change) in words.chain(redirects) {
            let shapes = suspects.variables.spellings(word).into_iter();
            let marked = |shape: String| marks.iter().fold(shape, |shape, mark| shape.replace(mark, &ANY.to_string()));
            let behind = shapes.map(marked).filter_map(|shape| Some(shape.rsplit_once(ANY)?.1.to_owned()));
            tails.extend(behind.filter(|tail| tail.starts_with('/') && tail.len() > 1).map(|tail| (tail, may_change)));
        }
    }
    tails.truncate(MOST_TAILS);
    tails
}

/// More of them are not looked for: each is looked for in all folders that are gone through.
const MOST_TAILS: usize = 8;

/// The folders that find looks through and what it looks for, where something is done to it.
fn found_by_find(words: &[ShellWord], is_read: bool, is_changed: bool) -> Option<(Vec<&ShellWord>, Sought)> {
    let executed = words.iter().position(|word| does_more(&word.text));
    let runs = executed.map(|at| words.get(at + 1..).unwrap_or_default());
    let changes = runs
        .is_some_and(|runs| words[executed.unwrap_or_default()].text == "-delete" || reading(runs) == Reading::Perhaps);
    if executed.is_none() && !is_read {
        return None;
    }
    let roots = roots(words);
    let names = limiting_names(words);
    let may_change = changes || is_changed;
    Some((roots, Sought { folders: vec![], may_change, names, shape: None, skips: Skips::Nothing }))
}

/// The folders that find looks through. What stands behind the first test is a test.
fn roots(words: &[ShellWord]) -> Vec<&ShellWord> {
    let is_test =
        |word: &ShellWord| word.text.starts_with(['-', '(', '!']) && !matches!(word.text.as_str(), "-L" | "-P" | "-H");
    words.iter().take_while(|word| !is_test(word)).filter(|word| !word.is_flag()).collect()
}

/// Those of them that may be meant as a whole: in the folder one works in something is picked.
pub(crate) fn whole_folders(words: &[ShellWord]) -> Vec<&ShellWord> {
    let picks = picks(words);
    roots(words).into_iter().filter(|root| !picks || !matches!(root.text.as_str(), "." | "./")).collect()
}

/// Whether find looks for some files, and not for all.
pub(crate) fn picks(words: &[ShellWord]) -> bool {
    before_action(words).iter().any(|word| {
        matches!(
            word.text.as_str(),
            "-name" | "-iname" | "-path" | "-regex" | "-empty" | "-type" | "-mtime" | "-maxdepth"
        )
    })
}

/// The same for fd, which takes a pattern before the folders.
fn found_by_fd(words: &[ShellWord], is_read: bool, is_changed: bool) -> Option<(Vec<&ShellWord>, Sought)> {
    let runs = |word: &ShellWord| matches!(word.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
    let executed = words.iter().position(runs);
    if executed.is_none() && !is_read {
        return None;
    }
    let own = &words[..executed.unwrap_or(words.len())];
    let changes = executed.is_some_and(|at| reading(words.get(at + 1..).unwrap_or_default()) == Reading::Perhaps);
    let valued = ["-t", "-e", "-E", "-d", "-S", "--type", "--extension", "--exclude", "--max-depth", "--size"];
    let is_value = |at: usize| at.checked_sub(1).is_some_and(|at| valued.contains(&own[at].text.as_str()));
    let operands = own.iter().enumerate().filter(|(at, word)| !word.is_flag() && !is_value(*at));
    let roots = operands.map(|(_, word)| word).skip(1).collect();
    let all = own.iter().any(|word| word.is_flag() && word.text.contains(['H', 'u', 'h']));
    let skips = if all { Skips::Nothing } else { Skips::Hidden };
    let may_change = changes || is_changed;
    Some((roots, Sought { folders: vec![], may_change, names: vec![], shape: None, skips }))
}

/// The folders of which another command prints names of files.
fn printed_by(name: &str, words: &[ShellWord], may_change: bool, suspects: &Suspects) -> Option<(Vec<String>, Sought)> {
    let has = |letters: &[char]| {
        words.iter().any(|word| word.is_flag() && !word.text.starts_with("--") && word.text.contains(letters))
    };
    let long = |begin: &str| words.iter().any(|word| word.text.starts_with(begin));
    let skips = match name {
        "ls" | "tree" if !has(&['a', 'A', 'f']) && !long("--al") => Skips::Hidden,
        "rg" | "ag" if !has(&['u', '.']) && !long("--hid") && !long("--no-ig") && !long("--unr") => Skips::Hidden,
        "git" => Skips::Git,
        _ => Skips::Nothing,
    };
    let included = words.iter().filter_map(|word| word.text.strip_prefix("--include="));
    let names = included.map(str::to_lowercase).collect();
    let takes = |flag: &ShellWord| {
        let flags = ["-g", "--glob", "--iglob", "-t", "--type", "-T", "-e", "-f", "-A", "-B", "-C", "-m", "-j", "-I"];
        match name {
            "ls" | "tree" | "du" => takes_a_value(name, &flag.text),
            _ => flags.contains(&flag.text.as_str()),
        }
    };
    let is_value = |at: usize| at.checked_sub(1).is_some_and(|at| takes(&words[at]));
    let named = words.iter().enumerate().filter(|(at, word)| !word.is_flag() && !is_value(*at));
    let named = named.flat_map(|(_, word)| match word.is_known() {
        true => vec![word.text.clone()],
        false => suspects.variables.spellings(word),
    });
    let named: Vec<String> = named.collect();
    let mut shape = None;
    let roots = match name {
        // Versions, or patterns of its own.
        "git" => {
            let pattern = named.iter().find(|text| text.contains('*')).map(|text| text.replace('*', &STAR.to_string()));
            // What is left out leaves the rest; what is escaped, or a class of letters, is not read here.
            let is_odd =
                |text: &String| text.starts_with(":!") || text.starts_with(":^") || text.contains(['\\', '(', '[']);
            let leaves_out = words.iter().any(|word| word.text.starts_with("-x") || word.text.starts_with("--excl"));
            shape = pattern
                .filter(|_| named.len() == 2 && !leaves_out && !named.iter().any(is_odd))
                .map(|pattern| format!("{STAR}{pattern}"));
            vec![]
        }
        // A pattern of the shell's, and what lies in the folders that it stands for.
        "ls" if named.len() == 1 && named[0].contains(['*', '?', '[']) => {
            shape = Some(format!("{STAR}/{}{STAR}", as_pattern(&named[0])));
            vec![]
        }
        // The pattern is one of these, and no folder.
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" if named.len() < 2 && !long("--files") => vec![],
        _ => named.iter().map(|name| as_pattern(name)).collect(),
    };
    Some((roots, Sought { folders: vec![], may_change, names, shape, skips }))
}

/// Options of programs that list folders, with a value in the next word.
fn takes_a_value(name: &str, flag: &str) -> bool {
    let longs = [
        "--width",
        "--ignore",
        "--hide",
        "--sort",
        "--time",
        "--block-size",
        "--indicator-style",
        "--quoting-style",
        "--time-style",
        "--format",
        "--tabsize",
        "--exclude",
        "--max-depth",
        "--threshold",
        "--exclude-from",
    ];
    let letters: &[char] = match name {
        "ls" => &['I', 'T', 'w'],
        "tree" => &['L', 'P', 'I', 'H', 'T', 'o'],
        _ => &['B', 'd', 't', 'X'],
    };
    longs.contains(&flag) || !flag.starts_with("--") && flag.ends_with(letters)
}

/// What programs pick themselves, by patterns that stand in quotes for the shell.
fn picked(suspects: &Suspects, folders: &[String], context: &Context) -> Vec<Sought> {
    let mut all = vec![];
    for command in &suspects.found {
        let may_change = reading(&command.words) == Reading::Perhaps;
        let mut patterns = own_patterns(command, suspects);
        patterns.retain(|name| !is_literal(name));
        // What code looks for at any depth.
        if interprets(&command.words) && says_glob(command) {
            patterns.extend(strings(command).iter().map(|text| format!("{STAR}{}", as_pattern(text))));
        }
        patterns.extend(in_angles(command));
        if patterns.is_empty() {
            continue;
        }
        for folder in folders {
            let seen = patterns.iter().filter_map(|pattern| absolute(pattern, folder, context.home.as_deref()));
            all.extend(seen.map(|shape| Sought {
                folders: vec![fixed_folder(&shape)],
                may_change,
                names: vec![],
                shape: Some(shape),
                skips: Skips::Nothing,
            }));
        }
    }
    all
}

/// What perl takes for a pattern of file names: `<s*/key>`.
fn in_angles(command: &Found) -> Vec<String> {
    let is_perl = command.words.iter().take(4).any(|word| name_of(&word.text).starts_with("perl"));
    let texts = command.words.iter().map(|word| &word.text).chain(&command.given).filter(|_| is_perl);
    let angles = texts.flat_map(|text| text.split('<').skip(1).filter_map(|behind| behind.split_once('>')));
    let is_pattern = |text: &&str| text.contains(['*', '?', '[', '{', '~']) && !text.contains([' ', '(', ';', '=']);
    angles.map(|(text, _)| text).filter(is_pattern).map(as_pattern).collect()
}

fn says_glob(command: &Found) -> bool {
    command.words.iter().map(|word| &word.text).chain(&command.given).any(|text| text.contains("glob"))
}

/// What a program makes of patterns that stand in quotes for the shell, where it may take them for some.
pub(crate) fn own_patterns(command: &Found, suspects: &Suspects) -> Vec<String> {
    let words = started(&command.words);
    let Some((first, rest)) = words.split_first() else { return vec![] };
    let name = name_of(&first.text);
    let is_git = name == "git" && handles_files(words);
    if !is_git && (reading(&command.words) != Reading::Perhaps || builds(name)) {
        return vec![];
    }
    // git takes a backslash for what keeps a letter as it is.
    let plain = |shape: String| if is_git { shape.replace('\\', "").replace("[^", "[!") } else { shape };
    let shapes = |word: &ShellWord| suspects.variables.spellings(word).into_iter().map(plain).collect::<Vec<_>>();
    let left_out = left_out(&command.words, || stops_early(command, suspects));
    let before = command.words.len() - rest.len();
    let is_left_out = |at: usize| left_out.iter().any(|left| left.at == before + at) || is_passed_over(words, at + 1);
    let taken = rest.iter().enumerate().filter(|(at, _)| !is_left_out(*at)).map(|(_, word)| word);
    taken.flat_map(|word| shapes(word).into_iter().flat_map(|shape| patterns_in(word, &shape))).collect()
}

/// The folder in which all lies that a pattern stands for.
pub(crate) fn fixed_folder(shape: &str) -> String {
    let mut fixed: Vec<&str> = shape.split('/').take_while(|part| is_literal(part)).collect();
    if fixed.len() == shape.split('/').count() {
        fixed.pop();
    }
    joined("/", &fixed.join("/"))
}
