//! What each hook is answered: events go out with it, and what was asked is settled by it.

use portcullis_core::DeliveryWay;
use portcullis_wire::envelope::notice;
use portcullis_wire::hooks::{self, HookCall, HookEvent};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{HandedOut, HookAnswer, HookSession};
use crate::mint::{fence, now};
use crate::session::gatekeeper::WentOn;

/// Whose word a hook's call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CalledBy {
    /// The client's own: it called our server, or has the token.
    Client,
    /// That of a process which found the session's socket. What the agent runs finds it as well, so this one's word ends
    /// no outside guard.
    AnyProcess,
}

impl HookSession {
    /// What a hook is to be told. Waits with a prompt until it is answered, closed or taken back.
    pub(crate) async fn call(&self, call: HookCall, by: CalledBy, cancelled: &CancellationToken) -> HookAnswer {
        self.is_installed(false);
        if by == CalledBy::Client {
            self.confirm_cleared(&call);
        }
        let mode = call.permission_mode.as_ref().filter(|_| call.agent_id.is_none());
        // Posted hooks are the user's own to write, and have no version.
        let version = call.installed_version().filter(|_| !self.is_posted);
        let begins = matches!(call.event, HookEvent::UserPromptSubmit | HookEvent::PreToolUse);
        self.session.describe(|about| {
            about.mode = mode.cloned().or_else(|| about.mode.take());
            about.hooks_version = version.or(about.hooks_version);
            about.is_working = if begins { Some(true) } else { about.is_working };
            // One that goes on does not wait at the terminal any more. These come while it does.
            let says_nothing = matches!(call.event, HookEvent::Notification | HookEvent::FileChanged);
            about.at_dialog &= says_nothing || call.agent_id.is_some();
        });
        if begins {
            self.state().begun = now();
        }
        self.follow(&call);
        match call.event {
            HookEvent::UserPromptSubmit => self.note_prompt(&call, by).await,
            event => self.settle_spoken(event).await,
        }
        let answer = self.answer(call, by, cancelled).await;
        if !answer.handed_out.is_empty() {
            // The text goes before the model now: first the journal has it, or the gate is away.
            self.gatekeeper.outside().reported().await;
        }
        answer
    }

    async fn answer(&self, call: HookCall, by: CalledBy, cancelled: &CancellationToken) -> HookAnswer {
        match call.event {
            HookEvent::PermissionRequest => self.permission(call, cancelled).await,
            HookEvent::PreToolUse => self.before_tool(call, cancelled).await,
            HookEvent::PostToolUse | HookEvent::PostToolUseFailure => self.after_tool(&call),
            HookEvent::PermissionDenied => {
                drop(self.finished(&call));
                HookAnswer::default()
            }
            HookEvent::PostToolBatch => {
                self.state().tells_batches = true;
                let agent = call.agent_id.as_deref();
                self.gatekeeper.went_on(WentOn::CallsOver, |calling| calling == agent);
                HookAnswer::default()
            }
            HookEvent::UserPromptSubmit => self.user_prompt(&call),
            HookEvent::Stop => {
                let answer = self.stop(&call, by);
                // One that is given something to go on with does not stop.
                if call.agent_id.is_none() && answer.output.is_null() {
                    self.session.describe(|about| about.is_working = Some(false));
                    self.follow_stop();
                }
                answer
            }
            HookEvent::SubagentStop => {
                let agent = call.agent_id.as_deref();
                self.gatekeeper.withdraw_asks(|asking| asking.is_some() && asking == agent, "the subagent ended");
                self.gatekeeper.went_on(WentOn::CallsOver, |calling| calling.is_some() && calling == agent);
                HookAnswer::default()
            }
            HookEvent::SessionStart => self.session_start(&call, by),
            HookEvent::SessionEnd => {
                self.gatekeeper.withdraw_asks(|_| true, "the session ended");
                HookAnswer::default()
            }
            HookEvent::FileChanged => self.hand_out(DeliveryWay::Wake, |text, notice| {
                // The client shows nothing of a wake but that there was one. The prompt it makes of it can say more.
                self.state().wake_notice = Some(notice.to_owned());
                Value::from(text)
            }),
            HookEvent::Notification => {
                match call.notification_type.as_deref() {
                    Some("idle_prompt") => self.mark_idle(),
                    // In auto mode the client asks by itself where its own check cannot be reached, and calls no hook.
                    Some("permission_prompt") if !self.has_open_asks() => {
                        self.session.describe(|about| about.at_dialog = true);
                        self.follow_dialog();
                    }
                    _ => {}
                }
                HookAnswer::default()
            }
        }
    }

    /// Nothing runs, and only a wake brings an event before the model.
    pub(super) fn mark_idle(&self) {
        self.state().inbox.mark_idle();
        self.changed.notify_one();
        self.session.describe(|about| (about.is_working, about.at_dialog) = (Some(false), false));
    }

    /// A person interrupted the turn then, as the transcript tells; no hook does.
    pub(super) fn note_interrupted(&self, at: u64) {
        if at > self.state().begun.0 {
            self.mark_idle();
        }
    }

    fn after_tool(&self, call: &HookCall) -> HookAnswer {
        let alarm = self.finished(call);
        self.note_scheduled(call);
        // What a subagent's hooks say is read by the subagent alone; a message is for the person.
        let mut answer = if call.agent_id.is_some() {
            HookAnswer::default()
        } else {
            self.state().inbox.mark_busy();
            self.hand_out(DeliveryWay::ToolCall, |text, notice| hooks::context_shown(call.event, text, notice))
        };
        if let Some(alarm) = alarm {
            answer.output = hooks::with_alarm(answer.output, &alarm);
        }
        answer
    }

    fn user_prompt(&self, call: &HookCall) -> HookAnswer {
        if call.is_notification() || self.state().scheduled_prompts.contains(&call.prompt) {
            let mut state = self.state();
            state.inbox.mark_busy();
            let notice = state.wake_notice.take();
            return notice.map_or_else(HookAnswer::default, |notice| HookAnswer::saying(hooks::notice(&notice)));
        }
        self.state().inbox.note_person();
        // No dialog is open where a prompt can be typed. A call that is held has none, and goes on waiting.
        self.gatekeeper.withdraw_dialogs("the session went on to another prompt");
        // A prompt can be typed while a call runs: what was allowed may still be running.
        self.gatekeeper.went_on(WentOn::NextCall, |calling| calling.is_none());
        self.hand_out(DeliveryWay::Prompt, |text, notice| {
            hooks::context_shown(HookEvent::UserPromptSubmit, text, notice)
        })
    }

    fn stop(&self, call: &HookCall, by: CalledBy) -> HookAnswer {
        if call.agent_id.is_some() {
            return HookAnswer::default();
        }
        self.gatekeeper.withdraw_asks(|asking| asking.is_none(), "the session went on without an answer");
        self.gatekeeper.went_on(WentOn::CallsOver, |calling| calling.is_none());
        if let Some(prompts) = &call.scheduled_prompts {
            self.state().scheduled_prompts.note_list(prompts, by == CalledBy::Client);
        }
        self.note_turn_end();
        let may_go_on = self.state().inbox.on_stop(call.stop_hook_active);
        if !may_go_on {
            self.changed.notify_one();
            return HookAnswer::default();
        }
        let shown = |text: &str, notice: &str| hooks::context_shown(HookEvent::Stop, text, notice);
        let answer = match self.hand_out(DeliveryWay::Stop, shown) {
            answer if !answer.handed_out.is_empty() => answer,
            _ => self.remind(),
        };
        if !answer.output.is_null() {
            self.state().inbox.note_continuation();
        }
        answer
    }

    /// The model has ended its turn by itself, so it has read what was part of it.
    fn note_turn_end(&self) {
        let mut state = self.state();
        let read = state.inbox.take_read();
        if !read.is_empty() && !self.session.try_read(read.clone()) {
            state.inbox.note_given(&read, None);
        }
    }

    /// The model is told once of a conversation whose sender must have a reply and has none.
    fn remind(&self) -> HookAnswer {
        let owed = std::mem::take(&mut self.state().owed_replies);
        if owed.is_empty() {
            return HookAnswer::default();
        }
        let chats = owed.iter().map(|chat| format!("{chat:?}")).collect::<Vec<_>>().join(", ");
        let text = format!(
            "Portcullis: a message came with chat_id {chats} and its sender waits for an answer. Text in the terminal \
             does not reach them: call the tool `reply` with that chat_id, then stop."
        );
        HookAnswer::saying(hooks::context(HookEvent::Stop, &text))
    }

    /// The client schedules a prompt: when it comes, no person has spoken.
    fn note_scheduled(&self, call: &HookCall) {
        let Some(prompt) = call.schedules() else { return };
        self.state().scheduled_prompts.note_call(prompt);
    }

    /// What waits, said to the model with its text, and to the person at the terminal with a notice of who sent what.
    fn hand_out(&self, way: DeliveryWay, say: impl FnOnce(&str, &str) -> Value) -> HookAnswer {
        let (handed_out, text) = {
            let mut state = self.state();
            let untold = state.instructions.as_ref().filter(|_| !state.knows_instructions);
            let before = untold.map(|owners| format!("{owners}\n\n")).unwrap_or_default();
            let Some((mut handed_out, text)) = state.inbox.hand_out(&|| Some(format!("={}=", fence()?)), before.len())
            else {
                return HookAnswer::default();
            };
            handed_out.with_instructions = !before.is_empty();
            state.knows_instructions = true;
            (handed_out, before + &text)
        };
        // Words that end the outside guard do so when they have arrived.
        self.gatekeeper.outside().note_sent(&handed_out.events);
        let notices: Vec<String> = handed_out.events.iter().map(notice).collect();
        HookAnswer { output: say(&text, &notices.join("\n")), handed_out: HandedOut { way: Some(way), ..handed_out } }
    }
}
