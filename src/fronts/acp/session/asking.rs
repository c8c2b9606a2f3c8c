//! Prompts of a session at the editor: asked there, answered there or elsewhere, and withdrawn.

use std::time::Duration;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    RequestPermissionRequest, SessionUpdate, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind,
};
use portcullis_core::{AskId, AskKind, Behavior, NewAsk};
use portcullis_wire::front::{Command, PromptNews};
use portcullis_wire::questions::how_to_allow;
use serde_json::Value;
use tokio::sync::mpsc;

use super::super::permissions::{self, choices, input_of};
use super::super::updates::words;
use super::super::{questions, tools};
use super::{Chosen, Session, Wanted};
use crate::fronts::standing::NoAnswersHere;

/// A form that was not filled in is asked again, but an editor that answers by itself is not asked for ever.
const MOST_FORMS: u32 = 3;
/// Prompts that were withdrawn and may still have an answer under way.
const MOST_WITHDRAWN: usize = 64;
/// While the person at the editor may not answer, it is looked again after this whether they may by now, and then less and
/// less often.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
const RAREST_LOOK: Duration = Duration::from_secs(10);

/// What was asked about.
pub(super) struct OpenPrompt {
    ask: NewAsk,
    /// How it is answered elsewhere.
    elsewhere: Option<String>,
    /// How often the editor was asked with a form.
    forms: u32,
    /// Why the person at the editor may not answer it, as the editor was told.
    no_answers: Option<String>,
}

/// When it is looked again whether the person at the editor may answer: once for all prompts that wait for it.
#[derive(Default)]
pub(super) struct SecondLook {
    is_under_way: bool,
    pause: Duration,
}

impl SecondLook {
    /// After how long the next one is; none where there is one already.
    fn next(&mut self) -> Option<Duration> {
        if std::mem::replace(&mut self.is_under_way, true) {
            return None;
        }
        self.pause = (self.pause * 2).clamp(LOOK_AGAIN, RAREST_LOOK);
        Some(self.pause)
    }

    fn came(&mut self) {
        self.is_under_way = false;
    }

    /// Somebody may be at the editor just now.
    fn soon(&mut self) {
        self.pause = Duration::ZERO;
    }
}

impl Session {
    pub(super) async fn prompt_news(&mut self, news: PromptNews, back: &mpsc::WeakSender<Wanted>) {
        match news {
            PromptNews::Asked { ask, code } => {
                let elsewhere = code.map(|code| how_to_allow(&ask.details, &code.to_string()));
                self.ask(*ask, elsewhere, back).await;
            }
            PromptNews::Ruled { ask, ruling } => {
                self.prompts.withdraw(ask);
                let Some(OpenPrompt { ask: asked, .. }) = self.open.remove(&ask) else { return };
                if ruling.behavior == Behavior::Allow {
                    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
                    let update = ToolCallUpdate::new(call_id(&asked), fields);
                    self.update(SessionUpdate::ToolCallUpdate(update)).await;
                }
            }
            PromptNews::Withdrawn { ask, .. } => {
                self.prompts.withdraw(ask);
                if self.open.remove(&ask).is_some() {
                    self.withdrawn.insert(ask);
                }
            }
            // When a turn is cancelled the editor answers what it asks about, and the client takes it back: either is first.
            PromptNews::NotTaken { ask, .. } if self.withdrawn.contains(&ask) => {}
            PromptNews::NotTaken { ask, fault } => {
                let elsewhere = self.open.get(&ask).and_then(|open| open.elsewhere.as_deref());
                let how = elsewhere.map(|how| format!(" ({how})")).unwrap_or_default();
                self.update(words(&format!("\n\nThe answer was not taken: {}{how}\n\n", fault.message))).await;
            }
        }
    }

    /// Asks the person at the editor. The call is told first: the request names it.
    async fn ask(&mut self, ask: NewAsk, elsewhere: Option<String>, back: &mpsc::WeakSender<Wanted>) {
        let input = input_of(&ask);
        let call = call_id(&ask);
        if let Some(update) = self.updates.call(&call, &ask.tool, &input) {
            self.update(update).await;
        }
        let id = ask.id;
        if self.withdrawn.len() >= MOST_WITHDRAWN {
            self.withdrawn.clear();
        }
        self.open.insert(id, OpenPrompt { ask, elsewhere, forms: 0, no_answers: None });
        self.second_look.soon();
        self.look_at_standing(Some(id), Duration::ZERO, back);
    }

    /// Whether the person at the editor may answer is asked anew for each prompt, and again while they may not: agents come
    /// and go, and a person may say that the editor is theirs.
    fn look_at_standing(&self, ask: Option<AskId>, after: Duration, back: &mpsc::WeakSender<Wanted>) {
        let Some(standings) = self.launched.as_ref().map(|launched| launched.standings.clone()) else { return };
        let back = back.clone();
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            let no_answers = standings.no_answers_here().await;
            if let Some(back) = back.upgrade() {
                drop(back.send(Wanted::Standing { ask, no_answers }).await);
            }
        });
    }

    /// Whether the person at the editor may answer is known, for this prompt or for all that wait for it.
    pub(super) async fn standing(
        &mut self,
        ask: Option<AskId>,
        no_answers: Option<NoAnswersHere>,
        back: &mpsc::WeakSender<Wanted>,
    ) {
        let asks = match ask {
            Some(ask) => vec![ask],
            None => {
                self.second_look.came();
                self.open.iter().filter(|(_, open)| open.no_answers.is_some()).map(|(ask, _)| *ask).collect()
            }
        };
        for ask in asks {
            self.show_or_ask(ask, no_answers.as_ref().map(|no_answers| no_answers.why.clone()), back).await;
        }
        let may_change = no_answers.is_some_and(|no_answers| no_answers.may_change);
        let is_wanted = may_change && self.open.values().any(|open| open.no_answers.is_some());
        if let Some(pause) = Some(()).filter(|()| is_wanted).and_then(|()| self.second_look.next()) {
            self.look_at_standing(None, pause, back);
        }
    }

    /// The person at the editor is asked, or told why not.
    async fn show_or_ask(&mut self, id: AskId, no_answers: Option<String>, back: &mpsc::WeakSender<Wanted>) {
        let Some(prompt) = self.open.get_mut(&id) else { return };
        let is_question = prompt.ask.details.kind == AskKind::Question;
        let has_choices = !questions::single_choices(&input_of(&prompt.ask)).is_empty();
        let is_told = no_answers.is_some() && prompt.no_answers == no_answers;
        prompt.no_answers.clone_from(&no_answers);
        match no_answers {
            Some(_) if is_told => {}
            Some(why) => self.show_elsewhere(id, Some(&why)).await,
            None if is_question && self.editor.has_forms() => self.ask_with_form(id, "The agent asks", back),
            None if is_question && !has_choices => self.show_elsewhere(id, None).await,
            None => self.ask_with_options(id, back),
        }
    }

    fn ask_with_options(&mut self, id: AskId, back: &mpsc::WeakSender<Wanted>) {
        let Some(OpenPrompt { ask, .. }) = self.open.get(&id) else { return };
        let (input, call) = (input_of(ask), call_id(ask));
        let fields = ToolCallUpdateFields::new()
            .kind(tools::kind(&ask.tool))
            .status(ToolCallStatus::Pending)
            .title(tools::title(&ask.tool, &input, &self.place.folder))
            .content(Self::asked_content(ask, &input))
            .locations(tools::locations(&ask.tool, &input))
            .raw_input(input);
        let options = choices(ask).iter().map(permissions::Choice::option).collect();
        let request = RequestPermissionRequest::new(self.id.clone(), ToolCallUpdate::new(call, fields), options);
        let sent = self.editor.connection.send_request(request);
        self.prompts.show(id, sent.cancellation_handle());
        bring_back(back, id, async move { Chosen::Option(sent.block_task().await) });
    }

    fn ask_with_form(&mut self, id: AskId, message: &str, back: &mpsc::WeakSender<Wanted>) {
        let Some(prompt) = self.open.get_mut(&id) else { return };
        prompt.forms += 1;
        let form = questions::form(&self.id, &call_id(&prompt.ask), &input_of(&prompt.ask), message);
        let sent = self.editor.connection.send_request(form);
        self.prompts.show(id, sent.cancellation_handle());
        bring_back(back, id, async move { Chosen::Form(sent.block_task().await) });
    }

    /// The editor cannot answer it: its call says why, and who can.
    async fn show_elsewhere(&mut self, id: AskId, why: Option<&str>) {
        let Some(OpenPrompt { ask, elsewhere, .. }) = self.open.get(&id) else { return };
        let why = why.map(|why| format!("Not answered here: {why}. ")).unwrap_or_default();
        let how = elsewhere.as_deref().unwrap_or("waiting for an answer elsewhere");
        let mut content = Self::asked_content(ask, &input_of(ask));
        content.push(tools::plain(&format!("{why}{how}")));
        let update = ToolCallUpdate::new(call_id(ask), ToolCallUpdateFields::new().content(content));
        self.update(SessionUpdate::ToolCallUpdate(update)).await;
    }

    /// What a person has to see to decide: the call, and why it asks.
    fn asked_content(ask: &NewAsk, input: &Value) -> Vec<ToolCallContent> {
        let mut content = tools::content(&ask.tool, input);
        if content.is_empty() || tools::kind(&ask.tool) != ToolKind::Edit {
            let preview = ask.preview.as_str();
            if !preview.is_empty() && ask.details.kind == AskKind::Tool {
                content.push(tools::literal(preview));
            }
        }
        if let Some(reason) = &ask.details.reason {
            content.push(tools::literal(reason));
        }
        content
    }

    /// The person chose. Whatever was not offered is no answer. A form that was not filled in comes again; a request that
    /// failed leaves the prompt to others.
    pub(super) async fn chosen(&mut self, ask: AskId, chosen: Chosen, back: &mpsc::WeakSender<Wanted>) {
        if !self.prompts.answered(ask) {
            return;
        }
        let Some(OpenPrompt { ask: asked, forms, .. }) = self.open.get(&ask) else { return };
        let may_ask_again = matches!(chosen, Chosen::Form(Ok(_))) && *forms < MOST_FORMS;
        let could_not = |error: Error| format!("the editor could not ask: {}", error.message);
        let ruling = match chosen {
            Chosen::Option(answer) => {
                answer.map_err(could_not).and_then(|answer| permissions::ruling(asked, answer.outcome))
            }
            Chosen::Form(answer) => {
                answer.map_err(could_not).and_then(|answer| questions::ruling(answer, input_of(asked)))
            }
        };
        match ruling {
            Ok(ruling) => self.want(Command::Answer { ask, ruling: Box::new(ruling) }).await,
            Err(why) if may_ask_again => self.ask_with_form(ask, &format!("The agent asks again: {why}"), back),
            Err(why) => self.show_elsewhere(ask, Some(&why)).await,
        }
    }
}

/// Waits for what the editor brings back, past everything else.
fn bring_back(back: &mpsc::WeakSender<Wanted>, ask: AskId, asking: impl Future<Output = Chosen> + Send + 'static) {
    let back = back.clone();
    tokio::spawn(async move {
        let chosen = asking.await;
        if let Some(back) = back.upgrade() {
            drop(back.send(Wanted::Permission { ask, chosen }).await);
        }
    });
}

/// The call that a prompt is about; a prompt without one has its own id.
fn call_id(ask: &NewAsk) -> String {
    ask.details.tool_use_id.clone().unwrap_or_else(|| ask.id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_once_for_all_prompts_and_less_and_less_often() {
        let mut look = SecondLook::default();
        let mut pauses = vec![];
        for _ in 0..5 {
            pauses.extend(look.next().map(|pause| pause.as_secs()));
            assert_eq!(look.next(), None, "one is enough");
            look.came();
        }
        assert_eq!(pauses, [2, 4, 8, 10, 10]);
        look.soon();
        assert_eq!(look.next(), Some(LOOK_AGAIN), "a new prompt, and perhaps somebody who reads it");
    }
}
