//! `GET /link`: a connection over the Unix socket becomes the link of a session's process.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use hyper::StatusCode;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::upgrade::Parts;
use hyper_util::rt::TokioIo;
use portcullis_core::Right;
use portcullis_wire::error::{Fault, Kind};
use tokio::net::UnixStream;

use super::Door;
use super::access::Permitted;
use super::response::ErrorResponse;
use super::timeouts::TimedStream;
use crate::hub::link;

pub(super) async fn upgrade(
    State(door): State<Arc<Door>>,
    Permitted { actor, peer, .. }: Permitted,
    mut request: Request,
) -> Result<Response, ErrorResponse> {
    let upgrade = request.headers().get(UPGRADE).map(HeaderValue::as_bytes);
    if upgrade != Some(b"portcullis-link") {
        return Err(Fault::new(Kind::BadRequest, "a link is asked for with Upgrade: portcullis-link").into());
    }
    // What an agent runs may attach, and answers no prompt: also not as the terminal of a session.
    let answerer = actor.may(Right::Review).then_some(peer);
    let upgrading = hyper::upgrade::on(&mut request);
    let gate = link::Gate { answerer, ..door.link.clone() };
    tokio::spawn(async move {
        let upgraded = match upgrading.await {
            Ok(upgraded) => upgraded.downcast::<TokioIo<TimedStream<UnixStream>>>(),
            Err(error) => return tracing::debug!(%error, "a link was not upgraded"),
        };
        let Ok(Parts { io, read_buf, .. }) = upgraded else {
            return tracing::error!("a link that is no Unix socket");
        };
        if let Err(error) = link::serve(io.into_inner().into_inner(), &read_buf, gate).await {
            tracing::debug!("link: {error:#}");
        }
    });
    Ok((StatusCode::SWITCHING_PROTOCOLS, [(CONNECTION, "upgrade"), (UPGRADE, "portcullis-link")]).into_response())
}
