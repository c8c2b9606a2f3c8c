//! A prompt of the gate as the editor asks it: the choices, and what each of them means.

use std::collections::HashMap;

use agent_client_protocol::RequestCancellationHandle;
use agent_client_protocol::v1::schema::{PermissionOption, PermissionOptionKind, RequestPermissionOutcome};
use portcullis_core::{AskId, AskKind, Behavior, Details, NewAsk, Ruling, Scope, Text, visible};
use serde_json::Value;

use super::questions;

/// A choice, and the answer that it stands for.
pub(super) struct Choice {
    id: String,
    name: String,
    kind: PermissionOptionKind,
    ruling: Ruling,
}

impl Choice {
    fn new(id: &str, name: String, kind: PermissionOptionKind, ruling: Ruling) -> Self {
        Self { id: id.to_owned(), name, kind, ruling }
    }

    pub(super) fn option(&self) -> PermissionOption {
        PermissionOption::new(self.id.clone(), self.name.clone(), self.kind)
    }
}

/// What can be chosen. Where the client wants No to be preselected it comes first; what also ends the turn comes last.
pub(super) fn choices(ask: &NewAsk) -> Vec<Choice> {
    let details = &ask.details;
    let no = if details.kind == AskKind::Plan { "No, keep planning" } else { "Reject" };
    let reject = Choice::new("reject", no.to_owned(), PermissionOptionKind::RejectOnce, Ruling::plain(Behavior::Deny));
    let mut choices = match details.kind {
        AskKind::Question => answering(ask),
        _ => allowing(details),
    };
    let place = if details.default_to_no { 0 } else { choices.len() };
    choices.insert(place, reject);
    if details.interruptible {
        let stop = Ruling { interrupt: true, ..Ruling::plain(Behavior::Deny) };
        let name = "Reject and stop".to_owned();
        choices.push(Choice::new("reject_and_stop", name, PermissionOptionKind::RejectOnce, stop));
    }
    choices
}

/// The options of a question, each by its number.
fn answering(ask: &NewAsk) -> Vec<Choice> {
    let choices = questions::single_choices(&input_of(ask)).into_iter().enumerate();
    let choice = |(number, (label, ruling)): (usize, (String, Ruling))| {
        Choice::new(&format!("answer:{}", number + 1), visible(&label), PermissionOptionKind::AllowOnce, ruling)
    };
    choices.map(choice).collect()
}

/// What the call that a prompt is about would be made with.
pub(super) fn input_of(ask: &NewAsk) -> Value {
    let text = ask.details.input.as_ref().map(Text::as_str).unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

fn allowing(details: &Details) -> Vec<Choice> {
    let allow = |scope| Ruling { scope, ..Ruling::plain(Behavior::Allow) };
    if details.kind == AskKind::Plan && !details.modes.is_empty() {
        let choice = |mode: &portcullis_core::policy::Mode| {
            let ruling = Ruling { mode: Some(*mode), ..Ruling::plain(Behavior::Allow) };
            let name = format!("Yes, and go on in mode {mode}");
            Choice::new(&format!("mode:{mode}"), name, PermissionOptionKind::AllowOnce, ruling)
        };
        return details.modes.iter().map(choice).collect();
    }
    let once = Choice::new("allow", "Allow once".to_owned(), PermissionOptionKind::AllowOnce, allow(Scope::Once));
    let longer = details.offers.iter().map(|offer| {
        let when = if offer.scope == Scope::Always { "Always allow" } else { "Allow for this session" };
        let name = format!("{when}: {}", visible(&offer.words));
        Choice::new(offer.scope.name(), name, PermissionOptionKind::AllowAlways, allow(offer.scope))
    });
    std::iter::once(once).chain(longer).collect()
}

/// What the person chose. An error says why it is no answer.
pub(super) fn ruling(ask: &NewAsk, outcome: RequestPermissionOutcome) -> Result<Ruling, String> {
    match outcome {
        RequestPermissionOutcome::Selected(chosen) => {
            let choice = choices(ask).into_iter().find(|choice| choice.id == *chosen.option_id.0);
            choice.map(|choice| choice.ruling).ok_or_else(|| "the editor chose what was not offered".to_owned())
        }
        // The editor says so when the turn is cancelled.
        RequestPermissionOutcome::Cancelled => {
            Ok(Ruling { interrupt: ask.details.interruptible, ..Ruling::plain(Behavior::Deny) })
        }
        _ => Err("the editor's answer was not understood".to_owned()),
    }
}

/// The prompts that the editor shows.
#[derive(Default)]
pub(super) struct ShownPrompts(HashMap<AskId, RequestCancellationHandle>);

impl ShownPrompts {
    pub(super) fn show(&mut self, ask: AskId, handle: RequestCancellationHandle) {
        self.0.insert(ask, handle);
    }

    /// Whether the editor's answer to it counts: only the first does, and none after it was withdrawn.
    pub(super) fn answered(&mut self, ask: AskId) -> bool {
        self.0.remove(&ask).is_some()
    }

    /// It is settled elsewhere, or nobody can answer it any more: the editor need not show it.
    pub(super) fn withdraw(&mut self, ask: AskId) {
        if let Some(handle) = self.0.remove(&ask) {
            drop(handle.cancel());
        }
    }

    pub(super) fn withdraw_all(&mut self) {
        for (_, handle) in self.0.drain() {
            drop(handle.cancel());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::policy::Mode;
    use portcullis_core::{Moment, Offer, Source};

    fn shown(details: Details) -> Vec<String> {
        let (description, preview) = (Text::new(""), Text::new(""));
        let (id, tool) = (AskId::new(Moment(1), 1), "Bash".to_owned());
        let ask = NewAsk { id, source: Source::Control, origin: String::new(), tool, description, preview, details };
        let line = |choice: Choice| format!("{} | {} | {:?}", choice.id, choice.name, choice.kind);
        choices(&ask).into_iter().map(line).collect()
    }

    #[test]
    fn the_choices_are_what_the_prompt_offers() {
        let offers = vec![Offer { scope: Scope::Always, words: "Bash(git push)".into() }];
        let whole = Details { offers, interruptible: true, ..Details::default() };
        assert_eq!(
            shown(whole.clone()),
            [
                "allow | Allow once | AllowOnce",
                "always | Always allow: Bash(git push) | AllowAlways",
                "reject | Reject | RejectOnce",
                "reject_and_stop | Reject and stop | RejectOnce",
            ]
        );
        let careful = Details { default_to_no: true, offers: vec![], ..whole };
        let want = ["reject | Reject", "allow | Allow once", "reject_and_stop | Reject and stop"];
        assert!(shown(careful).iter().zip(want).all(|(line, want)| line.starts_with(want)));
        let plan = Details { kind: AskKind::Plan, modes: vec![Mode::AcceptEdits, Mode::Default], ..Details::default() };
        assert_eq!(
            shown(plan),
            [
                "mode:acceptEdits | Yes, and go on in mode acceptEdits | AllowOnce",
                "mode:default | Yes, and go on in mode default | AllowOnce",
                "reject | No, keep planning | RejectOnce",
            ]
        );
    }
}
