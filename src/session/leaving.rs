//! Which files of an agent may be shown to people: those of the working folder, and never one that holds secrets.

use std::fs::File;
use std::path::{Component, Path, PathBuf};

use portcullis_core::SentFile;
use portcullis_core::policy::is_protected_name;

use crate::files::{LARGEST_FILE, MOST_FILES, open_plain};

/// Folders and files that hold secrets, besides those whose change is always asked for.
const SECRET: [&str; 7] = [".aws", ".kube", ".docker", ".config", ".git-credentials", "id_rsa", "id_ed25519"];
const SECRET_ENDINGS: [&str; 5] = [".pem", ".key", ".p12", ".pfx", ".kdbx"];

/// Checks every path and opens what will be sent, or says why not. What was opened is what was checked.
pub(super) fn check(folder: &Path, paths: &[String]) -> Result<Vec<(SentFile, File)>, String> {
    if paths.len() > MOST_FILES {
        return Err(format!("a reply takes at most {MOST_FILES} files"));
    }
    paths.iter().map(|path| open_in(folder, Path::new(path)).map_err(|why| format!("{path} {why}"))).collect()
}

/// Opens a file that may leave, or says why it may not.
pub(super) fn open_in(folder: &Path, path: &Path) -> Result<(SentFile, File), String> {
    let folder =
        folder.canonicalize().map_err(|error| format!("is not sent: the working folder cannot be read: {error}"))?;
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    // Links are followed first: what counts is the file that would leave.
    let file: PathBuf = folder.join(path).canonicalize().map_err(cannot)?;
    let Ok(inside) = file.strip_prefix(&folder) else {
        return Err(format!("is outside of the working folder {}", folder.display()));
    };
    if is_protected(inside) {
        return Err("is protected and is not sent".to_owned());
    }
    let open = open_plain(&file).map_err(cannot)?;
    let about = open.metadata().map_err(cannot)?;
    if about.len() > LARGEST_FILE as u64 {
        return Err(format!("is larger than {LARGEST_FILE} bytes"));
    }
    Ok((SentFile { path: file.display().to_string(), size: about.len() }, open))
}

fn is_protected(inside: &Path) -> bool {
    let mut parts = inside.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return true };
        let name = name.to_string_lossy().to_lowercase();
        let is_protected = is_protected_name(&name, parts.peek().is_none())
            || SECRET.contains(&name.as_str())
            || name.starts_with(".env")
            || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending));
        if is_protected {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_plain_files_of_the_working_folder_leave() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret.txt"), "x").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let here = |name: &str| folder.path().join(name);
        fs::create_dir_all(here(".git")).unwrap();
        fs::create_dir_all(here("docs")).unwrap();
        fs::create_dir_all(here(".cargo")).unwrap();
        for name in
            ["a.txt", "docs/b.txt", ".git/config", ".env", ".env.local", "server.PEM", ".cargo/x.toml", ".yarnrc.yml"]
        {
            fs::write(here(name), "abc").unwrap();
        }
        std::os::unix::fs::symlink(outside.path().join("secret.txt"), here("link.txt")).unwrap();
        std::os::unix::fs::symlink(here(".env"), here("innocent.txt")).unwrap();

        let check = |path: &str| check(folder.path(), &[path.to_owned()]);
        assert_eq!(check("a.txt").unwrap()[0].0.size, 3);
        assert!(check("docs/../docs/b.txt").is_ok());
        assert!(check(&here("a.txt").display().to_string()).is_ok());
        for wrong in [
            "link.txt",
            "innocent.txt",
            ".git/config",
            ".env",
            ".env.local",
            "server.PEM",
            ".cargo/x.toml",
            ".yarnrc.yml",
            "docs",
            "missing",
            "../x",
            "/etc/passwd",
        ] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
        assert!(super::check(folder.path(), &vec!["a.txt".to_owned(); 11]).is_err());
    }
}
