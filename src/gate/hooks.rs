//! The hooks that are posted to the gate over HTTP, with the rules of each session that posts them.

use std::path::PathBuf;
use std::sync::Arc;

use portcullis_core::policy::OutsidePolicy;
use portcullis_core::{SessionAbout, TokenScope};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::agents::claude::hooks::{HookSettings, PostedHooks};
use crate::config::{Config, Outside, Paths, paths};
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
        instructions: config.instructions.clone(),
        gatekeeper: GatekeeperSettings { outside: outside(config), ..GatekeeperSettings::default() },
    }
}

/// What the owner's configuration says of text from outside.
pub(crate) fn outside(config: &Config) -> OutsidePolicy {
    match config.outside {
        Outside::Guard => OutsidePolicy::Guard,
        Outside::All => OutsidePolicy::All,
        Outside::Off => OutsidePolicy::Off,
    }
}

/// The rules of the user and of the session's project. The session may also work in the folders `added`.
pub(crate) fn judge(paths: &Paths, about: &SessionAbout, added: Vec<PathBuf>) -> Judge {
    let folder = PathBuf::from(about.folder.clone().unwrap_or_else(|| "/".to_owned()));
    Judge::new(Rules::open(paths, &folder), folder, added, about.label.to_string())
}

/// Answers hooks that are posted to the gate, for its HTTP door.
pub(super) fn posted(gate: gate_link::Gate, config: &Config) -> http::HookHandler {
    let judge_of = |about: &SessionAbout| Some(judge(&paths().ok()?, about, vec![]));
    let settings = HookSettings { is_posted: true, ..settings(config) };
    let posted = PostedHooks::new(connect_here(gate), settings, judge_of);
    Box::new(move |body: Value, scope: TokenScope, cancelled: CancellationToken| {
        let posted = Arc::clone(&posted);
        Box::pin(async move {
            let answered = posted.call(&body, &scope, &cancelled).await?;
            let output = answered.answer.output.clone();
            let (written, is_written) = oneshot::channel();
            tokio::spawn(async move { answered.settle(is_written.await.is_ok()).await });
            Ok(http::HookResponse { output, written })
        })
    })
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
