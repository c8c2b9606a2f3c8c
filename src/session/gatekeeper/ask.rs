//! A tool request as it is put to people.

use std::time::Duration;

use portcullis_core::policy::{Decision as RuleDecision, Judgement, Mode};
use portcullis_core::{AskId, AskKind, AskTimeout, Details, NewAsk, Offer, OnTimeout, Scope, Text, excerpt, visible};
use portcullis_wire::api::REFUSED_AFTER_YES;
use portcullis_wire::canonical::canonical;
use portcullis_wire::permission::suggested;
use portcullis_wire::preview::{description, preview};

use super::judge::quorum;
use super::request::{CallKey, ToolRequest, WithoutDecision};
use crate::fixed;

/// People read at most this much of a text; the input itself goes along whole.
const LONGEST_TEXT: usize = 256 << 10;
/// An ask ends so long before the client stops waiting for it.
pub(super) const MARGIN: Duration = Duration::from_secs(5);

/// The client shows within so many milliseconds that it took a verdict.
const CONFIRM_WITHIN: u64 = 10_000;

/// When an ask ends by itself, and what that means.
pub(super) type Limit = Option<AskTimeout>;

/// The ask for one request. `outside` says why the outside guard wants it, where it does.
pub(super) fn new_ask(
    id: AskId,
    request: &ToolRequest,
    call: &CallKey,
    judgement: &Judgement,
    outside: Option<String>,
    limit: Limit,
) -> NewAsk {
    let (capabilities, flags, kind) = (request.capabilities, &request.flags, request.kind());
    let quorum = quorum(judgement);
    let may_remember =
        capabilities.remember && !judgement.suppress_always && !flags.suppress_always && outside.is_none();
    let offers = if may_remember { offers(request) } else { vec![] };
    let reason = with_caveat(outside.unwrap_or_else(|| reason(request, judgement)), request);
    let details = Details {
        input: Some(Text::new(canonical(&request.input))),
        digest: Some(call.digest),
        tool_use_id: call.tool_use_id.clone().filter(|id| !id.is_empty()),
        agent: call.agent.clone(),
        kind,
        offers,
        editable: capabilities.edit,
        interruptible: capabilities.interrupt,
        default_to_no: flags.default_to_no,
        requires_user_interaction: flags.requires_user_interaction || kind != AskKind::Tool,
        reason: Some(shortened(reason)).filter(|reason| !reason.is_empty()),
        risk: Some(judgement.risk.clone()),
        quorum,
        timeout: limit,
        held: capabilities.without_decision == WithoutDecision::Runs,
        modes: if kind == AskKind::Plan { capabilities.modes.to_vec() } else { vec![] },
        // The disk is looked at by whoever puts it to people.
        replaced: None,
        confirm_within: capabilities.confirms.then(|| fixed::number("CONFIRM", CONFIRM_WITHIN)),
        mcp: flags.mcp.clone(),
    };
    let described = flags.description.clone().unwrap_or_else(|| description(&request.tool, &request.input));
    let shown = flags.plan.clone().unwrap_or_else(|| preview(&request.tool, &request.input));
    NewAsk {
        id,
        source: capabilities.source,
        origin: id.to_string(),
        tool: request.tool.clone(),
        description: Text::new(shortened(described)),
        preview: Text::new(shortened(shown)),
        details,
    }
}

/// Why a person is asked, where it is not for text from outside.
fn reason(request: &ToolRequest, judgement: &Judgement) -> String {
    let said = request.flags.reason.clone().unwrap_or_default();
    let is_let_pass = judgement.decision == RuleDecision::Allow && request.kind() == AskKind::Tool;
    match () {
        () if judgement.must_be_asked() => judgement.why.clone(),
        () if !said.is_empty() => said,
        // Its own settings or checks say so, and not every connection tells which.
        () if is_let_pass => "Claude Code asks for it by itself".to_owned(),
        () => judgement.why.clone(),
    }
}

/// Says so where a yes to a call that is held does not make it run.
fn with_caveat(reason: String, request: &ToolRequest) -> String {
    let is_held = request.capabilities.without_decision == WithoutDecision::Runs && request.own.is_none();
    match request.mode() {
        mode @ (Mode::DontAsk | Mode::Plan) if is_held => {
            let reason = reason.split("; in dontAsk mode").next().unwrap_or_default();
            format!("{reason}; in {} mode {REFUSED_AFTER_YES}", mode.name())
        }
        _ => reason,
    }
}

/// How long an ask can be answered: as long as the client waits, and as the owner said, whichever is shorter.
pub(super) fn limit(request: &ToolRequest, owners: Limit) -> Limit {
    let on_timeout = match request.capabilities.without_decision {
        WithoutDecision::Runs | WithoutDecision::Waits => OnTimeout::Deny,
        WithoutDecision::Prompts | WithoutDecision::Denies => OnTimeout::NoDecision,
    };
    let clients = request.still_waits().map(|waits| {
        let milliseconds = waits.saturating_sub(MARGIN).as_millis();
        AskTimeout { milliseconds: u64::try_from(milliseconds).unwrap_or(u64::MAX), then: on_timeout }
    });
    [clients, owners].into_iter().flatten().min_by_key(|timeout| timeout.milliseconds)
}

fn offers(request: &ToolRequest) -> Vec<Offer> {
    let offer = |suggested: portcullis_wire::permission::Suggested| Offer {
        scope: if suggested.always { Scope::Always } else { Scope::Session },
        words: visible(&suggested.words),
    };
    suggested(&request.suggestions).into_iter().map(offer).collect()
}

/// The beginning of a text that is longer than anybody reads.
pub(crate) fn shortened(text: String) -> String {
    match excerpt(&text, Some(LONGEST_TEXT)) {
        (_, 0) => text,
        (start, rest) => format!("{start}\n[{rest} more bytes are not shown here]"),
    }
}
