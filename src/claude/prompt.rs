//! One permission request of the client: as it is put to people, and their ruling as the client wants it.

use portcullis_core::{AskId, AskKind, Behavior, Details, Mouth, NewAsk, Offer, Ruling, Span, Text, visible};
use portcullis_wire::control::{CanUseTool, Classification, PermissionResult, PermissionUpdate};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::preview::{preview, without_escapes};

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
}

impl Prompt {
    pub(crate) fn new(request: String, ask: AskId, call: CanUseTool) -> Self {
        let offers = [Span::Session, Span::Always].into_iter().filter_map(|span| offer(&call, span)).collect();
        let details = Details {
            input: Some(Text::new(call.input.to_string())),
            digest: Some(digest(&call.input)),
            tool_use: Some(call.tool_use_id.clone()).filter(|id| !id.is_empty()),
            agent: call.agent_id.clone(),
            kind: AskKind::of_tool(&call.tool_name),
            offers,
            editable: true,
            interruptible: true,
            default_no: call.default_to_no,
            hands_on: call.requires_user_interaction,
            reason: reason(&call),
            ..Details::default()
        };
        Self { request, ask, call, details, plan: None, is_shown: false }
    }

    /// As it is put to people.
    pub(crate) fn as_ask(&self) -> NewAsk {
        let shown = self.plan.clone().unwrap_or_else(|| preview(&self.call.tool_name, &self.call.input));
        NewAsk {
            id: self.ask,
            mouth: Mouth::Control,
            origin: self.request.clone(),
            tool: self.call.tool_name.clone(),
            description: Text::new(cut(self.description())),
            preview: Text::new(cut(shown)),
            details: self.details.clone(),
        }
    }

    fn description(&self) -> String {
        let call = &self.call;
        let said = [&call.title, &call.description, &call.display_name].into_iter().flatten();
        let said = said.map(|text| without_escapes(text)).find(|text| *text != call.tool_name && !text.is_empty());
        said.unwrap_or_default()
    }

    /// The ruling as the client wants it. A span that was not offered reaches no further than this once.
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
        let is_permanent = ruling.span == Span::Always && self.offers(Span::Always);
        PermissionResult::Allow {
            updated_input: input,
            updated_permissions: updates(&self.call, ruling.span),
            tool_use_id: self.call.tool_use_id.clone(),
            decision_classification: Some(match is_permanent {
                true => Classification::UserPermanent,
                false => Classification::UserTemporary,
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

    fn offers(&self, span: Span) -> bool {
        self.details.offers.iter().any(|offer| offer.span == span)
    }
}

/// Of an input, to compare what was shown with what ran.
pub(crate) fn digest(input: &Value) -> [u8; 32] {
    Sha256::digest(input.to_string().as_bytes()).into()
}

const SESSION: &str = "session";

/// What a verdict of this span changes in the client: taken from its own suggestions, and nothing it did not suggest.
/// A rule that it would keep for ever is kept for the session alone where that was chosen.
fn updates(call: &CanUseTool, span: Span) -> Vec<PermissionUpdate> {
    if span == Span::Once || call.suppress_always_allow_rule {
        return vec![];
    }
    let is_rule = |update: &PermissionUpdate| matches!(update, PermissionUpdate::AddRules { behavior, rules, .. } if behavior == "allow" && !rules.is_empty());
    let has_rules = call.permission_suggestions.iter().any(is_rule);
    let mut chosen: Vec<PermissionUpdate> = vec![];
    for suggestion in &call.permission_suggestions {
        match (suggestion, span) {
            (PermissionUpdate::AddRules { rules, behavior, destination }, Span::Always) => {
                if is_rule(suggestion) && destination != SESSION {
                    chosen.push(PermissionUpdate::AddRules {
                        rules: rules.clone(),
                        behavior: behavior.clone(),
                        destination: destination.clone(),
                    });
                }
            }
            (PermissionUpdate::AddRules { rules, behavior, .. }, Span::Session) if is_rule(suggestion) => {
                let (rules, behavior) = (rules.clone(), behavior.clone());
                chosen.push(PermissionUpdate::AddRules { rules, behavior, destination: SESSION.to_owned() });
            }
            (PermissionUpdate::AddDirectories { destination, .. }, Span::Session) if destination == SESSION => {
                chosen.push(suggestion.clone());
            }
            // Where there is a rule for the call itself, nobody wants to let all edits through with it.
            (PermissionUpdate::SetMode { mode, destination }, Span::Session) => {
                if !has_rules && destination == SESSION && mode == "acceptEdits" {
                    chosen.push(suggestion.clone());
                }
            }
            _ => {}
        }
    }
    chosen
}

/// What choosing the span would do; none where the client offers no such thing.
fn offer(call: &CanUseTool, span: Span) -> Option<Offer> {
    let words: Vec<String> = updates(call, span).iter().map(in_words).collect();
    (!words.is_empty()).then(|| Offer { span, words: visible(&words.join("; ")) })
}

fn in_words(update: &PermissionUpdate) -> String {
    match update {
        PermissionUpdate::AddRules { rules, destination, .. }
        | PermissionUpdate::ReplaceRules { rules, destination, .. }
        | PermissionUpdate::RemoveRules { rules, destination, .. } => {
            let rules: Vec<String> = rules.iter().map(portcullis_wire::control::RuleValue::in_words).collect();
            format!("{}, {}", rules.join(", "), place(destination))
        }
        PermissionUpdate::SetMode { mode, destination } if mode == "acceptEdits" => {
            format!("all edits, {}", place(destination))
        }
        PermissionUpdate::SetMode { mode, destination } => format!("mode {mode}, {}", place(destination)),
        PermissionUpdate::AddDirectories { directories, destination }
        | PermissionUpdate::RemoveDirectories { directories, destination } => {
            format!("work in {}, {}", directories.join(", "), place(destination))
        }
    }
}

fn place(destination: &str) -> &str {
    match destination {
        SESSION => "in this session",
        "localSettings" => "in this project's local settings",
        "projectSettings" => "in this project's settings",
        "userSettings" => "in your own settings",
        other => other,
    }
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
