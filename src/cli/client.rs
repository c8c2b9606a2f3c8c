//! The command line's side of the API: HTTP over the gate's own socket.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use portcullis_wire::error::Fault;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use super::lock;
use super::report::Hinted;
use crate::config::Paths;

const PATIENCE: Duration = Duration::from_secs(10);

/// Where the gate listens: as it says itself, else where it would.
pub(super) fn socket_of(paths: &Paths) -> PathBuf {
    lock::holder(&paths.lock_file).map_or_else(|| paths.socket.clone(), |holder| holder.socket)
}

pub(super) async fn get<T: DeserializeOwned>(socket: &Path, path: &str) -> anyhow::Result<T> {
    Ok(serde_json::from_slice(&call(socket, Method::GET, path).await?)?)
}

pub(super) async fn post(socket: &Path, path: &str) -> anyhow::Result<()> {
    call(socket, Method::POST, path).await.map(drop)
}

async fn call(socket: &Path, method: Method, path: &str) -> anyhow::Result<Bytes> {
    tokio::time::timeout(PATIENCE, exchange(socket, method, path)).await.context("the gate did not answer in time")?
}

async fn exchange(socket: &Path, method: Method, path: &str) -> anyhow::Result<Bytes> {
    let stream = UnixStream::connect(socket).await.with_context(|| format!("connecting to {}", socket.display()))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let serving = tokio::spawn(connection);
    let request = Request::builder().method(method).uri(path).header("Host", "localhost").body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    serving.abort();
    if status.is_success() {
        return Ok(body);
    }
    match serde_json::from_slice::<Fault>(&body) {
        Ok(fault) => Err(Hinted::new(fault.message, fault.hint).into()),
        Err(_) => anyhow::bail!("the gate answered {status}"),
    }
}
