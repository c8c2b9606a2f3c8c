//! Signing in: someone opens an address in a browser, agrees there, and is sent back to a port of ours with a code.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, REFERRER_POLICY};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rmcp::transport::auth::{AuthError, AuthorizationManager, OAuthClientConfig};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::refusals::RefusalFile;
use super::tokens::{TokenFile, TokenStore};
use super::{AuthFolder, manager, signs_in};
use crate::upstream::config::Upstream;

/// Browsers open connections in advance; nobody needs more than these.
const MOST_CONNECTIONS: usize = 16;
const CALLBACK: &str = "/callback";

#[derive(Debug, thiserror::Error)]
pub(crate) enum SignInFailure {
    #[error("nobody can sign in to this server: its entry has a header for that, or no address of HTTP")]
    NotByToken,
    #[error("finding out where to sign in: {0}")]
    Discovery(AuthError),
    #[error("registering as a client: {0}")]
    Registration(AuthError),
    #[error("listening for the browser on port {port}: {error}")]
    Port { port: u16, error: io::Error },
    #[error("the authorisation server refused: {0}")]
    Refused(String),
    #[error("exchanging the code for a token: {0}")]
    Exchange(AuthError),
    #[error("the port for the browser was closed")]
    Closed,
}

/// What is not in the server's entry.
#[derive(Default)]
pub(crate) struct SignInOptions {
    /// `MCP_CLIENT_SECRET`: goes with a client's id that is in the entry.
    pub(crate) client_secret: Option<String>,
    /// `MCP_OAUTH_CALLBACK_PORT`: where the entry names none.
    pub(crate) port: Option<u16>,
}

/// One attempt that waits for a browser.
pub(crate) struct SignIn {
    /// What has to be opened.
    pub(crate) url: String,
    state: String,
    manager: AuthorizationManager,
    listeners: Vec<TcpListener>,
    tokens: TokenFile,
    refusals: RefusalFile,
}

/// What came of it.
pub(crate) struct SignedIn {
    pub(crate) scopes: Vec<String>,
}

impl SignIn {
    pub(crate) async fn begin(
        upstream: &Upstream,
        folder: &AuthFolder,
        options: SignInOptions,
    ) -> Result<Self, SignInFailure> {
        let remote = signs_in(upstream).ok_or(SignInFailure::NotByToken)?;
        let (tokens, refusals) = (folder.tokens(upstream), folder.refusals(upstream));
        let store = |client_secret| TokenStore { file: tokens.clone(), server: upstream.name.clone(), client_secret };
        let challenge = refusals.last().map(|refusal| refusal.challenge).filter(|challenge| !challenge.is_empty());
        let mut manager = manager(remote, store(None)).await.map_err(SignInFailure::Discovery)?;
        if remote.oauth.metadata_url.is_none() {
            let found = manager.resolve_metadata_from_challenge(challenge.as_deref()).await;
            manager.set_metadata(found.map_err(SignInFailure::Discovery)?.metadata);
        }
        let mut scopes = match remote.oauth.scopes.is_empty() {
            true => manager.select_initial_scopes(&[]).await,
            false => remote.oauth.scopes.clone(),
        };
        // Some calls need more than there is: what was granted before is not given up for it.
        if challenge.is_some_and(|challenge| challenge.contains("insufficient_scope")) {
            for granted in tokens.read().scopes() {
                if !scopes.contains(granted) {
                    scopes.push(granted.clone());
                }
            }
        }
        let (listeners, port) = listeners(remote.oauth.callback_port.or(options.port).unwrap_or(0)).await?;
        let redirect = format!("http://localhost:{port}{CALLBACK}");
        let names: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let client = match &remote.oauth.client_id {
            Some(id) => {
                let client = OAuthClientConfig::new(id.clone(), redirect);
                match options.client_secret {
                    Some(secret) => client.with_client_secret(secret),
                    None => client,
                }
            }
            None => {
                let registered = manager.register_client("Portcullis", &redirect, &names).await;
                registered.map_err(SignInFailure::Registration)?
            }
        };
        manager.set_credential_store(store(client.client_secret.clone()));
        manager.configure_client(client).map_err(SignInFailure::Registration)?;
        let url = manager.get_authorization_url(&names).await.map_err(SignInFailure::Discovery)?;
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let state = parameter(query, "state").unwrap_or_default();
        Ok(Self { url, state, manager, listeners, tokens, refusals })
    }

    /// Waits for the browser, and exchanges what it brings for tokens, which are kept.
    pub(crate) async fn finish(mut self) -> Result<SignedIn, SignInFailure> {
        let back = self.brought_back().await?;
        let _lock = self
            .tokens
            .lock()
            .await
            .map_err(|error| SignInFailure::Exchange(AuthError::CredentialStoreError(error.to_string())))?;
        let issuer = back.issuer.as_deref();
        let exchanged = self.manager.exchange_code_for_token_with_issuer(&back.code, &self.state, issuer).await;
        exchanged.map_err(SignInFailure::Exchange)?;
        self.refusals.remove();
        Ok(SignedIn { scopes: self.tokens.read().scopes().to_vec() })
    }

    async fn brought_back(&mut self) -> Result<BroughtBack, SignInFailure> {
        let (found, mut callbacks) = mpsc::channel(1);
        let seats = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        // Ended with this function, and all their connections with them.
        let mut accepting = JoinSet::new();
        for listener in self.listeners.drain(..) {
            accepting.spawn(accept(listener, self.state.clone(), found.clone(), Arc::clone(&seats)));
        }
        drop(found);
        let back = callbacks.recv().await.ok_or(SignInFailure::Closed)?;
        // The browser is still to be told.
        tokio::task::yield_now().await;
        back.map_err(SignInFailure::Refused)
    }
}

/// Both addresses that `localhost` may mean; the second only where the machine has it.
async fn listeners(port: u16) -> Result<(Vec<TcpListener>, u16), SignInFailure> {
    let failed = |error| SignInFailure::Port { port, error };
    let first = TcpListener::bind(("127.0.0.1", port)).await.map_err(failed)?;
    let port = first.local_addr().map_err(failed)?.port();
    let second = TcpListener::bind(("::1", port)).await.ok();
    Ok((std::iter::once(first).chain(second).collect(), port))
}

struct BroughtBack {
    code: String,
    issuer: Option<String>,
}

type ShownPage = hyper::http::Result<Response<Full<Bytes>>>;
type Callbacks = mpsc::Sender<Result<BroughtBack, String>>;

async fn accept(listener: TcpListener, state: String, callbacks: Callbacks, seats: Arc<Semaphore>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let Ok(seat) = Arc::clone(&seats).try_acquire_owned() else { continue };
        let (state, callbacks) = (state.clone(), callbacks.clone());
        connections.spawn(async move {
            let _seat = seat;
            let answer = service_fn(move |request: Request<hyper::body::Incoming>| {
                let (said, found) = answered(request.uri().path(), request.uri().query().unwrap_or_default(), &state);
                let callbacks = callbacks.clone();
                async move {
                    if let Some(found) = found {
                        drop(callbacks.send(found).await);
                    }
                    said
                }
            });
            drop(http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), answer).await);
        });
    }
}

/// What the browser is shown, and what it brought. A request that does not know our state brings nothing.
fn answered(path: &str, query: &str, state: &str) -> (ShownPage, Option<Result<BroughtBack, String>>) {
    let page = |status: StatusCode, text: &str| {
        Response::builder()
            .status(status)
            .header(CONTENT_TYPE, "text/html; charset=utf-8")
            .header(CACHE_CONTROL, "no-store")
            .header(REFERRER_POLICY, "no-referrer")
            .body(Full::from(format!("<!doctype html><title>Portcullis</title><p>{text}</p>")))
    };
    if path != CALLBACK {
        return (page(StatusCode::NOT_FOUND, "There is nothing here."), None);
    }
    if parameter(query, "state").as_deref() != Some(state) {
        return (page(StatusCode::BAD_REQUEST, "This is not the sign-in that portcullis waits for."), None);
    }
    match (parameter(query, "code"), parameter(query, "error")) {
        (Some(code), _) => {
            let found = BroughtBack { code, issuer: parameter(query, "iss") };
            (page(StatusCode::OK, "You can close this page: portcullis goes on in the terminal."), Some(Ok(found)))
        }
        (None, error) => {
            let why = parameter(query, "error_description").or(error).unwrap_or_else(|| "no reason given".to_owned());
            let why = why.chars().take(300).collect();
            (page(StatusCode::OK, "You were not signed in. The terminal says why."), Some(Err(why)))
        }
    }
}

fn parameter(query: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(query.as_bytes())
        .find(|(key, _)| key == name)
        .map(|(_, value): (_, Cow<'_, str>)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_browser_that_knows_our_state_brings_something() {
        let brought = |path: &str, query: &str| answered(path, query, "s/1").1.map(|found| found.map(|back| back.code));
        assert_eq!(brought("/callback", "code=c%2F1&state=s%2F1"), Some(Ok("c/1".to_owned())));
        assert_eq!(brought("/callback", "code=c&state=other"), None);
        assert_eq!(brought("/callback", "code=c"), None);
        assert_eq!(brought("/favicon.ico", "code=c&state=s%2F1"), None);
        let refused = brought("/callback", "error=access_denied&error_description=No+thanks&state=s%2F1");
        assert_eq!(refused, Some(Err("No thanks".to_owned())));
    }
}
