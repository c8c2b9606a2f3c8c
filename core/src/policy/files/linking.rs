//! Links that a line makes itself: what they lead to counts from the folder of the link, and `..` behind one is above where
//! it leads.

use super::folders::targets;
use crate::policy::commands::command::name_of;
use crate::policy::commands::erasing::{interprets, strings};
use crate::policy::commands::inert::started;
use crate::policy::lines::suspects::Found;
use crate::policy::shell::ShellWord;
use crate::policy::words::options;
use crate::policy::words::path::has_dots;

/// More texts in code than this are not taken for links and what they lead to.
const MOST: usize = 12;

/// A link: what it says, and its own name.
struct Link {
    says: String,
    name: String,
}

/// The links that a command makes.
fn made_by(command: &Found) -> Vec<Link> {
    let words = started(&command.words);
    let Some((first, rest)) = words.split_first() else { return vec![] };
    let texts = || rest.iter().map(|word| word.text.as_str());
    let link = |says: &str, name: &str| Link { says: says.to_owned(), name: name.to_owned() };
    let is_link = match name_of(&first.text) {
        "ln" | "link" => true,
        "cp" => options::has(texts(), "s", &["--symbolic-link"]),
        _ => false,
    };
    if is_link {
        let into = rest.iter().position(|word| matches!(word.text.as_str(), "-t" | "--target-directory"));
        let into = into.and_then(|at| rest.get(at + 1)).map(|word| format!("{}/x", word.text));
        let glued =
            texts().find_map(|text| text.strip_prefix("--target-directory=")).map(|folder| format!("{folder}/x"));
        let mut names: Vec<&str> = rest.iter().filter(|word| !word.is_flag()).map(|word| word.text.as_str()).collect();
        let name = match into.or(glued) {
            Some(name) => name,
            None if names.len() < 2 => name_of(names.first().copied().unwrap_or_default()).to_owned(),
            None => names.pop().unwrap_or_default().to_owned(),
        };
        return names.into_iter().map(|says| link(says, &name)).collect();
    }
    let says_link = |text: &str| text.contains("symlink");
    if !interprets(words) || !texts().chain(command.given.iter().map(String::as_str)).any(says_link) {
        return vec![];
    }
    let strings: Vec<String> = strings(command).into_iter().take(MOST).collect();
    let pairs = strings.iter().flat_map(|says| strings.iter().map(move |name| (says, name)));
    pairs.filter(|(says, name)| says != name).map(|(says, name)| link(says, name)).collect()
}

/// What the links that a line makes lead to, besides what they say: from their folder, and from themselves where they are one.
pub(super) fn led_to(found: &[Found]) -> Vec<String> {
    let mut names = vec![];
    for Link { says, name } in found.iter().flat_map(made_by) {
        if says.is_empty() || says.starts_with(['/', '~', '$']) {
            continue;
        }
        let folder = name.trim_end_matches('/').rsplit_once('/').map_or("", |(folder, _)| folder);
        if !folder.is_empty() {
            names.push(format!("{folder}/{says}"));
        }
        names.push(format!("{name}/{says}"));
    }
    names.sort();
    names.dedup();
    names
}

/// What a shape is where it goes through a link that the line makes.
pub(crate) fn through_links(shape: &str, found: &[Found]) -> Vec<String> {
    let parts: Vec<&str> = shape.split('/').collect();
    let mut led = vec![];
    for Link { says, name } in found.iter().flat_map(made_by) {
        let (link, own) =
            (name_of(name.trim_end_matches('/')).to_owned(), name_of(says.trim_end_matches('/')).to_owned());
        for (at, _) in
            parts.iter().enumerate().filter(|(_, part)| !part.is_empty() && (**part == link || **part == own))
        {
            let below = parts[at + 1..].join("/");
            let folder = name.trim_end_matches('/').rsplit_once('/').map_or("", |(folder, _)| folder);
            let to = match says.starts_with(['/', '~']) || folder.is_empty() {
                true => says.clone(),
                false => format!("{folder}/{says}"),
            };
            led.push(format!("{}/{below}", to.trim_end_matches('/')));
        }
    }
    led
}

/// The same for removals: a link may be moved with its folder, and then leads elsewhere.
pub(crate) fn led_to_anywhere(found: &[Found]) -> Vec<String> {
    let mut names = led_to(found);
    for Link { says, .. } in found.iter().flat_map(made_by) {
        let mut rest = says.as_str();
        while let Some(behind) = rest.strip_prefix("../") {
            names.push(behind.to_owned());
            rest = behind;
        }
    }
    names
}

/// Whether `..` stands behind a link that the line makes, or a command goes to one and `..` stands somewhere.
pub(crate) fn goes_above(found: &[Found]) -> bool {
    let made: Vec<(usize, Link)> = found
        .iter()
        .enumerate()
        .flat_map(|(at, command)| made_by(command).into_iter().map(move |link| (at, link)))
        .collect();
    if made.is_empty() {
        return false;
    }
    let is_called = |part: &str| {
        let is_name = |link: &Link| part == name_of(link.name.trim_end_matches('/')) || part == name_of(&link.says);
        !matches!(part, "" | "." | "..") && made.iter().any(|(_, link)| is_name(link))
    };
    let is_maker = |at: usize| made.iter().any(|(maker, _)| *maker == at);
    let others = || found.iter().enumerate().filter(|(at, _)| !is_maker(*at)).map(|(_, command)| command);
    let climbs = |word: &ShellWord| {
        let mut parts = word.text.split(['/', '=']).skip_while(|part| !is_called(part));
        parts.any(|part| part == "..")
    };
    let enters = |command: &Found| targets(&command.words).iter().any(|to| to.text.split('/').any(is_called));
    others().any(|command| command.words.iter().any(climbs))
        || others().any(enters) && others().any(|command| command.words.iter().any(|word| has_dots(&word.text)))
}
