//! The command line's side of the API: HTTP over the gate's own socket.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::rt::TokioIo;
use portcullis_wire::api::Status;
use portcullis_wire::error::Fault;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use super::lock;
use crate::config::Paths;
use crate::config::{paths, project};
use crate::failure::Failure;
use crate::fixed;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Where the gate listens: as it says itself, else where it would.
pub(crate) fn socket_of(paths: &Paths) -> PathBuf {
    lock::holder(&paths.lock_file).map_or_else(|| paths.socket.clone(), |holder| holder.socket)
}

/// Whether what lies there may be believed to be the user's gate.
pub(crate) fn believe_socket(paths: &Paths) -> Result<(), Failure> {
    let project = project();
    paths.believe(&paths.lock_file, project.as_deref())?;
    paths.believe(&socket_of(paths), project.as_deref())
}

/// Part of a path, with everything spelled out that would end it.
pub(crate) fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'@');
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Whether a call failed because no gate answered, or one that cannot at the moment; trying again may help.
pub(crate) fn is_away(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.is::<std::io::Error>() || cause.is::<hyper::Error>() || cause.is::<tokio::time::error::Elapsed>()
    }) || error.downcast_ref::<Failure>().is_some_and(Failure::is_unavailable)
}

/// Whether the gate said that it knows nothing of that name.
pub(crate) fn is_not_found(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Failure>().is_some_and(Failure::is_not_found)
}

pub(crate) struct Client {
    socket: PathBuf,
}

impl Client {
    pub(crate) fn new(paths: &Paths) -> Self {
        Self { socket: socket_of(paths) }
    }

    /// The gate that runs, or an error that says how to start one.
    pub(crate) fn of_the_gate() -> anyhow::Result<Self> {
        let paths = paths()?;
        believe_socket(&paths)?;
        if lock::holder(&paths.lock_file).is_none() {
            return Err(Failure::new("no gate is running", "start one with `portcullis up`").into());
        }
        Ok(Self::new(&paths))
    }

    pub(crate) async fn status(&self) -> anyhow::Result<Status> {
        self.get("/api/v1/status").await.context("asking the gate for its status")
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        Ok(serde_json::from_slice(&self.call("GET", path, Bytes::new()).await?)?)
    }

    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> anyhow::Result<T> {
        let answer = self.call("POST", path, serde_json::to_vec(body)?.into()).await?;
        Ok(serde_json::from_slice(&answer)?)
    }

    pub(crate) async fn put<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> anyhow::Result<T> {
        let answer = self.call("PUT", path, serde_json::to_vec(body)?.into()).await?;
        Ok(serde_json::from_slice(&answer)?)
    }

    /// Sends something whose answer is only whether it was done.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &impl Serialize) -> anyhow::Result<()> {
        self.call(method, path, serde_json::to_vec(body)?.into()).await.map(drop)
    }

    pub(crate) async fn command(&self, method: &str, path: &str) -> anyhow::Result<()> {
        self.call(method, path, Bytes::new()).await.map(drop)
    }

    async fn call(&self, method: &str, path: &str, body: Bytes) -> anyhow::Result<Bytes> {
        let exchange = self.exchange(method, path, body);
        tokio::time::timeout(fixed::wait("CLIENT", ANSWER_TIMEOUT), exchange).await.map_err(|elapsed| {
            let hint = match method {
                "GET" => "`portcullis status` says which process hangs, and how it is ended",
                _ => {
                    "it may still be done: `portcullis status` says which process hangs and how it is ended, and \
                     `portcullis log` afterwards what was done"
                }
            };
            Failure::unavailable("the gate did not answer in time", hint).because(elapsed)
        })?
    }

    async fn exchange(&self, method: &str, path: &str, body: Bytes) -> anyhow::Result<Bytes> {
        let connecting = || format!("connecting to {}", self.socket.display());
        let stream = UnixStream::connect(&self.socket).await.with_context(connecting)?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let serving = tokio::spawn(connection);
        let request = Request::builder().method(method).uri(path).header("Host", "localhost");
        let request = request.header("Content-Type", "application/json").body(Full::new(body))?;
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        serving.abort();
        if status.is_success() {
            return Ok(body);
        }
        match serde_json::from_slice::<Fault>(&body) {
            Ok(fault) => Err(Failure::from(fault).into()),
            Err(_) => anyhow::bail!("the gate answered {status}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_segment_never_leaves_its_place() {
        assert_eq!(super::segment("a/b?c#d e%"), "a%2Fb%3Fc%23d%20e%25");
        assert_eq!(super::segment("01abc-_.@"), "01abc-_.@");
    }
}
