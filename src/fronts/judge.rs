//! The owner's rules, as the driver of a session asks for them.

use std::path::{Path, PathBuf};

use portcullis_core::AskRisk;
use portcullis_core::policy::{Decision, MandatoryAsk, Mode};
use portcullis_wire::tools;

use crate::agents::claude::control::{Judge, Judgement};
use crate::config::Paths;
use crate::rules::Rules;

/// Judges the calls of a session that works in this folder, by the rules as they are at each call.
pub(super) fn judge(paths: &Paths, folder: &Path, added: &[PathBuf], label: &str) -> Judge {
    let rules = Rules::open(paths, folder);
    let around = rules.around(folder, added, Some(label));
    Box::new(move |wanted| {
        let mode = wanted.mode.and_then(Mode::named).unwrap_or_default();
        judgement(rules.decide(mode, &around, tools::call(wanted.tool, wanted.input)))
    })
}

/// Only what somebody wrote allows or denies here: where no rule speaks, the client's own mode and settings do.
fn judgement(ruling: portcullis_core::policy::Judgement) -> Judgement {
    let is_ruled = ruling.rule.is_some();
    let is_asked = ruling.is_asked_by_rule() || ruling.mandatory_asks.iter().any(never_unasked);
    match ruling.decision {
        Decision::Deny if is_ruled => Judgement::Deny { why: ruling.why },
        Decision::Allow if is_ruled => Judgement::Allow,
        _ => Judgement::Ask {
            always: is_asked,
            why: is_asked.then_some(ruling.why),
            quorum: ruling.quorum.and_then(|quorum| u8::try_from(quorum).ok()).unwrap_or(1).max(1),
            may_remember: !ruling.suppress_always,
            risk: Some(AskRisk {
                level: ruling.risk.level.name().to_owned(),
                reasons: ruling.risk.reasons.iter().map(|reason| reason.name().to_owned()).collect(),
            }),
        },
    }
}

/// What the client may let through by itself, and we do not.
fn never_unasked(mandatory_ask: &MandatoryAsk) -> bool {
    matches!(mandatory_ask, MandatoryAsk::CriticalRemoval(_) | MandatoryAsk::ProtectedPath(_))
}
