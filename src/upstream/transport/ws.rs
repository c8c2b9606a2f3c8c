//! Servers over a WebSocket: one message a frame.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream::{BoxStream, StreamExt as _};
use futures_util::{Sink, SinkExt as _};
use hyper::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message as Frame};
use tower::Service as _;

use super::http::{Headers, HttpFailure, tls};
use super::{LARGEST_MESSAGE, mend};

type FrameSink = Pin<Box<dyn Sink<Frame, Error = Error> + Send>>;

pub(crate) struct WsTransport {
    /// Locked for one frame at a time.
    sink: Arc<tokio::sync::Mutex<FrameSink>>,
    frames: BoxStream<'static, Result<Frame, Error>>,
}

impl WsTransport {
    pub(crate) async fn connect(url: &str, headers: &Headers) -> Result<Self, HttpFailure> {
        let wrong = |error: &dyn std::fmt::Display| HttpFailure::Connect(error.to_string());
        let address: Uri = match url.split_once("://") {
            Some(("ws", rest)) => format!("http://{rest}").parse(),
            Some(("wss", rest)) => format!("https://{rest}").parse(),
            _ => return Err(HttpFailure::Connect("the address of a WebSocket begins with ws:// or wss://".to_owned())),
        }
        .map_err(|error| wrong(&error))?;
        match address.scheme_str() {
            Some("https") => {
                let mut connector = tls().map_err(|error| wrong(&error))?;
                let stream = connector.call(address).await.map_err(|error| unreached(url, &*error))?;
                Self::over(TokioIo::new(stream), url, headers).await
            }
            _ => {
                let stream = HttpConnector::new().call(address).await.map_err(|error| unreached(url, &error))?;
                Self::over(stream.into_inner(), url, headers).await
            }
        }
    }

    async fn over<S>(stream: S, url: &str, headers: &Headers) -> Result<Self, HttpFailure>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let mut request = url.into_client_request().map_err(failure)?;
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("mcp"));
        request.headers_mut().extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        let limits =
            WebSocketConfig::default().max_message_size(Some(LARGEST_MESSAGE)).max_frame_size(Some(LARGEST_MESSAGE));
        let opened = tokio_tungstenite::client_async_with_config(request, stream, Some(limits)).await;
        let (sink, frames) = opened.map_err(failure)?.0.split();
        Ok(Self { sink: Arc::new(tokio::sync::Mutex::new(Box::pin(sink))), frames: frames.boxed() })
    }
}

/// With where it was tried, and why that failed: the error alone says neither. No query, which may be secret.
fn unreached(url: &str, error: &(dyn std::error::Error + 'static)) -> HttpFailure {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let words: Vec<String> = causes.map(ToString::to_string).collect();
    let place = url.split(['?', '#']).next().unwrap_or_default();
    let place = match place.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.split_once('@')?.1))) {
        Some((scheme, host)) => format!("{scheme}://{host}"),
        None => place.to_owned(),
    };
    HttpFailure::Connect(format!("{place}: {}", words.join(": ")))
}

fn failure(error: Error) -> HttpFailure {
    match error {
        Error::Http(response) => {
            HttpFailure::Status { status: response.status().as_u16(), text: "the server opens no WebSocket".to_owned() }
        }
        other => HttpFailure::Connect(other.to_string()),
    }
}

impl Transport<RoleClient> for WsTransport {
    type Error = Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = Result<(), Error>> + Send + 'static {
        let sink = Arc::clone(&self.sink);
        async move {
            let text = serde_json::to_string(&message).map_err(|error| Error::Io(error.into()))?;
            sink.lock().await.send(Frame::text(text)).await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let bytes = match self.frames.next().await?.ok()? {
                Frame::Text(text) => text.as_bytes().to_vec(),
                Frame::Binary(bytes) => bytes.to_vec(),
                Frame::Close(_) => return None,
                Frame::Ping(_) | Frame::Pong(_) | Frame::Frame(_) => continue,
            };
            if let Some(message) = mend::message(&bytes) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Error> {
        self.sink.lock().await.close().await
    }
}
