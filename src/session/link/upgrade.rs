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
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        anyhow::ensure!(head.len() < 8192, "the gate's answer has no end");
        head.push(stream.read_u8().await.context("the gate closed the connection")?);
    }
    anyhow::ensure!(head.starts_with(b"HTTP/1.1 101"), "the gate gave no link: {}", String::from_utf8_lossy(&head));
    Ok(stream)
}
