//! A file of the user's that we change: read whole, written whole or not at all, through links, with its mode kept.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rustix::fs::{Access, access};

use crate::failure::Failure;

pub(crate) struct UserFile {
    /// As the user knows it.
    pub(crate) path: PathBuf,
    /// The same without links: this is what is written.
    pub(crate) real: PathBuf,
    /// What was in it when it was read; none when there was no file.
    pub(crate) text: Option<String>,
}

/// For whom a file is, when we are the first to write it.
#[derive(Clone, Copy)]
pub(crate) enum Audience {
    /// As the user's umask says.
    Everyone,
    OwnerAlone,
}

/// Whether the file could be written as it was meant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrote {
    Done,
    /// Someone else has written it since we read it; theirs is kept.
    Overtaken,
}

impl UserFile {
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let real = real_path(path)?;
        let text = match fs::read(&real) {
            Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| {
                Failure::new(format!("{} is not UTF-8", path.display()), "save it as UTF-8, then run this again")
            })?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
        };
        Ok(Self { path: path.to_owned(), real, text })
    }

    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// The path, and where it leads if it is a link.
    pub(crate) fn in_words(&self) -> String {
        let is_link = self.path.symlink_metadata().is_ok_and(|about| about.is_symlink());
        if is_link {
            format!("{} (a link to {})", self.path.display(), self.real.display())
        } else {
            self.path.display().to_string()
        }
    }

    pub(crate) fn write(&self, text: &str, audience: Audience) -> anyhow::Result<Wrote> {
        let draft = self.draft()?;
        let written = self.write_by(&draft, text, audience);
        if !matches!(written, Ok(Wrote::Done)) {
            drop(fs::remove_file(&draft));
        }
        written.with_context(|| format!("writing {}", self.path.display()))
    }

    /// Whether its folder lets the file be written anew: nothing is changed when one of several files cannot be.
    pub(crate) fn look_writable(&self) -> Result<(), Failure> {
        let Some(folder) = self.real.ancestors().skip(1).find(|folder| folder.exists()) else { return Ok(()) };
        access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
            let hint = format!(
                "make {} a folder that you can write to, then run this again; nothing was changed",
                folder.display()
            );
            Failure::new(format!("{} cannot be written", self.in_words()), hint).because(io::Error::from(error))
        })
    }

    /// Removes the file, unless someone else has written it since.
    pub(crate) fn remove(&self) -> anyhow::Result<Wrote> {
        if self.is_overtaken()? {
            return Ok(Wrote::Overtaken);
        }
        fs::remove_file(&self.path).with_context(|| format!("removing {}", self.path.display()))?;
        // A folder that Claude Code's settings alone were in was made for them. One that holds anything else stays.
        if let Some(folder) = self.path.parent().filter(|folder| folder.ends_with(".claude")) {
            drop(fs::remove_dir(folder));
        }
        Ok(Wrote::Done)
    }

    fn write_by(&self, draft: &Path, text: &str, audience: Audience) -> anyhow::Result<Wrote> {
        let before = fs::metadata(&self.real).ok();
        let mode = match (&before, audience) {
            (Some(before), _) => before.mode() & 0o7777,
            (None, Audience::Everyone) => 0o666,
            (None, Audience::OwnerAlone) => 0o600,
        };
        // Nobody shall look into it before it has the mode of the file it replaces.
        let first = if before.is_some() { 0o600 } else { mode };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(first).open(draft)?;
        file.write_all(text.as_bytes())?;
        if let Some(before) = before {
            let made = file.metadata()?;
            if (made.uid(), made.gid()) != (before.uid(), before.gid()) {
                std::os::unix::fs::fchown(&file, Some(before.uid()), Some(before.gid()))?;
            }
            file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        file.sync_all()?;
        // Looked at last, so that as little time as can be lies between this look and the rename.
        if self.is_overtaken()? {
            return Ok(Wrote::Overtaken);
        }
        fs::rename(draft, &self.real)?;
        Ok(Wrote::Done)
    }

    fn is_overtaken(&self) -> anyhow::Result<bool> {
        match fs::read(&self.real) {
            Ok(now) => Ok(self.text.as_ref().is_none_or(|text| text.as_bytes() != now)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(self.text.is_some()),
            Err(error) => Err(error.into()),
        }
    }

    fn draft(&self) -> anyhow::Result<PathBuf> {
        let folder = self.real.parent().context("it has no folder")?;
        let name = self.real.file_name().context("it has no name")?.to_string_lossy();
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(folder.join(format!(".{name}.portcullis-{}.tmp", std::process::id())))
    }
}

/// People link their configuration to where they keep it: that file is written, and the link stays.
fn real_path(path: &Path) -> anyhow::Result<PathBuf> {
    if path.symlink_metadata().is_err() {
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        return Ok(folder.zip(path.file_name()).map_or_else(|| path.to_owned(), |(folder, name)| folder.join(name)));
    }
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) => {
            let to = fs::read_link(path).unwrap_or_default();
            let what = format!("{} is a link to {}, which cannot be followed: {error}", path.display(), to.display());
            return Err(Failure::new(what, "make the file it leads to, or remove the link").into());
        }
    };
    if !fs::metadata(&real)?.is_file() {
        let what = format!("{} is not a file", path.display());
        return Err(Failure::new(what, "move it out of the way, then run this again").into());
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_file_keeps_its_mode_and_leaves_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let file = UserFile::read(&path).unwrap();
        assert_eq!(file.write("new", Audience::OwnerAlone).unwrap(), Wrote::Done);
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode(&path)), ("new", 0o640));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        let secret = UserFile::read(&folder.path().join("deep/secret.json")).unwrap();
        assert_eq!(secret.write("new", Audience::OwnerAlone).unwrap(), Wrote::Done);
        assert_eq!(mode(&secret.path), 0o600);
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        fs::write(&real, "old").unwrap();
        symlink("real.json", &link).unwrap();
        let file = UserFile::read(&link).unwrap();
        assert_eq!(file.write("new", Audience::Everyone).unwrap(), Wrote::Done);
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("real.json"));
        assert!(file.in_words().contains("(a link to "), "{}", file.in_words());
    }

    #[test]
    fn a_link_to_nothing_and_a_folder_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link.json");
        symlink("nowhere", &link).unwrap();
        assert!(UserFile::read(&link).is_err_and(|error| error.to_string().contains("is a link to nowhere")));
        assert!(UserFile::read(folder.path()).is_err_and(|error| error.to_string().contains("is not a file")));
    }

    #[test]
    fn what_someone_else_wrote_meanwhile_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        for (before, meanwhile) in [(None, "theirs"), (Some("old"), "theirs")] {
            drop(fs::remove_file(&path));
            if let Some(before) = before {
                fs::write(&path, before).unwrap();
            }
            let file = UserFile::read(&path).unwrap();
            fs::write(&path, meanwhile).unwrap();
            assert_eq!(file.write("ours", Audience::Everyone).unwrap(), Wrote::Overtaken);
            assert_eq!(file.remove().unwrap(), Wrote::Overtaken);
            assert_eq!(fs::read_to_string(&path).unwrap(), meanwhile);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn with_the_last_file_goes_the_folder_that_was_made_for_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".claude");
        for others in [false, true] {
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join("settings.json");
            fs::write(&path, "{}").unwrap();
            if others {
                fs::write(folder.join("notes.md"), "mine").unwrap();
            }
            assert_eq!(UserFile::read(&path).unwrap().remove().unwrap(), Wrote::Done);
            assert_eq!(folder.exists(), others);
        }
    }
}
