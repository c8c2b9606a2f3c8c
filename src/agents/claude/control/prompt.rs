//! One permission request of the client: as it is put to people, and their ruling as the client wants it.

use portcullis_core::{AskId, AskKind, Behavior, Details, NewAsk, Offer, Ruling, Scope, Source, Text, visible};
use portcullis_wire::control::{CanUseTool, Classification, PermissionResult};
use portcullis_wire::permission::{remembered, suggested};
use portcullis_wire::preview::{description, preview};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::escapes::without_escapes;

/// What people read is at most this long; the input itself goes along whole.
const LONGEST_TEXT: usize = 256 << 10;

/// A prompt that nobody has answered.
#[derive(Debug)]
pub(crate) struct Prompt {
    /// The client's id of its request.
    pub(crate) request: String,
    pub(crate) ask: AskId,
    pub(crate) call: CanUseTool,
    pub(crate) details: Details,
    /// Of a prompt about a plan: the plan, which is not in the input.
    pub(crate) plan: Option<String>,
    /// Whoever started the session was shown it.
    pub(crate) is_shown: bool,
    /// A gate has it, or had it: people there may have answered.
    pub(crate) is_registered: bool,
}

impl Prompt {
    pub(crate) fn new(request: String, ask: AskId, call: CanUseTool) -> Self {
        let suggestions = if call.suppress_always_allow_rule { &[][..] } else { &call.permission_suggestions };
        let offers = suggested(suggestions).into_iter().map(|offer| Offer {
            scope: if offer.always { Scope::Always } else { Scope::Session },
            words: visible(&offer.words),
        });
        let details = Details {
            input: Some(Text::new(call.input.to_string())),
            digest: Some(digest(&call.input)),
            tool_use_id: Some(call.tool_use_id.clone()).filter(|id| !id.is_empty()),
            agent: call.agent_id.clone(),
            kind: AskKind::of_tool(&call.tool_name),
            offers: offers.collect(),
            editable: true,
            interruptible: true,
            default_to_no: call.default_to_no,
            requires_user_interaction: call.requires_user_interaction,
            reason: reason(&call),
            ..Details::default()
        };
        Self { request, ask, call, details, plan: None, is_shown: false, is_registered: false }
    }

    /// As it is put to people.
    pub(crate) fn as_ask(&self) -> NewAsk {
        let shown = self.plan.clone().unwrap_or_else(|| preview(&self.call.tool_name, &self.call.input));
        NewAsk {
            id: self.ask,
            source: Source::Control,
            origin: self.request.clone(),
            tool: self.call.tool_name.clone(),
            description: Text::new(cut(self.description())),
            preview: Text::new(cut(shown)),
            details: self.details.clone(),
        }
    }

    fn description(&self) -> String {
        let call = &self.call;
        let said = [&call.title, &call.description].into_iter().flatten().map(|text| without_escapes(text));
        said.into_iter().find(|text| !text.is_empty()).unwrap_or_else(|| description(&call.tool_name, &call.input))
    }

    /// The ruling as the client wants it. A scope that was not offered reaches no further than this once.
    pub(crate) fn answer(&self, ruling: &Ruling) -> PermissionResult {
        if ruling.behavior == Behavior::Deny {
            let said = ruling.why.as_deref().filter(|why| !why.trim().is_empty());
            return PermissionResult::Deny {
                message: said.unwrap_or("A person denied this.").to_owned(),
                interrupt: ruling.interrupt,
                tool_use_id: self.call.tool_use_id.clone(),
                decision_classification: Some(Classification::UserReject),
            };
        }
        let input = match &ruling.input {
            None => Ok(self.call.input.clone()),
            Some(edited) => serde_json::from_str(edited.text.as_str()).map_err(|_| ()),
        };
        let Ok(input @ Value::Object(_)) = input else {
            return self.deny("The input that a person put in its place could not be read.");
        };
        let scope = if self.offers(ruling.scope) { ruling.scope } else { Scope::Once };
        PermissionResult::Allow {
            updated_input: input,
            updated_permissions: match scope {
                Scope::Once => vec![],
                Scope::Session => remembered(&self.call.permission_suggestions, false),
                Scope::Always => remembered(&self.call.permission_suggestions, true),
            },
            tool_use_id: self.call.tool_use_id.clone(),
            decision_classification: Some(match scope {
                Scope::Always => Classification::UserPermanent,
                Scope::Once | Scope::Session => Classification::UserTemporary,
            }),
        }
    }

    /// What no person decided.
    pub(crate) fn deny(&self, message: &str) -> PermissionResult {
        PermissionResult::Deny {
            message: message.to_owned(),
            interrupt: false,
            tool_use_id: self.call.tool_use_id.clone(),
            decision_classification: None,
        }
    }

    /// What the rules let through.
    pub(crate) fn let_through(&self) -> PermissionResult {
        PermissionResult::Allow {
            updated_input: self.call.input.clone(),
            updated_permissions: vec![],
            tool_use_id: self.call.tool_use_id.clone(),
            decision_classification: None,
        }
    }

    fn offers(&self, scope: Scope) -> bool {
        self.details.offers.iter().any(|offer| offer.scope == scope)
    }
}

/// Of an input, to compare what was shown with what ran.
pub(crate) fn digest(input: &Value) -> [u8; 32] {
    Sha256::digest(input.to_string().as_bytes()).into()
}

/// Why the client asks at all.
fn reason(call: &CanUseTool) -> Option<String> {
    let rule = call.matched_ask_rule.as_ref().and_then(|rule| {
        let tool = rule.tool_name.as_deref()?;
        let content = rule.rule_content.as_ref().map(|content| format!("({content})")).unwrap_or_default();
        Some(format!("the rule {tool}{content} says to ask"))
    });
    let said = call.decision_reason.as_deref().map(without_escapes).filter(|reason| !reason.is_empty());
    let parts: Vec<String> = said.into_iter().chain(rule).collect();
    (!parts.is_empty()).then(|| cut(parts.join("; ")))
}

fn cut(text: String) -> String {
    let (start, rest) = portcullis_core::excerpt(&text, Some(LONGEST_TEXT));
    if rest == 0 {
        return text;
    }
    format!("{start}\n[portcullis: {rest} more bytes are not shown]")
}

#[cfg(test)]
#[path = "prompt/tests.rs"]
mod tests;
