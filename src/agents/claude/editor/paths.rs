//! Which file a path means.

use std::path::{Component, Path, PathBuf};

/// Where a path leads when its links are followed, also where the end of it is not there yet. None for a path that is not
/// absolute or climbs over what is not there.
pub(super) fn real(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    let mut missing = vec![];
    let mut there = path;
    loop {
        match there.canonicalize() {
            Ok(found) => return Some(missing.into_iter().rev().fold(found, |path, part| path.join(part))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
        // A link that leads nowhere yet would lead somewhere else once the file is written.
        if there.symlink_metadata().is_ok() {
            return None;
        }
        match there.components().next_back()? {
            Component::Normal(name) => missing.push(name),
            _ => return None,
        }
        there = there.parent()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_is_followed_as_far_as_it_is_there_and_a_link_to_nothing_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("in")).unwrap();
        symlink(root.join("in"), root.join("link")).unwrap();
        symlink(root.join("nowhere"), root.join("dangling")).unwrap();
        assert_eq!(real(&root.join("link/a/b.txt")), Some(root.join("in/a/b.txt")));
        assert_eq!(real(&root.join("in/../in/x")), Some(root.join("in/x")));
        for none in [root.join("dangling"), root.join("dangling/x"), root.join("missing/../x"), "x".into()] {
            assert_eq!(real(&none), None, "{none:?}");
        }
    }
}
