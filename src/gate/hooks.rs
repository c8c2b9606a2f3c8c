//! The hooks that are posted to the gate over HTTP, with the rules of each session that posts them.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use portcullis_core::{SessionAbout, TokenScope};
use portcullis_wire::error::Fault;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agents::claude::hooks::{HookSettings, PostedHooks};
use crate::config::{Config, Paths, paths};
use crate::doors::http;
use crate::hub::Hub;
use crate::rules::Rules;
use crate::session::gatekeeper::{GatekeeperSettings, Judge};

/// What the owner's configuration says of hooks.
pub(crate) fn settings(config: &Config) -> HookSettings {
    HookSettings {
        wakes_per_hour: config.hooks.wakes,
        must_reply: config.hooks.must_reply.clone(),
        is_posted: false,
        gatekeeper: GatekeeperSettings::default(),
    }
}

/// The rules of the user and of the session's project.
pub(crate) fn judge(paths: &Paths, about: &SessionAbout) -> Judge {
    let folder = PathBuf::from(about.folder.clone().unwrap_or_else(|| "/".to_owned()));
    Judge::new(Rules::open(paths, &folder), folder, vec![], about.label.to_string())
}

/// Hooks that are posted to the gate, for its HTTP door.
struct Posted(Arc<PostedHooks>);

pub(super) fn posted(hub: Hub, config: &Config) -> Arc<dyn http::Hooks> {
    let judge_of = |about: &SessionAbout| Some(judge(&paths().ok()?, about));
    Arc::new(Posted(PostedHooks::new(hub, config.max_context, HookSettings { is_posted: true, ..settings(config) }, judge_of)))
}

impl http::Hooks for Posted {
    fn call(
        &self,
        body: Value,
        scope: TokenScope,
        cancelled: CancellationToken,
    ) -> BoxFuture<'static, Result<http::HookAnswer, Fault>> {
        let posted = Arc::clone(&self.0);
        Box::pin(async move {
            let answered = posted.call(&body, &scope, &cancelled).await?;
            let output = answered.answer.output.clone();
            let settle = http::Settle::new(move |written| drop(tokio::spawn(answered.settle(written))));
            Ok(http::HookAnswer { output, settle })
        })
    }
}
