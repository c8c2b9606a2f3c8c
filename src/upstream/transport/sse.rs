//! The older HTTP transport: one stream of events from the server, and an address that it names for messages to it.

use std::sync::Arc;

use futures_util::stream::{BoxStream, StreamExt as _};
use hyper::Uri;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use sse_stream::Sse;

use super::http::{Headers, HttpClient, HttpFailure};
use super::{LARGEST_MESSAGE, mend};

pub(crate) struct SseTransport {
    client: HttpClient,
    headers: Arc<Headers>,
    /// Where messages are posted.
    address: Arc<str>,
    /// None once it was closed.
    events: Option<BoxStream<'static, Result<Sse, sse_stream::Error>>>,
}

impl SseTransport {
    pub(crate) async fn connect(
        client: HttpClient,
        url: &str,
        headers: Headers,
    ) -> Result<Self, StreamableHttpError<HttpFailure>> {
        let mut events = client.events(url, &headers, LARGEST_MESSAGE).await?;
        let named = loop {
            match events.next().await {
                Some(Ok(event)) if event.event.as_deref() == Some("endpoint") => break event.data.unwrap_or_default(),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(StreamableHttpError::Sse(error)),
                None => return Err(StreamableHttpError::UnexpectedEndOfStream),
            }
        };
        let Some(address) = same_origin(url, named.trim()) else {
            let what = format!("the server names another host for messages: {}", named.trim());
            return Err(StreamableHttpError::UnexpectedServerResponse(what.into()));
        };
        Ok(Self { client, headers: Arc::new(headers), address: address.into(), events: Some(events) })
    }
}

/// The address that a server named, if it is on the host that was asked: credentials go nowhere else.
fn same_origin(url: &str, named: &str) -> Option<String> {
    let base: Uri = url.parse().ok()?;
    let (scheme, authority) = (base.scheme_str()?, base.authority()?);
    if let Ok(named) = named.parse::<Uri>()
        && named.scheme().is_some()
    {
        let is_same = named.scheme_str() == Some(scheme) && named.authority() == Some(authority);
        return is_same.then(|| named.to_string());
    }
    let path = match named.strip_prefix('/') {
        Some(rest) if rest.starts_with('/') => return None,
        Some(_) => named.to_owned(),
        None => {
            let (folder, _) = base.path().rsplit_once('/').unwrap_or_default();
            format!("{folder}/{named}")
        }
    };
    Some(format!("{scheme}://{authority}{path}"))
}

impl Transport<RoleClient> for SseTransport {
    type Error = StreamableHttpError<HttpFailure>;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (client, headers, address) = (self.client.clone(), Arc::clone(&self.headers), Arc::clone(&self.address));
        async move { client.post(&address, &headers, serde_json::to_vec(&message)?).await }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let event = self.events.as_mut()?.next().await?.ok()?;
            if let Some(message) = event.data.and_then(|data| mend::message(data.as_bytes())) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_posted_to_the_same_host_only() {
        let base = "http://a.org:8080/mcp/sse";
        let found = |named| same_origin(base, named);
        assert_eq!(found("/message?id=1").as_deref(), Some("http://a.org:8080/message?id=1"));
        assert_eq!(found("message").as_deref(), Some("http://a.org:8080/mcp/message"));
        assert_eq!(found("http://a.org:8080/x").as_deref(), Some("http://a.org:8080/x"));
        for elsewhere in ["http://b.org/x", "https://a.org:8080/x", "//b.org/x", "http://a.org/x"] {
            assert_eq!(found(elsewhere), None, "{elsewhere}");
        }
    }
}
