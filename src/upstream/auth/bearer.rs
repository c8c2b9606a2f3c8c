//! The token that goes with each request to a server, renewed when it has run out.

use std::io;
use std::sync::{Arc, Mutex};

use rmcp::transport::auth::{AuthError, OAuthClientConfig};
use tokio_util::task::TaskTracker;

use super::refusals::{RefusalFile, now};
use super::tokens::{TokenFile, TokenStamp, TokenStore};
use super::{AuthFolder, manager};
use crate::locks::locked;
use crate::upstream::config::{RemoteEndpoint, Upstream};

/// Why no token can be had now, although someone signed in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoToken {
    #[error("renewing the token: {0}")]
    Renewal(#[from] AuthError),
    #[error("the files of tokens: {0}")]
    Files(#[from] io::Error),
}

pub(crate) struct Bearer {
    server: String,
    remote: RemoteEndpoint,
    tokens: TokenFile,
    refusals: RefusalFile,
    renewals: TaskTracker,
    /// Of the tokens that were renewed last, by us. Changed by renewals.
    renewed: Mutex<Option<TokenStamp>>,
}

impl Bearer {
    pub(super) fn new(upstream: &Upstream, remote: &RemoteEndpoint, folder: &AuthFolder) -> Self {
        Self {
            server: upstream.name.clone(),
            remote: remote.clone(),
            tokens: folder.tokens(upstream),
            refusals: folder.refusals(upstream),
            renewals: folder.renewals.clone(),
            renewed: Mutex::default(),
        }
    }

    /// Of the tokens as they are in their file now; none where there are none.
    pub(crate) fn stamp(&self) -> Option<TokenStamp> {
        self.tokens.stamp()
    }

    /// Of the tokens as they were when they were last renewed by us.
    pub(crate) fn last_renewal(&self) -> Option<TokenStamp> {
        *locked(&self.renewed)
    }

    /// The token to send; none where nobody signed in, or has to anew.
    pub(crate) async fn token(self: &Arc<Self>) -> Result<Option<String>, NoToken> {
        match self.tokens.read().access(now()) {
            None => Ok(None),
            Some(token) if token.is_fresh => Ok(Some(token.secret)),
            Some(token) => self.renewed(token.secret).await,
        }
    }

    /// Another token than this one, which the server refused or which has run out. None where someone has to sign in.
    ///
    /// In a task of its own: once begun it is finished and kept, whether or not the request that needed it still waits.
    pub(crate) async fn renewed(self: &Arc<Self>, used: String) -> Result<Option<String>, NoToken> {
        let this = Arc::clone(self);
        let renewing = self.renewals.spawn(async move { this.renew(&used).await });
        renewing.await.unwrap_or_else(|error| Err(AuthError::InternalError(error.to_string()).into()))
    }

    async fn renew(&self, used: &str) -> Result<Option<String>, NoToken> {
        let _lock = self.tokens.lock().await?;
        let kept = self.tokens.read();
        match kept.access(now()) {
            None => return Ok(None),
            // Another process, or another request of ours, was faster.
            Some(token) if token.secret != used && token.is_fresh => return Ok(Some(token.secret)),
            Some(_) => {}
        }
        let store = TokenStore {
            file: self.tokens.clone(),
            server: self.server.clone(),
            client_secret: kept.client_secret.clone(),
        };
        let mut manager = manager(&self.remote, store).await?;
        // The server may have changed its authorisation server, for which these tokens are not.
        if !manager.initialize_from_store().await? {
            return Ok(None);
        }
        if let (Some(credentials), Some(secret)) = (&kept.credentials, kept.client_secret.clone()) {
            let client = OAuthClientConfig::new(credentials.client_id.clone(), self.remote.url.clone());
            manager.configure_client(client.with_client_secret(secret))?;
        }
        match manager.refresh_token().await {
            Ok(_) => {
                *locked(&self.renewed) = self.stamp();
                Ok(self.tokens.read().access(now()).map(|token| token.secret))
            }
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The server refused a request, and this is what it said.
    pub(crate) fn refused(&self, challenge: &str) {
        let is_whole = self.refusals.last().is_some_and(|refusal| refusal.is_whole);
        self.refusals.keep(challenge.to_owned(), is_whole);
    }

    /// There is no connection for want of a token.
    pub(crate) fn keeps_out(&self) {
        let challenge = self.refusals.last().map(|refusal| refusal.challenge).unwrap_or_default();
        self.refusals.keep(challenge, true);
    }

    /// There is a connection. What single calls need is still worth knowing.
    pub(crate) fn lets_in(&self) {
        if self.refusals.kept_out() {
            self.refusals.remove();
        }
    }

    /// Whether the server kept us out a short while ago, and nobody signed in since.
    pub(crate) fn is_kept_out(&self) -> bool {
        self.refusals.last().is_some_and(|refusal| refusal.is_whole)
    }
}
