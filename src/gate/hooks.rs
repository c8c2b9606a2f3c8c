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
use crate::hub::link as gate_link;
use crate::rules::Rules;
use crate::session::gatekeeper::{GatekeeperSettings, Judge};
use crate::session::link::Connect;

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

pub(super) fn posted(gate: gate_link::Gate, config: &Config) -> Arc<dyn http::Hooks> {
    let judge_of = |about: &SessionAbout| Some(judge(&paths().ok()?, about));
    let settings = HookSettings { is_posted: true, ..settings(config) };
    Arc::new(Posted(PostedHooks::new(connect_here(gate), settings, judge_of)))
}

/// How a session of the gate's own process comes to its link.
fn connect_here(gate: gate_link::Gate) -> Connect {
    Arc::new(move || {
        let gate = gate.clone();
        Box::pin(async move {
            if gate.stop.is_cancelled() {
                // There will be no other gate in this process.
                std::future::pending::<()>().await;
            }
            Ok(gate_link::serve_here(gate)?)
        })
    })
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
