//! The tokens of one server, in a file that its owner alone can read.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A renewal by another process is two requests at most; longer than these may take is not waited.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// A token that has less than this left is renewed before it is used.
const NEARLY: u64 = 30;

/// What is in the file.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct KeptTokens {
    /// The server's name, for whoever looks into the folder.
    server: String,
    /// What the authorisation server gave with the client's id, where it gave any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
    pub(super) credentials: Option<StoredCredentials>,
}

/// A token as it goes into a header.
pub(super) struct AccessToken {
    pub(super) secret: String,
    pub(super) is_fresh: bool,
}

impl KeptTokens {
    pub(super) fn access(&self, now: u64) -> Option<AccessToken> {
        let credentials = self.credentials.as_ref()?;
        // Its fields belong to a crate that is not ours to name; its JSON is that of the protocol.
        let token = serde_json::to_value(credentials.token_response.as_ref()?).ok()?;
        let secret = token.get("access_token")?.as_str()?.to_owned();
        let until = token.get("expires_in").and_then(Value::as_u64).zip(credentials.token_received_at);
        let is_fresh = until.is_none_or(|(lasts, since)| since.saturating_add(lasts) >= now.saturating_add(NEARLY));
        Some(AccessToken { secret, is_fresh })
    }

    pub(super) fn scopes(&self) -> &[String] {
        self.credentials.as_ref().map_or(&[], |credentials| &credentials.granted_scopes)
    }
}

#[derive(Clone, Debug)]
pub(super) struct TokenFile(PathBuf);

/// When the tokens were last written. Another stamp means that someone signed in, or that they were renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenStamp {
    at: SystemTime,
    inode: u64,
}

/// Held by the one process that renews; it goes with its process.
pub(super) struct RenewalLock {
    /// Locked as long as it is open.
    _file: File,
}

impl TokenFile {
    pub(super) fn new(folder: &Path, hash: &str) -> Self {
        Self(folder.join(format!("{hash}.json")))
    }

    pub(super) fn stamp(&self) -> Option<TokenStamp> {
        let about = fs::metadata(&self.0).ok()?;
        Some(TokenStamp { at: about.modified().ok()?, inode: about.ino() })
    }

    /// What is kept; nothing where the file is missing or cannot be read: then someone has to sign in anew.
    pub(super) fn read(&self) -> KeptTokens {
        let text = fs::read(&self.0).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn write(&self, kept: &KeptTokens) -> io::Result<()> {
        replace(&self.0, &serde_json::to_vec(kept)?)
    }

    pub(super) fn remove(&self) -> io::Result<bool> {
        match fs::remove_file(&self.0) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits until no other process renews these tokens.
    pub(super) async fn lock(&self) -> io::Result<RenewalLock> {
        let path = self.0.with_extension("lock");
        prepare(&path)?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(RenewalLock { _file: file }),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if begun.elapsed() > LONGEST_WAIT => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "another process renews the token for too long",
                    ));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

/// Makes a file appear whole or not at all, for the owner alone.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    prepare(path)?;
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

fn prepare(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The file as rmcp wants it.
pub(super) struct TokenStore {
    pub(super) file: TokenFile,
    pub(super) server: String,
    /// Goes into the file with the next tokens.
    pub(super) client_secret: Option<String>,
}

fn failed(error: &io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[async_trait::async_trait]
impl CredentialStore for TokenStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.file.read().credentials)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let kept = KeptTokens {
            server: self.server.clone(),
            client_secret: self.client_secret.clone(),
            credentials: Some(credentials),
        };
        self.file.write(&kept).map_err(|error| failed(&error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.file.remove().map(drop).map_err(|error| failed(&error))
    }

    /// They are of no use any more, and the next request shall ask someone to sign in.
    async fn on_refresh_token_rejected(&self, _: &StoredCredentials) -> Result<(), AuthError> {
        self.clear().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt as _;

    fn kept(lasts: Option<u64>) -> KeptTokens {
        let token = json!({"access_token": "a", "token_type": "bearer", "expires_in": lasts});
        let credentials = json!({"client_id": "c", "token_response": token, "token_received_at": 1000});
        serde_json::from_value(json!({"server": "s", "credentials": credentials})).unwrap()
    }

    #[test]
    fn a_token_is_fresh_until_half_a_minute_before_its_end() {
        let is_fresh = |lasts, now| kept(lasts).access(now).unwrap().is_fresh;
        assert!(is_fresh(Some(100), 1070) && !is_fresh(Some(100), 1071));
        assert!(is_fresh(None, u64::MAX), "nobody said when it ends");
        assert!(KeptTokens::default().access(0).is_none());
    }

    #[tokio::test]
    async fn tokens_are_the_owners_alone_and_one_process_renews_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::new(&folder.path().join("new"), "abc");
        file.write(&kept(Some(5))).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file.0), mode(file.0.parent().unwrap())), (0o600, 0o700));
        let first = file.lock().await.unwrap();
        assert!(File::open(file.0.with_extension("lock")).unwrap().try_lock().is_err());
        drop(first);
        drop(file.lock().await.unwrap());
        fs::write(&file.0, "{").unwrap();
        assert!(file.read().access(0).is_none(), "what cannot be read is no token");
        assert!(file.remove().unwrap() && !file.remove().unwrap());
    }
}
