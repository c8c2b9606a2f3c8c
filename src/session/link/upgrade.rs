//! How a connection to the gate's HTTP server becomes a link.

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

/// Asks the HTTP server of a gate for the link.
pub(crate) async fn upgrade(mut stream: UnixStream) -> anyhow::Result<UnixStream> {
    const REQUEST: &[u8] =
        b"GET /link HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: portcullis-link\r\n\r\n";
    stream.write_all(REQUEST).await?;
    // The gate says nothing after its head until we have said hello, so nothing is read too far.
    let mut head = Vec::with_capacity(1024);
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        anyhow::ensure!(head.len() < 8192, "the gate's answer has no end");
        let read = stream.read_buf(&mut head).await.context("reading the gate's answer")?;
        anyhow::ensure!(read > 0, "the gate closed the connection");
    }
    let is_link = head.starts_with(b"HTTP/1.1 101") && head.ends_with(b"\r\n\r\n");
    anyhow::ensure!(is_link, "the gate gave no link: {}", String::from_utf8_lossy(&head));
    Ok(stream)
}
