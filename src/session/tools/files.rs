//! Which files a reply may name: those of the working folder, and never one that holds secrets.

use std::path::{Component, Path, PathBuf};

use portcullis_core::SentFile;

const MOST_FILES: usize = 10;
const LARGEST: u64 = 50 << 20;

/// Folders and files that hold secrets, or that decide what the agent may do.
const PROTECTED: [&str; 15] = [
    ".git",
    ".claude",
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    ".config",
    ".mcp.json",
    ".npmrc",
    ".netrc",
    ".pypirc",
    ".git-credentials",
    "id_rsa",
    "id_ed25519",
];
const PROTECTED_ENDINGS: [&str; 5] = [".pem", ".key", ".p12", ".pfx", ".kdbx"];

/// Checks every path and says what will be sent, or why not.
pub(super) fn check(folder: &Path, paths: &[String]) -> Result<Vec<SentFile>, String> {
    if paths.len() > MOST_FILES {
        return Err(format!("a reply takes at most {MOST_FILES} files"));
    }
    paths.iter().map(|path| check_one(folder, path)).collect()
}

fn check_one(folder: &Path, path: &str) -> Result<SentFile, String> {
    let folder = folder.canonicalize().map_err(|error| format!("the working folder cannot be read: {error}"))?;
    // Links are followed first: what counts is the file that would leave.
    let file: PathBuf = folder.join(path).canonicalize().map_err(|error| format!("{path}: {error}"))?;
    let Ok(inside) = file.strip_prefix(&folder) else {
        return Err(format!("{path} is outside of the working folder {}", folder.display()));
    };
    if is_protected(inside) {
        return Err(format!("{path} is protected and is not sent"));
    }
    let about = file.metadata().map_err(|error| format!("{path}: {error}"))?;
    if !about.is_file() {
        return Err(format!("{path} is not a file"));
    }
    if about.len() > LARGEST {
        return Err(format!("{path} is larger than {LARGEST} bytes"));
    }
    Ok(SentFile { path: file.display().to_string(), size: about.len() })
}

fn is_protected(inside: &Path) -> bool {
    inside.components().any(|part| {
        let Component::Normal(name) = part else { return true };
        let name = name.to_string_lossy().to_ascii_lowercase();
        PROTECTED.contains(&name.as_str())
            || name.starts_with(".env")
            || PROTECTED_ENDINGS.iter().any(|ending| name.ends_with(ending))
    })
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
        for name in ["a.txt", "docs/b.txt", ".git/config", ".env", ".env.local", "server.PEM"] {
            fs::write(here(name), "abc").unwrap();
        }
        std::os::unix::fs::symlink(outside.path().join("secret.txt"), here("link.txt")).unwrap();
        std::os::unix::fs::symlink(here(".env"), here("innocent.txt")).unwrap();

        let check = |path: &str| check(folder.path(), &[path.to_owned()]);
        assert_eq!(check("a.txt").unwrap()[0].size, 3);
        assert!(check("docs/../docs/b.txt").is_ok());
        assert!(check(&here("a.txt").display().to_string()).is_ok());
        for wrong in [
            "link.txt",
            "innocent.txt",
            ".git/config",
            ".env",
            ".env.local",
            "server.PEM",
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
