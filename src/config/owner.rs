//! The owner's token: from the environment, else from its file, which the first to start writes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use portcullis_core::shell_words;

use super::error::Problem;
use super::paths::Paths;
use super::secret::{Secret, generate_token, hex, sha256};
use crate::failure::Failure;

/// The token of the owner. Whoever starts first makes it; all who start at the same time get the same one.
///
/// The folder of the file has to be there: [`Paths::prepare`] makes it.
pub(crate) fn owner_token(paths: &Paths, chosen: Option<Secret>) -> Result<Secret, Failure> {
    if let Some(chosen) = chosen {
        return Secret::token(chosen.expose()).map_err(|reason| {
            Failure::configuration("reading the owner's token from PORTCULLIS_TOKEN")
                .because(reason)
                .with_hint("choose at least 16 characters of ASCII without spaces, or unset PORTCULLIS_TOKEN")
        });
    }
    kept_secret(&paths.token_file, OWNERS)
}

/// The random secret in this file, which is made where there is none. `what` names it for people.
pub(crate) fn kept_secret(path: &Path, what: &str) -> Result<Secret, Failure> {
    if let Some(token) = read(path, what)? {
        return Ok(token);
    }
    let writing = |error| Failure::configuration(format!("writing a new secret to {}", path.display())).because(error);
    publish(path, &generate_token()?).map_err(writing)?;
    // Read back, because someone faster may have published another.
    read(path, what)?.ok_or_else(|| writing(io::Error::other("it vanished")))
}

const OWNERS: &str = "the owner's token";

/// Whether there is a token file that may be used. Makes none.
pub(crate) fn look_at_token(paths: &Paths) -> Result<bool, Failure> {
    read(&paths.token_file, OWNERS).map(|token| token.is_some())
}

fn read(path: &Path, what: &str) -> Result<Option<Secret>, Failure> {
    let doing = || format!("reading {what} from {}", path.display());
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::configuration(doing()).because(error)),
    };
    // The open file is asked, not the path: nobody can put another in its place in between.
    let metadata = file.metadata().map_err(|error| Failure::configuration(doing()).because(error))?;
    if let Some(problem) = exposed(path, metadata.uid(), metadata.mode(), rustix::process::geteuid().as_raw()) {
        return Err(problem.while_doing(doing()));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| Failure::configuration(doing()).because(error))?;
    // People write the file with an editor or `echo`, which end it with a newline.
    let token = Secret::token(text.trim()).map_err(|reason| {
        let hint = format!("remove {} and start again: a new token is made", path.display());
        Problem::new(reason, hint).while_doing(doing())
    })?;
    Ok(Some(token))
}

/// Why others may know what is in this file.
fn exposed(path: &Path, owner: u32, mode: u32, us: u32) -> Option<Problem> {
    if owner != us {
        let hint = format!("remove {} and start again: a new token is made", path.display());
        return Some(Problem::new(format!("the file belongs to user {owner}"), hint));
    }
    let open_to_others = mode & 0o077;
    (open_to_others != 0).then(|| {
        let what = format!("others may use the file (mode {:03o})", mode & 0o777);
        Problem::new(what, format!("run: chmod 600 {}", shell_words(&[path.to_string_lossy()])))
    })
}

/// Makes the token appear at `path` whole or not at all, and never in the place of another.
fn publish(path: &Path, token: &Secret) -> io::Result<()> {
    // Named by its content, the draft is as unique as the token, and says nothing of it.
    let digest = sha256(token.expose().as_bytes());
    let draft = path.with_extension(format!("{}.tmp", hex(&digest[..8])));
    let published = write_private(&draft, token).and_then(|()| match fs::hard_link(&draft, path) {
        // Someone was faster, and theirs is as good.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    let removed = fs::remove_file(&draft);
    published.and(removed)
}

fn write_private(path: &Path, token: &Secret) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{}", token.expose())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::config::error::tests::report;
    use crate::config::paths::tests::paths_under;

    fn file_with(mode: u32, text: &str) -> (tempfile::TempDir, Paths) {
        let folder = tempfile::tempdir().unwrap();
        let paths = paths_under(folder.path());
        fs::write(&paths.token_file, text).unwrap();
        fs::set_permissions(&paths.token_file, fs::Permissions::from_mode(mode)).unwrap();
        (folder, paths)
    }

    #[test]
    fn the_first_start_makes_a_token_that_only_its_owner_can_read_and_the_next_finds_it() {
        let folder = tempfile::tempdir().unwrap();
        let paths = paths_under(folder.path());
        let made = owner_token(&paths, None).unwrap();
        assert_eq!(fs::metadata(&paths.token_file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(owner_token(&paths, None).unwrap().expose(), made.expose());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left behind");
    }

    #[test]
    fn all_who_start_at_once_agree_on_one_token() {
        for _ in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let paths = paths_under(folder.path());
            let start = Barrier::new(8);
            let tokens: Vec<String> = thread::scope(|scope| {
                let starting = || {
                    start.wait();
                    owner_token(&paths, None).unwrap().expose().to_owned()
                };
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(starting)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left behind");
        }
    }

    #[test]
    fn a_token_from_the_environment_beats_the_file_and_leaves_it_alone() {
        let folder = tempfile::tempdir().unwrap();
        let paths = paths_under(folder.path());
        let chosen = Secret::token("chosen-by-the-owner").unwrap();
        assert_eq!(owner_token(&paths, Some(chosen)).unwrap().expose(), "chosen-by-the-owner");
        assert!(!paths.token_file.exists());
    }

    #[test]
    fn a_token_file_others_may_use_is_refused_with_the_command_that_closes_it() {
        for mode in [0o640, 0o604, 0o660, 0o644, 0o601] {
            let (_folder, paths) = file_with(mode, "a-token-of-twenty-characters");
            let error = owner_token(&paths, None).unwrap_err();
            let file = paths.token_file.display();
            assert_eq!(
                report(&error),
                format!(
                    "error: reading the owner's token from {file}
  caused by: others may use the file (mode {mode:o})
  hint: run: chmod 600 {file}"
                )
            );
        }
    }

    #[test]
    fn a_token_file_of_someone_else_is_refused() {
        let path = Path::new("owner.token");
        assert!(exposed(path, 1000, 0o100_600, 1000).is_none());
        assert_eq!(exposed(path, 1001, 0o100_600, 1000).unwrap().what, "the file belongs to user 1001");
    }

    #[test]
    fn a_file_someone_wrote_by_hand_is_trimmed() {
        for mode in [0o600, 0o400] {
            let (_folder, paths) = file_with(mode, "a-token-of-twenty-characters\r\n");
            assert_eq!(owner_token(&paths, None).unwrap().expose(), "a-token-of-twenty-characters");
        }
    }

    #[test]
    fn an_empty_or_short_token_is_refused_and_not_shown() {
        for text in ["", "\n", "swordfish\n"] {
            let (_folder, paths) = file_with(0o600, text);
            let shown = report(&owner_token(&paths, None).unwrap_err());
            assert!(shown.contains("  hint: remove ") && !shown.contains("swordfish"), "{shown}");
        }
    }
}
