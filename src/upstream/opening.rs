//! How a connection to a server comes to be: the program is started or the address reached, and both say who they are.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::FutureExt as _;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use tokio::sync::mpsc;

use super::channel::{FromChannel, Tapped};
use super::client::ClientBehind;
use super::config::{Endpoint, RemoteEndpoint, RemoteTransport, Revision};
use super::connection::{STDERR_LINES, ServerConnection};
use super::failure::{self, ConnectFailure};
use super::handler::ClientSide;
use super::headers::headers;
use super::ide;
use super::pacing::Paced;
use super::probe::Probed;
use super::shared;
use super::slot::{Slot, retired};
use super::timeouts::Timeouts;
use super::transport::http::{HttpClient, PrintedCredential};
use super::transport::process::StderrRing;
use super::transport::sse::SseTransport;
use super::transport::stdio::{KeptServer, StdioTransport};
use super::transport::ws::WsTransport;
use crate::locks::locked;

/// What every connection of a process is made with.
#[derive(Clone, Copy)]
pub(super) struct Means<'a> {
    /// In which servers are started.
    pub(super) folder: &'a Path,
    pub(super) timeouts: &'a Timeouts,
    /// The program that takes servers along when we are killed.
    pub(super) guard: Option<&'a Path>,
    /// Who uses the connections, and answers what servers ask.
    pub(super) behind: Option<&'a Arc<ClientBehind>>,
    /// Who hears what channel servers say.
    pub(super) hears: Option<&'a mpsc::Sender<FromChannel>>,
}

impl ServerConnection {
    /// Starts or reaches the server, and waits for its answer. One that is started for nothing is ended in order.
    pub(super) async fn open(slot: &Slot, means: &Means<'_>, known: Option<Revision>) -> Result<Self, ConnectFailure> {
        let (Means { timeouts, .. }, upstream, bearer) = (*means, &slot.upstream, slot.bearer.as_ref());
        let folder = upstream.folder.as_deref().unwrap_or(means.folder);
        let means = &Means { folder, ..*means };
        let side = ClientSide::new(&upstream.name, means.behind.cloned()).heard_by(means.hears.cloned());
        // Kept here, so that it can be ended, and what it said be shown, when the time is over.
        let started = Mutex::new(None);
        let opening = async {
            match (&upstream.entry.endpoint, &upstream.shared) {
                (Endpoint::Stdio { .. }, Some(socket)) => {
                    let transport = shared::join(socket, &upstream.name).await?;
                    let served = Self::serve(transport, None, Some(Revision::Initialize), &side).await;
                    served.map_err(|error| ConnectFailure::of(&error))
                }
                (endpoint @ Endpoint::Stdio { .. }, None) => Self::start(endpoint, means, known, &started, &side).await,
                (Endpoint::Remote(remote), _) => {
                    let editor = match remote.transport {
                        transport if transport.is_editor() && remote.url.is_empty() => {
                            Some(ide::found(remote, folder)?)
                        }
                        _ => None,
                    };
                    let remote = editor.as_ref().unwrap_or(remote);
                    let headers = headers(&upstream.name, remote, folder).await?;
                    let printed = printed_credential(&upstream.name, remote, folder, &headers);
                    let first_byte = timeouts.of_request(&upstream.entry);
                    let client = || match HttpClient::new(&remote.url, first_byte) {
                        Ok(client) => {
                            let client = client.with_bearer(bearer.cloned()).with_printed(printed.clone());
                            Ok(client.probing(known.is_none()))
                        }
                        Err(error) => Err(ConnectFailure::new(format!("TLS: {error}"))),
                    };
                    Self::reach(remote, headers, client, known, &side).await
                }
            }
        };
        let limit = timeouts.connect;
        let opened = tokio::select! {
            opened = tokio::time::timeout(limit, opening) => opened.unwrap_or_else(|_| {
                let why = format!("connection timed out after {}ms", limit.as_millis());
                Err(ConnectFailure::Failed { why, stderr: String::new(), is_passing: true })
            }),
            () = slot.retired.cancelled() => Err(retired()),
        };
        let started = locked(&started).take();
        match (opened, started) {
            (Err(failure), Some(KeptServer { process, stderr })) => {
                process.lock().await.end().await;
                Err(match failure {
                    ConnectFailure::Failed { why, is_passing, .. } => {
                        let stderr = stderr.all_said().await.last_lines(STDERR_LINES);
                        ConnectFailure::Failed { why, stderr, is_passing }
                    }
                    failure @ ConnectFailure::NeedsAuth => failure,
                })
            }
            (opened, _) => opened,
        }
    }

    async fn start(
        endpoint: &Endpoint,
        means: &Means<'_>,
        known: Option<Revision>,
        started: &Mutex<Option<KeptServer>>,
        side: &ClientSide,
    ) -> Result<Self, ConnectFailure> {
        let serve = async |known| {
            let transport = StdioTransport::start(endpoint, means.folder, means.guard);
            let (transport, kept) = transport
                .map_err(|error| Err(ConnectFailure::new(format!("starting {}: {error}", endpoint.program()))))?;
            let ring = kept.stderr.clone();
            *locked(started) = Some(kept);
            Self::serve(transport, Some(ring), known, side).await.map_err(Ok)
        };
        let mut served = serve(known).await;
        // It may have ended at a question that it did not know: once more, without it.
        if let Err(Ok(error)) = &served
            && known.is_none()
            && failure::has_ended(error)
        {
            served = serve(Some(Revision::Initialize)).await;
        }
        served.map_err(|error| error.map_or_else(|failure| failure, |error| ConnectFailure::of(&error)))
    }

    async fn reach(
        remote: &RemoteEndpoint,
        headers: HashMap<HeaderName, HeaderValue>,
        client: impl Fn() -> Result<HttpClient, ConnectFailure>,
        known: Option<Revision>,
        side: &ClientSide,
    ) -> Result<Self, ConnectFailure> {
        match remote.transport {
            RemoteTransport::Http | RemoteTransport::ClaudeAiProxy => {
                let mut config = StreamableHttpClientTransportConfig::with_uri(remote.url.as_str());
                // The caches have to hear of a new session, so it is ours to make.
                config.reinit_on_expired_session = false;
                config.custom_headers = headers.clone();
                let transport = StreamableHttpClientTransport::with_client(client()?, config);
                let error = match Self::serve(transport, None, known, side).await {
                    Ok(connection) => return Ok(connection),
                    Err(error) => error,
                };
                if !failure::may_be_older_transport(&error) {
                    return Err(ConnectFailure::of(&error));
                }
                // Whichever says more: that of the transport that was asked for.
                Self::reach_older(client()?, remote, headers, side).await.map_err(|_| ConnectFailure::of(&error))
            }
            RemoteTransport::Sse | RemoteTransport::SseIde => Self::reach_older(client()?, remote, headers, side).await,
            RemoteTransport::Ws | RemoteTransport::WsIde => {
                let transport = WsTransport::connect(&remote.url, &headers).await;
                let transport = transport.map_err(|failure| ConnectFailure::of_http(&failure))?;
                Self::serve(transport, None, known, side).await.map_err(|error| ConnectFailure::of(&error))
            }
        }
    }

    /// Servers of the older transport are older than `server/discover`.
    async fn reach_older(
        client: HttpClient,
        remote: &RemoteEndpoint,
        headers: HashMap<HeaderName, HeaderValue>,
        side: &ClientSide,
    ) -> Result<Self, ConnectFailure> {
        let transport = SseTransport::connect(client, &remote.url, headers).await;
        let transport = transport.map_err(|error| ConnectFailure::of_sending(&error))?;
        let served = Self::serve(transport, None, Some(Revision::Initialize), side).await;
        served.map_err(|error| ConnectFailure::of(&error))
    }

    async fn serve<T>(
        transport: T,
        stderr: Option<StderrRing>,
        known: Option<Revision>,
        side: &ClientSide,
    ) -> Result<Self, ClientInitializeError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        let lifecycle = match known {
            Some(Revision::Initialize) => ClientLifecycleMode::Initialize,
            Some(Revision::Discover) => ClientLifecycleMode::Discover { preferred_versions },
            None => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
        };
        let begun = Instant::now();
        let was_silent = Arc::<AtomicBool>::default();
        let tapped = Tapped::new(Probed::new(transport, known.is_none(), Arc::clone(&was_silent)), side.clone());
        let service = side.clone().serve_with_lifecycle(Paced::new(tapped), lifecycle).await?;
        let was_silent = was_silent.load(Ordering::Acquire);
        let mut connection = Self::new(service, side.clone(), stderr, begun.elapsed());
        connection.was_silent = was_silent;
        Ok(connection)
    }
}

/// The credential of an entry whose helper printed one.
fn printed_credential(
    server: &str,
    remote: &RemoteEndpoint,
    folder: &Path,
    headers: &HashMap<HeaderName, HeaderValue>,
) -> Option<Arc<PrintedCredential>> {
    remote.headers_helper.as_ref()?;
    let first = headers.get(&AUTHORIZATION)?.clone();
    let (server, remote, folder) = (server.to_owned(), remote.clone(), folder.to_owned());
    let print = move || {
        let (server, remote, folder) = (server.clone(), remote.clone(), folder.clone());
        async move { self::headers(&server, &remote, &folder).await.ok()?.get(&AUTHORIZATION).cloned() }.boxed()
    };
    Some(Arc::new(PrintedCredential::new(first, print)))
}
