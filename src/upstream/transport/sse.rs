//! The older HTTP transport: one stream of events from the server, and an address that it names for messages to it.

use std::sync::Arc;

use futures_util::stream::{BoxStream, StreamExt as _};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use sse_stream::Sse;

use super::http::{FoundEvents, Headers, HttpClient, HttpFailure};
use super::{LARGEST_MESSAGE, mend, redirect};

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
        let FoundEvents { mut events, at } = client.events(url, &headers, LARGEST_MESSAGE).await?;
        let named = loop {
            match events.next().await {
                Some(Ok(event)) if event.event.as_deref() == Some("endpoint") => break event.data.unwrap_or_default(),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(StreamableHttpError::Sse(error)),
                None => return Err(StreamableHttpError::UnexpectedEndOfStream),
            }
        };
        let Some(address) = redirect::within(named.trim(), &at) else {
            let what = format!("the server names another host for messages: {}", redirect::shown(named.trim()));
            return Err(StreamableHttpError::UnexpectedServerResponse(what.into()));
        };
        Ok(Self { client, headers: Arc::new(headers), address: address.into(), events: Some(events) })
    }
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
            // What comes as an event is mended already.
            if let Some(message) = event.data.and_then(|data| mend::read(data.as_bytes())) {
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
    use std::time::Duration;

    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    async fn answer(stream: &mut TcpStream, head: &str, body: &str) {
        let mut request = [0; 4096];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        stream.write_all(format!("HTTP/1.1 {head}\r\n\r\n{body}").as_bytes()).await.unwrap();
    }

    #[tokio::test]
    async fn a_result_comes_as_it_was_given_and_messages_go_to_where_the_server_has_sent_us() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let result = json!({"content": [{"type": "text", "text": "a"}], "acme": 1});
        let message = json!({"jsonrpc": "2.0", "id": 1, "result": result});
        tokio::spawn(async move {
            let moved = "307 Moved\r\nlocation: /new/sse\r\ncontent-length: 0\r\nconnection: close";
            answer(&mut listener.accept().await.unwrap().0, moved, "").await;
            let mut stream = listener.accept().await.unwrap().0;
            let events = format!("event: endpoint\ndata: message\n\ndata: {message}\n\n");
            answer(&mut stream, "200 OK\r\ncontent-type: text/event-stream", &events).await;
        });
        let url = format!("{base}/old/sse");
        let client = HttpClient::new(&url, Duration::from_secs(60)).unwrap();
        let mut transport = SseTransport::connect(client, &url, Headers::new()).await.unwrap();
        assert_eq!(*transport.address, format!("{base}/new/message"));
        let Some(ServerJsonRpcMessage::Response(response)) = transport.receive().await else { panic!("no answer") };
        assert_eq!(mend::as_it_came(serde_json::to_value(response.result).unwrap()), result);
    }

    #[tokio::test]
    async fn where_a_server_leads_is_told_without_the_key_in_its_address() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp?apiKey=SECRET", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let moved = "302 Moved\r\nlocation: https://b.example/mcp?apiKey=SECRET\r\ncontent-length: 0";
            answer(&mut listener.accept().await.unwrap().0, moved, "").await;
        });
        let client = HttpClient::new(&url, Duration::from_secs(60)).unwrap();
        let Err(failure) = SseTransport::connect(client, &url, Headers::new()).await else { panic!("it is followed") };
        let said = failure.to_string();
        assert!(said.contains("https://b.example/mcp?…") && !said.contains("SECRET"), "{said}");
    }
}
