//! The path by which other programs shall start this one: one that is still there tomorrow.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::config::Environment;
use crate::failure::Failure;
use crate::processes::{has_our_bytes, own_file};

const NAME: &str = "portcullis";

/// Where the binary is, or has to be put first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    There(PathBuf),
    Copied { to: PathBuf, because: &'static str, replaces: bool },
}

impl Place {
    pub(crate) fn path(&self) -> &Path {
        let (Self::There(path) | Self::Copied { to: path, .. }) = self;
        path
    }

    /// What is going to happen, for people; nothing when nothing is.
    pub(crate) fn announcement(&self) -> Option<String> {
        let Self::Copied { to, because, replaces } = self else { return None };
        let instead = if *replaces { ", in the place of the one that is there" } else { "" };
        Some(format!("This program {because}, so it is copied to {}{instead}.\n", to.display()))
    }

    /// Puts the binary there, whole or not at all.
    pub(crate) fn settle(&self) -> anyhow::Result<()> {
        match self {
            Self::There(_) => Ok(()),
            // Somebody else may have been faster.
            Self::Copied { to, .. } if has_our_bytes(to) => Ok(()),
            Self::Copied { to, .. } => copy(to).with_context(|| format!("copying this program to {}", to.display())),
        }
    }
}

/// A name on the PATH for this same file is best: it outlives an upgrade that moves the file. Then the file itself, if
/// it stays where it is; else a copy in the user's own folder for programs.
pub(crate) fn choose(program: &Path, environment: Environment<'_>) -> anyhow::Result<Place> {
    let bin = bin_folder(environment);
    let named: Vec<PathBuf> =
        on_path(environment).filter(|candidate| why_it_will_not_stay(candidate, bin.as_deref()).is_none()).collect();
    if let Some(same) = named.iter().find(|candidate| is_same_file(candidate, program)) {
        return Ok(Place::There(same.clone()));
    }
    let Some(because) = why_it_will_not_stay(program, bin.as_deref()) else {
        return Ok(Place::There(program.to_owned()));
    };
    if let Some(same) = named.iter().find(|candidate| has_our_bytes(candidate)) {
        return Ok(Place::There(same.clone()));
    }
    let Some(bin) = bin else {
        let what = format!("{} {because}, and there is no HOME to copy it to", program.display());
        return Err(Failure::new(what, "set HOME, or put the program where it stays and run it from there").into());
    };
    let to = bin.join(NAME);
    if has_our_bytes(&to) {
        return Ok(Place::There(to));
    }
    let replaces = to.symlink_metadata().is_ok();
    Ok(Place::Copied { to, because, replaces })
}

/// The file this process runs.
pub(crate) fn this_program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("finding this program's own file")
}

/// Why a program at this path may be gone, or another one, tomorrow.
pub(crate) fn why_it_will_not_stay(path: &Path, bin: Option<&Path>) -> Option<&'static str> {
    if path.to_string_lossy().ends_with(" (deleted)") {
        return Some("was replaced while it runs");
    }
    if bin.is_some_and(|bin| path.parent() == Some(bin)) {
        return None;
    }
    if is_in_build_folder(path) {
        return Some("lies in a build folder");
    }
    let temporary =
        ["/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/private/var/folders", "/var/folders", "/dev/shm"];
    let is_temporary =
        temporary.iter().any(|folder| path.starts_with(folder)) || path.starts_with(std::env::temp_dir());
    is_temporary.then_some("lies in a folder for temporary files")
}

/// Where the user's own programs are.
pub(crate) fn bin_folder(environment: Environment<'_>) -> Option<PathBuf> {
    let absolute = |name| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_BIN_HOME").or_else(|| Some(absolute("HOME")?.join(".local/bin")))
}

pub(crate) fn is_on_path(folder: &Path, environment: Environment<'_>) -> bool {
    environment("PATH").is_some_and(|path| std::env::split_paths(&path).any(|there| there == folder))
}

/// Programs of our name, in the order in which a shell would find them.
fn on_path(environment: Environment<'_>) -> impl Iterator<Item = PathBuf> {
    let folders: Vec<PathBuf> = environment("PATH").iter().flat_map(std::env::split_paths).collect();
    folders
        .into_iter()
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(NAME))
        .filter(|path| path.is_file())
}

/// Cargo keeps its own notes next to what it builds; a copy of a build folder that lost them is known by its names.
fn is_in_build_folder(path: &Path) -> bool {
    let names: Vec<_> = path.iter().filter_map(|name| name.to_str()).collect();
    let target = names.iter().position(|name| *name == "target");
    let named = target.is_some_and(|at| names[at..].iter().any(|name| ["debug", "release"].contains(name)));
    // The program, or a test of it in `deps`.
    let is_built = |folder: &Path| [".fingerprint", ".cargo-lock"].iter().any(|note| folder.join(note).exists());
    named || path.ancestors().skip(1).take(2).any(is_built)
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

fn copy(to: &Path) -> anyhow::Result<()> {
    let folder = to.parent().context("it has no folder")?;
    fs::create_dir_all(folder)?;
    let draft = folder.join(format!(".{NAME}.{}.tmp", std::process::id()));
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(&draft)?;
        io::copy(&mut own_file()?, &mut file)?;
        file.sync_all()?;
        fs::rename(&draft, to)
    })();
    if written.is_err() {
        drop(fs::remove_file(&draft));
    }
    Ok(written?)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn a_path_that_may_be_gone_tomorrow_is_known() {
        let bin = Path::new("/tmp/home/.local/bin");
        let cases = [
            ("/usr/local/bin/portcullis", None),
            ("/home/ann/.cargo/bin/portcullis", None),
            ("/home/ann/target/bin/portcullis", None),
            ("/tmp/home/.local/bin/portcullis", None),
            ("/home/ann/src/portcullis/target/debug/portcullis", Some("lies in a build folder")),
            ("/src/target/x86_64-unknown-linux-musl/release/portcullis", Some("lies in a build folder")),
            ("/tmp/portcullis", Some("lies in a folder for temporary files")),
            ("/var/folders/x/T/portcullis", Some("lies in a folder for temporary files")),
            ("/usr/bin/portcullis (deleted)", Some("was replaced while it runs")),
        ];
        for (path, want) in cases {
            assert_eq!(why_it_will_not_stay(Path::new(path), Some(bin)), want, "{path}");
        }
    }

    #[test]
    fn a_build_folder_by_another_name_is_known_by_its_mark() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("debug/portcullis");
        assert!(!is_in_build_folder(&program));
        fs::write(folder.path().join("CACHEDIR.TAG"), "").unwrap();
        assert!(
            !is_in_build_folder(&program),
            "any program marks its caches so, and what lies in one is not built there"
        );
        fs::create_dir_all(folder.path().join("debug/.fingerprint")).unwrap();
        assert!(is_in_build_folder(&program) && is_in_build_folder(&folder.path().join("debug/deps/it-123")));
    }

    /// The program under test is this test itself, which lies in a build folder.
    fn chosen(variables: &HashMap<&str, OsString>) -> Place {
        choose(&this_program().unwrap(), &|name| variables.get(name).cloned()).unwrap()
    }

    #[test]
    fn a_program_that_will_not_stay_is_copied_once() {
        let home = tempfile::tempdir().unwrap();
        let variables = HashMap::from([("HOME", home.path().into())]);
        let place = chosen(&variables);
        let to = home.path().join(".local/bin/portcullis");
        assert_eq!(place, Place::Copied { to: to.clone(), because: "lies in a build folder", replaces: false });
        place.settle().unwrap();
        assert_eq!(fs::metadata(&to).unwrap().mode() & 0o777, 0o755);
        assert_eq!(chosen(&variables), Place::There(to.clone()));
        assert_eq!(fs::read_dir(to.parent().unwrap()).unwrap().count(), 1, "no draft is left behind");

        fs::write(&to, "an older one").unwrap();
        assert!(matches!(chosen(&variables), Place::Copied { replaces: true, .. }));
    }

    #[test]
    fn a_name_on_the_path_for_this_same_file_is_taken_as_it_is_written() {
        let home = tempfile::tempdir().unwrap();
        let (other, name) = (home.path().join("other"), home.path().join(".local/bin"));
        for folder in [&other, &name] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(other.join(NAME), "another program").unwrap();
        std::os::unix::fs::symlink(this_program().unwrap(), name.join(NAME)).unwrap();
        let path = std::env::join_paths([&other, &name]).unwrap();
        let variables = HashMap::from([("HOME", home.path().into()), ("PATH", path)]);
        assert_eq!(chosen(&variables), Place::There(name.join(NAME)));
    }
}
