//! Signing in to servers, by OAuth 2.1: rmcp discovers, registers and exchanges, and what it brings is kept in files here.
//!
//! A token belongs to a name together with its configuration. All processes of the user share it: whoever finds it run
//! out takes a lock, looks whether another was faster, and only then has it renewed.

mod bearer;
mod client;
mod login;
mod refusals;
mod tokens;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata};
use tokio_util::task::TaskTracker;

pub(crate) use bearer::{Bearer, NoToken};
pub(crate) use login::{SignIn, SignInFailure, SignInOptions};
pub(crate) use tokens::TokenStamp;

use super::config::{Endpoint, RemoteEndpoint, Upstream};
use client::OAuthClient;
use refusals::RefusalFile;
use tokens::{TokenFile, TokenStore};

/// A process that ends waits no longer than this for an authorisation server that has been asked for a token.
const LONGEST_END: Duration = Duration::from_secs(10);

/// The folder in which tokens are kept, for the owner alone.
#[derive(Clone, Debug)]
pub(crate) struct AuthFolder {
    path: PathBuf,
    /// What is being renewed, by whomever.
    renewals: TaskTracker,
}

impl AuthFolder {
    pub(crate) fn new(state: &Path) -> Self {
        Self { path: state.join("mcp-auth"), renewals: TaskTracker::new() }
    }

    fn tokens(&self, upstream: &Upstream) -> TokenFile {
        TokenFile::new(&self.path, &upstream.hash)
    }

    fn refusals(&self, upstream: &Upstream) -> RefusalFile {
        RefusalFile::new(&self.path, &upstream.hash)
    }

    /// Waits for renewals under way. An authorisation server that has given a new token takes the old one no more, so that
    /// a token which nobody keeps would make someone sign in anew.
    pub(crate) async fn settled(&self) {
        self.renewals.close();
        if tokio::time::timeout(LONGEST_END, self.renewals.wait()).await.is_err() {
            tracing::warn!("the renewal of a token is not waited for any longer");
        }
    }

    /// The token for requests to this server, if someone can sign in to it at all.
    pub(super) fn bearer(&self, upstream: &Upstream) -> Option<Arc<Bearer>> {
        let remote = signs_in(upstream)?;
        Some(Arc::new(Bearer::new(upstream, remote, self)))
    }

    /// Whether the server wanted someone to sign in, or for more, a short while ago.
    pub(crate) fn is_refused(&self, upstream: &Upstream) -> bool {
        self.refusals(upstream).last().is_some()
    }

    /// Whether the server wanted someone to sign in the last time that it was reached.
    pub(crate) fn wants_sign_in(&self, upstream: &Upstream) -> bool {
        self.refusals(upstream).kept_out()
    }

    /// Whether someone has signed in to the server.
    pub(crate) fn has_tokens(&self, upstream: &Upstream) -> bool {
        self.tokens(upstream).stamp().is_some()
    }

    /// Forgets the tokens of a server; false where there were none.
    pub(crate) fn sign_out(&self, upstream: &Upstream) -> std::io::Result<bool> {
        self.refusals(upstream).remove();
        self.tokens(upstream).remove()
    }
}

/// The address of a server that takes tokens. One that has a header for it in its entry is not asked to.
pub(crate) fn signs_in(upstream: &Upstream) -> Option<&RemoteEndpoint> {
    let Endpoint::Remote(remote) = &upstream.entry.endpoint else { return None };
    (remote.transport.takes_tokens() && !has_credential(upstream)).then_some(remote)
}

/// Whether its entry has a credential for it.
pub(crate) fn has_credential(upstream: &Upstream) -> bool {
    let Endpoint::Remote(remote) = &upstream.entry.endpoint else { return false };
    remote.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
}

/// What speaks OAuth with the server's authorisation server.
async fn manager(remote: &RemoteEndpoint, store: TokenStore) -> Result<AuthorizationManager, AuthError> {
    let client = Arc::new(OAuthClient);
    let mut manager = AuthorizationManager::new_with_oauth_http_client(remote.url.as_str(), client.clone()).await?;
    manager.set_credential_store(store);
    if let Some(address) = &remote.oauth.metadata_url {
        let text = client.get(address).await.map_err(|error| AuthError::MetadataError(error.to_string()))?;
        let metadata: AuthorizationMetadata =
            serde_json::from_slice(&text).map_err(|error| AuthError::MetadataError(format!("{address}: {error}")))?;
        manager.set_metadata(metadata);
    }
    Ok(manager)
}
