//! `POST /claude/hooks`: Claude Code's http hooks, where the owner has switched them on.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures_util::future::BoxFuture;
use futures_util::stream;
use hyper::header::CONTENT_TYPE;
use portcullis_core::{Right, TokenScope};
use portcullis_wire::error::{Fault, Kind};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Door;
use super::answer::Refused;
use super::body::read_json;
use super::credentials::Caller;

/// Who answers posted hooks. `cli` says who it is.
pub(crate) trait Hooks: Send + Sync {
    /// May wait for long; taken back when the client goes.
    fn call(
        &self,
        body: Value,
        scope: TokenScope,
        taken_back: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer, Fault>>;
}

pub(crate) struct Answer {
    /// As the client reads it; null for nothing.
    pub(crate) output: Value,
    /// To be told whether it is with the client.
    pub(crate) settle: Settle,
}

/// Tells once whether the answer was written: that it was not, unless it is said to have been.
pub(crate) struct Settle(Option<Box<dyn FnOnce(bool) + Send>>);

impl Settle {
    pub(crate) fn new(tell: impl FnOnce(bool) + Send + 'static) -> Self {
        Self(Some(Box::new(tell)))
    }

    fn written(mut self) {
        if let Some(tell) = self.0.take() {
            tell(true);
        }
    }
}

impl Drop for Settle {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell(false);
        }
    }
}

pub(super) async fn hooks(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Refused> {
    let Some(hooks) = &door.hooks else {
        return Err(Fault::new(Kind::NoSuchRoute, "hooks over HTTP are off: hooks.http in the configuration").into());
    };
    let scope = caller.with(Right::Agent)?.scope.clone();
    let body: Value = read_json(request, &door).await?;
    let taken_back = CancellationToken::new();
    // Dropped with this future when the client closes its end.
    let _gone = taken_back.clone().drop_guard();
    let answering = tokio::spawn(hooks.call(body, scope, taken_back));
    let answer = answering.await.map_err(|_| Fault::new(Kind::Internal, "the hook could not be answered"))??;
    let text = if answer.output.is_null() { "{}".to_owned() } else { answer.output.to_string() };
    // Whoever asks for what comes after the text has taken the text.
    let told = stream::unfold((Some(text), Some(answer.settle)), |(text, mut settle)| async move {
        match text {
            Some(text) => Some((Ok::<_, std::convert::Infallible>(text), (None, settle))),
            None => {
                settle.take().into_iter().for_each(Settle::written);
                None
            }
        }
    });
    Ok(([(CONTENT_TYPE, "application/json")], Body::from_stream(told)).into_response())
}
