//! The hooks that are posted to the gate over HTTP, with the rules of each session that posts them.

use std::sync::Arc;

use portcullis_core::{Actor, SessionAbout};
use portcullis_wire::hooks::HookCall;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::sessions::{hook_settings, judge};
use crate::agents::claude::hooks::{HookSettings, PostedHooks};
use crate::config::{Config, paths};
use crate::doors::http;
use crate::hub::link as gate_link;
use crate::session::link::Connect;

/// Answers hooks that are posted to the gate, for its HTTP door.
pub(super) fn posted(gate: gate_link::Gate, config: &Config) -> http::HookHandler {
    let judge_of = |about: &SessionAbout| Some(judge(&paths().ok()?, about, vec![]));
    let settings = HookSettings { is_posted: true, ..hook_settings(config) };
    let posted = PostedHooks::new(connect_here(gate), settings, judge_of);
    Box::new(move |call: HookCall, actor: Actor, cancelled: CancellationToken| {
        let posted = Arc::clone(&posted);
        Box::pin(async move {
            let answered = posted.call(call, &actor, &cancelled).await?;
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
