//! Programs that remove, or move away, and which of their words say what.

use crate::policy::commands::command::name_of;
use crate::policy::commands::reading::does_more;
use crate::policy::names::sought::whole_folders;
use crate::policy::shell::ShellWord;

/// Whether a variable that only the environment knows counts as anything: it does where nothing but removal is meant.
pub(crate) fn is_own(name: &str) -> bool {
    matches!(
        name,
        "rm" | "rmdir"
            | "unlink"
            | "shred"
            | "srm"
            | "wipe"
            | "trash"
            | "trash-put"
            | "trash-cli"
            | "rimraf"
            | "del-cli"
    )
}

/// The words of a command that name what it removes; none for a command that removes nothing.
pub(crate) fn removed(words: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    let (first, rest) = words.split_first()?;
    let names = || rest.iter().filter(|word| !word.is_flag());
    let has = |begin: &str| rest.iter().any(|word| word.text.starts_with(begin));
    let short = |letter: char| {
        rest.iter().any(|word| word.is_flag() && !word.text.starts_with("--") && word.text.contains(letter))
    };
    match name_of(&first.text) {
        name if is_own(name) => Some(names().collect()),
        "mv" => {
            let into = rest.iter().any(|word| word.text.starts_with("-t") || word.text.starts_with("--target"));
            let mut names: Vec<&ShellWord> = names().collect();
            // Each comes to where the other was.
            if !into && !has("--ex") {
                names.pop();
            }
            Some(names)
        }
        "exch" => Some(names().collect()),
        "find" if rest.iter().any(|word| does_more(&word.text) || may_be_option(word)) => {
            let deletes =
                has("-delete") || rest.iter().any(may_be_option) || rest.iter().any(|word| is_own(name_of(&word.text)));
            deletes.then(|| whole_folders(rest))
        }
        "tar" if has("--rem") => Some(names().collect()),
        "zip" if short('m') || has("--mo") => Some(names().collect()),
        "7z" | "7za" | "7zz" if has("-sdel") => Some(names().collect()),
        "gio" if rest.first().is_some_and(|word| matches!(word.text.as_str(), "trash" | "remove" | "move")) => {
            Some(names().skip(1).collect())
        }
        "rsync" if has("--rem") => Some(names().collect()),
        // Before the folder in which it removes stands at least what it copies.
        "rsync" if has("--del") => Some(names().skip(usize::from(names().count() > 1)).collect()),
        _ => None,
    }
}

/// Whether a pattern may stand for a file that is called as an option is: `-d*e`.
fn may_be_option(word: &ShellWord) -> bool {
    !word.is_literal && word.text.starts_with('-') && word.text.contains(['*', '?', '['])
}

/// The words of tools that remove a folder by an option or an order of theirs.
pub(super) fn removed_by_tools(name: &str, rest: &[ShellWord]) -> Option<Vec<ShellWord>> {
    let says = |said: &[&str]| rest.iter().any(|word| said.contains(&word.text.as_str()));
    let value = |word: &ShellWord| match word.text.split_once('=') {
        Some((_, value)) => Some(ShellWord::read(value.trim_matches(['"', '\'']))),
        None => (!word.is_flag()).then(|| word.clone()),
    };
    let names = || rest.iter().filter_map(value).collect::<Vec<_>>();
    let removes = match name {
        "cargo" => says(&["clean"]),
        "cmake" => says(&["remove_directory", "rm", "remove", "rename"]),
        "rclone" => says(&["purge", "delete", "sync", "move", "rmdirs"]),
        "tmpreaper" | "tmpwatch" => true,
        "virtualenv" => says(&["--clear"]),
        "pytest" | "py.test" => rest.iter().any(|word| word.text.starts_with("--basetemp")),
        "uv" => says(&["venv"]) && says(&["--clear", "-c"]),
        "fd" | "fdfind" => rest.iter().any(|word| is_own(name_of(&word.text))),
        _ => name.starts_with("python") && says(&["venv", "-mvenv"]) && says(&["--clear"]),
    };
    removes.then(names)
}

/// Whether a command without a name removes what is in the folder it is in.
pub(super) fn takes_the_folder(words: &[ShellWord]) -> bool {
    let name = words.first().map_or("", |word| name_of(&word.text));
    name == "find"
        && !words.iter().any(|word| matches!(word.text.as_str(), "." | "./"))
        && !words
            .iter()
            .skip(1)
            .take_while(|word| !does_more(&word.text))
            .any(|word| matches!(word.text.as_str(), "-name" | "-iname" | "-path" | "-regex" | "-empty" | "-type"))
}

/// Words by which programs are told to remove something.
const ORDERS: [&str; 15] = [
    "clean",
    "cleanup",
    "clear",
    "del",
    "delete",
    "destroy",
    "erase",
    "prune",
    "purge",
    "remove",
    "rm",
    "state=absent",
    "uninstall",
    "unlink",
    "wipe",
];

/// Programs that speak of removing in words of their own, or only copy, show and find what is called so.
pub(super) fn removes_no_folder(name: &str) -> bool {
    const ONES: &str = "aws az bat batcat code consul cp etcdctl eza exa fd fdfind gcloud gh glab install ln mongosh mysql \
        psql redis-cli scp sftp sqlite3 vault";
    ONES.split_whitespace().any(|one| one == name)
}

/// What ends one word of a text and begins another.
const ENDS: [char; 10] = [' ', ';', '&', '|', '(', ')', '"', '\'', '\n', '\t'];

/// Whether a word tells a program to remove something: an order, an option that is called like one, or one in a text.
pub(super) fn orders_removal(word: &ShellWord) -> bool {
    let text = word.text.to_lowercase();
    if let Some(option) = text.strip_prefix('-') {
        let name = option.split('=').next().unwrap_or_default();
        // `--rm` of docker takes away what it made itself.
        return ORDERS.iter().filter(|order| order.len() > 3).any(|order| name.contains(order));
    }
    // `remove-all` and `delete_all` as well.
    let orders = |part: &str| part.split(['-', '_']).next().is_some_and(|first| ORDERS.contains(&first));
    text.split(ENDS).any(|part| ORDERS.contains(&part) || orders(part))
}

/// The same where only a program that does nothing else counts, or what find removes.
pub(super) fn names_remover(word: &ShellWord) -> bool {
    word.text.split(ENDS).any(|part| is_own(name_of(part)) || part == "-delete")
}
