//! Drives one session: reads all that the client says, and is never held up by one request of it.
//!
//! One task owns the session. Whatever takes time (the gate's answer to an ask, a tool of ours, a request to the
//! client) runs in tasks of its own and comes back as a [`TaskMessage`].

mod ending;
mod events;
mod interface;
mod lines;
mod messages;
mod orders;
mod prompts;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use portcullis_core::{EventId, Goodbye, OrderId, OrderOutcome};
use portcullis_wire::control::{Message, Speaker, user_line_of};
use portcullis_wire::front::{Command, PromptNews, PromptWords};
use portcullis_wire::stream::EntryKind;
use tokio::process::ChildStdout;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use interface::{Outcome, Start, Told, Untold};
use interface::{TaskMessage, Wants};
pub(super) use prompts::wanted_hooks;

use super::calls::CallsUnderWay;
use super::notices::ClientNotices;
use super::requests::Control;
use crate::agents::claude::editor::EditorHost;
use crate::agents::claude::entries::Entries;
use crate::agents::claude::hosted::{ChannelHost, HostedClient};
use crate::agents::claude::process::{HeldProcess, Holder};
use crate::lines::{Line, Lines};
use crate::mint::uuid;
use crate::session::gatekeeper::Gatekeeper;
use crate::session::inbox::Inbox;
use crate::session::link::{Deliveries, Delivery, SessionHandle};
use crate::session::tools::{Briefing, Tools};

/// A line of the client is at most this long.
const LONGEST_LINE: usize = 64 << 20;

/// What the client said last is read within this after it has ended.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Lines that people may say before the client is ready.
const MOST_WAITING: usize = 64;

/// A line of a person who directs the session.
struct UntakenLine {
    uuid: String,
    by: String,
    /// How many texts from outside there were when it was written.
    texts: u64,
}

struct Driver {
    control: Control,
    gate: SessionHandle,
    tools: Tools,
    /// What the person at the front that started the session is called.
    front: &'static str,
    /// The session ends when there is nothing more to do.
    once: bool,
    /// The owner has opted in to a mode in which nothing is asked.
    allow_bypass: bool,
    tell: mpsc::Sender<Told>,
    /// What there was no room for. While there is any, the client is not read: it waits for who listens to us.
    untold: Untold,
    task_messages: mpsc::Sender<TaskMessage>,
    gatekeeper: Arc<Gatekeeper>,
    /// What the client asked us and has no answer to, by its id of the request. Cancelled when it no longer asks.
    pending: HashMap<String, CancellationToken>,
    calls: CallsUnderWay,
    inbox: Inbox,
    /// Events that were written since the client was last idle.
    of_turn: Vec<EventId>,
    entries: Entries,
    notices: ClientNotices,
    /// Channel servers that this process runs for the session.
    channels: ChannelHost,
    /// The tools that work through the editor at the front.
    editor: EditorHost,
    /// Said before the client was ready.
    waiting: Vec<(UntakenLine, Vec<u8>)>,
    /// Written, and not yet given to the model.
    untaken: VecDeque<UntakenLine>,
    /// The client tells what becomes of a line; an older one does not.
    tells_lines: bool,
    /// It is known what the turn is about that runs: a line of ours, or what the client told.
    turn_is_explained: bool,
    is_ready: bool,
    /// The link to the gate is gone for good.
    is_alone: bool,
    /// Its MCP servers were looked at.
    knows_servers: bool,
    /// Input was written, and the client has not said since that it is idle.
    is_busy: bool,
    /// The client says by itself when it is idle.
    tells_state: bool,
    wrote_at: Option<Instant>,
    /// When its input was closed.
    closing: Option<Instant>,
    /// When someone wanted it to end.
    ending: Option<Instant>,
    /// Orders to end, done when it has.
    end_orders: Vec<OrderId>,
    /// When its guard ended.
    gone: Option<Instant>,
    ends_now: bool,
    interrupted: bool,
    /// Someone denied a call so that the turn ends.
    ended_by_denial: bool,
    denied: bool,
    /// The client's own id of the conversation, since it has said something in it.
    agent_session: Option<String>,
    result: Option<(Bytes, Message)>,
    problem: Option<String>,
}

/// Drives the session until it ends. Says goodbye to the gate before it returns.
pub(crate) async fn drive(
    held: HeldProcess,
    (gate, deliveries): (SessionHandle, Deliveries),
    start: Start,
    tell: mpsc::Sender<Told>,
    commands: mpsc::Receiver<Command>,
) -> Outcome {
    let HeldProcess { holder, stdin, stdout } = held;
    let (messages, task_messages) = mpsc::channel(256);
    let (news, prompt_news) = mpsc::unbounded_channel();
    let gatekeeper = Arc::new(Gatekeeper::new(gate.clone(), start.judge.clone(), start.gatekeeper, Some(news)));
    let notices = messages.clone();
    let control = Control::new(stdin, gate.clone());
    let client = HostedClient {
        note: Box::new(move |text| drop(notices.try_send(TaskMessage::Notice(text)))),
        say: control.say_of_servers(),
    };
    let channels = match start.channels {
        Some(started) => started.host(gate.clone(), Arc::clone(&gatekeeper), start.channels_answer, client),
        None => ChannelHost::default(),
    };
    let ended = messages.clone();
    let editor = EditorHost::new(start.editor, move |command| drop(ended.try_send(TaskMessage::CommandEnded(command))));
    let mut driver = Driver {
        control,
        tools: Tools::new(gate.clone(), start.folder, start.judge.clone(), Briefing::new(&start.instructions)),
        inbox: Inbox::new(start.wakes_per_hour),
        gate: gate.clone(),
        front: start.front,
        once: start.once,
        allow_bypass: start.allow_bypass,
        tell,
        untold: Untold::default(),
        task_messages: messages,
        gatekeeper,
        pending: HashMap::new(),
        calls: CallsUnderWay::default(),
        of_turn: vec![],
        entries: Entries::default(),
        notices: ClientNotices::default(),
        channels: channels.clone(),
        editor: editor.clone(),
        waiting: vec![],
        untaken: VecDeque::new(),
        tells_lines: false,
        turn_is_explained: false,
        is_ready: false,
        is_alone: false,
        knows_servers: false,
        is_busy: false,
        tells_state: false,
        wrote_at: None,
        closing: None,
        ending: None,
        end_orders: vec![],
        gone: None,
        ends_now: false,
        interrupted: false,
        ended_by_denial: false,
        denied: false,
        agent_session: None,
        result: None,
        problem: None,
    };
    if let Some(prompt) = start.prompt {
        driver.user(start.prompt_by.as_deref().unwrap_or(start.front), prompt.into(), None);
    }
    let outcome = driver.run(holder, stdout, deliveries, task_messages, prompt_news, commands).await;
    channels.close().await;
    editor.close().await;
    gate.bye(Goodbye::because(outcome.problem.clone().unwrap_or_else(|| "the session is over".to_owned()))).await;
    outcome
}

impl Driver {
    async fn run(
        mut self,
        mut holder: Holder,
        stdout: ChildStdout,
        mut deliveries: Deliveries,
        mut task_messages: mpsc::Receiver<TaskMessage>,
        mut prompt_news: mpsc::UnboundedReceiver<PromptNews>,
        mut commands: mpsc::Receiver<Command>,
    ) -> Outcome {
        let mut lines = Lines::new(stdout, LONGEST_LINE);
        let (control, tell) = (self.control.clone(), self.tell.clone());
        self.initialize();
        while !self.ends_now {
            self.close_when_done();
            let wake = self.wake();
            tokio::select! {
                line = lines.next(), if self.untold.is_empty() => match line {
                    Ok(Line::Whole(line)) => self.hear(line),
                    // What was lost may have been a prompt: then it is still open there.
                    Ok(Line::TooLong) => self.initialize(),
                    Ok(Line::End) | Err(_) => break,
                },
                () = self.untold.pass_on(&tell), if !self.untold.is_empty() => {}
                Some(message) = task_messages.recv() => {
                    let was_ready = self.is_ready;
                    self.task_message(message);
                    if self.is_ready && !was_ready {
                        self.look_at_trust(&holder.stderr_tail());
                    }
                }
                Some(news) = prompt_news.recv() => {
                    self.channels.prompt(&news);
                    self.tell(Told::Prompt(news));
                }
                delivery = deliveries.next(), if self.is_ready && self.closing.is_none() && !self.is_alone => match delivery {
                    Some(delivery) => self.delivered(delivery),
                    // Only when its own task has fallen over. Nobody can answer any more.
                    None => {
                        self.is_alone = true;
                        self.gatekeeper.deny_all("nobody can be asked any more");
                    }
                },
                Some(command) = commands.recv() => self.commanded(command),
                // What it said last may still be in the pipe; a client that outlived its guard goes on for ever.
                () = holder.gone(), if self.gone.is_none() => self.gone = Some(Instant::now()),
                () = control.stuck() => {
                    self.problem = Some("Claude Code no longer reads what it is sent".to_owned());
                    break;
                }
                () = tokio::time::sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {
                    if self.deadline().is_some_and(|deadline| Instant::now() >= deadline) {
                        break;
                    }
                    self.feed();
                }
            }
        }
        self.control.close();
        let stderr_tail = if self.ends_now { holder.end().await } else { holder.close().await };
        for order in std::mem::take(&mut self.end_orders) {
            let reporting = self.gate.ordered(Some(order), OrderOutcome::Done);
            drop(tokio::time::timeout(LAST_LINES, reporting).await);
        }
        if !self.is_ready && self.problem.is_none() {
            self.problem = Some("Claude Code ended before it was ready".to_owned());
        }
        let Self { agent_session, result, interrupted, denied, problem, .. } = self;
        Outcome { agent_session, result, interrupted, denied, stderr_tail, problem }
    }

    fn task_message(&mut self, message: TaskMessage) {
        match message {
            TaskMessage::Initialized(answer) => self.initialized(answer),
            TaskMessage::Answered { request, ends_turn } => {
                self.pending.remove(&request);
                self.denied |= ends_turn;
            }
            TaskMessage::ModeIs(mode) => self.mode_is(Some(mode)),
            TaskMessage::Set { wants, answer } => self.answer(wants, answer),
            TaskMessage::Notice(text) => self.notice(text),
            TaskMessage::CommandEnded(command) => self.command_ended(&command),
        }
    }

    fn delivered(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Attached => self.gatekeeper.attached(),
            Delivery::Event(frame) => {
                self.inbox.put(frame);
                self.feed();
            }
            Delivery::Line(line) => {
                line.frame().into_iter().for_each(|frame| self.inbox.put(frame));
                self.feed();
            }
            Delivery::Verdict { ask, ruling, .. } => {
                // Whoever denies and stops the turn wants nothing more of what it was about.
                self.ended_by_denial |= ruling.interrupt && self.is_busy;
                self.gatekeeper.verdict(ask, *ruling);
            }
            Delivery::Closed { ask, .. } => self.gatekeeper.closed(ask),
            Delivery::Order { id, order } => self.ordered(id, order),
            Delivery::Outside { sender } => self.gatekeeper.outside().restore(sender),
            Delivery::TakeBack { event } => self.inbox.take_back(event),
        }
    }

    /// PromptWords of a person who directs the session, and the order they came with.
    fn user(&mut self, by: &str, words: PromptWords, order: Option<OrderId>) {
        let PromptWords { text, blocks, uuid: given } = words;
        self.gate.stream().push(EntryKind::User { text: text.clone(), by: Some(by.to_owned()) });
        self.wrote();
        let words = UntakenLine { uuid: given.unwrap_or_else(uuid), by: by.to_owned(), texts: 0 };
        let line = user_line_of(&words.uuid, &text, blocks, Speaker::User);
        match self.is_ready {
            true => {
                self.control.say_ordered(line, order);
                self.said(words);
            }
            false if self.waiting.len() < MOST_WAITING => self.waiting.push((words, line)),
            false => self.notice("not taken: Claude Code is not ready yet".to_owned()),
        }
        self.feed();
    }

    /// Words of a person are written. They end the guard against text from outside when the model is given them: until
    /// then they may be taken back.
    fn said(&mut self, words: UntakenLine) {
        let outside = self.gatekeeper.outside();
        if !self.tells_lines {
            return outside.end(&words.by);
        }
        let texts = outside.texts();
        if self.untaken.len() >= MOST_WAITING {
            self.untaken.pop_front();
        }
        self.untaken.push_back(UntakenLine { texts, ..words });
    }

    fn wrote(&mut self) {
        self.is_busy = true;
        self.interrupted = false;
        self.ended_by_denial = false;
        self.denied = false;
        self.wrote_at = Some(Instant::now());
    }

    fn notice(&mut self, text: String) {
        tracing::debug!("{text}");
        self.gate.stream().push(EntryKind::Notice { text: text.clone() });
        self.tell(Told::Notice(text));
    }

    /// Whoever listens may be slow; nothing here waits for it, and everything keeps its order.
    fn tell(&mut self, told: Told) {
        self.untold.push(told);
        self.untold.pass_on_at_once(&self.tell);
    }
}
