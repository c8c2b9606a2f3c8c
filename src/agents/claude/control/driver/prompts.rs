//! Prompts of the client: judged by the rules, put to people, and answered once.

use std::time::Duration;

use portcullis_core::{AskId, AskKind, Behavior, Code, Ruling};
use portcullis_wire::control::{CanUseTool, PermissionResult, success_line};
use portcullis_wire::error::{Fault, Kind};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{Driver, Settled, Told, Word};
use crate::agents::claude::control::policy::{Judgement, Wanted};
use crate::agents::claude::control::prompt::Prompt;
use crate::agents::claude::control::requests::PROMPTLY;
use crate::hub::mint;

/// Someone at the terminal waits no longer than this for a gate that is away or slow.
const AWAY: Duration = Duration::from_secs(1);

impl Driver {
    pub(super) fn judge(&self, tool: &str, input: &Value) -> Judgement {
        (self.start.judge)(&Wanted { tool, input, mode: self.start.about.mode.as_deref() })
    }

    /// The client asks whether a tool may be used.
    pub(super) fn asked(&mut self, request: String, call: CanUseTool) {
        let mut prompt = Prompt::new(request, mint(AskId::new), call);
        prompt.details.timeout = self.start.timeout;
        if let Some(by) = &self.stopped {
            let message = format!("{by} has stopped this session: no tool runs until it is resumed.");
            return self.reply(&prompt, &prompt.deny(&message));
        }
        match self.judge(&prompt.call.tool_name, &prompt.call.input) {
            Judgement::Deny { why } => return self.reply(&prompt, &prompt.deny(&why)),
            Judgement::Allow if self.rules_may_allow(&prompt.call) => {
                self.calls.allowed(&prompt.call.tool_use_id, &prompt.call.input);
                return self.reply(&prompt, &prompt.let_through());
            }
            Judgement::Allow => {}
            Judgement::Ask { why, quorum, may_remember, risk, .. } => {
                prompt.details.quorum = quorum.max(1);
                prompt.details.risk = risk;
                prompt.details.reason = why.or(prompt.details.reason.take());
                if !may_remember {
                    prompt.details.offers.clear();
                }
            }
        }
        if prompt.details.kind == AskKind::Plan && prompt.call.input.get("plan").is_none() {
            self.look_up_plan(&prompt.request);
            self.prompts.insert(prompt.request.clone(), prompt);
            return;
        }
        self.put_to_people(prompt);
    }

    /// A rule never answers for a person where the client wants one, nor in a mode that is there to hold things up.
    fn rules_may_allow(&self, call: &CanUseTool) -> bool {
        let held_up = matches!(call.decision_reason_type.as_deref(), Some("mode" | "safetyCheck" | "hook"))
            || call.matched_ask_rule.is_some();
        let is_plan = self.start.about.mode.as_deref() == Some("plan");
        let for_people = call.default_to_no || call.suppress_always_allow_rule || call.requires_user_interaction;
        !held_up && !is_plan && !for_people
    }

    /// The client keeps the plan to itself, but tells when asked.
    fn look_up_plan(&self, request: &str) {
        let (words, request) = (self.words.clone(), request.to_owned());
        let asking = self.control.request("get_plan", Map::new(), PROMPTLY);
        tokio::spawn(async move {
            let answer = asking.await.ok();
            let plan = answer.and_then(|answer| Some(answer.get("content")?.as_str()?.to_owned()));
            words.send(Word::Plan { request, plan }).await
        });
    }

    pub(super) fn planned(&mut self, request: &str, plan: Option<String>) {
        if let Some(mut prompt) = self.prompts.remove(request) {
            prompt.plan = plan;
            self.put_to_people(prompt);
        }
    }

    fn put_to_people(&mut self, prompt: Prompt) {
        self.calls.asked(&prompt.call.tool_use_id, prompt.ask);
        let (gate, words, attended) = (self.gate.clone(), self.words.clone(), self.start.attended);
        let (ask, request) = (prompt.as_ask(), prompt.request.clone());
        self.prompts.insert(request.clone(), prompt);
        tokio::spawn(async move {
            let mut asking = std::pin::pin!(gate.ask_for(ask));
            let registered = |code| Word::Registered { request: request.clone(), code };
            if attended {
                match tokio::time::timeout(AWAY, &mut asking).await {
                    Ok(code) => return words.send(registered(Some(code))).await,
                    Err(_) => words.send(registered(None)).await?,
                }
            }
            words.send(registered(Some(asking.await))).await
        });
    }

    /// The gate has the prompt, will not take it, or (none) is away for the moment.
    pub(super) fn registered(&mut self, request: &str, code: Option<Result<Code, Fault>>) {
        let attended = self.start.attended;
        let Some(prompt) = self.prompts.get_mut(request) else { return };
        let code = match code {
            Some(Err(fault)) if !attended => {
                let message = format!("Nobody could be asked: {}", fault.message);
                let answer = prompt.deny(&message);
                return self.settle(request, &answer, vec![], Settled::Withdrawn(message));
            }
            Some(code) => code.ok(),
            None => None,
        };
        prompt.is_registered |= code.is_some();
        if !std::mem::replace(&mut prompt.is_shown, true) {
            let ask = Box::new(prompt.as_ask());
            self.tell(Told::Asked { ask, code });
        }
    }

    /// Someone ruled on a prompt, and the gate has it on record.
    pub(super) fn ruled(&mut self, ask: AskId, ruling: &Ruling) {
        let Some(prompt) = self.prompts.values().find(|prompt| prompt.ask == ask) else { return };
        let mut answer = prompt.answer(ruling);
        if ruling.input.is_some()
            && let PermissionResult::Allow { updated_input, .. } = &answer
            && let Some(why) = objection(self.judge(&prompt.call.tool_name, updated_input), prompt.details.quorum)
        {
            answer = prompt.deny(&format!("The input that a person put in its place is denied: {why}"));
        }
        if let PermissionResult::Allow { updated_input, .. } = &answer {
            self.calls.allowed(&prompt.call.tool_use_id, updated_input);
        }
        if ruling.behavior == Behavior::Deny && ruling.interrupt {
            self.denied = true;
        }
        let request = prompt.request.clone();
        self.settle(&request, &answer, vec![ask], Settled::Ruled(ruling.clone()));
    }

    /// Someone at our own terminal ruled. The gate decides whether that was the first, and whether it is enough.
    pub(super) fn answer_here(&self, ask: AskId, ruling: Ruling) {
        let (gate, words) = (self.gate.clone(), self.words.clone());
        tokio::spawn(async move {
            let mut answering = std::pin::pin!(gate.answer(ask, ruling.clone()));
            if let Ok(answered) = tokio::time::timeout(AWAY, &mut answering).await {
                return not_taken(&words, ask, answered).await;
            }
            words.send(Word::Unheard { ask, ruling: Box::new(ruling) }).await?;
            // It is on its way to the gate all the same, and comes on record there.
            match answering.await {
                // Whoever was faster is named by their own verdict.
                Err(fault) if fault.error == Kind::Settled.entry().0 => Ok(()),
                answered => not_taken(&words, ask, answered).await,
            }
        });
    }

    /// The gate has not said in time whether it takes an answer that was given here.
    pub(super) fn unheard(&mut self, ask: AskId, ruling: &Ruling) {
        let Some(prompt) = self.prompts.values().find(|prompt| prompt.ask == ask) else { return };
        match why_not_alone(self.start.answers_here, prompt, ruling.behavior) {
            None => self.ruled(ask, ruling),
            Some(why) => {
                let fault = Fault::new(Kind::Stopping, format!("the gate does not answer, and {why}"));
                self.tell(Told::NotTaken { ask, fault });
            }
        }
    }

    /// No verdict is coming.
    pub(super) fn closed(&mut self, ask: AskId) {
        let Some(prompt) = self.prompts.values().find(|prompt| prompt.ask == ask) else { return };
        let (request, answer) = (prompt.request.clone(), prompt.deny("Nobody answered in time."));
        self.settle(&request, &answer, vec![], Settled::Withdrawn("nobody answered in time".to_owned()));
    }

    /// The client no longer asks.
    pub(super) fn cancelled(&mut self, request: &str) {
        let Some(prompt) = self.prompts.remove(request) else { return };
        let (gate, ask, why) = (self.gate.clone(), prompt.ask, "the agent no longer asks");
        tokio::spawn(async move { gate.withdraw(ask, why).await });
        self.tell(Told::Settled { ask, how: Settled::Withdrawn(why.to_owned()) });
    }

    /// All that are open are denied, and no longer asked.
    pub(super) fn deny_all(&mut self, why: &str) {
        let open: Vec<(String, AskId)> =
            self.prompts.values().map(|prompt| (prompt.request.clone(), prompt.ask)).collect();
        for (request, ask) in open {
            let Some(answer) = self.prompts.get(&request).map(|prompt| prompt.deny(why)) else { continue };
            let (gate, told) = (self.gate.clone(), why.to_owned());
            tokio::spawn(async move { gate.withdraw(ask, told).await });
            self.settle(&request, &answer, vec![], Settled::Withdrawn(why.to_owned()));
        }
    }

    fn settle(&mut self, request: &str, answer: &PermissionResult, verdicts: Vec<AskId>, how: Settled) {
        let Some(prompt) = self.prompts.remove(request) else { return };
        self.control.say_of(success_line(request, answer), vec![], verdicts);
        if !prompt.is_shown {
            // Someone was so fast that the gate's own word of it is still on its way.
            self.tell(Told::Asked { ask: Box::new(prompt.as_ask()), code: None });
        }
        self.tell(Told::Settled { ask: prompt.ask, how });
    }

    /// The answer to a prompt that nobody was shown.
    fn reply(&self, prompt: &Prompt, answer: &PermissionResult) {
        self.control.say(success_line(&prompt.request, answer));
    }
}

/// What the rules have against an input that takes the place of one which this many people have allowed.
fn objection(judgement: Judgement, allowed_by: u8) -> Option<String> {
    match judgement {
        Judgement::Deny { why } => Some(why),
        Judgement::Ask { quorum, why, .. } if quorum > allowed_by.max(1) => {
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            Some(format!("it wants {quorum} people{why}"))
        }
        Judgement::Ask { .. } | Judgement::Allow => None,
    }
}

async fn not_taken(
    words: &mpsc::Sender<Word>,
    ask: AskId,
    answered: Result<(), Fault>,
) -> Result<(), mpsc::error::SendError<Word>> {
    match answered {
        Ok(()) => Ok(()),
        Err(fault) => words.send(Word::NotTaken { ask, fault }).await,
    }
}

/// What keeps an answer given here from counting without the gate. A denial is safe whatever others have said there.
fn why_not_alone(answers_here: bool, prompt: &Prompt, behavior: Behavior) -> Option<String> {
    if !answers_here {
        return Some("prompts are not answered here".to_owned());
    }
    if behavior == Behavior::Deny {
        return None;
    }
    let passed_on = "yours counts there once it is back; a no counts at once";
    match prompt.details.quorum {
        quorum @ 2.. => Some(format!("this wants {quorum} people; {passed_on}")),
        _ if prompt.is_registered => Some(format!("someone may have answered there; {passed_on}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn prompt(quorum: u8, is_registered: bool) -> Prompt {
        let call = json!({"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t"});
        let mut prompt = Prompt::new("r".into(), mint(AskId::new), serde_json::from_value(call).unwrap());
        prompt.details.quorum = quorum;
        prompt.is_registered = is_registered;
        prompt
    }

    #[test]
    fn without_the_gate_only_a_denial_counts_or_what_no_gate_ever_had_and_one_person_decides() {
        let counts =
            |quorum, is_registered, behavior| why_not_alone(true, &prompt(quorum, is_registered), behavior).is_none();
        assert!(counts(1, false, Behavior::Allow));
        assert!(!counts(1, true, Behavior::Allow), "someone may have denied it there");
        assert!(!counts(2, false, Behavior::Allow), "one is not two");
        assert!(!counts(2, true, Behavior::Allow));
        for (quorum, is_registered) in [(1, false), (1, true), (2, false), (2, true)] {
            assert!(counts(quorum, is_registered, Behavior::Deny));
        }
        for behavior in [Behavior::Allow, Behavior::Deny] {
            assert!(why_not_alone(false, &prompt(1, false), behavior).is_some(), "only people at the gate answer");
        }
    }

    #[test]
    fn another_input_needs_no_more_people_than_have_allowed_it() {
        let asks = |quorum| Judgement::Ask { always: true, why: None, quorum, may_remember: true, risk: None };
        assert_eq!(objection(Judgement::Deny { why: "never".into() }, 2), Some("never".into()));
        assert_eq!(objection(asks(2), 1), Some("it wants 2 people".into()));
        assert_eq!(objection(asks(2), 0), Some("it wants 2 people".into()));
        for (judgement, allowed_by) in [(asks(2), 2), (asks(1), 1), (asks(1), 0), (asks(0), 1), (Judgement::Allow, 1)] {
            assert_eq!(objection(judgement, allowed_by), None);
        }
    }
}
