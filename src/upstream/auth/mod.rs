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

use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata};

pub(crate) use bearer::{Bearer, NoToken};
pub(crate) use login::{SignIn, SignInFailure, SignInOptions};

use super::config::{Endpoint, RemoteEndpoint, Upstream};
use client::OAuthClient;
use refusals::RefusalFile;
use tokens::{TokenFile, TokenStore};

/// The folder in which tokens are kept, for the owner alone.
#[derive(Clone, Debug)]
pub(crate) struct AuthFolder(PathBuf);

impl AuthFolder {
    pub(crate) fn new(state: &Path) -> Self {
        Self(state.join("mcp-auth"))
    }

    fn tokens(&self, upstream: &Upstream) -> TokenFile {
        TokenFile::new(&self.0, &upstream.hash)
    }

    fn refusals(&self, upstream: &Upstream) -> RefusalFile {
        RefusalFile::new(&self.0, &upstream.hash)
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

    /// Forgets the tokens of a server; false where there were none.
    pub(crate) fn sign_out(&self, upstream: &Upstream) -> std::io::Result<bool> {
        self.refusals(upstream).remove();
        self.tokens(upstream).remove()
    }
}

/// The address of a server that takes tokens. One that has a header for it in its entry is not asked to.
pub(crate) fn signs_in(upstream: &Upstream) -> Option<&RemoteEndpoint> {
    let Endpoint::Remote(remote) = &upstream.entry.endpoint else { return None };
    let has_header = remote.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
    (remote.transport.takes_tokens() && !has_header).then_some(remote)
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
