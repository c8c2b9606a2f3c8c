//! Files that a program names after the address it loads: `wget https://h/.npmrc`, `git clone h:x/.claude`.

use crate::policy::commands::command::name_of;
use crate::policy::commands::git_files::{odd_reference, subcommand};
use crate::policy::commands::inert::started;
use crate::policy::lines::suspects::Suspects;
use crate::policy::shell::{ONE, OUTER, ShellWord};
use crate::policy::words::candidates::{as_pattern, names_in, percent_decoded};
use crate::policy::words::options;

/// More folders than this are not tried.
const MOST_FOLDERS: usize = 16;

/// The names that a command may give to what it loads, as shapes: in the folder it is in, and in each that it names.
pub(crate) fn saved_as(words: &[ShellWord], suspects: &Suspects) -> Vec<String> {
    let Some((first, rest)) = started(words).split_first() else { return vec![] };
    let texts = || rest.iter().map(|word| word.text.as_str());
    let name = name_of(&first.text);
    if let Some(reference) = odd_reference(rest).filter(|_| name == "git") {
        let shapes = suspects.variables.shapes(&reference).into_iter().filter(|shape| !shape.starts_with(OUTER));
        return shapes.map(|shape| format!(".git/{shape}")).collect();
    }
    let takes_names = match name {
        "curl" => options::has(texts(), "OJ", &["--remote-name", "--remote-header-name"]),
        "wget" | "wget2" => !options::has(texts(), "O", &["--output-document"]),
        "git" => matches!(subcommand(rest), Some(("clone" | "submodule" | "subtree", _))),
        "gh" => texts().any(|word| matches!(word, "clone" | "download" | "checkout")),
        _ => true,
    };
    if !takes_names {
        return vec![];
    }
    // These take an address without a scheme as well.
    let loads = matches!(name, "curl" | "wget" | "wget2" | "git" | "gh" | "hg" | "svn" | "aria2c" | "axel" | "http");
    let shapes: Vec<String> = rest.iter().flat_map(|word| suspects.variables.spellings(word)).collect();
    let is_address = |shape: &&String| shape.contains("://") || loads && !shape.starts_with('-');
    let saved: Vec<String> = shapes.iter().filter(is_address).flat_map(|address| last_parts(address)).collect();
    let folders = shapes.iter().filter(|shape| !shape.contains("://")).flat_map(|shape| names_in(shape));
    let folders: Vec<String> =
        folders.filter(|folder| !folder.is_empty() && !folder.starts_with('-')).take(MOST_FOLDERS).collect();
    let below = folders.iter().flat_map(|folder| saved.iter().map(move |name| format!("{folder}/{name}")));
    saved.iter().cloned().chain(below).collect()
}

/// The words that name files with addresses in them, which a command loads all of; none where it reads no such list.
pub(crate) struct AddressLists<'line> {
    pub(crate) words: Vec<&'line ShellWord>,
    /// What it is given as input is such a list, or one that is not made of lines.
    pub(crate) is_unknown: bool,
}

/// The lists of addresses that a command loads and saves by the names in them.
pub(crate) fn address_lists(words: &[ShellWord]) -> Option<AddressLists<'_>> {
    let (first, rest) = started(words).split_first()?;
    let name = name_of(&first.text);
    // Letters that may stand before it in one word, because they have no value.
    let (lone, long) = match name {
        "wget" | "wget2" => ("46EFHKLNSbcdkmpqrvx", "--input-file"),
        "aria2c" => ("cqVZ", "--input-file"),
        "curl" => ("", "--url"),
        _ => return None,
    };
    let texts = || rest.iter().map(|word| word.text.as_str());
    if name.starts_with("wget") && options::has(texts(), "O", &["--output-document"]) {
        return None;
    }
    let mut lists = AddressLists { words: vec![], is_unknown: false };
    for (at, word) in rest.iter().enumerate() {
        let bundle = word.text.strip_prefix('-').filter(|text| !text.starts_with('-') && name != "curl");
        let short = bundle.and_then(|text| text.trim_start_matches(|c| lone.contains(c)).strip_prefix('i'));
        let value = short.or_else(|| options::value(&word.text, "", &[long]));
        let Some(value) = value else { continue };
        let list = if value.is_empty() { rest.get(at + 1) } else { Some(word) };
        let Some(list) = list else { continue };
        let text = if value.is_empty() { list.text.as_str() } else { value };
        if name == "curl" && !text.starts_with('@') {
            continue;
        }
        if matches!(text.trim_start_matches('@'), "-" | "/dev/stdin") || text.contains("://") {
            lists.is_unknown = true;
        } else {
            lists.words.push(list);
        }
    }
    // Links of a page are no lines.
    let is_page = name.starts_with("wget") && options::has(texts(), "F", &["--force-html"]);
    lists.is_unknown |= is_page && !lists.words.is_empty();
    (lists.is_unknown || !lists.words.is_empty()).then_some(lists)
}

/// The last part of the path in an address, with what programs make of letters and lists in it.
pub(crate) fn last_parts(address: &str) -> Vec<String> {
    let path = address.split(['?', '#', ONE]).next().unwrap_or_default().trim_end_matches('/');
    let (made, _) = ShellWord::plain(path).unbraced();
    let mut names = vec![];
    for path in made {
        let last = path.rsplit(['/', ':']).next().unwrap_or_default();
        let last = as_pattern(&percent_decoded(last));
        names.extend(last.strip_suffix(".git").filter(|name| !name.is_empty()).map(str::to_owned));
        names.push(last);
    }
    names.retain(|name| !name.is_empty());
    names
}
