//! One driven session and its fronts: each is told what the driver tells, and what any of them wants reaches the driver.
//!
//! The front that started the session is waited for, and the agent with it. The others have queues: one that does not
//! read is cut off, and nobody else notices.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use portcullis_core::{AskId, excerpt};
use portcullis_wire::front::{Command, Joined, LONGEST_LINE, PromptNews, ToFront};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::frames::{line_of, told_line};
use super::recent::Recent;
use super::{Told, Untold};

/// A number for each front of a session.
pub(super) type FrontId = u64;

/// The front that started the session.
pub(super) const OWN: FrontId = 0;

/// Lines that a front has not read. What it is shown when it joins fits as well.
const MOST_LINES: usize = 8192;
const MOST_BYTES: usize = LONGEST_LINE + (1 << 20);
/// As much of a prompt is repeated to the other fronts.
const LONGEST_REPEATED: usize = 4 << 10;

/// What happens at the fronts.
pub(super) enum FrontChange {
    Joined {
        front: FrontId,
        outlet: FrontOutlet,
        standing: Joined,
    },
    Left(FrontId),
    Wants {
        front: FrontId,
        command: Command,
    },
    /// Only this front is told.
    Tell {
        front: FrontId,
        told: Told,
    },
}

/// The queue of one front that joined.
pub(super) struct FrontOutlet {
    queue: mpsc::Sender<Bytes>,
    backlog: Arc<AtomicUsize>,
    cut_off: CancellationToken,
}

/// The other end of the queue.
pub(super) struct Inlet {
    queue: mpsc::Receiver<Bytes>,
    backlog: Arc<AtomicUsize>,
    /// Cancelled when the front has fallen behind.
    pub(super) cut_off: CancellationToken,
}

impl FrontOutlet {
    pub(super) fn new() -> (Self, Inlet) {
        let (send, receive) = mpsc::channel(MOST_LINES);
        let (backlog, cut_off) = (Arc::new(AtomicUsize::new(0)), CancellationToken::new());
        let inlet = Inlet { queue: receive, backlog: Arc::clone(&backlog), cut_off: cut_off.clone() };
        (Self { queue: send, backlog, cut_off }, inlet)
    }

    /// Whether the front keeps up; one that does not is cut off.
    fn push(&self, line: Bytes) -> bool {
        let size = line.len();
        let fits = self.backlog.fetch_add(size, Ordering::Relaxed) + size <= MOST_BYTES;
        let keeps_up = fits && self.queue.try_send(line).is_ok();
        if !keeps_up {
            self.cut_off.cancel();
        }
        keeps_up
    }
}

impl Inlet {
    /// The next line, until the front is cut off or the session has ended.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        let line = self.queue.recv().await?;
        self.backlog.fetch_sub(line.len(), Ordering::Relaxed);
        Some(line)
    }
}

pub(super) struct Fanout {
    commands: mpsc::Sender<Command>,
    own: mpsc::Sender<Told>,
    /// What the own front has not taken yet. While there is any, the driver is not listened to.
    untold: Untold,
    others: BTreeMap<FrontId, FrontOutlet>,
    recent: Recent,
    /// Who answered which open prompt: they alone are told that an answer was not taken.
    answered: HashMap<AskId, BTreeSet<FrontId>>,
    ended_by_front: bool,
}

impl Fanout {
    /// `prompt` is what the session starts with.
    pub(super) fn new(commands: mpsc::Sender<Command>, own: mpsc::Sender<Told>, prompt: Option<&str>) -> Self {
        let mut fanout = Self {
            commands,
            own,
            untold: Untold::default(),
            others: BTreeMap::new(),
            recent: Recent::new(prompt.is_none()),
            answered: HashMap::new(),
            ended_by_front: false,
        };
        if let Some(prompt) = prompt {
            let told = Told::Notice(format!("it was started with: {}", repeated(prompt)));
            fanout.recent.note(&told, &told_line(&told));
        }
        fanout
    }

    /// Until the driver has told its last. Says whether a front ended the session.
    pub(super) async fn run(
        mut self,
        mut told: mpsc::Receiver<Told>,
        mut changes: mpsc::Receiver<FrontChange>,
    ) -> bool {
        let own = self.own.clone();
        loop {
            tokio::select! {
                next = told.recv(), if self.untold.is_empty() => match next {
                    Some(told) => self.tell(told),
                    None => break,
                },
                () = self.untold.pass_on(&own), if !self.untold.is_empty() => {}
                Some(change) = changes.recv() => self.change(change).await,
            }
        }
        let ended = line_of(&ToFront::Ended);
        for outlet in self.others.into_values() {
            outlet.push(ended.clone());
        }
        self.ended_by_front
    }

    fn tell(&mut self, told: Told) {
        let only = match &told {
            Told::Prompt(PromptNews::NotTaken { ask, .. }) => self.answered.get(ask).cloned(),
            Told::Prompt(PromptNews::Ruled { ask, .. } | PromptNews::Withdrawn { ask, .. }) => {
                self.answered.remove(ask);
                None
            }
            _ => None,
        };
        self.tell_those(told, |front| only.as_ref().is_none_or(|only| only.contains(&front)));
    }

    fn tell_those(&mut self, told: Told, wanted: impl Fn(FrontId) -> bool) {
        let line = told_line(&told);
        if !line.is_empty() {
            self.recent.note(&told, &line);
            self.others.retain(|front, outlet| !wanted(*front) || outlet.push(line.clone()));
        }
        if wanted(OWN) && !self.own.is_closed() {
            self.untold.push(told);
        }
    }

    async fn change(&mut self, change: FrontChange) {
        match change {
            FrontChange::Joined { front, outlet, standing } => self.join(front, outlet, standing),
            FrontChange::Left(front) => drop(self.others.remove(&front)),
            FrontChange::Tell { front: OWN, told } => self.untold.push(told),
            FrontChange::Tell { front, told } => {
                if self.others.get(&front).is_some_and(|outlet| !outlet.push(told_line(&told))) {
                    self.others.remove(&front);
                }
            }
            FrontChange::Wants { front, command } => {
                self.note(front, &command);
                // The driver always listens, until it has ended.
                drop(self.commands.send(command).await);
            }
        }
    }

    /// In one step, so that the front is told everything once.
    fn join(&mut self, front: FrontId, outlet: FrontOutlet, standing: Joined) {
        let caught_up = ToFront::CaughtUp { idle: self.recent.is_idle };
        let mut lines = std::iter::once(line_of(&ToFront::Joined(standing)))
            .chain(self.recent.lines())
            .chain(std::iter::once(line_of(&caught_up)))
            .chain(self.recent.open());
        if lines.all(|line| outlet.push(line)) {
            drop(lines);
            self.others.insert(front, outlet);
        }
    }

    /// What one front wants, the others are told.
    fn note(&mut self, front: FrontId, command: &Command) {
        let words = match command {
            Command::Answer { ask, .. } => {
                if self.recent.is_open(*ask) {
                    self.answered.entry(*ask).or_default().insert(front);
                }
                return;
            }
            Command::Finish => return,
            Command::Prompt(words) => {
                self.recent.is_idle = false;
                let (by, text) = ("another terminal".to_owned(), repeated(&words.text));
                let note = format!("{by} says: {text}");
                return self.tell_those(Told::Said { by, text, note }, |other| other != front);
            }
            Command::SetMode { .. } | Command::SetModel { .. } | Command::Withdraw { .. } => return,
            Command::Interrupt => "another terminal interrupts the turn".to_owned(),
            Command::End => {
                self.ended_by_front = true;
                "another terminal ends the session".to_owned()
            }
        };
        self.tell_those(Told::Notice(words), |other| other != front);
    }
}

fn repeated(text: &str) -> String {
    let (start, rest) = excerpt(text, Some(LONGEST_REPEATED));
    if rest == 0 { text.to_owned() } else { format!("{start} [and {rest} more bytes]") }
}

#[cfg(test)]
#[path = "fanout/tests.rs"]
mod tests;
