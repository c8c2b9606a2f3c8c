//! Paths as text: absolute, without dots, with `/` between their parts. Nothing here looks at a disk.

/// What is written, seen from a folder: absolute, without `.` and `..`.
///
/// `~/x` needs a home, `~ann/x` cannot be known; both are none when they cannot be told.
pub fn absolute(written: &str, from: &str, home: Option<&str>) -> Option<String> {
    if written.contains('\0') {
        return None;
    }
    match written.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => home.map(|home| joined(home, rest)),
        Some(_) => None,
        None if written.starts_with('/') => Some(joined("/", written)),
        None => Some(joined(from, written)),
    }
}

/// A folder and a path below it as one path without dots. A `..` at the root stays there, as it does on a disk.
pub(crate) fn joined(folder: &str, below: &str) -> String {
    let mut parts: Vec<&str> = vec![];
    for part in folder.split('/').chain(below.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether only a disk can tell what is meant: `link/..` is above where the link leads.
pub(crate) fn has_dots(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// What is written, seen from a folder, with its `..` for whoever can follow links before them.
pub(crate) fn with_dots(written: &str, from: &str, home: Option<&str>) -> String {
    let whole = match written.strip_prefix('~') {
        Some(below) => format!("{}{below}", home.unwrap_or_default()),
        None if written.starts_with('/') => written.to_owned(),
        None => format!("{from}/{written}"),
    };
    let parts: Vec<&str> = whole.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    format!("/{}", parts.join("/"))
}

/// Whether a path is the folder or lies in it. Both without dots.
pub(crate) fn lies_in(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path below a folder, without a leading slash; empty for the folder itself.
pub(crate) fn below<'path>(path: &'path str, folder: &str) -> Option<&'path str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    match rest.strip_prefix('/') {
        Some(rest) => Some(rest),
        None => rest.is_empty().then_some(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_gone_and_the_root_is_the_top() {
        let absolute = |written| absolute(written, "/w/p", Some("/home/ann"));
        for (written, path) in [
            ("a", "/w/p/a"),
            ("./a//b/", "/w/p/a/b"),
            ("../x", "/w/x"),
            ("../../../..", "/"),
            ("/etc/../x", "/x"),
            ("~", "/home/ann"),
            ("~/.ssh", "/home/ann/.ssh"),
            ("", "/w/p"),
        ] {
            assert_eq!(absolute(written).as_deref(), Some(path), "{written}");
        }
        assert_eq!(absolute("~root/x"), None);
        assert_eq!(super::absolute("~/x", "/w", None), None);
    }

    #[test]
    fn a_neighbour_with_the_same_beginning_is_outside() {
        assert!(lies_in("/w/p", "/w/p") && lies_in("/w/p/a", "/w/p") && lies_in("/a", "/"));
        assert!(!lies_in("/w/pq", "/w/p") && !lies_in("/w", "/w/p"));
        assert_eq!(below("/w/p/a/b", "/w/p"), Some("a/b"));
        assert_eq!(below("/w/pq", "/w/p"), None);
        assert_eq!(below("/a", "/"), Some("a"));
    }
}
