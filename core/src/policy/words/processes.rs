//! Names that lead through what a process sees of the disk: `/proc/self/root/x` is `/x`, `/proc/self/cwd/x` is `x`, and
//! `/dev/fd/3/x` lies in a folder that something opened.

use super::path::joined;
use super::shapes::{is_literal, may_be};
use crate::policy::shell::{ANY, OUTER};

/// Such a name may lead through such names.
const DEEPEST: usize = 8;

/// What a name through a process means, seen from a folder. What the shell puts right behind `root` is a name of its own:
/// in `/proc/self/root$HOME` it is a whole path.
pub(crate) fn without_proc(name: &str, from: &str) -> String {
    let mut name = without_dots_before(name);
    for _ in 0..DEEPEST {
        let Some(place) = place_in(&name) else { break };
        let (folder, below) = match (place.strip_prefix("root"), place.strip_prefix("cwd")) {
            (Some(below), _) => ("", below),
            (None, Some(below)) => (from, below),
            (None, None) => break,
        };
        name = match below.chars().next() {
            None => format!("{folder}/"),
            Some('/') => format!("{folder}{below}"),
            Some('~' | ANY | OUTER) => below.to_owned(),
            // The folder one is in.
            Some('.') => format!("{from}/{below}"),
            Some(_) => break,
        };
    }
    name
}

/// Whether nobody can tell which folder a name leads through: one that was opened before, or one that a part of the name
/// says which is not certain.
pub(crate) fn is_open(name: &str) -> bool {
    let name = joined("/", name);
    let is_below = |rest: &str| rest.split_once('/').is_some_and(|(_, below)| !below.is_empty());
    if name.strip_prefix("/dev/fd/").is_some_and(is_below) {
        return true;
    }
    let Some(place) = place_in(&name) else { return false };
    let (place, below) = place.split_once('/').unwrap_or((place, ""));
    let place = place.split(['~', '.']).next().unwrap_or_default();
    match is_literal(place) && !place.contains(OUTER) {
        true => place == "fd" && is_below(below),
        false => ["root", "cwd", "fd"].iter().any(|known| may_be(&place.replace(OUTER, &ANY.to_string()), known)),
    }
}

/// A name without the dots before `root` or `cwd`, where the shell puts something right behind it.
fn without_dots_before(name: &str) -> String {
    let is_glued = |part: &str| {
        let behind = part.strip_prefix("root").or_else(|| part.strip_prefix("cwd")).unwrap_or_default();
        behind.starts_with(['~', '.', ANY, OUTER])
    };
    let parts: Vec<&str> = name.split('/').collect();
    match parts.iter().position(|part| is_glued(part)).filter(|_| name.starts_with('/')) {
        Some(at) => format!("{}/{}", joined("/", &parts[..at].join("/")), parts[at..].join("/")),
        None => name.to_owned(),
    }
}

/// What stands behind the process in a name below `/proc`.
fn place_in(name: &str) -> Option<&str> {
    let parts = |text: &'_ str| text.trim_start_matches(['/']).len();
    let mut rest = name.strip_prefix('/')?;
    loop {
        rest = &rest[rest.len() - parts(rest)..];
        match rest.strip_prefix("./") {
            Some(behind) => rest = behind,
            None => break,
        }
    }
    let (_process, rest) = rest.strip_prefix("proc/")?.trim_start_matches('/').split_once('/')?;
    let rest = rest.trim_start_matches('/');
    let thread = rest.strip_prefix("task/").and_then(|task| task.split_once('/'));
    Some(thread.map_or(rest, |(_thread, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_through_a_process_is_what_lies_behind_it() {
        for (name, means) in [
            ("/proc/self/root/a", "/a"),
            ("//proc//1/root/a", "/a"),
            ("/proc/self/root", "/"),
            ("/proc/self/root~/a", "~/a"),
            ("/proc/self/root./a", "/w/./a"),
            ("/proc/self/cwd/a", "/w/a"),
            ("/proc/self/task/1/root/proc/2/cwd/a", "/w/a"),
            ("/dev/../proc/self/root~/../a", "~/../a"),
            ("/proc/self/rootfs/a", "/proc/self/rootfs/a"),
            ("/proc/meminfo", "/proc/meminfo"),
            ("proc/self/root/a", "proc/self/root/a"),
        ] {
            assert_eq!(without_proc(name, "/w"), means, "{name}");
        }
        for name in [
            "/dev/fd/3/a",
            "/proc/self/fd/3/a",
            "/proc/self/\u{10ffff}/a",
            "/proc/1/c\u{1fffe}d/a",
            "/proc/1/r\u{10fffe}t~",
        ] {
            assert!(is_open(name), "{name}");
        }
        for name in ["/dev/fd/3", "/proc/self/fd/3", "/proc/self/status", concat!("/proc/\u{2fffe}/", "root/a"), "/a"] {
            assert!(!is_open(name), "{name}");
        }
    }
}
